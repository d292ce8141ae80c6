//! Lets the beginning of a long conversation go while it is read: no plan can keep it, so that nobody need hold it.

use std::collections::HashSet;
use std::ops::Range;

use longhaul_conversation::{
    Body, CallId, Change, Message, MessageId, Ordinal, Output, Part, Repair, Role, TokenCount, Transcript,
};
use serde_json::Value;

use crate::curate::EmptyMessages;
use crate::groups::complete_groups;
use crate::json_size::message_size;
use crate::mask::{least_mask, saved_at_most};
use crate::numbering::ordinals;
use crate::prepare::{Prepared, prepare};
use crate::standing::newest_words;
use crate::{Estimate, Estimator};

/// How much was let go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gone {
    /// How many messages.
    pub messages: usize,
    /// How many of them the curated conversation would have.
    pub curated: usize,
    /// How many they would have been in a request.
    pub prepared: usize,
    /// What they would take in a request.
    pub size: Estimate,
    /// The part of it that masks could save at most.
    pub maskable: Estimate,
    /// Their size as a cut measures it.
    pub characters: usize,
    /// What had to be repaired in them.
    pub repairs: Vec<Repair>,
}

/// What was let go of a conversation that is whole.
pub(crate) static NOTHING: Gone = Gone {
    messages: 0,
    curated: 0,
    prepared: 0,
    size: Estimate::ZERO,
    maskable: Estimate::ZERO,
    characters: 0,
    repairs: Vec::new(),
};

/// It is time to look again when there are so many times the bytes that were left, so that looking takes no more than a
/// share of all the time.
const LOOK_AGAIN: usize = 2;
/// About so many bytes stay of a tool output that is masked.
const MASK: usize = 130;

/// Watches a conversation grow, and lets messages go that are certain to be compacted.
///
/// A message is let go if a window of tokens and a half follows it, and if so much was said before that even a request
/// with the shortest masks for all tool outputs would not fit. The first group stays, and so do the newest words of the
/// user, which a plan may want. What the messages said must be known to a [`crate::Tracker`] by then; a plan for the rest,
/// with [`crate::Prepared::behind`], is then the same as one for the whole.
#[derive(Clone, Debug)]
pub struct Horizon {
    window: TokenCount,
    empty: EmptyMessages,
    estimator: Estimator,
    gone: Gone,
    /// The highest mark that was let go.
    through: Ordinal,
    /// Calls that were let go before they were answered.
    unanswered: HashSet<CallId>,
    /// How many messages were kept that stood before others which were let go.
    aside: usize,
    /// About how many bytes of text are there now.
    bytes: usize,
    /// With how many it is time to look again.
    look_at: usize,
    /// About how many bytes no mask could save, of all that was ever there.
    lasting: usize,
    is_crossed: bool,
}

impl Horizon {
    /// A horizon for plans with windows of at most this size.
    pub fn new(window: TokenCount, empty: EmptyMessages, estimator: Estimator) -> Self {
        Self {
            window,
            empty,
            estimator,
            gone: Gone::default(),
            through: Ordinal(0),
            unanswered: HashSet::new(),
            aside: 0,
            bytes: 0,
            look_at: bytes_in(window.0.saturating_mul(3)),
            lasting: 0,
            is_crossed: false,
        }
    }

    /// Takes the next change into account, before it is carried out.
    pub fn follow(&mut self, change: &Change, transcript: &mut Transcript) {
        self.is_crossed |= self.crosses(change, transcript);
        match change {
            Change::Put(Message { parts, .. })
            | Change::PutAfter { message: Message { parts, .. }, .. }
            | Change::Extend { parts, .. } => {
                for part in parts {
                    let length = text_len(part);
                    self.bytes += length;
                    self.lasting += if part.as_result().is_some() { MASK.min(length) } else { length };
                }
                self.is_crossed |= self.answers(parts);
            }
            Change::RewindTo(_) => {}
            Change::Restart => {
                let Self { window, empty, estimator, .. } = *self;
                *self = Self { is_crossed: self.is_crossed, ..Self::new(window, empty, estimator) };
            }
        }
        // As long as masks could be enough, nothing is looked for.
        let may_go = self.lasting > bytes_in(self.window.0);
        if may_go && self.bytes > self.look_at && !self.is_crossed {
            self.let_go(transcript);
        }
    }

