//! The driver owns the agent: it executes commands one after the other and reports everything that happens.

mod approval_prompt;
mod attach;
mod command_queue;
mod custom;
mod live;
mod pages;
mod prompts;
mod rewind;
mod skills;
mod status_line;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Mutex;

use longhaul_agent::{
    Agent, AgentDeps, AgentError, AgentView, Approver, Event, Spending, TurnEnd, UserQuestion,
};
use longhaul_compaction::{Input, compact_offline, prepare};
use longhaul_conversation::{Message, ModelError, Ordinal, Origin, Part, Role, Timestamp};
use longhaul_display::text::sentence;
use longhaul_engine::{EngineError, RecordId};
use longhaul_hooks::{EndReason, SessionSource};
use longhaul_policy::ApprovalMode;
use longhaul_sessions::{LogError, Recording};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use self::approval_prompt::ApprovalPrompt;
use self::command_queue::CommandQueue;
use self::live::LivePages;
use crate::memory::{MemoryReply, MemoryRequest};
use crate::notice::Notice;
use crate::protocol::{DriverCommand, DriverMessage, PastMessage, Topic, TurnChoice};
use crate::services::{OpenedSession, Services, Spender};

/// The prompt that drafts a memory file.
const INIT: &str = include_str!("../prompts/init.md");
/// The number of earlier messages shown when a session is resumed.
const LAST_MESSAGES: usize = 4;

/// The owner of the agent.
pub(crate) struct Driver<S> {
    services: S,
    agent: Agent,
    commands: CommandQueue,
    messages: UnboundedSender<DriverMessage>,
    prompt: ApprovalPrompt,
    /// The cost so far, in dollars; none while prices are unknown.
    spent: Mutex<Option<f64>>,
    /// Parts to send with the next message.
    notes: Vec<Part>,
    /// The pages that are shown while a turn runs.
    pages: LivePages,
    working_folder: WorkingFolder,
    /// The point that the conversation was last rewound to.
    rewound_to: Option<Timestamp>,
}

/// The working folder with its display name.
#[derive(Clone, Debug)]
pub(crate) struct WorkingFolder {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

impl<S: Services> Driver<S> {
    /// Takes over the first session.
    pub(crate) fn new(
        services: S,
        opened: OpenedSession,
        commands: UnboundedReceiver<DriverCommand>,
        messages: UnboundedSender<DriverMessage>,
        working_folder: WorkingFolder,
    ) -> Self {
        let OpenedSession { agent, notices } = opened;
        let prompt = ApprovalPrompt::new(messages.clone());
        let driver = Self {
            services,
            agent,
            commands: CommandQueue::new(commands),
            messages,
            prompt,
            spent: Mutex::default(),
            notes: Vec::new(),
            pages: LivePages::default(),
            working_folder,
            rewound_to: None,
        };
        notices.into_iter().for_each(|notice| driver.send(DriverMessage::Notice(notice)));
        driver.show_last_messages(None);
        driver
    }

    /// Executes commands until the user leaves.
    pub(crate) async fn run(mut self) {
        let source = match self.has_history() {
            true => SessionSource::Resume,
            false => SessionSource::Startup,
        };
        self.begin_session(source).await;
        self.send(DriverMessage::Offers(self.services.offers()));
        self.send_skills();
        self.send_prompts();
        self.send_status();
        self.send(DriverMessage::Done);
        self.execute_all().await;
        // A user who leaves with unrecorded entries is told once, and may stay.
        if let Err(notice) = self.record_pending()
            && self.commands.keep_running()
        {
            self.notify(self.unrecorded(notice).with_hint(
                "Free some disk space and type /retry, or save the conversation elsewhere with /export FILE. Quit again \
                 to discard it.",
            ));
            self.send(DriverMessage::Done);
            self.execute_all().await;
        }
        let cancel = CancellationToken::new();
        self.agent.end_session(EndReason::PromptInputExit, &self.services.host(), &cancel).await;
        let synced = self.agent.conversation_mut().sync();
        self.services.end(&self.agent).await;
        if let Some(command) = self.services.resume_command().filter(|_| synced.is_ok() && self.has_history())
        {
            self.notify(Notice::info(format!("Resume with: {command}")));
        }
        self.send(match synced {
            Ok(()) => DriverMessage::Left,
            Err(error) => DriverMessage::Failed(self.unrecorded(failure(&error))),
        });
    }

