//! The archive as a whole: copies that survive everything, an index that can be thrown away, and the hits of a scan.

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use longhaul_archive::{
    Archive, ArchiveError, DocumentSource, Question, Redaction, Retention, Source, SyncOptions,
};
use longhaul_conversation::Timestamp;
use longhaul_recall::{Search, SearchFilter};
use proptest::prelude::*;
use support::place::{Place, lines, now, observe, options, scan, sentence};

fn found(archive: &mut Archive, query: &str) -> Vec<String> {
    let question = Question::new(query, Timestamp::from_millis(0));
    let hits = archive.recall(&question, 20).expect("the search ends");
    hits.iter()
        .filter(|hit| !hit.excerpt.matches.is_empty())
        .map(|hit| format!("{} {}", hit.session, hit.excerpt.text.lines().next().unwrap_or_default()))
        .collect()
}

fn copy_of(archive: &Archive, name: &str) -> String {
    let session = archive.find(name).expect("the session");
    let mut text = String::new();
    archive.text(session).read_to_string(&mut text).expect("the copy is whole");
    text
}

/// True if a text stands in any file below a folder.
fn is_below(folder: &Path, text: &[u8]) -> bool {
    fs::read_dir(folder).expect("a folder").any(|entry| {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            return is_below(&path, text);
        }
        let bytes = fs::read(&path).expect("a file");
        let plain = path
            .extension()
            .filter(|ending| *ending == "lz4")
            .map(|_| lz4_flex::decompress_size_prepended(&bytes).expect("a block"));
        plain.unwrap_or(bytes).windows(text.len()).any(|window| window == text)
    })
}

#[test]
fn what_an_agent_deletes_stays_readable() {
    let place = Place::new();
    place.write("one", &["Use a ring buffer of 4096 entries.", "Done."]);
    let mut archive = place.archive();
    assert_eq!(place.sync(&mut archive).0, 1);
    fs::remove_file(place.source("one").path).expect("the agent deletes it");
    assert_eq!(place.sync(&mut archive), (0, 0));
    assert_eq!(found(&mut archive, "ring buffer"), ["one Use a ring buffer of 4096 entries."]);
    assert_eq!(copy_of(&archive, "one"), lines("one", 0, &["Use a ring buffer of 4096 entries.", "Done."]));
    let status = archive.status().expect("a status");
    assert_eq!((status.sessions, status.only_here, status.unindexed), (1, 1, 0));
    let restored = archive.restore(archive.find("one").expect("it")).expect("a file");
    assert_eq!(fs::read_to_string(restored).expect("its text").lines().count(), 2);
}

#[test]
fn only_what_is_new_is_copied() {
    let place = Place::new();
    place.write("one", &["first words", "second words"]);
    place.write("two", &["other words"]);
    let mut archive = place.archive();
    assert_eq!(place.sync(&mut archive).0, 2);
    assert_eq!(place.sync(&mut archive), (0, 0));
    let more = lines("one", 2, &["third zebra"]);
    place.append("one", &more);
    assert_eq!(place.sync(&mut archive), (1, more.len() as u64));
    assert_eq!(found(&mut archive, "zebra"), ["one third zebra"]);
    // A torn line waits for its end.
    let (start, end) = more.split_at(30);
    place.append("one", start);
    assert_eq!(place.sync(&mut archive).1, 0);
    place.append("one", end);
    assert_eq!(place.sync(&mut archive).1, more.len() as u64);
    assert_eq!(copy_of(&archive, "one").lines().count(), 4);
    // Another process sees the same.
    assert_eq!(place.sync(&mut place.archive()), (0, 0));
}

#[test]
fn a_file_written_anew_keeps_what_was_there() {
    let place = Place::new();
    place.write("one", &["the walrus plan"]);
    let mut archive = place.archive();
    place.sync(&mut archive);
    let source = place.source("one").path;
    let other = source.with_extension("new");
    fs::write(&other, lines("one", 0, &["the otter plan", "yes"])).expect("it is written");
    fs::rename(&other, &source).expect("it takes the place");
    place.sync(&mut archive);
    assert_eq!(found(&mut archive, "walrus").len(), 1);
    assert_eq!(found(&mut archive, "otter").len(), 1);
    assert_eq!(archive.sessions().len(), 2);
    assert_eq!(place.sync(&mut archive), (0, 0));
}

