//! The facts of one message that requests depend on.

use longhaul_conversation::{Message, Origin};

use super::commands::{clears, is_local_command};
use super::document::read_stated_goal;
use super::known::Known;
use super::recognise::{StatedRequest, read_definition, read_request};
use super::replies::Reply;
use super::sentences::count_words;
use super::topic::RequestSubject;
use super::turn::News;
use crate::annotated::AnnotatedPart;
use crate::typed::Said;

/// The facts of one message that requests depend on.
pub struct Overheard {
    pub(super) news: News,
    /// The text that a person typed, if they did.
    pub(super) typed: Option<Typed>,
    /// The goal that the summary of another program states.
    pub(super) stated_goal: Option<String>,
}

/// A person's judgement on the work, and their requests.
pub(super) struct Typed {
    pub(super) reply: Reply,
    pub(super) wishes: Vec<Wish>,
    pub(super) deferred: Vec<String>,
    /// True if it has so few words that they tell nothing alone.
    pub(super) is_terse: bool,
    /// The words of somebody who only nods.
    pub(super) nod: String,
    /// True if the person cleared the conversation before.
    pub(super) has_cleared: bool,
}

/// Something that is wanted or reported.
pub(super) struct Wish {
    pub(super) text: String,
    /// True if it asks a question or orders something.
    pub(super) asks: bool,
    pub(super) known: Known,
    pub(super) subject: RequestSubject,
}

impl Wish {
    fn of(stated: &mut StatedRequest) -> Option<Self> {
        let text = std::mem::take(&mut stated.text);
        let (known, subject) = (Known::of(&text), RequestSubject::of(&text));
        (!text.is_empty()).then_some(Self { text, asks: stated.asks, known, subject })
    }
}

/// Fewer words than this tell nothing alone.
const TERSE: usize = 5;

/// A text of at most so many bytes is what somebody typed.
const SHORT_TEXT: usize = 1_500;

/// A text of more bytes than this beside it is not.
const LONG_TEXT: usize = 4_000;

/// The longest nod that is quoted.
const LONGEST_NOD: usize = 60;

impl Overheard {
    /// The facts of a message of these parts, of which `typed` was typed.
    pub fn of(message: &Message, parts: &[AnnotatedPart<'_>], typed: &[(&str, Vec<Said<'_>>)]) -> Self {
        let summaries = parts.iter().filter(|heard| heard.part.origin == Origin::Summary);
        let stated_goal = summaries.filter_map(|heard| heard.part.as_text()).find_map(read_stated_goal);
        let news = News::of(message, parts);
        let command = parts.iter().find_map(command_in);
        let typed = match command {
            Some(command) => Typed::of_command(command, parts, typed),
            None => Typed::of_texts(typed),
        };
        Self { news, typed, stated_goal }
    }
}
/// The name of the command that a part of a message says was typed, as Claude Code records it.
fn command_in<'m>(heard: &AnnotatedPart<'m>) -> Option<&'m str> {
    let text = heard.part.as_text().filter(|_| heard.part.origin == Origin::Hook)?;
    let (_, rest) = text.split_once("<command-name>")?;
    let (name, _) = rest.split_once("</command-name>")?;
    Some(name.trim().trim_start_matches('/'))
}

/// Returns true if the arguments of a command follow behind this part.
fn hands_arguments(heard: &AnnotatedPart<'_>) -> bool {
    heard.part.origin == Origin::Hook
        && heard.part.as_text().is_some_and(|text| text.trim_end().ends_with("<command-args>"))
}

/// The text that stands for a command: it follows the command's name, and is nobody's words.
fn definition_in<'m>(parts: &[AnnotatedPart<'m>], arguments: Option<&str>) -> Option<&'m str> {
    let behind = parts.iter().skip_while(|heard| command_in(heard).is_none()).skip(1);
    let is_own = |heard: &&AnnotatedPart<'m>| matches!(heard.part.origin, Origin::Memory | Origin::Hook);
    let mut texts = behind.filter(is_own).filter_map(|heard| heard.part.as_text());
    texts.find(|text| Some(*text) != arguments && !text.trim_start().starts_with('<'))
}

impl Typed {
    /// What was typed in these texts.
    fn of_texts(typed: &[(&str, Vec<Said<'_>>)]) -> Option<Self> {
        let mut typed: Vec<&(&str, Vec<Said<'_>>)> = typed.iter().collect();
        // A long text that a short one follows is what the short one is about: instructions, a hook's output.
        if let Some((last, _)) = typed.last().copied()
            && last.len() <= SHORT_TEXT
            && !last.trim().is_empty()
        {
            typed.retain(|(text, _)| text.len() <= LONG_TEXT);
        }
        (!typed.is_empty()).then(|| Self::of(&typed))
    }

    /// What was typed along with a command: its arguments, its definition, and what else was said.
    fn of_command(name: &str, parts: &[AnnotatedPart<'_>], typed: &[(&str, Vec<Said<'_>>)]) -> Option<Self> {
        let arguments =
            parts.windows(2).find(|pair| hands_arguments(&pair[0])).and_then(|pair| pair[1].part.as_text());
        let mut others = typed.iter().filter(|(text, _)| Some(*text) != arguments);
        // The arguments of `/compact` are for the program; what is typed behind it is not.
        if is_local_command(name) {
            let others: Vec<_> = others.collect();
            return (!others.is_empty()).then(|| Self::of(&others));
        }
        let mut text = format!("/{name}");
        if let Some(arguments) = arguments.map(str::trim).filter(|arguments| !arguments.is_empty()) {
            text.push(' ');
            text.push_str(arguments.lines().next().unwrap_or_default());
        }
        // Of a definition that nobody typed, the first sentence tells what the command is for; what it demands is not the user's.
        let typed = others.next().map(|(text, _)| read_definition(text, 2));
        let definition =
            typed.or_else(|| definition_in(parts, arguments).map(|text| read_definition(text, 1)));
        if let Some(purpose) = definition.filter(|text| !text.is_empty()) {
            text = format!("{text} — {purpose}");
        }
        let mut stated = StatedRequest { text, asks: true, ..Default::default() };
        let wishes = Wish::of(&mut stated).into_iter().collect();
        let reply = Reply::MovesOn;
        Some(Self {
            reply,
            wishes,
            deferred: Vec::new(),
            is_terse: false,
            nod: String::new(),
            has_cleared: false,
        })
    }

    fn of(typed: &[&(&str, Vec<Said<'_>>)]) -> Self {
        let mut all = Self {
            reply: Reply::Silent,
            wishes: Vec::new(),
            deferred: Vec::new(),
            is_terse: false,
            nod: String::new(),
            has_cleared: false,
        };
        for (text, said) in typed {
            let mut stated = read_request(text, said);
            all.has_cleared |= clears(text);
            if all.reply == Reply::Silent {
                all.reply = stated.reply;
                all.nod = text.split_whitespace().collect::<Vec<_>>().join(" ");
                all.nod.truncate(all.nod.floor_char_boundary(LONGEST_NOD));
            }
            all.deferred.append(&mut stated.deferred);
            all.wishes.extend(Wish::of(&mut stated));
        }
        all.is_terse = all.wishes.iter().map(|wish| count_words(&wish.text)).sum::<usize>() < TERSE;
        all
    }
}
