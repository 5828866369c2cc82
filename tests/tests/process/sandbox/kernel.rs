//! Sandbox rules that must hold on every kernel, including those without the newest Landlock. These programs run with
//! the first version of Landlock, of Linux 5.13, so that seccomp must deny the calls tested here.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::json;

use super::{PRELUDE, attempts, helper};

/// Python of Debian and Ubuntu. The shim of a version manager does not work here, because it would have to start a
/// second program.
const PYTHON: &str = "/usr/bin/python3";

/// Returns the helper's command line for running a script with the first version of Landlock.
fn confined(script: &str, folder: &Path, read: &[&Path]) -> Option<Vec<String>> {
    if !Path::new(PYTHON).exists() {
        eprintln!("{PYTHON} is missing: skipped");
        return None;
    }
    let orders = json!({
        "host": std::process::id(), "folder": folder, "read": read, "data": 1u64 << 31, "file": 1 << 20, "landlock": 1,
    });
    let script = format!("{PRELUDE}{script}");
    Some([helper(), "__sandboxed", &orders.to_string(), PYTHON, "-c", &script].map(str::to_owned).to_vec())
}

fn output(argv: &[String]) -> Output {
    Command::new(&argv[0]).args(&argv[1..]).stdin(Stdio::null()).output().unwrap()
}

fn confined_output(script: &str, folder: &Path, read: &[&Path]) -> Option<String> {
    let out = output(&confined(script, folder, read)?);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8(out.stdout).unwrap())
}

/// Process of the same user, as the target of an attack.
struct Victim(Child);

impl Victim {
    fn new() -> Self {
        Victim(Command::new("sleep").arg("3600").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn file_ownership_cannot_be_used_to_send_signals() {
    let mut victim = Victim::new();
    let script = format!(
        "import fcntl, socket, struct
victim = {}
r, w = os.pipe()
one, other = socket.socketpair()
number = struct.pack('i', victim)
# F_SETSIG with SIGKILL, F_SETOWN, F_SETOWN_EX
attempt(lambda: fcntl.fcntl(r, 10, 9))
attempt(lambda: fcntl.fcntl(r, 8, victim))
attempt(lambda: fcntl.fcntl(r, 15, struct.pack('ii', 1, victim)))
attempt(lambda: fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC))
# FIOASYNC, FIOSETOWN, SIOCSPGRP
attempt(lambda: fcntl.ioctl(r, 0x5452, struct.pack('i', 1)))
attempt(lambda: fcntl.ioctl(one, 0x8901, number))
attempt(lambda: fcntl.ioctl(one, 0x8902, number))
# F_SETLEASE, F_NOTIFY
attempt(lambda: fcntl.fcntl(os.open('own', os.O_CREAT), 1024, fcntl.F_RDLCK))
attempt(lambda: fcntl.fcntl(os.open('.', os.O_RDONLY), 1026, 1))
os.write(w, b'x')
other.send(b'x')
fcntl.fcntl(r, fcntl.F_SETFL, os.O_NONBLOCK)
print(os.read(r, 9))
",
        victim.0.id()
    );
    let folder = tempfile::tempdir().unwrap();
    let said = confined_output(&script, folder.path(), &[]);
    let alive = victim.0.try_wait().unwrap().is_none();
    if let Some(said) = said {
        assert_eq!(said, "PermissionError\n".repeat(9) + "b'x'\n");
    }
    assert!(alive, "a sandboxed program ended a process of the host");
}

#[test]
fn files_cannot_be_truncated() {
    let own = tempfile::tempdir().unwrap();
    let others = tempfile::tempdir().unwrap();
    let [readable, secret] = ["readable", "secret"].map(|name| others.path().join(name));
    for file in [&readable, &secret] {
        std::fs::write(file, "as it was").unwrap();
    }
    let script = format!(
        "os.chdir({:?})
for path in {:?}:
    attempt(lambda: os.truncate(path, 0))
    attempt(lambda: os.open(path, os.O_RDONLY | os.O_TRUNC))
    attempt(lambda: os.open(path, 3 | os.O_TRUNC))
attempt(lambda: open('own', 'w').write('x'))
attempt(lambda: open('own', 'w').truncate(3))
",
        own.path(),
        [&readable, &secret]
    );
    if let Some(said) = confined_output(&script, own.path(), &[&readable]) {
        assert_eq!(said, "PermissionError\n".repeat(6) + "done\ndone\n");
    }
    for file in [&readable, &secret] {
        assert_eq!(std::fs::read_to_string(file).unwrap(), "as it was");
    }
}

#[test]
fn file_notifications_and_affinity_of_other_processes_are_denied() {
    let script = format!(
        "import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if getattr(libc, name)(*args) < 0: raise OSError(ctypes.get_errno(), name)
attempt(lambda: call('inotify_init1', 0))
attempt(lambda: os.sched_setaffinity({}, {{0}}))
attempt(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
attempt(lambda: call('prctl', 4, 0, 0, 0, 0))
",
        std::process::id()
    );
    assert_eq!(attempts(&script), "PermissionError\nPermissionError\ndone\nPermissionError\n");
}

/// Checks that system calls which this kernel has but the list does not know fail as if they did not exist.
#[test]
fn unlisted_system_calls_fail_as_unimplemented() {
    let script = "import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
answers = {}
for number in range(463, 1001):
    ctypes.set_errno(0)
    # Arguments that no call accepts.
    assert libc.syscall(number, *[ctypes.c_long(-1)] * 6) == -1
    answers.setdefault(errno.errorcode[ctypes.get_errno()], []).append(number)
print({name: (numbers[0], numbers[-1], len(numbers)) for name, numbers in answers.items()})
";
    assert_eq!(attempts(script), "{'ENOSYS': (463, 1000, 538)}\n");
}

/// Checks that files which a shell or a supervisor leaves open are closed in the sandbox.
#[test]
fn open_files_are_not_inherited() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("kept.txt");
    std::fs::write(&file, "as it was").unwrap();
    let script = "attempt(lambda: os.write(7, b'pwned'))
attempt(lambda: os.read(200, 9))
own = os.open('/proc/self/fd', os.O_RDONLY)
print(sorted(int(fd) for fd in os.listdir('/proc/self/fd') if int(fd) not in (own, own + 1)))
";
    let Some(argv) = confined(script, folder.path(), &[]) else { return };
    let line = argv.iter().map(|arg| format!("'{}'", arg.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ");
    let shell = format!("exec 7<>'{}' 200<&7; exec {line}", file.display());
    let out = output(&["bash".to_owned(), "-c".to_owned(), shell]);
    let (said, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert_eq!(said, "OSError\nOSError\n[0, 1, 2]\n", "{errors}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "as it was");
}
