//! The table of known keys: ours, those of Gemini CLI that Longhaul understands, and those it passes over.

use serde_json::Value;

use super::kind::Kind;

/// A key that may stand in a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The key, with dots between its parts.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds if it is not set, in words.
    pub default: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
}

const fn key(path: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { path, kind, default, about }
}

/// Longhaul's own keys.
pub(crate) const OURS: &[Key] = &[
    key(
        "longhaul.compaction.threshold",
        Kind::Threshold,
        "`model.compressionThreshold`, else half the window",
        "How full the window is when a conversation is compacted.",
    ),
    key(
        "longhaul.compaction.thresholds",
        Kind::ThresholdsByModel,
        "none",
        "The same for single models, by their name or by how it begins; the closest match wins over `threshold`.",
    ),
    key(
        "longhaul.compaction.keep",
        Kind::Share,
        "0.3",
        "The largest part of the conversation that stays word for word.",
    ),
    key(
        "longhaul.compaction.snapshotBudget",
        Kind::Tokens,
        "4,000, or 15 % of the window if that is less",
        "What a compaction may add beside the part that stays.",
    ),
    key(
        "longhaul.compaction.target",
        Kind::Tokens,
        "half the threshold",
        "The size that a compaction should get below.",
    ),
    key(
        "longhaul.compaction.fallback",
        Kind::OneOf(&["offline", "off"]),
        "`\"offline\"`",
        "What happens if a model's summary fails: the offline summariser takes over, or the history stays.",
    ),
    key(
        "longhaul.compaction.verify",
        Kind::OneOf(&["coverage", "model", "both", "off"]),
        "`\"coverage\"`",
        "How a model's summary is checked: by measuring what it kept, by a second call, both, or not at all.",
    ),
    key(
        "longhaul.compaction.count",
        Kind::OneOf(&["estimated", "exact"]),
        "`\"estimated\"`",
        "How sizes are measured before and after: by estimate, or by the provider; where it cannot, nothing is changed.",
    ),
    key(
        "longhaul.compaction.maxTokens",
        Kind::Tokens,
        "none",
        "What models may be asked for snapshots in one session, however often it is resumed, in tokens read and written; then they are written offline.",
    ),
    key("longhaul.compaction.maxCost", Kind::Price, "none", "The same in dollars, where prices are known."),
    key(
        "longhaul.telemetry.file",
        Kind::Text,
        "none",
        "A file that gets a line of JSON for each compaction and each shortened output: figures, never text.",
    ),
    key(
        "longhaul.compaction.summariser",
        Kind::OneOf(&["model", "offline"]),
        "`\"model\"`",
        "Who writes the snapshot when a conversation with a model is compacted: a model, or Longhaul itself.",
    ),
    key(
        "longhaul.compaction.model",
        Kind::Text,
        "the model of the conversation",
        "The model that writes snapshots; a cheaper one may do.",
    ),
    key(
        "longhaul.providers.*.format",
        Kind::OneOf(&["gemini", "openai", "anthropic"]),
        "by the name, else `\"openai\"`",
        "How the provider of this name wants to be spoken to.",
    ),
    key(
        "longhaul.providers.*.endpoint",
        Kind::Text,
        "the vendor's own",
        "The address that requests go to, such as `http://localhost:11434/v1`.",
    ),
    key(
        "longhaul.providers.*.keyVariable",
        Kind::Text,
        "the vendor's, else the name with `_API_KEY`",
        "The environment variable that holds the key; an endpoint on this machine needs none.",
    ),
    key(
        "longhaul.providers.*.idleSeconds",
        Kind::Seconds,
        "180",
        "How long nothing of an answer may arrive before a call counts as failed; keep-alives do not count. Models may think before they say anything.",
    ),
    key(
        "longhaul.providers.*.models.*.window",
        Kind::Tokens,
        "`longhaul.windows`, else the table of known models",
        "The context window of this provider's model.",
    ),
    key(
        "longhaul.providers.*.models.*.outputReserve",
        Kind::Tokens,
        "what its provider needs to be told",
        "How much of the window is left for the answer.",
    ),
    key(
        "longhaul.providers.*.models.*.prices.input",
        Kind::Price,
        "the table of known prices",
        "What a million tokens of requests cost, in dollars.",
    ),
    key(
        "longhaul.providers.*.models.*.prices.cached",
        Kind::Price,
        "the price of requests",
        "The same for tokens that come from the provider's cache.",
    ),
    key(
        "longhaul.providers.*.models.*.prices.output",
        Kind::Price,
        "the table of known prices",
        "What a million tokens of answers cost, in dollars.",
    ),
    key(
        "longhaul.answers.textBytes",
        Kind::Bytes,
        "16 for each token the model may answer, at most 4MB",
        "How much text one answer may have. A longer one is cut off there, and the turn ends.",
    ),
    key(
        "longhaul.answers.thoughtBytes",
        Kind::Bytes,
        "16 for each token the model may answer, at most 8MB",
        "The same for its reasoning.",
    ),
    key(
        "longhaul.answers.argumentBytes",
        Kind::Bytes,
        "16 for each token the model may answer, at most 16MB",
        "The same for the arguments of all its tool calls.",
    ),
    key(
        "longhaul.answers.mediaBytes",
        Kind::Bytes,
        "64MB",
        "The same for images and whatever else it holds.",
    ),
    key("longhaul.answers.calls", Kind::Count, "1,000", "How many tools one answer may call."),
    key(
        "longhaul.answers.streamBytes",
        Kind::Bytes,
        "256MB",
        "How much a provider may send for one answer, keep-alives and all.",
    ),
    key("longhaul.answers.seconds", Kind::Seconds, "1800", "How long one answer may take, retries included."),
    key(
        "longhaul.tools.commandSeconds",
        Kind::Seconds,
        "1800 with `-p`, none at a terminal",
        "How long a command of the model's may run in all, whatever timeout its call names; then it is stopped with all that it started. What runs in the background ends with the turn.",
    ),
    key(
        "longhaul.estimate.nonAscii",
        Kind::Weight,
        "1.3",
        "The tokens that a character outside ASCII is estimated at; newer versions of Gemini CLI use 1.5.",
    ),
    key(
        "longhaul.windows",
        Kind::TokensByName,
        "the table of known models",
        "The context window of each model, by its name.",
    ),
    key(
        "longhaul.hooks.preCompress",
        Kind::OneOf(&["always", "when-needed"]),
        "`\"always\"`",
        "When PreCompress hooks run: before every look at the threshold, or only before a real compaction.",
    ),
    key(
        "longhaul.helper.model",
        Kind::Text,
        "with Gemini `flash-lite`, else the model of the conversation",
        "The model for small questions beside the conversation: judging long turns, routing, summaries of sessions and outputs.",
    ),
    key(
        "longhaul.loops.judge",
        Kind::Boolean,
        "true",
        "Whether a model judges, from the thirtieth step of a turn on, if the work still gets anywhere.",
    ),
    key(
        "longhaul.routing.perPrompt",
        Kind::Boolean,
        "true",
        "Whether the model `auto` means a choice between two for each prompt.",
    ),
    key("longhaul.routing.flash", Kind::Text, "`\"flash\"`", "The one of the two for what is simple."),
    key("longhaul.routing.pro", Kind::Text, "`\"pro\"`", "The one of the two for what is hard."),
    key(
        "longhaul.routing.byScore",
        Kind::Boolean,
        "false",
        "Whether the choice rests on a score of 1 to 100 for how hard a prompt is. Without a valid one, the usual model answers.",
    ),
    key(
        "longhaul.routing.scoreThreshold",
        Kind::WholeNumber,
        "90",
        "The score from which on a prompt goes to the model for what is hard.",
    ),
    key(
        "longhaul.ide.file",
        Kind::Text,
        "none",
        "The file in which your editor says what you have open; a relative path begins in the current folder.",
    ),
    key(
        "longhaul.summary.atEnd",
        Kind::Boolean,
        "false",
        "Whether a model says in a line what a session was about when it ends, with `-p`; else its first request names it.",
    ),
    key(
        "longhaul.memory.discovery",
        Kind::OneOf(&["tiered", "full"]),
        "`\"tiered\"`",
        "How memory files are found: upwards and on demand, or by a scan of the whole workspace.",
    ),
    key(
        "longhaul.memory.importDepth",
        Kind::WholeNumber,
        "5",
        "How many imports deep a file may be that a memory file brings in.",
    ),
    key(
        "longhaul.memory.importOnlyMarkdown",
        Kind::Boolean,
        "false",
        "Whether memory files import nothing but Markdown.",
    ),
    key(
        "longhaul.memory.labels",
        Kind::OneOf(&["absolute", "relative"]),
        "`\"absolute\"`",
        "How the paths of memory files are written for models.",
    ),
    key(
        "longhaul.memory.budgets",
        Kind::TokensByName,
        "16,000 each, for `project` 40,000",
        "What models are given of `global`, `extension`, `private` and `project` memory, and `justInTime`.",
    ),
    key(
        "longhaul.memory.staleAfterDays",
        Kind::WholeNumber,
        "90",
        "After how many days without a change models are told that global or private memory may be out of date.",
    ),
];

