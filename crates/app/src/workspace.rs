//! The context of the current folder: trust, workspace folders, extensions, and the places of memory.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_memory::{MemorySettings, Places, WorkFolder, find_extensions};
use longhaul_workspace::{Environment, Ignoring, Trust};

use crate::environment;
use crate::failure::hinted;
use crate::project::Project;
use crate::settings::Settings;
use crate::trust::decide;

/// Everything that memory depends on.
#[derive(Debug)]
pub struct WorkspaceContext {
    /// The current folder.
    pub cwd: PathBuf,
    /// Places to look for memory.
    pub places: Places,
    /// Settings of memory.
    pub settings: MemorySettings,
    /// The files that are hidden from tools that read.
    pub hidden: Ignoring,
    /// True if the current folder is trusted.
    pub trust: Trust,
    /// The folders of the active extensions.
    pub(crate) extensions: Vec<PathBuf>,
    /// Notes about ignored settings and extensions.
    pub notes: Vec<String>,
}

impl WorkspaceContext {
    /// Loads the context of the current folder, to which `more` folders belong. Creates nothing.
    pub fn find(settings: &Settings, more: &[PathBuf]) -> anyhow::Result<Self> {
        let environment = environment::of_process();
        let home = environment::home(&environment)?;
        let cwd = std::env::current_dir().context("the current folder does not exist")?;
        // What the workspace's own settings say does not matter here.
        let needs_trust = Settings::load(home.as_ref(), Path::new(""), &environment)?.needs_trust;
        let trusts = |folder: &Path| decide(folder, home.as_ref(), &environment, needs_trust);
        let trust = trusts(&cwd)?;
        let mut folders = vec![WorkFolder { path: cwd.clone(), is_trusted: trust.is_trusted() }];
        if let Some(missing) = more.iter().find(|folder| !cwd.join(folder).is_dir()) {
            let error = anyhow!("no such folder: {}", missing.display());
            return Err(hinted(error, "pass existing folders to --include-directories"));
        }
        let included = settings.included_folders(&cwd, environment.user_home.as_deref());
        let (included, missing): (Vec<PathBuf>, Vec<PathBuf>) =
            included.into_iter().partition(|folder| folder.is_dir());
        for path in included.into_iter().chain(more.iter().map(|folder| cwd.join(folder))) {
            // Links and dots are resolved, so that a folder is known by one name.
            let path = path.canonicalize().unwrap_or(path);
            let is_trusted = trusts(&path)?.is_trusted();
            if folders.iter().all(|known| known.path != path) {
                folders.push(WorkFolder { path, is_trusted });
            }
        }
        let hidden = settings.hidden_files();
        let forbidden = settings.forbids_extensions();
        let disabled: Vec<String> = settings.disabled_extensions().into_iter().map(str::to_owned).collect();
        let (settings, mut notes) = settings.memory();
        notes.extend(missing.iter().map(|folder| {
            format!("{} in context.includeDirectories is ignored: no such folder", folder.display())
        }));
        let mut extensions =
            home.as_ref().map(|home| find_extensions(&home.extensions(), &cwd)).unwrap_or_default();
        extensions.active.retain(|extension| !disabled.contains(&extension.name));
        extensions.folders.retain(|folder| {
            folder.file_name().is_none_or(|name| disabled.iter().all(|disabled| name != disabled.as_str()))
        });
        if let Some(key) = forbidden.filter(|_| !extensions.folders.is_empty()) {
            notes.push(format!("extensions are disabled by {key}"));
            extensions = Default::default();
        }
        notes.extend(extensions.problems.iter().map(|problem| format!("an extension is ignored: {problem}")));
        let private = match &home {
            Some(_) => Project::find()?.map(|project| project.home.memory()),
            None => None,
        };
        let places = Places {
            home: home.as_ref().map(|home| home.root().to_path_buf()),
            user_home: user_home(&environment),
            private,
            folders,
            extensions: extensions.active,
            instructions: Vec::new(),
        };
        Ok(Self { cwd, places, settings, hidden, trust, extensions: extensions.folders, notes })
    }
}

/// The folder that holds the user's memory: the home's parent, if the home is not in the user's own folder.
fn user_home(environment: &Environment) -> Option<PathBuf> {
    environment.gemini_cli_home.clone().or_else(|| environment.user_home.clone())
}
