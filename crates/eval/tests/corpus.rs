//! Tests of the measures on real sessions: what they must and must not reward.

use std::collections::HashSet;
use std::fs::File;

use longhaul_conversation::{Body, Message, Origin, Part, Role, TokenCount};
use longhaul_eval::{
    Class, CompactionTask, Compactor, EvalSession, EvalSummary, Figures, Measure, Method, Settings,
    baselines, count_tokens, evaluate,
};

const BUDGET: TokenCount = TokenCount(4_000);

fn subjects() -> Option<Vec<EvalSession>> {
    let folder = longhaul_testkit::corpus()?.join("sessions/normalized");
    let read = |path: &std::path::PathBuf| {
        let session = longhaul_formats::read_session(File::open(path).ok()?).ok()?;
        let session = EvalSession::new(path.file_stem()?.to_string_lossy(), &session);
        // Larger ones take long without optimisation.
        (session.class() == Class::Real && session.tokens < TokenCount(20_000)).then_some(session)
    };
    Some(longhaul_testkit::files_below(&folder).iter().filter_map(read).collect())
}

fn figures(subjects: &[EvalSession], method: Method) -> Figures {
    let name = method.name.clone();
    let methods = [method];
    let settings = Settings { budgets: vec![BUDGET], ..Settings::default() };
    let reports: Vec<_> = subjects.iter().map(|session| evaluate(session, &methods, &settings)).collect();
    EvalSummary::of(&reports, Class::Real).cell(&name, BUDGET).expect("it was evaluated").figures.clone()
}

/// Keeps every word of the head that looks like a name, newest first, without context.
struct WordList;

impl Compactor for WordList {
    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
        let mut known = HashSet::new();
        let (mut list, mut room) = (String::new(), BUDGET.0 as usize * 4);
        let texts =
            task.head().iter().rev().flat_map(|message| &message.parts).filter_map(|part| match &part.body {
                Body::Text(text) => Some(text.clone()),
                Body::Call(call) => Some(call.args.to_string()),
                Body::Result(result) => Some(result.readable().into_owned()),
                _ => None,
            });
        for text in texts {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
            for word in text.split(|c| !is_name(c)).map(|word| word.trim_matches('.')) {
                let is_plain_word = word.len() >= 6
                    && (word.contains(['_', '.', '/'])
                        || word.chars().skip(1).any(|c| c.is_ascii_uppercase()));
                if is_plain_word && room > word.len() && known.insert(word.to_string()) {
                    room -= word.len() + 1;
                    list.push_str(word);
                    list.push(' ');
                }
            }
        }
        let list = Message::new("list", Role::User, vec![Part::text(Origin::Summary, list)]);
        std::iter::once(list).chain(task.tail().iter().cloned()).collect()
    }
}

#[test]
fn a_bare_word_list_is_found_out() {
    let Some(subjects) = subjects() else { return };
    let figures = figures(&subjects, Method::new("list", || WordList));
    let share = |measure| figures.share(measure).expect("real sessions need anchors");
    println!("word list: recall {:.3}, grounded {:.3}", share(Measure::Recall), share(Measure::Grounded));
    assert!(share(Measure::Recall) > 0.3, "the list does hold names: {figures:?}");
    assert!(share(Measure::Grounded) < 0.1, "names alone earn nothing: {figures:?}");
}

/// Keeps the whole conversation.
struct Everything;

impl Compactor for Everything {
    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
        task.context.to_vec()
    }
}

#[test]
fn everything_kept_is_everything_reached() {
    let Some(subjects) = subjects() else { return };
    let figures = figures(&subjects, Method::new("everything", || Everything));
    let is_junk = |measure: &Measure| measure.as_str().starts_with("junk");
    let missed: Vec<_> =
        figures.shares.iter().filter(|(measure, share)| !is_junk(measure) && **share < 1.0).collect();
    assert!(missed.is_empty(), "{missed:?}");
    assert_eq!((figures.defects.pairing, figures.defects.changed_tails), (0, 0));
}

#[test]
fn baselines_keep_the_rules_of_the_game() {
    let Some(subjects) = subjects() else { return };
    assert!(subjects.iter().all(|session| session.tokens == count_tokens(&session.messages)));
    for method in baselines() {
        let name = method.name.clone();
        let defects = figures(&subjects, method).defects;
        assert_eq!(defects, longhaul_eval::Defects::default(), "{name}");
    }
}