/// Keys of Gemini CLI that Longhaul understands.
pub(crate) const GEMINI: &[Key] = &[
    key("model.name", Kind::Text, "none", "The model to talk to."),
    key(
        "model.compressionThreshold",
        Kind::GeminiThreshold,
        "0.5",
        "How full the window is when a conversation is compacted; 0 leaves it unset.",
    ),
    key(
        "model.maxSessionTurns",
        Kind::WholeNumber,
        "-1",
        "How many turns a session may have; -1 for any number.",
    ),
    key(
        "model.summarizeToolOutput",
        Kind::Object,
        "none",
        "The tools whose output is summarised, each with its `tokenBudget` (2,000 if not set): `run_shell_command`.",
    ),
    key(
        "model.disableLoopDetection",
        Kind::Boolean,
        "false",
        "Whether nobody watches for a model that goes in circles.",
    ),
    key(
        "general.defaultApprovalMode",
        Kind::OneOf(&["default", "auto_edit", "autoEdit", "yolo", "plan"]),
        "`\"default\"`",
        "How much you want to be asked before a tool runs, unless `--approval-mode` says.",
    ),
    key(
        "ui.accessibility.screenReader",
        Kind::Boolean,
        "false",
        "Whether you are talked to in plain lines and words, as with `--screen-reader`.",
    ),
    key(
        "tools.allowed",
        Kind::Texts,
        "none",
        "Tools that run without asking, such as `run_shell_command(git log)`.",
    ),
    key(
        "tools.exclude",
        Kind::Texts,
        "none",
        "Tools that never run; the model is not told of those named without a command in brackets.",
    ),
    key("tools.confirmationRequired", Kind::Texts, "none", "Tools that you are always asked about."),
    key(
        "tools.core",
        Kind::Texts,
        "all of them",
        "The tools to choose from, which then run without asking; the model is told of no others for files and commands.",
    ),
    key(
        "tools.truncateToolOutputThreshold",
        Kind::WholeNumber,
        "40,000",
        "How many characters of a tool's output are kept; 0 or less keeps all.",
    ),
    key(
        "tools.truncateToolOutputLines",
        Kind::WholeNumber,
        "1,000",
        "How many lines of a shortened output are kept.",
    ),
    key(
        "tools.enableToolOutputTruncation",
        Kind::Boolean,
        "true",
        "Whether long outputs of tools are shortened.",
    ),
    key(
        "context.fileName",
        Kind::TextOrTexts,
        "`GEMINI.md`",
        "The names of memory files, beside `GEMINI.md`.",
    ),
    key("context.importFormat", Kind::OneOf(&["tree", "flat"]), "`\"tree\"`", "How imports are laid out."),
    key(
        "context.discoveryMaxDirs",
        Kind::WholeNumber,
        "200",
        "How many folders a full scan for memory files visits.",
    ),
    key(
        "context.memoryBoundaryMarkers",
        Kind::Texts,
        "`[\".git\"]`",
        "What marks the folder above which memory files do not count.",
    ),
    key("context.includeDirectories", Kind::Texts, "none", "More folders that belong to the workspace."),
    key(
        "context.loadMemoryFromIncludeDirectories",
        Kind::Boolean,
        "false",
        "Whether memory files are looked for in those folders too.",
    ),
    key(
        "context.includeDirectoryTree",
        Kind::Boolean,
        "true",
        "Whether the model is shown the tree of the workspace.",
    ),
    key(
        "context.fileFiltering.respectGitIgnore",
        Kind::Boolean,
        "true; for memory files false",
        "Whether `.gitignore` hides files.",
    ),
    key(
        "context.fileFiltering.respectGeminiIgnore",
        Kind::Boolean,
        "true",
        "Whether `.geminiignore` hides files.",
    ),
    key("context.fileFiltering.customIgnoreFilePaths", Kind::Texts, "none", "More files of the same kind."),
    key("general.sessionRetention.enabled", Kind::Boolean, "true", "Whether old sessions are deleted."),
    key(
        "general.sessionRetention.maxAge",
        Kind::Text,
        "`\"30d\"`",
        "The age from which a session is deleted.",
    ),
    key("general.sessionRetention.maxCount", Kind::WholeNumber, "none", "How many sessions are kept."),
    key(
        "general.sessionRetention.minRetention",
        Kind::Text,
        "`\"1d\"`",
        "The age up to which none is deleted.",
    ),
    key("skills.enabled", Kind::Boolean, "true", "Whether there are skills."),
    key("skills.disabled", Kind::Texts, "none", "Skills that are not offered."),
    key("hooksConfig.enabled", Kind::Boolean, "true", "Whether hooks run."),
    key("hooksConfig.disabled", Kind::Texts, "none", "Hooks that do not run, by name."),
    key("hooksConfig.notifications", Kind::Boolean, "true", "Whether it is shown that a hook runs."),
    key("hooks", Kind::Object, "none", "Commands to run at certain events, such as `PreCompress`."),
    key("experimental.jitContext", Kind::Boolean, "true", "Whether memory files are loaded on demand."),
    key(
        "experimental.memoryManager",
        Kind::Boolean,
        "false",
        "Whether an agent of its own keeps memory files, in the place of the tool `save_memory`.",
    ),
    key(
        "experimental.autoMemory",
        Kind::Boolean,
        "false",
        "Whether skills and facts are learned from past sessions in the background.",
    ),
    key("security.folderTrust.enabled", Kind::Boolean, "true", "Whether folders must be trusted first."),
    key(
        "security.disableYoloMode",
        Kind::Boolean,
        "false",
        "Whether the mode `yolo` is refused, also with `--yolo`.",
    ),
    key(
        "security.disableAlwaysAllow",
        Kind::Boolean,
        "false",
        "Whether nothing can be allowed for good when you are asked.",
    ),
    key(
        "security.enablePermanentToolApproval",
        Kind::Boolean,
        "true",
        "Whether what you always allow is kept for later sessions; `false` keeps it for this one.",
    ),
    key("security.blockGitExtensions", Kind::Boolean, "false", "With `true`, no extension counts."),
    key("security.allowedExtensions", Kind::Texts, "none", "With any pattern in it, no extension counts."),
    key(
        "security.environmentVariableRedaction.enabled",
        Kind::Boolean,
        "true",
        "Whether variables that hold secrets are withheld from commands and hooks; only the user's own settings count.",
    ),
    key(
        "security.environmentVariableRedaction.allowed",
        Kind::Texts,
        "none",
        "Variables that commands and hooks are given all the same; only the user's own settings count.",
    ),
    key(
        "security.environmentVariableRedaction.blocked",
        Kind::Texts,
        "none",
        "Variables that they are not given, whatever they look like.",
    ),
    key("admin.secureModeEnabled", Kind::Boolean, "false", "As `disableYoloMode` and `disableAlwaysAllow`."),
    key("admin.extensions.enabled", Kind::Boolean, "true", "Whether an administrator allows extensions."),
    key(
        "admin.mcp.enabled",
        Kind::Boolean,
        "true",
        "Whether an administrator allows MCP servers; none is started.",
    ),
    key("admin.skills.enabled", Kind::Boolean, "true", "Whether an administrator allows skills."),
    key("extensions.disabled", Kind::Texts, "none", "Extensions that do not count, by name."),
    key(
        "agents.overrides",
        Kind::Object,
        "none",
        "Sub-agents by name; one with `\"enabled\": false` cannot be started. Nothing else in it counts.",
    ),
    key("experimental.enableAgents", Kind::Boolean, "true", "Whether there are sub-agents."),
    key("policyPaths", Kind::Texts, "none", "More policies of yours; not from a workspace's settings."),
    key(
        "adminPolicyPaths",
        Kind::Texts,
        "none",
        "More policies of the administrator's; not from a workspace's settings.",
    ),
];

