//! Tells what may be quoted: whole statements, never pieces of code, echoes of calls or what tools say each time.

use std::sync::LazyLock;

use longhaul_text::{AnyOf, Unit, UnitKind, count_plain_words, data_lines, is_wide};
use serde::{Deserialize, Serialize};

use super::paths::found_in_file;

/// The form of a line, which decides whether it may be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A whole statement of an answer that ends a turn.
    Conclusion,
    /// A whole statement of the model beside its calls.
    Remark,
    /// A whole statement of the model, thinking.
    Thought,
    /// A whole statement of a report that a tool returned: a page's, a manual's.
    Report,
    /// A whole statement of another agent's report.
    Delegated,
    /// A row of a table.
    Row,
    /// A line of output that tells of trouble or of a value.
    Notice,
    /// The user's answer to a question that a tool asked.
    Answer,
    /// A line of an earlier snapshot.
    Kept,
    /// A whole statement that the model wrote down in a call: a plan, a document, the message of a commit.
    Written,
    /// A change of a file, on one line.
    Change,
    /// A statement of the user's, who has a place of their own in a snapshot, in which a long text is shortened.
    Typed,
    /// A short output or a statement of a file, quoted where there is room to spare.
    Shown,
    /// Code, output, arguments: only the names in it count.
    Code,
}

impl Form {
    /// Returns true if a line of this form may be quoted.
    pub(crate) fn is_quotable(self) -> bool {
        self != Self::Code
    }
}

/// A longer statement is too long to be quoted whole.
const LONGEST: usize = 700;
/// A shorter one says nothing by itself.
const SHORTEST: usize = 24;
/// A sentence up to this length that ends with a colon leads into what follows.
const LEAD: usize = 160;
/// A heading up to this length leads into what follows.
const HEADING: usize = 60;

/// A list up to this length stays together behind what leads into it.
const LIST: usize = 420;
/// Items up to this length say little by themselves and stand together.
const SHORT_ITEM: usize = 60;
/// A block of so many lines and bytes is part of the sentence that leads into it, unless it is a program's code.
const BLOCK: (usize, usize) = (8, 300);

/// Calls `found` with each statement of a prose, whole; code is handed to `code`, block by block.
pub(crate) fn each_statement(
    units: &[Unit<'_>],
    found: &mut impl FnMut(&str, Shape),
    code: &mut impl FnMut(&str),
) {
    let mut lead = String::new();
    let mut rest = units;
    while let [Unit { text, kind, .. }, behind @ ..] = rest {
        rest = behind;
        match kind {
            UnitKind::Code | UnitKind::Quote => {
                match short_block(text).filter(|_| !lead.is_empty()) {
                    Some(block) => found(&format!("{} {block}", std::mem::take(&mut lead)), Shape::Sentence),
                    None => flush(&mut lead, code),
                }
                code(text);
            }
            UnitKind::Heading => {
                flush(&mut lead, code);
                let heading = plain(text);
                let heading = heading.trim_matches(['*', ':', '#', ' ']);
                if heading.len() <= HEADING {
                    lead = format!("{heading}:");
                } else {
                    found(heading, Shape::Sentence);
                }
            }
            UnitKind::Row => {
                // The head of a table says nothing without its rows.
                let is_head =
                    behind.first().is_some_and(|next| next.kind == UnitKind::Row && is_ruler(next.text));
                if is_head {
                    code(text);
                } else if !is_ruler(text) {
                    found(&plain(text), Shape::Row);
                }
            }
            UnitKind::Sentence | UnitKind::Item { .. } => {
                let mut text = plain(text);
                if names_only_a_file(&text) {
                    flush(&mut lead, code);
                    code(&text);
                    continue;
                }
                if text.len() <= LEAD && text.ends_with([':', '：']) {
                    flush(&mut lead, code);
                    lead = text;
                    continue;
                }
                let is_short_item = text.len() <= SHORT_ITEM;
                let is_led = !lead.is_empty();
                if is_led {
                    text = format!("{} {text}", std::mem::take(&mut lead));
                }
                if matches!(kind, UnitKind::Item { .. }) && (is_led || is_short_item) {
                    rest = take_list(&mut text, rest);
                }
                found(&text, Shape::Sentence);
            }
        }
    }
    flush(&mut lead, code);
}

/// Returns true if a row of a table only parts its head from the rest.
fn is_ruler(row: &str) -> bool {
    row.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'='))
}

