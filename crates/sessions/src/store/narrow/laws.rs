//! Skimming a record and parsing it whole tell the same, whatever the record is, if it is one.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{Fields, parse};

/// What is skimmed is what is parsed; tells whether it could be skimmed.
///
/// A message is told alike, whatever else its record says; of any other record all that is known. Behind what matters of a
/// message nobody looks for mistakes.
#[track_caller]
fn check(record: &[u8]) -> bool {
    let Some(skimmed) = Fields::skim(record) else { return false };
    let is_message = skimmed.is_known();
    let Ok(parsed) = parse::<Fields<'_>>(record) else {
        assert!(is_message, "{}", String::from_utf8_lossy(record));
        return true;
    };
    match is_message {
        true => assert_eq!(skimmed.into_message(), parsed.into_message()),
        false => assert_eq!(format!("{skimmed:?}"), format!("{parsed:?}")),
    }
    true
}

#[test]
fn real_records_are_told_alike() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let (mut skimmed, mut all) = (0, 0);
    for file in longhaul_testkit::files_below(&corpus) {
        if file.extension().is_none_or(|end| end != "jsonl" && end != "json") {
            continue;
        }
        let bytes = std::fs::read(&file).expect("it can be read");
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\"")) {
            all += 1;
            skimmed += usize::from(check(line));
        }
    }
    assert!(skimmed * 10 > all * 9, "{skimmed} of {all}");
}

/// A value of any kind, as JSON.
fn values() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(vec![
            "null",
            "true",
            "false",
            "0",
            "-1.5e3",
            "1e999",
            "\"\"",
            "\" \"",
            "{}",
            "[ ]",
            "[",
            "\"\\ud83d\""
        ])
        .prop_map(str::to_string),
        "[a-z<>/?éß日 \\\\n\"]{0,12}".prop_map(|text| serde_json::Value::from(text).to_string()),
        select(vec!["user", "gemini", "info", "subagent", "2026-01-02T03:04:05Z", "/help"])
            .prop_map(|word| format!("{word:?}")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            records(inner),
        ]
    })
}

fn records(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let keys = select(vec![
        "$rewindTo",
        "$set",
        "$longhaul",
        "sessionId",
        "projectHash",
        "startTime",
        "lastUpdated",
        "kind",
        "summary",
        "memoryScratchpad",
        "messages",
        "id",
        "type",
        "content",
        "toolCalls",
        "thoughts",
        "text",
        "thought",
        "functionCall",
        "functionResponse",
        "inlineData",
        "other",
        "é",
        "\\u0069d",
        "",
    ]);
    let space = select(vec!["", "", "", " ", "\t"]);
    let fields = vec((keys, space, value), 0..5);
    fields.prop_map(|fields| {
        let fields: Vec<String> =
            fields.iter().map(|(key, space, value)| format!("{space}\"{key}\":{space}{value}")).collect();
        format!("{{{}}}", fields.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn records_are_told_alike(record in records(values())) {
        check(record.as_bytes());
    }

    #[test]
    fn so_are_broken_ones(
        record in records(values()),
        changes in vec((any::<Index>(), prop_oneof![any::<u8>(), select(b"\"\\{}[],:0eu- ".to_vec())]), 1..4),
    ) {
        let mut record = record.into_bytes();
        for (place, byte) in changes {
            *place.get_mut(&mut record) = byte;
        }
        check(&record);
    }
}
