//! Skills and what waits in the inboxes, by keys and by words.

use std::path::PathBuf;

use longhaul_testkit::fake_provider::gemini;
use serde_json::json;

use crate::support::{Sandbox, Terminal, call};

const TIDES: &str = "---\nname: tides\ndescription: Reads tables of tides.\n---\nOpen the table.\n";

fn skill(name: &str) -> String {
    TIDES.replace("tides", name)
}

/// The folder that is kept of the project, as soon as a session was begun.
fn project(sandbox: &Sandbox) -> String {
    let files = longhaul_testkit::files_below(&sandbox.path("home/tmp"));
    let root = files.iter().find(|file| file.ends_with(".project_root")).expect("a project");
    let inside = root.strip_prefix(sandbox.path("")).expect("it is below");
    inside.parent().map(PathBuf::from).expect("a folder").display().to_string()
}

/// A skill that waits.
fn wait_with(sandbox: &Sandbox, name: &str) {
    sandbox.write(&format!("{}/memory/skills/{name}/SKILL.md", project(sandbox)), &skill(name));
    let seen = json!({"session": "s1", "marks": ["m2", "m3"]});
    let evidence = json!({"at": "2026-01-02T03:04:05.000Z", "evidence": [{"kind": "procedure", "title": "a → b", "seen": [seen]}]});
    sandbox.write(&format!("{}/memory/.inbox/evidence/{name}.json", project(sandbox)), &evidence.to_string());
}

/// A fact that waits for private memory.
fn wait_with_fact(sandbox: &Sandbox, fact: &str) -> PathBuf {
    let folder = sandbox.path(&project(sandbox)).join("memory");
    std::fs::create_dir_all(&folder).expect("made");
    let memory = folder.canonicalize().expect("it is there").join("MEMORY.md");
    let patch = format!("--- /dev/null\n+++ {}\n@@ -0,0 +1,2 @@\n+# Memory\n+- {fact}\n", memory.display());
    sandbox.write(&format!("{}/memory/.inbox/private/extraction.patch", project(sandbox)), &patch);
    memory
}

