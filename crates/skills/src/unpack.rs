//! Unpacks skills that come as an archive: a `.skill` or `.zip` file. Whatever it says, nothing is written outside the folder, no
//! link is made, and no more is unpacked than a skill can need.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use longhaul_workspace::create_private_folder;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};

use crate::SkillError;
use crate::install::{MOST_BYTES, MOST_FILES, make_private};

/// Names that lead deeper are not those of a skill.
const DEEPEST: usize = 16;

/// The longest name in an archive, in bytes.
const LONGEST_NAME: usize = 512;

/// The bits of a mode that say what kind of file it is, and their value for a regular one.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// True if a path is that of an archive which can be unpacked.
pub fn is_skill_archive(path: &Path) -> bool {
    let end = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    matches!(end.as_str(), "skill" | "zip") && path.is_file()
}

/// Unpacks an archive into a folder, which is empty. Whatever fails, what was unpacked so far is to be thrown away.
///
/// # Errors
/// [`SkillError`] where it is no archive, or holds something that must not be unpacked.
pub fn unpack_archive(archive: &Path, into: &Path) -> Result<(), SkillError> {
    let bytes = read_whole(archive)?;
    let refused = |reason: String| SkillError::Refused { path: archive.to_path_buf(), reason };
    let zip = ZipArchive::from_slice(&bytes[..])
        .map_err(|error| refused(format!("not a zip archive ({error})")))?;
    let mut entries = zip.entries();
    let (mut left, mut count, mut known) = (MOST_BYTES, 0, BTreeSet::new());
    loop {
        let entry = entries.next_entry().map_err(|error| refused(format!("it is damaged ({error})")))?;
        let Some(entry) = entry else { return Ok(()) };
        count += 1;
        if count > MOST_FILES {
            return Err(refused("it has more than 2,000 files".into()));
        }
        let name = entry.file_path();
        let name =
            std::str::from_utf8(name.as_bytes()).map_err(|_| refused("a name in it is not UTF-8".into()))?;
        let told = |reason: &str| refused(format!("{name:?} in it {reason}"));
        let path = inside(name).map_err(told)?;
        if is_left_out(&path) {
            continue;
        }
        if is_folder(&entry, name).map_err(told)? {
            create_private_folder(&into.join(&path))?;
            continue;
        }
        // Where letters count the same, large or small, one would replace the other.
        if !known.insert(path.to_string_lossy().to_lowercase()) {
            return Err(told("is there twice"));
        }
        let text = contents(&zip, &entry, left).map_err(|reason| told(&reason))?;
        left -= text.len() as u64;
        let is_executable = entry.mode().permissions() & 0o100 != 0;
        write(&into.join(&path), &text, is_executable)?;
    }
}

/// The bytes of an archive, which is no larger than a skill.
fn read_whole(archive: &Path) -> Result<Vec<u8>, SkillError> {
    let failed = || SkillError::files("read", archive);
    let mut bytes = Vec::new();
    let file = File::open(archive).map_err(failed())?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed())?;
    if bytes.len() as u64 > MOST_BYTES {
        let reason = "it is larger than 50 MiB".into();
        return Err(SkillError::Refused { path: archive.to_path_buf(), reason });
    }
    Ok(bytes)
}

/// A name as a path below the folder.
fn inside(name: &str) -> Result<PathBuf, &'static str> {
    let is_odd = |letter: char| letter.is_control() || matches!(letter, '\\' | ':');
    let parts: Vec<&str> = name.trim_end_matches('/').split('/').collect();
    if name.len() > LONGEST_NAME || parts.len() > DEEPEST {
        return Err("is too long or too deep");
    }
    if name.contains(is_odd) || parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return Err("is not a plain relative path");
    }
    Ok(parts.iter().collect())
}

/// What some systems add to every archive.
fn is_left_out(path: &Path) -> bool {
    path.starts_with("__MACOSX") || path.ends_with(".DS_Store")
}

/// True for a folder, false for a regular file.
fn is_folder(entry: &ZipFileHeaderRecord<'_>, name: &str) -> Result<bool, &'static str> {
    if name.ends_with('/') {
        return Ok(true);
    }
    let mode = entry.mode();
    if mode.is_symlink() {
        return Err("is a link");
    }
    match mode.value() & KIND {
        0 | REGULAR => Ok(false),
        _ => Err("is not a regular file"),
    }
}

/// The contents of a file, at most so many bytes.
fn contents(
    zip: &ZipSliceArchive<&[u8]>,
    entry: &ZipFileHeaderRecord<'_>,
    most: u64,
) -> Result<Vec<u8>, String> {
    let damaged = |error: &dyn std::fmt::Display| format!("is damaged ({error})");
    let too_large = || "makes it larger than 50 MiB".to_string();
    if entry.flags().is_encrypted() {
        return Err("is encrypted".into());
    }
    let packed = zip.get_entry(entry.wayfinder()).map_err(|error| damaged(&error))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let text = match entry.compression_method() {
        CompressionMethod::STORE if packed.data().len() > most => return Err(too_large()),
        CompressionMethod::STORE => packed.data().to_vec(),
        // What the archive says of a size is not relied on: unpacking itself stops there.
        CompressionMethod::DEFLATE => {
            decompress_to_vec_with_limit(packed.data(), most).map_err(|error| match error.status {
                miniz_oxide::inflate::TINFLStatus::HasMoreOutput => too_large(),
                status => damaged(&format!("{status:?}")),
            })?
        }
        _ => return Err("is compressed in a way other than deflate".into()),
    };
    if rawzip::crc32(&text) != entry.crc32() {
        return Err(damaged(&"its checksum is wrong"));
    }
    Ok(text)
}

fn write(path: &Path, text: &[u8], is_executable: bool) -> Result<(), SkillError> {
    let failed = || SkillError::files("write", path);
    create_private_folder(path.parent().unwrap_or(path))?;
    let mut file = File::create_new(path).map_err(failed())?;
    file.write_all(text).map_err(failed())?;
    make_private(&file, is_executable).map_err(failed())
}

/// The folder of a fetched repository or archive that holds the skills: the one that is named, or the whole; and where the whole
/// has none at its top, its folder `skills`.
///
/// # Errors
/// [`SkillError::NothingThere`] where the named folder is none of it.
pub fn find_skill_root(whole: &Path, named: Option<&str>) -> Result<PathBuf, SkillError> {
    let Some(named) = named else {
        let has_skill = |folder: &Path| folder.join(crate::discover::SKILL_FILE).symlink_metadata().is_ok();
        let folders = fs::read_dir(whole).into_iter().flatten().flatten().map(|entry| entry.path());
        let skills = whole.join("skills");
        let is_here = has_skill(whole) || folders.into_iter().any(|folder| has_skill(&folder));
        return Ok(if !is_here && skills.is_dir() { skills } else { whole.to_path_buf() });
    };
    let missing = |reason: &str| SkillError::NothingThere { path: named.into(), reason: reason.to_string() };
    let path = inside(named).map_err(|_| missing("not a plain relative path"))?;
    let folder = whole.join(path).canonicalize().map_err(|_| missing("no such folder in it"))?;
    let whole = whole.canonicalize().map_err(SkillError::files("read", whole))?;
    if !folder.starts_with(whole) {
        return Err(missing("it leads out of the repository or archive"));
    }
    Ok(folder)
}

#[cfg(test)]
mod tests;
