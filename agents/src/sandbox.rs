//! What a program may not do. It is needed because the programs of strangers play here.
//!
//! The host starts its own executable again ([`run_if_asked`]), which gives up for
//! good everything that a player does not need, and then becomes the program. What is left:
//!
//! - one process with threads: no other program beside it, no new group or session, no signal to another process;
//! - no network, and no socket that reaches another process;
//! - to read: the system's programs and libraries, the program's own folder if no other program lies in it, and the files
//!   and folders that its command line names; to write: a fresh folder, which is its working folder, `HOME` and `TMPDIR`,
//!   and is removed afterwards;
//! - an environment of `PATH` and little else; limits of memory and files, a generous limit of CPU time; no privileges;
//! - no file that the host has open, but standard input, output and error;
//! - it does not outlive the host.
//!
//! It can still see that files exist which it may not open. Linux 5.13 or newer is needed, with Landlock; where that is
//! missing nothing is started, and `sandbox=false` runs a trusted program without protection. What is said above holds on all
//! these kernels: what older versions of Landlock leave out, seccomp denies.

mod allowed_paths;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod group;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox/no_group.rs"]
mod group;
mod helper_config;
mod scratch;
#[cfg(target_os = "linux")]
mod syscalls;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(test)]
pub(crate) use allowed_paths::SOURCES;
pub(crate) use allowed_paths::find;
pub(crate) use group::Group;
use helper_config::{Orders, WAY_OUT};
pub(crate) use scratch::ScratchDir;

/// The first argument of a host that is to become a sandboxed program; the second are its [`Orders`].
const ASKED: &str = "__sandboxed";
/// What the helper prints before the reason why it starts nothing, and its exit code then.
const MARK: &str = "ludex sandbox: ";
const REFUSED: i32 = 125;
/// Whether this executable becomes a helper when it is asked to.
static READY: AtomicBool = AtomicBool::new(false);
/// Another executable that does.
static HELPER: OnceLock<PathBuf> = OnceLock::new();

/// To be called first in `main`: if this process was started to become a sandboxed program, it does, and this does not
/// return.
pub fn run_if_asked() {
    READY.store(true, Ordering::Relaxed);
    let mut args = std::env::args();
    if args.nth(1).as_deref() != Some(ASKED) {
        return;
    }
    let orders = args.next().unwrap_or_default();
    let why = become_program(&orders, &args.collect::<Vec<_>>());
    eprintln!("{MARK}{why}");
    std::process::exit(REFUSED);
}

/// For hosts whose own `main` does not call [`run_if_asked`], such as tests: an executable whose `main` does. The first
/// call counts.
pub fn set_helper(path: impl Into<PathBuf>) {
    let _ = HELPER.set(path.into());
}

/// Returns why it did not.
#[cfg(target_os = "linux")]
fn become_program(orders: &str, argv: &[String]) -> String {
    match (serde_json::from_str(orders), argv) {
        (Ok(orders), [program, args @ ..]) => confine::exec(&orders, program, args),
        _ => format!("{ASKED} is for the program itself, not for people"),
    }
}

#[cfg(not(target_os = "linux"))]
fn become_program(_: &str, _: &[String]) -> String {
    format!("the sandbox needs Linux; {WAY_OUT}")
}

/// What a program is to the host.
pub(crate) enum SandboxRole<'a> {
    /// A stranger's.
    Player,
    /// A compiler that reads a stranger's source: this folder, if any, and the files that its command line names, with what
    /// lies beside them. It writes into the second folder. It may start other programs.
    Compiler { source: Option<&'a Path>, into: &'a Path },
}

/// Where a program runs. Both are removed when it is gone.
pub(crate) struct Room {
    /// Where it works.
    pub folder: ScratchDir,
    /// What bounds its memory, where there are such groups.
    pub group: Option<Group>,
}

/// The helper's command that becomes the program of a command line, and the room that it will work in; or why there is
/// none. `memory` and `file` are bytes that it may hold, and write to one file.
pub(crate) fn command(
    argv: &[String],
    role: &SandboxRole<'_>,
    memory: u64,
    file: u64,
) -> Result<(Command, Room), String> {
    #[cfg(target_os = "linux")]
    confine::available()?;
    if cfg!(not(target_os = "linux")) {
        return Err(format!("the sandbox needs Linux; {WAY_OUT}"));
    }
    let helper = match HELPER.get() {
        Some(path) => path.clone(),
        // The running file, also when another has taken its place.
        None if READY.load(Ordering::Relaxed) => "/proc/self/exe".into(),
        None => return Err(format!("this host cannot make a sandbox: its main must call run_if_asked; {WAY_OUT}")),
    };
    let folder = ScratchDir::new().map_err(|e| format!("no folder to work in can be made: {e}"))?;
    let (argv, mut read) = allowed_paths::of(argv)?;
    let mut write = Vec::new();
    if let SandboxRole::Compiler { source, into } = role {
        read.extend(allowed_paths::compiler(&argv, *source));
        write.push(into.to_path_buf());
    }
    let group = Group::new(memory);
    let orders = Orders {
        group: group.as_ref().map(|group| group.path().to_owned()),
        host: std::process::id(),
        folder: folder.path().to_owned(),
        write,
        read,
        // Used memory is watched elsewhere. This bounds what is allocated at once, and runtimes allocate more than they use.
        data: memory.saturating_mul(2).saturating_add(512 << 20),
        file,
        landlock: None,
        children: matches!(role, SandboxRole::Compiler { .. }),
    };
    let mut command = Command::new(helper);
    let orders = serde_json::to_string(&orders).map_err(|e| e.to_string())?;
    command.arg(ASKED).arg(orders).args(argv).current_dir(folder.path());
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.envs([("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8")]);
    command.env("HOME", folder.path()).env("TMPDIR", folder.path());
    Ok((command, Room { folder, group }))
}

/// Why the helper did not become the program, if that is how it ended.
pub(crate) fn refusal(code: Option<i32>, errors: impl FnOnce() -> String) -> Option<String> {
    if code != Some(REFUSED) {
        return None;
    }
    errors().strip_prefix(MARK).map(|why| why.trim_end().to_owned())
}
