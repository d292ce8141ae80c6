//! Queries that agents make, and the hits they should get.

use longhaul_conversation::{Ordinal, Origin, Part, Role, Thought, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Messages in one session, numbered from 1, a minute apart.
struct TestSession {
    messages: Vec<Message>,
}

impl TestSession {
    fn new() -> Self {
        Self { messages: Vec::new() }
    }

    fn say(mut self, part: Part) -> Self {
        let number = self.messages.len() as u32 + 1;
        let role = if part.origin == Origin::Model { Role::Model } else { Role::User };
        let mut message = Message::new(format!("id{number}"), role, vec![part]);
        message.ordinal = Some(Ordinal(number));
        message.at = Some(Timestamp::from_millis(i64::from(number) * 60_000));
        self.messages.push(message);
        self
    }

    fn user(self, text: &str) -> Self {
        self.say(Part::user_text(text))
    }

    fn model(self, text: &str) -> Self {
        self.say(Part::model_text(text))
    }

    fn tool(self, text: &str) -> Self {
        self.say(Part::result(ToolResult::text("c", text).with_name("shell")))
    }

    fn search(&self, query: &str) -> Vec<Hit> {
        let mut search = Search::new(query);
        let session = SessionRef::new("s");
        self.messages.iter().for_each(|message| search.observe(&session, message));
        assert_eq!(search.observed(), self.messages.len() as u64);
        search.hits_in(&session, &self.messages, 100)
    }

    /// Checks the numbers of the hits that have words of the query, best first.
    #[track_caller]
    fn check(&self, query: &str, expected: &[u32]) -> &Self {
        let hits = self.search(query);
        let matching = hits
            .iter()
            .filter(|hit| !hit.excerpt.matches.is_empty() || crate::parse_message_number(query).is_some());
        let marks: Vec<u32> = matching.filter_map(|hit| hit.number).map(|number| number.0).collect();
        assert_eq!(marks, expected, "{query}: {hits:#?}");
        self
    }

    /// Checks the number of the best hit.
    #[track_caller]
    fn check_first(&self, query: &str, expected: u32) -> &Self {
        let hits = self.search(query);
        assert_eq!(hits.first().and_then(|hit| hit.number), Some(Ordinal(expected)), "{query}: {hits:#?}");
        self
    }
}

fn work() -> TestSession {
    TestSession::new()
        .user("Please make the importer faster. Never touch the public API of crates/reader.")
        .model("I look at the importer first.")
        .say(Part::call(ToolCall::new("c1", "read_file").with_args(json!({"path": "crates/importer/src/parse.rs"}))))
        .say(Part::result(ToolResult::text("c1", "fn parseRecord() {}\nfn parse_header() {}\n// port 8080\n")))
        .tool("error[E0502]: cannot borrow `state` as mutable\n  --> crates/importer/src/parse.rs:214:17\nnote: here")
        .model("We decided to use a ring buffer of 4096 entries instead of the channel.")
        .tool("test result: ok. 318 passed; 0 failed")
        .user("設定ファイルの読み込みが遅いです")
        .model("The timeout is now 2500 ms, was 30000 ms.")
        .tool("Permission denied (publickey).\nfatal: Could not read from remote repository.")
}

#[test]
fn what_an_agent_needs_is_found_again() {
    work()
        .check_first("cannot borrow state", 5)
        .check_first("E0502", 5)
        .check_first("importer/src/parse.rs:214", 5)
        .check_first("why a ring buffer", 6)
        .check_first("what did we decide about the channel", 6)
        .check_first("public api", 1)
        .check_first("4096", 6)
        .check_first("30000", 9)
        .check_first("318 passed", 7)
        .check_first("読み込み", 8)
        .check_first("parse_record", 4)
        .check_first("ParseHeader", 4)
        .check_first("8080", 4)
        .check_first("\"could not read from remote\"", 10);
}

#[test]
fn a_summary_stands_behind_what_it_repeats() {
    let summary =
        "[m1] Make the export retry.\n[m2] retry_1.rs, retry_2.rs and retry_4.rs retry on port 8080.";
    TestSession::new()
        .user("Keep amounts in cents. Make the export retry.")
        .model("The carrier in src/retry_2.rs uses port 8080 and keeps the ledger of amounts in cents.")
        .say(Part { origin: Origin::Summary, ..Part::user_text(summary) })
        .say(Part { origin: Origin::Summary, ..Part::user_text(format!("{summary}\n[m9] retry more")) })
        .check_first("retry_3", 2)
        .check_first("retry_2 port", 2)
        // Text that occurs nowhere else is still found.
        .check("more", &[4]);
}

#[test]
fn nothing_is_found_where_nothing_is() {
    work()
        .check("kubernetes", &[])
        .check("409", &[])
        .check("", &[])
        .check("\"ring buffer\" kubernetes", &[6])
        .check("\"buffer ring\"", &[])
        .check("\"ring buffer\" \"public API\"", &[])
        .check("m99", &[]);
    assert!(Search::new(" ? \"\"").is_empty());
    assert!(!Search::new("x").is_empty());
}

#[test]
fn exact_identifiers_go_before_their_pieces() {
    let talk = TestSession::new()
        .model("the parse of a config")
        .model("nothing of it")
        .model("nothing else")
        .model("call parseConfig here")
        .model("nothing more")
        .model("nothing left")
        .model("call parse_config here")
        .model("nothing at all");
    talk.check_first("parseConfig", 4).check_first("parse_config", 4);
    let last = talk.search("parseConfig").into_iter().rfind(|hit| !hit.excerpt.matches.is_empty());
    assert_eq!(last.and_then(|hit| hit.number), Some(Ordinal(1)));
}

#[test]
fn longer_ends_of_paths_go_first() {
    let talk = TestSession::new()
        .model("other/list.rs changed")
        .model("/home/me/app/src/store/list.rs changed")
        .model("store/list.rs changed")
        .model("src/store/playlist.rs changed");
    talk.check_first("src/store/list.rs", 2).check_first("/elsewhere/src/store/list.rs", 2);
    let marks: Vec<_> = talk.search("src/store/list.rs").iter().filter_map(|hit| hit.number).collect();
    assert_eq!(marks[..2], [Ordinal(2), Ordinal(3)]);
}

#[test]
fn rare_words_count_more() {
    let mut talk = TestSession::new();
    for _ in 0..30 {
        talk = talk.model("the build runs and the build ends");
    }
    talk = talk.model("a deadlock").model("one build");
    talk.check_first("build deadlock", 31);
}

#[test]
fn more_of_the_query_counts_more() {
    let talk = TestSession::new()
        .model("socket socket socket socket")
        .model("socket timeout")
        .model("timeout timeout");
    talk.check_first("socket timeout", 2);
}

#[test]
fn of_equals_the_newest_comes_first() {
    let mut talk = TestSession::new();
    for name in ["ring one", "ring two", "ring six"] {
        talk = talk.model(name).model("no").model("not").model("nothing").model("none");
    }
    talk.check("ring", &[11, 6, 1]);
    let same = TestSession::new().user("ring").model("other").user("ring");
    let hits = same.search("ring");
    assert_eq!((hits[0].number, hits[0].repeats), (Some(Ordinal(3)), 1));
}

#[test]
fn a_hit_tells_where_it_is_from() {
    let hits = work().search("E0502");
    let hit = &hits[0];
    assert_eq!((hit.session.as_str(), hit.message.as_str(), hit.role), ("s", "id5", Role::User));
    assert_eq!((hit.origin, hit.tool.as_deref()), (Origin::Tool, Some("shell")));
    assert_eq!(hit.at, Some(Timestamp::from_millis(300_000)));
    assert_eq!(hit.excerpt.matched().collect::<Vec<_>>(), ["E0502"]);
    let named_by_its_call = &work().search("parseRecord")[0];
    assert_eq!(named_by_its_call.tool.as_deref(), Some("read_file"));
    let call = &work().search("crates/importer/src/parse.rs read_file")[0];
    assert_eq!((call.origin, call.number), (Origin::Model, Some(Ordinal(3))));
    let thought =
        TestSession::new().say(Part::thought(Thought { text: "a ring".into(), ..Thought::default() }));
    thought.check("ring", &[1]);
}

#[test]
fn the_best_window_of_a_long_output_is_shown() {
    let noise = "   Compiling thing v0.1.0\n".repeat(4000);
    let text = format!(
        "error count: 0\n{noise}before\nerror: linker failed\nbehind\nmore\nfar\n{noise}the linker\n"
    );
    let hits = TestSession::new().tool(&text).search("linker error");
    let excerpt = &hits[0].excerpt;
    assert_eq!(excerpt.text, "   Compiling thing v0.1.0\nbefore\nerror: linker failed\nbehind\nmore");
    assert_eq!(excerpt.first_line, 4001);
    assert_eq!(excerpt.matched().collect::<Vec<_>>(), ["error", "linker"]);
    assert!(excerpt.is_cut_before && excerpt.is_cut_after);
}

#[test]
fn short_texts_are_shown_whole() {
    let hits = TestSession::new().user("one\ntwo ring\nthree").search("ring");
    let excerpt = &hits[0].excerpt;
    assert_eq!((excerpt.text.as_str(), excerpt.first_line), ("one\ntwo ring\nthree", 1));
    assert!(!excerpt.is_cut_before && !excerpt.is_cut_after);
}

#[test]
fn very_long_lines_are_cut_at_characters() {
    let text = format!("{} needle {}", "語".repeat(5000), "é".repeat(5000));
    let hits = TestSession::new().tool(&text).search("needle");
    let excerpt = &hits[0].excerpt;
    assert!(excerpt.text.len() < 2000 && excerpt.is_cut_before && excerpt.is_cut_after);
    assert_eq!(excerpt.matched().collect::<Vec<_>>(), ["needle"]);
}

#[test]
fn a_message_is_found_by_its_mark() {
    let talk = work();
    for query in ["m6", "[m6]", " m6 "] {
        talk.check(query, &[6]);
    }
    let hits = talk.search("m5");
    assert!(hits[0].excerpt.text.starts_with("error[E0502]") && hits[0].excerpt.text.ends_with("note: here"));
    assert_eq!(hits[0].tool.as_deref(), Some("shell"));
    let long = TestSession::new().tool(&"語".repeat(50_000));
    let excerpt = &long.search("m1")[0].excerpt;
    assert!(excerpt.is_cut_after && excerpt.text.len() > 30_000 && excerpt.text.len() <= LONGEST_WHOLE);
    let mut search = Search::new("m1");
    for session in ["a", "b"] {
        search.observe(&SessionRef::new(session), &work().messages[0]);
    }
    assert_eq!(search.ranking(&SearchFilter::default()).len(), 2, "one of each session");
}

#[test]
fn whole_words_go_before_pieces() {
    let talk = TestSession::new()
        .model("see configurations elsewhere")
        .model("nothing here")
        .model("nothing there")
        .model("see parse_config")
        .model("no word of it")
        .model("no trace of it")
        .model("see config")
        .model("not a line")
        .model("reconfig");
    talk.check("config", &[7, 4]).check("configuration", &[1]);
}

#[test]
fn later_sessions_win_by_time_and_not_by_order() {
    let mut search = Search::new("ring");
    let message = |text: &str, at: i64| {
        let mut message = Message::new("a", Role::User, vec![Part::user_text(text)]);
        message.at = Some(Timestamp::from_millis(at));
        message
    };
    search.observe(&SessionRef::new("new"), &message("ring x", 2_000));
    search.observe(&SessionRef::new("old"), &message("ring y", 1_000));
    let ranked = search.ranking(&SearchFilter::default());
    let sessions: Vec<&str> = ranked.iter().map(|passage| passage.session.as_str()).collect();
    assert_eq!(sessions, ["new", "old"]);
    assert_eq!(ranked[0].score, ranked[1].score);
}

#[test]
fn a_named_time_is_preferred() {
    let session = SessionRef::new("s");
    let day = |day: u32, text: &str| {
        let mut message = Message::new(format!("{day}"), Role::Model, vec![Part::model_text(text)]);
        message.at = Timestamp::parse(&format!("2026-11-{day:02}T10:00:00Z"));
        message
    };
    let messages: Vec<Message> = (1..=20)
        .map(|number| day(number, if number % 6 == 0 { "the port is free" } else { "so it goes on" }))
        .collect();
    let now = Timestamp::parse("2026-11-20T12:00:00Z").expect("a time");
    let mut search = Search::asked_at("the port last week", now);
    messages.iter().for_each(|message| search.observe(&session, message));
    assert_eq!(search.hits_in(&session, &messages, 1)[0].message.as_str(), "12");
    let mut search = Search::asked_at("the port", now);
    messages.iter().for_each(|message| search.observe(&session, message));
    assert_eq!(search.hits_in(&session, &messages, 1)[0].message.as_str(), "18");
}

#[test]
fn an_answer_is_found_by_its_question() {
    let hits = TestSession::new()
        .user("And how is the weather?")
        .model("Fine.")
        .user("Which port does the metrics exporter listen on?")
        .model("It listens on 9464, behind the proxy.")
        .search("port of the metrics exporter");
    let numbers: Vec<_> = hits.iter().filter_map(|hit| hit.number).map(|number| number.0).collect();
    assert!(numbers[..2].contains(&4), "{hits:#?}");
}

#[test]
fn filters_choose_kinds_and_times() {
    let talk = work();
    let session = SessionRef::new("s");
    let mut search = Search::new("parse.rs");
    talk.messages.iter().for_each(|message| search.observe(&session, message));
    let of = |filter: SearchFilter| {
        let ranked = search.ranking(&filter);
        ranked.iter().map(|passage| passage.sequence + 1).collect::<Vec<_>>()
    };
    let kind = |kind| SearchFilter { kinds: vec![kind], since: None };
    assert_eq!(of(kind(crate::Kind::Call)), [3]);
    assert_eq!(of(kind(crate::Kind::Output))[0], 5);
    let since = Some(Timestamp::from_millis(5 * 60_000));
    assert!(of(SearchFilter { kinds: Vec::new(), since }).iter().all(|number| *number >= 5));
}

#[test]
fn hostile_queries_are_bounded() {
    for query in [
        "\"".repeat(1_000_000),
        "a ".repeat(1_000_000),
        "x".repeat(1_000_000),
        "語".repeat(100_000),
        "a/".repeat(10_000),
    ] {
        let message = Message::new("a", Role::User, vec![Part::user_text("a x 語語")]);
        let mut search = Search::new(&query);
        search.observe(&SessionRef::new("s"), &message);
        search.hits_in(&SessionRef::new("s"), [&message], 1);
    }
}

/// Texts that are likely to contain the words of queries.
fn text(words: usize) -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("ring".to_owned()),
        Just("Ring\n".to_owned()),
        Just("src/main.rs:1 ".to_owned()),
        Just("parseConfig_x".to_owned()),
        Just("設定ファイル".to_owned()),
        Just("Über ß İ\u{301}".to_owned()),
        any::<String>(),
        " {0,400}",
    ];
    prop::collection::vec(word, 0..words).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn hits_are_sorted_and_excerpts_true(query in text(6), texts in prop::collection::vec(text(30), 1..6)) {
        let mut search = Search::new(&query);
        let session = SessionRef::new("s");
        let message =
            |(place, text): (usize, &String)| Message::new(format!("{place}"), Role::User, vec![Part::user_text(text.as_str())]);
        let messages: Vec<Message> = texts.iter().enumerate().map(message).collect();
        messages.iter().for_each(|message| search.observe(&session, message));
        let hits = search.hits_in(&session, &messages, 5);
        prop_assert!(hits.len() <= 5);
        prop_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
        for hit in &hits {
            let place: usize = hit.message.as_str().parse().expect("a number");
            let excerpt = &hit.excerpt;
            prop_assert!(texts[place].contains(&excerpt.text));
            prop_assert_eq!(excerpt.matched().count(), excerpt.matches.len(), "ranges are at characters");
            prop_assert!(excerpt.matches.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(excerpt.matches.iter().all(|range| range.start < range.end));
            prop_assert!(hit.score.is_finite() && hit.score > 0.0);
        }
    }

    #[test]
    fn a_word_between_spaces_is_always_found(
        before in "[ a-z\n]{0,20}", behind in "[ é語\n]{0,20}", times in 0_usize..150,
    ) {
        let text = format!("{} Needle42x {}", before.repeat(times), behind.repeat(times));
        let message = Message::new("a", Role::User, vec![Part::user_text(text)]);
        let mut search = Search::new("needle42x");
        search.observe(&SessionRef::new("s"), &message);
        let hits = search.hits_in(&SessionRef::new("s"), [&message], 1);
        prop_assert_eq!(hits.len(), 1);
        prop_assert!(hits[0].excerpt.matched().any(|found| found == "Needle42x"));
    }
}
