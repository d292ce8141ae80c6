//! Decides when old tool outputs give way to previews, many at once and only where it pays.

use longhaul_conversation::{CallId, Estimate, Estimator, Message, Part, TokenCount, ToolResult, grouped};

use crate::OutputLimits;
use crate::output_preview::preview;
use crate::replace::{Replacement, Subject, output_file, plan_replacement, results_from_newest};

/// Opens every mask, so that none is masked again.
const TAG: &str = "<tool_output_masked>";

/// A mask is expected to serve this many further requests.
const FURTHER_REQUESTS: f64 = 20.0;

/// Tools whose answers stay: what the user decided and what skills say must not fade.
pub(crate) const EXEMPT: &[&str] = &[
    "activate_skill",
    "ask_user",
    "enter_plan_mode",
    "exit_plan_mode",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "Skill",
];

/// Settings of masks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MaskSettings {
    /// The newest outputs up to this stay.
    pub protected: TokenCount,
    /// The older ones are masked once they come to this.
    pub worthwhile: TokenCount,
    /// True if the outputs in the last message stay, whatever their size.
    pub newest_message: NewestMessage,
    /// Tools whose outputs are never masked and count for nothing.
    pub exempt: Vec<String>,
    /// Names the folder for the whole outputs.
    pub session: String,
    /// Measures the outputs.
    pub estimator: Estimator,
}

/// Treatment of outputs in the last message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum NewestMessage {
    /// They stay, and count for nothing.
    #[default]
    Protected,
    /// They are treated like all others.
    Open,
}

/// Under which condition masking is worth a rewrite of the conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaskWhen {
    /// In any case: the conversation has reached its threshold, or the provider caches nothing.
    Always,
    /// If the tokens saved are worth more than the cache that is lost.
    ItPays(CachePrices),
}

/// Prices of a token, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachePrices {
    /// Price of a token that is sent for the first time.
    pub write: f64,
    /// Price of a token that comes from the provider's cache.
    pub cached: f64,
}

/// Masks, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MaskPlan {
    /// The outputs that give way; none unless the verdict is [`MaskVerdict::Mask`].
    pub replacements: Vec<Replacement>,
    /// Number of tokens that they save.
    pub saved: TokenCount,
    /// Verdict.
    pub verdict: MaskVerdict,
}

/// Verdict of planning masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MaskVerdict {
    /// Mask these.
    Mask,
    /// There is too little to mask yet.
    TooLittle,
    /// The cache that would be lost is worth more.
    DoesNotPay,
}

impl MaskSettings {
    /// The usual settings for a session.
    pub(crate) fn new(session: impl Into<String>, limits: &OutputLimits) -> Self {
        Self {
            protected: limits.protected,
            worthwhile: limits.worthwhile,
            newest_message: NewestMessage::default(),
            exempt: EXEMPT.iter().map(|tool| (*tool).to_string()).collect(),
            session: session.into(),
            estimator: Estimator::default(),
        }
    }

    fn tokens(&self, part: &Part) -> TokenCount {
        self.estimator.part(part).tokens()
    }
}

/// Default where prices are unknown: a cached token costs a tenth.
impl Default for CachePrices {
    fn default() -> Self {
        Self { write: 1.0, cached: 0.1 }
    }
}

/// Plans which old outputs give way to previews. The newest ones are passed over until they exceed what is protected; that
/// output and all older ones are masked together, if they are worth it.
pub(crate) fn plan_masks(messages: &[Message], settings: &MaskSettings, when: MaskWhen) -> MaskPlan {
    let none = |verdict| MaskPlan { replacements: Vec::new(), saved: TokenCount::ZERO, verdict };
    let old = find_old(messages, settings);
    if !are_worthwhile(&old, settings) {
        return none(MaskVerdict::TooLittle);
    }
    let mut replacements: Vec<Replacement> =
        old.iter().filter_map(|(subject, size)| plan_mask(subject, *size, settings)).collect();
    replacements.reverse();
    let saved: TokenCount = replacements.iter().map(|mask| mask.before - mask.after).sum();
    let Some(first) = replacements.first() else { return none(MaskVerdict::TooLittle) };
    if let MaskWhen::ItPays(prices) = when {
        let rewritten = messages[first.message..].iter().map(|message| settings.estimator.message(message));
        let rewritten = rewritten.sum::<Estimate>().tokens() - saved;
        if !pays(saved, rewritten, prices) {
            return none(MaskVerdict::DoesNotPay);
        }
    }
    MaskPlan { replacements, saved, verdict: MaskVerdict::Mask }
}

