//! `longhaul rules` and `longhaul requests`: what was recognised in a session, and corrections by hand.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use longhaul_app::clock::now;
use longhaul_app::compression::LoadedSession;
use longhaul_app::failure::hinted;
use longhaul_app::found;
use longhaul_app::project::{LATEST, log_failure, session_file};
use longhaul_app::sessions::new_id;
use longhaul_conversation::Estimator;
use longhaul_directives::{RequestState, Retirement, RuleId, UserRequests, UserRules};
use longhaul_engine::{Conversation, RecordId};
use longhaul_sessions::{Log, LogError};
use serde_json::json;

use crate::doubts::doubt_text;
use crate::input;
use crate::output::{Screen, print, print_json, visible};
use crate::reports::tracked::{json as tracked_json, text as tracked};

/// Arguments of both commands.
#[derive(Debug, Args)]
pub(crate) struct DirectivesArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List what was recognised, with ids.
    List(ListOptions),
    /// Add one by hand.
    Add {
        /// Session: latest, its number in `sessions list`, its id, or its file.
        session: PathBuf,
        /// Its words.
        #[arg(required = true)]
        text: Vec<String>,
    },
    /// Take one back: it no longer holds, or is no longer wanted.
    Remove(Target),
    /// Mark one as done.
    Done(Target),
    /// Take back what was recognised wrongly.
    Wrong(Target),
}

#[derive(Debug, Args)]
struct ListOptions {
    /// Session file (format detected automatically), or a session of this folder: latest, its number in `sessions list`, or its id.
    #[arg(default_value = LATEST)]
    session: PathBuf,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Target {
    /// Session: latest, its number in `sessions list`, its id, or its file.
    session: PathBuf,
    /// Id of the rule or request, or the first characters of it.
    id: String,
}

/// What the command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rules,
    Requests,
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Self::Rules => "rule",
            Self::Requests => "request",
        }
    }
}

/// Runs one of the commands.
pub(crate) fn run(kind: Kind, args: &DirectivesArgs, screen: &Screen) -> anyhow::Result<()> {
    match &args.verb {
        None => {
            let session = found::recent()?.swap_remove(0).path;
            list(kind, &ListOptions { session, json: false }, screen)
        }
        Some(Verb::List(options)) => list(kind, options, screen),
        Some(Verb::Add { session, text }) => add(kind, session, &text.join(" ")),
        Some(Verb::Remove(target) | Verb::Wrong(target)) => end(kind, target, End::Removed),
        Some(Verb::Done(target)) => end(kind, target, End::Done),
    }
}

fn list(kind: Kind, options: &ListOptions, screen: &Screen) -> anyhow::Result<()> {
    let path = session_file(&options.session)?;
    // A session of another agent has no corrections, and is only read.
    let tracker = match Log::open_existing(&path) {
        Ok(log) => Conversation::on(log, Estimator::default()).tracker().clone(),
        // What its agent compacted away counts, too.
        Err(_) => LoadedSession::read(&path, input::open(&path)?, &Estimator::default(), None)?.tracker,
    };
    if options.json {
        return match kind {
            Kind::Rules => {
                print_json(&json!({"schema": 1, "file": path, "rules": tracked_json::rules(tracker.rules())}))
            }
            Kind::Requests => print_json(
                &json!({"schema": 1, "file": path, "requests": tracked_json::requests(tracker.requests())}),
            ),
        };
    }
    print(&match kind {
        Kind::Rules => rules_text(tracker.rules(), screen),
        Kind::Requests => requests_text(tracker.requests(), screen),
    })
}

fn rules_text(rules: &UserRules, screen: &Screen) -> String {
    let active = rules.active().map(|rule| (rule.id, tracked::mark(&rule.messages), rule.text.clone()));
    let retired = rules.retired().map(|rule| {
        let by = match &rule.retired_by {
            Some(Retirement::Message { message, .. }) => format!("retired by {message}"),
            _ => "removed by you".into(),
        };
        (rule.id, by, rule.text.clone())
    });
    let mut text = lines(
        active.chain(retired),
        screen,
        "No rules yet. Add one with `longhaul rules add SESSION TEXT`.\n",
    );
    for (older, newer) in rules.doubts() {
        let doubt = doubt_text(&older.text, &newer.text);
        text.push_str(&format!("{}\n", visible(&doubt)));
    }
    text
}

