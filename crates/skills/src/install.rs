//! Installs skills from folders: looked at first, then copied whole or not at all; and removes them again.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use longhaul_redact::{SecretKind, has_secret};
use longhaul_workspace::{StagedFolder, create_private_folder, remove_strays};

use crate::discover::{PASSED_OVER, SKILL_FILE, is_passed_over};
use crate::read::{SkillFile, read_skill};
use crate::{Manifest, Skill, SkillError, SkillName, SkillPlaces, SkillTier};

/// A skill has no more files than this.
pub(crate) const MOST_FILES: usize = 2_000;

/// And no more bytes.
pub(crate) const MOST_BYTES: u64 = 50 * 1024 * 1024;

/// Files up to this size are searched for secrets.
const SEARCHED_BYTES: u64 = 1024 * 1024;

/// The extensions of archives that are not unpacked.
const ARCHIVES: [&str; 6] = [".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z"];

/// The plan of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallPlan {
    /// The name of the skill.
    pub name: SkillName,
    /// When to use it.
    pub description: String,
    /// The folder that it comes from, without links.
    pub source: PathBuf,
    /// The target folder.
    pub target: PathBuf,
    /// Its files.
    pub files: Vec<PlannedFile>,
    /// The possible secrets in them.
    pub secrets: Vec<SecretInSkill>,
}

/// A file that would be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its path from the folder of the skill.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// True if it can be run.
    pub is_executable: bool,
}

/// A file that seems to hold a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretInSkill {
    /// Its path from the folder of the skill.
    pub path: PathBuf,
    /// The kind of secret.
    pub kind: SecretKind,
}

/// A link that would be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    /// The name of the skill.
    pub name: SkillName,
    /// When to use it.
    pub description: String,
    /// The folder that the link leads to, without links.
    pub source: PathBuf,
    /// The place of the link.
    pub target: PathBuf,
}

/// Looks at a folder that is a skill, or holds some, and says what would be copied into `skills`. Nothing is changed. Of
/// several, those that are there already, file by file, are left out: a second try ends what a killed process began.
///
/// # Errors
/// [`SkillError`] where there is no skill, where a file must not be copied, or where the name is taken.
pub fn plan_install(source: &Path, skills: &Path) -> Result<Vec<InstallPlan>, SkillError> {
    let mut plans: Vec<InstallPlan> = Vec::new();
    let found = find_skills(source)?;
    let is_there = |(folder, manifest): &(PathBuf, Manifest)| {
        let target = skills.join(manifest.name.as_str());
        target.is_dir() && is_same(folder, &target).unwrap_or(false)
    };
    let missing = found.iter().any(|skill| !is_there(skill));
    for (folder, manifest) in found.into_iter().filter(|skill| !(missing && is_there(skill))) {
        let target = free_target(&manifest.name, skills)?;
        if let Some(twin) = plans.iter().find(|plan| plan.target == target) {
            return Err(SkillError::Exists { name: manifest.name.to_string(), path: twin.source.clone() });
        }
        let files = list_files(&folder)?;
        let secrets = find_secrets_in(&folder, &files);
        let Manifest { name, description, .. } = manifest;
        plans.push(InstallPlan { name, description, source: folder, target, files, secrets });
    }
    Ok(plans)
}

/// Copies a skill: into a folder beside its place, which then gets its name. Whatever fails, nothing half-done is left.
///
/// # Errors
/// [`SkillError`] where a file changed meanwhile so that it must not be copied, where the name was taken meanwhile, or where
/// something could not be written.
pub fn run_install(plan: &InstallPlan) -> Result<(), SkillError> {
    copy_files(&plan.source, &plan.files, &plan.target)
}

/// Copies these files of a folder to a place that is free.
pub(crate) fn copy_files(source: &Path, files: &[PlannedFile], target: &Path) -> Result<(), SkillError> {
    let beside = target.parent().unwrap_or(Path::new("."));
    create_private_folder(beside)?;
    remove_strays(beside);
    let staged = StagedFolder::create(beside).map_err(SkillError::files("write to", beside))?;
    for file in files {
        copy_file(source, file, staged.path())?;
    }
    if target.symlink_metadata().is_ok() {
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(SkillError::Exists { name, path: target.to_path_buf() });
    }
    staged.rename_to(target).map_err(SkillError::files("write", target))
}

/// True if two folders hold the same files.
pub(crate) fn is_same(one: &Path, other: &Path) -> Result<bool, SkillError> {
    let real = |path: &Path| path.canonicalize().map_err(SkillError::files("read", path));
    let (one, other) = (real(one)?, real(other)?);
    let (files, others) = (list_files(&one)?, list_files(&other)?);
    let same = |path: &Path| {
        fs::read(one.join(path)).ok().is_some_and(|bytes| fs::read(other.join(path)).ok() == Some(bytes))
    };
    Ok(files.len() == others.len()
        && files.iter().zip(&others).all(|(file, twin)| file.path == twin.path && same(&file.path)))
}

