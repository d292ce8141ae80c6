//! Clients: how each is pointed at the gateway, by its variables and arguments alone, and where it would go without.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use longhaul_gateway::Family;

/// A client that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Aider,
    /// Any other program, such as one that uses an SDK.
    Other,
}

/// The changes made for a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Launch {
    /// Variables to set.
    pub(super) variables: Vec<(&'static str, String)>,
    /// Arguments to put before its own.
    pub(super) arguments: Vec<String>,
}

impl Client {
    /// The client that a program is, by its name.
    pub(super) fn of(program: &OsStr) -> Self {
        let name = Path::new(program).file_stem().and_then(OsStr::to_str).unwrap_or_default();
        match name {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "gemini" => Self::Gemini,
            "opencode" => Self::Opencode,
            "aider" => Self::Aider,
            _ => Self::Other,
        }
    }

    /// The family of requests that say nothing about themselves.
    pub(super) fn family(self) -> Option<Family> {
        match self {
            Self::Claude => Some(Family::Anthropic),
            Self::Codex => Some(Family::Responses),
            Self::Gemini => Some(Family::Gemini),
            Self::Opencode | Self::Aider | Self::Other => None,
        }
    }

    /// Variables and arguments that point this client at a gateway at `http://127.0.0.1:PORT`. `proxied` tells whether variables name a proxy, which
    /// must not stand between the two; `except` is what they except already.
    pub(super) fn launch(self, base: &str, is_proxied: bool, except: Option<&str>) -> Launch {
        let anthropic = ("ANTHROPIC_BASE_URL", base.to_string());
        let gemini = ("GOOGLE_GEMINI_BASE_URL", base.to_string());
        let openai = ("OPENAI_BASE_URL", format!("{base}/v1"));
        let old_openai = ("OPENAI_API_BASE", format!("{base}/v1"));
        let mut launch = Launch::default();
        match self {
            Self::Claude => launch.variables.push(anthropic),
            // Its variable is not read any more.
            Self::Codex => {
                launch.arguments = vec!["-c".into(), format!("openai_base_url=\"{base}/v1\"")];
            }
            Self::Gemini => launch.variables.push(gemini),
            Self::Opencode => {
                let with = |path: &str| serde_json::json!({"options": {"baseURL": format!("{base}{path}")}});
                let config = serde_json::json!({"provider": {
                    "anthropic": with("/v1"), "openai": with("/v1"), "google": with("/v1beta"),
                }});
                launch.variables.push(("OPENCODE_CONFIG_CONTENT", config.to_string()));
            }
            Self::Aider => launch.variables.extend([anthropic, old_openai]),
            Self::Other => launch.variables.extend([anthropic, openai, old_openai, gemini]),
        }
        if is_proxied {
            let except = except.filter(|names| !names.trim().is_empty());
            let own = "127.0.0.1,localhost";
            let all = except.map_or_else(|| own.to_string(), |names| format!("{names},{own}"));
            launch.variables.extend([("NO_PROXY", all.clone()), ("no_proxy", all)]);
        }
        launch
    }
}

/// The arguments of a client: those that point it at the gateway, then its own.
pub(super) fn arguments(launch: &Launch, own: &[OsString]) -> Vec<OsString> {
    launch.arguments.iter().map(OsString::from).chain(own.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, expected: &[(&str, &str)], arguments: &[&str]) {
        let launch = Client::of(OsStr::new(program)).launch("http://127.0.0.1:7", false, None);
        let found: Vec<(&str, &str)> =
            launch.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(found, expected, "{program}");
        assert_eq!(launch.arguments, arguments, "{program}");
    }

    #[test]
    fn each_client_gets_its_own_variables_and_no_other() {
        check("claude", &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:7")], &[]);
        check("/usr/bin/codex", &[], &["-c", "openai_base_url=\"http://127.0.0.1:7/v1\""]);
        check("gemini", &[("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:7")], &[]);
        check(
            "aider",
            &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:7"), ("OPENAI_API_BASE", "http://127.0.0.1:7/v1")],
            &[],
        );
        let opencode = Client::Opencode.launch("http://h", false, None).variables;
        assert!(
            opencode[0].1.contains("\"google\":{\"options\":{\"baseURL\":\"http://h/v1beta\"}}"),
            "{opencode:?}"
        );
        assert_eq!(Client::of(OsStr::new("python3")), Client::Other);
    }

    #[test]
    fn a_proxy_does_not_stand_between() {
        let launch = Client::Claude.launch("http://h", true, Some("example.org"));
        assert!(launch.variables.contains(&("NO_PROXY", "example.org,127.0.0.1,localhost".into())));
        let own = [OsString::from("exec")];
        assert_eq!(arguments(&Client::Codex.launch("http://h", false, None), &own)[2], own[0]);
    }
}
