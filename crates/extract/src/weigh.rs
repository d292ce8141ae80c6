//! Estimates how likely it is that later work refers to an anchor.
//!
//! A logistic regression over what real sessions referred back to, with few features: how often and how lately something
//! was named, by whom, what kind of thing it is, and how many other things the message named. What stands in a long list is
//! seldom needed again; what the model or the user said themselves often is.

use std::sync::LazyLock;

use longhaul_conversation::Ordinal;

use super::anchors::AnchorKind;
use super::names::Anchor;
use super::pool::{MOST_LINES, Pool};

/// The tokens of a snapshot by default.
pub const USUAL_BUDGET: f64 = 4_000.0;

/// The weight of each anchor, by number, for a snapshot of `budget` tokens of what stands before `before`: a probability
/// from 0 to 1.
pub fn weigh_anchors(pool: &Pool, before: Ordinal, budget: f64) -> Vec<f32> {
    let anchors = pool.anchors();
    let mut places = vec![Places::default(); anchors.len()];
    for (at, numbers) in pool.candidates().messages().filter(|(at, _)| *at < before) {
        for number in numbers {
            places[*number as usize].add(at, numbers.len() as u32);
        }
    }
    let newest = Ordinal(before.0.saturating_sub(1));
    let path = path_weight(budget);
    anchors.iter().zip(&places).map(|(anchor, places)| weigh(anchor, places, newest, path)).collect()
}

/// The places of an anchor.
#[derive(Clone, Default)]
struct Places {
    lines: u32,
    /// The last message, or 0.
    last: u32,
    /// The number of anchors in the message that has fewest.
    crowd: Option<u32>,
}

impl Places {
    fn add(&mut self, at: Ordinal, crowd: u32) {
        self.lines += 1;
        self.last = self.last.max(at.0);
        self.crowd = Some(self.crowd.map_or(crowd, |known| known.min(crowd)));
    }
}

/// The weight of a path beyond that of a name. It takes the room of several names, and a small snapshot has none to
/// spare; a large one should name every file that matters.
fn path_weight(budget: f64) -> f32 {
    let room = (budget / USUAL_BUDGET * 2.0 - 1.0).clamp(0.0, 1.0);
    -1.1 + 2.6 * room as f32
}

/// What was named so many messages ago, or more, is old: it is needed again as often as what is twice as old.
const OLD: u32 = 40;

fn weigh(anchor: &Anchor, places: &Places, newest: Ordinal, path: f32) -> f32 {
    // Lines are dropped first where there were many.
    let crowd = places.crowd.unwrap_or(MOST_LINES as u32);
    let last = if places.last > 0 { places.last } else { anchor.last.0 };
    let age = newest.0.saturating_sub(last).min(OLD);
    let mut sum = -1.4 + 0.65 * log(places.lines) - 0.45 * log(age) - 0.35 * log(crowd);
    sum += 0.68 * f32::from(anchor.typed.min(2));
    if anchor.in_prose {
        sum += 0.76;
    }
    if anchor.used == 0 && anchor.typed == 0 {
        sum -= 0.24;
    }
    sum += match anchor.kind {
        AnchorKind::Path => path,
        AnchorKind::Hash => -0.6,
        AnchorKind::Error => -0.4,
        AnchorKind::Number => -0.17,
        AnchorKind::Identifier | AnchorKind::Url => 0.0,
        AnchorKind::Command | AnchorKind::Quoted => 0.5,
    };
    1.0 / (1.0 + (-sum).exp())
}

/// The logarithm of a count and one. Most counts are small, and this is asked for again and again.
fn log(count: u32) -> f32 {
    static SMALL: LazyLock<Vec<f32>> =
        LazyLock::new(|| (0..1_024u16).map(|count| f32::from(count).ln_1p()).collect());
    SMALL.get(count as usize).copied().unwrap_or_else(|| (count as f32).ln_1p())
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role, ToolResult};

    use super::*;

    fn model(text: &str) -> Message {
        Message::new("m", Role::Model, vec![Part::model_text(text)])
    }

    fn output(text: &str) -> Message {
        Message::new("r", Role::User, vec![Part::result(ToolResult::text("c", text))])
    }

    fn user(text: &str) -> Message {
        Message::new("u", Role::User, vec![Part::user_text(text)])
    }

    /// Checks that the first name weighs more than the second in a talk of these messages.
    #[track_caller]
    fn check_heavier(messages: &[Message], heavier: &str, lighter: &str) {
        let mut pool = Pool::default();
        for (message, at) in messages.iter().zip(1..) {
            pool.observe(message, Ordinal(at));
        }
        let weights = weigh_anchors(&pool, Ordinal(messages.len() as u32 + 1), USUAL_BUDGET);
        assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)));
        let weight = |name: &str| {
            let place = pool.anchors().iter().position(|anchor| &*anchor.text == name);
            weights[place.expect("the anchor is known")]
        };
        assert!(weight(heavier) > weight(lighter), "{} {}", weight(heavier), weight(lighter));
    }

    #[test]
    fn what_is_said_weighs_more_than_what_is_shown() {
        check_heavier(&[model("It is newName now."), output("fn oldName")], "newName", "oldName");
        check_heavier(&[user("Fix newName first."), output("fn oldName")], "newName", "oldName");
    }

    #[test]
    fn what_is_named_often_and_lately_weighs_more() {
        let often = [output("fn oldName"), output("fn newName"), output("fn newName")];
        check_heavier(&often, "newName", "oldName");
        check_heavier(&[output("fn oldName"), output("fn x"), output("fn newName")], "newName", "oldName");
    }

    #[test]
    fn what_stands_in_a_long_list_weighs_less() {
        let list: Vec<String> = (0..90).map(|nth| format!("listName{nth}")).collect();
        let messages = [output(&list.join(" ")), output("fn newName")];
        check_heavier(&messages, "newName", "listName7");
    }

    #[test]
    fn nothing_weighs_nothing() {
        assert!(weigh_anchors(&Pool::default(), Ordinal(0), USUAL_BUDGET).is_empty());
    }
}
