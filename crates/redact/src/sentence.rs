//! Secrets told in running text: *the password is …*, *Kennwort …*, *密码：…*, *use … as the password*.
//!
//! A noun makes a look worthwhile; what joins it with a word nearby says how much that word has to look like a secret.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::alphabet::Alphabet;
use crate::credential::{Looks, is_phrase, is_plain_phrase, looks};
use crate::words::{NOUNS, WORDS, WordRole, is_unspaced};
use crate::{MARK, SecretKind, gate, seed};

/// The distance from its noun within which a value begins, in bytes.
const REACH: usize = 200;
/// The number of words behind a noun that are checked as its value.
const MOST_LOOKS: usize = 6;
/// The shortest value: a PIN.
const SHORTEST: usize = 4;
/// Longer than any word worth a look.
const MOST_WORD: usize = 512;

/// The texts that make a look worthwhile: the last word of each noun, in lower case and with a capital; of passwords, as
/// names have it, also in capitals, as abbreviations are.
pub(crate) fn anchors() -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for role in NOUNS {
        for noun in WORDS.of(*role) {
            let word = noun.rsplit([' ', '-', '_']).next().unwrap_or(noun);
            let mut rest = word.chars();
            let first = rest.next().into_iter().flat_map(char::to_uppercase);
            anchors.insert(first.chain(rest).collect());
            anchors.insert(word.to_owned());
            if word.is_ascii() && (word.len() <= 3 || matches!(role, WordRole::Password | WordRole::Seed)) {
                anchors.insert(word.to_ascii_uppercase());
            }
        }
    }
    anchors
}

/// The sorts of secret that a noun may stand for.
#[derive(Clone, Copy, Default)]
struct Noun {
    is_password: bool,
    is_token: bool,
    is_pin: bool,
    is_login: bool,
    is_seed: bool,
}

impl Noun {
    /// The longest noun that ends at `end`, and what it stands for.
    fn at_end(text: &str, end: usize) -> Option<(Self, Range<usize>)> {
        let mut noun = Self::default();
        let mut length = 0;
        for (role, word) in WORDS.nouns_ending(&text[..end]) {
            // The longest come first; a shorter one within says less.
            if word.len() < length {
                break;
            }
            match role {
                WordRole::Password => noun.is_password = true,
                WordRole::Token => noun.is_token = true,
                WordRole::Pin => noun.is_pin = true,
                WordRole::Login => noun.is_login = true,
                WordRole::Seed => noun.is_seed = true,
                _ => continue,
            }
            length = word.len();
        }
        (length > 0).then(|| (noun, end - length..end))
    }
}

/// The connection between a noun and a word behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NounConnector {
    /// By nothing but blanks and quotes.
    Nothing,
    /// By a verb that says that the one is the other.
    Is { is_near: bool },
    /// By a sign or a preposition.
    To { is_near: bool },
    /// By a verb that asks for the value.
    Type,
}

/// The secrets that the noun gives away whose last word ends at `end`.
pub(crate) fn find(text: &str, end: usize, mut add: impl FnMut(SecretKind, Range<usize>)) {
    if goes_on(text, end) {
        return;
    }
    let Some((noun, at)) = Noun::at_end(text, end).filter(|(_, at)| is_whole(text, at)) else { return };
    let at = &at;
    // A name in code is for assignments to judge, which know what its other parts say.
    if text[..at.start].ends_with(['_', '-', '.']) && is_english(&text[at.clone()]) {
        return;
    }
    if noun.is_seed
        && let Some(range) = seed::find_labelled(text, at.end)
    {
        add(SecretKind::SeedPhrase, range);
    }
    if (noun.is_password || noun.is_token)
        && let Some((kind, range)) = before(text, at.start, noun)
    {
        add(kind, range);
    }
    let mut looks_left = MOST_LOOKS;
    for word in Following::of(text, at.end) {
        let is_worth_a_look = (word.has_sign && word.range.len() >= SHORTEST)
            || (noun.is_login && pair(text, word.range.start).is_some())
            || (noun.is_password
                && word.range.start - at.end < 40
                && ends_with_quote(&text[..word.range.start]));
        if !is_worth_a_look {
            continue;
        }
        if let Some((kind, range)) = judge(text, at, noun, &word.range) {
            add(kind, range);
        }
        looks_left -= 1;
        if looks_left == 0 {
            return;
        }
    }
}

