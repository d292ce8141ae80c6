//! A model behind an HTTP endpoint.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{HeaderMap, Method, Response, Uri};
use longhaul_conversation::{
    AnswerLimit, Model, ModelError, ModelStream, Request, ResponseEvent, SpendMeter, TokenCount,
};
use longhaul_wire::{EncodeOptions, LimitName, WireFormat, decode_count, encode_count, encode_request};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::answer::{Next, Reading, is_shown};
use crate::failure::{Callee, judge_answer};
use crate::http::{DialError, HttpClient, Target};
use crate::limits::AnswerBudget;
use crate::retry::{Again, Failure, Listener, RetryBudget, RetrySettings, Surroundings, Waiting};
use crate::settings::{Key, ProviderSettings};
use crate::watch::{Watch, stalled};

/// The most of an error's body that is read.
const LONGEST_ERROR: usize = 64 << 10;
/// The time to wait for an error's body.
const ERROR_TIME: Duration = Duration::from_secs(10);

/// The models of one provider. A request names the one it wants.
#[derive(Clone, Debug)]
pub struct HttpModel {
    provider: ProviderSettings,
    http: HttpClient,
    retry: RetrySettings,
    surroundings: Surroundings,
    listener: Listener,
}

impl HttpModel {
    /// Speaks to `provider` through `http`.
    pub fn new(provider: ProviderSettings, http: HttpClient, surroundings: Surroundings) -> Self {
        let retry = RetrySettings::default();
        Self { provider, http, retry, surroundings, listener: Listener::default() }
    }

    /// The same with other retry settings.
    #[must_use]
    pub fn with_retry(self, retry: RetrySettings) -> Self {
        Self { retry, ..self }
    }

    /// The same, telling `listener` whenever a call has failed and will be made again.
    #[must_use]
    pub fn on_wait(self, listener: impl Fn(Waiting<'_>) + Send + Sync + 'static) -> Self {
        Self { listener: Listener(Arc::new(listener)), ..self }
    }

    /// The provider.
    pub fn provider(&self) -> &ProviderSettings {
        &self.provider
    }

    pub(crate) fn http(&self) -> &HttpClient {
        &self.http
    }

    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Has the provider count the tokens of a request; `None` where it has no way to.
    pub async fn count(&self, request: Request) -> Result<Option<TokenCount>, ModelError> {
        let format = self.provider.format;
        let (model, rules) = (request.model.clone(), self.rules(&request));
        let Some(body) = encode_count(format, request) else { return Ok(None) };
        let path = match format {
            WireFormat::Gemini => format!("v1beta/{}:countTokens", gemini_path(&model)),
            WireFormat::OpenAi | WireFormat::Anthropic => "v1/messages/count_tokens".to_string(),
        };
        let post = Post::new(self, &model, &path, &body, rules)?;
        let started = Instant::now();
        let mut retries = RetryBudget::new(post.rules.retry);
        loop {
            match post.count(self, format, started).await {
                Ok(count) => return Ok(Some(count)),
                Err(failure) => self.wait(failure, &mut retries, started).await?,
            }
        }
    }

    /// Waits until a failed call may be made again, or gives the failure back.
    async fn wait(
        &self,
        failure: Failure,
        retries: &mut RetryBudget,
        started: Instant,
    ) -> Result<(), ModelError> {
        let random = self.surroundings.random();
        match retries.next_wait(failure.again, started.elapsed(), random) {
            Some(wait) => {
                (self.listener.0)(Waiting { error: &failure.error, wait });
                sleep(wait).await;
                Ok(())
            }
            None => Err(failure.error),
        }
    }

    /// The rules for one call: those of its provider, and what the request itself says.
    fn rules(&self, request: &Request) -> Rules {
        let stated = request.sampling.max_output.or_else(|| self.provider.output_reserve(&request.model));
        let budget = self.provider.limits.budget(stated);
        let own = request.limits;
        let idle = own.idle.map_or(self.provider.idle, |idle| idle.min(self.provider.idle));
        Rules {
            idle,
            budget: AnswerBudget {
                time: own.time.map_or(budget.time, |time| time.min(budget.time)),
                ..budget
            },
            // Whoever wants to wait no longer than this does not want to wait for the same once more.
            retry: RetrySettings {
                budget: own.idle.unwrap_or(Duration::MAX).min(self.retry.budget),
                ..self.retry
            },
            meter: request.meter.clone(),
        }
    }

    fn post(&self, request: Request) -> Result<Post, ModelError> {
        let (model, rules) = (request.model.clone(), self.rules(&request));
        let options = EncodeOptions {
            streams: true,
            max_output: self.provider.output_reserve(&model),
            limit_name: limit_name(&self.provider, &model),
            marks_cache: self.provider.marks_cache,
        };
        let body = encode_request(self.provider.format, request, &options);
        let path = match self.provider.format {
            WireFormat::Gemini => format!("v1beta/{}:streamGenerateContent?alt=sse", gemini_path(&model)),
            WireFormat::OpenAi => "chat/completions".to_string(),
            WireFormat::Anthropic => "v1/messages".to_string(),
        };
        Post::new(self, &model, &path, &body, rules)
    }
}

impl Model for HttpModel {
    fn stream(&self, request: Request) -> ModelStream<'_> {
        let post = self.post(request);
        let retry = post.as_ref().map_or(self.retry, |post| post.rules.retry);
        let call = Call {
            model: self,
            state: post.map_or_else(State::Failed, State::Asking),
            ready: VecDeque::new(),
            has_shown: false,
            retries: RetryBudget::new(retry),
            started: Instant::now(),
        };
        Box::pin(stream::unfold(call, |mut call| async {
            let event = call.next().await?;
            Some((event, call))
        }))
    }
}

