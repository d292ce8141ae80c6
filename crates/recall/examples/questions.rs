//! Measures how often questions about past sessions find the messages that answer them:
//! `cargo run -p longhaul-recall --example questions -- bench/labels/recall-questions.json SESSIONS [open|closed]`.
//! Each question is asked of all sessions in the folder that any question is about, as by `longhaul recall --all`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use longhaul_conversation::Message;
use longhaul_formats::read_session;
use longhaul_recall::{PassageReader, Search, SearchFilter, SessionRef};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(labels), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: questions LABELS SESSIONS [open|closed]".into());
    };
    let half = arguments.next().unwrap_or_else(|| "open".to_owned());
    let labels: Vec<Value> = serde_json::from_slice(&std::fs::read(labels)?)?;
    let names: HashSet<&str> = labels.iter().filter_map(|label| label["session"].as_str()).collect();
    let mut files = Vec::new();
    files_below(Path::new(&folder), &mut files);
    let mut sessions: Vec<(SessionRef, Vec<Message>)> = Vec::new();
    for name in &names {
        let is_it = |path: &&PathBuf| path.file_stem().is_some_and(|stem| stem == *name);
        let Some(path) = files.iter().find(is_it) else {
            println!("skipped: no session {name}");
            continue;
        };
        let session = read_session(std::fs::File::open(path)?)?;
        sessions.push((SessionRef::new(*name), session.transcript.messages().to_vec()));
    }
    sessions.sort_by(|a, b| a.0.cmp(&b.0));
    // Messages are labelled by their place, from 1.
    let mut places: HashMap<(SessionRef, u32), u64> = HashMap::new();
    for (session, messages) in &sessions {
        let mut reader = PassageReader::default();
        for (place, message) in messages.iter().enumerate() {
            reader.read(message, &mut |passage| {
                places.insert((session.clone(), passage.sequence), place as u64 + 1);
            });
        }
    }
    let (mut asked, mut found, mut in_session) = (0_u32, [0_u32; 3], [0_u32; 3]);
    for label in labels.iter().filter(|label| label["half"].as_str() == Some(half.as_str())) {
        let Some(question) = label["question"].as_str() else { continue };
        let name = SessionRef::new(label["session"].as_str().unwrap_or_default());
        let wanted: Vec<u64> =
            label["messages"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        asked += 1;
        let everywhere = rank_of(question, &sessions, &places, &name, &wanted);
        let own: Vec<_> = sessions.iter().filter(|(session, _)| *session == name).cloned().collect();
        let inside = rank_of(question, &own, &places, &name, &wanted);
        for (place, limit) in [1, 5, 10].into_iter().enumerate() {
            found[place] += u32::from(everywhere.is_some_and(|rank| rank < limit));
            in_session[place] += u32::from(inside.is_some_and(|rank| rank < limit));
        }
        let shown = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| (rank + 1).to_string());
        println!("{} {} {}", label["id"].as_str().unwrap_or_default(), shown(everywhere), shown(inside));
    }
    let share = |count: u32| f64::from(count) / f64::from(asked.max(1)) * 100.0;
    for (scope, found) in [("all sessions", found), ("the session", in_session)] {
        let [first, five, ten] = found.map(share);
        println!("{half}, {scope}: {asked} questions, hit@1 {first:.1}, hit@5 {five:.1}, hit@10 {ten:.1}");
    }
    Ok(())
}

/// The rank of the first answer among the messages that are found.
fn rank_of(
    question: &str,
    sessions: &[(SessionRef, Vec<Message>)],
    places: &HashMap<(SessionRef, u32), u64>,
    name: &SessionRef,
    wanted: &[u64],
) -> Option<usize> {
    let mut search = Search::new(question);
    for (session, messages) in sessions {
        messages.iter().for_each(|message| search.observe(session, message));
    }
    let mut seen = Vec::new();
    for passage in search.ranking(&SearchFilter::default()) {
        let place = places.get(&(passage.session.clone(), passage.sequence)).copied().unwrap_or_default();
        if passage.session == *name && wanted.contains(&place) {
            return Some(seen.len());
        }
        if !seen.contains(&(passage.session.clone(), place)) {
            seen.push((passage.session, place));
        }
        if seen.len() > 50 {
            break;
        }
    }
    None
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}
