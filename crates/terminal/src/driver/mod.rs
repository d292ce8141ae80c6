//! Holds the agent: does what it is told, one thing after the other, and tells everything that happens.

mod asking;
mod attach;
mod ears;
mod pages;
mod skills;
mod standing;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Mutex;

use longhaul_agent::{Agent, AgentError, Event, Host, Spending, TurnEnd};
use longhaul_compaction::{Input, compact_offline, prepare};
use longhaul_conversation::{Message as Said, MessageId, Origin, Part, Role};
use longhaul_engine::{EngineError, RecordId};
use longhaul_hooks::{EndReason, SessionSource};
use longhaul_policy::ApprovalMode;
use longhaul_session::{LogError, Recording};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use self::asking::Desk;
use self::ears::Ears;
use crate::command::{Command, Message, Notice, Said as Words, Topic, TurnChoice};
use crate::services::{Opened, Services, Spender};
use crate::text::sentence;

/// The prompt that drafts a memory file.
const INIT: &str = include_str!("../prompts/init.md");
/// So many earlier messages are shown when a session goes on.
const LAST_WORDS: usize = 4;

/// Holds the agent.
pub(crate) struct Driver<S> {
    services: S,
    agent: Agent,
    ears: Ears,
    messages: UnboundedSender<Message>,
    desk: Desk,
    /// What was spent, in dollars, where prices are known.
    spent: Mutex<Option<f64>>,
    /// What the model reads with the next message.
    notes: Vec<Part>,
    place: Place,
}

/// Where it all takes place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

impl<S: Services> Driver<S> {
    /// Holds the agent on the session to begin with.
    pub(crate) fn new(
        services: S,
        opened: Opened,
        commands: UnboundedReceiver<Command>,
        messages: UnboundedSender<Message>,
        place: Place,
    ) -> Self {
        let Opened { agent, notices } = opened;
        let desk = Desk::new(messages.clone());
        let driver = Self {
            services,
            agent,
            ears: Ears::new(commands),
            messages,
            desk,
            spent: Mutex::default(),
            notes: Vec::new(),
            place,
        };
        notices.into_iter().for_each(|notice| driver.tell(Message::Notice(notice)));
        driver.introduce(None);
        driver
    }

    /// Does what it is told until it is told to leave.
    pub(crate) async fn run(mut self) {
        let source = match self.has_history() {
            true => SessionSource::Resume,
            false => SessionSource::Startup,
        };
        self.begin_session(source).await;
        self.tell_skills();
        self.stand();
        self.tell(Message::Done);
        self.carry_out_all().await;
        // Who leaves while something is not recorded learns of it, and may stay.
        if let Err(notice) = self.record_pending()
            && self.ears.stay()
        {
            self.say(self.unrecorded(notice).with_hint(
                "Free some space and type /retry, or save the conversation elsewhere with /export FILE. Quit again to leave \
                 without it.",
            ));
            self.tell(Message::Done);
            self.carry_out_all().await;
        }
        let cancel = CancellationToken::new();
        self.agent.end_session(EndReason::PromptInputExit, &self.services.host(), &cancel).await;
        let synced = self.agent.conversation_mut().sync();
        self.services.end(&self.agent).await;
        self.tell(match synced {
            Ok(()) => Message::Left,
            Err(error) => Message::Failed(self.unrecorded(failure(&error))),
        });
    }

    async fn carry_out_all(&mut self) {
        while let Some(command) = self.ears.next().await {
            if let Err(notice) = self.carry_out(command).await {
                self.tell(Message::Notice(notice));
            }
            self.stand();
            self.tell(Message::Done);
        }
    }

    fn record_pending(&mut self) -> Result<(), Notice> {
        let hear = listener(&self.messages, &self.services, &self.spent);
        let host = Host { events: &hear, ..self.services.host() };
        let recorded = self.agent.record_pending(&host);
        recorded.map_err(|AgentError::Session(error)| not_recorded(&error))
    }

