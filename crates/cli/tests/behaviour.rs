//! Holds what the program says about real sessions while its inside is rebuilt: a hash of each answer, session by session.
//!
//! `LONGHAUL_UPDATE_HASHES=1 cargo test -p longhaul --test behaviour` takes new hashes over; a commit that does so says why.
//! This test goes when the rebuilding is finished.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

const HASHES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/behaviour.txt");
const FORMATS: [&str; 6] = ["gemini", "openai", "anthropic", "neutral", "gemini-jsonl", "claude-code"];

/// The standard output of one command on one session, run where relative paths are the same on every machine.
fn answer(corpus: &Path, home: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
    command.args(arguments).current_dir(corpus).stdin(Stdio::null()).env_clear().env("HOME", home);
    let output = command.output().expect("the program starts");
    let mut answer = output.stdout;
    answer.extend_from_slice(format!("exit {:?}", output.status.code()).as_bytes());
    answer
}

fn hash(bytes: &[u8]) -> String {
    // FNV-1a, twice: enough to notice a difference, and no dependency for a test that will go.
    let fnv = |seed: u64| {
        bytes.iter().fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
    };
    format!("{:08x}", (fnv(0xcbf2_9ce4_8422_2325) ^ fnv(0x6c62_272e_07bb_0142).rotate_left(17)) >> 32)
}

/// A report without its timing, and what it kept by itself: the words of a report may be rewritten, what is kept may not.
fn of_compress(bytes: &[u8]) -> (String, String) {
    let end = bytes.windows(5).rposition(|window| window == b"exit ").expect("the exit code was added");
    let Ok(mut report) = serde_json::from_slice::<Value>(&bytes[..end]) else {
        return (hash(bytes), hash(bytes));
    };
    if let Some(Value::Object(inner)) = report.get_mut("report") {
        inner.remove("milliseconds");
    }
    let kept: Vec<String> = ["status", "snapshot", "contents", "coverage", "split_index"]
        .iter()
        .map(|key| report.get(*key).map_or(String::new(), Value::to_string))
        .collect();
    (hash(report.to_string().as_bytes()), hash(kept.join("\n").as_bytes()))
}

fn line_of(corpus: &Path, home: &Path, session: &str) -> String {
    let mut line = session.to_owned();
    write!(line, " inspect={}", hash(&answer(corpus, home, &["inspect", "--json", session]))).unwrap();
    for budget in ["1000", "4000"] {
        let bytes =
            answer(corpus, home, &["compress", "--force", "--json", "--snapshot-budget", budget, session]);
        let (whole, kept) = of_compress(&bytes);
        write!(line, " compress-{budget}={whole} kept-{budget}={kept}").unwrap();
    }
    for format in FORMATS {
        let bytes = answer(corpus, home, &["sessions", "export", "--format", format, "-o", "-", session]);
        write!(line, " {format}={}", hash(&bytes)).unwrap();
    }
    line
}

#[test]
fn real_sessions_give_the_same_answers() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let home = tempfile::tempdir().expect("a temporary home");
    let sessions: Vec<PathBuf> = ["sessions", "parser-only"]
        .iter()
        .flat_map(|folder| longhaul_testkit::files_below(&corpus.join(folder)))
        .collect();
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(session) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name =
                        session.strip_prefix(&corpus).expect("it is below").to_str().expect("a plain name");
                    lines.lock().unwrap().push(line_of(&corpus, home.path(), name));
                }
            });
        }
    });
    let mut lines = lines.into_inner().unwrap();
    lines.sort();
    let found = lines.join("\n") + "\n";
    if std::env::var_os("LONGHAUL_UPDATE_HASHES").is_some() {
        std::fs::write(HASHES, &found).expect("the hashes are written");
        return;
    }
    let known = std::fs::read_to_string(HASHES).expect("the hashes are there");
    let mut differences = String::new();
    for (known, found) in known.lines().zip(found.lines()) {
        let session = found.split(' ').next().unwrap_or_default();
        for (known, found) in known.split(' ').zip(found.split(' ')).filter(|(known, found)| known != found) {
            writeln!(differences, "{session}: {known} became {found}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(known.lines().count(), found.lines().count(), "sessions came or went");
}
