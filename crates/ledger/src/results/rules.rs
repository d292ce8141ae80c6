//! The rules by which lines of an output tell a result: `data/summaries.txt`.

use std::sync::LazyLock;

use longhaul_text::AnyOf;

use super::pattern::LinePattern;
use crate::data::{DataError, DataFile, DataLine, loaded};
use crate::numbers::{number_after, number_before};

/// The rules, by the lines that they are about.
pub(crate) struct Rules {
    /// The rules for lines that begin with a byte, in the order of the file.
    by_first_byte: Vec<Vec<usize>>,
    /// The rules for lines that may begin in any way.
    unanchored: Vec<usize>,
    /// Texts of which one stands in every line of those.
    unanchored_texts: AnyOf,
    rules: Vec<LineRule>,
}

/// One entry of the file.
#[derive(Default)]
pub(super) struct LineRule {
    /// One of these must fit. `failing` patterns are among them.
    patterns: Vec<LinePattern>,
    ends: Vec<&'static str>,
    has: Vec<&'static str>,
    lacks: Vec<&'static str>,
    is_at_margin: bool,
    pub(super) counts: Counts,
    /// A text by which a line with counts tells of a failure.
    fails: Option<&'static str>,
    /// True if the counts are the sum of those before.
    pub(super) is_sum: bool,
    pub(super) verdict: Option<Verdict>,
    is_problem: bool,
    examples: Vec<Example>,
}

/// A line with what it must be read as.
#[cfg_attr(not(test), expect(dead_code, reason = "only a test reads the examples"))]
pub(super) struct Example {
    pub(super) line: &'static str,
    pub(super) expected: &'static str,
}

/// The counts that a line tells.
#[derive(Default)]
pub(super) struct Counts {
    passed: Vec<Count>,
    failed: Vec<Count>,
    skipped: Vec<Count>,
    total: Vec<Count>,
    problems: Vec<Count>,
}

/// A number beside a text.
#[derive(Clone, Copy)]
enum Count {
    Before(&'static str),
    After(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    /// Passed, unless another line tells.
    Assumed,
    Untold,
}

/// The result that a line tells, by one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineResult<'l> {
    Counts {
        passed: Option<u32>,
        failed: Option<u32>,
        skipped: Option<u32>,
        is_sum: bool,
        verdict: Option<bool>,
    },
    /// The number of problems that a checker found.
    Problems(u32),
    /// One problem.
    Problem,
    Passed,
    Failed,
    AssumedPassed,
    /// The name of a failing test.
    Failing(&'l str),
}

pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| loaded(parse(&FILE)));

pub(crate) const FILE: DataFile =
    DataFile { name: "summaries.txt", text: include_str!("../../data/summaries.txt") };

impl Rules {
    /// True if an output may have lines that only rules tell of which are about lines with any beginning.
    pub(super) fn may_have_unanchored(&self, output: &str) -> bool {
        self.unanchored_texts.is_in(output)
    }

    /// All that a line tells: by the first rule that fits about summaries, about failing tests and about problems.
    pub(super) fn told<'l>(&self, line: &'l str, with_unanchored: bool) -> Vec<LineResult<'l>> {
        let text = without_frame(line.trim());
        let Some(first) = text.bytes().next() else { return Vec::new() };
        let anchored = &self.by_first_byte[usize::from(first)];
        let is_unanchored = with_unanchored && self.unanchored_texts.is_in(text);
        let unanchored: &[usize] = if is_unanchored { &self.unanchored } else { &[] };
        let mut told: Vec<LineResult<'l>> = Vec::new();
        for rule in anchored.iter().chain(unanchored) {
            if let Some(found) = self.rules[*rule].told(line, text)
                && !told.iter().any(|known| known.topic() == found.topic())
            {
                told.push(found);
            }
        }
        told
    }

    #[cfg(test)]
    pub(super) fn examples(&self) -> impl Iterator<Item = &Example> {
        self.rules.iter().flat_map(|rule| &rule.examples)
    }
}

/// The line without the signs that pytest puts around its summary.
fn without_frame(line: &str) -> &str {
    if !line.starts_with('=') {
        return line;
    }
    let inner = line.trim_matches(['=', ' ']);
    if inner.starts_with(|c: char| c.is_ascii_digit()) { inner } else { line }
}

