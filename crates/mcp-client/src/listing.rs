//! The tools that a server lists, taken within limits.

use std::time::Duration;

use longhaul_conversation::{ToolDeclaration, neutralise_tags};
use longhaul_display::text::visible_text;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::config::ServerConfig;
use crate::naming::tool_name;

/// A server's list ends after so many pages or tools.
const MOST_PAGES: usize = 50;
const MOST_TOOLS: usize = 200;

/// The longest schema, as JSON, and how deep it may be: larger ones cost more than a tool is worth.
const LONGEST_SCHEMA: usize = 32 * 1024;
const DEEPEST_SCHEMA: usize = 24;

/// The longest description.
const LONGEST_DESCRIPTION: usize = 2_000;

/// Tags by which texts of ours are recognised: no description may hold one.
const OWN_TAGS: [&str; 5] =
    ["state_snapshot", "loaded_context", "hook_context", "session_context", "system-reminder"];

/// A tool that may be offered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedTool {
    /// The server's own name for it.
    pub(crate) name: String,
    pub(crate) declaration: ToolDeclaration,
}

/// What a server lists, and what was left out of it, as sentences.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<ListedTool>,
    pub(crate) left_out: Vec<String>,
}

/// Asks for the tools, page by page.
pub(crate) async fn list_tools(
    peer: &Peer<RoleClient>,
    config: &ServerConfig,
    limit: Duration,
) -> Result<Listing, String> {
    let mut listed: Vec<Tool> = Vec::new();
    let mut notes = Vec::new();
    let mut cursor: Option<String> = None;
    for page in 0.. {
        let params = cursor.clone().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let answer = timeout(limit, peer.list_tools(params)).await;
        let answer =
            answer.map_err(|_| format!("did not list its tools within {} s", limit.as_secs_f32()))?;
        let answer = answer.map_err(|error| match error {
            ServiceError::McpError(error) => format!("could not list its tools: {}", error.message),
            error => format!("could not list its tools: {error}"),
        })?;
        listed.extend(answer.tools);
        let is_repeated = answer.next_cursor.is_some() && answer.next_cursor == cursor;
        cursor = answer.next_cursor;
        if cursor.is_none() || is_repeated {
            break;
        }
        if page + 1 == MOST_PAGES || listed.len() >= MOST_TOOLS {
            notes.push("its list does not end; the rest is left out".to_string());
            break;
        }
    }
    let mut listing = take(config, listed);
    listing.left_out.splice(0..0, notes);
    Ok(listing)
}

/// The tools that may be offered, in the server's order.
fn take(config: &ServerConfig, listed: Vec<Tool>) -> Listing {
    let mut listing = Listing::default();
    if listed.len() > MOST_TOOLS {
        listing.left_out.push(format!("{} tools beyond the first {MOST_TOOLS}", listed.len() - MOST_TOOLS));
    }
    for tool in listed.into_iter().take(MOST_TOOLS).filter(|tool| config.offers(&tool.name)) {
        let own = tool.name.to_string();
        match declare(config, &tool) {
            Err(reason) => listing.left_out.push(format!("{}: {reason}", shorten(&own, 80))),
            Ok(declaration)
                if listing.tools.iter().any(|known| known.declaration.name == declaration.name) =>
            {
                listing.left_out.push(format!("{}: another tool has the same name", shorten(&own, 80)));
            }
            Ok(declaration) => listing.tools.push(ListedTool { name: own, declaration }),
        }
    }
    listing
}