/// OpenAI's own newer models know only the newer name; other servers may know only the older one.
fn limit_name(provider: &ProviderSettings, model: &str) -> LimitName {
    let name = model.rsplit('/').next().unwrap_or(model);
    let is_newer = ["o1", "o3", "o4", "gpt-5"].iter().any(|start| name.starts_with(start));
    if is_newer || provider.endpoint.host() == "api.openai.com" {
        LimitName::MaxCompletionTokens
    } else {
        LimitName::MaxTokens
    }
}

/// A model's place in Gemini's addresses.
fn gemini_path(model: &str) -> String {
    let mut path = String::from(if model.contains('/') { "" } else { "models/" });
    for byte in model.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'@' => {
                path.push(char::from(byte));
            }
            other => path.push_str(&format!("%{other:02X}")),
        }
    }
    path
}

/// A call that can be made any number of times.
struct Post {
    model: String,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    rules: Rules,
}

/// The rules that one call keeps to.
struct Rules {
    idle: Duration,
    budget: AnswerBudget,
    retry: RetrySettings,
    meter: SpendMeter,
}

impl Post {
    fn new(
        http: &HttpModel,
        model: &str,
        path: &str,
        body: &Map<String, Value>,
        rules: Rules,
    ) -> Result<Self, ModelError> {
        let provider = &http.provider;
        let unknown = || ModelError::UnknownModel { model: model.to_string(), nearest: Vec::new() };
        let uri = provider.endpoint.join(path).ok_or_else(unknown)?;
        let headers = common_headers(http, &uri)?;
        let body = serde_json::to_vec(body).expect("JSON values can be written").into();
        Ok(Self { model: model.to_string(), uri, headers, body, rules })
    }

    fn callee<'a>(&'a self, http: &'a HttpModel) -> Callee<'a> {
        Callee { provider: &http.provider, model: &self.model }
    }

