//! Tells what an agent's own compactions lost: rules, open requests and changed files that its summary no longer names.

use longhaul_conversation::{Ordinal, TokenCount};
use longhaul_text::Subject;

use crate::record::{AgentCompaction, Directive, SessionRecord};

/// The losses of one compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionLoss {
    /// The newest message before it.
    pub at: Option<Ordinal>,
    /// The size of the conversation before, estimated.
    pub before: TokenCount,
    /// The rules that held, each with its fate.
    pub rules: Vec<Remembered<Directive>>,
    /// The requests that were open.
    pub requests: Vec<Remembered<Directive>>,
    /// The files that had been changed.
    pub files: Vec<Remembered<String>>,
}

/// Something that was known before a compaction, and its fate.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered<T> {
    /// The thing.
    pub what: T,
    /// Its fate.
    pub fate: Fate,
}

/// The fate of something in a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stands there word for word.
    Verbatim,
    /// Something that says nearly the same stands there.
    Reworded,
    /// Nothing of the kind stands there.
    Lost,
}

/// The losses of each of the agent's own compactions, oldest first.
pub fn loss_report(record: &SessionRecord) -> Vec<CompactionLoss> {
    record.compactions.iter().map(loss_of).collect()
}

fn loss_of(compaction: &AgentCompaction) -> CompactionLoss {
    let kept = Kept::new(&compaction.kept);
    let directives = |all: &[Directive]| {
        all.iter().map(|it| Remembered { what: it.clone(), fate: kept.fate_of(&it.text) }).collect()
    };
    let files = compaction.files.iter();
    CompactionLoss {
        at: compaction.at,
        before: compaction.before,
        rules: directives(&compaction.rules),
        requests: directives(&compaction.requests),
        files: files.map(|path| Remembered { what: path.clone(), fate: kept.fate_of_file(path) }).collect(),
    }
}

/// The texts that a compaction kept, made ready to be searched.
struct Kept {
    plain: String,
    files: String,
    lines: Vec<Subject>,
}

impl Kept {
    fn new(texts: &[String]) -> Self {
        let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty());
        Self {
            plain: plain(&texts.join("\n")),
            files: texts.join("\n"),
            lines: lines.map(Subject::of).collect(),
        }
    }

    fn fate_of(&self, text: &str) -> Fate {
        let sought = plain(text);
        if sought.is_empty() || self.plain.contains(&sought) {
            return Fate::Verbatim;
        }
        let subject = Subject::of(text);
        // A line of a summary often says more than one rule.
        let says_it = |line: &Subject| {
            let shared = subject.shared(line);
            shared >= 2 && shared * 10 >= subject.size() * 7
        };
        if subject.size() > 0 && self.lines.iter().any(says_it) { Fate::Reworded } else { Fate::Lost }
    }

    /// A file is known by its path, or by its name where the summary says no more.
    fn fate_of_file(&self, path: &str) -> Fate {
        let name = path.rsplit('/').next().unwrap_or(path);
        if self.files.contains(path) {
            Fate::Verbatim
        } else if self.files.contains(name) {
            Fate::Reworded
        } else {
            Fate::Lost
        }
    }
}

/// Letters and digits in lower case, one space between words.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, summary: &str, expected: Fate) {
        assert_eq!(Kept::new(&[summary.to_string()]).fate_of(rule), expected, "{rule} in {summary}");
    }

    #[test]
    fn a_rule_is_kept_reworded_or_lost() {
        check("Never push to main.", "The user said: **never push to main**!", Fate::Verbatim);
        check(
            "Never touch the production database.",
            "- production database is never to be touched",
            Fate::Reworded,
        );
        check("Never push to main.", "We fixed the upload and pushed nothing.", Fate::Lost);
        check("不要修改生产数据库。", "用户要求:不要修改生产数据库", Fate::Verbatim);
    }

    #[test]
    fn files_are_known_by_path_or_name() {
        let kept = Kept::new(&["Changed src/upload.rs and retry.rs".into()]);
        let fates =
            ["src/upload.rs", "src/deep/retry.rs", "src/other.rs"].map(|path| kept.fate_of_file(path));
        assert_eq!(fates, [Fate::Verbatim, Fate::Reworded, Fate::Lost]);
    }
}
