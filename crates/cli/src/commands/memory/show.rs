//! `longhaul memory show`: the content of memory files.

use clap::Args;
use longhaul_app::clock::now;
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{LeftOut, RenderOptions, flatten, load_memory, render_first_message, render_system};

use super::report::{left_out_json, left_out_text, memory_json, notices_text};
use crate::output::{Color, Page, Screen, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// Show the text as a model gets it: with tags, in order of precedence, and cut to the budgets.
    #[arg(long)]
    prompt: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ShowOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let context = WorkspaceContext::find(settings, &[])?;
    let memory = load_memory(&context.places, &context.settings);
    let flat = flatten(&memory, Some(&context.cwd), &context.settings);
    let rendering = RenderOptions { settings: &context.settings, workspace: Some(&context.cwd), now: now() };
    let system = render_system(&memory, &rendering);
    let first = render_first_message(&memory, &rendering);
    let left_out: Vec<LeftOut> = [system.left_out, first.left_out].concat();
    if options.json {
        let mut object = memory_json(&memory, &context);
        object["text"] = flat.into();
        object["system_instruction"] = system.text.into();
        object["first_message"] = first.text.into();
        object["left_out"] = left_out_json(&left_out);
        return print_json(&object);
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
    left_out_text(&mut page, &left_out);
    notices_text(&mut page, &memory.notices, &context);
    crate::output::print(&page.into_text())
}

/// Text of files, line by line.
fn lines(page: &mut Page, text: &str) {
    text.lines().for_each(|line| page.line(&visible(line)));
}