fn requests_text(requests: &UserRequests, screen: &Screen) -> String {
    let all = requests.all().iter().map(|request| {
        let state = match &request.state {
            RequestState::Open { .. } => "open".to_string(),
            RequestState::Done(_) => "done".to_string(),
            RequestState::Replaced { by } => format!("replaced by {by}"),
        };
        (request.id(), state, request.text.clone())
    });
    lines(all, screen, "No requests yet. Add one with `longhaul requests add SESSION TEXT`.\n")
}

fn lines(all: impl Iterator<Item = (RuleId, String, String)>, screen: &Screen, none: &str) -> String {
    let lines: String = all
        .map(|(id, state, text)| {
            let text = visible(&text.split_whitespace().collect::<Vec<_>>().join(" "));
            format!("{}  {state:<16}  {text}\n", screen.strong(&id.to_string()))
        })
        .collect();
    if lines.is_empty() { none.to_string() } else { lines }
}

fn add(kind: Kind, session: &Path, text: &str) -> anyhow::Result<()> {
    let mut conversation = open(session)?;
    let added = match kind {
        Kind::Rules => conversation.add_rule(text, record_id())?,
        Kind::Requests => conversation.add_request(text, record_id())?,
    };
    let Some(id) = added else {
        return Err(hinted(anyhow!("the {} says nothing", kind.noun()), "give its words behind the session"));
    };
    conversation.sync()?;
    print(&format!("Added {} {id}: {}\n", kind.noun(), visible(text.trim())))
}

/// How a rule or request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Removed,
    Done,
}

fn end(kind: Kind, target: &Target, end: End) -> anyhow::Result<()> {
    let mut conversation = open(&target.session)?;
    let tracker = conversation.tracker();
    let mut known: Vec<(RuleId, String)> = match kind {
        Kind::Rules => tracker.rules().active().map(|rule| (rule.id, rule.text.clone())).collect(),
        Kind::Requests => {
            tracker.requests().open_requests().map(|request| (request.id(), request.text.clone())).collect()
        }
    };
    known.retain(|(id, _)| !target.id.is_empty() && id.to_string().starts_with(&target.id));
    let (id, text) = match &known[..] {
        [one] => one.clone(),
        [] => {
            let state = if kind == Kind::Rules { "active rule" } else { "open request" };
            let hint = format!("run `longhaul {}s list` to see their ids", kind.noun());
            return Err(hinted(anyhow!("no {state} has the id {}", target.id), hint));
        }
        _ => {
            return Err(hinted(
                anyhow!("{} matches several {}s", target.id, kind.noun()),
                "use more of the id",
            ));
        }
    };
    match (kind, end) {
        (Kind::Rules, _) => conversation.remove_rule(id, record_id())?,
        (Kind::Requests, End::Removed) => conversation.remove_request(id, record_id())?,
        (Kind::Requests, End::Done) => conversation.finish_request(id, record_id())?,
    };
    conversation.sync()?;
    let verb = if end == End::Done && kind == Kind::Requests { "Marked as done" } else { "Removed" };
    print(&format!("{verb}: {}\n", visible(&text)))
}

fn record_id() -> RecordId {
    RecordId { id: new_id(), at: now() }
}

/// Opens a session for a correction, which is recorded in its log.
fn open(session: &Path) -> anyhow::Result<Conversation> {
    let path = session_file(session)?;
    drop(input::open(&path)?);
    match Log::open_existing(&path) {
        Ok(log) => Ok(Conversation::on(log, Estimator::default())),
        Err(error @ LogError::OtherFormat { .. }) => Err(hinted(
            anyhow::Error::new(error).context("corrections are recorded in sessions of Longhaul only"),
            "import it first with `longhaul sessions import FILE`",
        )),
        Err(error) => Err(log_failure(error)),
    }
}
