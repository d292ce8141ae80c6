//! Tool outputs of the demonstration: source files, a build log, test runs.

/// Words that the made-up sources are put together from.
const NOUNS: [&str; 12] = [
    "invoice", "batch", "receipt", "carrier", "parcel", "tariff", "ledger", "outbox", "attempt", "window",
    "deadline", "address",
];
const VERBS: [&str; 10] =
    ["load", "merge", "check", "close", "split", "price", "queue", "render", "settle", "group"];

/// Packages that the build log names.
const PACKAGES: [&str; 14] = [
    "libc", "cfg-if", "memchr", "itoa", "serde", "ureq", "rustls", "webpki", "ring", "rusqlite", "tracing",
    "toml", "uuid", "time",
];

/// The names of files, one a line.
pub(super) fn listing(paths: &[&str]) -> String {
    let mut lines = vec!["Cargo.toml", "README.md", "export.toml", "legacy/csv_push.rs"];
    lines.extend(paths);
    lines.join("\n")
}

/// A source file that looks like one.
pub(super) fn source(path: &str, seed: usize) -> String {
    let mut text = format!("//! {path}\n\nuse longhaul_app::clock::Clock;\nuse crate::money::Cents;\n");
    for number in 0..5 {
        let noun = NOUNS[(seed * 5 + number * 7) % NOUNS.len()];
        let verb = VERBS[(seed * 3 + number) % VERBS.len()];
        let other = NOUNS[(seed + number * 5 + 3) % NOUNS.len()];
        let limit = 10 + (seed * 37 + number * 11) % 490;
        text.push_str(&format!(
            "\n/// {verb}s the {noun} that belongs to the {other}.\n\
             pub fn {verb}_{noun}(clock: &dyn Clock, {other}: &mut Vec<Cents>) -> Result<usize, Error> {{\n\
             \x20   let before = {other}.len();\n\
             \x20   while let Some(next) = {other}.iter().position(|cents| cents.0 > {limit}) {{\n\
             \x20       let taken = {other}.remove(next);\n\
             \x20       tracing::debug!(taken = taken.0, \"{verb} {noun}\");\n\
             \x20       if clock.is_past({limit}) {{\n\
             \x20           return Err(Error::Late {{ {other}: before, {noun}: next }});\n\
             \x20       }}\n\
             \x20   }}\n\
             \x20   Ok(before - {other}.len())\n\
             }}\n"
        ));
    }
    text
}

/// The uses of a module.
pub(super) fn uses(path: &str, seed: usize) -> String {
    let line = |number: usize| {
        let file = NOUNS[(seed + number * 5) % NOUNS.len()];
        let noun = NOUNS[(seed * 5 + number * 7) % NOUNS.len()];
        let verb = VERBS[(seed * 3 + number) % VERBS.len()];
        let at = 11 + (seed * 13 + number * 29) % 180;
        format!("src/{file}.rs:{at}:    let {noun} = {verb}_{noun}(&clock, &mut open)?;")
    };
    let lines: Vec<String> = (0..3).map(line).collect();
    format!("Found 3 matches outside of {path}:\n{}", lines.join("\n"))
}

/// The answer of the carrier's sandbox.
pub(super) fn sandbox_probe() -> String {
    "* Connected to sandbox.carrier.test (127.0.0.1) port 8443\n\
     > GET /v2/ping HTTP/1.1\n\
     > Host: sandbox.carrier.test:8443\n\
     < HTTP/1.1 200 OK\n\
     < content-type: application/json\n\
     < x-ratelimit-limit: 120\n\
     < x-ratelimit-reset: 41\n\
     < x-sandbox-note: idempotency ttl 17 minutes, then keys may be reused\n\
     {\"pong\":true,\"region\":\"eu-2\"}"
        .to_string()
}

/// A build that succeeds and says far too much.
pub(super) fn build_log() -> String {
    let mut log = String::from("    Updating the index of packages\n");
    for number in 0..180 {
        let package = PACKAGES[number % PACKAGES.len()];
        let (minor, patch) = (number % 23, number * 7 % 31);
        log.push_str(&format!("   Compiling {package}-part{number} v0.{minor}.{patch}\n"));
        if number % 30 == 17 {
            let line = 20 + number;
            log.push_str(&format!(
                "warning: unused variable: `{noun}`\n  --> src/retry_budget.rs:{line}:9\n",
                noun = NOUNS[number % NOUNS.len()]
            ));
        }
    }
    log + "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 48.31s"
}

/// A test run in which one test fails.
pub(super) fn failing_tests() -> String {
    tests(41, "FAILED")
        + "\nfailures:\n\n---- a_retried_invoice_is_sent_once stdout ----\n\
           thread 'a_retried_invoice_is_sent_once' panicked at tests/export.rs:88:5:\n\
           assertion `left == right` failed: the carrier saw the invoice twice\n  left: 2\n right: 1\n\n\
           test result: FAILED. 41 passed; 1 failed; 0 ignored; finished in 1.84s\n\
           error: test failed, to rerun pass `--test export`"
}

/// A test run in which all pass.
pub(super) fn passing_tests() -> String {
    tests(41, "ok") + "\ntest result: ok. 42 passed; 0 failed; 0 ignored; finished in 1.79s"
}

fn tests(others: usize, retried: &str) -> String {
    let mut lines = vec!["running 42 tests".to_string()];
    for number in 0..others {
        let (verb, noun) = (VERBS[number % VERBS.len()], NOUNS[number * 5 % NOUNS.len()]);
        lines.push(format!("test {verb}_{noun}_{number} ... ok"));
    }
    lines.push(format!("test a_retried_invoice_is_sent_once ... {retried}"));
    lines.join("\n") + "\n"
}
