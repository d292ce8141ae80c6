//! Programs that run the rest of their words.

use super::{WrappedCommand, WrappedCommands};
use crate::{ShellWord, SimpleCommand, Unclear, WordKind};

/// The form of such a program's words: options, words that it needs for itself, then the command.
pub(super) struct Prefix {
    names: &'static [&'static str],
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with a value, in the same word or the next.
    values: &'static str,
    long_flags: &'static [&'static str],
    long_values: &'static [&'static str],
    /// The number of words before the command.
    skipped: usize,
    command: CommandForm,
}

/// The use of the words behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandForm {
    /// They are a command.
    Words,
    /// They are a command, behind words that set variables.
    WordsBehindVariables,
    /// They are a command, to which the input adds words.
    WordsAndInput,
    /// They are put together to a script.
    Script,
}

const PLAIN: Prefix = Prefix {
    names: &[],
    flags: "",
    values: "",
    long_flags: &[],
    long_values: &[],
    skipped: 0,
    command: CommandForm::Words,
};

const PREFIXES: &[Prefix] = &[
    Prefix {
        names: &[
            "nohup",
            "builtin",
            "busybox",
            "toybox",
            "fakeroot",
            "unbuffer",
            "torsocks",
            "torify",
            "catchsegv",
            "dbus-run-session",
            "proxychains",
            "proxychains4",
            "nocache",
            "chronic",
        ],
        ..PLAIN
    },
    Prefix { names: &["command"], flags: "p", ..PLAIN },
    Prefix { names: &["exec"], flags: "cl", values: "a", ..PLAIN },
    Prefix {
        names: &["env", "genv"],
        flags: "i0v",
        values: "uC",
        long_flags: &["ignore-environment", "null", "debug"],
        long_values: &["unset", "chdir"],
        command: CommandForm::WordsBehindVariables,
        ..PLAIN
    },
    Prefix {
        names: &["sudo"],
        flags: "AbBEHikKlnNPSsvV",
        values: "CDghpRrtTUu",
        long_flags: &[
            "askpass",
            "background",
            "bell",
            "preserve-env",
            "set-home",
            "login",
            "remove-timestamp",
            "reset-timestamp",
            "list",
            "non-interactive",
            "no-update",
            "preserve-groups",
            "stdin",
            "shell",
            "validate",
        ],
        long_values: &[
            "close-from",
            "chdir",
            "group",
            "host",
            "prompt",
            "chroot",
            "role",
            "type",
            "command-timeout",
            "other-user",
            "user",
        ],
        command: CommandForm::WordsBehindVariables,
        ..PLAIN
    },
    Prefix { names: &["doas"], flags: "Lns", values: "aCu", ..PLAIN },
    Prefix {
        names: &["nice", "gnice"],
        flags: "0123456789",
        values: "n",
        long_values: &["adjustment"],
        ..PLAIN
    },
    Prefix {
        names: &["ionice"],
        flags: "t",
        values: "cn",
        long_flags: &["ignore"],
        long_values: &["class", "classdata"],
        ..PLAIN
    },
    Prefix { names: &["taskset"], flags: "ac", long_flags: &["all-tasks", "cpu-list"], skipped: 1, ..PLAIN },
    Prefix {
        names: &["stdbuf", "gstdbuf"],
        values: "ioe",
        long_values: &["input", "output", "error"],
        ..PLAIN
    },
    Prefix {
        names: &["timeout", "gtimeout"],
        flags: "fpv",
        values: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_values: &["kill-after", "signal"],
        skipped: 1,
        ..PLAIN
    },
    Prefix {
        names: &["time", "gtime"],
        flags: "apqv",
        values: "fo",
        long_flags: &["append", "portability", "quiet", "verbose"],
        long_values: &["format", "output"],
        ..PLAIN
    },
    Prefix { names: &["setsid"], flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..PLAIN },
    Prefix { names: &["caffeinate"], flags: "dimsu", values: "tw", ..PLAIN },
    Prefix {
        names: &["chroot"],
        long_flags: &["skip-chdir"],
        long_values: &["groups", "userspec"],
        skipped: 1,
        ..PLAIN
    },
    Prefix {
        names: &["strace"],
        flags: "cCdDfFiknqrtTvwxyYzZ",
        values: "abeEIoOPsSuUX",
        long_flags: &["follow-forks", "summary-only", "summary", "quiet"],
        long_values: &["output", "trace", "env"],
        ..PLAIN
    },
    Prefix {
        names: &["flock"],
        flags: "Fnosux",
        values: "Ew",
        long_flags: &["close", "exclusive", "nb", "no-fork", "nonblock", "shared", "unlock", "verbose"],
        long_values: &["conflict-exit-code", "timeout", "wait"],
        skipped: 1,
        ..PLAIN
    },
    Prefix {
        names: &["watch"],
        flags: "bcdegptwx",
        values: "nq",
        long_flags: &["beep", "color", "differences", "errexit", "chgexit", "no-title", "precise", "exec"],
        long_values: &["interval"],
        command: CommandForm::Script,
        ..PLAIN
    },
    Prefix {
        names: &["ssh"],
        flags: "46AaCfGgKkMNnqsTtVvXxYy",
        values: "BbcDEeFIiJLlmOpQRSWw",
        skipped: 1,
        command: CommandForm::Script,
        ..PLAIN
    },
    Prefix {
        names: &["xargs", "gxargs"],
        flags: "0oprtx",
        values: "adEILnPsJRS",
        long_flags: &["exit", "interactive", "no-run-if-empty", "null", "open-tty", "verbose"],
        long_values: &["arg-file", "delimiter", "max-args", "max-chars", "max-lines", "max-procs", "replace"],
        command: CommandForm::WordsAndInput,
        ..PLAIN
    },
];

