//! Reads Aider's chat histories, which are Markdown.
//!
//! A line that begins with `#### ` was put in, one that begins with `> ` is the program's or a tool's output, and
//! everything else is the model's. Aider closes the first two kinds with two spaces, which tells them from headings
//! and quotations that a model writes; where an editor has removed all such spaces, the beginnings alone decide.
//!
//! One file logs every chat held in a folder. They are read as one transcript, in which each start is a message of
//! its own: later chats build on what the earlier ones did to the files.

use longhaul_conversation::{Message, Origin, Part, Role, Timestamp, TokenCount, Usage};
use longhaul_wire::{PLAIN, split_user_text};

use super::KnownText;
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: KnownText =
    KnownText { format: Format::Aider, is_first_line: |line| start_of_chat(line).is_some(), read };

/// Commands whose argument is a message to the model.
const ASKING: &[&str] = &["ask", "code", "architect", "context"];

/// Aider's other commands; any unambiguous beginning of a name will do to call one.
const COMMANDS: &[&str] = &[
    "add",
    "chat-mode",
    "clear",
    "clip",
    "commit",
    "copy",
    "copy-context",
    "diff",
    "drop",
    "edit",
    "editor",
    "editor-model",
    "exit",
    "git",
    "help",
    "lint",
    "load",
    "ls",
    "map",
    "map-refresh",
    "model",
    "models",
    "multiline-mode",
    "paste",
    "quit",
    "read-only",
    "reasoning-effort",
    "report",
    "reset",
    "run",
    "save",
    "settings",
    "test",
    "think-tokens",
    "tokens",
    "undo",
    "voice",
    "weak-model",
    "web",
];

/// Beginnings of what Aider itself puts in as the next message.
const NOT_TYPED: &[(&str, Origin)] = &[
    ("# Fix any errors below, if possible.", Origin::Tool),
    ("I ran this command:", Origin::Tool),
    ("Here is the content of ", Origin::Tool),
    ("# The other ", Origin::Tool),
    ("<blank>", Origin::Hook),
];

fn start_of_chat(line: &str) -> Option<&str> {
    line.strip_prefix("# aider chat started at ").map(str::trim)
}

/// A run of lines of one kind.
#[derive(Debug, PartialEq)]
enum Block {
    Start(Option<Timestamp>),
    Input(String),
    Output(String),
    Answer(String),
}

fn read(text: &str, out: &mut Out<'_>) {
    let mut model = None;
    let mut at = None;
    let mut usage_ahead = None;
    let mut blocks = parse(text).into_iter().peekable();
    while let Some(block) = blocks.next() {
        let mut message = Message::new(out.made_up_id(), Role::User, Vec::new());
        match block {
            Block::Start(time) => {
                at = time;
                let time = time.map_or_else(|| "an unknown time".to_string(), |time| time.to_string());
                message.parts.push(Part::text(Origin::Hook, format!("aider chat started at {time}")));
            }
            Block::Input(input) => {
                let repeats = matches!(blocks.peek(), Some(Block::Input(next)) if is_asked_by(next, &input));
                message.parts =
                    if repeats { vec![Part::text(Origin::Hook, input)] } else { read_input(input) };
            }
            Block::Output(output) => {
                model = output.lines().find_map(read_model).map(str::to_string).or(model);
                usage_ahead = output.lines().rev().find_map(|line| read_usage(line, OLD_USAGE));
                message.parts.push(Part::text(Origin::Tool, output));
            }
            Block::Answer(answer) => {
                message.role = Role::Model;
                message.model.clone_from(&model);
                message.usage = usage_ahead.take().map(Box::new);
                if let Some(Block::Output(behind)) = blocks.peek() {
                    let behind = behind.lines().find_map(|line| read_usage(line, USAGE));
                    message.usage = behind.map(Box::new).or(message.usage.take());
                }
                message.parts.push(Part::model_text(answer));
            }
        }
        // Only the start of a chat is dated.
        message.at = at.take();
        out.put(message);
    }
}

