//! The scope of a fact: stated by the user, implied by its wording, or asked for.

use std::io::IsTerminal;

use anyhow::anyhow;
use longhaul_app::failure::hinted;
use longhaul_memory::{Fact, FactScope, Places, ProposedScope, propose_scope};

use crate::output::visible;
use crate::questions::choose;

/// The scope of a fact, and what decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) scope: FactScope,
    pub(super) by: DecidedBy,
}

/// The source of a fact's scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecidedBy {
    /// The user, by a flag or an answer.
    User,
    /// The wording of the fact.
    Words,
    /// The default: its wording leaves it open, and nobody could be asked.
    Nobody,
}

impl DecidedBy {
    /// A stable name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Words => "words",
            Self::Nobody => "nobody",
        }
    }
}

impl Placed {
    /// The scope that the user states.
    pub(super) fn stated(scope: FactScope) -> Self {
        Self { scope, by: DecidedBy::User }
    }

    /// Infers the scope from the wording; where that leaves it open, asks at the terminal.
    pub(super) fn find(fact: &Fact, places: &Places) -> anyhow::Result<Self> {
        let ProposedScope { scope, is_clear } = propose_scope(fact.as_str(), places);
        if is_clear {
            return Ok(Self { scope, by: DecidedBy::Words });
        }
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            return ask(&scope, places).map(Self::stated);
        }
        Ok(Self { scope, by: DecidedBy::Nobody })
    }

    /// A sentence on the scope and its reason; `None` if the user said so.
    pub(super) fn remark(&self) -> Option<String> {
        let place = visible(&in_words(&self.scope));
        match self.by {
            DecidedBy::User => None,
            DecidedBy::Words => Some(format!("It applies {place}, judging by its wording.")),
            DecidedBy::Nobody => Some(format!(
                "It applies {place}, as its wording leaves the scope open; use --scope or --folder to choose."
            )),
        }
    }
}

/// The scope, as the end of a sentence.
fn in_words(scope: &FactScope) -> String {
    match scope {
        FactScope::Global => "in every project".to_string(),
        FactScope::Project => "in this project, for you only".to_string(),
        FactScope::Folder(folder) => format!("in {}, for everyone", folder.display()),
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
    let chosen = choose("Where does it apply?", &lines, Some(usual))?;
    let chosen =
        chosen.ok_or_else(|| hinted(anyhow!("nothing was saved"), "answer with one of the numbers"))?;
    Ok(scopes.swap_remove(chosen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_said_is_told() {
        let placed = |by| Placed { scope: FactScope::Global, by };
        assert_eq!(placed(DecidedBy::User).remark(), None);
        assert_eq!(
            placed(DecidedBy::Words).remark().as_deref(),
            Some("It applies in every project, judging by its wording.")
        );
        assert!(
            placed(DecidedBy::Nobody).remark().is_some_and(|remark| remark.contains("--scope or --folder"))
        );
    }
}
