//! Keeps the commands that were run, and what their outputs tell: test runs, errors, commits, background jobs.

use std::borrow::Cow;
use std::sync::LazyLock;

use longhaul_conversation::Ordinal;
use longhaul_text::AnyOf;
use serde::{Deserialize, Serialize};

use super::colours::plain;
use super::effect::{FileEffect, FileOperation};
use super::entries::{CommandEntry, CommandPurpose, CommitEntry, ErrorEntry, JobKind, RunEntry, WorkOutcome};
use super::errors::find_errors;
use super::jobs::background_handle;
use super::outcome::ParsedResult;
use super::paths::is_absolute;
use super::results::{RunResults, read_results};
use super::shell::ScriptEffects;
use crate::excerpts::{cut, tail};
use crate::ledger::{Ledger, MAX_TEXT_CHARS};

/// A command that waits for its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingCommand {
    /// Its place among the commands.
    command: usize,
    effects: Vec<FileEffect>,
    early_effects: usize,
    runner: Option<String>,
    /// The directory in which it leaves a shell that stays.
    leaves: Option<String>,
    commit: Option<String>,
    in_background: bool,
    hides_exit: bool,
    is_filtered: bool,
    /// True if it only asks for the working directory.
    asks_directory: bool,
}

impl PendingCommand {
    /// The folder below the project that the command goes to, if it goes to one.
    pub(super) fn goes_to(&self) -> Option<&str> {
        self.leaves.as_deref().filter(|directory| !directory.is_empty() && !is_absolute(directory))
    }
}

impl Ledger {
    /// Records a command that is about to run.
    pub(super) fn start_command(
        &mut self,
        command: &str,
        script: ScriptEffects,
        lasts: bool,
        in_background: bool,
        at: Ordinal,
    ) -> PendingCommand {
        self.commands.push(CommandEntry {
            text: cut(&without_documents(command), MAX_TEXT_CHARS),
            purpose: script.purpose,
            outcome: WorkOutcome::Running,
            exit_code: None,
            millis: None,
            at,
            fixed: None,
        });
        // The project's folder is often named by no one but the commands that go there.
        if self.root.is_none()
            && script.directory.starts_with('/')
            && command.trim_start().starts_with("cd /")
        {
            let first = command.trim_start()[3..].split([' ', ';', '&', '\n']).next().unwrap_or_default();
            self.learn_root(first);
        }
        PendingCommand {
            command: self.commands.len() - 1,
            effects: script.effects,
            early_effects: script.early_effects,
            runner: script.runner,
            leaves: lasts.then_some(script.directory),
            commit: script.commit,
            in_background: in_background || script.is_background,
            hides_exit: script.hides_exit,
            is_filtered: script.is_filtered,
            asks_directory: command.trim().split([' ', '&', ';', '\n']).next() == Some("pwd"),
        }
    }

    /// Records the result of a command.
    pub(super) fn finish_command(&mut self, open: &PendingCommand, answer: &ParsedResult<'_>, at: Ordinal) {
        self.tells_failures |=
            answer.exit_code.is_some() || matches!(answer.outcome, WorkOutcome::Failed | WorkOutcome::Passed);
        let Some(command) = self.commands.get(open.command) else { return };
        let (purpose, text) = (command.purpose, command.text.clone());
        let handle = background_handle(&answer.text);
        if answer.outcome == WorkOutcome::Cancelled {
            return self.settle(open, answer, WorkOutcome::Cancelled);
        }
        if handle.is_some() || open.in_background && answer.outcome != WorkOutcome::Failed {
            self.settle(open, answer, WorkOutcome::Running);
            self.start_job(JobKind::Command, &text, handle, at);
            return self.apply_effects(&open.effects, &answer.text, at);
        }
        // What was only looked at tells of other runs.
        let output = if purpose == CommandPurpose::Look { Cow::Borrowed("") } else { plain(&answer.text) };
        let results = read_results(&output);
        let is_run = purpose >= CommandPurpose::Check || results.is_test;
        let mut outcome = self.judge(open, answer, is_run, &results);
        let errors = match outcome {
            WorkOutcome::Failed | WorkOutcome::Unclear => find_errors(&output),
            _ => Vec::new(),
        };
        if outcome == WorkOutcome::Unclear && !errors.is_empty() {
            outcome = WorkOutcome::Failed;
        }
        self.settle(open, answer, outcome);
        if is_run {
            let runner = open.runner.clone().unwrap_or_else(|| "tests".to_string());
            let purpose = if purpose >= CommandPurpose::Check { purpose } else { CommandPurpose::Test };
            let RunResults { passed, failed, skipped, failing, .. } = results;
            self.runs.push(RunEntry {
                runner,
                purpose,
                command: text.clone(),
                outcome,
                passed,
                failed,
                skipped,
                failing,
                at,
            });
        }
        if outcome == WorkOutcome::Passed {
            self.mark_fixed(open.command, at);
        }
        for error in errors {
            let file = error.file.map(|file| self.key(&file));
            self.errors.push(ErrorEntry {
                name: error.name,
                message: error.message,
                file,
                source: text.clone(),
                at,
                fixed: None,
            });
        }
        self.note_commit(open, outcome, &answer.text, at);
        self.note_effects(open, outcome, answer, at);
    }

