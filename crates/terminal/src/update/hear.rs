//! Messages from the driver.

use longhaul_agent::{Event, MemoryNews, SourceState, TurnEnd};
use longhaul_conversation::{TokenCount, Usage};
use longhaul_engine::Event as Compaction;

use super::{Effect, print, print_more, prompt, review, submit};
use crate::command::{Message, Notice, Segment};
use crate::editor::Editor;
use crate::guard::Guard;
use crate::services::Ended;
use crate::state::{
    Answer, Answering, ApprovalStage, Approving, Compacting, Dialog, Files, Folded, Pick, PickItem, Picker,
    RunningTool, State, Thoughts,
};
use crate::view::{self, CompactionCard};

/// The most bytes of a running tool's output that are kept.
const MOST_OUTPUT: usize = 8 << 10;
/// The most folded texts that are kept.
const MOST_FOLDED: usize = 50;

pub(super) fn hear(state: &mut State, message: Message) -> Vec<Effect> {
    let width = state.width();
    match message {
        Message::Happened(event) => happened(state, event),
        Message::Asked(id, mut request) => {
            let mut effects = flush(state);
            request.preview = state.named(request.preview);
            let lines = view::asked(&request, width);
            state.previewed.insert(request.call.id.clone());
            effects.push(print(state, lines));
            effects.push(Effect::Ring);
            state.dialogs.push_back(Dialog::Approval(Box::new(Approving {
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
        Message::Questioned(id, question) => {
            let mut effects = flush(state);
            effects.push(Effect::Ring);
            let (guard, field) = (Guard::default(), Editor::default());
            let answering = Answering { id, question, guard, selected: None, field };
            state.dialogs.push_back(Dialog::Question(Box::new(answering)));
            effects
        }
        Message::Standing(standing) => {
            state.standing = *standing;
            Vec::new()
        }
        Message::Cost(cost) => {
            state.standing.cost = cost;
            Vec::new()
        }
        Message::Page(page) => vec![print(state, page.lines(width))],
        Message::Notice(notice) => vec![print(state, view::notice(&notice, width))],
        Message::Compacted(outcome) => {
            state.compaction = None;
            let card = CompactionCard::of(&outcome);
            vec![print(state, card.lines(width))]
        }
        Message::Ran { command, output } => {
            let lines = view::ran(&command, &output, width);
            fold(state, Folded { title: format!("$ {command}"), text: output, is_diff: false });
            vec![print(state, lines)]
        }
        Message::Sessions(sessions) => {
            let items = sessions.into_iter().map(|session| PickItem {
                title: session.title,
                detail: session.detail,
                pick: Pick::Session(session.id),
            });
            let picker = Picker::new("Go on with which session?", items.collect());
            state.dialogs.push_back(Dialog::Picker(picker));
            Vec::new()
        }
        Message::Turns(turns) => {
            let items = turns.into_iter().map(|turn| PickItem {
                title: turn.text.split_whitespace().collect::<Vec<_>>().join(" "),
                detail: turn.detail,
                pick: Pick::Turn(turn.id, turn.text),
            });
            let picker = Picker::new("Go back to before which message?", items.collect());
            state.dialogs.push_back(Dialog::Picker(picker));
            Vec::new()
        }
        Message::Opened { title, last } => {
            state.folded.clear();
            state.unfolded = 0;
            state.last_answer =
                last.iter().rfind(|said| !said.is_users).map_or_else(String::new, |said| said.text.clone());
            vec![print(state, view::opened(&title, &last, width))]
        }
        Message::Restore(text) => {
            if state.editor.is_empty() {
                state.editor.set(&text);
            }
            Vec::new()
        }
        Message::Skills(skills) => {
            state.skills = skills;
            // An open completion is refreshed.
            if state.completion.is_some() { prompt::complete(state) } else { Vec::new() }
        }
        Message::Inbox(inbox, items) => review::open(state, inbox, items),
        Message::InboxChanged(inbox, items) => {
            review::refresh(state, inbox, items);
            Vec::new()
        }
        Message::Edit { files, then } => vec![Effect::EditFiles(files, then)],
        Message::Done => done(state),
        Message::Left => vec![Effect::Leave(Ended::Left)],
        Message::Failed(notice) => {
            let lines = view::notice(&notice, width);
            vec![print(state, lines), Effect::Leave(Ended::Failed)]
        }
    }
}

/// Ends a command; the next queued message is sent.
fn done(state: &mut State) -> Vec<Effect> {
    let mut effects = flush(state);
    state.pending = state.pending.saturating_sub(1);
    if !state.is_busy() {
        state.work = None;
        state.tools.clear();
        state.compaction = None;
        state.wants_compaction = false;
        state.previewed.clear();
        // The work may have created or removed files.
        if matches!(state.files, Files::Known(_)) {
            state.files = Files::Unknown;
        }
        review::settled(state);
        effects.extend(submit::next_in_queue(state));
    }
    effects
}

fn happened(state: &mut State, event: Event) -> Vec<Effect> {
    let width = state.width();
    match event {
        Event::StepBegan { .. } => {
            let effects = flush(state);
            state.doing(format!("waiting for {}", state.standing.model));
            effects
        }
        Event::TextDelta(text) => {
            let effects = end_thoughts(state);
            state.doing("answering");
            state.answer.streaming.push(&text);
            state.answer.text.push_str(&text);
            effects
        }
        Event::ThoughtDelta(text) => {
            if state.thoughts.text.is_empty() {
                state.thoughts.since = state.now;
            }
            state.doing("thinking");
            state.thoughts.text.push_str(&text);
            Vec::new()
        }
        Event::ToolBegan { call, preview } => {
            let effects = flush(state);
            state.doing("running tools");
            let (since, preview) = (state.now, state.named(preview));
            let tool = RunningTool { id: call.id, name: call.name, preview, since, output: String::new() };
            state.tools.push(tool);
            effects
        }
        Event::ToolProgress { call, text } => {
            if let Some(tool) = state.tools.iter_mut().find(|tool| tool.id == call) {
                tool.output.push_str(&text);
                if tool.output.len() > 2 * MOST_OUTPUT {
                    let mut from = tool.output.len() - MOST_OUTPUT;
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
            state.standing.meter.grow(Segment::Tools, &end.text);
            let was_shown = state.previewed.contains(&end.call.id);
            let ended = view::ended(&end, running.as_ref(), was_shown, width);
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
            let text = format!("Out of sight after the compaction: {}", lost.join(", "));
            let hint =
                "Files come in again when a tool touches their folders, skills when they are activated.";
            say(state, &Notice::info(text).with_hint(hint))
        }
        Event::Memory { files, why } => {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            let text = match why {
                MemoryNews::CameIn => format!("Memory came in: {}", names.join(", ")),
                MemoryNews::Changed => format!("Memory was read again: {}", names.join(", ")),
            };
            say(state, &Notice::info(text))
        }
        Event::AskedAgain => {
            say(state, &Notice::info("The request was too long for the model; it is asked again with less."))
        }
        Event::Looping { detail } => {
            say(state, &Notice::warning(format!("The model goes round in circles: {detail}")))
        }
        Event::Usage(usage) => {
            count(state, &usage);
            Vec::new()
        }
        Event::Routed { model, .. } => {
            state.doing(format!("waiting for {model}"));
            Vec::new()
        }
        Event::Subagent { name, event, .. } => match *event {
            Event::ToolBegan { preview, .. } => {
                state.doing(format!("{name}: {}", view::what(&preview)));
                Vec::new()
            }
            Event::Warning(text) => say(state, &Notice::warning(format!("{name}: {text}"))),
            _ => Vec::new(),
        },
        Event::HookMessage(text) => say(state, &Notice::info(text)),
        Event::Warning(text) => say(state, &Notice::warning(text)),
        Event::Overflow(_) | Event::Spent { .. } => Vec::new(),
        Event::Ended(end) => ended(state, &end),
    }
}

fn say(state: &mut State, notice: &Notice) -> Vec<Effect> {
    let lines = view::notice(notice, state.width());
    vec![print(state, lines)]
}

/// Updates the meter during a turn with the provider's count.
fn count(state: &mut State, usage: &Usage) {
    let Some(input) = usage.input else { return };
    state.standing.meter.count(input + usage.output.unwrap_or(TokenCount::ZERO));
}

fn ended(state: &mut State, end: &TurnEnd) -> Vec<Effect> {
    let mut effects = flush(state);
    if let Some(notice) = view::turn_end(end, &state.standing) {
        effects.extend(say(state, &notice));
    }
    effects
}

fn compaction(state: &mut State, event: &Compaction) -> Vec<Effect> {
    let now = state.now;
    let stage = view::stage(event);
    match event {
        Compaction::Started { before, .. } => {
            let effects = flush(state);
            state.compaction =
                Some(Compacting { since: now, stage: "looking at the conversation".into(), before: *before });
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
        state.standing.meter.shrink(*before, *after);
    }
    // A requested compaction shows its complete card next.
    if state.wants_compaction { Vec::new() } else { vec![print(state, card.lines(state.width()))] }
}

/// Prints the rest of an arriving answer or thought.
fn flush(state: &mut State) -> Vec<Effect> {
    let mut effects = end_thoughts(state);
    let width = state.width();
    let Answer { streaming, text, .. } = &mut state.answer;
    let lines = streaming.finish(width);
    if !text.trim().is_empty() {
        state.last_answer = std::mem::take(text);
    }
    if !lines.is_empty() {
        effects.push(print_more(state, lines));
    }
    state.answer = Answer::default();
    effects
}

fn end_thoughts(state: &mut State) -> Vec<Effect> {
    let Thoughts { text, since } = std::mem::take(&mut state.thoughts);
    if text.trim().is_empty() {
        return Vec::new();
    }
    let took = state.now.saturating_sub(since);
    let lines = view::thought(&text, took, state.shows_thoughts, state.width());
    if !state.shows_thoughts {
        fold(state, Folded { title: "Thoughts".into(), text, is_diff: false });
    }
    vec![print(state, lines)]
}

fn fold(state: &mut State, folded: Folded) {
    state.folded.push(folded);
    if state.folded.len() > MOST_FOLDED {
        state.folded.remove(0);
    }
    state.unfolded = 0;
}