/// Looks at a folder that is a skill, to which a link in `skills` would lead. Nothing is changed.
///
/// # Errors
/// [`SkillError`] where there is not exactly one skill, or where the name is taken.
pub fn plan_link(source: &Path, skills: &Path) -> Result<LinkPlan, SkillError> {
    let mut found = find_skills(source)?;
    let (folder, manifest) = match (found.pop(), found.is_empty()) {
        (Some(only), true) => only,
        _ => {
            let reason = "it contains several skills; link one of its folders".into();
            return Err(SkillError::NothingThere { path: source.to_path_buf(), reason });
        }
    };
    let target = free_target(&manifest.name, skills)?;
    Ok(LinkPlan { name: manifest.name, description: manifest.description, source: folder, target })
}

/// Makes the link.
///
/// # Errors
/// [`SkillError::Files`] where it cannot be made, also because the name was taken meanwhile.
pub fn run_link(plan: &LinkPlan) -> Result<(), SkillError> {
    create_private_folder(plan.target.parent().unwrap_or(Path::new(".")))?;
    make_link(&plan.source, &plan.target).map_err(SkillError::files("link", &plan.target))
}

#[cfg(unix)]
fn make_link(source: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(source, target)
}

#[cfg(windows)]
fn make_link(source: &Path, target: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(source, target)
}

/// Removes a skill: its folder, or only the link to it. Returns what is gone.
///
/// # Errors
/// [`SkillError::NotOurs`] where it comes with the program or an extension, [`SkillError::Refused`] where its SKILL.md lies
/// among other skills, else what prevents it.
pub fn run_uninstall(skill: &Skill, places: &SkillPlaces) -> Result<PathBuf, SkillError> {
    let not_ours = || SkillError::NotOurs { name: skill.name.clone(), tier: skill.tier.describe() };
    if matches!(skill.tier, SkillTier::Builtin | SkillTier::Extension) {
        return Err(not_ours());
    }
    let folder = skill.folder().ok_or_else(not_ours)?;
    if places.folders.iter().any(|place| place.path == folder) {
        let path = skill.path().unwrap_or(folder).to_path_buf();
        let reason = "it is in a folder with other skills; delete the file yourself".into();
        return Err(SkillError::Refused { path, reason });
    }
    let failed = || SkillError::files("remove", folder);
    let is_link = folder.symlink_metadata().map_err(failed())?.file_type().is_symlink();
    if is_link {
        fs::remove_file(folder).map_err(failed())?;
        return Ok(folder.to_path_buf());
    }
    // Under another name first: a skill is there with all its files or not at all.
    let beside = folder.parent().unwrap_or(Path::new("."));
    remove_strays(beside);
    let staged = StagedFolder::create(beside).map_err(failed())?;
    fs::rename(folder, staged.path().join("skill")).map_err(failed())?;
    staged.remove().map_err(failed())?;
    Ok(folder.to_path_buf())
}

/// The skill that a path is, or those in the folders that it holds; the path may also be that of a SKILL.md.
fn find_skills(source: &Path) -> Result<Vec<(PathBuf, Manifest)>, SkillError> {
    let nothing =
        |reason: &str| SkillError::NothingThere { path: source.to_path_buf(), reason: reason.to_string() };
    let name = source.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let found = fs::metadata(source).map_err(SkillError::files("find", source))?;
    let folder = match found.is_dir() {
        true => source,
        false if source.ends_with(SKILL_FILE) => {
            source.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
        }
        false if ARCHIVES.iter().any(|end| name.ends_with(end)) => {
            return Err(nothing("only .skill and .zip archives are unpacked; unpack it first"));
        }
        false => return Err(nothing("not a folder with a SKILL.md")),
    };
    let folder = folder.canonicalize().map_err(SkillError::files("find", source))?;
    let own = folder.join(SKILL_FILE);
    if own.symlink_metadata().is_ok() {
        let manifest = load(&own)?;
        return Ok(vec![(folder, manifest)]);
    }
    let entries = fs::read_dir(&folder).map_err(SkillError::files("list", &folder))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_ours = |path: &Path| path.file_name().is_some_and(|name| is_passed_over(&name.to_string_lossy()));
    folders.retain(|path| !is_ours(path) && path.join(SKILL_FILE).symlink_metadata().is_ok());
    folders.sort();
    if folders.is_empty() {
        return Err(nothing("no SKILL.md in it or in its subfolders"));
    }
    let canonical = |path: PathBuf| path.canonicalize().map_err(SkillError::files("find", &path));
    folders
        .into_iter()
        .map(|path| {
            let path = canonical(path)?;
            let manifest = load(&path.join(SKILL_FILE))?;
            Ok((path, manifest))
        })
        .collect()
}

