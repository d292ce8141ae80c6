//! `sessions`: the recorded sessions.

use longhaul_app::found::Reach;

use super::Request;
use crate::arguments::Arguments;
use crate::quote::{framed, one_line};

/// With a query, so many titles are looked at.
const MOST_TITLES: usize = 500;

pub(super) fn answer(request: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let query = arguments.text("query")?.map(|query| query.to_lowercase());
    let scope = arguments.choice("scope", &["project", "all"])?;
    let limit = arguments.number("limit", 10, 50)?.max(1);
    let library = request.library(if scope == Some("all") { Reach::Everything } else { Reach::Project });
    let caller = request.caller.find(&library).map(|session| session.id.clone());
    let mut lines = Vec::new();
    for session in library.sessions().iter().take(MOST_TITLES) {
        if lines.len() == limit {
            break;
        }
        let title = one_line(&session.title(), 100);
        let says = |query: &String| query.split_whitespace().all(|word| title.to_lowercase().contains(word));
        if query.as_ref().is_some_and(|query| !says(query)) {
            continue;
        }
        let own = if caller.as_deref() == Some(session.id.as_str()) { " (this conversation)" } else { "" };
        let title = if title.is_empty() { "(no title)" } else { &title };
        let short = library.short_id(session);
        let (agent, at) = (session.agent.as_str(), session.used().to_minute());
        let resume = session.resume().unwrap_or_else(|| "only in the archive".into());
        lines.push(format!("{short} {agent} {at}{own}: {title}\n  {resume}\n"));
    }
    if lines.is_empty() {
        let there = library.sessions().len();
        return Ok(match (query, scope) {
            (Some(_), _) if there > 0 => {
                format!("None of {there} sessions has such a title. recall searches what was said in them.")
            }
            (_, Some("all")) => "No recorded sessions were found.".into(),
            _ => "No recorded sessions of this folder were found; scope=all lists every folder's.".into(),
        });
    }
    let total = library.sessions().len();
    Ok(framed(&format!(
        "{} of {total} sessions, newest first.\n\n{}",
        lines.len(),
        lines.concat().trim_end()
    )))
}
