//! The index of past sessions: which are worth reading now, the new ones first, so that none waits for ever.

use std::collections::HashMap;
use std::time::Duration;

use longhaul_conversation::Timestamp;
use longhaul_redact::redact;

use crate::ExtractionState;
use crate::manifest::one_line;
use crate::neutralise::escape;

/// A past session as it is known without reading its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastSession {
    /// Its id.
    pub id: String,
    /// The path, as it is shown.
    pub path: String,
    /// When something was last added.
    pub updated: Timestamp,
    /// The number of messages that the user wrote.
    pub user_messages: usize,
    /// The topic, in a line.
    pub headline: Option<String>,
    /// The course of the work, in a line.
    pub workflow: Option<String>,
    /// True if a sub-agent led it.
    pub is_subagent: bool,
}

/// Which sessions are worth reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// Sessions with fewer messages of the user are passed over.
    pub fewest_messages: usize,
    /// Sessions that were added to more recently may still be going on.
    pub idle: Duration,
    /// So many new ones are taken at a time.
    pub most_new: usize,
    /// So many are listed in all.
    pub most: usize,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self { fewest_messages: 10, idle: Duration::from_secs(3 * 60 * 60), most_new: 10, most: 50 }
    }
}

/// A session in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexed {
    /// The session.
    pub session: PastSession,
    /// True if it has not been read since something was last added.
    pub is_new: bool,
}

/// So much of a text is told in a line, in characters.
const LONGEST_TOLD: usize = 300;

/// The legend of an index.
pub(crate) const INDEX_LEGEND: &str = include_str!("prompts/index_legend.md");

/// Chooses the sessions to look at: new ones that were tried least often, then the newest, and then old ones.
pub fn plan_index(
    sessions: &[PastSession],
    state: &ExtractionState,
    settings: &IndexSettings,
    now: Timestamp,
) -> Vec<Indexed> {
    let mut newest: HashMap<&str, &PastSession> = HashMap::new();
    for session in sessions.iter().filter(|session| is_eligible(session, settings, now)) {
        let known = newest.entry(&session.id).or_insert(session);
        if (session.updated, &session.path) > (known.updated, &known.path) {
            *known = session;
        }
    }
    let (mut new, mut old): (Vec<&PastSession>, Vec<&PastSession>) =
        newest.into_values().partition(|session| !state.is_processed(&session.id, session.updated));
    let by_age = |session: &PastSession| (std::cmp::Reverse(session.updated), session.id.clone());
    new.sort_by_key(|session| (state.attempts(&session.id, session.updated), by_age(session)));
    old.sort_by_key(|session| by_age(session));
    new.truncate(settings.most_new);
    old.truncate(settings.most.saturating_sub(new.len()));
    let listed = |is_new: bool| move |session: &PastSession| Indexed { session: session.clone(), is_new };
    new.into_iter().map(listed(true)).chain(old.into_iter().map(listed(false))).collect()
}

fn is_eligible(session: &PastSession, settings: &IndexSettings, now: Timestamp) -> bool {
    let idle = now.as_millis().saturating_sub(session.updated.as_millis());
    let is_idle = u128::try_from(idle).unwrap_or(0) >= settings.idle.as_millis();
    !session.is_subagent && session.user_messages >= settings.fewest_messages && is_idle
}

/// The index as a model reads it, with its legend.
pub fn render_index(index: &[Indexed]) -> String {
    let line = |Indexed { session, is_new }: &Indexed| {
        let mark = if *is_new { "[NEW]" } else { "[old]" };
        let told = |text: &Option<String>| text.as_deref().map(told).filter(|text| !text.is_empty());
        let headline = match (told(&session.headline), told(&session.workflow)) {
            (Some(headline), Some(workflow)) => format!("{headline} | workflow: {workflow}"),
            (one, other) => one.or(other).unwrap_or("(no summary)".to_string()),
        };
        format!("{mark} {headline} ({} user msgs) — {}\n", session.user_messages, escape(&session.path))
    };
    let lines: String = index.iter().map(line).collect();
    format!("{}\n{lines}", INDEX_LEGEND.trim_end())
}

