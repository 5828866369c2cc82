//! Random bytes of the system's.

use rand::TryRng as _;
use rand::rngs::SysRng;

/// `N` bytes from the system's generator.
///
/// # Errors
/// The system's, when it has none.
pub fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}
