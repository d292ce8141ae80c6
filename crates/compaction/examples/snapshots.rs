//! Writes the offline snapshots of sessions, to be read: `snapshots FOLDER BUDGET[,BUDGET]... FILE[@MESSAGE]...`
//!
//! Each session is compacted as on request, once for each budget, into FOLDER/SESSION/snapshot-BUDGET.txt; with a message's number,
//! everything up to that message. Printed are the tokens of each.

use std::error::Error;
use std::path::Path;

use longhaul_compaction::{ComposeOptions, Input, PlanOptions, Tracker, compact_offline, compose, prepare};
use longhaul_conversation::{Message, Ordinal, TokenCount, Trigger};
use longhaul_formats::read_session_in;

/// No session of a person fills it.
const WINDOW: TokenCount = TokenCount(1_000_000);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(budgets)) = (arguments.next(), arguments.next()) else {
        return Err("usage: snapshots FOLDER BUDGET[,BUDGET]... FILE[@MESSAGE]...".into());
    };
    for argument in arguments {
        let (file, last) = match argument.rsplit_once('@') {
            Some((file, last)) => (file, Some(last.parse()?)),
            None => (argument.as_str(), None),
        };
        let bytes = std::fs::read(file)?;
        let mut session = read_session_in(&bytes, &mut |_, _| {})?;
        let messages = session.transcript.take_messages();
        let directory = session.info.directory.as_deref();
        let mut tracker = directory.map_or_else(Tracker::default, Tracker::in_directory);
        messages.iter().for_each(|message| tracker.observe(message));
        let name = Path::new(file).file_stem().unwrap_or_default();
        let own = Path::new(&folder).join(name);
        std::fs::create_dir_all(&own)?;
        for budget in budgets.split(',') {
            let mut options = PlanOptions { trigger: Trigger::Forced, ..PlanOptions::new(WINDOW) };
            options.budget.snapshot = TokenCount(budget.parse()?);
            let snapshot = match last {
                Some(last) => Some(snapshot_of(&tracker, &messages, last, &options)),
                None => {
                    let prepared = prepare(messages.clone(), options.empty);
                    compact_offline(&Input::new(&tracker, &prepared, &options)).snapshot
                }
            };
            let text = snapshot.map(|snapshot| snapshot.render()).unwrap_or_default();
            std::fs::write(own.join(format!("snapshot-{budget}.txt")), &text)?;
            println!("{}\t{budget}\t{}", name.to_string_lossy(), options.estimator.text(&text).tokens());
        }
    }
    Ok(())
}

/// The snapshot of everything up to the message with the number `last`.
fn snapshot_of(
    tracker: &Tracker,
    messages: &[Message],
    last: u32,
    options: &PlanOptions,
) -> longhaul_snapshot::Snapshot {
    let options = ComposeOptions {
        budget: options.budget.snapshot,
        tail: messages.get(last as usize..).unwrap_or_default(),
        before: Ordinal(last + 1),
        focus: None,
        estimator: options.estimator,
    };
    compose(tracker, &options).snapshot
}
