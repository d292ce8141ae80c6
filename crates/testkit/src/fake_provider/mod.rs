//! Fake providers: servers that reply from a script, correctly or not.
//!
//! A script is a list of [`Reply`]s, one for each request. If timing matters, a reply waits for a [`Signal`] instead of
//! sleeping. Requests are logged for the test to examine.
//!
//! ```
//! use longhaul_testkit::fake_provider::{FakeProvider, gemini};
//!
//! let provider = FakeProvider::start([gemini::text("hello")]);
//! assert!(provider.url().starts_with("http://127.0.0.1:"));
//! assert!(provider.requests().is_empty());
//! ```

pub mod anthropic;
mod certificate;
pub mod gemini;
pub mod openai;
mod reply;
mod server;

pub use certificate::{Authority, Certificate, Validity};
pub use reply::{Reply, Signal, Step};
pub use server::{FakeProvider, LoggedRequest};