/// The masks that make at most `most` of a request of `before` tokens, and what it then takes at most.
///
/// Previews of a long history take their time, so it ends as soon as they are too much.
pub(crate) fn plan_enough_masks(
    messages: &[Message],
    settings: &MaskSettings,
    before: TokenCount,
    most: TokenCount,
) -> Option<(Vec<Replacement>, TokenCount)> {
    let old = find_old(messages, settings);
    if !are_worthwhile(&old, settings) {
        return None;
    }
    let mut after = before - old.iter().map(|(_, size)| *size).sum();
    for (subject, size) in &old {
        let (_, text) = mask_text(subject, NAME_TO_COME, settings);
        let masked = settings.tokens(&subject.shortened(&text));
        // What each mask saves is rounded, so together they may save a little less.
        after += if masked < *size { masked + TokenCount(1) } else { *size };
        if after > most {
            return None;
        }
    }
    let masks = old.iter().rev().filter_map(|(subject, size)| plan_mask(subject, *size, settings));
    let masks: Vec<Replacement> = masks.collect();
    (!masks.is_empty()).then_some((masks, after))
}

/// Stands for the hash in the name of a file where only its length matters.
const NAME_TO_COME: &str = "0000000000000000";

/// Bound of what all masks together could save of outputs of these sizes, whatever they say; the newest comes first.
pub(crate) fn most_saved(
    outputs: impl Iterator<Item = Estimate>,
    protected: TokenCount,
    estimator: &Estimator,
) -> Estimate {
    let (protected, minimum) = (Estimate::from(protected), minimum_mask(estimator));
    let mut newer = Estimate::ZERO;
    let mut saved = Estimate::ZERO;
    for size in outputs {
        newer += size;
        if newer > protected {
            saved += saved_at_most(size, minimum);
        }
    }
    saved
}

/// Saving by a mask that takes `minimum` of an output of this size.
fn saved_at_most(mut size: Estimate, minimum: Estimate) -> Estimate {
    size -= minimum;
    if size > Estimate::ZERO { size } else { Estimate::ZERO }
}

/// Lower bound of a mask's size: its tags, and the name of a file.
fn minimum_mask(estimator: &Estimator) -> Estimate {
    let mask = mask_around("", 0, &output_file("", "", &CallId::from(""), ""));
    estimator.text(&mask).tokens().into()
}