fn load(path: &Path) -> Result<Manifest, SkillError> {
    match read_skill(path)? {
        SkillFile::Skill(manifest) => Ok(manifest),
        SkillFile::Broken(cause) => Err(SkillError::NoSkill { path: path.to_path_buf(), cause }),
        SkillFile::None { reason } => Err(SkillError::NothingThere { path: path.to_path_buf(), reason }),
    }
}

/// The place of a skill of this name, which nothing has taken: neither the folder, nor a skill of the same name in another.
pub(crate) fn free_target(name: &SkillName, skills: &Path) -> Result<PathBuf, SkillError> {
    let target = skills.join(name.as_str());
    let exists = |path: PathBuf| SkillError::Exists { name: name.to_string(), path };
    if target.symlink_metadata().is_ok() {
        return Err(exists(target));
    }
    let entries = fs::read_dir(skills).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| !is_passed_over(&entry.file_name().to_string_lossy()));
    let mut files =
        std::iter::once(skills.join(SKILL_FILE)).chain(entries.map(|entry| entry.path().join(SKILL_FILE)));
    let is_twin = |path: &PathBuf| matches!(read_skill(path), Ok(SkillFile::Skill(manifest)) if manifest.name.is_meant_by(name.as_str()));
    files.find(is_twin).map_or(Ok(target), |path| Err(exists(path)))
}

/// Every file of a skill. Links that lead out, pipes and devices are refused; so is more than a skill can need.
pub(crate) fn list_files(folder: &Path) -> Result<Vec<PlannedFile>, SkillError> {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::new()];
    let mut total = 0;
    while let Some(inside) = open.pop() {
        let here = folder.join(&inside);
        for entry in fs::read_dir(&here).map_err(SkillError::files("list", &here))? {
            let entry = entry.map_err(SkillError::files("list", &here))?;
            let path = inside.join(entry.file_name());
            if PASSED_OVER.iter().any(|passed| entry.file_name() == *passed) {
                continue;
            }
            if entry.file_type().map_err(SkillError::files("read", entry.path()))?.is_dir() {
                open.push(path);
            } else {
                let file = look_at(folder, path)?;
                total += file.bytes;
                files.push(file);
            }
            let refused =
                |reason: &str| SkillError::Refused { path: folder.into(), reason: reason.to_string() };
            if files.len() + open.len() > MOST_FILES {
                return Err(refused("it has more than 2,000 files"));
            }
            if total > MOST_BYTES {
                return Err(refused("it is larger than 50 MiB"));
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// A file that may be copied: a regular one, or a link to one that is in the folder, too.
fn look_at(folder: &Path, path: PathBuf) -> Result<PlannedFile, SkillError> {
    let whole = folder.join(&path);
    let refused = |reason: &str| SkillError::Refused { path: whole.clone(), reason: reason.to_string() };
    let real = whole.canonicalize().map_err(|_| refused("broken link"))?;
    if !real.starts_with(folder) {
        return Err(refused("link to a file outside the skill"));
    }
    let found = fs::metadata(&real).map_err(SkillError::files("read", &whole))?;
    if found.is_dir() {
        return Err(refused("link to a folder; only files are copied"));
    }
    if !found.is_file() {
        return Err(refused("not a regular file"));
    }
    Ok(PlannedFile { path, bytes: found.len(), is_executable: is_executable(&found) })
}

fn copy_file(source: &Path, file: &PlannedFile, into: &Path) -> Result<(), SkillError> {
    // What was looked at may have become something else.
    let is_inside = file.path.components().all(|part| matches!(part, Component::Normal(_)));
    let now = look_at(source, file.path.clone())?;
    if !is_inside || now.bytes > MOST_BYTES {
        let reason = "it changed during the installation".into();
        return Err(SkillError::Refused { path: source.join(&file.path), reason });
    }
    let target = into.join(&file.path);
    let failed = || SkillError::files("write", &target);
    create_private_folder(target.parent().unwrap_or(into))?;
    let mut from =
        File::open(source.join(&file.path)).map_err(SkillError::files("read", source.join(&file.path)))?;
    let mut to = File::create_new(&target).map_err(failed())?;
    io::copy(&mut from, &mut to).map_err(failed())?;
    make_private(&to, file.is_executable).map_err(failed())?;
    to.sync_all().map_err(failed())
}

#[cfg(unix)]
fn is_executable(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_found: &fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
pub(crate) fn make_private(file: &File, is_executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(if is_executable { 0o700 } else { 0o600 }))
}

#[cfg(not(unix))]
pub(crate) fn make_private(_file: &File, _is_executable: bool) -> io::Result<()> {
    Ok(())
}

pub(crate) fn find_secrets_in(folder: &Path, files: &[PlannedFile]) -> Vec<SecretInSkill> {
    let searched = files.iter().filter(|file| file.bytes <= SEARCHED_BYTES);
    searched
        .filter_map(|file| {
            let text = fs::read_to_string(folder.join(&file.path)).ok()?;
            Some(SecretInSkill { path: file.path.clone(), kind: has_secret(&text)? })
        })
        .collect()
}

#[cfg(test)]
mod tests;
