//! Messages from the driver.

use std::time::Duration;

use longhaul_agent::{Event, MemoryNews, SourceState, TurnEnd};
use longhaul_conversation::{TokenCount, Usage};
use longhaul_engine::Event as Compaction;

use super::{UiEffect, print, print_apart, print_more, prompt, review, submit};
use crate::editor::Editor;
use crate::guard::Guard;
use crate::notice::Notice;
use crate::preferences::Notification;
use crate::protocol::DriverMessage;
use crate::services::ExitReason;
use crate::state::{
    ApprovalDialog, ApprovalStage, Dialog, FileList, FoldedText, Picker, PickerItem, PickerValue,
    QuestionDialog, RunningCompaction, RunningTool, StreamedAnswer, Thoughts, UiState,
};
use crate::status_line::Segment;
use crate::view::{self, CompactionCard};

/// The most bytes of a running tool's output that are kept.
const MAX_OUTPUT: usize = 8 << 10;
/// The duration from which on the end of work is told.
const LONG_WORK: Duration = Duration::from_secs(10);
/// The most columns of a message in a notification.
const MAX_TOLD: usize = 60;
/// The most folded texts that are kept.
const MAX_FOLDED: usize = 50;

pub(super) fn handle_message(state: &mut UiState, message: DriverMessage) -> Vec<UiEffect> {
    let width = state.width();
    match message {
        DriverMessage::Event(event) => handle_event(state, event),
        DriverMessage::ApprovalRequested(id, mut request) => {
            let mut effects = flush(state);
            request.preview = state.with_relative_path(request.preview);
            let lines = view::approval_request(&request, width);
            state.previewed.insert(request.call.id.clone());
            effects.push(print(state, lines));
            effects.push(call_user(state, format!("Approval needed: {}", request.call.name)));
            state.dialogs.push_back(Dialog::Approval(Box::new(ApprovalDialog {
                id,
                request,
                guard: Guard::default(),
                selected: None,
                stage: ApprovalStage::Choosing,
                opened_by: None,
                field: Editor::default(),
                fault: None,
            })));
            effects
        }
        DriverMessage::QuestionAsked(id, question) => {
            let mut effects = flush(state);
            effects.push(call_user(state, "The model asks a question".to_string()));
            let (guard, field) = (Guard::default(), Editor::default());
            let answering = QuestionDialog { id, question, guard, selected: None, field };
            state.dialogs.push_back(Dialog::Question(Box::new(answering)));
            effects
        }
        DriverMessage::StatusLine(status) => {
            state.status = *status;
            Vec::new()
        }
        DriverMessage::Cost(cost) => {
            state.status.cost = cost;
            Vec::new()
        }
        DriverMessage::Page(page) => vec![print_apart(state, page.lines(width))],
        DriverMessage::Notice(notice) => vec![print_apart(state, view::notice(&notice, width))],
        DriverMessage::Compacted(outcome) => {
            state.compaction = None;
            let card = CompactionCard::of(&outcome);
            vec![print(state, card.lines(width))]
        }
        DriverMessage::CommandOutput { command, output } => {
            let lines = view::command_output(&command, &output, width);
            fold(state, FoldedText { title: format!("$ {command}"), text: output, is_diff: false });
            vec![print(state, lines)]
        }
        DriverMessage::Sessions(sessions) => {
            let items = sessions.into_iter().map(|session| PickerItem {
                title: session.title,
                detail: session.detail,
                pick: PickerValue::Session(session.id),
            });
            let picker = Picker::new("Resume which session?", items.collect());
            state.dialogs.push_back(Dialog::Picker(picker));
            Vec::new()
        }
        DriverMessage::Turns(turns) => {
            let items = turns.into_iter().map(|turn| PickerItem {
                title: turn.text.split_whitespace().collect::<Vec<_>>().join(" "),
                detail: turn.detail,
                pick: PickerValue::Turn(turn.id, turn.text),
            });
            let picker = Picker::new("Rewind to before which message?", items.collect());
            state.dialogs.push_back(Dialog::Picker(picker));
            Vec::new()
        }
        DriverMessage::Opened { title, last } => {
            state.folded.clear();
            state.unfolded = 0;
            state.last_answer =
                last.iter().rfind(|said| !said.is_users).map_or_else(String::new, |said| said.text.clone());
            vec![print(state, view::resumed_session(&title, &last, width))]
        }
        DriverMessage::Restore(text) => {
            if state.editor.is_empty() {
                state.editor.set(&text);
            }
            Vec::new()
        }
        DriverMessage::Offers(offers) => {
            state.offers = offers;
            Vec::new()
        }
        DriverMessage::Preferences(preferences) => {
            if state.preferences.is_vim != preferences.is_vim {
                state.vim.reset();
            }
            state.preferences = preferences;
            Vec::new()
        }
        DriverMessage::Skills(skills) => {
            state.skills = skills;
            // An open completion is refreshed.
            if state.completion.is_some() { prompt::complete(state) } else { Vec::new() }
        }
        DriverMessage::Prompts(prompts) => {
            state.prompts = Some(prompts);
            Vec::new()
        }
        DriverMessage::Inbox(inbox, items) => review::open(state, inbox, items),
        DriverMessage::InboxChanged(inbox, items) => {
            review::refresh(state, inbox, items);
            Vec::new()
        }
        DriverMessage::Edit { files, then } => vec![UiEffect::EditFiles(files, then)],
        DriverMessage::Done => done(state),
        DriverMessage::Left => vec![UiEffect::Leave(ExitReason::Left)],
        DriverMessage::Failed(notice) => {
            let lines = view::notice(&notice, width);
            vec![print(state, lines), UiEffect::Leave(ExitReason::Failed)]
        }
    }
}

