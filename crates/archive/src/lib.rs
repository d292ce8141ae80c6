//! Recall: finds messages again, including those that were compacted away.
//!
//! A [`Search`] observes one message after the other and keeps only the best, so that sessions of any size can be searched:
//! [`Search::observe`] each message of each session, then ask for the [`Hit`]s. Nothing is indexed, read or written here, and
//! the same messages give the same hits.
//!
//! - Words match in any case; whole words count more than beginnings or parts of identifiers.
//! - `parseConfig` also finds `parse_config`, and, with less weight, `parse` and `config`.
//! - `store/list.rs` finds every path that ends so; the file's name alone counts less.
//! - A `"quoted phrase"` must be there, with any white space between its words.
//! - Chinese and Japanese match by pairs of characters.
//! - A message number, `m12` or `[m12]`, finds that message.
//!
//! ```
//! use longhaul_archive::{Search, SessionRef};
//! use longhaul_conversation::{Message, Ordinal, Part, Role, ToolResult};
//!
//! let session = SessionRef::new("0f3c9a7e");
//! let log = "   Compiling app v0.1.0\nerror[E0308]: mismatched types\n  --> src/store/list.rs:41:9\n   Finished";
//! let mut said = Message::new("u1", Role::User, vec![Part::result(ToolResult::text("c1", log).with_name("shell"))]);
//! said.ordinal = Some(Ordinal(12));
//!
//! let mut search = Search::new("list.rs mismatched");
//! search.observe(&session, &said);
//! let hits = search.hits(5);
//! assert_eq!((hits[0].number, hits[0].tool.as_deref()), (Some(Ordinal(12)), Some("shell")));
//! let found: Vec<&str> = hits[0].excerpt.matched().collect();
//! assert_eq!(found, ["mismatched", "list.rs"]);
//! ```

mod candidates;
mod excerpt;
mod fields;
mod hit;
mod letters;
mod matcher;
mod query;
mod rank;
mod search;
mod window;

pub use excerpt::Excerpt;
pub use hit::{Hit, SessionRef};
pub use query::parse_message_number;
pub use search::Search;