    async fn execute_all(&mut self) {
        while let Some(command) = self.commands.next().await {
            if let Err(notice) = self.execute(command).await {
                self.send(DriverMessage::Notice(notice));
            }
            self.send_prompts();
            self.send_status();
            self.send(DriverMessage::Done);
        }
    }

    fn record_pending(&mut self) -> Result<(), Notice> {
        let events = event_handler(&self.messages, &self.services, &self.spent);
        let host = AgentDeps { events: &events, ..self.services.host() };
        let recorded = self.agent.record_pending(&host);
        recorded.map_err(|AgentError::Session(error)| not_recorded(&error))
    }

    /// A notice about the entries that are only in memory, or `otherwise` if there are none.
    fn unrecorded(&self, otherwise: Notice) -> Notice {
        match self.agent.conversation().log().recording() {
            Recording::Pending(pending) => {
                let count = crate::view::plural(pending.count(), "record", "records");
                Notice::error(format!("{count} of this session could not be saved: {}", pending.reason()))
            }
            Recording::Complete | Recording::Off => otherwise,
        }
    }

    async fn execute(&mut self, command: DriverCommand) -> Result<(), Notice> {
        match command {
            DriverCommand::Submit(text) => self.submit(text).await,
            DriverCommand::Init => {
                // The user has not typed this prompt, so no rule may be learned from it.
                self.notes.push(Part::text(Origin::Hook, INIT.trim()));
                self.submit("/init".to_string()).await
            }
            DriverCommand::Retry => self.retry().await,
            DriverCommand::Run(line) => self.run_user_command(line).await,
            DriverCommand::Compact { focus } => self.compact(focus).await,
            DriverCommand::PreviewCompaction => self.preview(),
            DriverCommand::UndoCompaction => self.undo(),
            DriverCommand::DropOutputs(message) => self.drop_outputs(message),
            DriverCommand::Show(topic) => self.show(topic),
            DriverCommand::AddRule(text) => self.add_rule(&text),
            DriverCommand::RemoveRule(id) => self.remove_rule(&id),
            DriverCommand::AddRequest(text) => self.add_request(&text),
            DriverCommand::FinishRequest(id) => self.end_request(&id, RequestEnd::Done),
            DriverCommand::RemoveRequest(id) => self.end_request(&id, RequestEnd::Removed),
            DriverCommand::ReloadMemory => self.reload_memory(),
            DriverCommand::ChangeMemory(request) => self.change_memory(request).await,
            DriverCommand::ShowSkill(name) => self.show_skill(&name),
            DriverCommand::EnableSkill(name) => self.switch_skill(&name, true),
            DriverCommand::DisableSkill(name) => self.switch_skill(&name, false),
            DriverCommand::ReloadSkills => self.reload_skills(),
            DriverCommand::UseSkill { skill, words } => self.use_skill(&skill, words).await,
            DriverCommand::UsePrompt { name, words, unknown } => {
                self.use_prompt(&name, &words, unknown).await
            }
            DriverCommand::ShowSettings(key) => {
                self.send(DriverMessage::Page(self.services.settings_page(key.as_deref())?));
                Ok(())
            }
            DriverCommand::ChangeSetting { key, value } => self.change_setting(&key, value.as_deref()),
            DriverCommand::RunCustom { name, words } => self.run_custom(&name, &words).await,
            DriverCommand::AttachImage(image) => {
                let part = image.to_part();
                // A message that comes back into the input brings its image again.
                if !self.notes.contains(&part) {
                    self.notes.push(part);
                }
                Ok(())
            }
            DriverCommand::OpenInbox(inbox) => self.open_inbox(inbox),
            DriverCommand::ShowWaiting(inbox, name) => self.show_waiting(inbox, &name),
            DriverCommand::EditWaiting(inbox, name) => self.edit_waiting(inbox, name),
            DriverCommand::Review(inbox, review) => self.review(inbox, &review),
            DriverCommand::ListSessions => self.list_sessions(),
            DriverCommand::Resume(session) => self.resume(&session).await,
            DriverCommand::ListTurns => self.list_turns(),
            DriverCommand::RewindTo(message) => self.rewind_to(&message).await,
            DriverCommand::RestoreFiles => self.restore_files().await,
            DriverCommand::UndoRestore => self.undo_restore().await,
            DriverCommand::Clear => self.clear().await,
            DriverCommand::SwitchModel(name) => self.switch_model(&name),
            DriverCommand::SetMode(mode) => self.set_mode(mode),
            DriverCommand::Revoke(given) => self.revoke(&given),
            DriverCommand::Export(file) => {
                let written = self.services.export(&self.agent, file.as_deref())?;
                self.notify(Notice::good(written));
                Ok(())
            }
            DriverCommand::Answer(..) | DriverCommand::Cancel | DriverCommand::Leave => Ok(()),
        }
    }

