//! Sources of skills to install: a path, or the address of a git repository.

use std::path::PathBuf;

use crate::SkillError;

/// The place that skills are installed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillSource {
    /// A folder, a SKILL.md or an archive on this machine.
    Path(PathBuf),
    /// A git repository.
    Git(GitUrl),
}

/// The address of a git repository, checked so that git takes it for nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitUrl {
    url: String,
    protocol: GitProtocol,
}

/// A way to fetch a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitProtocol {
    /// Encrypted HTTP.
    Https,
    /// SSH, also as `user@host:path`.
    Ssh,
    /// A repository on this machine.
    File,
}

impl GitUrl {
    /// The address as it was given.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// The protocol.
    pub fn protocol(&self) -> GitProtocol {
        self.protocol
    }
}

impl SkillSource {
    /// Reads a source as a user writes it.
    ///
    /// # Errors
    /// [`SkillError::Source`] for an address that is not fetched.
    pub fn parse(text: &str) -> Result<Self, SkillError> {
        let refused =
            |reason: &str| SkillError::Source { address: text.to_string(), reason: reason.to_string() };
        let (protocol, rest) = match text.split_once("://") {
            Some(("https", rest)) => (GitProtocol::Https, rest),
            Some(("ssh" | "git+ssh", rest)) => (GitProtocol::Ssh, rest),
            Some(("file", rest)) => (GitProtocol::File, rest),
            Some((scheme, _)) if is_scheme(scheme) => {
                return Err(refused("only https, ssh and file addresses are fetched"));
            }
            _ if text.contains("::") && text.split("::").next().is_some_and(is_scheme) => {
                return Err(refused("only https, ssh and file addresses are fetched"));
            }
            _ => match short_ssh(text) {
                Some(rest) => (GitProtocol::Ssh, rest),
                None => return Ok(Self::Path(text.into())),
            },
        };
        if text.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return Err(refused("it contains spaces or control characters"));
        }
        let host = rest.split('/').next().unwrap_or_default();
        let (user, host) = host.rsplit_once('@').map_or((None, host), |(user, host)| (Some(user), host));
        // A name that begins with a hyphen would be an option for ssh.
        let is_option = |name: &str| name.starts_with('-');
        match protocol {
            GitProtocol::File if !rest.starts_with('/') => return Err(refused("its path is not absolute")),
            GitProtocol::File => {}
            _ if host.is_empty() || is_option(host) || user.is_some_and(is_option) => {
                return Err(refused("it names no host"));
            }
            GitProtocol::Https if user.is_some() => {
                return Err(refused("it contains credentials; let git's credential helper provide them"));
            }
            _ => {}
        }
        Ok(Self::Git(GitUrl { url: text.to_string(), protocol }))
    }
}

fn is_scheme(text: &str) -> bool {
    text.len() > 1 && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

/// What follows in an address such as `git@host:team/skills`, with a slash behind the host.
fn short_ssh(text: &str) -> Option<&str> {
    let (host, path) = text.split_once(':')?;
    let (user, name) = host.split_once('@')?;
    let is_plain = |text: &str| {
        !text.is_empty()
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
    };
    (is_plain(user) && is_plain(name) && !path.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<GitProtocol>) {
        let protocol = match SkillSource::parse(text).unwrap() {
            SkillSource::Git(url) => Some(url.protocol()),
            SkillSource::Path(_) => None,
        };
        assert_eq!(protocol, expected, "{text}");
    }

    #[test]
    fn addresses_and_paths_are_told_apart() {
        check("https://example.org/team/skills.git", Some(GitProtocol::Https));
        check("ssh://git@example.org:22/team/skills", Some(GitProtocol::Ssh));
        check("git@example.org:team/skills.git", Some(GitProtocol::Ssh));
        check("file:///srv/skills", Some(GitProtocol::File));
        for path in ["skills/a", "./a.skill", "/srv/a", "a:b", "C:\\skills", "x@y", "-x", "a b"] {
            check(path, None);
        }
    }

    #[track_caller]
    fn check_refused(text: &str, reason: &str) {
        let error = SkillSource::parse(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }

    #[test]
    fn what_git_would_take_for_something_else_is_refused() {
        for text in [
            "http://example.org/a",
            "git://example.org/a",
            "ext::sh -c id",
            "fd::17",
            "ftp://x/y",
            "HTTPS://x/y",
        ] {
            check_refused(text, "only https, ssh and file");
        }
        for text in [
            "ssh://-oProxyCommand=id/x",
            "ssh://-o@example.org/x",
            "-u@example.org:x",
            "-x@-y:z",
            "https://",
            "https:///x",
        ] {
            check_refused(text, "names no host");
        }
        check_refused("https://me:secret@example.org/x", "credentials");
        check_refused("https://example.org/a b", "spaces");
        check_refused("file://a/b", "not absolute");
    }
}