    /// The outcome of a command: its own summary decides, then its exit code if that is its own.
    fn judge(
        &self,
        open: &PendingCommand,
        answer: &ParsedResult<'_>,
        is_run: bool,
        results: &RunResults,
    ) -> WorkOutcome {
        let verdict = results.verdict.filter(|_| is_run);
        match (verdict, answer.outcome) {
            (Some(false), _) | (_, WorkOutcome::Failed) => WorkOutcome::Failed,
            (Some(true), _) => WorkOutcome::Passed,
            // A pipe hides how it ended; a checker that says nothing has found nothing.
            (None, WorkOutcome::Passed | WorkOutcome::Unclear) if is_run && open.hides_exit => {
                let is_silent = !open.is_filtered && matches!(answer.text.trim(), "" | "(no output)");
                let purpose = self.commands.get(open.command).map(|command| command.purpose);
                let is_checker = matches!(purpose, Some(CommandPurpose::Check | CommandPurpose::Build));
                if is_silent && is_checker { WorkOutcome::Passed } else { WorkOutcome::Unclear }
            }
            (None, WorkOutcome::Unclear) if self.tells_failures => WorkOutcome::Passed,
            (None, outcome) => outcome,
        }
    }

    fn settle(&mut self, open: &PendingCommand, answer: &ParsedResult<'_>, outcome: WorkOutcome) {
        if let Some(command) = self.commands.get_mut(open.command) {
            command.outcome = outcome;
            command.exit_code = answer.exit_code;
            command.millis = answer.millis;
        }
    }

    /// Marks as fixed what a command that passes, or a narrower run of the same, met before.
    fn mark_fixed(&mut self, passed: usize, at: Ordinal) {
        let (before, rest) = self.commands.split_at_mut(passed);
        let Some(passed) = rest.first() else { return };
        let recent = before.len().saturating_sub(LOOK_BACK);
        let is_open =
            |command: &CommandEntry| command.outcome == WorkOutcome::Failed && command.fixed.is_none();
        // Most of the time nothing is left to be settled.
        let Some(oldest) = before[recent..].iter().position(is_open) else { return };
        let before = &mut before[recent + oldest..];
        let words = key_words(&passed.text);
        let runs_all = passed.purpose == CommandPurpose::Test && is_task(&words);
        // What the longest word does not stand in need not be taken apart.
        let longest = words.iter().max_by_key(|word| word.len()).map_or("", |word| word);
        let mut settled: Vec<&str> = Vec::new();
        for command in before.iter_mut().rev().filter(|command| is_open(command)) {
            let covers = runs_all && command.purpose == CommandPurpose::Test;
            let may_cover = || command.text.contains(longest);
            if covers || may_cover() && is_broader(&words, &key_words(&command.text)) {
                command.fixed = Some(at);
                settled.push(&command.text);
            }
        }
        if settled.is_empty() {
            return;
        }
        for error in self.errors.iter_mut().rev().take(LOOK_BACK).filter(|error| error.fixed.is_none()) {
            if settled.contains(&error.source.as_str()) {
                error.fixed = Some(at);
            }
        }
    }

    fn note_commit(&mut self, open: &PendingCommand, outcome: WorkOutcome, output: &str, at: Ordinal) {
        let Some(message) = &open.commit else { return };
        let hash = output.lines().find_map(commit_hash);
        if hash.is_some() || outcome == WorkOutcome::Passed {
            self.commits.push(CommitEntry { hash, message: cut(message, 200), at });
        }
    }

