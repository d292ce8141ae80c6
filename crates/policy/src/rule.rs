//! A rule: which calls it is about, and what becomes of them.

use std::fmt;
use std::path::PathBuf;

use longhaul_shell::{ShellWord, SimpleCommand};
use regex::Regex;
use serde_json::{Map, Value};

use crate::{ApprovalMode, Priority, Reach, RuleTier};

/// The tool that runs command lines, the only one whose calls are taken apart.
pub const SHELL_TOOL: &str = "run_shell_command";

/// The tool that reads pages of the web, whose approvals are for one host.
pub const FETCH_TOOL: &str = "web_fetch";

/// The verdict of a rule about the calls that it matches. Later ones are stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// They run.
    Allow,
    /// The user is asked.
    Ask,
    /// They do not run.
    Deny,
}

impl Verdict {
    /// The name of the verdict in rules.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask_user",
            Self::Deny => "deny",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny].into_iter().find(|verdict| verdict.name() == text)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One rule. Lists in it mean "any of these": a rule of two tools and three prefixes says what six rules would.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name that its author gave it.
    pub name: Option<String>,
    /// The tools.
    pub tools: Vec<ToolPattern>,
    /// The MCP server that the tools must be of.
    pub server: Option<ServerPattern>,
    /// The sub-agent that the call must come from; without it, the rule covers every agent.
    pub subagent: Option<String>,
    /// The condition on the arguments.
    pub condition: Condition,
    /// The decision about the call.
    pub verdict: Verdict,
    /// The priority against other rules.
    pub priority: Priority,
    /// The modes in which it applies; empty for all.
    pub modes: Vec<ApprovalMode>,
    /// The sessions in which it applies: only interactive ones, or only others.
    pub interactive: Option<bool>,
    /// The annotations that the tool must have.
    pub annotations: Map<String, Value>,
    /// True if an allowed command may also write its output to files.
    pub allows_redirection: bool,
    /// The message for a model whose call the rule denies.
    pub deny_message: Option<String>,
    /// The source of the rule.
    pub source: RuleSource,
}

impl Rule {
    /// A rule for every call to `tools`.
    pub fn new(tools: ToolPattern, verdict: Verdict, priority: Priority, source: RuleSource) -> Self {
        Self {
            name: None,
            tools: vec![tools],
            server: None,
            subagent: None,
            condition: Condition::Always,
            verdict,
            priority,
            modes: Vec::new(),
            interactive: None,
            annotations: Map::new(),
            allows_redirection: false,
            deny_message: None,
            source,
        }
    }

    /// The reach of a saved approval, if the rule is one.
    pub fn reach(&self) -> Option<Reach> {
        match &self.source {
            RuleSource::Answer => Some(Reach::Session),
            RuleSource::Saved { reach, .. } => Some(*reach),
            RuleSource::BuiltIn | RuleSource::File { .. } | RuleSource::Setting(_) => None,
        }
    }

    /// True if it overrides saved approvals. Built-in rules do not: an approval is there to lift them.
    pub(crate) fn overrules_saved(&self) -> bool {
        self.verdict == Verdict::Deny && self.priority.tier() > RuleTier::Default
    }
}

/// `allow rule "my tests" (user 4.100, tests.toml:3)`
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rule", self.verdict)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        write!(f, " ({} {}, {})", self.priority.tier(), self.priority, self.source)
    }
}

/// The tools that a rule covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPattern {
    /// All of them: `*`.
    Any,
    /// The tools of any MCP server: `mcp_*`.
    AnyServer,
    /// The tools of one MCP server: `mcp_NAME_*`.
    Server(String),
    /// The one of this name.
    Named(String),
}

impl ToolPattern {
    /// Reads a pattern as rules write it; `None` if it is empty.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "" => None,
            "*" => Some(Self::Any),
            "mcp_*" => Some(Self::AnyServer),
            text => Some(match text.strip_prefix("mcp_").and_then(|rest| rest.strip_suffix("_*")) {
                Some(server) => Self::Server(server.to_owned()),
                None => Self::Named(text.to_owned()),
            }),
        }
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::AnyServer => f.write_str("mcp_*"),
            Self::Server(server) => write!(f, "mcp_{server}_*"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// The MCP servers that a rule covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerPattern {
    /// Any: `*`.
    Any,
    /// The one of this name.
    Named(String),
}

