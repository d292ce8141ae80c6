//! The rules in a text that a person typed, and what its sentences do to earlier ones.

use longhaul_text::{Unit, UnitKind};

use super::cues::Cue;
use super::features::{Around, Features, Place};
use super::recognise::{Listed, Sentence, announced, is_emphatic, is_lead};
use super::vocabulary::{self, Surroundings};
use crate::typed::{Said, Voice};

/// A sentence or list item of a person's that has a say about rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    text: String,
    effect: Effect,
    standing: Standing,
}

/// Tells whether a sentence is a standing instruction itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is.
    Rule,
    /// It is if it contradicts one: "Actually, spaces, not tabs".
    IfContradicting,
    /// It is not.
    None,
}

/// The effect of a sentence on earlier instructions that it shares a subject with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// It takes them back.
    Lifts,
    /// It puts itself in their place.
    Changes,
    /// Only what it contradicts goes.
    None,
}

impl Instruction {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn lifts(&self) -> bool {
        self.effect == Effect::Lifts
    }

    pub(super) fn changes(&self) -> bool {
        self.effect != Effect::None
    }

    pub(super) fn standing(&self) -> Standing {
        self.standing
    }
}

/// The longest sentence that takes a rule back, in characters; longer ones that share words with a rule are about something else.
const LONGEST_EFFECT: usize = 200;

/// The words of the longest correction that is a rule because it contradicts one.
const LONGEST_CORRECTION: usize = 20;

/// A text of more sentences describes what is to be built.
const MANY_SENTENCES: usize = 25;

/// So does one of more bytes.
const LONG_TEXT: usize = 2_400;

/// The rules in a text that a person typed, and what it does to earlier ones.
pub fn instructions_of(said: &[Said<'_>]) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    let mut changed_before = false;
    for (unit, sentence, is_rule) in judged(said) {
        let changes = sentence.cues.has(Cue::Change);
        let changes_rule = changes || changed_before || is_rule && sentence.cues.has(Cue::ChangeNow);
        let effect = effect_of(&sentence, changes_rule);
        // What only seems to be a norm is none where it takes one back.
        let is_pinned = is_rule
            && (effect != Effect::Lifts || sentence.cues.has(Cue::Strong) || sentence.cues.has(Cue::Rule));
        let standing = match effect {
            _ if is_pinned => Standing::Rule,
            Effect::Changes if changes && sentence.words.len() <= LONGEST_CORRECTION => {
                Standing::IfContradicting
            }
            _ => Standing::None,
        };
        if effect == Effect::Lifts || standing != Standing::None {
            instructions.push(Instruction { text: unit.text.to_string(), effect, standing });
        }
        changed_before = changes || effect == Effect::Lifts;
    }
    instructions
}

/// For each sentence whether it is a rule, or a line that leads only into rules.
pub(crate) fn tell_rules(said: &[Said<'_>]) -> Vec<bool> {
    let judged = judged(said);
    let mut known = judged.iter().peekable();
    let mut tells_rule = vec![false; said.len()];
    let mut leads = Vec::new();
    for (nth, unit) in said.iter().map(|said| &said.unit).enumerate() {
        match known.next_if(|(found, ..)| std::ptr::eq(*found, unit)) {
            Some((_, _, is_rule)) => tells_rule[nth] = *is_rule,
            None => leads.push(nth),
        }
    }
    for (nth, lead) in leads.iter().enumerate() {
        let end = leads.get(nth + 1).copied().unwrap_or(said.len());
        let below = lead + 1..end;
        tells_rule[*lead] = !below.is_empty() && tells_rule[below].iter().all(|is_rule| *is_rule);
    }
    tells_rule
}

/// A sentence that a person typed, with what speaks for and against its being a rule.
pub struct RuleFeatures<'t> {
    /// The sentence.
    pub text: &'t str,
    /// The list that it is an item of, by number.
    pub list: Option<usize>,
    /// The names of its features, without what the sentences around it are; none where it can be no rule.
    pub features: Vec<String>,
}

/// The features of the sentences that a person typed, as `bench/fit-rules` wants them.
pub fn rule_features<'t>(said: &[Said<'t>]) -> Vec<RuleFeatures<'t>> {
    let describe = |(unit, sentence, place): (&Unit<'t>, Sentence<'_>, Place<'_>)| {
        let mut features = sentence.features(place).map_or_else(Vec::new, |features| features.names());
        if !features.is_empty() {
            features.extend(vocabulary::names(sentence.text, sentence.words, place.around));
        }
        RuleFeatures { text: unit.text, list: place.list, features }
    };
    placed(said).into_iter().map(describe).collect()
}

