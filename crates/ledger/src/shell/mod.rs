//! Reads shell scripts: their effects on files, the programs they run, and the directory in which they leave the shell.
//!
//! The lexer of `longhaul-shell` takes them apart. A script that is unclear to it is read as far as it goes: the ledger
//! records what was most likely done, it grants nothing.

mod git;
mod operands;
pub(crate) mod programs;
pub(crate) mod runners;

use std::borrow::Cow;

use longhaul_shell::{
    CommandOrigin, Redirect, RedirectOperator, Separator, ShellScript, ShellWord, SimpleCommand, is_wrapper,
    parse_script,
};
use programs::OutputFile;

use crate::effect::{FileEffect, FileOperation, replaced};
use crate::entries::CommandPurpose;
use crate::paths::join;

/// One script tells of no more file effects than this.
const MAX_EFFECTS: usize = 64;

/// Programs that run commands elsewhere: what those do to files is not done here.
const REMOTE: &[&str] = &["ssh", "chroot"];

/// The effects of a script, as far as its text tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptEffects {
    /// Its effects on files, in order.
    pub(super) effects: Vec<FileEffect>,
    /// The number of effects before anything that is likely to fail.
    pub(super) early_effects: usize,
    /// Its purpose: the weightiest of its commands decides.
    pub(super) purpose: CommandPurpose,
    /// The test, build or check that it runs; of several the weightiest.
    pub(super) runner: Option<String>,
    /// The working directory afterwards.
    pub(super) directory: String,
    /// The message of the commit that it makes.
    pub(super) commit: Option<String>,
    /// True if it leaves something running.
    pub(super) is_background: bool,
    /// True if its exit code may be another command's than the one that matters.
    pub(super) hides_exit: bool,
    /// True if its output goes through a program that may drop lines which tell of a failure.
    pub(super) is_filtered: bool,
}

/// Reads a script that starts in `directory`, where `open_file` is the file that an editor of commands has open.
pub(super) fn read_script(script: &str, directory: &str, open_file: Option<&str>) -> ScriptEffects {
    let mut reader = ScriptReader {
        script: ScriptEffects {
            effects: Vec::new(),
            early_effects: 0,
            purpose: CommandPurpose::Look,
            runner: None,
            directory: directory.to_string(),
            commit: None,
            is_background: false,
            hides_exit: false,
            is_filtered: false,
        },
        open_file,
        early: None,
        fed_from: None,
    };
    if !reader.edit_command(script) {
        let script = if script.contains('\r') {
            Cow::Owned(script.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(script)
        };
        let parsed = parse_script(&script);
        let line = ParsedScript { wrapped: parsed.wrapped(), script: &parsed };
        let is_own = |index: &usize| parsed.commands[*index].origin == CommandOrigin::Line;
        let own: Vec<usize> = (0..parsed.commands.len()).filter(is_own).collect();
        reader.run(&line, &own, CommandLevel::Line);
    }
    let all = reader.script.effects.len();
    reader.script.early_effects = reader.early.unwrap_or(all).min(all);
    reader.script
}

/// A script with the commands that each of its commands runs.
struct ParsedScript<'s> {
    script: &'s ShellScript,
    wrapped: Vec<Vec<usize>>,
}

/// The level of a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandLevel {
    /// They are the line's own.
    Line,
    /// Another command runs them.
    Wrapped,
}

struct ScriptReader<'f> {
    script: ScriptEffects,
    open_file: Option<&'f str>,
    /// The number of effects before anything that is likely to fail, once that is reached.
    early: Option<usize>,
    /// The first effect of the command that feeds the next one.
    fed_from: Option<usize>,
}

