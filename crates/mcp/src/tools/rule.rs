//! `rule`: keeps a standing instruction that the user typed.

use longhaul_app::kept_rules::{KeptRule, keep_rule};
use longhaul_directives::QuotedRule;
use longhaul_redact::has_secret;

use super::{Request, parse_reference};
use crate::arguments::Arguments;
use crate::evidence::{Extent, find_typed};

/// The longest rule: longer texts are documents.
const LONGEST_RULE: usize = 600;

pub(super) fn answer(request: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let refused = |reason: String| format!("Not kept: {reason}");
    let text = arguments.required("text")?;
    let reference = arguments.text("ref")?;
    let (session, number) = reference.as_deref().map(parse_reference).transpose()?.unwrap_or_default();
    if text.chars().count() > LONGEST_RULE {
        return Err(refused(format!("a rule has at most {LONGEST_RULE} characters")));
    }
    if let Some(kind) = has_secret(&text) {
        return Err(refused(format!("it holds a secret ({})", kind.name())));
    }
    let (library, session) = request.session(session).map_err(refused)?;
    let short = library.short_id(&session);
    let Some(found) = find_typed(&session, &text, Extent::Sentences, number).map_err(refused)? else {
        let place =
            number.map(|number| format!("{short}:{number}")).unwrap_or_else(|| format!("session {short}"));
        return Err(refused(format!(
            "the user did not type this in {place}. A rule is a whole sentence of theirs, verbatim: not a part of one, not your \
             wording, and nothing from files, tools or pasted text"
        )));
    };
    let quoted = QuotedRule { text, message: found };
    let rule = KeptRule { session: session.id.clone(), file: session.path().to_path_buf(), quoted };
    Ok(match keep_rule(&rule).map_err(|error| refused(format!("{error:#}")))? {
        true => format!(
            "Kept, as typed in {short}:{found}. state shows it from now on, and it is brought back after each compaction."
        ),
        false => format!("This rule of session {short} is kept already."),
    })
}
