//! Gemini CLI keys that Longhaul knows and does not read, and former names of keys.

use serde_json::Value;

/// A Gemini CLI key, or a section of keys, that Longhaul does not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    /// The key, with dots between its parts.
    pub(crate) path: &'static str,
    /// The effect of setting it.
    pub(crate) treatment: Treatment,
}

/// The effect of setting an unread key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Treatment {
    /// None: it is about looks, updates or something that Longhaul does not have or always does.
    NoEffect,
    /// It asks for something that does not happen, which is reported.
    Unsupported,
    /// The same for some values; the others ask for what Longhaul does anyway.
    UnsupportedIf(fn(&Value) -> bool),
    /// It restricts what an agent may do. If it does, no agent starts.
    Refused {
        /// True if this value restricts anything.
        restricts: fn(&Value) -> bool,
        /// The thing it asks for, as the end of a sentence.
        asks_for: &'static str,
    },
}

const fn unread(path: &'static str, treatment: Treatment) -> Unread {
    Unread { path, treatment }
}

/// Gemini CLI keys that stop an agent if they restrict it.
pub(crate) const REFUSED: &[Unread] = &[
    unread(
        "tools.sandbox",
        Treatment::Refused {
            restricts: |value| is_wanted(value) && !is_landlock(value),
            asks_for: "a sandbox that Longhaul does not have; it has only Landlock",
        },
    ),
    unread(
        "security.toolSandboxing",
        Treatment::Refused {
            restricts: is_wanted,
            asks_for: "a sandbox for tools, which Longhaul does not have",
        },
    ),
    unread(
        "security.enableConseca",
        Treatment::Refused {
            restricts: is_wanted,
            asks_for: "a security checker that Longhaul does not have",
        },
    ),
    unread(
        "security.auth.enforcedType",
        Treatment::Refused {
            restricts: |value| is_wanted(value) && value != "gemini-api-key",
            asks_for: "a sign-in method that Longhaul does not have",
        },
    ),
];

/// Unread Gemini CLI keys in sections with supported ones. Their values are not checked.
pub(super) const UNREAD: &[Unread] = &[
    unread("contextManagement.tools.outputMasking.protectLatestTurn", Treatment::UnsupportedIf(is_false)),
    unread("experimental.contextManagement", Treatment::UnsupportedIf(is_wanted)),
    unread("experimental.generalistProfile", Treatment::UnsupportedIf(is_wanted)),
    unread("experimental.powerUserProfile", Treatment::UnsupportedIf(is_wanted)),
    unread("experimental.stressTestProfile", Treatment::UnsupportedIf(is_wanted)),
    unread("context.fileFiltering.disableFuzzySearch", Treatment::NoEffect),
    unread("context.fileFiltering.enableFileWatcher", Treatment::NoEffect),
    unread("context.fileFiltering.enableFuzzySearch", Treatment::NoEffect),
    unread("context.fileFiltering.enableRecursiveFileSearch", Treatment::NoEffect),
    unread("general.debugKeystrokeLogging", Treatment::NoEffect),
    unread("general.devtools", Treatment::NoEffect),
    unread("general.disableAutoUpdate", Treatment::NoEffect),
    unread("general.disableUpdateNag", Treatment::NoEffect),
    unread("general.enableAutoUpdate", Treatment::NoEffect),
    unread("general.enableAutoUpdateNotification", Treatment::NoEffect),
    unread("general.enablePromptCompletion", Treatment::NoEffect),
    unread("general.logRagSnippets", Treatment::NoEffect),
    unread("general.maxAttempts", Treatment::Unsupported),
    unread("general.openEditorInNewWindow", Treatment::NoEffect),
    unread("general.plan", Treatment::Unsupported),
    unread("general.preferredEditor", Treatment::Unsupported),
    unread("general.previewFeatures", Treatment::NoEffect),
    unread("general.retryFetchErrors", Treatment::Unsupported),
    unread("general.sessionRetention.warningAcknowledged", Treatment::NoEffect),
    unread("general.topicUpdateNarration", Treatment::NoEffect),
    unread("model.chatCompression", Treatment::Unsupported),
    unread("model.skipNextSpeakerCheck", Treatment::UnsupportedIf(is_false)),
    unread("security.auth.selectedType", Treatment::NoEffect),
    unread("security.auth.useExternal", Treatment::Unsupported),
    unread("security.autoAddToPolicyByDefault", Treatment::NoEffect),
    unread("tools.autoAccept", Treatment::Unsupported),
    unread("tools.callCommand", Treatment::Unsupported),
    unread("tools.disableLLMCorrection", Treatment::NoEffect),
    unread("tools.discoveryCommand", Treatment::Unsupported),
    unread("tools.enableHooks", Treatment::Unsupported),
    unread("tools.enableMessageBusIntegration", Treatment::NoEffect),
    unread("tools.shell", Treatment::Unsupported),
    unread("tools.usePty", Treatment::NoEffect),
    unread("tools.useRipgrep", Treatment::NoEffect),
];

