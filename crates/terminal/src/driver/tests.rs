//! Tests of the driver with a scripted model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use longhaul_agent::{
    Agent, AgentDeps, Approval, CommandPiece, ModelProfile, PromptOptions, SessionContext, Settings, TurnEnd,
    render_prompt,
};
use longhaul_conversation::{
    Origin, Part, ResponseEvent, ScriptedModel, ScriptedReply, Timestamp, TokenCount, ToolCall, Usage,
};
use longhaul_engine::Folder;
use longhaul_sessions::{Log, NewSession, SessionKind};
use longhaul_tools::{BoxFuture, Checkpoints, Preview, Roots, Tool, ToolAnswer, ToolInvocation, WriteFile};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Driver, WorkingFolder};
use crate::image::PastedImage;
use crate::inbox::{InboxItem, InboxKind, ReviewDecision, SkillChoice};
use crate::memory::{MemoryReply, MemoryRequest};
use crate::notice::{Level, Notice};
use crate::page::Page;
use crate::preferences::Preferences;
use crate::protocol::{DriverCommand, DriverMessage, SessionChoice, Topic, UserReply};
use crate::services::{ChangedSetting, OpenedSession, Services, Spender};
use crate::status_line::StatusLine;

/// A tool that changes something and therefore needs approval.
struct Paint;

impl Tool for Paint {
    fn declaration(&self) -> longhaul_conversation::ToolDeclaration {
        longhaul_conversation::ToolDeclaration {
            name: "paint".into(),
            description: "Paints.".into(),
            parameters: json!({"type": "object", "properties": {"colour": {"type": "string"}}}),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        Ok(Preview::Other(format!("paint it {}", args["colour"])))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move { ToolAnswer::succeeded(format!("it is {}", call.args["colour"])) })
    }
}

/// A tool that returns the instructions of the only skill.
struct Activate;

impl Tool for Activate {
    fn declaration(&self) -> longhaul_conversation::ToolDeclaration {
        longhaul_conversation::ToolDeclaration {
            name: "activate_skill".into(),
            description: "Activates.".into(),
            parameters: json!({"type": "object", "properties": {}}),
        }
    }

    fn preview(&self, _: &Value) -> Result<Preview, String> {
        Ok(Preview::Other("activate it".into()))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            match call.args["name"].as_str() {
                Some("tides") => {
                    ToolAnswer::succeeded("<activated_skill name=\"tides\">Open the table.</activated_skill>")
                }
                _ => ToolAnswer::failed("There is no such skill."),
            }
        })
    }
}

struct TestServices {
    waiting: Vec<&'static str>,
    model: Arc<ScriptedModel>,
    files: Folder,
    tools: Vec<Box<dyn Tool>>,
    chats: tempfile::TempDir,
    checkpoints: Checkpoints,
    window: TokenCount,
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_767_323_045_000)
}

fn new_id() -> String {
    static NUMBERS: AtomicU32 = AtomicU32::new(1);
    format!("id-{}", NUMBERS.fetch_add(1, Ordering::Relaxed))
}

impl TestServices {
    fn agent(&self) -> Agent {
        let new = NewSession {
            id: new_id(),
            project_hash: "abc".into(),
            kind: SessionKind::Main,
            directories: Vec::new(),
            at: now(),
        };
        let model = ModelProfile {
            name: "some-model".into(),
            recorded_as: "some-model".into(),
            window: self.window,
            output_reserve: None,
        };
        let surroundings = SessionContext {
            at: now(),
            system: "linux".into(),
            directory: "/app".into(),
            workspace: Vec::new(),
            tree: None,
        };
        let system = render_prompt(&PromptOptions::default());
        let mut settings = Settings { system, ..Settings::new(model, surroundings) };
        settings.permissions.situation.is_interactive = true;
        Agent::on(Log::create(self.chats.path(), &new).expect("a log"), settings)
    }
}