    /// How much of the session is in memory alone; what was said instead where nothing is.
    fn unrecorded(&self, otherwise: Notice) -> Notice {
        match self.agent.conversation().log().recording() {
            Recording::Pending(pending) => {
                let count = crate::view::plural(pending.count(), "record", "records");
                Notice::error(format!("{count} of this session could not be recorded: {}", pending.reason()))
            }
            Recording::Complete | Recording::Off => otherwise,
        }
    }

    async fn carry_out(&mut self, command: Command) -> Result<(), Notice> {
        match command {
            Command::Submit(text) => self.submit(text).await,
            Command::Init => {
                // Nobody has typed what it asks for, so no rule of the user's can be in it.
                self.notes.push(Part::text(Origin::Hook, INIT.trim()));
                self.submit("/init".to_string()).await
            }
            Command::Retry => self.retry().await,
            Command::Run(line) => self.run_command(line).await,
            Command::Compact { focus } => self.compact(focus).await,
            Command::PreviewCompaction => self.preview(),
            Command::UndoCompaction => self.undo(),
            Command::Show(topic) => self.show(topic),
            Command::Pin(text) => self.pin(&text),
            Command::Unpin(id) => self.unpin(&id),
            Command::ReloadMemory => self.reload_memory(),
            Command::AddMemory(fact) => self.add_memory(&fact),
            Command::ShowSkill(name) => self.show_skill(&name),
            Command::EnableSkill(name) => self.switch_skill(&name, true),
            Command::DisableSkill(name) => self.switch_skill(&name, false),
            Command::ReloadSkills => self.reload_skills(),
            Command::UseSkill { skill, words } => self.use_skill(&skill, words).await,
            Command::OpenInbox(inbox) => self.open_inbox(inbox),
            Command::ShowWaiting(inbox, name) => self.show_waiting(inbox, &name),
            Command::EditWaiting(inbox, name) => self.edit_waiting(inbox, name),
            Command::Review(inbox, review) => self.review(inbox, &review),
            Command::ListSessions => self.list_sessions(),
            Command::Resume(session) => self.resume(&session).await,
            Command::ListTurns => self.list_turns(),
            Command::RewindTo(message) => self.rewind_to(&message),
            Command::Clear => self.clear().await,
            Command::SwitchModel(name) => self.switch_model(&name),
            Command::SetMode(mode) => self.set_mode(mode),
            Command::Revoke(given) => self.revoke(&given),
            Command::Export(file) => {
                let written = self.services.export(&self.agent, file.as_deref())?;
                self.say(Notice::good(written));
                Ok(())
            }
            Command::Answer(..) | Command::Cancel | Command::Leave => Ok(()),
        }
    }

    /// Says something to the model and carries the turn out.
    async fn submit(&mut self, text: String) -> Result<(), Notice> {
        self.submit_with(text, Vec::new()).await
    }

    /// Says something to the model together with these parts.
    async fn submit_with(&mut self, text: String, more: Vec<Part>) -> Result<(), Notice> {
        let mut parts = vec![Part::user_text(text.clone())];
        parts.extend(more);
        parts.extend(self.attachments(&text).await);
        let notes = self.notes.clone();
        parts.append(&mut self.notes);
        let turns = self.turns();
        let end = {
            let cancel = CancellationToken::new();
            let hear = listener(&self.messages, &self.services, &self.spent);
            let host = Host { events: &hear, approver: &self.desk, ..self.services.host() };
            let turn = self.agent.run_turn_with(parts, &host, &cancel);
            self.ears.until_done(turn, &cancel, &self.desk).await
        };
        let end = end.map_err(|AgentError::Session(error)| {
            if self.turns() == turns {
                // It was not even taken: the user sends it again.
                self.notes = notes;
                self.tell(Message::Restore(text.clone()));
                return Notice {
                    hint: Some("Nothing was sent. Free some space, then send it again.".to_string()),
                    ..not_recorded(&error)
                };
            }
            not_recorded(&error)
        })?;
        match end {
            TurnEnd::Overflow(_) => {
                self.take_back(&text)?;
                self.tell(Message::Restore(text));
            }
            TurnEnd::Blocked { .. } => self.tell(Message::Restore(text)),
            _ => {}
        }
        Ok(())
    }

