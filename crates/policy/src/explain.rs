//! Shows how a decision came about: which rule decided, and why others did not.

use std::fmt;

use crate::caution::Caution;
use crate::decide::{Decision, Denial, Policy, Ruling, questions};
use crate::line::ParsedLine;
use crate::matching::{Call, Match, Mismatch, Situation, Wants, Whole};
use crate::rule::Rule;

/// The explanation of a decision.
#[derive(Clone, Debug)]
pub struct PolicyExplanation<'a> {
    /// The decision.
    pub ruling: Ruling<'a>,
    /// The same for each command of a command line, or once for a call of another tool.
    pub parts: Vec<PartExplanation<'a>>,
}

/// The explanation of the decision about one command, or about a call.
#[derive(Clone, Debug)]
pub struct PartExplanation<'a> {
    /// The command, if it is one.
    pub command: Option<String>,
    /// The ruling about it alone.
    pub ruling: Ruling<'a>,
    /// The other rules for this tool, highest priority first.
    pub others: Vec<(&'a Rule, Lost)>,
}

/// The reason why a rule about the tool did not decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It matches, but another rule wins.
    Outweighed,
    /// It matches, but it is a saved approval, and a rule denies the call.
    Denied,
    /// It does not match.
    NotMatching(Mismatch),
    /// It may match when the line runs, so that it cannot simply be allowed.
    Uncertain(Caution),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uncertain(caution) => return write!(f, "may apply: {caution}"),
            Self::NotMatching(Mismatch::NotReading(reason)) => {
                return write!(f, "covers commands that only read: {reason}");
            }
            Self::Outweighed => "also matches, but another rule wins",
            Self::Denied => "also matches, but a deny rule overrides saved approvals",
            Self::NotMatching(Mismatch::Tool) => "covers other tools",
            Self::NotMatching(Mismatch::Server) => "covers another MCP server",
            Self::NotMatching(Mismatch::Subagent) => "covers another agent's calls",
            Self::NotMatching(Mismatch::Mode) => "does not apply in this mode",
            Self::NotMatching(Mismatch::Interactive(Wants::User)) => "applies only in interactive sessions",
            Self::NotMatching(Mismatch::Interactive(Wants::NoUser)) => {
                "applies only in non-interactive sessions"
            }
            Self::NotMatching(Mismatch::Annotations) => "requires other tool annotations",
            Self::NotMatching(Mismatch::Arguments) => "requires other arguments",
        })
    }
}

impl Policy {
    /// Decides as [`Policy::decide`] does and says why.
    pub fn explain(&self, call: &Call<'_>, situation: Situation) -> PolicyExplanation<'_> {
        let line = call.command().map(ParsedLine::parse);
        let whole = Whole::new(*call);
        let parts = questions(&whole, situation, line.as_ref()).map(|question| {
            let ruling = self.answer(&question);
            let is_decider = |rule: &Rule| ruling.rule.is_some_and(|decider| std::ptr::eq(decider, rule));
            let lost = |rule| match question.match_rule(rule) {
                Match::Yes if rule.reach().is_some() && self.denial(&question) == Denial::Certain => {
                    Some((rule, Lost::Denied))
                }
                Match::Yes => Some((rule, Lost::Outweighed)),
                Match::No(Mismatch::Tool) => None,
                Match::No(mismatch) => Some((rule, Lost::NotMatching(mismatch))),
                Match::Maybe(caution) => Some((rule, Lost::Uncertain(caution))),
            };
            let others = self.rules().iter().filter(|rule| !is_decider(rule)).filter_map(lost).collect();
            PartExplanation {
                command: question.command.map(|(_, command)| command.text.clone()),
                ruling,
                others,
            }
        });
        PolicyExplanation { parts: parts.collect(), ruling: self.decide(call, situation) }
    }
}

/// A few lines for a person.
impl fmt::Display for PolicyExplanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", word(&self.ruling.decision))?;
        for part in &self.parts {
            if let Some(command) = part.command.as_ref().filter(|_| self.parts.len() > 1) {
                writeln!(f, "\n{command:?}: {}", word(&part.ruling.decision))?;
            }
            match part.ruling.rule {
                Some(rule) => writeln!(f, "  decided by {rule}")?,
                None => writeln!(f, "  no rule matches, so the approval mode decides")?,
            }
            if let Some(file) = &part.ruling.protected {
                writeln!(f, "  always needs approval: it changes {file}, a protected file")?;
            } else if let Some(caution) = part.ruling.caution {
                writeln!(f, "  but stricter: {caution}")?;
            }
            if let Decision::Deny { reason } = &part.ruling.decision {
                writeln!(f, "  message to the model: {reason}")?;
            }
            for (rule, lost) in &part.others {
                writeln!(f, "  {rule} {lost}")?;
            }
        }
        Ok(())
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Ask => "needs approval",
        Decision::Deny { .. } => "denied",
    }
}
