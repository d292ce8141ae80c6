//! The system prompt as the environment sets it: partly disabled, replaced, or written to a file.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_agent::{PromptOptions, PromptSection, render_prompt};
use longhaul_workspace::WorkspaceFolder;

use crate::failure::hinted;
use crate::variables::VariableSource;

const READ: &str = "GEMINI_SYSTEM_MD";
const WRITE: &str = "GEMINI_WRITE_SYSTEM_MD";

/// The system prompt with these options and the environment's changes, and a notice for the user. In an untrusted folder,
/// only a file with an absolute path or below the user's folder is used; where a project names one, only a file of the folder.
pub(crate) fn system_prompt(
    find: impl Fn(&str) -> Option<(String, VariableSource)>,
    user_home: Option<&Path>,
    is_trusted: bool,
    options: PromptOptions,
) -> anyhow::Result<(String, Option<String>)> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let variable = |name: &str| find(name).map(|(value, _)| value);
    let file = |name: &str| switched(&variable(name).unwrap_or_default(), &cwd, user_home);
    let stated = variable(READ).unwrap_or_default();
    let is_folders = !(stated.trim().starts_with('~') || Path::new(stated.trim()).is_absolute());
    let is_projects = matches!(find(READ), Some((_, VariableSource::ProjectFile(_))));
    let leads_out =
        !is_folders || Path::new(stated.trim()).components().any(|part| part == Component::ParentDir);
    let named = file(READ);
    let refused = named.as_ref().and_then(|file| {
        let reason = match () {
            () if is_folders && !is_trusted => "its folder is not trusted",
            () if is_projects && leads_out => "a project can only name a file of its own folder",
            () => return None,
        };
        Some(format!("{READ} is set, but {} is ignored: {reason}", file.display()))
    });
    let replacement = named.filter(|_| refused.is_none()).map(|file| read(&file)).transpose()?;
    let is_hidden = |section: &PromptSection| {
        let switch = variable(&format!("GEMINI_PROMPT_{}", section.as_str())).unwrap_or_default();
        is_off(switch.trim())
    };
    let hidden = PromptSection::ALL.into_iter().filter(is_hidden).collect();
    let prompt = render_prompt(&PromptOptions { replacement, hidden, ..options });
    if let Some(file) = file(WRITE) {
        write(&file, &prompt)?;
    }
    Ok((prompt, refused))
}

/// The file for a switch: none if it is off, the workspace's if it is on, else the path it holds.
fn switched(value: &str, cwd: &Path, user_home: Option<&Path>) -> Option<PathBuf> {
    let value = value.trim();
    if value.is_empty() || is_off(value) {
        return None;
    }
    if value == "1" || value.eq_ignore_ascii_case("true") {
        return Some(WorkspaceFolder::of(cwd).system_prompt());
    }
    let below_home = match value.strip_prefix('~') {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    };
    match (below_home, user_home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        _ => Some(cwd.join(value)),
    }
}

fn is_off(value: &str) -> bool {
    value == "0" || value.eq_ignore_ascii_case("false")
}

fn read(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    match fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let error = anyhow!("missing system prompt file '{name}'");
            Err(hinted(error, format!("create that file, or unset {READ}")))
        }
        Err(error) => Err(error).context(format!("could not read the system prompt file {name}")),
    }
}

fn write(file: &Path, prompt: &str) -> anyhow::Result<()> {
    let written = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(file, prompt));
    written
        .with_context(|| format!("could not write the system prompt to {}, set by {WRITE}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Option<&str>) {
        let found = switched(value, Path::new("/project"), Some(Path::new("/home/Me")));
        assert_eq!(found, expected.map(PathBuf::from), "{value:?}");
    }

    #[test]
    fn a_switch_is_off_on_or_a_path() {
        for off in ["", " ", "0", "false", "FALSE"] {
            check(off, None);
        }
        check("1", Some("/project/.gemini/system.md"));
        check("True", Some("/project/.gemini/system.md"));
        check("~", Some("/home/Me"));
        check("~/Prompts/A.md", Some("/home/Me/Prompts/A.md"));
        check("~other/a.md", Some("/project/~other/a.md"));
        check("prompts/a.md", Some("/project/prompts/a.md"));
        check("/etc/a.md", Some("/etc/a.md"));
    }

    #[test]
    fn prompts_are_read_and_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (own, copy) = (path("own.md"), path("deep/copy.md"));
        let ask_in = |is_trusted: bool, variables: &[(&str, &str)]| {
            system_prompt(
                |name| {
                    let found = variables.iter().find(|(known, _)| *known == name);
                    found.map(|(_, value)| (value.to_string(), VariableSource::Process))
                },
                None,
                is_trusted,
                PromptOptions::default(),
            )
        };
        let ask = |variables: &[(&str, &str)]| ask_in(true, variables).map(|(prompt, _)| prompt);
        let missing = ask(&[(READ, &own)]).expect_err("it is not there");
        assert_eq!(missing.to_string(), format!("missing system prompt file '{own}'"));
        fs::write(&own, "Be kind. ${AgentSkills}").expect("written");
        assert_eq!(ask(&[(READ, &own), (WRITE, &copy)]).expect("a prompt"), "Be kind.");
        assert_eq!(fs::read_to_string(&copy).expect("a copy"), "Be kind.");
        let whole = ask(&[]).expect("a prompt");
        // A folder that is not trusted has no say, be its file there or not.
        for value in ["1", "true", ".gemini/system.md", "own.md"] {
            let (kept, refused) = ask_in(false, &[(READ, value)]).expect("a prompt");
            assert_eq!(kept, whole);
            assert!(refused.is_some_and(|refused| refused.contains("not trusted")), "{value}");
        }
        assert_eq!(ask_in(false, &[(READ, &own)]).expect("a prompt"), ("Be kind.".to_string(), None));
        assert_eq!(ask_in(false, &[(READ, "0")]).expect("a prompt"), (whole.clone(), None));
        // A project names no file of others.
        for value in [own.as_str(), "~/own.md", "../own.md", "deep/../../own.md"] {
            let stated = |name: &str| {
                let source = VariableSource::ProjectFile(Path::new("/work/.env").into());
                (name == READ).then(|| (value.to_string(), source))
            };
            let (kept, refused) =
                system_prompt(stated, None, true, PromptOptions::default()).expect("a prompt");
            assert_eq!(kept, whole);
            assert!(refused.is_some_and(|refused| refused.contains("its own folder")), "{value}");
        }
        let less = ask(&[("GEMINI_PROMPT_COREMANDATES", "false")]).expect("a prompt");
        assert!(less.len() < whole.len() && !less.contains("# What always holds"));
    }
}