    /// How many messages of the user's there are.
    fn turns(&self) -> usize {
        let messages = self.agent.conversation().log().replay().messages();
        messages.iter().filter(|message| typed(message).is_some()).count()
    }

    /// Records what could not be recorded, and goes on with the turn that ended.
    async fn retry(&mut self) -> Result<(), Notice> {
        let waited = matches!(self.agent.conversation().log().recording(), Recording::Pending(_));
        let cancel = CancellationToken::new();
        let hear = listener(&self.messages, &self.services, &self.spent);
        let host = Host { events: &hear, approver: &self.desk, ..self.services.host() };
        let turn = self.agent.retry_turn(&host, &cancel);
        let ended = self.ears.until_done(turn, &cancel, &self.desk).await;
        match ended.map_err(|AgentError::Session(error)| not_recorded(&error))? {
            Some(_) => {}
            None if waited => self.say(Notice::good("Everything is recorded again.")),
            None => self.say(Notice::info("There is nothing to retry.")),
        }
        Ok(())
    }

    /// What did not fit is not part of the conversation: the user says it again in other words.
    fn take_back(&mut self, text: &str) -> Result<(), Notice> {
        let messages = self.agent.conversation().log().replay().messages();
        let said = messages.iter().rev().find(|message| typed(message).is_some_and(|said| said == text));
        let Some(id) = said.map(|message| message.id.clone()) else { return Ok(()) };
        self.agent.conversation_mut().rewind_to(&id).map_err(|error| failure(&error))
    }

    async fn compact(&mut self, focus: Option<String>) -> Result<(), Notice> {
        let cancel = CancellationToken::new();
        let hear = listener(&self.messages, &self.services, &self.spent);
        let host = Host { events: &hear, approver: &self.desk, ..self.services.host() };
        let work = self.agent.compact(focus, &host, &cancel);
        let outcome = self.ears.until_done(work, &cancel, &self.desk).await;
        let outcome = outcome.map_err(|AgentError::Session(error)| not_recorded(&error))?;
        self.tell(Message::Compacted(Box::new(outcome)));
        if self.agent.conversation().state().is_broken(&self.agent.settings().compaction) {
            self.say(
                Notice::warning("Models are no longer asked for snapshots, as they failed too often.")
                    .with_hint(
                        "Longhaul writes them itself from now on; /clear or a new session starts afresh.",
                    ),
            );
        }
        Ok(())
    }

    fn preview(&mut self) -> Result<(), Notice> {
        let conversation = self.agent.conversation();
        let options = self.agent.options(self.agent.room(), longhaul_compaction::Trigger::Forced);
        let prepared = prepare(conversation.transcript().messages(), options.empty);
        let outcome = compact_offline(&Input::new(conversation.tracker(), &prepared, &options));
        self.tell(Message::Page(pages::preview(&outcome)));
        Ok(())
    }

    fn undo(&mut self) -> Result<(), Notice> {
        let now = (self.services.host().now)();
        let undone = self.agent.conversation_mut().undo(None, now, &|_| {});
        match undone {
            Ok(_) => {
                let count = self.agent.conversation().transcript().messages().len();
                let count = crate::view::plural(count, "message is", "messages are");
                self.say(Notice::good(format!(
                    "The compaction is undone: {count} in the conversation again."
                )));
                Ok(())
            }
            Err(EngineError::Log(LogError::NothingToUndo { .. })) => {
                Err(Notice::info("There is no compaction to undo."))
            }
            Err(error) => Err(failure(&error)),
        }
    }