/// Adds the items that follow to the first one, if the whole list is short. Returns the units behind it.
fn take_list<'u, 't>(text: &mut String, rest: &'u [Unit<'t>]) -> &'u [Unit<'t>] {
    let items = rest.iter().take_while(|unit| matches!(unit.kind, UnitKind::Item { .. })).count();
    let (list, behind) = rest.split_at(items);
    if text.len() + list.iter().map(|item| item.text.len() + 2).sum::<usize>() > LIST {
        return rest;
    }
    for item in list {
        text.push_str("; ");
        text.push_str(&plain(item.text));
    }
    behind
}

/// A short block of output, commands or folders as it is named in a sentence, line by line.
fn short_block(block: &str) -> Option<String> {
    let mut lines = block.lines();
    let language = lines.next()?.trim_start().strip_prefix("```")?.trim();
    let is_text =
        ["", "text", "txt", "bash", "sh", "shell", "console", "plaintext", "http"].contains(&language);
    let lines: Vec<&str> =
        lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("```")).collect();
    let size: usize = lines.iter().map(|line| line.len() + 4).sum();
    let is_short = is_text && (1..=BLOCK.0).contains(&lines.len()) && size <= BLOCK.1;
    let is_quotable = is_short && lines.iter().all(|line| !line.contains('`') && is_balanced(line));
    is_quotable.then(|| lines.iter().map(|line| format!("`{line}`")).collect::<Vec<_>>().join("; "))
}

fn flush(lead: &mut String, code: &mut impl FnMut(&str)) {
    if !lead.is_empty() {
        code(lead);
        lead.clear();
    }
}

/// The shape of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Sentence,
    Row,
}

/// A text on one line, with single spaces, without bold signs and with each link named once.
fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if text.matches("**").count().is_multiple_of(2) { text.replace("**", "") } else { text };
    plain_links(&text)
}

