//! The gain of a compaction, and the reasons why one is not worth it.

use longhaul_conversation::{Message, Origin, Part, Role, TokenCount, Trigger};
use longhaul_snapshot::any_snapshot;
use longhaul_text::{Unit, split_units};

use crate::analysis::{ACKNOWLEDGEMENT, Analysis};
use crate::ordinary::{bound, target};
use crate::plan::{Compaction, Plan};
use crate::required::{newest_words, rules_size, typed};

/// The share of a request that a pass must gain to be worth it.
const MINIMUM_GAIN: f64 = 0.1;

/// Tells whether so little is gained that the pass counts as a failure, even where it has to be applied.
pub(crate) fn is_too_little(before: TokenCount, after: TokenCount) -> bool {
    (before - after).share_of(before) < MINIMUM_GAIN
}

/// The reason not to plan a compaction that nobody asked for.
pub(crate) fn why_not_planned(
    analysis: &Analysis<'_>,
    before: TokenCount,
    compaction: &Compaction,
) -> Option<String> {
    let messages = analysis.messages();
    let start = analysis.environment.len;
    if is_compacted_already(&messages[start..compaction.tail_from]) {
        return Some("nothing to gain: nothing new since the last compaction".into());
    }
    let messages = analysis.size(&messages[start..]).tokens();
    let options = analysis.options();
    let excess = rules_size(analysis.tracker(), &[], &options.estimator) - options.budget.snapshot;
    if messages <= target(analysis) + excess {
        let fixed = analysis.fixed.tokens();
        return Some(format!(
            "nothing to gain: messages take only {messages} tokens, the rest of the request {fixed}"
        ));
    }
    why_too_little(before, bound(analysis, compaction))
}

/// The reason not to apply a compaction with this result: it gains nothing, or so little that only a user who asked for
/// it or a request that does not fit would justify it. The user's newest message is no gain, whoever asked for it.
pub(crate) fn why_not_applied(
    analysis: &Analysis<'_>,
    plan: &Plan,
    messages: &[Message],
    after: TokenCount,
) -> Option<String> {
    let before = plan.before;
    if after >= before {
        let cause = why_so_little(analysis, plan);
        return Some(format!("nothing to gain: {before} tokens would become {after}; {cause}"));
    }
    if before > analysis.window() {
        return None;
    }
    let lost = lost_words(analysis, plan, messages);
    if lost > TokenCount::ZERO && is_too_little(before, after + lost) {
        return Some(format!(
            "nothing to gain: {lost} of {before} tokens are the newest user message, which is kept"
        ));
    }
    match analysis.options().trigger {
        Trigger::Automatic => why_too_little(before, after),
        Trigger::Forced => None,
    }
}

fn why_too_little(before: TokenCount, after: TokenCount) -> Option<String> {
    let gained = (before - after).share_of(before);
    is_too_little(before, after)
        .then(|| format!("nothing to gain: compaction would save only {:.0} %", gained * 100.0))
}

/// The reason why a pass gains so little: the largest part of the request that stays.
pub(crate) fn why_so_little(analysis: &Analysis<'_>, plan: &Plan) -> String {
    let fixed = analysis.fixed.tokens();
    let tail = plan.compaction().map_or_else(Vec::new, |plan| plan.shortened_tail(analysis.messages()));
    let whole = analysis.size(&tail).tokens();
    if fixed > whole {
        return format!("system prompt, tools and context take {fixed} and are kept");
    }
    let sizes = tail.iter().map(|message| analysis.size(std::slice::from_ref(message)).tokens());
    // Of several that are equally large the newest is named.
    let largest = sizes.enumerate().max_by_key(|(index, size)| (*size, *index));
    let Some(((index, size), start)) = largest.zip(plan.tail_from()) else {
        return format!("the newest {} messages take {whole} tokens and are kept", tail.len());
    };
    let name = describe_message(&tail[index]);
    let at = analysis.ordinals.get(start + index).map(|at| format!("{at}, ")).unwrap_or_default();
    match tail.len() {
        _ if size.0 * 2 >= whole.0 => {
            format!("one message ({at}{name}) takes {size} tokens and is kept whole")
        }
        count => format!(
            "the newest {count} messages take {whole} tokens and are kept, the largest ({at}{name}) {size}"
        ),
    }
}

/// `output of Bash`, `user message`
fn describe_message(message: &Message) -> String {
    match message.results().next() {
        Some(result) => {
            result.name.as_ref().map_or("tool output".to_string(), |name| format!("output of {name}"))
        }
        None if message.role == Role::User => "user message".to_string(),
        None => "model message".to_string(),
    }
}

/// Size of the user's newest message, where a plan cuts it off and the snapshot does not say all of it. What came along
/// with it, such as a document, counts only as far as a snapshot has room for it.
fn lost_words(analysis: &Analysis<'_>, plan: &Plan, now: &[Message]) -> TokenCount {
    let is_users = |message: &Message| {
        let says = |part: &Part| part.origin != Origin::Summary && part.as_text().is_some();
        message.role == Role::User && message.parts.iter().any(says)
    };
    let messages = analysis.messages();
    let newest = newest_words(messages, &analysis.ordinals).map(|newest| newest.index);
    let newest = newest.or_else(|| messages.iter().rposition(is_users));
    let Some(newest) = newest.filter(|newest| plan.tail_from().is_some_and(|tail| *newest < tail)) else {
        return TokenCount::ZERO;
    };
    let newest = &messages[newest];
    let size = analysis.size(std::slice::from_ref(newest)).tokens();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = now.iter().flat_map(|message| &message.parts);
    let snapshot = parts.filter(|part| part.origin == Origin::Summary).filter_map(Part::as_text);
    let snapshot: Vec<String> = snapshot.map(words).collect();
    // Its sentences may stand in different sections.
    let is_said = |text: &str| {
        let said = |unit: Unit<'_>| snapshot.iter().any(|snapshot| snapshot.contains(&words(unit.text)));
        split_units(text).into_iter().all(said)
    };
    let is_kept = match size <= analysis.options().budget.snapshot {
        true => newest.parts.iter().filter_map(Part::as_text).all(is_said),
        false => typed(newest).all(is_said),
    };
    if is_kept { TokenCount::ZERO } else { size }
}

/// Tells whether these messages are what an earlier compaction left: a snapshot and its acknowledgement.
fn is_compacted_already(messages: &[Message]) -> bool {
    messages.iter().all(|message| {
        let says_so = message.parts.iter().any(|part| part.as_text() == Some(ACKNOWLEDGEMENT));
        says_so || any_snapshot(message).is_some()
    })
}