/// Sections and top-level keys of Gemini CLI that may hold anything. `experimental` is one of them, as experiments come and
/// go with each version.
pub(super) const OPEN: &[Unread] = &[
    // Whatever else an administrator asks for, nobody knows what it is.
    unread(
        "admin",
        Treatment::Refused {
            restricts: |value| !value.is_null(),
            asks_for: "something that Longhaul does not know",
        },
    ),
    unread("advanced", Treatment::Unsupported),
    unread("agents", Treatment::Unsupported),
    unread("billing", Treatment::NoEffect),
    unread("contextManagement", Treatment::Unsupported),
    unread("experimental", Treatment::Unsupported),
    unread("extensions", Treatment::Unsupported),
    unread("ide", Treatment::NoEffect),
    unread("mcp", Treatment::Unsupported),
    unread("modelConfigs", Treatment::Unsupported),
    unread("output", Treatment::Unsupported),
    unread("privacy", Treatment::NoEffect),
    unread("security", Treatment::Unsupported),
    unread("telemetry", Treatment::Unsupported),
    unread("ui", Treatment::NoEffect),
    unread("useSmartEdit", Treatment::NoEffect),
    unread("useWriteTodos", Treatment::Unsupported),
];

/// Returns true if a value asks for something: anything but `false`, nothing, or an object that is switched off.
fn is_wanted(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => {
            !matches!(text.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "none")
        }
        Value::Object(object) => object.get("enabled").is_none_or(is_wanted),
        _ => true,
    }
}

/// True if a value of `tools.sandbox` is satisfied by Landlock.
pub(super) fn is_landlock(value: &Value) -> bool {
    match value {
        Value::Bool(is_wanted) => *is_wanted,
        Value::String(text) => names_landlock(text),
        _ => false,
    }
}

/// True if the variable asks for a sandbox of any kind, or for this one.
pub(super) fn names_landlock(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true" | "landlock")
}

fn is_false(value: &Value) -> bool {
    value == &Value::Bool(false)
}

/// Former names of keys, in earlier versions of Gemini CLI or texts about it.
pub(super) const RENAMED: &[(&str, &str)] = &[
    ("allowedTools", "tools.allowed"),
    ("contextFileName", "context.fileName"),
    ("coreTools", "tools.core"),
    ("excludeTools", "tools.exclude"),
    ("fileFiltering", "context.fileFiltering"),
    ("maxSessionTurns", "model.maxSessionTurns"),
    ("memoryDiscoveryMaxDirs", "context.discoveryMaxDirs"),
    ("memoryFiles", "context.fileName"),
    ("memoryImportFormat", "context.importFormat"),
    ("sandbox", "tools.sandbox"),
    ("summarizeToolOutput", "model.summarizeToolOutput"),
];

/// Every key that is known and not read.
pub(super) fn unread_keys() -> impl Iterator<Item = &'static Unread> {
    REFUSED.iter().chain(UNREAD).chain(OPEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_asks_for_something_or_does_not() {
        for wanted in ["true", "\"docker\"", "{}", "{\"enabled\": true}", "1", "[]"] {
            assert!(is_wanted(&serde_json::from_str(wanted).unwrap()), "{wanted}");
        }
        for unwanted in ["false", "null", "\"\"", "\"False\"", "{\"enabled\": false}"] {
            assert!(!is_wanted(&serde_json::from_str(unwanted).unwrap()), "{unwanted}");
        }
    }
}
