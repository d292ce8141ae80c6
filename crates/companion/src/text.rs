//! Writes what the guard adds to an agent's context after a compaction: rules word for word, the request in work, what is
//! open, the record of work, and the way to the whole record.

use longhaul_conversation::{Estimator, Ordinal, TokenCount, neutralise_tags};
use longhaul_ledger::LedgerSection;
use longhaul_text::ends;

use crate::record::{Directive, SessionRecord};

/// The tag around the guard's texts, by which they are recognised when the session is read again.
pub const GUARD_TAG: &str = "longhaul_guard";

/// The room that an agent gives to added text: a fixed number of handlers, each with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardRoom {
    /// The number of handlers, each of which adds one text.
    pub handlers: usize,
    /// The most characters of a text.
    pub characters: usize,
    /// The most tokens of a text, by estimate; none where the agent counts characters alone.
    pub tokens: Option<u64>,
}

impl GuardRoom {
    /// Claude Code takes 10,000 characters from each handler.
    pub const CLAUDE: Self = Self { handlers: 3, characters: 9_900, tokens: None };
    /// Codex takes 2,500 tokens from each handler.
    pub const CODEX: Self = Self { handlers: 3, characters: 9_600, tokens: Some(2_400) };
    /// Agents whose requests are rewritten: there is one text, with a limit of our own.
    pub const REQUEST: Self = Self { handlers: 1, characters: 16_000, tokens: Some(4_000) };

    fn holds(&self, text: &str) -> bool {
        let fits_tokens = |most: u64| Estimator::default().text(text).as_f64() <= most as f64;
        text.chars().count() <= self.characters && self.tokens.is_none_or(fits_tokens)
    }
}

/// One line of the guard's text and the heading it stands under.
struct GuardLine {
    heading: &'static str,
    text: String,
}

const RULES: &str = "The user's standing rules, word for word. They hold until the user lifts them:";
const IN_WORK: &str = "The request in work:";
const OPEN: &str = "Also asked for and still open:";
const WORK: &str = "Done so far, from the record of tool calls:";
/// Leads into what has no room.
const LEFT_OUT: &str = "Not shown for want of room:";

const INTRODUCTION: &str = "Longhaul, which keeps the record of this session, adds this after a compaction. It is taken from \
                            what the user typed and from tool calls; [m12] is the number of a message. It is a reminder, not a \
                            new request.";

/// The most tokens of the record of work.
const WORK_TOKENS: TokenCount = TokenCount(1_200);

/// The texts for the agent's handlers, in order; those for which nothing is left are missing. `session` names the session
/// for commands.
pub fn guard_texts(record: &SessionRecord, session: &str, room: GuardRoom) -> Vec<String> {
    let lines = lines_of(record);
    if lines.is_empty() {
        return Vec::new();
    }
    let mut texts: Vec<String> = Vec::new();
    let mut pending = lines.iter().peekable();
    let mut left_out: Vec<&GuardLine> = Vec::new();
    // Any of the texts may be the last one, which says what is left out.
    let reserve = closing(&lines.iter().collect::<Vec<_>>(), session).chars().count();
    for handler in 1..=room.handlers {
        let is_last = handler == room.handlers;
        let mut body = if handler == 1 { format!("{INTRODUCTION}\n") } else { String::new() };
        let mut heading = "";
        let mut is_filled = false;
        while let Some(line) = pending.peek() {
            let mut longer = body.clone();
            if line.heading != heading {
                longer.push_str(&format!("\n{}\n", line.heading));
            }
            longer.push_str(&format!("- {}\n", line.text));
            let padded = format!("{}{}", wrapped(&longer), " ".repeat(reserve));
            if room.holds(&padded) {
                (body, heading, is_filled) = (longer, line.heading, true);
                pending.next();
            } else if is_filled && !is_last {
                break;
            } else {
                // It has no room anywhere, or this is the last text: shorter lines may still fit.
                left_out.extend(pending.next());
            }
        }
        let is_end = pending.peek().is_none();
        if is_filled || handler == 1 || is_end && !left_out.is_empty() {
            if is_end {
                body.push_str(&closing(&left_out, session));
            }
            texts.push(wrapped(&body));
        }
        if is_end {
            break;
        }
    }
    texts
}

/// All lines, the most important first.
fn lines_of(record: &SessionRecord) -> Vec<GuardLine> {
    let line = |heading, directive: &Directive| GuardLine {
        heading,
        text: marked(directive.message, &one_line(&directive.text)),
    };
    let mut lines: Vec<GuardLine> = record.active_rules().iter().map(|rule| line(RULES, rule)).collect();
    let mut open = record.open_requests();
    let current = record.requests.current().map(|request| request.text.clone());
    let in_work = open.iter().position(|request| Some(&request.text) == current.as_ref());
    let in_work = in_work.map(|index| open.remove(index)).or_else(|| open.pop());
    // Not every prompt that is being worked on is recognised as a request; an agent must not have to ask what its task was.
    let in_work = in_work.or_else(|| record.prompt.as_ref().map(shortened));
    lines.extend(in_work.iter().map(|request| line(IN_WORK, request)));
    lines.extend(open.iter().rev().map(|request| line(OPEN, request)));
    let work = record.ledger.render_lines(WORK_TOKENS).into_iter();
    let tells = |section| !matches!(section, LedgerSection::Directory | LedgerSection::Plan);
    lines.extend(work.filter(|line| tells(line.section)).map(|line| GuardLine {
        heading: WORK,
        text: marked(line.marks.last().copied(), &one_line(&line.text)),
    }));
    lines
}

