//! Laws that hold for every format and every text.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use proptest::prelude::*;

use crate::formats::{FORMATS, TokenFormat};
use crate::{MARK, SecretKind, find_secrets, has_secret, redact};

/// A small generator of random numbers, so that one seed gives one sample.
fn numbers(seed: u64) -> impl FnMut() -> u32 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u32
    }
}

fn random(next: &mut impl FnMut() -> u32, alphabet: &[u8], length: usize) -> String {
    (0..length).map(|_| char::from(alphabet[next() as usize % alphabet.len()])).collect()
}

const ALNUM: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A secret of each structure that is no row of the table: what it is, what precedes it, itself, what follows it.
fn structures(next: &mut impl FnMut() -> u32) -> Vec<(SecretKind, String, String, String)> {
    let token = |next: &mut _| "a1B".to_owned() + &random(next, ALNUM, 40) + "7zQ";
    let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"k"}"#);
    let jwt = format!("{header}.{}.{}", random(next, ALNUM, 60), random(next, ALNUM, 43));
    let lines = [random(next, ALNUM, 64), random(next, ALNUM, 64)].join("\\n");
    let key = ["-----BEGIN ", "PRIVATE KEY-----\\n", &lines, "\\n-----END ", "PRIVATE KEY-----"].concat();
    let basic = BASE64_STANDARD.encode(format!("ann:{}", random(next, ALNUM, 12)));
    let plain = |kind, before: &str, secret: String| (kind, before.to_owned(), secret, String::new());
    vec![
        plain(SecretKind::Jwt, "", jwt),
        plain(SecretKind::PrivateKey, "", key),
        plain(SecretKind::Authorization, "Authorization: Basic ", basic),
        plain(SecretKind::Authorization, "authorization: Bearer ", token(next)),
        plain(SecretKind::Authorization, "Authorization: ApiKey ", token(next)),
        plain(SecretKind::Cookie, "Cookie: a=b; sid=", token(next)),
        plain(SecretKind::Secret, "client_secret=", token(next)),
        plain(SecretKind::Password, "DB_PASSWORD=", "k9".to_owned() + &random(next, ALNUM, 10)),
        (
            SecretKind::UrlPassword,
            "mysql://app:".to_owned(),
            "w4".to_owned() + &random(next, ALNUM, 10),
            "@db/x".to_owned(),
        ),
    ]
}

/// Contexts of secrets: code, JSON, YAML, environment files, URLs, diffs, shells, running text.
const PLACES: &[(&str, &str)] = &[
    ("", ""),
    ("let client = Client::new(\"", "\");"),
    ("{\"content\":\"see ", "\",\"n\":1}"),
    (r#"{\"value\":\""#, r#"\"}"#),
    ("value:\n  - ", "\n  - other\n"),
    ("VALUE=", "\nOTHER=1\n"),
    ("https://host/path?x=", "&y=2"),
    ("https://host/path/", "/more"),
    ("+", "\n"),
    ("curl -H 'X: ", "' https://host"),
    ("它是", "，请保密。"),
    ("キー「", "」です"),
    (r"first\n", r"\nlast"),
    ("(", ")."),
    ("é", "é"),
];

#[track_caller]
fn check_found(kind: SecretKind, before: &str, secret: &str, after: &str) {
    let text = [before, secret, after].concat();
    let redacted = redact(&text);
    assert!(redacted.findings.iter().any(|finding| finding.kind == kind), "{kind}: {text}: {redacted:?}");
    assert_eq!(redacted.text, [before, MARK, after].concat(), "{kind}: {text}");
    assert_eq!(has_secret(&redacted.text), None, "{kind}: {text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_format_is_found_everywhere(seed: u64) {
        let mut next = numbers(seed);
        for format in FORMATS.iter() {
            let (token, kept) = format.sample(&mut next);
            for (before, after) in PLACES {
                if format.may_go_on_with(after.chars().next()) {
                    continue;
                }
                check_found(format.kind, &[before, &token[..kept]].concat(), &token[kept..], after);
            }
        }
    }

    #[test]
    fn every_structure_is_found_everywhere(seed: u64) {
        let mut next = numbers(seed);
        for (kind, lead, secret, trail) in structures(&mut next) {
            for (before, after) in PLACES {
                // The blanks of a header are escaped in no URL worth reading.
                let is_odd_url = before.starts_with("https") && kind != SecretKind::Jwt;
                // An accented letter may well belong to a password.
                if is_odd_url || (kind == SecretKind::Password && *after == "é") {
                    continue;
                }
                check_found(kind, &[before, lead.as_str()].concat(), &secret, &[&trail, *after].concat());
            }
        }
    }

}

proptest! {
    #[test]
    fn redaction_happens_once(text in soup()) {
        let once = redact(&text);
        let twice = redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text, "{}", text);
        prop_assert!(twice.findings.is_empty());
    }

    #[test]
    fn findings_are_in_order_and_apart_and_between_characters(text in soup()) {
        let mut end = 0;
        for finding in find_secrets(&text) {
            prop_assert!(finding.range.start >= end && !finding.range.is_empty());
            prop_assert!(text.get(finding.range.clone()).is_some());
            end = finding.range.end;
        }
    }

    #[test]
    fn text_around_secrets_stays(text in soup()) {
        let redacted = redact(&text);
        let mut rest: &str = &redacted.text;
        let mut at = 0;
        for finding in &redacted.findings {
            rest = rest.strip_prefix(&text[at..finding.range.start]).expect("the text before stays");
            rest = rest.strip_prefix(MARK).expect("the mark follows");
            at = finding.range.end;
        }
        prop_assert_eq!(rest, &text[at..]);
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        prop_assert!(redact(&text).text.len() <= text.len() * MARK.len() + MARK.len());
    }

    #[test]
    fn text_without_names_and_prefixes_stays(text in "[qQ0-9 \\n\"=:é密.-]{0,400}") {
        prop_assert_eq!(redact(&text).text, text.as_str());
    }

    #[test]
    fn hashes_and_identifiers_stay(seed: u64) {
        let mut next = numbers(seed);
        let hex = |next: &mut _, length| random(next, b"0123456789abcdef", length);
        let (commit, sha256) = (hex(&mut next, 40), hex(&mut next, 64));
        let uuid = [8, 4, 4, 4, 12].map(|length| hex(&mut next, length)).join("-");
        let blob = random(&mut next, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 4000);
        let sri = &blob[..86];
        for text in [
            format!("commit {commit}\nAuthor: a <a@b.c>"),
            format!("index {}..{} 100644", &commit[..7], &commit[20..27]),
            format!("checksum = \"{sha256}\""),
            format!("\"resolved\": \"https://registry.npmjs.org/a/-/a-1.0.0.tgz\", \"integrity\": \"sha512-{sri}==\""),
            format!("<script src=a.js integrity=\"sha384-{}\">", &blob[..64]),
            format!("sha256:{sha256}"),
            format!("{{\"uuid\":\"{uuid}\",\"parentUuid\":\"{uuid}\",\"requestId\":\"{uuid}\",\"key\":\"{uuid}\"}}"),
            format!("cache_key={sha256} token: {uuid} etag: \"{commit}\""),
            format!("data:image/png;base64,{blob}"),
            format!("\"signature\":\"{blob}\""),
            format!("!function(e,t){{var n=e.{},r=t[{}];key={}}}", &commit[..8], &sha256[..4], &sha256[10..20]),
            format!("thisIsAVeryLongIdentifierThatNobodyShouldWrite{} = 1", &sha256[..6]),
        ] {
            prop_assert_eq!(find_secrets(&text), vec![], "{}", text);
        }
    }
}