/// A key of Gemini CLI, or a section of such keys, that Longhaul does not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    /// The key, with dots between its parts.
    pub path: &'static str,
    /// What that means.
    pub(crate) treatment: Treatment,
}

/// What it means that a key is not read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Treatment {
    /// Nothing: it is about looks, updates or something that Longhaul does not have or always does.
    NoEffect,
    /// What it asks for does not happen, which is told.
    NotHonoured,
    /// It restricts what an agent may do. Where it does, no agent starts.
    Refused {
        /// Whether this value restricts anything.
        restricts: fn(&Value) -> bool,
        /// What is asked for, as the end of a sentence.
        asks_for: &'static str,
    },
}

const fn unread(path: &'static str, treatment: Treatment) -> Unread {
    Unread { path, treatment }
}

/// Keys of Gemini CLI that stop an agent where they restrict it.
pub(crate) const REFUSED: &[Unread] = &[
    unread(
        "tools.sandbox",
        Treatment::Refused { restricts: is_wanted, asks_for: "a sandbox, which Longhaul does not have" },
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
            asks_for: "a way to sign in that Longhaul does not have",
        },
    ),
];

/// Keys of Gemini CLI in the same sections that are not read. What they hold is not looked at.
pub(super) const UNREAD: &[Unread] = &[
    unread("context.fileFiltering.disableFuzzySearch", Treatment::NoEffect),
    unread("context.fileFiltering.enableFileWatcher", Treatment::NoEffect),
    unread("context.fileFiltering.enableFuzzySearch", Treatment::NoEffect),
    unread("context.fileFiltering.enableRecursiveFileSearch", Treatment::NoEffect),
    unread("general.checkpointing", Treatment::NotHonoured),
    unread("general.debugKeystrokeLogging", Treatment::NoEffect),
    unread("general.devtools", Treatment::NoEffect),
    unread("general.disableAutoUpdate", Treatment::NoEffect),
    unread("general.disableUpdateNag", Treatment::NoEffect),
    unread("general.enableAutoUpdate", Treatment::NoEffect),
    unread("general.enableAutoUpdateNotification", Treatment::NoEffect),
    unread("general.enableNotifications", Treatment::NoEffect),
    unread("general.enablePromptCompletion", Treatment::NoEffect),
    unread("general.maxAttempts", Treatment::NotHonoured),
    unread("general.plan", Treatment::NotHonoured),
    unread("general.preferredEditor", Treatment::NotHonoured),
    unread("general.previewFeatures", Treatment::NoEffect),
    unread("general.retryFetchErrors", Treatment::NotHonoured),
    unread("general.sessionRetention.warningAcknowledged", Treatment::NoEffect),
    unread("general.vimMode", Treatment::NotHonoured),
    unread("model.chatCompression", Treatment::NotHonoured),
    unread("model.skipNextSpeakerCheck", Treatment::NoEffect),
    unread("security.auth.selectedType", Treatment::NoEffect),
    unread("security.auth.useExternal", Treatment::NotHonoured),
    unread("security.autoAddToPolicyByDefault", Treatment::NoEffect),
    unread("tools.autoAccept", Treatment::NotHonoured),
    unread("tools.callCommand", Treatment::NotHonoured),
    unread("tools.disableLLMCorrection", Treatment::NoEffect),
    unread("tools.discoveryCommand", Treatment::NotHonoured),
    unread("tools.enableHooks", Treatment::NotHonoured),
    unread("tools.enableMessageBusIntegration", Treatment::NoEffect),
    unread("tools.sandboxAllowedPaths", Treatment::NotHonoured),
    unread("tools.sandboxNetworkAccess", Treatment::NotHonoured),
    unread("tools.shell", Treatment::NotHonoured),
    unread("tools.usePty", Treatment::NoEffect),
    unread("tools.useRipgrep", Treatment::NoEffect),
];

