//! The command line and the environment of a hook.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::Hook;
use crate::event::HookContext;

/// The environment of hooks. The program reads the process environment, not this crate.
#[derive(Clone, Debug, Default)]
pub struct HookEnvironment {
    /// The variables that hooks inherit, see [`VariableRules`](crate::VariableRules).
    pub variables: Vec<(OsString, OsString)>,
    /// The root of the project.
    pub project: PathBuf,
    /// True if the project's own hooks may run.
    pub is_trusted: bool,
    /// The folder of plans.
    pub plans: Option<PathBuf>,
}

impl HookEnvironment {
    /// The variables of the hook protocol.
    fn protocol(&self, context: &HookContext) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![
            ("GEMINI_PROJECT_DIR", self.project.clone().into_os_string()),
            ("GEMINI_CWD", context.cwd.clone().into_os_string()),
            ("GEMINI_SESSION_ID", context.session_id.clone().into()),
            ("CLAUDE_PROJECT_DIR", self.project.clone().into_os_string()),
        ];
        variables.extend(self.plans.clone().map(|plans| ("GEMINI_PLANS_DIR", plans.into_os_string())));
        variables
    }

    /// All variables of a hook's process; later ones replace earlier ones.
    pub(crate) fn of_process<'a>(
        &'a self,
        hook: &'a Hook,
        context: &HookContext,
    ) -> impl Iterator<Item = (OsString, OsString)> + use<'a> {
        let inherited = self.variables.iter().cloned();
        let protocol = self.protocol(context).into_iter().map(|(name, value)| (name.into(), value));
        let own = hook.env.iter().map(|(name, value)| (name.into(), value.into()));
        inherited.chain(protocol).chain(own)
    }
}

/// The names of the protocol's variables.
const PROTOCOL: [&str; 5] =
    ["GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_SESSION_ID", "GEMINI_PLANS_DIR", "CLAUDE_PROJECT_DIR"];

/// Quotes the protocol's variables where they are unquoted, so that a path with spaces stays one word even in a
/// careless hook. Their values come from the environment, so they cannot be mistaken for syntax.
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

/// The variable at the start of the text, as `$NAME` or `${NAME}`, and its written length.
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

/// A quoted reference to a variable.
fn reference(name: &str) -> String {
    if cfg!(windows) { format!("\"%{name}%\"") } else { format!("\"${name}\"") }
}

/// The working folder of a hook, or the project's root if that is gone.
pub(crate) fn folder<'a>(context: &'a HookContext, environment: &'a HookEnvironment) -> &'a Path {
    if context.cwd.is_dir() { &context.cwd } else { &environment.project }
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