impl Services for TestServices {
    fn host(&self) -> AgentDeps<'_> {
        let checkpoints = Some(&self.checkpoints);
        let deps = AgentDeps::new(self.model.as_ref(), &self.files, &now, &new_id);
        AgentDeps { tools: &self.tools, checkpoints, ..deps }
    }

    fn model(&self) -> String {
        "some-model".into()
    }

    fn models(&self) -> Vec<String> {
        vec!["other-model".into()]
    }

    fn switch_model(&mut self, _: &mut Agent, name: &str) -> Result<Vec<Notice>, Notice> {
        Err(Notice::error(format!("nobody knows {name}")))
    }

    fn cost(&self, _: Spender<'_>, usage: &Usage) -> Option<f64> {
        usage.input.map(|input| input.0 as f64 / 1_000.0)
    }

    fn sessions(&self) -> Result<Vec<SessionChoice>, Notice> {
        Ok(Vec::new())
    }

    fn open(&mut self, _: &str) -> Result<OpenedSession, Notice> {
        Ok(OpenedSession { agent: self.agent(), notices: vec![Notice::info("opened")] })
    }

    fn export(&self, _: &Agent, to: Option<&str>) -> Result<String, Notice> {
        Ok(format!("written to {}", to.unwrap_or("a file")))
    }

    fn change_memory(&mut self, request: &MemoryRequest) -> Result<MemoryReply, Notice> {
        Ok(match request {
            MemoryRequest::Add(fact) if fact.contains('?') => MemoryReply::Choose {
                question: "Where does it apply?".to_string(),
                options: ["here", "everywhere"]
                    .map(|place| (place.to_string(), MemoryRequest::Add(format!("{place}: x"))))
                    .to_vec(),
            },
            MemoryRequest::Edit(which) => {
                let (which, file) = (which.clone(), std::path::PathBuf::from("fact.md"));
                MemoryReply::Edit { file: file.clone(), then: MemoryRequest::TakeEdited { which, file } }
            }
            other => MemoryReply::Done(format!("{other:?}")),
        })
    }

    fn trust(&self) -> Page {
        Page::new("trusted")
    }

    fn skills(&self) -> Vec<SkillChoice> {
        let (name, description) = ("tides".to_string(), String::new());
        vec![SkillChoice { name, description, is_enabled: true, is_builtin: false }]
    }

    fn switch_skill(&mut self, _: &mut Agent, name: &str, on: bool) -> Result<String, Notice> {
        Ok(format!("{name} is {}", if on { "on" } else { "off" }))
    }

    fn inbox(&self, _: InboxKind) -> Result<Vec<InboxItem>, Notice> {
        let item = |name: &&str| InboxItem {
            name: name.to_string(),
            kind: String::new(),
            about: String::new(),
            problem: None,
            page: Page::new(format!("all of {name}")),
            files: vec![format!("/inbox/{name}").into()],
            has_scope: true,
        };
        Ok(self.waiting.iter().map(item).collect())
    }

    fn review(&mut self, _: &mut Agent, _: InboxKind, review: &ReviewDecision) -> Result<Notice, Notice> {
        let ReviewDecision::Dismiss { name } = review else { return Err(Notice::error("not that")) };
        self.waiting.retain(|known| known != name);
        Ok(Notice::good("gone"))
    }

    fn custom_command(&self, name: &str, words: &str) -> Result<Vec<CommandPiece>, Notice> {
        let text = CommandPiece::Text(format!("Explain {words} to a child."));
        match name {
            "explain" => Ok(vec![text]),
            "list" => Ok(vec![text, CommandPiece::Shell("ls".into())]),
            _ => Err(Notice::error("no such command")),
        }
    }

    fn change_setting(&mut self, key: &str, value: Option<&str>) -> Result<ChangedSetting, Notice> {
        let preferences = Preferences { is_vim: value == Some("true"), ..Preferences::default() };
        Ok(ChangedSetting { notice: Notice::good(format!("{key} is set")), preferences })
    }

    fn end<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// The other end of the driver's channels.
struct Commander {
    commands: UnboundedSender<DriverCommand>,
    messages: UnboundedReceiver<DriverMessage>,
}

impl Commander {
    /// Sends a command and collects the messages until it is done; `answer` may reply meanwhile.
    async fn order(
        &mut self,
        command: DriverCommand,
        answer: impl Fn(&DriverMessage) -> Option<DriverCommand>,
    ) -> Vec<DriverMessage> {
        self.commands.send(command).expect("somebody is there");
        let mut heard = Vec::new();
        while let Some(message) = self.messages.recv().await {
            if let Some(command) = answer(&message) {
                self.commands.send(command).expect("somebody is there");
            }
            let is_done =
                matches!(message, DriverMessage::Done | DriverMessage::Left | DriverMessage::Failed(_));
            heard.push(message);
            if is_done {
                break;
            }
        }
        heard
    }

    async fn quietly(&mut self, command: DriverCommand) -> Vec<DriverMessage> {
        self.order(command, |_| None).await
    }
}

