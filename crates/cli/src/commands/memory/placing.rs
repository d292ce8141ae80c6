//! Where a fact is kept: as the user says, as its words say, or as they are asked.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use longhaul_memory::{
    Fact, FactScope, MemoryError, MemorySettings, Places, ProposedScope, SavedFact, propose_scope, save_fact,
    save_in_folder, save_target,
};
use longhaul_workspace::Patience;

use crate::clock::now;
use crate::failure::hinted;
use crate::output::{choose, visible};

/// Where a fact is kept, and who decided that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) scope: FactScope,
    pub(crate) by: DecidedBy,
}

/// Who decided where a fact is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecidedBy {
    /// The user, when the fact was given or when they were asked.
    User,
    /// The words of the fact.
    Words,
    /// Nobody: its words leave it open, and nobody could be asked.
    Nobody,
}

impl DecidedBy {
    /// A stable name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Words => "words",
            Self::Nobody => "nobody",
        }
    }
}

impl Placed {
    /// What the user says.
    pub(crate) fn stated(scope: FactScope) -> Self {
        Self { scope, by: DecidedBy::User }
    }

    /// What the words say; where they leave it open, whoever sits at the terminal is asked.
    pub(crate) fn find(fact: &Fact, places: &Places) -> anyhow::Result<Self> {
        let ProposedScope { scope, is_clear } = propose_scope(fact.as_str(), places);
        if is_clear {
            return Ok(Self { scope, by: DecidedBy::Words });
        }
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            return ask(&scope, places).map(Self::stated);
        }
        Ok(Self { scope, by: DecidedBy::Nobody })
    }

    /// Where it holds and why, in a sentence; nothing if the user said so.
    pub(crate) fn remark(&self) -> Option<String> {
        let place = visible(&in_words(&self.scope));
        match self.by {
            DecidedBy::User => None,
            DecidedBy::Words => Some(format!("It holds {place}, as its words say.")),
            DecidedBy::Nobody => Some(format!(
                "It holds {place}, though its words leave that open; --scope or --folder says otherwise."
            )),
        }
    }
}

/// Where facts of a scope hold, as the end of a sentence.
fn in_words(scope: &FactScope) -> String {
    match scope {
        FactScope::Global => "in every project".to_string(),
        FactScope::Project => "in this project, for you alone".to_string(),
        FactScope::Folder(folder) => format!("in {}, for everybody", folder.display()),
    }
}

fn ask(proposed: &FactScope, places: &Places) -> anyhow::Result<FactScope> {
    let workspace = places.workspace().filter(|workspace| workspace.is_trusted);
    let shared = workspace.map(|workspace| FactScope::Folder(workspace.path.clone()));
    let mut scopes: Vec<FactScope> =
        [FactScope::Global, FactScope::Project].into_iter().chain(shared).collect();
    if !scopes.contains(proposed) {
        scopes.push(proposed.clone());
    }
    let usual = scopes.iter().position(|scope| scope == proposed).unwrap_or_default();
    let lines: Vec<String> = scopes.iter().map(|scope| visible(&in_words(scope))).collect();
    let chosen = choose("Where does it hold?", &lines, usual)?;
    let chosen =
        chosen.ok_or_else(|| hinted(anyhow!("nothing was saved"), "answer with one of the numbers"))?;
    Ok(scopes.swap_remove(chosen))
}

/// The scope of a folder that the user names, if facts may be saved there.
pub(crate) fn folder(named: &Path, places: &Places) -> anyhow::Result<FactScope> {
    let refused = |reason: &str, hint: &str| {
        hinted(anyhow!("nothing can be saved in {}: {reason}", named.display()), hint.to_string())
    };
    let workspace = places.workspace().map(|workspace| workspace.path.clone()).unwrap_or_default();
    let folder = workspace
        .join(named)
        .canonicalize()
        .ok()
        .filter(|folder| folder.is_dir())
        .ok_or_else(|| refused("there is no such folder", "name a folder of the workspace"))?;
    let holds = |root: &PathBuf| root.canonicalize().is_ok_and(|root| folder.starts_with(root));
    let mut around = places.folders.iter().filter(|known| holds(&known.path)).peekable();
    if around.peek().is_none() {
        return Err(refused("it is outside of the workspace", "name a folder of the workspace"));
    }
    if !around.any(|known| known.is_trusted) {
        return Err(refused("the workspace is not trusted", "`longhaul trust add` trusts it"));
    }
    if folder.components().any(|part| part.as_os_str() == ".git") {
        return Err(refused("it is Git's own", "name a folder of the workspace"));
    }
    Ok(FactScope::Folder(folder))
}

/// Saves a fact where it belongs.
pub(crate) fn save(
    fact: &Fact,
    scope: FactScope,
    places: &Places,
    settings: &MemorySettings,
) -> Result<SavedFact, MemoryError> {
    let is_shared = matches!(scope, FactScope::Folder(_));
    let path = save_target(scope, places, settings)?;
    if !is_shared {
        return save_fact(&path, fact, now(), Patience::default());
    }
    let beside = save_target(FactScope::Global, places, settings)?;
    save_in_folder(&path, &beside, fact, now(), Patience::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_memory::WorkFolder;

    #[test]
    fn only_trusted_folders_of_the_workspace_are_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work/docs", "work/.git", "outside"] {
            std::fs::create_dir_all(folder.path().join(name)).expect("made");
        }
        let check = |named: &str, is_trusted, expected: Result<&str, &str>| {
            let path = folder.path().join("work");
            let places = Places { folders: vec![WorkFolder { path, is_trusted }], ..Places::default() };
            match (super::folder(Path::new(named), &places), expected) {
                (Ok(FactScope::Folder(found)), Ok(expected)) => {
                    assert!(found.ends_with(expected), "{found:?}");
                }
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (found, _) => panic!("{named}: {found:?}"),
            }
        };
        check(".", true, Ok("work"));
        check("docs", true, Ok("work/docs"));
        check("docs", false, Err("not trusted"));
        check("../outside", true, Err("outside of the workspace"));
        check(".git", true, Err("Git's own"));
        check("none", true, Err("no such folder"));
    }

    #[test]
    fn what_nobody_said_is_told() {
        let placed = |by| Placed { scope: FactScope::Global, by };
        assert_eq!(placed(DecidedBy::User).remark(), None);
        assert_eq!(
            placed(DecidedBy::Words).remark().as_deref(),
            Some("It holds in every project, as its words say.")
        );
        assert!(
            placed(DecidedBy::Nobody).remark().is_some_and(|remark| remark.contains("--scope or --folder"))
        );
    }
}
