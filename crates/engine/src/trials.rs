//! Conversations, models and files for tests.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use longhaul_compaction::{HostState, Input, PlanOptions, Tracker, Trigger, prepare};
use longhaul_conversation::{
    Message, Model, ModelError, ModelStream, Ordinal, Part, Request, ResponseEvent, Role, ScriptedModel,
    ScriptedReply, SpendMeter, TokenCount, ToolCall, ToolResult,
};
use longhaul_workspace::WorkspaceError;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::summarise::{BoxFuture, ByModel, Offline, Summariser};
use crate::{CompactionDeps, Counter, Event, Files, PassOutcome, PreCompress, Settings, State, compact};

/// A conversation, and everything around it that a pass needs.
pub(crate) struct Trial {
    pub(crate) messages: Vec<Message>,
    pub(crate) host: HostState,
    pub(crate) options: PlanOptions,
    pub(crate) settings: Settings,
    pub(crate) state: State,
    pub(crate) files: MemoryFiles,
    pub(crate) events: Mutex<Vec<Event>>,
    pub(crate) cancel: CancellationToken,
    /// The time, by how often it was asked for.
    pub(crate) clock: fn(u32) -> Duration,
}

/// The rules that the user of [`work`] sets.
pub(crate) const RULES: [&str; 2] = ["Never push to main.", "Always run the tests first."];

/// A session about an upload: two rules, then `steps` of a call with an output of about `output` characters.
pub(crate) fn work(steps: usize, output: usize) -> Vec<Message> {
    let rules = RULES.join(" ");
    let mut messages = vec![
        user(&format!("Fix the upload in src/upload.rs. {rules} I like short names in here.")),
        model("I will look at retry_count in src/upload.rs."),
    ];
    for step in 0..steps {
        let id = format!("call-{step}");
        let call =
            ToolCall::new(id.as_str(), "read_file").with_args(json!({"path": format!("src/part_{step}.rs")}));
        let line = format!("let value_{step} = parse_config({step}); // in src/part_{step}.rs\n");
        let text = line.repeat(output / line.len() + 1);
        messages.push(Message::new("", Role::Model, vec![Part::call(call)]));
        messages.push(Message::new("", Role::User, vec![Part::result(ToolResult::text(id.as_str(), text))]));
        if step % 4 == 3 {
            messages.push(model(&format!("value_{step} comes from parse_config; retry_count stays unused.")));
            messages.push(user(&format!("Good, now part {step} of it.")));
        }
    }
    messages.push(model("All parts are read."));
    number(messages)
}

/// Gives messages their ids and marks.
pub(crate) fn number(mut messages: Vec<Message>) -> Vec<Message> {
    for (message, nth) in messages.iter_mut().zip(1..) {
        message.id = format!("m{nth}").into();
        message.ordinal = Some(Ordinal(nth));
    }
    messages
}

pub(crate) fn user(text: &str) -> Message {
    Message::new("", Role::User, vec![Part::user_text(text)])
}

pub(crate) fn model(text: &str) -> Message {
    Message::new("", Role::Model, vec![Part::model_text(text)])
}

/// A good answer.
pub(crate) const ANSWER: &str = "<scratchpad>hidden thoughts</scratchpad><state_snapshot><overall_goal>Fix the upload.\
     </overall_goal><key_knowledge>\n- retry_count in src/upload.rs is unused\n</key_knowledge><task_state>\n1. [DONE] read \
     the parts\n2. [TODO] remove retry_count\n</task_state></state_snapshot>";

/// A model that gives the same answer again and again.
pub(crate) fn always(reply: &ScriptedReply) -> ScriptedModel {
    ScriptedModel::new(std::iter::repeat_n(reply.clone(), 200))
}

pub(crate) fn by_model(model: &dyn Model) -> ByModel<'_> {
    ByModel::new(model, "scripted", TokenCount(100_000))
}

impl Trial {
    /// A pass over these messages in this window. Outputs are never masked, so that something is left for a summary.
    pub(crate) fn new(messages: Vec<Message>, window: u64) -> Self {
        let mut trial = Self::masking(messages, window);
        trial.options.budget.outputs.worthwhile = TokenCount(u64::MAX);
        trial
    }

    /// A pass over these messages in this window.
    pub(crate) fn masking(messages: Vec<Message>, window: u64) -> Self {
        Self {
            messages,
            host: HostState::default(),
            options: PlanOptions { session: "s".into(), ..PlanOptions::new(TokenCount(window)) },
            settings: Settings::default(),
            state: State::default(),
            files: MemoryFiles::default(),
            events: Mutex::default(),
            cancel: CancellationToken::new(),
            clock: |_| Duration::ZERO,
        }
    }

    pub(crate) fn forced(mut self) -> Self {
        self.options.trigger = Trigger::Forced;
        self
    }

