//! Looks up a key in the table, or the one that was probably meant.

use super::keys::{SettingKey, table};
use super::unread::{OPEN, RENAMED, Treatment, unread_keys};

/// The path step that matches any name.
const ANY: &str = "*";

/// The longest name worth correcting; measuring longer ones would take long.
const LONGEST_NAME: usize = 60;

/// The result of looking a key up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    /// It is in the table.
    SettingKey(&'static SettingKey),
    /// It is a section with known keys.
    Section,
    /// It is known, and may hold anything.
    Unread(Treatment),
    /// It is in a section that may hold anything.
    InOpenSection(Treatment),
    /// It is unknown.
    No,
}

/// Looks up the key that these steps lead to.
pub(super) fn look_up(steps: &[&str]) -> Known {
    let names = |path: &str| path.split('.').count() == steps.len() && begins_with(path, steps);
    if let Some(key) = table().find(|key| names(key.path)) {
        return Known::SettingKey(key);
    }
    if paths().any(|path| leads_beyond(path, steps)) {
        return Known::Section;
    }
    // Marks such as `$schema` are for editors.
    let is_mark = matches!(steps, [only] if only.starts_with('$'));
    if is_mark {
        return Known::Unread(Treatment::NoEffect);
    }
    if let Some(unread) = unread_keys().find(|unread| names(unread.path)) {
        return Known::Unread(unread.treatment);
    }
    let open = OPEN.iter().find(|open| steps.first() == Some(&open.path));
    open.map_or(Known::No, |open| Known::InOpenSection(open.treatment))
}

/// The first key of the table below a section, with the rest of its path.
pub(super) fn first_below(section: &[&str]) -> Option<(&'static SettingKey, Vec<&'static str>)> {
    let key = table().find(|key| leads_beyond(key.path, section))?;
    let name = |step| if step == ANY { "name" } else { step };
    Some((key, key.path.split('.').skip(section.len()).map(name).collect()))
}

/// The known key that was probably meant: its new name, a sibling spelt almost alike, or one of the same name elsewhere.
pub(super) fn nearest(section: &[&str], name: &str) -> Option<String> {
    let renamed = RENAMED.iter().find(|(old, _)| section.is_empty() && *old == name);
    let renamed = renamed.map(|(_, new)| (*new).to_string());
    renamed.or_else(|| near_sibling(section, name)).or_else(|| same_name_elsewhere(section, name))
}

/// The known key of the same section that is spelt almost like this one.
pub(super) fn near_sibling(section: &[&str], name: &str) -> Option<String> {
    let length = name.chars().count();
    if length > LONGEST_NAME {
        return None;
    }
    let most = (length / 3).clamp(1, 3);
    let name = name.to_lowercase();
    let siblings = paths().filter(|path| section.is_empty() || leads_beyond(path, section));
    let siblings = siblings.filter_map(|path| path.split('.').nth(section.len()));
    let distances = siblings.map(|sibling| (strsim::osa_distance(&name, &sibling.to_lowercase()), sibling));
    let (distance, best) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= most).then(|| [section, &[best]].concat().join("."))
}

/// The key or section of this name elsewhere: anywhere if it was found at the top of the file, else in the same first
/// section. Of several, the only one that shares most of the sections.
fn same_name_elsewhere(section: &[&str], name: &str) -> Option<String> {
    let places = paths().filter_map(|path| {
        let mut steps: Vec<&str> = path.split('.').collect();
        let at = steps.iter().position(|step| *step == name)?;
        let shared =
            steps.iter().zip(section).take_while(|(step, part)| **step == ANY || step == part).count();
        steps.truncate(at + 1);
        (section.is_empty() || shared > 0).then(|| (shared, steps.join(".")))
    });
    let mut places: Vec<(usize, String)> = places.collect();
    let most = places.iter().map(|(shared, _)| *shared).max()?;
    places.retain(|(shared, _)| *shared == most);
    places.dedup();
    places.pop().filter(|_| places.is_empty()).map(|(_, path)| path)
}

/// Returns true if the path continues beyond these steps.
fn leads_beyond(path: &str, steps: &[&str]) -> bool {
    path.split('.').count() > steps.len() && begins_with(path, steps)
}

