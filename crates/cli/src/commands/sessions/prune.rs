//! `longhaul sessions prune`: deletes sessions beyond the age or number that settings keep.

use anyhow::{Context, anyhow};
use clap::Args;
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::project::Project;
use longhaul_app::settings::Settings;
use longhaul_sessions::{
    Counts, Doomed, DoomedItem, Retention, RetentionConfig, RetentionReason, StoreError, parse_period,
    plan_retention,
};
use serde_json::{Value, json};

use crate::output::{Color, Page, Screen, fit, plural, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct PruneOptions {
    /// Delete sessions idle for longer than this, such as 12h, 30d, 2w or 1m (a month) [default: from settings].
    #[arg(long, value_name = "AGE", value_parser = age)]
    max_age: Option<String>,
    /// Keep only this many sessions, the newest.
    #[arg(long, value_name = "N", value_parser = count)]
    max_count: Option<i64>,
    /// Show what would be deleted without deleting it.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// The minimum age once an age is given on the command line, in place of the one in settings.
const ANY_AGE: &str = "1h";

pub(super) fn run(options: &PruneOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let limits = match config(options, settings).check() {
        Retention::On(limits) => limits,
        Retention::Off => {
            return Err(hinted(
                anyhow!("settings keep all sessions: general.sessionRetention.enabled is false"),
                "pass --max-age 30d or --max-count 50",
            ));
        }
        Retention::Disabled { warning } => {
            return Err(hinted(anyhow!(warning), "fix general.sessionRetention in settings.json"));
        }
    };
    let Some(project) = Project::find()? else {
        return finish(options, color, &[], &Pruned::default());
    };
    let store = project.store();
    let listing = store.list().context("could not list the sessions")?;
    let outputs = store.tool_outputs()?;
    let plan = plan_retention(&listing, &outputs, &limits, now(), None);
    let mut done = Pruned::default();
    if !options.dry_run {
        let pruned = store.run_retention(&plan);
        done = Pruned {
            sessions: pruned.sessions,
            tool_outputs: pruned.tool_outputs,
            problems: pruned.problems,
        };
    }
    finish(options, color, &plan.doomed, &done)
}

#[derive(Default)]
struct Pruned {
    sessions: Counts,
    tool_outputs: Counts,
    problems: Vec<StoreError>,
}

fn config(options: &PruneOptions, settings: &Settings) -> RetentionConfig {
    let set = settings.retention();
    if options.max_age.is_none() && options.max_count.is_none() {
        return set;
    }
    RetentionConfig {
        enabled: true,
        max_age: options.max_age.clone(),
        max_count: options.max_count,
        min_retention: Some(ANY_AGE.into()),
    }
}

fn finish(options: &PruneOptions, color: Color, doomed: &[Doomed], done: &Pruned) -> anyhow::Result<()> {
    if options.json {
        print_json(&json(options, doomed, done))?;
    } else {
        crate::output::print(&text(options, Screen::of_stdout(color), doomed, done))?;
    }
    match done.sessions.failed + done.tool_outputs.failed {
        0 => Ok(()),
        failed => Err(anyhow!("could not delete {}", plural(failed, "item", "items"))),
    }
}

fn text(options: &PruneOptions, screen: Screen, doomed: &[Doomed], done: &Pruned) -> String {
    let mut page = Page::new(screen);
    for Doomed { item, reason } in doomed {
        let line = format!("{}: {}", visible(&name(item)), why(*reason));
        page.line(&fit(&line, page.screen.width));
    }
    for problem in &done.problems {
        let line = page.screen.warning(&fit(&visible(&problem.to_string()), page.screen.width));
        page.line(&line);
    }
    page.gap();
    let outcome = if doomed.is_empty() {
        "Nothing to delete.".to_string()
    } else if options.dry_run {
        format!("Would delete {}; nothing was deleted.", plural(doomed.len(), "item", "items"))
    } else {
        let sessions = plural(done.sessions.deleted, "session", "sessions");
        let outputs = plural(done.tool_outputs.deleted, "saved tool output", "saved tool outputs");
        format!("Deleted {sessions} and {outputs}.")
    };
    page.line(&outcome);
    page.into_text()
}

fn name(item: &DoomedItem) -> String {
    match item {
        DoomedItem::Session { id, .. } => format!("session {id}"),
        DoomedItem::Flawed { file } => file.clone(),
        DoomedItem::ToolOutput(output) => format!("tool outputs {}", output.name),
    }
}

fn why(reason: RetentionReason) -> &'static str {
    match reason {
        RetentionReason::TooOld => "too old",
        RetentionReason::TooMany => "over the limit of sessions to keep",
        RetentionReason::Useless => "nothing to resume in it",
    }
}

fn json(options: &PruneOptions, doomed: &[Doomed], done: &Pruned) -> Value {
    let counts = |counts: &Counts| {
        json!({
            "scanned": counts.scanned,
            "deleted": counts.deleted,
            "skipped": counts.skipped,
            "failed": counts.failed,
        })
    };
    let doomed = doomed.iter().map(|Doomed { item, reason }| {
        let reason = match reason {
            RetentionReason::TooOld => "too_old",
            RetentionReason::TooMany => "too_many",
            RetentionReason::Useless => "useless",
        };
        json!({"name": name(item), "reason": reason})
    });
    let problems: Vec<String> = done.problems.iter().map(ToString::to_string).collect();
    json!({
        "schema": 1,
        "dry_run": options.dry_run,
        "doomed": doomed.collect::<Vec<_>>(),
        "sessions": counts(&done.sessions),
        "tool_outputs": counts(&done.tool_outputs),
        "problems": problems,
    })
}

fn count(text: &str) -> Result<i64, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "expected a whole number of at least 1".into())
}

fn age(text: &str) -> Result<String, String> {
    match parse_period(text) {
        Some(_) => Ok(text.to_string()),
        None => Err("expected a number with h, d, w or m, such as 30d".into()),
    }
}
