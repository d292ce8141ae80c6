//! The table of supported keys: Longhaul's own, and those of Gemini CLI. Its data is the file `keys.txt`.

use std::sync::LazyLock;

use super::kind::ValueKind;

/// A key that may stand in a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SettingKey {
    /// The key, with dots between its parts.
    pub(super) path: &'static str,
    /// The kind of value it takes.
    pub(super) kind: ValueKind,
    /// The default, in words.
    pub(super) default: &'static str,
    /// Its meaning, in one sentence.
    pub(super) about: &'static str,
}

/// Every key of the table: Longhaul's own, then those of Gemini CLI.
pub(super) fn table() -> impl Iterator<Item = &'static SettingKey> {
    static KEYS: LazyLock<Vec<SettingKey>> = LazyLock::new(|| parse(include_str!("keys.txt")));
    KEYS.iter()
}

fn parse(text: &'static str) -> Vec<SettingKey> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| parse_line(line).unwrap_or_else(|| panic!("keys.txt has a wrong line: {line}")))
        .collect()
}

fn parse_line(line: &'static str) -> Option<SettingKey> {
    let [path, kind, default, about] = line.split(" | ").collect::<Vec<_>>().try_into().ok()?;
    Some(SettingKey { path, kind: ValueKind::parse(kind)?, default, about })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::unread::{OPEN, REFUSED, RENAMED, Treatment, UNREAD};

    /// The keys of Longhaul, and those of Gemini CLI.
    fn tables() -> [Vec<&'static SettingKey>; 2] {
        let (ours, gemini) = table().partition(|key| key.path.starts_with("longhaul."));
        [ours, gemini]
    }

    /// The keys as a table of Markdown.
    fn markdown(keys: &[&SettingKey]) -> String {
        let mut text = String::from("| Key | Value | Default | Meaning |\n| --- | --- | --- | --- |\n");
        for SettingKey { path, kind, default, about } in keys {
            text.push_str(&format!("| `{path}` | {} | {default} | {about} |\n", kind.words()));
        }
        text
    }

    #[test]
    fn the_docs_list_exactly_the_table() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
        let docs = std::fs::read_to_string(docs).unwrap().replace("\r\n", "\n");
        for keys in tables() {
            let table = markdown(&keys);
            assert!(docs.contains(&table), "docs/settings.md must contain this table:\n\n{table}");
        }
        let refused: String = REFUSED
            .iter()
            .map(|key| match key.treatment {
                Treatment::Refused { asks_for, .. } => format!("| `{}` | {asks_for} |\n", key.path),
                Treatment::NoEffect | Treatment::Unsupported | Treatment::UnsupportedIf(_) => {
                    panic!("{}", key.path)
                }
            })
            .collect();
        assert!(docs.contains(&refused), "docs/settings.md must contain these rows:\n\n{refused}");
        let rows = docs.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, table().count() + REFUSED.len(), "docs/settings.md has rows that the table has not");
        let listed = |treatment: fn(&Treatment) -> bool| {
            let keys = UNREAD.iter().chain(OPEN).filter(|key| treatment(&key.treatment));
            keys.map(|key| format!("`{}`", key.path)).collect::<Vec<_>>().join(", ")
        };
        for list in [
            listed(|treatment| matches!(treatment, Treatment::Unsupported)),
            listed(|treatment| matches!(treatment, Treatment::UnsupportedIf(_))),
            listed(|treatment| matches!(treatment, Treatment::NoEffect)),
        ] {
            assert!(docs.contains(&list), "docs/settings.md must contain this list:\n\n{list}");
        }
    }

    #[test]
    fn every_key_is_listed_once() {
        let unread = REFUSED.iter().chain(UNREAD).map(|key| key.path);
        let mut paths: Vec<&str> = table().map(|key| key.path).chain(unread).collect();
        paths.sort_unstable();
        // A key above another one would hide it.
        for pair in paths.windows(2) {
            assert!(pair[0] != pair[1] && !pair[1].starts_with(&format!("{}.", pair[0])), "{pair:?}");
        }
        assert!(RENAMED.iter().all(|(_, new)| paths.iter().any(|path| path.starts_with(new))));
    }
}
