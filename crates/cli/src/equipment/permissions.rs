//! The rules about tool calls, from files, settings and arguments.

use longhaul_agent::{Permissions, Subagents};
use longhaul_policy::{
    Policy, PolicyPlaces, SavedFiles, Situation, Standing, load_policies, rule_from_setting,
};
use longhaul_skills::Skills;
use longhaul_workspace::{Home, WorkspaceFolder, system_folder};

use super::skills::rules as rules_of_skills;
use super::{Attendance, WorkOptions, subagents};
use crate::commands::memory::surroundings::Surroundings;
use crate::failure::hinted;
use crate::project::Project;
use crate::settings::Settings;

/// Loads the rules; what is wrong with some of them comes along in words.
pub(crate) fn load_permissions(
    options: &WorkOptions,
    settings: &Settings,
    home: &Home,
    around: &Surroundings,
    subagents: &Subagents,
    skills: &Skills,
    attendance: Attendance,
) -> anyhow::Result<(Permissions, Vec<String>)> {
    let is_trusted = around.trust.is_trusted();
    let saved = SavedFiles {
        project: Project::find()?.map(|project| project.home.saved_policy()),
        everywhere: Some(home.saved_policy()),
    };
    let places = PolicyPlaces {
        extensions: Vec::new(),
        workspace: is_trusted.then(|| WorkspaceFolder::of(&around.cwd).policies()),
        user: match options.policy() {
            [] => vec![home.policies()],
            named => named.to_vec(),
        },
        system: Some(system_folder().join("policies")),
        admin: Vec::new(),
        saved: match options.policy() {
            [] => saved.clone(),
            _ => SavedFiles::default(),
        },
    };
    for named in options.policy() {
        // Rules that the user names and that are not there would silently allow or forbid nothing.
        std::fs::metadata(named).map_err(|cause| {
            let act = format!("could not read the rules in {}", named.display());
            hinted(anyhow::Error::from(cause).context(act), "--policy takes .toml files, or folders of them")
        })?;
    }
    let loaded = load_policies(&places);
    let mut warnings: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    let mut rules = loaded.rules;
    rules.extend(subagents::rules(subagents));
    rules.extend(rules_of_skills(skills));
    let (set, problems) = settings.rules();
    rules.extend(set);
    warnings.extend(problems.iter().map(ToString::to_string));
    for name in options.allowed_tools() {
        let rule = rule_from_setting(Standing::AllowedTool, name, "--allowed-tools").map_err(|error| {
            hinted(error, "name tools as in --allowed-tools \"write_file,run_shell_command(cargo test)\"")
        })?;
        rules.push(rule);
    }
    let mode = match options.mode() {
        Some(mode) => mode.in_folder(is_trusted).map_err(|error| {
            hinted(
                error,
                "`longhaul trust add` trusts the current folder; it shows first what that activates",
            )
        })?,
        // A setting is a wish for all folders, and in this one it cannot be had.
        None => settings.approval_mode().unwrap_or_default().in_folder(is_trusted).unwrap_or_default(),
    };
    let permissions = Permissions {
        policy: Policy::new(rules),
        situation: Situation { mode, is_interactive: attendance == Attendance::Attended, is_trusted },
        saved,
        subagent: None,
    };
    Ok((permissions, warnings))
}
