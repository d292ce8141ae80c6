//! Texts that people and models write: sentences, words, phrases, and how long they are.
//!
//! Everything is verbatim and pure: a [`Unit`] is a piece of the text it was found in, and [`Phrases`] are patterns of words
//! that are looked for in a sentence.
//!
//! ```
//! use longhaul_text::{Phrases, Words, split_units};
//!
//! let units = split_units("Fix the upload, e.g. in src/upload.rs. Never push to main.");
//! assert_eq!(units[1].text, "Never push to main.");
//! assert!(Phrases::new(&["^never @base"]).fit(&Words::of(units[1].text)));
//! ```

mod characters;
mod cjk;
mod data;
mod ends;
mod hash;
mod phrases;
mod plain_words;
mod search;
mod sentences;
mod subject;
mod words;

pub use characters::{Units, count_units};
pub use cjk::is_wide;
pub use data::data_lines;
pub use ends::{Ends, end_of, ends, start_of, utf16_len};
pub use hash::hash_text;
pub use phrases::{LazyPhrases, PhraseTable, Phrases};
pub use plain_words::count_plain_words;
pub use search::{AnyOf, starts_with_any};
pub use sentences::{Unit, UnitKind, split_units};
pub use subject::Subject;
pub use words::{Word, WordSet, Words, print_numbers};
