//! Names of tools as a model calls them.

/// The beginning of the name of every server's tool.
pub const TOOL_PREFIX: &str = "mcp_";

/// The longest name that all providers take.
const LONGEST: usize = 63;

/// The name under which a model calls a tool of a server: `mcp_<server>_<tool>`, with nothing that a provider refuses.
///
/// ```
/// assert_eq!(longhaul_mcp_client::tool_name("git hub", "create issue"), "mcp_git_hub_create_issue");
/// ```
pub fn tool_name(server: &str, tool: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = format!("{TOOL_PREFIX}{server}_{tool}").chars().map(allowed).collect();
    if name.len() <= LONGEST {
        return name;
    }
    // The ends tell tools apart: the server's name in front, and what the tool does behind.
    let (start, end) = (LONGEST / 2 - 1, LONGEST - LONGEST / 2 - 2);
    format!("{}___{}", &name[..start], &name[name.len() - end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_provider() {
        for (server, tool) in
            [("a", "b"), ("ä/ö", "run it!"), (&"s".repeat(80), &"t".repeat(80)), ("", ""), ("files", "日本")]
        {
            let name = tool_name(server, tool);
            assert!(name.len() <= 63 && name.starts_with(TOOL_PREFIX), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
        }
        let long = tool_name("server", &format!("{}_end", "x".repeat(80)));
        assert!(long.starts_with("mcp_server_") && long.ends_with("_end") && long.contains("___"), "{long}");
    }
}
