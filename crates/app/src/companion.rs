//! The folders of other agents, for the guard; what it does when a turn ends, and what it offers when a session starts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use longhaul_companion::{
    AgentPlaces, GUARD_TAG, GuardMemory, HookCall, HookDialect, HookMoment, SessionRecord, take_note,
};
use longhaul_conversation::{Ordinal, neutralise_tags};
use longhaul_skills::{Inbox, MemoryKind, ProposedFact};
use longhaul_stores::Agent;
use longhaul_workspace::{Home, WorkspaceError};

use crate::kept_rules::kept_rules;
use crate::project::Project;
use crate::settings::Settings;
use crate::{archive, environment, found};

/// The folders of other agents, from this process's environment.
///
/// # Errors
/// If no home folder is set.
pub fn agent_places(project: &Path) -> Result<AgentPlaces, WorkspaceError> {
    let environment = environment::of_process();
    let home = Home::resolve(&environment)?;
    let user = environment.user_home.unwrap_or_default();
    let folder = |variable: &str, usual: &str| {
        let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        named.unwrap_or_else(|| user.join(usual))
    };
    let gemini = environment.gemini_cli_home.unwrap_or_else(|| user.clone());
    Ok(AgentPlaces {
        claude: folder("CLAUDE_CONFIG_DIR", ".claude"),
        codex: folder("CODEX_HOME", ".codex"),
        gemini: gemini.join(".gemini"),
        opencode: folder("XDG_CONFIG_HOME", ".config").join("opencode"),
        project: project.to_path_buf(),
        notes: home.guard(),
    })
}

/// The path of one of opencode's sessions: its database, `#` and its id.
pub fn opencode_session(id: &str) -> Option<PathBuf> {
    let database = found::places().databases(Agent::Opencode).find(|database| database.is_file())?;
    let mut path = database.into_os_string();
    path.push(format!("#{id}"));
    Some(path.into())
}

/// True if something is to be done in the background when this turn ends.
pub fn has_afterwork(call: &HookCall) -> bool {
    // Sessions in databases are copied by `archive sync` alone.
    call.moment == HookMoment::TurnEnded
        && call.dialect != HookDialect::Opencode
        && call.transcript.as_ref().is_some_and(|path| path.is_file())
}

/// Starts a process of its own that keeps what a turn has brought, and ends by itself. The agent does not wait for it.
///
/// # Errors
/// If it cannot be started.
pub fn start_afterwork(call: &HookCall) -> anyhow::Result<()> {
    let Some(transcript) = &call.transcript else { return Ok(()) };
    let program = std::env::current_exe().context("could not find this program")?;
    let mut command = Command::new(program);
    command.args(["guard", "keep", "--agent", agent_of(call.dialect).as_str()]).arg(transcript);
    if let Some(directory) = call.directory.as_deref().filter(|directory| directory.is_dir()) {
        command.current_dir(directory);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop).context("could not start the process that keeps the session")
}

fn agent_of(dialect: HookDialect) -> Agent {
    match dialect {
        HookDialect::Claude => Agent::Claude,
        HookDialect::Codex => Agent::Codex,
        HookDialect::Gemini => Agent::Gemini,
        HookDialect::Opencode => Agent::Opencode,
    }
}

/// Keeps what a turn has brought: the state by which the guard answers faster, a copy in the archive, and rules that may hold
/// in the next session, too.
///
/// # Errors
/// If the session cannot be read, or the archive cannot be written.
pub fn keep_session(agent: Agent, transcript: &Path, settings: &Settings) -> anyhow::Result<()> {
    let kept = kept_rules(transcript)?;
    let memory = GuardMemory::at(agent_places(&environment::current_folder())?.notes);
    let record = take_note(transcript, &memory, &kept)
        .with_context(|| format!("could not read {}", transcript.display()))?;
    if settings.guard_offers_rules() {
        propose_rules(&record, transcript)?;
    }
    if settings.guard_archives() {
        let directory = environment::current_folder();
        let project = Some(directory.display().to_string());
        archive::sync_file(&mut archive::open()?, settings, agent, transcript, project)
            .context("could not copy the session to the archive")?;
    }
    Ok(())
}

/// Puts the rules of a session into the inbox of memory, as far as memory does not hold them and they were not dismissed.
fn propose_rules(record: &SessionRecord, transcript: &Path) -> anyhow::Result<()> {
    let session = transcript.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let facts: Vec<ProposedFact> = record
        .active_rules()
        .iter()
        .map(|rule| ProposedFact::new(&rule.text, &rule.text, &session, rule.message.unwrap_or(Ordinal(1))))
        .collect();
    if facts.is_empty() {
        return Ok(());
    }
    let (project, _) = Project::find_or_begin()?;
    let memory = crate::extraction::private_memory(&project);
    Inbox::of(&project.home)
        .propose_facts(MemoryKind::Private, &facts, &memory)
        .context("could not put rules into the inbox")?;
    Ok(())
}

/// The most rules that are offered at a session's start.
const MOST_OFFERED: usize = 12;

/// The text that offers rules of this project's earlier sessions; none if none wait.
///
/// # Errors
/// If the project cannot be found.
pub fn offered_rules(directory: &Path) -> anyhow::Result<Option<String>> {
    let home = Home::resolve(&environment::of_process())?;
    let found = longhaul_workspace::Projects::of(&home).look_up(directory)?;
    let Some((id, _)) = found.id else { return Ok(None) };
    let rules = Inbox::of(&home.project(&id)).waiting_facts(MemoryKind::Private);
    if rules.is_empty() {
        return Ok(None);
    }
    let line = |rule: &String| format!("- {}\n", neutralise_tags(rule, &[GUARD_TAG, "system-reminder"]));
    let shown: String = rules.iter().take(MOST_OFFERED).map(line).collect();
    let more = match rules.len().saturating_sub(MOST_OFFERED) {
        0 => String::new(),
        more => format!("- and {more} more\n"),
    };
    Ok(Some(format!(
        "<{GUARD_TAG}>\nThe user gave these rules in earlier sessions of this project. They wait for review and are not in memory yet:\n\
         {shown}{more}\nThey are offers, not rules of this session. Mention once that `longhaul memory inbox` shows them and \
         `longhaul memory inbox accept private` keeps them.\n</{GUARD_TAG}>"
    )))
}