    pub(crate) fn with(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    pub(crate) fn tracker(&self) -> Tracker {
        let mut tracker = Tracker::default();
        self.messages.iter().for_each(|message| tracker.observe(message));
        tracker
    }

    pub(crate) fn run(&self, summariser: &dyn Summariser) -> PassOutcome {
        self.run_with(summariser, None, None)
    }

    pub(crate) fn run_offline(&self) -> PassOutcome {
        self.run(&Offline)
    }

    pub(crate) fn run_with(
        &self,
        summariser: &dyn Summariser,
        counter: Option<&dyn Counter>,
        hook: Option<&dyn PreCompress>,
    ) -> PassOutcome {
        let tracker = self.tracker();
        let asked = AtomicU32::new(0);
        let deps = CompactionDeps {
            summariser,
            files: &self.files,
            counter,
            pre_compress: hook,
            events: &|event| self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event),
            clock: &|| (self.clock)(asked.fetch_add(1, Ordering::Relaxed)),
        };
        let prepared = prepare(&self.messages, self.options.empty);
        let input = Input { host: &self.host, ..Input::new(&tracker, &prepared, &self.options) };
        block_on(compact(&input, &self.settings, &self.state, &deps, &self.cancel))
    }

    /// Runs a pass and takes its result over, as an owner would.
    pub(crate) fn advance(&mut self, summariser: &dyn Summariser) -> PassOutcome {
        let outcome = self.run(summariser);
        self.state = outcome.state.clone();
        outcome
    }

    /// The names of the events so far.
    pub(crate) fn event_names(&self) -> String {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let names = events.iter().map(|event| {
            let text = format!("{event:?}");
            text[..text.find([' ', '{']).unwrap_or(text.len())].to_string()
        });
        names.collect::<Vec<_>>().join(" ")
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// Files in memory, of which some cannot be written.
#[derive(Default)]
pub(crate) struct MemoryFiles {
    pub(crate) saved: Mutex<BTreeMap<String, String>>,
    /// Files with this in their name cannot be written.
    pub(crate) broken: Option<&'static str>,
}

impl MemoryFiles {
    pub(crate) fn names(&self) -> Vec<String> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

impl Files for MemoryFiles {
    fn save(&self, file: &str, text: &str) -> Result<bool, WorkspaceError> {
        if self.broken.is_some_and(|broken| file.contains(broken)) {
            let cause = io::Error::other("the disk is on fire");
            return Err(WorkspaceError::Failed { act: "write", path: file.into(), cause });
        }
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(saved.insert(file.into(), text.into()).is_none())
    }

    fn remove(&self, file: &str) {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner).remove(file);
    }
}

/// Counts by a function of the messages.
pub(crate) struct Counting<F>(pub(crate) F);

impl<F: Fn(&[Message]) -> Result<TokenCount, ModelError> + Send + Sync> Counter for Counting<F> {
    fn count<'a>(
        &'a self,
        messages: &'a [Message],
        _: &'a SpendMeter,
    ) -> BoxFuture<'a, Result<TokenCount, ModelError>> {
        let counted = (self.0)(messages);
        Box::pin(async move { counted })
    }
}

/// A hook that only records its triggers.
#[derive(Default)]
pub(crate) struct RecordingHook(pub(crate) Mutex<Vec<Trigger>>);

impl PreCompress for RecordingHook {
    fn run(&self, trigger: Trigger) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(trigger);
        Box::pin(async {})
    }
}

/// Cancels at the n-th moment in which somebody waits.
pub(crate) struct Trip {
    pub(crate) token: CancellationToken,
    pub(crate) at: usize,
    pub(crate) count: AtomicUsize,
}

impl Trip {
    pub(crate) fn at(at: usize, token: &CancellationToken) -> Self {
        Self { token: token.clone(), at, count: AtomicUsize::new(0) }
    }

    fn step(&self) {
        if self.count.fetch_add(1, Ordering::Relaxed) == self.at {
            self.token.cancel();
        }
    }

    /// Waits for one moment.
    async fn wait(&self) {
        let mut has_waited = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            self.step();
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl Counter for Trip {
    fn count<'a>(
        &'a self,
        messages: &'a [Message],
        _: &'a SpendMeter,
    ) -> BoxFuture<'a, Result<TokenCount, ModelError>> {
        Box::pin(async move {
            self.wait().await;
            Ok(TokenCount(messages.len() as u64 * 1_000))
        })
    }
}

impl PreCompress for Trip {
    fn run(&self, _: Trigger) -> BoxFuture<'_, ()> {
        Box::pin(self.wait())
    }
}

/// A model that waits before each event.
pub(crate) struct Slow<'a> {
    pub(crate) model: ScriptedModel,
    pub(crate) trip: &'a Trip,
}

impl Model for Slow<'_> {
    fn stream(&self, request: Request) -> ModelStream<'_> {
        Box::pin(SlowStream { events: self.model.stream(request), trip: self.trip, has_waited: false })
    }
}

struct SlowStream<'a> {
    events: ModelStream<'a>,
    trip: &'a Trip,
    has_waited: bool,
}

impl Stream for SlowStream<'_> {
    type Item = Result<ResponseEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !std::mem::replace(&mut self.has_waited, true) {
            self.trip.step();
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.has_waited = false;
        self.events.as_mut().poll_next(context)
    }
}