/// The form of a program of this name.
pub(super) fn find(name: &str) -> Option<&'static Prefix> {
    PREFIXES.iter().find(|prefix| prefix.names.contains(&name))
}

impl Prefix {
    /// The command behind the program's own words.
    pub(super) fn runs(&self, command: &SimpleCommand) -> WrappedCommands {
        // `command -v` only tells where a program is.
        let second = command.bare().get(1).map(|word| word.text.as_str());
        if self.names == ["command"] && matches!(second, Some("-v" | "-V" | "-pv" | "-pV")) {
            return WrappedCommands::default();
        }
        let Some(at) = self.command_at(command) else { return WrappedCommands::unread(Unclear::Option) };
        let script = |word: &ShellWord| matches!(word.text.as_str(), "-c" | "--command");
        if self.names == ["flock"] && command.words.get(at).is_some_and(script) {
            return WrappedCommands::joined(
                at + 1,
                command.words.get(at + 1..at + 2).unwrap_or_default(),
                command,
            );
        }
        match self.command {
            // Without a command, these start a shell.
            CommandForm::Words | CommandForm::WordsBehindVariables
                if at >= command.words.len() && ["chroot", "doas", "sudo"].contains(&self.names[0]) =>
            {
                WrappedCommands::unread(Unclear::Input)
            }
            CommandForm::Words | CommandForm::WordsBehindVariables => WrappedCommands::words(at, command),
            CommandForm::WordsAndInput if at >= command.words.len() => WrappedCommands::default(),
            CommandForm::WordsAndInput => {
                let inner = WrappedCommand::Words {
                    word: at,
                    end: command.words.len(),
                    is_open_ended: true,
                    placeholder: self.placeholder(&command.words[..at]),
                };
                WrappedCommands { inner: vec![inner], unread: None }
            }
            CommandForm::Script => {
                let words = command.words.get(at..).unwrap_or_default();
                let mut runs = WrappedCommands::joined(at, words, command);
                // Without a command, it starts a shell that runs its input.
                runs.unread =
                    runs.unread.or((words.is_empty() && self.names == ["ssh"]).then_some(Unclear::Input));
                runs
            }
        }
    }

    /// The index of the command's first word. `None` if an option is not known.
    fn command_at(&self, command: &SimpleCommand) -> Option<usize> {
        let mut index = command.assignments + 1;
        while let Some(word) = command.words.get(index) {
            let text = word.text.as_str();
            if text == "--" {
                index += 1;
                break;
            }
            // `env -` is `env -i`.
            if text == "-" && self.command == CommandForm::WordsBehindVariables {
                index += 1;
                continue;
            }
            if !text.starts_with('-') || text == "-" {
                // What is filled in may be an option, and then the command begins elsewhere.
                if !word.is_literal() && (word.kind == WordKind::Split || text.starts_with(['$', '`'])) {
                    return (self.command == CommandForm::Words && self.has_no_options()).then_some(index);
                }
                break;
            }
            // Nothing but a value in quotes may be filled in, and no placeholder.
            let is_one = |word: &ShellWord| match word.kind {
                WordKind::Literal => true,
                WordKind::Filled => self.command != CommandForm::WordsAndInput,
                WordKind::Pattern | WordKind::Split => false,
            };
            if !is_one(word) || (!word.is_literal() && !self.has_value_inside(text)) {
                return None;
            }
            let length = self.option_length(text)?;
            if !command.words[index..].iter().take(length).all(is_one) {
                return None;
            }
            index += length;
        }
        if self.command == CommandForm::WordsBehindVariables {
            // To these programs, whatever has an equals sign is one.
            let is_set = |word: &&ShellWord| word.text.contains('=') && word.kind < WordKind::Pattern;
            index += command.words.get(index..)?.iter().take_while(is_set).count();
        }
        // A word of its own that may become several moves the command.
        let own = command.words.get(index..index + self.skipped).unwrap_or_default();
        let is_moved = own.iter().any(|word| word.kind >= WordKind::Pattern);
        (!is_moved).then_some(index + self.skipped)
    }

    fn has_no_options(&self) -> bool {
        self.flags.is_empty() && self.values.is_empty() && self.long_flags.is_empty() && self.skipped == 0
    }

    /// True if an option is known whose value, in the same word, may be anything.
    fn has_value_inside(&self, text: &str) -> bool {
        let is_short = || text[1..].starts_with(|letter| self.values.contains(letter)) && text.len() > 2;
        match text.strip_prefix("--") {
            Some(long) => long.split_once('=').is_some_and(|(name, _)| self.long_values.contains(&name)),
            None => is_short(),
        }
    }

    /// The number of words that an option takes. `None` if it is not known.
    fn option_length(&self, text: &str) -> Option<usize> {
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            return if self.long_values.contains(&name) {
                Some(if value.is_some() { 1 } else { 2 })
            } else {
                self.long_flags.contains(&name).then_some(1)
            };
        }
        for (index, letter) in text.char_indices().skip(1) {
            if self.values.contains(letter) {
                return Some(if index + letter.len_utf8() < text.len() { 1 } else { 2 });
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(1)
    }

    /// The placeholder of `xargs -I`.
    fn placeholder(&self, words: &[ShellWord]) -> Option<String> {
        for (index, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            if let Some(value) = text.strip_prefix("--replace=") {
                return Some(value.to_owned());
            }
            if text == "--replace"
                || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('I'))
            {
                return words.get(index + 1).map(|word| word.text.clone());
            }
            if let Some((_, value)) = text.strip_prefix('-').and_then(|text| text.split_once('I')) {
                return Some(value.to_owned());
            }
        }
        None
    }
}
