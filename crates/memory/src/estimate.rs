//! Guesses how many tokens a text is.

use longhaul_conversation::TokenCount;

/// The tokens of a text, by estimate: four ASCII characters to a token, and 1.3 tokens for every other code unit.
pub fn estimate_tokens(text: &str) -> TokenCount {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other: u64 =
        text.chars().filter(|letter| !letter.is_ascii()).map(|letter| letter.len_utf16() as u64).sum();
    // In twentieths of a token, so that nothing is lost to rounding before the end.
    TokenCount((ascii * 5 + other * 26).div_ceil(20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: u64) {
        assert_eq!(estimate_tokens(text), TokenCount(expected), "{text}");
    }

    #[test]
    fn characters_weigh_by_their_kind() {
        check("", 0);
        check("a", 1);
        check("abcd", 1);
        check("abcdefgh", 2);
        check("記憶", 3);
        check("👍", 3);
    }
}
