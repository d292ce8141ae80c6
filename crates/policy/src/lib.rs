//! Decides which tool calls run, which need approval, and which are denied.
//!
//! Rules come from TOML files of five [`RuleTier`]s, from settings and from the user's approvals. A [`Policy`] holds them
//! by priority; of those that match a [`Call`] in its [`Situation`], the highest-priority one wins. The crate runs nothing
//! and prompts no one: a call goes in, a [`Ruling`] with its rule comes out, and [`Policy::explain`] explains it.
//!
//! A command line is allowed only if every command in it is, including those in substitutions, and output to a file needs
//! a rule that allows redirection. This guards against surprises, not against an allowed program that does something else.
//!
//! Whatever the rules say, a call that changes a protected file (settings, policies, memory, `.git` and the like) needs
//! approval, and is denied without a terminal: see [`Policy::protecting`].
//!
//! ```
//! use longhaul_policy::{Call, Decision, Policy, Situation, RuleTier, default_rules, parse_rules};
//! use serde_json::json;
//!
//! let mine = r#"
//!     [[rule]]
//!     toolName = "run_shell_command"
//!     commandPrefix = ["git log", "ls"]
//!     decision = "allow"
//!     priority = 100
//! "#;
//! let (rules, problems) = parse_rules(mine, "mine.toml".as_ref(), RuleTier::User);
//! assert!(problems.is_empty());
//! let policy = Policy::new(default_rules().into_iter().chain(rules).collect());
//!
//! let decide = |command: &str| {
//!     let args = json!({ "command": command });
//!     policy.decide(&Call::new("run_shell_command", &args), Situation::default()).decision
//! };
//! assert_eq!(decide("git log | ls"), Decision::Allow);
//! assert_eq!(decide("git log && rm -r src"), Decision::Ask);
//! assert_eq!(decide("ls > list.txt"), Decision::Ask);
//!
//! let args = json!({"file_path": "notes.md"});
//! let ruling = policy.decide(&Call::new("read_file", &args), Situation::default());
//! assert_eq!(ruling.rule.and_then(|rule| rule.name.as_deref()), Some("reading"));
//! ```

mod caution;
mod decide;
mod describe;
mod error;
mod explain;
mod line;
mod load;
mod matching;
mod mode;
mod parse;
mod pattern;
mod problem;
mod programs;
mod protected;
mod reach;
mod reading;
mod rule;
mod save;
mod setting;
mod stable_json;
mod suggest;
mod tier;

pub use caution::Caution;
pub use decide::{Decision, Policy, Ruling};
pub use error::PolicyError;
pub use explain::{Lost, PartExplanation, PolicyExplanation};
pub use load::{LoadedPolicies, PolicyPlaces, default_rules, load_policies, load_saved};
pub use matching::{AGENT_TOOL, Call, Mismatch, Situation, Wants};
pub use mode::ApprovalMode;
pub use parse::parse_rules;
pub use problem::{Problem, ProblemEffect};
pub use reach::{Reach, SavedFiles};
pub use reading::{
    CommandReading, LineReading, NotReading, ReadPath, ReadPathKind, ReadSource, ReadingVerdicts,
};
pub use rule::{
    CommandPrefix, Condition, FETCH_TOOL, Rule, RuleSource, SHELL_TOOL, ServerPattern, ToolPattern, Verdict,
};
pub use save::{AllowedCalls, AlwaysAllow, revoke_saved, save_always_allow};
pub use setting::{SettingVerdict, rule_from_setting};
pub use stable_json::stable_json;
pub use suggest::{suggest_host, suggest_prefixes};
pub use tier::{Priority, RuleTier};

/// The program of the README, which must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