    /// Makes the call, which began at `started`; what comes back is a success.
    async fn send(&self, http: &HttpModel, started: Instant) -> Result<Response<Incoming>, Failure> {
        let Rules { idle, budget, meter, .. } = &self.rules;
        let host = || http.provider.endpoint.host().to_string();
        let mut request = hyper::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let deadline = started + budget.time;
        meter.sent();
        let until = deadline.min(Instant::now() + *idle);
        let response = match timeout_at(until, http.http.client.request(request)).await {
            Err(_) if Instant::now() >= deadline => {
                let limit = AnswerLimit::Time(budget.time);
                return Err(Failure::lasting(ModelError::OverLimit { limit }));
            }
            Err(_) => return Err(Failure::passing(stalled(*idle))),
            Ok(Err(error)) => {
                let (failure, reach) = judge_connection(&error, host(), http);
                if reach == Reach::Nowhere {
                    meter.unsent();
                }
                return Err(failure);
            }
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() {
            return Ok(response);
        }
        meter.refused();
        let (head, body) = response.into_parts();
        let body = read_some(body).await;
        Err(judge_answer(self.callee(http), head.status, &head.headers, &body, http.surroundings.now()))
    }

    async fn count(
        &self,
        http: &HttpModel,
        format: WireFormat,
        started: Instant,
    ) -> Result<TokenCount, Failure> {
        let response = self.send(http, started).await?;
        // Providers count for nothing.
        self.rules.meter.refused();
        let status = response.status();
        let body = read_some(response.into_body()).await;
        let answer = serde_json::from_slice(&body).unwrap_or(Value::Null);
        decode_count(format, &answer).ok_or_else(|| {
            if body.trim_ascii_start().starts_with(b"<") {
                return judge_answer(
                    self.callee(http),
                    status,
                    &HeaderMap::new(),
                    &body,
                    http.surroundings.now(),
                );
            }
            let host = http.provider.endpoint.host().to_string();
            Failure::lasting(ModelError::NotAModel { host, reason: "returned no token count".into() })
        })
    }
}

/// The headers of any call to an address of a provider.
pub(crate) fn common_headers(http: &HttpModel, uri: &Uri) -> Result<HeaderMap, ModelError> {
    let provider = &http.provider;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("longhaul/", env!("CARGO_PKG_VERSION"))));
    if provider.format == WireFormat::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some((name, value)) = key_header(provider)? {
        headers.insert(name, value);
    }
    let credentials = Target::of(uri).and_then(|target| http.http.proxies.authorisation(&target));
    if let Some(mut value) = credentials.and_then(|value| HeaderValue::try_from(value).ok()) {
        value.set_sensitive(true);
        headers.insert(PROXY_AUTHORIZATION, value);
    }
    Ok(headers)
}

/// The header that carries the key. A key is never part of an address.
fn key_header(provider: &ProviderSettings) -> Result<Option<(HeaderName, HeaderValue)>, ModelError> {
    let key = match &provider.key {
        Key::Given(key) => key.expose_secret().trim(),
        Key::NotNeeded => return Ok(None),
        Key::Missing { .. } if provider.endpoint.is_local() => return Ok(None),
        Key::Missing { looked_at } => {
            let provider = provider.name.clone();
            return Err(ModelError::NoKey { provider, looked_at: looked_at.clone() });
        }
    };
    let (name, value) = match provider.format {
        WireFormat::Gemini => (HeaderName::from_static("x-goog-api-key"), HeaderValue::try_from(key)),
        WireFormat::OpenAi => (AUTHORIZATION, HeaderValue::try_from(format!("Bearer {key}"))),
        WireFormat::Anthropic => (HeaderName::from_static("x-api-key"), HeaderValue::try_from(key)),
    };
    let mut value = value.map_err(|_| ModelError::Unauthorised {
        provider: provider.name.clone(),
        reason: Some("it contains invalid characters".into()),
    })?;
    value.set_sensitive(true);
    Ok(Some((name, value)))
}

/// Reads a body to its end, or as much of it as is of use.
async fn read_some(mut body: Incoming) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            let data = frame.data_ref().map_or(&[][..], |data| data);
            bytes.extend_from_slice(&data[..data.len().min(LONGEST_ERROR - bytes.len())]);
            if bytes.len() == LONGEST_ERROR {
                break;
            }
        }
    };
    // What has arrived until then will do.
    timeout(ERROR_TIME, read).await.ok();
    bytes
}

/// The progress of a request that failed before a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// There was no connection to send it on.
    Nowhere,
    /// It may have arrived.
    Unknown,
}

fn judge_connection(
    error: &hyper_util::client::legacy::Error,
    host: String,
    http: &HttpModel,
) -> (Failure, Reach) {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(found) = cause {
        if let Some(DialError { reason, is_lasting }) = found.downcast_ref() {
            let error = ModelError::Unreachable { host, reason: reason.clone() };
            // What runs on this machine does not come and go with the network.
            let is_lasting = *is_lasting || http.provider.endpoint.is_local();
            let again = if is_lasting { Again::Never } else { Again::Briefly };
            return (Failure { error, again }, Reach::Nowhere);
        }
        cause = found.source();
    }
    let reason = crate::http::innermost(error);
    (Failure::passing(ModelError::Unreachable { host, reason }), Reach::Unknown)
}

