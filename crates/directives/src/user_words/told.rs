//! Sentences that stand elsewhere already, so that nothing is said twice.

use std::collections::HashSet;

use longhaul_text::{Unit, split_units};

/// Sentences that stand elsewhere already.
pub(super) struct Told {
    /// In normal form.
    sentences: HashSet<String>,
    /// Whole texts in normal form, each of which may hold several sentences.
    texts: Vec<String>,
}

/// A sentence of fewer characters is no part of another one just because it is found in it.
const SHORTEST_PART: usize = 12;

impl Told {
    pub(super) fn new(texts: &[String]) -> Self {
        let mut told = Self { sentences: HashSet::new(), texts: Vec::new() };
        // What was cut is not told.
        for text in texts.iter().filter(|text| !text.ends_with('…')) {
            told.add(text);
            told.texts.push(normal(text));
        }
        told
    }

    /// Notes the sentences of a text.
    pub(super) fn add(&mut self, text: &str) {
        self.sentences.extend(split_units(text).iter().map(|unit| normal(unit.text)));
    }

    /// The units of a text that are not told, each once.
    pub(super) fn untold_units<'t>(&self, text: &'t str) -> Vec<Unit<'t>> {
        let mut seen = HashSet::new();
        let mut units = split_units(text);
        units.retain(|unit| {
            let own = normal(unit.text);
            !is_screenshot(unit.text) && !self.says(&own) && seen.insert(own)
        });
        units
    }

    fn says(&self, sentence: &str) -> bool {
        self.sentences.contains(sentence)
            || sentence.chars().count() >= SHORTEST_PART
                && self.texts.iter().any(|text| text.contains(sentence))
    }
}

/// Returns true for the path of a screenshot that nobody can look at again.
fn is_screenshot(unit: &str) -> bool {
    let path = unit.trim().trim_matches(['\'', '"', '`']);
    let is_image = [".png", ".jpg", ".jpeg", ".gif"].iter().any(|end| path.ends_with(end));
    is_image && ["/var/folders/", "/tmp/", "/private/var/"].iter().any(|start| path.starts_with(start))
}

/// A sentence without case, and without white space and stops around its words.
fn normal(sentence: &str) -> String {
    let words: Vec<String> = sentence.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ").trim_matches(['.', '!', ';', ',', ':', '。', '！', '*']).to_string()
}