fn ends_with_quote(text: &str) -> bool {
    text.ends_with(['"', '\'', '`', '“', '„', '«', '「'])
}

/// The words of a sentence behind a noun.
struct Following<'a> {
    text: &'a str,
    start: usize,
    at: usize,
    reach: usize,
}

/// A run of characters that a value may be written in.
struct SentenceWord {
    range: Range<usize>,
    /// True if a digit or a sign is in it, or some hyphens.
    has_sign: bool,
}

impl<'a> Following<'a> {
    fn of(text: &'a str, start: usize) -> Self {
        Self { text, start, at: start, reach: text.len().min(start + REACH) }
    }

    /// True if what stands up to `at` announces something on another line.
    fn announces(&self, at: usize) -> bool {
        let said = self.text[self.start..at].trim_end_matches(is_wrapping);
        said.ends_with([':', '：']) || WORDS.strip_end(WordRole::Is, said).is_some()
    }

    /// True if the character at `self.at`, which is of no word, ends the sentence.
    fn ends(&self) -> bool {
        match self.text.as_bytes()[self.at] {
            b';' | b'{' | b'}' => true,
            b'\n' => !self.announces(self.at),
            0xE3 | 0xEF => self.text[self.at..].starts_with(['。', '！', '？', '；']),
            _ => false,
        }
    }
}

impl Iterator for Following<'_> {
    type Item = SentenceWord;

    fn next(&mut self) -> Option<SentenceWord> {
        const SIGN: Alphabet = Alphabet::of(b"0-9!#$%&*+@^~");
        let bytes = self.text.as_bytes();
        while self.at < self.reach && of_value(&bytes[self.at..]) == 0 {
            if self.ends() {
                return None;
            }
            self.at += 1;
            while !self.text.is_char_boundary(self.at) {
                self.at += 1;
            }
        }
        // A value may end behind the reach of its noun, but has to begin within it.
        if self.at >= self.reach {
            return None;
        }
        let (start, mut end, mut signs, mut hyphens) = (self.at, self.at, 0, 0);
        while end - start < MOST_WORD {
            match of_value(&bytes[end..]) {
                0 => break,
                length => {
                    signs += usize::from(SIGN.has(bytes[end]));
                    hyphens += usize::from(bytes[end] == b'-');
                    end += length;
                }
            }
        }
        let ends_sentence = matches!(bytes[end - 1], b'.' | b'!' | b'?')
            && bytes.get(end).is_none_or(u8::is_ascii_whitespace);
        self.at = if ends_sentence { self.reach } else { end };
        // The letter of an escape is none of the word.
        let is_escape = bytes[..start].ends_with(b"\\") && matches!(bytes[start], b'n' | b't' | b'r');
        Some(SentenceWord { range: start + usize::from(is_escape)..end, has_sign: signs > 0 || hyphens > 2 })
    }
}

/// The length of a character at the start of `bytes` that a value may be written in; 0 if it is another.
fn of_value(bytes: &[u8]) -> usize {
    const VALUE: Alphabet = Alphabet::of(b"A-Za-z0-9!#$%&*+./:=?@^_~-");
    match bytes {
        [byte, ..] if VALUE.has(*byte) => 1,
        // Letters of Latin, Greek and Cyrillic script.
        [0xC3..=0xD4, _, ..] => 2,
        _ => 0,
    }
}

/// True if a word goes on at `end`.
fn goes_on(text: &str, end: usize) -> bool {
    let mut next = text[end..].chars();
    match next.next() {
        _ if text[..end].ends_with(is_unspaced) => false,
        Some('-' | '.') => next.next().is_some_and(is_letter),
        Some('_') => true,
        Some(c) => is_letter(c),
        None => false,
    }
}

/// True if the noun begins a word, or is the last part of a name or of a compound.
fn is_whole(text: &str, at: &Range<usize>) -> bool {
    let noun = &text[at.clone()];
    // German joins words: Datenbankpasswort. Shorter nouns end too many other words.
    let is_compound = noun.len() >= 7 && !noun.contains(' ');
    noun.starts_with(is_unspaced) || is_compound || !text[..at.start].ends_with(is_letter)
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}