impl LineResult<'_> {
    /// The question that is answered: the result, the failing tests, or the problems one by one.
    fn topic(&self) -> u8 {
        match self {
            Self::Counts { .. } | Self::Problems(_) | Self::Passed | Self::Failed | Self::AssumedPassed => 0,
            Self::Failing(_) => 1,
            Self::Problem => 2,
        }
    }
}

impl LineRule {
    fn told<'l>(&self, line: &str, text: &'l str) -> Option<LineResult<'l>> {
        // Beginnings are looked at first: they decide about nearly every line.
        let fit = self.patterns.iter().find_map(|pattern| Some((pattern, pattern.fit(text)?)));
        let is_about = (fit.is_some() || self.patterns.is_empty())
            && (!self.is_at_margin || !line.starts_with([' ', '\t']))
            && (self.ends.is_empty() || self.ends.iter().any(|end| text.ends_with(end)))
            && self.has.iter().all(|words| text.contains(words))
            && !self.lacks.iter().any(|words| text.contains(words));
        if !is_about {
            return None;
        }
        if let Some((pattern, fit)) = fit
            && pattern.has_name()
        {
            return Some(LineResult::Failing(without_time(fit.name)));
        }
        if self.is_problem {
            return Some(LineResult::Problem);
        }
        if let Some(problems) = sum(&self.counts.problems, text) {
            return Some(LineResult::Problems(problems));
        }
        if self.counts.is_empty() {
            return match self.verdict? {
                Verdict::Passed => Some(LineResult::Passed),
                Verdict::Failed => Some(LineResult::Failed),
                Verdict::Assumed => Some(LineResult::AssumedPassed),
                Verdict::Untold => None,
            };
        }
        self.counted(text)
    }

    fn counted<'l>(&self, text: &str) -> Option<LineResult<'l>> {
        let Counts { passed, failed, skipped, total, .. } = &self.counts;
        let (told_passed, told_failed) = (sum(passed, text), sum(failed, text));
        let (skipped, total) = (sum(skipped, text), sum(total, text));
        told_passed.or(told_failed).or(skipped).or(total)?;
        // Where a line tells no number of failures, there are none.
        let failed = told_failed.or((!failed.is_empty()).then_some(0));
        let others = failed.unwrap_or(0).saturating_add(skipped.unwrap_or(0));
        let passed = match total {
            Some(total) => Some(total.saturating_sub(others)),
            None => told_passed.or((!passed.is_empty()).then_some(0)),
        };
        let says_failed = self.fails.is_some_and(|words| text.contains(words));
        let verdict = match self.verdict {
            Some(Verdict::Untold) => None,
            _ => failed.map(|failed| failed == 0 && !says_failed),
        };
        Some(LineResult::Counts { passed, failed, skipped, is_sum: self.is_sum, verdict })
    }
}

impl Counts {
    fn is_empty(&self) -> bool {
        let Self { passed, failed, skipped, total, problems } = self;
        [passed, failed, skipped, total, problems].iter().all(|counts| counts.is_empty())
    }
}

/// The numbers that are in a line, added up.
fn sum(counts: &[Count], text: &str) -> Option<u32> {
    let found = counts.iter().filter_map(|count| match count {
        Count::Before(words) => number_before(text, words),
        Count::After(words) => number_after(text, words),
    });
    found.reduce(u32::saturating_add)
}

/// The name of a test without the time it took: `adds (5 ms)`.
fn without_time(name: &str) -> &str {
    let is_time = |time: &str| time.ends_with("s)") && time.starts_with(|c: char| c.is_ascii_digit());
    name.rsplit_once(" (").filter(|(_, time)| is_time(time)).map_or(name, |(name, _)| name)
}

pub(crate) fn parse(file: &DataFile) -> Result<Rules, DataError> {
    let mut rules: Vec<LineRule> = Vec::new();
    let mut first_line = None;
    for line in file.lines() {
        let line = line?;
        if line.key == "runner" {
            check_complete(rules.last(), first_line)?;
            first_line = Some(line);
            rules.push(LineRule::default());
            continue;
        }
        let rule = rules.last_mut().ok_or_else(|| line.error("each entry must start with `runner`"))?;
        rule.add(&line)?;
    }
    check_complete(rules.last(), first_line)?;
    Ok(Rules::new(rules))
}