    /// Sends a message to the model and runs the turn.
    async fn submit(&mut self, text: String) -> Result<(), Notice> {
        self.submit_with(text, Vec::new()).await
    }

    /// Sends a message with additional parts.
    async fn submit_with(&mut self, text: String, more: Vec<Part>) -> Result<(), Notice> {
        let mut parts = vec![Part::user_text(text.clone())];
        parts.extend(more);
        parts.extend(self.attachments(&text).await);
        let notes = self.notes.clone();
        parts.append(&mut self.notes);
        let turns = self.turns();
        self.pages.keep(self.agent.view(), &self.services, known(&self.spent));
        let end = {
            let cancel = CancellationToken::new();
            let events = event_handler(&self.messages, &self.services, &self.spent);
            let observer = |agent: AgentView<'_>| self.pages.keep(agent, &self.services, known(&self.spent));
            let host = AgentDeps {
                events: &events,
                approver: &self.prompt,
                observer: &observer,
                ..self.services.host()
            };
            let turn = self.agent.run_turn_with(parts, &host, &cancel);
            let answer = |command: &DriverCommand| self.pages.answer(command, &self.services, &self.messages);
            self.commands.until_done(turn, &cancel, &self.prompt, &answer).await
        };
        let end = end.map_err(|AgentError::Session(error)| {
            if self.turns() == turns {
                // The message was not recorded at all: the user sends it again.
                self.notes.clone_from(&notes);
                self.send(DriverMessage::Restore(text.clone()));
                return Notice {
                    hint: Some(
                        "Nothing was sent. Free some disk space, then send the message again.".to_string(),
                    ),
                    ..not_recorded(&error)
                };
            }
            not_recorded(&error)
        })?;
        let is_refused = matches!(
            end,
            TurnEnd::Overflow(_) | TurnEnd::Failed(ModelError::TooLong) | TurnEnd::Blocked { .. }
        );
        // A message that was blocked or taken back is not in the session: the user rephrases it.
        if is_refused && self.turns() == turns {
            self.notes = notes;
            self.send(DriverMessage::Restore(text));
        }
        Ok(())
    }

    /// The number of messages typed by the user.
    fn turns(&self) -> usize {
        let messages = self.agent.conversation().log().replay().messages();
        messages.iter().filter(|message| typed_text(message).is_some()).count()
    }

    /// Records the entries that could not be recorded, and continues the interrupted turn.
    async fn retry(&mut self) -> Result<(), Notice> {
        let waited = matches!(self.agent.conversation().log().recording(), Recording::Pending(_));
        let cancel = CancellationToken::new();
        let events = event_handler(&self.messages, &self.services, &self.spent);
        let observer = |agent: AgentView<'_>| self.pages.keep(agent, &self.services, known(&self.spent));
        let host = AgentDeps {
            events: &events,
            approver: &self.prompt,
            observer: &observer,
            ..self.services.host()
        };
        let turn = self.agent.retry_turn(&host, &cancel);
        let answer = |command: &DriverCommand| self.pages.answer(command, &self.services, &self.messages);
        let ended = self.commands.until_done(turn, &cancel, &self.prompt, &answer).await;
        match ended.map_err(|AgentError::Session(error)| not_recorded(&error))? {
            Some(_) => {}
            None if waited => self.notify(Notice::good("Session saved.")),
            None => self.notify(Notice::info("Nothing to retry.")),
        }
        Ok(())
    }

