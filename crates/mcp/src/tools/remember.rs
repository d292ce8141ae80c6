//! `remember`: proposes a fact to the inbox, with the user's words as evidence.

use longhaul_app::project::Project;
use longhaul_app::settings::load_here;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{FactScope, save_target};
use longhaul_redact::has_secret;
use longhaul_skills::{Inbox, MemoryKind, ProposedFact};

use super::Request;
use crate::arguments::Arguments;
use crate::evidence::{Extent, find_typed};

/// The longest fact.
const LONGEST_FACT: usize = 500;

/// Fewer words of the user's show nothing.
const FEWEST_WORDS: usize = 2;

pub(super) fn answer(request: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let refused = |reason: String| format!("Not remembered: {reason}");
    let fact = arguments.required("fact")?;
    let quote = arguments.required("quote")?;
    let scope = arguments.choice("scope", &["project", "global"])?.unwrap_or("project");
    let named = arguments.text("session")?;
    if fact.chars().count() > LONGEST_FACT {
        return Err(refused(format!("a fact is one sentence of at most {LONGEST_FACT} characters")));
    }
    if let Some(kind) = [&fact, &quote].into_iter().find_map(|text| has_secret(text)) {
        return Err(refused(format!(
            "it holds a secret ({}). Say where the secret is kept instead",
            kind.name()
        )));
    }
    if quote.split_whitespace().count() < FEWEST_WORDS && quote.chars().count() < 8 {
        return Err(refused(
            "the quote is too short to show anything: give the user's whole sentence".into(),
        ));
    }
    let (library, session) = request.session(named.as_deref()).map_err(refused)?;
    let short = library.short_id(&session);
    let Some(number) = find_typed(&session, &quote, Extent::Words, None).map_err(refused)? else {
        return Err(refused(format!(
            "the user did not type these words in session {short}. Quote them exactly; what was pasted, read from a file or \
             written by a program is no evidence"
        )));
    };
    let (kind, waiting) = propose(scope, &fact, &quote, &session.id, number).map_err(refused)?;
    Ok(match waiting {
        true => format!(
            "Proposed for the user's {} memory, with their words from {short}:{number}. It takes effect when they accept it: \
             longhaul memory inbox accept {}",
            kind.name(),
            kind.name()
        ),
        false => "Nothing new: this is remembered already, waits in the inbox, or was dismissed by the user."
            .into(),
    })
}

/// Puts a fact into the inbox; tells whether it is new.
fn propose(
    scope: &str,
    fact: &str,
    quote: &str,
    session: &str,
    number: longhaul_conversation::Ordinal,
) -> Result<(MemoryKind, bool), String> {
    let told = |error: anyhow::Error| format!("{error:#}");
    let settings = load_here().map_err(told)?.settings;
    let mut context = WorkspaceContext::find(&settings, &[]).map_err(told)?;
    let (kind, scope) = match scope {
        "global" => (MemoryKind::Global, FactScope::Global),
        _ => (MemoryKind::Private, FactScope::Project),
    };
    if kind == MemoryKind::Private && !context.trust.is_trusted() {
        return Err(
            "this folder is not trusted: the user can run `longhaul trust add`, or use scope=global".into()
        );
    }
    let (project, _) = Project::find_or_begin().map_err(told)?;
    context.places.private = Some(project.home.memory());
    let memory = save_target(scope, &context.places, &context.settings).map_err(|error| error.to_string())?;
    let proposed = ProposedFact::new(fact, quote, session, number);
    let new = Inbox::of(&project.home)
        .propose_facts(kind, &[proposed], &memory)
        .map_err(|error| error.to_string())?;
    Ok((kind, new > 0))
}