    /// Whether the window of a plan is small enough, and nothing was changed that had been let go; otherwise the
    /// conversation has to be read again, and held.
    pub fn holds_for(&self, window: TokenCount) -> bool {
        self.gone.is_nothing() || !self.is_crossed && window <= self.window
    }

    /// How much was let go.
    pub fn gone(&self) -> &Gone {
        &self.gone
    }

    /// Whether a change concerns what was let go, or its place.
    fn crosses(&self, change: &Change, transcript: &Transcript) -> bool {
        if self.gone.is_nothing() {
            return false;
        }
        let place = |id| transcript.position(id);
        match change {
            Change::Put(message) => {
                message.ordinal.is_none_or(|mark| mark <= self.through) && place(&message.id).is_none()
            }
            Change::Extend { id, .. } => place(id).is_none(),
            Change::PutAfter { after: id, .. } | Change::RewindTo(id) => {
                place(id).is_none_or(|place| place < self.aside)
            }
            Change::Restart => false,
        }
    }

    /// Whether one of these parts answers a call that was let go.
    fn answers(&mut self, parts: &[Part]) -> bool {
        !self.unanswered.is_empty()
            && parts.iter().any(|part| match &part.body {
                // A newer call of the same id is the one that is answered.
                Body::Call(call) => {
                    self.unanswered.remove(&call.id);
                    false
                }
                Body::Result(result) => self.unanswered.contains(&result.call),
                _ => false,
            })
    }

    fn let_go(&mut self, transcript: &mut Transcript) {
        self.look_at = self.bytes * LOOK_AGAIN;
        let messages = transcript.messages();
        let Some((aside, recent)) = self.stays(messages) else { return };
        let goes = |place: usize| place < recent && !aside.iter().any(|range| range.contains(&place));
        let leaving = || (0..recent).filter(|place| goes(*place)).map(|place| &messages[place]);
        let prepared = prepare(&messages[..recent], self.empty);
        let mut gone = Gone { messages: self.gone.messages + leaving().count(), ..self.gone.clone() };
        if prepared.is_as_given() {
            gone.add(leaving(), &self.estimator);
            gone.curated += leaving().count();
        } else {
            let stay = (0..recent).filter(|place| !goes(*place)).map(|place| &messages[place].id);
            gone.add_prepared(&prepared, &stay.collect(), &self.estimator);
        }
        if gone.size.as_f64() - gone.maskable.as_f64() <= Estimate::from(self.window).as_f64() {
            return;
        }
        // Where nothing was wrong, no call was left unanswered.
        if !prepared.is_as_given() {
            for part in leaving().flat_map(|message| &message.parts) {
                match &part.body {
                    Body::Call(call) => drop(self.unanswered.insert(call.id.clone())),
                    Body::Result(result) => drop(self.unanswered.remove(&result.call)),
                    _ => {}
                }
            }
        }
        let through = leaving().filter_map(|message| message.ordinal).max();
        self.through = self.through.max(through.unwrap_or(Ordinal(0)));
        self.aside = recent - leaving().count();
        self.bytes = messages[recent..].iter().flat_map(|message| &message.parts).map(text_len).sum();
        self.look_at = self.bytes * LOOK_AGAIN;
        self.gone = gone;
        transcript.retain_messages(|place| !goes(place));
    }

    /// The groups that stay though others behind them go, and the place from which on all stay, if any can go.
    fn stays(&self, messages: &[Message]) -> Option<([Range<usize>; 2], usize)> {
        let groups = complete_groups(messages);
        let enough = Estimate::from(self.window).as_f64() * 1.5;
        let mut size = 0.0;
        let sizes = groups.iter().rev().skip(1).map(|group| {
            size += messages[group.clone()]
                .iter()
                .map(|message| self.estimator.message(message).as_f64())
                .sum::<f64>();
            (group.start, size)
        });
        // A run of the model's messages is curated as a whole.
        let begins = |place: usize| {
            messages[place].role == Role::User || place > 0 && messages[place - 1].role == Role::User
        };
        let (recent, _) = sizes.into_iter().find(|(place, size)| *size >= enough && begins(*place))?;
        let first = groups.first()?.clone();
        let words = newest_words(messages, &ordinals(messages)).filter(|words| words.place < recent);
        let words = words.and_then(|words| groups.iter().find(|group| group.contains(&words.place)));
        (recent > 0).then(|| ([first.clone(), words.unwrap_or(&first).clone()], recent))
    }
}

