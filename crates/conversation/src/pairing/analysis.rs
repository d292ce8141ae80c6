//! Analysis of pairing: which result answers which call, and where that breaks the rules.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::fault::{FaultKind, PairingFault};
use super::shape::{MessageShape, PairingItem, PairingItemKind};
use crate::{CallId, Role};

/// The position of a part: the index of its message and its index in it.
pub(super) type Spot = (usize, u32);

/// The findings that the check reports and the repair acts on.
#[derive(Default)]
pub(super) struct Analysis {
    faults: Vec<(usize, PairingFault)>,
    /// The result that answers each call.
    pub(super) answers: HashMap<Spot, Spot>,
    /// Calls made together whose results do not directly follow, by the last message of their turn.
    pub(super) scattered: BTreeMap<usize, Vec<Spot>>,
    /// Results that answer nothing, or nothing any more.
    pub(super) spare_results: HashSet<Spot>,
    /// Calls on the user's side.
    pub(super) spare_calls: HashSet<Spot>,
    /// Calls whose id an earlier call already has.
    pub(super) renamed: Vec<Spot>,
    /// Signed thoughts that nothing follows.
    pub(super) loose_thoughts: HashSet<Spot>,
    /// Calls whose reasoning is missing.
    pub(super) loose_calls: HashSet<Spot>,
}

/// Adjacent messages of one role, without empty ones.
struct MessageTurn {
    role: Role,
    messages: Vec<usize>,
}

impl Analysis {
    pub(super) fn of(shapes: &[&MessageShape]) -> Self {
        let mut analysis = Self::default();
        analysis.match_answers(shapes);
        analysis.check_turns(shapes);
        analysis.faults.sort_by_key(|(place, _)| *place);
        analysis
    }

    pub(super) fn into_faults(self) -> Vec<PairingFault> {
        self.faults.into_iter().map(|(_, fault)| fault).collect()
    }

    pub(super) fn take_faults(&mut self) -> Vec<PairingFault> {
        std::mem::take(&mut self.faults).into_iter().map(|(_, fault)| fault).collect()
    }

    fn report(&mut self, shapes: &[&MessageShape], kind: FaultKind, place: usize, call: Option<&CallId>) {
        let shape = &shapes[place];
        let fault =
            PairingFault { kind, message: shape.id.clone(), ordinal: shape.ordinal, call: call.cloned() };
        self.faults.push((place, fault));
    }

    /// Matches results to calls. A call takes the first result after it that comes before the next call of the same id;
    /// a call left without one takes any free result.
    fn match_answers(&mut self, shapes: &[&MessageShape]) {
        #[derive(Default)]
        struct Uses {
            calls: Vec<Spot>,
            results: Vec<Spot>,
        }
        let mut uses: BTreeMap<&CallId, Uses> = BTreeMap::new();
        for (place, shape) in shapes.iter().enumerate() {
            for item in &shape.items {
                match &item.kind {
                    PairingItemKind::Call { id, .. } if shape.role == Role::User => {
                        self.spare_calls.insert((place, item.part));
                        self.report(shapes, FaultKind::CallFromUser, place, Some(id));
                    }
                    PairingItemKind::Call { id, .. } => {
                        uses.entry(id).or_default().calls.push((place, item.part));
                    }
                    PairingItemKind::Result(id) => {
                        uses.entry(id).or_default().results.push((place, item.part));
                    }
                    _ => {}
                }
            }
        }
        for (id, Uses { calls, results }) in uses {
            for repeated in calls.iter().skip(1) {
                self.renamed.push(*repeated);
                self.report(shapes, FaultKind::DuplicateCall, repeated.0, Some(id));
            }
            let mut free = results.iter().copied().peekable();
            let mut left_over = Vec::new();
            for (nth, call) in calls.iter().enumerate() {
                let next_call = calls.get(nth + 1);
                while let Some(early) = free.next_if(|result| result < call) {
                    left_over.push(early);
                }
                if let Some(own) = free.next_if(|result| next_call.is_none_or(|next| result < next)) {
                    self.answers.insert(*call, own);
                }
                while let Some(more) = free.next_if(|result| next_call.is_some_and(|next| result < next)) {
                    left_over.push(more);
                }
            }
            left_over.extend(free);
            let mut left_over = left_over.into_iter();
            for call in &calls {
                if !self.answers.contains_key(call)
                    && let Some(result) = left_over.next()
                {
                    self.answers.insert(*call, result);
                }
            }
            for spare in left_over {
                self.spare_results.insert(spare);
                let kind =
                    if calls.is_empty() { FaultKind::OrphanResult } else { FaultKind::DuplicateResult };
                self.report(shapes, kind, spare.0, Some(id));
            }
        }
    }

    fn check_turns(&mut self, shapes: &[&MessageShape]) {
        let turns = self.turns(shapes);
        if let Some(MessageTurn { role: Role::Model, messages }) = turns.first() {
            self.report(shapes, FaultKind::WrongFirstRole, messages[0], None);
        }
        for (nth, turn) in turns.iter().enumerate() {
            if turn.role == Role::Model {
                self.check_batch(shapes, turn, turns.get(nth + 1));
                self.check_reasoning(shapes, turn);
            }
        }
    }

