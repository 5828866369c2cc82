//! Memory limits enforced by the kernel: one control group (version 2) per program, if a group is delegated to the
//! host.
//!
//! systemd delegates a group to a service with `Delegate=yes`, and marks the group. Without a delegated group, only the
//! host monitors memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Group to which the host moves itself, since a group that distributes memory to subgroups may not contain processes.
const HOST: &str = "ludex-host";
/// Prefix of the names of program groups; the host's process id follows.
const PREFIX: &str = "ludex-bot-";

/// Control group of one program, removed on drop. Drop the group only after the program has ended.
pub(crate) struct Group {
    path: PathBuf,
}

impl Group {
    /// Creates a group with a memory limit in bytes; `None` if the host cannot create groups.
    pub fn new(memory: u64) -> Option<Self> {
        static BASE: OnceLock<Option<PathBuf>> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = BASE.get_or_init(|| delegated(&own()?)).as_ref()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Group { path };
        fs::write(group.path.join("memory.max"), memory.to_string()).ok()?;
        // Kernels without swap lack this file. All processes of the group are killed together.
        let _ = fs::write(group.path.join("memory.swap.max"), "0");
        fs::write(group.path.join("memory.oom.group"), "1").ok()?;
        Some(group)
    }

    /// Returns the path of the group.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the kernel killed a process of the group because the group reached its memory limit.
    pub fn is_out_of_memory(&self) -> bool {
        let events = read(&self.path, "memory.events");
        events.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // If the removal fails, the next host removes the group.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
        let _ = fs::remove_dir(&self.path);
    }
}

/// Moves the helper process into the group at `path`.
pub(super) fn enter(path: &Path) -> Result<(), String> {
    fs::write(path.join("cgroup.procs"), "0").map_err(|e| format!("control group: {e}"))
}

fn read(group: &Path, file: &str) -> String {
    fs::read_to_string(group.join(file)).unwrap_or_default()
}

/// Returns the path of this process's group.
fn own() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = own.strip_prefix(root.trim_end_matches('/'))?;
        kind.starts_with("cgroup2 ").then(|| Path::new(point).join(below.trim_start_matches('/')))
    })
}

/// Returns the group in which the host can create subgroups: its own group, or the parent group if its own group is
/// [`HOST`].
fn delegated(own: &Path) -> Option<PathBuf> {
    let base = [own.parent()?, own].into_iter().find(|group| is_marked(group))?;
    if base == own {
        // Other processes in the group would prevent subgroups.
        let alone = read(own, "cgroup.procs").split_whitespace().eq([std::process::id().to_string()]);
        let host = own.join(HOST);
        if !alone || !host.is_dir() && fs::create_dir(&host).is_err() {
            return None;
        }
        fs::write(host.join("cgroup.procs"), "0").ok()?;
    }
    fs::write(base.join("cgroup.subtree_control"), "+memory").ok()?;
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let host = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if host.is_some_and(|host| !Path::new("/proc").join(host).exists()) {
            // Only an empty group can be removed.
            let _ = fs::remove_dir(entry.path());
        }
    }
    Some(base.to_owned())
}

/// Returns true if systemd or another manager delegated this group.
fn is_marked(group: &Path) -> bool {
    let mut value = [0; 8];
    ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let read = rustix::fs::getxattr(group, *name, &mut value[..]);
        read.is_ok_and(|length| &value[..length] == b"1")
    })
}