/// The sentences and list items that a person typed, each with whether it is a rule: first by itself, then in its company.
fn judged<'s, 't>(said: &'s [Said<'t>]) -> Vec<(&'s Unit<'t>, Sentence<'s>, bool)> {
    let placed = placed(said);
    let features: Vec<Option<Features>> =
        placed.iter().map(|(_, sentence, place)| sentence.features(*place)).collect();
    let is_rule = |features: &Option<Features>| features.is_some_and(|features| features.score() > 0.0);
    let alone: Vec<bool> = features.iter().map(is_rule).collect();
    let mut lists: Vec<(usize, usize)> = Vec::new();
    for ((_, _, place), is_rule) in placed.iter().zip(&alone) {
        let Some(list) = place.list else { continue };
        lists.resize(lists.len().max(list + 1), (0, 0));
        lists[list].0 += 1;
        lists[list].1 += usize::from(*is_rule);
    }
    let judge = |(nth, (unit, sentence, place)): (usize, (&'s Unit<'t>, Sentence<'s>, Place<'s>))| {
        let others = place.list.map(|list| (lists[list].0 - 1, lists[list].1 - usize::from(alone[nth])));
        let around = Around {
            follows_rule: nth > 0 && alone[nth - 1],
            precedes_rule: alone.get(nth + 1).copied().unwrap_or(false),
            among_rules: others.is_some_and(|(others, rules)| others > 0 && 2 * rules >= others),
        };
        (unit, sentence, is_rule(&features[nth].map(|features| features.in_company(around))))
    };
    placed.into_iter().enumerate().map(judge).collect()
}

/// The word that opens a sentence; empty if it has none.
fn opener<'t>(said: &'t Said<'_>) -> &'t str {
    said.words.openers().next().and_then(|place| said.words.get(place)).unwrap_or_default()
}

/// A line that leads into others.
#[derive(Clone, Copy, Default)]
struct Lead<'t> {
    listed: Option<Listed>,
    text: &'t str,
}

/// The sentences and list items that a person typed, with their places; lines that only lead into others are left out.
fn placed<'s, 't>(said: &'s [Said<'t>]) -> Vec<(&'s Unit<'t>, Sentence<'s>, Place<'s>)> {
    let typed: Vec<&'s Said<'t>> =
        said.iter().filter(|said| said.voice == Voice::Typed && !said.is_inside).collect();
    let length: usize = typed.iter().map(|said| said.unit.text.len()).sum();
    let is_long = typed.len() > MANY_SENTENCES || length > LONG_TEXT;
    let is_beside_element = said.iter().any(|said| said.is_inside);
    let (mut section, mut listed) = (Lead::default(), Lead::default());
    let (mut list, mut in_list) = (0, false);
    let mut placed = Vec::with_capacity(typed.len());
    for (nth, Said { unit, words, .. }) in typed.iter().enumerate() {
        let sentence = Sentence::of(unit.text, words);
        let is_item = matches!(unit.kind, UnitKind::Item { .. });
        let next = typed.get(nth + 1);
        let before_items = next.is_some_and(|next| matches!(next.unit.kind, UnitKind::Item { .. }));
        if is_lead(unit, &sentence, before_items) {
            // A line in bold or capitals stands for a heading, and holds until the next one.
            let is_heading = unit.kind == UnitKind::Heading || is_emphatic(unit.text);
            let lead = Lead { listed: announced(&sentence), text: unit.text };
            if is_heading {
                section = lead;
            }
            listed = if is_item { listed } else { lead };
            if is_heading || !is_item {
                list += usize::from(in_list);
                in_list = false;
                continue;
            }
        } else if !is_item {
            listed = Lead::default();
        }
        list += usize::from(in_list && !is_item);
        in_list = is_item;
        let place = Place {
            is_item,
            is_numbered: matches!(unit.kind, UnitKind::Item { number: Some(_) }),
            is_long,
            is_short: typed.len() <= 2,
            listed: listed.listed.or(section.listed),
            list: is_item.then_some(list),
            around: Surroundings {
                lead: if listed.text.is_empty() { section.text } else { listed.text },
                openers: if nth == 0 { ["", ""] } else { [opener(typed[0]), opener(typed[nth - 1])] },
            },
            is_first: nth == 0,
            is_last: next.is_none(),
            is_beside_element,
        };
        placed.push((unit, sentence, place));
        // A whole sentence may lead into a list, too.
        if !is_item && unit.text.ends_with([':', '：']) {
            listed = Lead { listed: None, text: unit.text };
        }
    }
    placed
}

/// Tells whether a sentence lifts or changes earlier instructions; `changes` if it, or the one before it, says that something
/// changes.
fn effect_of(sentence: &Sentence<'_>, changes: bool) -> Effect {
    let has = |cue| sentence.cues.has(cue);
    let is_long = sentence.text.len() > LONGEST_EFFECT && sentence.text.chars().count() > LONGEST_EFFECT;
    if is_long || sentence.is_question() || has(Cue::Moment) {
        return Effect::None;
    }
    if has(Cue::Lift) || has(Cue::Relief) {
        Effect::Lifts
    } else if changes && !has(Cue::Restated) {
        Effect::Changes
    } else {
        Effect::None
    }
}
