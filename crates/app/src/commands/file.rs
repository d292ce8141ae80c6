//! The files of custom commands: TOML as Gemini CLI has it, Markdown with front matter as Claude Code has it.

use longhaul_workspace::{FrontMatter, FrontMatterError};
use serde::Deserialize;

use super::template::{Syntax, Template};

/// The content of a command's file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParsedCommand {
    pub(super) description: Option<String>,
    pub(super) argument_hint: Option<String>,
    pub(super) template: Template,
}

#[derive(Deserialize)]
struct TomlCommand {
    prompt: Option<String>,
    description: Option<String>,
}

/// Reads a TOML file: a `prompt` and perhaps a `description`.
pub(super) fn parse_toml(text: &str) -> Result<ParsedCommand, String> {
    let command: TomlCommand = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: {}", error.message().lines().next().unwrap_or_default())
    })?;
    let prompt = command.prompt.filter(|prompt| !prompt.trim().is_empty());
    let prompt = prompt.ok_or("\"prompt\" is missing")?;
    Ok(ParsedCommand {
        description: command.description.as_deref().and_then(one_line),
        argument_hint: None,
        template: Template::parse(prompt.trim(), Syntax::Braces)?,
    })
}

/// Reads a Markdown file; front matter may describe it. `allowed-tools` grants nothing here: what a command runs is decided by
/// the rules and the user, as for the model's calls.
pub(super) fn parse_markdown(text: &str) -> Result<ParsedCommand, String> {
    let (fields, body) = match FrontMatter::parse(text) {
        Ok(front) => (front.fields, front.body),
        Err(FrontMatterError::Missing) => (Vec::new(), text.trim_start_matches('\u{feff}')),
        Err(error) => return Err(error.to_string()),
    };
    let field = |key: &str| {
        let field = fields.iter().find(|field| field.key == key)?;
        one_line(&field.written)
    };
    if body.trim().is_empty() {
        return Err("it has no prompt".to_string());
    }
    let first = body.lines().map(|line| line.trim_matches(['#', ' '])).find(|line| !line.is_empty());
    Ok(ParsedCommand {
        description: field("description").or_else(|| first.map(str::to_string)),
        argument_hint: field("argument-hint"),
        template: Template::parse(body.trim(), Syntax::Dollars)?,
    })
}

fn one_line(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use longhaul_agent::CommandPiece;

    use super::*;

    #[test]
    fn front_matter_describes_a_command() {
        let text = "---\ndescription: \"Fix an issue\"\nargument-hint: [number] [priority]\nallowed-tools: Bash(git add:*)\n---\n\nFix #$1.\n";
        let command = parse_markdown(text).expect("a command");
        assert_eq!(command.description.as_deref(), Some("Fix an issue"));
        assert_eq!(command.argument_hint.as_deref(), Some("[number] [priority]"));
        assert_eq!(command.template.fill("7"), [CommandPiece::Text("Fix #7.".into())]);
        let plain = parse_markdown("# Review\n\nLook at it.").expect("a command");
        assert_eq!(plain.description.as_deref(), Some("Review"));
    }

    #[track_caller]
    fn check(found: Result<ParsedCommand, String>, expected: &str) {
        assert_eq!(found.expect_err("no command"), expected);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        check(parse_toml("description = \"x\"\nprompt = \"\"\n"), "\"prompt\" is missing");
        check(parse_toml("prompt = \"!{git log\"\n"), "!{ has no closing }");
        check(parse_markdown("---\nname: x\n"), "the closing --- line is missing");
        check(parse_markdown("---\nname: x\n---\n \n"), "it has no prompt");
        let line = parse_toml("prompt = \"\"\"\nx\n\"\"\"\nprompt = 1\n").expect_err("no command");
        assert!(line.starts_with("line 4: "), "{line}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(prompt = \"|---\n|!\\{|@\\{|\\}|!`|`|\\$1|\\{\\{args\\}\\}|[a日\n\"$@{}`]){0,20}") {
            for parsed in [parse_toml(&text), parse_markdown(&text)].into_iter().flatten() {
                parsed.template.fill("a 'b c");
            }
        }
    }
}
