//! Real sessions through the engine, with summarisers of every quality.

use std::fs::File;
use std::time::Duration;

use longhaul_compaction::{Input, PlanOptions, Status, Tracker, Trigger, continue_numbering, prepare};
use longhaul_conversation::{Message, Ordinal, ScriptedModel, ScriptedReply, TokenCount, find_faults};
use longhaul_engine::{ByModel, CompactionDeps, Folder, PassOutcome, Settings, State, Summariser, compact};
use longhaul_formats::read_session;
use tokio_util::sync::CancellationToken;

/// The messages of the sessions that the corpus has, the smaller ones of each kind.
fn sessions() -> Vec<(String, Vec<Message>)> {
    const MOST_BYTES: u64 = 1_500_000;
    const MOST: usize = 12;
    let Some(corpus) = longhaul_testkit::corpus() else { return Vec::new() };
    let files = longhaul_testkit::files_below(&corpus).into_iter();
    let files =
        files.filter(|path| path.metadata().is_ok_and(|data| (20_000..MOST_BYTES).contains(&data.len())));
    let mut found: Vec<_> = files
        .filter_map(|path| {
            let session = read_session(File::open(&path).ok()?).ok()?;
            let mut messages = session.transcript.into_messages();
            for (message, nth) in messages.iter_mut().zip(1..) {
                message.ordinal.get_or_insert(Ordinal(nth));
            }
            continue_numbering(&mut messages);
            (messages.len() > 12).then(|| (path.display().to_string(), messages))
        })
        .collect();
    let step = (found.len() / MOST).max(1);
    found = found.into_iter().step_by(step).take(MOST).collect();
    found
}

fn run(messages: &[Message], window: u64, summariser: &dyn Summariser) -> (PassOutcome, bool) {
    let mut tracker = Tracker::default();
    messages.iter().for_each(|message| tracker.observe(message));
    let folder = tempfile::tempdir().expect("a folder");
    let deps = CompactionDeps {
        summariser,
        files: &Folder::new(folder.path()),
        counter: None,
        pre_compress: None,
        events: &|_| {},
        clock: &|| Duration::ZERO,
    };
    let options = PlanOptions { trigger: Trigger::Forced, ..PlanOptions::new(TokenCount(window)) };
    let prepared = prepare(messages, options.empty);
    let input = Input::new(&tracker, &prepared, &options);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (settings, state, cancel) = (Settings::default(), State::default(), CancellationToken::new());
    let outcome = runtime.block_on(compact(&input, &settings, &state, &deps, &cancel));
    // Every file that the new messages name is there.
    let files = outcome.result.files.iter().all(|file| folder.path().join(&file.file).exists());
    (outcome, files)
}

#[test]
fn real_sessions_fit_keep_their_rules_and_stay_sound() {
    let answers = [
        "<state_snapshot><overall_goal>Go on.</overall_goal><key_knowledge>\n- nothing is known\n</key_knowledge>\
         </state_snapshot>",
        "I cannot do that.",
        "",
    ];
    for (name, messages) in sessions() {
        for (window, answer) in [8_000, 32_000, 120_000].into_iter().zip(answers) {
            let model = ScriptedModel::new(std::iter::repeat_n(ScriptedReply::text(answer), 60));
            let summariser = ByModel::new(&model, "scripted", TokenCount(200_000));
            let (outcome, has_files) = run(&messages, window, &summariser);
            let result = &outcome.result;
            if let Some(after) = &result.messages {
                assert!(find_faults(after).is_empty(), "{name}");
                assert!(result.after <= TokenCount(window) && result.after < result.before, "{name}");
                assert_eq!(result.report.rules_kept, result.report.rules, "{name}");
                assert!(has_files, "{name}");
                assert!(!answer.is_empty() || result.report.summariser.starts_with("offline"), "{name}");
            } else {
                assert!(
                    matches!(result.status, Status::Noop | Status::DoesNotFit),
                    "{name}: {}",
                    result.reason
                );
            }
        }
    }
}