#[test]
fn secrets_are_not_copied() {
    let place = Place::new();
    let token = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    place.write("one", &[&format!("deploy with GH={token} please")]);
    let mut archive = place.archive();
    let report = archive.sync(&place.sources(), &options()).expect("a sync");
    assert_eq!(report.redacted.values().sum::<u64>(), 1);
    assert!(!is_below(&place.archive_folder(), token.as_bytes()));
    assert_eq!(found(&mut archive, "deploy").len(), 1);
    let exact = Place::new();
    exact.write("one", &[&token]);
    let all = SyncOptions { redaction: Redaction::Off, ..options() };
    exact.archive().sync(&exact.sources(), &all).expect("a sync");
    assert!(is_below(&exact.archive_folder(), token.as_bytes()));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    fn check(path: &Path) {
        let mode = fs::metadata(path).expect("a file").permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{}", path.display());
        if path.is_dir() {
            fs::read_dir(path).expect("a folder").for_each(|entry| check(&entry.expect("an entry").path()));
        }
    }
    let place = Place::new();
    place.write("one", &["words"]);
    let mut archive = place.archive();
    place.sync(&mut archive);
    archive.restore(archive.find("one").expect("it")).expect("a file");
    check(&place.archive_folder());
}

#[test]
fn a_damaged_index_is_set_aside_and_made_anew() {
    let place = Place::new();
    place.write("one", &["the walrus plan"]);
    let mut archive = place.archive();
    place.sync(&mut archive);
    drop(archive);
    let index = place.archive_folder().join("index.db");
    fs::write(&index, "garbage ".repeat(4_000)).expect("it is overwritten");
    let mut archive = place.archive();
    let report = archive.sync(&place.sources(), &options()).expect("a sync");
    assert!(report.damaged.is_some_and(|aside| aside.exists()));
    assert_eq!((report.copied, report.indexed), (0, 1));
    assert_eq!(found(&mut archive, "walrus").len(), 1);
    assert_eq!(archive.rebuild().expect("made anew"), 1);
    assert_eq!(found(&mut archive, "walrus").len(), 1);
}

#[test]
fn a_torn_log_loses_only_its_last_line() {
    let place = Place::new();
    place.write("one", &["the walrus plan"]);
    place.sync(&mut place.archive());
    let log = place.archive_folder().join("sources.jsonl");
    let whole = fs::read(&log).expect("the log");
    for length in 0..=whole.len() {
        fs::write(&log, &whole[..length]).expect("the log is cut");
        let mut archive = place.archive();
        place.sync(&mut archive);
        assert_eq!(copy_of(&archive, "one"), lines("one", 0, &["the walrus plan"]), "cut at {length}");
    }
}

#[test]
fn deleted_means_gone() {
    let place = Place::new();
    place.write("one", &["the walrus plan"]);
    place.write("two", &["the otter plan"]);
    let mut archive = place.archive();
    place.sync(&mut archive);
    archive.restore(archive.find("one").expect("it")).expect("a file");
    assert!(matches!(archive.delete(&["none"]), Err(ArchiveError::Unknown(_))));
    assert!(archive.delete(&["one"]).expect("it is deleted") > 0);
    assert!(found(&mut archive, "walrus").is_empty());
    assert_eq!(found(&mut archive, "otter").len(), 1);
    // Not in free pages, in merged segments or in logs of the index either.
    assert!(!is_below(&place.archive_folder(), b"walrus"));
    drop(archive);
    assert!(!is_below(&place.archive_folder(), b"walrus"));
    assert!(is_below(&place.archive_folder().join("blocks"), b"otter"));
    assert!(!place.archive_folder().join("restored").exists());
    let now = Timestamp::parse("2096-01-01T00:00:00Z").expect("a time");
    let mut archive = place.archive();
    let retention = Retention { max_days: Some(30), ..Retention::default() };
    let other = Retention { agent: Some("codex".into()), ..retention.clone() };
    assert_eq!(archive.prune(&other, now).expect("pruned").0, 0);
    assert_eq!(archive.prune(&retention, now).expect("pruned").0, 1);
    assert!(found(&mut archive, "otter").is_empty());
}

