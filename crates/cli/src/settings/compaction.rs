//! What the settings say about compaction.

use longhaul_context::Threshold;
use longhaul_conversation::TokenCount;

use super::kind;
use super::layers::Settings;

impl Settings {
    /// The threshold that the user set: ours, else that of Gemini CLI.
    pub(crate) fn threshold(&self) -> Option<Threshold> {
        let ours = || kind::threshold(self.value(&["longhaul", "compaction", "threshold"])?);
        let gemini = || kind::gemini_threshold(self.value(&["model", "compressionThreshold"])?);
        ours().or_else(gemini)
    }

    /// The largest part of a conversation that stays.
    pub(crate) fn keep(&self) -> Option<f64> {
        kind::share(self.value(&["longhaul", "compaction", "keep"])?)
    }

    /// What a compaction may add beside the tail.
    pub(crate) fn snapshot_budget(&self) -> Option<TokenCount> {
        kind::tokens(self.value(&["longhaul", "compaction", "snapshotBudget"])?)
    }

    /// What a compaction should get below.
    pub(crate) fn target(&self) -> Option<TokenCount> {
        kind::tokens(self.value(&["longhaul", "compaction", "target"])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Loaded;
    use std::path::Path;

    fn compaction(text: &str) -> Settings {
        let mut loaded = Loaded::default();
        loaded.add(Path::new("s.json").into(), text.as_bytes()).unwrap();
        loaded.settings
    }

    #[track_caller]
    fn check_threshold(text: &str, expected: Option<Threshold>) {
        assert_eq!(compaction(text).threshold(), expected, "{text}");
    }

    #[test]
    fn our_threshold_wins_over_gemini_clis() {
        check_threshold("{}", None);
        check_threshold(r#"{"model": {"compressionThreshold": 0.2}}"#, Some(Threshold::Share(0.2)));
        check_threshold(r#"{"model": {"compressionThreshold": 0}}"#, None);
        let both =
            r#"{"model": {"compressionThreshold": 0.2}, "longhaul": {"compaction": {"threshold": "200k"}}}"#;
        check_threshold(both, Some(Threshold::Tokens(TokenCount(200_000))));
        check_threshold(r#"{"longhaul": {"compaction": {"threshold": "off"}}}"#, Some(Threshold::Off));
        check_threshold(r#"{"longhaul": {"compaction": {"threshold": 0.4}}}"#, Some(Threshold::Share(0.4)));
    }

    #[test]
    fn sizes_are_read() {
        let settings = compaction(
            r#"{"longhaul": {"compaction": {"keep": "25%", "snapshotBudget": "2k", "target": 50000}}}"#,
        );
        assert_eq!(settings.keep(), Some(0.25));
        assert_eq!(settings.snapshot_budget(), Some(TokenCount(2_000)));
        assert_eq!(settings.target(), Some(TokenCount(50_000)));
        let none = compaction("");
        assert_eq!((none.keep(), none.snapshot_budget(), none.target()), (None, None, None));
    }
}
