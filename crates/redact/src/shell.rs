//! Passwords that are given to commands: `curl -u ann:…`, `sshpass -p …`, `mysql -p…`; and those of `.netrc`.

use std::ops::Range;

use crate::assignment;

/// How a password follows its flag.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Behind the name of a user and a colon.
    WithUser,
    /// As the next word.
    Apart,
    /// In one word with the flag.
    Attached,
    /// As in `.netrc`: `login ann password …`.
    Netrc,
}

/// What makes a look worthwhile.
pub(crate) const ANCHORS: &[(&str, Form)] = &[
    (" -u ", Form::WithUser),
    (" --user ", Form::WithUser),
    (" --user=", Form::WithUser),
    (" -p ", Form::Apart),
    (" -p", Form::Attached),
    ("login ", Form::Netrc),
];

/// How far back the command's name may be.
const MOST_COMMAND: usize = 256;
/// Longer than any password that somebody types.
const MOST_VALUE: usize = 256;

/// The password behind the anchor.
pub(crate) fn find(text: &str, form: Form, anchor: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let command = || Command(command_before(&bytes[..anchor.start]));
    let range = match form {
        Form::WithUser => {
            let word = command().runs(&["curl"]).then(|| argument(bytes, anchor.end))??;
            let colon = memchr::memchr(b':', &bytes[word.clone()])?;
            word.start + colon + 1..word.end
        }
        Form::Apart => {
            let logs_in =
                || command().runs(&["docker", "podman", "helm", "oras"]) && command().runs(&["login"]);
            (command().runs(&["sshpass"]) || logs_in()).then(|| argument(bytes, anchor.end))??
        }
        Form::Attached => {
            const PROGRAMS: &[&str] =
                &["mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump", "sshpass"];
            let is_attached = !bytes.get(anchor.end)?.is_ascii_whitespace();
            (is_attached && command().runs(PROGRAMS)).then(|| argument(bytes, anchor.end))??
        }
        Form::Netrc => {
            let before = &bytes[anchor.start.saturating_sub(MOST_COMMAND)..anchor.start];
            Command(before).runs(&["machine"]).then_some(())?;
            let name = word(bytes, anchor.end)?;
            let keyword = word(bytes, skip_blanks(bytes, name.end))?;
            (&bytes[keyword.clone()] == b"password")
                .then(|| word(bytes, skip_blanks(bytes, keyword.end)))??
        }
    };
    assignment::is_password(&text[range.clone()]).then_some(range)
}

/// The words of a command before the flag.
struct Command<'a>(&'a [u8]);

impl Command<'_> {
    /// Whether one of these words is among them, with or without a folder before it.
    fn runs(&self, words: &[&str]) -> bool {
        let split = self.0.split(|byte| byte.is_ascii_whitespace() || b"\"'`($".contains(byte));
        let mut names = split.map(|word| word.rsplit(|byte| *byte == b'/').next().unwrap_or(word));
        names.any(|name| words.iter().any(|word| word.as_bytes() == name))
    }
}

/// What stands on the line before, up to another command.
fn command_before(before: &[u8]) -> &[u8] {
    let reach = &before[before.len().saturating_sub(MOST_COMMAND)..];
    let start = reach.iter().rposition(|byte| b"\n;|&".contains(byte)).map_or(0, |end| end + 1);
    // A line that goes on with a backslash is one command.
    match reach[..start].strip_suffix(b"\\\n") {
        Some(_) => reach,
        None => &reach[start..],
    }
}

/// A word of a shell, in quotes or up to what ends one.
fn argument(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let escapes = bytes[at..].iter().take(4).take_while(|byte| **byte == b'\\').count();
    let quote = at + escapes;
    match bytes.get(quote)? {
        delimiter @ (b'"' | b'\'') => {
            let start = quote + 1;
            let reach = &bytes[start..bytes.len().min(start + MOST_VALUE)];
            let length =
                reach.iter().position(|byte| byte == delimiter || *byte == b'\\' || *byte == b'\n')?;
            (reach[length] != b'\n').then_some(start..start + length)
        }
        _ => until(bytes, at, |byte| byte.is_ascii_whitespace() || b"\"'`;|&<>()\\,".contains(&byte)),
    }
}

/// A word of a file, up to the next blank.
fn word(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    until(bytes, at, |byte| byte.is_ascii_whitespace() || b"\"'`\\".contains(&byte))
}

/// The bytes up to the first that ends them or to the end of all, if there are any and not too many.
fn until(bytes: &[u8], at: usize, ends: impl Fn(u8) -> bool) -> Option<Range<usize>> {
    let rest = bytes.get(at..)?;
    let length = rest.iter().take(MOST_VALUE + 1).position(|byte| ends(*byte)).unwrap_or(rest.len());
    (1..=MOST_VALUE).contains(&length).then_some(at..at + length)
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take(64).take_while(|byte| byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use crate::redact;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text).text, expected);
    }

    #[test]
    fn passwords_of_commands() {
        check("curl -u ann:S3cr3t9xQ https://h/a", "curl -u ann:[REDACTED] https://h/a");
        check("/usr/bin/curl -s --user 'ann:S3cr3t 9xQ'", "/usr/bin/curl -s --user 'ann:S3cr3t 9xQ'");
        check("/usr/bin/curl -s --user \"ann:S3cr3t9;xQ\" x", "/usr/bin/curl -s --user \"ann:[REDACTED]\" x");
        check("curl -s \\\n  -u ann:S3cr3t9xQ", "curl -s \\\n  -u ann:[REDACTED]");
        check("sshpass -p 'S3cr3t9xQ' ssh h", "sshpass -p '[REDACTED]' ssh h");
        check("sshpass -pS3cr3t9xQ ssh h", "sshpass -p[REDACTED] ssh h");
        check("docker login -u ann -p S3cr3t9xQ r.io", "docker login -u ann -p [REDACTED] r.io");
        check("$(mysqldump -h db -u root -pS3cr3t9xQ shop)", "$(mysqldump -h db -u root -p[REDACTED] shop)");
        check("machine h login ann password tr0ub4dor&3\n", "machine h login ann password [REDACTED]\n");
        check(
            "machine h\n\tlogin ann\n\tpassword tr0ub4dor&3",
            "machine h\n\tlogin ann\n\tpassword [REDACTED]",
        );
        check(r#"{\"command\":\"curl -u ann:S3cr3t9xQ\"}"#, r#"{\"command\":\"curl -u ann:[REDACTED]\"}"#);
    }

    #[test]
    fn other_flags_and_other_commands() {
        for text in [
            "mkdir -p a1b2c3d4/src",
            "docker run -p 8080:80 -u 1000:1000 image9x",
            "docker run -u ann:S3cr3t9xQ",
            "curl -u $USER:$PASSWORD https://h",
            "curl -u ann:password123 https://h",
            "curl https://h; git push -u origin:Branch9x2",
            "cargo test -p longhaul9Xq2",
            "mysql -p shop9Xq2z",
            "the login form password field1",
            "login ",
            "curl -u ",
            "mysql -p",
        ] {
            check(text, text);
        }
    }
}
