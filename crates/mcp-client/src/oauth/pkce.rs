//! The proof that who exchanges a code is who asked for it, and other words that nobody can guess.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A verifier, which stays here until the code is exchanged.
pub(crate) struct Verifier(String);

impl Verifier {
    pub(crate) fn new() -> Self {
        Self(random_word())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Its hash, which goes through the browser.
    pub(crate) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.0.as_bytes()))
    }
}

/// 64 characters with 244 random bits.
pub(crate) fn random_word() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_the_hash_of_the_verifier() {
        // The example of RFC 7636, appendix B.
        let verifier = Verifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into());
        assert_eq!(verifier.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let fresh = Verifier::new();
        assert!((43..=128).contains(&fresh.as_str().len()));
        assert_ne!(fresh.as_str(), Verifier::new().as_str());
    }
}
