//! `longhaul mcp add` and `remove`.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use longhaul_app::failure::hinted;
use longhaul_app::mcp::{ServerScope, add_server, remove_server};
use serde_json::{Map, Value, json};

use crate::output::{print, visible};

/// The settings file to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScopeArgument {
    /// Yours, for every project.
    User,
    /// The current folder's.
    Project,
}

impl From<ScopeArgument> for ServerScope {
    fn from(scope: ScopeArgument) -> Self {
        match scope {
            ScopeArgument::User => Self::User,
            ScopeArgument::Project => Self::Project,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct AddOptions {
    /// Name of the server; its tools are called mcp_NAME_TOOL.
    name: String,
    /// Command that starts it, with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
    /// Variable for the server, as NAME=VALUE; write secrets as NAME='$NAME', which is looked up in your environment.
    #[arg(short, long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Settings file to change.
    #[arg(short, long, default_value = "user")]
    scope: ScopeArgument,
    /// Let its tools run without asking.
    #[arg(long)]
    trust: bool,
}

#[derive(Debug, Args)]
pub(super) struct RemoveOptions {
    /// Name of the server.
    name: String,
    /// Settings file to change.
    #[arg(short, long, default_value = "user")]
    scope: ScopeArgument,
}

pub(super) fn add(options: &AddOptions) -> anyhow::Result<()> {
    let (program, args) = options.command.split_first().ok_or_else(|| anyhow!("no command"))?;
    let mut server = Map::from_iter([("command".to_string(), json!(program))]);
    if !args.is_empty() {
        server.insert("args".into(), json!(args));
    }
    let mut variables = Map::new();
    for variable in &options.env {
        let Some((name, value)) = variable.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(hinted(anyhow!("{variable:?} is no variable"), "pass it as --env NAME=VALUE"));
        };
        variables.insert(name.to_string(), json!(value));
    }
    if !variables.is_empty() {
        server.insert("env".into(), Value::Object(variables));
    }
    if options.trust {
        server.insert("trust".into(), Value::Bool(true));
    }
    let file = add_server(&options.name, &Value::Object(server), options.scope.into())?;
    let (name, file) = (visible(&options.name), visible(&file.display().to_string()));
    print(&format!("Added {name} to {file}.\nCheck it with `longhaul mcp test {name}`.\n"))
}

pub(super) fn remove(options: &RemoveOptions) -> anyhow::Result<()> {
    let file = remove_server(&options.name, options.scope.into())?;
    print(&format!("Removed {} from {}.\n", visible(&options.name), visible(&file.display().to_string())))
}
