//! Splits into rows for training and for validation, by seed.

use sha2::{Digest as _, Sha256};

/// Use of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    Train,
    Validation,
}

impl Split {
    /// Returns the name of the split in rows.
    pub const fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
        }
    }

    /// Returns the split of all rows with this seed: a function of the seed alone, so that the matches of a pair, and
    /// matches of several runs on one seed, stay together. `share` is the share of seeds for validation.
    pub(super) fn of_seed(seed: &str, share: f64) -> Split {
        let hash = Sha256::digest(format!("ludex.v1:tuning-split:{seed}"));
        let drawn = hash.iter().take(8).fold(0u64, |n, &byte| n << 8 | u64::from(byte));
        if (drawn as f64) < share * 2f64.powi(64) { Split::Validation } else { Split::Train }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_of_seeds_is_for_validation() {
        let count = |share| (0..2000).filter(|n| Split::of_seed(&n.to_string(), share) == Split::Validation).count();
        assert_eq!((count(0.0), count(1.0)), (0, 2000));
        assert!((150..250).contains(&count(0.1)), "{}", count(0.1));
        // A greater share keeps the seeds of a smaller one.
        let small = (0..2000).filter(|n| Split::of_seed(&n.to_string(), 0.1) == Split::Validation);
        assert!(small.into_iter().all(|n| Split::of_seed(&n.to_string(), 0.3) == Split::Validation));
    }
}
