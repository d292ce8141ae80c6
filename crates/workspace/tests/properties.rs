//! The laws, on files made at random.

mod laws;

use proptest::prelude::*;

/// Files of trust rules, most of them nearly right.
fn trust_file() -> impl Strategy<Value = Vec<u8>> {
    let rules = r#"(// x
)?\{("/no(/k)?/{0,2}(k|x)?": ?"(TRUST_FOLDER|TRUST_PARENT|DO_NOT_TRUST|TRUST)" ?,? ?(/\* k \*/)?){0,3}\}?"#;
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..60), rules.prop_map(String::into_bytes)]
}

/// Registries, most of them nearly right.
fn registry() -> impl Strategy<Value = Vec<u8>> {
    let entries =
        r#"\{("note": [0-9],)?"projects": ?\{("/[a-z]{1,2}": ?"(one|one-1|[a-z./]{1,3}|..)",?){0,3}\}?\}?"#;
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..80), entries.prop_map(String::into_bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_of_trust_keep_their_laws(bytes in trust_file()) {
        laws::check_trust(&bytes);
    }

    #[test]
    fn registries_keep_their_laws(bytes in registry()) {
        laws::check_registry(&bytes);
    }
}
