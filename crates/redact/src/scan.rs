//! One pass over a text: an automaton finds the places worth a look, a small matcher decides each.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::alphabet::MeasuredRuns;
use crate::finding::{MARK, Redacted, SecretFinding};
use crate::formats::{FORMATS, TokenFormat};
use crate::{
    SecretKind, assignment, config, flags, fold, headers, jwt, names, private_key, seed, sentence, url,
};

/// Replaces every secret of `text` by [`MARK`]. Nothing else changes, and what was redacted before stays as it is.
///
/// ```
/// use longhaul_redact::redact;
///
/// let url = "postgres://app:4mBer!9@db.internal/orders";
/// assert_eq!(redact(url).text, "postgres://app:[REDACTED]@db.internal/orders");
/// ```
pub fn redact(text: &str) -> Redacted<'_> {
    let findings = find_secrets(text);
    if findings.is_empty() {
        return Redacted { text: Cow::Borrowed(text), findings };
    }
    Redacted { text: Cow::Owned(replace(text, &findings)), findings }
}

/// The secrets of `text`, in order and apart from each other.
pub fn find_secrets(text: &str) -> Vec<SecretFinding> {
    let mut findings = scan(text);
    let mut rounds = 0;
    // Where two secrets touch, one can hide where the other begins or ends, so what is left is searched again. A second
    // round is the rule and a third rare; the limit is there for texts made to need many.
    while !findings.is_empty() && rounds < MOST_ROUNDS {
        let hidden = scan(&replace(text, &findings));
        if hidden.is_empty() {
            break;
        }
        let mut all = findings.clone();
        all.extend(in_input(&findings, hidden));
        findings = merge(all);
        rounds += 1;
    }
    findings
}

const MOST_ROUNDS: usize = 16;

fn scan(text: &str) -> Vec<SecretFinding> {
    let mut scan = SecretScan::run(text);
    seed::find_bare(text, |range| scan.found.push(SecretFinding { kind: SecretKind::SeedPhrase, range }));
    // Breaks are met where their anchors end, which need not be where they begin.
    scan.breaks.sort_by_key(|found| found.range.start);
    for folded in fold::fold(text, &scan.breaks) {
        for SecretFinding { kind, range } in SecretScan::run(&folded.text).found {
            scan.add(kind, folded.unfold(kind, &range));
        }
    }
    merge(scan.found)
}

/// The text with a mark in the place of each finding.
fn replace(text: &str, findings: &[SecretFinding]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    for SecretFinding { range, .. } in findings {
        clean.push_str(&text[kept..range.start]);
        clean.push_str(MARK);
        kept = range.end;
    }
    clean.push_str(&text[kept..]);
    clean
}

/// The places of findings in a text with marks, moved to the input from which `replaced` was taken.
fn in_input(replaced: &[SecretFinding], mut hidden: Vec<SecretFinding>) -> Vec<SecretFinding> {
    let mut marks = replaced.iter().peekable();
    // By how much a place in the input lies behind the same place in the text with marks.
    let mut removed = 0;
    let mut added = 0;
    let mut place = |at: usize| {
        while let Some(mark) = marks.next_if(|mark| mark.range.start + added - removed + MARK.len() <= at) {
            removed += mark.range.len();
            added += MARK.len();
        }
        at + removed - added
    };
    for finding in &mut hidden {
        let start = place(finding.range.start);
        finding.range = start..place(finding.range.end);
    }
    hidden
}

/// The kind of the first secret of `text`, if it has any.
pub fn has_secret(text: &str) -> Option<SecretKind> {
    find_secrets(text).first().map(|finding| finding.kind)
}