/// Writes `[name](target)` as the one of both that tells more, or as both.
fn plain_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (before, link) = rest.split_at(open);
        out.push_str(before);
        let Some((name, target, behind)) = split_link(link) else {
            out.push('[');
            rest = &link[1..];
            continue;
        };
        let bare = target.rsplit_once(':').filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()));
        let bare = bare.map_or(target, |(path, _)| path);
        let name_of_file = name.trim_matches('`');
        if bare.ends_with(name_of_file) && !bare.contains("://") {
            out.push_str(target);
        } else if bare.ends_with(name.trim_start_matches(['#', '!'])) {
            out.push_str(name);
        } else {
            out.push_str(&format!("{name} ({target})"));
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The name and the target of a link at the beginning of a text, and what stands behind it.
fn split_link(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (target, behind) = rest.split_once(')')?;
    let is_link =
        !name.is_empty() && !name.contains(['[', ']']) && !target.is_empty() && !target.contains(' ');
    is_link.then_some((name, target, behind))
}

/// Returns true if a text is the name of a file, as it stands above a block of its code.
pub(crate) fn names_only_a_file(text: &str) -> bool {
    let name = text.trim_end_matches(':').trim_matches(['*', '`']);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    (3..=120).contains(&name.len())
        && (1..=6).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !name.contains(|sign: char| sign.is_whitespace() || "()[]{},;".contains(sign))
}

/// A sentence of the model's without the opening that only says that it looks: `Now I can see that`. The rest stays as it is.
pub(crate) fn without_opening(text: &str) -> &str {
    static OPENINGS: LazyLock<Vec<&str>> =
        LazyLock::new(|| data_lines(include_str!("../data/openings.txt")).collect());
    let mut rest = text;
    loop {
        let lower: String =
            rest.chars().take(48).flat_map(char::to_lowercase).collect::<String>().replace('’', "'");
        let opening = OPENINGS.iter().find(|opening| {
            lower.strip_prefix(**opening).is_some_and(|behind| {
                // `Good catch` is no opening, `Good. It works` has one.
                let is_apart = opening.contains(' ') || !behind.starts_with(' ');
                !opening.is_ascii()
                    || is_apart && !behind.starts_with(|next: char| next.is_alphanumeric() || next == '\'')
            })
        });
        let Some(opening) = opening else { return rest };
        let behind = rest.char_indices().nth(opening.chars().count()).map_or("", |(place, _)| &rest[place..]);
        let behind =
            behind.trim_start_matches([' ', ',', ':', '-', '–', '—', '!', '.', '，', '：', '。', '！']);
        if behind.len() < SHORTEST {
            return rest;
        }
        rest = behind;
    }
}

/// Returns true if a text names a value and says what it is: `Commit: 708128ee`, `PR: https://…`.
fn is_labelled_value(text: &str) -> bool {
    let Some((label, value)) = text.split_once([':', '：', '=', '—', '→']) else { return false };
    let value = value.trim();
    (2..=40).contains(&label.trim().len())
        && label.contains(char::is_alphanumeric)
        && value.len() >= 3
        && (value.bytes().any(|byte| byte.is_ascii_digit()) || value.contains(['`', '/']))
}

/// Returns true if a statement can be quoted: it is whole, says something, and is no code.
pub(crate) fn says_something(text: &str) -> bool {
    let is_said = text.len() >= SHORTEST && count_words(text, 4) >= 4;
    text.len() <= LONGEST
        && !text.starts_with([',', ';', '.', ')', ':'])
        && !text.ends_with([':', '：', ',', '，'])
        && (is_said || is_labelled_value(text))
        && is_balanced(text)
        && !is_boilerplate(text)
        && !has_line_numbers(text)
        && !looks_like_code(text)
}

/// The number of words of a text, at most `most`; two wide characters count as one.
pub(crate) fn count_words(text: &str, most: usize) -> usize {
    let plain = count_plain_words(text, most);
    if plain >= most || text.is_ascii() {
        return plain;
    }
    // Letters of other alphabets: words are parted by spaces, wide characters stand for half a word each.
    let wide = text.chars().filter(|sign| is_wide(*sign)).count() / 2;
    let other = text
        .split_whitespace()
        .filter(|word| !word.is_ascii() && word.chars().any(|sign| sign.is_alphabetic() && !is_wide(sign)))
        .count();
    (plain + wide + other).min(most)
}

/// Returns true if everything that is opened is closed again: brackets, code and bold signs.
pub(crate) fn is_balanced(text: &str) -> bool {
    if text.matches('`').count() % 2 == 1 || text.matches("**").count() % 2 == 1 {
        return false;
    }
    let mut open: Vec<char> = Vec::new();
    for (at, sign) in text.char_indices() {
        match sign {
            '(' | '[' | '{' | '（' | '「' => open.push(sign),
            ')' | ']' | '}' | '）' | '」' => {
                let opens = match sign {
                    ')' => '(',
                    ']' => '[',
                    '}' => '{',
                    '）' => '（',
                    _ => '「',
                };
                if open.last() == Some(&opens) {
                    open.pop();
                } else if !(sign == ')' && at <= 3) {
                    // `1)` and `a)` number an item.
                    return false;
                }
            }
            _ => {}
        }
    }
    open.is_empty()
}

/// Returns true if a line is more signs of code than words.
fn looks_like_code(text: &str) -> bool {
    let bare = text.trim_end();
    if bare.ends_with(['{', ';', '\\']) || bare.starts_with(['{', '}', '<', '+', '$', '@', '=']) {
        return true;
    }
    // Code in backticks is named, not quoted.
    let outside: usize = text
        .split('`')
        .step_by(2)
        .map(|piece| piece.bytes().filter(|byte| CODE_SIGNS.contains(byte)).count())
        .sum();
    outside * 12 > text.len()
}

const CODE_SIGNS: &[u8] = b"{};=<>|$&\\\"";

/// Returns true for lines of a file joined with the numbers that a tool put before them: `1→ use a; 2→ use b;`.
fn has_line_numbers(text: &str) -> bool {
    text.match_indices('→').any(|(at, arrow)| {
        text[..at].ends_with(|sign: char| sign.is_ascii_digit())
            && text[at + arrow.len()..].starts_with(char::is_whitespace)
    })
}

/// Returns true if a line is what a tool or an agent adds to every answer.
pub(crate) fn is_boilerplate(text: &str) -> bool {
    static BOILERPLATE: LazyLock<AnyOf> = LazyLock::new(|| any_of(include_str!("../data/boilerplate.txt")));
    BOILERPLATE.is_in(text) || text.trim_start().starts_with("The file ") && text.contains(" has been ")
}

/// Returns true if a line of output tells of trouble.
pub(crate) fn tells_of_trouble(lower: &str) -> bool {
    static TROUBLE: LazyLock<AnyOf> = LazyLock::new(|| any_of(include_str!("../data/trouble.txt")));
    TROUBLE.is_in(lower)
}

/// Returns true if a line of output begins as trouble does.
pub(crate) fn is_trouble(lower: &str) -> bool {
    const BEGINNINGS: [&str; 14] = [
        "error:",
        "error[",
        "error ",
        "fatal:",
        "failed",
        "failure",
        "panicked",
        "exception",
        "traceback",
        "denied",
        "错误",
        "失败",
        "エラー",
        "失敗",
    ];
    BEGINNINGS.iter().any(|word| lower.contains(word))
}

/// Returns true if a statement says what was found, decided or tried, or why.
pub(crate) fn is_finding(lower: &str) -> bool {
    static FINDINGS: LazyLock<AnyOf> = LazyLock::new(|| any_of(include_str!("../data/findings.txt")));
    FINDINGS.is_in(lower)
}

/// Returns true if a sentence only says that something goes on.
pub(crate) fn is_progress(lower: &str) -> bool {
    static PROGRESS: LazyLock<AnyOf> = LazyLock::new(|| any_of(include_str!("../data/progress.txt")));
    PROGRESS.is_in(lower)
}

/// Returns true if a sentence only announces the next step, or asks back.
pub(crate) fn is_intention(lower: &str) -> bool {
    let lower = &*lower.replace('’', "'");
    static INTENTIONS: LazyLock<Vec<&str>> =
        LazyLock::new(|| data_lines(include_str!("../data/intentions.txt")).collect());
    INTENTIONS.iter().any(|intention| {
        let rest = lower.trim_start_matches(['*', '_', '"']).strip_prefix(intention);
        // Words of languages without spaces end anywhere.
        rest.is_some_and(|rest| {
            !intention.is_ascii() || !rest.starts_with(|next: char| next.is_alphanumeric())
        })
    })
}

fn any_of(list: &'static str) -> AnyOf {
    AnyOf::new(&data_lines(list).collect::<Vec<_>>())
}

/// Returns true if a line lists a file with its mode: `-rw-r--r-- 1 me …`.
pub(crate) fn is_listing_row(line: &str) -> bool {
    let mode = line.split(' ').next().unwrap_or_default();
    line.starts_with("total ")
        || mode.len() >= 10
            && mode.starts_with(['d', '-', 'l'])
            && mode.bytes().skip(1).take(9).all(|byte| b"rwxsStT-".contains(&byte))
}

/// Returns true if an output is a report in prose rather than code or a log.
pub(crate) fn is_report(text: &str) -> bool {
    const LOOKED_AT: usize = 60;
    let mut is_in_code = false;
    let outside = text.lines().map(str::trim).filter(|line| {
        let is_fence = line.starts_with("```");
        is_in_code ^= is_fence;
        line.len() > 3 && !is_fence && !is_in_code
    });
    let (mut prose, mut all) = (0, 0);
    for line in outside.take(LOOKED_AT) {
        all += 1;
        // An option in the help of a program is explained to everybody.
        let is_option = line.starts_with("--") || line.starts_with('-') && line.contains(", --");
        if is_option || is_listing_row(line) || found_in_file(line).is_some() {
            continue;
        }
        let is_listed =
            line.starts_with(['-', '*', '#', '•']) || line.ends_with(['.', ':', '!', '?', '。', '：']);
        prose += usize::from(is_listed && count_words(line, 4) >= 4 && !looks_like_code(line));
    }
    all >= 2 && prose * 5 >= all * 2
}

#[cfg(test)]
mod tests {
    use longhaul_text::split_units;

    use super::*;

    #[test]
    fn pieces_of_code_and_boilerplate_are_never_quoted() {
        for text in [
            "useEffect(() => { const params = new URLSearchParams(window.location.search);",
            "The file src/App.tsx has been updated successfully.",
            "The file src/retry.rs has been updated.",
            "Retry { after: Duration }, 9→ /// Error number 8: what went wrong",
            "return String(t).split(NEWLINE).join",
            "if (path.length <= maxLen) return path; const parts = path.split;",
            "and the rest (see the list below",
            "Done.",
        ] {
            assert!(!says_something(text), "{text}");
        }
        for text in [
            "The upload fails because `retry_count` is never read (see `upload()`).",
            "1) The parser drops the last line of every file.",
            "分组视图的按钮不是同一个组件，它们的行为不同。",
            "Ошибка возникает потому, что файл пуст и никто его не проверяет.",
        ] {
            assert!(says_something(text), "{text}");
        }
    }

    #[test]
    fn what_only_announces_the_next_step_is_told() {
        for text in
            ["let me look at the parser first.", "now the tests.", "接下来修改配置", "**now update it**"]
        {
            assert!(is_intention(text), "{text}");
        }
        assert!(is_progress("the agent is still working at seven minutes."));
        assert!(!is_intention("nowhere else is it used.") && !is_intention("letters are kept."));
    }

    #[test]
    fn leads_and_headings_stand_before_what_they_lead_to() {
        let text = "## Root cause\nThe cache is never cleared.\n\nChanges made:\n- `a.rs`: clears it\n- `b.rs`: tests it\n\n```rust\nfn x() {}\n```\n";
        let (mut found, mut code) = (Vec::new(), Vec::new());
        each_statement(&split_units(text), &mut |text, _| found.push(text.to_string()), &mut |text| {
            code.push(text.to_string());
        });
        assert_eq!(
            found,
            ["Root cause: The cache is never cleared.", "Changes made: `a.rs`: clears it; `b.rs`: tests it"]
        );
        assert_eq!(code.len(), 1);
    }

    /// The statements of a text.
    fn statements(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_statement(&split_units(text), &mut |text, _| found.push(text.to_string()), &mut |_| {});
        found
    }

    #[test]
    fn values_stay_with_their_labels_and_short_blocks_with_their_sentence() {
        assert_eq!(
            statements("Done.\n\n- **Branch:** `docs/or`\n- **PR:** https://example.org/pull/15\n"),
            ["Done.", "Branch: `docs/or`; PR: https://example.org/pull/15"]
        );
        assert!(says_something("PR: https://example.org/pull/15") && !says_something("Result: fine"));
        assert!(
            says_something("#324 — 124d — discard")
                && !says_something("explicitly replaced by another path,")
        );
        assert_eq!(
            statements("| file | what |\n| --- | --- |\n| a.rs | reads the list |\n"),
            ["| a.rs | reads the list |"]
        );
        assert_eq!(
            statements("The layout will be:\n\n```text\nout/<run>/\nout/default/\n```\n"),
            ["The layout will be: `out/<run>/`; `out/default/`"]
        );
        assert_eq!(statements("The code is:\n\n```rust\nfn x() {\n```\n"), Vec::<String>::new());
    }

    #[test]
    fn links_are_named_once() {
        for (text, expected) in [
            ("See [cli.ts](/app/src/cli.ts:42) for it.", "See /app/src/cli.ts:42 for it."),
            ("[#950](https://example.org/issues/950) stays", "#950 stays"),
            ("the [guide](https://example.org/a)", "the guide (https://example.org/a)"),
            ("a list [1] and **bold** text", "a list [1] and bold text"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn reports_are_told_from_code_and_logs() {
        let report = "I looked at the three modules.\n\n- The parser reads each file twice, which is slow.\n- The writer never flushes its buffer at the end.\n";
        assert!(is_report(report));
        assert!(!is_report("fn main() {\n    run();\n}\n\nfn run() {\n    println!(\"x\");\n}\n"));
        assert!(!is_report("src/a.rs\nsrc/b.rs\nsrc/c.rs\nREADME.md\n"));
    }
}