/// Sections and single keys of Gemini CLI at the top of the file that may hold anything. `experimental` is one of them as
/// experiments come and go with each of its versions.
pub(super) const OPEN: &[Unread] = &[
    // Whatever else an administrator asks for, nobody knows what it is.
    unread(
        "admin",
        Treatment::Refused {
            restricts: |value| !value.is_null(),
            asks_for: "something that Longhaul does not know",
        },
    ),
    unread("advanced", Treatment::NotHonoured),
    unread("agents", Treatment::NotHonoured),
    unread("billing", Treatment::NoEffect),
    unread("contextManagement", Treatment::NotHonoured),
    unread("experimental", Treatment::NotHonoured),
    unread("extensions", Treatment::NotHonoured),
    unread("ide", Treatment::NoEffect),
    unread("mcp", Treatment::NoEffect),
    unread("mcpServers", Treatment::NotHonoured),
    unread("modelConfigs", Treatment::NotHonoured),
    unread("output", Treatment::NotHonoured),
    unread("privacy", Treatment::NoEffect),
    unread("security", Treatment::NotHonoured),
    unread("telemetry", Treatment::NotHonoured),
    unread("ui", Treatment::NoEffect),
    unread("useSmartEdit", Treatment::NoEffect),
    unread("useWriteTodos", Treatment::NotHonoured),
];