/// The value that stands before a noun: *use … as the password*.
fn before(text: &str, noun_start: usize, noun: Noun) -> Option<(SecretKind, Range<usize>)> {
    let reach = text.ceil_char_boundary(noun_start.saturating_sub(REACH));
    let mut rest = text[reach..noun_start].trim_end_matches([' ', '*', '`', '_']);
    let mut said = WORDS.strip_end(WordRole::As, rest);
    for _ in 0..3 {
        if said.is_some() {
            break;
        }
        rest = WORDS.strip_end(WordRole::Article, rest)?.trim_end_matches(' ');
        said = WORDS.strip_end(WordRole::As, rest);
    }
    let rest = said?;
    let rest = rest.trim_end_matches(|c: char| is_wrapping(c));
    let length: usize = rest.chars().rev().take_while(|c| is_of_value(*c)).map(char::len_utf8).sum();
    let word = reach + rest.len() - length..reach + rest.len();
    let value = text[word.clone()].trim_start_matches('*');
    if has_inner_equals(value) {
        return None;
    }
    let is_secret = (noun.is_password && looks(value) >= Looks::Chosen && !is_pair(value))
        || (noun.is_token && is_token(value));
    let is_apart = !text[..word.start].ends_with(['(', '[', '{', '\\', '<']);
    (is_secret && is_apart).then(|| (kind(noun), word.end - value.len()..word.end))
}

fn is_of_value(c: char) -> bool {
    of_value(c.encode_utf8(&mut [0; 4]).as_bytes()) > 0
}

/// Quotes, emphasis and blanks, as they stand around a value.
fn is_wrapping(c: char) -> bool {
    c.is_whitespace() || "\"'`*_\\“”„‚‘’«»「」『』【】《》〈〉[]".contains(c)
}

/// The secret of which the word is all or the beginning, if it is one.
fn judge(
    text: &str,
    at: &Range<usize>,
    noun: Noun,
    word: &Range<usize>,
) -> Option<(SecretKind, Range<usize>)> {
    // Only scripts without blanks let a value follow its noun with nothing between.
    if word.start == at.end && text[at.clone()].is_ascii() {
        return None;
    }
    let connector = connector(&text[at.end..word.start])?;
    // A bracket explains the word before it, and a short noun is a verb as well.
    let joined = text[at.end..word.start].trim_end_matches(is_wrapping);
    let is_bracket = joined.ends_with(['(', '（']);
    let is_call = joined == "(";
    let is_short = noun.is_password && at.len() < 5 && text[at.clone()].is_ascii();
    if ((is_bracket || is_short) && !is_near(connector)) || is_call {
        return None;
    }
    if noun.is_login
        && let Some(range) = pair(text, word.start)
    {
        return Some((SecretKind::Password, range));
    }
    if noun.is_password
        && is_near(connector)
        && !is_short
        && let Some(range) = quoted_phrase(text, at, word.start)
    {
        return Some((SecretKind::Password, range));
    }
    let start = word.start + (text[word.clone()].len() - text[word.clone()].trim_start_matches('*').len());
    let value = trim_end(&text[start..word.end]);
    // What a machine made ends where ASCII does.
    let length = value.find(|c: char| !c.is_ascii()).filter(|_| !noun.is_password).unwrap_or(value.len());
    let value = &value[..length];
    let range = start..start + value.len();
    let is_call = text[word.end..].starts_with(['(', '[', '{', '<']) && !text[word.end..].starts_with(MARK);
    if is_call || has_inner_equals(value) {
        return None;
    }
    let is_secret = (noun.is_password && is_password(text, at, connector, value))
        || (noun.is_token && is_token(value) && (is_near(connector) || !gate::is_hash(value)))
        || (noun.is_pin && is_pin(text, at, connector, &range));
    is_secret.then(|| (kind(noun), range))
}

/// A name and its value, which is another's to judge.
fn has_inner_equals(value: &str) -> bool {
    value.trim_end_matches('=').contains('=')
}

fn kind(noun: Noun) -> SecretKind {
    if noun.is_password || noun.is_pin { SecretKind::Password } else { SecretKind::Secret }
}

