//! The agents whose sessions are found.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! agents {
    ($($name:ident $word:literal $title:literal,)*) => {
        /// An agent that keeps sessions on this machine.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Agent {
            $(#[doc = $title] $name,)*
        }

        impl Agent {
            /// Every agent.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// A stable word for machines.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The name people know it by.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

agents! {
    Claude "claude" "Claude Code",
    Codex "codex" "Codex",
    Gemini "gemini" "Gemini CLI",
    Longhaul "longhaul" "Longhaul",
    Antigravity "antigravity" "Antigravity",
    Opencode "opencode" "opencode",
    Cursor "cursor" "Cursor",
    Copilot "copilot" "Copilot CLI",
    Vscode "vscode" "VS Code",
    Qwen "qwen" "Qwen Code",
    Kimi "kimi" "Kimi",
    Goose "goose" "goose",
    Cline "cline" "Cline",
    Roo "roo" "Roo Code",
    Pi "pi" "pi",
    Omp "omp" "omp",
    Droid "droid" "Droid",
}

impl Agent {
    /// The agent of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|agent| agent.as_str() == word)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
