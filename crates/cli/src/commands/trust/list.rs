//! `longhaul trust list`: the trust rules, and whether the current folder is trusted.

use clap::Args;
use longhaul_app::environment;
use longhaul_app::settings::Settings;
use longhaul_app::trust::{because, decide};
use longhaul_workspace::{Home, Trust};
use serde_json::json;

use super::rules_and_folder;
use crate::output::{Color, Page, Screen, pad, path_json, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ListOptions, color: Color) -> anyhow::Result<()> {
    let (home, rules, folder) = rules_and_folder(None)?;
    let rules = rules.rules()?;
    let trust = trust_of(&home, &folder)?;
    let file = home.trusted_folders().display().to_string();
    let reason = match &trust {
        Trust::Trusted(decider) | Trust::Untrusted(decider) => because(decider, &file),
        Trust::Undecided => "no rule covers it".to_owned(),
    };
    if options.json {
        let rules = rules
            .iter()
            .map(|rule| json!({"path": path_json(&rule.path), "level": rule.level.as_str(), "covers": rule.covers().as_deref().map(path_json)}));
        return print_json(&json!({
            "schema": 1,
            "file": path_json(home.trusted_folders()),
            "rules": rules.collect::<Vec<_>>(),
            "folder": path_json(&folder),
            "trusted": match &trust {
                Trust::Trusted(_) => Some(true),
                Trust::Untrusted(_) => Some(false),
                Trust::Undecided => None,
            },
            "reason": reason,
        }));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    if rules.is_empty() {
        page.line(&visible(&format!("No rules in {file}.")));
    }
    for rule in &rules {
        let note = if rule.covers().is_none() { "  (matches nothing: not an absolute path)" } else { "" };
        page.line(&visible(&format!("{}  {}{note}", pad(rule.level.as_str(), 12), rule.path.display())));
    }
    page.gap();
    let state = if trust.is_trusted() { "is trusted" } else { "is not trusted" };
    page.line(&visible(&format!("{} {state}: {reason}.", folder.display())));
    crate::output::print(&page.into_text())
}

fn trust_of(home: &Home, folder: &std::path::Path) -> anyhow::Result<Trust> {
    let environment = environment::of_process();
    // What the workspace's own settings say does not matter here.
    let loaded = Settings::load(Some(home), std::path::Path::new(""), &environment)?;
    Ok(decide(folder, Some(home), &environment, loaded.needs_trust)?)
}