#[test]
fn retention_is_by_age_size_and_project() {
    let place = Place::new();
    for name in ["one", "two", "three"] {
        place.write(name, &[&"words ".repeat(200)]);
    }
    let mut archive = place.archive();
    let mut sources = place.sources();
    for source in &mut sources {
        source.project = Some(if source.session == "two" { "/srv/shop" } else { "/srv/bank" }.into());
    }
    archive.sync(&sources, &options()).expect("a sync");
    let now = Timestamp::parse("2096-01-01T00:00:00Z").expect("a time");
    let names = |retention: &Retention| -> Vec<String> {
        archive.expired(retention, now).into_iter().map(|session| session.source.session).collect()
    };
    let shop = Retention { max_days: Some(1), project: Some("/srv/shop".into()), ..Retention::default() };
    assert_eq!(names(&shop), ["two"]);
    assert_eq!(names(&Retention { max_days: Some(40_000), ..shop.clone() }), [""; 0]);
    let bytes: u64 = archive.sessions().iter().map(|session| session.bytes()).sum();
    let room = |most: u64| Retention { max_bytes: Some(most), ..Retention::default() };
    assert_eq!(names(&room(bytes)).len(), 0);
    assert_eq!(names(&room(bytes - 1)).len(), 1);
    assert_eq!(names(&room(0)).len(), 3);
    assert_eq!(archive.prune(&shop, now).expect("pruned").0, 1);
    assert_eq!(archive.sessions().len(), 2);
}

/// A session of a database: the text is what the reader gives for it.
fn document(place: &Place, id: &str, version: u64) -> Source {
    let database = place.folder.path().join("agent.db");
    Source {
        agent: "opencode".into(),
        session: id.into(),
        project: Some("/srv/shop".into()),
        path: PathBuf::from(format!("{}#{id}", database.display())),
        document: Some(DocumentSource { database, version, changed: 1_795_032_584_015 }),
    }
}

/// Reads the file of a document beside its database.
fn read_document(source: &Source) -> std::io::Result<Vec<u8>> {
    let locked = source.path.parent().expect("a folder").join("locked");
    if locked.exists() {
        return Err(std::io::Error::new(std::io::ErrorKind::WouldBlock, "the database is locked"));
    }
    fs::read(source.path.with_file_name(format!("{}.json", source.session)))
}

#[test]
fn sessions_of_a_database_are_copied_when_they_change() {
    let place = Place::new();
    let export = |id: &str, texts: &[&str]| {
        let part =
            |text: &&str| serde_json::json!({"id": format!("prt_{text}"), "type": "text", "text": text});
        let document = serde_json::json!({
            "info": {"id": id, "title": "A cart", "directory": "/srv/shop", "time": {"created": 1_795_032_572_311_u64}},
            "messages": [{"info": {"id": "msg_1", "role": "user", "time": {"created": 1_795_032_572_311_u64}},
                "parts": texts.iter().map(part).collect::<Vec<_>>()}],
        });
        fs::write(place.folder.path().join(format!("{id}.json")), document.to_string()).expect("written");
    };
    fs::write(place.folder.path().join("agent.db"), "").expect("a database");
    export("ses_1", &["the walrus plan"]);
    export("ses_2", &["the otter plan"]);
    let mut archive = place.archive();
    let database = place.folder.path().join("agent.db");
    let how = SyncOptions { read_document, databases: vec![database.clone()], ..options() };
    let sync = |archive: &mut Archive, versions: [u64; 2]| {
        let sources = [document(&place, "ses_1", versions[0]), document(&place, "ses_2", versions[1])];
        let report = archive.sync(&sources, &how).expect("a sync");
        assert!(report.skipped.is_empty(), "{:?}", report.skipped);
        report.copied
    };
    assert_eq!(sync(&mut archive, [1, 1]), 2);
    assert_eq!(found(&mut archive, "walrus"), ["ses_1 the walrus plan"]);
    assert_eq!(sync(&mut archive, [1, 1]), 0);
    // Another version with the same text is noted, not copied.
    assert_eq!((sync(&mut archive, [2, 1]), sync(&mut archive, [2, 1])), (0, 0));
    export("ses_1", &["the seal plan", "and more"]);
    assert_eq!(sync(&mut archive, [3, 1]), 1);
    assert_eq!(found(&mut archive, "seal"), ["ses_1 the seal plan"]);
    assert!(found(&mut archive, "walrus").is_empty());
    assert!(!is_below(&place.archive_folder().join("blocks"), b"walrus"));
    assert!(!archive.find("ses_1").expect("it").is_deleted());
    // Another process sees the same.
    let mut archive = place.archive();
    assert_eq!(sync(&mut archive, [3, 1]), 0);
    let number = archive.find("ses_1").expect("it").number();
    let newer = [document(&place, "ses_1", 3), document(&place, "ses_1", 4)];
    assert_eq!(archive.current(&newer).expect("known"), [Some(number), None]);
    // A locked database is skipped and named once.
    fs::write(place.folder.path().join("locked"), "").expect("locked");
    let sources = [document(&place, "ses_1", 5), document(&place, "ses_2", 5)];
    let report = archive.sync(&sources, &how).expect("a sync");
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped[0].path, database);
    fs::remove_file(place.folder.path().join("locked")).expect("unlocked");
    // What the agent deletes in its database stays readable, and is told.
    let report = archive.sync(&sources[1..], &how).expect("a sync");
    assert!(report.skipped.is_empty());
    assert!(archive.find("ses_1").expect("it").is_deleted());
    assert_eq!(archive.status().expect("a status").only_here, 1);
    assert_eq!(found(&mut place.archive(), "seal"), ["ses_1 the seal plan"]);
    let restored = archive.restore(archive.find("ses_1").expect("it")).expect("a file");
    assert!(restored.extension().is_some_and(|ending| ending == "json"));
    fs::remove_file(database).expect("the database is deleted");
    assert_eq!(archive.status().expect("a status").only_here, 2);
}

