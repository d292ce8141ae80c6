//! `longhaul agents list`: the sub-agents that can be started here.

use clap::Args;
use longhaul_agent::{LoadedSubagents, SubagentDefinition, SubagentModel, SubagentTools};
use longhaul_app::agent::load_subagents;
use longhaul_app::environment;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_workspace::Home;
use serde_json::{Value, json};

use crate::output::{Color, Page, Screen, path_json, print, print_json, visible, wrapped};

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ListOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let home = Home::resolve(&environment::of_process())?;
    let context = WorkspaceContext::find(settings, &[])?;
    let loaded = load_subagents(settings, &home, &context.cwd, context.trust.is_trusted());
    if options.json {
        return print_json(&to_json(&loaded));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    for definition in loaded.subagents.iter() {
        entry(&mut page, definition);
    }
    if !loaded.notes.is_empty() || !loaded.problems.is_empty() {
        page.gap();
    }
    for note in &loaded.notes {
        page.line(&format!("{} {}", page.screen.faint("note:"), visible(note)));
    }
    for problem in &loaded.problems {
        page.line(&format!("{} {}", page.screen.warning("warning:"), visible(problem)));
    }
    print(&page.into_text())
}

fn entry(page: &mut Page, definition: &SubagentDefinition) {
    page.heading(definition.name.as_str());
    for line in wrapped(&visible(&definition.description), page.screen.width.saturating_sub(2)) {
        page.line(&format!("  {line}"));
    }
    let tools = match &definition.tools {
        SubagentTools::All => "all tools".to_string(),
        SubagentTools::Only(names) if names.is_empty() => "no tools".to_string(),
        SubagentTools::Only(names) => names.join(", "),
    };
    let model = match &definition.model {
        SubagentModel::Inherited => "the conversation's model",
        SubagentModel::Helper => "the helper model",
        SubagentModel::Named(name) => name,
    };
    let place = match definition.source.file() {
        Some(file) => file.display().to_string(),
        None => definition.source.as_str().to_string(),
    };
    let (turns, minutes) = (definition.most_turns, definition.most_time.as_secs_f64() / 60.0);
    let facts = format!("{tools} · {model} · {turns} steps, {minutes} minutes · {place}");
    for line in wrapped(&visible(&facts), page.screen.width.saturating_sub(2)) {
        page.line(&page.screen.faint(&format!("  {line}")));
    }
}

fn to_json(loaded: &LoadedSubagents) -> Value {
    let agent = |definition: &SubagentDefinition| {
        json!({
            "name": definition.name.as_str(),
            "description": definition.description,
            "source": definition.source.as_str().replace(' ', "_"),
            "file": definition.source.file().map(path_json),
            "tools": match &definition.tools {
                SubagentTools::All => json!("*"),
                SubagentTools::Only(names) => json!(names),
            },
            "model": match &definition.model {
                SubagentModel::Inherited => Value::Null,
                SubagentModel::Helper => json!("helper"),
                SubagentModel::Named(name) => json!(name),
            },
            "max_turns": definition.most_turns,
            "max_seconds": definition.most_time.as_secs_f64(),
        })
    };
    json!({
        "schema": 1,
        "agents": loaded.subagents.iter().map(agent).collect::<Vec<Value>>(),
        "notes": loaded.notes,
        "warnings": loaded.problems,
    })
}
