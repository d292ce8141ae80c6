//! Reads plans, issue texts and the summaries of other programs: what they are about is said by their title and their demands.

use std::ops::Range;
use std::sync::LazyLock;

use longhaul_text::{LazyPhrases, Unit, UnitKind, WordSet, Words, split_units};

use super::sentences::{LONGEST_REQUEST, RankedSentence, choose_sentences, count_words, shorten};
use super::wishes::asks_outright;
use crate::languages::{patterns, substrings, words};
use crate::rules::Substrings;
use crate::typed::{Said, said_units};

/// The beginning of a document that tells what it is about.
const LONGEST_DOCUMENT: usize = 6_000;

/// A first line of more characters than this is no title.
const LONGEST_TITLE: usize = 150;

/// Below its title an issue text has at least so many characters.
const SHORTEST_BODY: usize = 200;

/// Words of demands in a text that describes a problem or a plan.
static DEMANDS: LazyPhrases = LazyLock::new(|| patterns("demands"));
static WIDE_DEMANDS: Substrings = LazyLock::new(|| substrings("demands"));

/// Words of headings that say what a document is for.
static PURPOSES: WordSet = WordSet::new(|| words("purpose-headings").collect());
static WIDE_PURPOSES: Substrings = LazyLock::new(|| substrings("purpose-headings"));

/// Titles that say nothing: "Plan", "Description".
static EMPTY_TITLES: WordSet = WordSet::new(|| words("empty-titles").collect());

/// The title and the demands of a typed text, if that is a plan or an issue text.
pub(super) fn read_document(text: &str) -> Option<String> {
    let beginning = shorten(text, LONGEST_DOCUMENT);
    // Most messages have one line and no room for a title.
    if beginning.len() < SHORTEST_BODY / 2 || !beginning.trim().contains('\n') {
        return None;
    }
    let units = split_units(beginning);
    let mut said = said_units(beginning, &units);
    let comments = comments_in(beginning);
    said.retain(|said| !comments.iter().any(|comment| comment.contains(&said.unit.start)));
    let (title, body) = title_of(beginning, &said)?;
    let ranked = rank_body(&said[body..]);
    let title = RankedSentence { unit: Unit { kind: UnitKind::Heading, ..title }, rank: 0 };
    let sentences: Vec<RankedSentence<'_>> = std::iter::once(title).chain(ranked).collect();
    Some(choose_sentences(&sentences, LONGEST_REQUEST))
}

/// The comments of a template, which ask the writer for something.
fn comments_in(text: &str) -> Vec<Range<usize>> {
    let starts = text.match_indices("<!--").map(|(start, _)| start);
    starts.map(|start| start..text[start..].find("-->").map_or(text.len(), |length| start + length)).collect()
}

/// The title of a document and the place of the first unit behind it.
fn title_of<'t>(text: &str, said: &[Said<'t>]) -> Option<(Unit<'t>, usize)> {
    let is_heading = |said: &Said<'_>| said.unit.kind == UnitKind::Heading && !is_empty_title(said);
    let first = said.first()?;
    // A plan stands behind a line that hands it over, or begins with its heading.
    let lead = usize::from(first.unit.text.ends_with([':', '：']) && first.unit.kind != UnitKind::Heading);
    let heading = said.iter().take(lead + 2).position(is_heading);
    if let Some(place) = heading.filter(|place| *place == 0 || lead > 0 && *place <= lead + 1) {
        return (said.len() > place + 1).then_some((said[place].unit, place + 1));
    }
    // An issue text has its title in its first line.
    let line = text.trim_start().lines().next()?.trim_end();
    let place = said.iter().position(|said| said.unit.text == line)?;
    let has_body = text.len() - line.len() >= SHORTEST_BODY && said.len() > place + 2;
    let is_title = place == 0
        && line.chars().count() <= LONGEST_TITLE
        && count_words(line) >= 3
        && !line.ends_with(['.', '!', ':', ',', ';', '。', '：', '，', '！']);
    (is_title && has_body).then_some((said[place].unit, place + 1))
}

fn is_empty_title(said: &Said<'_>) -> bool {
    said.words.texts().all(|word| EMPTY_TITLES.has(word)) && !said.words.has_wide()
}

/// The sentences below a title: demands first, then how the text begins. Where a part of it says what it is for, the others are
/// detail.
fn rank_body<'t>(said: &[Said<'t>]) -> Vec<RankedSentence<'t>> {
    let purpose = said.iter().position(|said| said.unit.kind == UnitKind::Heading && is_purpose(said));
    let from = purpose.map_or(0, |place| place + 1);
    let rest = &said[from..];
    let section = rest.iter().position(|said| said.unit.kind == UnitKind::Heading).unwrap_or(rest.len());
    let is_useful = section > 0 && (purpose.is_some() || section > 1);
    let part = if is_useful { &rest[..section] } else { rest };
    let is_sentence = |said: &&Said<'t>| {
        matches!(said.unit.kind, UnitKind::Sentence | UnitKind::Item { .. }) && says_something(said)
    };
    let sentences = part.iter().filter(is_sentence).enumerate();
    let ranked = sentences.map(|(nth, said)| {
        let rank = if demands(said) {
            1
        } else if nth < 2 {
            2
        } else if nth < 6 {
            3
        } else {
            4
        };
        RankedSentence { unit: said.unit, rank }
    });
    ranked.filter(|sentence| sentence.rank < 4).collect()
}

fn is_purpose(said: &Said<'_>) -> bool {
    said.words.texts().any(|word| PURPOSES.has(word))
        || !said.unit.text.is_ascii() && WIDE_PURPOSES.iter().any(|word| said.unit.text.contains(word))
}

