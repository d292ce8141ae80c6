//! The short name of a project: what its folders in the home are called.

use std::fmt::{self, Write as _};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::name::{LONGEST_NAME, is_device};

/// Longer names of folders are cut, which leaves room for a number and stays readable.
const LONGEST_SLUG: usize = 100;

/// The id of a project: lower-case letters `a` to `z`, digits and hyphens, so that it is a file name on every system and
/// never leads out of its folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectId(String);

impl ProjectId {
    /// Takes an id that somebody wrote, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_id = !text.is_empty()
            && text.len() <= LONGEST_NAME
            && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        is_id.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of a project while nothing can be saved: with a piece of the hash of its path, so that no other project has
    /// it although nobody can claim it.
    pub(super) fn provisional(project: &Path) -> Self {
        Self(format!("{}-{}", slug_of_folder(project), &project_hash(project)[..12]))
    }

    /// The ids that a project may have, the best one first: its folder's name, then that with numbers.
    pub(super) fn candidates(project: &Path) -> impl Iterator<Item = Self> {
        let slug = slug_of_folder(project);
        (0_u64..).map(move |number| match number {
            0 => Self(slug.clone()),
            _ => Self(format!("{slug}-{number}")),
        })
    }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn slug_of_folder(project: &Path) -> String {
    slug_of(&project.file_name().unwrap_or_default().to_string_lossy())
}

/// Lower-cased, with a hyphen for every run of other characters but none at the ends, and never empty.
fn slug_of(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.to_lowercase().chars() {
        match letter {
            'a'..='z' | '0'..='9' => slug.push(letter),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(LONGEST_SLUG);
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() {
        return "project".into();
    }
    if is_device(&slug) { format!("{slug}-project") } else { slug }
}

/// The hash of a project's path, which was its id once and still stands in its sessions: SHA-256 in hexadecimal.
pub fn project_hash(project: &Path) -> String {
    let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let id = ProjectId::candidates(Path::new(path)).next();
        assert_eq!(id.as_ref().map(ProjectId::as_str), Some(expected), "{path}");
    }

    #[test]
    fn a_slug_is_the_name_made_plain() {
        check("/home/user/my-app", "my-app");
        check("/home/user/My App", "my-app");
        check("/srv/__web.site__v2!", "web-site-v2");
        check("/srv/---", "project");
        check("/", "project");
        check("/srv/プロジェクト", "project");
        check("/srv/Größe", "gr-e");
        check("/srv/\u{212a}elvin", "kelvin");
    }

    #[test]
    fn names_of_devices_are_no_folders_on_windows() {
        check("/srv/CON", "con-project");
        check("/srv/lpt1", "lpt1-project");
        check("/srv/com", "com");
        check("/srv/com10", "com10");
    }

    #[test]
    fn long_names_are_cut() {
        check(&format!("/srv/{}", "x".repeat(255)), &"x".repeat(100));
        check(&format!("/srv/{}-y", "x".repeat(99)), &"x".repeat(99));
    }

    #[test]
    fn numbers_follow_the_name() {
        let ids: Vec<_> = ProjectId::candidates(Path::new("/srv/App")).take(3).map(|id| id.0).collect();
        assert_eq!(ids, ["app", "app-1", "app-2"]);
    }

    #[test]
    fn what_is_no_id_is_not_taken_for_one() {
        for text in ["a", "app-1", "-", "0"] {
            assert!(ProjectId::parse(text).is_some(), "{text}");
        }
        for text in ["", "..", "a/b", "A", "a b", "ä", "a\n", &"x".repeat(256)] {
            assert!(ProjectId::parse(text).is_none(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_candidate_is_an_id_and_differs_from_the_others(name in any::<String>()) {
            let path = Path::new("/srv").join(name.replace('/', "_"));
            let ids: Vec<_> = ProjectId::candidates(&path).take(12).collect();
            for id in &ids {
                prop_assert_eq!(ProjectId::parse(id.as_str()), Some(id.clone()));
                prop_assert!(!is_device(id.as_str()));
                prop_assert!(!id.as_str().starts_with('-') && !id.as_str().ends_with('-'));
            }
            let provisional = ProjectId::provisional(&path);
            prop_assert_eq!(ProjectId::parse(provisional.as_str()), Some(provisional.clone()));
            prop_assert!(!ids.contains(&provisional));
            prop_assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 12);
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_hash_is_that_of_the_path() {
        let expected = "ceb491d19d803cc724aa3d51ee8e27aeaeb9b2f6a99fe4114ce8cb77f98c72ec";
        assert_eq!(project_hash(Path::new("/home/user/app")), expected);
    }
}
