//! What is measured: a way to make a conversation smaller.

use longhaul_conversation::{Message, TokenCount};

/// One compaction to carry out.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The conversation as it stands, with what earlier compactions left of it.
    pub context: &'a [Message],
    /// The first message of the tail that stays as it is.
    pub tail_from: usize,
    /// How many tokens may be added beside the tail.
    pub budget: TokenCount,
}

impl<'a> Task<'a> {
    /// What is to be made smaller.
    pub fn head(&self) -> &'a [Message] {
        &self.context[..self.tail_from]
    }

    /// What stays.
    pub fn tail(&self) -> &'a [Message] {
        &self.context[self.tail_from..]
    }
}

/// Makes conversations smaller; one value follows one session.
pub trait Compactor {
    /// A message was added to the session. Where the session's log is at hand these are the original messages, however
    /// often the conversation was compacted meanwhile; where only the last file is, they are what stands in it.
    fn observe(&mut self, _message: &Message) {}

    /// The new conversation: what is left of the head, then the tail.
    fn compact(&mut self, task: &Task<'_>) -> Vec<Message>;
}

/// A named way to make conversations smaller.
pub struct Method {
    /// Its name in tables.
    pub name: String,
    open: Box<dyn Fn() -> Box<dyn Compactor> + Sync>,
}

impl Method {
    /// A method whose compactors are opened by `open`, one for each session it follows.
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
