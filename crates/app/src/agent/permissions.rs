//! The rules about tool calls, from files, settings and arguments.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use longhaul_agent::{Permissions, ReadingScope, Subagents};
use longhaul_policy::{
    ApprovalMode, Policy, PolicyPlaces, Rule, RuleSource, SavedFiles, SettingVerdict, Situation, Verdict,
    load_policies, rule_from_setting,
};
use longhaul_skills::Skills;
use longhaul_tools::Roots;
use longhaul_workspace::{Home, ProtectedFiles, ProtectedKind, WorkspaceFolder, system_folder};

use super::{AgentOptions, Attendance, skills, subagents};
use crate::environment;
use crate::failure::hinted;
use crate::mcp::{ConfiguredServers, load_servers};
use crate::project::Project;
use crate::settings::Settings;
use crate::trust::{GrantKind, hook_scripts};
use crate::workspace::WorkspaceContext;

/// Loads the policy rules of the current folder for an agent with these options, with warnings about invalid ones.
pub fn load_current_permissions(
    options: &AgentOptions,
    settings: &Settings,
    attendance: Attendance,
) -> anyhow::Result<(Permissions, Vec<String>)> {
    let home = Home::resolve(&environment::of_process())?;
    let context = WorkspaceContext::find(settings, &options.include_directories)?;
    let found = subagents::load(settings, &home, &context.cwd, context.trust.is_trusted());
    let (skills, _) = skills::load(settings, &home, &context);
    let (mut permissions, warnings) =
        load_permissions(options, settings, &home, &context, &found.subagents, &skills, attendance)?;
    trust_servers(&mut permissions, &load_servers(settings, Some(&home), &context));
    Ok((permissions, warnings))
}

/// Loads the policy rules, with warnings about invalid ones.
pub(super) fn load_permissions(
    options: &AgentOptions,
    settings: &Settings,
    home: &Home,
    context: &WorkspaceContext,
    subagents: &Subagents,
    found: &Skills,
    attendance: Attendance,
) -> anyhow::Result<(Permissions, Vec<String>)> {
    let is_trusted = context.trust.is_trusted();
    let saved = SavedFiles {
        project: Project::find()?.map(|project| project.home.saved_policy()),
        everywhere: Some(home.saved_policy()),
    };
    let (more, admin) = settings.policy_paths(context.places.user_home.as_deref());
    if let Some(missing) = more.iter().chain(&admin).find(|path| !path.exists()) {
        // Rules that are not there would silently forbid nothing.
        let error = anyhow!("could not read the policy rules in {}", missing.display());
        return Err(hinted(error, "set policyPaths and adminPolicyPaths to .toml files or folders of them"));
    }
    let places = PolicyPlaces {
        extensions: Vec::new(),
        workspace: is_trusted.then(|| WorkspaceFolder::of(&context.cwd).policies()),
        user: match options.policy.as_slice() {
            [] => std::iter::once(home.policies()).chain(more).collect(),
            named => named.to_vec(),
        },
        system: Some(system_folder().join("policies")),
        admin,
        saved: match options.policy.as_slice() {
            [] => saved.clone(),
            _ => SavedFiles::default(),
        },
    };
    for named in options.policy.as_slice() {
        // Rules that the user names and that are not there would silently allow or forbid nothing.
        std::fs::metadata(named).map_err(|cause| {
            let act = format!("could not read the policy rules in {}", named.display());
            hinted(
                anyhow::Error::from(cause).context(act),
                "pass .toml files, or folders of them, to --policy",
            )
        })?;
    }
    let mut loaded = load_policies(&places);
    if let Some(place) = places.workspace.filter(|_| settings.is_suspended(GrantKind::Policies)) {
        // What changed since the folder was trusted may forbid, and not allow.
        let is_theirs =
            |rule: &Rule| matches!(&rule.source, RuleSource::File { path, .. } if path.starts_with(&place));
        loaded.rules.retain(|rule| rule.verdict != Verdict::Allow || !is_theirs(rule));
    }
    let mut warnings: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    let mut rules = loaded.rules;
    rules.extend(subagents::rules(subagents));
    rules.extend(skills::rules(found));
    let (set, problems) = settings.rules();
    rules.extend(set);
    warnings.extend(problems.iter().map(ToString::to_string));
    for name in &options.allowed_tools {
        let rule =
            rule_from_setting(SettingVerdict::AllowedTool, name, "--allowed-tools").map_err(|error| {
                hinted(error, "name tools as in --allowed-tools \"write_file,run_shell_command(cargo test)\"")
            })?;
        rules.push(rule);
    }
    let forbidden = settings.forbids_yolo();
    let mode = match options.mode {
        Some(ApprovalMode::Yolo) if forbidden.is_some() => {
            let key = forbidden.unwrap_or_default();
            let error = anyhow!("yolo mode is disabled by {key}");
            return Err(hinted(error, "drop --yolo; use --allowed-tools to run single tools without asking"));
        }
        Some(mode) => mode.in_folder(is_trusted).map_err(|error| {
            hinted(
                error,
                "run `longhaul trust add` to see what the current folder would activate and trust it",
            )
        })?,
        // A setting is a wish for all folders, and in this one it cannot be had.
        None => match settings.approval_mode().unwrap_or_default() {
            ApprovalMode::Yolo if forbidden.is_some() => {
                let key = forbidden.as_deref().unwrap_or_default();
                warnings.push(format!("general.defaultApprovalMode is yolo, which is disabled by {key}"));
                ApprovalMode::default()
            }
            mode => mode.in_folder(is_trusted).unwrap_or_default(),
        },
    };
    let permissions = Permissions {
        policy: Policy::new(rules).protecting(protected(settings, home, context)),
        situation: Situation { mode, is_interactive: attendance == Attendance::Attended, is_trusted },
        // What is not to be kept counts for this session.
        saved: if settings.keeps_always() { saved } else { SavedFiles::default() },
        offers_always: settings.offers_always(),
        yolo_forbidden_by: forbidden,
        subagent: None,
        reading: reading_scope(settings, context)?,
    };
    Ok((permissions, warnings))
}

