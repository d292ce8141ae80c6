//! Checks of memory files: which are in use, and why others are not.

use std::path::Path;

use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{SkipReason, load_memory};
use longhaul_workspace::{Environment, Home};

use super::Diagnosis;
use crate::output::{plural, visible};

/// Loads the memory of the current folder.
pub(super) fn examine(diagnosis: &mut Diagnosis, home: &Home, cwd: &Path, environment: &Environment) {
    // What is wrong with settings or trust was told with them.
    let Ok(loaded) = Settings::load(Some(home), cwd, environment) else { return };
    let Ok(context) = WorkspaceContext::find(&loaded.settings, &[]) else { return };
    let memory = load_memory(&context.places, &context.settings);
    let name = |path: &Path| visible(&path.strip_prefix(cwd).unwrap_or(path).display().to_string());
    match memory.files.len() {
        0 => diagnosis.ok("no memory files in use"),
        count => {
            let names: Vec<String> = memory.files.iter().map(|file| name(&file.path)).collect();
            let count = plural(count, "memory file", "memory files");
            diagnosis.ok(format!("{count} in use: {}", names.join(", ")));
        }
    }
    for skipped in &memory.skipped {
        let what = format!("{}: {}", name(&skipped.path), visible(&skipped.reason.to_string()));
        match &skipped.reason {
            // These are as they should be.
            SkipReason::Duplicate { .. } | SkipReason::OtherPaths { .. } | SkipReason::Note => {
                diagnosis.ok(what);
            }
            reason => diagnosis.note(what, advice(reason)),
        }
    }
    for notice in &memory.notices {
        diagnosis.note(visible(&notice.to_string()), "");
    }
}

fn advice(reason: &SkipReason) -> &'static str {
    match reason {
        SkipReason::OtherName { .. } => "rename it, or add its name to context.fileName",
        SkipReason::Untrusted => "run `longhaul trust add` to see what it would activate and trust it",
        SkipReason::Outside { .. } => "replace the link with the text, or import it from inside",
        SkipReason::Ignored => "change the ignore file if the agent should read it",
        SkipReason::Included => "set context.loadMemoryFromIncludeDirectories to true to load it",
        SkipReason::Unreadable { .. } => "fix or remove the file",
        SkipReason::BeyondLimit => "raise context.discoveryMaxDirs",
        SkipReason::Blank
        | SkipReason::Duplicate { .. }
        | SkipReason::OtherPaths { .. }
        | SkipReason::Note => "",
    }
}
