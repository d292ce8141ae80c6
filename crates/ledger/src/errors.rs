//! Finds the lines of an output that tell of an error, with the error's name and the file it concerns.

use std::sync::LazyLock;

use longhaul_text::{AnyOf, starts_with_any};

use crate::data::{DataError, DataFile, loaded};
use crate::paths::file_name;

/// An error that an output tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundError {
    pub(super) name: Option<String>,
    pub(super) message: String,
    pub(super) file: Option<String>,
}

const MAX_ERRORS: usize = 4;
const MAX_MESSAGE_CHARS: usize = 240;

/// Beginnings of lines that tell of an error: `data/errors.txt`.
#[derive(Default)]
pub(crate) struct ErrorBeginnings {
    errors: Vec<&'static str>,
    /// Beginnings that tell nothing although they look like an error.
    noise: Vec<&'static str>,
}

static BEGINNINGS: LazyLock<ErrorBeginnings> = LazyLock::new(|| loaded(parse(&FILE)));

pub(crate) const FILE: DataFile = DataFile { name: "errors.txt", text: include_str!("../data/errors.txt") };

pub(crate) fn parse(file: &DataFile) -> Result<ErrorBeginnings, DataError> {
    let mut beginnings = ErrorBeginnings::default();
    for line in file.lines() {
        let line = line?;
        match line.key {
            "error" => beginnings.errors.push(line.value),
            "noise" => beginnings.noise.push(line.value),
            _ => return Err(line.unknown_key()),
        }
    }
    Ok(beginnings)
}

/// Texts of which one at least stands in every line that [`find_errors`] makes something of.
static SIGNS: LazyLock<AnyOf> = LazyLock::new(|| {
    let signs = [
        "ror: ",
        "ror[",
        "or TS",
        "or [",
        "xception",
        // pytest may name an error and say nothing of it.
        "E   ",
        "Traceback (",
        "File \"",
        "--> ",
        "panicked at ",
        "CONFLICT (",
        ".go:",
        ": command not found",
    ];
    AnyOf::new(&signs.iter().chain(&BEGINNINGS.errors).copied().collect::<Vec<_>>())
});

/// The errors that an output without colours tells of, each once, the first few.
pub(super) fn find_errors(output: &str) -> Vec<FoundError> {
    find_in_lines(SIGNS.lines_in(output))
}

fn find_in_lines<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<FoundError> {
    let mut found: Vec<FoundError> = Vec::new();
    let mut in_traceback = false;
    let mut traceback_file = None;
    for line in lines {
        let text = line.trim();
        if text.starts_with("Traceback (most recent call last)") {
            in_traceback = true;
            continue;
        }
        if in_traceback && let Some(rest) = text.strip_prefix("File \"") {
            traceback_file = rest.split('"').next().and_then(file_name).map(str::to_string);
            continue;
        }
        // A compiler names the place on the line behind.
        if let Some(place) = text.strip_prefix("--> ") {
            if let Some(last) = found.last_mut().filter(|last| last.file.is_none()) {
                last.file = file_name(place).map(str::to_string);
            }
            continue;
        }
        let Some(mut error) = error_in(text) else { continue };
        if in_traceback {
            error.file = error.file.or_else(|| traceback_file.take());
            in_traceback = false;
        }
        let is_known = found.iter().any(|known| known.message == error.message);
        if !is_known {
            found.push(error);
            if found.len() == MAX_ERRORS {
                break;
            }
        }
    }
    found
}

