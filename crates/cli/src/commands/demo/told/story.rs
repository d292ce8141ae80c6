//! The story of the demonstration: an afternoon of work on a program that sends invoices, as an agent would record it.
//!
//! Everything in it is made up here; it is the same on every run.

use longhaul_conversation::{Message, Part, Role, Timestamp, ToolCall, ToolResult, ToolStatus};
use serde_json::{Value, json};

use super::super::props::{build_log, failing_tests, listing, passing_tests, sandbox_probe, source, uses};

/// The model that the story is told of.
pub(super) const MODEL: &str = "gemini-2.5-flash";
/// The folder of the story.
pub(super) const DIRECTORY: &str = "/home/dev/parcelpost";
/// When it begins.
const BEGIN: &str = "2026-03-02T13:00:00Z";
/// The time each message takes.
const PACE_MS: i64 = 21_000;

/// A word that only a tool ever said, early on; later it is looked for.
pub(super) const DETAIL: &str = "idempotency ttl";

/// Modules that the agent reads to find out what must be changed.
const MODULES: [(&str, &str); 36] = [
    ("src/main.rs", "starts the exporter and reads --dry-run"),
    ("src/config.rs", "reads export.toml; carrier_timeout_ms is 4000 by default"),
    ("src/invoice.rs", "holds Invoice and InvoiceLine; amounts are i64 cents"),
    ("src/money.rs", "rounds half to even in round_cents"),
    ("src/export.rs", "run_export sends each open invoice and marks it as sent"),
    ("src/carrier/mod.rs", "declares the trait Carrier with submit and status"),
    ("src/carrier/client.rs", "HttpCarrier::submit gives up at the first error"),
    ("src/carrier/errors.rs", "CarrierError has Timeout, Rejected and Unavailable(u16)"),
    ("src/carrier/label.rs", "builds labels only; nothing to retry there"),
    ("src/carrier/tariff.rs", "reads tariffs once a day from a file"),
    ("src/queue.rs", "keeps open invoices in SQLite, table outbox"),
    ("src/queue/claim.rs", "claim_next uses BEGIN IMMEDIATE, so two exporters do not collide"),
    ("src/queue/schema.rs", "outbox has id, payload, attempts and sent_at"),
    ("src/report.rs", "writes the nightly report; counts sent and failed"),
    ("src/report/mail.rs", "sends the report to finance@parcelpost.test"),
    ("src/clock.rs", "a trait, so that tests need not wait"),
    ("src/telemetry.rs", "uses tracing; spans carry invoice_no"),
    ("src/retry_budget.rs", "is dead code from an earlier attempt, never called"),
    ("src/http.rs", "wraps ureq; a pool of eight connections"),
    ("src/http/headers.rs", "adds user agent and request id"),
    ("src/ids.rs", "RequestId is a UUID made per request, not per invoice"),
    ("src/pdf.rs", "renders invoices; not part of the export"),
    ("src/pdf/fonts.rs", "embeds two fonts"),
    ("src/address.rs", "normalises postcodes"),
    ("src/country.rs", "holds the table of countries"),
    ("src/vat.rs", "computes VAT per line, in cents"),
    ("src/discount.rs", "applies discounts before VAT"),
    ("src/batch.rs", "groups invoices by carrier, fifty a batch"),
    ("src/batch/plan.rs", "plans batches; pure"),
    ("src/lock.rs", "takes export.lock so that one exporter runs at a time"),
    ("src/signals.rs", "finishes the current invoice on SIGTERM"),
    ("src/health.rs", "answers /healthz on port 9102"),
    ("src/metrics.rs", "counts carrier_errors_total by kind"),
    ("tests/export.rs", "runs the exporter against FakeCarrier"),
    ("tests/fake_carrier.rs", "FakeCarrier fails as often as it is told"),
    ("tests/money.rs", "checks rounding"),
];

/// When the story begins.
pub(super) fn begin() -> Timestamp {
    Timestamp::parse(BEGIN).expect("a time")
}

/// The whole story, in order.
pub(super) fn story() -> Vec<Message> {
    let mut story = Story::default();
    story.user(
        "Make the nightly invoice export survive a flaky carrier: retry what may be retried, so that no invoice is \
         lost or sent twice. Always keep amounts as integer cents. Do not touch anything under legacy/ without \
         asking me first.",
    );
    story.say("I will look at how invoices are sent now, before I change anything.");
    story.tool("list_directory", json!({"path": "."}), listing(&MODULES.map(|(path, _)| path)));
    story.probe_sandbox();
    for (place, (path, finding)) in MODULES.iter().enumerate() {
        story.read(path, place);
        story.tool("grep_search", json!({"pattern": name_of(path)}), uses(path, place));
        story.say(&format!("`{path}` {finding}."));
        if place == 7 {
            story.look_for_callers();
        }
        if place == 12 {
            story.user("Use at most five attempts, and back off 200 ms, 400 ms, 800 ms and so on.");
            story.say("Five attempts, doubling from 200 ms. I will put the delays behind `Clock`.");
        }
        if place == 18 {
            story.first_attempt();
        }
        if place == 26 {
            story.fix();
        }
    }
    story.user("Good. Now log each retry with the invoice number at info level, and then update the README.");
    story.log_retries();
    story.messages
}

/// The name of a module in the code.
fn name_of(path: &str) -> &str {
    let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
    stem.rsplit('/').next().unwrap_or(stem)
}

#[derive(Default)]
struct Story {
    messages: Vec<Message>,
    calls: usize,
}

