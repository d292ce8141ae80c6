//! Reads what test runners, builds and checkers print about their result.
//!
//! One pass over the lines knows the summaries of all runners, since a script of a project's own may start any of them.

use std::sync::LazyLock;

use longhaul_text::{AnyOf, starts_with_any};

use super::effect::count;
use super::numbers::{after_number, leading_number, number_after, number_before, starts_with_number};

/// What an output tells about a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Results {
    pub(super) passed: Option<u32>,
    pub(super) failed: Option<u32>,
    pub(super) skipped: Option<u32>,
    /// Names of failing tests, each once, the first few.
    pub(super) failing: Vec<String>,
    /// Whether it passed, where the output says so.
    pub(super) verdict: Option<bool>,
    /// Whether the output has the summary of a test runner, whatever command printed it.
    pub(super) is_test: bool,
}

const MOST_NAMES: usize = 12;
const LONGEST_NAME: usize = 160;

/// Reads an output without colours.
pub(super) fn read_results(output: &str) -> Results {
    read_lines(output, ANYWHERE.is_in(output))
}

/// Reads an output, line by line; unless something `tells_anywhere`, only lines that may tell something by their beginnings.
fn read_lines(output: &str, tells_anywhere: bool) -> Results {
    let mut reader = Reader { tells_anywhere, ..Reader::default() };
    for line in output.lines().filter(|line| tells_anywhere || may_tell(line)) {
        reader.line(line.trim_end());
    }
    reader.finish()
}

/// Looks for what tells something wherever it stands in a line.
static ANYWHERE: LazyLock<AnyOf> = LazyLock::new(|| {
    AnyOf::new(&[" FAILED", ": error TS", " - error TS", ": error: ", "ERROR task failed", " ELIFECYCLE "])
});

/// Whether a line may tell something by the way it begins, which most lines of most outputs do not.
fn may_tell(line: &str) -> bool {
    let text = line.trim_ascii_start();
    let Some(first) = text.bytes().next() else { return false };
    let beginnings: &[&str] = match first {
        b'0'..=b'9' | b'=' => return true,
        b'#' => {
            let rest = text.get(2..).unwrap_or_default();
            return starts_with_any(rest, &["pass ", "fail ", "skipped "]);
        }
        b'-' => &["--- FAIL: ", "--- PASS: "],
        b'A' => &["All"],
        b'B' => &["BUILD "],
        b'E' => &["ERROR"],
        b'F' => &["FAIL", "Failed!", "Found", "Finished"],
        b'O' => &["OK"],
        b'P' => &["PASS", "Passed!"],
        b'R' => &["Ran"],
        b'S' => &["Summary", "Success"],
        b'T' => &["Tests"],
        b'[' => &["[INFO]", "[ERROR]"],
        b'e' => &["error: ", "error[E", "error Command failed"],
        b'g' => &["gmake: ***"],
        b'm' => &["make: ***"],
        b'n' => &["not ok ", "npm ERR!", "npm error", "ninja: build stopped"],
        b'o' => &["ok"],
        b'r' => &["rspec ./"],
        b't' => &["test "],
        // Signs such as `✖`, and spaces that are wider than one byte.
        _ => return !first.is_ascii_graphic(),
    };
    starts_with_any(text, beginnings)
}

#[derive(Default)]
struct Reader {
    results: Results,
    /// Packages of Go, which prints counts only for packages.
    packages_passed: u32,
    packages_failed: u32,
    go_tests_passed: u32,
    go_tests_failed: u32,
    /// Problems that a compiler or checker reported line by line.
    problems: u32,
    /// Whether unittest has said how many tests it ran.
    ran: Option<u32>,
    /// Whether one of [`ANYWHERE`] stands in the output.
    tells_anywhere: bool,
}

/// How a line begins with which a build gives up.
const ENDS: &[&str] = &[
    "error: could not compile",
    "make: ***",
    "gmake: ***",
    "npm ERR!",
    "npm error",
    "error Command failed",
    "error: Recipe",
    "ninja: build stopped",
    "FAILURE: Build failed",
];

