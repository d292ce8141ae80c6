//! Fetches skills to install: a git repository is cloned and an archive unpacked, into a private folder that goes away.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use longhaul_hooks::Variable;
use longhaul_skills::{
    GitProtocol, GitUrl, SkillError, SkillSource, find_skill_root, is_skill_archive, unpack_archive,
};
use longhaul_workspace::{StagedFolder, remove_strays};

/// The most bytes of a repository that is cloned, with everything in it.
const MOST_CLONED: u64 = 512 * 1024 * 1024;

/// The longest time for it.
const LONGEST: Duration = Duration::from_secs(300);

/// The time between two looks at a clone.
const LOOK: Duration = Duration::from_millis(50);

/// The looks after which the size of a clone is measured again.
const LOOKS_PER_MEASURE: u32 = 20;

/// More files than this are not measured: it is too much then, too.
const MOST_MEASURED: usize = 200_000;

/// So much of git's own words is told, in bytes.
const MOST_TOLD: u64 = 2_000;

/// Skills that were fetched, until they are installed.
pub struct FetchedSkills {
    /// The folder with the skills.
    pub folder: PathBuf,
    /// Where they came from, if not from a folder.
    pub origin: Option<SkillOrigin>,
    /// Holds what was fetched until all of it is copied.
    _staged: Option<StagedFolder>,
}

/// The origin of fetched skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillOrigin {
    /// The address, or the path of the archive.
    pub source: String,
    /// The commit, for a repository.
    pub commit: Option<String>,
}

/// Fetches skills. Of a repository or an archive, `inside` names the folder to look in. Commands get these variables.
pub(super) fn fetch(
    source: &SkillSource,
    inside: Option<&str>,
    variables: &[Variable],
) -> Result<FetchedSkills, SkillError> {
    let (url, archive) = match source {
        SkillSource::Git(url) => (Some(url), None),
        SkillSource::Path(path) if is_skill_archive(path) => (None, Some(path)),
        SkillSource::Path(path) => {
            let folder = match inside {
                Some(_) => find_skill_root(path, inside)?,
                None => path.clone(),
            };
            return Ok(FetchedSkills { folder, origin: None, _staged: None });
        }
    };
    let temporary = std::env::temp_dir();
    remove_strays(&temporary);
    let staged = StagedFolder::create(&temporary).map_err(unwritten(&temporary))?;
    let whole = staged.path().join("skills");
    let mut commit = None;
    if let Some(url) = url {
        clone(url, &whole, &staged.path().join("words"), variables)?;
        commit = git(variables).args(["-C"]).arg(&whole).args(["rev-parse", "HEAD"]).output().ok();
    }
    if let Some(archive) = archive {
        fs::create_dir(&whole).map_err(unwritten(&whole))?;
        unpack_archive(archive, &whole)?;
    }
    let name = url.map(GitUrl::as_str).map(str::to_string);
    let name = name.or_else(|| archive.map(|archive| archive.display().to_string()));
    let commit = commit.and_then(|output| String::from_utf8(output.stdout).ok());
    let commit = commit.map(|commit| commit.trim().to_string()).filter(|commit| !commit.is_empty());
    let origin = name.map(|source| SkillOrigin { source, commit });
    let folder = find_skill_root(&whole, inside)?;
    Ok(FetchedSkills { folder, origin, _staged: Some(staged) })
}

/// Git with nothing of its own: no hooks, no filters, no prompts, no repository but the one named.
fn git(variables: &[Variable]) -> Command {
    let mut git = Command::new("git");
    let is_given = |name: &OsString| !name.to_string_lossy().starts_with("GIT_");
    let given = variables.iter().filter(|(name, _)| is_given(name));
    git.env_clear().envs(given.map(|(name, value)| (name, value)));
    git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_LFS_SKIP_SMUDGE", "1").env("GIT_OPTIONAL_LOCKS", "0");
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "protocol.allow=never",
        "submodule.recurse=false",
        "filter.lfs.smudge=",
        "filter.lfs.process=",
        "filter.lfs.required=false",
    ] {
        git.args(["-c", setting]);
    }
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    git
}

