//! `recall`: searches recorded sessions.

use longhaul_app::clock::now;
use longhaul_app::found::Reach;
use longhaul_app::recall::{RecallRequest, recall_files};
use longhaul_conversation::Timestamp;
use longhaul_recall::{Hit, Kind, SearchFilter};
use longhaul_sessions::parse_period;
use longhaul_stores::Agent;

use super::Request;
use crate::arguments::Arguments;
use crate::library::{KnownSession, Library, agent_words};
use crate::quote::{framed, quoted, without_own};

/// The most bytes of session files that one call reads, newest sessions first: about the work of ten seconds.
const MOST_BYTES: u64 = 1 << 30;

pub(super) fn answer(request: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let query = arguments.required("query")?;
    let scope = arguments.choice("scope", &["project", "session", "all"])?.unwrap_or("project");
    let agent = arguments.choice("agent", &agent_words())?.and_then(Agent::from_word);
    let since = arguments.text("since")?.map(|text| parse_since(&text, now())).transpose()?;
    let kind = arguments.choice("kind", &["user", "model", "call", "output"])?;
    let limit = arguments.number("limit", 5, 20)?.max(1);
    let kinds = kind.and_then(kind_of).into_iter().collect();
    let filter = SearchFilter { kinds, since };
    let recall = RecallRequest { query: &query, filter, limit, now: now(), part: without_own };
    recall.search().map_err(|error| format!("{error:#}: pass a rarer word or a path"))?;
    let (library, chosen) = match scope {
        "session" => {
            let (library, session) = request.session(None)?;
            (library, vec![session])
        }
        scope => {
            let library = request.library(if scope == "all" { Reach::Everything } else { Reach::Project });
            let caller = request.caller.find(&library).map(|session| session.id.clone());
            let wanted = |session: &&KnownSession| {
                Some(&session.id) != caller.as_ref()
                    && agent.is_none_or(|agent| session.agent == agent)
                    && since.is_none_or(|since| session.used() >= since)
            };
            let chosen = library.sessions().iter().filter(wanted).cloned().collect();
            (library, chosen)
        }
    };
    let mut searched = Searched::default();
    let mut sources = Vec::new();
    for session in &chosen {
        if searched.bytes > 0 && searched.bytes + session.size() > MOST_BYTES {
            searched.left_out += 1;
            continue;
        }
        searched.bytes += session.size();
        searched.sessions += 1;
        sources.extend(session.recall_sources());
    }
    if sources.is_empty() {
        return Ok(text(&query, &[], &library, &searched, scope));
    }
    let answer = recall_files(&recall, &sources).map_err(|error| format!("{error:#}"))?;
    searched.unread = answer.unread.len();
    Ok(text(&query, &answer.hits, &library, &searched, scope))
}

fn kind_of(name: &str) -> Option<Kind> {
    [Kind::User, Kind::Model, Kind::Call, Kind::Output].into_iter().find(|kind| kind.as_str() == name)
}

/// What was looked through.
#[derive(Default)]
struct Searched {
    sessions: usize,
    bytes: u64,
    left_out: usize,
    unread: usize,
}

/// A date, or an age before now.
fn parse_since(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let wrong = || format!("since must be a date (2026-08-04) or an age (12h, 7d, 3w), not {text:?}");
    if let Some(period) = parse_period(text) {
        let millis = i64::try_from(period.as_millis()).map_err(|_| wrong())?;
        return Ok(Timestamp::from_millis(now.as_millis().saturating_sub(millis)));
    }
    let day = || Timestamp::parse(&format!("{text}T00:00:00Z"));
    Timestamp::parse(text).or_else(day).ok_or_else(wrong)
}

fn text(query: &str, hits: &[Hit], library: &Library, searched: &Searched, scope: &str) -> String {
    let count =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let mut told = count(searched.sessions, "session", "sessions");
    if searched.left_out > 0 {
        told.push_str(&format!(", the newest ones; {} older were left out", searched.left_out));
    }
    if searched.unread > 0 {
        told.push_str(&format!("; {} could not be read", searched.unread));
    }
    let query = crate::quote::one_line(query, 120);
    if hits.is_empty() {
        let next = match scope {
            "project" if searched.sessions == 0 => {
                "No earlier session of this folder is on disk; scope=all looks everywhere."
            }
            "project" => "Try other words, scope=session for this conversation, or scope=all.",
            "session" => "Try other words, or scope=project for earlier sessions.",
            _ => "Try other words.",
        };
        return format!("No matches for {query} in {told}. {next}");
    }
    let mut text = format!("{} for {query} in {told}.\n", count(hits.len(), "hit", "hits"));
    for (index, hit) in hits.iter().enumerate() {
        let session = library
            .sessions()
            .iter()
            .find(|session| hit.session.as_str().split('/').next() == Some(session.id.as_str()));
        let Some(session) = session else { continue };
        let number = hit.number.map(|number| format!(":{number}")).unwrap_or_default();
        let at = hit.at.map(|at| format!(" {}", at.to_minute())).unwrap_or_default();
        let who = hit.tool.as_deref().unwrap_or(hit.origin.as_str());
        text.push_str(&format!(
            "\n{}. {}{number} {}{at} {} ({:.1})\n",
            index + 1,
            library.short_id(session),
            session.agent.as_str(),
            crate::quote::one_line(who, 80),
            hit.score
        ));
        text.push_str(&quoted(&hit.excerpt.text));
        if hit.repeats > 0 {
            text.push_str(&format!("and {} more like it\n", hit.repeats));
        }
    }
    text.push_str("\nRead one whole with read and its ref, such as the one of hit 1.");
    framed(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_date_or_an_age() {
        let now = Timestamp::parse("2026-08-10T12:00:00Z").expect("a time");
        let check = |text: &str, expected: &str| {
            assert_eq!(
                parse_since(text, now).map(|at| at.to_minute()),
                Ok(Timestamp::parse(expected).expect("a time").to_minute()),
                "{text}"
            );
        };
        check("2026-08-04", "2026-08-04T00:00:00Z");
        check("2026-08-04T10:30:00Z", "2026-08-04T10:30:00Z");
        check("7d", "2026-08-03T12:00:00Z");
        check("12h", "2026-08-10T00:00:00Z");
        assert!(parse_since("yesterday", now).unwrap_err().contains("yesterday"));
    }
}
