//! Consent text of an operator, and its acceptance by a person.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Maximum size of a consent text in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Text that a person must accept before the first match of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentText {
    /// Text of the consent in Markdown.
    pub text: String,
    /// SHA-256 of the text in hex.
    pub sha256: String,
}

impl ConsentText {
    /// Creates a consent text.
    ///
    /// # Errors
    ///
    /// An empty text, or a text above 64 KiB.
    pub fn new(text: String) -> anyhow::Result<Self> {
        let bytes = text.len();
        anyhow::ensure!(!text.trim().is_empty(), "expected a text, got none");
        anyhow::ensure!(bytes <= MAX_BYTES, "expected at most {MAX_BYTES} bytes, got {bytes}");
        let sha256 = hex::encode(Sha256::digest(text.as_bytes()));
        Ok(ConsentText { text, sha256 })
    }
}

/// Acceptance of a consent text by an agent of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// Time in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// SHA-256 of the accepted text in hex.
    pub sha256: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_text_has_a_hash_and_a_limit() {
        let text = ConsentText::new("abc".to_owned()).unwrap();
        assert_eq!(text.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(ConsentText::new(" \n".to_owned()).is_err() && ConsentText::new("x".repeat(MAX_BYTES + 1)).is_err());
    }
}
