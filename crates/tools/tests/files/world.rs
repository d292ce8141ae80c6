//! A workspace beside a folder that is out of bounds.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::CallId;
use longhaul_tools::{
    Glob, GrepSearch, ListDirectory, PermittedEffects, Preview, ReadFile, ReadManyFiles, Replace, Roots,
    Tool, ToolAnswer, ToolDisplay, ToolInvocation, ToolOutcome, WriteFile,
};
use longhaul_workspace::Ignoring;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The content that must never be read.
pub(crate) const SECRET: &str = "the-secret-of-others";

/// A folder with the workspace `work`, and `outside`, which holds a secret.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) roots: Roots,
    pub(crate) cancel: CancellationToken,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "outside"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("outside/file"), SECRET).unwrap();
        let roots = Roots::new(&folder.path().join("work"), &[]).unwrap();
        Self { folder, roots, cancel: CancellationToken::new() }
    }

    /// A workspace with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (name, text) in files {
            world.put(name, text.as_bytes());
        }
        world
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.roots.first().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    pub(crate) fn tool(&self, name: &str) -> Box<dyn Tool> {
        let ignoring = Ignoring { git: true, gemini: true, custom: Vec::new() };
        let roots = self.roots.clone();
        match name {
            "read_file" => Box::new(ReadFile::new(roots, ignoring)),
            "read_many_files" => Box::new(ReadManyFiles::new(roots, ignoring)),
            "list_directory" => Box::new(ListDirectory::new(roots, ignoring)),
            "glob" => Box::new(Glob::new(roots, ignoring)),
            "grep_search" => Box::new(GrepSearch::new(roots, ignoring)),
            "write_file" => Box::new(WriteFile::new(roots)),
            "replace" => Box::new(Replace::new(roots, ignoring)),
            other => unreachable!("{other}"),
        }
    }

    pub(crate) fn preview(&self, tool: &str, args: &Value) -> Result<Preview, String> {
        self.tool(tool).preview(args)
    }

    pub(crate) fn run(&self, tool: &str, args: &Value) -> ToolAnswer {
        run_until(&*self.tool(tool), args, &self.cancel)
    }

    #[track_caller]
    pub(crate) fn check(&self, tool: &str, args: &Value, expected: &str) -> ToolAnswer {
        let answer = self.run(tool, args);
        assert_eq!(answer.outcome, ToolOutcome::Succeeded(expected.to_string()));
        answer
    }

    #[track_caller]
    pub(crate) fn check_failed(&self, tool: &str, args: &Value, expected: &str) {
        assert_eq!(self.run(tool, args).outcome, ToolOutcome::Failed(expected.to_string()));
    }

    /// Everything outside the workspace: names and contents.
    pub(crate) fn outside(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let path = entry.path();
                if path == self.roots.first() || path == self.folder.path().join("work") {
                    continue;
                }
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(path),
                    false => found.push((path.clone(), fs::read(&path).unwrap_or_default())),
                }
            }
        }
        found.sort();
        found
    }
}

/// Runs a tool.
pub(crate) fn run_tool(tool: &dyn Tool, args: &Value) -> ToolAnswer {
    run_until(tool, args, &CancellationToken::new())
}

fn run_until(tool: &dyn Tool, args: &Value, cancel: &CancellationToken) -> ToolAnswer {
    let id = CallId::new("c1");
    let call = ToolInvocation { id: &id, args, progress: &|_| {}, cancel, permitted: PermittedEffects::Any };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(tool.run(call))
}

/// The diff shown to the user.
#[track_caller]
pub(crate) fn shown_diff(answer: &ToolAnswer) -> &str {
    match &answer.shown {
        ToolDisplay::Diff { diff, .. } => diff,
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
pub(crate) fn link(target: impl AsRef<Path>, path: &Path) {
    std::os::unix::fs::symlink(target, path).unwrap();
}

#[cfg(unix)]
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