/// Runs a driver whose model gives these replies.
fn command(
    window: u64,
    replies: impl IntoIterator<Item = ScriptedReply>,
    orders: impl AsyncFnOnce(&mut Commander, &ScriptedModel),
) {
    command_in(tempfile::tempdir().expect("a folder"), window, replies, orders);
}

/// Like [`command`], with its sessions in this folder.
fn command_in(
    chats: tempfile::TempDir,
    window: u64,
    replies: impl IntoIterator<Item = ScriptedReply>,
    orders: impl AsyncFnOnce(&mut Commander, &ScriptedModel),
) {
    let model = Arc::new(ScriptedModel::new(replies));
    let files = Folder::new(chats.path().join("files"));
    let (checkpoints, roots) = (Checkpoints::default(), Roots::new(chats.path(), &[]).expect("a folder"));
    checkpoints.set_roots(roots.clone());
    checkpoints.keep_in(chats.path().join("kept"), now);
    let writing = WriteFile::new(roots).with_checkpoints(checkpoints.clone());
    let trial = TestServices {
        checkpoints,
        model: Arc::clone(&model),
        files,
        tools: vec![Box::new(Paint), Box::new(Activate), Box::new(writing)],
        waiting: vec!["release", "tides"],
        chats,
        window: TokenCount(window),
    };
    let agent = trial.agent();
    let (commands, receiver) = unbounded_channel();
    let (sender, messages) = unbounded_channel();
    let place = WorkingFolder { path: "/".into(), name: "app".into() };
    let opened = OpenedSession { agent, notices: Vec::new() };
    let driver = Driver::new(trial, opened, receiver, sender, place);
    let mut commander = Commander { commands, messages };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let work = async {
            while !matches!(commander.messages.recv().await, Some(DriverMessage::Done)) {}
            orders(&mut commander, &model).await;
            // The user may have left already.
            if commander.commands.send(DriverCommand::Leave).is_ok() {
                while commander
                    .messages
                    .recv()
                    .await
                    .is_some_and(|message| !matches!(message, DriverMessage::Left))
                {}
            }
        };
        tokio::join!(driver.run(), work);
    });
}

fn status(heard: &[DriverMessage]) -> &StatusLine {
    let mut found = heard.iter().rev().filter_map(|message| match message {
        DriverMessage::StatusLine(status) => Some(status.as_ref()),
        _ => None,
    });
    found.next().expect("how things stand")
}

fn notices(heard: &[DriverMessage]) -> Vec<(Level, &str)> {
    let notices = heard.iter().filter_map(|message| match message {
        DriverMessage::Notice(notice) => Some((notice.level, notice.text.as_str())),
        _ => None,
    });
    notices.collect()
}

fn page(heard: &[DriverMessage]) -> String {
    let page = heard.iter().find_map(|message| match message {
        DriverMessage::Page(page) => Some(page),
        _ => None,
    });
    let lines = page.expect("a page").lines(100);
    lines.iter().map(|line| line.text() + "\n").collect()
}

fn end(heard: &[DriverMessage]) -> Option<&TurnEnd> {
    heard.iter().find_map(|message| match message {
        DriverMessage::Event(longhaul_agent::Event::Ended(end)) => Some(end),
        _ => None,
    })
}

#[test]
fn a_turn_is_told_and_counted() {
    let usage = Usage { input: Some(TokenCount(500)), output: Some(TokenCount(5)), ..Usage::default() };
    let reply = ScriptedReply::events([
        ResponseEvent::TextDelta("Good day.".into()),
        ResponseEvent::Usage(usage),
        ResponseEvent::Finished(longhaul_conversation::FinishReason::Stop),
    ]);
    command(32_000, [reply], async |commander, _| {
        let heard = commander.quietly(DriverCommand::Submit("Never push to main. Hello.".into())).await;
        assert!(matches!(end(&heard), Some(TurnEnd::Finished(_))), "{heard:?}");
        let status = status(&heard);
        assert_eq!((status.rules, status.cost), (1, Some(0.5)));
        assert!(status.meter.is_counted && status.meter.used >= TokenCount(500));
        let parts: u64 = status.meter.parts.iter().map(|(_, tokens)| tokens.0).sum();
        assert!(parts.abs_diff(status.meter.used.0) <= 5, "{:?}", status.meter);
    });
}

