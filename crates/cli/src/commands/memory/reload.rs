//! `longhaul memory reload`: reloads memory and shows its size.

use clap::Args;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::load_memory;

use super::report::{memory_json, notices_text, skipped_text};
use crate::output::{Color, Page, Screen, print_json, thousands};

#[derive(Debug, Args)]
pub(crate) struct ReloadOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ReloadOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let context = WorkspaceContext::find(settings, &[])?;
    let memory = load_memory(&context.places, &context.settings);
    let characters = memory.characters();
    if options.json {
        let mut object = memory_json(&memory, &context);
        object["characters"] = characters.into();
        return print_json(&object);
    }
    let mut page = Page::new(Screen::of_stdout(color));
    page.line(&match memory.files.len() {
        0 => "Memory reloaded successfully. No memory content found".to_owned(),
        files => format!(
            "Memory reloaded successfully. Loaded {} characters from {files} file(s)",
            thousands(characters as u64)
        ),
    });
    skipped_text(&mut page, &memory.skipped);
    notices_text(&mut page, &memory.notices, &context);
    crate::output::print(&page.into_text())
}
