//! `longhaul archive`: copies of every agent's sessions, what is kept, and what goes.

mod team;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use longhaul_app::archive;
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::settings::Settings;
use longhaul_archive::{ArchiveError, ArchivedSession, Retention, SyncReport};
use longhaul_conversation::Timestamp;
use serde_json::json;

use crate::output::{Page, Screen, ago, plural, print_json, thousands, visible, with_progress};

#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    /// Copy what is new in every agent's sessions, and index it.
    Sync(OutputOptions),
    /// Show what is kept, what would be gone without it, and how much room it takes.
    Status {
        #[command(flatten)]
        output: OutputOptions,
        /// Show the team's archive.
        #[arg(long)]
        team: bool,
    },
    /// Make the index anew from the copies.
    Rebuild {
        /// Make that of the team's archive anew.
        #[arg(long)]
        team: bool,
    },
    /// Write the copy of a session to standard output.
    Export {
        /// Session, by its name or the start of it.
        session: String,
        /// Export it from the team's archive.
        #[arg(long)]
        team: bool,
    },
    /// Delete sessions from the archive for good.
    Delete {
        /// Sessions, by their names or the starts of them.
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Delete without asking.
        #[arg(long)]
        yes: bool,
        /// Delete them from the team's archive.
        #[arg(long)]
        team: bool,
    },
    /// Delete what is older or larger than you want to keep.
    Prune(PruneOptions),
    /// Push the sessions of enabled folders to the team's archive (`longhaul.archive.url`).
    Push(PushArguments),
    /// Make the tables of the team's archive, or bring them up to date.
    Migrate,
}

