//! The team's archive on its server.

use std::io::Write;

use anyhow::{Context, anyhow};
use longhaul_archive::{
    ArchiveError, ArchivedSession, PushOptions, Question, Retention, TeamArchive, TeamOptions,
};
use longhaul_conversation::Timestamp;

use super::{PushSummary, TeamAnswer, TeamSession, folders};
use crate::archive;
use crate::failure::hinted;
use crate::settings::Settings;

fn options(settings: &Settings) -> anyhow::Result<TeamOptions> {
    let (url, tenant) = settings.archive_team().ok_or_else(|| {
        hinted(
            anyhow!("no address of a team's archive is set"),
            "set longhaul.archive.url to postgres://USER@HOST/DATABASE in the settings of your home folder",
        )
    })?;
    Ok(TeamOptions { url, tenant })
}

fn open(settings: &Settings) -> anyhow::Result<TeamArchive> {
    TeamArchive::open(&options(settings)?).map_err(failure)
}

pub(super) fn migrate(settings: &Settings) -> anyhow::Result<(i32, i32)> {
    TeamArchive::migrate(&options(settings)?).map_err(failure)
}

/// An error of the team's archive, with what to do.
fn failure(error: ArchiveError) -> anyhow::Error {
    let mut cause = &error;
    while let ArchiveError::PushStopped { cause: inner, .. } = cause {
        cause = inner;
    }
    let hint = match cause {
        ArchiveError::Connect { .. } => {
            "check longhaul.archive.url, and that the server runs and lets you in"
        }
        ArchiveError::OlderSchema { .. } => "let the owner of the database run `longhaul archive migrate`",
        ArchiveError::NewerSchema { .. } => "update Longhaul",
        ArchiveError::AboveSecurity { .. } => {
            "use a role without SUPERUSER and BYPASSRLS; docs/archive.md shows how to make one"
        }
        ArchiveError::NoTenant { .. } => {
            "correct longhaul.archive.tenant, or let the owner of the database GRANT you that role"
        }
        ArchiveError::OtherTokens => "update Longhaul everywhere, then run `longhaul archive rebuild --team`",
        ArchiveError::Server(_) => "run the same command again: it goes on where it stopped",
        _ => return error.into(),
    };
    hinted(anyhow::Error::new(error), hint)
}

pub(super) fn sessions(settings: &Settings) -> anyhow::Result<Vec<TeamSession>> {
    let sessions = open(settings)?.sessions().map_err(failure)?;
    Ok(sessions.into_iter().map(team_session).collect())
}

fn team_session(session: longhaul_archive::TeamSession) -> TeamSession {
    TeamSession { machine: session.machine, session: session.session }
}

pub(super) fn recall(settings: &Settings, question: &Question, limit: usize) -> anyhow::Result<TeamAnswer> {
    let mut team = open(settings)?;
    let hits = team.recall(question, limit).map_err(failure)?;
    let named = |session: longhaul_archive::TeamSession| {
        (session.session.source.session.clone(), team_session(session))
    };
    let sessions = team.sessions().map_err(failure)?.into_iter().map(named).collect();
    Ok(TeamAnswer { hits, sessions })
}

pub(super) fn export(settings: &Settings, name: &str, into: &mut dyn Write) -> anyhow::Result<()> {
    let mut team = open(settings)?;
    let session = find(&mut team, name)?;
    team.export(&session, into).map_err(failure)
}

fn find(team: &mut TeamArchive, name: &str) -> anyhow::Result<ArchivedSession> {
    let found = team.find(name).map_err(failure)?.map(|session| session.session);
    found.ok_or_else(|| {
        let hint = "`longhaul recall --team WORDS` names the sessions it finds";
        hinted(anyhow!("the team's archive has no session named {name}"), hint)
    })
}

pub(super) fn delete(
    settings: &Settings,
    names: &[String],
    agree: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    let mut team = open(settings)?;
    let mut sessions: Vec<ArchivedSession> = Vec::new();
    for name in names {
        let session = find(&mut team, name)?;
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    agree()?;
    team.delete(&sessions).map_err(failure)?;
    Ok(sessions.len())
}

pub(super) fn expired(
    settings: &Settings,
    retention: &Retention,
    now: Timestamp,
) -> anyhow::Result<Vec<ArchivedSession>> {
    open(settings)?.expired(retention, now).map_err(failure)
}

pub(super) fn prune(
    settings: &Settings,
    retention: &Retention,
    now: Timestamp,
) -> anyhow::Result<Vec<ArchivedSession>> {
    let mut team = open(settings)?;
    let expired = team.expired(retention, now).map_err(failure)?;
    team.delete(&expired).map_err(failure)?;
    Ok(expired)
}

pub(super) fn rebuild(settings: &Settings) -> anyhow::Result<usize> {
    open(settings)?.rebuild().map_err(failure)
}

pub(super) fn push(settings: &Settings) -> anyhow::Result<PushSummary> {
    let mut archive = archive::open()?;
    archive::sync(&mut archive, settings, |_| true)?.context("could not sync the archive")?;
    let sessions = folders::pushed(&archive, settings)?;
    let sessions: Vec<(&ArchivedSession, Option<&str>)> =
        sessions.iter().map(|(session, project)| (*session, Some(project.as_str()))).collect();
    let report =
        open(settings)?.push(&archive, &sessions, &PushOptions { machine: machine() }).map_err(failure)?;
    Ok(PushSummary {
        sessions: report.sessions,
        pushed: report.pushed,
        bytes: report.bytes,
        deleted: report.deleted,
    })
}

/// The name by which others see this machine.
fn machine() -> String {
    let named = |names: &[&str]| names.iter().find_map(|name| std::env::var(name).ok());
    let user = named(&["USER", "LOGNAME", "USERNAME"]);
    let host = std::fs::read_to_string("/etc/hostname").map(|name| name.trim().to_owned());
    let host = host.ok().filter(|name| !name.is_empty()).or_else(|| named(&["HOSTNAME", "COMPUTERNAME"]));
    let unknown = || "unknown".to_owned();
    format!("{}@{}", user.unwrap_or_else(unknown), host.unwrap_or_else(unknown))
}