impl Gone {
    /// Whether nothing was let go.
    pub fn is_nothing(&self) -> bool {
        self.messages == 0
    }

    /// Adds messages as they are sent.
    fn add<'m>(&mut self, messages: impl Iterator<Item = &'m Message>, estimator: &Estimator) {
        let least = least_mask(estimator);
        for message in messages {
            self.prepared += 1;
            for part in &message.parts {
                let size = estimator.part(part);
                self.size += size;
                if part.as_result().is_some() {
                    self.maskable += saved_at_most(size, least);
                }
            }
            self.characters += message_size(message, estimator);
        }
    }

    /// Adds messages that had to change to be sent, but for those that stay.
    fn add_prepared(&mut self, prepared: &Prepared<'_>, stay: &HashSet<&MessageId>, estimator: &Estimator) {
        let curated: HashSet<&MessageId> = prepared.curated_ids().collect();
        self.curated += curated.difference(stay).count();
        let mut stays = true;
        let leaving = prepared.messages.iter().filter(|message| {
            // What a repair put in stays or leaves with what stands before it.
            if curated.contains(&message.id) {
                stays = stay.contains(&message.id);
            }
            !stays
        });
        self.add(leaving, estimator);
        let repairs = prepared.repairs.iter().filter(|repair| !stay.contains(&repair.fault.message));
        self.repairs.extend(repairs.cloned());
    }
}

/// About how many bytes so many tokens are.
fn bytes_in(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX)
}

/// How many bytes of text a part has, as far as that is known without a look at them.
fn text_len(part: &Part) -> usize {
    match &part.body {
        Body::Text(text) => text.len(),
        Body::Thought(thought) => thought.text.len(),
        Body::Call(call) => value_len(&call.args),
        Body::Result(result) => {
            let output = match &result.output {
                Output::Empty => 0,
                Output::Text(text) => text.len(),
                Output::Structured(value) => value_len(value),
            };
            output + result.nested.iter().map(text_len).sum::<usize>()
        }
        Body::Media(_) | Body::File(_) | Body::Opaque(_) => 0,
    }
}