/// Whether a value asks for something: anything but `false`, nothing, or an object that is switched off.
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

/// Names that keys had in earlier versions of Gemini CLI or in texts about it.
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

/// Every key of the table.
pub(super) fn table() -> impl Iterator<Item = &'static Key> {
    OURS.iter().chain(GEMINI)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys as a table of Markdown.
    fn markdown(keys: &[Key]) -> String {
        let mut text = String::from("| Key | Value | Default | Meaning |\n| --- | --- | --- | --- |\n");
        for Key { path, kind, default, about } in keys {
            text.push_str(&format!("| `{path}` | {} | {default} | {about} |\n", kind.words()));
        }
        text
    }

    #[test]
    fn the_docs_list_exactly_the_table() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
        let docs = std::fs::read_to_string(docs).unwrap().replace("\r\n", "\n");
        for keys in [OURS, GEMINI] {
            let table = markdown(keys);
            assert!(docs.contains(&table), "docs/settings.md must contain this table:\n\n{table}");
        }
        let refused: String = REFUSED
            .iter()
            .map(|key| match key.treatment {
                Treatment::Refused { asks_for, .. } => format!("| `{}` | {asks_for} |\n", key.path),
                Treatment::NoEffect | Treatment::NotHonoured => panic!("{}", key.path),
            })
            .collect();
        assert!(docs.contains(&refused), "docs/settings.md must contain these rows:\n\n{refused}");
        let rows = docs.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(
            rows,
            OURS.len() + GEMINI.len() + REFUSED.len(),
            "docs/settings.md has rows that the table has not"
        );
        let listed = |treatment: fn(&Treatment) -> bool| {
            let keys = UNREAD.iter().chain(OPEN).filter(|key| treatment(&key.treatment));
            keys.map(|key| format!("`{}`", key.path)).collect::<Vec<_>>().join(", ")
        };
        for list in [
            listed(|treatment| matches!(treatment, Treatment::NotHonoured)),
            listed(|treatment| matches!(treatment, Treatment::NoEffect)),
        ] {
            assert!(docs.contains(&list), "docs/settings.md must contain this list:\n\n{list}");
        }
    }

    #[test]
    fn a_value_asks_for_something_or_does_not() {
        for wanted in ["true", "\"docker\"", "{}", "{\"enabled\": true}", "1", "[]"] {
            assert!(is_wanted(&serde_json::from_str(wanted).unwrap()), "{wanted}");
        }
        for unwanted in ["false", "null", "\"\"", "\"False\"", "{\"enabled\": false}"] {
            assert!(!is_wanted(&serde_json::from_str(unwanted).unwrap()), "{unwanted}");
        }
    }

    #[test]
    fn every_key_is_listed_once() {
        let unread = REFUSED.iter().chain(UNREAD).map(|key| key.path);
        let mut paths: Vec<&str> = table().map(|key| key.path).chain(unread).collect();
        paths.sort_unstable();
        // A key above another one would hide it.
        for pair in paths.windows(2) {
            assert!(pair[0] != pair[1] && !pair[1].starts_with(&format!("{}.", pair[0])), "{pair:?}");
        }
        assert!(OURS.iter().all(|key| key.path.starts_with("longhaul.")));
        assert!(RENAMED.iter().all(|(_, new)| paths.iter().any(|path| path.starts_with(new))));
    }
}
