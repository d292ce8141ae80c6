//! The places where agents keep sessions, from the table `data/places.txt`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::agent::Agent;

const TABLE: &str = include_str!("../data/places.txt");

/// The kinds of operating systems that keep sessions in different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other systems like it.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// What lies in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A session a file.
    Files,
    /// Conversations of sub-agents.
    Children,
    /// Sessions in a SQLite database.
    Database,
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) agent: Agent,
    pub(crate) root: PathBuf,
    /// Names below the root, in which `*` stands for anything.
    pub(crate) pattern: Vec<&'static str>,
    pub(crate) kind: PlaceKind,
}

/// The places of all agents on this machine.
#[derive(Clone, Debug)]
pub struct Places {
    pub(crate) places: Vec<Place>,
}

impl Places {
    /// The places for a platform, the folder of the user and the environment's variables, of which empty ones count as
    /// not set. A place that only a variable can name is left out where it is not set.
    pub fn new(platform: Platform, user: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let mut places: Vec<Place> = Vec::new();
        for line in lines() {
            let [agent, on, roots, pattern, rest @ ..] = &line[..] else { continue };
            if !is_on(on, platform) {
                continue;
            }
            let root = roots.split(" | ").find_map(|root| resolve(root, user, &variable));
            let (Some(root), Some(agent)) = (root.filter(|root| root.is_absolute()), Agent::from_word(agent))
            else {
                continue;
            };
            let kind = match rest.first() {
                Some(&"child") => PlaceKind::Children,
                Some(&"database") => PlaceKind::Database,
                _ => PlaceKind::Files,
            };
            let pattern = pattern.split('/').filter(|name| *name != ".").collect();
            let place = Place { agent, root, pattern, kind };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Self { places }
    }

    /// The databases in which an agent keeps sessions, whether they exist or not.
    pub fn databases(&self, agent: Agent) -> impl Iterator<Item = PathBuf> + '_ {
        let places = self.places.iter().filter(move |place| {
            place.agent == agent && place.kind == PlaceKind::Database && !place.pattern.contains(&"*")
        });
        places.map(|place| place.pattern.iter().fold(place.root.clone(), |path, name| path.join(name)))
    }
}

/// The columns of each line of the table.
fn lines() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.map(|line| line.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect())
}

fn is_on(word: &str, platform: Platform) -> bool {
    match word {
        "any" => true,
        "linux" => platform == Platform::Linux,
        "macos" => platform == Platform::MacOs,
        "windows" => platform == Platform::Windows,
        "unix" => platform != Platform::Windows,
        _ => false,
    }
}

fn resolve(root: &str, user: Option<&Path>, variable: &impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let (start, rest) = root.split_once('/').unwrap_or((root, ""));
    let start = match start.strip_prefix('$') {
        Some(name) => variable(name)?,
        None if start == "~" => user?.to_path_buf(),
        None => return None,
    };
    Some(if rest.is_empty() { start } else { start.join(rest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_place() {
        for line in lines() {
            assert!((4..=5).contains(&line.len()), "{line:?}");
            assert!(Agent::from_word(line[0]).is_some(), "{line:?}");
            let platforms = [Platform::Linux, Platform::MacOs, Platform::Windows];
            assert!(platforms.iter().any(|platform| is_on(line[1], *platform)), "{line:?}");
            for root in line[2].split(" | ") {
                assert!(resolve(root, Some(Path::new("/u")), &|_| Some("/v".into())).is_some(), "{line:?}");
            }
            assert!(matches!(line.get(4), None | Some(&("child" | "database"))), "{line:?}");
        }
        for agent in Agent::ALL.iter().filter(|agent| **agent != Agent::Longhaul) {
            assert!(lines().any(|line| line[0] == agent.as_str()), "{agent:?} has no place");
        }
    }

    #[track_caller]
    fn check(platform: Platform, variables: &[(&str, &str)], agent: Agent, expected: &[&str]) {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        let places = Places::new(platform, Some(Path::new("/home/dev")), variable).places;
        let roots = places.iter().filter(|place| place.agent == agent && place.kind != PlaceKind::Children);
        assert_eq!(roots.map(|place| place.root.to_str().unwrap_or("?")).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn variables_move_places() {
        use Platform::{Linux, MacOs, Windows};
        check(Linux, &[], Agent::Opencode, &["/home/dev/.local/share/opencode/opencode.db"]);
        check(Linux, &[("XDG_DATA_HOME", "/d")], Agent::Opencode, &["/d/opencode/opencode.db"]);
        check(Linux, &[("XDG_DATA_HOME", "/d"), ("OPENCODE_DB", "/o.db")], Agent::Opencode, &["/o.db"]);
        check(
            Linux,
            &[("OPENCODE_DB", "")],
            Agent::Opencode,
            &["/home/dev/.local/share/opencode/opencode.db"],
        );
        check(Linux, &[("CLAUDE_CONFIG_DIR", "/c")], Agent::Claude, &["/c", "/home/dev/.config/claude"]);
        check(Linux, &[("CODEX_HOME", "relative")], Agent::Codex, &[]);
        check(MacOs, &[], Agent::Goose, &["/home/dev/.local/share/goose"]);
        check(Windows, &[], Agent::Goose, &[]);
        check(
            MacOs,
            &[],
            Agent::Cursor,
            &["/home/dev/.cursor", "/home/dev/Library/Application Support/Cursor/User"],
        );
    }
}
