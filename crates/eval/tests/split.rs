//! The list of halves agrees with the labels and keeps each repository in one half.

use std::collections::BTreeMap;
use std::path::PathBuf;

use longhaul_eval::{Half, Split};

fn labels() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/labels")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(labels().join(name)).expect("the labels are in the repository")
}

fn split() -> Split {
    Split::parse(&read("split.tsv")).expect("the list is well formed")
}

#[test]
fn labelled_sessions_are_in_the_half_of_their_labels() {
    let split = split();
    for (file, half) in [("fit.tsv", Half::Fit), ("check.tsv", Half::Check)] {
        let text = read(file);
        let sessions = text.lines().filter_map(|line| line.split('\t').next());
        for session in sessions {
            assert_eq!(split.half_of(session, None), Some(half), "{session} in {file}");
        }
    }
}

#[test]
fn every_session_of_the_corpus_is_listed_and_no_repository_is_in_both_halves() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let index = std::fs::read_to_string(corpus.join("index.json")).expect("the corpus has an index");
    let index: serde_json::Value = serde_json::from_str(&index).expect("the index is JSON");
    let split = split();
    let mut halves: BTreeMap<&str, Half> = BTreeMap::new();
    for session in index["sessions"].as_array().expect("the index lists sessions") {
        let [id, repository] = ["id", "repo"].map(|key| session[key].as_str().expect("it is a text"));
        let half = split.half_of(id, None).unwrap_or_else(|| panic!("{id} is not listed"));
        assert_eq!(*halves.entry(repository).or_insert(half), half, "{id} of {repository}");
    }
}
