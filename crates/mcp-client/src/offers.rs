//! Offers of a server beside tools: resources to read and prompts to fill in, listed within limits.

use std::time::Duration;

use longhaul_display::text::{fit, visible_text};
use longhaul_tools::{OfferedPrompt, PromptArgument};
use rmcp::model::PaginatedRequestParams;
use rmcp::service::{Peer, RoleClient};
use tokio::time::timeout;

/// A list ends after so many pages.
const MOST_PAGES: usize = 20;
/// The most resources, and the most prompts, of a server.
const MOST_RESOURCES: usize = 1_000;
const MOST_PROMPTS: usize = 100;
/// The most columns of a description.
const DESCRIPTION: usize = 120;

/// A resource by the server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedResource {
    pub(crate) uri: String,
    pub(crate) name: String,
}

/// A prompt, with the server's own name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedPrompt {
    pub(crate) own_name: String,
    pub(crate) offered: OfferedPrompt,
}

/// Offers of a server beside tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) resources: Vec<ListedResource>,
    pub(crate) prompts: Vec<ListedPrompt>,
}

impl Offers {
    /// Asks for both. A server that cannot list what it says it has keeps its tools: the problems are told.
    pub(crate) async fn of(peer: &Peer<RoleClient>, limit: Duration) -> (Self, Vec<String>) {
        let mut offers = Self::default();
        let mut problems = Vec::new();
        let Some(server) = peer.peer_info() else { return (offers, problems) };
        if server.capabilities.resources.is_some() {
            match timeout(limit, offers.list_resources(peer)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => problems.push(format!("its resources: {error}")),
                Err(_) => problems.push("its resources: they were not listed in time".into()),
            }
        }
        if server.capabilities.prompts.is_some() {
            match timeout(limit, offers.list_prompts(peer)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => problems.push(format!("its prompts: {error}")),
                Err(_) => problems.push("its prompts: they were not listed in time".into()),
            }
        }
        (offers, problems)
    }

    async fn list_resources(&mut self, peer: &Peer<RoleClient>) -> Result<(), String> {
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page =
                cursor.clone().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let listed = peer.list_resources(page).await.map_err(|error| error.to_string())?;
            let resources = listed.resources.into_iter().take(MOST_RESOURCES - self.resources.len());
            self.resources
                .extend(resources.map(|listed| ListedResource { uri: listed.uri, name: listed.name }));
            let is_repeated = listed.next_cursor == cursor;
            cursor = listed.next_cursor;
            if cursor.is_none() || is_repeated || self.resources.len() == MOST_RESOURCES {
                break;
            }
        }
        Ok(())
    }

    async fn list_prompts(&mut self, peer: &Peer<RoleClient>) -> Result<(), String> {
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page =
                cursor.clone().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let listed = peer.list_prompts(page).await.map_err(|error| error.to_string())?;
            for prompt in listed.prompts.into_iter().take(MOST_PROMPTS - self.prompts.len()) {
                let described = prompt.description.or(prompt.title).unwrap_or_default();
                let arguments = prompt.arguments.unwrap_or_default().into_iter();
                let argument = |argument: rmcp::model::PromptArgument| PromptArgument {
                    name: argument.name,
                    is_required: argument.required == Some(true),
                };
                let offered = OfferedPrompt {
                    name: command_name(&prompt.name),
                    description: fit(&visible_text(&described).replace('\n', " "), DESCRIPTION),
                    arguments: arguments.map(argument).collect(),
                };
                // Of two with the same name the second could never be called.
                let is_known = self.prompts.iter().any(|known| known.offered.name == offered.name);
                if !offered.name.is_empty() && !is_known {
                    self.prompts.push(ListedPrompt { own_name: prompt.name, offered });
                }
            }
            let is_repeated = listed.next_cursor == cursor;
            cursor = listed.next_cursor;
            if cursor.is_none() || is_repeated || self.prompts.len() == MOST_PROMPTS {
                break;
            }
        }
        Ok(())
    }

    /// The address that is meant by what stands behind `@SERVER:`.
    pub(crate) fn address(&self, server: &str, given: &str) -> String {
        let path = given.trim_start_matches("//");
        let behind_scheme = |uri: &str| uri.split_once("://").map(|(_, path)| path.to_string());
        let known = |is_meant: &dyn Fn(&ListedResource) -> bool| {
            self.resources.iter().find(|resource| is_meant(resource)).map(|resource| resource.uri.clone())
        };
        let own = format!("{server}:{given}");
        known(&|resource| resource.uri == given || resource.uri == own)
            .or_else(|| known(&|resource| behind_scheme(&resource.uri).as_deref() == Some(path)))
            .or_else(|| known(&|resource| resource.name == path))
            // Servers also have resources that they do not list.
            .unwrap_or(if given.starts_with("//") { own } else { given.to_string() })
    }
}

