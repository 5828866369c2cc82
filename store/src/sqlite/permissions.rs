//! Permissions of the data directory: only the owner can read the directory, since it contains secrets.

use std::path::Path;

/// Files and directories of the server in the data directory. Other files may belong to other programs.
#[cfg(unix)]
const OWN: [&str; 7] = ["ludex.db", "ludex.db-wal", "ludex.db-shm", "ludex.lock", "runs", "ladders", "programs"];

/// Denies other users access to all files that this process creates from now on.
#[cfg(unix)]
pub fn restrict_new_files() {
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

#[cfg(not(unix))]
pub fn restrict_new_files() {}

/// Removes the permissions of other users from the data directory and the server's files in it, and logs the changes.
/// Also logs the permissions that cannot be changed on this volume.
#[cfg(unix)]
pub(super) fn restrict(folder: &Path) {
    let mut done = Restriction::default();
    // Resolves a symbolic link to the folder, since `restrict` skips symbolic links.
    let folder = &folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    done.restrict(folder);
    OWN.iter().for_each(|name| done.restrict_all(&folder.join(name)));
    if let Some(first) = &done.first {
        tracing::warn!(files = done.count, first, "permissions of other users removed from the data folder");
    }
    if let Some(first) = &done.failed {
        tracing::warn!(first, "other users can read the data folder, and its permissions cannot be changed");
    }
}

#[cfg(not(unix))]
pub(super) fn restrict(_: &Path) {}

/// Permission changes made so far.
#[cfg(unix)]
#[derive(Default)]
struct Restriction {
    /// Number of changed files and directories.
    count: usize,
    /// First changed path, with the previous mode.
    first: Option<String>,
    /// First path that could not be changed, with its mode.
    failed: Option<String>,
}

#[cfg(unix)]
impl Restriction {
    /// Restricts a path and everything below it.
    fn restrict_all(&mut self, path: &Path) {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            if self.restrict(&path) {
                left.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            }
        }
    }

    /// Restricts one path, unless it is a symbolic link. Returns true for a directory.
    fn restrict(&mut self, path: &Path) -> bool {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let Ok(meta) = path.symlink_metadata() else { return false };
        let mode = meta.mode() & 0o7777;
        if meta.is_symlink() || mode & 0o077 == 0 {
            return meta.is_dir();
        }
        let text = || format!("{} ({mode:o})", path.display());
        // A directory with the sticky bit, such as /tmp, is shared on purpose.
        let changed = mode & 0o1000 == 0 && {
            let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700));
            path.symlink_metadata().is_ok_and(|meta| meta.mode() & 0o077 == 0)
        };
        if changed {
            self.count += 1;
            self.first.get_or_insert_with(text);
        } else {
            self.failed.get_or_insert_with(text);
        }
        meta.is_dir()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn restored_folder_is_readable_by_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| -> PathBuf {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            set_mode(&path, mode);
            path
        };
        let restored = ["ludex.db", "runs/one/episodes.jsonl", "ladders/chess/open.json"].map(|name| file(name, 0o644));
        let program = file("programs/bot", 0o755);
        let foreign = file("notes.txt", 0o644);
        symlink(&foreign, folder.path().join("runs/link")).unwrap();
        set_mode(&folder.path().join("runs"), 0o755);
        set_mode(folder.path(), 0o755);
        restrict(folder.path());
        restored.iter().for_each(|path| assert_eq!(mode(path), 0o600, "{}", path.display()));
        assert_eq!((mode(&program), mode(&folder.path().join("runs")), mode(folder.path())), (0o700, 0o700, 0o700));
        assert_eq!(mode(&foreign), 0o644, "other files are unchanged, even behind a link");
    }

    #[test]
    fn sticky_folder_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o1777);
        let mut done = Restriction::default();
        assert!(done.restrict(folder.path()));
        assert!(mode(folder.path()) == 0o1777 && done.count == 0 && done.failed.is_some());
    }
}
