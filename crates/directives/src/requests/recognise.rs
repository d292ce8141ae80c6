//! Recognises what a user's message asks for, and what it says about the work before it.

use std::ops::Range;

use longhaul_conversation::find_task;
use longhaul_text::{Unit, UnitKind, WordSet, count_plain_words, is_wide, split_units, word_set};

use super::commands::{is_shell_line, reply_of_command, without_command};
use super::document::read_document;
use super::replies::{Reply, is_greeting, judge, nod_of, scolds, withdraws};
use super::sentences::{LONGEST_REQUEST, RankedSentence, choose_sentences, count_words, shorten};
use super::wishes::{asks_outright, defers, is_only_a_rule};
use crate::rules::tell_rules;
use crate::typed::{Said, Voice, said_units};

/// What one typed text says and asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StatedRequest {
    /// Its judgement on the work so far.
    pub(super) reply: Reply,
    /// What is wanted or reported, in whole sentences; empty if nothing is.
    pub(super) text: String,
    /// True if it asks a question or orders something; a report only tells.
    pub(super) asks: bool,
    /// What is wanted, but not now.
    pub(super) deferred: Vec<String>,
}

/// Reads what `text` says and asks for, whose units are `said`.
pub(super) fn read_request(text: &str, said: &[Said<'_>]) -> StatedRequest {
    let task = find_task(text);
    if task.len() < text.len() && !text[task.clone()].trim().is_empty() {
        return read_task(text, task);
    }
    let said: Vec<Said<'_>> = said.iter().filter_map(without_command).collect();
    if said.is_empty() {
        return read_lead(text)
            .unwrap_or_else(|| StatedRequest { reply: reply_of_command(text), ..Default::default() });
    }
    if let Some(document) = read_document(text) {
        return StatedRequest { text: document, asks: true, ..Default::default() };
    }
    read_talk(&said)
}

/// Reads the task in a prompt, along with what the template says is to be done with it.
fn read_task(prompt: &str, range: Range<usize>) -> StatedRequest {
    let task = prompt[range.clone()].trim();
    let mut stated = read_document(task).map_or_else(
        || read_talk(&said_units(task, &split_units(task))),
        |text| StatedRequest { text, ..Default::default() },
    );
    stated.asks = true;
    let behind = shorten(&prompt[range.end..], LONGEST_QUESTION);
    let units = split_units(behind);
    // "INSTRUCTIONS:" says nothing, the sentence behind it says what to do with the task.
    let asks = |unit: &&Unit<'_>| count_words(unit.text) >= 4 && !unit.text.ends_with(':');
    if let Some(asking) = units.iter().find(asks) {
        stated.text.push(' ');
        stated
            .text
            .push_str(&choose_sentences(&[RankedSentence { unit: *asking, rank: 0 }], LONGEST_REQUEST));
    }
    stated
}

/// What is to be done stands within so many bytes behind the task.
const LONGEST_QUESTION: usize = 500;

/// Reads what a person says in conversation.
fn read_talk(said: &[Said<'_>]) -> StatedRequest {
    let nods = said.iter().take_while(|said| nod_of(said).is_some()).count();
    let nod = said.first().and_then(nod_of);
    let rest = &said[nods..];
    let tells_rule = tell_rules(said);
    let is_procedure = procedures(said);
    // People say first what they think of the work.
    let reply = rest.iter().take(2).map(judge).find(|reply| *reply != Reply::MovesOn);
    let says_nothing = |nth: usize, said: &Said<'_>| {
        is_procedure[nods + nth]
            || withdraws(said)
            || scolds(said)
            || is_greeting(said)
            || is_shell_line(said)
            || is_only_a_rule(said, tells_rule[nods + nth])
            || nod_of(said).is_some()
    };
    let rest: Vec<&Said<'_>> = rest
        .iter()
        .enumerate()
        .filter(|(nth, said)| !says_nothing(*nth, said))
        .map(|(_, said)| said)
        .collect();
    // In a long text "later" tells of something, in a short one somebody puts it off.
    let is_short = rest.iter().map(|said| count_words(said.unit.text)).sum::<usize>() <= LONGEST_DEFERRAL;
    let is_deferred = |said: &&Said<'_>| is_short && said.voice == Voice::Typed && defers(said);
    let (later, now): (Vec<&Said<'_>>, Vec<&Said<'_>>) = rest.into_iter().partition(is_deferred);
    let text = request_of(&now);
    let asks = now.iter().any(|said| said.voice == Voice::Typed && asks_outright(said));
    let reply = match (nod, reply) {
        (_, Some(reply)) => reply,
        // "ok, now do that" moves on; "ok" alone goes on.
        (Some(Reply::GoesOn), None) if !text.is_empty() => Reply::MovesOn,
        (Some(nod), None) => nod,
        (None, None) => Reply::MovesOn,
    };
    let deferred = later.iter().map(|said| choose_sentences(&[ranked(said, 0)], LONGEST_REQUEST)).collect();
    StatedRequest { reply, text, asks, deferred }
}

fn ranked<'t>(said: &Said<'t>, rank: u8) -> RankedSentence<'t> {
    RankedSentence { unit: said.unit, rank }
}