/// Ends a command; the next queued message is sent.
fn done(state: &mut UiState) -> Vec<UiEffect> {
    state.pending = state.pending.saturating_sub(1);
    let mut effects = Vec::new();
    // A page that was asked for meanwhile does not end the turn.
    if !state.is_busy() {
        effects = flush(state);
        effects.extend(tell_end(state));
        state.activity = None;
        state.tools.clear();
        state.compaction = None;
        state.is_compaction_requested = false;
        state.previewed.clear();
        // The work may have created or removed files.
        if matches!(state.files, FileList::Known(_)) {
            state.files = FileList::Unknown;
        }
        review::settled(state);
        effects.extend(submit::next_in_queue(state));
    }
    effects
}

/// Tells the user of the end of long work, if nothing else is waiting to be sent.
fn tell_end(state: &mut UiState) -> Option<UiEffect> {
    let (since, text) = state.work.take()?;
    let is_long = state.now.saturating_sub(since) >= LONG_WORK && state.queue.is_empty();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = longhaul_display::text::fit(&text, MAX_TOLD);
    (is_long && state.preferences.notification != Notification::Off)
        .then(|| UiEffect::Notify(format!("Done: {text}")))
}

/// The sign that a question waits: the bell, or the message that the user prefers.
fn call_user(state: &UiState, what: String) -> UiEffect {
    match state.preferences.notification {
        Notification::Off | Notification::Bell => UiEffect::Ring,
        Notification::Osc9 | Notification::Osc777 => UiEffect::Notify(what),
    }
}

fn handle_event(state: &mut UiState, event: Event) -> Vec<UiEffect> {
    let width = state.width();
    match event {
        Event::StepBegan { .. } => {
            let effects = flush(state);
            state.set_activity(format!("waiting for {}", state.status.model));
            effects
        }
        Event::TextDelta(text) => {
            let effects = end_thoughts(state);
            state.set_activity("answering");
            state.answer.streaming.push(&text);
            state.answer.text.push_str(&text);
            effects
        }
        Event::ThoughtDelta(text) => {
            if state.thoughts.text.is_empty() {
                state.thoughts.since = state.now;
            }
            state.set_activity("thinking");
            state.thoughts.text.push_str(&text);
            Vec::new()
        }
        Event::ToolBegan { call, preview } => {
            let effects = flush(state);
            state.set_activity("running tools");
            let (since, preview) = (state.now, state.with_relative_path(preview));
            let tool = RunningTool { id: call.id, name: call.name, preview, since, output: String::new() };
            state.tools.push(tool);
            effects
        }
        Event::ToolProgress { call, text } => {
            if let Some(tool) = state.tools.iter_mut().find(|tool| tool.id == call) {
                tool.output.push_str(&text);
                if tool.output.len() > 2 * MAX_OUTPUT {
                    let mut from = tool.output.len() - MAX_OUTPUT;
                    while !tool.output.is_char_boundary(from) {
                        from += 1;
                    }
                    tool.output.drain(..from);
                }
            }
            Vec::new()
        }
        Event::ToolEnded(end) => {
            let mut effects = flush(state);
            let running = state.tools.iter().position(|tool| tool.id == end.call.id);
            let running = running.map(|place| state.tools.remove(place));
            state.status.meter.grow(Segment::Tools, &end.text);
            let was_shown = state.previewed.contains(&end.call.id);
            let ended = view::finished_tool(&end, running.as_ref(), was_shown, width);
            if let Some(folded) = ended.folded {
                fold(state, folded);
            }
            effects.push(print(state, ended.lines));
            effects
        }
        Event::Compaction(event) => compaction(state, &event),
        Event::Instructions(sources) => {
            let lost: Vec<String> = sources
                .iter()
                .filter(|source| source.state == SourceState::Lost)
                .map(|source| source.what.to_string())
                .collect();
            if lost.is_empty() {
                return Vec::new();
            }
            let text = format!("No longer in context after the compaction: {}", lost.join(", "));
            let hint = "Files are reloaded when a tool touches their folder, skills when they are activated.";
            notify(state, &Notice::info(text).with_hint(hint))
        }
        Event::Memory { files, why } => {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            let text = match why {
                MemoryNews::CameIn => format!("Loaded memory: {}", names.join(", ")),
                MemoryNews::Changed => format!("Reloaded memory: {}", names.join(", ")),
            };
            notify(state, &Notice::info(text))
        }
        Event::AskedAgain => notify(
            state,
            &Notice::info("The request was too long for the model. Retrying with a shorter one."),
        ),
        Event::PromptTakenBack => {
            state.is_prompt_back = true;
            Vec::new()
        }
        Event::Looping { detail } => {
            notify(state, &Notice::warning(format!("The model is stuck in a loop: {detail}")))
        }
        Event::Usage(usage) => {
            count(state, &usage);
            Vec::new()
        }
        Event::Routed { model, .. } => {
            state.set_activity(format!("waiting for {model}"));
            Vec::new()
        }
        Event::Subagent { name, event, .. } => match *event {
            Event::ToolBegan { preview, .. } => {
                state.set_activity(format!("{name}: {}", view::describe_call(&preview)));
                Vec::new()
            }
            Event::Warning(text) => notify(state, &Notice::warning(format!("{name}: {text}"))),
            _ => Vec::new(),
        },
        Event::HookMessage(text) => notify(state, &Notice::info(text)),
        Event::Warning(text) => notify(state, &Notice::warning(text)),
        Event::Overflow(_) | Event::Spent { .. } => Vec::new(),
        Event::Ended(end) => ended(state, &end),
    }
}

