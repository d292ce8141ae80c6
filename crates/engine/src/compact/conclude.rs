//! The end of a pass: the report, the state from now on, and the last event.

use longhaul_compaction::{Input, Outcome, Plan, Replacement, Rung, Status};
use longhaul_conversation::{Message, Trigger};

use super::{Pass, Progress};
use crate::Event;
use crate::latch::ModelPart;
use crate::outcome::{Account, PassOutcome, ShortenedOutput};
use crate::settings::Counting;
use crate::state::{PassEnd, State};

impl Pass<'_> {
    pub(super) fn conclude(&self, mut result: Outcome, progress: Progress) -> PassOutcome {
        let mut account = progress.account;
        account.spend = self.spend();
        account.is_exact = self.settings.counting == Counting::Exact && progress.has_summarised;
        let is_by_model = result.notes.is_some();
        if result.messages.is_some() {
            account.model = self.deps.summariser.model().filter(|_| is_by_model).map(str::to_string);
            account.shortened = shortened(&result.plan, self.input);
        }
        result.warnings.extend(warnings(&account));
        result.report.duration = Some((self.deps.clock)().saturating_sub(self.started));
        let pass = PassEnd {
            status: result.status,
            trigger: self.trigger(),
            has_summarised: progress.has_summarised,
            model: if progress.has_model_failed { ModelPart::Failed } else { ModelPart::Fine },
            is_by_model,
            is_vain: progress.is_vain,
            after: result.after,
            spend: account.spend,
        };
        let state = self.state.after(&pass, self.settings);
        let outcome = PassOutcome { result, state, account };
        if let Some(event) = last_event(&outcome, progress.has_started) {
            self.emit(event);
        }
        outcome
    }

    /// Everything is as it was, but for what was spent.
    pub(super) fn conclude_cancelled(&self, progress: Progress) -> PassOutcome {
        let reason = "cancelled".to_string();
        let plan = Plan { rung: Rung::Wait, reason: reason.clone(), before: self.input.size() };
        let mut result = self.unchanged(plan, Status::Cancelled, reason);
        let duration = (self.deps.clock)().saturating_sub(self.started);
        result.report.duration = Some(duration);
        let account = Account { spend: self.spend(), ..progress.account };
        self.emit(Event::Cancelled { duration, spend: account.spend });
        let state = State { spend: self.state.spend.plus(account.spend), ..self.state.clone() };
        PassOutcome { result, state, account }
    }
}

fn last_event(outcome: &PassOutcome, has_started: bool) -> Option<Event> {
    let PassOutcome { result, account, .. } = outcome;
    let duration = result.report.duration.unwrap_or_default();
    let (status, before, after, spend) = (result.status, result.before, result.after, account.spend);
    if status == Status::Masked {
        let outputs = account.shortened.len();
        return Some(Event::Masked { outputs, before, after, duration });
    }
    if let Some(messages) = &result.messages {
        let report = Box::new(result.report.clone());
        return Some(Event::Applied {
            status,
            before,
            after,
            messages: messages.len(),
            duration,
            spend,
            report,
        });
    }
    let is_expected = has_started || status == Status::DoesNotFit || account.trigger == Trigger::Forced;
    let reason = match &result.plan.rung {
        Rung::DoesNotFit(refusal) => format!("{}: {}", result.reason, refusal.part.remedy()),
        _ => result.reason.clone(),
    };
    is_expected.then_some(Event::Refused { status, reason, duration, spend })
}

fn warnings(account: &Account) -> impl Iterator<Item = String> {
    let fell_back = account.fell_back.iter().map(|reason| format!("used the offline summariser: {reason}"));
    let not_saved = account.not_saved.first().map(|first| {
        let files = match account.not_saved.len() {
            1 => "1 file".to_string(),
            many => format!("{many} files"),
        };
        format!("could not save {files}: {}", first.reason)
    });
    fell_back.chain(not_saved)
}

/// The outputs that a plan shortens.
fn shortened(plan: &Plan, input: &Input<'_>) -> Vec<ShortenedOutput> {
    let messages = input.messages();
    let limit = input.options.budget.outputs.characters;
    let tool = |replacement: &Replacement| {
        let mut results = messages.get(replacement.message)?.results();
        let named = results.find(|result| result.call == replacement.call)?.name.clone();
        named.or_else(|| {
            let mut calls = messages.iter().flat_map(Message::calls);
            calls.find(|call| call.id == replacement.call).map(|call| call.name.clone())
        })
    };
    let outputs = plan.replacements().iter().map(|replacement| ShortenedOutput {
        tool: tool(replacement),
        before: replacement.full_text(messages).map_or(0, |text| text.chars().count()),
        after: replacement.text.chars().count(),
        limit,
    });
    outputs.collect()
}