    async fn compact(&mut self, focus: Option<String>) -> Result<(), Notice> {
        let cancel = CancellationToken::new();
        let events = event_handler(&self.messages, &self.services, &self.spent);
        let host = AgentDeps { events: &events, approver: &self.prompt, ..self.services.host() };
        self.pages.keep(self.agent.view(), &self.services, known(&self.spent));
        let work = self.agent.compact(focus, &host, &cancel);
        let answer = |command: &DriverCommand| self.pages.answer(command, &self.services, &self.messages);
        let outcome = self.commands.until_done(work, &cancel, &self.prompt, &answer).await;
        let outcome = outcome.map_err(|AgentError::Session(error)| not_recorded(&error))?;
        self.send(DriverMessage::Compacted(Box::new(outcome)));
        if self.agent.conversation().state().is_broken(&self.agent.settings().compaction) {
            self.notify(
                Notice::warning("Too many failed snapshots: models no longer write them.")
                    .with_hint(
                        "Longhaul writes them offline for the rest of this session. To reset, type /clear or start a new session.",
                    ),
            );
        }
        Ok(())
    }

    fn preview(&mut self) -> Result<(), Notice> {
        let conversation = self.agent.conversation();
        let options = self.agent.compaction_options(longhaul_compaction::Trigger::Forced);
        let prepared = prepare(conversation.transcript().messages(), options.empty);
        let outcome = compact_offline(&Input::new(conversation.tracker(), &prepared, &options));
        self.send(DriverMessage::Page(pages::preview(self.agent.view(), &outcome)));
        Ok(())
    }

    fn undo(&mut self) -> Result<(), Notice> {
        let now = (self.services.host().now)();
        let undone = self.agent.conversation_mut().undo(None, now, &|_| {});
        match undone {
            Ok(_) => {
                let count = self.agent.conversation().transcript().messages().len();
                let count = crate::view::plural(count, "message", "messages");
                self.notify(Notice::good(format!("Compaction undone: {count} in context.")));
                Ok(())
            }
            Err(EngineError::Log(LogError::NothingToUndo { .. })) => {
                Err(Notice::info("No compaction to undo."))
            }
            Err(error) => Err(failure(&error)),
        }
    }

    /// Drops tool outputs from the context by the user's hand.
    fn drop_outputs(&mut self, message: Ordinal) -> Result<(), Notice> {
        let (before, stamp) = (self.agent.conversation().size(), self.stamp());
        let dropped = self.agent.conversation_mut().drop_outputs(message, stamp);
        let count = dropped.map_err(|error| failure(&error))?;
        if count == 0 {
            return Err(Notice::info(format!("m{} has no tool outputs to drop.", message.0))
                .with_hint("Type /context to see the largest messages with their numbers."));
        }
        let saved = before - self.agent.conversation().size();
        let outputs = crate::view::plural(count, "output", "outputs");
        let saved = longhaul_conversation::grouped(saved.0);
        self.notify(
            Notice::good(format!("Dropped {outputs}: about {saved} tokens."))
                .with_hint("The log keeps them; /compress undo brings them back."),
        );
        Ok(())
    }

    fn show(&mut self, topic: Topic) -> Result<(), Notice> {
        let page = pages::page(topic, self.agent.view(), &self.services, self.spent());
        self.send(DriverMessage::Page(page));
        Ok(())
    }

    fn stamp(&self) -> RecordId {
        let host = self.services.host();
        RecordId { id: (host.new_id)(), at: (host.now)() }
    }

    fn add_rule(&mut self, text: &str) -> Result<(), Notice> {
        let stamp = self.stamp();
        let added = self.agent.conversation_mut().add_rule(text, stamp).map_err(|error| failure(&error))?;
        if let Some(id) = added {
            self.notify(Notice::good(format!("Added rule {id}: {text}")));
        }
        Ok(())
    }

