//! Scores: the share of needed names and sentences that a compacted conversation still contains.

use std::collections::HashSet;

use longhaul_conversation::Message;

use crate::anchors::{AnchorCollector, EvalAnchor, EvalAnchorKind};
use crate::index::{Neighbours, TextIndex, shared};
use crate::sentences::{Sentence, sentences};
use crate::text::{Rendering, Speaker, typed_texts, uses};

/// The number of original neighbours around a name that makes it grounded.
const GROUNDING: usize = 4;

/// A share of kept things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptShare {
    /// The number kept.
    pub kept: usize,
    /// The total number.
    pub of: usize,
}

impl KeptShare {
    /// The share between 0 and 1; none if the total is zero.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.kept as f64 / self.of as f64)
    }

    pub(crate) fn count(&mut self, kept: bool) {
        self.of += 1;
        self.kept += usize::from(kept);
    }
}

impl std::ops::AddAssign for KeptShare {
    fn add_assign(&mut self, other: Self) {
        self.kept += other.kept;
        self.of += other.of;
    }
}

/// The names and sentences that the rest of a session needs from the compacted part.
#[derive(Debug)]
pub(crate) struct Needs {
    anchors: Vec<NeededAnchor>,
    sentences: Vec<Sentence>,
}

#[derive(Debug)]
struct NeededAnchor {
    anchor: EvalAnchor,
    /// True if the model uses it before anything shows it again.
    remembered: bool,
    /// The neighbours of each original occurrence.
    neighbours: Vec<Neighbours>,
    /// The number of them required for grounding: there may have been fewer than usual.
    grounding: usize,
    /// The quarter of the head, from 0, in which it was last touched.
    quarter: usize,
}

/// The kept shares of what was needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptShares {
    /// The names.
    pub anchors: KeptShare,
    /// The names among words that surrounded them before.
    pub grounded: KeptShare,
    /// The paths.
    pub paths: KeptShare,
    /// The names that the model used before anything showed them again.
    pub remembered: KeptShare,
    /// The sentences of the user, verbatim.
    pub sentences: KeptShare,
    /// The rules among those sentences.
    pub rules: KeptShare,
    /// The names by the quarter of the head in which they were last touched.
    pub quarters: [KeptShare; 4],
}

impl Needs {
    /// The names that `later` uses, `head` contains and `tail` does not.
    pub(crate) fn of(head: &[Message], tail: &[Message], later: &[Message], directory: Option<&str>) -> Self {
        let head_index = TextIndex::new(Rendering::of(head));
        let tail_index = TextIndex::new(Rendering::of(tail));
        let later_text = Rendering::of(later);
        let later_index = TextIndex::new(later_text.clone());

        let mut used = AnchorCollector::new(directory);
        later.iter().flat_map(uses).for_each(|place| used.scan(&place));
        let mut anchors = Vec::new();
        for anchor in used.into_vec() {
            if tail_index.contains(&anchor.text) {
                continue;
            }
            let places: Vec<usize> = head_index.occurrences(&anchor.text).collect();
            let Some(last) = places.iter().max() else { continue };
            let quarter = last * 4 / head_index.text().len();
            let mut neighbours: Vec<Neighbours> =
                places.iter().map(|start| head_index.neighbours(*start, anchor.text.len())).collect();
            neighbours.sort_unstable();
            neighbours.dedup();
            let most = neighbours.iter().map(Vec::len).max().unwrap_or_default();
            let first = later_index.occurrences(&anchor.text).min();
            let remembered = first.is_some_and(|place| later_text.speaker_at(place) == Speaker::Model);
            let grounding = most.min(GROUNDING);
            anchors.push(NeededAnchor { anchor, remembered, neighbours, grounding, quarter });
        }

        let mut known = HashSet::new();
        let mut typed: Vec<Sentence> = head.iter().flat_map(typed_texts).flat_map(sentences).collect();
        typed.retain(|sentence| {
            !tail_index.text().contains(&sentence.text) && known.insert(sentence.text.clone())
        });
        Self { anchors, sentences: typed }
    }

    /// The needed names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.anchors.iter().map(|needed| needed.anchor.text.as_str())
    }

    /// The number of needed names.
    pub(crate) fn anchor_count(&self) -> usize {
        self.anchors.len()
    }

    /// Measures the kept shares in `context`. The tail holds none of them, so it may be left out.
    pub(crate) fn measure(&self, context: &TextIndex) -> KeptShares {
        let mut kept = KeptShares::default();
        for needed in &self.anchors {
            let found: Vec<usize> = context.occurrences(&needed.anchor.text).collect();
            let is_found = !found.is_empty();
            kept.anchors.count(is_found);
            kept.quarters[needed.quarter].count(is_found);
            kept.grounded.count(found.iter().any(|start| needed.is_grounded(context, *start)));
            if needed.anchor.kind == EvalAnchorKind::Path {
                kept.paths.count(is_found);
            }
            if needed.remembered {
                kept.remembered.count(is_found);
            }
        }
        for sentence in &self.sentences {
            let is_found = context.text().contains(&sentence.text);
            kept.sentences.count(is_found);
            if sentence.is_rule {
                kept.rules.count(is_found);
            }
        }
        kept
    }
}