/// Words of headings above a way of working that a template recommends for any task.
static PROCEDURES: WordSet = word_set!["workflow", "recommended", "suggested"];

/// For each sentence whether it belongs to such a way of working, heading included.
fn procedures(said: &[Said<'_>]) -> Vec<bool> {
    let is_lead = |said: &Said<'_>| said.unit.kind == UnitKind::Heading || said.unit.text.ends_with(':');
    let mut is_inside = false;
    let inside = said.iter().map(|said| {
        if is_lead(said) {
            is_inside = said.words.len() <= 8 && said.words.texts().any(|word| PROCEDURES.has(word));
        } else {
            is_inside &= matches!(said.unit.kind, UnitKind::Item { .. });
        }
        is_inside
    });
    let inside: Vec<bool> = inside.collect();
    // Where nothing else is said it is the task itself.
    if inside.iter().all(|is_inside| *is_inside) { vec![false; said.len()] } else { inside }
}

/// The sentences that say what is wanted: all of a short text, of a long one how it begins and what it asks for.
fn request_of(said: &[&Said<'_>]) -> String {
    let mut sentences: Vec<RankedSentence<'_>> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    // "Here is the ticket:" says nothing without it.
    let mut own = said.iter().filter(|said| said.voice == Voice::Typed);
    let only_leads = own.clone().count() > 0 && own.all(|said| said.unit.text.ends_with([':', '：']));
    for (nth, said) in said.iter().enumerate() {
        let text = said.unit.text.trim();
        // Aider records the question behind `/ask` twice.
        if seen.contains(&text) {
            continue;
        }
        if seen.len() < MOST_COMPARED {
            seen.push(text);
        }
        // What somebody else said is asked for by nobody here.
        if said.voice == Voice::Handed && !only_leads {
            continue;
        }
        let rank = u8::from(nth > 0 && !asks_outright(said));
        sentences.push(ranked(said, rank));
    }
    if sentences.is_empty() { String::new() } else { choose_sentences(&sentences, LONGEST_REQUEST) }
}

/// A text of more words than this puts nothing off.
const LONGEST_DEFERRAL: usize = 60;

/// Only so many sentences of a message are looked at for repetitions.
const MOST_COMPARED: usize = 24;

/// A line in which somebody says what they paste behind it has at most so many bytes.
const LONGEST_LEAD: usize = 300;

/// Reads the definition of a command: what it is for, in its first `sentences`.
pub(super) fn read_definition(text: &str, sentences: usize) -> String {
    let task = text[find_task(text)].trim();
    let beginning = shorten(task, LONGEST_DEFINITION);
    let units = split_units(beginning);
    let is_sentence = |unit: &&Unit<'_>| {
        matches!(unit.kind, UnitKind::Sentence | UnitKind::Item { .. }) && count_words(unit.text) >= 4
    };
    let first: Vec<_> = units
        .iter()
        .filter(is_sentence)
        .take(sentences)
        .map(|unit| RankedSentence { unit: *unit, rank: 0 })
        .collect();
    if first.is_empty() { String::new() } else { choose_sentences(&first, LONGEST_REQUEST) }
}

/// The beginning of a command's definition that says what it is for.
const LONGEST_DEFINITION: usize = 2_000;

/// Reads the words around a paste that fills the rest: its first line up to where the paste begins, or its last line.
fn read_lead(text: &str) -> Option<StatedRequest> {
    let line = text.trim().lines().next()?.trim();
    let lead = match line.split_once(": ") {
        Some((lead, _)) if lead.len() <= LONGEST_LEAD => lead,
        _ if line.len() <= LONGEST_LEAD && line != text.trim() => line,
        _ => "",
    };
    let last = text.trim_end().lines().next_back().map(str::trim).filter(|last| *last != line);
    let last = last.filter(|last| last.len() <= LONGEST_LEAD).unwrap_or_default();
    let mut stated = [lead, last].into_iter().filter_map(|piece| {
        let units = split_units(piece);
        let said: Vec<Said<'_>> = said_units(piece, &units).iter().filter_map(without_command).collect();
        let is_prose = said.iter().any(|said| is_typed_prose(said));
        is_prose.then(|| read_talk(&said)).filter(|stated| stated.asks || count_words(&stated.text) >= 4)
    });
    stated.next()
}

/// Returns true if a sentence around a paste is prose: words, and no path or sign at its beginning.
fn is_typed_prose(said: &Said<'_>) -> bool {
    let text = said.unit.text;
    text.starts_with(|c: char| c.is_alphabetic()) && count_plain_words(text, 3) >= 3
        || text.chars().any(is_wide)
}

#[cfg(test)]
mod tests {
    use longhaul_text::split_units;

    use super::*;
    use crate::typed::said_units;

    fn read(text: &str) -> StatedRequest {
        read_request(text, &said_units(text, &split_units(text)))
    }

    #[track_caller]
    fn check(text: &str, reply: Reply, request: &str) {
        let stated = read(text);
        assert_eq!((stated.reply, stated.text.as_str()), (reply, request), "{text}");
    }

    #[test]
    fn a_short_message_is_one_request() {
        check(
            "Fix the broken parser. It is in a.rs.",
            Reply::MovesOn,
            "Fix the broken parser. It is in a.rs.",
        );
        check("hello! can you fix it?", Reply::MovesOn, "can you fix it?");
        check("the table is too wide", Reply::MovesOn, "the table is too wide");
        check("/clear\n\nmake it blue", Reply::MovesOn, "make it blue");
        check("/ask why is it slow?\n\n why is it slow?", Reply::MovesOn, "why is it slow?");
        check("也要加上相应的tooltip", Reply::MovesOn, "也要加上相应的tooltip");
        check("revisa si agregó hooks", Reply::MovesOn, "revisa si agregó hooks");
        check(
            "Please do:\n- add a test\n- update the docs",
            Reply::MovesOn,
            "Please do: add a test; update the docs",
        );
    }

    #[test]
    fn of_a_long_message_whole_sentences_are_kept() {
        let story =
            "We have seen this on three machines since the last week of May and nobody knows it. ".repeat(8);
        let stated = read(&format!("The upload hangs. {story}Please fix it and tell me why it hung."));
        assert!(stated.text.starts_with("The upload hangs. ") && stated.asks, "{stated:?}");
        assert!(stated.text.ends_with("Please fix it and tell me why it hung."), "{stated:?}");
        assert!(count_words(&stated.text) <= LONGEST_REQUEST, "{stated:?}");
    }

    #[test]
    fn around_a_long_paste_the_lead_counts() {
        let log = "[11:34:48.865] [API] GET /api/health\n".repeat(400);
        let text = format!("The nightly job died and left these logs behind: {log}");
        check(&text, Reply::MovesOn, "The nightly job died and left these logs behind");
    }

    #[test]
    fn a_template_counts_by_its_task() {
        check(
            "We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\nThe clock is \
             late by an hour.\nINSTRUCTIONS:\nNow solve it on your own. Edit one file at a time.",
            Reply::MovesOn,
            "The clock is late by an hour. Now solve it on your own.",
        );
        check(
            "# Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:\nmake the parser faster",
            Reply::MovesOn,
            "make the parser faster",
        );
    }

    #[test]
    fn rules_commands_and_scolding_ask_for_nothing() {
        check("Always use tabs.", Reply::MovesOn, "");
        check(
            "Fix the bug and ALWAYS run the tests.",
            Reply::MovesOn,
            "Fix the bug and ALWAYS run the tests.",
        );
        check("以后不用再提交测试了。", Reply::MovesOn, "");
        check("不用再跑测试，请修复登录。", Reply::MovesOn, "不用再跑测试，请修复登录。");
        check("/undo", Reply::Withdraws, "");
        check("/clear", Reply::Silent, "");
        check("/compact keep the names of the tables", Reply::Silent, "");
        check("/add src/a.rs", Reply::Silent, "");
        check("", Reply::Silent, "");
        check("hello", Reply::MovesOn, "");
        check("ls", Reply::MovesOn, "");
        assert_eq!(read("are you kidding me?").text, "");
    }

    #[test]
    fn nods() {
        for nod in [
            "yes",
            "ok, do that",
            "Go ahead.",
            "继续",
            "sí, adelante",
            "d'accord",
            "ja, mach weiter",
            "да, давай",
            "はい",
            "네",
        ] {
            check(nod, Reply::GoesOn, "");
        }
        for thanks in [
            "Thank you!",
            "wow",
            "ありがとう",
            "谢谢",
            "muchas gracias",
            "merci beaucoup",
            "vielen Dank",
            "obrigado",
            "спасибо",
        ] {
            check(thanks, Reply::Accepts, "");
        }
        check("awesome! now commit it", Reply::Accepts, "now commit it");
        check("ok. make it blue", Reply::MovesOn, "make it blue");
    }

    #[test]
    fn judgements() {
        check("that didn't work, revert it", Reply::Complains, "that didn't work, revert it");
        check("use a bar chart instead", Reply::Corrects, "use a bar chart instead");
        check("actually, it's the background", Reply::Corrects, "actually, it's the background");
        check("never mind", Reply::Withdraws, "");
        check("Stop!", Reply::Withdraws, "");
        check("算了", Reply::Withdraws, "");
        assert_eq!(read("不对，还是不行").reply, Reply::Complains);
    }

    #[track_caller]
    fn check_asks(text: &str, asks: bool, deferred: usize) {
        let stated = read(text);
        assert_eq!((stated.asks, stated.deferred.len()), (asks, deferred), "{text}: {stated:?}");
    }

    #[test]
    fn wishes_in_nine_languages() {
        for wish in [
            "can you add a test for the parser",
            "请把按钮改成蓝色",
            "ログイン画面を修正してください",
            "kannst du den Fehler im Login beheben",
            "puedes arreglar el formulario",
            "peux-tu corriger le formulaire",
            "pode corrigir o formulário",
            "исправь форму входа",
            "로그인 화면을 고쳐 주세요",
        ] {
            check_asks(wish, true, 0);
        }
        for told in
            ["the server runs in Frankfurt", "der Server steht in Frankfurt", "el servidor está en Fráncfort"]
        {
            check_asks(told, false, 0);
        }
    }

    #[test]
    fn what_is_put_off_stands_apart() {
        check_asks("Fix the login. We'll do the docs later.", true, 1);
        check_asks("Fix the login. Tomorrow I want the docs.", true, 1);
        check_asks("修复登录。文档以后再写。", true, 1);
        check_asks("Behebe den Login. Die Doku machen wir später.", true, 1);
        check_asks("why is the callback called later?", true, 0);
    }
}
