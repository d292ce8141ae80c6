//! Takes the lines out of a message, with who said them, what they name, and whether they may be quoted.

use std::ops::Range;

use longhaul_conversation::{Body, CallId, Origin, ToolCall, ToolResult};
use longhaul_directives::AnnotatedPart;
use longhaul_ledger::{CallContent, block_changes, content_of, patch_changes, text_changes};
use longhaul_shell::parse_script;
use longhaul_text::{Unit, split_units};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::anchors::{AnchorKind, command_at, find_programs, scan_names};
use super::card_line::parse_card;
use super::changes::change_line;
use super::chart::Chart;
use super::lines::output_lines;
use super::outputs::{OutputLine, each_output_line, each_text_in_data, ending, unnumbered, whole_output};
use super::statements::{
    Form, Shape, each_statement, is_balanced, is_report, names_only_a_file, says_something, without_opening,
};
use super::written::written_in_script;

/// The author of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A person.
    User,
    /// The model, in prose.
    Model,
    /// The model, thinking.
    Thought,
    /// The model, calling a tool.
    Call,
    /// A tool.
    Output,
}

/// The lines of one message, all in one text.
#[derive(Default)]
pub struct Gathered {
    text: String,
    lines: Vec<Line>,
    /// The first two words of each command that a shell was given, with the line they stand in.
    commands: Vec<(usize, String)>,
    /// The anchors of all lines.
    mentions: Vec<Mention>,
    /// Files that lines belong to.
    paths: Vec<String>,
    /// Calls whose results lines belong to.
    results: Vec<CallId>,
    /// Calls of the message, with the file that their results will belong to.
    calls: Vec<(CallId, String)>,
    /// Calls of the message that only show what stands in files: nothing of their results is quoted.
    looks: Vec<CallId>,
    /// Calls of the message that run commands, with these if they are short: their results are shown with them.
    asked: Vec<(CallId, String)>,
    /// The model calls no tool in this message: what it says ends a turn.
    is_closing: bool,
    /// True if this is known only from an earlier snapshot.
    pub(crate) is_quoted: bool,
}

struct Line {
    source: Source,
    form: Form,
    part_of: PartOf,
    start: usize,
    /// The number of anchors in this line and those before it.
    mentions: usize,
}

/// The thing that a line is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartOf {
    Talk,
    /// A file, by its place among the paths.
    File(usize),
    /// The result of a call, by its place among the results.
    Result(usize),
}

/// The text that a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineOwner<'g> {
    /// None: it is said.
    Talk,
    /// A file.
    File(&'g str),
    /// The result of a call.
    Result(&'g CallId),
}

/// An anchor in the text.
pub(crate) struct Mention {
    pub(crate) kind: AnchorKind,
    pub(crate) place: Range<usize>,
}

/// A line with all that was found in it.
pub(crate) struct FoundLine<'g> {
    pub(crate) source: Source,
    pub(crate) form: Form,
    pub(crate) owner: LineOwner<'g>,
    pub(crate) place: Range<usize>,
    pub(crate) mentions: &'g [Mention],
    pub(crate) commands: &'g [(usize, String)],
}

/// A text of the user's above this length is a document rather than a message.
const LONG_TEXT: usize = 2_500;
/// Commands up to this length stand before what they printed.
const SHORT_COMMAND: usize = 200;
/// Longer arguments are lines of their own.
const SHORT_ARGUMENT: usize = 160;

