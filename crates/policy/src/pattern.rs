//! Regular expressions that users write.

use regex::{Regex, RegexBuilder};

/// The longest expression that is accepted, in bytes.
const MAX_LENGTH: usize = 2048;

/// The most memory that a compiled expression may take, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// The deepest nesting of groups.
const MAX_NESTING: u32 = 50;

/// Compiles an expression as rules write it.
///
/// Matching takes time in proportion to the text, whatever the expression; what is refused is what would not compile
/// within bounds or not at all. Gemini CLI's `\0` for a NUL character is understood.
pub(crate) fn compile(expression: &str) -> Result<Regex, String> {
    if expression.len() > MAX_LENGTH {
        return Err(format!("the expression is longer than {MAX_LENGTH} bytes"));
    }
    RegexBuilder::new(&spell_nul(expression))
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(MAX_NESTING)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the compiled expression is too large".to_owned(),
            other => last_line(&other.to_string()),
        })
}

/// Compiles an expression that must match from the beginning of a text.
pub(crate) fn compile_anchored(expression: &str) -> Result<Regex, String> {
    // Alone first: brackets that do not pair must not reach into what is put around them.
    compile(expression)?;
    compile(&format!("^(?:{expression})"))
}

/// Writes `\0` as `\x00`, but not `\01`, nor the second half of `\\0`.
fn spell_nul(expression: &str) -> String {
    let mut spelled = String::with_capacity(expression.len());
    let mut characters = expression.chars().peekable();
    while let Some(character) = characters.next() {
        spelled.push(character);
        if character != '\\' {
            continue;
        }
        match characters.next() {
            Some('0') if !characters.peek().is_some_and(char::is_ascii_digit) => spelled.push_str("x00"),
            Some(escaped) => spelled.push(escaped),
            None => {}
        }
    }
    spelled
}

/// The reason that stands at the end of an error which shows the whole expression first.
fn last_line(error: &str) -> String {
    let line = error.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, text: &str, expected: bool) {
        let regex = compile(expression).expect("a good expression");
        assert_eq!(regex.is_match(text), expected, "{expression} in {text:?}");
    }

    #[track_caller]
    fn check_refused(expression: &str, reason: &str) {
        let refusal = compile(expression).expect_err("a bad expression");
        assert!(refusal.contains(reason), "{refusal}");
        assert!(!refusal.contains('\n') && refusal.len() < 200, "{refusal}");
    }

    #[test]
    fn an_expression_is_searched_anywhere() {
        check("b+", "abbc", true);
        check("^b+", "abbc", false);
    }

    #[test]
    fn a_nul_can_be_written_as_gemini_cli_does() {
        check(r#"\0"a":"#, "{\0\"a\":1\0}", true);
        check(r#"\0"a":"#, "{\"a\":1}", false);
        check(r"\\0", r"\0", true);
        check(r"\x00", "\0", true);
    }

    #[test]
    fn escapes_of_other_dialects_work() {
        check(r#""path":"\/etc\/"#, r#""path":"/etc/passwd""#, true);
    }

    #[test]
    fn what_cannot_be_compiled_is_refused_with_a_reason() {
        check_refused("(", "unclosed group");
        check_refused(&"a".repeat(2049), "longer than 2048");
        check_refused("(a{1000}){1000}", "too large");
        check_refused("(?=a)", "look-around");
        check_refused(&format!("{}a{}", "(".repeat(60), ")".repeat(60)), "nest");
    }

    #[test]
    fn nested_quantifiers_are_harmless() {
        check("^(a+)+$", &format!("{}!", "a".repeat(50_000)), false);
    }

    #[test]
    fn an_anchored_expression_cannot_break_out() {
        let anchored = compile_anchored("rm|git").expect("good");
        assert!(anchored.is_match("git log") && !anchored.is_match("echo rm"));
        assert!(compile_anchored("a)|(?:b").is_err());
    }
}
