//! Keeps the lines of a conversation that may be quoted later, and what is known about their anchors.
//!
//! The pool is bounded: of each message its best lines, and in all no more characters than [`MOST_CHARACTERS`], which are
//! exceeded for a while so that pruning is seldom. What was said once therefore stays available, in its own words, to every
//! later compaction.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use longhaul_conversation::{CallId, Ordinal};
use serde::{Deserialize, Serialize};

use super::anchors::{AnchorKind, scan_anchors};
use super::candidates::{Candidate, Candidates};
use super::changes::LINE_END;
use super::gather::{Gathered, LineOwner, Source};
use super::names::{Anchor, Names};
use super::outputs::is_ending;
use super::statements::Form;
use super::weigh::{USUAL_BUDGET, weigh_anchors};

/// Lines and anchors of everything that was said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    candidates: Candidates,
    names: Names,
    /// The files that lines are from, by number.
    files: Vec<String>,
    /// The files that the results of calls will be from.
    awaited: HashMap<CallId, u32>,
    /// Calls whose results will only show what stands in files.
    #[serde(default)]
    looks: HashSet<CallId>,
    /// Calls that run commands, with these if they are short, whose results are still to come.
    #[serde(default)]
    asked: HashMap<CallId, String>,
    /// The first message of each stretch of work.
    stretches: Vec<Ordinal>,
    /// The working folder, which paths are seen from.
    root: Option<String>,
}

/// The worth of a statement that may be quoted beside the names in it, as of so many names.
const WHOLE_STATEMENT: f32 = 0.5;
/// Of one message no more lines than this are kept.
pub(super) const MOST_LINES: usize = 400;
/// In all about so many characters are kept: twenty times a large snapshot.
const MOST_CHARACTERS: usize = 20 * 8_000 * 4;
/// A stretch of work has at most so many messages; what the user types begins another.
const STRETCH: u32 = 40;
/// The pool is pruned when it has grown to so many times that.
const SLACK: usize = 8;

impl Pool {
    /// Paths inside `root` are seen from there.
    pub fn set_root(&mut self, root: &str) {
        self.root = Some(root.trim_end_matches('/').to_string()).filter(|root| root.len() > 1);
    }

    /// The lines that may be quoted.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// All anchors, by number.
    pub fn anchors(&self) -> &[Anchor] {
        self.names.all()
    }

    /// The path of a file, by its number.
    pub(crate) fn file(&self, number: u32) -> &str {
        &self.files[number as usize]
    }

    /// The stretch of work that a message belongs to, by number, from 0.
    pub(crate) fn stretch_of(&self, at: Ordinal) -> usize {
        self.stretches.partition_point(|first| *first <= at).saturating_sub(1)
    }

    /// Takes in one message.
    pub fn observe(&mut self, message: &longhaul_conversation::Message, at: Ordinal) {
        let parts: Vec<_> = message.parts.iter().map(longhaul_directives::AnnotatedPart::of).collect();
        self.take_in(&Gathered::of(&parts), at);
    }

    /// Takes in the lines of one message.
    pub fn take_in(&mut self, lines: &Gathered, at: Ordinal) {
        // An earlier snapshot is short.
        let may_prune = !lines.is_quoted;
        self.keep(lines, at);
        if may_prune && self.candidates.size() > SLACK * MOST_CHARACTERS {
            self.prune();
        }
    }

