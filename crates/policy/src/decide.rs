//! Decides about a call: the highest-priority matching rule wins, except that every deny rule overrides saved approvals.

use std::cmp::Reverse;

use longhaul_shell::{SimpleCommand, Unclear};
use longhaul_workspace::{ProtectedFile, ProtectedFiles};

use crate::caution::Caution;
use crate::line::ParsedLine;
use crate::matching::{Call, Match, RuleQuestion, Situation, Whole};
use crate::programs::{OptionEffect, risky_options};
use crate::protected::changed_by;
use crate::rule::{Condition, Rule, RuleSource, ToolPattern, Verdict};
use crate::{ApprovalMode, PolicyError, Priority, Reach, RuleTier};

/// The decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allow,
    /// It does not run.
    Deny {
        /// The reason that the model is given.
        reason: String,
    },
    /// The user is asked.
    Ask,
}

/// A decision with its grounds.
#[derive(Clone, Debug)]
pub struct Ruling<'a> {
    /// The decision about the call.
    pub decision: Decision,
    /// The rule that decided, or none if no rule matches.
    pub rule: Option<&'a Rule>,
    /// The reason why the decision is stricter than the rule.
    pub caution: Option<Caution>,
    /// The command that decided, where a line has several.
    pub command: Option<String>,
    /// The protected file that would be changed: only a person may approve that.
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

/// All rules by priority, and the files that no rule can open to changes.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    protected: Option<ProtectedFiles>,
}

impl Policy {
    /// A policy of these rules. Of two with the same priority, the stricter one wins, whatever their order. Protected
    /// files are known by their usual names.
    pub fn new(mut rules: Vec<Rule>) -> Self {
        sort(&mut rules);
        Self { rules, protected: Some(ProtectedFiles::default()) }
    }

    /// The same rules, with these protected files.
    #[must_use]
    pub fn protecting(self, files: ProtectedFiles) -> Self {
        Self { protected: Some(files), ..self }
    }

    /// A policy that allows everything, for unattended background work that is confined by other means.
    pub fn unattended() -> Self {
        let priority = Priority::new(RuleTier::Default, 100);
        let mut rule = Rule::new(ToolPattern::Any, Verdict::Allow, priority, RuleSource::BuiltIn);
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

    /// The rules, highest priority first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules that the user saved by an "always", the narrowest reach first.
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
        let line = call.command().map(ParsedLine::parse);
        let whole = Whole::new(*call);
        let mut rulings = questions(&whole, situation, line.as_ref()).map(|question| self.answer(&question));
        let first = rulings.next().expect("there is always a question");
        rulings.fold(first, stricter)
    }

    /// Decides about a single command or a call of another tool.
    pub(crate) fn answer(&self, question: &RuleQuestion<'_>) -> Ruling<'_> {
        // A rule that forbids or asks, and would match if what cannot be told were so.
        let mut doubt = None;
        let mut denial = None;
        let rule = self.rules.iter().find(|rule| match question.match_rule(rule) {
            Match::Yes if rule.reach().is_some() => match denial.get_or_insert_with(|| self.denial(question))
            {
                Denial::Certain => false,
                Denial::Possible(caution) => {
                    doubt.get_or_insert(*caution);
                    true
                }
                Denial::None => true,
            },
            Match::Yes => true,
            Match::No(_) => false,
            Match::Maybe(caution) => {
                doubt.get_or_insert(caution);
                false
            }
        });
        let Situation { mode, is_interactive, .. } = question.situation;
        let said = match rule {
            Some(rule) => rule.verdict,
            None if mode == ApprovalMode::Yolo => Verdict::Allow,
            None => Verdict::Ask,
        };
        let mut caution = question
            .command
            .filter(|_| said == Verdict::Allow)
            .and_then(|(line, command)| doubt.or_else(|| caution(question, rule, line, command)));
        let protected = self.protected.as_ref().filter(|_| said != Verdict::Deny);
        let protected = protected.and_then(|files| {
            changed_by(files, &question.call, question.command.map(|(_, command)| command))
        });
        if protected.is_some() {
            caution = Some(Caution::ProtectedFile);
        }
        let mut verdict = if caution.is_some() { Verdict::Ask } else { said };
        if verdict == Verdict::Ask && !is_interactive {
            verdict = Verdict::Deny;
            caution = caution.or(Some(Caution::NoTerminal));
        }
        let decision = match verdict {
            Verdict::Allow => Decision::Allow,
            Verdict::Ask => Decision::Ask,
            Verdict::Deny => {
                Decision::Deny { reason: deny_reason(question.call.tool, rule, caution, protected.as_ref()) }
            }
        };
        let command =
            question.command.filter(|(line, _)| line.has_several()).map(|(_, command)| command.text.clone());
        Ruling { decision, rule, caution, command, protected }
    }

    /// The denial by the workspace, an extension, the user or the administrator that overrides saved approvals, whatever
    /// the priorities.
    pub(crate) fn denial(&self, question: &RuleQuestion<'_>) -> Denial {
        let mut found = Denial::None;
        for rule in self.rules.iter().filter(|rule| rule.overrules_saved()) {
            match (question.match_rule(rule), found) {
                (Match::Yes, _) => return Denial::Certain,
                (Match::Maybe(caution), Denial::None) => found = Denial::Possible(caution),
                _ => {}
            }
        }
        found
    }
}

/// A rule that denies what the user always allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// There is none.
    None,
    /// One would match if what cannot be told were so.
    Possible(Caution),
    /// One matches.
    Certain,
}

