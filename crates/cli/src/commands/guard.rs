//! `longhaul guard`: answers the hooks of other agents, and reports what their own compactions lost.

use std::fs::{self, File, OpenOptions};
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use longhaul_app::companion::{
    agent_places, has_afterwork, keep_session, offered_rules, opencode_session, start_afterwork,
};
use longhaul_app::environment::current_folder;
use longhaul_app::failure::hinted;
use longhaul_app::kept_rules::kept_rules;
use longhaul_app::project::session_file;
use longhaul_app::settings::{Settings, load_here};
use longhaul_companion::{
    CompactionLoss, Directive, Fate, GuardError, GuardMemory, HookCall, HookDialect, HookMoment, Remembered,
    SessionRecord, answer, loss_report,
};
use longhaul_stores::Agent;
use serde_json::{Value, json};

use crate::output::{Page, Screen, fit, path_json, plural, print, print_json, thousands, visible};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GuardArgs {
    /// Handler that answers: what does not fit the first is said by the next.
    #[arg(long, value_name = "N", default_value_t = 1)]
    handler: usize,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show which rules, requests and files an agent's own compactions lost.
    Report {
        /// Session file, or a session of this folder: latest, its number in `sessions list`, or its id.
        #[arg(default_value = "latest")]
        session: PathBuf,
        /// Print one JSON object (see docs/json.md).
        #[arg(long)]
        json: bool,
    },
    /// Print one line for Claude Code's status line, from its JSON on standard input.
    StatusLine,
    /// Keep what a turn has brought; the guard starts this in the background.
    #[command(hide = true)]
    Keep {
        /// Agent that wrote the session.
        #[arg(long)]
        agent: String,
        /// File of the session.
        session: PathBuf,
    },
}

/// The longest a hook may take: an agent waits for it.
const DEADLINE: Duration = Duration::from_secs(1);
/// The most bytes of a hook's input; Gemini CLI sends whole requests.
const MOST_INPUT: u64 = 256 << 20;
/// The size at which the guard's log starts anew.
const MOST_LOGGED: u64 = 256 << 10;

/// Runs the command. A hook's call always ends well: an agent must not stumble over its guard.
pub(crate) fn run(args: &GuardArgs, screen: &Screen) -> anyhow::Result<()> {
    match &args.verb {
        Some(Verb::Report { session, json }) => report(session, *json, screen),
        Some(Verb::StatusLine) => status_line(),
        Some(Verb::Keep { agent, session }) => {
            keep(agent, session);
            Ok(())
        }
        None if std::io::stdin().is_terminal() => Err(hinted(
            anyhow!("no hook's call on standard input"),
            "agents call this; `longhaul install AGENT` sets it up, and `longhaul guard report` shows what was lost",
        )),
        None => {
            hook(args.handler);
            Ok(())
        }
    }
}

fn hook(handler: usize) {
    let (send, receive) = mpsc::channel();
    // It is not waited for beyond the deadline: the process ends without it.
    std::thread::spawn(move || send.send(answered(handler)));
    let said = match receive.recv_timeout(DEADLINE) {
        Ok(Ok(said)) => said,
        Ok(Err(error)) => return log(&format!("{error:#}")),
        Err(_) => return log("gave up after a second"),
    };
    if let Some(said) = said {
        let mut out = std::io::stdout().lock();
        // The agent may be gone.
        let _ = out.write_all(said.as_bytes()).and_then(|()| out.flush());
    }
}

fn answered(handler: usize) -> anyhow::Result<Option<String>> {
    let mut input = String::new();
    std::io::stdin()
        .lock()
        .take(MOST_INPUT)
        .read_to_string(&mut input)
        .context("could not read the hook's call")?;
    let Some(mut call) = HookCall::parse(&input) else { return Ok(None) };
    if call.dialect == HookDialect::Opencode && call.transcript.is_none() {
        call.transcript = call.session.as_deref().and_then(opencode_session);
    }
    if handler == 1 && has_afterwork(&call) {
        start_afterwork(&call)?;
    }
    if call.moment == HookMoment::Started {
        return if handler == 1 { offer(&call) } else { Ok(None) };
    }
    let memory = GuardMemory::at(memory_folder()?);
    let transcript = call.transcript.as_deref().unwrap_or(Path::new(""));
    let kept = kept_rules(transcript).unwrap_or_else(|error| {
        log(&format!("{error:#}"));
        Vec::new()
    });
    let open = |path: &Path| {
        let input = longhaul_app::sessions::open(path).map_err(std::io::Error::other)?;
        Ok(Box::new(input) as Box<dyn Read>)
    };
    answer(&call, handler, &memory, &kept, &open)
        .with_context(|| format!("could not guard {}", transcript.display()))
}

/// Offers rules of earlier sessions, if the user wants that.
fn offer(call: &HookCall) -> anyhow::Result<Option<String>> {
    if !settings().guard_offers_rules() {
        return Ok(None);
    }
    let text = offered_rules(&call.directory.clone().unwrap_or_else(current_folder))?;
    Ok(text.map(|text| {
        json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}})
            .to_string()
    }))
}

/// The settings; what is wrong with them is said by every other command.
fn settings() -> Settings {
    load_here().map(|loaded| loaded.settings).unwrap_or_default()
}

