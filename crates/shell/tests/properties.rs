//! The laws of command lines, on lines made at random.

mod laws;

use proptest::prelude::*;

/// Pieces that mean something to a shell.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "a", "echo", " ", " ", "\n", ";", "|", "&&", "'", "\"", "\\", "$", "`", "(", ")", "{", "}", "$(", "${x", ":-", "<<E",
            "\nE\n", "<", ">", "#", "=", "[", "]", "\\\n", "\t", "$'", "$((1", "))", "if", "then", "for x in", "do", "done", "time",
            "!", "env", "sh -c", "'a b'", "xargs", "find", "-exec", "\\;", "eval", "*", "~", "é", "2>&1", "&>", "<<<", "<(", "sed", "1p",
        ]).prop_map(str::to_owned),
        1 => "[ -~\n]{0,4}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn lines_of_pieces_keep_the_laws(pieces in prop::collection::vec(piece(), 0..16)) {
        laws::check_line(&pieces.concat());
    }

    #[test]
    fn any_text_keeps_the_laws(text in "\\PC{0,60}") {
        laws::check_line(&text);
    }
}
