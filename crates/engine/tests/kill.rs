//! A writer is killed at many moments: whatever it said it had done is there, and what it left can be opened and undone.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use longhaul_compaction::{PlanOptions, Trigger};
use longhaul_conversation::Estimator;
use longhaul_conversation::{Message, Part, Role, Timestamp, TokenCount, ToolCall, ToolResult, find_faults};
use longhaul_engine::{CompactionDeps, Conversation, Folder, Offline, RecordId, Settings};
use longhaul_formats::{RewriteState, response_id};
use longhaul_sessions::{NewSession, SessionKind};
use tokio_util::sync::CancellationToken;

/// Names the folder that the writer is to work in. Without it, the writer is no writer.
const FOLDER: &str = "LONGHAUL_KILL_FOLDER";
/// So many times a writer is killed; `LONGHAUL_KILLS` says otherwise.
const KILLS: u64 = 60;

const RULE: &str = "Never push to main.";

fn new_session() -> NewSession {
    NewSession {
        id: "01234567-killed".into(),
        project_hash: "hash".into(),
        kind: SessionKind::Main,
        directories: Vec::new(),
        at: Timestamp::from_millis(1_000),
    }
}

/// The messages of one round: a wish, a call and its answer.
fn round(nth: usize) -> [Message; 3] {
    let call = ToolCall::new(format!("call-{nth}"), "read_file");
    let output = format!("let value_{nth} = parse_config({nth});\n").repeat(60);
    let asking = format!("model-{nth}");
    let wish = if nth == 0 { format!("{RULE} Read part 0.") } else { format!("Read part {nth}.") };
    [
        Message::new(format!("user-{nth}"), Role::User, vec![Part::user_text(wish)]),
        Message::new(asking.as_str(), Role::Model, vec![Part::call(call)]),
        Message::new(
            response_id(&asking.as_str().into()),
            Role::User,
            vec![Part::result(ToolResult::text(format!("call-{nth}"), output))],
        ),
    ]
}

/// Not a test of its own: what the killed process does. It tells each act as soon as it is done.
#[test]
fn writer() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut out = std::io::stdout();
    let mut tell = |word: String| {
        writeln!(out, "did {word}").and_then(|()| out.flush()).expect("somebody listens");
    };
    let mut conversation =
        Conversation::create(&folder, &new_session(), Estimator::default()).expect("a session");
    let files = Folder::new(folder.join("files"));
    let deps = CompactionDeps {
        summariser: &Offline,
        files: &files,
        counter: None,
        pre_compress: None,
        events: &|_| {},
        clock: &|| Duration::ZERO,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (settings, cancel) = (Settings::default(), CancellationToken::new());
    let options = PlanOptions { trigger: Trigger::Forced, ..PlanOptions::new(TokenCount(8_000)) };
    for nth in 0.. {
        for message in round(nth) {
            conversation.append(&message).expect("it can be written");
            tell(format!("append {}", message.id));
        }
        if nth % 6 == 5 {
            let stamp = RecordId { id: format!("compaction-{nth}"), at: Timestamp::from_millis(2_000) };
            let pass = conversation.compact(&options, &settings, &deps, stamp, &cancel);
            let outcome = runtime.block_on(pass).expect("it can be recorded");
            assert!(outcome.result.status.is_change(), "{}", outcome.result.reason);
            tell(format!("compact compaction-{nth}"));
        }
    }
}

/// Starts a writer, kills it once it has told of `acts` acts, and gives back all it told.
fn killed_after(acts: usize, folder: &Path) -> Vec<String> {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["--exact", "writer", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut told = Vec::new();
    while told.len() < acts {
        let line = lines.next().expect("it goes on until it is killed").expect("a line");
        told.extend(line.split_once("did ").map(|(_, act)| act.to_string()));
    }
    child.kill().expect("it runs");
    // What was told before it died counts as well.
    let rest = lines.map_while(Result::ok);
    told.extend(rest.filter_map(|line| line.split_once("did ").map(|(_, act)| act.to_string())));
    child.wait().expect("it is dead");
    told
}

fn check(seed: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    // Anywhere in the first three compactions.
    let acts = 1 + (seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed) >> 33) % 57;
    let told = killed_after(acts as usize, folder.path());
    let logs = longhaul_testkit::files_below(folder.path());
    let path = logs.iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).expect("a log");
    let mut opened = Conversation::open(path, &new_session(), Estimator::default()).expect("it opens");
    let messages = opened.log().replay().messages();
    let (mut appended, mut compacted) = (0, 0);
    for act in &told {
        match act.split_once(' ') {
            Some(("append", id)) => {
                let message = &messages[appended];
                assert_eq!(message.id.as_str(), id, "after {acts} acts");
                let expected = &round(appended / 3)[appended % 3];
                assert_eq!(message.parts, expected.parts);
                appended += 1;
            }
            _ => compacted += 1,
        }
    }
    assert!(messages.len() <= appended + 1, "at most the act that was under way");
    let active =
        opened.log().replay().rewrites().iter().filter(|one| one.state == RewriteState::Active).count();
    assert!((compacted..=compacted + 1).contains(&active), "{active} of {compacted}");
    let said: Vec<Message> = messages.to_vec();
    let shown = opened.transcript().messages();
    assert!(shown.iter().flat_map(|m| &m.parts).filter_map(Part::as_text).any(|text| text.contains(RULE)));
    for undone in 0..active {
        let id = opened.undo(None, Timestamp::from_millis(3_000), &|_| {}).expect("undo still works");
        assert!(id.starts_with("compaction-"), "{undone}: {id}");
    }
    assert_eq!(opened.transcript().messages(), said, "everything is there again");
    opened.append(&Message::new("last", Role::User, vec![Part::user_text("Go on.")])).expect("it goes on");
    let open_calls = find_faults(opened.transcript().messages()).len();
    assert!(open_calls <= 1, "at most the call that was under way");
}

#[test]
fn a_killed_writer_loses_at_most_what_it_was_writing() {
    let kills = std::env::var("LONGHAUL_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    (1..=kills).for_each(check);
}
