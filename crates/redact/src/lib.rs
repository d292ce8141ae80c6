//! Secrets: text in, text and findings out.
//!
//! [`redact`] replaces every secret it recognises by [`MARK`] and leaves the rest of the text as it was;
//! [`find_secrets`] only says where they are, and [`has_secret`] whether there is one, for places that
//! refuse to store text rather than change it. A [`SecretFinding`] knows what kind of secret was where, never
//! the secret itself, so it may be logged.
//!
//! Four sorts of evidence count:
//!
//! - a **format**: tokens that their issuer made recognisable by a prefix, an alphabet and a length, and the hashes of
//!   passwords that systems store (`data/formats.txt`);
//! - a **structure**: private key blocks, JSON Web Tokens, passwords in URLs, headers and commands (`data/flags.txt`), lines
//!   of `.pgpass`, the words of a wallet with their checksum;
//! - a **name**: `password = …`, `API_KEY=…`, `"client_secret": …` (`data/names.txt`), whose value must also look like a
//!   secret rather than a placeholder (`data/placeholders.txt`), a path, a hash or code;
//! - a **sentence**: *the password is …* in nine languages (`data/sentences.txt`). The less says that
//!   a word is the password, the more it has to look like one.
//!
//! A secret that invisible characters, a line's end or joined strings part is found as a whole. Not found are passwords
//! that are ordinary words, phrases of wallets in other languages than English, and whatever is encoded once more.
//!
//! One pass of an automaton over all prefixes and names finds the places worth a look, and a small
//! matcher decides each, in time linear in the text whatever the text is. `examples/score.rs` scores the search against
//! lists of secrets and of look-alikes.
//!
//! ```
//! use longhaul_redact::{SecretKind, has_secret, redact};
//!
//! let line = format!("deploy with GH={} please", ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat());
//! let redacted = redact(&line);
//! assert_eq!(redacted.text, "deploy with GH=[REDACTED] please");
//! assert_eq!(redacted.findings[0].kind, SecretKind::GitHub);
//! assert_eq!(redacted.findings[0].range, 15..55);
//!
//! // What only stands for a secret stays.
//! assert_eq!(has_secret("password = os.environ['DB_PASSWORD']"), None);
//! // Redacted text has nothing left to redact.
//! assert_eq!(has_secret(&redacted.text), None);
//! ```

mod alphabet;
mod assignment;
mod config;
mod credential;
mod data;
mod finding;
mod flags;
mod fold;
mod formats;
mod gate;
mod headers;
mod jwt;
mod kind;
#[cfg(test)]
mod laws;
mod names;
mod private_key;
mod scan;
mod seed;
mod sentence;
mod url;
mod words;

pub use finding::{MARK, Redacted, SecretFinding};
pub use kind::SecretKind;
pub use scan::{find_secrets, has_secret, redact};

/// The program of the README, which must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
