//! Reads a session with all that its file knows of it.

use std::io::Read;

use crate::detect::{Found, find_format};
use crate::lines::Lines;
use crate::out::Memory;
use crate::read::{collect, read_found};
use crate::{Format, ReadError, Replay, Session};

/// A session with all that its file knows of it.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// A log of ours or of Gemini CLI, with everything that was ever said.
    Log(Box<Replay>),
    /// A file of another kind.
    File(Box<Session>),
}

/// Reads a session of any known format, a log with its whole past. The input is gone through once and not held.
pub fn read_recorded(input: impl Read) -> Result<Recorded, ReadError> {
    find_format(Lines::of(input), |found, rest| match found {
        Found::Lines { known, head } if known.format == Format::GeminiJsonl => {
            Replay::of_lines(&head, rest).map(|replay| Recorded::Log(Box::new(replay)))
        }
        found => {
            let session = collect(&mut |_, _| {}, |sink| read_found(found, rest, Memory::Whole, sink));
            session.map(|session| Recorded::File(Box::new(session)))
        }
    })
}
