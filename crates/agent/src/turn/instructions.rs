//! What instructs the model beside the conversation, and whether it reads that now: memory files, active skills, the plan. After
//! a compaction it is put back as far as it fits.

use longhaul_conversation::{Message, Origin, Part, Role};
use longhaul_skills::{ACTIVATE_TOOL, Activation};

use super::Agent;
use crate::{Event, Host, Instruction, InstructionSource, SourceState};

/// What stands before the instructions of skills that are put back.
const AGAIN: &str = include_str!("../prompts/skills_again.md");

/// How the instructions of a skill begin and end.
const BEGIN: &str = "<activated_skill name=\"";
const END: &str = "</activated_skill>";

/// Whether a text gives the instructions of skills.
pub(crate) fn tells_skill(text: &str) -> bool {
    text.starts_with(BEGIN) || text.starts_with(AGAIN.trim_end())
}

impl Agent {
    /// Every memory file, active skill and plan, and whether the model reads it now.
    pub fn instructions(&self) -> Vec<InstructionSource> {
        let (messages, said) =
            (self.conversation.transcript().messages(), self.conversation.log().replay().messages());
        let memory = self.memory.as_ref().map(|memory| memory.standing(messages, said));
        let host = self.conversation.host();
        let skills = host.skills.iter().map(|name| {
            let state = match find_activation(messages, name) {
                Some(Found { is_put_back: true, .. }) => SourceState::Reinjected,
                Some(_) => SourceState::Present,
                None => SourceState::Lost,
            };
            InstructionSource { what: Instruction::Skill(name.clone()), state }
        });
        memory.unwrap_or_default().into_iter().chain(skills).chain(self.plan_source()).collect()
    }

    /// The plan, of which the model knows as long as its file is named somewhere.
    fn plan_source(&self) -> Option<InstructionSource> {
        let plan = self.conversation.host().plan.clone()?;
        let parts = self.conversation.transcript().messages().iter().flat_map(|message| &message.parts);
        let is_named = parts.filter_map(Part::as_text).any(|text| text.contains(&plan));
        let state = if is_named { SourceState::Present } else { SourceState::Lost };
        Some(InstructionSource { what: Instruction::Plan(plan), state })
    }

    /// Sees to the instructions after the conversation was shortened.
    pub(crate) fn after_compaction(&mut self, host: &Host<'_>) {
        let mut sources = self.put_memory_back(host);
        sources.extend(self.put_skills_back(host));
        sources.extend(self.plan_source());
        if !sources.is_empty() {
            host.tell(Event::Instructions(sources));
        }
    }

    /// Puts the instructions of active skills back that fell out, as far as they fit, those that were activated last first;
    /// tells what became of each.
    fn put_skills_back(&mut self, host: &Host<'_>) -> Vec<InstructionSource> {
        let (estimator, spare) = (self.settings.estimator, self.spare_for_instructions());
        let messages = self.conversation.transcript().messages();
        let said = self.conversation.log().replay().messages();
        let (mut sources, mut back) = (Vec::new(), Vec::new());
        let render = |back: &[String]| format!("{}\n\n{}", AGAIN.trim_end(), back.join("\n\n"));
        for name in self.conversation.host().skills.iter().rev() {
            let state = match find_activation(messages, name) {
                Some(Found { is_put_back: true, .. }) => SourceState::Reinjected,
                Some(_) => SourceState::Present,
                None => {
                    back.extend(find_activation(said, name).map(|found| found.text));
                    let fits = !back.is_empty() && estimator.text(&render(&back)).tokens() <= spare;
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
            let message = host.message(Role::User, vec![Part::text(Origin::Memory, render(&back))]);
            if let Err(error) = self.append(&message, host) {
                host.warn(error.to_string());
                let lost = sources.iter_mut().filter(|source| source.state == SourceState::Reinjected);
                lost.for_each(|source| source.state = SourceState::Lost);
            }
        }
        sources
    }
}

/// The instructions of a skill, as they were given.
struct Found {
    text: String,
    /// Whether that was after a compaction.
    is_put_back: bool,
}

/// The latest instructions of a skill in these messages. Whatever else quotes some is none: they come from the tool that
/// activates skills, or from the program itself.
fn find_activation(messages: &[Message], name: &str) -> Option<Found> {
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
        Some(Found { text: text[from..end].to_string(), is_put_back })
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