fn notify(state: &mut UiState, notice: &Notice) -> Vec<UiEffect> {
    let lines = view::notice(notice, state.width());
    vec![print(state, lines)]
}

/// Updates the meter during a turn with the provider's count.
fn count(state: &mut UiState, usage: &Usage) {
    let Some(input) = usage.input else { return };
    state.status.meter.count(input + usage.output.unwrap_or(TokenCount::ZERO));
}

fn ended(state: &mut UiState, end: &TurnEnd) -> Vec<UiEffect> {
    let mut effects = flush(state);
    let is_prompt_back = std::mem::take(&mut state.is_prompt_back);
    if let Some(notice) = view::turn_end(end, is_prompt_back, &state.status) {
        effects.extend(notify(state, &notice));
    }
    effects
}

fn compaction(state: &mut UiState, event: &Compaction) -> Vec<UiEffect> {
    let now = state.now;
    let stage = view::stage(event);
    match event {
        Compaction::Started { before, .. } => {
            let effects = flush(state);
            state.compaction = Some(RunningCompaction {
                since: now,
                stage: "reading the conversation".into(),
                before: *before,
            });
            return effects;
        }
        Compaction::Undone { .. } => return Vec::new(),
        _ => {}
    }
    let Some(compacting) = &mut state.compaction else { return Vec::new() };
    if let Some(stage) = stage {
        compacting.stage = stage;
    }
    let Some(card) = CompactionCard::of_event(event, compacting) else { return Vec::new() };
    state.compaction = None;
    if let Compaction::Applied { before, after, .. } | Compaction::Masked { before, after, .. } = event {
        state.status.meter.shrink(*before, *after);
    }
    // A requested compaction shows its complete card next.
    if state.is_compaction_requested { Vec::new() } else { vec![print(state, card.lines(state.width()))] }
}

/// Prints the rest of an arriving answer or thought.
fn flush(state: &mut UiState) -> Vec<UiEffect> {
    let mut effects = end_thoughts(state);
    let width = state.width();
    let StreamedAnswer { streaming, text, .. } = &mut state.answer;
    let lines = streaming.finish(width);
    if !text.trim().is_empty() {
        state.last_answer = std::mem::take(text);
    }
    if !lines.is_empty() {
        effects.push(print_more(state, lines));
    }
    state.answer = StreamedAnswer::default();
    effects
}

fn end_thoughts(state: &mut UiState) -> Vec<UiEffect> {
    let Thoughts { text, since } = std::mem::take(&mut state.thoughts);
    if text.trim().is_empty() {
        return Vec::new();
    }
    let took = state.now.saturating_sub(since);
    let lines = view::thoughts(&text, took, state.shows_thoughts, state.width());
    if !state.shows_thoughts {
        fold(state, FoldedText { title: "Thoughts".into(), text, is_diff: false });
    }
    vec![print(state, lines)]
}

fn fold(state: &mut UiState, folded: FoldedText) {
    state.folded.push(folded);
    if state.folded.len() > MAX_FOLDED {
        state.folded.remove(0);
    }
    state.unfolded = 0;
}
