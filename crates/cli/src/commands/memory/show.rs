//! `longhaul memory show`: what the memory files say.

use clap::Args;
use longhaul_memory::{RenderOptions, flatten, load_memory, render_first_message, render_system};
use serde_json::{Value, json};

use super::report::{memory_json, notices_text};
use super::surroundings::Surroundings;
use crate::args::Color;
use crate::clock::now;
use crate::commands::sessions::report::print_all;
use crate::output::{Page, Screen, thousands, visible};
use crate::settings::Settings;

#[derive(Debug, Default, Args)]
pub(crate) struct ShowOptions {
    /// Shows the text as a model gets it, with tags, the order of precedence, and cut to the budgets.
    #[arg(long)]
    prompt: bool,
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ShowOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let around = Surroundings::find(settings)?;
    let memory = load_memory(&around.places, &around.settings);
    let flat = flatten(&memory, Some(&around.cwd), &around.settings);
    let rendering = RenderOptions { settings: &around.settings, workspace: Some(&around.cwd), now: now() };
    let system = render_system(&memory, &rendering);
    let first = render_first_message(&memory, &rendering);
    let left_out: Vec<_> = system.left_out.iter().chain(&first.left_out).collect();
    if options.json {
        let mut object = memory_json(&memory, &around);
        object["text"] = flat.into();
        object["system_instruction"] = system.text.into();
        object["first_message"] = first.text.into();
        object["left_out"] = left_out
            .iter()
            .map(|left| {
                json!({
                    "path": left.path,
                    "tier": left.tier.name(),
                    "tokens": left.tokens.0,
                    "kept": left.kept.0,
                    "budget": left.budget.0,
                })
            })
            .collect::<Vec<Value>>()
            .into();
        return print_all(&object);
    }
    let mut page = Page::new(Screen::of_stdout(color));
    let text = match options.prompt {
        true => [system.text.as_str(), &first.text].join("\n\n").trim().to_owned(),
        false => flat,
    };
    if text.is_empty() {
        page.line("Memory is currently empty.");
    } else if options.prompt {
        lines(&mut page, &text);
    } else {
        page.line(&format!("Current memory content from {} file(s):", memory.files.len()));
        page.gap();
        page.line("---");
        lines(&mut page, &text);
        page.line("---");
    }
    for left in left_out {
        page.gap();
        let line = format!(
            "note: {} has about {} tokens, of which a model gets {}: {} memory may take {}",
            left.path.display(),
            thousands(left.tokens.0),
            thousands(left.kept.0),
            left.tier,
            thousands(left.budget.0)
        );
        page.line(&page.screen.warning(&visible(&line)));
    }
    notices_text(&mut page, &memory.notices, &around);
    crate::output::print(&page.into_text())
}

/// Text of files, line by line.
pub(super) fn lines(page: &mut Page, text: &str) {
    text.lines().for_each(|line| page.line(&visible(line)));
}