    /// Keeps the lines of a message that name most for their length.
    fn keep(&mut self, gathered: &Gathered, at: Ordinal) {
        self.names.begin_message();
        let files = self.files_of(gathered);
        let shown: HashSet<&CallId> =
            gathered.results().iter().filter(|call| self.looks.remove(*call)).collect();
        self.looks.extend(gathered.looks().iter().cloned());
        let asked: HashMap<&CallId, String> =
            gathered.results().iter().filter_map(|call| Some((call, self.asked.remove(call)?))).collect();
        self.asked.extend(gathered.asked().iter().cloned());
        let mut lines: Vec<Weighed> = Vec::new();
        let mut anchors: Vec<u32> = Vec::with_capacity(gathered.mentions().len());
        let mut unnamed = 0;
        for line in gathered.lines() {
            let from = anchors.len();
            if line.mentions.is_empty() && line.commands.is_empty() {
                // They weigh nothing, so no more of them are looked at than may stay.
                let is_said = matches!(line.form, Form::Answer | Form::Notice | Form::Shown);
                if line.source == Source::Output && !is_said || unnamed == MOST_LINES {
                    continue;
                }
                unnamed += 1;
            }
            for mention in line.mentions {
                let anchor = seen_from(self.root.as_deref(), &gathered.text()[mention.place.clone()]);
                add_once(&mut anchors, from, self.names.number(mention.kind, anchor, at));
            }
            for (_, command) in line.commands {
                let number = self.names.number(AnchorKind::Command, command, at);
                add_once(&mut anchors, from, number);
            }
            let source = line.source;
            let new = anchors[from..].iter().filter(|number| self.names.note(**number, source, at)).count();
            let file = match line.owner {
                LineOwner::Talk => None,
                LineOwner::File(path) => Some(self.file_number(path)),
                LineOwner::Result(call) => files.get(call).copied(),
            };
            // What stands in a file can be read there again.
            let is_shown = matches!(line.owner, LineOwner::Result(call) if shown.contains(call));
            // The ending of what only looked tells nothing, and what a command prints at length is a manual's.
            let is_ending = line.form == Form::Shown && is_ending(&gathered.text()[line.place.clone()]);
            // Instructions are loaded again by themselves.
            let is_instructions = file.is_some_and(|file| is_instructions(&self.files[file as usize]));
            let is_printed = matches!(line.owner, LineOwner::Result(call) if asked.contains_key(call));
            let is_agents = line.form == Form::Delegated;
            let form = match line.form {
                Form::Report | Form::Row | Form::Shown if is_instructions => Form::Code,
                Form::Shown if is_ending && (file.is_some() || is_shown) => Form::Code,
                Form::Report | Form::Row | Form::Shown if file.is_some() || is_shown => Form::Shown,
                Form::Report | Form::Row if is_printed => Form::Shown,
                _ if is_agents => line.form,
                Form::Notice if is_shown => Form::Shown,
                _ if file.is_some() || is_shown => Form::Code,
                form => form,
            };
            let asked = match line.owner {
                LineOwner::Result(call) if line.form == Form::Shown && file.is_none() => {
                    asked.get(call).cloned()
                }
                _ => None,
            };
            let worth = new as f32 + if form.is_quotable() { WHOLE_STATEMENT } else { 0.0 };
            let weight = worth / (20.0 + line.place.len() as f32);
            lines.push(Weighed {
                weight,
                source,
                form,
                file,
                asked,
                text: line.place,
                anchors: from..anchors.len(),
            });
        }
        keep_best(&mut lines, MOST_LINES);
        self.begin_stretch(&lines, at);
        for Weighed { source, form, file, asked, text, anchors: named, .. } in lines {
            let (text, anchors) = (&gathered.text()[text], &anchors[named]);
            // An output is understood by what was asked for.
            let led = match (form, asked, file) {
                (Form::Shown, Some(command), _) if !command.is_empty() => {
                    Some(format!("`{command}` → {text}"))
                }
                (Form::Shown, None, Some(file)) if text.contains(LINE_END) => {
                    Some(format!("{}: {text}", self.files[file as usize]))
                }
                _ => None,
            };
            let text = led.as_deref().unwrap_or(text);
            self.candidates.push(Candidate { at, source, form, file, text, anchors });
        }
    }

    /// The files that the results in this message are from. Those of its own calls are waited for.
    fn files_of(&mut self, gathered: &Gathered) -> HashMap<CallId, u32> {
        let results = gathered.results().iter();
        let files = results.filter_map(|call| Some((call.clone(), self.awaited.remove(call)?))).collect();
        for (call, path) in gathered.calls() {
            let file = self.file_number(path);
            self.awaited.insert(call.clone(), file);
        }
        files
    }

    /// The number of a file, which is known from now on. Tools name a file from the root or from the folder they work in.
    fn file_number(&mut self, path: &str) -> u32 {
        let path = seen_from(self.root.as_deref(), path);
        let is_same = |known: &String| is_same_file(known, path);
        let place = self.files.iter().rposition(is_same).unwrap_or_else(|| {
            self.files.push(path.to_string());
            self.files.len() - 1
        });
        // The longer path says more.
        if self.files[place].len() < path.len() {
            self.files[place] = path.to_string();
        }
        place as u32
    }

