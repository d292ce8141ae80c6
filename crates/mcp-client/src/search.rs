//! The tool `tool_search`: where servers offer many tools, it declares those that are wanted.

use std::sync::{Arc, Mutex, PoisonError};

use longhaul_conversation::ToolDeclaration;
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolInvocation};
use serde_json::{Value, json};

use crate::server::{Server, all_tools};
use crate::tool::McpTool;

/// The name of the tool.
pub const TOOL_SEARCH: &str = "tool_search";

/// The most tools that one call declares.
const MOST_FOUND: usize = 8;

/// Shorter words, such as "or", describe nothing.
const SHORTEST_WORD: usize = 3;

/// The longest line about a tool that is not declared yet.
const LONGEST_LINE: usize = 90;

/// The names of the tools that were declared on request, in the order of the requests, so that what was declared stays in place.
#[derive(Clone, Default)]
pub(crate) struct LoadedTools(Arc<Mutex<Vec<String>>>);

impl LoadedTools {
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, name: &str) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    }
}

/// Finds tools of servers and declares them.
pub(crate) struct ToolSearch {
    servers: Arc<[Arc<Server>]>,
    loaded: LoadedTools,
}

impl ToolSearch {
    pub(crate) fn new(servers: Arc<[Arc<Server>]>, loaded: LoadedTools) -> Self {
        Self { servers, loaded }
    }
}

impl Tool for ToolSearch {
    fn declaration(&self) -> ToolDeclaration {
        let lines = all_tools(&self.servers).into_iter().map(|tool| format!("\n{}", line(tool)));
        let lines: String = lines.collect();
        ToolDeclaration {
            name: TOOL_SEARCH.into(),
            description: format!(
                "Makes tools of MCP servers callable. Only their names are known until then; call this first with a name or with \
                 words. The servers describe their tools as follows:{lines}"
            ),
            parameters: json!({
                "type": "object",
                "properties": {"query": {"type": "string", "description": "Names of tools, or words that describe what is needed."}},
                "required": ["query"],
            }),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        Ok(Preview::Look(format!("tools for {}", query(args)?)))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let query = match query(call.args) {
                Ok(query) => query,
                Err(reason) => return ToolAnswer::failed(reason),
            };
            let tools = all_tools(&self.servers);
            let found = find(&tools, query);
            if found.is_empty() {
                return ToolAnswer::failed(format!(
                    "No tool of a server matches {query:?}. Use a name from the list."
                ));
            }
            let mut text = String::from("These can be called from now on:\n");
            for tool in found {
                self.loaded.add(&tool.listed.declaration.name);
                text.push_str(&line(tool));
                text.push('\n');
            }
            ToolAnswer::succeeded(text.trim_end())
        })
    }
}

fn query(args: &Value) -> Result<&str, String> {
    let query = args.get("query").and_then(Value::as_str).map(str::trim).filter(|query| !query.is_empty());
    query.ok_or_else(|| "query is missing: name a tool, or say what is needed.".into())
}

/// A tool in a line: its name, and how its server describes it.
fn line(tool: &McpTool) -> String {
    let declaration = &tool.listed.declaration;
    let described = declaration.description.lines().next().unwrap_or_default().trim();
    let short: String = described.chars().take(LONGEST_LINE).collect();
    let more = if short.len() < described.len() { "…" } else { "" };
    format!("{}: {short}{more}", declaration.name)
}

/// The tools that a query names, then those that have most of its other words, in names before descriptions.
fn find<'t>(tools: &[&'t McpTool], query: &str) -> Vec<&'t McpTool> {
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let is_name_of = |word: &str, tool: &McpTool| {
        [&tool.listed.declaration.name, &tool.listed.name].iter().any(|name| name.eq_ignore_ascii_case(word))
    };
    let (named, others): (Vec<&McpTool>, Vec<&McpTool>) =
        tools.iter().copied().partition(|tool| words.iter().any(|word| is_name_of(word, tool)));
    // A short name such as "echo" is also a word: the rest of the query counts, too.
    let wanted: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| word.len() >= SHORTEST_WORD && !named.iter().any(|tool| is_name_of(word, tool)))
        .collect();
    let score = |tool: &McpTool| -> usize {
        let name = tool.listed.declaration.name.to_lowercase();
        let described = tool.listed.declaration.description.to_lowercase();
        wanted
            .iter()
            .map(|word| 3 * usize::from(name.contains(word)) + usize::from(described.contains(word)))
            .sum()
    };
    let mut scored: Vec<(usize, &McpTool)> =
        others.into_iter().map(|tool| (score(tool), tool)).filter(|(score, _)| *score > 0).collect();
    // Of equals the server's order decides.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    named.into_iter().chain(scored.into_iter().map(|(_, tool)| tool)).take(MOST_FOUND).collect()
}
