//! Measures what a turn costs beside waiting for the model and the tools, with a long history.
//!
//! `cargo run --release -p longhaul-agent --example turn [TOKENS]`

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use longhaul_agent::{Agent, AgentDeps, ModelProfile, SessionContext, Settings, TurnEnd};
use longhaul_conversation::{
    FinishReason, Message, Part, Role, ScriptedModel, ScriptedReply, Timestamp, TokenCount, ToolCall,
    ToolDeclaration, ToolResult,
};
use longhaul_engine::Folder;
use longhaul_sessions::{Log, NewSession, SessionKind};
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolInvocation};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A turn is to cost less than this.
const LIMIT: Duration = Duration::from_millis(5);

/// A tool that answers at once.
struct Nothing;

impl Tool for Nothing {
    fn declaration(&self) -> ToolDeclaration {
        let parameters = json!({"type": "object", "properties": {}});
        ToolDeclaration { name: "glob".into(), description: "Finds files.".into(), parameters }
    }

    fn preview(&self, _: &Value) -> Result<Preview, String> {
        Ok(Preview::Look("files".into()))
    }

    fn run<'a>(&'a self, _: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async { ToolAnswer::succeeded("none") })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tokens: usize = std::env::args().nth(1).and_then(|tokens| tokens.parse().ok()).unwrap_or(500_000);
    let folder = tempfile::tempdir()?;
    let at = Timestamp::from_millis(1_767_323_045_000);
    let new = NewSession {
        id: "5e0c2b1a-bench".into(),
        project_hash: "abc".into(),
        kind: SessionKind::Main,
        directories: Vec::new(),
        at,
    };
    let mut log = Log::create(folder.path(), &new)?;
    let mut said = 0;
    for number in 0.. {
        if said >= tokens * 4 {
            break;
        }
        let call = ToolCall::new(format!("c{number}"), "glob")
            .with_args(json!({"pattern": format!("src/{number}/*.rs")}));
        let text: String = (0..40)
            .map(|line| {
                format!("The handler in src/{number}/file{line}.rs returns an error for case {line}.\n")
            })
            .collect();
        said += text.len();
        let result = ToolResult::text(format!("c{number}"), format!("src/{number}/a.rs")).with_name("glob");
        let asked = vec![Part::user_text(format!("Look at module {number}."))];
        log.append(&Message::new(format!("u{number}"), Role::User, asked))?;
        log.append(&Message::new(format!("m{number}"), Role::Model, vec![Part::call(call)]))?;
        log.append(&Message::new(format!("r{number}"), Role::User, vec![Part::result(result)]))?;
        log.append(&Message::new(format!("a{number}"), Role::Model, vec![Part::model_text(text)]))?;
    }
    let model = ModelProfile {
        name: "m".into(),
        recorded_as: "m".into(),
        window: TokenCount(4 * tokens as u64),
        output_reserve: None,
    };
    let directory = folder.path().to_path_buf();
    let surroundings =
        SessionContext { at, system: "linux".into(), directory, workspace: Vec::new(), tree: None };
    let mut agent = Agent::on(log, Settings::new(model, surroundings));
    let (files, ids, now) = (Folder::new(folder.path()), AtomicU32::new(0), move || at);
    let new_id = || format!("id-{}", ids.fetch_add(1, Ordering::Relaxed));
    let tools: Vec<Box<dyn Tool>> = vec![Box::new(Nothing)];
    let (mut shortest, mut longest) = (Duration::MAX, Duration::ZERO);
    const TURNS: u32 = 40;
    for turn in 0..TURNS {
        let call = Part::call(ToolCall::new(format!("x{turn}"), "glob").with_args(json!({"n": turn})));
        let model = ScriptedModel::new([ScriptedReply::parts([call]), ScriptedReply::text("Done.")]);
        let host = AgentDeps { tools: &tools, ..AgentDeps::new(&model, &files, &now, &new_id) };
        let started = Instant::now();
        let end = agent.run_turn("And this one?", &host, &CancellationToken::new()).await?;
        // A turn with a call asks the model twice.
        let step = started.elapsed() / 2;
        assert_eq!(end, TurnEnd::Finished(FinishReason::Stop));
        (shortest, longest) = (shortest.min(step), longest.max(step));
    }
    let tracked = agent.used();
    println!(
        "one step with {} tokens of history: {:.2} ms, at worst {:.2} ms; ratio {:.2} of the limit of {} ms",
        tracked.0,
        shortest.as_secs_f64() * 1_000.0,
        longest.as_secs_f64() * 1_000.0,
        shortest.as_secs_f64() / LIMIT.as_secs_f64(),
        LIMIT.as_millis()
    );
    Ok(())
}
