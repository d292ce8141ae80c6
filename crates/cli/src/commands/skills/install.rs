//! `longhaul skills install SOURCE`, `link PATH` and `uninstall NAME`.

use std::path::PathBuf;

use clap::Args;
use longhaul_app::skills::{FetchedSkills, SkillLibrary, SkillOrigin, SkillScope, failure, unknown};
use longhaul_skills::{
    InstallPlan, Skill, SkillError, SkillSource, SkillTier, plan_install, plan_link, run_install, run_link,
    run_uninstall,
};
use serde_json::{Value, json};

use crate::options::SkillScopeArgument;
use crate::output::{
    Color, Page, Screen, pad_left, path_json, plural, print, print_json, thousands, visible, with_progress,
};
use crate::questions::confirm;

#[derive(Debug, Args)]
pub(crate) struct InstallOptions {
    /// Folder with a SKILL.md or with such folders, a .skill or .zip archive, or a git address (https, ssh or file).
    source: String,
    /// Folder of the repository or archive to look in [default: the top, or `skills`].
    #[arg(long, value_name = "FOLDER")]
    path: Option<String>,
    /// Scope to install it in.
    #[arg(long, default_value = "user")]
    scope: SkillScopeArgument,
    /// Show what would be installed without installing it.
    #[arg(long)]
    dry_run: bool,
    /// Skip the confirmation prompt.
    #[arg(long)]
    yes: bool,
    /// Print one JSON object (see docs/json.md) without a confirmation prompt.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LinkOptions {
    /// Folder with a SKILL.md.
    path: PathBuf,
    /// Scope to link it in.
    #[arg(long, default_value = "user")]
    scope: SkillScopeArgument,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallOptions {
    /// Skill name; case does not matter.
    name: String,
    /// Scope to remove it from [default: the active one].
    #[arg(long)]
    scope: Option<SkillScopeArgument>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn install(options: &InstallOptions, library: &SkillLibrary, color: Color) -> anyhow::Result<()> {
    let into = library.skill_folder(options.scope.into())?;
    let source = SkillSource::parse(&options.source).map_err(failure)?;
    let doing = || "fetching skills".to_string();
    let fetched = with_progress(doing, || library.fetch(&source, options.path.as_deref()))?;
    let origin = fetched.origin.as_ref();
    let plans = plan_install(&fetched.folder, &into).map_err(|error| failure(named(error, &fetched)))?;
    if !options.json {
        let mut page = Page::new(Screen::of_stdout(color));
        plans.iter().for_each(|plan| tell(&mut page, plan, origin));
        print(&page.into_text())?;
    }
    let question = "Install this? Models will follow its instructions and may run its scripts.";
    let is_done = !options.dry_run && confirm(question, options.yes)?;
    let mut installed = 0;
    if is_done {
        for plan in &plans {
            run_install(plan).map_err(failure)?;
            installed += 1;
        }
    }
    if options.json {
        let plans: Vec<Value> = plans.iter().map(|plan| plan_json(plan, origin)).collect();
        return print_json(
            &json!({"schema": 1, "scope": SkillScope::from(options.scope).name(), "installed": is_done, "skills": plans}),
        );
    }
    match installed {
        0 => print("Nothing was installed.\n"),
        installed => print(&format!("Installed {}.\n", plural(installed, "skill", "skills"))),
    }
}

/// The error with the address or the archive in the place of the folder that it was fetched to.
fn named(error: SkillError, fetched: &FetchedSkills) -> SkillError {
    let Some(SkillOrigin { source, .. }) = &fetched.origin else { return error };
    let within = |path: PathBuf| match path.strip_prefix(&fetched.folder) {
        Ok(inside) if inside.as_os_str().is_empty() => PathBuf::from(source),
        Ok(inside) => PathBuf::from(format!("{source}: {}", inside.display())),
        Err(_) => path,
    };
    match error {
        SkillError::NoSkill { path, cause } => SkillError::NoSkill { path: within(path), cause },
        SkillError::NothingThere { path, reason } => SkillError::NothingThere { path: within(path), reason },
        SkillError::Refused { path, reason } => SkillError::Refused { path: within(path), reason },
        error => error,
    }
}

/// The source of a skill, for people.
fn describe_source(plan: &InstallPlan, origin: Option<&SkillOrigin>) -> String {
    match origin {
        Some(SkillOrigin { source, commit: Some(commit) }) => format!("{source} (commit {commit})"),
        Some(SkillOrigin { source, commit: None }) => source.clone(),
        None => plan.source.display().to_string(),
    }
}

fn tell(page: &mut Page, plan: &InstallPlan, origin: Option<&SkillOrigin>) {
    page.line(&page.screen.strong(&visible(plan.name.as_str())));
    page.line(&format!("  {}", visible(&plan.description)));
    page.line(&visible(&format!("  from {}", describe_source(plan, origin))));
    page.line(&visible(&format!("  to   {}", plan.target.display())));
    for file in &plan.files {
        let runs = if file.is_executable { "  (executable)" } else { "" };
        let bytes = pad_left(&thousands(file.bytes), 11);
        page.line(&format!("{bytes}  {}{runs}", visible(&file.path.display().to_string())));
    }
    for secret in &plan.secrets {
        let line =
            format!("warning: {} may contain a secret ({})", secret.path.display(), secret.kind.name());
        page.line(&page.screen.warning(&visible(&line)));
    }
    page.gap();
}

fn plan_json(plan: &InstallPlan, origin: Option<&SkillOrigin>) -> Value {
    let files = plan.files.iter().map(
        |file| json!({"path": path_json(&file.path), "bytes": file.bytes, "executable": file.is_executable}),
    );
    let secrets = plan
        .secrets
        .iter()
        .map(|secret| json!({"path": path_json(&secret.path), "kind": secret.kind.name()}));
    json!({
        "name": plan.name.as_str(),
        "description": plan.description,
        "source": origin.map_or_else(|| path_json(&plan.source), |origin| origin.source.clone().into()),
        "commit": origin.and_then(|origin| origin.commit.clone()),
        "target": path_json(&plan.target),
        "files": files.collect::<Vec<_>>(),
        "secrets": secrets.collect::<Vec<_>>(),
    })
}

pub(super) fn link(options: &LinkOptions, library: &SkillLibrary) -> anyhow::Result<()> {
    let into = library.skill_folder(options.scope.into())?;
    let plan = plan_link(&options.path, &into).map_err(failure)?;
    run_link(&plan).map_err(failure)?;
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "scope": SkillScope::from(options.scope).name(),
            "name": plan.name.as_str(),
            "description": plan.description,
            "source": path_json(&plan.source),
            "target": path_json(&plan.target),
        }));
    }
    let (from, to) = (plan.target.display().to_string(), plan.source.display().to_string());
    print(&format!("Linked {}: {} → {}\n", visible(plan.name.as_str()), visible(&from), visible(&to)))
}

pub(super) fn uninstall(options: &UninstallOptions, library: &SkillLibrary) -> anyhow::Result<()> {
    let skills = library.skills();
    let is_in_scope = |skill: &&Skill| match options.scope {
        None => true,
        Some(SkillScopeArgument::User) => matches!(skill.tier, SkillTier::User | SkillTier::UserShared),
        Some(SkillScopeArgument::Workspace) => {
            matches!(skill.tier, SkillTier::Workspace | SkillTier::WorkspaceShared)
        }
    };
    let mut all = skills.found.iter().chain(skills.overridden.iter().map(|overridden| &overridden.skill));
    let meant = all.find(|skill| skill.name.is_meant_by(&options.name) && is_in_scope(skill));
    let skill = meant.ok_or_else(|| unknown(&options.name))?;
    let gone = run_uninstall(skill, &library.places()).map_err(failure)?;
    if options.json {
        return print_json(&json!({"schema": 1, "name": skill.name.as_str(), "removed": path_json(&gone)}));
    }
    print(&format!("Removed {}: {}\n", visible(skill.name.as_str()), visible(&gone.display().to_string())))
}
