//! The queue of commands: some interrupt the current work, the others wait for it.

use std::collections::VecDeque;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::asking::Desk;
use crate::command::Command;

/// The queue of commands.
#[derive(Debug)]
pub(super) struct Ears {
    commands: UnboundedReceiver<Command>,
    /// Commands that arrived during other work.
    later: VecDeque<Command>,
    is_leaving: bool,
}

impl Ears {
    pub(super) fn new(commands: UnboundedReceiver<Command>) -> Self {
        Self { commands, later: VecDeque::new(), is_leaving: false }
    }

    /// The next command; none once the user leaves.
    pub(super) async fn next(&mut self) -> Option<Command> {
        while !self.is_leaving {
            let command = match self.later.pop_front() {
                Some(command) => command,
                None => self.commands.recv().await?,
            };
            match command {
                Command::Leave => self.is_leaving = true,
                // There is nothing left to cancel or to answer.
                Command::Cancel | Command::Answer(..) => {}
                command => return Some(command),
            }
        }
        None
    }

    /// Withdraws the wish to leave; returns false if the screen is gone.
    pub(super) fn stay(&mut self) -> bool {
        self.is_leaving = self.commands.is_closed();
        !self.is_leaving
    }

    /// Waits for some work while delivering replies, and cancels it on request.
    pub(super) async fn until_done<T>(
        &mut self,
        work: impl Future<Output = T>,
        cancel: &CancellationToken,
        desk: &Desk,
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
                Some(Command::Answer(id, reply)) => {
                    desk.answer(id, reply);
                    continue;
                }
                Some(Command::Cancel) => {}
                Some(Command::Leave) => self.is_leaving = true,
                Some(other) => {
                    self.later.push_back(other);
                    continue;
                }
                None => (is_open, self.is_leaving) = (false, true),
            }
            cancel.cancel();
            desk.close();
        }
    }
}
