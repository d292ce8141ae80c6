//! The instructions of skills in a conversation: recognised, found by name, and rendered again after a compaction.

use longhaul_conversation::{Message, Origin, Part};
use longhaul_skills::{ACTIVATE_TOOL, Activation};

/// The heading of the instructions of skills that are put back.
const AGAIN: &str = include_str!("../prompts/skills_again.md");

/// The beginning and the end of the instructions of a skill.
const BEGIN: &str = "<activated_skill name=\"";
const END: &str = "</activated_skill>";

/// The instructions of a skill, as they were given.
pub(crate) struct FoundActivation {
    pub(crate) text: String,
    /// `true` if they were put back after a compaction.
    pub(crate) is_put_back: bool,
}

/// `true` if a text gives the instructions of skills.
pub(crate) fn tells_skill(text: &str) -> bool {
    text.starts_with(BEGIN) || text.starts_with(AGAIN.trim_end())
}

/// The text that puts the instructions of skills back.
pub(crate) fn render_again(activations: &[String]) -> String {
    format!("{}\n\n{}", AGAIN.trim_end(), activations.join("\n\n"))
}

/// The latest instructions of a skill in these messages. Whatever else quotes some is none: they come from the tool that
/// activates skills, or from the program itself.
pub(crate) fn find_activation(messages: &[Message], name: &str) -> Option<FoundActivation> {
    let mark = mark(name);
    let calls: Vec<_> = parts(messages)
        .filter_map(Part::as_call)
        .filter(|call| call.name == ACTIVATE_TOOL)
        .map(|call| &call.id)
        .collect();
    parts(messages).rev().find_map(|part| {
        let (text, is_put_back) = match (part.as_result(), part.as_text()) {
            (Some(result), _) if calls.contains(&&result.call) => (result.readable().into_owned(), false),
            (None, Some(text))
                if matches!(part.origin, Origin::Hook | Origin::Memory) && tells_skill(text) =>
            {
                (text.to_string(), text.starts_with(AGAIN.trim_end()))
            }
            _ => return None,
        };
        let from = text.find(&mark)?;
        let end = from + text[from..].find(END)? + END.len();
        Some(FoundActivation { text: text[from..end].to_string(), is_put_back })
    })
}

fn parts(messages: &[Message]) -> impl DoubleEndedIterator<Item = &Part> {
    messages.iter().flat_map(|message| &message.parts)
}

/// The line with which the instructions of this skill begin.
fn mark(name: &str) -> String {
    let (instructions, resources) = (String::new(), Vec::new());
    let empty =
        Activation { name: name.to_string(), folder: None, instructions, resources, is_cut_short: false };
    empty.render().lines().next().unwrap_or_default().to_string()
}