/// Does what the end of a turn asks for; nobody waits for it, so faults go to the log.
fn keep(agent: &str, session: &Path) {
    let Some(agent) = Agent::from_word(agent) else { return };
    if let Err(error) = keep_session(agent, session, &settings()) {
        log(&format!("{error:#}"));
    }
}

fn memory_folder() -> anyhow::Result<PathBuf> {
    Ok(agent_places(&current_folder())?.notes)
}

/// Adds a line to the guard's log; nobody reads what a hook prints.
fn log(line: &str) {
    let Ok(folder) = memory_folder() else { return };
    let path = folder.join("guard.log");
    if fs::metadata(&path).is_ok_and(|found| found.len() > MOST_LOGGED) {
        let _ = fs::remove_file(&path);
    }
    if longhaul_workspace::create_private_folder(&folder).is_ok()
        && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(&path)
    {
        let _ = writeln!(file, "{} {}", longhaul_app::clock::now(), visible(line));
    }
}

fn read_record(path: &Path) -> anyhow::Result<SessionRecord> {
    let file = File::open(path).map_err(GuardError::Open);
    let kept = kept_rules(path)?;
    let record = file
        .and_then(|file| SessionRecord::read_with(file, &kept))
        .with_context(|| format!("could not read {}", path.display()));
    record.map_err(|error| {
        hinted(error, "pass a session file of an agent, or run this in a folder with sessions")
    })
}

fn report(session: &Path, json: bool, screen: &Screen) -> anyhow::Result<()> {
    let path = session_file(session)?;
    let losses = loss_report(&read_record(&path)?);
    if json {
        return print_json(&json!({
            "schema": 1,
            "file": path_json(&path),
            "compactions": losses.iter().map(loss_json).collect::<Vec<_>>(),
        }));
    }
    if losses.is_empty() {
        return print("The agent never compacted this session: nothing was lost.\n");
    }
    let mut page = Page::new(*screen);
    for (index, loss) in losses.iter().enumerate() {
        if index > 0 {
            page.line("");
        }
        let place = loss.at.map(|at| format!(" after {at}")).unwrap_or_default();
        let size = thousands(loss.before.0);
        page.line(&screen.strong(&format!("Compaction {}{place}: {size} tokens", index + 1)));
        tell_directives(&mut page, screen, "rule", &loss.rules);
        tell_directives(&mut page, screen, "open request", &loss.requests);
        let lost: Vec<&str> = lost(&loss.files).map(String::as_str).collect();
        page.line(&counted("changed file", loss.files.len(), lost.len()));
        for path in lost {
            page.line(&format!("    {}", visible(path)));
        }
    }
    print(&page.into_text())
}

fn tell_directives(page: &mut Page, screen: &Screen, noun: &str, all: &[Remembered<Directive>]) {
    page.line(&counted(noun, all.len(), lost(all).count()));
    for directive in lost(all) {
        let number = directive.message.map(|number| format!("{number} ")).unwrap_or_default();
        let words = directive.text.split_whitespace().collect::<Vec<_>>().join(" ");
        page.line(&format!("    {number}{}", fit(&visible(&words), screen.width.saturating_sub(12))));
    }
}

fn lost<T>(all: &[Remembered<T>]) -> impl Iterator<Item = &T> {
    all.iter().filter(|it| it.fate == Fate::Lost).map(|it| &it.what)
}

fn counted(noun: &str, all: usize, lost: usize) -> String {
    match (all, lost) {
        (0, _) => format!("  no {noun}s"),
        (_, 0) => format!("  {} kept", plural(all, noun, &format!("{noun}s"))),
        _ => format!("  {lost} of {} lost:", plural(all, noun, &format!("{noun}s"))),
    }
}

fn loss_json(loss: &CompactionLoss) -> Value {
    let fate = |fate: Fate| match fate {
        Fate::Verbatim => "verbatim",
        Fate::Reworded => "reworded",
        Fate::Lost => "lost",
    };
    let directives = |all: &[Remembered<Directive>]| -> Vec<Value> {
        all.iter()
            .map(|it| {
                json!({"message": it.what.message.map(|number| number.to_string()), "text": it.what.text, "fate": fate(it.fate)})
            })
            .collect()
    };
    json!({
        "after": loss.at.map(|at| at.to_string()),
        "before_tokens": loss.before.0,
        "rules": directives(&loss.rules),
        "requests": directives(&loss.requests),
        "files": loss.files.iter().map(|it| json!({"path": it.what, "fate": fate(it.fate)})).collect::<Vec<_>>(),
    })
}

/// One line: rules, open requests, and the share of the window that the agent reports.
fn status_line() -> anyhow::Result<()> {
    let mut input = String::new();
    std::io::stdin()
        .lock()
        .take(1 << 20)
        .read_to_string(&mut input)
        .context("could not read standard input")?;
    let input: Value = serde_json::from_str(&input).unwrap_or_default();
    let mut shown = Vec::new();
    if let Some(path) =
        input.get("transcript_path").and_then(Value::as_str).filter(|path| Path::new(path).is_file())
        && let Ok(record) = read_record(Path::new(path))
    {
        shown.push(plural(record.active_rules().len(), "rule", "rules"));
        shown.push(format!("{} open", record.open_requests().len()));
    }
    let used =
        input.get("context_window").and_then(|window| window.get("used_percentage")).and_then(Value::as_f64);
    shown.extend(used.map(|used| format!("{used:.0} %")));
    print(&format!("{}\n", shown.join(" · ")))
}