    fn begin_stretch(&mut self, lines: &[Weighed], at: Ordinal) {
        let is_typed = lines.iter().any(|line| line.source == Source::User);
        let last = self.stretches.last().copied();
        if last.is_none_or(|last| at > last && (is_typed || at.0 - last.0 >= STRETCH)) {
            self.stretches.push(at);
        }
    }

    /// The anchors of a text that are known already.
    pub fn known_anchors(&self, text: &str, found: &mut impl FnMut(u32)) {
        scan_anchors(text, &mut |_, anchor| {
            if let Some(number) = self.names.find(seen_from(self.root.as_deref(), anchor)) {
                found(number);
            }
        });
    }

    /// Drops the lines that are least likely to be chosen ever again, and the anchors that only they had.
    fn prune(&mut self) {
        let newest = self.candidates.last().map_or(0, |line| line.at.0);
        let weights = weigh_anchors(self, Ordinal(newest + 1), USUAL_BUDGET);
        let weight = |line: Candidate<'_>| {
            let anchors = line.anchors.iter().map(|number| weights[*number as usize]);
            let worth = if line.form.is_quotable() { WHOLE_STATEMENT } else { 0.0 };
            (anchors.sum::<f32>() + worth) / (20.0 + line.text.len() as f32)
        };
        let weights: Vec<f32> = self.candidates.iter().map(weight).collect();
        let mut keep = vec![false; weights.len()];
        let mut size = 0;
        for place in heaviest_first(&weights) {
            size += self.candidates.get(place).text.len();
            if size > MOST_CHARACTERS {
                break;
            }
            keep[place] = true;
        }
        self.candidates.retain(|place| keep[place]);
        self.forget_anchors();
    }

    /// Forgets the anchors that no line has any more and that were seen only once.
    fn forget_anchors(&mut self) {
        let mut needed = vec![false; self.names.all().len()];
        for number in self.candidates.iter().flat_map(|line| line.anchors) {
            needed[*number as usize] = true;
        }
        let renumbered = self.names.retain(|place, anchor| needed[place] || anchor.used + anchor.typed > 1);
        self.candidates
            .renumber(|number| renumbered[number as usize].expect("anchors of kept lines are kept"));
    }
}

/// A line on its way into the pool; its text and its anchors are ranges of all that the message has.
struct Weighed {
    weight: f32,
    source: Source,
    form: Form,
    file: Option<u32>,
    /// The command that printed it.
    asked: Option<String>,
    text: Range<usize>,
    anchors: Range<usize>,
}

/// The places of weights from the heaviest to the lightest; of those that weigh the same, the first one first.
fn heaviest_first(weights: &[f32]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..weights.len()).collect();
    places.sort_by(|one, other| weights[*other].total_cmp(&weights[*one]));
    places
}

/// A path as it is seen from the working folder, if it lies in it.
fn seen_from<'t>(root: Option<&str>, path: &'t str) -> &'t str {
    let inside = root.and_then(|root| path.strip_prefix(root));
    inside.and_then(|rest| rest.strip_prefix('/')).filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// Returns true if two paths are the same, or one is the other seen from a folder further up.
fn is_same_file(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/') && short.contains('/'))
}

/// Returns true if a file tells agents how to work, in any project.
fn is_instructions(path: &str) -> bool {
    const NAMES: [&str; 4] = ["SKILL.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"];
    NAMES.iter().any(|name| path.ends_with(name)) || path.contains("/skills/") || path.contains(".agents/")
}

fn add_once(anchors: &mut Vec<u32>, from: usize, number: u32) {
    if !anchors[from..].contains(&number) {
        anchors.push(number);
    }
}