/// An entry has an example, and tells something.
fn check_complete(rule: Option<&LineRule>, first_line: Option<DataLine>) -> Result<(), DataError> {
    let (Some(rule), Some(line)) = (rule, first_line) else { return Ok(()) };
    if rule.examples.is_empty() {
        return Err(line.error("the entry has no `example`"));
    }
    let tells = !rule.counts.is_empty()
        || rule.verdict.is_some()
        || rule.is_problem
        || rule.patterns.iter().any(LinePattern::has_name);
    if !tells {
        return Err(line
            .error("the entry has no effect: it has neither counts nor `verdict`, `problem` or `failing`"));
    }
    if rule.patterns.is_empty() && rule.unanchored_text().is_none() {
        return Err(
            line.error("the entry matches every line: it has none of `starts`, `is`, `ends` and `has`")
        );
    }
    Ok(())
}

impl LineRule {
    fn add(&mut self, line: &DataLine) -> Result<(), DataError> {
        let is_yes = || if line.value == "yes" { Ok(true) } else { Err(line.error("expected `yes`")) };
        match line.key {
            "starts" => self.patterns.push(LinePattern::beginning(line.value)),
            "is" => self.patterns.push(LinePattern::whole(line.value)),
            "failing" => {
                let pattern = LinePattern::whole(line.value);
                if !pattern.has_name() {
                    return Err(line.error("{name} is missing"));
                }
                self.patterns.push(pattern);
            }
            "ends" => self.ends.push(line.value),
            "has" => self.has.push(line.value),
            "lacks" => self.lacks.push(line.value),
            "margin" => self.is_at_margin = is_yes()?,
            "passed" => self.counts.passed.push(Count::parse(line)?),
            "failed" => self.counts.failed.push(Count::parse(line)?),
            "skipped" => self.counts.skipped.push(Count::parse(line)?),
            "total" => self.counts.total.push(Count::parse(line)?),
            "problems" => self.counts.problems.push(Count::parse(line)?),
            "fails" => self.fails = Some(line.value),
            "sum" => self.is_sum = is_yes()?,
            "problem" => self.is_problem = is_yes()?,
            "verdict" => {
                self.verdict = Some(match line.value {
                    "passed" => Verdict::Passed,
                    "failed" => Verdict::Failed,
                    "assumed" => Verdict::Assumed,
                    "none" => Verdict::Untold,
                    _ => return Err(line.error("expected `passed`, `failed`, `assumed` or `none`")),
                });
            }
            "example" => {
                let example = line.value.rsplit_once(" => ");
                let (line, expected) = example.ok_or_else(|| line.error("` => ` is missing"))?;
                self.examples.push(Example { line, expected });
            }
            _ => return Err(line.unknown_key()),
        }
        Ok(())
    }

    /// A text that stands in every line that the rule is about.
    fn unanchored_text(&self) -> Option<&'static str> {
        let pattern = || self.patterns.iter().find_map(LinePattern::text);
        self.has.first().or(self.ends.first()).copied().or_else(pattern)
    }
}

impl Count {
    fn parse(line: &DataLine) -> Result<Self, DataError> {
        if let Some(words) = line.value.strip_prefix("{n}") {
            Ok(Self::Before(words))
        } else if let Some(words) = line.value.strip_suffix("{n}") {
            Ok(Self::After(words.trim_end()))
        } else {
            Err(line.error("expected {n} with text before or after it"))
        }
    }
}

impl Rules {
    fn new(rules: Vec<LineRule>) -> Self {
        let mut by_first_byte = vec![Vec::new(); 256];
        let mut unanchored = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            let first: Option<Vec<Vec<u8>>> = rule.patterns.iter().map(LinePattern::first_bytes).collect();
            match first.filter(|first| !first.is_empty()) {
                Some(first) => {
                    let mut first = first.concat();
                    first.sort_unstable();
                    first.dedup();
                    first.iter().for_each(|byte| by_first_byte[usize::from(*byte)].push(index));
                }
                None => unanchored.push(index),
            }
        }
        let texts: Vec<&str> =
            unanchored.iter().filter_map(|index| rules[*index].unanchored_text()).collect();
        let unanchored_texts = AnyOf::new(&texts);
        Self { by_first_byte, unanchored, unanchored_texts, rules }
    }
}
