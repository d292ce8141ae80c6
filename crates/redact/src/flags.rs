//! Passwords that are given to commands: `curl -u ann:…`, `sshpass -p …`, `mysql -p…`; and those that other words than an
//! equals sign announce: in `.netrc`, in SQL, in the settings of Redis. The data file `flags.txt` lists them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use longhaul_shell::EmbeddedCommands;

use crate::{assignment, data, headers};

/// The way in which a password follows its flag.
#[derive(Clone, Copy)]
enum Form {
    /// Behind the name of a user and this sign.
    WithUser(u8),
    /// As the next word.
    Word,
    /// As the word behind the next.
    SecondWord,
    /// In one word with the flag.
    Attached,
    /// As in `.netrc`: `login ann password …`.
    Netrc,
    /// Between a user and a database: `ann/…@db`.
    Oracle,
    /// Behind the flags, the file and the user of `htpasswd -b`.
    Htpasswd,
    /// As what `echo` says to the command, behind a user and a colon if there is one.
    Echoed,
}

const FORMS: &[(&str, Form)] = &[
    ("user:", Form::WithUser(b':')),
    ("user,", Form::WithUser(b',')),
    ("user%", Form::WithUser(b'%')),
    ("word", Form::Word),
    ("second-word", Form::SecondWord),
    ("attached", Form::Attached),
    ("netrc", Form::Netrc),
    ("oracle", Form::Oracle),
    ("htpasswd", Form::Htpasswd),
    ("echoed", Form::Echoed),
];

/// A flag, or another word, that a password follows.
pub(crate) struct Flag {
    /// The text whose presence makes a look worthwhile.
    pub(crate) text: String,
    form: Form,
    /// The programs, one of which is the command; none if the flag says enough.
    programs: Vec<&'static str>,
    /// Another word that has to be in the command.
    verb: Option<&'static str>,
}

pub(crate) static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let mut groups = HashMap::new();
    let mut flags = Vec::new();
    for (form, rest) in data::items(include_str!("../data/flags.txt")) {
        if form == "programs" {
            let mut names = rest.split(' ');
            groups.insert(names.next().unwrap_or_default(), names.collect::<Vec<_>>());
        } else {
            let flag = Flag::parse(form, rest, &groups);
            flags.push(flag.unwrap_or_else(|| panic!("malformed flag: {form} {rest}")));
        }
    }
    flags
});

impl Flag {
    /// Reads a line of the data file.
    fn parse(form: &str, rest: &'static str, groups: &HashMap<&str, Vec<&'static str>>) -> Option<Self> {
        let (_, form) = *FORMS.iter().find(|(known, _)| *known == form)?;
        let (text, words) = data::quoted(rest)?;
        let (mut programs, mut verb) = (Vec::new(), None);
        for word in words.split_whitespace() {
            if let Some(group) = word.strip_prefix('@') {
                programs.extend(groups.get(group)?);
            } else if let Some(word) = word.strip_prefix("verb=") {
                verb = Some(word);
            } else {
                programs.push(word);
            }
        }
        Some(Self { text, form, programs, verb })
    }

    /// The password behind the anchor.
    pub(crate) fn find(&self, text: &str, anchor: &Range<usize>) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let commands = EmbeddedCommands::of(text);
        if !self.programs.is_empty() {
            let has_verb = self.verb.is_none_or(|verb| commands.has_word_before(anchor.start, &[verb]));
            (commands.has_word_before(anchor.start, &self.programs) && has_verb).then_some(())?;
        }
        let range = match self.form {
            Form::WithUser(sign) => {
                // A comma ends a word of a shell in running text, but not here.
                let word = if sign == b',' {
                    commands.field_at(anchor.end)?
                } else {
                    commands.word_at(anchor.end)?
                };
                let user = memchr::memchr(sign, &bytes[word.clone()])?;
                word.start + user + 1..word.end
            }
            Form::Word => commands.word_at(anchor.end)?,
            Form::SecondWord => {
                let first = commands.word_at(anchor.end)?;
                let quote = usize::from(matches!(bytes.get(first.end), Some(b'"' | b'\'')));
                commands.next_word(first.end + quote)?
            }
            Form::Attached => {
                let is_attached = !bytes.get(anchor.end)?.is_ascii_whitespace();
                is_attached.then(|| commands.word_at(anchor.end))??
            }
            Form::Oracle => {
                let word = commands.word_at(anchor.end)?;
                let written = &bytes[word.clone()];
                let user = memchr::memchr(b'/', written)?;
                let end = memchr::memrchr(b'@', written).unwrap_or(written.len());
                (user + 1 < end).then(|| word.start + user + 1..word.start + end)?
            }
            Form::Htpasswd => {
                let flags = commands.field_at(anchor.end)?;
                let written = &bytes[flags.clone()];
                written.contains(&b'b').then_some(())?;
                let before = if written.contains(&b'n') { 1 } else { 2 };
                let mut value = flags;
                for _ in 0..=before {
                    value = commands.next_word(value.end)?;
                }
                value
            }
            Form::Echoed => echoed(text, commands, anchor.start)?,
            Form::Netrc => {
                commands.has_word_near(anchor.start, &["machine", "default"]).then_some(())?;
                let name = commands.field_at(anchor.end)?;
                let keyword = commands.field_at(commands.skip_blanks(name.end))?;
                (&bytes[keyword.clone()] == b"password")
                    .then(|| commands.field_at(commands.skip_blanks(keyword.end)))??
            }
        };
        assignment::is_password(text.get(range.clone())?).then_some(range)
    }
}

