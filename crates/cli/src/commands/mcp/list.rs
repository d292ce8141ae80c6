//! `longhaul mcp list` and `test`: the servers of Longhaul's agent.

use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use longhaul_app::environment;
use longhaul_app::failure::hinted;
use longhaul_app::mcp::{ConfiguredServers, load_servers};
use longhaul_app::runtime::runtime;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_mcp_client::{McpServers, ServerReport, ServerStatus};
use serde_json::{Value, json};

use crate::output::{Color, Page, Screen, plural, print, print_json, visible};

/// The longest wait for servers to start; package runners may have to fetch them first.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// So many resources of a server are shown.
const RESOURCES_SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(super) struct ListOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct TestOptions {
    /// Name of a server; all of them without it.
    name: Option<String>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

fn load(settings: &Settings) -> anyhow::Result<ConfiguredServers> {
    let home = environment::home(&environment::of_process())?;
    let context = WorkspaceContext::find(settings, &[])?;
    Ok(load_servers(settings, home.as_ref(), &context))
}

pub(super) fn list(options: &ListOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let servers = load(settings)?;
    if options.json {
        let configured = servers.configs.iter().map(
            |config| json!({"name": config.name, "command": servers.command_line(config), "origin": config.origin.0}),
        );
        return print_json(&json!({
            "schema": 1,
            "servers": configured.collect::<Vec<_>>(),
            "left_out": left_out_json(&servers),
            "warnings": servers.warnings,
        }));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    if servers.configs.is_empty() && servers.left_out.is_empty() {
        page.line("No MCP servers yet. Add one with `longhaul mcp add NAME COMMAND`.");
    }
    for config in &servers.configs {
        page.line(&page.screen.strong(&visible(&config.name)));
        page.line(&format!("  {}", visible(&servers.command_line(config))));
        page.line(&page.screen.faint(&format!("  {}", visible(&config.origin.0))));
    }
    left_out(&mut page, &servers);
    print(&page.into_text())
}

pub(super) fn test(options: &TestOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let mut servers = load(settings)?;
    if let Some(name) = &options.name {
        if let Some((_, reason)) = servers.left_out.iter().find(|(known, _)| known == name) {
            return Err(anyhow!("the MCP server {name} is not started: {reason}"));
        }
        servers.configs.retain(|config| config.name == *name);
        servers.left_out.clear();
        if servers.configs.is_empty() {
            let error = anyhow!("no MCP server is named {name}");
            return Err(hinted(error, "run `longhaul mcp list` to see them"));
        }
    }
    let started =
        McpServers::start(std::mem::take(&mut servers.configs)).context("could not start the MCP servers")?;
    runtime()?.block_on(started.settle(LONGEST_WAIT));
    let reports = started.reports();
    if options.json {
        let reports: Vec<Value> = reports.iter().map(report_json).collect();
        print_json(
            &json!({"schema": 1, "servers": reports, "left_out": left_out_json(&servers), "warnings": servers.warnings}),
        )?;
    } else {
        let mut page = Page::new(Screen::of_stdout(color));
        if reports.is_empty() && servers.left_out.is_empty() {
            page.line("No MCP servers yet. Add one with `longhaul mcp add NAME COMMAND`.");
        }
        reports.iter().for_each(|report| show(&mut page, report));
        left_out(&mut page, &servers);
        print(&page.into_text())?;
    }
    let failed = reports.iter().filter(|report| report.status != ServerStatus::Ready).count();
    match failed {
        0 => Ok(()),
        failed => Err(anyhow!("{} not available", plural(failed, "MCP server is", "MCP servers are"))),
    }
}

fn show(page: &mut Page, report: &ServerReport) {
    let name = page.screen.strong(&visible(&report.name));
    match &report.status {
        ServerStatus::Ready => page.line(&format!("{name}  {}", plural(report.tools.len(), "tool", "tools"))),
        ServerStatus::Connecting => page.line(&format!("{name}  {}", page.screen.warning("still starting"))),
        ServerStatus::Failed(reason) => {
            page.line(&format!("{name}  {}", page.screen.warning(&visible(reason))));
        }
    }
    for tool in &report.tools {
        page.line(&format!("  {}", visible(tool)));
    }
    for prompt in &report.prompts {
        page.line(&format!("  {}", visible(prompt)));
    }
    for resource in report.resources.iter().take(RESOURCES_SHOWN) {
        page.line(&format!("  @{}", visible(resource)));
    }
    page.more(report.resources.len(), report.resources.len().min(RESOURCES_SHOWN), "resources");
    for reason in &report.left_out {
        page.line(&page.screen.faint(&format!("  left out: {}", visible(reason))));
    }
}

fn left_out(page: &mut Page, servers: &ConfiguredServers) {
    for (name, reason) in &servers.left_out {
        page.line(&format!(
            "{}  {}",
            visible(name),
            page.screen.faint(&format!("not started: {}", visible(reason)))
        ));
    }
    for warning in &servers.warnings {
        page.line(&page.screen.warning(&visible(warning)));
    }
}

fn report_json(report: &ServerReport) -> Value {
    let (status, problem) = match &report.status {
        ServerStatus::Ready => ("ready", None),
        ServerStatus::Connecting => ("connecting", None),
        ServerStatus::Failed(reason) => ("failed", Some(reason)),
    };
    json!({
        "name": report.name,
        "origin": report.origin,
        "status": status,
        "problem": problem,
        "tools": report.tools,
        "prompts": report.prompts,
        "resources": report.resources,
        "left_out": report.left_out,
    })
}

fn left_out_json(servers: &ConfiguredServers) -> Vec<Value> {
    servers.left_out.iter().map(|(name, reason)| json!({"name": name, "reason": reason})).collect()
}