impl Reader {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let Some(first) = text.bytes().next() else { return };
        match first {
            b't' => self.rust(text),
            b'0'..=b'9' => self.numbers_first(text),
            b'=' => self.numbers_first(text.trim_matches(['=', ' '])),
            _ => {}
        }
        self.summary_words(text);
        self.names(line, text);
        self.problems_of_checkers(text);
    }

    /// `test result: ok. 26 passed; 1 failed; 0 ignored` and `test a::b ... FAILED`.
    fn rust(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix("test result: ") {
            self.counts(
                number_before(rest, " passed"),
                number_before(rest, " failed"),
                number_before(rest, " ignored"),
            );
            self.verdict(rest.starts_with("ok"));
        } else if let Some(name) =
            text.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failing(name);
        }
    }

    /// Summaries that begin with a number: pytest, mocha, RSpec, CTest, Gradle, golangci-lint.
    fn numbers_first(&mut self, text: &str) {
        let has = |words: &str| text.contains(words);
        if (text.ends_with('s') || text.ends_with(')'))
            && has(" in ")
            && (has(" passed") || has(" failed") || has(" error"))
        {
            // pytest: `1 failed, 20 passed, 2 skipped in 2.1s`
            let failed = number_before(text, " failed").unwrap_or(0);
            let errors = number_before(text, " error").unwrap_or(0);
            self.counts(
                number_before(text, " passed").or(Some(0)),
                Some(failed + errors),
                number_before(text, " skipped"),
            );
            self.verdict(failed + errors == 0);
        } else if has(" examples,") || has(" example,") {
            let failed = number_before(text, " failure").unwrap_or(0);
            let total = number_before(text, " example").unwrap_or(0);
            let pending = number_before(text, " pending");
            self.counts(Some(total.saturating_sub(failed + pending.unwrap_or(0))), Some(failed), pending);
            self.verdict(failed == 0);
        } else if let Some(rest) = after_number(text) {
            let number = leading_number(text);
            match rest.split(['(', ' ']).next().unwrap_or_default() {
                "passing" => self.counts(number, Some(0), None),
                "failing" => {
                    self.counts(None, number, None);
                    self.verdict(number == Some(0));
                }
                "pending" if rest == "pending" => self.counts(None, None, number),
                "issues:" | "issues." if rest.len() <= 8 => self.found_problems(number),
                "tests" if rest.starts_with("tests completed, ") => {
                    let failed = number_before(rest, " failed").unwrap_or(0);
                    self.counts(number.map(|all| all.saturating_sub(failed)), Some(failed), None);
                    self.verdict(failed == 0);
                }
                _ if rest.starts_with("% tests passed, ") => {
                    let failed = number_before(rest, " tests failed").unwrap_or(0);
                    let all = number_after(rest, "out of ").unwrap_or(0);
                    self.counts(Some(all.saturating_sub(failed)), Some(failed), None);
                    self.verdict(failed == 0);
                }
                _ => {}
            }
        }
    }

    /// Summaries that begin with a word.
    fn summary_words(&mut self, text: &str) {
        let (word, rest) = text.split_once([' ', '\t', ':']).unwrap_or((text, ""));
        match word {
            // Jest: `Tests: 1 failed, 4 passed, 5 total`; Vitest: `Tests  1 failed | 4 passed (5)`; PHPUnit.
            "Tests"
                if rest.contains("Assertions:") || rest.contains("Failures:") && rest.contains("Errors:") =>
            {
                let all = if rest.trim_start().starts_with("run:") {
                    number_after(rest, "run:")
                } else {
                    leading_number(rest.trim())
                };
                let failed =
                    number_after(rest, "Failures:").unwrap_or(0) + number_after(rest, "Errors:").unwrap_or(0);
                let skipped = number_after(rest, "Skipped:");
                // Maven prints one such line for each class, and the sum without a time.
                if !rest.contains("Time elapsed") {
                    self.set(
                        all.map(|all| all.saturating_sub(failed + skipped.unwrap_or(0))),
                        Some(failed),
                        skipped,
                    );
                    self.verdict(failed == 0);
                }
            }
            "Tests"
                if [" passed", " failed", " total"].iter().any(|word| rest.contains(word))
                    && starts_with_number(rest) =>
            {
                let failed = number_before(rest, " failed").unwrap_or(0);
                self.counts(
                    number_before(rest, " passed").or(Some(0)),
                    Some(failed),
                    number_before(rest, " skipped"),
                );
                self.verdict(failed == 0);
            }
            // cargo-nextest: `Summary [ 0.5s] 10 tests run: 9 passed, 1 failed, 0 skipped`
            "Summary" if rest.contains(" tests run: ") || rest.contains(" test run: ") => {
                let failed = number_before(rest, " failed").unwrap_or(0);
                self.counts(number_before(rest, " passed"), Some(failed), number_before(rest, " skipped"));
                self.verdict(failed == 0);
            }
            // unittest: `Ran 5 tests in 0.01s`, then `OK` or `FAILED (failures=1, errors=2)`.
            "Ran" if rest.contains(" test") && rest.contains(" in ") => self.ran = leading_number(rest),
            "OK" if self.ran.is_some() => self.unittest(rest, true),
            "FAILED" if self.ran.is_some() && rest.starts_with('(') => self.unittest(rest, false),
            // PHPUnit: `OK (5 tests, 10 assertions)`
            "OK" if rest.contains(" assertion") => {
                self.counts(number_before(rest, " test"), Some(0), None);
                self.verdict(true);
            }
            // .NET: `Failed!  - Failed: 1, Passed: 9, Skipped: 0, Total: 10`
            "Passed!" | "Failed!" if rest.contains("Total:") => {
                self.counts(
                    number_after(rest, "Passed:"),
                    number_after(rest, "Failed:"),
                    number_after(rest, "Skipped:"),
                );
                self.verdict(word == "Passed!");
            }
            // Node: `# pass 4`, `ℹ fail 1`.
            "#" | "ℹ" => match rest.split_once(' ') {
                Some(("pass", number)) => self.counts(leading_number(number), None, None),
                Some(("fail", number)) => {
                    let failed = leading_number(number);
                    self.counts(None, failed, None);
                    if let Some(failed) = failed {
                        self.verdict(failed == 0);
                    }
                }
                Some(("skipped", number)) => self.counts(None, None, leading_number(number)),
                _ => {}
            },
            // Go: `ok pkg 0.3s`, `FAIL pkg 0.3s`, `FAIL`, `PASS`.
            "ok" if rest.contains('\t') || text.starts_with("ok \t") => self.packages_passed += 1,
            "FAIL" if text == "FAIL" => self.verdict(false),
            "FAIL" if text.starts_with("FAIL\t") => {
                self.packages_failed += 1;
                self.verdict(false);
                if rest.contains("[build failed]") || rest.contains("[setup failed]") {
                    self.failing(rest);
                }
            }
            "PASS" if text == "PASS" && self.results.verdict.is_none() => self.verdict(true),
            "BUILD" | "[INFO]" | "[ERROR]" => {
                let text = text.trim_start_matches("[INFO] ").trim_start_matches("[ERROR] ");
                if let Some(rest) = text.strip_prefix("BUILD ") {
                    self.verdict(rest.starts_with("SUCCESS"));
                } else if text.starts_with("Tests run:") {
                    self.summary_words(text);
                }
            }
            "Finished" if rest.contains("profile") || rest.contains("target(s)") => self.soft_pass(),
            "Success" if rest.contains("no issues found") => self.soft_pass(),
            "All" if rest.starts_with("checks passed") => self.soft_pass(),
            "Found" if rest.contains(" error") => self.found_problems(number_before(rest, " error")),
            "✖" if rest.contains(" problem") => {
                let errors = number_before(rest, " error");
                self.found_problems(errors);
            }
            _ => {}
        }
    }

    /// Names of failing tests.
    fn names(&mut self, line: &str, text: &str) {
        if let Some(name) = text.strip_prefix("--- FAIL: ") {
            self.go_tests_failed += u32::from(!line.starts_with(' '));
            return self.failing(name.split(" (").next().unwrap_or(name));
        }
        if line.starts_with("--- PASS: ") {
            self.go_tests_passed += 1;
            return;
        }
        let found = if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            // pytest: `FAILED tests/a.py::test_b - AssertionError`
            rest.contains(".py").then(|| rest.split(" - ").next().unwrap_or(rest))
        } else if let Some(rest) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            // unittest: `FAIL: test_x (module.Class)`
            (rest.starts_with("test") && rest.ends_with(')')).then_some(rest)
        } else if let Some(rest) = text.strip_prefix("● ") {
            rest.contains(" › ").then_some(rest)
        } else if let Some(rest) = text.strip_prefix("FAIL  ") {
            rest.contains(" > ").then_some(rest)
        } else if let Some(rest) = text.strip_prefix("not ok ") {
            rest.split_once(" - ").map(|(_, name)| name)
        } else if let Some(rest) = text.strip_prefix("✕ ").or_else(|| text.strip_prefix("× ")) {
            Some(without_time(rest))
        } else if let Some(rest) = text.strip_prefix("✖ ") {
            (rest.ends_with("ms)") && !rest.contains(" problem")).then(|| without_time(rest))
        } else if let Some(rest) = text.strip_prefix("rspec ./") {
            rest.contains(" # ").then_some(rest)
        } else {
            text.strip_suffix(" FAILED").filter(|name| name.contains(" > "))
        };
        if let Some(name) = found {
            self.failing(name);
        }
    }

    /// Lines that name one problem each, and lines with which a build gives up.
    fn problems_of_checkers(&mut self, text: &str) {
        let is_problem = self.tells_anywhere
            && ["): error TS", " - error TS", ": error: "].iter().any(|words| text.contains(words))
            || text.starts_with("error[E")
            || text.starts_with("error: ") && !text.starts_with("error: could not compile");
        if is_problem {
            self.problems += 1;
        }
        if starts_with_any(text, ENDS)
            || self.tells_anywhere && (text.ends_with("ERROR task failed") || text.contains(" ELIFECYCLE "))
        {
            self.verdict(false);
        }
    }

    fn unittest(&mut self, rest: &str, ok: bool) {
        let all = self.ran.take().unwrap_or(0);
        let failed =
            number_after(rest, "failures=").unwrap_or(0) + number_after(rest, "errors=").unwrap_or(0);
        let skipped = number_after(rest, "skipped=");
        self.counts(Some(all.saturating_sub(failed + skipped.unwrap_or(0))), Some(failed), skipped);
        self.verdict(ok);
    }

    /// Adds counts: one output may have several summaries, one for each package.
    fn counts(&mut self, passed: Option<u32>, failed: Option<u32>, skipped: Option<u32>) {
        let add = |sum: &mut Option<u32>, more: Option<u32>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        add(&mut self.results.passed, passed);
        add(&mut self.results.failed, failed);
        add(&mut self.results.skipped, skipped);
        self.results.is_test = true;
    }

    /// Replaces counts, where the last summary is the sum of those before it.
    fn set(&mut self, passed: Option<u32>, failed: Option<u32>, skipped: Option<u32>) {
        self.results.passed = passed;
        self.results.failed = failed;
        self.results.skipped = skipped;
        self.results.is_test = true;
    }

    /// One failure decides.
    fn verdict(&mut self, ok: bool) {
        self.results.verdict = Some(ok && self.results.verdict != Some(false));
    }

    fn soft_pass(&mut self) {
        self.results.verdict.get_or_insert(true);
    }

    fn found_problems(&mut self, number: Option<u32>) {
        if let Some(number) = number {
            self.results.failed.get_or_insert(number);
            self.verdict(number == 0);
        }
    }

    fn failing(&mut self, name: &str) {
        let name = super::cut(name.trim(), LONGEST_NAME);
        if !name.is_empty()
            && self.results.failing.len() < MOST_NAMES
            && !self.results.failing.contains(&name)
        {
            self.results.failing.push(name);
        }
    }

    fn finish(mut self) -> Results {
        let packages = self.packages_passed + self.packages_failed;
        let go_tests = self.go_tests_passed + self.go_tests_failed;
        if self.results.passed.is_none() && packages + go_tests > 0 {
            let by_test = self.go_tests_passed > 0;
            let passed = if by_test { self.go_tests_passed } else { self.packages_passed };
            self.counts(Some(passed), Some(self.go_tests_failed.max(self.packages_failed)), None);
            self.verdict(self.packages_failed + self.go_tests_failed == 0);
        }
        if self.problems > 0 && !self.results.is_test {
            self.results.failed.get_or_insert(self.problems);
            self.verdict(false);
        }
        if !self.results.failing.is_empty() {
            let named = count(self.results.failing.len());
            if self.results.failed.unwrap_or(0) == 0 {
                self.results.failed = Some(named);
            }
            self.verdict(false);
        }
        self.results
    }
}

fn without_time(name: &str) -> &str {
    name.rsplit_once(" (").filter(|(_, time)| time.ends_with("s)")).map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests;
