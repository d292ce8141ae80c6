//! Folders that are not trusted, or are not what was trusted, in a conversation without a terminal.

use longhaul_testkit::fake_provider::gemini;
use serde_json::json;

use crate::support::{Sandbox, Wire, text};
use crate::tools::{answered, call, trusted};

/// A hook that leaves a file behind.
fn hook(file: &str) -> String {
    json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": format!("touch {file}")}]}]}})
        .to_string()
}

#[test]
fn an_untrusted_folder_is_named_once_with_what_is_left_out() {
    let sandbox = Sandbox::gemini([gemini::text("Yes."), gemini::text("Yes.")]);
    let output = sandbox.say(&["-p", "hi"]);
    assert!(!text(&output.stderr).contains("not trusted"), "nothing is left out");
    sandbox.write("work/GEMINI.md", "Use tabs.");
    sandbox.write("work/.gemini/settings.json", &hook("ran"));
    sandbox.write("work/.gemini/skills/tides/SKILL.md", "---\nname: tides\ndescription: x\n---\nx");
    let told = text(&sandbox.say(&["-p", "hi"]).stderr);
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("not trusted")).collect();
    let [line] = lines.as_slice() else { panic!("{told}") };
    for wanted in
        ["warning: ", "ignored: ", "GEMINI.md", "settings", "1 hook", "1 skill", "`longhaul trust add`"]
    {
        assert!(line.contains(wanted), "no {wanted:?} in {line}");
    }
    assert!(!sandbox.path("work/ran").exists());
    assert!(!sandbox.server.requests()[1].body.to_string().contains("Use tabs."));
}

#[test]
fn a_hook_that_changed_since_trust_does_not_run() {
    let sandbox = Sandbox::gemini((0..4).map(|_| gemini::text("Yes.")));
    sandbox.write("work/.gemini/settings.json", &hook("first"));
    sandbox.write("work/GEMINI.md", "Use tabs.");
    assert!(sandbox.run(&["trust", "add", "--yes"]).status.success());
    sandbox.say(&["-p", "hi"]);
    assert!(sandbox.path("work/first").exists(), "it runs as it was trusted");
    sandbox.write("work/.gemini/settings.json", &hook("second"));
    sandbox.write("work/GEMINI.md", "Use spaces.");
    let told = text(&sandbox.say(&["-p", "hi"]).stderr);
    assert!(
        told.contains("suspended until you confirm them: hooks")
            && told.contains("touch first → touch second"),
        "{told}"
    );
    assert!(told.contains("changed since the last session here: GEMINI.md"), "{told}");
    assert!(!sandbox.path("work/second").exists());
    assert!(
        sandbox.server.requests()[1].body.to_string().contains("Use spaces."),
        "memory counts with a notice"
    );
    // The notice about memory comes once, that about hooks until they are confirmed.
    let told = text(&sandbox.say(&["-p", "hi"]).stderr);
    assert!(told.contains("suspended") && !told.contains("changed since the last session"), "{told}");
    assert!(sandbox.run(&["trust", "add", "--yes"]).status.success());
    let told = text(&sandbox.say(&["-p", "hi"]).stderr);
    assert!(!told.contains("suspended") && sandbox.path("work/second").exists(), "{told}");
}

#[test]
fn no_mode_lets_a_model_give_itself_rights() {
    for mode in ["auto-edit", "yolo"] {
        let write = json!({"file_path": ".gemini/settings.json", "content": hook("ran")});
        let sandbox = trusted(Wire::Gemini, [call("write_file", write), gemini::text("Well.")]);
        sandbox.say(&["-p", "hi", "--approval-mode", mode]);
        let [refused] = answered(&sandbox).try_into().expect("one answer");
        assert!(refused.to_string().contains("a file that grants rights"), "{refused}");
        assert!(!sandbox.path("work/.gemini").exists());
    }
    let shell = json!({"command": "mkdir -p .gemini && echo x > .gemini/settings.json"});
    let sandbox = trusted(Wire::Gemini, [call("run_shell_command", shell), gemini::text("Well.")]);
    sandbox.say(&["-p", "hi", "--yolo"]);
    assert!(answered(&sandbox)[0].to_string().contains("a file that grants rights"));
    assert!(!sandbox.path("work/.gemini").exists());
}