/// A text on one line, without secrets, not too long, in which nothing looks like a tag.
pub(crate) fn told(text: &str) -> String {
    let text = redact(&one_line(text)).text.into_owned();
    match text.char_indices().nth(LONGEST_TOLD) {
        Some((end, _)) => format!("{}…", escape(&text[..end])),
        None => escape(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExtractionRun;

    const HOUR: i64 = 3_600_000;

    fn past(id: &str, hours_ago: i64, user_messages: usize) -> PastSession {
        PastSession {
            id: id.into(),
            path: format!("chats/{id}.jsonl"),
            updated: Timestamp::from_millis(1_000 * HOUR - hours_ago * HOUR),
            user_messages,
            headline: None,
            workflow: None,
            is_subagent: false,
        }
    }

    #[track_caller]
    fn check(sessions: &[PastSession], state: &ExtractionState, expected: &[&str]) {
        let settings = IndexSettings { most_new: 2, most: 3, ..IndexSettings::default() };
        let index = plan_index(sessions, state, &settings, Timestamp::from_millis(1_000 * HOUR));
        let told: Vec<String> = index
            .iter()
            .map(|indexed| format!("{} {}", indexed.session.id, if indexed.is_new { "new" } else { "old" }))
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn short_running_and_delegated_sessions_are_passed_over() {
        let delegated = PastSession { is_subagent: true, ..past("d", 5, 20) };
        check(
            &[past("a", 5, 9), past("b", 2, 20), past("c", 3, 10), delegated],
            &ExtractionState::default(),
            &["c new"],
        );
    }

    #[test]
    fn the_later_of_two_files_counts() {
        let sessions = [past("a", 5, 20), PastSession { path: "later".into(), ..past("a", 4, 20) }];
        let index = plan_index(
            &sessions,
            &ExtractionState::default(),
            &IndexSettings::default(),
            Timestamp::from_millis(1_000 * HOUR),
        );
        assert_eq!((index.len(), index[0].session.path.as_str()), (1, "later"));
    }

    #[test]
    fn everyone_has_a_turn_and_a_resumed_session_is_new_again() {
        let sessions = [past("a", 4, 20), past("b", 5, 20), past("c", 6, 20), past("d", 7, 20)];
        let mut state = ExtractionState::default();
        check(&sessions, &state, &["a new", "b new"]);
        // Both were tried, and only one was read.
        let run = |tried, read| ExtractionRun {
            at: Timestamp::from_millis(999 * HOUR),
            tried,
            read,
            skills: &[],
            memory: &[],
            took: Duration::ZERO,
            by_model: None,
        };
        state.add_run(&run(&sessions[..2], &sessions[..1]));
        check(&sessions, &state, &["c new", "d new", "a old"]);
        state.add_run(&run(&sessions[2..], &sessions[2..]));
        check(&sessions, &state, &["b new", "a old", "c old"]);
        let resumed = past("a", 3, 20);
        check(&[resumed, sessions[1].clone()], &state, &["a new", "b new"]);
    }

    #[test]
    fn an_index_is_read_line_by_line() {
        let secret = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
        let titled = PastSession {
            headline: Some(format!("Fix <b>\nthe build with {secret}")),
            workflow: Some("edit -> test".into()),
            ..past("a", 5, 12)
        };
        let index =
            [Indexed { session: titled, is_new: true }, Indexed { session: past("b", 5, 10), is_new: false }];
        let text = render_index(&index);
        assert!(text.starts_with(INDEX_LEGEND.trim_end()));
        assert!(text.ends_with(
            "\n[NEW] Fix &lt;b&gt; the build with [REDACTED] | workflow: edit -&gt; test (12 user msgs) — chats/a.jsonl\n[old] (no summary) (10 user msgs) — chats/b.jsonl\n"
        ));
    }
}
