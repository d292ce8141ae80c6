//! The words by which past sessions are mined: the data file `mining.txt`.

use std::sync::LazyLock;

/// The words of every role.
pub(crate) struct MiningWords {
    /// Programs that only look, move about or print.
    pub(crate) looking: Vec<&'static str>,
    /// Verbs of git that only look.
    pub(crate) git_looking: Vec<&'static str>,
    /// Commands that any competent agent runs unasked.
    pub(crate) common: Vec<&'static str>,
    /// Beginnings of corrections.
    pub(crate) correction_starts: Vec<String>,
    /// Words inside corrections.
    pub(crate) corrections: Vec<&'static str>,
    /// Words that say nothing about what a correction means.
    pub(crate) correction_fillers: Vec<&'static str>,
    /// Words that do not say what a request is about.
    pub(crate) request_fillers: Vec<&'static str>,
    /// Programs that run a task or a script, which says what is done.
    pub(crate) launchers: Vec<&'static str>,
    /// Words between a launcher and the task.
    pub(crate) connectors: Vec<&'static str>,
    /// Verbs that need the next word to say what is done.
    pub(crate) groups: Vec<&'static str>,
    /// Options with a value behind them.
    pub(crate) valued_options: Vec<&'static str>,
}

pub(crate) static MINING_WORDS: LazyLock<MiningWords> = LazyLock::new(|| {
    let lines = include_str!("mining.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let items: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
    let of = |role: &str| -> Vec<&'static str> {
        items.iter().filter(|(known, _)| *known == role).map(|(_, words)| *words).collect()
    };
    let starts = of("correction-start").into_iter();
    MiningWords {
        looking: of("looks"),
        git_looking: of("git-looks"),
        common: of("common"),
        correction_starts: starts.map(|start| start.replace('_', " ")).collect(),
        corrections: of("correction"),
        correction_fillers: of("correction-filler"),
        request_fillers: of("request-filler"),
        launchers: of("launcher"),
        connectors: of("connector"),
        groups: of("group"),
        valued_options: of("valued-option"),
    }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_of_use() {
        let lines = include_str!("mining.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        let words = &*MINING_WORDS;
        let lists = [
            &words.looking,
            &words.git_looking,
            &words.common,
            &words.corrections,
            &words.correction_fillers,
            &words.request_fillers,
            &words.launchers,
            &words.connectors,
            &words.groups,
            &words.valued_options,
        ];
        let read: usize = lists.iter().map(|list| list.len()).sum();
        assert_eq!(read + words.correction_starts.len(), lines);
        assert!(words.correction_starts.contains(&"no ".to_string()));
    }
}
