//! Writes file cards: the names in a file that later work is likely to need, as a list under its path.
//!
//! A list of names under their file is short and readable where quoted lines of its code are neither; the file itself can be
//! read again.

use std::collections::{HashMap, HashSet};

use longhaul_conversation::Ordinal;
use longhaul_text::{WordSet, data_lines};

use super::anchors::AnchorKind;
use super::card_line::{BEHIND_PATH, BETWEEN};
use super::gather::is_looking;
use super::names::Anchor;
use super::select::Choice;
use super::weigh::weigh_anchors;

/// A file and the names in it that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCard {
    /// The file.
    pub path: String,
    /// The last message that read or changed it.
    pub at: Ordinal,
    /// The names, the most needed first.
    pub names: Vec<String>,
}

impl FileCard {
    /// The card on one line.
    pub fn line(&self) -> String {
        format!("{}{BEHIND_PATH}{}", self.path, self.names.join(BETWEEN))
    }
}

/// No card has more names than this.
const MOST: usize = 12;
/// Fewer names make no card: they stand behind the file among the others.
const FEWEST: usize = 2;
/// Names that are less likely to be needed are left out, whatever the room.
const LEAST_WEIGHT: f32 = 0.02;
/// A path in a list costs so much beside its characters.
const PATH_COST: f64 = 0.5;
/// A card of its own costs so much beside its path: the line and its mark.
const CARD_COST: f64 = 2.5;

/// File cards, and lists of what else was named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameLists {
    /// The cards, in the order of the conversation.
    pub cards: Vec<FileCard>,
    /// Files without a card, in order of their names.
    pub files: Vec<String>,
    /// Commands, as their first two words.
    pub commands: Vec<String>,
}

/// The file cards that cover most within the room of the choice, and lists of files that somebody named and of commands that were
/// run again and again, of at most `lists` tokens.
pub fn choose_names(choice: &mut Choice<'_>, lists: f64) -> NameLists {
    let mut lists = lists;
    let weights = weigh_anchors(choice.pool, choice.before, choice.budget);
    let anchors = choice.pool.anchors();
    let files = files_before(choice);
    let homes = homes_of(&files);
    let by_path: HashMap<&str, u32> =
        files.keys().map(|number| (choice.pool.file(*number), *number)).collect();
    let mut offers: Vec<Offer> = Vec::new();
    for (number, anchor) in (0..).zip(anchors) {
        let mut gain = weights[number as usize] * (1.0 - choice.covered[number as usize]);
        if anchor.kind == AnchorKind::Identifier && anchor.text.contains('.') {
            gain += gain_of_pieces(choice, &weights, &anchor.text);
        }
        if gain < LEAST_WEIGHT || anchor.first >= choice.before {
            continue;
        }
        let kind = match anchor.kind {
            AnchorKind::Path => match by_path.get(&*anchor.text) {
                Some(file) => OfferKind::Path(Some(*file)),
                None if names_a_file(&anchor.text) && is_ours(anchor) && !is_installed(&anchor.text) => {
                    OfferKind::Path(None)
                }
                None => continue,
            },
            AnchorKind::Command if anchor.used > 1 && !is_looking_command(&anchor.text) => OfferKind::Command,
            AnchorKind::Identifier | AnchorKind::Error if !is_common_member(&anchor.text) => {
                match homes.get(&number) {
                    Some((file, _)) => OfferKind::Name(*file),
                    None => continue,
                }
            }
            _ => continue,
        };
        let cost = choice.estimator.text(&anchor.text).as_f64() + PATH_COST;
        offers.push(Offer { kind, anchor: number, gain, cost });
    }
    offers
        .sort_by(|one, other| other.density().total_cmp(&one.density()).then(one.anchor.cmp(&other.anchor)));
    let mut taken = Taken::default();
    for offer in offers {
        let cost = match offer.kind {
            OfferKind::Name(file) if taken.names.get(&file).is_some_and(|names| names.len() >= MOST) => {
                continue;
            }
            OfferKind::Name(file) if !taken.names.contains_key(&file) && !taken.files.contains(&file) => {
                offer.cost + choice.estimator.text(choice.pool.file(file)).as_f64() + CARD_COST
            }
            OfferKind::Name(file) if !taken.names.contains_key(&file) => offer.cost + CARD_COST,
            // It stands on its card already.
            OfferKind::Path(Some(file)) if taken.names.contains_key(&file) => continue,
            _ => offer.cost,
        };
        let is_listed = matches!(offer.kind, OfferKind::Path(_) | OfferKind::Command);
        // It stands in a longer name already.
        if cost > choice.room || is_listed && cost > lists || choice.covered[offer.anchor as usize] >= 1.0 {
            continue;
        }
        choice.room -= cost;
        if is_listed {
            lists -= cost;
        }
        let text = anchors[offer.anchor as usize].text.to_string();
        choice.covered[offer.anchor as usize] = 1.0;
        let covered = &mut choice.covered;
        choice.pool.known_anchors(&text, &mut |piece| covered[piece as usize] = 1.0);
        match offer.kind {
            OfferKind::Name(file) => taken.names.entry(file).or_default().push(text),
            OfferKind::Path(Some(file)) => {
                taken.files.insert(file);
            }
            OfferKind::Path(None) => taken.paths.push(text),
            OfferKind::Command => taken.commands.push(text),
        }
    }
    taken.into_lists(choice, &files)
}

