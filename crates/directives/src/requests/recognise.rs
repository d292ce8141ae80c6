//! Recognises what a user's message asks for, and what it says about the work before it.

use std::sync::LazyLock;

use longhaul_text::{LazyPhrases, Unit, UnitKind, WordSet, Words, is_wide, word_set};

use crate::languages::{patterns, substrings, words};
use crate::rules::{Substrings, WIDE_RELIEFS, is_question, is_rule};
use crate::typed::{Said, Voice};

/// The requests in a user's message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StatedRequests {
    /// Its judgement on the work so far.
    pub(super) reply: Reply,
    /// The requests, verbatim.
    pub(super) requests: Vec<String>,
}

/// The judgement of a message on the work before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reply {
    /// Nothing: the person moves on.
    #[default]
    MovesOn,
    /// No person typed anything.
    Silent,
    /// "yes", "go on": the work continues.
    GoesOn,
    /// "thanks", "perfect": the work is accepted.
    Accepts,
    /// "still broken": the work is not done.
    Complains,
    /// "no, I meant …", "instead": something else is wanted.
    Corrects,
    /// "never mind", "stop": nothing of it is wanted.
    Withdraws,
}

/// One message asks for no more things than this; longer lists were pasted.
const MOST_ASKS: usize = 20;

/// A request is quoted up to this many bytes.
const LONGEST_ASK: usize = 600;

/// A message that asks for nothing outright is quoted up to this many sentences.
const STATEMENTS: usize = 3;

/// Asking sentences of fewer characters than this say too little alone.
const TERSE: usize = 16;

/// Reads what `text` says and asks for, whose units are `said`.
pub(super) fn read_requests(text: &str, said: &[Said<'_>]) -> StatedRequests {
    let mut said: Vec<&Said<'_>> = said.iter().collect();
    said.retain(|said| !is_command(said.unit.text));
    if said.is_empty() {
        return StatedRequests { reply: reply_of_command(text), requests: Vec::new() };
    }
    let nods = said.iter().take_while(|said| nod_of(said).is_some()).count();
    let nod = said.first().and_then(|said| nod_of(said));
    let rest = &said[nods..];
    // People say first what they think of the work.
    let reply = rest.iter().take(2).map(|said| judge(said)).find(|reply| *reply != Reply::MovesOn);
    let mut rest = rest.to_vec();
    rest.retain(|said| !withdraws(said));
    if reply == Some(Reply::Complains) && !rest.iter().any(|said| asks_outright(said)) {
        rest.clear();
    }
    let requests = requests_of(&rest);
    let reply = match (nod, reply) {
        (_, Some(reply)) => reply,
        // "ok, now do that" moves on; "ok" alone goes on.
        (Some(Reply::GoesOn), None) if !requests.is_empty() => Reply::MovesOn,
        (Some(nod), None) => nod,
        (None, None) => Reply::MovesOn,
    };
    StatedRequests { reply, requests }
}

fn requests_of(said: &[&Said<'_>]) -> Vec<String> {
    let is_item = |unit: &Unit<'_>| matches!(unit.kind, UnitKind::Item { .. });
    let is_listed = |said: &&&Said<'_>| match said.unit.kind {
        UnitKind::Item { number } => number.is_some() || said.voice == Voice::Typed && asks_outright(said),
        _ => false,
    };
    let items: Vec<_> = said.iter().filter(is_listed).map(|said| said.unit.text).collect();
    let typed = || said.iter().copied().filter(|said| said.voice == Voice::Typed && !is_greeting(said));
    // "Plan:" says nothing without its items, "I want an app that does this:" does.
    let is_label = |text: &str| text.ends_with([':', '：']) && text.split(' ').count() <= 3;
    let asking = |said: &&Said<'_>| {
        !is_item(&said.unit) && !is_label(said.unit.text) && asks_outright(said) && !is_only_a_rule(said)
    };
    let mut joined = Joined::of(typed().filter(asking).map(|said| said.unit.text));
    // "wth?" and "investigate" ask for something, but what stands before them says what.
    let is_terse = joined.characters < TERSE && !joined.text.contains(is_wide);
    if is_terse && items.len() < 2 {
        let statement = |said: &&Said<'_>| said.unit.kind != UnitKind::Heading && !is_only_a_rule(said);
        joined = Joined::of(typed().filter(statement).map(|said| said.unit.text).take(STATEMENTS));
    }
    let mut requests = Vec::new();
    requests.extend(Some(joined.text).filter(|text| !text.is_empty()));
    if items.len() >= 2 {
        requests.extend(items.iter().take(MOST_ASKS).map(|item| shorten(item, LONGEST_ASK).to_string()));
    }
    requests
}

/// Whole sentences, as many as fit; no more are looked at than need be.
#[derive(Default)]
struct Joined {
    text: String,
    /// The characters of the sentences, the first one that did not fit included.
    characters: usize,
}