/// One question for each command of a line, or one for the call.
pub(crate) fn questions<'a>(
    whole: &'a Whole<'a>,
    situation: Situation,
    line: Option<&'a ParsedLine>,
) -> impl Iterator<Item = RuleQuestion<'a>> {
    let commands = line.map(|line| line.commands().map(move |command| Some((line, command))));
    let none = commands.is_none().then_some(None);
    let commands = commands.into_iter().flatten().chain(none);
    commands.map(move |command| RuleQuestion::new(whole, situation, command))
}

/// The stricter of two rulings; if they are alike, the one about a protected file, else the first.
fn stricter<'a>(first: Ruling<'a>, second: Ruling<'a>) -> Ruling<'a> {
    let weight = |ruling: &Ruling<'_>| (ruling.verdict(), ruling.protected.is_some());
    if weight(&second) > weight(&first) { second } else { first }
}

/// The caution against a command that a rule allows.
fn caution(
    question: &RuleQuestion<'_>,
    rule: Option<&Rule>,
    line: &ParsedLine,
    command: &SimpleCommand,
) -> Option<Caution> {
    let Situation { mode, is_trusted, .. } = question.situation;
    // Code of another language is what a rule about its program allows.
    let unread = command.unread.filter(|unread| *unread != Unclear::Code);
    if !is_trusted && command.program_name() == Some("git") {
        return Some(Caution::GitWithoutTrust);
    }
    // It could be git.
    if let Some(unclear) = line.unclear().or(unread).filter(|_| !is_trusted) {
        return Some(Caution::Unclear(unclear));
    }
    if mode == ApprovalMode::Yolo {
        return None;
    }
    if let Some(unclear) = line.unclear() {
        return Some(Caution::Unclear(unclear));
    }
    let allows_redirection = rule.is_some_and(|rule| rule.allows_redirection);
    if command.has_file_redirect() && !allows_redirection {
        return Some(Caution::Redirection);
    }
    // Who allows everything allows this, too.
    let rule = rule.filter(|rule| !matches!(rule.condition, Condition::Always))?;
    // A program that is not named is what the rule itself says.
    if let Some(unread) = unread.filter(|unread| *unread != Unclear::Program) {
        return Some(Caution::Unclear(unread));
    }
    risky_options(command).into_iter().find_map(|option| {
        let is_named = || question.names_word(rule, command, option.word);
        match (option.name, option.effect) {
            (_, OptionEffect::Writes) if allows_redirection => None,
            _ if is_named() => None,
            (Some(name), OptionEffect::Writes) => Some(Caution::WritingOption(name)),
            (Some(name), OptionEffect::Runs) => Some(Caution::RunningOption(name)),
            (None, _) => Some(Caution::FilledArgument),
        }
    })
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
        (_, Some(caution)) => format!("This call of {tool} was not run: {caution}."),
        (None, None) => format!("The policy does not allow this call of {tool}."),
    }
}
