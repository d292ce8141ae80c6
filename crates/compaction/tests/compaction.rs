//! Compacts real sessions for windows of every size: the result is smaller and fits, or it is said why not.

use std::collections::BTreeMap;
use std::fs::File;

use longhaul_compaction::{
    Fixed, Input, Outcome, PlanOptions, PreparedMessages, Rung, Status, Tracker, Trigger, compact_offline,
    plan, prepare,
};
use longhaul_conversation::{Message, Role, TokenCount, find_faults};
use longhaul_formats::read_session;
use longhaul_testkit::{corpus, files_below};

struct Session {
    name: String,
    messages: Vec<Message>,
    tracker: Tracker,
}

fn sessions() -> Vec<Session> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let sessions: Vec<Session> = files_below(&corpus.join("sessions"))
        .into_iter()
        .filter_map(|path| {
            let session = read_session(File::open(&path).expect("it was just listed")).ok()?;
            let messages = session.transcript.into_messages();
            let tracker = track(&messages);
            Some(Session { name: path.display().to_string(), messages, tracker })
        })
        .collect();
    assert!(sessions.len() > 20, "only {} sessions could be read", sessions.len());
    sessions
}

fn track(messages: &[Message]) -> Tracker {
    let mut tracker = Tracker::default();
    messages.iter().for_each(|message| tracker.observe(message));
    tracker
}

#[track_caller]
fn check(session: &Session, options: &PlanOptions, outcome: &Outcome) {
    let name = &session.name;
    let window = options.budget.window;
    let Some(after) = &outcome.messages else {
        let expected = if outcome.before <= window { Status::Noop } else { Status::DoesNotFit };
        assert_eq!(outcome.status, expected, "{name} in {window}: {}", outcome.reason);
        return;
    };
    assert!(
        outcome.after < outcome.before && outcome.after <= window,
        "{name} in {window}: {}",
        outcome.reason
    );
    assert!(find_faults(after).is_empty(), "{name} in {window}");
    assert_eq!(after.first().map(|first| first.role), Some(Role::User), "{name} in {window}");
    assert_eq!(outcome.report.rules_kept, outcome.report.rules, "{name} in {window}");
    let automatic = PlanOptions { trigger: Trigger::Automatic, ..options.clone() };
    let prepared = PreparedMessages::as_given(after);
    let next = plan(&Input::new(&session.tracker, &prepared, &automatic));
    assert!(matches!(next.rung, Rung::Wait | Rung::Noop), "{name} in {window}: {next}");
}

#[test]
fn real_sessions_fit_in_every_window() {
    let mut statuses: BTreeMap<(u64, &str), usize> = BTreeMap::new();
    for session in sessions() {
        for window in [2_000, 16_000, 128_000] {
            for trigger in [Trigger::Automatic, Trigger::Forced] {
                let fixed = Fixed { system: TokenCount(window / 10), ..Fixed::default() };
                let options = PlanOptions { trigger, fixed, ..PlanOptions::new(TokenCount(window)) };
                let prepared = prepare(&session.messages, options.empty);
                let outcome = compact_offline(&Input::new(&session.tracker, &prepared, &options));
                check(&session, &options, &outcome);
                *statuses.entry((window, outcome.status.as_str())).or_default() += 1;
                if outcome.status == Status::DoesNotFit {
                    println!("{} in {window}: {}", session.name, outcome.reason);
                }
            }
        }
    }
    for ((window, status), count) in statuses {
        println!("{window:>8} {status:20} {count}");
    }
}
