//! Passwords that are given to commands: `curl -u ann:…`, `sshpass -p …`, `mysql -p…`; and those that other words than an
//! equals sign announce: in `.netrc`, in SQL, in the settings of Redis.

use std::ops::Range;

use crate::{assignment, headers};

/// How a password follows its flag.
#[derive(Clone, Copy)]
enum Form {
    /// Behind the name of a user and this sign.
    WithUser(u8),
    /// As this word behind the flag, counted from one.
    Word(usize),
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

/// A flag, or another word, that a password follows.
pub(crate) struct Flag {
    text: &'static str,
    form: Form,
    /// One of these is the command; none if the flag says enough.
    programs: &'static [&'static str],
    /// Another word that has to be in the command.
    verb: Option<&'static str>,
}

const fn flag(text: &'static str, form: Form, programs: &'static [&'static str]) -> Flag {
    Flag { text, form, programs, verb: None }
}

const NEXT: Form = Form::Word(1);
const REGISTRIES: &[&str] =
    &["docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane", "az"];
const MONGO: &[&str] = &["mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"];
const MYSQL: &[&str] = &[
    "mysql",
    "mysqldump",
    "mysqladmin",
    "mysqlimport",
    "mysqlshow",
    "mycli",
    "mariadb",
    "mariadb-dump",
    "mariadb-admin",
    "sshpass",
];
const ARCHIVERS: &[&str] = &["7z", "7za", "7zr", "7zz", "rar", "unrar"];
const LDAP: &[&str] = &["ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd"];
const PUTTY: &[&str] = &[
    "plink",
    "pscp",
    "psftp",
    "putty",
    "kitty",
    "plink.exe",
    "pscp.exe",
    "psftp.exe",
    "putty.exe",
    "winscp",
];
const HTTPIE: &[&str] = &["http", "https", "xh", "httpie"];
const JAVA: &[&str] = &["keytool", "jarsigner", "apksigner"];

#[rustfmt::skip]
pub(crate) const FLAGS: &[Flag] = &[
    flag(" -u ", Form::WithUser(b':'), &["curl"]),
    flag(" -u", Form::WithUser(b':'), &["curl"]),
    flag(" --user ", Form::WithUser(b':'), &["curl"]),
    flag(" --user=", Form::WithUser(b':'), &["curl"]),
    flag(" -U ", Form::WithUser(b':'), &["curl"]),
    flag(" --proxy-user ", Form::WithUser(b':'), &["curl"]),
    flag(" -a ", Form::WithUser(b':'), HTTPIE),
    flag(" --auth ", Form::WithUser(b':'), HTTPIE),
    flag(" --auth=", Form::WithUser(b':'), HTTPIE),
    flag(" -u ", Form::WithUser(b','), &["lftp"]),
    flag(" -U ", Form::WithUser(b'%'), &["smbclient", "rpcclient", "winexe", "net", "smbget"]),
    flag(" -p ", NEXT, &["sshpass", "psexec", "twine"]),
    flag(" -p ", NEXT, MONGO),
    Flag { text: " -p ", form: NEXT, programs: REGISTRIES, verb: Some("login") },
    flag(" -p", Form::Attached, MYSQL),
    flag(" -p", Form::Attached, ARCHIVERS),
    flag(" -a ", NEXT, &["redis-cli", "iredis"]),
    flag(" -P ", NEXT, &["zip", "unzip", "sqlcmd", "bcp", "tsql", "mosquitto_pub", "mosquitto_sub"]),
    flag(" -w ", NEXT, LDAP),
    flag(" -pw ", NEXT, PUTTY),
    flag(" -A ", NEXT, &["snmpwalk", "snmpget", "snmpset", "snmpbulkwalk"]),
    flag(" -X ", NEXT, &["snmpwalk", "snmpget", "snmpset", "snmpbulkwalk"]),
    flag(" -storepass ", NEXT, JAVA),
    flag(" -keypass ", NEXT, JAVA),
    flag(" -srcstorepass ", NEXT, JAVA),
    flag(" -deststorepass ", NEXT, JAVA),
    flag(" pass:", Form::Attached, &["openssl"]),
    flag(" -k ", NEXT, &["openssl"]),
    flag(" /p:", Form::Attached, &["xfreerdp", "xfreerdp3", "wfreerdp"]),
    flag(" /pass:", Form::Attached, &["cmdkey"]),
    flag(" password ", NEXT, &["nmcli"]),
    flag(" aws_secret_access_key ", NEXT, &["aws"]),
    flag("net user ", Form::Word(2), &[]),
    flag("wpa_passphrase ", Form::Word(2), &[]),
    flag("ConvertTo-SecureString ", NEXT, &[]),
    flag("ConvertTo-SecureString -String ", NEXT, &[]),
    flag(":_authToken ", NEXT, &["npm", "pnpm", "yarn"]),
    flag("_auth ", NEXT, &["npm", "pnpm", "yarn"]),
    flag("sqlplus ", Form::Oracle, &[]),
    flag("sqlplus -s ", Form::Oracle, &[]),
    flag("impdp ", Form::Oracle, &[]),
    flag("expdp ", Form::Oracle, &[]),
    flag("htpasswd -", Form::Htpasswd, &[]),
    flag("| chpasswd", Form::Echoed, &[]),
    flag("| sudo chpasswd", Form::Echoed, &[]),
    flag("| sudo -S", Form::Echoed, &[]),
    flag("| passwd --stdin", Form::Echoed, &[]),
    flag("requirepass ", NEXT, &[]),
    flag("masterauth ", NEXT, &[]),
    flag("IDENTIFIED BY ", NEXT, &[]),
    flag("identified by ", NEXT, &[]),
    flag("login ", Form::Netrc, &[]),
];

/// How far back the command's name may be.
const MOST_COMMAND: usize = 256;
/// Longer than any password that somebody types.
const MOST_VALUE: usize = 256;

impl Flag {
    /// The text whose presence makes a look worthwhile.
    pub(crate) fn anchor(&self) -> String {
        self.text.to_owned()
    }

    /// The password behind the anchor.
    pub(crate) fn find(&self, text: &str, anchor: &Range<usize>) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        if !self.programs.is_empty() {
            let command = Command(command_before(&bytes[..anchor.start]));
            let has_verb = self.verb.is_none_or(|verb| command.runs(&[verb]));
            (command.runs(self.programs) && has_verb).then_some(())?;
        }
        let range = match self.form {
            Form::WithUser(sign) => {
                // A comma ends a word of a shell in running text, but not here.
                let word = if sign == b',' { word(bytes, anchor.end)? } else { argument(bytes, anchor.end)? };
                let user = memchr::memchr(sign, &bytes[word.clone()])?;
                word.start + user + 1..word.end
            }
            Form::Word(count) => {
                let mut word = argument(bytes, anchor.end)?;
                for _ in 1..count {
                    let quote = usize::from(matches!(bytes.get(word.end), Some(b'"' | b'\'')));
                    word = argument(bytes, skip_blanks(bytes, word.end + quote))?;
                }
                word
            }
            Form::Attached => {
                let is_attached = !bytes.get(anchor.end)?.is_ascii_whitespace();
                is_attached.then(|| argument(bytes, anchor.end))??
            }
            Form::Oracle => {
                let word = argument(bytes, anchor.end)?;
                let written = &bytes[word.clone()];
                let user = memchr::memchr(b'/', written)?;
                let end = memchr::memrchr(b'@', written).unwrap_or(written.len());
                (user + 1 < end).then(|| word.start + user + 1..word.start + end)?
            }
            Form::Htpasswd => {
                let flags = word(bytes, anchor.end)?;
                let written = &bytes[flags.clone()];
                written.contains(&b'b').then_some(())?;
                let before = if written.contains(&b'n') { 1 } else { 2 };
                let mut value = flags;
                for _ in 0..=before {
                    value = argument(bytes, skip_blanks(bytes, value.end))?;
                }
                value
            }
            Form::Echoed => echoed(bytes, anchor.start)?,
            Form::Netrc => {
                let before = &bytes[anchor.start.saturating_sub(MOST_COMMAND)..anchor.start];
                Command(before).runs(&["machine", "default"]).then_some(())?;
                let name = word(bytes, anchor.end)?;
                let keyword = word(bytes, skip_blanks(bytes, name.end))?;
                (&bytes[keyword.clone()] == b"password")
                    .then(|| word(bytes, skip_blanks(bytes, keyword.end)))??
            }
        };
        assignment::is_password(text.get(range.clone())?).then_some(range)
    }
}

/// The password that `echo` says to the command whose bar is at `at`.
fn echoed(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let line = command_before(&bytes[..at]);
    let start = at - line.len();
    let echo = memchr::memmem::rfind(line, b"echo ")? + 5;
    let mut from = start + skip_blanks(line, echo);
    if bytes[from..].starts_with(b"-n ") || bytes[from..].starts_with(b"-e ") {
        from += 3;
    }
    let word = argument(bytes, from)?;
    let user = memchr::memchr(b':', &bytes[word.clone()]).map_or(0, |colon| colon + 1);
    (word.end <= at).then_some(word.start + user..word.end)
}

/// The flags that cookies follow.
pub(crate) const COOKIES: &[&str] = &[" -b ", " --cookie "];

/// The cookies behind a flag of curl, whose place is `anchor`.
pub(crate) fn find_cookies(text: &str, anchor: &Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_curl = Command(command_before(&bytes[..anchor.start])).runs(&["curl"]);
    let quote = usize::from(matches!(bytes.get(anchor.end), Some(b'"' | b'\'')));
    if is_curl { headers::cookies(text, anchor.end + quote).0 } else { Vec::new() }
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
