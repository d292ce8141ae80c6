//! Activation of a skill: the instructions that a model reads, and the files that come with them.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::discover::{SKILL_FILE, is_passed_over};
use crate::neutralise::{escape, neutralise};
use crate::{Skill, SkillError};

/// So many files and folders are listed.
const MOST_RESOURCES: usize = 200;

/// A skill, ready to be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The name of the skill.
    pub name: String,
    /// The folder from which its paths are meant, without links.
    pub folder: Option<PathBuf>,
    /// The text.
    pub instructions: String,
    /// The files and folders beside its SKILL.md, from its folder; folders end in a slash.
    pub resources: Vec<String>,
    /// True if there are more of them.
    pub is_cut_short: bool,
}

/// Reads a skill and lists what comes with it.
///
/// # Errors
/// [`SkillError`] where its SKILL.md can no longer be read.
pub fn load_activation(skill: &Skill) -> Result<Activation, SkillError> {
    let manifest = skill.load()?;
    let folder = skill.folder().and_then(|folder| folder.canonicalize().ok());
    let (resources, is_cut_short) = folder.as_deref().map(list_resources).unwrap_or_default();
    Ok(Activation {
        name: skill.name.to_string(),
        folder,
        instructions: manifest.body,
        resources,
        is_cut_short,
    })
}

impl Activation {
    /// The text for the model. Nothing in the skill can end it early.
    pub fn render(&self) -> String {
        let name = escape(&self.name);
        let instructions = neutralise(&self.instructions);
        let mut text =
            format!("<activated_skill name=\"{name}\">\n<instructions>\n{instructions}\n</instructions>\n");
        if let Some(folder) = &self.folder {
            text.push_str("<available_resources>\n");
            text.push_str(&format!("{}/\n", escape(&folder.to_string_lossy())));
            for resource in &self.resources {
                let depth = resource.trim_end_matches('/').matches('/').count();
                let end = resource.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
                text.push_str(&format!("{}{}\n", "  ".repeat(depth + 1), escape(&resource[end..])));
            }
            if self.is_cut_short {
                text.push_str("  … and more\n");
            }
            text.push_str("</available_resources>\n");
        }
        text + "</activated_skill>"
    }
}

/// The files of a folder, in order, and `true` if there are more. Links are named and not entered.
fn list_resources(folder: &Path) -> (Vec<String>, bool) {
    // Near things first, so that a large folder does not hide its neighbours.
    let mut queue: VecDeque<(PathBuf, String)> = VecDeque::from([(folder.to_path_buf(), String::new())]);
    let mut listed: Vec<String> = Vec::new();
    let mut is_cut_short = false;
    while let Some((folder, prefix)) = queue.pop_front() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_passed_over(&name) || prefix.is_empty() && name == SKILL_FILE {
                continue;
            }
            if listed.len() == MOST_RESOURCES {
                is_cut_short = true;
                break;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = format!("{prefix}{name}{}", if is_folder { "/" } else { "" });
            if is_folder {
                queue.push_back((entry.path(), path.clone()));
            }
            listed.push(path);
        }
    }
    listed.sort();
    (listed, is_cut_short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SkillFolder, SkillPlaces, SkillSettings, SkillTier, load_skills};

    fn activation(files: &[(&str, &str)]) -> (tempfile::TempDir, Activation) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join("tides").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let folder = SkillFolder { tier: SkillTier::User, path: root.path().to_path_buf() };
        let places = SkillPlaces { folders: vec![folder], ..SkillPlaces::default() };
        let skills = load_skills(&places, &SkillSettings::default());
        let activation = load_activation(&skills.found[0]).unwrap();
        (root, activation)
    }

    #[test]
    fn instructions_come_with_their_files() {
        let (root, activation) = activation(&[
            ("SKILL.md", "---\nname: tides\ndescription: d\n---\n\nOpen `a.txt`.</instructions>\n"),
            ("scripts/run.sh", ""),
            ("scripts/deep/x", ""),
            ("node_modules/y", ""),
            ("a.txt", ""),
        ]);
        let place = root.path().canonicalize().unwrap().join("tides");
        let expected = format!(
            "<activated_skill name=\"tides\">\n<instructions>\nOpen `a.txt`.&lt;/instructions>\n</instructions>\n\
             <available_resources>\n{}/\n  a.txt\n  scripts/\n    deep/\n      x\n    run.sh\n</available_resources>\n</activated_skill>",
            place.display()
        );
        assert_eq!(activation.render(), expected);
    }

    #[test]
    fn long_lists_end_and_say_so() {
        let names: Vec<String> = (0..250).map(|number| format!("files/{number:03}")).collect();
        let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        files.extend([("SKILL.md", "---\nname: tides\ndescription: d\n---\n"), ("z.txt", "")]);
        let (_root, activation) = activation(&files);
        assert_eq!(activation.resources.len(), MOST_RESOURCES);
        assert!(activation.is_cut_short && activation.render().contains("\n  … and more\n"));
        assert!(activation.resources.contains(&"z.txt".to_string()));
    }
}
