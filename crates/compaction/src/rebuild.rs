//! Rebuilds a conversation by a plan: the surroundings, the snapshot, an acknowledgement where one is needed, and the tail.

use longhaul_conversation::{Message, MessageId, Origin, Part, Repair, Role, repair};
use longhaul_snapshot::Snapshot;

use crate::analysis::{ACKNOWLEDGEMENT, needs_acknowledgement};
use crate::environment::find_environment;
use crate::plan::{Compaction, Plan};
use crate::replace::{apply_replacements, content_hash};

/// A conversation that was rebuilt by a plan.
#[derive(Clone, Debug)]
pub(crate) struct Rebuilt {
    pub(crate) messages: Vec<Message>,
    /// Repairs so that every provider accepts the messages; none if the plan was made for sound ones.
    pub(crate) repairs: Vec<Repair>,
    /// Number of new messages: the snapshot and its acknowledgement.
    pub(crate) added: usize,
}

/// Rebuilds the messages that a plan was made for. Where older messages are to give way, `snapshot` stands for them.
///
/// Messages that stay keep their ids and marks. The snapshot's id is made from its text, so that the same compaction of
/// the same conversation has the same name everywhere.
pub(crate) fn rebuild(messages: &[Message], plan: &Plan, snapshot: &Snapshot) -> Rebuilt {
    let (messages, added) = match plan.compaction() {
        Some(compaction) => put_together(messages, compaction, snapshot),
        None => {
            let mut shortened = messages.to_vec();
            apply_replacements(&mut shortened, plan.replacements());
            (shortened, 0)
        }
    };
    let repaired = repair(messages);
    Rebuilt { messages: repaired.messages, repairs: repaired.repairs, added }
}

fn put_together(messages: &[Message], compaction: &Compaction, snapshot: &Snapshot) -> (Vec<Message>, usize) {
    let tail = compaction.shortened_tail(messages);
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
