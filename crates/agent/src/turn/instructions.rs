//! Instructions beside the conversation (memory files, active skills, the plan): brought in as the work needs them, and put
//! back after a compaction as far as they fit.

use std::path::PathBuf;

use longhaul_conversation::{Origin, Part, Role};

use super::session::AgentSession;
use super::state::TurnState;
use super::window::RequestWindow;
use crate::deps::AgentDeps;
use crate::event::{Event, Instruction, InstructionSource, MemoryNews, SourceState};
use crate::memory::Reloaded;
use crate::tools::{FoundActivation, find_activation, render_again};

/// Every memory file, active skill and plan, with its state.
pub(crate) fn list_instructions(session: &AgentSession) -> Vec<InstructionSource> {
    let conversation = session.conversation();
    let (messages, said) = (conversation.transcript().messages(), conversation.log().replay().messages());
    let memory = session.memory().map(|memory| memory.standing(messages, said));
    let skills = conversation.host().skills.iter().map(|name| {
        let state = find_activation(messages, name).map_or(SourceState::Lost, |found| state_of(&found));
        InstructionSource { what: Instruction::Skill(name.clone()), state }
    });
    memory.unwrap_or_default().into_iter().chain(skills).chain(plan_source(session)).collect()
}

/// Reads memory files again that changed; returns the part from which the model learns it.
pub(super) fn reload_memory(session: &mut AgentSession, deps: &AgentDeps<'_>) -> Option<Part> {
    let messages = session.conversation.transcript().messages();
    let Reloaded { files, text } = session.memory.as_mut()?.refresh((deps.now)(), messages)?;
    deps.emit(Event::Memory { files, why: MemoryNews::Changed });
    text.map(|text| Part::text(Origin::Memory, text))
}

/// The instructions that come in behind the result of a tool that touched these paths, and those that the tool itself
/// changed.
pub(super) fn bring_in_memory(
    session: &mut AgentSession,
    touched: &[PathBuf],
    deps: &AgentDeps<'_>,
) -> Option<String> {
    let memory = session.memory.as_mut().filter(|_| !touched.is_empty())?;
    let mut instructions = String::new();
    if let Some(Reloaded { files, text }) = memory.refresh_touched(touched) {
        deps.emit(Event::Memory { files, why: MemoryNews::Changed });
        instructions.extend(text.map(|text| format!("\n\n{text}")));
    }
    if let Some((block, files)) = memory.come_in(touched) {
        deps.emit(Event::Memory { files, why: MemoryNews::CameIn });
        instructions.push_str(&block);
    }
    memory.new_links_out().into_iter().for_each(|link| deps.warn(link));
    (!instructions.is_empty()).then_some(instructions)
}

/// Puts instructions back that a compaction left out, and reports the state of each.
pub(super) fn restore_instructions(session: &mut AgentSession, turn: &TurnState, deps: &AgentDeps<'_>) {
    let mut sources = restore_memory(session, turn, deps);
    sources.extend(restore_skills(session, turn, deps));
    sources.extend(plan_source(session));
    if !sources.is_empty() {
        deps.emit(Event::Instructions(sources));
    }
}

/// Puts memory files back that fell out, as far as they fit.
fn restore_memory(
    session: &mut AgentSession,
    turn: &TurnState,
    deps: &AgentDeps<'_>,
) -> Vec<InstructionSource> {
    let spare = RequestWindow::of(session, turn).spare_for_instructions();
    let AgentSession { settings, conversation, memory, .. } = &mut *session;
    let Some(memory) = memory else { return Vec::new() };
    let fits = |text: &str| settings.estimator.text(text).tokens() <= spare;
    let (mut sources, text) = memory.after_compaction(conversation.transcript().messages(), fits);
    if let Some(text) = text {
        append_instructions(session, text, &mut sources, deps);
    }
    sources
}

/// Puts the instructions of active skills back that fell out, as far as they fit, those that were activated last first.
fn restore_skills(
    session: &mut AgentSession,
    turn: &TurnState,
    deps: &AgentDeps<'_>,
) -> Vec<InstructionSource> {
    let spare = RequestWindow::of(session, turn).spare_for_instructions();
    let estimator = session.settings.estimator;
    let messages = session.conversation.transcript().messages();
    let said = session.conversation.log().replay().messages();
    let (mut sources, mut back) = (Vec::new(), Vec::new());
    for name in session.conversation.host().skills.iter().rev() {
        let state = match find_activation(messages, name) {
            Some(found) => state_of(&found),
            None => {
                back.extend(find_activation(said, name).map(|found| found.text));
                let fits = !back.is_empty() && estimator.text(&render_again(&back)).tokens() <= spare;
                if !fits {
                    back.pop();
                }
                if fits { SourceState::Reinjected } else { SourceState::Lost }
            }
        };
        sources.push(InstructionSource { what: Instruction::Skill(name.clone()), state });
    }
    sources.reverse();
    if !back.is_empty() {
        append_instructions(session, render_again(&back), &mut sources, deps);
    }
    sources
}

/// Records instructions that are put back; where that fails, they are lost.
fn append_instructions(
    session: &mut AgentSession,
    text: String,
    sources: &mut [InstructionSource],
    deps: &AgentDeps<'_>,
) {
    let message = deps.message(Role::User, vec![Part::text(Origin::Memory, text)]);
    if let Err(error) = session.append(&message, deps) {
        deps.warn(error.to_string());
        let lost = sources.iter_mut().filter(|source| source.state == SourceState::Reinjected);
        lost.for_each(|source| source.state = SourceState::Lost);
    }
}

/// The plan. The model knows of it as long as its file is named somewhere.
fn plan_source(session: &AgentSession) -> Option<InstructionSource> {
    let plan = session.conversation.host().plan.clone()?;
    let parts = session.conversation.transcript().messages().iter().flat_map(|message| &message.parts);
    let is_named = parts.filter_map(Part::as_text).any(|text| text.contains(&plan));
    let state = if is_named { SourceState::Present } else { SourceState::Lost };
    Some(InstructionSource { what: Instruction::Plan(plan), state })
}

fn state_of(found: &FoundActivation) -> SourceState {
    if found.is_put_back { SourceState::Reinjected } else { SourceState::Present }
}
