//! Decides about a call: of the rules that match, the one of the highest priority. What the user always allows gives way to
//! every deny.

use std::cmp::Reverse;

use crate::matching::{Call, Question, Situation};
use crate::rule::{Rule, Source, ToolPattern, Verdict};
use crate::shell::{Line, Part, parse_line};
use crate::{ApprovalMode, PolicyError, Priority, Reach, Tier};

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allow,
    /// It does not run.
    Deny {
        /// What the model is told.
        reason: String,
    },
    /// The user is asked.
    Ask,
}

/// A decision with its grounds.
#[derive(Clone, Debug)]
pub struct Ruling<'a> {
    /// What becomes of the call.
    pub decision: Decision,
    /// The rule that decided, or none where nobody has said anything about such calls.
    pub rule: Option<&'a Rule>,
    /// Why the decision is stricter than the rule.
    pub caution: Option<Caution>,
    /// The command that decided, where a line has several.
    pub command: Option<String>,
}

impl Ruling<'_> {
    fn verdict(&self) -> Verdict {
        match self.decision {
            Decision::Allow => Verdict::Allow,
            Decision::Ask => Verdict::Ask,
            Decision::Deny { .. } => Verdict::Deny,
        }
    }
}

/// Why a decision is stricter than its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// The command line could not be followed to its end.
    UnclearLine,
    /// The command writes to a file, and its rule does not say that it may.
    Redirection,
    /// A folder that is not trusted can make git run anything.
    GitWithoutTrust,
    /// The user would have to be asked, and there is none.
    NobodyToAsk,
}

impl Caution {
    /// The reason as a part of a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            Self::UnclearLine => "the command line is too involved to tell all that it would run",
            Self::Redirection => "the command writes to a file, which its rule does not allow",
            Self::GitWithoutTrust => {
                "git runs what the folder's own configuration says, and the folder is not trusted"
            }
            Self::NobodyToAsk => "the user would have to be asked, and nobody is there to answer",
        }
    }
}