impl Gathered {
    /// The lines of a message of these parts.
    pub fn of(parts: &[AnnotatedPart<'_>]) -> Self {
        let is_closing = !parts.iter().any(|heard| matches!(heard.part.body, Body::Call(_)));
        let mut gathered = Self { is_closing, ..Self::default() };
        let mut is_command = false;
        for heard in parts {
            match (&heard.part.body, heard.part.origin) {
                // What a command says that the user named is what they want, but they did not type it.
                (Body::Text(text), Origin::Memory) if is_command => {
                    gathered.add_prose(Source::Output, Form::Typed, PartOf::Talk, &split_units(text));
                }
                (Body::Text(text), Origin::Hook) => is_command |= text.contains("command-name>"),
                _ => gathered.add_part(heard),
            }
        }
        gathered.find_anchors();
        gathered
    }

    /// A line that is known only from an earlier snapshot.
    pub fn quoted(line: &str) -> Self {
        let mut gathered = Self { is_quoted: true, ..Self::default() };
        match parse_card(line) {
            Some((path, names)) => {
                gathered.paths.push(path.to_string());
                gathered.add(Source::Output, Form::Code, PartOf::File(0), names);
            }
            None => gathered.add(Source::Model, Form::Kept, PartOf::Talk, line),
        }
        gathered.find_anchors();
        gathered
    }

    /// All lines, one right behind the other.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The anchors of all lines.
    pub(crate) fn mentions(&self) -> &[Mention] {
        &self.mentions
    }

    /// The calls of the message that are about one file, with that file.
    pub(crate) fn calls(&self) -> &[(CallId, String)] {
        &self.calls
    }

    /// The calls of the message that only show what stands in files.
    pub(crate) fn looks(&self) -> &[CallId] {
        &self.looks
    }

    /// The calls of the message that run commands, with these if they are short.
    pub(crate) fn asked(&self) -> &[(CallId, String)] {
        &self.asked
    }

    /// The calls whose results the message has.
    pub(crate) fn results(&self) -> &[CallId] {
        &self.results
    }

    /// Looks for the anchors of all lines.
    fn find_anchors(&mut self) {
        let Self { text, lines, mentions, .. } = self;
        // Looking through all lines at once costs less than one by one.
        let mut programs = find_programs(text).peekable();
        let mut chart = Chart::default();
        for nth in 0..lines.len() {
            let end = lines.get(nth + 1).map_or(text.len(), |next| next.start);
            let start = lines[nth].start;
            let line = &text[start..end];
            while let Some(program) = programs.next_if(|program| program.start < end) {
                let is_whole = program.start >= start && program.end < end;
                if is_whole
                    && let Some(command) = command_at(line, program.start - start, program.end - start)
                {
                    let place = program.start..program.start + command.len();
                    mentions.push(Mention { kind: AnchorKind::Command, place });
                }
            }
            scan_names(line, &mut chart, &mut |kind, name| {
                let from = start + (name.as_ptr().addr() - line.as_ptr().addr());
                mentions.push(Mention { kind, place: from..from + name.len() });
            });
            lines[nth].mentions = mentions.len();
        }
    }

    /// Each line with who said it, the anchors that were found in it, and its commands.
    pub(crate) fn lines(&self) -> impl Iterator<Item = FoundLine<'_>> {
        let mentions = self.mentions.as_slice();
        let mut mentioned = 0;
        let mut commands = self.commands.as_slice();
        let ends = self.lines.iter().skip(1).map(|next| next.start).chain([self.text.len()]);
        self.lines.iter().zip(ends).enumerate().map(move |(nth, (line, end))| {
            let own = commands.partition_point(|(place, _)| *place == nth);
            let (own, others) = commands.split_at(own);
            commands = others;
            let from = std::mem::replace(&mut mentioned, line.mentions);
            FoundLine {
                source: line.source,
                form: line.form,
                owner: match line.part_of {
                    PartOf::Talk => LineOwner::Talk,
                    PartOf::File(place) => LineOwner::File(&self.paths[place]),
                    PartOf::Result(place) => LineOwner::Result(&self.results[place]),
                },
                place: line.start..end,
                mentions: &mentions[from..line.mentions],
                commands: own,
            }
        })
    }

    fn add(&mut self, source: Source, form: Form, part_of: PartOf, line: &str) {
        self.lines.push(Line { source, form, part_of, start: self.text.len(), mentions: 0 });
        self.text.push_str(line);
    }