#[test]
fn calls_wait_for_the_users_word() {
    let call = || {
        ScriptedReply::events([
            ResponseEvent::Part(Part::call(ToolCall::new("c1", "paint").with_args(json!({"colour": "red"})))),
            ResponseEvent::Finished(longhaul_conversation::FinishReason::ToolCalls),
        ])
    };
    let replies = [call(), ScriptedReply::text("Done."), call()];
    command(32_000, replies, async |commander, model| {
        let heard = commander
            .order(DriverCommand::Submit("Paint.".into()), |message| match message {
                DriverMessage::ApprovalRequested(id, _) => {
                    let edited = Approval::Edited(json!({"colour": "blue"}));
                    Some(DriverCommand::Answer(*id, UserReply::Approval(edited)))
                }
                _ => None,
            })
            .await;
        assert!(matches!(end(&heard), Some(TurnEnd::Finished(_))), "{heard:?}");
        let last =
            model.requests().last().map(|request| format!("{:?}", request.messages)).unwrap_or_default();
        assert!(last.contains("blue"), "{last}");
        // A cancelled request is not repeated.
        let heard = commander
            .order(DriverCommand::Submit("Again.".into()), |message| {
                matches!(message, DriverMessage::ApprovalRequested(..)).then_some(DriverCommand::Cancel)
            })
            .await;
        assert_eq!(end(&heard), Some(&TurnEnd::Cancelled));
    });
}

#[test]
fn pages_are_answered_while_a_turn_waits() {
    let call = ScriptedReply::events([
        ResponseEvent::Part(Part::call(ToolCall::new("c1", "paint").with_args(json!({"colour": "red"})))),
        ResponseEvent::Finished(longhaul_conversation::FinishReason::ToolCalls),
    ]);
    command(32_000, [call, ScriptedReply::text("Done.")], async |commander, _| {
        let mut id = None;
        commander.commands.send(DriverCommand::Submit("Paint.".into())).expect("somebody is there");
        while id.is_none() {
            if let Some(DriverMessage::ApprovalRequested(asked, _)) = commander.messages.recv().await {
                id = Some(asked);
            }
        }
        // The turn waits for an answer: each page comes with the end of its own command.
        for (topic, title) in [
            (Topic::Context, "Context: "),
            (Topic::Statistics, "Session statistics"),
            (Topic::Tools, "3 tools available"),
            (Topic::Trust, "trusted"),
        ] {
            let heard = commander.quietly(DriverCommand::Show(topic)).await;
            assert!(page(&heard).starts_with(title), "{heard:?}");
            assert_eq!(end(&heard), None);
        }
        let reply = UserReply::Approval(Approval::Once);
        let heard = commander.quietly(DriverCommand::Answer(id.expect("asked"), reply)).await;
        assert!(matches!(end(&heard), Some(TurnEnd::Finished(_))), "{heard:?}");
        // What waits for the end is done then.
        let heard = commander.quietly(DriverCommand::Show(Topic::Model)).await;
        assert!(page(&heard).starts_with("Model: some-model"));
    });
}

#[test]
fn custom_commands_are_filled_in_and_sent_as_no_words_of_the_user() {
    command(32_000, [ScriptedReply::text("A parser reads.")], async |commander, model| {
        let run = |name: &str| DriverCommand::RunCustom { name: name.into(), words: "parsers".into() };
        let heard = commander.quietly(run("explain")).await;
        assert!(matches!(end(&heard), Some(TurnEnd::Finished(_))), "{heard:?}");
        let requests = model.requests();
        let sent = requests.last().and_then(|request| request.messages.last()).expect("a message");
        let parts: Vec<_> = sent.parts.iter().map(|part| (part.origin, part.as_text())).collect();
        let filled = "<custom_command name=\"explain\">\nExplain parsers to a child.\n</custom_command>";
        assert!(parts.contains(&(Origin::User, Some("/explain parsers"))), "{parts:?}");
        assert!(parts.contains(&(Origin::Hook, Some(filled))), "{parts:?}");
        // Without a shell nothing is sent.
        let heard = commander.quietly(run("list")).await;
        let [(Level::Error, text)] = notices(&heard)[..] else { panic!("{heard:?}") };
        assert!(text.starts_with("/list was not sent. `ls` did not run: There is no tool"), "{text}");
        assert_eq!(notices(&commander.quietly(run("none")).await), [(Level::Error, "no such command")]);
        assert_eq!(model.requests().len(), 1);
    });
}