impl ServerPattern {
    pub(crate) fn matches(&self, server: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Named(name) => name == server,
        }
    }
}

/// The condition on the arguments.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Nothing.
    Always,
    /// The expression is found in [`crate::stable_json`] of them.
    Arguments(Regex),
    /// The command begins with the words of one of these.
    Prefixes(Vec<CommandPrefix>),
    /// The expression matches the beginning of the command.
    Command(Regex),
    /// The command only reads, see [`crate::LineReading`].
    Reading,
}

/// The first words of a command.
#[derive(Clone, Debug)]
pub struct CommandPrefix {
    words: Vec<ShellWord>,
}

/// The answer to whether a command begins with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefixMatch {
    Yes,
    No,
    /// That depends on words that are only known when the line runs, or on options in between.
    Maybe,
}

impl CommandPrefix {
    /// Reads `git log`.
    ///
    /// # Errors
    /// The reason, if the text is not the beginning of one command.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        crate::line::parse_prefix(text).map(|words| Self { words })
    }

    /// The number of its words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// The program as it is written.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", |word| &word.text)
    }

    /// True if a command of these words begins with the prefix, word by word: `git` does not begin `gitk`.
    pub(crate) fn begins(&self, words: &[ShellWord]) -> bool {
        let is_same = |(own, word): (&ShellWord, &ShellWord)| own.text == word.text && own.kind == word.kind;
        words.len() >= self.words.len() && self.words.iter().zip(words).all(is_same)
    }

    /// Matches the prefix against a command more widely: behind variables that are set, with the program's folder, with options
    /// before a sub-command, or where words are filled in later.
    pub(crate) fn begins_anywhere(&self, command: &SimpleCommand) -> PrefixMatch {
        if self.begins(&command.words) {
            return PrefixMatch::Yes;
        }
        let Some((program, words)) = command.bare().split_first() else { return PrefixMatch::No };
        let [first, more @ ..] = self.words.as_slice() else { return PrefixMatch::No };
        // Some file systems do not tell capitals from small letters.
        let is_named = |name: &str| name.eq_ignore_ascii_case(&first.text);
        if !is_named(&program.text) && !is_named(program.file_name()) {
            return PrefixMatch::No;
        }
        for (index, own) in more.iter().enumerate() {
            match words.get(index) {
                Some(word) if word.is_literal() && word.text == own.text => {}
                Some(word)
                    if word.is_literal() && word.text.starts_with('-') && !own.text.starts_with('-') =>
                {
                    let may_follow = |word: &ShellWord| !word.is_literal() || word.text == own.text;
                    let may_follow = command.is_open_ended || words[index..].iter().any(may_follow);
                    return if may_follow { PrefixMatch::Maybe } else { PrefixMatch::No };
                }
                Some(word) if word.is_literal() => return PrefixMatch::No,
                Some(_) => return PrefixMatch::Maybe,
                None if command.is_open_ended => return PrefixMatch::Maybe,
                None => return PrefixMatch::No,
            }
        }
        PrefixMatch::Yes
    }
}

impl fmt::Display for CommandPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.words.iter().map(|word| word.text.as_str()).collect();
        f.write_str(&words.join(" "))
    }
}

/// The source of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSource {
    /// It comes with Longhaul.
    BuiltIn,
    /// A file, with the line on which the rule begins.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A setting or an argument, by its name.
    Setting(String),
    /// The user's "always" for the rest of this session.
    Answer,
    /// The user's "always" for longer, with the file that keeps it and the line on which the rule begins.
    Saved {
        /// The reach.
        reach: Reach,
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Setting(name) => f.write_str(name),
            Self::Answer => f.write_str("your approval in this session"),
            Self::Saved { reach, path, line } => {
                write!(f, "your approval {}, {}:{line}", reach, path.display())
            }
        }
    }
}