    fn add_part(&mut self, AnnotatedPart { part, units }: &AnnotatedPart<'_>) {
        let answer = if self.is_closing { Form::Conclusion } else { Form::Remark };
        match (&part.body, part.origin) {
            (Body::Text(_), Origin::User) => {
                // The user's words have a place of their own, in which a long text is shortened.
                self.add_prose(Source::User, Form::Typed, PartOf::Talk, units);
            }
            (Body::Text(_), Origin::Model) => self.add_prose(Source::Model, answer, PartOf::Talk, units),
            (Body::Text(_), Origin::Summary) => {
                self.add_prose(Source::Model, Form::Conclusion, PartOf::Talk, units);
            }
            (Body::Text(text), Origin::Tool) => self.add_output(text, PartOf::Talk),
            // Memory is loaded again, and what the program said was for the moment.
            (Body::Text(_), Origin::Memory | Origin::Hook) => {}
            (Body::Thought(_), _) => self.add_prose(Source::Thought, Form::Thought, PartOf::Talk, units),
            (Body::Call(call), _) => self.add_call(call),
            (Body::Result(result), _) => self.add_result(result),
            (Body::Media(_) | Body::File(_) | Body::Opaque(_), _) => {}
        }
    }

    fn add_prose(&mut self, source: Source, form: Form, part_of: PartOf, units: &[Unit<'_>]) {
        let mut lines: Vec<(Form, String)> = Vec::new();
        let mut code: Vec<String> = Vec::new();
        let is_models = matches!(source, Source::Model | Source::Thought);
        each_statement(
            units,
            &mut |text, shape| {
                let form = match shape {
                    Shape::Row if !matches!(form, Form::Shown | Form::Typed) => Form::Row,
                    _ if says_something(text) => form,
                    _ => Form::Code,
                };
                let text = if is_models { without_opening(text) } else { text };
                lines.push((form, text.to_string()));
            },
            &mut |text| code.push(text.to_string()),
        );
        for (form, line) in lines {
            self.add(source, form, part_of, &line);
        }
        let mut file = String::new();
        for block in code {
            output_lines(&block, &mut |line| self.add(source, Form::Code, part_of, line));
            if names_only_a_file(&block) {
                file = block.trim_end_matches(':').trim_matches(['*', '`']).to_string();
            } else if source == Source::Model {
                self.add_proposals(&block, &file);
                self.add_document(&block);
            }
        }
    }

    /// The statements of a document that stands in a block of the model's text.
    fn add_document(&mut self, block: &str) {
        let Some((head, body)) = block.split_once('\n').filter(|(head, _)| head.starts_with("```")) else {
            return;
        };
        let body = body.trim_end().trim_end_matches('`');
        let is_diff = head.contains("diff") || body.contains("<<<<<<< SEARCH");
        if !is_diff && body.len() > LONG_TEXT && is_report(body) {
            self.add_prose(Source::Call, Form::Written, PartOf::Talk, &split_units(body));
        }
    }

    /// The changes that a block in the model's text proposes.
    fn add_proposals(&mut self, block: &str, file: &str) {
        let changes = match block {
            _ if block.contains("<<<<<<< SEARCH") => block_changes(block),
            _ if block.contains("\n+++ ") || block.starts_with("```diff") => patch_changes(block),
            _ => return,
        };
        for mut change in changes {
            if change.path.is_empty() {
                change.path = file.to_string();
            }
            if let Some(line) = change_line(&change) {
                self.add(Source::Call, Form::Change, PartOf::Talk, &line);
            }
        }
    }

    fn add_result(&mut self, result: &ToolResult) {
        self.results.push(result.call.clone());
        let part_of = PartOf::Result(self.results.len() - 1);
        if let Some(answer) = users_answer(&result.returned()) {
            return self.add(Source::Output, Form::Answer, PartOf::Talk, &answer);
        }
        if result.name.as_deref().is_some_and(is_agent) {
            let returned = result.returned();
            let report = unnumbered(&returned);
            if begins_as_prose(&report) || is_report(&report) {
                return self.add_prose(Source::Output, Form::Delegated, part_of, &split_units(&report));
            }
        }
        // Memory behind a result is loaded again by itself.
        self.add_output(&result.returned(), part_of);
    }

    fn add_output(&mut self, text: &str, part_of: PartOf) {
        self.text.reserve(text.len());
        let plain = unnumbered(text);
        if is_report(&plain) {
            return self.add_prose(Source::Output, Form::Report, part_of, &split_units(&plain));
        }
        each_text_in_data(text, &mut |text| {
            if is_report(text) {
                self.add_prose(Source::Output, Form::Report, part_of, &split_units(text));
            }
        });
        if matches!(part_of, PartOf::Result(_))
            && let Some(shown) = whole_output(&plain).or_else(|| ending(&plain))
        {
            self.add(Source::Output, Form::Shown, part_of, &shown);
        }
        each_output_line(text, &mut |line| self.add_output_line(&line, Source::Output, part_of));
    }

    fn add_output_line(&mut self, line: &OutputLine<'_>, source: Source, part_of: PartOf) {
        let part_of = match line.file {
            Some(path) => PartOf::File(self.place_of(path)),
            None => part_of,
        };
        let form = if line.is_notice && source == Source::Output { Form::Notice } else { Form::Code };
        self.add(source, form, part_of, line.text);
    }

    /// A command that does something, with what the model says that it does.
    fn add_step(&mut self, command: &str, call: &ToolCall) {
        let described =
            call.args.get("description").and_then(Value::as_str).filter(|text| !text.contains('\n'));
        let step = match (command, described) {
            ("", None) => return,
            ("", Some(described)) => format!("Ran: {described}"),
            (command, None) => format!("Ran `{command}`"),
            (command, Some(described)) => format!("Ran `{command}`: {described}"),
        };
        if is_balanced(&step) {
            self.add(Source::Call, Form::Shown, PartOf::Talk, &step);
        }
    }

    /// The place of a path among those of the message.
    fn place_of(&mut self, path: &str) -> usize {
        if let Some(place) = self.paths.iter().rposition(|known| known == path) {
            return place;
        }
        self.paths.push(path.to_string());
        self.paths.len() - 1
    }

    /// Short arguments stand beside the tool's name; long ones are lines of their own.
    fn add_call(&mut self, call: &ToolCall) {
        let part_of = match content_of(call) {
            CallContent::File(path) => {
                self.calls.push((call.id.clone(), path.clone()));
                PartOf::File(self.place_of(&path))
            }
            CallContent::Other => PartOf::Talk,
        };
        let changes = text_changes(call);
        for change in &changes {
            // What is written as prose is quoted as such.
            if is_report(&change.new) {
                self.add_prose(Source::Call, Form::Written, PartOf::Talk, &split_units(&change.new));
            } else if let Some(line) = change_line(change) {
                self.add(Source::Call, Form::Change, PartOf::Talk, &line);
            }
        }
        // Names of tools and arguments tell nothing about the work.
        let mut short = String::new();
        let mut long: Vec<(&str, &str)> = Vec::new();
        each_argument("", &call.args, &mut |key, text| {
            if text.len() <= SHORT_ARGUMENT && !text.contains('\n') {
                if short.len() + text.len() <= 300 {
                    short.push_str(if short.is_empty() { "" } else { " " });
                    short.push_str(text);
                }
            } else {
                long.push((key, text));
            }
        });
        if only_looks(call) {
            self.looks.push(call.id.clone());
            if !is_shell(&call.name) && short.len() <= SHORT_COMMAND && long.is_empty() {
                self.asked.push((call.id.clone(), format!("{} {short}", call.name)));
            }
        }
        self.add(Source::Call, Form::Code, PartOf::Talk, &short);
        let place = self.lines.len() - 1;
        let is_shell = is_shell(&call.name);
        if is_shell {
            let mut command = String::new();
            each_argument("", &call.args, &mut |key, text| {
                if !is_beside_command(key) {
                    each_command(text, &mut |command| self.commands.push((place, command)));
                }
                if matches!(key, "command" | "cmd" | "script")
                    && text.len() <= SHORT_COMMAND
                    && !text.contains('\n')
                {
                    command = text.to_string();
                }
            });
            if !self.looks.contains(&call.id) {
                self.add_step(&command, call);
            }
            self.asked.push((call.id.clone(), command));
        }
        for (key, text) in long {
            if is_shell {
                written_in_script(text, &mut |body| {
                    self.add_prose(Source::Call, Form::Written, PartOf::Talk, &split_units(body));
                });
            } else if changes.is_empty() && !is_old(key) && is_report(text) {
                self.add_prose(Source::Call, Form::Written, PartOf::Talk, &split_units(text));
            }
            each_output_line(text, &mut |line| self.add_output_line(&line, Source::Call, part_of));
        }
    }
}

/// Returns true if an argument holds what goes, what is looked for, or what another agent is asked.
fn is_old(key: &str) -> bool {
    ["old", "search", "pattern", "query", "prompt"].iter().any(|word| key.to_ascii_lowercase().contains(word))
}

/// An answer longer than this is shortened by whole lines.
const LONGEST_ANSWER: usize = 600;

/// The user's answer to what a tool asked, on one line.
fn users_answer(output: &str) -> Option<String> {
    const ANSWERED: [(&str, &str); 3] = [
        ("User has answered your questions:", "You can now continue"),
        ("Your questions have been answered:", "You can now continue"),
        ("To tell you how to proceed, the user said:", ""),
    ];
    let (behind, end) = ANSWERED.iter().find_map(|(start, end)| Some((output.split_once(start)?.1, *end)))?;
    let answer = if end.is_empty() { behind } else { behind.split(end).next().unwrap_or(behind) };
    let mut said = String::from("The user answered:");
    for line in answer.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if said.len() + line.len() > LONGEST_ANSWER {
            break;
        }
        said.push(' ');
        said.push_str(line);
    }
    said.contains(": ").then_some(said)
}

