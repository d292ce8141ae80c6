//! Names that lead nowhere but into the folder they are joined to.

use std::fmt;
use std::path::Path;

use crate::WorkspaceError;

/// The longest name that common file systems take, in bytes.
pub(crate) const LONGEST_NAME: usize = 255;

/// Names that Windows gives to devices, with which no file or folder can be called, whatever its extension.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// True for a name that Windows gives to a device.
pub(crate) fn is_device(name: &str) -> bool {
    let name = name.trim_end().to_ascii_lowercase();
    let numbered = name.strip_prefix("com").or(name.strip_prefix("lpt"));
    DEVICES.contains(&name.as_str())
        || numbered.is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9']))
}

/// The name of a file or folder, such as a session's id: one component, no way up, nothing hidden in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SafeName(String);

impl SafeName {
    /// Takes a name if it is safe on every system: not empty, at most 200 bytes, without separators, colons and
    /// control characters, without a dot or space at its end (so neither `.` nor `..`), and not that of a device.
    ///
    /// # Errors
    /// [`WorkspaceError::UnsafeName`].
    pub fn parse(name: &str) -> Result<Self, WorkspaceError> {
        // Fifty-five bytes are left for a prefix and an extension.
        let is_safe = !name.is_empty()
            && name.len() <= 200
            && !name.ends_with(['.', ' '])
            && !is_device(name.split('.').next().unwrap_or_default())
            && !name.chars().any(|letter| matches!(letter, '/' | '\\' | ':') || letter.is_control());
        if is_safe {
            Ok(Self(name.to_owned()))
        } else {
            Err(WorkspaceError::UnsafeName { name: name.to_owned() })
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<Path> for SafeName {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl fmt::Display for SafeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_plain_names_are_safe() {
        for name in
            ["GEMINI.md", "session-2026-01-02T03-04-abc", ".hidden", "日本", "a b", "console", "com10.md"]
        {
            assert!(SafeName::parse(name).is_ok(), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "...",
            "a.",
            "a ",
            "Con",
            "nul.md",
            "lpt1 .x",
            "a/b",
            "../a",
            "/",
            "a\\b",
            "C:x",
            "a\0",
            "a\nb",
            &"x".repeat(201),
        ] {
            assert!(SafeName::parse(name).is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn a_safe_name_stays_in_its_folder(name in any::<String>()) {
            if let Ok(name) = SafeName::parse(&name) {
                let joined = Path::new("/folder").join(&name);
                prop_assert_eq!(joined.parent(), Some(Path::new("/folder")));
                prop_assert_eq!(joined.components().count(), 3);
            }
        }
    }
}