fn value_len(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_len).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + value_len(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::conversation;
    use crate::{PlanOptions, Rung, Tracker, Trigger, compact_prepared, prepare};
    use longhaul_conversation::Origin;
    use proptest::prelude::*;

    /// A horizon that has followed these changes, and what it left.
    fn follow(window: u64, changes: impl IntoIterator<Item = Change>) -> (Horizon, Transcript) {
        let mut horizon = Horizon::new(TokenCount(window), EmptyMessages::default(), Estimator::default());
        let mut transcript = Transcript::default();
        for change in changes {
            horizon.follow(&change, &mut transcript);
            transcript.apply(change);
        }
        (horizon, transcript)
    }

    /// A conversation in which messages have their marks.
    fn marked(shape: &str) -> Vec<Message> {
        let mut messages = conversation(shape);
        for (mark, message) in (1..).zip(&mut messages) {
            message.ordinal = Some(Ordinal(mark));
        }
        messages
    }

    fn long() -> Vec<Message> {
        marked(&format!("user*50 {}", ["call*200", "result*900"].repeat(60).join(" ")))
    }

    #[track_caller]
    fn check_crossed(change: &Change, expected: bool) {
        let changes = long().into_iter().map(Change::Put).chain([change.clone()]);
        let (horizon, _) = follow(400, changes);
        assert!(horizon.gone().messages > 0);
        assert_eq!(!horizon.holds_for(TokenCount(400)), expected, "{change:?}");
    }

    #[test]
    fn the_beginning_goes_and_the_first_words_stay() {
        let (horizon, transcript) = follow(400, long().into_iter().map(Change::Put));
        assert!(horizon.gone().messages > 80 && transcript.messages().len() < 40);
        assert_eq!(horizon.gone().messages + transcript.messages().len(), 121);
        assert_eq!(transcript.messages()[0].ordinal, Some(Ordinal(1)));
        assert_eq!(transcript.messages().last().and_then(|last| last.ordinal), Some(Ordinal(121)));
        assert!(horizon.holds_for(TokenCount(400)) && !horizon.holds_for(TokenCount(401)));
    }

    #[test]
    fn what_masks_could_make_fit_stays() {
        let outputs = marked(&format!("user {}", ["call", "result*4000"].repeat(60).join(" ")));
        let (horizon, transcript) = follow(4_000, outputs.into_iter().map(Change::Put));
        assert!(horizon.gone().is_nothing() && transcript.messages().len() == 121);
    }

    #[test]
    fn changes_to_what_is_gone_are_told() {
        let again = |at: usize| Change::Put(long()[at].clone());
        let after =
            |id: &str| Change::PutAfter { after: id.into(), message: Message::new("x", Role::User, vec![]) };
        let rewind = |id: &str| Change::RewindTo(MessageId::from(id));
        let extend = |id: &str| Change::Extend { id: id.into(), parts: vec![Part::user_text("more")] };
        for (make, crossed) in [
            (&after as &dyn Fn(&str) -> Change, [true, true, false]),
            (&rewind, [true, true, false]),
            (&extend, [false, true, false]),
        ] {
            for (id, crossed) in ["m0", "m9", "m119"].into_iter().zip(crossed) {
                check_crossed(&make(id), crossed);
            }
        }
        check_crossed(&again(0), false);
        check_crossed(&again(9), true);
        check_crossed(&again(119), false);
        let (horizon, _) = follow(400, long().into_iter().map(Change::Put).chain([Change::Restart]));
        assert!(horizon.gone().is_nothing());
    }

    fn any_shape() -> impl Strategy<Value = String> {
        let steps = [
            "user reply",
            "call result",
            "call call result result",
            "hook reply",
            "call mixed",
            "reply user",
            "user reply*0",
        ];
        let step = prop_oneof![60 => prop::sample::select(steps.to_vec()), 1 => Just("call reply user")];
        prop::collection::vec((step, prop_oneof![9 => 1usize..1_500, 1 => Just(0)]), 1..60).prop_map(
            |steps| {
                let steps = steps.into_iter().map(|(step, len)| match step.contains('*') {
                    true => step.to_string(),
                    false => step.split(' ').map(|word| format!("{word}*{len} ")).collect(),
                });
                format!("user*30 {}", steps.collect::<Vec<_>>().join(" "))
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn a_plan_for_the_rest_is_the_plan_for_the_whole(
            shape in any_shape(),
            window in 2_000u64..3_000,
            smaller in 0u64..1_000,
            keep in prop_oneof![Just(0.3), 0.0..1.0],
            is_forced in any::<bool>(),
            has_surroundings in any::<bool>(),
        ) {
            let mut messages = marked(&shape);
            if has_surroundings {
                messages[0].parts[0] = Part::text(Origin::Hook, "<session_context>\nLinux\n</session_context>");
            }
            let mut tracker = Tracker::default();
            messages.iter().for_each(|message| tracker.observe(message));
            let options = PlanOptions {
                keep,
                trigger: if is_forced { Trigger::Forced } else { Trigger::Automatic },
                ..PlanOptions::new(TokenCount(window - smaller))
            };
            let (horizon, rest) = follow(window, messages.iter().cloned().map(Change::Put));
            let gone = horizon.gone();
            if !horizon.holds_for(TokenCount(window)) {
                // An answer came when its call was gone.
                return Ok(());
            }
            let whole = compact_prepared(&tracker, &prepare(&messages, options.empty), &options);
            let rest = prepare(rest.messages(), options.empty).behind(gone.clone());
            let rest = compact_prepared(&tracker, &rest, &options);
            prop_assert_eq!(rest.plan.rung.as_str(), whole.plan.rung.as_str());
            prop_assert_eq!(&rest.reason, &whole.reason);
            if gone.messages > 0 {
                prop_assert!(!matches!(whole.plan.rung, Rung::Wait | Rung::Noop | Rung::Mask(_)));
                prop_assert_eq!(&rest.messages, &whole.messages);
                prop_assert_eq!((rest.before, rest.after, rest.added), (whole.before, whole.after, whole.added));
                prop_assert_eq!(rest.plan.to_string(), whole.plan.to_string());
                prop_assert_eq!(&rest.files, &whole.files);
                prop_assert_eq!(&rest.repairs, &whole.repairs);
                prop_assert_eq!(rest.split_index, whole.split_index);
                prop_assert_eq!(rest.report.messages_before, whole.report.messages_before);
            }
        }
    }
}