/// Returns true if a call only shows what stands in files: searches, listings, `cat`, `sed -n`.
fn only_looks(call: &ToolCall) -> bool {
    let tool = call.name.to_ascii_lowercase();
    if !is_shell(&call.name) {
        let is_web = tool.contains("web") || tool.contains("fetch");
        return !is_web
            && ["grep", "glob", "search", "list", "find", "ls"].iter().any(|word| tool.contains(word));
    }
    let (mut commands, mut looking) = (0, 0);
    each_argument("", &call.args, &mut |key, text| {
        if !is_beside_command(key) && text.len() <= LONGEST_SCRIPT {
            for command in parse_script(text).programs() {
                commands += 1;
                looking +=
                    usize::from(command.bare().first().is_some_and(|program| is_looking(&program.text)));
            }
        }
    });
    looking > 0 && commands == looking
}

/// Returns true if an argument of a shell is no command: what it is for, and where it runs.
fn is_beside_command(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["descri", "dir", "cwd", "justif", "reason", "session", "chars", "timeout"]
        .iter()
        .any(|word| key.contains(word))
}

/// Returns true if a program only shows what stands in files, or leads to where others do.
pub(crate) fn is_looking(program: &str) -> bool {
    const LOOKING: [&str; 17] = [
        "head", "tail", "grep", "rg", "cat", "ls", "sed", "echo", "wc", "find", "sort", "cd", "nl", "awk",
        "tree", "fd", "bat",
    ];
    LOOKING.contains(&program)
}

