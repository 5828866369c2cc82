//! Check of the permissions of the data directory.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ludex_play::runs::folder::path_of;
use ludex_store::{LOCK_FILE, STORE_FILE};

use super::Finding;

const CHECK: &str = "modes";

/// Checks that no other user can read the data directory. Files of other programs in it do not count.
pub(super) fn check(data: &Path) -> Option<Finding> {
    let database = ["", "-wal", "-shm"].map(|end| data.join(format!("{STORE_FILE}{end}")));
    let mut left = vec![data.join(LOCK_FILE), path_of(data, "")];
    left.extend(database);
    let mut open = Vec::new();
    let folder = data.metadata().ok()?;
    if folder.mode() & 0o077 != 0 {
        open.push((data.to_owned(), folder.mode()));
    }
    while let Some(path) = left.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() {
            left.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        if meta.mode() & 0o077 != 0 && !meta.is_symlink() {
            open.push((path, meta.mode()));
        }
    }
    let Some((path, mode)) = open.first() else {
        return Some(Finding::ok(CHECK, "only the owner can read the data folder"));
    };
    let (count, mode) = (open.len(), mode & 0o7777);
    let text = format!("files that other users may access: {count}, such as {} ({mode:o})", path.display());
    let remedy = format!("chmod -R go= {}", data.display());
    // Other users cannot enter a folder that is closed to them.
    Some(match folder.mode() & 0o077 {
        0 => Finding::warning(CHECK, text, remedy),
        _ => Finding::problem(CHECK, text, remedy),
    })
}