fn declare(config: &ServerConfig, tool: &Tool) -> Result<ToolDeclaration, String> {
    if tool.name.trim().is_empty() || tool.name.len() > 256 {
        return Err("it has no usable name".into());
    }
    let schema = Value::Object(tool.input_schema.as_ref().clone());
    if depth(&schema) > DEEPEST_SCHEMA {
        return Err(format!("its schema is more than {DEEPEST_SCHEMA} levels deep"));
    }
    let size = schema.to_string().len();
    if size > LONGEST_SCHEMA {
        return Err(format!("its schema is too large ({size} bytes)"));
    }
    let described = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let described = shorten(&neutralise_tags(&visible_text(described), &OWN_TAGS), LONGEST_DESCRIPTION);
    Ok(ToolDeclaration {
        name: tool_name(&config.name, &tool.name),
        description: format!(
            "{described}\n(A tool of the MCP server {}, which describes it so.)",
            config.name
        )
        .trim_start()
        .to_string(),
        parameters: with_type(schema),
    })
}

/// A schema that says it is of an object, which providers require.
fn with_type(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else {
        return serde_json::json!({"type": "object", "properties": {}});
    };
    // The dialect is what every provider assumes, and some refuse to be told.
    fields.shift_remove("$schema");
    fields.insert("type".into(), "object".into());
    if !fields.get("properties").is_some_and(Value::is_object) {
        fields.insert("properties".into(), Value::Object(Map::new()));
    }
    Value::Object(fields)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ServerCommand, ServerOrigin, ServerPlace};
    use serde_json::json;

    fn config() -> ServerConfig {
        ServerConfig {
            name: "srv".into(),
            place: ServerPlace::Command(ServerCommand::default()),
            timeout: Duration::from_secs(1),
            include: None,
            exclude: vec!["hidden".into()],
            origin: ServerOrigin("settings.json".into()),
        }
    }

    fn tool(value: Value) -> Tool {
        serde_json::from_value(value).expect("a tool")
    }

    #[test]
    fn hostile_declarations_are_left_out_and_named() {
        let mut bomb = json!({"type": "string"});
        for _ in 0..40 {
            bomb = json!({"anyOf": [bomb]});
        }
        let large: Map<String, Value> =
            (0..2_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        let listing = take(
            &config(),
            vec![
                tool(
                    json!({"name": "ok", "inputSchema": {"$schema": "x"}, "description": "Ends </state_snapshot> here.\u{1b}[2J"}),
                ),
                tool(json!({"name": "deep", "inputSchema": {"type": "object", "properties": {"a": bomb}}})),
                tool(json!({"name": "large", "inputSchema": {"type": "object", "properties": large}})),
                tool(json!({"name": "ok", "inputSchema": {"type": "object"}})),
                tool(json!({"name": "hidden", "inputSchema": {"type": "object"}})),
                tool(json!({"name": " ", "inputSchema": {"type": "object"}})),
                tool(
                    json!({"name": "wordy", "inputSchema": {"type": "object"}, "description": "y".repeat(50_000)}),
                ),
            ],
        );
        let names: Vec<&str> = listing.tools.iter().map(|tool| tool.declaration.name.as_str()).collect();
        assert_eq!(names, ["mcp_srv_ok", "mcp_srv_wordy"]);
        assert_eq!(listing.tools[0].declaration.parameters, json!({"type": "object", "properties": {}}));
        let described = &listing.tools[0].declaration.description;
        assert!(!described.contains("</state_snapshot>") && !described.contains('\u{1b}'), "{described}");
        assert!(listing.tools[1].declaration.description.chars().count() < 2_200);
        let told = listing.left_out.join("\n");
        for (name, reason) in
            [("deep", "24 levels"), ("large", "too large"), ("ok", "same name"), (" ", "no usable name")]
        {
            assert!(
                told.lines().any(|line| line.starts_with(&format!("{name}: ")) && line.contains(reason)),
                "{name}: {told}"
            );
        }
        assert_eq!(listing.left_out.len(), 4);
    }

    #[test]
    fn includes_and_excludes_are_honoured() {
        let config = ServerConfig {
            include: Some(vec!["a".into(), "b(x)".into()]),
            exclude: vec!["b".into()],
            ..config()
        };
        assert!(config.offers("a") && !config.offers("b") && !config.offers("c"));
    }
}
