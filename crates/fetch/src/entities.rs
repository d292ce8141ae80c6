//! Character references of HTML.

/// The named references that pages use most, with their characters.
const NAMED: &[(&str, &str)] = &[
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("shy", ""),
    ("zwnj", ""),
    ("zwj", ""),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("deg", "°"),
    ("para", "¶"),
    ("sect", "§"),
    ("times", "×"),
    ("divide", "÷"),
    ("plusmn", "±"),
    ("minus", "−"),
    ("le", "≤"),
    ("ge", "≥"),
    ("ne", "≠"),
    ("larr", "←"),
    ("rarr", "→"),
    ("uarr", "↑"),
    ("darr", "↓"),
    ("harr", "↔"),
    ("euro", "€"),
    ("pound", "£"),
    ("cent", "¢"),
    ("yen", "¥"),
    ("auml", "ä"),
    ("ouml", "ö"),
    ("uuml", "ü"),
    ("Auml", "Ä"),
    ("Ouml", "Ö"),
    ("Uuml", "Ü"),
    ("szlig", "ß"),
    ("agrave", "à"),
    ("eacute", "é"),
    ("egrave", "è"),
    ("ecirc", "ê"),
    ("ccedil", "ç"),
    ("ntilde", "ñ"),
    ("oacute", "ó"),
    ("iacute", "í"),
    ("aacute", "á"),
    ("check", "✓"),
    ("lbrace", "{"),
    ("rbrace", "}"),
    ("lsqb", "["),
    ("rsqb", "]"),
    ("num", "#"),
    ("colon", ":"),
    ("sol", "/"),
    ("bsol", "\\"),
    ("lowbar", "_"),
    ("grave", "`"),
    ("Tab", "\t"),
    ("NewLine", "\n"),
];

/// The longest reference that is looked at.
const LONGEST: usize = 12;

/// The text with its character references resolved; what is none stays as it is.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        match reference(rest) {
            Some((character, length)) => {
                out.push_str(&character);
                rest = &rest[length..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// The characters that a reference at the start of a text stands for, and its length.
fn reference(text: &str) -> Option<(String, usize)> {
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let characters = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?.to_string()
        }
        None => NAMED.iter().find(|(known, _)| *known == name)?.1.to_string(),
    };
    Some((characters, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(unescape(text), expected);
    }

    #[test]
    fn references_become_characters() {
        check("a &amp;&amp; b &lt;c&gt; &#39;d&#x27; &mdash;", "a && b <c> 'd' —");
        check("&amp;lt;", "&lt;");
        check("AT&T; x & y &unknown; &#xD800; &#99999999; &", "AT&T; x & y &unknown; &#xD800; &#99999999; &");
        check("größe&nbsp;&", "größe &");
        check("&ä;", "&ä;");
    }
}