/// All rules, in the order of their weight.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Policy {
    /// A policy of these rules. Of two that weigh the same, the stricter one counts, whatever their order.
    pub fn new(mut rules: Vec<Rule>) -> Self {
        rules.sort_by_key(|rule| Reverse((rule.priority, rule.verdict)));
        Self { rules }
    }

    /// A policy that allows everything, for work in the background that is confined by other means and that nobody
    /// watches.
    pub fn unattended() -> Self {
        let priority = Priority::new(Tier::Default, 100);
        let mut rule = Rule::new(ToolPattern::Any, Verdict::Allow, priority, Source::BuiltIn);
        rule.allows_redirection = true;
        Self::new(vec![rule])
    }

    /// The same policy with one more rule.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        Self::new(self.rules)
    }

    /// The rules, heaviest first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What the user always allows, the narrowest reach first.
    pub fn saved(&self) -> Vec<&Rule> {
        let mut saved: Vec<&Rule> = self.rules.iter().filter(|rule| rule.reach().is_some()).collect();
        saved.sort_by_key(|rule| rule.reach());
        saved
    }

    /// The one of [`Policy::saved`] that is meant: by its number, from 1, or by words of its description.
    ///
    /// # Errors
    /// [`PolicyError::UnknownSaved`], [`PolicyError::AmbiguousSaved`].
    pub fn find_saved(&self, given: &str) -> Result<&Rule, PolicyError> {
        let (given, saved) = (given.trim(), self.saved());
        let unknown = || PolicyError::UnknownSaved { given: given.to_owned(), count: saved.len() };
        if given.is_empty() {
            return Err(unknown());
        }
        if let Ok(number) = given.parse::<usize>() {
            return number.checked_sub(1).and_then(|index| saved.get(index).copied()).ok_or_else(unknown);
        }
        let words = given.to_lowercase();
        let is_meant = |rule: &Rule| rule.describe().to_lowercase().contains(&words);
        let numbers: Vec<usize> = (0..saved.len()).filter(|index| is_meant(saved[*index])).collect();
        match numbers[..] {
            [] => Err(unknown()),
            [index] => Ok(saved[index]),
            [..] => {
                let numbers = numbers.iter().map(|index| index + 1).collect();
                Err(PolicyError::AmbiguousSaved { given: given.to_owned(), numbers })
            }
        }
    }

    /// The same policy without what the user always allows in this reach and these words, see [`Rule::describe`].
    #[must_use]
    pub fn without_saved(mut self, reach: Reach, described: &str) -> Self {
        self.rules.retain(|rule| rule.reach() != Some(reach) || rule.describe() != described);
        self
    }

    /// Decides about a call. A command line is allowed only if every command in it is.
    pub fn decide(&self, call: &Call<'_>, situation: Situation) -> Ruling<'_> {
        let line = call.command().map(parse_line);
        let mut rulings = questions(call, situation, line.as_ref()).map(|question| self.answer(&question));
        let first = rulings.next().expect("there is always a question");
        rulings.fold(first, stricter)
    }

    /// Decides about a single command or a call of another tool.
    pub(crate) fn answer(&self, question: &Question<'_>) -> Ruling<'_> {
        let mut decides = self.deciders(question);
        let rule = self.rules.iter().find(|rule| decides(rule));
        let Situation { mode, is_interactive, .. } = question.situation;
        let said = match rule {
            Some(rule) => rule.verdict,
            None if mode == ApprovalMode::Yolo => Verdict::Allow,
            None => Verdict::Ask,
        };
        let mut caution = question.command.filter(|_| said == Verdict::Allow).and_then(|(line, part)| {
            caution(line, part, rule.is_some_and(|rule| rule.allows_redirection), question.situation)
        });
        let mut verdict = if caution.is_some() { Verdict::Ask } else { said };
        if verdict == Verdict::Ask && !is_interactive {
            verdict = Verdict::Deny;
            caution = caution.or(Some(Caution::NobodyToAsk));
        }
        let decision = match verdict {
            Verdict::Allow => Decision::Allow,
            Verdict::Ask => Decision::Ask,
            Verdict::Deny => Decision::Deny { reason: deny_reason(question.call.tool, rule, caution) },
        };
        let command =
            question.command.filter(|(line, _)| line.parts.len() > 1).map(|(_, part)| part.text.clone());
        Ruling { decision, rule, caution, command }
    }

    /// Which rules can decide: those that match. What the user always allows can not where a deny of the workspace, the
    /// user or the administrator matches, too, whatever either weighs.
    fn deciders<'q>(&'q self, question: &'q Question<'_>) -> impl FnMut(&Rule) -> bool + 'q {
        let mut is_denied = None;
        move |rule| {
            question.mismatch(rule).is_none()
                && !(rule.reach().is_some() && *is_denied.get_or_insert_with(|| self.denies(question)))
        }
    }

    /// Whether a deny matches that overrules what the user always allows.
    pub(crate) fn denies(&self, question: &Question<'_>) -> bool {
        self.rules.iter().any(|rule| rule.overrules_saved() && question.mismatch(rule).is_none())
    }
}

/// One question for each command of a line, or one for the call.
pub(crate) fn questions<'a>(
    call: &Call<'a>,
    situation: Situation,
    line: Option<&'a Line>,
) -> impl Iterator<Item = Question<'a>> {
    let commands = line.map(|line| line.parts.iter().map(move |part| Some((line, part))));
    let none = commands.is_none().then_some(None);
    let call = *call;
    commands.into_iter().flatten().chain(none).map(move |command| Question::new(call, situation, command))
}

/// The stricter of two rulings, the first if they are alike.
fn stricter<'a>(first: Ruling<'a>, second: Ruling<'a>) -> Ruling<'a> {
    if second.verdict() > first.verdict() { second } else { first }
}

/// What speaks against a command that a rule allows.
fn caution(line: &Line, part: &Part, allows_redirection: bool, situation: Situation) -> Option<Caution> {
    if !situation.is_trusted && part.program() == Some("git") {
        Some(Caution::GitWithoutTrust)
    } else if situation.mode == ApprovalMode::Yolo {
        None
    } else if !line.is_clear {
        Some(Caution::UnclearLine)
    } else if part.redirects && !allows_redirection {
        Some(Caution::Redirection)
    } else {
        None
    }
}

fn deny_reason(tool: &str, rule: Option<&Rule>, caution: Option<Caution>) -> String {
    match (rule, caution) {
        (Some(rule), None) => match &rule.deny_message {
            Some(message) => message.clone(),
            None => format!("The policy does not allow this call of {tool}: {rule}."),
        },
        (_, Some(caution)) => format!("This call of {tool} was not run: {}.", caution.reason()),
        (None, None) => format!("The policy does not allow this call of {tool}."),
    }
}