    fn remove_rule(&mut self, given: &str) -> Result<(), Notice> {
        let rules: Vec<_> = self.agent.conversation().tracker().rules().active().cloned().collect();
        let meant: Vec<_> = rules.iter().filter(|rule| rule.id.to_string().starts_with(given)).collect();
        let [rule] = meant[..] else {
            let text = match meant.len() {
                0 => format!("No rule has the ID {given}."),
                _ => format!("{given} matches several rules."),
            };
            return Err(Notice::error(text).with_hint("Type /rules to list all rules."));
        };
        let (id, text, stamp) = (rule.id, rule.text.clone(), self.stamp());
        self.agent.conversation_mut().remove_rule(id, stamp).map_err(|error| failure(&error))?;
        self.notify(Notice::good(format!("Removed rule: {text}")));
        Ok(())
    }

    fn add_request(&mut self, text: &str) -> Result<(), Notice> {
        let stamp = self.stamp();
        let added =
            self.agent.conversation_mut().add_request(text, stamp).map_err(|error| failure(&error))?;
        if let Some(id) = added {
            self.notify(Notice::good(format!("Added request {id}: {text}")));
        }
        Ok(())
    }

    fn end_request(&mut self, given: &str, end: RequestEnd) -> Result<(), Notice> {
        let requests = self.agent.conversation().tracker().requests();
        let open = requests.open_requests().map(|request| (request.id(), request.text.clone()));
        let meant: Vec<_> = open.filter(|(id, _)| id.to_string().starts_with(given)).collect();
        let [(id, text)] = &meant[..] else {
            let text = match meant.len() {
                0 => format!("No open request has the ID {given}."),
                _ => format!("{given} matches several requests."),
            };
            return Err(Notice::error(text).with_hint("Type /requests to list all requests."));
        };
        let stamp = self.stamp();
        let conversation = self.agent.conversation_mut();
        let (ended, verb) = match end {
            RequestEnd::Done => (conversation.finish_request(*id, stamp), "Marked as done"),
            RequestEnd::Removed => (conversation.remove_request(*id, stamp), "Removed request"),
        };
        ended.map_err(|error| failure(&error))?;
        self.notify(Notice::good(format!("{verb}: {text}")));
        Ok(())
    }

    fn reload_memory(&mut self) -> Result<(), Notice> {
        let now = (self.services.host().now)();
        let Some(memory) = self.agent.memory_mut() else {
            return Err(Notice::info("Memory is off in this session."));
        };
        memory.reload(now);
        let (files, characters) = memory
            .files()
            .fold((0, 0), |(files, characters), file| (files + 1, characters + file.text.chars().count()));
        let text = match files {
            0 => "Reloaded memory: all files are empty.".to_string(),
            files => format!(
                "Reloaded memory: {} characters from {}.",
                longhaul_conversation::grouped(characters as u64),
                crate::view::plural(files, "file", "files")
            ),
        };
        self.notify(Notice::good(text));
        Ok(())
    }

    /// Changes memory, and asks the user where it is not clear what is meant.
    async fn change_memory(&mut self, mut request: MemoryRequest) -> Result<(), Notice> {
        loop {
            match self.services.change_memory(&request)? {
                MemoryReply::Done(message) => {
                    self.notify(Notice::good(message));
                    return if self.agent.memory().is_some() { self.reload_memory() } else { Ok(()) };
                }
                MemoryReply::Edit { file, then } => {
                    self.send(DriverMessage::Edit {
                        files: vec![file],
                        then: DriverCommand::ChangeMemory(then),
                    });
                    return Ok(());
                }
                MemoryReply::Choose { question, options } => {
                    let labels = options.iter().map(|(label, _)| label.clone()).collect();
                    let question = UserQuestion { text: question, options: labels };
                    let cancel = CancellationToken::new();
                    let asked = Approver::answer(&self.prompt, &question);
                    let answer = self.commands.until_done(asked, &cancel, &self.prompt, &|_| false).await;
                    let chosen = options.into_iter().find(|(label, _)| Some(label) == answer.as_ref());
                    let (_, meant) = chosen.ok_or_else(|| {
                        Notice::info("Memory is unchanged.")
                            .with_hint("Choose one of the answers to change it.")
                    })?;
                    request = meant;
                }
            }
        }
    }