    fn note_effects(
        &mut self,
        open: &PendingCommand,
        outcome: WorkOutcome,
        answer: &ParsedResult<'_>,
        at: Ordinal,
    ) {
        if open.asks_directory
            && let Some(directory) = answer.text.lines().next().filter(|line| line.starts_with('/'))
        {
            self.learn_root(directory);
        }
        let surely = match outcome {
            WorkOutcome::Failed => &open.effects[..open.early_effects.min(open.effects.len())],
            _ => &open.effects[..],
        };
        // A lone reading that fails has read nothing.
        let is_lone_read = matches!(surely, [FileEffect { act: FileOperation::Read { .. }, .. }]);
        if outcome != WorkOutcome::Failed || !is_lone_read {
            self.apply_effects(surely, &answer.text, at);
        }
        if outcome != WorkOutcome::Failed
            && let Some(directory) = &open.leaves
        {
            let end = tail(&answer.text, 800);
            static TOLD: LazyLock<AnyOf> =
                LazyLock::new(|| AnyOf::new(&["Shell cwd was reset to ", "urrent working directory: "]));
            if !TOLD.is_in(end) {
                self.directory = self.seen_from_root(directory);
            }
        }
    }

    fn apply_effects(&mut self, effects: &[FileEffect], output: &str, at: Ordinal) {
        if effects.is_empty() {
            return;
        }
        static COMPLAINTS: LazyLock<AnyOf> =
            LazyLock::new(|| AnyOf::new(&["No such file", "Is a directory"]));
        let complaints: Vec<&str> = if COMPLAINTS.is_in(output) {
            output.lines().take(400).filter(|line| COMPLAINTS.is_in(line)).collect()
        } else {
            Vec::new()
        };
        let is_missing = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            complaints.iter().any(|line| line.contains(name))
        };
        for effect in effects {
            if !is_missing(&effect.path) {
                self.apply(effect, None, at);
            }
        }
    }
}

/// A command without the text of its here-documents: that is seldom what it is about.
fn without_documents(command: &str) -> Cow<'_, str> {
    if !command.contains("<<") {
        return Cow::Borrowed(command);
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut end: Option<&str> = None;
    for line in command.lines() {
        match end {
            Some(word) if line.trim() == word => end = None,
            Some(_) => continue,
            None => {
                kept.push(line);
                end = document_word(line);
            }
        }
    }
    Cow::Owned(kept.join("\n"))
}

/// The word that ends the here-document which a line begins.
fn document_word(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("<<")?;
    let word = rest.trim_start_matches(['-', '~', ' ', '\'', '"', '\\']);
    let end = word.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(word.len());
    let is_word = !rest.starts_with('<') && word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_word && end > 0).then(|| &word[..end])
}

/// The number of entries among which a run that passes looks for failures that it fixes.
const LOOK_BACK: usize = 256;

/// The words of a command that say what it runs: without a leading `cd`, redirects and what only shortens its output.
/// Of commits, pushes and the like only the act counts: the next one is another try.
pub(super) fn key_words(command: &str) -> Vec<&str> {
    const ACTS: &[&str] = &["commit", "push", "pull", "rebase", "merge", "stash", "cherry-pick"];
    let mut command = command.trim();
    let steps = command.contains("git").then(|| command.split("&&"));
    for step in steps.into_iter().flatten() {
        let mut words = step.split_whitespace();
        if words.next() == Some("git")
            && let Some(act) = words.next().filter(|act| ACTS.contains(act))
        {
            return vec!["git", act];
        }
    }
    while command.starts_with("cd ")
        && let Some((_, rest)) = command.split_once("&&")
    {
        command = rest.trim();
    }
    let end = command.find(" | ").or_else(|| command.find("; echo")).unwrap_or(command.len());
    let says_nothing = |word: &&str| !matches!(*word, "2>&1" | "-v" | "-count=1" | "--quiet" | "-q");
    command[..end].split_whitespace().filter(says_nothing).collect()
}

/// True if a command runs at least what another one ran: it names nothing that the other does not.
fn is_broader(words: &[&str], other: &[&str]) -> bool {
    !words.is_empty() && words.first() == other.first() && words.iter().all(|word| other.contains(word))
}

/// True if a command runs a task of the project's, and all of it.
fn is_task(words: &[&str]) -> bool {
    matches!(words, ["mise" | "make" | "just" | "task" | "npm" | "pnpm" | "yarn" | "bun", rest @ ..] if rest.len() <= 2)
}

/// `[main 1a2b3c4] message` and `[main (root-commit) 1a2b3c4] message`
fn commit_hash(line: &str) -> Option<String> {
    let (head, _) = line.trim().strip_prefix('[')?.split_once("] ")?;
    let hash = head.rsplit(' ').next()?;
    let is_hash = (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && head.contains(' ')).then(|| hash.to_string())
}
