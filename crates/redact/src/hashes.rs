//! Passwords as systems store them: `/etc/shadow`, `htpasswd`, databases, frameworks, directories. Whoever has one may
//! guess at it for as long as it takes, and many lists of guesses are short.

use crate::Kind;
use crate::alphabet::Alphabet;
use crate::formats::TokenPart::{Keep, Run, Text};
use crate::formats::{Format, at_least, exactly, strong};

const KIND: Kind = Kind::PasswordHash;
const DIGIT: Alphabet = Alphabet::DIGIT;
const HEX: Alphabet = Alphabet::HEX;
const HEX_UPPER: Alphabet = Alphabet::of(b"0-9A-F");
const ANY_HEX: Alphabet = Alphabet::of(b"0-9A-Fa-f");
const ALNUM: Alphabet = Alphabet::ALNUM;
const BASE64: Alphabet = Alphabet::BASE64;
/// The alphabet of crypt(3), also what adaptations of it to base64 use.
const CRYPT: Alphabet = Alphabet::of(b"A-Za-z0-9./");
const UNPADDED: Alphabet = Alphabet::of(b"A-Za-z0-9./+");

#[rustfmt::skip]
pub(crate) const HASHES: &[Format] = &[
    // crypt(3): shadow, htpasswd, and whatever calls it.
    strong(KIND, &[Text("$1$"), Run(CRYPT, 2, 8), Text("$"), exactly(CRYPT, 22)]),
    strong(KIND, &[Text("$apr1$"), Run(CRYPT, 2, 8), Text("$"), exactly(CRYPT, 22)]),
    strong(KIND, &[Text("$5$"), Run(CRYPT, 2, 16), Text("$"), exactly(CRYPT, 43)]),
    strong(KIND, &[Text("$5$rounds="), Run(DIGIT, 4, 9), Text("$"), Run(CRYPT, 2, 16), Text("$"), exactly(CRYPT, 43)]),
    strong(KIND, &[Text("$6$"), Run(CRYPT, 2, 16), Text("$"), exactly(CRYPT, 86)]),
    strong(KIND, &[Text("$6$rounds="), Run(DIGIT, 4, 9), Text("$"), Run(CRYPT, 2, 16), Text("$"), exactly(CRYPT, 86)]),
    strong(KIND, &[Text("$y$"), Run(CRYPT, 2, 8), Text("$"), Run(CRYPT, 8, 86), Text("$"), exactly(CRYPT, 43)]),
    strong(KIND, &[Text("$gy$"), Run(CRYPT, 2, 8), Text("$"), Run(CRYPT, 8, 86), Text("$"), exactly(CRYPT, 43)]),
    strong(KIND, &[Text("$7$"), Run(CRYPT, 14, 100), Text("$"), exactly(CRYPT, 43)]),
    strong(KIND, &[Text("$2a$"), exactly(DIGIT, 2), Text("$"), exactly(CRYPT, 53)]),
    strong(KIND, &[Text("$2b$"), exactly(DIGIT, 2), Text("$"), exactly(CRYPT, 53)]),
    strong(KIND, &[Text("$2x$"), exactly(DIGIT, 2), Text("$"), exactly(CRYPT, 53)]),
    strong(KIND, &[Text("$2y$"), exactly(DIGIT, 2), Text("$"), exactly(CRYPT, 53)]),
    strong(KIND, &[Text("$sha1$"), Run(DIGIT, 1, 8), Text("$"), Run(CRYPT, 4, 64), Text("$"), exactly(CRYPT, 28)]),
    // The same where a dollar sign is written twice, as in Compose files.
    strong(KIND, &[Text("$$apr1$$"), Run(CRYPT, 2, 8), Text("$$"), exactly(CRYPT, 22)]),
    strong(KIND, &[Text("$$2a$$"), exactly(DIGIT, 2), Text("$$"), exactly(CRYPT, 53)]),
    strong(KIND, &[Text("$$2b$$"), exactly(DIGIT, 2), Text("$$"), exactly(CRYPT, 53)]),
    strong(KIND, &[Text("$$2y$$"), exactly(DIGIT, 2), Text("$$"), exactly(CRYPT, 53)]),
    strong(KIND, &[Text("$$6$$"), Run(CRYPT, 2, 16), Text("$$"), exactly(CRYPT, 86)]),

    // Argon2, scrypt and PBKDF2 in the encodings of libraries and frameworks.
    strong(KIND, &[Text("$argon2id$v="), Run(DIGIT, 1, 3), Text("$m="), Run(DIGIT, 1, 9), Text(",t="), Run(DIGIT, 1, 4), Text(",p="), Run(DIGIT, 1, 3), Text("$"), Run(UNPADDED, 8, 96), Text("$"), Run(UNPADDED, 16, 128)]),
    strong(KIND, &[Text("$argon2i$v="), Run(DIGIT, 1, 3), Text("$m="), Run(DIGIT, 1, 9), Text(",t="), Run(DIGIT, 1, 4), Text(",p="), Run(DIGIT, 1, 3), Text("$"), Run(UNPADDED, 8, 96), Text("$"), Run(UNPADDED, 16, 128)]),
    strong(KIND, &[Text("$argon2d$v="), Run(DIGIT, 1, 3), Text("$m="), Run(DIGIT, 1, 9), Text(",t="), Run(DIGIT, 1, 4), Text(",p="), Run(DIGIT, 1, 3), Text("$"), Run(UNPADDED, 8, 96), Text("$"), Run(UNPADDED, 16, 128)]),
    strong(KIND, &[Text("$scrypt$ln="), Run(DIGIT, 1, 3), Text(",r="), Run(DIGIT, 1, 3), Text(",p="), Run(DIGIT, 1, 3), Text("$"), Run(UNPADDED, 8, 96), Text("$"), Run(UNPADDED, 32, 128)]),
    strong(KIND, &[Text("$pbkdf2-sha256$"), Run(DIGIT, 3, 8), Text("$"), Run(UNPADDED, 8, 96), Text("$"), Run(UNPADDED, 32, 128)]),
    strong(KIND, &[Text("$pbkdf2-sha512$"), Run(DIGIT, 3, 8), Text("$"), Run(UNPADDED, 8, 96), Text("$"), Run(UNPADDED, 32, 128)]),
    strong(KIND, &[Text("pbkdf2_sha256$"), Run(DIGIT, 3, 8), Text("$"), Run(ALNUM, 8, 64), Text("$"), exactly(BASE64, 44)]),
    strong(KIND, &[Text("pbkdf2_sha1$"), Run(DIGIT, 3, 8), Text("$"), Run(ALNUM, 8, 64), Text("$"), exactly(BASE64, 28)]),
    strong(KIND, &[Text("bcrypt_sha256$$2b$"), exactly(DIGIT, 2), Text("$"), exactly(CRYPT, 53)]),
    strong(KIND, &[Text("pbkdf2:sha256:"), Run(DIGIT, 3, 8), Text("$"), Run(ALNUM, 4, 64), Text("$"), exactly(HEX, 64)]),
    strong(KIND, &[Text("pbkdf2:sha512:"), Run(DIGIT, 3, 8), Text("$"), Run(ALNUM, 4, 64), Text("$"), exactly(HEX, 128)]),
    strong(KIND, &[Text("scrypt:32768:8:1$"), Run(ALNUM, 4, 64), Text("$"), exactly(HEX, 128)]),
    strong(KIND, &[Text("grub.pbkdf2.sha512."), Run(DIGIT, 3, 8), Text("."), exactly(HEX_UPPER, 128), Text("."), exactly(HEX_UPPER, 128)]),

    // Web applications.
    strong(KIND, &[Text("$P$"), exactly(CRYPT, 31)]),
    strong(KIND, &[Text("$H$"), exactly(CRYPT, 31)]),
    strong(KIND, &[Text("$S$"), exactly(CRYPT, 52)]),
    strong(KIND, &[Text("$wp$2y$"), exactly(DIGIT, 2), Text("$"), exactly(CRYPT, 53)]),

    // Databases.
    strong(KIND, &[Text("SCRAM-SHA-256$"), Run(DIGIT, 4, 7), Text(":"), Run(BASE64, 16, 64), Text("$"), exactly(BASE64, 44), Text(":"), exactly(BASE64, 44)]),
    strong(KIND, &[Keep("'md5"), exactly(HEX, 32)]),
    strong(KIND, &[Keep("\"md5"), exactly(HEX, 32)]),
    strong(KIND, &[Keep("'*"), exactly(HEX_UPPER, 40)]),
    strong(KIND, &[Keep("\"*"), exactly(HEX_UPPER, 40)]),
    strong(KIND, &[Keep("`*"), exactly(HEX_UPPER, 40)]),
    strong(KIND, &[Keep(" *"), exactly(HEX_UPPER, 40)]),
    strong(KIND, &[Keep("\t*"), exactly(HEX_UPPER, 40)]),
    strong(KIND, &[Keep(":*"), exactly(HEX_UPPER, 40)]),
    strong(KIND, &[Text("0x0200"), exactly(HEX_UPPER, 136)]),

    // Directories, Windows and network gear.
    strong(KIND, &[Text("{SSHA}"), Run(BASE64, 32, 64)]),
    strong(KIND, &[Text("{SHA}"), Run(BASE64, 28, 28)]),
    strong(KIND, &[Text("{SSHA256}"), at_least(BASE64, 48)]),
    strong(KIND, &[Text("{SSHA512}"), at_least(BASE64, 88)]),
    strong(KIND, &[Text("{SMD5}"), Run(BASE64, 24, 64)]),
    strong(KIND, &[Keep("aad3b435b51404eeaad3b435b51404ee:"), exactly(ANY_HEX, 32)]),
    strong(KIND, &[Text("$8$"), exactly(CRYPT, 14), Text("$"), exactly(CRYPT, 43)]),
    strong(KIND, &[Text("$9$"), exactly(CRYPT, 14), Text("$"), exactly(CRYPT, 43)]),
    strong(KIND, &[Text("$krb5tgs$"), Run(DIGIT, 2, 2), Text("$"), Run(Alphabet::of(b"A-Za-z0-9*._/@:-"), 3, 128), Text("$"), exactly(HEX, 32), Text("$"), at_least(HEX, 64)]),
    strong(KIND, &[Text("$krb5asrep$"), Run(DIGIT, 2, 2), Text("$"), Run(Alphabet::of(b"A-Za-z0-9*._/@-"), 3, 128), Text(":"), exactly(HEX, 32), Text("$"), at_least(HEX, 64)]),
];

