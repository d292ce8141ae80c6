//! Recall: finds messages again, including those that were compacted away.
//!
//! A [`Search`] observes one message after the other and remembers only where the words of its query are, so that sessions
//! of any size can be searched. Then it ranks, and asks for the texts of the best, to show the lines that match. Nothing is
//! read or written here, and the same messages give the same hits, whether they are scanned or come from an index: an index
//! holds the [`Tokenizer`]'s tokens of each [`Passage`] and hands [`rank`] the same [`PassageMatch`]es.
//!
//! - Words match in any case and with any English ending; the same ending counts more, a piece of an identifier less.
//! - `parseConfig` also finds `parse_config`, and, with less weight, `parse` and `config`.
//! - `store/list.rs` finds paths that end so; the file's name alone counts less.
//! - A `"quoted phrase"` must be there, with any white space between its words.
//! - Chinese and Japanese match by pairs of characters.
//! - A message number, `m12` or `[m12]`, finds that message.
//! - *Yesterday*, *last week*, *3 days ago*, *in August* or a date prefer what was said then, if the search knows the time.
//! - What stands beside a match counts: a call lifts its result, a question its answer.
//! - Recalls of earlier recalls and texts that Longhaul injected are not found.
//!
//! ```
//! use longhaul_conversation::{Message, Ordinal, Part, Role, ToolResult};
//! use longhaul_recall::{Search, SessionRef};
//!
//! let session = SessionRef::new("0f3c9a7e");
//! let log = "   Compiling app v0.1.0\nerror[E0308]: mismatched types\n  --> src/store/list.rs:41:9\n   Finished";
//! let mut said = Message::new("u1", Role::User, vec![Part::result(ToolResult::text("c1", log).with_name("shell"))]);
//! said.ordinal = Some(Ordinal(12));
//!
//! let mut search = Search::new("list.rs mismatched");
//! search.observe(&session, &said);
//! let hits = search.hits_in(&session, [&said], 5);
//! assert_eq!((hits[0].number, hits[0].tool.as_deref()), (Some(Ordinal(12)), Some("shell")));
//! let found: Vec<&str> = hits[0].excerpt.matched().collect();
//! assert_eq!(found, ["mismatched", "list.rs"]);
//! ```

mod excerpt;
mod filter;
mod hit;
mod letters;
mod locate;
mod own_texts;
mod passage;
mod phrase;
mod query;
mod rank;
mod search;
mod time_words;
mod tokens;
mod window;

pub use excerpt::Excerpt;
pub use filter::{Kind, SearchFilter};
pub use hit::{Hit, SessionRef};
pub use passage::{FoundPassage, Passage, PassageReader};
pub use query::{Query, Term, parse_message_number};
pub use rank::{
    CorpusStatistics, PassageMatch, RankWeights, RankedPassage, TermQuality, choose_terms, rank, rank_with,
    term_frequency,
};
pub use search::{PassageFinder, Search, find_passages, pick_hits};
pub use time_words::TimeRange;
pub use tokens::{MAX_TOKEN, TOKENS_VERSION, Tokenizer};