/// True if Aider wrote `input` down a second time, as the message that a command like `/ask` made of it.
fn is_asked_by(next: &str, input: &str) -> bool {
    command(input).is_some_and(|(name, rest)| ASKING.contains(&name) && rest.trim() == next.trim())
}

/// The input, split by author.
fn read_input(input: String) -> Vec<Part> {
    if let Some((_, origin)) = NOT_TYPED.iter().find(|(start, _)| input.starts_with(start)) {
        return vec![Part::text(*origin, input)];
    }
    match command(&input) {
        Some((name, rest)) if ASKING.contains(&name) && !rest.trim().is_empty() => {
            let typed = input.len() - rest.trim_start().len();
            let mut parts = vec![Part::text(Origin::Hook, &input[..typed])];
            parts.extend(split_user_text(input[typed..].to_string(), &PLAIN));
            parts
        }
        Some(_) => vec![Part::text(Origin::Hook, input)],
        None => split_user_text(input, &PLAIN),
    }
}

/// The name of the command that this is, in full where it is one that asks, and its argument.
fn command(input: &str) -> Option<(&str, &str)> {
    if let Some(rest) = input.strip_prefix('!') {
        return Some(("run", rest));
    }
    let rest = input.strip_prefix('/')?;
    let length = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(rest.len());
    let (word, argument) = rest.split_at(length);
    let is_word = !word.is_empty() && (argument.is_empty() || argument.starts_with(char::is_whitespace));
    let mut known = ASKING.iter().chain(COMMANDS);
    let name =
        known.clone().find(|name| **name == word).or_else(|| known.find(|name| name.starts_with(word)))?;
    is_word.then_some((name, argument))
}

/// The model that an announcement names: `Model: x with diff edit format, …`.
fn read_model(line: &str) -> Option<&str> {
    let rest = ["Models: ", "Model: ", "Main model: "].iter().find_map(|start| line.strip_prefix(start))?;
    rest.split([' ', ',']).next().filter(|model| !model.is_empty())
}

/// The words around the figures of a call: `Tokens: 13,332 sent, 433 received.`, written behind the answer.
const USAGE: [&str; 3] = ["Tokens: ", " sent", " received"];

/// Older versions write `33547 prompt tokens, 77 completion tokens, $0.16 cost` before the answer.
const OLD_USAGE: [&str; 3] = ["", " prompt tokens, ", " completion tokens"];

fn read_usage(line: &str, [start, sent, received]: [&str; 3]) -> Option<Usage> {
    let line = line.strip_prefix(start)?;
    let before = |words: &str| read_number(line[..line.find(words)?].rsplit(' ').next()?);
    Some(Usage {
        input: Some(before(sent)?),
        output: before(received),
        cached: before(" cache hit"),
        ..Usage::default()
    })
}

/// A count such as `433`, `13,332` or `3.0k`.
fn read_number(text: &str) -> Option<TokenCount> {
    match text.strip_suffix('k') {
        Some(thousands) => {
            let count: f64 = thousands.parse().ok()?;
            (0.0..1e12).contains(&count).then_some(TokenCount((count * 1000.0).round() as u64))
        }
        None => text.replace(',', "").parse().ok().map(TokenCount),
    }
}

/// The lines marked by two spaces at their end.
#[derive(Clone, Copy, PartialEq)]
enum Marks {
    Kept,
    Removed,
}

struct Lines<'a> {
    lines: Vec<&'a str>,
    marks: Marks,
    /// For each line, where an output that goes on in it ends, if it does.
    ends: Vec<Option<usize>>,
}

fn parse(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let is_marked =
        |line: &&str| (line.starts_with("> ") || line.starts_with("#### ")) && line.ends_with("  ");
    let marks = if lines.iter().any(is_marked) { Marks::Kept } else { Marks::Removed };
    let mut lines = Lines { ends: vec![None; lines.len()], lines, marks };
    lines.find_ends();
    lines.blocks()
}

