//! Ledgers of real sessions: built message by message, written, read back and rendered.

use longhaul_conversation::TokenCount;
use longhaul_ledger::Ledger;

#[test]
fn every_session_with_calls_has_a_ledger_that_fits() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut with_calls = 0;
    for path in longhaul_testkit::files_below(&corpus.join("sessions/normalized")) {
        let file = std::fs::File::open(&path).expect("the corpus is readable");
        let session = longhaul_formats::read_session(file).expect("normalized sessions are known");
        let messages = session.transcript.messages();
        let mut ledger = Ledger::default();
        messages.iter().for_each(|message| ledger.observe(message));

        let kept = serde_json::to_string(&ledger).expect("a ledger has only string keys");
        assert_eq!(serde_json::from_str::<Ledger>(&kept).ok(), Some(ledger.clone()), "{}", path.display());

        let calls = messages.iter().flat_map(|message| message.calls()).count();
        if calls > 3 {
            let is_listing =
                messages.iter().flat_map(|message| message.calls()).all(|call| call.name == "list_directory");
            let is_known = ledger.files().next().is_some() || !ledger.commands().is_empty();
            assert!(is_known || is_listing, "{}: {calls} calls and nothing known", path.display());
            with_calls += 1;
        }
        for budget in [50, 250, 1000] {
            let lines = ledger.render_lines(TokenCount(budget));
            let characters: usize = lines.iter().map(|line| line.text.chars().count() + 1).sum();
            assert!(characters as u64 <= 4 * budget, "{}: {characters}", path.display());
        }
    }
    assert!(with_calls > 20, "only {with_calls} sessions have calls");
}
