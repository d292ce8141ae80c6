//! Cuts, masks and shortens real sessions: whatever agents recorded, pairs stay together.

use std::fs::File;

use longhaul_conversation::{Estimator, FaultKind, Message, TokenCount, find_faults, repair};
use longhaul_formats::read_session;
use longhaul_testkit::{corpus, files_below};

use crate::cut::{CutReason, CutSettings, plan_cut};
use crate::groups::complete_groups;
use crate::mask::{MaskSettings, MaskWhen, plan_masks};
use crate::reference_cut::reference_split;
use crate::{OutputLimits, ReverseBudget, apply_replacements, plan_shrinking};

/// Every session that can be read, repaired as it would be before it is sent.
fn sessions() -> Vec<(String, Vec<Message>)> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let files = files_below(&corpus.join("sessions"));
    let sessions: Vec<_> = files
        .into_iter()
        .filter_map(|path| {
            let session = read_session(File::open(&path).expect("it was just listed")).ok()?;
            let messages = repair(session.transcript.into_messages()).messages;
            Some((path.display().to_string(), messages))
        })
        .collect();
    assert!(sessions.len() > 20, "only {} sessions could be read", sessions.len());
    sessions
}

#[test]
fn real_sessions_are_cut_between_groups() {
    let (mut cut_off, mut given_up, mut nothing_kept) = (0, 0, 0);
    for (name, messages) in sessions() {
        let cut = plan_cut(&messages, &CutSettings::default());
        let (head, tail) = messages.split_at(cut.tail_from);
        for side in [head, tail] {
            // The snapshot that comes before a tail is the user's.
            let is_fault = |kind: FaultKind| !(kind == FaultKind::WrongFirstRole && cut.tail_from > 0);
            let faults: Vec<_> = find_faults(side).into_iter().filter(|fault| is_fault(fault.kind)).collect();
            assert!(faults.is_empty(), "{name} at {}: {faults:?}", cut.tail_from);
        }
        let last = complete_groups(&messages).last().cloned().unwrap_or(0..0);
        assert!(cut.tail_from <= last.start, "{name}");
        cut_off += usize::from(cut.reason != CutReason::NothingToCut);
        let reference = reference_split(&messages, 0.7).expect("a valid fraction");
        given_up += usize::from(reference == 0);
        nothing_kept += usize::from(reference == messages.len());
        println!(
            "{:40} {:4} messages, tail from {:4} ({:?}), reference {reference}",
            name.rsplit('/').next().unwrap_or_default(),
            messages.len(),
            cut.tail_from,
            cut.reason
        );
    }
    println!("{cut_off} cut; the reference gives up on {given_up} and keeps nothing of {nothing_kept}");
}

#[test]
fn real_sessions_shrink_and_keep_their_pairs() {
    // A small window, so that there is something to do everywhere.
    let limits = OutputLimits::default().capped_to(TokenCount(16_000));
    let estimator = Estimator::default();
    let total = |messages: &[Message]| -> TokenCount {
        messages
            .iter()
            .map(|message| estimator.message(message))
            .sum::<longhaul_conversation::Estimate>()
            .tokens()
    };
    for (name, messages) in sessions() {
        let masks = plan_masks(&messages, &MaskSettings::new("s", &limits), MaskWhen::Always).replacements;
        let shrinks = plan_shrinking(&messages, &ReverseBudget::new("s", &limits));
        for plan in [masks, shrinks] {
            let mut shorter = messages.clone();
            // The same output of a reused id is one text, and is shortened wherever it stands.
            assert!(apply_replacements(&mut shorter, &plan) >= plan.len(), "{name}");
            assert!(find_faults(&shorter).is_empty(), "{name}");
            assert!(plan.is_empty() || total(&shorter) < total(&messages), "{name}");
            assert!(plan.iter().all(|replacement| replacement.full_text(&messages).is_some()), "{name}");
        }
    }
}
