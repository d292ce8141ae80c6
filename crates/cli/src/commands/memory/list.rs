//! `longhaul memory list`: the memory files in use.

use clap::Args;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{Memory, load_memory};

use super::facts::{facts_json, facts_text};
use super::report::{memory_json, notices_text, skipped_text};
use crate::output::{Color, Page, Screen, pad, pad_left, plural, print_json, thousands, visible};

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ListOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let context = WorkspaceContext::find(settings, &[])?;
    let memory = load_memory(&context.places, &context.settings);
    if options.json {
        let mut json = memory_json(&memory, &context);
        json["facts"] = facts_json(&context);
        return print_json(&json);
    }
    let mut page = Page::new(Screen::of_stdout(color));
    text(&mut page, &memory, &context);
    crate::output::print(&page.into_text())
}

fn text(page: &mut Page, memory: &Memory, context: &WorkspaceContext) {
    let names = visible(&context.settings.names.to_string());
    if memory.files.is_empty() {
        page.line(&format!("No memory files in use ({names})."));
    } else {
        page.line(&format!("{} in use:", plural(memory.files.len(), "memory file", "memory files")));
        page.gap();
    }
    for file in &memory.files {
        let front = format!("{}  {}  ", pad(file.tier.name(), 13), pad_left(&thousands(file.tokens().0), 7));
        page.line(&format!("{front}{}", visible(&file.path.display().to_string())));
    }
    if !memory.files.is_empty() {
        let total: u64 = memory.files.iter().map(|file| file.tokens().0).sum();
        page.line(&page.screen.faint(&format!(
            "{}  {}  tokens",
            pad("", 13),
            pad_left(&thousands(total), 7)
        )));
    }
    facts_text(page, context);
    skipped_text(page, &memory.skipped);
    notices_text(page, &memory.notices, context);
}