fn connector(gap: &str) -> Option<NounConnector> {
    let joined = gap.trim_end_matches(is_wrapping);
    let is_near = |rest: &str| rest.trim_matches(|c: char| is_wrapping(c) || c == ')').is_empty();
    // Beyond the end of a line only what announces a value reaches.
    let lines = gap[joined.len()..].matches('\n').count();
    let (connector, rest) = if is_near(joined) {
        (NounConnector::Nothing, "")
    } else if let Some(rest) = WORDS.strip_end(WordRole::Is, joined) {
        (NounConnector::Is { is_near: is_near(rest) }, rest)
    } else if let Some(rest) = WORDS.strip_end(WordRole::To, joined) {
        // A comma or a colon may follow a verb: *is:*.
        match WORDS.strip_end(WordRole::Is, rest.trim_end()) {
            Some(rest) => (NounConnector::Is { is_near: is_near(rest) }, rest),
            None => (NounConnector::To { is_near: is_near(rest) }, rest),
        }
    } else {
        (NounConnector::Type, WORDS.strip_end(WordRole::Type, joined)?)
    };
    let announces = joined.ends_with([':', '：']) || matches!(connector, NounConnector::Is { .. });
    let is_prose =
        !rest.contains(|c: char| "{}<>=;|\\\n".contains(c)) && !rest.contains("\",") && !rest.contains("',");
    (is_prose && (lines == 0 || (announces && lines <= 3))).then_some(connector)
}

fn is_near(connector: NounConnector) -> bool {
    !matches!(connector, NounConnector::Is { is_near: false } | NounConnector::To { is_near: false })
}

/// True if a word looks enough like a password for the way in which it is joined with its noun.
fn is_password(text: &str, at: &Range<usize>, connector: NounConnector, value: &str) -> bool {
    let noun = &text[at.clone()];
    let is_short = noun.is_ascii() && noun.len() < 5;
    let needed = match connector {
        // A short noun is a verb as well.
        NounConnector::Nothing if is_short && !follows_with(&text[..at.start]) => return false,
        _ if is_short => Looks::Chosen,
        NounConnector::Is { is_near: true } => Looks::Mixed,
        NounConnector::Nothing
            if text[at.end..].starts_with([' ', '\t'])
                && text[at.end..].trim_start().starts_with(['\'', '"', '`']) =>
        {
            Looks::Strong
        }
        NounConnector::Nothing if follows_with(&text[..at.start]) || !noun.is_ascii() => Looks::Strong,
        // Code has names and signs too, and its names are English.
        NounConnector::Nothing => Looks::Chosen,
        NounConnector::To { .. } if is_name(noun) => Looks::Chosen,
        NounConnector::Is { is_near: false } | NounConnector::To { .. } | NounConnector::Type => {
            Looks::Strong
        }
    };
    looks(value) >= needed
}

/// True if a noun is also a name in code.
fn is_name(noun: &str) -> bool {
    ["password", "passwd", "passphrase", "passcode", "pwd"].iter().any(|name| noun.eq_ignore_ascii_case(name))
}

/// True if names in code end with this noun.
fn is_english(noun: &str) -> bool {
    is_name(noun)
        || ["token", "secret", "pass", "psk", "seed"].iter().any(|name| noun.eq_ignore_ascii_case(name))
}

/// True if a word stands before that lets a value follow its noun at once: *with password …*.
fn follows_with(before: &str) -> bool {
    let mut rest = before[before.ceil_char_boundary(before.len().saturating_sub(64))..].trim_end();
    for _ in 0..2 {
        match WORDS.strip_end(WordRole::Article, rest) {
            Some(before) => rest = before.trim_end(),
            None => break,
        }
    }
    WORDS.strip_end(WordRole::With, rest).is_some()
}

fn is_token(value: &str) -> bool {
    value.len() >= 16
        && gate::looks_random(value)
        && !gate::is_uuid(value)
        && !gate::is_words(value)
        && !gate::is_path(value)
        && !gate::is_placeholder(value)
        && !value.contains(':')
}

/// Four to twelve digits that are neither counted up nor all the same.
fn is_pin(text: &str, at: &Range<usize>, connector: NounConnector, range: &Range<usize>) -> bool {
    let digits = text[range.clone()].as_bytes();
    let noun = &text[at.clone()];
    let is_number = digits.iter().all(u8::is_ascii_digit);
    // A password of digits has to be long and said to be one: many other numbers stand beside the word.
    let is_password = WORDS.of(WordRole::Password).any(|word| word == noun.to_lowercase());
    let is_joined = match connector {
        NounConnector::Is { is_near } => is_near || !is_password,
        NounConnector::To { is_near } => {
            is_near
                && text[at.end..range.start].contains([':', '：', '='])
                && (!is_password || !noun.is_ascii())
        }
        NounConnector::Nothing => !is_password,
        NounConnector::Type => false,
    };
    let least = if is_password { 6 } else { 4 };
    let is_sequence = digits.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1))
        || digits.windows(2).all(|pair| pair[0] == pair[1]);
    is_number && is_joined && (least..=12).contains(&digits.len()) && !is_sequence
}

