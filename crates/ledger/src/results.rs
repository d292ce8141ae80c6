//! Reads what test runners, builds and checkers print about their result.
//!
//! One pass over the lines knows the summaries of all runners, since a script of a project's own may start any of them.

mod go;
mod pattern;
pub(crate) mod rules;

use go::{GoCounts, GoFailure};
use rules::{LineResult, RULES};

use super::effect::count;
use super::numbers::{leading_number, number_after};

/// The results of a run, as its output tells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunResults {
    pub(super) passed: Option<u32>,
    pub(super) failed: Option<u32>,
    pub(super) skipped: Option<u32>,
    /// Names of failing tests, each once, the first few.
    pub(super) failing: Vec<String>,
    /// True if it passed, false if it failed, where the output says so.
    pub(super) verdict: Option<bool>,
    /// True if the output has the summary of a test runner, whatever command printed it.
    pub(super) is_test: bool,
}

const MAX_NAMES: usize = 12;
const MAX_NAME_CHARS: usize = 160;

/// Reads an output without colours.
pub(super) fn read_results(output: &str) -> RunResults {
    read_lines(output, RULES.may_have_unanchored(output))
}

fn read_lines(output: &str, with_unanchored: bool) -> RunResults {
    let mut reader = ResultReader::default();
    for line in output.lines() {
        reader.line(line.trim_end(), with_unanchored);
    }
    reader.finish()
}

#[derive(Default)]
struct ResultReader {
    results: RunResults,
    go: GoCounts,
    /// Problems that a compiler or checker reported line by line.
    problems: u32,
    /// The number of tests that unittest has said it ran.
    ran: Option<u32>,
}

impl ResultReader {
    fn line(&mut self, line: &str, with_unanchored: bool) {
        let text = line.trim_start();
        // The lines of unittest and Go begin with one of these.
        if text.starts_with(['R', 'O', 'F', 'o', '-']) {
            if self.unittest_line(text) {
                return;
            }
            match self.go.read(line) {
                Some(GoFailure::Test(name)) => return self.failing(name),
                Some(GoFailure::Package { unbuilt }) => {
                    self.verdict(false);
                    return unbuilt.into_iter().for_each(|package| self.failing(package));
                }
                None => {}
            }
        }
        for told in RULES.told(line, with_unanchored) {
            self.take(told);
        }
    }

    fn take(&mut self, told: LineResult<'_>) {
        match told {
            LineResult::Counts { passed, failed, skipped, is_sum, verdict } => {
                if is_sum {
                    self.set(passed, failed, skipped);
                } else {
                    self.counts(passed, failed, skipped);
                }
                verdict.into_iter().for_each(|ok| self.verdict(ok));
            }
            LineResult::Problems(number) => {
                self.results.failed.get_or_insert(number);
                self.verdict(number == 0);
            }
            LineResult::Problem => self.problems += 1,
            LineResult::Passed => self.verdict(true),
            LineResult::Failed => self.verdict(false),
            LineResult::AssumedPassed => {
                self.results.verdict.get_or_insert(true);
            }
            LineResult::Failing(name) => self.failing(name),
        }
    }

    /// Python's unittest takes two lines: `Ran 5 tests in 0.01s`, then `OK` or `FAILED (failures=1, errors=2)`.
    fn unittest_line(&mut self, text: &str) -> bool {
        let (word, rest) = text.split_once([' ', '\t', ':']).unwrap_or((text, ""));
        match word {
            "Ran" if rest.contains(" test") && rest.contains(" in ") => self.ran = leading_number(rest),
            "OK" if self.ran.is_some() => self.unittest(rest, true),
            "FAILED" if self.ran.is_some() && rest.starts_with('(') => self.unittest(rest, false),
            _ => return false,
        }
        true
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

    fn failing(&mut self, name: &str) {
        let name = crate::excerpts::cut(name.trim(), MAX_NAME_CHARS);
        if !name.is_empty() && self.results.failing.len() < MAX_NAMES && !self.results.failing.contains(&name)
        {
            self.results.failing.push(name);
        }
    }

    fn finish(mut self) -> RunResults {
        if self.results.passed.is_none()
            && let Some((passed, failed)) = self.go.passed_and_failed()
        {
            self.counts(Some(passed), Some(failed), None);
            self.verdict(failed == 0);
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

#[cfg(test)]
mod tests;
