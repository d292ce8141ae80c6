//! `longhaul policy check TOOL [ARGS]`: explains which rule applies to a tool call.

use anyhow::anyhow;
use clap::Args;
use longhaul_app::agent::{Attendance, load_current_permissions};
use longhaul_app::failure::hinted;
use longhaul_app::settings::Settings;
use longhaul_policy::{Call, Decision, Lost, PartExplanation, PolicyExplanation, Rule};
use serde_json::{Value, json};

use super::warn;
use crate::options::WorkOptions;
use crate::output::{Color, print, print_json, visible, visible_text};

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Tool name, such as run_shell_command.
    tool: String,
    /// Tool arguments as JSON, or the command line for run_shell_command.
    args: Option<String>,
    /// Sub-agent that makes the call.
    #[arg(long, value_name = "NAME")]
    subagent: Option<String>,
    /// Decide as in headless mode (-p).
    #[arg(long)]
    headless: bool,
    #[command(flatten)]
    work: WorkOptions,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &CheckOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let args = arguments(&options.tool, options.args.as_deref())?;
    let attendance = if options.headless { Attendance::Unattended } else { Attendance::Attended };
    let (permissions, warnings) =
        load_current_permissions(&options.work.to_agent_options(), settings, attendance)?;
    warn(&warnings, color);
    let call = Call::new(&options.tool, &args);
    let call = options.subagent.as_deref().map_or(call, |subagent| call.by(subagent));
    let explanation = permissions.explain(&call);
    if options.json {
        let mode = permissions.situation.mode.name();
        let told = to_json(&options.tool, &args, mode, &explanation);
        return print_json(&told);
    }
    print(&format!("{}\n", visible_text(&explanation.to_string()).trim_end()))
}

/// The arguments of the call: JSON, or a command line.
fn arguments(tool: &str, given: Option<&str>) -> anyhow::Result<Value> {
    let Some(given) = given else { return Ok(json!({})) };
    match serde_json::from_str::<Value>(given) {
        Ok(args @ Value::Object(_)) => Ok(args),
        _ if tool == longhaul_policy::SHELL_TOOL && !given.trim_start().starts_with('{') => {
            Ok(json!({"command": given}))
        }
        Ok(_) => Err(hinted(anyhow!("the arguments are not a JSON object: {}", visible(given)), EXAMPLE)),
        Err(error) => Err(hinted(anyhow!(error).context("the arguments are not valid JSON"), EXAMPLE)),
    }
}

const EXAMPLE: &str = r#"for example: longhaul policy check write_file '{"file_path": "src/lib.rs"}'"#;

fn to_json(tool: &str, args: &Value, mode: &str, explanation: &PolicyExplanation<'_>) -> Value {
    let parts: Vec<Value> = explanation.parts.iter().map(part).collect();
    json!({
        "schema": 1,
        "tool": tool,
        "args": args,
        "mode": mode,
        "decision": word(&explanation.ruling.decision),
        "reason": match &explanation.ruling.decision {
            Decision::Deny { reason } => Some(reason),
            Decision::Allow | Decision::Ask => None,
        },
        "parts": parts,
    })
}

fn part(part: &PartExplanation<'_>) -> Value {
    let lost = |(rule, why): &(&Rule, Lost)| json!({"rule": rule.to_string(), "why": why.to_string()});
    json!({
        "command": part.command,
        "decision": word(&part.ruling.decision),
        "rule": part.ruling.rule.map(ToString::to_string),
        "caution": part.ruling.caution.map(|caution| caution.to_string()),
        "others": part.others.iter().map(lost).collect::<Vec<_>>(),
    })
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Deny { .. } => "deny",
        Decision::Ask => "ask_user",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_may_be_given_as_they_are_typed() {
        let check = |tool: &str, given: &str| arguments(tool, Some(given)).ok();
        assert_eq!(check("run_shell_command", "git log"), Some(json!({"command": "git log"})));
        assert_eq!(check("run_shell_command", r#"{"command": "ls"}"#), Some(json!({"command": "ls"})));
        assert_eq!(check("write_file", r#"{"file_path": "a"}"#), Some(json!({"file_path": "a"})));
        assert_eq!(check("write_file", "a"), None);
        assert_eq!(check("write_file", "[1]"), None);
        assert_eq!(check("run_shell_command", "{broken"), None);
    }
}
