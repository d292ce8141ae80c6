//! Settings of MCP servers.

use serde_json::Value;

use super::expand::{FoundVariable, expand_json};
use super::layers::Settings;
use super::provenance::Provenance;
use longhaul_workspace::Home;

impl Settings {
    /// The MCP servers by name, each with its fields and the place where it was set. A server is that of the uppermost file with
    /// its name, whole: what one file says of it is not mixed with what another trusts it with.
    pub(crate) fn mcp_servers(&self) -> Vec<(String, Value, Provenance)> {
        let server = |name: &str| {
            let (source, node) = self.find(&["mcpServers", name])?;
            Some((name.to_string(), node.to_value(), Provenance::of(source, node)))
        };
        self.names(&["mcpServers"]).into_iter().filter_map(server).collect()
    }

    /// The reason why a server of this name is not started, if its name is excluded or not among the allowed ones.
    pub(crate) fn excludes_server(&self, name: &str) -> Option<&'static str> {
        if self.united(&["mcp", "excluded"]).contains(&name) {
            return Some("mcp.excluded names it");
        }
        let allowed = self.value(&["mcp", "allowed"]).and_then(Value::as_array);
        let is_allowed = |allowed: &Vec<Value>| allowed.iter().any(|allowed| allowed == name);
        (!allowed.is_none_or(is_allowed)).then_some("mcp.allowed does not name it")
    }

    /// The key that forbids all servers, and where it is set.
    pub(crate) fn forbids_servers(&self) -> Option<String> {
        let place = self.restricted_by("admin.mcp.enabled", false)?;
        Some(format!("admin.mcp.enabled ({place})"))
    }

    /// Replaces references to variables in a file of a workspace, which may not have secrets.
    pub(crate) fn expand_for_workspace(&self, value: &mut Value, home: Option<&Home>) {
        let rules = self.variable_rules(home);
        expand_json(value, &|name| match self.variables().find_own(name) {
            None => FoundVariable::Unset,
            Some(value) if rules.withholds(name.as_ref(), value.as_ref()) => FoundVariable::Secret,
            Some(value) => FoundVariable::Value(value),
        });
    }
}
