//! Hears commands: the next one, and while something is being done those that concern it.

use std::collections::VecDeque;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::asking::Desk;
use crate::command::Command;

/// Hears commands.
#[derive(Debug)]
pub(super) struct Ears {
    commands: UnboundedReceiver<Command>,
    /// What came while something else was being done.
    later: VecDeque<Command>,
    is_leaving: bool,
}

impl Ears {
    pub(super) fn new(commands: UnboundedReceiver<Command>) -> Self {
        Self { commands, later: VecDeque::new(), is_leaving: false }
    }

    /// The next thing to do; nothing once the user leaves.
    pub(super) async fn next(&mut self) -> Option<Command> {
        while !self.is_leaving {
            let command = match self.later.pop_front() {
                Some(command) => command,
                None => self.commands.recv().await?,
            };
            match command {
                Command::Leave => self.is_leaving = true,
                // There is nothing to stop or to answer any more.
                Command::Cancel | Command::Answer(..) => {}
                command => return Some(command),
            }
        }
        None
    }

    /// Hears on, although the user wanted to leave; tells whether anybody is there to be heard.
    pub(super) fn stay(&mut self) -> bool {
        self.is_leaving = self.commands.is_closed();
        !self.is_leaving
    }

    /// Waits for some work, hands on answers, and stops it when the user has enough.
    pub(super) async fn until_done<T>(
        &mut self,
        work: impl Future<Output = T>,
        cancel: &CancellationToken,
        desk: &Desk,
    ) -> T {
        let mut work = std::pin::pin!(work);
        let mut is_open = true;
        loop {
            // Commands come first: work that always has more to do, such as a flood of output, would use up the turn of both.
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
