//! Files and folders that a prompt names after an `@`: their content, read by the tools and within their limits.

use std::path::Path;

use longhaul_conversation::{CallId, Origin, Part, quote_in_tag};
use longhaul_tools::{PermittedEffects, Tool, ToolAnswer, ToolInvocation, ToolOutcome, ToolSource};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The tool that reads a file.
const READ: &str = "read_file";

/// The tool that reads the files of a folder.
const READ_MANY: &str = "read_many_files";

/// The most names listed in one sentence.
const MOST_NAMED: usize = 5;

/// The files that a prompt brings along.
#[derive(Debug, Default)]
pub struct Attachments {
    /// Their content, for the message of the prompt.
    pub parts: Vec<Part>,
    /// The names of what is attached, as the user wrote them.
    pub attached: Vec<String>,
    /// Sentences about what is not.
    pub problems: Vec<String>,
    /// Names that are sent as text, as they may be no files: a person, an annotation.
    pub as_text: Vec<String>,
}

/// Reads what a text names after an `@`: files relative to `folder`, and resources of servers as `@SERVER:ADDRESS`.
pub async fn attach_files(
    text: &str,
    folder: &Path,
    tools: &[Box<dyn Tool>],
    servers: Option<&dyn ToolSource>,
    cancel: &CancellationToken,
) -> Attachments {
    let mut found = Attachments::default();
    let mut missing = Vec::new();
    for name in named_files(text) {
        let place = folder.join(&name);
        if let Some(servers) = servers.filter(|_| name.contains(':') && !place.exists())
            && let Some(answer) = servers.read_resource(&name, cancel).await
        {
            found.take(&name, ("attached_resource", "name"), answer);
            continue;
        }
        let (tool, args) = if place.is_file() {
            (READ, json!({"file_path": name}))
        } else if place.is_dir() {
            (READ_MANY, json!({"include": [name.as_str()]}))
        } else {
            // A name without a dot or a slash is more likely a person or an annotation.
            match name.contains(['/', '.']) {
                true => missing.push(name),
                false => found.as_text.push(name),
            }
            continue;
        };
        found.read(&name, tool, &args, tools, cancel).await;
    }
    found.problems.extend(describe_missing(&missing));
    found
}

impl Attachments {
    /// A sentence about the names that are sent as text.
    pub fn describe_as_text(&self) -> Option<String> {
        (!self.as_text.is_empty())
            .then(|| format!("Sent as text, as there is no such file: {}.", listed(&self.as_text)))
    }

    async fn read(
        &mut self,
        name: &str,
        tool: &'static str,
        args: &Value,
        tools: &[Box<dyn Tool>],
        cancel: &CancellationToken,
    ) {
        let Some(found) = tools.iter().find(|known| known.declaration().name == tool) else {
            self.problems.push(format!("Could not attach {name}: the {tool} tool is not available."));
            return;
        };
        let id = CallId::from("attachment");
        let answer = found
            .run(ToolInvocation {
                id: &id,
                args,
                progress: &|_| {},
                cancel,
                permitted: PermittedEffects::Any,
            })
            .await;
        let tag = if tool == READ { "attached_file" } else { "attached_folder" };
        self.take(name, (tag, "path"), answer);
    }

    /// Adds an answer in a tag, with the attribute for the name.
    fn take(&mut self, name: &str, (tag, attribute): (&str, &str), answer: ToolAnswer) {
        match answer.outcome {
            ToolOutcome::Succeeded(text) => {
                let text = quote_in_tag(tag, attribute, name, &text);
                self.parts.push(Part::text(Origin::Hook, text));
                self.parts.extend(answer.media);
                self.attached.push(name.to_string());
            }
            ToolOutcome::Failed(reason) | ToolOutcome::Cancelled(reason) => {
                self.problems.push(format!("Could not attach {name}: {reason}"));
            }
        }
    }
}

/// A sentence about the names that lead nowhere.
fn describe_missing(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("Not attached, no such file: {}.", listed(names)))
}

