//! Collects the servers to start, and says why others are not.

use longhaul_mcp_client::{ServerConfig, ServerPlace, TokenStore};
use longhaul_policy::{Rule, SettingVerdict, rule_from_setting};
use longhaul_providers::Proxies;
use longhaul_redact::{MARK, redact};
use longhaul_workspace::Home;
use serde_json::Value;

use super::configure::{Surroundings, configure};
use crate::project_servers::{PROJECT_FILE, project_servers};
use crate::settings::Settings;
use crate::trust::GrantKind;
use crate::workspace::WorkspaceContext;

/// The servers of the current folder.
#[derive(Debug, Default)]
pub struct ConfiguredServers {
    /// The servers to start.
    pub configs: Vec<ServerConfig>,
    /// Those whose tools run without asking.
    trusted: Vec<String>,
    /// The servers that are not started, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Warnings about files and fields.
    pub warnings: Vec<String>,
    /// Values that settings may have put into commands, and that are not shown.
    secrets: Vec<String>,
}

impl ConfiguredServers {
    /// The command line or the address of a server, without secrets.
    pub fn command_line(&self, config: &ServerConfig) -> String {
        let line = match &config.place {
            ServerPlace::Command(command) => {
                let parts = std::iter::once(&command.program).chain(&command.args);
                parts.map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            ServerPlace::Address(address) => address.url.clone(),
        };
        let line = self.secrets.iter().fold(line, |line, secret| line.replace(secret, MARK));
        redact(&line).text.into_owned()
    }

    /// Rules for the servers that settings trust.
    pub(crate) fn rules(&self) -> impl Iterator<Item = Rule> {
        self.trusted
            .iter()
            .filter_map(|name| rule_from_setting(SettingVerdict::TrustedServer, name, "mcpServers").ok())
    }
}

/// The servers of the current folder: those of settings, then those of its `.mcp.json`. In a folder that is not trusted none is
/// started: a server runs in it, and what it fetches or loads there is the folder's.
pub fn load_servers(
    settings: &Settings,
    home: Option<&Home>,
    context: &WorkspaceContext,
) -> ConfiguredServers {
    let mut found = ConfiguredServers::default();
    let rules = settings.variable_rules(home);
    let environment = settings.variables().for_commands(&rules);
    found.secrets = settings.variables().secrets(&rules);
    let own =
        settings.mcp_servers().into_iter().map(|(name, fields, place)| (name, fields, place.to_string()));
    let mut all: Vec<(String, Value, String)> = own.collect();
    match project_servers(&context.cwd) {
        Ok(servers) => {
            let is_suspended = settings.is_suspended(GrantKind::McpServers);
            for (name, mut fields) in servers {
                if all.iter().any(|(known, ..)| *known == name) {
                    continue;
                }
                if is_suspended {
                    let reason = format!(
                        "{PROJECT_FILE} changed since you trusted the folder; confirm it with `longhaul trust add`"
                    );
                    found.left_out.push((name, reason));
                    continue;
                }
                settings.expand_for_workspace(&mut fields, home);
                all.push((name, fields, PROJECT_FILE.to_string()));
            }
        }
        Err(reason) if context.trust.is_trusted() => {
            found.warnings.push(format!("{PROJECT_FILE} is ignored: {reason}"));
        }
        Err(_) => {}
    }
    let forbidden = settings.forbids_servers();
    let proxies = Proxies::from_variables(|name| settings.variable(name)).unwrap_or_else(|reason| {
        found.warnings.push(format!("MCP servers are reached without a proxy: {reason}"));
        Proxies::default()
    });
    let tokens = home.map(|home| TokenStore::at(home.mcp_tokens()));
    let surroundings = Surroundings { folder: &context.cwd, environment: &environment, proxies, tokens };
    for (name, fields, origin) in all {
        let reason = if !context.trust.is_trusted() {
            Some("the folder is not trusted; run `longhaul trust add` to trust it".to_string())
        } else if let Some(key) = &forbidden {
            Some(format!("MCP servers are disabled by {key}"))
        } else {
            settings.excludes_server(&name).map(str::to_string)
        };
        if let Some(reason) = reason {
            found.left_out.push((name, reason));
            continue;
        }
        match configure(&name, &fields, &surroundings, &origin) {
            Ok(configured) => {
                if let Some(field) = configured.unknown.first() {
                    found
                        .warnings
                        .push(format!("{origin}: MCP server {name} has a field that is not read: {field}"));
                }
                if configured.is_trusted {
                    found.trusted.push(name);
                }
                found.configs.push(configured.config);
            }
            Err(reason) => {
                found.warnings.push(format!("{origin}: MCP server {name} is not started: {reason}"));
                found.left_out.push((name, reason));
            }
        }
    }
    found
}