/// Keeps the `most` heaviest lines, in their order; of those that weigh the same, the first ones.
fn keep_best(lines: &mut Vec<Weighed>, most: usize) {
    if lines.len() <= most {
        return;
    }
    let weights: Vec<f32> = lines.iter().map(|line| line.weight).collect();
    let mut keep = vec![false; lines.len()];
    heaviest_first(&weights).into_iter().take(most).for_each(|place| keep[place] = true);
    let mut kept = keep.into_iter();
    lines.retain(|_| kept.next().unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role, ToolResult};

    use super::*;

    fn output(text: &str) -> Message {
        Message::new("r", Role::User, vec![Part::result(ToolResult::text("c", text))])
    }

    fn pool(messages: &[Message]) -> Pool {
        let mut pool = Pool::default();
        pool.set_root("/home/me/app/");
        messages.iter().zip(1..).for_each(|(message, at)| pool.observe(message, Ordinal(at)));
        pool
    }

    fn many_lines(count: usize, salt: usize) -> String {
        let line =
            |nth: usize| format!("let value_{salt}_{nth} is what the reader of these lines gets for it\n");
        (0..count).map(line).collect()
    }

    #[test]
    fn a_message_keeps_its_best_lines() {
        let pool = pool(&[output(&many_lines(1_000, 0))]);
        assert_eq!(pool.candidates().len(), MOST_LINES);
    }

    #[test]
    fn lines_that_name_something_stay_before_others_wherever_they_stand() {
        let plain = "There is nothing in this sentence that anybody would ever look for again.\n";
        let text = format!("{}The last one names last_of_all, which is looked for.", plain.repeat(1_000));
        let pool = pool(&[Message::new("a", Role::Model, vec![Part::model_text(text)])]);
        assert_eq!(pool.candidates().len(), MOST_LINES);
        assert!(pool.candidates().last().is_some_and(|last| last.text.contains("last_of_all")));
    }

    #[test]
    fn what_a_file_says_is_only_for_room_to_spare() {
        let call = longhaul_conversation::ToolCall::new("c", "Read")
            .with_args(serde_json::json!({"file_path": "/home/me/app/docs/guide.md"}));
        let text = "The reader of read_config fails whenever the file is empty.\nIt must return ConfigError instead.";
        let pool = pool(&[Message::new("a", Role::Model, vec![Part::call(call)]), output(text)]);
        let lines: Vec<_> = pool.candidates().iter().filter(|line| line.at == Ordinal(2)).collect();
        assert!(lines.iter().all(|line| matches!(line.form, Form::Code | Form::Shown)));
        assert!(lines.iter().all(|line| line.file.map(|file| pool.file(file)) == Some("docs/guide.md")));
    }

    #[test]
    fn instructions_of_agents_are_told_by_their_path() {
        assert!(
            is_instructions("/home/me/.codex/skills/plan/references/a.md")
                && is_instructions("app/AGENTS.md")
        );
        assert!(!is_instructions("docs/guide.md"));
    }

    #[test]
    fn a_file_is_known_however_it_is_named() {
        assert!(is_same_file("/home/me/app/src/main.rs", "src/main.rs"));
        assert!(!is_same_file("a/main.rs", "main.rs") && !is_same_file("xsrc/main.rs", "src/main.rs"));
    }

    #[test]
    fn the_pool_is_bounded_and_its_numbers_hold() {
        let messages: Vec<Message> = (0..200).map(|salt| output(&many_lines(400, salt))).collect();
        let pool = pool(&messages);
        let size: usize = pool.candidates().iter().map(|line| line.text.len()).sum();
        assert!(size <= SLACK * MOST_CHARACTERS && pool.candidates().size() == size, "{size}");
        for line in pool.candidates().iter() {
            let names: Vec<&str> =
                line.anchors.iter().map(|number| &*pool.anchors()[*number as usize].text).collect();
            assert!(!names.is_empty() && names.iter().all(|name| line.text.contains(name)), "{names:?}");
        }
    }

    #[test]
    fn what_was_written_down_goes_on_as_before() {
        let messages = [output("fn first_name of all"), output("fn second_name calls first_name")];
        let mut pool = pool(&messages[..1]);
        let text = serde_json::to_string(&pool).expect("a pool can be written");
        let mut read: Pool = serde_json::from_str(&text).expect("a pool can be read");
        assert_eq!(read, pool);
        pool.observe(&messages[1], Ordinal(2));
        read.observe(&messages[1], Ordinal(2));
        assert_eq!(read, pool);
    }

    #[test]
    fn paths_are_seen_from_the_working_folder() {
        let pool = pool(&[output("in /home/me/app/src/main.rs and /home/me/app/")]);
        let mut known = Vec::new();
        pool.known_anchors("src/main.rs", &mut |number| known.push(&*pool.anchors()[number as usize].text));
        assert_eq!(known, ["src/main.rs", "main.rs"]);
    }
}
