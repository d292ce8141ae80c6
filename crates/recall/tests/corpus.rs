//! Tests on real sessions: a line is found in its message.

use std::fs::File;

use longhaul_conversation::{Message, Part};
use longhaul_formats::read_session;
use longhaul_recall::{Search, SessionRef};

/// The number of lines searched for in each session.
const LINES: usize = 12;

/// A line of a message that is worth searching for: some words, no quotes.
fn line_of(message: &Message) -> Option<&str> {
    let text = message.parts.iter().find_map(Part::as_text)?;
    let is_telling =
        |line: &&str| (30..200).contains(&line.len()) && !line.contains('"') && line.contains(' ');
    text.lines().map(str::trim).find(is_telling)
}

#[test]
fn a_line_is_found_where_it_was_said() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut sought = 0;
    for path in longhaul_testkit::files_below(&corpus.join("sessions/normalized")) {
        let Ok(session) = read_session(File::open(&path).expect("the corpus can be read")) else { continue };
        let messages = session.transcript.messages();
        let id = SessionRef::new(path.to_string_lossy());
        let step = messages.len() / LINES + 1;
        for line in messages.iter().step_by(step).filter_map(line_of) {
            let find = |query: &str| {
                let mut search = Search::new(query);
                messages.iter().for_each(|message| search.observe(&id, message));
                search.hits_in(&id, messages, 10)
            };
            let has_line = |message: &Message| {
                message.parts.iter().filter_map(Part::as_text).any(|text| text.contains(line))
            };
            // As a phrase, every hit contains it; as words, one of the best does.
            let hits = find(&format!("\"{line}\""));
            assert!(!hits.is_empty(), "{}: {line}", path.display());
            assert!(hits.iter().all(|hit| !hit.excerpt.matches.is_empty()));
            let hits = find(line);
            let is_found = hits
                .iter()
                .any(|hit| messages.iter().any(|message| message.id == hit.message && has_line(message)));
            assert!(is_found, "{}: {line}", path.display());
            sought += 1;
        }
    }
    assert!(sought > 100, "only {sought} lines were sought");
}
