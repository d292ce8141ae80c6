//! Methods under evaluation: ways to compact a conversation.

use longhaul_conversation::{Message, TokenCount};

/// A compaction to carry out.
#[derive(Clone, Copy, Debug)]
pub struct CompactionTask<'a> {
    /// The current conversation, including the results of earlier compactions.
    pub context: &'a [Message],
    /// The index of the first message of the tail, which stays unchanged.
    pub tail_from: usize,
    /// The tokens that may be added besides the tail.
    pub budget: TokenCount,
}

impl<'a> CompactionTask<'a> {
    /// The part to compact.
    pub fn head(&self) -> &'a [Message] {
        &self.context[..self.tail_from]
    }

    /// The part that stays.
    pub fn tail(&self) -> &'a [Message] {
        &self.context[self.tail_from..]
    }
}

/// Compacts conversations; one value follows one session.
pub trait Compactor {
    /// Observes a message of the session. With access to the log these are the original messages, however often the
    /// conversation was compacted meanwhile; with only the last file, they are its content.
    fn observe(&mut self, _message: &Message) {}

    /// Compacts the conversation: the rest of the head, then the tail.
    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message>;

    /// The coverage that the method itself claims for its last compaction, if it measures any.
    fn claim(&self) -> Option<Claim> {
        None
    }
}

/// The coverage that a method claims, to be compared with what later work used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// The share of names, each by how likely it is to be needed.
    pub by_weight: f64,
    /// The share of names, each counted once.
    pub by_count: f64,
}

/// A named way to compact conversations.
pub struct Method {
    /// The name in tables.
    pub name: String,
    open: Box<dyn Fn() -> Box<dyn Compactor> + Sync>,
}

impl Method {
    /// A method that opens a compactor for each session with `open`.
    pub fn new<C: Compactor + 'static>(
        name: impl Into<String>,
        open: impl Fn() -> C + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), open: Box::new(move || Box::new(open())) }
    }

    /// Starts to follow a session.
    pub fn open(&self) -> Box<dyn Compactor> {
        (self.open)()
    }
}