/// Calls `found` with each text among the arguments of a call, and with what it is called.
fn each_argument<'v>(key: &'v str, value: &'v Value, found: &mut impl FnMut(&'v str, &'v str)) {
    match value {
        Value::String(text) => found(key, text),
        Value::Array(items) => items.iter().for_each(|item| each_argument(key, item, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| each_argument(key, value, found)),
        _ => {}
    }
}

/// A script longer than this carries files or data rather than commands.
const LONGEST_SCRIPT: usize = 2_000;

/// Calls `found` with the program and the first word behind it for each command of a script: `cargo test`, `git add`.
fn each_command(script: &str, found: &mut impl FnMut(String)) {
    if script.len() > LONGEST_SCRIPT {
        return;
    }
    for command in parse_script(script).programs() {
        if let [program, word, ..] = command.bare()
            && program.text != "cd"
            && is_plain(&program.text)
            && is_plain(&word.text)
        {
            found(format!("{} {}", program.text, word.text));
        }
    }
}

/// Returns true if a word of a command names something by itself: no path, no pattern, no quoted text.
fn is_plain(word: &str) -> bool {
    word.len() <= 40
        && !word.contains(|sign: char| sign.is_whitespace() || "/*?$\"'`{}()<>=~,;[]".contains(sign))
}

/// Returns true if a text begins with a sentence rather than with code or a listing.
fn begins_as_prose(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| line.len() > 3).unwrap_or_default();
    first.starts_with('#') || says_something(first.trim_end_matches([':', '：']))
}

/// Returns true if a tool hands work to another agent, by its name.
fn is_agent(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    tool == "task" || tool.contains("agent") && !tool.contains("list")
}

