//! Finds skills: where they may be, which of two of one name counts, and which are switched off.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::read::{SkillFile, read_skill};
use crate::{Manifest, ManifestError, SkillError, SkillName, parse_manifest};

/// The name of the file that makes a folder a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// The prefix of folders that are not yet, or no longer, a skill.
const OWN_PREFIX: &str = ".longhaul-";

/// Folders in which no skill is looked for.
pub(crate) const PASSED_OVER: [&str; 2] = ["node_modules", ".git"];

/// More folders than this are not looked into.
const MOST_FOLDERS: usize = 1_000;

/// The origin of a skill. Later ones take the place of earlier ones of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkillTier {
    /// It comes with Longhaul.
    Builtin,
    /// It comes with an extension.
    Extension,
    /// It is the user's.
    User,
    /// It is the user's, in the folder that other programs share.
    UserShared,
    /// It belongs to the workspace.
    Workspace,
    /// It belongs to the workspace, in the folder that other programs share.
    WorkspaceShared,
}

impl SkillTier {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Extension => "extension",
            Self::User => "user",
            Self::UserShared => "user_shared",
            Self::Workspace => "workspace",
            Self::WorkspaceShared => "workspace_shared",
        }
    }

    /// The origin as the end of a sentence.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Builtin => "built in",
            Self::Extension => "part of an extension",
            Self::User => "a user skill",
            Self::UserShared => "a shared user skill",
            Self::Workspace => "a workspace skill",
            Self::WorkspaceShared => "a shared workspace skill",
        }
    }

    /// True if the workspace decides what it says, so that it counts only where the workspace is trusted.
    pub fn needs_trust(self) -> bool {
        matches!(self, Self::Workspace | Self::WorkspaceShared)
    }
}

/// The skills that come with the program, each as a whole SKILL.md.
pub const BUILTIN: [&str; 1] = [include_str!("builtin/skill-creator.md")];

/// A folder of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFolder {
    /// The owner of the skills.
    pub tier: SkillTier,
    /// The folder, which need not exist.
    pub path: PathBuf,
}

/// The places to look for skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillPlaces {
    /// Whole SKILL.md files that come with the program.
    pub builtin: Vec<&'static str>,
    /// Folders of skills, in any order.
    pub folders: Vec<SkillFolder>,
    /// True if the skills of the workspace count.
    pub is_trusted: bool,
}

/// The skills to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSettings {
    /// True if there are skills at all.
    pub is_enabled: bool,
    /// The names of those that are switched off.
    pub disabled: Vec<String>,
}

impl Default for SkillSettings {
    fn default() -> Self {
        Self { is_enabled: true, disabled: Vec::new() }
    }
}

/// The place of a skill's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the program.
    Builtin(&'static str),
    /// In this SKILL.md.
    File(PathBuf),
}

/// A skill that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: SkillName,
    /// When to use it, on one line.
    pub description: String,
    /// The tier.
    pub tier: SkillTier,
    /// The place of its text.
    pub location: Location,
    /// True if it is offered to models.
    pub is_enabled: bool,
}

impl Skill {
    /// The folder of its scripts and references, if it has one.
    pub fn folder(&self) -> Option<&Path> {
        match &self.location {
            Location::Builtin(_) => None,
            Location::File(path) => path.parent(),
        }
    }

    /// Its SKILL.md, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        match &self.location {
            Location::Builtin(_) => None,
            Location::File(path) => Some(path),
        }
    }

    /// Reads its text, as it is now.
    ///
    /// # Errors
    /// [`SkillError`] where the file is gone or no skill any more.
    pub fn load(&self) -> Result<Manifest, SkillError> {
        match &self.location {
            Location::Builtin(text) => {
                parse_manifest(text).map_err(|cause| SkillError::NoSkill { path: "builtin".into(), cause })
            }
            Location::File(path) => match read_skill(path)? {
                SkillFile::Skill(manifest) => Ok(manifest),
                SkillFile::None { reason } => Err(SkillError::NothingThere { path: path.clone(), reason }),
                SkillFile::Broken(cause) => Err(SkillError::NoSkill { path: path.clone(), cause }),
            },
        }
    }
}

/// A file that should be a skill and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSkill {
    /// The file.
    pub path: PathBuf,
    /// The reason, in words.
    pub reason: String,
}

/// A skill that does not count because another has its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverriddenSkill {
    /// The one that does not count.
    pub skill: Skill,
    /// The tier of the one that does.
    pub by: SkillTier,
}

/// Skills, as they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills {
    /// Those that count, by name. Some of them may be switched off.
    pub found: Vec<Skill>,
    /// Those whose name another has.
    pub overridden: Vec<OverriddenSkill>,
    /// Files that are no skills although they should be.
    pub refused: Vec<RefusedSkill>,
    /// Folders whose skills do not count, as the workspace is not trusted.
    pub untrusted: Vec<PathBuf>,
    /// Notices, in words.
    pub notices: Vec<String>,
}

impl Skills {
    /// Those that are offered to models.
    pub fn enabled(&self) -> impl Iterator<Item = &Skill> {
        self.found.iter().filter(|skill| skill.is_enabled)
    }

