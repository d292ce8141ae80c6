//! Command lines inside other text: prose, logs, strings of JSON, cut off at either end.
//!
//! Nothing tells where such a line begins, or whether it is one. So it is read around a place, within bounds, and what ends a
//! word in running text or in a string ends it here. That is a guess, good enough to look for something and no ground to allow
//! anything: [`parse_script`](crate::parse_script) reads whole lines as shells do.

use std::ops::Range;

/// The bytes before a place within which its command begins.
const MOST_COMMAND: usize = 256;
/// The most bytes of a word.
const MOST_WORD: usize = 256;

/// A text that may hold command lines.
///
/// ```
/// use longhaul_shell::EmbeddedCommands;
///
/// let text = r#"{"command": "cd app; /usr/bin/curl -s -u 'ann:x y' h"}"#;
/// let commands = EmbeddedCommands::of(text);
/// let flag = text.find(" -u ").expect("a flag");
/// assert!(commands.has_word_before(flag, &["curl"]) && !commands.has_word_before(flag, &["cd"]));
/// assert_eq!(commands.word_at(flag + 4).map(|word| &text[word]), Some("ann:x y"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedCommands<'t> {
    bytes: &'t [u8],
}

impl<'t> EmbeddedCommands<'t> {
    /// Looks for commands in this text.
    pub fn of(text: &'t str) -> Self {
        Self { bytes: text.as_bytes() }
    }

    /// The part before `end` of the command that stands there: up to another command, to the line's start unless the line
    /// before goes on, and no further than its bound.
    pub fn command_before(&self, end: usize) -> Range<usize> {
        let reach = end.saturating_sub(MOST_COMMAND);
        let before = &self.bytes[reach..end];
        let start = before.iter().rposition(|byte| b"\n;|&".contains(byte)).map_or(0, |last| last + 1);
        // A line that goes on with a backslash is one command.
        if before[..start].ends_with(b"\\\n") { reach..end } else { reach + start..end }
    }

    /// Set where the command before `end` has one of these words, with or without a folder before it.
    pub fn has_word_before(&self, end: usize, words: &[&str]) -> bool {
        self.has_word(self.command_before(end), words)
    }

    /// Set where one of these words stands in the bytes before `end`, whatever commands they are of.
    pub fn has_word_near(&self, end: usize, words: &[&str]) -> bool {
        self.has_word(end.saturating_sub(MOST_COMMAND)..end, words)
    }

    fn has_word(&self, range: Range<usize>, words: &[&str]) -> bool {
        let split = self.bytes[range].split(|byte| byte.is_ascii_whitespace() || b"\"'`($".contains(byte));
        let mut names = split.map(|word| word.rsplit(|byte| *byte == b'/').next().unwrap_or(word));
        names.any(|name| words.iter().any(|word| word.as_bytes() == name))
    }

    /// The word that begins at `start`, without its quotes: up to the quote that closes it, or to whatever ends a word. None
    /// where it is empty, too long, or has no closing quote on its line.
    pub fn word_at(&self, start: usize) -> Option<Range<usize>> {
        // In a string of JSON the quote has a backslash before it.
        let escapes = self.bytes[start..].iter().take(4).take_while(|byte| **byte == b'\\').count();
        match self.bytes.get(start + escapes)? {
            quote @ (b'"' | b'\'') => {
                let start = start + escapes + 1;
                let reach = &self.bytes[start..self.bytes.len().min(start + MOST_WORD)];
                let length =
                    reach.iter().position(|byte| byte == quote || *byte == b'\\' || *byte == b'\n')?;
                (reach[length] != b'\n').then_some(start..start + length)
            }
            _ => self.until(start, |byte| byte.is_ascii_whitespace() || b"\"'`;|&<>()\\,".contains(&byte)),
        }
    }

    /// The characters from `start` up to the next blank, quote or backslash.
    pub fn field_at(&self, start: usize) -> Option<Range<usize>> {
        self.until(start, |byte| byte.is_ascii_whitespace() || b"\"'`\\".contains(&byte))
    }

    /// The word that follows one that ends at `end`.
    pub fn next_word(&self, end: usize) -> Option<Range<usize>> {
        self.word_at(self.skip_blanks(end))
    }

    /// The first place at or behind `start` that is no blank.
    pub fn skip_blanks(&self, start: usize) -> usize {
        start + self.bytes[start..].iter().take(64).take_while(|byte| byte.is_ascii_whitespace()).count()
    }

    /// The bytes up to the first that ends them or to the end of all, if there are any and not too many.
    fn until(&self, start: usize, ends: impl Fn(u8) -> bool) -> Option<Range<usize>> {
        let rest = self.bytes.get(start..)?;
        let length = rest.iter().take(MOST_WORD + 1).position(|byte| ends(*byte)).unwrap_or(rest.len());
        (1..=MOST_WORD).contains(&length).then_some(start..start + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command before the bar of a text, and the word behind it.
    #[track_caller]
    fn check(marked: &str, command: &str, word: Option<&str>) {
        let text = marked.replacen('¦', "", 1);
        let place = marked.find('¦').expect("a place");
        let commands = EmbeddedCommands::of(&text);
        assert_eq!(&text[commands.command_before(place)], command, "{marked}");
        assert_eq!(commands.word_at(place).map(|word| &text[word]), word, "{marked}");
    }

    #[test]
    fn a_command_reaches_back_to_another() {
        check("curl -u ¦ann:x h", "curl -u ", Some("ann:x"));
        check("cd a; curl -u ¦ann:x,h", " curl -u ", Some("ann:x"));
        check("a | b && c ¦'x y' z", " c ", Some("x y"));
        check("a\nb ¦x", "b ", Some("x"));
        check("a \\\n  b ¦x", "a \\\n  b ", Some("x"));
        check("¦", "", None);
    }

    #[test]
    fn words_end_as_in_running_text() {
        check(r#"\"curl -u ¦ann:x\""#, r#"\"curl -u "#, Some("ann:x"));
        check(r#"curl -u ¦\"ann:x y\" h"#, "curl -u ", Some("ann:x y"));
        check("curl -u ¦'ann\n'", "curl -u ", None);
        check("curl -u ¦ h", "curl -u ", None);
        check("curl -u ¦é)", "curl -u ", Some("é"));
        let long = format!("curl -u ¦{}", "x".repeat(MOST_WORD + 1));
        check(&long, "curl -u ", None);
    }

    #[test]
    fn programs_are_known_with_or_without_their_folder() {
        let text = "echo curl ; $(/usr/bin/mysqldump -h db -p";
        let commands = EmbeddedCommands::of(text);
        assert!(commands.has_word_before(text.len(), &["mysql", "mysqldump"]));
        assert!(
            !commands.has_word_before(text.len(), &["curl"])
                && !commands.has_word_before(text.len(), &["bin"])
        );
        assert!(commands.has_word_near(text.len(), &["curl"]));
    }

    #[test]
    fn words_follow_each_other() {
        let text = "user ann \t x1 y";
        let commands = EmbeddedCommands::of(text);
        let ann = commands.field_at(5).expect("a field");
        assert_eq!(commands.next_word(ann.end).map(|word| &text[word]), Some("x1"));
        assert_eq!(commands.next_word(text.len()), None);
    }
}