impl Joined {
    fn of<'t>(sentences: impl Iterator<Item = &'t str>) -> Self {
        let mut joined = Self::default();
        for sentence in sentences {
            joined.characters += sentence.chars().count();
            let is_first = joined.text.is_empty();
            if !is_first && joined.text.len() + sentence.len() >= LONGEST_ASK {
                break;
            }
            if !is_first {
                joined.text.push(' ');
            }
            joined.text.push_str(shorten(sentence, LONGEST_ASK));
        }
        joined
    }
}

/// The beginning of `text`, at most `most` bytes long.
pub(super) fn shorten(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Returns true if a sentence asks a question or orders something.
fn asks_outright(Said { unit, words, .. }: &Said<'_>) -> bool {
    is_question(unit.text, words)
        || words.openers().take(4).any(|place| words.all()[place].is_verb())
        || WISHES.fit(words)
        || words.has_wide() && wishes_widely(unit.text)
}

static WISHES: LazyPhrases = LazyLock::new(|| patterns("wishes"));
static WIDE_WISHES: Substrings = LazyLock::new(|| substrings("wishes"));

/// Returns true if a clause says that something need not be done any more.
fn relieves(clause: &str) -> bool {
    WIDE_RELIEFS.iter().any(|relief| clause.contains(relief))
}

/// Returns true if a clause of a Chinese or Japanese sentence wishes for something. A relief is no wish.
fn wishes_widely(text: &str) -> bool {
    let wishes = |clause: &str| WIDE_WISHES.iter().any(|wish| clause.contains(wish));
    text.split(['，', ',', '；', '。']).any(|clause| wishes(clause) && !relieves(clause))
}

/// Returns true if a sentence is a standing rule, or lifts one, and orders nothing besides: rules are kept, not done.
fn is_only_a_rule(Said { unit, words, .. }: &Said<'_>) -> bool {
    if words.has_wide() && relieves(unit.text) && !wishes_widely(unit.text) {
        return true;
    }
    static RULE_VERBS: WordSet =
        word_set!["use", "keep", "do", "leave", "limit", "stop", "ask", "answer", "respond", "reply"];
    is_rule(unit.text, words)
        && !words.orders().any(|place| !words.get(place).is_some_and(|word| RULE_VERBS.has(word)))
}

static GREETINGS: WordSet = WordSet::new(|| words("greetings").collect());
static WIDE_GREETINGS: Substrings = LazyLock::new(|| substrings("greetings"));

fn is_greeting(Said { unit, words, .. }: &Said<'_>) -> bool {
    all_words(unit.text, words, &GREETINGS) || words.has_wide() && WIDE_GREETINGS.contains(&bare(unit.text))
}

/// A line such as `/clear`: an order to the program, not to the model.
fn is_command(text: &str) -> bool {
    text.strip_prefix('/')
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
}

fn reply_of_command(text: &str) -> Reply {
    let takes_back = |line: &str| matches!(line.trim(), "/undo" | "/rewind" | "/revert");
    if text.lines().any(takes_back) { Reply::Complains } else { Reply::Silent }
}

static ACCEPTS: WordSet = WordSet::new(|| words("accepts").collect());
static WIDE_ACCEPTS: Substrings = LazyLock::new(|| substrings("accepts"));
static GOES_ON: WordSet = WordSet::new(|| words("goes-on").collect());
static WIDE_GOES_ON: Substrings = LazyLock::new(|| substrings("goes-on"));

/// Returns true if a sentence only nods: accepts what was done, or lets it go on.
fn nod_of(Said { unit, words, .. }: &Said<'_>) -> Option<Reply> {
    let text = bare(unit.text);
    if words.has_wide()
        && let Some(nod) = wide_nod_of(text)
    {
        return Some(nod);
    }
    if all_words(text, words, &GOES_ON) {
        Some(Reply::GoesOn)
    } else {
        all_words(text, words, &ACCEPTS).then_some(Reply::Accepts)
    }
}

fn wide_nod_of(text: &str) -> Option<Reply> {
    if WIDE_ACCEPTS.contains(&text) {
        Some(Reply::Accepts)
    } else {
        WIDE_GOES_ON.contains(&text).then_some(Reply::GoesOn)
    }
}

fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric())
}

fn all_words(text: &str, words: &Words, known: &WordSet) -> bool {
    (1..=5).contains(&words.len())
        && words.texts().all(|word| known.has(word))
        && !(words.has_wide() && text.contains(is_wide))
}

static WITHDRAWALS: LazyPhrases = LazyLock::new(|| patterns("withdrawals"));
static WIDE_WITHDRAWALS: Substrings = LazyLock::new(|| substrings("withdrawals"));
static CORRECTIONS: LazyPhrases = LazyLock::new(|| patterns("corrections"));
static WIDE_CORRECTIONS: Substrings = LazyLock::new(|| substrings("corrections"));
static COMPLAINTS: LazyPhrases = LazyLock::new(|| patterns("complaints"));
static WIDE_COMPLAINTS: Substrings = LazyLock::new(|| substrings("complaints"));