impl NeededAnchor {
    fn is_grounded(&self, context: &TextIndex, start: usize) -> bool {
        let around = context.neighbours(start, self.anchor.text.len());
        self.neighbours.iter().any(|original| shared(original, &around) >= self.grounding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role, ToolCall, ToolResult};
    use proptest::prelude::*;
    use serde_json::json;

    fn user(text: &str) -> Message {
        Message::new("u", Role::User, vec![Part::user_text(text)])
    }

    fn model(text: &str) -> Message {
        Message::new("m", Role::Model, vec![Part::model_text(text)])
    }

    fn measure(needs: &Needs, context: &[Message]) -> KeptShares {
        needs.measure(&TextIndex::new(Rendering::of(context)))
    }

    fn share(kept: usize, of: usize) -> KeptShare {
        KeptShare { kept, of }
    }

    #[test]
    fn what_the_tail_says_is_not_needed() {
        let head = [user("Look at parseLine and readFile in src/a.rs")];
        let tail = [model("parseLine is fine")];
        let later = [model("Now readFile in src/a.rs, then parseLine and neverSeen")];
        let needs = Needs::of(&head, &tail, &later, None);
        let names: Vec<&str> = needs.anchors.iter().map(|needed| needed.anchor.text.as_str()).collect();
        assert_eq!(names, ["readFile", "src/a.rs"]);
        let kept = measure(&needs, &[user("readFile only")]);
        assert_eq!((kept.anchors, kept.paths), (share(1, 2), share(0, 1)));
    }

    #[test]
    fn what_is_shown_again_need_not_be_remembered() {
        let head = [user("oldName, newName, thirdName in one place")];
        let call = ToolCall::new("c", "edit").with_args(json!({"text": "newName"}));
        let later = [
            Message::new("c", Role::Model, vec![Part::call(call)]),
            Message::new("r", Role::User, vec![Part::result(ToolResult::text("c", "found oldName"))]),
            model("oldName it is"),
            user("and thirdName"),
        ];
        let needs = Needs::of(&head, &[], &later, None);
        assert_eq!(needs.anchor_count(), 3);
        assert_eq!(measure(&needs, &[user("newName")]).remembered, share(1, 1));
    }

    #[test]
    fn a_name_belongs_to_the_quarter_of_its_last_touch() {
        let filler = |nth: usize| format!("{} here", "plain words ".repeat(20 + nth));
        let head = [
            user(&format!("first_name and last_name. {}", filler(0))),
            user(&format!("{} second_name.", filler(1))),
            user(&format!("{} third_name.", filler(2))),
            user(&format!("{} last_name.", filler(3))),
        ];
        let needs = Needs::of(&head, &[], &[model("first_name second_name third_name last_name")], None);
        let kept = measure(&needs, &[user("last_name and first_name")]);
        assert_eq!(kept.quarters, [share(1, 1), share(0, 1), share(0, 1), share(1, 1)]);
    }

    #[test]
    fn sentences_count_word_for_word() {
        let head =
            [user("Please keep the old parser. Never touch the vendor folder!\nSaid in the tail too.")];
        let needs = Needs::of(&head, &[user("Said in the tail too.")], &[], None);
        let kept =
            measure(&needs, &[user("He said: never touch the vendor folder. Please keep  the old parser.")]);
        assert_eq!((kept.sentences, kept.rules), (share(1, 2), share(0, 1)));
    }

    #[test]
    fn grounding_wants_the_old_neighbours() {
        let head = [user("the cache lives in cacheStore and expires after an hour of silence")];
        let needs = Needs::of(&head, &[], &[model("cacheStore")], None);
        let check = |text: &str, grounded: usize| {
            let kept = measure(&needs, &[user(text)]);
            assert_eq!((kept.anchors, kept.grounded), (share(1, 1), share(grounded, 1)), "{text}");
        };
        check("cacheStore", 0);
        check("cacheStore: cache, expires, hour", 0);
        check("the cache in cacheStore expires after an hour", 1);
        check(&format!("cacheStore {} cache lives expires after hour", "x ".repeat(60)), 0);
    }

    fn words() -> impl Strategy<Value = Vec<String>> {
        let name = "[a-z]{3,8}_[a-z]{3,8}";
        let word = "[a-z]{2,9}";
        let item = prop_oneof![1 => name.prop_map(String::from), 5 => word.prop_map(String::from)];
        proptest::collection::vec(item, 30..400)
    }

    fn texts(words: &[String]) -> Vec<Message> {
        words.chunks(40).map(|chunk| user(&format!("Then {}.", chunk.join(" ")))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn all_kept_is_all_and_nothing_kept_is_nothing(words in words()) {
            let head = texts(&words);
            let needs = Needs::of(&head, &[], &[model(&words.join(" "))], None);
            let all = measure(&needs, &head);
            for part in [all.anchors, all.grounded, all.paths, all.remembered, all.sentences, all.rules] {
                prop_assert_eq!(part.kept, part.of);
            }
            let nothing = measure(&needs, &[]);
            for part in [nothing.anchors, nothing.grounded, nothing.sentences] {
                prop_assert_eq!(part.kept, 0);
            }
        }

        #[test]
        fn a_bare_word_list_is_hardly_grounded(words in words()) {
            let head = texts(&words);
            let needs = Needs::of(&head, &[], &[model(&words.join(" "))], None);
            let mut list: Vec<&str> = needs.anchors.iter().map(|needed| needed.anchor.text.as_str()).collect();
            list.sort_unstable();
            let kept = measure(&needs, &[user(&list.join(", "))]);
            prop_assert_eq!(kept.anchors.kept, kept.anchors.of);
            prop_assert!(kept.grounded.kept * 4 <= kept.grounded.of + 4, "{:?}", kept.grounded);
        }
    }
}
