//! Scratch folder of a sandboxed program: bounded while the program runs, and removed afterwards.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ludex_agents::process::{ProcessFault, ProcessLimits};

use super::{AMPLE, attempts, helper, start};

const FEW: ProcessLimits =
    ProcessLimits { memory: 1 << 30, output: 1 << 20, threads: 256, file: 1 << 20, files: 50, folder: 8 << 20 };

fn fault(script: &str) -> ProcessFault {
    let script = format!("import mmap, os, time\n{script}\ntime.sleep(3600)");
    start(&["python3", "-c", &script], FEW).read_line(&AMPLE).unwrap_err()
}

#[test]
fn file_count_and_bytes_are_limited() {
    let disk = ProcessFault::Disk { files: 50, bytes: 8 << 20 };
    assert_eq!(fault("for i in range(60): open(str(i), 'w').close()"), disk);
    assert_eq!(fault("for i in range(60): os.makedirs('deeper'); os.chdir('deeper')"), disk);
    assert_eq!(fault("for i in range(20): open(str(i), 'wb').write(b'x' * (1 << 20))"), disk);
    let nameless = "
for i in range(20):
    f = open('big', 'w+b')
    f.write(b'x' * (1 << 20))
    f.flush()
    os.unlink('big')
    keep.append(KEPT)
";
    // The file is deleted but open, or closed but mapped into memory.
    for kept in ["f", "mmap.mmap(f.fileno(), 1 << 20, mmap.MAP_PRIVATE)"] {
        assert_eq!(fault(&format!("keep = []{}", nameless.replace("KEPT", kept))), disk, "{kept}");
    }
    // Removed files do not count towards the limit.
    let script = "import os
for i in range(200):
    open('big', 'wb').write(b'x' * (1 << 20))
    os.unlink('big')
print('fine')";
    assert_eq!(start(&["python3", "-c", script], FEW).read_line(&AMPLE).unwrap(), "fine");
}

#[test]
fn program_cannot_create_folders_unreadable_to_host() {
    let script = "for mode in (0o300, 0o500, 0o000, 0o077, 0o700, 0o755):
    attempt(lambda: os.mkdir(oct(mode), mode))
for mask in (0o777, 0o077):
    try: os.umask(mask)
    except OSError: pass
    os.mkdir(f'under {mask:o}')
print({name: oct(os.stat(name).st_mode & 0o777) for name in sorted(os.listdir())})
";
    let modes = "{'0o700': '0o700', '0o755': '0o755', 'under 77': '0o700', 'under 777': '0o755'}\n";
    assert_eq!(attempts(script), "PermissionError\n".repeat(4) + "done\ndone\n" + modes);
}

/// Starts a host whose bot fills its scratch folder and then sleeps.
fn host(temporary: &Path, bot: &Path) -> Child {
    let mut command = Command::new(helper());
    command.args(["agents", "check", "--game", "tic_tac_toe"]).arg(bot).env("TMPDIR", temporary);
    command.current_dir(temporary).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn left_in(temporary: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("ludex-")).collect()
}

/// Waits until a scratch folder that is not in `known` has the bot's file, and returns the folder.
fn filled(temporary: &Path, known: &[std::path::PathBuf]) -> std::path::PathBuf {
    let patience = Instant::now() + Duration::from_secs(120);
    loop {
        let found = left_in(temporary).into_iter().find(|path| !known.contains(path) && path.join("here").exists());
        if let Some(found) = found {
            return found;
        }
        assert!(Instant::now() < patience, "the bot did not start");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn folders_of_killed_host_are_removed() {
    let temporary = tempfile::tempdir().unwrap();
    let bots = tempfile::tempdir().unwrap();
    let bot = bots.path().join("sleeper.py");
    std::fs::write(&bot, "import os, time\nos.makedirs('a/b/c')\nopen('here', 'w').close()\ntime.sleep(3600)\n")
        .unwrap();
    let mut killed = host(temporary.path(), &bot);
    let left = filled(temporary.path(), &[]);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(left.join("a/b/c").exists());
    // The next host removes the folder but leaves the folders of running hosts alone.
    let mut second = host(temporary.path(), &bot);
    let used = filled(temporary.path(), std::slice::from_ref(&left));
    assert!(!left.exists());
    let mut third = host(temporary.path(), &bot);
    filled(temporary.path(), std::slice::from_ref(&used));
    assert!(used.join("a/b/c").exists());
    for host in [&mut second, &mut third] {
        host.kill().unwrap();
        host.wait().unwrap();
    }
}
