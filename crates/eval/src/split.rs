//! The two halves of a collection of sessions, divided by project.
//!
//! Weights are fitted on one half and figures reported of the other. Sessions of one project are much alike, so a project
//! lies in one half as a whole.

use std::str::FromStr;

use crate::index::hash;

/// A half of a collection of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// The sessions on which weights are fitted.
    Fit,
    /// The sessions of which figures are reported.
    Check,
}

/// A division of projects into two halves: a list, and a rule for projects that are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    listed: Vec<(String, Half)>,
}

/// A line of a list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitError {
    /// The number of the line.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

impl Split {
    /// Parses a list. A line has three fields, separated by tabs: `fit` or `check`, a project, and patterns of its
    /// sessions, separated by spaces. Empty lines and lines that start with `#` are skipped.
    pub fn parse(text: &str) -> Result<Self, SplitError> {
        let mut split = Self::default();
        let lines = text.lines().map(str::trim_end).zip(1..);
        for (fields, line) in lines.filter(|(text, _)| !text.is_empty() && !text.starts_with('#')) {
            let error = |reason: String| SplitError { line, reason };
            let fields: Vec<&str> = fields.split('\t').collect();
            let [half, _project, patterns] = fields[..] else {
                return Err(error(format!(
                    "expected three fields separated by tabs, found {}",
                    fields.len()
                )));
            };
            let half: Half = half.parse().map_err(error)?;
            split.listed.extend(patterns.split_whitespace().map(|pattern| (pattern.to_string(), half)));
        }
        Ok(split)
    }

    /// The half of a session: by the first pattern that matches its name or its directory, else by a hash of the
    /// directory. A session that is not listed and has no known directory is in neither half.
    pub fn half_of(&self, name: &str, directory: Option<&str>) -> Option<Half> {
        let directory = directory.map(|path| path.trim_end_matches('/')).filter(|path| !path.is_empty());
        let listed = self.listed.iter().find(|(pattern, _)| {
            matches(pattern, name) || directory.is_some_and(|directory| matches(pattern, directory))
        });
        // The lowest bit of the product depends on the lowest bits of the bytes alone; a higher one on all of them.
        let by_hash = |directory: &str| match hash(directory.as_bytes()) >> 32 & 1 {
            0 => Half::Fit,
            _ => Half::Check,
        };
        listed.map(|(_, half)| *half).or_else(|| directory.map(by_hash))
    }
}

/// Returns true if `pattern`, in which `*` stands for any text, matches the whole of `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]))
}

impl Half {
    /// The lowercase name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Check => "check",
        }
    }
}

impl FromStr for Half {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::Fit, Self::Check]
            .into_iter()
            .find(|half| half.as_str() == word)
            .ok_or_else(|| format!("\"{word}\" is not a half: expected \"fit\" or \"check\""))
    }
}

impl std::fmt::Display for SplitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for SplitError {}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "# half\tproject\tsessions\n\nfit\tme/app\tapp-* /home/me/app\ncheck\tme/web\tweb-1 web-2\n";

    #[track_caller]
    fn check(name: &str, directory: Option<&str>, expected: Option<Half>) {
        let split = Split::parse(LIST).expect("the list is well formed");
        assert_eq!(split.half_of(name, directory), expected, "{name} {directory:?}");
    }

    #[test]
    fn listed_sessions_are_found_by_name_or_directory() {
        check("app-07", None, Some(Half::Fit));
        check("x", Some("/home/me/app/"), Some(Half::Fit));
        check("web-2", Some("/home/me/app"), Some(Half::Fit));
        check("web-2", None, Some(Half::Check));
        check("web-3", None, None);
        check("an-app-07", None, None);
        check("x", Some(""), None);
    }

    #[test]
    fn a_project_that_is_not_listed_is_always_in_the_same_half() {
        let halves: Vec<Option<Half>> =
            (0..40).map(|nth| Split::default().half_of("x", Some(&format!("/home/me/p{nth}")))).collect();
        let fit = halves.iter().filter(|half| **half == Some(Half::Fit)).count();
        assert!((10..=30).contains(&fit) && !halves.contains(&None), "{fit}");
        let again = |directory| Split::default().half_of("another", Some(directory));
        assert_eq!(again("/home/me/p7/"), halves[7]);
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = |text: &str| Split::parse(text).expect_err("it is broken").to_string();
        assert_eq!(error("fit\ta\tb\nfit a b"), "line 2: expected three fields separated by tabs, found 1");
        assert_eq!(error("half\ta\tb"), "line 1: \"half\" is not a half: expected \"fit\" or \"check\"");
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, expected) in [
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*b*c", "a-b-b-c", true),
            ("*", "", true),
            ("a", "ab", false),
            ("a*d", "abc", false),
            ("ä*", "äö", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
