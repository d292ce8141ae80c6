//! Folders that are not trusted, or are not what was trusted, in a conversation without a terminal.

use longhaul_testkit::fake_provider::gemini;
use serde_json::json;

use crate::support::{Desk, Wire, text};
use crate::tools::{answered, call, trusted};

/// A hook that leaves a file behind.
fn hook(file: &str) -> String {
    json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": format!("touch {file}")}]}]}})
        .to_string()
}

#[test]
fn an_untrusted_folder_is_named_once_with_what_is_left_out() {
    let desk = Desk::gemini([gemini::text("Yes."), gemini::text("Yes.")]);
    let output = desk.say(&["-p", "hi"]);
    assert!(!text(&output.stderr).contains("not trusted"), "nothing is left out");
    desk.write("work/GEMINI.md", "Use tabs.");
    desk.write("work/.gemini/settings.json", &hook("ran"));
    desk.write("work/.gemini/skills/tides/SKILL.md", "---\nname: tides\ndescription: x\n---\nx");
    let told = text(&desk.say(&["-p", "hi"]).stderr);
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("not trusted")).collect();
    let [line] = lines.as_slice() else { panic!("{told}") };
    for wanted in
        ["warning: ", "left out: ", "GEMINI.md", "settings", "1 hook", "1 skill", "`longhaul trust add`"]
    {
        assert!(line.contains(wanted), "no {wanted:?} in {line}");
    }
    assert!(!desk.path("work/ran").exists());
    assert!(!desk.server.requests()[1].body.to_string().contains("Use tabs."));
}

#[test]
fn a_hook_that_changed_since_trust_does_not_run() {
    let desk = Desk::gemini((0..4).map(|_| gemini::text("Yes.")));
    desk.write("work/.gemini/settings.json", &hook("first"));
    desk.write("work/GEMINI.md", "Use tabs.");
    assert!(desk.run(&["trust", "add", "--yes"]).status.success());
    desk.say(&["-p", "hi"]);
    assert!(desk.path("work/first").exists(), "it runs as it was trusted");
    desk.write("work/.gemini/settings.json", &hook("second"));
    desk.write("work/GEMINI.md", "Use spaces.");
    let told = text(&desk.say(&["-p", "hi"]).stderr);
    assert!(
        told.contains("suspended until you confirm them: hooks")
            && told.contains("touch first → touch second"),
        "{told}"
    );
    assert!(told.contains("changed since the last session here: GEMINI.md"), "{told}");
    assert!(!desk.path("work/second").exists());
    assert!(
        desk.server.requests()[1].body.to_string().contains("Use spaces."),
        "memory counts with a notice"
    );
    // The notice about memory comes once, that about hooks until they are confirmed.
    let told = text(&desk.say(&["-p", "hi"]).stderr);
    assert!(told.contains("suspended") && !told.contains("changed since the last session"), "{told}");
    assert!(desk.run(&["trust", "add", "--yes"]).status.success());
    let told = text(&desk.say(&["-p", "hi"]).stderr);
    assert!(!told.contains("suspended") && desk.path("work/second").exists(), "{told}");
}

#[test]
fn no_mode_lets_a_model_give_itself_rights() {
    for mode in ["auto-edit", "yolo"] {
        let write = json!({"file_path": ".gemini/settings.json", "content": hook("ran")});
        let desk = trusted(Wire::Gemini, [call("write_file", write), gemini::text("Well.")]);
        desk.say(&["-p", "hi", "--approval-mode", mode]);
        let [refused] = answered(&desk).try_into().expect("one answer");
        assert!(refused.to_string().contains("a file that grants rights"), "{refused}");
        assert!(!desk.path("work/.gemini").exists());
    }
    let shell = json!({"command": "mkdir -p .gemini && echo x > .gemini/settings.json"});
    let desk = trusted(Wire::Gemini, [call("run_shell_command", shell), gemini::text("Well.")]);
    desk.say(&["-p", "hi", "--yolo"]);
    assert!(answered(&desk)[0].to_string().contains("a file that grants rights"));
    assert!(!desk.path("work/.gemini").exists());
}
