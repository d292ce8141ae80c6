//! Takes the lines that may be quoted out of a message, with who said them and what they name.

use std::ops::Range;

use longhaul_conversation::{Body, Origin, ToolCall};
use longhaul_directives::AnnotatedPart;
use longhaul_shell::parse_script;
use longhaul_text::Unit;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::anchors::{AnchorKind, command_at, find_programs, scan_names};
use super::chart::Chart;
use super::lines::{output_lines, prose_lines};

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
    /// True if this is known only from an earlier snapshot.
    pub(crate) is_quoted: bool,
}

struct Line {
    source: Source,
    start: usize,
    /// The number of anchors in this line and those before it.
    mentions: usize,
}

/// An anchor in the text.
pub(crate) struct Mention {
    pub(crate) kind: AnchorKind,
    pub(crate) place: Range<usize>,
}

/// A line with all that was found in it.
pub(crate) struct FoundLine<'g> {
    pub(crate) source: Source,
    pub(crate) place: Range<usize>,
    pub(crate) mentions: &'g [Mention],
    pub(crate) commands: &'g [(usize, String)],
}

/// A sentence of the model's up to this length leads into the call behind it and is quoted with it.
const LEADS_IN: usize = 160;
/// Calls are written on one line up to this length.
const CALLS: usize = 240;
/// Longer arguments are lines of their own.
const SHORT_ARGUMENT: usize = 160;

impl Gathered {
    /// The lines of a message of these parts.
    pub fn of(parts: &[AnnotatedPart<'_>]) -> Self {
        let mut gathered = Self::default();
        parts.iter().for_each(|heard| gathered.add_part(heard));
        gathered.find_anchors();
        gathered
    }

    /// A line that is known only from an earlier snapshot.
    pub fn quoted(line: &str) -> Self {
        let mut gathered = Self { is_quoted: true, ..Self::default() };
        gathered.add(Source::Model, line);
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
                place: line.start..end,
                mentions: &mentions[from..line.mentions],
                commands: own,
            }
        })
    }

    fn add(&mut self, source: Source, line: &str) {
        self.lines.push(Line { source, start: self.text.len(), mentions: 0 });
        self.text.push_str(line);
    }

    fn add_part(&mut self, AnnotatedPart { part, units }: &AnnotatedPart<'_>) {
        match (&part.body, part.origin) {
            (Body::Text(_), Origin::User) => self.add_prose(Source::User, units),
            (Body::Text(_), Origin::Model | Origin::Summary) => self.add_prose(Source::Model, units),
            (Body::Text(text), Origin::Tool) => self.add_output(text),
            // Memory is loaded again, and what the program said was for the moment.
            (Body::Text(_), Origin::Memory | Origin::Hook) => {}
            (Body::Thought(_), _) => self.add_prose(Source::Thought, units),
            (Body::Call(call), _) => self.add_call(call),
            // Memory behind a result is loaded again by itself.
            (Body::Result(result), _) => self.add_output(&result.returned()),
            (Body::Media(_) | Body::File(_) | Body::Opaque(_), _) => {}
        }
    }

    fn add_prose(&mut self, source: Source, units: &[Unit<'_>]) {
        prose_lines(units, &mut |line| self.add(source, line));
    }

    fn add_output(&mut self, text: &str) {
        self.text.reserve(text.len());
        output_lines(text, &mut |line| self.add(Source::Output, line));
    }

    /// Short arguments stand beside the tool's name; long ones are lines of their own.
    fn add_call(&mut self, call: &ToolCall) {
        let mut short = call.name.clone();
        let mut long: Vec<(&str, &str)> = Vec::new();
        each_argument("", &call.args, &mut |key, text| {
            if text.len() <= SHORT_ARGUMENT && !text.contains('\n') {
                if short.len() + text.len() <= 300 {
                    for word in [key, text].into_iter().filter(|word| !word.is_empty()) {
                        short.push(' ');
                        short.push_str(word);
                    }
                }
            } else {
                long.push((key, text));
            }
        });
        let leads_in = self.lines.last().is_some_and(|last| {
            let length = self.text.len() - last.start;
            match last.source {
                Source::Model => length <= LEADS_IN,
                Source::Call => length + short.len() <= CALLS,
                _ => false,
            }
        });
        if leads_in {
            self.text.push(' ');
            self.text.push_str(&short);
            if let Some(last) = self.lines.last_mut() {
                last.source = Source::Call;
            }
        } else {
            self.add(Source::Call, &short);
        }
        let place = self.lines.len() - 1;
        if is_shell(&call.name) {
            each_argument("", &call.args, &mut |_, text| {
                each_command(text, &mut |command| self.commands.push((place, command)));
            });
        }
        for (key, text) in long {
            let mut lead = format!("{key} ");
            output_lines(text, &mut |line| {
                lead.push_str(line);
                self.add(Source::Call, &lead);
                lead.clear();
            });
        }
    }
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
    fn check(parts: &[Part], expected: &[(Source, &str)]) {
        let gathered = gathered(parts);
        let lines: Vec<_> = gathered.lines().map(|line| (line.source, &gathered.text[line.place])).collect();
        assert_eq!(lines, expected);
    }

    fn call(name: &str, args: Value) -> Part {
        Part::call(ToolCall::new("c", name).with_args(args))
    }

    #[test]
    fn a_sentence_leads_into_its_call() {
        check(
            &[
                Part::model_text("Let me see."),
                call("read", json!({"path": "a.rs"})),
                call("read", json!({"path": "b.rs"})),
            ],
            &[(Source::Call, "Let me see. read path a.rs read path b.rs")],
        );
        let long = "word ".repeat(40);
        check(
            &[Part::model_text(&long), call("read", json!({"path": "a.rs"}))],
            &[(Source::Model, long.trim()), (Source::Call, "read path a.rs")],
        );
    }

    #[test]
    fn memory_behind_a_result_is_not_quoted() {
        let (before, behind) = longhaul_conversation::DISCOVERED_MEMORY_MARKS;
        let text = format!("error[E0308]: mismatched types{before}Run `make check` first.{behind}");
        let result = Part::result(ToolResult::text("c", text));
        check(&[result], &[(Source::Output, "error[E0308]: mismatched types")]);
    }

    #[test]
    fn long_arguments_are_lines_of_their_own() {
        check(
            &[call("write", json!({"path": "a.rs", "text": "fn one() {}\nfn two() {}"}))],
            &[(Source::Call, "write path a.rs"), (Source::Call, "text fn one() {} fn two() {}")],
        );
    }

    #[test]
    fn everyone_is_told_apart() {
        check(
            &[
                Part::user_text("Please fix it."),
                Part::text(Origin::Memory, "Loaded again."),
                Part::result(ToolResult::text("c", "All is well")),
            ],
            &[(Source::User, "Please fix it."), (Source::Output, "All is well")],
        );
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
