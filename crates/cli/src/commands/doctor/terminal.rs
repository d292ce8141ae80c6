//! Checks of the terminal.

use std::io::IsTerminal;

use super::Diagnosis;
use crate::output::Screen;

/// Narrower than this, tables and bars are cut.
const NARROW: u16 = 80;

/// Looks at the terminal, its size, colours and characters.
pub(super) fn examine(diagnosis: &mut Diagnosis, screen: &Screen) {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let term = set("TERM").unwrap_or_else(|| "not set".into());
    if std::io::stdout().is_terminal() {
        match terminal_size::terminal_size() {
            Some((width, height)) if width.0 < NARROW => {
                let what = format!("only {} columns and {} lines (TERM is {term})", width.0, height.0);
                diagnosis.note(what, format!("use at least {NARROW} columns for readable tables"));
            }
            Some((width, height)) => {
                diagnosis.ok(format!("{} columns and {} lines (TERM is {term})", width.0, height.0));
            }
            None => {
                diagnosis.ok(format!("unknown size, assuming 80 columns (TERM is {term})"));
            }
        }
    } else {
        diagnosis.ok(format!("output goes to a file or pipe: 80 columns (TERM is {term})"));
    }
    diagnosis.ok(match (screen.is_coloured(), set("NO_COLOR")) {
        (true, _) => "colours are on".to_string(),
        (false, Some(_)) => "colours are off: NO_COLOR is set".to_string(),
        (false, None) => "colours are off: not a terminal, or --color never".to_string(),
    });
    if cfg!(unix) {
        locale(diagnosis, ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| Some((*name, set(name)?))));
    }
}

/// Reports whether the locale is UTF-8; the first variable that is set decides.
fn locale(diagnosis: &mut Diagnosis, decider: Option<(&str, String)>) {
    const ADVICE: &str =
        "set LANG to a UTF-8 locale, such as C.UTF-8; otherwise bars and symbols may show as question marks";
    match decider {
        Some((name, value)) if is_utf8(&value) => diagnosis.ok(format!("UTF-8 ({name} is {value})")),
        Some((name, value)) => {
            diagnosis.note(format!("the locale is not UTF-8 ({name} is {value})"), ADVICE);
        }
        None => diagnosis.note("no locale is set", ADVICE),
    }
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::State;

    #[track_caller]
    fn check_locale(value: Option<&str>, expected: State) {
        let mut diagnosis = Diagnosis::default();
        locale(&mut diagnosis, value.map(|value| ("LANG", value.to_string())));
        assert_eq!(diagnosis.findings[0].state, expected, "{value:?}");
    }

    #[test]
    fn the_locale_decides_about_characters() {
        check_locale(Some("de_DE.UTF-8"), State::Ok);
        check_locale(Some("C.utf8"), State::Ok);
        check_locale(Some("C"), State::Note);
        check_locale(Some("en_US.ISO-8859-1"), State::Note);
        check_locale(None, State::Note);
    }
}