impl ScriptReader<'_> {
    fn run(&mut self, line: &ParsedScript<'_>, commands: &[usize], level: CommandLevel) {
        let several = commands.len() > 1;
        for (place, index) in commands.iter().enumerate() {
            let separator = line.script.commands[*index].separator;
            let before = self.script.effects.len();
            self.command(line, *index);
            self.fed_from = (separator == Separator::Pipe).then_some(before);
            // What fails is usually a test or a build; otherwise only the first command surely ran. A command that
            // another one runs by itself is judged with that one.
            let ran = self.script.runner.is_some() || several && place == 0;
            if ran && (several || level == CommandLevel::Line) && self.early.is_none() {
                self.early = Some(self.script.effects.len());
            }
            match separator {
                Separator::Background => self.script.is_background = true,
                Separator::Pipe | Separator::Or if !matches!(self.script.purpose, CommandPurpose::Look) => {
                    self.script.hides_exit = true;
                }
                Separator::Sequence if place + 1 < commands.len() && self.script.runner.is_some() => {
                    self.script.hides_exit = true;
                }
                _ => {}
            }
        }
    }

    fn command(&mut self, line: &ParsedScript<'_>, index: usize) {
        let command = &line.script.commands[index];
        let program = command.program_name().unwrap_or_default();
        if matches!(program, "nohup" | "setsid") {
            self.script.is_background = true;
        }
        // Words that are added come from the input, which is no text to be filtered then.
        if command.is_open_ended {
            self.fed_from = None;
        }
        let inner = if REMOTE.contains(&program) { &[][..] } else { &line.wrapped[index][..] };
        let words = words_of(command);
        let input = input_of(command);
        if (inner.is_empty() || !is_wrapper(program)) && !words.is_empty() {
            self.program(&words, input);
        }
        self.run(line, inner, CommandLevel::Wrapped);
        for output in command.redirects.iter().filter_map(output_of) {
            let text = programs::printed_text(&words, input);
            if let Some(effect) = programs::redirect(&output, text.as_deref(), &self.script.directory) {
                self.script.purpose = self.script.purpose.max(CommandPurpose::Other);
                self.script.effects.push(effect);
            }
        }
        self.script.effects.truncate(MAX_EFFECTS);
    }

    fn program(&mut self, words: &[String], input: Option<&str>) {
        if matches!(words[0].as_str(), "cd" | "pushd") {
            return self.change_directory(&words[1..]);
        }
        let runner = runners::find_runner(words);
        let purpose = match &runner {
            Some(runner) => runner.purpose,
            None if programs::only_looks(words) => CommandPurpose::Look,
            None => CommandPurpose::Other,
        };
        if let Some(runner) = runner
            && (self.script.runner.is_none() || purpose > self.script.purpose)
        {
            self.script.runner = Some(runner.name);
        }
        self.script.purpose = self.script.purpose.max(purpose);
        // `cat x | head -20` reads twenty lines.
        if let (Some(from), Some(lines)) = (self.fed_from, programs::filtered_lines(words)) {
            for effect in self.script.effects.iter_mut().skip(from) {
                if let FileOperation::Read { range: range @ None } = &mut effect.act {
                    *range = Some(lines);
                }
            }
        }
        if self.fed_from.is_some() && programs::drops_lines(words) {
            self.script.is_filtered = true;
        }
        let found = programs::effects_of(words, input, &self.script.directory);
        self.script.effects.extend(found.effects);
        if found.commit.is_some() {
            self.script.commit = found.commit;
        }
    }

    fn change_directory(&mut self, arguments: &[String]) {
        let target = arguments.iter().find(|word| !word.starts_with('-') || *word == "-");
        match target.map(String::as_str) {
            Some("-" | "~") | None => {}
            Some(target) if target.contains(['$', '`', '*']) => {}
            Some(target) => self.script.directory = join(&self.script.directory, target),
        }
    }

    /// The edit command of agents that edit through their shell: `edit 12:14`, the new lines, `end_of_edit`. The lines
    /// are no script.
    fn edit_command(&mut self, script: &str) -> bool {
        let trimmed = script.trim();
        let Some(body) = trimmed.strip_suffix("end_of_edit") else { return false };
        let Some((head, new)) = body.split_once('\n') else { return false };
        let Some(place) = head.strip_prefix("edit") else { return false };
        self.script.purpose = CommandPurpose::Other;
        // An edit that fails changes nothing.
        self.early = Some(0);
        if let Some(path) = self.open_file {
            let mut change = replaced("", new);
            let ends =
                place.trim().split_once(':').map(|(first, last)| (first.parse::<u32>(), last.parse::<u32>()));
            if let Some((Ok(first), Ok(last))) = ends {
                change.removed = last.saturating_sub(first).saturating_add(1);
            }
            self.script.effects.push(FileEffect::new(path, FileOperation::Edit { change }));
        }
        true
    }
}

/// The program and its arguments, without substitutions that stand for files.
fn words_of(command: &SimpleCommand) -> Vec<String> {
    let is_file = |word: &&ShellWord| !word.is_literal() && word.text.starts_with(['<', '>']);
    command.bare().iter().filter(|word| !is_file(word)).map(|word| word.text.clone()).collect()
}