/// The places that commands may read without approval.
fn reading_scope(settings: &Settings, context: &WorkspaceContext) -> anyhow::Result<Option<ReadingScope>> {
    // The commands that are known are those of Unix.
    if !cfg!(unix) {
        return Ok(None);
    }
    let others: Vec<PathBuf> =
        context.places.folders.iter().skip(1).map(|folder| folder.path.clone()).collect();
    let roots = Roots::new(&context.cwd, &others).context("could not find the workspace's folders")?;
    let (ignoring, search_path) = (settings.hidden_files(), environment::search_path());
    Ok(Some(ReadingScope { roots, ignoring, search_path }))
}

/// Lets the tools of servers run that settings trust.
pub(super) fn trust_servers(permissions: &mut Permissions, servers: &ConfiguredServers) {
    let policy = std::mem::take(&mut permissions.policy);
    permissions.policy = servers.rules().fold(policy, Policy::with);
}

/// Files here that grant rights: only a user can let a model change them.
fn protected(settings: &Settings, home: &Home, context: &WorkspaceContext) -> ProtectedFiles {
    let folders: Vec<PathBuf> = context.places.folders.iter().map(|folder| folder.path.clone()).collect();
    let names: Vec<String> = context.settings.names.iter().map(ToString::to_string).collect();
    let files = ProtectedFiles::of(&folders)
        .with_home(home.root())
        .with(home.trusted_folders(), ProtectedKind::Home)
        .with_memory(names.iter().map(String::as_str));
    let hidden = settings.hidden_files().custom;
    let files = hidden.iter().fold(files, |files, file| files.with(file, ProtectedKind::IgnoreFile));
    // A hook that is a script of the workspace does whatever that says.
    let (hooks, _) = settings.hooks(None);
    let scripts = hook_scripts(&context.cwd, hooks.iter().map(|hook| hook.command.as_str()));
    scripts.iter().fold(files, |files, script| files.with(script, ProtectedKind::Hook))
}