/// The password of a user and a password: `admin / …`, `admin:…`.
fn pair(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let user = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || "._@+-".contains(c)))
        .filter(|length| (2..=48).contains(length))?;
    let after = rest[user..].trim_start_matches([' ', '`', '"', '\'', '*']);
    let behind = after.strip_prefix(['/', ':', '|'])?.trim_start_matches([' ', '`', '"', '\'', '*']);
    let start = text.len() - behind.len();
    let length: usize = behind.chars().take_while(|c| is_of_value(*c)).map(char::len_utf8).sum();
    let value = trim_end(&behind[..length]);
    let is_whole = !behind[length..].starts_with(['(', '[', '{']);
    (is_whole && looks(value) >= Looks::Chosen && !value.contains(['/', ':']))
        .then(|| start..start + value.len())
}

fn is_pair(value: &str) -> bool {
    value.contains(['/', ':'])
}

/// Some words in quotes that stand at `at`, if they are rather a password than a sentence.
fn quoted_phrase(text: &str, noun: &Range<usize>, at: usize) -> Option<Range<usize>> {
    let closing = match text[noun.end..at].chars().next_back()? {
        quote @ ('"' | '\'' | '`') => quote,
        '“' | '„' => '”',
        '«' => '»',
        '「' => '」',
        _ => return None,
    };
    let reach = &text[at..text.floor_char_boundary(at + 96)];
    let phrase = reach[..reach.find(closing)?].trim_end_matches('\\');
    let names_phrase = text[noun.clone()].to_lowercase().contains("phrase");
    let is_secret = phrase.contains(' ') && (is_phrase(phrase) || (names_phrase && is_plain_phrase(phrase)));
    is_secret.then(|| at..at + phrase.len())
}

/// A value without the punctuation behind it, and without what HTML writes for a quote.
fn trim_end(value: &str) -> &str {
    const ENTITIES: &[&str] = &["&quot", "&apos", "&amp", "&lt", "&gt", "&nbsp", "&#"];
    let end = ENTITIES.iter().filter_map(|entity| value.find(entity)).min().unwrap_or(value.len());
    value[..end].trim_end_matches(['.', ':', '!', '?', '*'])
}

#[cfg(test)]
mod tests {
    use crate::{SecretKind, find_secrets};

    #[track_caller]
    fn check(text: &str, kind: SecretKind, value: &str) {
        let found: Vec<_> =
            find_secrets(text).into_iter().map(|found| (found.kind, &text[found.range])).collect();
        assert_eq!(found, [(kind, value)], "{text}");
    }

    #[track_caller]
    fn check_none(text: &str) {
        let found: Vec<_> =
            find_secrets(text).into_iter().map(|found| (found.kind, &text[found.range])).collect();
        assert_eq!(found, [], "{text}");
    }

    #[test]
    fn passwords_in_nine_languages() {
        let value = "Brine7!Kestrel";
        for (before, after) in [
            ("The password is ", "."),
            ("The password for the staging box is ", ", use it."),
            ("I set the root password to ", " yesterday"),
            ("the old passphrase was ", " but it changed"),
            ("log in as deploy with password ", " and look"),
            ("pw: ", ""),
            ("use ", " as the admin password"),
            ("`", "` is the password"),
            ("when it asks for the password, type ", "."),
            ("the password:\n\n", "\n"),
            ("**Password:** `", "`"),
            ("| Password | ", " |"),
            ("the password (", ") works"),
            ("Das Passwort lautet ", "."),
            ("Das Kennwort für den Server ist jetzt ", ", bitte merken"),
            ("Benutzer admin, Kennwort ", " am Router"),
            ("Das Datenbankpasswort ist ", "!"),
            ("nimm ", " als Passwort"),
            ("La contraseña es ", "."),
            ("La contraseña de la base de datos es ", ", no la cambies"),
            ("entra con la clave ", " y mira"),
            ("Le mot de passe est ", "."),
            ("le mdp : ", ""),
            ("le mot de passe du serveur de test est « ", " »"),
            ("A senha é ", "."),
            ("a senha do banco de produção é ", ", cuidado"),
            ("usa a senha ", " no router"),
            ("Пароль: ", "."),
            ("пароль от базы — ", ", зайди"),
            ("пароль ", " не менялся"),
            ("密码是", "。"),
            ("密码：", "，请登录"),
            ("数据库的密码改成了 ", " 了"),
            ("用 ", " 作为密码"),
            ("パスワードは", "です"),
            ("パスワードは「", "」です。"),
            ("管理者のパスワード：", ""),
            ("비밀번호는 ", "입니다."),
            ("비번: ", ""),
            ("서버 비밀번호는 ", "이고"),
            ("credentials: admin / ", ""),
            ("login is admin:", " there"),
            ("Zugangsdaten: admin / ", ""),
            ("CREATE USER ann WITH PASSWORD '", "';"),
        ] {
            check(&format!("{before}{value}{after}"), SecretKind::Password, value);
        }
    }