impl Story {
    fn user(&mut self, text: &str) {
        self.push(Role::User, vec![Part::user_text(text)]);
    }

    fn say(&mut self, text: &str) {
        self.push(Role::Model, vec![Part::model_text(text)]);
    }

    /// A call and its answer.
    fn tool(&mut self, name: &str, args: Value, output: String) {
        self.tool_ending(name, args, output, ToolStatus::Succeeded);
    }

    fn tool_ending(&mut self, name: &str, args: Value, output: String, status: ToolStatus) {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let call = ToolCall { args, ..ToolCall::new(id.as_str(), name) };
        self.push(Role::Model, vec![Part::call(call)]);
        let result = ToolResult::text(id.as_str(), output).with_name(name).with_status(status);
        self.push(Role::User, vec![Part::result(result)]);
    }

    fn push(&mut self, role: Role, parts: Vec<Part>) {
        let place = self.messages.len();
        let at = Some(Timestamp::from_millis(begin().as_millis() + place as i64 * PACE_MS));
        let is_answer = parts.iter().any(|part| part.as_result().is_some());
        // The answers to a message are recorded with it.
        let id = if is_answer {
            format!("{}_response", self.messages[place - 1].id)
        } else {
            format!("demo-{:03}", place + 1)
        };
        let model = (role == Role::Model).then(|| MODEL.to_string());
        self.messages.push(Message { at, model, ..Message::new(id, role, parts) });
    }

    fn read(&mut self, path: &str, seed: usize) {
        self.tool("read_file", json!({"file_path": path}), source(path, seed));
    }

    fn run(&mut self, command: &str, output: &str, exit_code: i32) {
        let status = if exit_code == 0 { ToolStatus::Succeeded } else { ToolStatus::Failed };
        let output = format!("Command: {command}\nOutput: {output}\nExit Code: {exit_code}");
        self.tool_ending("run_shell_command", json!({ "command": command }), output, status);
    }

    fn probe_sandbox(&mut self) {
        let command = "curl -sv https://sandbox.carrier.test:8443/v2/ping";
        self.run(command, &sandbox_probe(), 0);
        self.say("The sandbox answers, and it honours idempotency keys.");
    }

    fn look_for_callers(&mut self) {
        let found = "src/export.rs:61:    let receipt = carrier.submit(&invoice)?;\n\
                     src/batch.rs:88:    carrier.submit(invoice).map(drop)\n\
                     legacy/csv_push.rs:19:    carrier.submit(&row.into())";
        self.tool("grep_search", json!({"pattern": r"\.submit\("}), found.into());
        self.say(
            "`submit` has three callers. One is in `legacy/csv_push.rs`, which I must not touch, so the signature \
             of `submit` has to stay as it is.",
        );
    }

    fn first_attempt(&mut self) {
        let retry = source("src/carrier/retry.rs", 90);
        let created = "Successfully created and wrote to new file: src/carrier/retry.rs.";
        self.tool(
            "write_file",
            json!({"file_path": "src/carrier/retry.rs", "content": retry}),
            created.into(),
        );
        let edit = json!({
            "file_path": "src/carrier/client.rs",
            "old_string": "self.send(invoice)",
            "new_string": "retry(&self.clock, ATTEMPTS, || self.send(invoice))",
        });
        self.tool(
            "replace",
            edit,
            "Successfully modified file: src/carrier/client.rs (1 replacements).".into(),
        );
        self.run("cargo build", &build_log(), 0);
        self.run("cargo test", &failing_tests(), 101);
        self.say(
            "A retried invoice reaches the carrier twice: `RequestId` is made anew for each request, so the carrier \
             cannot tell a retry from a second invoice. The key must be made from the invoice number.",
        );
    }

    fn fix(&mut self) {
        let edit = json!({
            "file_path": "src/http/headers.rs",
            "old_string": "RequestId::new()",
            "new_string": "IdempotencyKey::of(invoice.number)",
        });
        self.tool(
            "replace",
            edit,
            "Successfully modified file: src/http/headers.rs (1 replacements).".into(),
        );
        self.run("cargo test", &passing_tests(), 0);
        self.say(
            "All 42 tests pass. A retry now carries the key of its invoice, so the carrier drops the second one.",
        );
    }

    fn log_retries(&mut self) {
        let edit = json!({
            "file_path": "src/carrier/retry.rs",
            "old_string": "clock.wait(delay);",
            "new_string": "tracing::info!(invoice_no, attempt, ?delay, \"retrying\");\n        clock.wait(delay);",
        });
        self.tool(
            "replace",
            edit,
            "Successfully modified file: src/carrier/retry.rs (1 replacements).".into(),
        );
        self.run("cargo test", &passing_tests(), 0);
        self.say("Each retry is logged at info level with `invoice_no`. The README is next.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::find_faults;

    #[test]
    fn the_story_is_long_and_sound() {
        let story = story();
        assert!(story.len() > 200, "{}", story.len());
        assert_eq!(find_faults(&story), []);
    }

    #[test]
    fn one_tool_alone_says_the_detail() {
        let says = |part: &&Part| {
            part.as_result().is_some_and(|result| result.readable().to_lowercase().contains(DETAIL))
        };
        let story = story();
        assert_eq!(story.iter().flat_map(|message| &message.parts).filter(says).count(), 1);
        let texts = story.iter().flat_map(|message| &message.parts).filter_map(Part::as_text);
        assert!(texts.into_iter().all(|text| !text.contains(DETAIL)));
    }
}