/// One call under way.
struct Call<'a> {
    model: &'a HttpModel,
    state: State,
    ready: VecDeque<ResponseEvent>,
    /// True if something was handed on that the call cannot take back.
    has_shown: bool,
    retries: RetryBudget,
    started: Instant,
}

enum State {
    Asking(Post),
    Reading(Post, Box<Reading>),
    /// The answer is complete; the connection may still be worth keeping.
    Draining(Box<Reading>),
    Failed(ModelError),
    Over,
}

impl Call<'_> {
    async fn next(&mut self) -> Option<Result<ResponseEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.has_shown |= is_shown(&event);
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.state, State::Over) {
                State::Asking(post) => {
                    let sent = Instant::now();
                    match post.send(self.model, self.started).await {
                        Ok(response) => {
                            let seed = format!("{:016x}", self.model.surroundings.random());
                            let watch = Watch::new(post.rules.budget, post.rules.idle, self.started, sent);
                            let reading = Reading::new(response, self.model.provider.format, seed, watch);
                            self.state = State::Reading(post, Box::new(reading));
                        }
                        Err(failure) => self.fail(failure, post).await,
                    }
                }
                State::Reading(post, mut reading) => {
                    let mut events = Vec::new();
                    let before = reading.content();
                    let next = reading.next(post.callee(self.model), &mut events).await;
                    let meter = &post.rules.meter;
                    meter.received(reading.content() - before);
                    for event in &events {
                        if let ResponseEvent::Usage(usage) = event {
                            meter.reported(*usage);
                        }
                    }
                    self.ready.extend(events);
                    match next {
                        Ok(Next::More) => self.state = State::Reading(post, reading),
                        Ok(Next::Finished) => self.state = State::Draining(reading),
                        Err(failure) => self.fail(failure, post).await,
                    }
                }
                State::Draining(mut reading) => reading.drain().await,
                State::Failed(error) => return Some(Err(error)),
                State::Over => return None,
            }
        }
    }

    /// Tries again if nothing was shown and the retry budget allows it; what is ready is then forgotten.
    async fn fail(&mut self, failure: Failure, post: Post) {
        if self.has_shown {
            self.state = State::Failed(failure.error);
            return;
        }
        match self.model.wait(failure, &mut self.retries, self.started).await {
            Ok(()) => {
                self.ready.clear();
                self.state = State::Asking(post);
            }
            Err(error) => self.state = State::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Endpoint;

    #[test]
    fn a_model_has_its_place_in_an_address() {
        assert_eq!(gemini_path("gemini-2.5-pro"), "models/gemini-2.5-pro");
        assert_eq!(gemini_path("tunedModels/mine"), "tunedModels/mine");
        assert_eq!(gemini_path("a b?c"), "models/a%20b%3Fc");
    }

    #[test]
    fn limits_have_the_name_the_server_knows() {
        let at = |url: &str| {
            let endpoint = Endpoint::parse(url).expect("an address");
            ProviderSettings::at("x", WireFormat::OpenAi, endpoint, Key::NotNeeded)
        };
        let local = at("http://localhost:11434/v1");
        assert_eq!(limit_name(&local, "llama3"), LimitName::MaxTokens);
        assert_eq!(limit_name(&local, "openai/gpt-5-mini"), LimitName::MaxCompletionTokens);
        assert_eq!(limit_name(&at("https://api.openai.com/v1"), "gpt-4o"), LimitName::MaxCompletionTokens);
    }

    #[test]
    fn a_key_is_wanted_where_it_is_needed() {
        let missing = Key::Missing { looked_at: vec!["X_KEY".into()] };
        let mut provider = ProviderSettings::usual(WireFormat::Gemini, missing.clone());
        let looked_at = vec!["X_KEY".to_string()];
        assert_eq!(key_header(&provider), Err(ModelError::NoKey { provider: "gemini".into(), looked_at }));
        provider.key = Key::Given("a\nb".into());
        let error = key_header(&provider).expect_err("no header may hold this");
        assert!(!error.to_string().contains("a\n"), "{error}");
        provider.key = Key::Given(" padded \n".into());
        assert_eq!(key_header(&provider).expect("a header").expect("a key").1, "padded");
        let local = Endpoint::parse("http://localhost:1").expect("an address");
        let local = ProviderSettings::at("x", WireFormat::OpenAi, local, missing);
        assert_eq!(key_header(&local), Ok(None));
    }
}
