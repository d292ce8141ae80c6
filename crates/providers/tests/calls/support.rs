//! What the tests of calls share.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use longhaul_conversation::{
    Message, Model, ModelError, Part, Request, ResponseBuilder, ResponseEvent, Role, Timestamp,
};
use longhaul_providers::{
    AnswerLimits, Connection, Dial, Dialling, Endpoint, HttpClient, HttpModel, Key, Network,
    ProviderSettings, RetrySettings, Surroundings, Target,
};
use longhaul_testkit::fake_provider::{FakeProvider, Reply, anthropic, gemini, openai};
use longhaul_wire::WireFormat;

pub(crate) const KEY: &str = "sk-very-secret";
pub(crate) const FORMATS: [WireFormat; 3] = [WireFormat::Gemini, WireFormat::OpenAi, WireFormat::Anthropic];

/// A name that a model of this format has.
pub(crate) fn model_name(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Gemini => "gemini-2.5-flash",
        WireFormat::OpenAi => "gpt-4o",
        WireFormat::Anthropic => "claude-opus-4-5",
    }
}

/// An answer in pieces, in this format.
pub(crate) fn texts(format: WireFormat, pieces: &[&str]) -> Reply {
    match format {
        WireFormat::Gemini => gemini::texts(pieces),
        WireFormat::OpenAi => openai::texts(pieces),
        WireFormat::Anthropic => anthropic::texts(pieces),
    }
}

/// A provider at this address.
pub(crate) fn provider_at(url: &str, format: WireFormat) -> ProviderSettings {
    let endpoint = Endpoint::parse(url).expect("an address");
    ProviderSettings::at("fake", format, endpoint, Key::Given(KEY.into()))
}

/// The clock stands still, and the dice always show the same.
pub(crate) fn surroundings() -> Surroundings {
    Surroundings::new(|| Timestamp::parse("2026-01-01T00:00:00Z").expect("a time"), || u64::MAX / 2)
}

/// A model behind a server on this machine, which is tried again at once.
pub(crate) fn model_at(server: &FakeProvider, format: WireFormat) -> HttpModel {
    let http = HttpClient::new(Network::default());
    let retry = RetrySettings { attempts: 3, base: Duration::ZERO, ..RetrySettings::default() };
    HttpModel::new(provider_at(&server.url(), format), http, surroundings()).with_retry(retry)
}

/// Connects to a server in memory.
struct InMemory(FakeProvider);

impl Dial for InMemory {
    fn dial(&self, _: Target) -> Dialling {
        let connection = Connection { io: Box::new(self.0.connect()), is_proxied: false };
        Box::pin(async { Ok(connection) })
    }
}

/// A model behind a server in memory, for tests in which time is paused.
pub(crate) fn model_in_memory(server: &FakeProvider, format: WireFormat) -> HttpModel {
    let http = HttpClient::with_dial(Arc::new(InMemory(server.clone())));
    HttpModel::new(provider_at(&server.url(), format), http, surroundings())
}

/// The same, giving up when nothing has arrived for `idle`.
pub(crate) fn model_with_idle(server: &FakeProvider, format: WireFormat, idle: Duration) -> HttpModel {
    let http = HttpClient::with_dial(Arc::new(InMemory(server.clone())));
    HttpModel::new(ProviderSettings { idle, ..provider_at(&server.url(), format) }, http, surroundings())
}

/// A model behind a server in memory whose answers have these limits.
pub(crate) fn model_with_limits(
    server: &FakeProvider,
    format: WireFormat,
    limits: AnswerLimits,
) -> HttpModel {
    let http = HttpClient::with_dial(Arc::new(InMemory(server.clone())));
    HttpModel::new(ProviderSettings { limits, ..provider_at(&server.url(), format) }, http, surroundings())
}

/// A question.
pub(crate) fn question(format: WireFormat) -> Request {
    asking(format, vec![Message::new("u1", Role::User, vec![Part::user_text("hi")])])
}

/// A conversation to go on with.
pub(crate) fn asking(format: WireFormat, messages: Vec<Message>) -> Request {
    Request { model: model_name(format).into(), messages, ..Request::default() }
}

/// The answer so far, and the error it ended with.
pub(crate) async fn ask(model: &HttpModel, request: Request) -> (ResponseBuilder, Option<ModelError>) {
    let mut answer = ResponseBuilder::default();
    let mut error = None;
    let mut stream = model.stream(request);
    while let Some(event) = stream.next().await {
        assert_eq!(error, None, "nothing follows an error");
        match event {
            Ok(event) => {
                assert_eq!(answer.finish, None, "nothing follows the end: {event:?}");
                answer.add(event);
            }
            Err(failed) => error = Some(failed),
        }
    }
    assert!(answer.finish.is_some() != error.is_some(), "an answer ends once: {answer:?}, {error:?}");
    (answer, error)
}

/// The text of an answer.
pub(crate) fn text_of(answer: ResponseBuilder) -> String {
    answer.into_message("a").parts.iter().filter_map(Part::as_text).collect()
}

/// Reads on until this piece of text has arrived.
pub(crate) async fn read_until(stream: &mut longhaul_conversation::ModelStream<'_>, piece: &str) {
    while let Some(event) = stream.next().await {
        if event == Ok(ResponseEvent::TextDelta(piece.into())) {
            return;
        }
    }
    panic!("{piece:?} never arrived");
}
