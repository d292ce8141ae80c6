//! Characters of Chinese, Japanese and Korean texts.

/// Returns true if a character is Han, kana, or their punctuation: text in which spaces part no words.
pub fn is_wide(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3134f}')
}