#[cfg(test)]
mod tests {
    use crate::{Kind, find_secrets};

    #[track_caller]
    fn check(text: &str, hash: Option<&str>) {
        let found: Vec<_> =
            find_secrets(text).into_iter().map(|found| (found.kind, &text[found.range])).collect();
        let expected: Vec<_> = hash.map(|hash| (Kind::PasswordHash, hash)).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    }

    const BCRYPT: &str = "$2y$12$Qk3vLw8ZpR1xTn5YbHd7MeUa9Sc2Fg4Ji6Ko0Np8Qr1St3Uv5Wx7y";

    #[test]
    fn hashes_in_their_files() {
        let long = "Zq3.7LmX/0pRk9TyBw".repeat(5);
        let sha512 = format!("$6$kW3.pQz9$7{}", &long[..85]);
        check(&format!("ann:{sha512}:19788:0:99999:7:::"), Some(&sha512));
        let rounds = format!("$6$rounds=5000$kW3.pQz9$7{}", &long[..85]);
        check(&format!("ann:{rounds}:19788::::::"), Some(&rounds));
        let yescrypt = format!("$y$j9T$Ab3.dEf7/hIjKl9mNoPq1.$5{}", &long[..42]);
        check(&format!("ann:{yescrypt}:19788:0:99999:7:::"), Some(&yescrypt));
        check(&format!("ann:{BCRYPT}\nbob:"), Some(BCRYPT));
        check("ann:$apr1$x9Lm2kQz$7dKp0Rt5Yb1Wn3Hc8Jf6V/", Some("$apr1$x9Lm2kQz$7dKp0Rt5Yb1Wn3Hc8Jf6V/"));
        check("ann:{SHA}7dKp0Rt5Yb1Wn3Hc8Jf6Vg2Ls4Q=", Some("{SHA}7dKp0Rt5Yb1Wn3Hc8Jf6Vg2Ls4Q="));
        let doubled = BCRYPT.replace('$', "$$");
        check(&format!("basicauth.users=ann:{doubled}\""), Some(&doubled));
        check("PASSWORD 'md50f1e2d3c4b5a49788695a4b3c2d1e0f9'", Some("0f1e2d3c4b5a49788695a4b3c2d1e0f9"));
        check(
            "root:500:aad3b435b51404eeaad3b435b51404ee:0F1E2D3C4B5A49788695A4B3C2D1E0F9:::",
            Some("0F1E2D3C4B5A49788695A4B3C2D1E0F9"),
        );
    }

    #[test]
    fn other_hashes_and_what_only_begins_alike() {
        for text in [
            "$2y$12$ is the prefix of bcrypt",
            "$2b$10$xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "echo $1$2 and $6$x",
            "md5 '0f1e2d3c4b5a49788695a4b3c2d1e0f9'",
            "ETag: \"md5-0f1e2d3c\"",
            "{SHA}",
            "/* *0F1E2D3C */",
            "s/$5$/x/",
            "{SSHA} is salted",
            "SCRAM-SHA-256$4096:salt$stored:server",
        ] {
            check(text, None);
        }
    }
}
