//! Finds out what a conversation tells of memory files, by the marks around their texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::budget::is_beginning;
use crate::loaded::MemoryFile;
use crate::render::{BEGIN, END, file_label, gone_note};
use crate::settings::MemorySettings;

/// The state of a file in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing, or that it is gone.
    Nothing,
    /// An older text of it.
    Older,
    /// Its present text, or as much of it as the budgets allow.
    Now,
}

/// The latest that a conversation tells of each memory file.
#[derive(Clone, Debug, Default)]
pub struct ToldFiles<'a> {
    /// The text by label.
    latest: BTreeMap<&'a str, &'a str>,
}

impl<'a> ToldFiles<'a> {
    /// Reads passages of a conversation, in their order. Only a text that is there to its end counts.
    pub fn read(passages: impl IntoIterator<Item = &'a str>) -> Self {
        let mut latest = BTreeMap::new();
        for passage in passages {
            let mut rest = passage;
            while let Some((label, behind)) = next_mark(rest) {
                rest = behind;
                let Some(end) = behind.find(&format!("\n{END}{label} ---")) else { continue };
                latest.insert(label, &behind[..end]);
                rest = &behind[end..];
            }
        }
        Self { latest }
    }

    /// The state of a file.
    pub fn of(&self, file: &MemoryFile, workspace: Option<&Path>, settings: &MemorySettings) -> Told {
        let label = file_label(&file.path, workspace, settings);
        match self.latest.get(label.as_str()) {
            None => Told::Nothing,
            Some(text) if *text == gone_note() => Told::Nothing,
            Some(text) if *text == file.text || is_beginning(text, &file.text) => Told::Now,
            Some(_) => Told::Older,
        }
    }

    /// The files that are told and not said to be gone. Relative names begin at the workspace.
    pub fn paths(&self, workspace: Option<&Path>) -> Vec<PathBuf> {
        let told = self.latest.iter().filter(|(_, text)| **text != gone_note());
        told.map(|(label, _)| workspace.map_or_else(|| PathBuf::from(label), |folder| folder.join(label)))
            .collect()
    }
}

/// The next line that begins the text of a file: its label, and what is behind it.
fn next_mark(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find(BEGIN)?;
        from = at + BEGIN.len();
        let begins_line = at == 0 || text[..at].ends_with('\n');
        let (line, behind) = text[from..].split_once('\n')?;
        if let Some(label) = line.strip_suffix(" ---").filter(|_| begins_line) {
            return Some((label, behind));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{render_block, render_gone};
    use crate::tier::MemoryTier;
    use longhaul_conversation::TokenCount;

    fn file(path: &str, text: &str) -> MemoryFile {
        MemoryFile {
            path: path.into(),
            tier: MemoryTier::Project,
            text: text.into(),
            imports: Vec::new(),
            sources: Vec::new(),
            unread: 0,
            globs: None,
        }
    }

    /// Checks the state of `/w/GEMINI.md`, which says "b", after passages that are each made of a file's text.
    #[track_caller]
    fn check(passages: &[&str], expected: Told) {
        let told = ToldFiles::read(passages.iter().copied());
        assert_eq!(told.of(&file("/w/GEMINI.md", "b"), None, &MemorySettings::default()), expected);
    }

    fn block(text: &str) -> String {
        render_block(&[file("/w/GEMINI.md", text)], None, &MemorySettings::default()).text
    }

    #[test]
    fn the_latest_text_counts() {
        let (a, b) = (block("a"), block("b"));
        let gone = render_gone(&[Path::new("/w/GEMINI.md")], None, &MemorySettings::default());
        check(&[], Told::Nothing);
        check(&["a file says: b"], Told::Nothing);
        check(&[&a], Told::Older);
        check(&[&b], Told::Now);
        check(&[&a, &b], Told::Now);
        check(&[&b, &a], Told::Older);
        check(&[&b, &gone], Told::Nothing);
        check(&[&gone, &b], Told::Now);
        check(&[&format!("{a}{b}")], Told::Now);
        check(&[&block("b\nand more")], Told::Older);
    }

    #[test]
    fn half_a_text_is_none() {
        let whole = block("b");
        let half = whole.split("\n--- End of").next().expect("a beginning");
        check(&[half], Told::Nothing);
        check(&[half, "--- End of Context from: /w/GEMINI.md ---"], Told::Nothing);
        check(
            &["said: --- Context from: /w/GEMINI.md ---\nb\n--- End of Context from: /w/GEMINI.md ---"],
            Told::Nothing,
        );
    }

    #[test]
    fn what_was_cut_to_a_budget_is_told() {
        let long = file("/w/GEMINI.md", &"a line of some words\n".repeat(200));
        let mut settings = MemorySettings::default();
        for budget in [0, 300] {
            settings.budgets.just_in_time = TokenCount(budget);
            let cut = render_block(std::slice::from_ref(&long), None, &settings).text;
            let told = ToldFiles::read([cut.as_str()]);
            assert_eq!(told.of(&long, None, &settings), Told::Now, "{cut}");
            let other = file("/w/GEMINI.md", &"another line\n".repeat(200));
            assert_eq!(told.of(&other, None, &settings), if budget == 0 { Told::Now } else { Told::Older });
        }
    }

    #[test]
    fn files_are_named_by_their_paths() {
        let text = [block("a"), block("b").replace("/w/GEMINI", "sub/GEMINI")].concat();
        let told = ToldFiles::read([text.as_str()]);
        let expected = ["/w/GEMINI.md", "/w/sub/GEMINI.md"].map(PathBuf::from);
        assert_eq!(told.paths(Some(Path::new("/w"))), expected);
    }
}