/// Returns true if a tool runs shell commands, by its name.
fn is_shell(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["bash", "shell", "exec", "command", "terminal", "run"].iter().any(|word| tool.contains(word))
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Part, ToolResult};
    use serde_json::json;

    use super::*;

    fn gathered(parts: &[Part]) -> Gathered {
        Gathered::of(&parts.iter().map(AnnotatedPart::of).collect::<Vec<_>>())
    }

    #[track_caller]
    fn check(parts: &[Part], expected: &[(Form, &str)]) {
        let gathered = gathered(parts);
        let lines: Vec<_> = gathered.lines().map(|line| (line.form, &gathered.text[line.place])).collect();
        assert_eq!(lines, expected);
    }

    fn call(name: &str, args: Value) -> Part {
        Part::call(ToolCall::new("c", name).with_args(args))
    }

    const FOUND: &str = "The retry counter is never read after the upload.";

    #[test]
    fn an_answer_without_calls_concludes() {
        check(&[Part::model_text(FOUND)], &[(Form::Conclusion, FOUND)]);
        check(
            &[Part::model_text(FOUND), call("read", json!({"path": "a.rs"}))],
            &[(Form::Remark, FOUND), (Form::Code, "a.rs")],
        );
        check(&[Part::model_text("All done!")], &[(Form::Code, "All done!")]);
    }

    #[test]
    fn what_another_agent_reports_is_quoted_even_beside_a_drawing() {
        let drawing = "┌──────┐\n│ page │\n└──────┘\n".repeat(30);
        let text = format!("Here is what I found.\n\n```\n{drawing}```\n\n{FOUND}");
        let result = |name: &str| {
            let mut result = ToolResult::text("c", text.clone());
            result.name = Some(name.to_string());
            let gathered = gathered(&[Part::result(result)]);
            gathered.lines().any(|line| line.form == Form::Delegated && gathered.text[line.place] == *FOUND)
        };
        assert!(result("Task") && result("spawn_agent") && !result("Read") && !result("TaskList"));
    }

    #[test]
    fn commands_are_told_with_what_they_are_for() {
        let step = |args: Value| {
            let gathered = gathered(&[call("Bash", args)]);
            let line = gathered.lines().find(|line| line.form == Form::Shown);
            line.map(|line| gathered.text[line.place].to_string())
        };
        let stash = json!({"command": "git stash pop", "description": "Take the changes back"});
        assert_eq!(step(stash).as_deref(), Some("Ran `git stash pop`: Take the changes back"));
        assert_eq!(step(json!({"command": "rg -n x src", "workdir": "/home/me/app"})), None);
    }

    #[test]
    fn the_prompt_of_a_command_is_a_candidate_and_other_memory_is_not() {
        let name = Part::text(Origin::Hook, "<command-name>/init</command-name>");
        let prompt = Part::text(Origin::Memory, "Avoid listing every component that is easily discovered.");
        let forms = |parts: &[Part]| gathered(parts).lines().map(|line| line.form).collect::<Vec<_>>();
        assert_eq!(forms(&[name, prompt.clone()]), [Form::Typed]);
        assert_eq!(forms(&[prompt]), []);
    }

    #[test]
    fn memory_behind_a_result_is_not_quoted() {
        let (before, behind) = longhaul_conversation::DISCOVERED_MEMORY_MARKS;
        let error = "error: mismatched types in the new parser";
        let text = format!("{error}{before}Run `make check` first.{behind}");
        check(&[Part::result(ToolResult::text("c", text))], &[(Form::Notice, error)]);
    }

    #[test]
    fn what_the_user_answered_a_tool_is_kept() {
        let text = "User has answered your questions: \"Which port?\"=\"5173\". You can now continue with the user's answers in mind.";
        check(
            &[Part::result(ToolResult::text("c", text))],
            &[(Form::Answer, "The user answered: \"Which port?\"=\"5173\".")],
        );
    }

    #[test]
    fn calls_that_only_look_are_told() {
        let check = |name: &str, args: Value, expected: bool| {
            assert_eq!(only_looks(&ToolCall::new("c", name).with_args(args)), expected, "{name}");
        };
        check("Grep", json!({"pattern": "x"}), true);
        check("WebSearch", json!({"query": "x"}), false);
        check("bash", json!({"command": "cd a && rg -n 'x' | head -5"}), true);
        check("bash", json!({"command": "cat a.md && cargo test"}), false);
    }

    #[test]
    fn lines_of_arguments_and_results_know_their_file() {
        let edit = json!({"file_path": "src/a.rs", "old_string": "fn read_one() {}\n", "new_string": "fn read_all() {}\nfn close() {}"});
        let edit = gathered(&[call("edit", edit)]);
        let owners: Vec<_> = edit.lines().map(|line| line.owner).collect();
        let file = LineOwner::File("src/a.rs");
        assert_eq!(owners, [LineOwner::Talk, LineOwner::Talk, file, file]);
        let change = edit.lines().next().map(|line| (line.form, edit.text[line.place].to_string()));
        let text = "src/a.rs: fn read_one() {} → fn read_all() {} ⏎ fn close() {}".to_string();
        assert_eq!(change, Some((Form::Change, text)));
        assert_eq!(edit.calls(), [(CallId::new("c"), "src/a.rs".to_string())]);
        let result = gathered(&[Part::result(ToolResult::text("c", "fn read_all() {}"))]);
        assert!(result.lines().all(|line| line.owner == LineOwner::Result(&CallId::new("c"))));
    }

    #[test]
    fn what_a_call_writes_for_people_is_said() {
        let plan = format!(
            "# Plan\n\n{FOUND} It must be read before that.\n\n- The tests come first, then the counter."
        );
        let write = gathered(&[call("write", json!({"file_path": "plan.md", "content": plan}))]);
        let written: Vec<_> = write
            .lines()
            .filter(|line| line.form == Form::Written)
            .map(|line| write.text[line.place].to_string())
            .collect();
        assert_eq!(
            written,
            [
                &format!("Plan: {FOUND}"),
                "It must be read before that.",
                "The tests come first, then the counter."
            ]
        );
    }

    #[test]
    fn short_outputs_and_the_ends_of_long_ones_are_shown() {
        let shown = |text: &str| {
            let gathered = gathered(&[Part::result(ToolResult::text("c", text))]);
            let line = gathered.lines().find(|line| line.form == Form::Shown);
            line.map(|line| gathered.text[line.place].to_string())
        };
        assert_eq!(shown("main\n  retry-uploads\n").as_deref(), Some("main ⏎ retry-uploads"));
        let tests =
            format!("{}\nran 61 tests\n60 passed, 1 failed in 2.1 s", "a line of the log\n".repeat(40));
        assert_eq!(
            shown(&tests).as_deref(),
            Some("… a line of the log ⏎ ran 61 tests ⏎ 60 passed, 1 failed in 2.1 s")
        );
        assert_eq!(shown("total 8\n-rw-r--r-- 1 me me 12 a.rs\n-rw-r--r-- 1 me me 12 b.rs"), None);
    }

    #[test]
    fn everyone_is_told_apart() {
        check(
            &[
                Part::user_text("Please fix the upload of large files."),
                Part::text(Origin::Memory, "Loaded again."),
                Part::result(ToolResult::text("c", "All is well")),
            ],
            &[(Form::Typed, "Please fix the upload of large files."), (Form::Code, "All is well")],
        );
    }

    #[test]
    fn cards_of_an_earlier_snapshot_are_cards_again() {
        let card = Gathered::quoted("src/a.rs: read_all, ConfigError");
        let lines: Vec<_> = card.lines().map(|line| (line.owner, line.mentions.len())).collect();
        assert_eq!(lines, [(LineOwner::File("src/a.rs"), 2)]);
    }

    #[test]
    fn commands_have_two_words() {
        let check = |script: &str, expected: &[&str]| {
            let part = call("bash", json!({"command": script}));
            let gathered = gathered(&[part]);
            let commands: Vec<_> =
                gathered.lines().flat_map(|line| line.commands).map(|(_, text)| text.as_str()).collect();
            assert_eq!(commands, expected, "{script}");
        };
        check("cd a && RUST_LOG=1 cargo  test -q | tail -5", &["cargo test", "tail -5"]);
        check("cat src/a.rs; ls", &[]);
        check("git commit -m 'x\nmore text here'", &["git commit"]);
        check("git add notes\ntimeout 60 git push origin", &["git add", "git push"]);
    }
}
