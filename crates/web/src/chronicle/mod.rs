//! A session as its pages show it: everything that was said, each thing once, with what its contexts were made of.

mod context;
mod entry;
mod fold;
mod reading;

pub(crate) use context::{Cut, KINDS, KindCounts};
pub(crate) use entry::{Clip, Entry, EntryPart, MediaPlace, Room, media_of};
pub(crate) use fold::{Chronicle, Whole};
pub(crate) use reading::{ReadSession, ReadState, Readings, Stamp};