/// A small disk, if this machine lets us make one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(folder).expect("a folder");
        let options = format!("size={size},mode=700");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder).output();
        match done {
            Ok(done) if done.status.success() => Some(Self(folder.to_path_buf())),
            _ => {
                eprintln!("skipped: no small disk (only root may mount one)");
                None
            }
        }
    }

    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        let done = Command::new("mount").args(["-o", &options]).arg(&self.0).status().expect("mount runs");
        assert!(done.success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_stops_a_sync_that_goes_on_later() {
    let place = Place::new();
    for number in 0..30 {
        // Text that does not get much shorter.
        let words: Vec<String> = (0..4_000_u64)
            .map(|word| format!("{:x}", (word + number * 4_000).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        place.write(&format!("s{number:02}"), &[&words.join(" "), "yes"]);
    }
    let Some(disk) = SmallDisk::mount(&place.archive_folder(), "1500k") else { return };
    let mut archive = place.archive();
    let stopped = archive.sync(&place.sources(), &options());
    let Err(ArchiveError::DiskFull { sources, bytes }) = stopped else { panic!("not stopped: {stopped:?}") };
    assert!(sources > 0 && bytes > 0);
    drop(archive);
    // What was said to be safe is whole, also for another process.
    let archive = place.archive();
    let whole = archive.sessions().into_iter().filter(|session| session.bytes() > 0).count();
    assert!(whole >= sources, "{whole} {sources}");
    for session in archive.sessions().into_iter().filter(|session| session.bytes() > 0) {
        let name = session.source.session.clone();
        assert_eq!(copy_of(&archive, &name), fs::read_to_string(place.source(&name).path).expect("the file"));
    }
    drop(archive);
    disk.grow("200m");
    let mut archive = place.archive();
    assert!(place.sync(&mut archive).0 >= 30 - whole);
    assert_eq!(archive.status().expect("a status").unindexed, 0);
    assert_eq!(archive.sessions().len(), 30);
    drop(archive);
}

#[test]
fn filters_choose_agents_and_projects() {
    let place = Place::new();
    place.write("one", &["the walrus plan"]);
    let mut archive = place.archive();
    place.sync(&mut archive);
    let ask = |agent: Option<&str>, project: Option<&str>| Question {
        agent: agent.map(str::to_owned),
        project: project.map(str::to_owned),
        ..Question::new("walrus", Timestamp::from_millis(0))
    };
    assert_eq!(archive.recall(&ask(Some("claude"), None), 5).expect("hits").len(), 1);
    assert_eq!(archive.recall(&ask(Some("codex"), None), 5).expect("hits").len(), 0);
    assert_eq!(archive.recall(&ask(None, Some("/elsewhere")), 5).expect("hits").len(), 0);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_named() {
    let place = Place::new();
    place.write("one", &["words"]);
    let mut sources = place.sources();
    // Root may read every file, but a link to itself cannot be opened by anyone.
    let circle = Source {
        path: place.folder.path().join("circle.jsonl"),
        session: "circle".into(),
        ..sources[0].clone()
    };
    std::os::unix::fs::symlink(&circle.path, &circle.path).expect("a link");
    sources.push(circle.clone());
    let report = place.archive().sync(&sources, &options()).expect("a sync");
    assert_eq!((report.copied, report.skipped.len()), (1, 1));
    assert_eq!(report.skipped[0].path, circle.path);
}

/// The sync of a process that is killed; does nothing unless it is that process.
#[test]
fn sync_until_killed() {
    let Ok(folder) = std::env::var("LONGHAUL_ARCHIVE_TEST") else { return };
    let folder = PathBuf::from(folder);
    let mut archive = Archive::open(&folder.join("archive")).expect("the archive opens");
    let source = |number: usize| Source {
        agent: "claude".into(),
        session: format!("s{number}"),
        project: None,
        path: folder.join(format!("sessions/s{number}.jsonl")),
        document: None,
    };
    let sources: Vec<Source> = (0..200).map(source).collect();
    archive.sync(&sources, &options()).expect("the sync ends");
}

#[test]
fn a_killed_sync_loses_nothing_and_goes_on() {
    let place = Place::new();
    for number in 0..200 {
        place.write(&format!("s{number}"), &[&format!("word{number} and more"), "yes"]);
    }
    let log = place.archive_folder().join("sources.jsonl");
    for wanted in [1, 20, 60] {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "sync_until_killed"])
            .env("LONGHAUL_ARCHIVE_TEST", place.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the child starts");
        let lines = || fs::read(&log).map_or(0, |log| log.iter().filter(|byte| **byte == b'\n').count());
        while lines() < wanted * 2 && child.try_wait().expect("the child").is_none() {
            std::thread::yield_now();
        }
        child.kill().expect("kill -9");
        child.wait().expect("it ends");
        // What the log names is whole.
        let archive = place.archive();
        for session in archive.sessions().into_iter().filter(|session| session.bytes() > 0) {
            let name = session.source.session.clone();
            assert_eq!(copy_of(&archive, &name).lines().count(), 2, "{name}");
        }
    }
    let mut archive = place.archive();
    place.sync(&mut archive);
    assert_eq!(archive.sessions().len(), 200);
    assert_eq!(archive.status().expect("a status").unindexed, 0);
    assert_eq!(found(&mut archive, "word7")[0], "s7 word7 and more");
}

#[test]
fn two_syncs_at_once_do_the_work_of_one() {
    let place = Place::new();
    for number in 0..40 {
        place.write(&format!("s{number}"), &[&format!("word{number} and more")]);
    }
    let copied: usize = std::thread::scope(|scope| {
        let one = scope.spawn(|| place.sync(&mut place.archive()).0);
        let two = scope.spawn(|| place.sync(&mut place.archive()).0);
        one.join().expect("one") + two.join().expect("two")
    });
    assert_eq!(copied, 40);
    let archive = place.archive();
    assert_eq!((archive.sessions().len(), archive.status().expect("a status").unindexed), (40, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn an_index_finds_what_a_scan_finds(
        sessions in prop::collection::vec(prop::collection::vec(sentence(), 1..14), 1..5),
        more in sentence(),
        queries in prop::collection::vec(sentence(), 1..6),
    ) {
        let place = Place::new();
        for (number, texts) in sessions.iter().enumerate() {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            place.write(&format!("s{number}"), &texts);
        }
        let mut archive = place.archive();
        place.sync(&mut archive);
        // An index that grew is the one that was made at once.
        place.append("s0", &lines("s0", sessions[0].len(), &[&more]));
        place.write("gone", &["ring buffer config 設定"]);
        place.sync(&mut archive);
        archive.delete(&["gone"]).expect("it is deleted");
        for query in queries.iter().map(String::as_str).chain(["m2", "config last week", "ring yesterday"]) {
            // Some sessions through the index and the others scanned are a scan of all of them, whatever else is indexed.
            let (mut indexed, mut rest) = (Vec::new(), Search::asked_at(query, now()));
            let mut all = Search::asked_at(query, now());
            for session in archive.sessions().into_iter().take(3) {
                let name = format!("renamed/{}", session.source.session);
                observe(&archive, session, &name, &mut all);
                match session.number() % 2 {
                    0 => observe(&archive, session, &name, &mut rest),
                    _ => indexed.push((session.number(), name)),
                }
            }
            let question = Question::new(query, now());
            let ranked = archive.ranking_of(&question, &indexed, Some(&rest)).expect("a ranking");
            prop_assert_eq!(&ranked, &all.ranking(&SearchFilter::default()), "{}", query);
            for filter in [
                SearchFilter::default(),
                SearchFilter { kinds: vec![longhaul_recall::Kind::Model], since: None },
            ] {
                let question = Question { filter: filter.clone(), ..Question::new(query, now()) };
                let indexed = archive.ranking(&question).expect("a ranking");
                prop_assert_eq!(&indexed, &scan(&archive, query, &filter), "{}", query);
            }
        }
    }
}
