//! Reads every real file of the corpus. It is full of hashes, UUIDs, base64 and lock files, and of no secret that was
//! not written as an example; a look at every password, token and key in it found none.

use std::collections::BTreeMap;

use longhaul_redact::{find_secrets, redact};

/// Findings that are honest, as far as anything without its context can be: the end of the path, the kind, and why.
const HONEST: &[(&str, &str, &str)] = &[];

#[test]
fn real_files_raise_no_false_alarm() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut alarms = Vec::new();
    let mut bytes = 0;
    for path in longhaul_testkit::files_below(&corpus) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        bytes += text.len();
        let name = path.strip_prefix(&corpus).expect("the file is below the corpus").display().to_string();
        for finding in find_secrets(&text) {
            let kind = finding.kind.name();
            *counts.entry(kind).or_default() += 1;
            if !HONEST.iter().any(|(end, known, _)| name.ends_with(end) && kind == *known) {
                let start = text.floor_char_boundary(finding.range.start.saturating_sub(40));
                alarms.push(format!("{name}: {kind}: {:?}", &text[start..finding.range.end]));
            }
        }
    }
    println!("{bytes} bytes: {counts:?}");
    assert!(alarms.is_empty(), "{alarms:#?}");
}

#[test]
fn a_secret_is_found_in_every_real_session() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let token = ["glpat", "-", "Zb3kQ9xT1vLm7Rw2Np8Y"].concat();
    for path in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let middle = text.floor_char_boundary(text.len() / 2);
        let (before, after) = text.split_at(middle);
        let leaky = [before, " ", &token, " ", after].concat();
        let redacted = redact(&leaky);
        assert_eq!(redacted.text, [before, " [REDACTED] ", after].concat(), "{}", path.display());
        assert_eq!(redact(&redacted.text).findings, [], "{}", path.display());
    }
}