/// The check to run where an anchor was found.
#[derive(Clone, Copy)]
enum Action {
    Format(&'static TokenFormat),
    PrivateKey,
    Jwt,
    Url,
    Bearer,
    Basic,
    Authorization,
    Cookie,
    Auth,
    Assignment,
    Flag(&'static flags::Flag),
    CookieFlag,
    Noun,
    PgPass,
    PgPassName,
    Jwk,
    Putty,
    WordBreak,
}

/// Anchors in one automaton, and what each of them asks for.
struct AnchorSet {
    automaton: AhoCorasick,
    actions: Vec<Action>,
}

impl AnchorSet {
    fn new(anchors: Vec<(String, Action)>) -> Self {
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .build(anchors.iter().map(|(anchor, _)| anchor))
            .expect("a few hundred short anchors fit in an automaton");
        Self { automaton, actions: anchors.into_iter().map(|(_, action)| action).collect() }
    }
}

/// The anchors within ASCII, and those beyond. Together they would make an automaton of four times the size, which is
/// slower on every text than the second is on the few stretches that need it.
static ANCHORS: LazyLock<[AnchorSet; 2]> = LazyLock::new(|| {
    let (ascii, wide) = all_anchors().into_iter().partition(|(anchor, _)| anchor.is_ascii());
    [AnchorSet::new(ascii), AnchorSet::new(wide)]
});

fn all_anchors() -> Vec<(String, Action)> {
    let mut anchors: Vec<(String, Action)> =
        FORMATS.iter().map(|format| (format.anchor().to_owned(), Action::Format(format))).collect();
    anchors.push((private_key::ANCHOR.to_owned(), Action::PrivateKey));
    anchors.push((jwt::ANCHOR.to_owned(), Action::Jwt));
    anchors.push((url::ANCHOR.to_owned(), Action::Url));
    anchors.push((headers::AUTH.to_owned(), Action::Auth));
    anchors.push((config::PGPASS_NAME.to_owned(), Action::PgPassName));
    anchors.push((config::PUTTY.to_owned(), Action::Putty));
    anchors.extend(flags::COOKIES.iter().map(|anchor| ((*anchor).to_owned(), Action::CookieFlag)));
    anchors.extend(config::PGPASS.iter().map(|anchor| ((*anchor).to_owned(), Action::PgPass)));
    anchors.extend(config::JWK.iter().map(|anchor| ((*anchor).to_owned(), Action::Jwk)));
    anchors.extend(fold::ANCHORS.iter().map(|anchor| ((*anchor).to_owned(), Action::WordBreak)));
    anchors.extend(sentence::anchors().into_iter().map(|anchor| (anchor, Action::Noun)));
    anchors.extend(flags::FLAGS.iter().map(|flag| (flag.text.clone(), Action::Flag(flag))));
    let headers = [
        ("bearer ", Action::Bearer),
        ("basic ", Action::Basic),
        ("authorization", Action::Authorization),
        ("cookie", Action::Cookie),
    ];
    let keywords = names::NAMES.keywords.iter().map(|keyword| (*keyword, Action::Assignment));
    for (word, action) in headers.into_iter().chain(keywords) {
        let capitalised = word[..1].to_ascii_uppercase() + &word[1..];
        anchors.extend([word.to_owned(), word.to_ascii_uppercase(), capitalised].map(|form| (form, action)));
    }
    anchors
}

/// The stretches of a text with characters that an anchor beyond ASCII may hold, each with enough around it for any.
fn wide_stretches(text: &str) -> impl Iterator<Item = Range<usize>> {
    const STEP: usize = 64;
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        // A character may begin in one step and end in the next.
        let is_wide = |at: usize| {
            let step = &bytes[at..bytes.len().min(at + STEP + 2)];
            !step.is_ascii() && holds_wide(step)
        };
        while at < bytes.len() && !is_wide(at) {
            at += STEP;
        }
        if at >= bytes.len() {
            return None;
        }
        let start = at.saturating_sub(STEP);
        // One step without any is searched with what surrounds it.
        while at < bytes.len() && (is_wide(at) || (at + STEP < bytes.len() && is_wide(at + STEP))) {
            at += STEP;
        }
        let end = bytes.len().min(at + STEP);
        at = end;
        Some(start..end)
    })
}

/// True if a letter of the languages of the anchors, or an invisible character, is among these bytes. Dashes, curly quotes,
/// frames and pictures are in most texts, and in no anchor.
fn holds_wide(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        0xC3..=0xD4 | 0xE3..=0xED => true,
        0xC2 => bytes.get(at + 1) == Some(&0xAD),
        0xE1 => bytes.get(at + 1) == Some(&0xA0),
        0xE2 => match bytes.get(at + 1) {
            Some(0x80) => matches!(bytes.get(at + 2), Some(0x8B..=0x8F | 0xAA..=0xAE)),
            Some(0x81) => true,
            _ => false,
        },
        0xEF => matches!(bytes.get(at + 1), Some(0xBB..=0xBF)),
        _ => false,
    })
}

/// The state of one pass over a text.
struct SecretScan<'a> {
    text: &'a str,
    runs: MeasuredRuns,
    /// The end of the cookies that were read last.
    headers_until: usize,
    found: Vec<SecretFinding>,
    /// The breaks inside words.
    breaks: Vec<fold::WordBreak>,
}

impl<'a> SecretScan<'a> {
    /// Looks at every anchor of the text.
    fn run(text: &'a str) -> Self {
        let [ascii, wide] = &*ANCHORS;
        let mut scan = Self {
            text,
            runs: MeasuredRuns::default(),
            headers_until: 0,
            found: Vec::new(),
            breaks: Vec::new(),
        };
        for hit in ascii.automaton.find_overlapping_iter(text) {
            scan.look(ascii.actions[hit.pattern().as_usize()], hit.start()..hit.end());
        }
        for stretch in wide_stretches(text) {
            for hit in wide.automaton.find_overlapping_iter(&text.as_bytes()[stretch.clone()]) {
                let anchor = stretch.start + hit.start()..stretch.start + hit.end();
                scan.look(wide.actions[hit.pattern().as_usize()], anchor);
            }
        }
        scan
    }