    fn show(&mut self, topic: Topic) -> Result<(), Notice> {
        let host = self.services.host();
        let page = match topic {
            Topic::Context => pages::context(&self.agent),
            Topic::Pins => pages::pins(&self.agent),
            Topic::Statistics => pages::statistics(&self.agent, self.spent()),
            Topic::Memory => pages::memory(&self.agent),
            Topic::MemoryFiles => pages::memory_files(&self.agent),
            Topic::Skills => self.services.skill_list(false),
            Topic::AllSkills => self.services.skill_list(true),
            Topic::Model => pages::model(&self.agent, &self.services.model(), &self.services.models()),
            Topic::Tools => pages::tools(&host),
            Topic::Policy => pages::policy(&self.agent),
            Topic::Hooks => pages::hooks(&host),
            Topic::Trust => self.services.trust(),
        };
        self.tell(Message::Page(page));
        Ok(())
    }

    fn stamp(&self) -> RecordId {
        let host = self.services.host();
        RecordId { id: (host.new_id)(), at: (host.now)() }
    }

    fn pin(&mut self, text: &str) -> Result<(), Notice> {
        let stamp = self.stamp();
        let pinned = self.agent.conversation_mut().pin(text, stamp).map_err(|error| failure(&error))?;
        if let Some(id) = pinned {
            self.say(Notice::good(format!("Pinned as {id}: {text}")));
        }
        Ok(())
    }

    fn unpin(&mut self, given: &str) -> Result<(), Notice> {
        let pins: Vec<_> = self.agent.conversation().tracker().pins().active().cloned().collect();
        let meant: Vec<_> = pins.iter().filter(|pin| pin.id.to_string().starts_with(given)).collect();
        let [pin] = meant[..] else {
            let text = match meant.len() {
                0 => format!("No pin is called {given}."),
                _ => format!("Several pins begin with {given}."),
            };
            return Err(Notice::error(text).with_hint("/pins lists them."));
        };
        let (id, text, stamp) = (pin.id, pin.text.clone(), self.stamp());
        self.agent.conversation_mut().unpin(id, stamp).map_err(|error| failure(&error))?;
        self.say(Notice::good(format!("No longer pinned: {text}")));
        Ok(())
    }

    fn reload_memory(&mut self) -> Result<(), Notice> {
        let now = (self.services.host().now)();
        let Some(memory) = self.agent.memory_mut() else {
            return Err(Notice::info("There is no memory in this session."));
        };
        memory.reload(now);
        let (files, characters) = memory
            .files()
            .fold((0, 0), |(files, characters), file| (files + 1, characters + file.text.chars().count()));
        let text = match files {
            0 => "Memory was loaded again; no file says anything.".to_string(),
            files => format!(
                "Memory was loaded again: {} characters from {}.",
                longhaul_conversation::grouped(characters as u64),
                crate::view::plural(files, "file", "files")
            ),
        };
        self.say(Notice::good(text));
        Ok(())
    }

    fn add_memory(&mut self, fact: &str) -> Result<(), Notice> {
        let told = self.services.add_memory(fact)?;
        self.say(Notice::good(told));
        if self.agent.memory().is_some() { self.reload_memory() } else { Ok(()) }
    }

    fn list_sessions(&mut self) -> Result<(), Notice> {
        let sessions = self.services.sessions()?;
        if sessions.is_empty() {
            return Err(Notice::info("This folder has no other sessions yet."));
        }
        self.tell(Message::Sessions(sessions));
        Ok(())
    }

    async fn resume(&mut self, session: &str) -> Result<(), Notice> {
        // What waits to be recorded would be lost with its session.
        self.record_pending()?;
        let Opened { agent, notices } = self.services.open(session)?;
        let cancel = CancellationToken::new();
        self.agent.end_session(EndReason::Other, &self.services.host(), &cancel).await;
        self.agent = agent;
        self.notes.clear();
        notices.into_iter().for_each(|notice| self.say(notice));
        self.begin_session(SessionSource::Resume).await;
        self.introduce(Some("Going on with an earlier session"));
        Ok(())
    }