/// A name as a command: one word, in small letters.
fn command_name(name: &str) -> String {
    let name = visible_text(name).to_lowercase();
    name.split(|letter: char| letter.is_whitespace() || letter == '/')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// The values for a prompt's arguments in what was typed behind its name: `--name=value`, `--name value`, or in order.
pub(crate) fn read_arguments(prompt: &OfferedPrompt, words: &str) -> Result<Vec<(String, String)>, String> {
    let words = split_words(words)?;
    let mut values: Vec<(String, String)> = Vec::new();
    let mut in_order: Vec<String> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(named) = word.strip_prefix("--").filter(|named| !named.is_empty()) else {
            in_order.push(word);
            continue;
        };
        let (name, value) = match named.split_once('=') {
            Some((name, value)) => (name.to_string(), Some(value.to_string())),
            None => (named.to_string(), words.next_if(|next| !next.starts_with("--"))),
        };
        if !prompt.arguments.iter().any(|known| known.name == name) {
            return Err(format!("it takes no --{name}: {}", usage(prompt)));
        }
        values.push((name, value.unwrap_or_default()));
    }
    let free: Vec<&PromptArgument> =
        prompt.arguments.iter().filter(|known| !values.iter().any(|(name, _)| *name == known.name)).collect();
    if in_order.len() > free.len() && free.is_empty() {
        return Err(format!("it takes no more words: {}", usage(prompt)));
    }
    // What is left over belongs to the last argument.
    let mut rest = in_order.into_iter();
    for (index, argument) in free.iter().enumerate() {
        let is_last = index + 1 == free.len();
        let value = if is_last {
            rest.by_ref().collect::<Vec<_>>().join(" ")
        } else {
            rest.next().unwrap_or_default()
        };
        match (value.is_empty(), argument.is_required) {
            (false, _) => values.push((argument.name.clone(), value)),
            (true, true) => return Err(format!("{} is missing: {}", argument.name, usage(prompt))),
            (true, false) => {}
        }
    }
    Ok(values)
}

fn usage(prompt: &OfferedPrompt) -> String {
    let argument = |argument: &PromptArgument| match argument.is_required {
        true => format!(" --{}=…", argument.name),
        false => format!(" [--{}=…]", argument.name),
    };
    format!("/{}{}", prompt.name, prompt.arguments.iter().map(argument).collect::<String>())
}

/// Words as a shell would part them, without anything else that a shell does.
fn split_words(text: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quotation mark is not closed".into());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> OfferedPrompt {
        let argument = |name: &str, is_required| PromptArgument { name: name.into(), is_required };
        let arguments = vec![argument("title", true), argument("mood", false)];
        OfferedPrompt { name: "poem".into(), description: String::new(), arguments }
    }

    #[track_caller]
    fn check(words: &str, expected: Result<&[(&str, &str)], &str>) {
        let read = read_arguments(&prompt(), words);
        match expected {
            Ok(pairs) => {
                let pairs: Vec<_> =
                    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
                assert_eq!(read, Ok(pairs), "{words}");
            }
            Err(reason) => {
                assert!(read.as_ref().is_err_and(|told| told.contains(reason)), "{words}: {read:?}");
            }
        }
    }

    #[test]
    fn arguments_are_named_or_stand_in_order() {
        check(r#"--title="A sea" --mood=calm"#, Ok(&[("title", "A sea"), ("mood", "calm")]));
        check("--mood calm 'A sea'", Ok(&[("mood", "calm"), ("title", "A sea")]));
        check("Sea calm and grey", Ok(&[("title", "Sea"), ("mood", "calm and grey")]));
        check(r"A\ sea", Ok(&[("title", "A sea")]));
        check("", Err("title is missing: /poem --title=… [--mood=…]"));
        check("--colour=red", Err("no --colour"));
        check("\"open", Err("not closed"));
        check("--title=a --mood=b more", Err("no more words"));
    }

    #[test]
    fn a_resource_is_named_by_its_address_or_its_name() {
        let listed = |uri: &str, name: &str| ListedResource { uri: uri.into(), name: name.into() };
        let resources = vec![listed("memo://notes/1", "First"), listed("file:///a/b.txt", "b.txt")];
        let offers = Offers { resources, prompts: Vec::new() };
        for (given, expected) in [
            ("memo://notes/1", "memo://notes/1"),
            ("//notes/1", "memo://notes/1"),
            ("First", "memo://notes/1"),
            ("///a/b.txt", "file:///a/b.txt"),
            ("//b.txt", "file:///a/b.txt"),
            ("memo://unlisted", "memo://unlisted"),
            ("//unlisted", "srv://unlisted"),
        ] {
            assert_eq!(offers.address("srv", given), expected, "{given}");
        }
        assert_eq!(command_name(" Code Review/v2 "), "code-review-v2");
    }
}
