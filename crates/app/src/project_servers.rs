//! The MCP servers that a project names in its `.mcp.json`, as Claude Code reads it.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_workspace::parse_jsonc;
use serde_json::Value;

/// The name of the file.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";

/// The largest file that is read.
const LARGEST: u64 = 1 << 20;

/// The servers in a folder's `.mcp.json`, none if there is no such file.
pub(crate) fn project_servers(folder: &Path) -> Result<BTreeMap<String, Value>, String> {
    let path = folder.join(PROJECT_FILE);
    let Ok(metadata) = path.metadata() else { return Ok(BTreeMap::new()) };
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err("it is not a file of at most 1 MiB".into());
    }
    let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
    let root = parse_jsonc(&bytes).map_err(|error| error.to_string())?;
    let Some(root) = root.map(|root| root.to_value()) else { return Ok(BTreeMap::new()) };
    match root.get("mcpServers") {
        Some(Value::Object(servers)) => {
            Ok(servers.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => Err("it has no object mcpServers".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_file_may_have_comments_and_must_have_servers() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = |text: &str| {
            std::fs::write(folder.path().join(PROJECT_FILE), text).expect("written");
            project_servers(folder.path())
        };
        assert_eq!(project_servers(folder.path()), Ok(BTreeMap::new()));
        let servers = read("{ // ours\n \"mcpServers\": {\"a\": {\"command\": \"x\",}}}").expect("servers");
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["a"]);
        assert!(read("{").is_err());
        assert!(read("{\"servers\": {}}").unwrap_err().contains("mcpServers"));
    }
}
