//! Lines that no reader can use: code cut out of its middle, echoes of calls, boilerplate of tools, listings.
//!
//! It judges snapshots of any writer, so it knows nothing of how they are made: only the lines, and the calls of the
//! history they stand for.

use std::collections::BTreeSet;

use longhaul_conversation::Message;
use serde_json::Value;

use crate::score::KeptShare;

/// The kinds of junk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum JunkKind {
    /// A tool's name and arguments, written down as text: `Bash command git status description …`.
    Echo,
    /// A sentence that a tool or a host writes every time.
    Boilerplate,
    /// Rows of a folder, a tree or a table of files.
    Listing,
    /// Code with its line numbers.
    NumberedCode,
    /// A bracket that is not closed, or not opened.
    Unbalanced,
}

/// The lines of a snapshot, and how many are junk of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JunkCount {
    pub(crate) lines: usize,
    kinds: [usize; JunkKind::ALL.len()],
}

impl JunkKind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Echo, Self::Boilerplate, Self::Listing, Self::NumberedCode, Self::Unbalanced];
}

impl JunkCount {
    /// The share of lines that are junk of one kind.
    pub(crate) fn of_kind(&self, kind: JunkKind) -> KeptShare {
        KeptShare { kept: self.kinds[kind as usize], of: self.lines }
    }

    /// The share of lines that are junk.
    pub(crate) fn all(&self) -> KeptShare {
        KeptShare { kept: self.kinds.iter().sum(), of: self.lines }
    }
}

impl std::ops::AddAssign for JunkCount {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.kinds.iter_mut().zip(other.kinds).for_each(|(sum, count)| *sum += count);
    }
}

/// A detector of junk, with the calls of one history.
#[derive(Debug, Default)]
pub(crate) struct JunkDetector {
    /// A tool's name and the name of an argument: `Bash command`.
    echoes: BTreeSet<String>,
}

impl JunkDetector {
    /// A detector that knows the calls of `history`.
    pub(crate) fn new(history: &[Message]) -> Self {
        let mut echoes = BTreeSet::new();
        for call in history.iter().flat_map(Message::calls) {
            let keys = call.args.as_object().into_iter().flat_map(serde_json::Map::keys);
            echoes.extend(keys.map(|key| format!("{} {key}", call.name)));
        }
        Self { echoes }
    }

    /// Counts the lines of a text that say something, and those of them that are junk. A line counts for one kind.
    pub(crate) fn count(&self, text: &str) -> JunkCount {
        let mut count = JunkCount::default();
        let mut is_fenced = false;
        for line in text.lines().map(content) {
            if line.starts_with("```") {
                is_fenced = !is_fenced;
            }
            if line.starts_with("```") || is_tag(line) || !line.contains(char::is_alphanumeric) {
                continue;
            }
            count.lines += 1;
            // A fenced block is code as a whole; its brackets need not close on one line.
            let kind = self.kind_of(line).filter(|kind| !is_fenced || *kind != JunkKind::Unbalanced);
            if let Some(kind) = kind {
                count.kinds[kind as usize] += 1;
            }
        }
        count
    }

    fn kind_of(&self, line: &str) -> Option<JunkKind> {
        JunkKind::ALL.into_iter().find(|kind| match kind {
            JunkKind::Echo => self.is_echo(line),
            JunkKind::Boilerplate => is_boilerplate(line),
            JunkKind::Listing => is_listing(line),
            JunkKind::NumberedCode => is_numbered_code(line),
            JunkKind::Unbalanced => !is_balanced(line),
        })
    }