#[test]
fn changed_settings_apply_at_once() {
    command(32_000, [], async |commander, _| {
        let change =
            DriverCommand::ChangeSetting { key: "general.vimMode".into(), value: Some("true".into()) };
        let heard = commander.quietly(change).await;
        assert!(
            heard.iter().any(
                |message| matches!(message, DriverMessage::Preferences(preferences) if preferences.is_vim)
            )
        );
        assert_eq!(notices(&heard), [(Level::Good, "general.vimMode is set")]);
    });
}

#[test]
fn images_go_with_the_next_message_once() {
    command(
        32_000,
        [ScriptedReply::text("A cat."), ScriptedReply::text("None.")],
        async |commander, model| {
            let image = PastedImage { mime: "image/png", bytes: vec![1, 2, 3] };
            commander.quietly(DriverCommand::AttachImage(image.clone())).await;
            commander.quietly(DriverCommand::AttachImage(image)).await;
            commander.quietly(DriverCommand::Submit("What is it?".into())).await;
            commander.quietly(DriverCommand::Submit("And now?".into())).await;
            let count = |request: &longhaul_conversation::Request| {
                let parts = request.messages.iter().flat_map(|message| &message.parts);
                parts.filter(|part| matches!(part.body, longhaul_conversation::Body::Media(_))).count()
            };
            assert_eq!(model.requests().iter().map(count).collect::<Vec<_>>(), [1, 1]);
        },
    );
}

#[test]
fn what_does_not_fit_is_given_back() {
    command(6_000, [ScriptedReply::text("Short.")], async |commander, model| {
        let long = "far too many words ".repeat(4_000);
        let heard = commander.quietly(DriverCommand::Submit(long.clone())).await;
        assert!(matches!(end(&heard), Some(TurnEnd::Overflow(_))), "{:?}", end(&heard));
        assert!(heard.iter().any(|message| matches!(message, DriverMessage::Restore(text) if *text == long)));
        assert!(status(&heard).meter.used < TokenCount(6_000));
        let heard = commander.quietly(DriverCommand::Submit("Then shorter.".into())).await;
        assert!(matches!(end(&heard), Some(TurnEnd::Finished(_))), "{heard:?}");
        assert!(!format!("{:?}", model.requests()).contains("far too many"));
    });
}

#[test]
fn compactions_are_previewed_done_and_undone() {
    let long = |topic: &str| {
        ScriptedReply::text(
            (0..300).map(|n| format!("The {topic} has step {n} in src/{topic}_{n}.rs. ")).collect::<String>(),
        )
    };
    command(200_000, [long("parser"), long("lexer")], async |commander, _| {
        commander.quietly(DriverCommand::Submit("Always run the tests. Look at the parser.".into())).await;
        let before =
            status(&commander.quietly(DriverCommand::Submit("And the lexer?".into())).await).meter.used;
        let preview = page(&commander.quietly(DriverCommand::PreviewCompaction).await);
        assert!(preview.contains("Always run the tests."), "{preview}");
        let heard = commander.quietly(DriverCommand::Compact { focus: None }).await;
        assert!(heard.iter().any(|message| matches!(message, DriverMessage::Compacted(_))), "{heard:?}");
        assert!(status(&heard).meter.used < before);
        let heard = commander.quietly(DriverCommand::UndoCompaction).await;
        assert_eq!(notices(&heard)[0].0, Level::Good);
        assert_eq!(status(&heard).meter.used, before);
        assert_eq!(notices(&commander.quietly(DriverCommand::UndoCompaction).await)[0].0, Level::Info);
    });
}

#[test]
fn every_page_can_be_shown() {
    command(32_000, [ScriptedReply::text("Yes.")], async |commander, _| {
        commander.quietly(DriverCommand::Submit("Never push to main.".into())).await;
        for (topic, word) in [
            (Topic::Context, "If compacted now"),
            (Topic::Rules, "Never push to main."),
            (Topic::Statistics, "requests"),
            (Topic::Memory, "Memory is off"),
            (Topic::MemoryFiles, "No memory files"),
            (Topic::Skills, "No skills here."),
            (Topic::Model, "other-model"),
            (Topic::Tools, "paint"),
            (Topic::Policy, "Mode: default"),
            (Topic::Hooks, "No hooks configured."),
            (Topic::Trust, "trusted"),
        ] {
            let shown = page(&commander.quietly(DriverCommand::Show(topic)).await);
            assert!(shown.contains(word), "{topic:?}: {shown}");
        }
    });
}

