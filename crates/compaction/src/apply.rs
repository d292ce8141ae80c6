//! Carries out a plan: the surroundings, the snapshot, an acknowledgement where one is needed, and the tail.

use longhaul_conversation::{Message, MessageId, Origin, Part, Repair, Role, repair};
use longhaul_snapshot::Snapshot;

use crate::environment::find_environment;
use crate::plan::{ACKNOWLEDGEMENT, Compaction, Plan, Rung, needs_acknowledgement};
use crate::replace::{apply_replacements, content_hash};

/// A conversation after a plan was carried out.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The messages.
    pub messages: Vec<Message>,
    /// What had to be repaired so that every provider accepts them; nothing if the plan was made for sound messages.
    pub repairs: Vec<Repair>,
    /// How many of the messages are new: the snapshot and its acknowledgement.
    pub added: usize,
}

/// Carries out a plan for the messages it was made for. Where older messages are to give way, `snapshot` stands for them;
/// a plan to do nothing gives them back as they are.
///
/// Messages that stay keep their ids and marks. The snapshot's id is made from its text, so that the same compaction of
/// the same conversation has the same name everywhere.
pub fn apply(messages: &[Message], plan: &Plan, snapshot: &Snapshot) -> Applied {
    let (messages, added) = match &plan.rung {
        Rung::Wait | Rung::Noop | Rung::DoesNotFit(_) => (messages.to_vec(), 0),
        Rung::Mask(masks) => {
            let mut masked = messages.to_vec();
            apply_replacements(&mut masked, masks);
            (masked, 0)
        }
        Rung::Compact(compaction) | Rung::LastResort(compaction) => rebuild(messages, compaction, snapshot),
    };
    let repaired = repair(messages);
    Applied { messages: repaired.messages, repairs: repaired.repairs, added }
}

fn rebuild(messages: &[Message], compaction: &Compaction, snapshot: &Snapshot) -> (Vec<Message>, usize) {
    let tail = compaction.kept_tail(messages);
    let environment = find_environment(messages);
    // Where the first message stays as a whole, so does what it says about the surroundings.
    let is_apart = environment.len > 0 || compaction.tail_from > 0;
    let mut rebuilt = Vec::with_capacity(tail.len() + 3);
    rebuilt.extend(environment.message.filter(|_| is_apart));
    let front = rebuilt.len();
    if compaction.tail_from > environment.len || !snapshot.is_empty() {
        rebuilt.extend(snapshot_messages(snapshot, tail.first()));
    }
    let added = rebuilt.len() - front;
    rebuilt.extend(tail);
    (rebuilt, added)
}

/// The snapshot as a message, and the model's answer to it if the user speaks next.
fn snapshot_messages(snapshot: &Snapshot, next: Option<&Message>) -> impl Iterator<Item = Message> {
    let text = snapshot.render();
    let name = content_hash(&text);
    let part = Part::text(Origin::Summary, text);
    let message = Message::new(MessageId::made_up(format_args!("snapshot-{name}")), Role::User, vec![part]);
    let answer = needs_acknowledgement(next).then(|| {
        let id = MessageId::made_up(format_args!("acknowledgement-{name}"));
        Message::new(id, Role::Model, vec![Part::model_text(ACKNOWLEDGEMENT)])
    });
    std::iter::once(message).chain(answer)
}
