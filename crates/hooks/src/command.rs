//! Prepares the command line and the environment of a hook.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::Hook;
use crate::event::Occasion;

/// What hooks know of the world around them. The program reads the environment, not this crate.
#[derive(Clone, Debug, Default)]
pub struct HookEnvironment {
    /// The variables that hooks inherit, see [`VariableRules`](crate::VariableRules).
    pub variables: Vec<(OsString, OsString)>,
    /// The root of the project.
    pub project: PathBuf,
    /// Whether its own hooks may run.
    pub is_trusted: bool,
    /// Where plans are kept.
    pub plans: Option<PathBuf>,
}

impl HookEnvironment {
    /// The variables of the protocol, by which hooks find their way.
    fn protocol(&self, occasion: &Occasion) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![
            ("GEMINI_PROJECT_DIR", self.project.clone().into_os_string()),
            ("GEMINI_CWD", occasion.cwd.clone().into_os_string()),
            ("GEMINI_SESSION_ID", occasion.session_id.clone().into()),
            ("CLAUDE_PROJECT_DIR", self.project.clone().into_os_string()),
        ];
        variables.extend(self.plans.clone().map(|plans| ("GEMINI_PLANS_DIR", plans.into_os_string())));
        variables
    }

    /// Everything that the hook's process finds in its environment; later ones replace earlier ones.
    pub(crate) fn of_process<'a>(
        &'a self,
        hook: &'a Hook,
        occasion: &Occasion,
    ) -> impl Iterator<Item = (OsString, OsString)> + use<'a> {
        let inherited = self.variables.iter().cloned();
        let protocol = self.protocol(occasion).into_iter().map(|(name, value)| (name.into(), value));
        let own = hook.env.iter().map(|(name, value)| (name.into(), value.into()));
        inherited.chain(protocol).chain(own)
    }
}

/// The names of the protocol's variables.
const PROTOCOL: [&str; 5] =
    ["GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_SESSION_ID", "GEMINI_PLANS_DIR", "CLAUDE_PROJECT_DIR"];

/// Puts the protocol's variables into quotes where they stand outside of any, so that a path with spaces stays one word even
/// if the hook's author did not think of one. Their values come from the environment, so they cannot be mistaken for syntax.
pub(crate) fn quote_variables(command: &str) -> String {
    let mut quoted = String::with_capacity(command.len());
    let mut rest = command;
    let mut quote = None;
    while let Some(next) = rest.chars().next() {
        if quote.is_none()
            && let Some((name, length)) = variable(rest)
        {
            quoted.push_str(&reference(name));
            rest = &rest[length..];
            continue;
        }
        let mut length = next.len_utf8();
        match (next, quote) {
            ('\\', None | Some('"')) => length += rest[length..].chars().next().map_or(0, char::len_utf8),
            ('\'' | '"', None) => quote = Some(next),
            (mark, Some(open)) if mark == open => quote = None,
            _ => {}
        }
        quoted.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    quoted
}

/// The variable with which the text begins, as `$NAME` or `${NAME}`, and how long it is written.
fn variable(text: &str) -> Option<(&'static str, usize)> {
    let named = text.strip_prefix('$')?;
    PROTOCOL.into_iter().find_map(|name| {
        if let Some(braced) = named.strip_prefix('{') {
            return braced.strip_prefix(name)?.starts_with('}').then_some((name, name.len() + 3));
        }
        let after = named.strip_prefix(name)?;
        let is_longer = after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        (!is_longer).then_some((name, name.len() + 1))
    })
}

/// A variable as one word of the shell's language.
fn reference(name: &str) -> String {
    if cfg!(windows) { format!("\"%{name}%\"") } else { format!("\"${name}\"") }
}

/// Where a hook runs: the working folder, or the project's root if that is gone.
pub(crate) fn folder<'a>(occasion: &'a Occasion, environment: &'a HookEnvironment) -> &'a Path {
    if occasion.cwd.is_dir() { &occasion.cwd } else { &environment.project }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        assert_eq!(quote_variables(command), expected);
    }

    #[cfg(not(windows))]
    #[test]
    fn names_become_words() {
        check("$GEMINI_PROJECT_DIR/hook.sh", "\"$GEMINI_PROJECT_DIR\"/hook.sh");
        check("${CLAUDE_PROJECT_DIR}/x $GEMINI_CWD", "\"$CLAUDE_PROJECT_DIR\"/x \"$GEMINI_CWD\"");
        check("a$GEMINI_CWD", "a\"$GEMINI_CWD\"");
        check("\"a\"$GEMINI_CWD'b'$GEMINI_CWD", "\"a\"\"$GEMINI_CWD\"'b'\"$GEMINI_CWD\"");
    }

    #[test]
    fn what_is_quoted_or_another_name_stays() {
        for same in [
            "\"$GEMINI_PROJECT_DIR/hook.sh\"",
            "'$GEMINI_CWD'",
            "\\$GEMINI_CWD",
            "$GEMINI_CWD_X",
            "${GEMINI_CWD:-x}",
            "$HOME",
            "$",
            "\\",
            "\"\\\"$GEMINI_CWD\"",
            "é$",
        ] {
            check(same, same);
        }
    }
}
