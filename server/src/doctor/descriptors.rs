//! Check of the limit of open files.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use ludex_protocol::Limits;
use ludex_store::LOCK_FILE;

use super::Finding;

const CHECK: &str = "files";

/// File descriptors of the server besides its connections.
const OWN_FILES: u64 = 256;

/// Checks that a server may open as many files as the default limits allow connections: the running server of the data
/// directory, or else one that has the limit of this process.
pub(super) fn check(data: &Path) -> Option<Finding> {
    let server = server_of(data);
    let process = server.map_or_else(|| "self".to_owned(), |id| id.to_string());
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next())?;
    // No number means no limit.
    Some(of(limit.parse().unwrap_or(u64::MAX), server))
}

fn of(limit: u64, server: Option<u32>) -> Finding {
    let needed = u64::from(Limits::default().connections) + OWN_FILES;
    let process = server.map_or_else(|| "this shell".to_owned(), |id| format!("the running server (process {id})"));
    let text = format!("{process} may open {limit} files");
    if limit >= needed {
        return Finding::ok(CHECK, text);
    }
    let remedy = format!("set LimitNOFILE={needed} or ulimit -n {needed}, or lower --limit connections");
    Finding::warning(CHECK, format!("{text}, fewer than the default limit of connections needs"), remedy)
}

/// Returns the process id of the server that has locked the data directory.
fn server_of(data: &Path) -> Option<u32> {
    let path = data.join(LOCK_FILE);
    let file = File::open(&path).ok()?;
    let is_locked = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    is_locked.then(|| fs::read_to_string(&path).ok()?.trim().parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus::{Ok, Warning};
    use super::*;

    #[test]
    fn few_files_are_reported() {
        assert_eq!([1_024, 1 << 20].map(|limit| of(limit, None).status), [Warning, Ok]);
        assert!(of(1_024, Some(7)).text.contains("process 7"));
    }
}
