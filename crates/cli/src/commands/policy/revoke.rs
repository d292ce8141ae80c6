//! `longhaul policy revoke NUMBER|TEXT`: revokes a saved approval.

use clap::Args;
use longhaul_app::agent::{AgentOptions, Attendance, load_current_permissions};
use longhaul_app::failure::hinted;
use longhaul_app::settings::Settings;
use longhaul_policy::PolicyError;
use serde_json::json;

use super::list::{place, saved_json};
use super::warn;
use crate::output::{Color, print, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct RevokeOptions {
    /// Number in `policy list`, or words from what it allows, such as "cargo test".
    #[arg(required = true, value_name = "NUMBER|TEXT")]
    rule: Vec<String>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &RevokeOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let (mut permissions, warnings) =
        load_current_permissions(&AgentOptions::default(), settings, Attendance::Attended)?;
    warn(&warnings, color);
    let numbers: Vec<String> = permissions.policy.saved().iter().map(|rule| rule.to_string()).collect();
    let rule = permissions.revoke(&options.rule.join(" ")).map_err(|error| {
        let hint = match &error {
            PolicyError::UnknownSaved { .. } | PolicyError::AmbiguousSaved { .. } => {
                "run `longhaul policy list` to see the saved rules with their numbers"
            }
            PolicyError::Broken { .. } => "fix the file, or remove the rule by hand",
            _ => "check that the file is writable",
        };
        hinted(error, hint)
    })?;
    let number = numbers.iter().position(|known| *known == rule.to_string()).map_or(0, |index| index + 1);
    if options.json {
        return print_json(&json!({"schema": 1, "revoked": saved_json(number, &rule)}));
    }
    let reach = rule.reach().map(|reach| reach.to_string()).unwrap_or_default();
    let told = format!("No longer always allowed {reach}: {} ({})", rule.describe(), place(&rule));
    print(&format!("{}\n", visible(&told)))
}
