//! The user's directives: rules that hold from now on, requests and their state, and their other words.
//!
//! Only typed text counts: what was pasted, quoted or produced by a tool is nobody's wish.
//!
//! ```
//! use longhaul_conversation::{Message, Part, Role};
//! use longhaul_directives::{UserRequests, UserRules};
//!
//! let message = Message::new("u1", Role::User, vec![Part::user_text("Fix the upload. Never push to main.")]);
//! let (mut rules, mut requests) = (UserRules::default(), UserRequests::default());
//! rules.observe(&message);
//! requests.observe(&message);
//! assert_eq!(rules.active().next().map(|rule| rule.text.as_str()), Some("Never push to main."));
//! assert_eq!(requests.all()[0].text, "Fix the upload.");
//! ```

mod annotated;
mod elements;
mod languages;
mod requests;
mod rules;
mod substrings;
mod typed;
mod user_words;

pub use annotated::{AnnotatedPart, typed_texts};
pub use requests::{Evidence, EvidenceKind, Overheard, RequestState, UserRequest, UserRequests};
pub use rules::{
    Instruction, QuotedRule, Retirement, RuleFeatures, RuleId, UserRule, UserRules, instructions_of,
    rule_features,
};
pub use typed::{Said, Voice, said_units};
pub use user_words::{KeptWords, TypedWords, UserWords};
