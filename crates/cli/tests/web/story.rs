//! Sessions of Claude Code as it writes them, for the page to show.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A session that is being told.
pub(crate) struct Story {
    id: String,
    folder: PathBuf,
    lines: Vec<Value>,
    last: Value,
    minute: u32,
    counted: u64,
}

/// A picture of one red pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// Wishes of an attacker for the page: load, run, close elements, leave attributes.
pub(crate) const HOSTILE: &str = "</pre></details></main><script>window.owned=1</script><img src=x onerror=\"window.owned=2\">\
    <svg onload=window.owned=3><iframe src=https://evil.example></iframe>\" onmouseover=\"window.owned=4\" ' & &lt;b&gt; \
    <style>body{display:none}</style><a href=javascript:window.owned=5>x</a>\u{202e}gnp.exe";

impl Story {
    pub(crate) fn new(id: &str, folder: &Path) -> Self {
        Self {
            id: id.into(),
            folder: folder.to_path_buf(),
            lines: Vec::new(),
            last: Value::Null,
            minute: 0,
            counted: 9_000,
        }
    }

    fn push(&mut self, mut record: Value) {
        self.minute += 1;
        let id = format!("{}-{}", self.id, self.lines.len());
        let at = format!("2026-11-17T{:02}:{:02}:10.000Z", 8 + self.minute / 60 % 12, self.minute % 60);
        let head = json!({"uuid": id, "parentUuid": self.last, "sessionId": self.id, "cwd": self.folder, "timestamp": at});
        let fields = head.as_object().cloned().unwrap_or_default();
        record.as_object_mut().expect("an object").extend(fields);
        self.lines.push(record);
        self.last = json!(id);
    }

    pub(crate) fn user(mut self, content: impl Into<Value>) -> Self {
        let content: Value = content.into();
        self.push(json!({"type": "user", "message": {"role": "user", "content": content}}));
        self
    }

    pub(crate) fn model(mut self, content: &Value) -> Self {
        self.counted += 1_900;
        let usage =
            json!({"input_tokens": 12, "cache_read_input_tokens": self.counted, "output_tokens": 120});
        let id = format!("msg-{}", self.lines.len());
        self.push(json!({"type": "assistant", "message": {"id": id, "role": "assistant", "model": "claude-sonnet-4-5",
            "content": content, "usage": usage}}));
        self
    }

    pub(crate) fn says(self, text: &str) -> Self {
        self.model(&json!([{"type": "text", "text": text}]))
    }

    pub(crate) fn thinks(self, text: &str) -> Self {
        self.model(&json!([{"type": "thinking", "thinking": text, "signature": "c2ln"}]))
    }

    /// A call with its result.
    pub(crate) fn calls(self, name: &str, input: &Value, output: &str, failed: bool) -> Self {
        let id = format!("toolu-{}", self.lines.len());
        let called = self.model(&json!([{"type": "tool_use", "id": id, "name": name, "input": input}]));
        called
            .user(json!([{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}]))
    }

    pub(crate) fn compacted(mut self, summary: &str) -> Self {
        self.counted = 12_000;
        let before = std::mem::replace(&mut self.last, Value::Null);
        self.push(json!({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": before,
            "content": "Conversation compacted", "compactMetadata": {"trigger": "auto", "preTokens": 160_000}}));
        self.push(json!({"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
            "message": {"role": "user", "content": summary}}));
        self
    }

    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The work on a small service, compacted once.
pub(crate) fn ferry(folder: &Path) -> Story {
    let listing: String = (1..=160)
        .map(|line| format!("{line:>4}  pub async fn send_part_{line}(part: &Part, retry: Retry) -> Result<Receipt, UploadError>;\n"))
        .collect();
    let mut story = Story::new("7d0c2f6e-4a51-4c7b-9d1e-5b8f0a3c2e10", folder)
        .user("Uploads in ferry give up on the first network error. Make them retry.\n\nRules for this repository: always run the tests before you commit, never push to main, and keep the public API as it is.\n<system-reminder>The todo list is empty.</system-reminder>")
        .thinks("The upload code is probably in src/upload.rs. I will read it first, then look at how errors are told apart.")
        .calls("Read", &json!({"file_path": "/home/dev/ferry/src/upload.rs"}), &listing, false)
        .calls("Grep", &json!({"pattern": "UploadError", "path": "src"}), "src/upload.rs:12\nsrc/error.rs:4\nsrc/error.rs:31", false)
        .calls("Bash", &json!({"command": "cargo test upload", "description": "Run the upload tests"}), "error[E0433]: failed to resolve: use of undeclared type `Retry`\n --> src/upload.rs:3:5", true)
        .calls("Edit", &json!({"file_path": "/home/dev/ferry/src/upload.rs", "old_string": "send(part)", "new_string": "retry.run(|| send(part))"}), "The file has been updated.", false)
        .calls("Bash", &json!({"command": "cargo test upload"}), "running 14 tests\ntest result: ok. 14 passed; 0 failed", false)
        .says("Uploads now retry three times with full jitter. All 14 upload tests pass; the public API is unchanged.");
    for round in 1..=12 {
        story = story
            .user(format!("Next: part {round} of the plan. Bound the memory of the queue and say what changed."))
            .calls("Read", &json!({"file_path": format!("/home/dev/ferry/src/queue_{round}.rs")}), &listing, false)
            .calls("Write", &json!({"file_path": format!("/home/dev/ferry/src/queue_{round}.rs"), "content": "pub struct Queue;\n"}), "File created successfully", false)
            .calls("Bash", &json!({"command": format!("cargo test queue_{round}")}), "test result: ok. 3 passed; 0 failed", round == 5)
            .says(&format!("Part {round} is done: the queue holds at most 64 parts, and the ticket is FERRY-{}.", 4_200 + round));
    }
    story = story
        .compacted("This session is being continued from a previous conversation that ran out of context.\n\nThe user asked to make uploads retry. Uploads retry three times now; queues 1 to 12 are bounded. Run the tests before every commit.")
        .user("Now document the retry policy in docs/upload.md.");
    story
        .calls("Write", &json!({"file_path": "/home/dev/ferry/docs/upload.md", "content": "# Uploads\n\nThree attempts, full jitter.\n"}), "File created successfully", false)
        .says("docs/upload.md explains attempts, jitter and the limit of 64 parts.")
}