#[derive(Debug, Args)]
pub(crate) struct PushArguments {
    /// Let this folder's sessions be pushed, from now on.
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    /// Push this folder's sessions no longer; what was pushed stays.
    #[arg(long)]
    disable: bool,
    /// Show what would be pushed without pushing it.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Debug, Args)]
pub(crate) struct OutputOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PruneOptions {
    /// Delete sessions unchanged for more than this many days [default: `longhaul.archive.maxDays`].
    #[arg(long, value_name = "DAYS")]
    max_days: Option<u32>,
    /// Keep at most this many megabytes of text, the newest.
    #[arg(long, value_name = "MB")]
    max_megabytes: Option<u64>,
    /// Only sessions of this agent.
    #[arg(long)]
    agent: Option<String>,
    /// Only sessions of this folder.
    #[arg(long, value_name = "FOLDER")]
    project: Option<std::path::PathBuf>,
    /// Prune the team's archive.
    #[arg(long)]
    team: bool,
    /// Show what would be deleted without deleting it.
    #[arg(long)]
    dry_run: bool,
}

/// Runs one of the commands.
pub(crate) fn run(
    command: &ArchiveCommand,
    load_settings: impl Fn() -> anyhow::Result<Settings>,
    screen: &Screen,
) -> anyhow::Result<()> {
    match command {
        ArchiveCommand::Sync(options) => sync(options, &load_settings()?, *screen),
        ArchiveCommand::Status { output, team: true } => {
            team::status(&load_settings()?, output.json, *screen)
        }
        ArchiveCommand::Status { output, team: false } => status(output, *screen),
        ArchiveCommand::Rebuild { team: true } => team::rebuild(&load_settings()?),
        ArchiveCommand::Rebuild { team: false } => {
            let mut archive = archive::open()?;
            let count = with_progress(|| "indexing".into(), || archive.rebuild())
                .context("could not rebuild the index")?;
            crate::output::print(&format!("Indexed {}.\n", plural(count, "session", "sessions")))
        }
        ArchiveCommand::Export { session, team: true } => team::export(&load_settings()?, session),
        ArchiveCommand::Export { session, team: false } => export(session),
        ArchiveCommand::Delete { sessions, yes, team: true } => {
            team::delete(&load_settings()?, sessions, *yes)
        }
        ArchiveCommand::Delete { sessions, yes, team: false } => delete(sessions, *yes),
        ArchiveCommand::Prune(options) => prune(options, &load_settings()?),
        ArchiveCommand::Push(options) => team::push(options, &load_settings()?, *screen),
        ArchiveCommand::Migrate => team::migrate(&load_settings()?),
    }
}

fn sync(options: &OutputOptions, settings: &Settings, screen: Screen) -> anyhow::Result<()> {
    let mut archive = archive::open()?;
    let report =
        with_progress(|| "copying sessions".into(), || archive::sync(&mut archive, settings, |_| true));
    let report = report?.map_err(|error| match error {
        ArchiveError::DiskFull { .. } => {
            hinted(anyhow!(error), "make room, then run the same command: it goes on where it stopped")
        }
        error => anyhow!(error).context("could not sync the archive"),
    })?;
    if options.json {
        return print_json(&json!({
            "schema": 1, "sources": report.sources, "copied": report.copied, "bytes": report.bytes,
            "indexed": report.indexed, "redacted": report.redacted,
            "skipped": report.skipped.iter().map(|skipped| json!({
                "path": skipped.path.display().to_string(), "cause": skipped.cause.to_string(),
            })).collect::<Vec<_>>(),
        }));
    }
    crate::output::print(&synced(screen, &report))
}

fn synced(screen: Screen, report: &SyncReport) -> String {
    let mut page = Page::new(screen);
    if let Some(aside) = &report.damaged {
        page.warning(&format!(
            "the index was damaged; it is now {} and was made anew from the copies",
            visible(&aside.display().to_string())
        ));
    }
    for skipped in &report.skipped {
        let path = skipped.path.display().to_string();
        page.warning(&format!("skipped {}: {}", visible(&path), visible(&skipped.cause.to_string())));
    }
    if report.sources == 0 {
        page.line("No sessions found: neither Longhaul nor another agent has any here.");
        return page.into_text();
    }
    let sessions = plural(report.sources, "session", "sessions");
    if report.copied == 0 {
        page.line(&format!("Up to date: nothing new in {sessions}."));
    } else {
        page.line(&format!(
            "Copied {} from {} of {sessions}.",
            size(report.bytes),
            thousands(report.copied as u64)
        ));
    }
    if !report.redacted.is_empty() {
        let kinds: Vec<String> =
            report.redacted.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        page.line(&format!("Redacted secrets: {}.", kinds.join(", ")));
    }
    page.into_text()
}

fn status(options: &OutputOptions, screen: Screen) -> anyhow::Result<()> {
    let Some(archive) = archive::find()? else {
        let none = "No archive yet. Make one with `longhaul archive sync`.\n";
        return if options.json {
            print_json(&json!({"schema": 1, "sessions": 0}))
        } else {
            crate::output::print(none)
        };
    };
    let status = archive.status().context("could not read the archive")?;
    let leaving = archive::leaving(&archive)?;
    if options.json {
        return print_json(&json!({
            "schema": 1, "sessions": status.sessions, "agents": status.agents, "only_here": status.only_here,
            "leaving": leaving.sessions, "leaving_not_copied": leaving.not_copied,
            "bytes": status.bytes, "blocks_room": status.blocks_room, "index_room": status.index_room,
            "unindexed": status.unindexed,
            "last_copy": status.last_copy.map(|at| Timestamp::from_millis(at).to_string()),
        }));
    }
    let mut page = Page::new(screen);
    let agents: Vec<String> = status.agents.iter().map(|(agent, count)| format!("{agent} {count}")).collect();
    page.line(&format!(
        "{} ({})",
        plural(status.sessions, "session", "sessions"),
        visible(&agents.join(", "))
    ));
    page.line(&format!("{} only here: their agent deleted them", thousands(status.only_here as u64)));
    if leaving.sessions > 0 {
        let copied = match leaving.not_copied {
            0 => "all of them are copied".into(),
            count => format!("{} not copied yet; run `longhaul archive sync`", thousands(count as u64)),
        };
        page.line(&format!("{} more go within a week: {copied}", thousands(leaving.sessions as u64)));
    }
    page.line(&format!(
        "{} of sessions in {} of blocks and {} of index",
        size(status.bytes),
        size(status.blocks_room),
        size(status.index_room)
    ));
    if status.unindexed > 0 {
        page.line(&format!(
            "{} not indexed yet; run `longhaul archive sync`",
            thousands(status.unindexed as u64)
        ));
    }
    if let Some(at) = status.last_copy {
        page.line(&format!("Last copy {}", ago(Timestamp::from_millis(at), now())));
    }
    crate::output::print(&page.into_text())
}

fn export(name: &str) -> anyhow::Result<()> {
    let archive = archive::find()?.ok_or_else(none_yet)?;
    let session = archive.find(name).ok_or_else(|| unknown(name))?;
    std::io::copy(&mut archive.text(session), &mut std::io::stdout().lock())
        .map(drop)
        .with_context(|| format!("could not export {name}"))
}

fn delete(names: &[String], is_agreed: bool) -> anyhow::Result<()> {
    let mut archive = archive::find()?.ok_or_else(none_yet)?;
    for name in names {
        archive.find(name).ok_or_else(|| unknown(name))?;
    }
    if !is_agreed {
        let what = plural(names.len(), "session", "sessions");
        return Err(hinted(anyhow!("deleting {what} cannot be undone"), "pass --yes to delete"));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let room = archive.delete(&names).context("could not delete")?;
    crate::output::print(&format!(
        "Deleted {}: {} free.\n",
        plural(names.len(), "session", "sessions"),
        size(room)
    ))
}

fn prune(options: &PruneOptions, settings: &Settings) -> anyhow::Result<()> {
    let project = options.project.as_ref().map(|folder| {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        folder.display().to_string()
    });
    let retention = Retention {
        // The setting is for the own archive.
        max_days: options.max_days.or_else(|| settings.archive_days().filter(|_| !options.team)),
        max_bytes: options.max_megabytes.map(|megabytes| megabytes.saturating_mul(1_000_000)),
        agent: options.agent.clone(),
        project,
    };
    if retention.max_days.is_none() && retention.max_bytes.is_none() {
        let hint = "pass --max-days or --max-megabytes, or set longhaul.archive.maxDays";
        return Err(hinted(anyhow!("nothing says what to delete"), hint));
    }
    if options.team {
        return team::prune(settings, &retention, options.dry_run);
    }
    let mut archive = archive::find()?.ok_or_else(none_yet)?;
    if options.dry_run {
        return crate::output::print(&expired(&archive.expired(&retention, now())));
    }
    let (count, room) = archive.prune(&retention, now()).context("could not prune the archive")?;
    crate::output::print(&format!("Deleted {}: {} free.\n", plural(count, "session", "sessions"), size(room)))
}

/// The sessions that would be deleted.
fn expired(sessions: &[ArchivedSession]) -> String {
    if sessions.is_empty() {
        return "Nothing to delete.\n".into();
    }
    let line = |session: &ArchivedSession| {
        format!("{}  {}\n", visible(&session.source.session), size(session.bytes()))
    };
    sessions.iter().map(line).collect()
}

fn none_yet() -> anyhow::Error {
    hinted(anyhow!("there is no archive yet"), "run `longhaul archive sync`")
}

fn unknown(name: &str) -> anyhow::Error {
    let hint = "`longhaul recall --all WORDS` names the sessions it finds";
    hinted(anyhow!("no archived session named {name}"), hint)
}

/// A number of bytes, as people read it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
