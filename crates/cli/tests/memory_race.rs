//! Many processes save a fact each into one file, at once, and some are killed: what was acknowledged is there.

mod sandbox;

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use sandbox::Sandbox;

const PROCESSES: usize = 50;

fn start(sandbox: &Sandbox, number: usize) -> Child {
    Command::new(env!("CARGO_BIN_EXE_longhaul"))
        .args(["memory", "add", "--scope", "global", &format!("Fact number {number} of the race")])
        .current_dir(sandbox.path(""))
        .env("LONGHAUL_HOME", sandbox.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs")
}

/// Numbers that look like chance, and are the same every time.
fn chance(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn every_acknowledged_fact_is_there_and_the_file_is_never_torn() {
    let sandbox = Sandbox::new().with("home/GEMINI.md", "# Mine\r\n\r\nBe brief.\r\n");
    let mut state = 7;
    let mut children: Vec<(usize, Child)> =
        (0..PROCESSES).map(|number| (number, start(&sandbox, number))).collect();
    // Readers never see half a file.
    let mut killed = 0;
    while killed < PROCESSES / 3 {
        thread::sleep(Duration::from_millis(chance(&mut state) % 60));
        check_whole(&fs::read_to_string(sandbox.path("home/GEMINI.md")).expect("readable"));
        let victim = usize::try_from(chance(&mut state)).expect("small") % children.len();
        children[victim].1.kill().expect("it may have ended already");
        killed += 1;
    }
    let acknowledged: Vec<usize> = children
        .into_iter()
        .filter_map(|(number, mut child)| {
            let mut said = String::new();
            child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
            child.wait().expect("it ends");
            said.contains("Okay, I've remembered that").then_some(number)
        })
        .collect();
    let text = fs::read_to_string(sandbox.path("home/GEMINI.md")).expect("readable");
    check_whole(&text);
    for number in &acknowledged {
        let count = text.matches(&format!("- Fact number {number} of the race <!-- saved ")).count();
        assert_eq!(count, 1, "fact {number} in {text}");
    }
    assert!(acknowledged.len() >= PROCESSES / 2, "only {} were acknowledged", acknowledged.len());
}

/// Whether a file is one that somebody wrote as a whole.
#[track_caller]
fn check_whole(text: &str) {
    assert!(text.starts_with("# Mine\r\n\r\nBe brief.\r\n") && text.ends_with("\r\n"), "{text:?}");
    let facts = text.lines().filter(|line| line.starts_with("- "));
    for fact in facts {
        assert!(fact.starts_with("- Fact number ") && fact.ends_with(" -->"), "{fact:?}");
    }
    assert!(text.matches("## Gemini Added Memories").count() <= 1);
}
