//! Changing a memory file: under a lock, never with a secret, by the rules that hold for saving memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_conversation::ToolDeclaration;
use longhaul_memory::SAVE_TOOL;
use longhaul_redact::has_secret;
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolInvocation, ToolOutcome};
use longhaul_workspace::{Lock, LockTimeout, WorkspaceError};
use serde_json::Value;

/// The files that were changed. Clones share one list.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenFiles(Arc<Mutex<Vec<PathBuf>>>);

impl WrittenFiles {
    /// Each file once, the first changed first.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, files: &[PathBuf]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for file in files {
            if !known.contains(file) {
                known.push(file.clone());
            }
        }
    }
}

/// A tool that changes memory files.
pub(super) struct GuardedTool {
    tool: Box<dyn Tool>,
    /// The file whose lock keeps all other writers of memory away.
    global: Option<PathBuf>,
    /// The file that other writers lock by itself.
    private: Option<PathBuf>,
    written: WrittenFiles,
}

impl GuardedTool {
    pub(super) fn new(
        tool: Box<dyn Tool>,
        global: Option<PathBuf>,
        private: Option<PathBuf>,
        written: WrittenFiles,
    ) -> Self {
        Self { tool, global, private, written }
    }

    /// The change that a call would make; refused where it brings a secret in.
    fn plan(&self, args: &Value) -> Result<Preview, String> {
        let preview = self.tool.preview(args)?;
        let Preview::Change { diff, .. } = &preview else { return Ok(preview) };
        let mut added: Vec<&str> = diff.lines().skip(2).filter_map(|line| line.strip_prefix('+')).collect();
        if added.is_empty() {
            // What was no text before is replaced as a whole.
            added.extend(["content", "new_string"].iter().filter_map(|name| args.get(name)?.as_str()));
        }
        match has_secret(&added.join("\n")) {
            Some(kind) => Err(format!(
                "Nothing was written: it holds a secret ({}), and secrets are not remembered.",
                kind.name()
            )),
            None => Ok(preview),
        }
    }

    async fn change(&self, call: ToolInvocation<'_>) -> Result<ToolAnswer, String> {
        let path = match self.plan(call.args)? {
            Preview::Change { path, .. } => path,
            _ => PathBuf::new(),
        };
        // No lock file is left in a project: there the one in the home stands for all.
        let private = self.private.clone().filter(|private| is_same(private, &path));
        let (global, cancel) = (self.global.clone(), call.cancel.clone());
        let locking = tokio::task::spawn_blocking(move || lock([global, private]));
        let Some(locks) = cancel.run_until_cancelled(locking).await else {
            return Ok(ToolAnswer::new(ToolOutcome::Cancelled("Nothing was written.".to_string())));
        };
        let _locks = locks
            .map_err(|error| error.to_string())
            .and_then(|locks| locks.map_err(|error| error.to_string()))
            .map_err(|reason| format!("Nothing was written: {reason}."))?;
        let answer = self.tool.run(call).await;
        if matches!(answer.outcome, ToolOutcome::Succeeded(_)) {
            self.written.add(&answer.touched);
        }
        Ok(answer)
    }
}

fn lock(files: [Option<PathBuf>; 2]) -> Result<Vec<Lock>, WorkspaceError> {
    let files = files.into_iter().flatten();
    files.map(|file| Lock::beside(&file, "updating memory", LockTimeout::default())).collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| Some((path.parent()?.canonicalize().ok()?, path.file_name()?.to_owned()));
    real(one).is_some() && real(one) == real(other)
}

impl Tool for GuardedTool {
    fn declaration(&self) -> ToolDeclaration {
        self.tool.declaration()
    }

    fn policy_name(&self) -> Option<&'static str> {
        Some(SAVE_TOOL)
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        self.plan(args)
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move { self.change(call).await.unwrap_or_else(ToolAnswer::failed) })
    }
}