    fn look(&mut self, action: Action, anchor: Range<usize>) {
        let text = self.text;
        match action {
            Action::Format(format) => {
                let range = format.find(text, anchor.start, &mut self.runs);
                self.add(format.kind, range);
            }
            Action::PrivateKey => self.add(SecretKind::PrivateKey, private_key::find(text, anchor.start)),
            Action::Jwt => self.add(SecretKind::Jwt, jwt::find(text, anchor.start)),
            Action::Url => self.add(SecretKind::UrlPassword, url::find(text, anchor.start)),
            Action::Bearer => {
                let range = headers::find_bearer(text, anchor.start, anchor.end, &mut self.runs);
                self.add(SecretKind::Authorization, range);
            }
            Action::Basic => {
                let range = headers::find_basic(text, anchor.start, anchor.end, &mut self.runs);
                self.add(SecretKind::Authorization, range);
            }
            Action::Authorization => {
                let range = headers::find_authorization(text, anchor.end, &mut self.runs);
                self.add(SecretKind::Authorization, range);
            }
            Action::Cookie if anchor.start >= self.headers_until => {
                let (values, end) = headers::find_cookies(text, anchor.end);
                self.headers_until = end;
                values.into_iter().for_each(|range| self.add(SecretKind::Cookie, Some(range)));
            }
            Action::Cookie => {}
            Action::Auth => {
                let range = headers::find_auth(text, anchor.end, &mut self.runs);
                self.add(SecretKind::Authorization, range);
            }
            Action::Flag(flag) => self.add(SecretKind::Password, flag.find(text, &anchor)),
            Action::CookieFlag => {
                flags::find_cookies(text, &anchor)
                    .into_iter()
                    .for_each(|range| self.add(SecretKind::Cookie, Some(range)));
            }
            Action::Noun => {
                sentence::find(text, anchor.end, |kind, range| {
                    self.found.push(SecretFinding { kind, range });
                });
            }
            Action::PgPass => self.add(SecretKind::Password, config::find_pgpass(text, anchor.start)),
            Action::PgPassName => config::find_pgpass_below(text, anchor.end, |range| {
                self.found.push(SecretFinding { kind: SecretKind::Password, range });
            }),
            Action::Jwk => self.add(SecretKind::PrivateKey, config::find_jwk(text, anchor.end)),
            Action::Putty => self.add(SecretKind::PrivateKey, config::find_putty(text, anchor.end)),
            Action::WordBreak => self.breaks.extend(fold::word_break(text, &anchor)),
            Action::Assignment => {
                if let Some((kind, range)) = assignment::find(text, &anchor, &mut self.runs) {
                    self.add(kind, Some(range));
                }
            }
        }
    }

    fn add(&mut self, kind: SecretKind, range: Option<Range<usize>>) {
        self.found.extend(range.map(|range| SecretFinding { kind, range }));
    }
}

/// Sorts findings and joins those that overlap, so that no byte of any of them stays. An issuer's format names the whole; of two that
/// begin together, the one with the longer prefix, which was found later.
fn merge(mut found: Vec<SecretFinding>) -> Vec<SecretFinding> {
    found.sort_by_key(|finding| finding.range.start);
    let mut merged: Vec<SecretFinding> = Vec::with_capacity(found.len());
    for finding in found {
        match merged.last_mut() {
            Some(last) if finding.range.start < last.range.end => {
                last.range.end = last.range.end.max(finding.range.end);
                let is_closer = last.kind.is_generic() || finding.range.start == last.range.start;
                if is_closer && !finding.kind.is_generic() {
                    last.kind = finding.kind;
                }
            }
            _ => merged.push(finding),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let redacted = redact(text);
        assert_eq!(redacted.text, expected);
        assert_eq!(redact(&redacted.text), Redacted { text: Cow::Borrowed(expected), findings: Vec::new() });
    }

    fn github() -> String {
        ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat()
    }

    #[test]
    fn only_the_secret_changes() {
        let token = github();
        check(&format!("é {token}, 密{token}密\n"), "é [REDACTED], 密[REDACTED]密\n");
        check(
            &format!("https://{token}:x-oauth-basic@github.com"),
            "https://[REDACTED]:x-oauth-basic@github.com",
        );
        check(&format!("password={token}"), "password=[REDACTED]");
        check(&format!("[REDACTED]{token}"), "[REDACTED][REDACTED]");
        check("[REDACTED]", "[REDACTED]");
        check("", "");
    }

    #[test]
    fn an_issuer_names_what_a_name_also_finds() {
        let token = github();
        for text in [
            format!("token={token}"),
            format!("Authorization: Bearer {token}"),
            format!("https://a:{token}@b.c"),
        ] {
            assert_eq!(has_secret(&text), Some(SecretKind::GitHub), "{text}");
            assert_eq!(find_secrets(&text).len(), 1, "{text}");
        }
    }

    #[test]
    fn every_anchor_beyond_ascii_is_looked_for() {
        for (anchor, _) in all_anchors() {
            assert!(anchor.is_ascii() || holds_wide(anchor.as_bytes()), "{anchor}");
        }
        for blanks in 0..200 {
            let text = format!("{}— 密码：Brine7!Kestrel {}", " ".repeat(blanks), "x".repeat(blanks));
            assert_eq!(find_secrets(&text).len(), 1, "{blanks}");
        }
    }

    #[test]
    fn a_finding_does_not_tell_the_secret() {
        let text = format!("token={}", github());
        let shown = format!("{:?}", redact(&text).findings);
        assert!(!shown.contains(&text[6..12]), "{shown}");
    }
}