    fn list_turns(&mut self) -> Result<(), Notice> {
        let messages = self.agent.conversation().log().replay().messages();
        let turns: Vec<TurnChoice> = messages
            .iter()
            .rev()
            .filter_map(|message| {
                let text = typed(message)?;
                let at = message.at.map(|at| at.to_minute()).unwrap_or_default();
                Some(TurnChoice { id: message.id.clone(), text, detail: at })
            })
            .collect();
        if turns.is_empty() {
            return Err(Notice::info("Nothing was said yet."));
        }
        self.tell(Message::Turns(turns));
        Ok(())
    }

    fn rewind_to(&mut self, message: &MessageId) -> Result<(), Notice> {
        self.agent.conversation_mut().rewind_to(message).map_err(|error| failure(&error))?;
        self.say(
            Notice::good("Back to before that message; what followed is taken back.")
                .with_hint("Files are as they are: only the conversation went back."),
        );
        Ok(())
    }

    async fn clear(&mut self) -> Result<(), Notice> {
        let cancel = CancellationToken::new();
        self.agent.end_session(EndReason::Clear, &self.services.host(), &cancel).await;
        self.agent.clear(&self.services.host()).map_err(|AgentError::Session(error)| failure(&error))?;
        let now = (self.services.host().now)();
        self.agent.conversation_mut().reset(now).map_err(|error| failure(&error))?;
        self.notes.clear();
        self.begin_session(SessionSource::Clear).await;
        self.say(Notice::good("The conversation is empty; the log keeps what was said."));
        Ok(())
    }

    fn switch_model(&mut self, name: &str) -> Result<(), Notice> {
        let notices = self.services.switch_model(&mut self.agent, name)?;
        notices.into_iter().for_each(|notice| self.say(notice));
        self.say(Notice::good(format!("Talking to {} from now on.", self.services.model())));
        Ok(())
    }

    fn set_mode(&mut self, mode: ApprovalMode) -> Result<(), Notice> {
        let permissions = &mut self.agent.settings_mut().permissions;
        if let Some(key) = permissions.yolo_forbidden_by.as_ref().filter(|_| mode == ApprovalMode::Yolo) {
            return Err(Notice::error(format!("The mode yolo is switched off by {key}.")));
        }
        let mode = mode.in_folder(permissions.situation.is_trusted).map_err(|error| {
            Notice::error(error.to_string()).with_hint("`longhaul trust add` trusts this folder.")
        })?;
        permissions.situation.mode = mode;
        Ok(())
    }

    /// Takes back what the user always allowed.
    fn revoke(&mut self, given: &str) -> Result<(), Notice> {
        let revoked = self.agent.settings_mut().permissions.revoke(given).map_err(|error| {
            let mut text = error.to_string();
            if let Some(cause) = std::error::Error::source(&error) {
                text.push_str(&format!(": {cause}"));
            }
            Notice::error(sentence(&text)).with_hint("/policy lists what you always allowed, with numbers.")
        })?;
        let reach = revoked.reach().map(|reach| reach.to_string()).unwrap_or_default();
        let text = format!("No longer always allowed {reach}: {}", revoked.describe());
        self.say(Notice::good(text));
        Ok(())
    }

    async fn begin_session(&mut self, source: SessionSource) {
        let cancel = CancellationToken::new();
        let hear = listener(&self.messages, &self.services, &self.spent);
        let host = Host { events: &hear, approver: &self.desk, ..self.services.host() };
        if let Err(AgentError::Session(error)) = self.agent.begin_session(source, &host, &cancel).await {
            tell(&self.messages, Message::Notice(not_recorded(&error)));
        }
    }