    fn list_sessions(&mut self) -> Result<(), Notice> {
        let sessions = self.services.sessions()?;
        if sessions.is_empty() {
            return Err(Notice::info("No other sessions in this folder yet."));
        }
        self.send(DriverMessage::Sessions(sessions));
        Ok(())
    }

    async fn resume(&mut self, session: &str) -> Result<(), Notice> {
        // Unrecorded entries would be lost with their session.
        self.record_pending()?;
        let OpenedSession { agent, notices } = self.services.open(session)?;
        let cancel = CancellationToken::new();
        self.agent.end_session(EndReason::Other, &self.services.host(), &cancel).await;
        self.agent = agent;
        self.notes.clear();
        notices.into_iter().for_each(|notice| self.notify(notice));
        self.begin_session(SessionSource::Resume).await;
        self.show_last_messages(Some("Resumed"));
        Ok(())
    }

    fn list_turns(&mut self) -> Result<(), Notice> {
        let messages = self.agent.conversation().log().replay().messages();
        let turns: Vec<TurnChoice> = messages
            .iter()
            .rev()
            .filter_map(|message| {
                let text = typed_text(message)?;
                let at = message.at.map(|at| at.to_minute()).unwrap_or_default();
                Some(TurnChoice { id: message.id.clone(), text, detail: at })
            })
            .collect();
        if turns.is_empty() {
            return Err(Notice::info("No messages yet."));
        }
        self.send(DriverMessage::Turns(turns));
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
        self.notify(Notice::good("Conversation cleared. The session log keeps everything."));
        Ok(())
    }

    fn switch_model(&mut self, name: &str) -> Result<(), Notice> {
        let notices = self.services.switch_model(&mut self.agent, name)?;
        notices.into_iter().for_each(|notice| self.notify(notice));
        self.notify(Notice::good(format!("Switched to {}.", self.services.model())));
        Ok(())
    }

    fn set_mode(&mut self, mode: ApprovalMode) -> Result<(), Notice> {
        let permissions = &mut self.agent.settings_mut().permissions;
        if let Some(key) = permissions.yolo_forbidden_by.as_ref().filter(|_| mode == ApprovalMode::Yolo) {
            return Err(Notice::error(format!("Yolo mode is disabled by {key}.")));
        }
        let mode = mode.in_folder(permissions.situation.is_trusted).map_err(|error| {
            Notice::error(error.to_string()).with_hint("Run `longhaul trust add` to trust this folder.")
        })?;
        permissions.situation.mode = mode;
        Ok(())
    }

    /// Revokes a permission that the user granted for good.
    fn revoke(&mut self, given: &str) -> Result<(), Notice> {
        let revoked = self.agent.settings_mut().permissions.revoke(given).map_err(|error| {
            let mut text = error.to_string();
            if let Some(cause) = std::error::Error::source(&error) {
                text.push_str(&format!(": {cause}"));
            }
            Notice::error(sentence(&text))
                .with_hint("Type /policy to list your saved approvals with their numbers.")
        })?;
        let reach = revoked.reach().map(|reach| reach.to_string()).unwrap_or_default();
        let text = format!("Revoked {reach}: {}", revoked.describe());
        self.notify(Notice::good(text));
        Ok(())
    }

    async fn begin_session(&mut self, source: SessionSource) {
        let cancel = CancellationToken::new();
        let events = event_handler(&self.messages, &self.services, &self.spent);
        let host = AgentDeps { events: &events, approver: &self.prompt, ..self.services.host() };
        if let Err(AgentError::Session(error)) = self.agent.begin_session(source, &host, &cancel).await {
            send(&self.messages, DriverMessage::Notice(not_recorded(&error)));
        }
    }

    /// Shows the last messages, if there are any.
    fn show_last_messages(&self, title: Option<&str>) {
        if !self.has_history() {
            return;
        }
        let messages = self.agent.conversation().log().replay().messages();
        let mut last: Vec<PastMessage> =
            messages.iter().rev().filter_map(past_message).take(LAST_MESSAGES).collect();
        last.reverse();
        let count = messages.iter().filter(|message| typed_text(message).is_some()).count();
        let turns = crate::view::plural(count, "turn", "turns");
        let title = format!("{}: {turns}", title.unwrap_or("Resumed"));
        self.send(DriverMessage::Opened { title, last });
    }

