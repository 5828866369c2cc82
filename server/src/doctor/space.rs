//! Check of the free space.

use std::path::Path;

use super::Finding;

const CHECK: &str = "space";

/// Free space in bytes below which writes will soon fail.
const LITTLE: u64 = 100 << 20;

/// Free space in bytes below which the operator is warned.
const SMALL: u64 = 1 << 30;

/// Checks the free space of the volume with the data directory.
pub(super) fn check(data: &Path) -> Option<Finding> {
    let volume = rustix::fs::statvfs(data).ok()?;
    Some(of(volume.f_bavail.saturating_mul(volume.f_frsize)))
}

fn of(free: u64) -> Finding {
    let text = format!("{} MiB are free", free >> 20);
    let remedy = "free some space, or remove old data: ludex admin prune";
    match free {
        SMALL.. => Finding::ok(CHECK, text),
        LITTLE.. => Finding::warning(CHECK, text, remedy),
        _ => Finding::problem(CHECK, text, remedy),
    }
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus::{Ok, Problem, Warning};
    use super::*;

    #[test]
    fn little_space_is_reported() {
        assert_eq!([10 << 20, 500 << 20, 5 << 30].map(|free| of(free).status), [Problem, Warning, Ok]);
    }
}
