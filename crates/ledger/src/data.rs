//! Reads the data files in `crates/ledger/data`: lists that grow without any code.
//!
//! A line is a key, blanks and a value; lines that begin with `#` are comments. The keys of a file are explained at its top.

use std::fmt;

/// A data file.
pub(crate) struct DataFile {
    /// Its name below `crates/ledger/data`.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// A line of a data file.
#[derive(Clone, Copy)]
pub(crate) struct DataLine {
    pub(crate) key: &'static str,
    /// The rest of the line, without the quotes that keep blanks at its ends.
    pub(crate) value: &'static str,
    file: &'static str,
    number: usize,
}

/// A line of a data file that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DataError {
    file: &'static str,
    line: usize,
    reason: String,
}

impl DataFile {
    /// The lines that are no comments.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Result<DataLine, DataError>> {
        let lines = self.text.lines().zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        lines.map(|(line, number)| {
            let file = self.name;
            match line.split_once(' ').map(|(key, value)| (key, unquoted(value.trim()))) {
                Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                    Ok(DataLine { key, value, file, number })
                }
                _ => {
                    let reason = format!("expected a key and a value, found `{line}`");
                    Err(DataError { file, line: number, reason })
                }
            }
        })
    }
}

impl DataLine {
    pub(crate) fn error(&self, reason: impl Into<String>) -> DataError {
        DataError { file: self.file, line: self.number, reason: reason.into() }
    }

    pub(crate) fn unknown_key(&self) -> DataError {
        self.error(format!("unknown key `{}`; the top of the file lists the keys", self.key))
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "crates/ledger/data/{}:{}: {}", self.file, self.line, self.reason)
    }
}

/// The content of a data file. A test reads every file, so that none with an error is ever shipped.
pub(crate) fn loaded<T>(parsed: Result<T, DataError>) -> T {
    parsed.unwrap_or_else(|error| panic!("{error}"))
}

fn unquoted(value: &'static str) -> &'static str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_keys_and_values() {
        let file =
            DataFile { name: "x.txt", text: "# comment\n\ntest    go test\nerror   \"fatal: \"\nlone\n" };
        let lines: Vec<_> = file.lines().map(|line| line.map(|line| (line.key, line.value))).collect();
        assert_eq!(lines[..2], [Ok(("test", "go test")), Ok(("error", "fatal: "))]);
        let error = lines[2].as_ref().expect_err("a key alone is no line");
        assert_eq!(error.to_string(), "crates/ledger/data/x.txt:5: expected a key and a value, found `lone`");
    }
}