/// The text that a command is given as its input, where the script holds it.
fn input_of(command: &SimpleCommand) -> Option<&str> {
    command.redirects.iter().find_map(|redirect| match (&redirect.document, redirect.operator) {
        (Some(document), _) => Some(document.body.as_str()),
        (None, RedirectOperator::HereString) => Some(redirect.target.text.as_str()),
        _ => None,
    })
}

/// The file that output goes to.
fn output_of(redirect: &Redirect) -> Option<OutputFile<'_>> {
    let path = redirect.target.text.as_str();
    let appends = match redirect.operator {
        RedirectOperator::Write => false,
        RedirectOperator::Append => true,
        RedirectOperator::Duplicate if redirect.reaches_out() => false,
        _ => return None,
    };
    Some(OutputFile { path, appends, is_stderr: redirect.descriptor == Some(2) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected: &str) {
        let read = read_script(script, "", Some("open.py"));
        let mut seen: Vec<String> = read
            .effects
            .iter()
            .map(|effect| {
                let verb = match &effect.act {
                    FileOperation::Read { range: None } => "read".to_string(),
                    FileOperation::Read { range: Some(range) } => {
                        format!(
                            "read[{}-{}]",
                            range.first,
                            range.last.map_or(String::new(), |last| last.to_string())
                        )
                    }
                    FileOperation::Write { .. } => "write".to_string(),
                    FileOperation::Create { .. } => "create".to_string(),
                    FileOperation::Append { .. } => "append".to_string(),
                    FileOperation::Edit { .. } => "edit".to_string(),
                    FileOperation::Delete => "delete".to_string(),
                    FileOperation::Move { to } => format!("move[{to}]"),
                    FileOperation::Restore => "restore".to_string(),
                };
                format!("{verb} {}", effect.path)
            })
            .collect();
        if let Some(commit) = &read.commit {
            seen.push(format!("commit {commit}"));
        }
        assert_eq!(seen.join(", "), expected, "{script}");
    }

    #[test]
    fn reading_commands_read() {
        check("cat src/a.rs", "read src/a.rs");
        check("cat -n a b | wc -l", "read a, read b");
        check("head -n 20 a.txt", "read[1-20] a.txt");
        check("head -50 a.txt", "read[1-50] a.txt");
        check("tail -n +30 a.txt", "read[30-] a.txt");
        check("sed -n '10,40p' a.rs", "read[10-40] a.rs");
        check("sed -n 7p a.rs", "read[7-7] a.rs");
        check("nl -ba a.rs | sed -n '5,9p'", "read[5-9] a.rs");
        check("cat a.rs | head -20", "read[1-20] a.rs");
        check("cat *.rs $X", "");
        check("ls -la src", "");
        check("grep -n fn src/a.rs", "");
        check("bash -lc \"cat a.md\"", "read a.md");
        check("cd web && cat src/x.ts", "read web/src/x.ts");
        check("sudo env A=1 timeout 10 cat /etc/hosts", "read /etc/hosts");
    }

    #[test]
    fn writing_commands_write() {
        check("echo hi > a.txt", "write a.txt");
        check("echo hi >> a.txt", "append a.txt");
        check("cat > a.py <<'EOF'\nx\nEOF", "write a.py");
        check("make 2> /dev/null > out.log", "write out.log");
        check("echo x | tee a b", "write a, write b");
        check("echo x | sudo tee -a a", "append a");
        check("sed -i 's/a/b/' x.rs y.rs", "edit x.rs, edit y.rs");
        check("sed -i '' -e 's/a/b/' x.rs", "edit x.rs");
        check("perl -pi -e 's/a/b/' x.rs", "edit x.rs");
        check("rm -rf a b/c", "delete a, delete b/c");
        check("mv a b", "move[b] a");
        check("mv a b dir/", "move[dir/a] a, move[dir/b] b");
        check("cp a b", "write b");
        check("cp -r a dir/", "write dir/a");
        check("touch new.txt", "append new.txt");
        check("mkdir -p a/b", "");
        check("npm test > /dev/null 2>&1", "");
        check("npm test >& all.log", "write all.log");
        check("sudo tee a <<< x > b", "write a, write b");
        check("echo a > >(cat)", "");
    }

    #[test]
    fn commands_that_others_run_count() {
        check("bash -c 'cat a; rm b' && cat c", "read a, delete b, read c");
        check("bash <<'E'\nrm a\nE", "delete a");
        check("find . -name x -exec sed -i s/a/b/ {} + -exec cat a \\;", "read a");
        check("ls | xargs -I{} cp {} dir/", "");
        check("ls | xargs head -5 a", "read[1-5] a");
        check("ssh host 'rm a'", "");
        check("echo $(rm a) \"$(cat b)\"", "");
        check("cat ${x:-a b} c", "read c");
        check("cat a\r\nrm b\r\n", "read a, delete b");
        check("for f in a b; do touch $f c; done", "append c");
        check("f() { rm a; }", "delete a");
        check("case $x in a) rm b;; esac", "delete b");
    }

    #[test]
    fn git_and_patches_work_on_files() {
        check("git mv a b", "move[b] a");
        check("git rm --cached a", "");
        check("git rm -f a", "delete a");
        check("git checkout -- a b", "restore a, restore b");
        check("git restore --staged a", "");
        check("git restore a", "restore a");
        check("git checkout main", "");
        check("git -C /w commit -am 'fix: it'", "commit fix: it");
        check("git add . && git commit -m \"$(cat <<'EOF'\nfeat: x\n\nmore\nEOF\n)\"", "commit feat: x");
        check("git commit -m \"$(cat <<'EOF'\nDon't; stop\nEOF\n)\" && rm x", "delete x, commit Don't; stop");
        check("git commit -m one -m two", "commit one");
        check("git apply <<'E'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nE", "edit x");
        check("apply_patch <<'E'\n*** Begin Patch\n*** Add File: n\n+x\n*** End Patch\nE", "create n");
        check("cd sub && apply_patch '*** Begin Patch\n*** Delete File: n\n*** End Patch'", "delete sub/n");
    }

    #[test]
    fn editing_through_the_shell_is_editing() {
        check("edit 12:14\nnew line\nend_of_edit", "edit open.py");
        check("create a.py", "create a.py");
        check("open src/a.py 120", "read src/a.py");
        check("str_replace_editor view /w/a.py --view_range 1 10", "read /w/a.py");
        check("str_replace_editor create /w/a.py --file_text 'x'", "write /w/a.py");
    }

    #[track_caller]
    fn check_run(script: &str, purpose: CommandPurpose, runner: Option<&str>, hides_exit: bool) {
        let read = read_script(script, "", None);
        assert_eq!(
            (read.purpose, read.runner.as_deref(), read.hides_exit),
            (purpose, runner, hides_exit),
            "{script}"
        );
    }

    #[test]
    fn scripts_are_for_something() {
        check_run("ls && git status | head", CommandPurpose::Look, None, false);
        check_run("cargo test 2>&1 | tail -5", CommandPurpose::Test, Some("cargo test"), true);
        check_run("cargo fmt && cargo test -p x", CommandPurpose::Test, Some("cargo test"), false);
        check_run("cargo test; echo done", CommandPurpose::Test, Some("cargo test"), true);
        check_run("cd a && npm run build", CommandPurpose::Build, Some("npm run build"), false);
        check_run("python x.py", CommandPurpose::Other, None, false);
        check_run("echo x > y", CommandPurpose::Other, None, false);
        check_run("find . | xargs rm", CommandPurpose::Other, None, false);
        check_run("find . -exec grep x {} +", CommandPurpose::Look, None, false);
        check_run("env A=1 bash -c 'npm test'", CommandPurpose::Test, Some("npm test"), false);
        check_run("xvfb-run -a npm test", CommandPurpose::Test, Some("npm test"), false);
        check_run("ls 'open", CommandPurpose::Look, None, false);
    }

    #[test]
    fn background_and_directories_are_noticed() {
        assert!(read_script("npm run dev &", "", None).is_background);
        assert!(read_script("nohup server", "", None).is_background);
        assert!(!read_script("a && b", "", None).is_background);
        assert_eq!(read_script("cd a/b && cd ..", "x", None).directory, "x/a");
        assert_eq!(read_script("cd /w; cd $X", "x", None).directory, "/w");
    }

    #[test]
    fn what_a_failing_script_surely_did() {
        let early = |script: &str| read_script(script, "", None).early_effects;
        assert_eq!(early("sed -i s/a/b/ x && cargo test && rm x"), 1);
        assert_eq!(early("echo a > x && false && echo b > y"), 1);
        assert_eq!(early("cat x"), 1);
    }
}
