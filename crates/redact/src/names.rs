//! Names that give a secret away: `password`, `API_KEY`, `client_secret`; the data file `names.txt` lists their parts.

use std::sync::LazyLock;

use crate::data;

/// The parts of names.
pub(crate) struct NameParts {
    /// The words that make a look worthwhile, in lower case.
    pub(crate) keywords: Vec<&'static str>,
    /// The ends of the names of passwords.
    passwords: Vec<&'static str>,
    /// The ends of names that say that the value is secret.
    secrets: Vec<&'static str>,
    /// The words of names whose tokens and keys are no secrets.
    harmless: Vec<&'static str>,
}

pub(crate) static NAMES: LazyLock<NameParts> = LazyLock::new(|| {
    let of = |role| data::texts(include_str!("../data/names.txt"), role);
    NameParts {
        keywords: of("keyword"),
        passwords: of("password"),
        secrets: of("secret"),
        harmless: of("harmless"),
    }
});

/// The kind of value that a name is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// Chosen by a person, perhaps short.
    Password,
    /// Says that the value is secret: even a hash or a UUID is then a key.
    Secret,
    /// `token`: often secret, but also a word of parsers, pages and models.
    Token,
    /// `SOMETHING_KEY` of an environment file.
    Key,
    /// `_auth` of `.npmrc`: a user and a password in base64.
    Auth,
}

/// The kind of value that a name is given; `None` if the name says nothing about it.
pub(crate) fn classify(name: &str) -> Option<NameKind> {
    let squeezed: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let squeezed = squeezed.trim_end_matches(|c: char| c.is_ascii_digit());
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| squeezed.ends_with(ending));
    let is_harmless = || {
        name.split(['_', '-', '.']).any(|word| NAMES.harmless.contains(&word.to_ascii_lowercase().as_str()))
    };
    if ends_with(&NAMES.passwords) || name.ends_with("_pass") || name.ends_with("_PASS") || name == "PASS" {
        Some(NameKind::Password)
    } else if squeezed.ends_with("token") {
        (!is_harmless()).then_some(NameKind::Token)
    } else if ends_with(&NAMES.secrets) || is_issuer_name(squeezed) {
        (!is_harmless()).then_some(NameKind::Secret)
    } else if name.eq_ignore_ascii_case("_auth") {
        Some(NameKind::Auth)
    } else if (squeezed.ends_with("key") || squeezed.ends_with("salt")) && is_environment_name(name) {
        (!is_harmless()).then_some(NameKind::Key)
    } else {
        None
    }
}

/// `TWILIO_AUTH`, `TWILIO_API_SID`, `HEROKU_KEY`; the SID of an account is none of these.
fn is_issuer_name(squeezed: &str) -> bool {
    let starts = squeezed.starts_with("twilio") || squeezed.starts_with("heroku");
    starts && (squeezed.ends_with("key") || squeezed.ends_with("auth") || squeezed.ends_with("apisid"))
}

/// `_authToken`, `CODECOV_TOKEN`, `X-Postmark-Server-Token`: the token of an account rather than of a parser or a page.
pub(crate) fn is_issued_token(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_environment_name(name)
        || lower.starts_with("x-")
        || ["auth", "access", "api", "bearer", "secret"].iter().any(|word| {
            lower
                .strip_suffix("token")
                .is_some_and(|start| start.trim_end_matches(['_', '-', '.']).ends_with(word))
        })
}

/// `SOMETHING_TOKEN`: upper case with at least one underscore.
pub(crate) fn is_environment_name(name: &str) -> bool {
    name.contains('_') && !name.bytes().any(|byte| byte.is_ascii_lowercase() || byte == b'.' || byte == b'-')
}

pub(crate) fn is_issuer(keyword: &str) -> bool {
    keyword.eq_ignore_ascii_case("twilio") || keyword.eq_ignore_ascii_case("heroku")
}

pub(crate) fn names_phrase(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("phrase")
}