/// The first of some names, each after an `@`.
fn listed(names: &[String]) -> String {
    let named = names.iter().take(MOST_NAMED).map(|name| format!("@{name}")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The distinct file names after an `@` in a text.
fn named_files(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let begins_word =
            rest[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([\"'`".contains(c));
        rest = &rest[at + 1..];
        if !begins_word {
            continue;
        }
        let mut name = String::new();
        let mut letters = rest.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                // A space inside a name is escaped with a backslash.
                '\\' if letters.peek() == Some(&' ') => {
                    letters.next();
                    name.push(' ');
                }
                letter if letter.is_whitespace() || ")]\"'`<>".contains(letter) => break,
                letter => name.push(letter),
            }
        }
        let name = name.trim_end_matches([',', ';', ':', '.', '?', '!']).to_string();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::fs;

    use longhaul_tools::{ReadFile, ReadManyFiles, Roots};
    use longhaul_workspace::Ignoring;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(named_files(text), expected, "{text}");
    }

    #[test]
    fn files_are_named_behind_an_at() {
        check("look at @src/main.rs, then @Cargo.toml.", &["src/main.rs", "Cargo.toml"]);
        check("me@home.org", &[]);
        check("(@a.md) @a.md \"@b.md\"", &["a.md", "b.md"]);
        check(r"@my\ notes.txt now", &["my notes.txt"]);
        check("@ nothing", &[]);
        check("@src/ @.", &["src/"]);
    }

    fn attach(text: &str, tools: &[Box<dyn Tool>], folder: &Path) -> (Vec<String>, Vec<String>, Vec<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let Attachments { parts, attached, problems, as_text } =
            runtime.block_on(attach_files(text, folder, tools, None, &CancellationToken::new()));
        assert!(as_text.is_empty() || as_text == ["alice"], "{as_text:?}");
        assert!(parts.iter().all(|part| part.origin == Origin::Hook));
        let texts = parts.iter().map(|part| part.as_text().expect("a text").to_string()).collect();
        (texts, attached, problems)
    }

    #[test]
    fn files_and_folders_are_attached_and_what_is_missing_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("src")).expect("made");
        for (name, text) in
            [("a.md", "alpha <state_snapshot>\n"), ("src/x.rs", "one\n"), ("src/y.rs", "two\n")]
        {
            fs::write(folder.path().join(name), text).expect("written");
        }
        let roots = Roots::new(folder.path(), &[]).expect("roots");
        let ignoring = Ignoring { git: true, gemini: true, custom: Vec::new() };
        let tools: Vec<Box<dyn Tool>> = vec![
            Box::new(ReadFile::new(roots.clone(), ignoring.clone())),
            Box::new(ReadManyFiles::new(roots, ignoring)),
        ];
        let prompt = "Compare @a.md with @src/ and @no.md, @../up.md @alice";
        let (texts, attached, problems) = attach(prompt, &tools, folder.path());
        assert_eq!(texts[0], "<attached_file path=\"a.md\">\nalpha &lt;state_snapshot>\n\n</attached_file>");
        assert!(texts[1].starts_with("<attached_folder path=\"src/\">\n"), "{}", texts[1]);
        assert!(texts[1].contains("one") && texts[1].contains("two"), "{}", texts[1]);
        assert_eq!(attached, ["a.md", "src/"]);
        assert_eq!(problems, ["Not attached, no such file: @no.md, @../up.md."]);
        // What exists outside of the workspace is refused by the tool.
        fs::create_dir(folder.path().join("work")).expect("made");
        let (texts, _, problems) = attach("@../a.md", &tools, &folder.path().join("work"));
        assert_eq!((texts.len(), problems.len()), (0, 1), "{problems:?}");
        let (_, _, problems) = attach("@a.md", &[], folder.path());
        assert_eq!(problems, ["Could not attach a.md: the read_file tool is not available."]);
    }
}
