//! `longhaul doctor`: checks the setup and reports problems. Changes nothing.

mod home;
mod keys;
mod memory;
mod report;
mod settings;
mod store;
mod terminal;
mod trust;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use longhaul_app::environment;
use longhaul_app::settings::{LoadedSettings, UnsupportedKey};
use longhaul_workspace::Home;

use crate::output::{Screen, plural, print, print_json, with_progress};

#[derive(Debug, Args)]
pub(crate) struct DoctorOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// All findings.
#[derive(Debug, Default)]
struct Diagnosis {
    home: Option<PathBuf>,
    project: Option<String>,
    trusted: Option<bool>,
    findings: Vec<Finding>,
    /// Gemini CLI keys that are set but not supported.
    unsupported: Vec<UnsupportedKey>,
    /// The area being examined.
    area: &'static str,
}

/// One finding.
#[derive(Debug)]
struct Finding {
    area: &'static str,
    state: State,
    what: String,
    /// The hint for it.
    advice: Option<String>,
}

/// The state of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// All is well.
    Ok,
    /// Worth knowing, but not a problem.
    Note,
    /// A problem.
    Problem,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

impl Diagnosis {
    fn ok(&mut self, what: impl Into<String>) {
        self.add(State::Ok, what, None);
    }

    fn note(&mut self, what: impl Into<String>, advice: impl Into<String>) {
        self.add(State::Note, what, Some(advice.into()));
    }

    fn problem(&mut self, what: impl Into<String>, advice: impl Into<String>) {
        self.add(State::Problem, what, Some(advice.into()));
    }

    fn add(&mut self, state: State, what: impl Into<String>, advice: Option<String>) {
        let advice = advice.filter(|advice| !advice.is_empty());
        self.findings.push(Finding { area: self.area, state, what: what.into(), advice });
    }

    fn count(&self, state: State) -> usize {
        self.findings.iter().filter(|finding| finding.state == state).count()
    }
}

/// Examines everything and prints the findings; problems make it fail.
pub(crate) fn run(options: &DoctorOptions, screen: &Screen) -> anyhow::Result<()> {
    let diagnosis = with_progress(|| "reading sessions".to_string(), || examine(screen));
    if options.json {
        print_json(&report::json(&diagnosis))?;
    } else {
        print(&report::text(&diagnosis, screen))?;
    }
    match diagnosis.count(State::Problem) {
        0 => Ok(()),
        count => Err(anyhow!("found {}", plural(count, "problem", "problems"))),
    }
}

fn examine(screen: &Screen) -> Diagnosis {
    let environment = environment::of_process();
    let mut diagnosis = Diagnosis::default();
    let mut look = |area: &'static str, examine: &mut dyn FnMut(&mut Diagnosis)| {
        diagnosis.area = area;
        examine(&mut diagnosis);
    };
    let mut home: Option<Home> = None;
    look("home", &mut |diagnosis| home = home::examine(diagnosis, &environment));
    let cwd = std::env::current_dir().ok();
    let cwd: Option<&Path> = cwd.as_deref();
    let mut loaded = LoadedSettings::default();
    look("settings", &mut |diagnosis| {
        loaded = settings::examine(diagnosis, home.as_ref(), cwd, &environment);
    });
    look("keys", &mut |diagnosis| keys::examine(diagnosis, &loaded.settings));
    let needs_trust = loaded.needs_trust;
    if let (Some(home), Some(cwd)) = (&home, cwd) {
        look("trust", &mut |diagnosis| trust::examine(diagnosis, home, cwd, &environment, needs_trust));
        look("memory", &mut |diagnosis| memory::examine(diagnosis, home, cwd, &environment));
        look("project", &mut |diagnosis| store::project(diagnosis, home, cwd));
    }
    look("terminal", &mut |diagnosis| terminal::examine(diagnosis, screen));
    if let Some(home) = &home {
        look("locks", &mut |diagnosis| store::locks(diagnosis, home));
        look("sessions", &mut |diagnosis| store::sessions(diagnosis, home));
    }
    diagnosis
}
