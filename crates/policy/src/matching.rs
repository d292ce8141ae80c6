//! The match between a rule and a call.

use std::cell::{OnceCell, RefCell};
use std::path::Path;

use longhaul_shell::{ShellWord, SimpleCommand, is_followed};
use regex::Regex;
use serde_json::{Map, Value};

use crate::caution::Caution;
use crate::line::ParsedLine;
use crate::programs::{OptionEffect, is_runner, risky_options};
use crate::reading::{NotReading, ReadingVerdicts};
use crate::rule::{Condition, PrefixMatch, Rule, SHELL_TOOL, ToolPattern, Verdict};
use crate::{ApprovalMode, stable_json};

/// The tool that starts a sub-agent; rules can also match the agent's name in its arguments as a tool name.
pub const AGENT_TOOL: &str = "invoke_agent";

/// Older names of tools, with those they have now.
const ALIASES: &[(&str, &str)] = &[("search_file_content", "grep_search")];

/// A call about which a decision is needed.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool's name; that of an MCP server's tool is `mcp_SERVER_TOOL`.
    pub tool: &'a str,
    /// Its arguments, if there are any.
    pub args: Option<&'a Value>,
    /// The MCP server that the tool is of.
    pub server: Option<&'a str>,
    /// The sub-agent that calls it.
    pub subagent: Option<&'a str>,
    /// The tool's annotations.
    pub annotations: Option<&'a Map<String, Value>>,
    /// The file that it would change, where that is known; of some tools their arguments tell.
    pub writes: Option<&'a Path>,
    /// The commands of its line that only read; unless somebody looked, none do.
    pub reading: Option<&'a ReadingVerdicts>,
}

impl<'a> Call<'a> {
    /// A call of a built-in tool by the main agent.
    pub fn new(tool: &'a str, args: &'a Value) -> Self {
        let args = Some(args).filter(|args| !args.is_null());
        Self { tool, args, server: None, subagent: None, annotations: None, writes: None, reading: None }
    }

    /// The same call of a tool of this MCP server.
    #[must_use]
    pub fn of_server(self, server: &'a str) -> Self {
        Self { server: Some(server), ..self }
    }

    /// The same call by this sub-agent.
    #[must_use]
    pub fn by(self, subagent: &'a str) -> Self {
        Self { subagent: Some(subagent), ..self }
    }

    /// The same call, which would change this file.
    #[must_use]
    pub fn writing(self, file: &'a Path) -> Self {
        Self { writes: Some(file), ..self }
    }

    /// The same call, with what is known of the commands that only read.
    #[must_use]
    pub fn reading(self, verdicts: &'a ReadingVerdicts) -> Self {
        Self { reading: Some(verdicts), ..self }
    }

    /// The command line, if the call is one.
    pub fn command(&self) -> Option<&'a str> {
        self.args.filter(|_| self.tool == SHELL_TOOL)?.get("command")?.as_str()
    }

    fn is_named(&self, name: &str) -> bool {
        let agent = || self.args.filter(|_| self.tool == AGENT_TOOL)?.get("agent_name")?.as_str();
        name_now(self.tool) == name_now(name) || agent() == Some(name)
    }
}

/// The name that a tool has now.
fn name_now(name: &str) -> &str {
    ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// The circumstances of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// The approval mode.
    pub mode: ApprovalMode,
    /// True if there is a user to ask.
    pub is_interactive: bool,
    /// True if the folder is trusted.
    pub is_trusted: bool,
}

impl Default for Situation {
    /// A user at a terminal, in a trusted folder, who wants to be asked as usual.
    fn default() -> Self {
        Self { mode: ApprovalMode::Default, is_interactive: true, is_trusted: true }
    }
}

/// The reason why a rule is not about a call, the first that is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It covers other tools.
    Tool,
    /// It covers tools of another MCP server, or of any server.
    Server,
    /// It covers calls of another agent.
    Subagent,
    /// It does not apply in this mode.
    Mode,
    /// It applies only in interactive sessions, or only in others.
    Interactive(Wants),
    /// The tool lacks the annotations that the rule requires.
    Annotations,
    /// The arguments do not match.
    Arguments,
    /// The command may do more than read.
    NotReading(NotReading),
}

/// The sessions in which a rule applies: interactive or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Interactive sessions.
    User,
    /// Non-interactive sessions.
    NoUser,
}

/// The result of matching a rule against a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Yes,
    No(Mismatch),
    /// A deny or ask rule that may match at run time.
    Maybe(Caution),
}

/// A call with what is worked out about it at most once, for all its commands and all rules.
pub(crate) struct Whole<'a> {
    call: Call<'a>,
    json: OnceCell<Option<String>>,
    /// The arguments without the command line, of which each command's own are made.
    frame: OnceCell<Option<Value>>,
    /// The rules whose expressions match the whole line, or all the arguments.
    found: RefCell<Vec<(*const Rule, bool)>>,
}

impl<'a> Whole<'a> {
    pub(crate) fn new(call: Call<'a>) -> Self {
        Self { call, json: OnceCell::new(), frame: OnceCell::new(), found: RefCell::default() }
    }

