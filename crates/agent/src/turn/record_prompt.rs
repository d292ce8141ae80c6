//! Records a prompt: the system prompt where it changed, the session context once, news from memory files and the editor, and
//! then what the user says. Everything is on the disk before anything is sent.

use longhaul_compaction::unsaid_rules;
use longhaul_conversation::{Body, FragmentPlace, MessageId, Origin, Part, Role};
use longhaul_formats::{FragmentContent, RecordedFragment};
use longhaul_wire::split_pasted;

use super::instructions::reload_memory;
use super::session::AgentSession;
use crate::deps::AgentDeps;
use crate::error::AgentError;
use crate::event::Event;
use crate::prompt::has_session_context;

/// The beginning of a text that restores rules.
const RESTORED_RULES: &str =
    "<hook_context>\nRules that the user stated earlier in this session. They still apply, word for word:";

/// Records what was said, and before the first words of a session where it takes place; returns the id of the prompt.
pub(super) fn record_prompt(
    session: &mut AgentSession,
    mut parts: Vec<Part>,
    deps: &AgentDeps<'_>,
) -> Result<MessageId, AgentError> {
    if let Some(news) = reload_memory(session, deps) {
        parts.insert(0, news);
    }
    if let Some(editor) = read_editor(session, deps) {
        parts.insert(0, editor);
    }
    if let Some(rules) = restore_rules(session) {
        parts.insert(0, rules);
    }
    if let Some(context) = introduce(session, deps)? {
        parts.insert(0, context);
    }
    let prompt = deps.message(Role::User, parts);
    session.append(&prompt, deps)?;
    Ok(prompt.id)
}

/// Takes back a prompt that was too much, unless the model has begun to work on it: the next request must not hold it again.
/// Instructions that a compaction brought in behind it stay.
pub(super) fn take_back_prompt(
    session: &mut AgentSession,
    prompt: &MessageId,
    deps: &AgentDeps<'_>,
) -> Result<(), AgentError> {
    let messages = session.conversation.log().replay().messages();
    let Some(place) = messages.iter().position(|message| message.id == *prompt) else { return Ok(()) };
    let behind = &messages[place + 1..];
    if behind.iter().any(|message| message.role == Role::Model) {
        return Ok(());
    }
    let is_instruction = |part: &Part| part.origin == Origin::Memory;
    let instructions: Vec<Vec<Part>> = behind
        .iter()
        .filter(|message| message.parts.iter().all(is_instruction))
        .map(|message| message.parts.clone())
        .collect();
    session.conversation.rewind_to(prompt)?;
    session.forget_latest_request();
    for parts in instructions {
        session.append(&deps.message(Role::User, parts), deps)?;
    }
    deps.emit(Event::PromptTakenBack);
    Ok(())
}

/// The rules that another program's compaction dropped from the transcript, unless they were restored before.
fn restore_rules(session: &AgentSession) -> Option<Part> {
    let conversation = &session.conversation;
    let replay = conversation.log().replay();
    if !replay.has_dropped() && !replay.has_imported_compaction() {
        return None;
    }
    let messages = conversation.transcript().messages();
    let texts = messages.iter().flat_map(|message| &message.parts).filter(|part| part.origin == Origin::Hook);
    let restored: Vec<&str> = texts
        .filter_map(Part::as_text)
        .filter(|text| text.trim_start().starts_with(RESTORED_RULES))
        .collect();
    let missing: Vec<String> = unsaid_rules(conversation.tracker(), messages)
        .into_iter()
        .map(|rule| format!("- {}", rule.text))
        .filter(|line| !restored.iter().any(|text| text.contains(line.as_str())))
        .collect();
    let text = format!("{RESTORED_RULES}\n{}\n</hook_context>", missing.join("\n"));
    (!missing.is_empty()).then(|| Part::text(Origin::Hook, text))
}

/// Records a text that nobody typed, such as a hook's.
pub(crate) fn record_context(
    session: &mut AgentSession,
    text: String,
    deps: &AgentDeps<'_>,
) -> Result<(), AgentError> {
    session.append(&deps.message(Role::User, vec![Part::text(Origin::Hook, text)]), deps)
}

/// Records the system prompt, and in a new session where it takes place; gives that back where a session that began
/// elsewhere has yet to learn it.
pub(crate) fn introduce(
    session: &mut AgentSession,
    deps: &AgentDeps<'_>,
) -> Result<Option<Part>, AgentError> {
    record_system(session, deps)?;
    let messages = session.conversation.transcript().messages();
    if messages.is_empty() {
        let context = context(session, deps);
        session.append(&deps.message(Role::User, vec![context]), deps)?;
    } else if !messages.iter().any(has_session_context) {
        return Ok(Some(context(session, deps)));
    }
    Ok(None)
}

/// The part that describes where the session takes place, with the project's instructions from memory.
fn context(session: &AgentSession, deps: &AgentDeps<'_>) -> Part {
    let memory = session.memory.as_ref().map(|memory| memory.first_message((deps.now)()));
    session.settings.context.to_part(memory.as_deref())
}

/// Records the system prompt where it is another one than before.
fn record_system(session: &mut AgentSession, deps: &AgentDeps<'_>) -> Result<(), AgentError> {
    let content = FragmentContent::Text(session.system());
    let fragment = RecordedFragment { origin: Origin::Hook, place: FragmentPlace::System, content };
    let mut recorded = session.conversation.log().replay().fragments().iter();
    if recorded.rfind(|known| known.place == FragmentPlace::System) == Some(&fragment) {
        return Ok(());
    }
    Ok(session.conversation.record_fragment(fragment, deps.stamp())?)
}

/// The part on what the user has open in an editor, where that is news.
fn read_editor(session: &mut AgentSession, deps: &AgentDeps<'_>) -> Option<Part> {
    let messages = session.conversation.transcript().messages();
    let news = session.editor.news(deps.editor?, messages);
    news.unwrap_or_else(|warning| {
        deps.warn(warning);
        None
    })
}

/// The parts of a prompt, with what the user pasted apart from what they typed.
pub(super) fn split_prompt(parts: Vec<Part>) -> Vec<Part> {
    let split = |part: Part| match part {
        Part { origin: Origin::User, body: Body::Text(text), extra: None } if !text.is_empty() => {
            split_pasted(&text)
        }
        part => vec![part],
    };
    parts.into_iter().flat_map(split).collect()
}

/// The text that the user typed.
pub(super) fn typed_text(parts: &[Part]) -> String {
    let own = parts.iter().filter(|part| part.origin == Origin::User);
    own.filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}
