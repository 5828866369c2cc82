//! Random bytes of the operating system.

use rand::TryRng as _;
use rand::rngs::SysRng;

/// Returns `N` bytes from the operating system's generator.
///
/// # Errors
///
/// The error of the operating system.
pub fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    #[cfg(feature = "testing")]
    if seeded::fill(&mut bytes) {
        return Ok(bytes);
    }
    SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}

/// Generator with a seed, for simulations.
#[cfg(feature = "testing")]
pub(crate) mod seeded {
    use std::cell::RefCell;

    use rand::rngs::SmallRng;
    use rand::{RngExt as _, SeedableRng as _};

    thread_local! {
        static GENERATOR: RefCell<Option<SmallRng>> = const { RefCell::new(None) };
    }

    /// Makes [`random_bytes`](super::random_bytes) a function of `seed` on this thread.
    pub fn seed(seed: u64) {
        GENERATOR.set(Some(SmallRng::seed_from_u64(seed)));
    }

    /// Fills `bytes` if this thread has a seed.
    pub(super) fn fill(bytes: &mut [u8]) -> bool {
        GENERATOR.with_borrow_mut(|generator| generator.as_mut().map(|generator| generator.fill(bytes)).is_some())
    }
}
