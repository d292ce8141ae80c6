//! Reads files of skills, none of which may be endless, a pipe, or anything but text.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::{Manifest, ManifestError, SkillError, parse_manifest};

/// A SKILL.md may be so long.
const LONGEST: u64 = 1024 * 1024;

/// The result of reading a SKILL.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SkillFile {
    /// A skill.
    Skill(Manifest),
    /// A text that is no skill.
    Broken(ManifestError),
    /// No text, told as the end of a sentence.
    None {
        /// The reason.
        reason: String,
    },
}

/// Reads a SKILL.md.
pub(crate) fn read_skill(path: &Path) -> Result<SkillFile, SkillError> {
    Ok(match read_text(path)? {
        Ok(text) => parse_manifest(&text).map_or_else(SkillFile::Broken, SkillFile::Skill),
        Err(reason) => SkillFile::None { reason },
    })
}

/// Reads a text; or says why it is none.
pub(crate) fn read_text(path: &Path) -> Result<Result<String, String>, SkillError> {
    // What is no regular file is not opened: a pipe would wait for somebody to write to it.
    let found = fs::metadata(path).map_err(SkillError::files("read", path))?;
    if !found.is_file() {
        return Ok(Err("not a regular file".into()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(SkillError::files("read", path))?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(SkillError::files("read", path))?;
    if bytes.len() as u64 > LONGEST {
        return Ok(Err("larger than 1 MiB".into()));
    }
    Ok(String::from_utf8(bytes).map_err(|_| "not UTF-8 text".into()))
}