    /// Shows what was said last, where there is something.
    fn introduce(&self, title: Option<&str>) {
        if !self.has_history() {
            return;
        }
        let messages = self.agent.conversation().log().replay().messages();
        let mut last: Vec<Words> = messages.iter().rev().filter_map(words).take(LAST_WORDS).collect();
        last.reverse();
        let count = messages.iter().filter(|message| typed(message).is_some()).count();
        let turns = crate::view::plural(count, "turn", "turns");
        let title = format!("{}: {turns}", title.unwrap_or("Going on with this session"));
        self.tell(Message::Opened { title, last });
    }

    fn has_history(&self) -> bool {
        self.agent.conversation().log().replay().messages().iter().any(|message| typed(message).is_some())
    }

    fn spent(&self) -> Option<f64> {
        *self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn stand(&self) {
        let standing = standing::standing(&self.agent, self.services.model(), self.spent(), &self.place);
        self.tell(Message::Standing(Box::new(standing)));
    }

    fn say(&self, notice: Notice) {
        self.tell(Message::Notice(notice));
    }

    fn tell(&self, message: Message) {
        tell(&self.messages, message);
    }
}

/// Where nobody listens any more, the end is near.
fn tell(messages: &UnboundedSender<Message>, message: Message) {
    messages.send(message).ok();
}

/// Hands on what happens, and adds up what it costs.
fn listener<'a, S: Services>(
    messages: &'a UnboundedSender<Message>,
    services: &'a S,
    spent: &'a Mutex<Option<f64>>,
) -> impl Fn(Event) + Send + Sync + 'a {
    move |event| {
        let cost = cost_of(&event, Spender::Conversation, services);
        tell(messages, Message::Happened(event));
        if let Some(cost) = cost {
            let mut spent = spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *spent = Some(spent.unwrap_or_default() + cost);
            tell(messages, Message::Cost(*spent));
        }
    }
}

/// What an event says was spent, in dollars, where that is known.
fn cost_of<S: Services>(event: &Event, caller: Spender<'_>, services: &S) -> Option<f64> {
    use longhaul_engine::Event::{Applied, Cancelled, Refused};
    match event {
        Event::Spent { on, consumed } => {
            let caller = match on {
                Spending::Answer => caller,
                Spending::Aside { model } => Spender::Aside(model),
            };
            services.cost(caller, &consumed.usage_with_estimates()?)
        }
        Event::Compaction(Applied { spend, .. } | Refused { spend, .. } | Cancelled { spend, .. }) => {
            Some(spend.money).filter(|money| *money > 0.0)
        }
        Event::Subagent { name, event, .. } => cost_of(event, Spender::Subagent(name), services),
        _ => None,
    }
}

/// What the user typed in a message; nothing if nobody did.
fn typed(message: &Said) -> Option<String> {
    let own = message.parts.iter().filter(|part| part.origin == Origin::User);
    let text = own.filter_map(Part::as_text).collect::<Vec<_>>().join("\n");
    (message.role == Role::User && !text.trim().is_empty()).then_some(text)
}

/// What was said in a message, for people.
fn words(message: &Said) -> Option<Words> {
    if let Some(text) = typed(message) {
        return Some(Words { is_users: true, text });
    }
    let text = message.parts.iter().filter(|part| part.origin == Origin::Model).filter_map(Part::as_text);
    let text = text.collect::<Vec<_>>().join("\n");
    (message.role == Role::Model && !text.trim().is_empty()).then_some(Words { is_users: false, text })
}

/// A turn that ended because it could not be recorded.
fn not_recorded(error: &EngineError) -> Notice {
    let notice = failure(error);
    match error {
        EngineError::Log(LogError::Io { .. } | LogError::Workspace(_)) => {
            Notice::error(format!("The turn stopped, as it could not be recorded: {}", notice.text))
                .with_hint(
                    "Nothing unrecorded was sent, and nothing is lost. Free some space, then type /retry.",
                )
        }
        _ => notice,
    }
}

fn failure(error: &EngineError) -> Notice {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(reason) = cause {
        text.push_str(&format!(": {reason}"));
        cause = reason.source();
    }
    Notice::error(text)
}
