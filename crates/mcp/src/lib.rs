//! Longhaul as a server of the Model Context Protocol: other agents recall recorded sessions, read what was compacted away, and
//! propose what should be remembered.
//!
//! - [`serve_stdio`] answers on standard input and output until the client is gone, [`serve_http`] on loopback who has the token;
//! - every tool answers with text of at most 8,000 characters, the same for the same files, framed as quotes of a record;
//! - `library` has the sessions, those of the common discovery and those that only the archive still has; `caller` knows which one is calling.
//!
//! Which session a client names in its environment is a [`CallerEnvironment`], which comes from the program.

mod arguments;
mod caller;
mod evidence;
mod library;
mod page;
mod protocol;
mod quote;
mod tools;

pub use caller::CallerEnvironment;
pub use protocol::{AccessToken, ServerOptions, serve_http, serve_stdio};
