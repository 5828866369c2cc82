//! Scratch directories of programs. Their usage is measured, and they are removed even if the host was killed.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Once;

use tempfile::TempDir;

use meta::{allocated, inode, links, own};

/// Prefix of the directory names.
const PREFIX: &str = "ludex-bot-";

/// Scratch directory of one program.
pub(crate) struct ScratchDir {
    folder: TempDir,
    /// Lock on the directory, which the system releases when the host exits.
    _lock: Option<File>,
}

/// Disk usage of a scratch directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScratchUsage {
    /// Number of files and directories.
    pub files: u64,
    /// Allocated disk space in bytes.
    pub bytes: u64,
}

impl ScratchDir {
    /// Creates a scratch directory in the system's directory for temporary files. The first call in a process also
    /// removes directories left by killed hosts.
    pub fn new() -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let temporary = std::env::temp_dir();
        SWEPT.call_once(|| sweep(&temporary));
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&temporary)?;
            // Without file locks on this system, the directory stays unlocked, and no cleanup removes it.
            let lock = File::open(folder.path()).ok();
            let taken = lock.as_ref().is_some_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
            // Another host's cleanup may have removed the directory before the lock.
            if !taken && folder.path().exists() {
                return Ok(ScratchDir { folder, _lock: lock });
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Measures the disk usage of the process `pid`, including deleted files that are still open or mapped. A deleted
    /// file that is only mapped counts as `longest` bytes, since its size is unknown. Stops soon after counting `most`
    /// files.
    pub fn usage(&self, pid: u32, most: u64, longest: u64) -> ScratchUsage {
        let mut held = ScratchUsage::default();
        let mut left = vec![self.path().to_owned()];
        while let Some(folder) = left.pop() {
            // Files removed during the scan do not count.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                held.add(allocated(&meta));
                if meta.is_dir() {
                    left.push(entry.path());
                }
                if held.files > most {
                    return held;
                }
            }
        }
        let mut nameless = BTreeSet::new();
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let Ok(meta) = fs::metadata(entry.path()) else { continue };
            if meta.is_file() && links(&meta) == 0 && nameless.insert(inode(&meta)) {
                held.add(allocated(&meta));
            }
        }
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in maps.lines().filter(|line| line.ends_with(" (deleted)")) {
            // Addresses, rights, offset, device, inode, path.
            let mut fields = line.splitn(6, ' ');
            let inode = fields.nth(4).and_then(|inode| inode.parse().ok());
            let path = fields.next().unwrap_or_default().trim_start();
            if Path::new(path).starts_with(self.path()) && inode.is_some_and(|inode| nameless.insert(inode)) {
                held.add(longest);
            }
        }
        held
    }
}

impl ScratchUsage {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// Removes the scratch directories of hosts that have exited.
fn sweep(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if named && entry.metadata().is_ok_and(|meta| meta.is_dir() && own(&meta)) {
            remove_unlocked(&entry.path());
        }
    }
}

/// Removes a scratch directory unless a running host has locked it.
fn remove_unlocked(folder: &Path) {
    if let Some(lock) = File::open(folder).ok().filter(|file| file.try_lock().is_ok()) {
        // The next start retries what cannot be removed now.
        let _ = fs::remove_dir_all(folder);
        drop(lock);
    }
}

#[cfg(unix)]
mod meta {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt as _;

    pub(super) fn allocated(meta: &Metadata) -> u64 {
        meta.blocks() * 512
    }

    pub(super) fn links(meta: &Metadata) -> u64 {
        meta.nlink()
    }

    pub(super) fn inode(meta: &Metadata) -> u64 {
        meta.ino()
    }

    /// Returns true if the file belongs to the current user.
    pub(super) fn own(meta: &Metadata) -> bool {
        meta.uid() == rustix::process::geteuid().as_raw()
    }
}

#[cfg(not(unix))]
mod meta {
    use std::fs::Metadata;

    pub(super) fn allocated(meta: &Metadata) -> u64 {
        meta.len()
    }

    pub(super) fn links(_: &Metadata) -> u64 {
        1
    }

    pub(super) fn inode(_: &Metadata) -> u64 {
        0
    }

    pub(super) fn own(_: &Metadata) -> bool {
        true
    }
}
