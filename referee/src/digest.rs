//! Seeds of rated matches, and re-exports of record digests and seed commitments (`docs/records.md`).

use hmac::{Hmac, KeyInit, Mac};
pub use ludex_env::recording::{Chain, NotCanonical, canonical, digest, seed_commit};
use sha2::Sha256;

/// Returns the seed of rated pair `index` of a run: the first 8 bytes, big-endian, of HMAC-SHA-256(secret, decimal
/// index).
///
/// The seed cannot be predicted without the secret. The secret is published with the report, so that anyone can check
/// that no seed was hand-picked.
pub fn rated_seed(secret: &[u8], index: u64) -> u64 {
    seed_under(secret, &index.to_string())
}

/// Returns the first 8 bytes, big-endian, of HMAC-SHA-256(secret, `place`). Unlike [`rated_seed`], takes any text as
/// the label of the seed.
pub(crate) fn seed_under(secret: &[u8], place: &str) -> u64 {
    // HMAC takes keys of any length: keys longer than a block are hashed first.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap_or_else(|_| unreachable!("HMAC takes any key length"));
    mac.update(place.as_bytes());
    let whole = mac.finalize().into_bytes();
    whole.iter().take(8).fold(0, |seed, &byte| seed << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rated_seeds_agree_with_openssl_hmac() {
        // echo -n 0 | openssl dgst -sha256 -hmac secret
        let long = [7u8; 200];
        assert_eq!(format!("{:016x}", rated_seed(b"secret", 0)), SECRET_0);
        assert_ne!(rated_seed(b"secret", 0), rated_seed(b"secret", 1));
        assert_ne!(rated_seed(&long, 0), rated_seed(&long[..199], 0));
    }

    const SECRET_0: &str = "1779fd3337dd353e";
}
