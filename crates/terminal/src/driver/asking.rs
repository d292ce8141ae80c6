//! Asks the user while a turn runs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use longhaul_agent::{Approval, ApprovalRequest, Approver, UserQuestion};
use longhaul_tools::BoxFuture;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::command::{AskId, Message, Reply};

/// Keeps questions until they are answered.
#[derive(Debug)]
pub(super) struct Desk {
    messages: UnboundedSender<Message>,
    open: Mutex<HashMap<AskId, oneshot::Sender<Reply>>>,
    asked: AtomicU64,
}

impl Desk {
    pub(super) fn new(messages: UnboundedSender<Message>) -> Self {
        Self { messages, open: Mutex::default(), asked: AtomicU64::new(0) }
    }

    /// The user has answered.
    pub(super) fn answer(&self, id: AskId, reply: Reply) {
        if let Some(asker) = self.open().remove(&id) {
            // Who has stopped waiting does not want to know.
            asker.send(reply).ok();
        }
    }

    /// Nobody answers any more.
    pub(super) fn close(&self) {
        self.open().clear();
    }

    /// Asks and waits; nothing if nobody answers.
    async fn ask(&self, message: impl FnOnce(AskId) -> Message) -> Option<Reply> {
        let id = AskId(self.asked.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        self.open().insert(id, sender);
        self.messages.send(message(id)).ok()?;
        receiver.await.ok()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<AskId, oneshot::Sender<Reply>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver for Desk {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(async {
            match self.ask(|id| Message::Asked(id, request.clone())).await {
                Some(Reply::Approval(approval)) => approval,
                Some(Reply::Answer(_)) | None => Approval::Stop,
            }
        })
    }

    fn answer<'a>(&'a self, question: &'a UserQuestion) -> BoxFuture<'a, Option<String>> {
        Box::pin(async {
            match self.ask(|id| Message::Questioned(id, question.clone())).await {
                Some(Reply::Answer(answer)) => answer,
                Some(Reply::Approval(_)) | None => None,
            }
        })
    }
}