/// Returns true if a sentence says that nothing is wanted any more.
fn withdraws(Said { unit, words, .. }: &Said<'_>) -> bool {
    WITHDRAWALS.fit(words)
        || words.len() == 1 && bare(unit.text).eq_ignore_ascii_case("stop")
        || words.has_wide() && WIDE_WITHDRAWALS.contains(&bare(unit.text))
}

/// The judgement of a sentence on the work before it.
fn judge(said: &Said<'_>) -> Reply {
    let Said { unit, words, .. } = said;
    let text = unit.text;
    let starts_with_no = words.begin_with_no()
        && words.len() > 1
        && text[2..].starts_with([',', '.', '!', ' '])
        && !is_rule(text, words);
    let has = |cues: &[&str]| words.has_wide() && cues.iter().any(|cue| text.contains(cue));
    if withdraws(said) {
        Reply::Withdraws
    } else if CORRECTIONS.fit(words) || has(&WIDE_CORRECTIONS) {
        Reply::Corrects
    } else if starts_with_no || COMPLAINTS.fit(words) || has(&WIDE_COMPLAINTS) {
        Reply::Complains
    } else {
        Reply::MovesOn
    }
}

#[cfg(test)]
mod tests {
    use longhaul_text::split_units;

    use super::*;
    use crate::typed::said_units;

    #[track_caller]
    fn check(text: &str, reply: Reply, requests: &[&str]) {
        let heard = read_requests(text, &said_units(text, &split_units(text)));
        assert_eq!(
            (heard.reply, heard.requests),
            (reply, requests.iter().map(ToString::to_string).collect()),
            "{text}"
        );
    }

    #[test]
    fn requests() {
        check("Fix the broken parser. It is in a.rs.", Reply::MovesOn, &["Fix the broken parser."]);
        check("It is all wrong now. wth?", Reply::MovesOn, &["It is all wrong now. wth?"]);
        check("hello! can you fix it?", Reply::MovesOn, &["can you fix it?"]);
        check("the table is too wide", Reply::MovesOn, &["the table is too wide"]);
        check("We start today. Add tests. Why is it slow?", Reply::MovesOn, &["Add tests. Why is it slow?"]);
        check("/clear\n\nmake it blue", Reply::MovesOn, &["make it blue"]);
        check("也要加上相应的tooltip", Reply::MovesOn, &["也要加上相应的tooltip"]);
        check("revisa si agregó hooks", Reply::MovesOn, &["revisa si agregó hooks"]);
    }

    #[test]
    fn lists_are_several_requests() {
        check(
            "Plan:\n1. Reproduce it\n2. Fix it\n3. Clean up",
            Reply::MovesOn,
            &["Reproduce it", "Fix it", "Clean up"],
        );
        check(
            "Please do:\n- add a test\n- update the docs\n- (nothing more)",
            Reply::MovesOn,
            &["add a test", "update the docs"],
        );
        check(
            "pr feedback:\n\n1. Leaks memory.\n2. Too slow.",
            Reply::MovesOn,
            &["Leaks memory.", "Too slow."],
        );
    }

    #[test]
    fn rules_and_commands_ask_for_nothing() {
        check("Always use tabs.", Reply::MovesOn, &[]);
        check(
            "Fix the bug and ALWAYS run the tests.",
            Reply::MovesOn,
            &["Fix the bug and ALWAYS run the tests."],
        );
        check("以后不用再提交测试了。", Reply::MovesOn, &[]);
        check("もうコメントを追加しなくていいです。", Reply::MovesOn, &[]);
        check("不用再跑测试，请修复登录。", Reply::MovesOn, &["不用再跑测试，请修复登录。"]);
        check("/undo", Reply::Complains, &[]);
        check("/clear", Reply::Silent, &[]);
        check("", Reply::Silent, &[]);
        check("hello", Reply::MovesOn, &[]);
    }

    #[test]
    fn nods() {
        check("yes", Reply::GoesOn, &[]);
        check("ok, do that", Reply::GoesOn, &[]);
        check("Go ahead.", Reply::GoesOn, &[]);
        check("继续", Reply::GoesOn, &[]);
        check("Thank you!", Reply::Accepts, &[]);
        check("ありがとう", Reply::Accepts, &[]);
        check("awesome! now commit it", Reply::Accepts, &["now commit it"]);
        check("ok. make it blue", Reply::MovesOn, &["make it blue"]);
    }

    #[test]
    fn judgements() {
        check("still 0!", Reply::Complains, &[]);
        check("no, that's not it", Reply::Complains, &[]);
        check("that didn't work, revert it", Reply::Complains, &["that didn't work, revert it"]);
        check("use a bar chart instead", Reply::Corrects, &["use a bar chart instead"]);
        check("actually, it's the background", Reply::Corrects, &["actually, it's the background"]);
        check("never mind", Reply::Withdraws, &[]);
        check("Stop!", Reply::Withdraws, &[]);
        check("不对，还是不行", Reply::Complains, &[]);
        check("算了", Reply::Withdraws, &[]);
    }
}