#[test]
fn pins_turns_and_sessions_are_looked_after() {
    command(32_000, [ScriptedReply::text("One."), ScriptedReply::text("Two.")], async |commander, _| {
        commander.quietly(DriverCommand::Submit("first".into())).await;
        commander.quietly(DriverCommand::Submit("second".into())).await;
        let heard = commander.quietly(DriverCommand::AddRule("Use tabs.".into())).await;
        assert_eq!(status(&heard).rules, 1);
        let heard = commander.quietly(DriverCommand::RemoveRule("nothing".into())).await;
        assert_eq!(notices(&heard)[0].0, Level::Error);
        let heard = commander.quietly(DriverCommand::ListTurns).await;
        let turns = heard.iter().find_map(|message| match message {
            DriverMessage::Turns(turns) => Some(turns),
            _ => None,
        });
        let turns = turns.expect("turns");
        assert_eq!(turns.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>(), ["second", "first"]);
        let before = commander.quietly(DriverCommand::RewindTo(turns[0].id.clone())).await;
        assert_eq!(notices(&before)[0].0, Level::Good);
        let heard = commander.quietly(DriverCommand::SwitchModel("odd".into())).await;
        assert_eq!(notices(&heard), [(Level::Error, "nobody knows odd")]);
        let heard = commander.quietly(DriverCommand::Resume("other".into())).await;
        assert_eq!(notices(&heard), [(Level::Info, "opened")]);
        let heard = commander.quietly(DriverCommand::Clear).await;
        assert_eq!(notices(&heard)[0].0, Level::Good);
        let heard = commander.quietly(DriverCommand::Run("ls".into())).await;
        assert_eq!(
            notices(&heard),
            [(Level::Error, "Could not run the command: the run_shell_command tool is not available.")]
        );
    });
}

/// Allows what needs approval, and answers questions with this.
fn replying(answer: &'static str) -> impl Fn(&DriverMessage) -> Option<DriverCommand> {
    move |message| match message {
        DriverMessage::ApprovalRequested(id, _) => {
            Some(DriverCommand::Answer(*id, UserReply::Approval(Approval::Once)))
        }
        DriverMessage::QuestionAsked(id, _) => {
            Some(DriverCommand::Answer(*id, UserReply::Answer(Some(answer.to_string()))))
        }
        _ => None,
    }
}

#[test]
fn files_come_back_with_a_rewind_and_go_again() {
    let chats = tempfile::tempdir().expect("a folder");
    let file = chats.path().join("w.txt");
    std::fs::write(&file, "before\n").expect("it can be written");
    let call =
        ToolCall::new("c1", "write_file").with_args(json!({"file_path": "w.txt", "content": "after\n"}));
    let replies = [ScriptedReply::parts([Part::call(call)]), ScriptedReply::text("Written.")];
    let said = || std::fs::read_to_string(&file).expect("it is there");
    command_in(chats, 32_000, replies, async |commander, _| {
        commander.order(DriverCommand::Submit("write".into()), replying("")).await;
        assert_eq!(said(), "after\n");
        let heard = commander.quietly(DriverCommand::UndoRestore).await;
        assert_eq!(notices(&heard), [(Level::Info, "No restored files to take back.")]);
        let heard = commander.quietly(DriverCommand::ListTurns).await;
        let first = heard.iter().find_map(|message| match message {
            DriverMessage::Turns(turns) => turns.first().map(|turn| turn.id.clone()),
            _ => None,
        });
        let rewind = DriverCommand::RewindTo(first.expect("a turn"));
        let heard = commander.order(rewind, replying("Restore these files")).await;
        assert_eq!(notices(&heard).last(), Some(&(Level::Good, "Restored w.txt.")));
        assert_eq!(said(), "before\n");
        let heard = commander.order(DriverCommand::UndoRestore, replying("Keep files as they are")).await;
        assert_eq!(notices(&heard).last(), Some(&(Level::Info, "Files are unchanged.")));
        commander.order(DriverCommand::UndoRestore, replying("Restore these files")).await;
        assert_eq!(said(), "after\n");
    });
}