fn any_format(next: &mut impl FnMut() -> u32) -> &'static TokenFormat {
    let all: Vec<_> = FORMATS.iter().collect();
    all[next() as usize % all.len()]
}

/// Texts of secrets and pieces of secrets, with anything between them or nothing.
fn soup() -> impl Strategy<Value = String> {
    let secret = any::<u64>().prop_map(|seed| {
        let mut next = numbers(seed);
        any_format(&mut next).sample(&mut next).0
    });
    let structure = any::<u64>().prop_map(|seed| {
        let mut next = numbers(seed);
        let mut all = structures(&mut next);
        let (_, before, secret, after) = all.swap_remove(next() as usize % all.len());
        before + &secret + &after
    });
    let piece = any::<u64>().prop_map(|seed| {
        let mut next = numbers(seed);
        let token = any_format(&mut next).sample(&mut next).0;
        token[..next() as usize % token.len()].to_owned()
    });
    let between = prop::sample::select(vec![
        "",
        " ",
        "\n",
        "\"",
        "'",
        ": ",
        "=",
        "-",
        "_",
        ".",
        "/",
        "@",
        "://",
        "\\n",
        "\\\"",
        "%3D",
        "密",
        "é",
        "，",
        "&",
        ";",
        "password=",
        "token: \"",
        "SECRET_KEY=",
        "Bearer ",
        "Cookie: ",
        "-----BEGIN ",
        "eyJ",
        MARK,
        "a",
        "--password ",
        "the password is ",
        " as the password",
        "Passwort lautet ",
        "密码：",
        "пароль ",
        "credentials: admin / ",
        "api key is ",
        "\u{200B}",
        "\\\n",
        "\" + \"",
        "\"\n  \"",
        "seed phrase: ",
        "abandon ability able about above absent absorb abstract absurd abuse access accident",
        "db:5432:app:ann:",
        "Private-Lines: 1\n",
        " value=\"",
        "&quot;",
    ])
    .prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![2 => secret, 1 => structure, 1 => piece, 6 => between], 0..14)
        .prop_map(|parts| parts.concat())
}

#[test]
fn a_text_of_nothing_but_prefixes_takes_linear_time() {
    // Quadratic work on a megabyte would take hours.
    for unit in [
        "eyJ",
        "eyJ-",
        "eyJ.",
        "sk-",
        "xai-",
        "-----BEGIN PRIVATE KEY-----",
        "password=",
        "password:",
        "token: \"",
        "://a:",
        "cookie: a=b;",
        "Authorization: ",
        "authorization=",
        "1:AA",
        "8Q~",
        "MT",
        "SG.",
        "\\",
        "key\\\\\\\"",
        "a",
        "ghs_.",
        "Basic A",
        "password: a1 ",
        "a\u{200B}",
        "a\\\n",
        "\"a\" + ",
        "abandon ",
    ] {
        let text = unit.repeat((1 << 20) / unit.len());
        let started = std::time::Instant::now();
        find_secrets(&text);
        assert!(started.elapsed().as_secs() < 20, "{unit} took {:?}", started.elapsed());
    }
}
