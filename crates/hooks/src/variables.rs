//! Environment variables with secrets, which are withheld from commands and hooks.

use std::ffi::{OsStr, OsString};

/// A variable of an environment, by name and value.
pub type Variable = (OsString, OsString);

/// The rules about variables that are withheld from commands and hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableRules {
    /// False if none are withheld.
    pub is_enabled: bool,
    /// Variables that are always passed on, by name.
    pub allowed: Vec<String>,
    /// Variables that are always withheld, by name.
    pub blocked: Vec<String>,
}

/// An environment split in two.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SplitVariables {
    /// The variables passed on.
    pub given: Vec<Variable>,
    /// The variables withheld.
    pub withheld: Vec<Variable>,
}

impl Default for VariableRules {
    fn default() -> Self {
        Self { is_enabled: true, allowed: Vec::new(), blocked: Vec::new() }
    }
}

impl VariableRules {
    /// True if a variable is withheld: by the user's lists, else by its name, else by its value.
    pub fn withholds(&self, name: &OsStr, value: &OsStr) -> bool {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let is_in = |list: &[String]| list.iter().any(|listed| listed.eq_ignore_ascii_case(&name));
        if !self.is_enabled || is_in(&self.allowed) {
            return false;
        }
        if is_in(&self.blocked) {
            return true;
        }
        if value.is_empty() {
            return false;
        }
        is_secret_name(&name.to_ascii_uppercase(), &value)
            || has_password_in_url(&value)
            || longhaul_redact::has_secret(&format!("{name}={value}")).is_some()
    }

    /// Splits an environment.
    pub fn split(&self, variables: impl IntoIterator<Item = Variable>) -> SplitVariables {
        let (withheld, given) =
            variables.into_iter().partition(|(name, value): &Variable| self.withholds(name, value));
        SplitVariables { given, withheld }
    }
}

/// Whole names of variables that hold a secret, lead to one, or name an account.
const NAMES: &[&str] = &[
    "CLIENT_ID",
    "CONNECTION_STRING",
    "DOCKER_CONFIG",
    "KUBECONFIG",
    "NETRC",
    "PGPASSFILE",
    "PGSERVICEFILE",
    "AZURE_CLIENT_ID",
    "AZURE_TENANT_ID",
    "TWILIO_ACCOUNT_SID",
];

/// Whole names that only look secret: `git push` and the desktop need them.
const HARMLESS_NAMES: &[&str] = &["PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY"];

/// Prefixes of vendors' variables.
const FAMILIES: &[&str] = &["AWS_"];

/// Words of a name, between underscores, that mark its value as secret.
const WORDS: &[&str] = &[
    "APIKEY",
    "AUTH",
    "BEARER",
    "COOKIE",
    "CRED",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "JWT",
    "KEY",
    "KEYS",
    "OAUTH",
    "PASS",
    "PASSCODE",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PRIVATE",
    "PWD",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
    "WEBHOOK",
];

/// The same at the end of a name, without an underscore: `PGPASSWORD`.
const ENDINGS: &[&str] = &[
    "APIKEY",
    "AUTHKEY",
    "CREDENTIALS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATEKEY",
    "SECRET",
    "SECRETKEY",
    "TOKEN",
];

/// Services whose addresses grant access.
const SERVICES: &[&str] = &[
    "AMQP",
    "BROKER",
    "CASSANDRA",
    "CELERY",
    "CLICKHOUSE",
    "CLOUDAMQP",
    "COCKROACH",
    "DATABASE",
    "DATASOURCE",
    "DB",
    "ELASTIC",
    "ELASTICSEARCH",
    "JDBC",
    "KAFKA",
    "MARIADB",
    "MEMCACHED",
    "MONGO",
    "MONGODB",
    "MQTT",
    "MSSQL",
    "MYSQL",
    "NATS",
    "NEO4J",
    "OPENSEARCH",
    "ORACLE",
    "PG",
    "POSTGRES",
    "POSTGRESQL",
    "QUEUE",
    "RABBITMQ",
    "REDIS",
    "SENTRY",
    "SMTP",
    "SQLALCHEMY",
    "SQLSERVER",
    "SUPABASE",
    "VALKEY",
];

/// Words that mark a name as an address.
const ADDRESSES: &[&str] = &["CONN", "CONNECTION", "URI", "URL"];

/// True if an uppercase name marks its value as secret.
fn is_secret_name(name: &str, value: &str) -> bool {
    // Git fails if one of its numbered settings is missing.
    if HARMLESS_NAMES.contains(&name) || name.starts_with("GIT_CONFIG_KEY_") {
        return false;
    }
    let words: Vec<&str> = name.split('_').collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_family = FAMILIES.iter().any(|family| name.starts_with(family));
    let is_service = has(SERVICES) && has(ADDRESSES);
    if NAMES.contains(&name) || is_family || is_service {
        return true;
    }
    let is_ending = ENDINGS.iter().any(|ending| name.ends_with(ending));
    (is_ending || has(WORDS)) && !is_switch(value)
}

/// True if a value is a switch or a limit: `MAX_TOKENS=8000`, `DISABLE_AUTH=true`.
fn is_switch(value: &str) -> bool {
    const SWITCHES: &[&str] = &["true", "false", "yes", "no", "on", "off"];
    let is_number = value.len() < 6 && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number || SWITCHES.iter().any(|switch| switch.eq_ignore_ascii_case(value))
}

