//! The commands about the team's archive.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::settings::Settings;
use longhaul_app::team;
use longhaul_archive::Retention;
use longhaul_conversation::Timestamp;
use serde_json::json;

use super::{PushArguments, expired, size};
use crate::output::{Page, Screen, ago, plural, print, print_json, thousands, visible, with_progress};

pub(super) fn status(settings: &Settings, is_json: bool, screen: Screen) -> anyhow::Result<()> {
    let sessions = team::sessions(settings)?;
    let bytes: u64 = sessions.iter().map(|session| session.session.bytes()).sum();
    let newest = sessions.iter().map(|session| session.session.copied_at).max();
    let mut machines: BTreeMap<&str, usize> = BTreeMap::new();
    sessions.iter().for_each(|session| *machines.entry(&session.machine).or_default() += 1);
    if is_json {
        return print_json(&json!({
            "schema": 1, "sessions": sessions.len(), "machines": machines, "bytes": bytes,
            "last_copy": newest.map(|at| Timestamp::from_millis(at).to_string()),
        }));
    }
    let mut page = Page::new(screen);
    let machines: Vec<String> =
        machines.iter().map(|(machine, count)| format!("{machine} {count}")).collect();
    let total = plural(sessions.len(), "session", "sessions");
    if sessions.is_empty() {
        page.line("The team's archive has no sessions yet. Push some with `longhaul archive push`.");
    } else {
        page.line(&format!("{total}, {} ({})", size(bytes), visible(&machines.join(", "))));
    }
    if let Some(at) = newest {
        page.line(&format!("Newest copy {}", ago(Timestamp::from_millis(at), now())));
    }
    let folders = team::pushed_folders(settings)?;
    match folders.is_empty() {
        true => page.line("No folder is pushed; enable one with `longhaul archive push --enable`"),
        false => folders.iter().for_each(|folder| {
            page.line(&format!("Pushed from here: {}", visible(&folder.display().to_string())));
        }),
    }
    print(&page.into_text())
}

pub(super) fn rebuild(settings: &Settings) -> anyhow::Result<()> {
    let count = with_progress(|| "indexing".into(), || team::rebuild(settings))?;
    print(&format!("Indexed {} of the team's archive.\n", plural(count, "session", "sessions")))
}

pub(super) fn export(settings: &Settings, name: &str) -> anyhow::Result<()> {
    team::export(settings, name, &mut std::io::stdout().lock())
        .with_context(|| format!("could not export {name}"))
}

pub(super) fn delete(settings: &Settings, names: &[String], is_agreed: bool) -> anyhow::Result<()> {
    let what = plural(names.len(), "session", "sessions");
    let agree = || match is_agreed {
        true => Ok(()),
        false => Err(hinted(
            anyhow!("deleting {what} for the whole team cannot be undone"),
            "pass --yes to delete",
        )),
    };
    let count = team::delete(settings, names, agree)?;
    print(&format!("Deleted {} from the team's archive.\n", plural(count, "session", "sessions")))
}

pub(super) fn prune(settings: &Settings, retention: &Retention, is_dry_run: bool) -> anyhow::Result<()> {
    if is_dry_run {
        return print(&expired(&team::expired(settings, retention, now())?));
    }
    let gone = team::prune(settings, retention, now())?;
    print(&format!("Deleted {} from the team's archive.\n", plural(gone.len(), "session", "sessions")))
}

pub(super) fn migrate(settings: &Settings) -> anyhow::Result<()> {
    let (before, after) = team::migrate(settings)?;
    match before {
        0 => print(&format!("Made the tables of the team's archive, version {after}.\n")),
        _ if before == after => print(&format!("Up to date: the team's archive has version {after}.\n")),
        _ => print(&format!("Brought the team's archive from version {before} to {after}.\n")),
    }
}

pub(super) fn push(options: &PushArguments, settings: &Settings, screen: Screen) -> anyhow::Result<()> {
    if options.enable || options.disable {
        let (folder, is_new) = team::set_pushed(options.enable)?;
        let folder = visible(&folder.display().to_string());
        return print(&match (options.enable, is_new) {
            (true, true) => {
                format!("Sessions of {folder} are pushed from now on by `longhaul archive push`.\n")
            }
            (true, false) => format!("Sessions of {folder} are pushed already.\n"),
            (false, true) => format!("Sessions of {folder} are pushed no longer; what was pushed stays.\n"),
            (false, false) => format!("Sessions of {folder} were not pushed.\n"),
        });
    }
    if team::pushed_folders(settings)?.is_empty() {
        let hint = "run `longhaul archive push --enable` in a folder whose sessions the team may see";
        return Err(hinted(anyhow!("no folder is enabled for pushing"), hint));
    }
    if options.dry_run {
        let sessions = team::plan_push(settings)?;
        let mut page = Page::new(screen);
        for (session, project) in &sessions {
            let name = visible(&session.source.session);
            page.line(&format!("{name}  {}  {}", visible(project), size(session.bytes())));
        }
        page.line(&format!("{} would be pushed, redacted.", plural(sessions.len(), "session", "sessions")));
        return print(&page.into_text());
    }
    let report = with_progress(|| "pushing sessions".into(), || team::push(settings))?;
    if options.output.json {
        return print_json(&json!({
            "schema": 1, "sessions": report.sessions, "pushed": report.pushed, "bytes": report.bytes,
            "deleted": report.deleted,
        }));
    }
    let mut page = Page::new(screen);
    let sessions = plural(report.sessions, "session", "sessions");
    page.line(&match report.pushed {
        0 => format!("Up to date: nothing new in {sessions}."),
        pushed => format!("Pushed {} from {} of {sessions}.", size(report.bytes), thousands(pushed as u64)),
    });
    if report.deleted > 0 {
        page.line(&format!(
            "{} deleted from the team's archive and not pushed again.",
            plural(report.deleted, "session was", "sessions were")
        ));
    }
    print(&page.into_text())
}