    /// The skill of this name, whatever its capitals.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.found.iter().find(|skill| skill.name.is_meant_by(name))
    }
}

/// Finds every skill. What cannot be read is told and costs only itself.
pub fn load_skills(places: &SkillPlaces, settings: &SkillSettings) -> Skills {
    let mut skills = Skills::default();
    if !settings.is_enabled {
        return skills;
    }
    let mut counting: BTreeMap<String, Skill> = BTreeMap::new();
    for text in &places.builtin {
        let read = SkillFile::from_text(text);
        count(read, SkillTier::Builtin, Location::Builtin(text), settings, &mut counting, &mut skills);
    }
    let mut folders: Vec<&SkillFolder> = places.folders.iter().collect();
    folders.sort_by_key(|folder| folder.tier);
    let mut seen: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let Ok(real) = folder.path.canonicalize() else { continue };
        // In the user's own folder the workspace's skills are the user's.
        if seen.contains(&real) {
            continue;
        }
        seen.push(real);
        if folder.tier.needs_trust() && !places.is_trusted {
            skills.untrusted.push(folder.path.clone());
            continue;
        }
        for path in files_in(&folder.path, &mut skills.notices) {
            let read = read_skill(&path).unwrap_or_else(|error| SkillFile::None { reason: in_words(&error) });
            count(read, folder.tier, Location::File(path), settings, &mut counting, &mut skills);
        }
    }
    skills.found = counting.into_values().collect();
    skills
}

/// Lets a skill count in the place of one of the same name.
fn count(
    read: SkillFile,
    tier: SkillTier,
    location: Location,
    settings: &SkillSettings,
    counting: &mut BTreeMap<String, Skill>,
    skills: &mut Skills,
) {
    let path = match &location {
        Location::Builtin(_) => PathBuf::from("builtin"),
        Location::File(path) => path.clone(),
    };
    let manifest = match read {
        SkillFile::Skill(manifest) => manifest,
        SkillFile::None { reason } => return skills.refused.push(RefusedSkill { path, reason }),
        SkillFile::Broken(error) => {
            return skills.refused.push(RefusedSkill { path, reason: error.to_string() });
        }
    };
    let Manifest { name, description, .. } = manifest;
    let is_enabled = !settings.disabled.iter().any(|disabled| name.is_meant_by(disabled));
    let key = name.key();
    let skill = Skill { name, description, tier, location, is_enabled };
    let real = |skill: &Skill| skill.path().and_then(|path| path.canonicalize().ok());
    let is_link_to = |other: &Skill| real(other).is_some() && real(other) == path.canonicalize().ok();
    // Programs that share their skills by links show each of them twice.
    if let Some(skill) = counting.insert(key, skill).filter(|other| !is_link_to(other)) {
        skills.overridden.push(OverriddenSkill { skill, by: tier });
    }
}