    fn turns(&mut self, shapes: &[&MessageShape]) -> Vec<MessageTurn> {
        let mut turns: Vec<MessageTurn> = Vec::new();
        for (place, shape) in shapes.iter().enumerate() {
            if shape.items.is_empty() {
                self.report(shapes, FaultKind::EmptyTurn, place, None);
                continue;
            }
            match turns.last_mut() {
                Some(turn) if turn.role == shape.role => turn.messages.push(place),
                _ => turns.push(MessageTurn { role: shape.role, messages: vec![place] }),
            }
        }
        turns
    }

    /// Checks that the calls of one turn are answered at the start of the next, in order, before anything else.
    fn check_batch(&mut self, shapes: &[&MessageShape], turn: &MessageTurn, next: Option<&MessageTurn>) {
        let calls: Vec<(Spot, &CallId)> = items(shapes, turn)
            .filter_map(|(spot, item)| match &item.kind {
                PairingItemKind::Call { id, .. } => Some((spot, id)),
                _ => None,
            })
            .collect();
        let misplaced: Vec<(Spot, &CallId)> = items(shapes, turn)
            .filter_map(|(spot, item)| match &item.kind {
                PairingItemKind::Result(id) if !self.spare_results.contains(&spot) => Some((spot, id)),
                _ => None,
            })
            .collect();
        for (spot, id) in misplaced {
            self.report(shapes, FaultKind::ResultFromModel, spot.0, Some(id));
        }
        if calls.is_empty() {
            return;
        }
        let expected: Vec<Option<Spot>> =
            calls.iter().map(|(call, _)| self.answers.get(call).copied()).collect();
        let following: Vec<Spot> =
            next.iter().flat_map(|next| items(shapes, next)).map(|(spot, _)| spot).collect();
        let in_place = expected.len() <= following.len()
            && expected.iter().zip(&following).all(|(answer, spot)| *answer == Some(*spot));
        if in_place {
            return;
        }
        self.scattered.insert(
            *turn.messages.last().expect("a turn has messages"),
            calls.iter().map(|(call, _)| *call).collect(),
        );
        self.report_batch(shapes, &calls, &expected, &following);
    }

    fn report_batch(
        &mut self,
        shapes: &[&MessageShape],
        calls: &[(Spot, &CallId)],
        expected: &[Option<Spot>],
        following: &[Spot],
    ) {
        let mut elsewhere = Vec::new();
        let mut near = Vec::new();
        for ((call, id), answer) in calls.iter().zip(expected) {
            match answer {
                None => self.report(shapes, FaultKind::UnansweredCall, call.0, Some(id)),
                // The following spots are sorted.
                Some(answer) if following.binary_search(answer).is_ok() => near.push(*answer),
                // A result on the model's side has already been reported.
                Some(answer) if shapes[answer.0].role == Role::Model => {}
                Some(answer) if answer < call => {
                    self.report(shapes, FaultKind::ResultBeforeCall, answer.0, Some(id));
                }
                Some(answer) => elsewhere.push((*answer, *id)),
            }
        }
        if !elsewhere.is_empty() && !near.is_empty() {
            self.report(shapes, FaultKind::TornBatch, calls[0].0.0, None);
        } else {
            for (answer, id) in elsewhere {
                self.report(shapes, FaultKind::ResultNotAdjacent, answer.0, Some(id));
            }
        }
        if !near.is_sorted() {
            self.report(shapes, FaultKind::ResultsOutOfOrder, near[0].0, None);
        }
        near.sort_unstable();
        let at_the_start = near.iter().zip(following).all(|(answer, spot)| answer == spot);
        if !at_the_start {
            self.report(shapes, FaultKind::ResultNotAdjacent, near[0].0, None);
        }
    }

    fn check_reasoning(&mut self, shapes: &[&MessageShape], turn: &MessageTurn) {
        let mut known: HashSet<&str> = HashSet::new();
        let mut trailing: Vec<Spot> = Vec::new();
        for (spot, item) in items(shapes, turn) {
            match &item.kind {
                PairingItemKind::SignedThought { item } => {
                    known.extend(item.as_deref());
                    trailing.push(spot);
                    continue;
                }
                PairingItemKind::Call { id, reasoning: Some(needed) } if !known.contains(&**needed) => {
                    self.loose_calls.insert(spot);
                    self.report(shapes, FaultKind::CallWithoutReasoning, spot.0, Some(id));
                }
                _ => {}
            }
            // A result has no place in a model's turn and follows no thought.
            if !matches!(item.kind, PairingItemKind::Result(_)) {
                trailing.clear();
            }
        }
        for spot in trailing {
            self.loose_thoughts.insert(spot);
            self.report(shapes, FaultKind::ReasoningWithoutCall, spot.0, None);
        }
    }
}

fn items<'a>(
    shapes: &'a [&MessageShape],
    turn: &'a MessageTurn,
) -> impl Iterator<Item = (Spot, &'a PairingItem)> {
    turn.messages
        .iter()
        .flat_map(|place| shapes[*place].items.iter().map(move |item| ((*place, item.part), item)))
}
