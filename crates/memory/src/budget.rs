//! Fits the files of a tier into its budget, and says what was left out.

use std::path::PathBuf;

use longhaul_conversation::TokenCount;

use crate::estimate::estimate_tokens;
use crate::loaded::MemoryFile;
use crate::neutralise::label;
use crate::tier::MemoryTier;

/// The text of each file that fits, and the files that do not.
#[derive(Debug)]
pub(crate) struct Fitted {
    /// One text for each file: its own, its beginning with a note, or only a note.
    pub(crate) texts: Vec<String>,
    /// The files that are not there whole, in their order.
    pub(crate) left_out: Vec<LeftOut>,
}

/// A file that did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path.
    pub path: PathBuf,
    /// The tier.
    pub tier: MemoryTier,
    /// The size.
    pub tokens: TokenCount,
    /// The size of the part that is kept.
    pub kept: TokenCount,
    /// The budget of its tier.
    pub budget: TokenCount,
}

/// A beginning shorter than this tells nothing.
const SHORTEST: TokenCount = TokenCount(100);

/// Fits files into a budget. The innermost files matter most, and are kept first; of the first one that does not fit, the
/// beginning is kept. A file that is larger than the budget by itself leaves up to half of it to the others: whatever is cut of
/// it, they can be whole. Notes in the text say what is missing and where to read it, and come on top of the budget.
pub(crate) fn fit(files: &[&MemoryFile], budget: TokenCount) -> Fitted {
    let mut room = budget;
    let mut is_full = false;
    let mut fitted: Vec<(String, Option<LeftOut>)> = Vec::with_capacity(files.len());
    for (place, file) in files.iter().enumerate().rev() {
        let tokens = file.tokens();
        if tokens <= room && !is_full && file.unread == 0 {
            room = room - tokens;
            fitted.push((file.text.clone(), None));
            continue;
        }
        let is_hopeless = tokens > budget || file.unread > 0;
        let further_out: TokenCount = files[..place].iter().map(|file| file.tokens()).sum();
        let spared = if is_hopeless { further_out.min(TokenCount(budget.0 / 2)) } else { TokenCount::ZERO };
        let share = room - spared;
        let beginning = if is_full || share < SHORTEST { "" } else { beginning(&file.text, share) };
        let kept = estimate_tokens(beginning);
        room = room - kept;
        // What is further out must not come in where something nearer could have been whole and is not.
        is_full |= !is_hopeless;
        let left = LeftOut { path: file.path.clone(), tier: file.tier, tokens, kept, budget };
        fitted.push((with_note(beginning, &left), Some(left)));
    }
    fitted.reverse();
    let (texts, left_out): (Vec<String>, Vec<Option<LeftOut>>) = fitted.into_iter().unzip();
    Fitted { texts, left_out: left_out.into_iter().flatten().collect() }
}

/// Whole lines from the beginning that fit.
fn beginning(text: &str, room: TokenCount) -> &str {
    let mut end = 0;
    let mut used = TokenCount::ZERO;
    for line in text.split_inclusive('\n') {
        used += estimate_tokens(line);
        if used > room {
            break;
        }
        end += line.len();
    }
    text[..end].trim_end()
}

/// True if this is what is given to a model of a file that does not fit: its beginning with a note, or only a note.
pub(crate) fn is_beginning(given: &str, text: &str) -> bool {
    let (beginning, note) = given.rsplit_once('\n').unwrap_or(("", given));
    note.ends_with(']')
        && match (note.starts_with(LEFT_OUT), note.starts_with(CUT_HERE)) {
            (true, _) => beginning.is_empty(),
            (_, true) => text.starts_with(beginning),
            _ => false,
        }
}

/// The beginning of the notes in place of missing text.
const LEFT_OUT: &str = "[Left out: ";
const CUT_HERE: &str = "[Cut here: ";

fn with_note(beginning: &str, left: &LeftOut) -> String {
    let LeftOut { path, tokens, kept, budget, tier } = left;
    let path = label(path);
    let note = match *kept {
        TokenCount::ZERO => format!(
            "{LEFT_OUT}this file has about {tokens} tokens, and {tier} memory may take {budget}. Read {path} if you need it.]"
        ),
        kept => format!(
            "{CUT_HERE}about {kept} of {tokens} tokens are shown, as {tier} memory may take {budget}. Read {path} for the rest.]"
        ),
    };
    if beginning.is_empty() { note } else { format!("{beginning}\n{note}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of so many tokens each, in lines of ten tokens.
    fn files(sizes: &[usize]) -> Vec<MemoryFile> {
        let file = |(number, size): (usize, &usize)| MemoryFile {
            path: format!("/w/{number}.md").into(),
            tier: MemoryTier::Project,
            text: vec!["x".repeat(39); size / 10].join("\n"),
            imports: Vec::new(),
            sources: Vec::new(),
            unread: 0,
            globs: None,
        };
        sizes.iter().enumerate().map(file).collect()
    }

    #[track_caller]
    fn check(sizes: &[usize], budget: u64, kept: &[Option<u64>]) {
        let files = files(sizes);
        let fitted = fit(&files.iter().collect::<Vec<_>>(), TokenCount(budget));
        assert_eq!(fitted.texts.len(), files.len());
        let mut left = fitted.left_out.iter();
        for ((file, text), kept) in files.iter().zip(&fitted.texts).zip(kept) {
            match kept {
                None => assert_eq!(text, &file.text),
                Some(kept) => {
                    let left = left.next().expect("it is named");
                    assert_eq!(
                        (&left.path, left.kept, left.tokens),
                        (&file.path, TokenCount(*kept), file.tokens())
                    );
                    assert!(text.contains(&file.path.display().to_string()), "{text}");
                }
            }
        }
        assert!(left.next().is_none());
    }

    #[test]
    fn the_innermost_files_are_kept() {
        check(&[], 10, &[]);
        check(&[100, 200, 300], 600, &[None, None, None]);
        check(&[300, 200, 300], 500, &[Some(0), None, None]);
        check(&[300, 200, 300], 700, &[Some(200), None, None]);
        // What is further out does not come in where something nearer was cut.
        check(&[50, 400, 300], 400, &[Some(0), Some(100), None]);
        check(&[50, 340, 300], 350, &[Some(0), Some(0), None]);
        check(&[1_000], 200, &[Some(200)]);
    }

    #[test]
    fn a_file_larger_than_the_budget_leaves_room_for_others() {
        check(&[50, 100, 1_000], 400, &[None, None, Some(250)]);
        check(&[50, 400, 300], 350, &[None, Some(0), None]);
        check(&[300, 1_000], 400, &[Some(200), Some(200)]);
        check(&[1_000, 100], 400, &[Some(300), None]);
        check(&[1_000, 1_000, 50], 400, &[Some(200), Some(150), None]);
    }

    #[test]
    fn notes_tell_what_is_missing() {
        let files = files(&[500, 300]);
        let fitted = fit(&files.iter().collect::<Vec<_>>(), TokenCount(500));
        let note = fitted.texts[0].lines().last().expect("a note");
        let expected = "[Cut here: about 200 of 500 tokens are shown, as project memory may take 500. Read /w/0.md for the rest.]";
        assert_eq!(note, expected);
    }
}