    #[test]
    fn plainer_passwords_behind_a_verb() {
        for (text, value) in [
            ("the password is hunter2x7, I think", "hunter2x7"),
            ("Das Passwort ist otter2024.", "otter2024"),
            ("la contraseña es lagarto77", "lagarto77"),
            ("The passphrase is quiet-heron-wading-north.", "quiet-heron-wading-north"),
            ("my password is 48291377 now", "48291377"),
            ("密码：773102。", "773102"),
            ("with password Zeppelin77 it works", "Zeppelin77"),
            ("the passphrase is \"four quiet herons wading\"", "four quiet herons wading"),
            ("the password is \"tide pool 9 Lamp\"", "tide pool 9 Lamp"),
            ("Die PIN für die Karte ist 4821.", "4821"),
            ("PIN: 7730", "7730"),
        ] {
            check(text, SecretKind::Password, value);
        }
    }

    #[test]
    fn tokens_in_nine_languages() {
        let value = "9f8Kq2mZx71Lp3Ty5Vb0";
        for before in [
            "the API key is ",
            "our access token for staging is ",
            "Der API-Schlüssel lautet ",
            "la llave de API es ",
            "la clé API est ",
            "a chave de API é ",
            "токен: ",
            "密钥是",
            "トークンは",
            "API 키는 ",
        ] {
            check(&format!("{before}{value} ok"), SecretKind::Secret, value);
        }
    }

    #[test]
    fn sentences_about_passwords() {
        for text in [
            "The password is wrong.",
            "the password is required and must have 8 characters",
            "the password is sha256-hashed",
            "The password is stored as Argon2id in users.password_hash",
            "password authentication failed for user \"ann\"",
            "The password column is VARCHAR2(64)",
            "passwords are hashed with PBKDF2-HMAC-SHA256",
            "the password policy is NIST-800-63B",
            "see the password section in docs/auth2.md",
            "the token is expired, the secret is missing",
            "the cache key is 9f8Kq2mZx71Lp3Ty5Vb0",
            "the token fix is in 75ed1a6311dc755f32efe5dab074a89d6bc97f0e",
            "password reset for user2024@example.org",
            "the password field uses Component2A",
            "tests pass with Python3.12 and Node22-lts",
            "use PasswordEncoder2 for the password",
            "Passwort ist leer",
            "Das Passwort ist zu kurz, mindestens 8 Zeichen.",
            "Passwort vergessen?",
            "La contraseña es obligatoria",
            "la clave es user_id",
            "Le mot de passe est incorrect : vérifie le champ",
            "A senha é validada no backend",
            "Пароль неверный, попробуйте ещё раз",
            "пароль должен содержать 8 символов",
            "密码不能为空，长度至少为 8 位",
            "密码使用SHA256加密",
            "パスワードは8文字以上で入力してください",
            "パスワードはbcryptでハッシュ化",
            "비밀번호는 8자 이상이어야 합니다",
            "PIN 13 is an output",
            "the PIN is 4 digits long",
            "PIN: 1234",
            "login: admin/dashboard2",
            "the account is arn:aws:iam::123456789012",
            "password: [REDACTED]",
            "The password is [REDACTED] and the user is ann2024",
            "password, token9Xq2, secret",
            "the seed is 42 and the account is new",
        ] {
            check_none(text);
        }
    }
}
