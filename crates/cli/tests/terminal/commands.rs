//! Commands that begin with a slash.

use longhaul_testkit::fake_provider::{Step, gemini};
use serde_json::json;

use crate::support::{Sandbox, call};

/// A text that is worth compacting.
fn long(topic: &str) -> String {
    (0..400).map(|number| format!("The {topic} has step {number} in src/{topic}_{number}.rs. ")).collect()
}

#[test]
fn a_conversation_is_compacted_and_that_is_undone() {
    let sandbox =
        Sandbox::new([gemini::text(&long("parser")), gemini::text(&long("lexer")), gemini::text("Fine.")]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Never push to main. Look at the parser.").wait_for("step 399");
    terminal.wait_for("ask, or").enter("And the lexer?").wait_for("lexer_399").wait_for("ask, or");
    terminal.enter("/compress preview").wait_for("Nothing has changed");
    terminal.enter("/compress").wait_for("Compacted ").wait_for("1 rule kept").wait_for("names kept");
    terminal.wait_for("ask, or").enter("/compress undo").wait_for("Compaction undone");
    terminal.enter("/compress undo").wait_for("No compaction to undo");
    terminal.enter("Go on.").wait_for("Fine.");
    assert!(sandbox.last_request().contains("parser_0.rs"), "everything is there again");
}

#[test]
fn nothing_is_compacted_where_there_is_nothing() {
    let sandbox = Sandbox::new([]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("/compress").wait_for("Nothing to compact");
}

#[test]
fn what_fills_the_window_is_shown() {
    let sandbox = Sandbox::new([gemini::text(&long("parser"))]);
    sandbox.write("work/GEMINI.md", "Use tabs.\n");
    let mut terminal = sandbox.start_with(100, 60, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("1 memory file").enter("Always write tests. Look.").wait_for("step 399");
    terminal.wait_for("ask, or").enter("/context").wait_for("If compacted now").wait_for("GEMINI.md");
    terminal.wait_for("Largest messages").wait_for("1 rule");
    terminal.enter("/memory").wait_for("Use tabs.").enter("/memory list").wait_for("1 memory file in use");
    terminal.enter("/stats").wait_for("Session statistics").enter("/tools").wait_for("run_shell_command");
}

#[test]
fn a_fact_is_edited_in_the_users_editor() {
    let sandbox = Sandbox::new(["One.", "Two."].map(gemini::text)).set("EDITOR", "sed -i s/pnpm/yarn/");
    let mut terminal = sandbox.start();
    terminal
        .wait_for("ask, or")
        .enter("/memory add --scope global Use pnpm everywhere.")
        .wait_for("1 memory file");
    terminal.enter("/memory edit pnpm").wait_for("Changed \"Use pnpm");
    let memory = std::fs::read_to_string(sandbox.path("home/GEMINI.md")).expect("global memory");
    assert!(memory.contains("Use yarn everywhere.") && !memory.contains("pnpm"), "{memory}");
    terminal.wait_for("ask, or").enter("Hello.").wait_for("One.");
    assert!(sandbox.last_request().contains("Use yarn everywhere."), "it counts at once");
    terminal.wait_for("ask, or").enter("/memory edit nothing").wait_for("o fact matches");
}

#[test]
fn harmless_reading_runs_without_a_question_where_the_folder_is_trusted() {
    let replies = [
        call("run_shell_command", &serde_json::json!({"command": "cat notes.txt | head -3"})),
        gemini::text("Read."),
    ];
    let sandbox = Sandbox::new(replies);
    sandbox.write("work/notes.txt", "tides at noon\n");
    let mut terminal = sandbox.start_with(100, 40, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("ask, or").enter("What do the notes say?").wait_for("tides at noon").wait_for("Read.");
    terminal.wait_for("ask, or").enter("/quit").wait_for("Resume with: longhaul --resume ");
}

#[test]
fn pins_are_added_and_removed() {
    let sandbox = Sandbox::new([]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("/rules add Never touch vendor/.").wait_for("Added rule ");
    let text = terminal.text();
    let id: String = text.split("Added rule ").nth(1).expect("an id").chars().take(6).collect();
    terminal.enter("/rules").wait_for("1 active rule");
    terminal.enter(&format!("/rules remove {id}")).wait_for("Removed rule");
    terminal.enter("/rules remove zzz").wait_for("No rule has the ID zzz");
}

#[test]
fn an_unknown_command_suggests_the_nearest() {
    let sandbox = Sandbox::new([]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("/compresz").wait_for("Did you mean /compress?");
}

#[test]
fn an_earlier_session_goes_on() {
    let replies = ["A turtle.", "As I said.", "Again."];
    let sandbox = Sandbox::new(replies.map(gemini::text));
    let mut first = sandbox.start();
    first.wait_for("ask, or").enter("An animal?").wait_for("A turtle.").wait_for("ask, or").send("\x04");
    assert_eq!(first.end(), 0);
    let mut second = sandbox.start();
    second.wait_for("ask, or");
    second.enter("/resume").wait_for("Resume which session?").wait_for("▸ An animal?");
    second.send("\r").wait_for("Resumed: ").wait_for("A turtle.");
    second.wait_for("ask, or").enter("Which one?").wait_for("As I said.");
    assert!(sandbox.last_request().contains("An animal?"));
    second.wait_for("ask, or").enter("/rewind").wait_for("Rewind to before which").wait_for("▸ Which one?");
    second.send("\r").wait_for("Rewound to before").wait_for("❯ Which one?").send("\r").wait_for("Again.");
    assert!(!sandbox.last_request().contains("As I said."), "{}", sandbox.last_request());
}

#[test]
fn what_was_typed_is_there_in_the_next_session() {
    let sandbox = Sandbox::new([gemini::text("Yes.")]);
    let mut first = sandbox.start();
    first.wait_for("ask, or").enter("a rare question").wait_for("Yes.").wait_for("ask, or").send("\x04");
    first.end();
    let mut second = sandbox.start();
    second.wait_for("ask, or").send("\x12").wait_for("search:").send("rare").wait_for("a rare question");
    second.send("\r").wait_for("❯ a rare question");
}

#[test]
fn the_model_is_switched_and_the_conversation_cleared() {
    let sandbox = Sandbox::new([gemini::text("One."), gemini::text("Two.")]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("first words").wait_for("One.").wait_for("ask, or");
    terminal.enter("/model gemini-2.5-pro").wait_for("Switched to gemini-2.5-pro");
    terminal.enter("/model no-such-model-9").wait_for("✗");
    terminal.enter("/clear").wait_for("Conversation cleared");
    terminal.enter("second words").wait_for("Two.");
    assert!(!sandbox.last_request().contains("first words"));
}

/// The model that the latest request went to.
fn asked(sandbox: &Sandbox) -> String {
    let requests = sandbox.server.requests();
    let target = requests.last().expect("a request").target.clone();
    target.rsplit('/').next().and_then(|end| end.split(':').next()).unwrap_or_default().to_string()
}

#[test]
fn a_session_is_resumed_with_the_model_chosen_for_it() {
    let sandbox = Sandbox::new(["One.", "Two.", "Three.", "Four."].map(gemini::text));
    let settings =
        r#"{"model": {"name": "gemini-2.5-pro"}, "longhaul": {"compaction": {"summariser": "offline"}}}"#;
    sandbox.write("home/settings.json", settings);
    let mut first = sandbox.start_with(80, 30, &[]);
    first.wait_for("ask, or").enter("/model gemini-2.5-flash").wait_for("Switched to gemini-2.5-flash");
    first.enter("an animal").wait_for("One.").wait_for("ask, or").send("\x04");
    assert_eq!(first.end(), 0);
    assert_eq!(asked(&sandbox), "gemini-2.5-flash");
    let mut second = sandbox.start_with(80, 30, &["--resume"]);
    second.wait_for("ask, or").enter("another").wait_for("Two.").wait_for("ask, or");
    assert_eq!(asked(&sandbox), "gemini-2.5-flash");
    second.send("\x04").end();
    // What is named now goes before what was chosen then, and does not change it.
    let mut third = sandbox.start_with(80, 30, &["--resume", "-m", "gemini-2.5-flash-lite"]);
    third.wait_for("ask, or").enter("a third").wait_for("Three.").wait_for("ask, or").send("\x04").end();
    assert_eq!(asked(&sandbox), "gemini-2.5-flash-lite");
    // A new session follows the settings, and one that it changes to has its own model.
    let mut fourth = sandbox.start_with(80, 30, &[]);
    fourth.wait_for("gemini-2.5-pro").wait_for("ask, or").enter("/resume").wait_for("Resume which session?");
    fourth.send("\r").wait_for("Resumed: ").wait_for("ask, or").enter("a fourth").wait_for("Four.");
    assert_eq!(asked(&sandbox), "gemini-2.5-flash");
}

#[test]
fn a_session_whose_model_was_left_open_goes_on_so() {
    let routed = |tier: &str| gemini::text(&json!({"reasoning": "r", "model_choice": tier}).to_string());
    let replies =
        [routed("flash"), gemini::text("One."), routed("pro"), gemini::text("Two."), gemini::text("Three.")];
    let sandbox = Sandbox::new(replies);
    let mut first = sandbox.start_with(100, 30, &["-m", "gemini-2.5-flash"]);
    first
        .wait_for("ask, or")
        .enter("/model auto")
        .wait_for("Each prompt is answered by the model that suits it");
    first.enter("a colour").wait_for("One.").wait_for("ask, or").send("\x04").end();
    assert!(asked(&sandbox).contains("flash"), "{}", asked(&sandbox));
    let mut second = sandbox.start_with(100, 30, &["--resume"]);
    second.wait_for("ask, or").enter("a plan").wait_for("Two.").wait_for("ask, or");
    assert_eq!(sandbox.server.requests().len(), 4);
    assert!(asked(&sandbox).contains("pro"), "{}", asked(&sandbox));
    // A name ends the choice for each prompt.
    second.enter("/model gemini-2.5-flash").wait_for("Switched to gemini-2.5-flash");
    second.enter("an animal").wait_for("Three.");
    assert_eq!(asked(&sandbox), "gemini-2.5-flash");
}

#[test]
fn the_conversation_is_exported_and_nothing_overwritten() {
    let sandbox = Sandbox::new([gemini::text("An answer.")]);
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("a question").wait_for("An answer.").wait_for("ask, or");
    terminal.enter("/export talk.md").wait_for("Exported the conversation to");
    let text = std::fs::read_to_string(sandbox.path("work/talk.md")).expect("written");
    assert!(text.contains("## You\n\na question") && text.contains("## Model\n\nAn answer."), "{text}");
    terminal.enter("/export talk.md").wait_for("already exists");
}

#[test]
fn the_input_is_opened_in_an_editor() {
    let sandbox = Sandbox::new([gemini::text("Edited.")]).set("EDITOR", "sed -i s/draft/final/");
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").send("my draft").wait_for("my draft").send("\x07").wait_for("❯ my final");
    terminal.send("\r").wait_for("Edited.");
    assert!(sandbox.last_request().contains("my final"));
}

#[test]
fn settings_are_shown_changed_and_kept_with_their_comments() {
    let sandbox = Sandbox::new([]);
    let mine = "{\n  // snapshots\n  \"longhaul\": {\"compaction\": {\"summariser\": \"offline\"}}\n}\n";
    sandbox.write("home/settings.json", mine);
    sandbox.write("work/.gemini/settings.json", "{\"ui\": {\"hideWindowTitle\": true}}");
    let mut terminal = sandbox.start_with(120, 40, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("ask, or").enter("/config");
    terminal.wait_for("longhaul.compaction.summariser: \"offline\"  (user settings, line 3)");
    terminal.wait_for("ui.hideWindowTitle: true  (workspace settings, line 1)");
    terminal.enter("/config set ui.them dark").wait_for("Did you mean ui.theme?");
    terminal
        .enter("/config set general.vimMode true")
        .wait_for("Set general.vimMode to true")
        .wait_for("INSERT");
    terminal.enter("/config set ui.hideWindowTitle false").wait_for("no effect here: workspace settings, ");
    terminal.wait_for("overrides it");
    terminal.enter("/vim").wait_for("Set general.vimMode to false").wait_gone("INSERT · ");
    terminal.enter("/config unset ui.hideWindowTitle").wait_for("Removed ui.hideWindowTitle");
    let now = std::fs::read_to_string(sandbox.path("home/settings.json")).expect("settings");
    assert!(now.starts_with("{\n  // snapshots\n") && now.contains("\"vimMode\": false"), "{now}");
    assert!(!now.contains("hideWindowTitle"), "{now}");
}

#[test]
fn custom_commands_bring_files_and_outputs() {
    let sandbox = Sandbox::new([gemini::text("Written.")]);
    sandbox.write("work/notes.txt", "tides at noon\n");
    let command =
        "description = \"Write a note\"\nprompt = \"About {{args}}: !{cat notes.txt} and @{notes.txt}\"\n";
    sandbox.write("home/commands/note/new.toml", command);
    sandbox.write("work/.gemini/commands/broken.toml", "prompt = [\n");
    let mut terminal = sandbox.start_with(120, 40, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("broken.toml is not a valid command: line ");
    terminal.wait_for("ask, or").send("/note").wait_for("/note:new  Write a note").send("\t");
    terminal.enter("the moon").wait_for("Written.");
    let request = sandbox.last_request();
    assert!(
        request.contains("About the moon: tides at noon and <attached_file path=\\\"notes.txt\\\">"),
        "{request}"
    );
    assert!(request.contains("/note:new the moon"), "{request}");
    terminal
        .enter("/help")
        .wait_for("Custom commands")
        .enter("/broken")
        .wait_for("Fix the file")
        .wait_for("✗");
}

#[test]
fn pages_come_while_an_answer_is_on_its_way() {
    let stalls = gemini::texts(&["The beginning.\n\n", "The end."]).only(1, Step::Stall);
    let sandbox = Sandbox::new([stalls]);
    let mut terminal = sandbox.start_with(100, 60, &["-m", "gemini-2.5-flash"]);
    terminal.wait_for("ask, or").enter("Go.").wait_for("The beginning.");
    terminal.enter("/context").wait_for("Always kept").enter("/stats").wait_for("Session statistics");
    terminal.enter("/config").wait_for("/config set KEY VALUE").wait_for("answering").send("\x1b");
    terminal.wait_for("Stopped.");
}

#[test]
fn a_proposed_file_is_edited_in_the_users_editor() {
    let write = serde_json::json!({"file_path": "a.txt", "content": "one\ntwo\n"});
    let sandbox =
        Sandbox::new([call("write_file", &write), gemini::text("Done.")]).set("EDITOR", "sed -i s/two/2/");
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("Write it.").wait_for("edit the file in your editor").answer("e");
    terminal.wait_for("allowed with your edits").wait_for("Done.");
    assert_eq!(std::fs::read_to_string(sandbox.path("work/a.txt")).expect("written"), "one\n2\n");
    assert!(sandbox.last_request().contains("The user edited your proposed content"));
}

#[test]
fn a_pasted_path_of_an_image_is_sent_as_the_image() {
    let sandbox = Sandbox::new([gemini::text("A dot.")]);
    sandbox.write("work/dot.png", "\u{89}PNG");
    std::fs::write(sandbox.path("work/dot.png"), b"\x89PNG\r\n").expect("written");
    let mut terminal = sandbox.start();
    let path = sandbox.path("work/dot.png");
    terminal.wait_for("ask, or").send(&format!("\x1b[200~{}\x1b[201~", path.display()));
    terminal.wait_for("[image 1: PNG, 6 bytes]").send("\r").wait_for("A dot.");
    assert!(sandbox.last_request().contains("image/png"), "{}", sandbox.last_request());
}