/// The error that one line tells of.
fn error_in(text: &str) -> Option<FoundError> {
    let found = |name: Option<&str>, message: &str, file: Option<&str>| {
        Some(FoundError {
            name: name.map(str::to_string),
            message: crate::excerpts::cut(message.trim(), MAX_MESSAGE_CHARS),
            file: file.and_then(file_name).map(str::to_string),
        })
    };
    if let Some(rest) = text.strip_prefix("error[") {
        // rustc: `error[E0308]: mismatched types`
        let (code, _) = rest.split_once(']')?;
        return found(Some(code), text, None);
    }
    if let Some(at) = text.find("error TS") {
        // tsc: `src/a.ts(1,2): error TS2345: …` and `src/a.ts:1:2 - error TS2345: …`
        let code = text[at + 6..].split([':', ' ']).next()?;
        let file = text[..at].split(['(', ':', ' ']).next();
        return found(Some(code), text, file);
    }
    if let Some((place, _)) = text.split_once(": error: ").or_else(|| text.split_once(": fatal error: ")) {
        return found(None, text, Some(place));
    }
    if let Some((file, rest)) = text.split_once(".go:")
        && rest.starts_with(|c: char| c.is_ascii_digit())
        && !file.contains(' ')
        && rest.contains(": ")
    {
        return found(None, text, Some(&text[..file.len() + 3]));
    }
    if let Some(rest) = text.strip_prefix("CONFLICT (") {
        let file = rest.rsplit(" in ").next();
        return found(Some("CONFLICT"), text, file);
    }
    if text.starts_with("thread '") && text.contains("panicked at ") {
        let place = text.split("panicked at ").nth(1).map(|place| place.trim_end_matches(':'));
        return found(Some("panic"), text, place);
    }
    if let Some(start) = BEGINNINGS.errors.iter().find(|start| text.starts_with(**start)) {
        let says_nothing = text.len() - start.len() < 4 || starts_with_any(text, &BEGINNINGS.noise);
        let name = start.trim_end_matches([':', ' ']);
        let name = (!name.eq_ignore_ascii_case("error")).then_some(name);
        return if says_nothing { None } else { found(name, text, None) };
    }
    if text.ends_with(": command not found") {
        return found(Some("command not found"), text, None);
    }
    // `TypeError: …`, `E   AssertionError: …`, `java.io.IOException: …`
    let named = text.strip_prefix("E   ").unwrap_or(text).trim_start();
    let named = named.strip_prefix("Uncaught ").unwrap_or(named);
    let end = named.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(named.len());
    let name = named[..end].rsplit('.').next()?;
    let is_error = (name.ends_with("Error") || name.ends_with("Exception")) && name.len() > 5;
    let is_told = named[end..].starts_with(": ")
        || named[end..].starts_with(" [")
        || named.len() == end && text.starts_with("E   ");
    (is_error && is_told && name.starts_with(char::is_uppercase))
        .then(|| found(Some(name), named, None))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &[(&str, &str)]) {
        let found = find_errors(output);
        let seen: Vec<_> = found
            .iter()
            .map(|error| (error.name.as_deref().unwrap_or("-"), error.file.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(seen, expected, "{output}");
    }

    #[test]
    fn errors_are_found_with_name_and_file() {
        check("error[E0308]: mismatched types\n  --> src/a.rs:3:9", &[("E0308", "src/a.rs")]);
        check("src/a.ts(1,2): error TS2345: no", &[("TS2345", "src/a.ts")]);
        check("src/a.ts:1:2 - error TS7005: no", &[("TS7005", "src/a.ts")]);
        check("a.c:3:1: error: expected ';'", &[("-", "a.c")]);
        check("./x.go:12:3: undefined: y", &[("-", "./x.go")]);
        check("CONFLICT (content): Merge conflict in app/a.ts", &[("CONFLICT", "app/a.ts")]);
        check("fatal: not a git repository", &[("fatal", "-")]);
        check("thread 'main' panicked at src/a.rs:3:1:\nboom", &[("panic", "src/a.rs")]);
        check("bash: foo: command not found", &[("command not found", "-")]);
        check(
            "Traceback (most recent call last):\n  File \"/w/a.py\", line 3, in f\n    x\nValueError: bad",
            &[("ValueError", "/w/a.py")],
        );
        check("E   AssertionError: assert 1 == 2", &[("AssertionError", "-")]);
        check("TypeError: x is not a function\n    at y (z.js:1:2)", &[("TypeError", "-")]);
    }

    #[test]
    fn each_error_is_told_once_and_not_too_many() {
        check("TypeError: a\nTypeError: a", &[("TypeError", "-")]);
        let many: String = (0..20).map(|n| format!("TypeError: {n}\n")).collect();
        assert_eq!(find_errors(&many).len(), 4);
    }

    #[test]
    fn other_lines_are_no_errors() {
        check("class MyError: pass\nno error: here\nErrors: 0\nlib/TypeErrors.md\nraise ValueError", &[]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(?s).{0,300}") {
            find_errors(&text);
        }

        #[test]
        fn no_line_is_passed_over(
            text in "(Type|E   | \\[|npm error |java.io.|error|error: |\\[E1\\]|: error: |: fatal error: |Error: |ERROR: x|Error|Exception|Exception: |npm ERR! \
                |make: \\*\\*\\* |a.go:1: |CONFLICT \\(a\\) in b|thread 'a' |panicked at |panic: a|fatal: abc|: command not found\
                |Traceback \\(most recent call last\\)|  File \"a.py\"|--> a.rs|error TS1|word|[ \r\n]){0,24}"
        ) {
            proptest::prop_assert_eq!(find_errors(&text), find_in_lines(text.lines()));
        }
    }
}