#[test]
fn a_fact_whose_place_is_open_is_asked_about() {
    command(32_000, [], async |commander, _| {
        let add = || DriverCommand::ChangeMemory(MemoryRequest::Add("x?".to_string()));
        let say = |answer: Option<&'static str>| {
            move |message: &DriverMessage| match message {
                DriverMessage::QuestionAsked(id, question) => {
                    assert_eq!(question.options, ["here", "everywhere"]);
                    Some(DriverCommand::Answer(*id, UserReply::Answer(answer.map(str::to_string))))
                }
                _ => None,
            }
        };
        let heard = commander.order(add(), say(Some("everywhere"))).await;
        assert_eq!(notices(&heard), [(Level::Good, "Add(\"everywhere: x\")")]);
        for answer in [None, Some("nowhere")] {
            let heard = commander.order(add(), say(answer)).await;
            assert_eq!(notices(&heard), [(Level::Info, "Memory is unchanged.")]);
        }
        let heard =
            commander.quietly(DriverCommand::ChangeMemory(MemoryRequest::Edit("1".to_string()))).await;
        let edits = heard.iter().filter_map(|message| match message {
            DriverMessage::Edit { files, then } => Some((files.len(), then.clone())),
            _ => None,
        });
        let (which, file) = ("1".to_string(), "fact.md".into());
        let then = DriverCommand::ChangeMemory(MemoryRequest::TakeEdited { which, file });
        assert_eq!(edits.collect::<Vec<_>>(), [(1, then)]);
    });
}

#[test]
fn drafting_a_memory_file_makes_no_rules() {
    command(32_000, [ScriptedReply::text("Done.")], async |commander, model| {
        let heard = commander.quietly(DriverCommand::Init).await;
        assert_eq!(status(&heard).rules, 0);
        let request = format!("{:?}", model.requests().last().expect("it was asked").messages);
        assert!(request.contains("write a file named GEMINI.md"), "{request}");
    });
}

#[test]
fn a_skill_is_used_without_asking() {
    command(32_000, [ScriptedReply::text("High."), ScriptedReply::text("Low.")], async |commander, model| {
        let used =
            |skill: &str, words: &str| DriverCommand::UseSkill { skill: skill.into(), words: words.into() };
        let heard = commander.quietly(used("tides", "of today")).await;
        assert_eq!(notices(&heard), [(Level::Info, "Activated skill tides.")]);
        assert!(matches!(end(&heard), Some(TurnEnd::Finished(_))), "{heard:?}");
        let said = |model: &ScriptedModel| {
            model.requests().last().map(|request| format!("{:?}", request.messages)).unwrap_or_default()
        };
        assert!(said(model).contains("of today") && said(model).contains("Open the table."));
        commander.quietly(used("tides", "")).await;
        assert!(said(model).contains("Use the skill tides."));
        let heard = commander.quietly(used("waves", "")).await;
        assert_eq!(notices(&heard), [(Level::Error, "There is no such skill.")]);
        let heard = commander.quietly(DriverCommand::DisableSkill("tides".into())).await;
        assert_eq!(notices(&heard), [(Level::Good, "tides is off")]);
        assert!(
            heard.iter().any(|message| matches!(message, DriverMessage::Skills(skills) if skills.len() == 1))
        );
    });
}

#[test]
fn what_waits_is_shown_edited_and_settled() {
    let waiting = |heard: &[DriverMessage]| -> Vec<String> {
        let items = heard.iter().find_map(|message| match message {
            DriverMessage::Inbox(_, items) | DriverMessage::InboxChanged(_, items) => Some(items),
            _ => None,
        });
        items.expect("what waits").iter().map(|item| item.name.clone()).collect()
    };
    command(32_000, [], async |commander, _| {
        let inbox = InboxKind::Skills;
        assert_eq!(waiting(&commander.quietly(DriverCommand::OpenInbox(inbox)).await), ["release", "tides"]);
        let heard = commander.quietly(DriverCommand::ShowWaiting(inbox, "tides".into())).await;
        assert!(page(&heard).contains("all of tides"));
        let heard = commander.quietly(DriverCommand::EditWaiting(inbox, "tides".into())).await;
        let accept = DriverCommand::Review(inbox, ReviewDecision::AcceptEdited { name: "tides".into() });
        assert!(
            heard
                .iter()
                .any(|message| matches!(message, DriverMessage::Edit { then, .. } if *then == accept))
        );
        let heard = commander.quietly(DriverCommand::EditWaiting(inbox, "nobody".into())).await;
        assert_eq!(notices(&heard), [(Level::Error, "Not in the inbox: nobody.")]);
        // The list is sent in any case.
        let heard = commander.quietly(accept).await;
        assert_eq!(
            (notices(&heard), waiting(&heard)),
            (vec![(Level::Error, "not that")], vec!["release".into(), "tides".into()])
        );
        let heard = commander
            .quietly(DriverCommand::Review(inbox, ReviewDecision::Dismiss { name: "release".into() }))
            .await;
        assert_eq!(
            (notices(&heard), waiting(&heard)),
            (vec![(Level::Good, "gone")], vec!["tides".to_string()])
        );
    });
}