/// The password that `echo` says to the command whose bar is at `bar`.
fn echoed(text: &str, commands: EmbeddedCommands<'_>, bar: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let line = commands.command_before(bar);
    let echo = line.start + memchr::memmem::rfind(&bytes[line], b"echo ")? + 5;
    let mut from = commands.skip_blanks(echo).min(bar);
    if bytes[from..].starts_with(b"-n ") || bytes[from..].starts_with(b"-e ") {
        from += 3;
    }
    let word = commands.word_at(from)?;
    let user = memchr::memchr(b':', &bytes[word.clone()]).map_or(0, |colon| colon + 1);
    (word.end <= bar).then_some(word.start + user..word.end)
}

/// The flags that cookies follow.
pub(crate) const COOKIES: &[&str] = &[" -b ", " --cookie "];

/// The cookies behind a flag of curl, whose place is `anchor`.
pub(crate) fn find_cookies(text: &str, anchor: &Range<usize>) -> Vec<Range<usize>> {
    let is_curl = EmbeddedCommands::of(text).has_word_before(anchor.start, &["curl"]);
    let quote = usize::from(matches!(text.as_bytes().get(anchor.end), Some(b'"' | b'\'')));
    if is_curl { headers::cookies(text, anchor.end + quote).0 } else { Vec::new() }
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
        check("/usr/bin/curl -s --user 'ann:S3cr3t 9xQ pool'", "/usr/bin/curl -s --user 'ann:[REDACTED]'");
        check("curl -uann:S3cr3t9xQ https://h/a", "curl -uann:[REDACTED] https://h/a");
        check("http -a ann:S3cr3t9xQ :8000/x", "http -a ann:[REDACTED] :8000/x");
        check("lftp -u ann,S3cr3t9xQ sftp://h", "lftp -u ann,[REDACTED] sftp://h");
        check("smbclient //h/s -U ann%S3cr3t9xQ -c ls", "smbclient //h/s -U ann%[REDACTED] -c ls");
        check("redis-cli -h r1 -a S3cr3t9xQ ping", "redis-cli -h r1 -a [REDACTED] ping");
        check("mongosh -u root -p S3cr3t9xQ --host m1", "mongosh -u root -p [REDACTED] --host m1");
        check("7z x -pS3cr3t9xQ a.7z", "7z x -p[REDACTED] a.7z");
        check("unzip -P S3cr3t9xQ a.zip", "unzip -P [REDACTED] a.zip");
        check("ldapsearch -x -D cn=a -w S3cr3t9xQ -b dc=x", "ldapsearch -x -D cn=a -w [REDACTED] -b dc=x");
        check("plink -ssh ann@h -pw S3cr3t9xQ ls", "plink -ssh ann@h -pw [REDACTED] ls");
        check("keytool -list -storepass S3cr3t9xQ -v", "keytool -list -storepass [REDACTED] -v");
        check("openssl rsa -in k -passin pass:S3cr3t9xQ", "openssl rsa -in k -passin pass:[REDACTED]");
        check("xfreerdp /v:h /u:ann /p:S3cr3t9xQ", "xfreerdp /v:h /u:ann /p:[REDACTED]");
        check(
            "nmcli dev wifi connect home password S3cr3t9xQ",
            "nmcli dev wifi connect home password [REDACTED]",
        );
        check("net user ann S3cr3t9xQ /add", "net user ann [REDACTED] /add");
        check(
            "ConvertTo-SecureString \"S3cr3t9xQ\" -AsPlainText",
            "ConvertTo-SecureString \"[REDACTED]\" -AsPlainText",
        );
        check("sqlplus ann/S3cr3t9xQ@orcl", "sqlplus ann/[REDACTED]@orcl");
        check("htpasswd -bB .htpasswd ann S3cr3t9xQ", "htpasswd -bB .htpasswd ann [REDACTED]");
        check("htpasswd -nbB ann S3cr3t9xQ", "htpasswd -nbB ann [REDACTED]");
        check("echo 'ann:S3cr3t9xQ' | chpasswd", "echo 'ann:[REDACTED]' | chpasswd");
        check("echo S3cr3t9xQ | sudo -S apt update", "echo [REDACTED] | sudo -S apt update");
        check("requirepass S3cr3t9xQ\n", "requirepass [REDACTED]\n");
        check("CREATE USER a IDENTIFIED BY 'S3cr3t9xQ';", "CREATE USER a IDENTIFIED BY '[REDACTED]';");
        check("curl -b 'sid=9f8Kq2mZx71Lp3Ty5Vb0; a=b' h", "curl -b 'sid=[REDACTED]; a=b' h");
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
            "redis-cli -a $REDIS_PASSWORD",
            "redis-cli -a",
            "zip -P",
            "tar -p 9f8Kq2mZ -P x9y8z7",
            "openssl req -k 2 -passin pass:",
            "openssl -passin pass:$PW",
            "git checkout -b fix-9f8Kq2mZx71Lp3Ty5Vb0",
            "sqlplus / as sysdba",
            "net user",
            "htpasswd -c .htpasswd ann9x2",
            "echo hello | sudo -S ls",
            "requirepass foobared",
            "echo | chpasswd",
            "identified by 2 fields",
        ] {
            check(text, text);
        }
    }
}
