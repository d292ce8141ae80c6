//! Decides about a call: of the rules that match, the one of the highest priority.

use std::cmp::Reverse;

use longhaul_workspace::{ProtectedFile, ProtectedFiles};

use crate::matching::{Call, Question, Situation};
use crate::protected::changed_by;
use crate::rule::{Rule, Source, ToolPattern, Verdict};
use crate::shell::{Line, Part, parse_line};
use crate::{ApprovalMode, Priority, Tier};

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
    /// The file that grants rights and would be changed: nobody but a person allows that.
    pub protected: Option<ProtectedFile>,
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
    /// A file that grants rights would be changed.
    ProtectedFile,
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
            Self::ProtectedFile => {
                "it changes a file that grants rights, and only a person at a terminal can allow that"
            }
            Self::NobodyToAsk => "the user would have to be asked, and nobody is there to answer",
        }
    }
}

/// All rules, in the order of their weight, and the files that no rule lets anybody change.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    protected: Option<ProtectedFiles>,
}

impl Policy {
    /// A policy of these rules. Of two that weigh the same, the stricter one counts, whatever their order. Files that
    /// grant rights are known by their usual names.
    pub fn new(mut rules: Vec<Rule>) -> Self {
        sort(&mut rules);
        Self { rules, protected: Some(ProtectedFiles::default()) }
    }

    /// The same rules, where these files grant rights.
    #[must_use]
    pub fn protecting(self, files: ProtectedFiles) -> Self {
        Self { protected: Some(files), ..self }
    }

    /// A policy that allows everything, for work in the background that is confined by other means and that nobody
    /// watches.
    pub fn unattended() -> Self {
        let priority = Priority::new(Tier::Default, 100);
        let mut rule = Rule::new(ToolPattern::Any, Verdict::Allow, priority, Source::BuiltIn);
        rule.allows_redirection = true;
        Self { rules: vec![rule], protected: None }
    }

    /// The same policy with one more rule.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        sort(&mut self.rules);
        self
    }

    /// The rules, heaviest first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
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
        let rule = self.rules.iter().find(|rule| question.mismatch(rule).is_none());
        let Situation { mode, is_interactive, .. } = question.situation;
        let said = match rule {
            Some(rule) => rule.verdict,
            None if mode == ApprovalMode::Yolo => Verdict::Allow,
            None => Verdict::Ask,
        };
        let mut caution = question.command.filter(|_| said == Verdict::Allow).and_then(|(line, part)| {
            caution(line, part, rule.is_some_and(|rule| rule.allows_redirection), question.situation)
        });
        let protected = self.protected.as_ref().filter(|_| said != Verdict::Deny);
        let protected = protected
            .and_then(|files| changed_by(files, &question.call, question.command.map(|(_, part)| part)));
        if protected.is_some() {
            caution = Some(Caution::ProtectedFile);
        }
        let mut verdict = if caution.is_some() { Verdict::Ask } else { said };
        if verdict == Verdict::Ask && !is_interactive {
            verdict = Verdict::Deny;
            caution = caution.or(Some(Caution::NobodyToAsk));
        }
        let decision = match verdict {
            Verdict::Allow => Decision::Allow,
            Verdict::Ask => Decision::Ask,
            Verdict::Deny => {
                Decision::Deny { reason: deny_reason(question.call.tool, rule, caution, protected.as_ref()) }
            }
        };
        let command =
            question.command.filter(|(line, _)| line.parts.len() > 1).map(|(_, part)| part.text.clone());
        Ruling { decision, rule, caution, command, protected }
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

/// The stricter of two rulings; if they are alike, the one about a file that grants rights, else the first.
fn stricter<'a>(first: Ruling<'a>, second: Ruling<'a>) -> Ruling<'a> {
    let weight = |ruling: &Ruling<'_>| (ruling.verdict(), ruling.protected.is_some());
    if weight(&second) > weight(&first) { second } else { first }
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

fn sort(rules: &mut [Rule]) {
    rules.sort_by_key(|rule| Reverse((rule.priority, rule.verdict)));
}

fn deny_reason(
    tool: &str,
    rule: Option<&Rule>,
    caution: Option<Caution>,
    protected: Option<&ProtectedFile>,
) -> String {
    if let Some(file) = protected {
        return format!(
            "This call of {tool} was not run: it would change {file}, a file that grants rights. Only a person at a \
             terminal can allow that, whatever the mode and the rules are. Leave the file as it is, and tell the user what \
             you wanted to change there."
        );
    }
    match (rule, caution) {
        (Some(rule), None) => match &rule.deny_message {
            Some(message) => message.clone(),
            None => format!("The policy does not allow this call of {tool}: {rule}."),
        },
        (_, Some(caution)) => format!("This call of {tool} was not run: {}.", caution.reason()),
        (None, None) => format!("The policy does not allow this call of {tool}."),
    }
}