/// True if a value contains an address with a password, even a weak one: `postgres://app:app@localhost/app`.
fn has_password_in_url(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        let password = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        password.is_some_and(|(_, password)| !password.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rules: &VariableRules, variables: &[(&str, &str)]) -> Vec<String> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let split = rules.split(variables);
        split.given.into_iter().map(|(name, _)| name.into_string().expect("text")).collect()
    }

    #[track_caller]
    fn check(variables: &[(&str, &str)], is_withheld: bool) {
        for (name, value) in variables {
            let given = names(&VariableRules::default(), &[(name, value)]);
            assert_eq!(given.is_empty(), is_withheld, "{name}={value}");
        }
    }

    #[test]
    fn secrets_are_withheld_by_name() {
        check(
            &[
                ("DATABASE_URL", "postgres://localhost/app"),
                ("REDIS_URL", "redis://localhost:6379"),
                ("CELERY_BROKER_URL", "amqp://mq"),
                ("MONGODB_URI", "mongodb://db"),
                ("SPRING_DATASOURCE_URL", "jdbc:postgresql://db/app"),
                ("SENTRY_DSN", "https://abc@o1.ingest.sentry.io/2"),
                ("SLACK_WEBHOOK_URL", "https://hooks.slack.com/services/a/b/c"),
                ("JWT", "anything"),
                ("KUBECONFIG", "/home/me/.kube/config"),
                ("GEMINI_API_KEY", "short"),
                ("NPM_TOKEN", "short"),
                ("DB_PASSWORD", "kT7!vQz92mLx"),
                ("PGPASSWORD", "app"),
                ("PGPASSFILE", "/home/me/.pgpass"),
                ("MYSQL_PWD", "app"),
                ("SMTP_PASS", "app"),
                ("CLIENT_SECRET", "app"),
                ("AWS_ACCESS_KEY_ID", "id"),
                ("AWS_SESSION_TOKEN", "id"),
                ("AWS_PROFILE", "production"),
                ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
                ("DOCKER_AUTH_CONFIG", "{}"),
                ("npm_config__auth", "YTpi"),
                ("GITHUBTOKEN", "short"),
                ("SIGNING_PRIVATE_KEY", "short"),
            ],
            true,
        );
    }

    #[test]
    fn secrets_are_withheld_by_value() {
        let token = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
        check(
            &[
                ("GH", &token),
                ("BACKEND", "https://me:open-sesame@example.org/x"),
                ("UPSTREAM", "postgres://app:app@localhost/app"),
                ("HTTPS_PROXY", "http://me:password@proxy:3128"),
                ("HOSTS", "redis://a redis://:pw@b"),
            ],
            true,
        );
    }

    #[test]
    fn what_commands_need_is_given() {
        check(
            &[
                ("PATH", "/usr/bin:/bin"),
                ("HOME", "/home/me"),
                ("USER", "me"),
                ("LANG", "C.UTF-8"),
                ("LC_ALL", "C"),
                ("TERM", "xterm"),
                ("TMPDIR", "/tmp"),
                ("PWD", "/home/me/app"),
                ("OLDPWD", "/home/me"),
                ("SSH_AUTH_SOCK", "/run/user/1000/ssh"),
                ("SSH_AGENT_PID", "12"),
                ("GIT_AUTHOR_NAME", "Me"),
                ("GIT_COMMITTER_EMAIL", "me@example.org"),
                ("GIT_ASKPASS", "/usr/bin/askpass"),
                ("GIT_CONFIG_KEY_0", "safe.directory"),
                ("SSL_CERT_FILE", "/etc/ssl/cert.pem"),
                ("NODE_EXTRA_CA_CERTS", "/etc/ssl/corp.pem"),
                ("HTTPS_PROXY", "http://proxy:3128"),
                ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
                ("XDG_SESSION_ID", "3"),
                ("CARGO_HOME", "/home/me/.cargo"),
                ("JAVA_HOME", "/usr/lib/jvm"),
                ("KEYBOARD", "de"),
                ("BASE_URL", "https://example.org"),
                ("OPENAI_BASE_URL", "http://localhost:11434/v1"),
                ("MAX_TOKENS", "8000"),
                ("DISABLE_AUTH", "true"),
                ("API_KEY", ""),
            ],
            false,
        );
    }

    #[test]
    fn the_user_has_the_last_word() {
        let variables =
            [("DATABASE_URL", "postgres://localhost/app"), ("INTERNAL_HOST", "db1"), ("LANG", "C")];
        let rules = VariableRules {
            allowed: vec!["database_url".into()],
            blocked: vec!["INTERNAL_HOST".into()],
            ..VariableRules::default()
        };
        assert_eq!(names(&rules, &variables), ["DATABASE_URL", "LANG"]);
        let both = VariableRules { blocked: vec!["DATABASE_URL".into()], ..rules.clone() };
        assert_eq!(names(&both, &variables), ["DATABASE_URL", "INTERNAL_HOST", "LANG"]);
        let off = VariableRules { is_enabled: false, ..rules };
        assert_eq!(names(&off, &variables), ["DATABASE_URL", "INTERNAL_HOST", "LANG"]);
    }
}
