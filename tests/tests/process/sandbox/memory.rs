//! Memory limits by the kernel, on machines where the tests may create control groups.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::helper;

/// Control group delegated as by systemd. Dropping this value removes the group.
struct Delegated(PathBuf);

impl Delegated {
    /// Creates a delegated group. `None` without a memory controller or without permission to divide the root group.
    fn new(name: &str) -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let group = root.join(format!("ludex-test-{}-{name}", std::process::id()));
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).ok()?;
        if !controllers.split_whitespace().any(|name| name == "memory") {
            return None;
        }
        fs::write(root.join("cgroup.subtree_control"), "+memory").ok()?;
        fs::create_dir(&group).ok()?;
        let marked = Delegated(group);
        let script = "import os, sys; os.setxattr(sys.argv[1], 'user.delegate', b'1')";
        let set = Command::new("python3").args(["-c", script]).arg(&marked.0).status().ok()?;
        set.success().then_some(marked)
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.0.join("ludex-host"));
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn delegated_cgroup_bounds_memory() {
    if Delegated::new("trial").is_none() {
        eprintln!("no control groups with memory can be made here: skipped");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Each host gets a separate group, as each start of a service does.
    let check = |name: &str, text: &str| {
        let group = Delegated::new(name).unwrap();
        let bot = folder.path().join("bot.py");
        fs::write(&bot, text).unwrap();
        let script = format!("echo 0 > {}/cgroup.procs && exec \"$@\"", group.0.display());
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", helper(), "agents", "check", "--game", "tic_tac_toe"]).arg(&bot);
        let out = command.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
        let left = fs::read_dir(&group.0).unwrap().filter_map(|e| e.unwrap().file_name().into_string().ok());
        let left: Vec<String> = left.filter(|name| name.starts_with("ludex-bot-")).collect();
        assert_eq!(left, [""; 0]);
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
    };
    let said = check("shown", "import sys\nsys.exit('group ' + open('/proc/self/cgroup').read().strip())");
    assert!(said.contains("/ludex-bot-"), "{said}");
    // The program maps and touches the memory without a pause, faster than a poll every 10 ms could detect.
    let said = check(
        "full",
        "import mmap\nm = mmap.mmap(-1, 400 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\nprint('{}')",
    );
    assert!(said.contains("used more than 256 MiB of memory"), "{said}");
}