/// The most characters of a prompt that stands for the request in work.
const PROMPT: usize = 1_500;

/// A prompt, or both ends of a long one.
fn shortened(prompt: &Directive) -> Directive {
    let ends = ends(&prompt.text, PROMPT);
    let text = match ends.omitted {
        0 => prompt.text.clone(),
        _ => format!("{} […] {}", ends.head, ends.tail),
    };
    Directive { message: prompt.message, text }
}

fn marked(message: Option<Ordinal>, text: &str) -> String {
    message.map_or_else(|| text.to_string(), |message| format!("[{message}] {text}"))
}

/// A text on one line, without anything that could pass for our own tags.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    neutralise_tags(&line, &[GUARD_TAG, "system-reminder", "state_snapshot", "hook_context"]).into_owned()
}

/// The count of lines left out, by kind, and the way to all of them.
fn closing(left_out: &[&GuardLine], session: &str) -> String {
    let mut closing = String::from("\n");
    if !left_out.is_empty() {
        let count = |heading: &str| left_out.iter().filter(|line| line.heading == heading).count();
        let kinds =
            [(RULES, "rule"), (IN_WORK, "request in work"), (OPEN, "open request"), (WORK, "line of work")];
        let counts = kinds.iter().filter_map(|(heading, kind)| match count(heading) {
            0 => None,
            1 => Some(format!("1 {kind}")),
            many => Some(format!(
                "{many} {}",
                kind.replace("line of", "lines of").replace("rule", "rules").replace("request", "requests")
            )),
        });
        let counts: Vec<String> = counts.collect();
        closing.push_str(&format!(
            "{LEFT_OUT} {}. `longhaul rules list` and `longhaul requests list` with the session show them.\n",
            counts.join(", ")
        ));
    }
    let session = quoted(session);
    closing.push_str(&format!(
        "To find anything said before: `longhaul recall QUERY --session {session}`. To read a message whole: `longhaul sessions show {session} --message m12`.\n"
    ));
    closing
}

/// A path as one word of a command line.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=@%:,~".contains(c);
    if path.chars().all(is_plain) && !path.is_empty() {
        path.to_string()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

fn wrapped(body: &str) -> String {
    format!("<{GUARD_TAG}>\n{}\n</{GUARD_TAG}>", body.trim())
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role};
    use proptest::prelude::*;

    use super::*;

    fn record(said: &[&str]) -> SessionRecord {
        let mut record = SessionRecord::default();
        for (index, text) in said.iter().enumerate() {
            let message = Message::new(format!("u{index}"), Role::User, vec![Part::user_text(*text)]);
            record.rules.observe(&message);
            record.requests.observe(&message);
        }
        record
    }

    #[test]
    fn rules_come_first_and_word_for_word() {
        let texts =
            guard_texts(&record(&["Fix the upload. Never push to main."]), "s.jsonl", GuardRoom::CLAUDE);
        let expected = format!(
            "<longhaul_guard>\n{INTRODUCTION}\n\n{RULES}\n- [m1] Never push to main.\n\n{IN_WORK}\n- [m1] Fix the upload.\n\n\
             To find anything said before: `longhaul recall QUERY --session s.jsonl`. To read a message whole: \
             `longhaul sessions show s.jsonl --message m12`.\n</longhaul_guard>"
        );
        assert_eq!(texts, [expected]);
    }

    #[test]
    fn without_anything_to_say_there_is_no_text() {
        assert!(guard_texts(&SessionRecord::default(), "s", GuardRoom::CLAUDE).is_empty());
    }

    #[test]
    fn rules_are_spread_over_handlers_and_the_rest_is_counted() {
        let rules: Vec<String> = (0..40)
            .map(|number| format!("Never touch the table number{number} {}.", "or its copies ".repeat(8)))
            .collect();
        let said: Vec<&str> = rules.iter().map(String::as_str).collect();
        let room = GuardRoom { handlers: 2, characters: 2_500, tokens: None };
        let texts = guard_texts(&record(&said), "a b.jsonl", room);
        assert_eq!(texts.len(), 2);
        assert!(texts.iter().all(|text| text.chars().count() <= 2_500));
        let shown = texts.iter().map(|text| text.matches("Never touch").count()).sum::<usize>();
        assert!(shown > 20 && texts[1].contains(&format!("{LEFT_OUT} {} rules", 40 - shown)), "{}", texts[1]);
        assert!(texts[1].contains("--session 'a b.jsonl'"));
    }

    #[test]
    fn a_rule_cannot_close_the_guards_tag() {
        let texts =
            guard_texts(&record(&["Never write </longhaul_guard> anywhere."]), "s", GuardRoom::CLAUDE);
        assert_eq!(texts[0].matches("</longhaul_guard>").count(), 1, "{}", texts[0]);
    }

    proptest! {
        #[test]
        fn texts_fit_their_room(
            lengths in prop::collection::vec(1usize..900, 0..40),
            handlers in 1usize..4,
            characters in 1_200usize..9_900,
        ) {
            let said: Vec<String> =
                lengths.iter().enumerate().map(|(n, length)| format!("Never touch number{n} {}.", "word ".repeat(length / 5))).collect();
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            let room = GuardRoom { handlers, characters, tokens: None };
            let texts = guard_texts(&record(&said), "s", room);
            prop_assert!(texts.len() <= handlers);
            for text in &texts {
                prop_assert!(text.chars().count() <= characters, "{} of {characters}", text.chars().count());
            }
        }
    }
}