    fn json(&self) -> Option<&str> {
        self.json.get_or_init(|| self.call.args.map(stable_json)).as_deref()
    }

    fn frame(&self) -> Option<&Value> {
        let make = || {
            let others = self.call.args?.as_object()?.iter().filter(|(key, _)| *key != "command");
            Some(Value::Object(others.map(|(key, value)| (key.clone(), value.clone())).collect()))
        };
        self.frame.get_or_init(make).as_ref()
    }

    /// True if the rule's expression is found in the whole line, however many commands it has.
    fn has(&self, rule: &Rule) -> bool {
        let known =
            self.found.borrow().iter().find(|(known, _)| std::ptr::eq(*known, rule)).map(|(_, is)| *is);
        known.unwrap_or_else(|| {
            let is_found = match &rule.condition {
                Condition::Arguments(pattern) => self.json().is_some_and(|json| pattern.is_match(json)),
                Condition::Command(pattern) => self.call.command().is_some_and(|line| pattern.is_match(line)),
                Condition::Always | Condition::Prefixes(_) | Condition::Reading => false,
            };
            self.found.borrow_mut().push((std::ptr::from_ref(rule), is_found));
            is_found
        })
    }
}

/// A call, or one command of it.
pub(crate) struct RuleQuestion<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) situation: Situation,
    /// The command line and the command in it that this question is about.
    pub(crate) command: Option<(&'a ParsedLine, &'a SimpleCommand)>,
    whole: &'a Whole<'a>,
    alone: OnceCell<Option<String>>,
}

/// The number of words that are looked through for names of programs.
const MOST_MENTIONS: usize = 64;

impl<'a> RuleQuestion<'a> {
    pub(crate) fn new(
        whole: &'a Whole<'a>,
        situation: Situation,
        command: Option<(&'a ParsedLine, &'a SimpleCommand)>,
    ) -> Self {
        Self { call: whole.call, situation, command, whole, alone: OnceCell::new() }
    }

    /// Matches a rule against this.
    pub(crate) fn match_rule(&self, rule: &Rule) -> Match {
        let Situation { mode, is_interactive, .. } = self.situation;
        let is_server = |server: &crate::ServerPattern| self.call.server.is_some_and(|s| server.matches(s));
        let no = if !rule.tools.iter().any(|tool| self.is_tool(tool, rule)) {
            Mismatch::Tool
        } else if rule.server.as_ref().is_some_and(|server| !is_server(server)) {
            Mismatch::Server
        } else if rule.subagent.is_some() && rule.subagent.as_deref() != self.call.subagent {
            Mismatch::Subagent
        } else if !rule.modes.is_empty() && !rule.modes.contains(&mode) {
            Mismatch::Mode
        } else if rule.interactive.is_some_and(|interactive| interactive != is_interactive) {
            Mismatch::Interactive(if is_interactive { Wants::NoUser } else { Wants::User })
        } else if !self.has_annotations(&rule.annotations) {
            Mismatch::Annotations
        } else if self.meets(rule) {
            return Match::Yes;
        } else if let Some(caution) = self.may_match(rule) {
            return Match::Maybe(caution);
        } else if let (Condition::Reading, Err(reason)) = (&rule.condition, self.reads()) {
            Mismatch::NotReading(reason.clone())
        } else {
            Mismatch::Arguments
        };
        Match::No(no)
    }

    /// Whether the command only reads, or the reason why it may do more.
    fn reads(&self) -> Result<(), &NotReading> {
        let Some((line, command)) = self.command else { return Err(&NotReading::Untrusted) };
        let verdicts = self.call.reading.ok_or(&NotReading::Untrusted)?;
        line.index_of(command).map_or(Err(&NotReading::Untrusted), |index| verdicts.get(index))
    }

    fn is_tool(&self, pattern: &ToolPattern, rule: &Rule) -> bool {
        match (pattern, self.call.server) {
            (ToolPattern::Any, _) => true,
            (ToolPattern::AnyServer, server) => server.is_some(),
            (ToolPattern::Server(name), server) => server == Some(name),
            // With a server in the rule, the name may be the one that the server itself uses.
            (ToolPattern::Named(name), Some(server)) if rule.server.is_some() => {
                let own = self.call.tool.strip_prefix("mcp_").and_then(|tool| tool.strip_prefix(server));
                self.call.tool == name || own.and_then(|tool| tool.strip_prefix('_')) == Some(name)
            }
            (ToolPattern::Named(name), _) => self.call.is_named(name),
        }
    }

    fn has_annotations(&self, wanted: &Map<String, Value>) -> bool {
        wanted
            .iter()
            .all(|(key, value)| self.call.annotations.and_then(|given| given.get(key)) == Some(value))
    }

