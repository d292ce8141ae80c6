//! The tool `web_fetch`: reads a page of the web as text.
//!
//! A page is untrusted. What comes back is bounded in size and time, has no scripts, styles or control characters, and stands in
//! a frame that says where it comes from. A redirect to another host is not followed but told, as an approval is for one host.
//! Addresses of this machine and of private networks are reached only where [`FetchSettings::reach`] says so, whatever name leads
//! to them.

mod address;
mod answer;
mod entities;
mod html;
mod tool;

pub use html::{HtmlText, html_to_text};
pub use tool::{FetchSettings, WebFetch};