/// Clones the newest state of a repository, without submodules.
fn clone(url: &GitUrl, into: &Path, words: &Path, variables: &[Variable]) -> Result<(), SkillError> {
    let failed = |reason: String| SkillError::Fetch { address: url.as_str().to_string(), reason };
    // A file takes git's words, so that it never waits for somebody to read them.
    let told = File::create_new(words).map_err(unwritten(words))?;
    let mut command = git(variables);
    for protocol in allowed(url.protocol()) {
        command.arg("-c").arg(format!("protocol.{protocol}.allow=always"));
    }
    command.args([
        "clone",
        "--quiet",
        "--depth=1",
        "--single-branch",
        "--no-tags",
        "--no-recurse-submodules",
        "--template=",
    ]);
    command.arg("--").arg(url.as_str()).arg(into).stdout(Stdio::null()).stderr(told);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed("git is not installed".into()),
        _ => failed(format!("git could not be started ({error})")),
    })?;
    let began = Instant::now();
    for look in 1_u32.. {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => return Err(failed(reason_of(words))),
            Ok(None) => {}
            Err(error) => return Err(failed(error.to_string())),
        }
        let is_too_large = look % LOOKS_PER_MEASURE == 0 && size_of(into) > MOST_CLONED;
        if is_too_large || began.elapsed() > LONGEST {
            let _ = child.kill();
            let _ = child.wait();
            let reason =
                if is_too_large { "it is larger than 512 MiB" } else { "it took longer than five minutes" };
            return Err(failed(reason.into()));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// The protocols that an address may lead to. The user's own settings may send the network's addresses over either.
fn allowed(protocol: GitProtocol) -> &'static [&'static str] {
    match protocol {
        GitProtocol::Https | GitProtocol::Ssh => &["https", "ssh"],
        GitProtocol::File => &["file"],
    }
}

/// The reason that git gave, on one line.
fn reason_of(words: &Path) -> String {
    let mut bytes = Vec::new();
    // Without any, it is told that there are none.
    let _ = File::open(words).and_then(|words| words.take(MOST_TOLD).read_to_end(&mut bytes));
    reason_in(&String::from_utf8_lossy(&bytes))
}

/// The reason in what git printed: its fatal error, after the line before it, where a transport such as ssh says why.
fn reason_in(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some(index) = lines.iter().position(|line| line.starts_with("fatal: ")) else {
        return lines.last().copied().unwrap_or("git failed without a word").to_string();
    };
    let fatal = lines[index].trim_start_matches("fatal: ").trim_end_matches('.');
    match lines[..index].last().filter(|line| !line.starts_with("Cloning into")) {
        Some(cause) => format!("{fatal} ({})", cause.trim_end_matches('.')),
        None => fatal.to_string(),
    }
}

fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> SkillError {
    let path = path.to_path_buf();
    move |cause| SkillError::Files { act: "write", path, cause }
}

/// The bytes below a folder. Links are not followed.
fn size_of(folder: &Path) -> u64 {
    let (mut open, mut bytes, mut files) = (vec![folder.to_path_buf()], 0, 0);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.path().symlink_metadata() else { continue };
            files += 1;
            if files > MOST_MEASURED {
                return u64::MAX;
            }
            match found.is_dir() {
                true => open.push(entry.path()),
                false => bytes += found.len(),
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_clone_says_why() {
        let cases = [
            ("fatal: repository 'x' not found\n", "repository 'x' not found"),
            (
                "Host key verification failed.\nfatal: Could not read from remote repository.\n\nPlease make sure\n",
                "Could not read from remote repository (Host key verification failed)",
            ),
            ("Cloning into 'a'...\nfatal: no\n", "no"),
            ("warning: odd\nkilled\n", "killed"),
            ("", "git failed without a word"),
        ];
        for (text, expected) in cases {
            assert_eq!(reason_in(text), expected, "{text:?}");
        }
    }
}