    /// True if the arguments are as the rule asks.
    ///
    /// A rule that allows sees one command alone, as it is written; it is also about a command that another one runs, if
    /// it names both. A rule that forbids or asks also sees the whole line, and the command without variables before it:
    /// what may be meant is enough for it.
    fn meets(&self, rule: &Rule) -> bool {
        let is_strict = rule.verdict != Verdict::Allow;
        let Some((line, command)) = self.command else {
            return match &rule.condition {
                Condition::Always => true,
                Condition::Arguments(_) => self.whole.has(rule),
                Condition::Prefixes(_) | Condition::Command(_) | Condition::Reading => false,
            };
        };
        let is_met = match &rule.condition {
            Condition::Always => true,
            Condition::Reading => self.reads().is_ok(),
            Condition::Arguments(pattern) => {
                self.alone_json(command).is_some_and(|json| pattern.is_match(json))
                    || is_strict && self.whole.has(rule)
            }
            Condition::Prefixes(prefixes) => prefixes.iter().any(|prefix| {
                prefix.begins(&command.words)
                    || is_strict && prefix.begins_anywhere(command) == PrefixMatch::Yes
            }),
            Condition::Command(pattern) => {
                pattern.is_match(&command.text)
                    || is_strict && (matches_words(pattern, command.bare()) || self.whole.has(rule))
            }
        };
        let names = |(wrapper, word): (&SimpleCommand, usize)| self.names_word(rule, wrapper, word);
        is_met || !is_strict && line.wrappers_of(command).into_iter().any(names)
    }

    /// True if a rule names this word of a command: it would not match if the command ended before it.
    pub(crate) fn names_word(&self, rule: &Rule, command: &SimpleCommand, word: usize) -> bool {
        let before = || command.words.get(word).map(|word| &command.text[..word.span.start]);
        match &rule.condition {
            Condition::Always => true,
            Condition::Reading => false,
            Condition::Prefixes(prefixes) => {
                prefixes.iter().any(|prefix| prefix.len() > word && prefix.begins(&command.words))
            }
            Condition::Command(pattern) => {
                pattern.is_match(&command.text) && before().is_some_and(|before| !pattern.is_match(before))
            }
            Condition::Arguments(pattern) => {
                let is_found = |text: &str| self.json_of(text).is_some_and(|json| pattern.is_match(&json));
                is_found(&command.text) && before().is_some_and(|before| !is_found(before))
            }
        }
    }

    /// The reason why a deny or ask rule that does not seem to match may do so at run time.
    fn may_match(&self, rule: &Rule) -> Option<Caution> {
        let (line, command) = self.command.filter(|_| rule.verdict != Verdict::Allow)?;
        let unclear = line.unclear().or(command.unread).map(Caution::Unclear);
        let begins = || match &rule.condition {
            Condition::Prefixes(prefixes) => {
                let may_begin =
                    |prefix: &crate::CommandPrefix| prefix.begins_anywhere(command) == PrefixMatch::Maybe;
                prefixes.iter().any(may_begin).then_some(Caution::FilledArgument)
            }
            _ => None,
        };
        let option = || {
            let options = risky_options(command);
            let option =
                options.iter().find(|option| option.effect == OptionEffect::Runs && option.name.is_some());
            option.and_then(|option| option.name).map(Caution::RunningOption)
        };
        let mentions = || {
            let is_unknown = command.program_name().is_some_and(|program| !is_followed(program));
            let arguments = if is_unknown && is_runner(command) { &command.bare()[1..] } else { &[] };
            // `PAGER=rm git log`
            let values =
                if command.program().is_some() { &command.words[..command.assignments] } else { &[] };
            (is_mentioned(rule, arguments) || is_mentioned(rule, values)).then_some(Caution::Mentioned)
        };
        unclear.or_else(begins).or_else(mentions).or_else(option)
    }

    /// The arguments as if the command were the only one of its line.
    fn alone_json(&self, command: &SimpleCommand) -> Option<&str> {
        self.alone.get_or_init(|| self.json_of(&command.text)).as_deref()
    }

    fn json_of(&self, text: &str) -> Option<String> {
        let mut args = self.whole.frame()?.clone();
        args["command"] = Value::from(text);
        Some(stable_json(&args))
    }
}

/// True if an expression matches a command of these words, with its program's folder or without.
fn matches_words(pattern: &Regex, words: &[ShellWord]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    let with = |program: &str| {
        let words = std::iter::once(program).chain(rest.iter().map(|word| word.text.as_str()));
        pattern.is_match(&words.collect::<Vec<_>>().join(" "))
    };
    with(&program.text) || program.text.contains('/') && with(program.file_name())
}

/// True if words name what a rule is about.
fn is_mentioned(rule: &Rule, words: &[ShellWord]) -> bool {
    let words = &words[..words.len().min(MOST_MENTIONS)];
    match &rule.condition {
        Condition::Prefixes(prefixes) => {
            let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
            let mut names = words.iter().flat_map(|word| word.text.split(|c| !is_name(c)));
            names.any(|name| prefixes.iter().any(|prefix| prefix.program() == name))
        }
        Condition::Command(pattern) => (0..words.len()).any(|at| matches_words(pattern, &words[at..])),
        Condition::Always | Condition::Arguments(_) | Condition::Reading => false,
    }
}