fn are_worthwhile(old: &[(Subject<'_>, TokenCount)], settings: &MaskSettings) -> bool {
    let worth: TokenCount = old.iter().map(|(_, size)| *size).sum();
    !old.is_empty() && worth >= settings.worthwhile
}

/// The mask of an output of this size, if it is smaller.
fn plan_mask(subject: &Subject<'_>, size: TokenCount, settings: &MaskSettings) -> Option<Replacement> {
    let (file, text) = mask_text(subject, subject.content(), settings);
    plan_replacement(subject, file, text, size, |part| settings.tokens(part))
}

/// The file of an output with this hash, and the mask that names it.
fn mask_text(subject: &Subject<'_>, content: &str, settings: &MaskSettings) -> (String, String) {
    let file = subject.file_named(&settings.session, content);
    let text = mask_around(&preview(subject), subject.text.chars().count(), &file);
    (file, text)
}

/// Tells whether the tokens saved in further requests are worth more than sending `rewritten` tokens anew.
pub(crate) fn pays(saved: TokenCount, rewritten: TokenCount, prices: CachePrices) -> bool {
    let gain = saved.0 as f64 * FURTHER_REQUESTS * prices.cached;
    let loss = rewritten.0 as f64 * (prices.write - prices.cached);
    gain > loss
}

/// Tells whether a result shows a preview already.
pub(crate) fn is_masked(result: &ToolResult) -> bool {
    result.readable().contains(TAG)
}

/// The outputs behind the protected ones with their sizes, newest first.
fn find_old<'m>(messages: &'m [Message], settings: &MaskSettings) -> Vec<(Subject<'m>, TokenCount)> {
    let newest = messages.len().saturating_sub(1);
    let mut newer = TokenCount::ZERO;
    results_from_newest(messages)
        .filter(|subject| settings.newest_message == NewestMessage::Open || subject.message != newest)
        .filter(|subject| !settings.exempt.iter().any(|tool| tool == subject.tool))
        .filter(|subject| !subject.text.contains(TAG))
        .filter_map(|subject| {
            let size = settings.tokens(subject.part);
            newer += size;
            (newer > settings.protected).then_some((subject, size))
        })
        .collect()
}

fn mask_around(preview: &str, characters: usize, file: &str) -> String {
    let length = grouped(characters);
    format!("{TAG}\n{preview}\n\nThe output ({length} characters) is in {file}\n</tool_output_masked>")
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Output, find_faults};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::apply_replacements;
    use crate::shapes::{any_conversation, conversation};

    fn settings() -> MaskSettings {
        MaskSettings::new("s1", &OutputLimits::default())
    }

    /// A conversation with one tool output of each size, in tokens, the oldest first.
    fn outputs(sizes: &[usize]) -> Vec<Message> {
        let shape: Vec<String> = sizes.iter().map(|size| format!("call result*{}", size * 4)).collect();
        conversation(&format!("user {} reply", shape.join(" ")))
    }

    fn masked_calls(plan: &MaskPlan) -> Vec<&str> {
        plan.replacements.iter().map(|mask| mask.call.as_str()).collect()
    }

    #[track_caller]
    fn check(sizes: &[usize], expected: &[&str]) {
        let plan = plan_masks(&outputs(sizes), &settings(), MaskWhen::Always);
        assert_eq!(masked_calls(&plan), expected);
    }

    #[test]
    fn the_output_that_exceeds_the_protection_and_all_older_ones_are_masked() {
        check(&[20_000, 20_000], &[]);
        check(&[60_000, 20_000, 10_000], &["c1"]);
        check(&[10_000, 60_000, 10_000], &["c1", "c2"]);
        check(&[20_000, 51_000], &["c1", "c2"]);
    }

    #[test]
    fn little_is_not_worth_a_rewrite() {
        check(&[9_900, 9_900, 9_900, 49_900], &[]);
        check(&[9_900, 9_900, 9_900, 500, 49_900], &["c1", "c2", "c3", "c4"]);
        let plan = plan_masks(&outputs(&[9_000, 49_000]), &settings(), MaskWhen::Always);
        assert_eq!(plan.verdict, MaskVerdict::TooLittle);
    }

    #[test]
    fn the_newest_message_is_protected_unless_it_is_open() {
        // Each output is a little over 10,000 tokens with its name.
        let mut messages = outputs(&[10_000; 11]);
        messages.pop();
        let plan = plan_masks(&messages, &settings(), MaskWhen::Always);
        assert_eq!(masked_calls(&plan), ["c1", "c2", "c3", "c4", "c5", "c6"]);
        let messages = conversation("call result*280000");
        assert_eq!(plan_masks(&messages, &settings(), MaskWhen::Always).verdict, MaskVerdict::TooLittle);
        let open = MaskSettings { newest_message: NewestMessage::Open, ..settings() };
        assert_eq!(masked_calls(&plan_masks(&messages, &open, MaskWhen::Always)), ["c1"]);
    }

    #[test]
    fn exempt_tools_stay_and_do_not_count() {
        let mut messages = outputs(&[60_000, 60_000]);
        for part in &mut messages[2].parts {
            part.body = longhaul_conversation::Body::Result(Box::new(
                ToolResult::text("c1", "x".repeat(240_000)).with_name("activate_skill"),
            ));
        }
        let plan = plan_masks(&messages, &settings(), MaskWhen::Always);
        assert_eq!(masked_calls(&plan), ["c2"]);
    }

    #[test]
    fn a_mask_is_not_masked_again() {
        let mut messages = outputs(&[60_000, 20_000, 10_000]);
        let plan = plan_masks(&messages, &settings(), MaskWhen::Always);
        assert_eq!(apply_replacements(&mut messages, &plan.replacements), 1);
        let text = messages[2].results().next().expect("a result").readable().into_owned();
        assert!(text.starts_with(TAG) && text.contains(&plan.replacements[0].file), "{text}");
        let again = plan_masks(&messages, &settings(), MaskWhen::Always);
        assert_eq!((again.verdict, again.replacements.len()), (MaskVerdict::TooLittle, 0));
    }

    #[test]
    fn no_mask_saves_more_than_was_thought() {
        let estimator = Estimator::default();
        let minimum = minimum_mask(&estimator);
        assert!(minimum > Estimate::from(TokenCount(25)), "{minimum:?}");
        let sizes = [200, 40, 9_000, 1, 60_000, 700, 10_000];
        let messages = outputs(&sizes);
        let parts = || messages.iter().rev().flat_map(|message| &message.parts);
        let results = || parts().filter(|part| part.as_result().is_some()).map(|part| estimator.part(part));
        for protected in [0, 5, 10_001, 10_800, 90_000].map(TokenCount) {
            let settings = MaskSettings { protected, worthwhile: TokenCount(1), ..settings() };
            let saved = plan_masks(&messages, &settings, MaskWhen::Always).saved;
            let most = most_saved(results(), protected, &estimator).tokens();
            assert!(saved <= most && most.0 <= saved.0 + 1_200, "{saved} of {most}");
        }
    }

    #[test]
    fn masks_are_enough_or_there_are_none() {
        let messages = outputs(&[60_000, 50_000, 20_000, 10_000, 40_000]);
        let before = Estimator::default().messages(&messages);
        let plan = plan_masks(&messages, &settings(), MaskWhen::Always);
        let after = before - plan.saved + TokenCount(plan.replacements.len() as u64);
        let enough = |most| plan_enough_masks(&messages, &settings(), before, most);
        assert_eq!(enough(after), Some((plan.replacements, after)));
        assert_eq!(enough(after - TokenCount(1)), None);
    }

    #[test]
    fn outputs_that_a_mask_would_lengthen_stay() {
        // Many tiny outputs beyond the protected ones are worth something together, but a mask is longer than each.
        let tiny = MaskSettings { protected: TokenCount(5), worthwhile: TokenCount(10), ..settings() };
        let plan = plan_masks(&outputs(&[10; 9]), &tiny, MaskWhen::Always);
        assert_eq!((plan.replacements.len(), plan.verdict), (0, MaskVerdict::TooLittle));
        let plan = plan_masks(&outputs(&[10, 9_000, 10, 10]), &tiny, MaskWhen::Always);
        assert_eq!(masked_calls(&plan), ["c2"]);
    }

    #[test]
    fn structures_of_any_shape_are_masked() {
        let mut messages = outputs(&[60_000, 10_000]);
        let value = json!({"matches": ["x".repeat(240_000)], "exit_code": 2});
        let result = ToolResult { output: Output::Structured(value), ..ToolResult::text("c1", "") };
        messages[2].parts = vec![Part::result(result)];
        let plan = plan_masks(&messages, &settings(), MaskWhen::Always);
        assert_eq!(masked_calls(&plan), ["c1"]);
        assert!(plan.replacements[0].text.contains("Exit Code: 2"));
        let full = plan.replacements[0].full_text(&messages).expect("it is there");
        assert!(full.starts_with("{\n  \"matches\""));
    }

    #[track_caller]
    fn check_pays(saved: u64, rewritten: u64, expected: bool) {
        assert_eq!(pays(TokenCount(saved), TokenCount(rewritten), CachePrices::default()), expected);
    }

    #[test]
    fn masking_pays_if_it_saves_more_than_the_lost_cache() {
        check_pays(9_000, 17_999, true);
        check_pays(9_000, 20_001, false);
        check_pays(0, 0, false);
    }

    #[test]
    fn below_the_threshold_only_what_pays_is_masked() {
        let pays = MaskWhen::ItPays(CachePrices::default());
        let mut messages = outputs(&[40_000, 50_000]);
        assert_eq!(plan_masks(&messages, &settings(), pays).verdict, MaskVerdict::Mask);
        // A long conversation without tools behind the output would have to be cached anew.
        messages.extend(conversation("user*2000000"));
        assert_eq!(plan_masks(&messages, &settings(), pays).verdict, MaskVerdict::DoesNotPay);
        assert_eq!(plan_masks(&messages, &settings(), MaskWhen::Always).verdict, MaskVerdict::Mask);
    }

    proptest! {
        #[test]
        fn masks_never_break_pairs_and_never_grow(
            messages in any_conversation(),
            protected in 0u64..4_000,
            worthwhile in 0u64..2_000,
        ) {
            let settings = MaskSettings {
                protected: TokenCount(protected),
                worthwhile: TokenCount(worthwhile),
                ..settings()
            };
            let plan = plan_masks(&messages, &settings, MaskWhen::Always);
            let mut masked = messages.clone();
            prop_assert_eq!(apply_replacements(&mut masked, &plan.replacements), plan.replacements.len());
            prop_assert_eq!(find_faults(&masked).len(), find_faults(&messages).len());
            for (before, after) in messages.iter().zip(&masked) {
                let tokens = |message: &Message| settings.estimator.message(message).tokens();
                prop_assert!(tokens(after) <= tokens(before));
            }
            let total = |messages: &[Message]| {
                settings.estimator.messages(messages)
            };
            let saved = total(&messages) - total(&masked);
            prop_assert!(saved.0.abs_diff(plan.saved.0) <= plan.replacements.len() as u64 + 1);
        }
    }
}
