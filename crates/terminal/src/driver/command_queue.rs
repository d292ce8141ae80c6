//! The queue of commands: some interrupt the current work, the others wait for it.

use std::collections::VecDeque;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::approval_prompt::ApprovalPrompt;
use crate::protocol::DriverCommand;

/// The queue of commands.
#[derive(Debug)]
pub(super) struct CommandQueue {
    commands: UnboundedReceiver<DriverCommand>,
    /// Commands that arrived during other work.
    later: VecDeque<DriverCommand>,
    is_leaving: bool,
}

impl CommandQueue {
    pub(super) fn new(commands: UnboundedReceiver<DriverCommand>) -> Self {
        Self { commands, later: VecDeque::new(), is_leaving: false }
    }

    /// The next command; none once the user leaves.
    pub(super) async fn next(&mut self) -> Option<DriverCommand> {
        while !self.is_leaving {
            let command = match self.later.pop_front() {
                Some(command) => command,
                None => self.commands.recv().await?,
            };
            match command {
                DriverCommand::Leave => self.is_leaving = true,
                // There is nothing left to cancel or to answer.
                DriverCommand::Cancel | DriverCommand::Answer(..) => {}
                command => return Some(command),
            }
        }
        None
    }

    /// Withdraws the wish to leave; returns false if the screen is gone.
    pub(super) fn keep_running(&mut self) -> bool {
        self.is_leaving = self.commands.is_closed();
        !self.is_leaving
    }

    /// Waits for some work while delivering replies, and cancels it on request. What `answer_at_once` answers does not wait
    /// for its end.
    pub(super) async fn until_done<T>(
        &mut self,
        work: impl Future<Output = T>,
        cancel: &CancellationToken,
        prompt: &ApprovalPrompt,
        answer_at_once: &dyn Fn(&DriverCommand) -> bool,
    ) -> T {
        let mut work = std::pin::pin!(work);
        let mut is_open = true;
        loop {
            // Commands come first: work that is always ready, such as a flood of output, would starve them.
            let command = tokio::select! {
                biased;
                command = self.commands.recv(), if is_open => command,
                done = &mut work => return done,
            };
            match command {
                Some(DriverCommand::Answer(id, reply)) => {
                    prompt.answer(id, reply);
                    continue;
                }
                Some(DriverCommand::Cancel) => {}
                Some(DriverCommand::Leave) => self.is_leaving = true,
                Some(other) if answer_at_once(&other) => continue,
                Some(other) => {
                    self.later.push_back(other);
                    continue;
                }
                None => (is_open, self.is_leaving) = (false, true),
            }
            cancel.cancel();
            prompt.close();
        }
    }
}