impl NameLists {
    /// Adds what is not there yet of further lists.
    pub fn add(&mut self, more: Self) {
        let extend = |all: &mut Vec<String>, more: Vec<String>| {
            let new: Vec<String> = more.into_iter().filter(|name| !all.contains(name)).collect();
            all.extend(new);
        };
        for card in more.cards {
            match self.cards.iter_mut().find(|known| known.path == card.path) {
                Some(known) => extend(&mut known.names, card.names),
                None => self.cards.push(card),
            }
        }
        let is_on_card = |path: &String| self.cards.iter().any(|card| card.path == *path);
        extend(&mut self.files, more.files.into_iter().filter(|path| !is_on_card(path)).collect());
        extend(&mut self.commands, more.commands);
        self.files.sort_unstable();
        self.commands.sort_unstable();
    }
}

/// The names that were taken.
#[derive(Default)]
struct Taken {
    /// Names by file.
    names: HashMap<u32, Vec<String>>,
    /// Files whose content was seen.
    files: HashSet<u32>,
    /// Other files.
    paths: Vec<String>,
    commands: Vec<String>,
}

impl Taken {
    fn into_lists(self, choice: &Choice<'_>, files: &HashMap<u32, FileNames>) -> NameLists {
        let path = |number: u32| choice.pool.file(number).to_string();
        let bare = self.files.iter().filter(|number| !self.names.contains_key(number));
        let mut others: Vec<String> = bare.map(|number| path(*number)).chain(self.paths).collect();
        let mut cards: Vec<FileCard> = Vec::new();
        for (number, names) in self.names {
            if names.len() < FEWEST {
                others.push(path(number));
                continue;
            }
            let at = files.get(&number).map_or(Ordinal(0), |file| file.last);
            cards.push(FileCard { path: path(number), at, names });
        }
        cards.sort_by(|one, other| (one.at, &one.path).cmp(&(other.at, &other.path)));
        // A file that has a card, or a longer path in the list, is named there.
        let is_end_of = |path: &str, other: &str| {
            other.len() > path.len() && other.strip_suffix(path).is_some_and(|rest| rest.ends_with('/'))
        };
        let all = others.clone();
        others.retain(|path| {
            let is_told = |other: &str| is_end_of(path, other);
            !all.iter().any(|other| is_told(other))
                && !cards
                    .iter()
                    .any(|card| card.path == *path || is_told(&card.path) || is_end_of(&card.path, path))
        });
        others.sort_unstable();
        let mut commands = self.commands;
        commands.sort_unstable();
        NameLists { cards, files: others, commands }
    }
}

