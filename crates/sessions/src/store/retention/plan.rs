//! Decides which sessions and tool outputs go; nothing is touched here.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use longhaul_conversation::Timestamp;

use super::RetentionLimits;
use crate::store::list::{Flaw, FlawedFile, ListedSession, Listing};
use crate::store::names::{may_be_of, sanitise_name};

/// For so long a session without any message is spared: another program may just have begun it.
const JUST_BEGUN: Duration = Duration::from_secs(600);

/// The planned deletions with their reasons.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetentionPlan {
    /// The number of sessions and flawed files scanned.
    pub sessions: usize,
    /// The number of tool outputs scanned.
    pub tool_outputs: usize,
    /// The items to delete.
    pub doomed: Vec<Doomed>,
}

/// Something that goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Doomed {
    /// The item.
    pub item: DoomedItem,
    /// The reason.
    pub reason: RetentionReason,
}

/// An item that can be deleted.
#[derive(Clone, Debug, PartialEq)]
pub enum DoomedItem {
    /// A session with all its files and what belongs to it.
    Session {
        /// Its id.
        id: String,
        /// The names of its files, the newest first.
        files: Vec<String>,
        /// When something was last added to it; it is spared if that has changed since.
        updated: Timestamp,
    },
    /// A file that is called like a session and is none to resume.
    Flawed {
        /// Its name.
        file: String,
    },
    /// A tool output, or all of a session's.
    ToolOutput(ToolOutput),
}

/// A reason for deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionReason {
    /// It is older than allowed.
    TooOld,
    /// There are more than allowed, and it is among the oldest.
    TooMany,
    /// It is no session, or there is nothing in it to resume.
    Useless,
}

/// A saved output of a tool, or the folder of those of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// Its name in the folder of tool outputs.
    pub name: String,
    /// Its location.
    pub path: PathBuf,
    /// True if it is the folder of a session.
    pub is_folder: bool,
    /// When it was last written.
    pub modified: Timestamp,
}

/// Decides what goes. The session `active` stays whatever its age; it counts as one of those that are kept.
pub fn plan_retention(
    listing: &Listing,
    tool_outputs: &[ToolOutput],
    limits: &RetentionLimits,
    now: Timestamp,
    active: Option<&str>,
) -> RetentionPlan {
    let oldest = limits.max_age.map(|age| before(now, age));
    let mut doomed: Vec<Doomed> =
        listing.flawed.iter().filter(|file| is_useless(file, now, active)).map(useless).collect();
    doomed.extend(plan_sessions(&listing.sessions, limits.max_count, oldest, active));
    doomed.extend(plan_tool_outputs(tool_outputs, limits.max_count, oldest, active));
    RetentionPlan {
        sessions: listing.sessions.len() + listing.flawed.len(),
        tool_outputs: tool_outputs.len(),
        doomed,
    }
}

fn before(now: Timestamp, span: Duration) -> Timestamp {
    let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(millis))
}

fn is_useless(file: &FlawedFile, now: Timestamp, active: Option<&str>) -> bool {
    let is_begun = match file.flaw {
        // It may be a good session that nobody can read at the moment.
        Flaw::Unreadable(_) => return false,
        Flaw::NothingToResume { has_messages } => !has_messages,
        Flaw::NoSession => file.size == 0,
        Flaw::Subagent => false,
    };
    let is_spared = is_begun && file.modified > before(now, JUST_BEGUN);
    !is_spared && !active.is_some_and(|id| may_be_of(&file.file_name, id))
}

fn useless(file: &FlawedFile) -> Doomed {
    let item = DoomedItem::Flawed { file: file.file_name.clone() };
    Doomed { item, reason: RetentionReason::Useless }
}

fn plan_sessions(
    sessions: &[ListedSession],
    max_count: Option<usize>,
    oldest: Option<Timestamp>,
    active: Option<&str>,
) -> Vec<Doomed> {
    let is_active =
        |session: &&ListedSession| active.is_some_and(|id| session.id() == id || session.is_current(id));
    let active_count = sessions.iter().filter(is_active).count();
    let mut others: Vec<&ListedSession> = sessions.iter().filter(|session| !is_active(session)).collect();
    others.sort_by(|a, b| (b.last_used(), &b.file_name).cmp(&(a.last_used(), &a.file_name)));
    let room = max_count.map(|count| count.saturating_sub(active_count.min(1)));
    let doom = |(rank, session): (usize, &ListedSession)| {
        let reason = reason(session.last_used(), oldest, room.is_some_and(|room| rank >= room))?;
        let mut files = vec![session.file_name.clone()];
        files.extend(session.older_files.iter().cloned());
        let item = DoomedItem::Session { id: session.id().to_owned(), files, updated: session.updated };
        Some(Doomed { item, reason })
    };
    others.into_iter().enumerate().filter_map(doom).collect()
}

fn reason(at: Timestamp, oldest: Option<Timestamp>, is_surplus: bool) -> Option<RetentionReason> {
    if oldest.is_some_and(|oldest| at < oldest) {
        Some(RetentionReason::TooOld)
    } else {
        is_surplus.then_some(RetentionReason::TooMany)
    }
}

/// The age counts for files and folders, the number for files alone.
fn plan_tool_outputs(
    outputs: &[ToolOutput],
    max_count: Option<usize>,
    oldest: Option<Timestamp>,
    active: Option<&str>,
) -> Vec<Doomed> {
    let own_folder = active.map(|id| format!("session-{}", sanitise_name(id)));
    let is_old = |output: &&ToolOutput| {
        let is_own = output.is_folder && own_folder.as_ref() == Some(&output.name);
        !is_own && oldest.is_some_and(|oldest| output.modified < oldest)
    };
    let doomed =
        |output: &ToolOutput, reason| Doomed { item: DoomedItem::ToolOutput(output.clone()), reason };
    let mut gone: Vec<Doomed> =
        outputs.iter().filter(is_old).map(|output| doomed(output, RetentionReason::TooOld)).collect();
    let old: HashSet<&str> = outputs.iter().filter(is_old).map(|output| output.name.as_str()).collect();
    let mut files: Vec<&ToolOutput> =
        outputs.iter().filter(|output| !output.is_folder && !old.contains(output.name.as_str())).collect();
    files.sort_by(|a, b| (a.modified, &a.name).cmp(&(b.modified, &b.name)));
    let surplus = max_count.map_or(0, |count| files.len().saturating_sub(count));
    gone.extend(files.into_iter().take(surplus).map(|output| doomed(output, RetentionReason::TooMany)));
    gone
}
