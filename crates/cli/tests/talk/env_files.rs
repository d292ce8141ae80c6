//! Variables from `.env` files: the user's own, and those of a project, which count only where it is trusted.

use longhaul_testkit::fake_provider::{FakeProvider, gemini};
use serde_json::json;

use crate::support::{Sandbox, Wire, text};
use crate::tools::{answered, call};

/// A key that is in a file, and not in the environment.
const FILE_KEY: &str = "sk-in-a-file-0123456789abcdef";

/// A sandbox without a key or an address in its environment.
fn bare(replies: usize) -> Sandbox {
    let mut sandbox = Sandbox::gemini((0..replies).map(|_| gemini::text("Yes.")));
    sandbox.unset("GEMINI_API_KEY");
    sandbox.unset("GOOGLE_GEMINI_BASE_URL");
    sandbox
}

fn address(sandbox: &Sandbox) -> String {
    format!("GOOGLE_GEMINI_BASE_URL={}\n", sandbox.server.url())
}

#[test]
fn the_users_file_brings_key_address_and_model() {
    let sandbox = bare(1);
    let env = format!(
        "{}export GEMINI_API_KEY=\"{FILE_KEY}\"\nGEMINI_MODEL=gemini-2.5-pro # mine\n",
        address(&sandbox)
    );
    sandbox.write("home/.env", &env);
    sandbox.settings(r#"{"model": {"name": "gemini-2.5-flash"}}"#);
    let output = sandbox.run(&["-p", "hi"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let [request] = sandbox.server.requests().try_into().expect("one request");
    assert_eq!(request.header("x-goog-api-key"), Some(FILE_KEY));
    assert!(request.target.contains("gemini-2.5-pro"), "{}", request.target);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn an_untrusted_projects_file_has_no_effect() {
    let sandbox = bare(1);
    let other = FakeProvider::start([gemini::text("Gotcha.")]);
    sandbox.write("home/.env", &format!("{}GEMINI_API_KEY={FILE_KEY}\n", address(&sandbox)));
    sandbox.write(
        "work/.env",
        &format!(
            "GOOGLE_GEMINI_BASE_URL={}\nGEMINI_CLI_TRUST_WORKSPACE=true\nGEMINI_API_KEY=x\n",
            other.url()
        ),
    );
    let output = sandbox.say(&["-p", "hi"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stderr);
    assert!(told.contains("is not trusted; ignored: 2 variables in .env"), "{told}");
    assert!(other.requests().is_empty());
    assert_eq!(sandbox.server.requests()[0].header("x-goog-api-key"), Some(FILE_KEY));
}

#[test]
fn a_trusted_projects_file_counts_and_says_so_and_a_new_address_waits() {
    let sandbox = bare(2);
    let other = FakeProvider::start([gemini::text("Gotcha.")]);
    sandbox.write("home/.env", &format!("{}GEMINI_API_KEY={FILE_KEY}\n", address(&sandbox)));
    sandbox.write("work/.env", "GEMINI_MODEL=gemini-2.5-pro\nAPP_NAME=x\n");
    let told = text(&sandbox.run(&["trust", "add", "--yes"]).stdout);
    assert!(told.contains("GEMINI_MODEL in .env"), "{told}");
    let told = text(&sandbox.run(&["-p", "hi"]).stderr);
    assert!(told.contains("note: ") && told.contains("work/.env sets GEMINI_MODEL\n"), "{told}");
    assert!(sandbox.server.requests()[0].target.contains("gemini-2.5-pro"));
    // Somebody changes it: the key does not go where the project says.
    let redirected = format!("GEMINI_MODEL=gemini-2.5-pro\nGOOGLE_GEMINI_BASE_URL={}\n", other.url());
    sandbox.write("work/.env", &redirected);
    let told = text(&sandbox.run(&["-p", "hi"]).stderr);
    assert!(told.contains("suspended until you confirm them: endpoints"), "{told}");
    assert!(told.contains("GOOGLE_GEMINI_BASE_URL in .env"), "{told}");
    assert_eq!((other.requests().len(), sandbox.server.requests().len()), (0, 2));
    // Nor does what was meant for that address go to the vendor.
    sandbox.write("home/.env", &format!("GEMINI_API_KEY={FILE_KEY}\n"));
    let refused = sandbox.run(&["-p", "hi"]);
    let told = text(&refused.stderr);
    assert!(
        !refused.status.success() && told.contains("could not reach the address in GOOGLE_GEMINI_BASE_URL"),
        "{told}"
    );
    // The user agrees.
    assert!(sandbox.run(&["trust", "add", "--yes"]).status.success());
    assert!(sandbox.run(&["-p", "hi"]).status.success());
    assert_eq!(other.requests()[0].header("x-goog-api-key"), Some(FILE_KEY));
}

#[test]
fn commands_get_neither_keys_of_files_nor_what_a_project_sets() {
    let mut sandbox = Sandbox::new(
        Wire::Gemini,
        [call("run_shell_command", json!({"command": "env; echo looked"})), gemini::text("Done.")],
    );
    sandbox.unset("GEMINI_API_KEY");
    sandbox.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
    sandbox.write("home/.env", &format!("GEMINI_API_KEY={FILE_KEY}\nMY_REGION=north\nPATH=/nowhere\n"));
    sandbox.write("work/.env", "OPENAI_API_KEY=theirs\nLD_PRELOAD=/evil.so\nAPP_NAME=their-app\n");
    sandbox.answer(&["-p", "Look.", "--yolo"]);
    let [seen] = answered(&sandbox).try_into().expect("one answer");
    let seen = seen.to_string();
    assert!(seen.contains("looked") && seen.contains("MY_REGION=north"), "{seen}");
    for hidden in [FILE_KEY, "evil.so", "their-app", "theirs", "/nowhere"] {
        assert!(!seen.contains(hidden), "{hidden} in {seen}");
    }
}