/// Returns true if the path begins with these steps.
fn begins_with(path: &str, steps: &[&str]) -> bool {
    let mut parts = path.split('.');
    steps.iter().all(|step| parts.next().is_some_and(|part| part == ANY || part == *step))
}

/// Every known path.
fn paths() -> impl Iterator<Item = &'static str> {
    table().map(|key| key.path).chain(unread_keys().map(|unread| unread.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_known(path: &str, is_expected: impl Fn(Known) -> bool) {
        let known = look_up(&path.split('.').collect::<Vec<_>>());
        assert!(is_expected(known), "{path}: {known:?}");
    }

    #[test]
    fn keys_and_sections_are_known() {
        for path in
            ["longhaul.compaction.keep", "longhaul.windows", "model.name", "security.folderTrust.enabled"]
        {
            check_known(path, |known| matches!(known, Known::SettingKey(key) if key.path == path));
        }
        for path in
            ["longhaul", "longhaul.compaction", "general.sessionRetention", "security", "experimental"]
        {
            check_known(path, |known| matches!(known, Known::Section));
        }
        for (path, known) in [
            ("longhaul.providers.ollama.endpoint", "longhaul.providers.*.endpoint"),
            ("longhaul.providers.x.models.m-1.prices.input", "longhaul.providers.*.models.*.prices.input"),
        ] {
            check_known(path, |found| matches!(found, Known::SettingKey(key) if key.path == known));
        }
        for path in ["longhaul.providers", "longhaul.providers.ollama", "longhaul.providers.x.models.m"] {
            check_known(path, |known| matches!(known, Known::Section));
        }
        check_known("longhaul.providers.ollama.key", |known| matches!(known, Known::No));
        for path in ["privacy", "modelConfigs", "$schema", "tools.sandbox"] {
            check_known(path, |known| matches!(known, Known::Unread(_)));
        }
        for path in ["security.unheardOf", "experimental.plan", "ui.hideTips"] {
            check_known(path, |known| matches!(known, Known::InOpenSection(_)));
        }
        for path in ["longhaul.windows.gemini", "compaction", "keep", "tools.$schema", "longhaul.ui", ""] {
            check_known(path, |known| matches!(known, Known::No));
        }
        // A dot in a key is no step.
        assert!(matches!(look_up(&["longhaul.compaction"]), Known::No));
    }

    #[track_caller]
    fn check_nearest(path: &str, expected: Option<&str>) {
        let steps: Vec<&str> = path.split('.').collect();
        let (name, section) = steps.split_last().unwrap();
        assert_eq!(nearest(section, name).as_deref(), expected, "{path}");
    }

    #[test]
    fn slips_find_the_key_that_was_meant() {
        check_nearest("longhaul.compaction.treshold", Some("longhaul.compaction.threshold"));
        check_nearest("longhaul.compaction.Threshold", Some("longhaul.compaction.threshold"));
        check_nearest("longhaul.compactoin", Some("longhaul.compaction"));
        check_nearest("longhaul.window", Some("longhaul.windows"));
        check_nearest("longhual", Some("longhaul"));
        check_nearest("context.filename", Some("context.fileName"));
        check_nearest("mcpServer", Some("mcpServers"));
        check_nearest("tools.sandbx", Some("tools.sandbox"));
        check_nearest("longhaul.providers.x.endpont", Some("longhaul.providers.x.endpoint"));
        check_nearest("longhaul.providers.x.window", Some("longhaul.providers.*.models.*.window"));
    }

    #[test]
    fn misplaced_and_renamed_keys_are_found() {
        check_nearest("longhaul.threshold", Some("longhaul.compaction.threshold"));
        check_nearest("longhaul.keep", Some("longhaul.compaction.keep"));
        check_nearest("compaction", Some("longhaul.compaction"));
        check_nearest("sessionRetention", Some("general.sessionRetention"));
        check_nearest("contextFileName", Some("context.fileName"));
    }

    #[test]
    fn what_resembles_nothing_finds_nothing() {
        check_nearest("zebra", None);
        check_nearest("longhaul.compaction.enabled", None);
        check_nearest("enabled", None);
        check_nearest("", None);
        check_nearest("longhaul.ö", None);
    }
}