/// The file that each name stands under: the one that has it most often, of equals the first.
fn homes_of(files: &HashMap<u32, FileNames>) -> HashMap<u32, (u32, usize)> {
    let mut homes: HashMap<u32, (u32, usize)> = HashMap::new();
    for (number, file) in files {
        for (anchor, times) in &file.names {
            let home = homes.entry(*anchor).or_insert((*number, *times));
            if *times > home.1 || *times == home.1 && *number < home.0 {
                *home = (*number, *times);
            }
        }
    }
    homes
}

#[derive(Clone, Copy)]
enum OfferKind {
    /// A name in this file.
    Name(u32),
    /// A path, of a file whose content was seen or of another one.
    Path(Option<u32>),
    Command,
}

/// Returns true if the user or the model named something: what only stood in an output is a listing's.
fn is_ours(anchor: &Anchor) -> bool {
    anchor.typed > 0 || anchor.in_prose || anchor.used > 0
}

/// Returns true if the last piece of a path has an ending. Others from the root are mostly routes of a server.
fn names_a_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.trim_start_matches('.').contains('.'))
}

/// Returns true if a file belongs to what was installed rather than written.
fn is_installed(path: &str) -> bool {
    ["node_modules/", "site-packages/", ".venv/", "/target/debug/"].iter().any(|folder| path.contains(folder))
}

/// Returns true if a command only looks at something: that anybody looked tells nothing.
fn is_looking_command(command: &str) -> bool {
    command.split(' ').next().is_some_and(is_looking)
}

/// Returns true if a dotted name ends with a member that nearly everything has.
fn is_common_member(name: &str) -> bool {
    static MEMBERS: WordSet = WordSet::new(|| data_lines(include_str!("../data/members.txt")).collect());
    let member = name.rsplit_once('.').map(|(_, member)| member.to_lowercase());
    member.is_some_and(|member| MEMBERS.has(&member))
}

/// The gain of the names that `this.settings.theme_name` is made of.
fn gain_of_pieces(choice: &Choice<'_>, weights: &[f32], text: &str) -> f32 {
    let mut gain = 0.0;
    choice.pool.known_anchors(text, &mut |number| {
        let place = number as usize;
        if *choice.pool.anchors()[place].text != *text {
            gain += weights[place] * (1.0 - choice.covered[place]);
        }
    });
    gain
}

/// A name that may be listed.
struct Offer {
    kind: OfferKind,
    anchor: u32,
    gain: f32,
    cost: f64,
}

impl Offer {
    fn density(&self) -> f64 {
        f64::from(self.gain) / self.cost
    }
}

/// What is known of a file.
struct FileNames {
    /// The last message that read or changed it.
    last: Ordinal,
    /// Its names, each with how many lines have it.
    names: HashMap<u32, usize>,
}

fn files_before(choice: &Choice<'_>) -> HashMap<u32, FileNames> {
    let mut files: HashMap<u32, FileNames> = HashMap::new();
    for line in choice.pool.candidates().iter().filter(|line| line.at < choice.before) {
        let Some(number) = line.file else { continue };
        let file = files.entry(number).or_insert_with(|| FileNames { last: line.at, names: HashMap::new() });
        file.last = file.last.max(line.at);
        for anchor in line.anchors {
            let kind = choice.pool.anchors()[*anchor as usize].kind;
            if matches!(kind, AnchorKind::Identifier | AnchorKind::Error) {
                *file.names.entry(*anchor).or_default() += 1;
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card_line::parse_card;

    #[test]
    fn cards_are_read_as_they_were_written() {
        let names = ["read_config".to_string(), "ConfigError".to_string()];
        let card = FileCard { path: "src/config.rs".into(), at: Ordinal(3), names: names.into() };
        let line = card.line();
        assert_eq!(parse_card(&line), Some(("src/config.rs", "read_config, ConfigError")));
        for other in ["Fixed: it works now", "src/a.rs modified (+1 -2): read_config", "a: b"] {
            assert_eq!(parse_card(other), None, "{other}");
        }
    }
}
