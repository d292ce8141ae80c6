//! Commands as any machine of a project can run them: paths of the project are relative, and what names another place of one
//! machine is left out.

use crate::{SessionDeed, SessionDigest};

/// Folders that every machine has at the same place. Whatever else begins at the root belongs to one machine.
const SYSTEM: [&str; 7] = ["/dev/", "/usr/", "/bin/", "/etc/", "/opt/", "/proc/", "/sys/"];

/// Folders in which nothing stays.
const TEMPORARY: [&str; 4] = ["/tmp", "/private", "/var", "/dev/shm"];

/// The folders that a session takes for the root of the project, longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectRoots(Vec<String>);

impl ProjectRoots {
    /// The folder that a session was recorded in, and, where its commands came from another machine, the one that they go to.
    pub(crate) fn of(session: &SessionDigest) -> Self {
        let recorded = session.directory.iter().map(|folder| folder.trim_end_matches('/').to_string());
        let entered = session.steps.iter().filter_map(|step| match &step.deed {
            SessionDeed::Ran { command, .. } => entered(command),
            _ => None,
        });
        // All others that a session enters are below the shortest, or elsewhere.
        let entered = entered.min_by_key(|folder| (folder.len(), folder.clone()));
        let mut roots: Vec<String> = recorded.chain(entered).filter(|root| root.len() > 1).collect();
        roots.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        roots.dedup();
        Self(roots)
    }

    /// A path as it is written from the root of the project; `None` if it names a place of one machine.
    pub(crate) fn localise(&self, path: &str) -> Option<String> {
        for root in &self.0 {
            match path.strip_prefix(root.as_str()) {
                Some("" | "/") => return Some(".".to_string()),
                Some(rest) => {
                    if let Some(inside) = rest.strip_prefix('/') {
                        return Some(inside.to_string());
                    }
                }
                None => {}
            }
        }
        (!is_of_one_machine(path)).then(|| path.to_string())
    }

    /// A word of a command line: each path in it as [`Self::localise`] has it.
    pub(crate) fn localise_word(&self, word: &str) -> Option<String> {
        let mut local = String::with_capacity(word.len());
        let divides = |letter: char| matches!(letter, '"' | '\'' | '=' | ',' | ':' | ' ' | '(' | ')');
        for piece in word.split_inclusive(divides) {
            let end = piece.chars().next_back().filter(|letter| divides(*letter));
            let path = end.map_or(piece, |end| &piece[..piece.len() - end.len_utf8()]);
            local.push_str(&self.localise(path)?);
            local.extend(end);
        }
        Some(local)
    }
}

/// True if a path begins in a home, in a temporary folder, or at the root of a machine.
fn is_of_one_machine(path: &str) -> bool {
    let is_drive = || {
        let mut letters = path.chars();
        letters.next().is_some_and(|letter| letter == '\\') && letters.next().is_some()
    };
    let is_home = path == "~" || path.starts_with("~/") || path.contains("$HOME") || path.contains("${HOME}");
    // Two slashes are what is left of an address.
    let is_absolute = path.starts_with('/') && !path.starts_with("//") && path.len() > 1;
    is_home
        || is_drive()
        || is_temporary(path)
        || is_absolute && !SYSTEM.iter().any(|folder| path.starts_with(folder))
}

fn is_temporary(path: &str) -> bool {
    TEMPORARY
        .iter()
        .any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// The absolute folder that a command line begins with entering.
fn entered(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("cd ")?.trim_start();
    let path = match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
        Some((path, _)) => path,
        None => rest.split([' ', ';', '&', '\n']).next()?,
    };
    let path = path.trim_end_matches('/');
    // A home itself is no project.
    let is_home =
        ["/home/", "/Users/"].iter().any(|homes| path.starts_with(homes)) && path.matches('/').count() < 3;
    (path.starts_with('/') && path.len() > 1 && !is_home && !is_temporary(path)).then(|| path.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mining::trial::session;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let mut session = session(
            "a",
            &["$ cd /Users/someone/work/app/web && make", "$ cd /Users/someone/work/app && make"],
        );
        session.directory = Some("/srv/app/".into());
        assert_eq!(ProjectRoots::of(&session).localise_word(word).as_deref(), expected, "{word}");
    }

    #[test]
    fn paths_of_the_project_are_relative() {
        check("/srv/app/src/a.rs", Some("src/a.rs"));
        check("/srv/app", Some("."));
        check("--out=/Users/someone/work/app/web/dist", Some("--out=web/dist"));
        check("\"/srv/app/a b\"", Some("\"a b\""));
        for word in [
            "test:ci",
            "./x.sh",
            "http://localhost:3000/a",
            "/dev/null",
            "s/a/b/",
            "-p",
            "…",
            "/",
            "@scope/name",
        ] {
            check(word, Some(word));
        }
    }

    #[test]
    fn places_of_one_machine_are_left_out() {
        for word in [
            "/Users/someone/other",
            "/srv/application",
            "/home/x/y",
            "~/.config/x",
            "$HOME/.nvm",
            "/tmp/out",
            "A=/private/tmp/x",
            "/workspace/x",
            "C:\\Users\\x",
            "a:/root/b",
            "/var/folders/x",
        ] {
            check(word, None);
        }
    }

    #[test]
    fn a_session_that_enters_nothing_has_no_root() {
        for line in ["$ cd web && make", "$ cd /tmp/x && make", "$ make", "$ cd /home/someone && ls"] {
            assert_eq!(ProjectRoots::of(&session("a", &[line])), ProjectRoots::default(), "{line}");
        }
    }
}