impl<'a> Lines<'a> {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut at = 0;
        while let Some(line) = self.lines.get(at) {
            let from = at;
            if let Some(time) = start_of_chat(line) {
                blocks.push(Block::Start(Timestamp::parse(time)));
                at += 1;
            } else if self.input(at).is_some() {
                let lines = self.run(&mut at, |at| self.input(at).map(|line| (line, at + 1)));
                blocks.push(Block::Input(lines));
            } else if self.output(at).is_some() {
                let lines = self.run(&mut at, |at| self.output(at));
                match blocks.last_mut() {
                    _ if lines.trim().is_empty() => {}
                    Some(Block::Output(before)) => {
                        before.push('\n');
                        before.push_str(&lines);
                    }
                    _ => blocks.push(Block::Output(lines.trim_matches('\n').to_string())),
                }
            } else {
                while at < self.lines.len() && self.is_answer(at) {
                    at += 1;
                }
                let answer = self.lines[from..at].join("\n");
                if !answer.trim().is_empty() {
                    blocks.push(Block::Answer(answer.trim_matches('\n').to_string()));
                }
            }
        }
        blocks
    }

    /// The texts from `at` on for as long as `read` finds some; `at` moves behind them.
    fn run(&self, at: &mut usize, read: impl Fn(usize) -> Option<(String, usize)>) -> String {
        let mut texts = Vec::new();
        while let Some((text, next)) = read(*at) {
            texts.push(text);
            *at = next;
        }
        texts.join("\n")
    }

    fn is_answer(&self, at: usize) -> bool {
        start_of_chat(self.lines[at]).is_none() && self.input(at).is_none() && self.output(at).is_none()
    }

    /// The text of a line that was put in.
    fn input(&self, at: usize) -> Option<String> {
        let line = self.lines.get(at)?;
        let text =
            line.strip_prefix("#### ").or_else(|| line.strip_prefix("####").filter(|s| s.is_empty()))?;
        self.unmark(text).map(str::to_string)
    }

    /// An output, and the line behind it. An output of several lines may begin with `> ` only once.
    fn output(&self, at: usize) -> Option<(String, usize)> {
        let text = self.quoted(at)?;
        if let Some(text) = self.unmark(text) {
            return Some((text.to_string(), at + 1));
        }
        let end = (*self.ends.get(at + 1)?)?;
        let mut lines = vec![text];
        lines.extend(&self.lines[at + 1..end]);
        lines.push(self.unmark(self.lines[end])?);
        Some((lines.join("\n"), end + 1))
    }

    /// An output of several lines ends with the first that is marked and has nothing of the model's right behind it.
    fn find_ends(&mut self) {
        let mut end = None;
        for at in (0..self.lines.len()).rev() {
            let line = self.lines[at];
            let is_other = start_of_chat(line).is_some()
                || self.input(at).is_some()
                || self.quoted(at).is_some_and(|text| self.unmark(text).is_some());
            let closes = || match self.lines.get(at + 1) {
                Some(next) => next.trim().is_empty() || next.starts_with("> ") || next.starts_with("#### "),
                None => true,
            };
            if is_other {
                end = None;
            } else if !line.trim().is_empty() && line.ends_with("  ") && closes() {
                end = Some(at);
            }
            self.ends[at] = end;
        }
    }

    fn quoted(&self, at: usize) -> Option<&'a str> {
        let line = self.lines.get(at)?;
        line.strip_prefix("> ").or_else(|| line.strip_prefix('>').filter(|rest| rest.is_empty()))
    }

    /// The text without its mark, or nothing if it should have one and has not.
    fn unmark(&self, text: &'a str) -> Option<&'a str> {
        match self.marks {
            // Of an empty line the mark and the space before it may have run together.
            Marks::Kept if text.trim().is_empty() && !text.is_empty() => Some(""),
            Marks::Kept => text.strip_suffix("  "),
            Marks::Removed => Some(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::{check_outline, read_text};
    use super::*;

    const HEAD: &str = "\n# aider chat started at 2024-08-10 10:21:23\n\n";

    #[track_caller]
    fn check(history: &str, expected: &[&str]) {
        let expected: Vec<&str> = std::iter::once("hook: aider chat started at 2024-08-10T10:21:23.000Z")
            .chain(expected.iter().copied())
            .collect();
        check_outline(&format!("{HEAD}{history}"), Format::Aider, &expected);
    }

    #[test]
    fn lines_are_told_apart_by_their_marks() {
        check(
            "> Aider v0.48  \n\n#### fix it  \n####   \n#### - quickly  \n\nSure.\n\n#### A heading\n> a quotation\n\n\
             <<<<<<< SEARCH\n>>>>>>> REPLACE\n\n> Applied edit  \n>  \n",
            &[
                "tool: Aider v0.48",
                "user: fix it\n\n- quickly",
                "model: Sure.\n\n#### A heading\n> a quotation\n\n<<<<<<< SEARCH\n>>>>>>> REPLACE",
                "tool: Applied edit",
            ],
        );
    }

    #[test]
    fn without_any_marks_the_beginnings_decide() {
        check(
            "> Aider\n\n#### fix it\n####\n#### now\n\nSure.",
            &["tool: Aider", "user: fix it\n\nnow", "model: Sure."],
        );
    }

    #[test]
    fn an_output_of_many_lines_may_be_quoted_once() {
        check(
            "#### /test  \n> == starts ==\nplain\n    \n>  line\n\n== failed ==  \n> Add it? y  \n\nOh.\n",
            &[
                "hook: /test",
                "tool: == starts ==\nplain\n    \n>  line\n\n== failed ==\nAdd it? y",
                "model: Oh.",
            ],
        );
        check(
            "> x  \n\n> said\nby the model\n\n#### go  \n",
            &["tool: x", "model: > said\nby the model", "user: go"],
        );
    }

    #[test]
    fn commands_are_not_asked_but_their_questions_are() {
        check(
            "#### /add a.py  \n\n#### /ex  \n\n#### !ls  \n\n#### /usr/bin/env is missing  \n\n#### /tmp is full  \n",
            &[
                "hook: /add a.py",
                "hook: /ex",
                "hook: !ls",
                "user: /usr/bin/env is missing",
                "user: /tmp is full",
            ],
        );
        check("#### /ask why?  \n", &["hook: /ask ", "user: why?"]);
        check("#### /ask why?  \n\n####  why?  \n\nSo.\n", &["hook: /ask why?", "user:  why?", "model: So."]);
        check("#### /code  \n", &["hook: /code"]);
    }

    #[test]
    fn what_aider_puts_in_itself_is_not_the_users() {
        check(
            "#### # Fix any errors below, if possible.  \n#### E1  \n",
            &["tool: # Fix any errors below, if possible.\nE1"],
        );
        check("#### <blank>  \n", &["hook: <blank>"]);
    }

    #[test]
    fn one_file_may_hold_many_chats() {
        let chat = "> Model: m-1 with diff edit format  \n\n#### hi  \n\nHello.\n\n> Tokens: 3.0k sent, 12 received.  \n";
        let session = read_text(&format!("{HEAD}{chat}{HEAD}{}", chat.replace("m-1", "m-2")));
        assert_eq!(session.transcript.messages().len(), 10);
        assert_eq!(session.info.models, ["m-1", "m-2"]);
        assert_eq!(session.transcript.messages()[5].at, Timestamp::parse("2024-08-10T10:21:23Z"));
    }

    #[track_caller]
    fn check_usage(line: &str, words: [&str; 3], input: u64, output: u64) {
        let usage = read_usage(line, words).unwrap_or_default();
        assert_eq!((usage.input, usage.output), (Some(TokenCount(input)), Some(TokenCount(output))));
    }

    #[test]
    fn figures_are_read() {
        check_usage("Tokens: 13,332 sent, 433 received. Cost: $0.05 request", USAGE, 13_332, 433);
        check_usage("Tokens: 3.1k sent, 1.5k cache hit, 1.0k received.", USAGE, 3_100, 1_000);
        check_usage("33547 prompt tokens, 77 completion tokens, $0.16 cost", OLD_USAGE, 33_547, 77);
        assert_eq!(read_usage("Tokens: many sent", USAGE), None);
        assert_eq!(read_usage("Applied edit", OLD_USAGE), None);
    }
}