/// The SKILL.md of a folder itself and of the folders in it, in order.
fn files_in(folder: &Path, notices: &mut Vec<String>) -> Vec<PathBuf> {
    let is_skill = |path: &PathBuf| path.symlink_metadata().is_ok();
    let mut files: Vec<PathBuf> = Some(folder.join(SKILL_FILE)).into_iter().filter(is_skill).collect();
    let Ok(entries) = fs::read_dir(folder) else {
        notices.push(format!("could not list the skills in {}", folder.display()));
        return files;
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| !is_passed_over(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    if folders.len() > MOST_FOLDERS {
        let (there, shown) = (folders.len(), folder.display());
        notices.push(format!("{shown} has {there} folders; only the first {MOST_FOLDERS} are searched"));
        folders.truncate(MOST_FOLDERS);
    }
    files.extend(folders.into_iter().map(|folder| folder.join(SKILL_FILE)).filter(is_skill));
    files
}

/// True if a folder of this name is no skill, whatever is in it: the copy that a killed process left behind is none.
pub(crate) fn is_passed_over(name: &str) -> bool {
    PASSED_OVER.contains(&name) || name.starts_with(OWN_PREFIX)
}

/// An error with its cause, on one line.
pub(crate) fn in_words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

impl SkillFile {
    fn from_text(text: &str) -> Self {
        let parsed: Result<Manifest, ManifestError> = parse_manifest(text);
        parsed.map_or_else(Self::Broken, Self::Skill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_program_is_as_good_as_what_is_learned() {
        for text in BUILTIN {
            let manifest = parse_manifest(text).unwrap();
            assert_eq!(crate::learned::check_learned(text), Ok(()), "{}", manifest.name);
            assert!(manifest.description.starts_with("Use when"), "{}", manifest.description);
        }
    }

    struct Fixture {
        root: tempfile::TempDir,
        places: SkillPlaces,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let folder = |tier: SkillTier| SkillFolder { tier, path: root.path().join(tier.name()) };
            let tiers = [
                SkillTier::WorkspaceShared,
                SkillTier::Workspace,
                SkillTier::UserShared,
                SkillTier::User,
                SkillTier::Extension,
            ];
            let builtin = vec!["---\nname: review\ndescription: builtin\n---\nLook."];
            let places = SkillPlaces { builtin, folders: tiers.map(folder).to_vec(), is_trusted: true };
            Self { root, places }
        }

        fn with(self, path: &str, text: &str) -> Self {
            let path = self.root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn skill(self, path: &str, name: &str) -> Self {
            let text = format!("---\nname: {name}\ndescription: from {path}\n---\nBody of {path}");
            self.with(&format!("{path}/SKILL.md"), &text)
        }

        #[track_caller]
        fn check(&self, settings: &SkillSettings, expected: &[&str]) -> Skills {
            let skills = load_skills(&self.places, settings);
            let told: Vec<String> = skills
                .found
                .iter()
                .map(|skill| {
                    let off = if skill.is_enabled { "" } else { " off" };
                    format!("{} {}{off}", skill.name, skill.tier.name())
                })
                .collect();
            assert_eq!(told, expected);
            skills
        }
    }

    #[test]
    fn later_tiers_take_the_place_of_earlier_ones() {
        let tiers = ["extension", "user", "user_shared", "workspace", "workspace_shared"];
        let mut desk = Fixture::new();
        desk.check(&SkillSettings::default(), &["review builtin"]);
        for (number, tier) in tiers.into_iter().enumerate() {
            desk = desk.skill(&format!("{tier}/any"), "Review");
            let skills = desk.check(&SkillSettings::default(), &[&format!("Review {tier}")]);
            assert_eq!(skills.overridden.len(), number + 1);
        }
    }

    #[test]
    fn one_level_is_looked_into() {
        let desk = Fixture::new()
            .skill("user", "root")
            .skill("user/a", "a")
            .skill("user/a/deep", "deep")
            .skill("user/node_modules/x", "x")
            .skill("user/node_modules", "y")
            .skill("user/.git", "z")
            .skill("user/.longhaul-abc", "staged")
            .with("user/b/skill.txt", "");
        desk.check(&SkillSettings::default(), &["a user", "review builtin", "root user"]);
    }

    #[test]
    fn an_untrusted_workspace_offers_nothing() {
        let mut desk =
            Fixture::new().skill("workspace/a", "a").skill("workspace_shared/b", "b").skill("user/c", "c");
        desk.places.is_trusted = false;
        let skills = desk.check(&SkillSettings::default(), &["c user", "review builtin"]);
        assert_eq!(skills.untrusted.len(), 2);
    }

    #[test]
    fn skills_can_be_switched_off() {
        let desk = Fixture::new().skill("user/a", "Alpha").skill("user/b", "beta");
        let off =
            SkillSettings { disabled: vec!["ALPHA ".into(), "nobody".into()], ..SkillSettings::default() };
        desk.check(&off, &["Alpha user off", "beta user", "review builtin"]);
        desk.check(&SkillSettings { is_enabled: false, ..SkillSettings::default() }, &[]);
    }

    #[test]
    fn what_is_no_skill_is_told() {
        let desk = Fixture::new()
            .with("user/a/SKILL.md", "# nothing")
            .with("user/b/SKILL.md", "---\nname: b\n---\n")
            .with("user/c/SKILL.md/file", "")
            .skill("user/d", "d");
        let skills = desk.check(&SkillSettings::default(), &["d user", "review builtin"]);
        let reasons: Vec<&str> = skills.refused.iter().map(|refused| refused.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "no front matter: the first line is not ---",
                "\"description\" is missing from the front matter",
                "not a regular file",
            ]
        );
    }

    #[test]
    fn a_folder_that_two_tiers_share_counts_once() {
        let mut desk = Fixture::new().skill("user/a", "a");
        desk.places.folders[1].path = desk.root.path().join("user/../user");
        desk.places.is_trusted = false;
        let skills = desk.check(&SkillSettings::default(), &["a user", "review builtin"]);
        assert!(skills.untrusted.is_empty() && skills.overridden.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn one_skill_in_two_folders_by_a_link_overrides_nothing() {
        let desk = Fixture::new().skill("workspace_shared/a", "a").skill("workspace/b", "b");
        let link = desk.root.path().join("workspace/a");
        std::os::unix::fs::symlink(desk.root.path().join("workspace_shared/a"), link).unwrap();
        let skills =
            desk.check(&SkillSettings::default(), &["a workspace_shared", "b workspace", "review builtin"]);
        assert!(skills.overridden.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_broken_ones_told() {
        let desk = Fixture::new().skill("elsewhere/a", "a").skill("user/b", "b");
        std::os::unix::fs::symlink(desk.root.path().join("elsewhere/a"), desk.root.path().join("user/a"))
            .unwrap();
        std::fs::create_dir(desk.root.path().join("user/c")).unwrap();
        std::os::unix::fs::symlink("nowhere", desk.root.path().join("user/c/SKILL.md")).unwrap();
        let skills = desk.check(&SkillSettings::default(), &["a user", "b user", "review builtin"]);
        assert_eq!(skills.refused.len(), 1);
    }
}