    /// Returns true for the arguments of a call as text, or as an object of JSON.
    fn is_echo(&self, line: &str) -> bool {
        let is_object = || {
            serde_json::from_str::<Value>(line).is_ok_and(|value| {
                let named = |key: &str| self.echoes.iter().any(|echo| echo.split(' ').nth(1) == Some(key));
                value.as_object().is_some_and(|fields| fields.keys().any(|key| named(key)))
            })
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(2).any(|pair| self.echoes.contains(&pair.join(" ")))
            || line.starts_with('{') && is_object()
    }
}

/// The line without its message number and list mark.
fn content(line: &str) -> &str {
    let line = line.trim();
    let numbered = line.strip_prefix("[m").and_then(|rest| rest.split_once(']'));
    let line = match numbered {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest.trim_start(),
        _ => line,
    };
    ["- ", "* ", "• "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

/// Returns true for a line that is one tag and nothing else.
fn is_tag(line: &str) -> bool {
    line.strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .is_some_and(|inner| !inner.contains(['<', '>']) && inner.len() < 80)
}

/// Starts of sentences that tools and hosts write every time, in lower case.
const STARTS: [&str; 22] = [
    "the file ",
    "file created successfully at",
    "file written successfully",
    "successfully created and wrote to",
    "successfully overwrote file",
    "successfully modified file",
    "successfully wrote to",
    "successfully replaced",
    "wrote file successfully",
    "edit applied successfully",
    "success. updated the following files",
    "todos have been modified successfully",
    "command completed with no output",
    "your command ran successfully and did not produce any output",
    "process exited with code 0",
    "original token count:",
    "chunk id:",
    "wall time:",
    "tool ran without output",
    "tool execution completed",
    "<system-reminder>",
    "whenever you read a file, you should consider",
];

/// Parts of such sentences, in lower case, that say so wherever they stand.
const INSIDE: [&str; 10] = [
    "system-reminder>",
    "system-reminder›",
    "here's the result of running `cat -n` on",
    "review the changes and make sure they are as expected",
    "ensure that you continue to use the todo list",
    "please proceed with the current tasks if applicable",
    "[the command completed with exit code 0",
    "[python interpreter:",
    "wall time:",
    "<usage>total_tokens",
];

/// Ends of sentences that start with `the file`, in lower case.
const UPDATED: [&str; 6] = [
    " has been updated",
    " has been edited",
    " has been created",
    " has been written",
    " was updated successfully",
    " state is current in your context",
];

fn is_boilerplate(line: &str) -> bool {
    let lower = line.to_lowercase();
    let start = STARTS.iter().find(|start| lower.starts_with(**start));
    match start {
        Some(&"the file ") => UPDATED.iter().any(|end| lower.contains(end)),
        Some(_) => true,
        None => INSIDE.iter().any(|part| lower.contains(part)),
    }
}

/// The most plain words in a row of a listing.
const LISTED: usize = 6;

fn is_listing(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_mode = first.len() >= 10
        && first.starts_with(['d', '-', 'l'])
        && first.bytes().skip(1).take(9).all(|byte| b"rwxsStT-".contains(&byte));
    let is_tree = line.contains("├──") || line.contains("└──");
    let is_total = line.strip_prefix("total ").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    // A card separates its names; a listing has them one after the other.
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_file = |word: &&&str| word.contains(['.', '/']) && !word.ends_with(['.', ',', ':', ';', ')']);
    let is_row = words.len() >= LISTED
        && !line.contains([',', ';', '`'])
        && !line.contains(": ")
        && words.iter().filter(is_file).count() * 5 >= words.len() * 4;
    is_mode || is_tree || is_total || is_row
}

/// Returns true for `12→let x = 1;`, `12 if a { 13 b(); 14 }` and `src/a.rs:12: let x = 1;`.
fn is_numbered_code(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < line.len() && rest.starts_with(['→', '\t']) {
        return true;
    }
    // Lines that were joined: each begins with the number after the one before.
    let numbers: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    if numbers.windows(2).filter(|pair| pair[0].checked_add(1) == Some(pair[1])).count() >= 2 && is_code(line)
    {
        return true;
    }
    // What a compiler or a test says about a place is no code.
    const MESSAGES: [&str; 6] = ["error", "warning", "panicked", "failed", "expected", "assert"];
    let lower = line.to_lowercase();
    let place = line.split_once(": ").or_else(|| line.split_once(":\t"));
    place.is_some_and(|(place, rest)| {
        let (path, number) = place.rsplit_once(':').unwrap_or_default();
        !path.is_empty()
            && !path.contains(' ')
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && is_code(rest)
            && !MESSAGES.iter().any(|word| lower.contains(word))
    })
}

fn is_code(text: &str) -> bool {
    text.ends_with(['{', '}', ';', '(', ','])
        || [" = ", "=>", "->", "();", "()", "{ ", "};", "=="].iter().any(|sign| text.contains(sign))
}

/// Returns true if every bracket has its counterpart on the line.
fn is_balanced(line: &str) -> bool {
    let mut open = Vec::new();
    let characters: Vec<char> = line.chars().collect();
    for (place, c) in characters.iter().copied().enumerate() {
        let quote = |at: Option<usize>| at.and_then(|at| characters.get(at)).copied();
        let around = (quote(place.checked_sub(1)), quote(Some(place + 1)));
        // A quoted bracket is talked about, and `a)` numbers an item of a list.
        if matches!(around, (Some(before @ ('`' | '\'' | '"')), Some(behind)) if before == behind) {
            continue;
        }
        match c {
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' => {
                let opened = match c {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                if open.last() == Some(&opened) {
                    open.pop();
                } else if !(c == ')' && is_item_number(&characters[..place])) {
                    return false;
                }
            }
            _ => {}
        }
    }
    open.is_empty()
}

/// Returns true if the text ends with a number or a letter that stands alone.
fn is_item_number(before: &[char]) -> bool {
    let word = before.iter().rev().take_while(|c| c.is_alphanumeric()).count();
    let is_alone = before.len() == word || before[before.len() - word - 1].is_whitespace();
    let digits = before.iter().rev().take(word).all(char::is_ascii_digit);
    is_alone && (word == 1 || (1..=2).contains(&word) && digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role, ToolCall};
    use serde_json::json;

    fn detector() -> JunkDetector {
        let bash = ToolCall::new("1", "Bash").with_args(json!({"command": "ls", "description": "List"}));
        let edit = ToolCall::new("2", "Edit").with_args(json!({"file_path": "a.rs", "old_string": "x"}));
        JunkDetector::new(&[Message::new("c", Role::Model, vec![Part::call(bash), Part::call(edit)])])
    }

    #[track_caller]
    fn check(line: &str, expected: Option<JunkKind>) {
        let count = detector().count(line);
        assert_eq!(count.lines, 1, "{line}");
        let found = JunkKind::ALL.into_iter().find(|kind| count.of_kind(*kind).kept > 0);
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn what_a_reader_can_use_is_no_junk() {
        for line in [
            "[m12] The retry in upload() was dropped because the server sends 503 (see src/upload.rs:40).",
            "- src/upload.rs 1–88: upload, retry_count, Client, UploadError",
            "1) read the config, 2) call connect(), b) stop",
            "The parser trips over `{` and '(' alone.",
            "src/main.rs:88:4: error: mismatched types, expected `u32`",
            "thread panicked at src/upload.rs:14:19: called `Result::unwrap()` on an `Err` value",
            "The file src/a.rs has the old names.",
            "Run the command again after the plan is made.",
            "Versions 1 2 3 were tried, 4 works.",
            "Read src/a.rs, src/b.rs, src/c.rs, src/d.rs, src/e.rs and src/f.rs.",
            "User: make the x-axis be the version number",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn each_kind_is_recognised() {
        check("[m29] First the state. Bash command git status description Check", Some(JunkKind::Echo));
        check("Edit file_path /home/me/plan.md", Some(JunkKind::Echo));
        check(r#"{"command": "git status"}"#, Some(JunkKind::Echo));
        check("The file /home/me/a.rs has been updated. Here", Some(JunkKind::Boilerplate));
        check("‹/system-reminder›", Some(JunkKind::Boilerplate));
        check("Original token count: 3 Output: b880e1e5", Some(JunkKind::Boilerplate));
        check("drwxr-xr-x 2 me me 4096 Jan 1 src", Some(JunkKind::Listing));
        check("│   ├── main.rs", Some(JunkKind::Listing));
        check("Cargo.toml README.md src/a.rs src/b.rs src/c.rs tests/a.rs", Some(JunkKind::Listing));
        check("630→let x = 1;", Some(JunkKind::NumberedCode));
        check("424 if (workDir) { 425 body = workDir; 426 } 427 done();", Some(JunkKind::NumberedCode));
        check("src/main.rs:88: upload(&client, &file);", Some(JunkKind::NumberedCode));
        check("useEffect(() => { const params = new URLSearchParams(location);", Some(JunkKind::Unbalanced));
        check("[m42] }, [handler]);", Some(JunkKind::Unbalanced));
    }

    #[test]
    fn tags_marks_and_fences_are_no_lines() {
        let text = "<state_snapshot through=\"m9\">\n<overall_goal>\n[m1] Ship it\n…\n```rust\nfn main() {\n    run();\n}\n```\n\
                    </overall_goal>\n</state_snapshot>";
        let count = detector().count(text);
        assert_eq!((count.lines, count.all().kept), (3, 0));
    }

    #[test]
    fn counts_add_up() {
        let mut count = detector().count("Edit file_path a\nfine words\nfoo(");
        count += detector().count("bar(\nmore fine words");
        assert_eq!(count.all(), KeptShare { kept: 3, of: 5 });
        assert_eq!(count.of_kind(JunkKind::Unbalanced), KeptShare { kept: 2, of: 5 });
    }
}