/// The session folder, which can be removed so that nothing can be recorded.
struct RemovableFolder(std::path::PathBuf);

impl RemovableFolder {
    fn fill(&self) {
        std::fs::rename(&self.0, self.0.with_extension("away")).expect("moved");
        std::fs::write(&self.0, "in the way").expect("written");
    }

    fn free(&self) {
        std::fs::remove_file(&self.0).expect("removed");
        std::fs::rename(self.0.with_extension("away"), &self.0).expect("moved back");
    }
}

fn check_not_recorded(heard: &[DriverMessage], hint: &str) {
    let notice = heard.iter().find_map(|message| match message {
        DriverMessage::Notice(notice) if notice.level == Level::Error => Some(notice),
        _ => None,
    });
    let notice = notice.expect("an error");
    assert!(notice.text.contains("could not"), "{notice:?}");
    assert!(notice.hint.as_deref().is_some_and(|told| told.contains(hint)), "{notice:?}");
}

/// A model reply that calls the tool, for a user whose disk fills up during the approval.
fn painting() -> ScriptedReply {
    let call = ToolCall::new("c1", "paint").with_args(json!({"colour": "red"}));
    ScriptedReply::parts([Part::call(call)])
}

async fn paint_on_full_disk(commander: &mut Commander, disk: &RemovableFolder) -> Vec<DriverMessage> {
    let answer = |message: &DriverMessage| match message {
        DriverMessage::ApprovalRequested(id, _) => {
            disk.fill();
            Some(DriverCommand::Answer(*id, UserReply::Approval(Approval::Once)))
        }
        _ => None,
    };
    commander.order(DriverCommand::Submit("First.".into()), answer).await
}

#[test]
fn a_turn_that_could_not_be_recorded_is_retried() {
    let chats = tempfile::tempdir().expect("a folder");
    let disk = RemovableFolder(chats.path().to_path_buf());
    let replies = [painting(), ScriptedReply::text("It is red."), ScriptedReply::text("Yes.")];
    command_in(chats, 100_000, replies, async |commander, model| {
        // The result cannot be recorded; a further message goes back to the input.
        check_not_recorded(&paint_on_full_disk(commander, &disk).await, "/retry");
        let heard = commander.quietly(DriverCommand::Submit("Second.".into())).await;
        check_not_recorded(&heard, "send the message again");
        assert!(
            heard.iter().any(|message| matches!(message, DriverMessage::Restore(text) if text == "Second."))
        );
        check_not_recorded(&commander.quietly(DriverCommand::Retry).await, "/retry");
        check_not_recorded(&commander.quietly(DriverCommand::Resume("other".into())).await, "/retry");
        // A user who leaves now is asked to stay, once.
        check_not_recorded(&commander.quietly(DriverCommand::Leave).await, "Quit again");
        assert_eq!(model.requests().len(), 1);
        disk.free();
        let heard = commander.quietly(DriverCommand::Retry).await;
        assert!(matches!(end(&heard), Some(TurnEnd::Finished(_))), "{heard:?}");
        let heard = commander.quietly(DriverCommand::Retry).await;
        assert_eq!(notices(&heard), [(Level::Info, "Nothing to retry.")]);
        commander.quietly(DriverCommand::Submit("Second.".into())).await;
        let requests = model.requests();
        let results = requests[1].messages.iter().flat_map(|message| message.results());
        assert_eq!(results.map(|result| result.readable()).collect::<Vec<_>>(), ["it is \"red\""]);
        let texts: Vec<&str> = requests[2]
            .messages
            .iter()
            .flat_map(|message| message.parts.iter().filter_map(Part::as_text))
            .collect();
        assert_eq!(texts[1..], ["First.", "It is red.", "Second."]);
    });
}

#[test]
fn who_leaves_something_unrecorded_behind_is_told() {
    let chats = tempfile::tempdir().expect("a folder");
    let disk = RemovableFolder(chats.path().to_path_buf());
    command_in(chats, 100_000, [painting()], async |commander, _| {
        paint_on_full_disk(commander, &disk).await;
        commander.quietly(DriverCommand::Leave).await;
        let heard = commander.quietly(DriverCommand::Leave).await;
        let Some(DriverMessage::Failed(notice)) = heard.last() else { panic!("{heard:?}") };
        assert!(notice.text.contains("of this session could not be saved: could not"), "{notice:?}");
        disk.free();
    });
}