    fn has_history(&self) -> bool {
        self.agent
            .conversation()
            .log()
            .replay()
            .messages()
            .iter()
            .any(|message| typed_text(message).is_some())
    }

    fn spent(&self) -> Option<f64> {
        known(&self.spent)
    }

    fn send_status(&self) {
        let status = status_line::status_line(
            self.agent.view(),
            self.services.model(),
            self.spent(),
            &self.working_folder,
        );
        self.send(DriverMessage::StatusLine(Box::new(status)));
    }

    fn notify(&self, notice: Notice) {
        self.send(DriverMessage::Notice(notice));
    }

    fn send(&self, message: DriverMessage) {
        send(&self.messages, message);
    }
}

/// The cost so far.
fn known(spent: &Mutex<Option<f64>>) -> Option<f64> {
    *spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Sends a message; a closed channel means that the screen is gone.
fn send(messages: &UnboundedSender<DriverMessage>, message: DriverMessage) {
    messages.send(message).ok();
}

/// An event handler that forwards events and adds up their cost.
fn event_handler<'a, S: Services>(
    messages: &'a UnboundedSender<DriverMessage>,
    services: &'a S,
    spent: &'a Mutex<Option<f64>>,
) -> impl Fn(Event) + Send + Sync + 'a {
    move |event| {
        let cost = cost_of(&event, Spender::Conversation, services);
        send(messages, DriverMessage::Event(event));
        if let Some(cost) = cost {
            let mut spent = spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *spent = Some(spent.unwrap_or_default() + cost);
            send(messages, DriverMessage::Cost(*spent));
        }
    }
}

/// The cost of an event in dollars, if it is known.
fn cost_of<S: Services>(event: &Event, caller: Spender<'_>, services: &S) -> Option<f64> {
    use longhaul_engine::Event::{Applied, Cancelled, DraftDropped, DraftWritten, Refused};
    match event {
        Event::Spent { on, consumed } => {
            let caller = match on {
                Spending::Answer => caller,
                Spending::SideCall { model } => Spender::Aside(model),
            };
            services.cost(caller, &consumed.usage_with_estimates()?)
        }
        Event::Compaction(
            Applied { spend, .. }
            | Refused { spend, .. }
            | Cancelled { spend, .. }
            | DraftWritten { spend, .. }
            | DraftDropped { spend, .. },
        ) => Some(spend.money).filter(|money| *money > 0.0),
        Event::Subagent { name, event, .. } => cost_of(event, Spender::Subagent(name), services),
        _ => None,
    }
}

/// The text that the user typed in a message; none if it is not the user's.
fn typed_text(message: &Message) -> Option<String> {
    let own = message.parts.iter().filter(|part| part.origin == Origin::User);
    let text = own.filter_map(Part::as_text).collect::<Vec<_>>().join("\n");
    (message.role == Role::User && !text.trim().is_empty()).then_some(text)
}

/// A message as shown when a session is resumed.
fn past_message(message: &Message) -> Option<PastMessage> {
    if let Some(text) = typed_text(message) {
        return Some(PastMessage { is_users: true, text });
    }
    let text = message.parts.iter().filter(|part| part.origin == Origin::Model).filter_map(Part::as_text);
    let text = text.collect::<Vec<_>>().join("\n");
    (message.role == Role::Model && !text.trim().is_empty()).then_some(PastMessage { is_users: false, text })
}

/// The notice for a turn that ended because it could not be recorded.
fn not_recorded(error: &EngineError) -> Notice {
    let notice = failure(error);
    match error {
        EngineError::Log(LogError::Io { .. } | LogError::Workspace(_)) => {
            Notice::error(format!("The turn stopped because it could not be saved: {}", notice.text))
                .with_hint(
                    "Nothing is lost, and nothing unsaved was sent. Free some disk space, then type /retry.",
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

/// How the user ends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestEnd {
    /// It is done.
    Done,
    /// It is no longer wanted, or never was a request.
    Removed,
}
