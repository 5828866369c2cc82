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
    SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}