/// Returns true if a sentence has some words of its own; "Description" and "(last modified by …)" have not.
fn says_something(said: &&Said<'_>) -> bool {
    count_words(said.unit.text) >= 4 && !said.unit.text.starts_with(['(', '<', '['])
}

fn demands(said: &Said<'_>) -> bool {
    let Said { unit, words, .. } = said;
    !unit.text.ends_with(['?', '？'])
        && (DEMANDS.fit(words)
            || !unit.text.is_ascii() && WIDE_DEMANDS.iter().any(|demand| unit.text.contains(demand))
            || words.orders().next() == Some(0) && asks_outright(said))
}

/// Headings under which the summaries of other programs state what the user wants.
static STATED_GOALS: LazyPhrases = LazyLock::new(|| patterns("stated-goals"));

/// What the summary of another program says that the user wants.
pub(super) fn read_stated_goal(summary: &str) -> Option<String> {
    let units = split_units(shorten(summary, 4 * LONGEST_DOCUMENT));
    let is_goal = |unit: &Unit<'_>| {
        let (label, _) = unit.text.split_once(':').unwrap_or((unit.text, ""));
        label.len() < 60 && STATED_GOALS.fit(&Words::of(label))
    };
    // A summary may think aloud first and state it below.
    let place = units.iter().rposition(is_goal)?;
    let own = units[place].text.split_once(':').map_or("", |(_, rest)| rest.trim_matches([' ', '*']));
    let own = (count_words(own) >= 4).then(|| Unit { text: own, kind: UnitKind::Sentence, ..units[place] });
    let is_label = |unit: &Unit<'_>| {
        unit.kind == UnitKind::Heading
            || unit.text.trim_end_matches('*').ends_with(':') && count_words(unit.text) <= 7
    };
    let below = units[place + 1..].iter().take_while(|unit| !is_label(unit));
    let sentences = own.into_iter().chain(below.copied().filter(|unit| {
        matches!(unit.kind, UnitKind::Sentence | UnitKind::Item { .. }) && count_words(unit.text) >= 4
    }));
    let ranked: Vec<RankedSentence<'_>> =
        sentences.take(8).zip(0..).map(|(unit, rank)| RankedSentence { unit, rank }).collect();
    (!ranked.is_empty()).then(|| choose_sentences(&ranked, LONGEST_REQUEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(read_document(text).as_deref(), Some(expected));
    }

    #[test]
    fn a_plan_is_its_title_and_its_demands() {
        check(
            "Implement the following plan:\n\n# Plan: Retry uploads\n\n## Context\n\nUploads fail on slow lines. The user wants \
             them to be tried three times. The retry code is old.\n\n## Steps\n\n1. Edit `src/upload.rs`\n2. Add a test\n\n\
             ## Files\n\n- src/upload.rs\n",
            "Plan: Retry uploads — Uploads fail on slow lines. The user wants them to be tried three times. The retry code is old.",
        );
        check(
            "请实现以下计划：\n\n# 计划：导出为 CSV\n\n## 背景\n\n当前报表只能看，不能下载。需要在报表页面增加导出按钮。\n\n## 步骤\n\n\
             1. 新增按钮\n2. 写接口\n3. 加测试，并且更新文档\n",
            "计划：导出为 CSV — 当前报表只能看，不能下载。 需要在报表页面增加导出按钮。",
        );
    }

    #[test]
    fn an_issue_text_is_its_title_and_its_demands() {
        let noise =
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nValueError: bad\n"
                .repeat(3);
        check(
            &format!(
                "Parser drops the last row of a table\nDescription\n\nA table without a final line break loses its last row. We \
                 saw it with the file of May.\n{noise}\nThe last row should be kept in every case.\n"
            ),
            "Parser drops the last row of a table — A table without a final line break loses its last row. We saw it with the \
             file of May. The last row should be kept in every case.",
        );
        check(
            "Time zones of half an hour are rounded\n\nOffsets such as +05:30 lose their minutes when they are printed. They \
             should be printed in full, as the standard says, in every locale that the package has, and read back without a \
             loss. Other offsets are fine.\n",
            "Time zones of half an hour are rounded — Offsets such as +05:30 lose their minutes when they are printed. They \
             should be printed in full, as the standard says, in every locale that the package has, and read back without a \
             loss. Other offsets are fine.",
        );
    }

    #[test]
    fn what_is_typed_in_conversation_is_no_document() {
        for text in [
            "Fix the parser.",
            "ok, and now?\nmake it blue",
            "can you look at this:\n```\nlet x = 1;\n```\nit fails",
        ] {
            assert_eq!(read_document(text), None);
        }
    }

    #[test]
    fn a_summary_states_the_goal() {
        let summary = "This session is being continued from a previous conversation.\n\nAnalysis:\nLet me see.\n\nSummary:\n\
                       1. Primary Request and Intent:\n   The user wants the importer to accept CSV files. They asked for tests, \
                       too.\n\n2. Key Technical Concepts:\n   - Rust\n";
        assert_eq!(
            read_stated_goal(summary).as_deref(),
            Some("The user wants the importer to accept CSV files. They asked for tests, too.")
        );
        let short = "## Goal\nMove the jobs to the new queue without downtime.\n\n## Progress\n- two of five";
        assert_eq!(
            read_stated_goal(short).as_deref(),
            Some("Move the jobs to the new queue without downtime.")
        );
        assert_eq!(read_stated_goal("Nothing of the kind."), None);
    }
}