fn begin(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.start_with(100, 40, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("ask, or");
    terminal
}

#[test]
fn skills_are_listed_switched_and_used() {
    let sandbox = Sandbox::new(["One.", "Two.", "Three."].map(gemini::text));
    sandbox.write("home/skills/tides/SKILL.md", TIDES);
    let mut terminal = begin(&sandbox);
    terminal.enter("/skills").wait_for("Reads tables of tides. (a user skill)");
    terminal.enter("/skills show tides").wait_for("Open the table.");
    terminal
        .enter("/skills disable tides")
        .wait_for("tides is now disabled")
        .enter("First.")
        .wait_for("One.");
    assert!(!sandbox.last_request().contains("Reads tables of tides."), "it is not offered any more");
    terminal.wait_for("ask, or").enter("/tides").wait_for("Unknown command: /tides");
    sandbox.write("home/skills/waves/SKILL.md", &skill("waves"));
    terminal.enter("/skills enable tides").wait_for("tides is now enabled");
    terminal
        .enter("/skills reload")
        .wait_for("2 skills active")
        .send("/wav")
        .wait_for("▸ /waves  Reads tables of waves.");
    terminal
        .send("\t")
        .wait_for("❯ /waves")
        .enter("of today")
        .wait_for("Activated skill waves.")
        .wait_for("Two.");
    let request = sandbox.last_request();
    for part in ["of today", "<activated_skill name=\\\"waves\\\">", "tables of tides.", "tables of waves."] {
        assert!(request.contains(part), "{part}: {request}");
    }
    terminal.wait_for("ask, or").enter("/skills show nobody").wait_for("No skill named");
    terminal.enter("/skills").wait_for("active)");
    // Another conversation follows nothing.
    terminal.enter("/clear").wait_for("Conversation cleared").enter("/context").wait_for("If compacted now");
    terminal.enter("Third.").wait_for("Three.");
    assert!(!sandbox.last_request().contains("<activated_skill name"), "{}", sandbox.last_request());
}

#[test]
fn a_waiting_skill_is_settled_by_keys() {
    let sandbox = Sandbox::new(["One.", "Two."].map(gemini::text));
    let mut terminal = begin(&sandbox);
    terminal.enter("/skills inbox").wait_for("The inbox is empty.");
    wait_with(&sandbox, "release");
    terminal.enter("/skills inbox").wait_for("▸ release  new skill, 2026-01-02").send("\r");
    terminal.wait_for("Open the table.").wait_for("procedure: a → b").wait_for("session s1, m2, m3");
    terminal.wait_for("a for all of yours").send("a");
    terminal.wait_for("release is active").wait_for("The inbox is empty");
    terminal.send("u").wait_for("release is pending again").wait_for("▸ release");
    assert!(!sandbox.path("home/skills/release").exists());
    terminal.send("p").wait_for("release is active").wait_for(".gemini/skills/release").send("\x1b");
    terminal.wait_for("ask, or").enter("Hello.").wait_for("One.");
    assert!(sandbox.last_request().contains("Reads tables of release."), "the model knows of it");
    terminal.wait_for("ask, or").send("/rel").wait_for("▸ /release").send("\x15");
    wait_with(&sandbox, "other");
    terminal
        .wait_for("ask, or")
        .enter("/skills inbox")
        .wait_for("▸ other")
        .wait_for("d to dismiss")
        .send("d")
        .wait_for("for good?")
        .send("n");
    terminal
        .wait_for("d to dismiss")
        .send("d")
        .wait_for("for good?")
        .send("d")
        .wait_for("Dismissed other")
        .wait_for("The inbox is empty")
        .send("\x1b");
    terminal.wait_for("ask, or");
    assert!(!sandbox.path(&format!("{}/memory/skills/other", project(&sandbox))).exists());
}

#[test]
fn what_cannot_be_accepted_goes_on_waiting() {
    let sandbox = Sandbox::new([]).without("GEMINI_CLI_TRUST_WORKSPACE").set("EDITOR", "false");
    sandbox.write("home/skills/tides/SKILL.md", TIDES);
    let mut terminal = sandbox.start_with(40, 24, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("ask, or");
    wait_with(&sandbox, "tides");
    terminal
        .enter("/skills inbox")
        .wait_for("p to accept")
        .send("p")
        .wait_for("is not trusted")
        .wait_for("▸ tides");
    terminal.send("a").wait_for("already exists").wait_for("▸ tides");
    terminal.send("e").wait_for("false failed").wait_for("▸ tides").send("\x1b").wait_for("ask, or");
    assert_eq!(std::fs::read_to_string(sandbox.path("home/skills/tides/SKILL.md")).expect("it stays"), TIDES);
    assert!(!sandbox.path("work/.gemini/skills").exists());
}

#[test]
fn a_waiting_skill_is_edited_first() {
    let sandbox = Sandbox::new([]).set("EDITOR", "sed -i s/Open/Unfold/");
    let mut terminal = begin(&sandbox);
    wait_with(&sandbox, "release");
    terminal.enter("/skills inbox").wait_for("e to edit first").send("e").wait_for("release is active");
    let text =
        std::fs::read_to_string(sandbox.path("work/.gemini/skills/release/SKILL.md")).expect("it is there");
    assert!(text.contains("Unfold the table."), "{text}");
}

#[test]
fn a_waiting_fact_is_settled_by_keys() {
    let sandbox = Sandbox::new(["One.", "Two."].map(gemini::text)).set("EDITOR", "sed -i s/pnpm/yarn/");
    let mut terminal = begin(&sandbox);
    let memory = wait_with_fact(&sandbox, "Use pnpm here.");
    terminal
        .enter("/memory inbox")
        .wait_for("▸ private  for you, in this project")
        .send("\r")
        .wait_for("+- Use pnpm here.");
    terminal
        .wait_for("a to apply")
        .send("a")
        .wait_for("Updated memory:")
        .send("\x1b")
        .wait_for("ask, or")
        .wait_for("1 memory file");
    terminal.enter("Hello.").wait_for("One.");
    assert!(sandbox.last_request().contains("Use pnpm here."), "it counts at once");
    terminal.wait_for("ask, or").enter("/memory inbox undo").wait_for("is pending again");
    assert!(!memory.exists());
    terminal
        .enter("/memory inbox")
        .wait_for("e to edit first")
        .send("e")
        .wait_for("The inbox is empty")
        .send("\x1b");
    assert_eq!(std::fs::read_to_string(&memory).expect("it is there"), "# Memory\n- Use yarn here.\n");
    std::fs::write(&memory, "mine\n").expect("written");
    terminal.wait_for("ask, or").enter("/memory inbox undo").wait_for("Could not undo");
    terminal.enter("/memory").wait_for("Memory: 1 file");
}

#[test]
fn without_a_screen_it_is_done_by_words() {
    let sandbox = Sandbox::new([]).set("TERM", "dumb");
    let mut terminal = sandbox.start_with(100, 60, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("> ");
    // The project is there as soon as the session is.
    while !sandbox.path("home/tmp").is_dir()
        || longhaul_testkit::files_below(&sandbox.path("home/tmp")).is_empty()
    {
        std::thread::yield_now();
    }
    wait_with(&sandbox, "release");
    terminal.enter("/skills inbox").wait_for("release (new skill, 2026-01-02").wait_for("accept NAME");
    terminal.enter("/skills inbox show release").wait_for("procedure: a → b");
    terminal.enter("/skills inbox accept release").wait_for("release is active");
    terminal.enter("/skills inbox undo").wait_for("release is pending again");
    terminal.enter("/skills inbox dismiss nobody").wait_for("Nothing named");
    terminal.enter("/skills inbox dismiss release").wait_for("Dismissed release");
    terminal.enter("/skills inbox").wait_for("The inbox is empty.");
}

/// A text that is worth compacting.
fn long(topic: &str) -> String {
    (0..400).map(|number| format!("The {topic} has step {number} in src/{topic}_{number}.rs. ")).collect()
}

#[test]
fn what_instructs_the_model_is_known_after_a_compaction() {
    let sandbox = Sandbox::new([
        gemini::text("Read."),
        call("read_file", &json!({"file_path": "sub/x.txt"})),
        gemini::text(&long("parser")),
        gemini::text(&long("lexer")),
    ]);
    sandbox.write("home/skills/tides/SKILL.md", TIDES);
    sandbox.write("work/GEMINI.md", "Use tabs.\n");
    sandbox.write("work/sub/GEMINI.md", "No tests here.\n");
    sandbox.write("work/sub/x.txt", "text\n");
    let mut terminal = sandbox.start_with(100, 70, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("1 memory file").enter("/tides").wait_for("Read.").wait_for("ask, or");
    terminal.enter("Look at sub.").wait_for("parser has step 39").wait_for("ask, or");
    terminal.enter("And the lexer?").wait_for("lexer has step 39").wait_for("ask, or");
    let rows = |terminal: &Terminal| -> Vec<String> {
        let states = ["present", "re-injected", "lost"];
        let rows =
            terminal.rows().into_iter().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "));
        rows.filter(|row| states.iter().any(|state| row.starts_with(state))).collect()
    };
    terminal.enter("/context").wait_for("If compacted now").wait_for("tides · skill");
    let before = rows(&terminal);
    assert!(before.len() == 3 && before.iter().all(|row| row.starts_with("present")), "{before:?}");
    terminal.enter("/compress").wait_for("Compacted ").wait_for("ask, or");
    terminal.enter("/context").wait_until("all of it", |screen| screen.matches("tides · skill").count() == 2);
    let after = rows(&terminal);
    let after = &after[after.len() - 3..];
    assert!(after[0].starts_with("present") && after[0].contains("work/GEMINI.md"), "{after:?}");
    assert!(after[1].starts_with("re-injected") && after[1].contains("sub/GEMINI.md"), "{after:?}");
}
