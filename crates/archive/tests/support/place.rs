//! Folders with sessions and an archive, and what a scan of it finds.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use longhaul_archive::{Archive, ArchivedSession, Source, SyncOptions};
use longhaul_conversation::Timestamp;
use longhaul_formats::{Event, SeenParts, read};
use longhaul_recall::{Search, SearchFilter, SessionRef};
use longhaul_workspace::LockTimeout;
use proptest::prelude::*;
use serde_json::json;

pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("sessions")).expect("a folder");
        Self { folder }
    }

    pub(crate) fn archive(&self) -> Archive {
        Archive::open(&self.archive_folder()).expect("the archive opens")
    }

    pub(crate) fn archive_folder(&self) -> PathBuf {
        self.folder.path().join("archive")
    }

    pub(crate) fn source(&self, name: &str) -> Source {
        let path = self.folder.path().join("sessions").join(format!("{name}.jsonl"));
        Source { agent: "claude".into(), session: name.into(), project: None, path, document: None }
    }

    pub(crate) fn sources(&self) -> Vec<Source> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path().join("sessions"))
            .expect("the sessions")
            .map(|file| {
                file.expect("a file").path().file_stem().unwrap_or_default().to_string_lossy().into_owned()
            })
            .collect();
        names.sort();
        names.iter().map(|name| self.source(name)).collect()
    }

    pub(crate) fn write(&self, name: &str, texts: &[&str]) {
        fs::write(self.source(name).path, lines(name, 0, texts)).expect("the session is written");
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).open(self.source(name).path).expect("a session");
        file.write_all(text.as_bytes()).expect("it is written");
    }

    #[track_caller]
    pub(crate) fn sync(&self, archive: &mut Archive) -> (usize, u64) {
        let report = archive.sync(&self.sources(), &options()).expect("the sync ends");
        assert_eq!(report.skipped.len(), 0);
        (report.copied, report.bytes)
    }
}

pub(crate) fn options() -> SyncOptions {
    SyncOptions { timeout: LockTimeout::default(), ..SyncOptions::default() }
}

/// Lines of a session; every other one is the model's.
pub(crate) fn lines(session: &str, from: usize, texts: &[&str]) -> String {
    let line = |(place, text): (usize, &&str)| {
        let number = from + place;
        let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
        let content = if role == "user" { json!(text) } else { json!([{"type": "text", "text": text}]) };
        let line = json!({
            "type": role, "uuid": format!("{session}-{number}"), "sessionId": session,
            "timestamp": format!("2026-11-{:02}T10:{:02}:00Z", 1 + number % 27, number % 60),
            "parentUuid": (number > 0).then(|| format!("{session}-{}", number - 1)),
            "message": {"role": role, "content": content},
        });
        format!("{line}\n")
    };
    texts.iter().enumerate().map(line).collect()
}

/// The ranking of a scan of the copies.
pub(crate) fn scan(
    archive: &Archive,
    query: &str,
    filter: &SearchFilter,
) -> Vec<longhaul_recall::RankedPassage> {
    let mut search = Search::asked_at(query, now());
    for session in archive.sessions() {
        observe(archive, session, &session.source.session, &mut search);
    }
    search.ranking(filter)
}

/// Scans the copy of a session under a name.
pub(crate) fn observe(archive: &Archive, session: &ArchivedSession, name: &str, search: &mut Search) {
    let mut seen = SeenParts::default();
    let name = SessionRef::new(name);
    read(archive.text(session), &mut |event| {
        if let Event::Change(change) = event
            && let Some(message) = seen.new_parts(&change)
        {
            search.observe(&name, &message);
        }
    })
    .expect("a session");
}

pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-11-18T20:00:00Z").expect("a time")
}

pub(crate) fn sentence() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => prop::sample::select(vec![
            "ring", "rings", "buffer", "parseConfig", "parse_config", "config", "src/store/list.rs", "store/list.rs",
            "設定ファイル", "設定", "why?", "failed", "failing", "m3", "v1.2.3", "the", "is", "=ring", "_", "\"",
        ]).prop_map(str::to_owned),
        1 => "[a-zÀ-ÿ0-9_./-]{1,12}",
    ];
    prop::collection::vec(word, 1..12).prop_map(|words| words.join(" "))
}
