//! Restrictions for untrusted programs.
//!
//! The host starts its own executable as a helper process ([`run_helper_if_requested`]). The helper irrevocably drops
//! all rights that a player does not need, and then executes the program. These rules apply to the program:
//!
//! - a single process with threads: no child processes, no new group or session, no signals to other processes;
//! - no network, and no socket that reaches another process;
//! - read access to the system's programs and libraries, to its own file, to the files and directories on its command
//!   line, and to the directory that its spec opens (`folder=`);
//! - write access to a new directory, which is its working directory, `HOME` and `TMPDIR` and is removed when the
//!   program ends;
//! - an environment of `PATH`, locale and the directories above; limits on memory and files, a generous CPU time limit;
//!   no privileges;
//! - no open file of the host except standard input, output and error;
//! - termination when the host exits.
//!
//! A program can still detect the existence of files that it may not open. The sandbox requires Linux 5.13 or newer
//! with Landlock. On other systems, sandboxed programs do not start; `sandbox=false` runs a trusted program without
//! protection. These rules hold on all supported kernels: seccomp denies the operations that older versions of Landlock
//! do not cover.

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

pub(crate) use allowed_paths::find;
pub(crate) use group::Group;
use helper_config::{HelperConfig, UNSANDBOXED_HINT};
pub(crate) use scratch::ScratchDir;

/// First argument of a helper process; the second argument is its [`HelperConfig`].
const ASKED: &str = "__sandboxed";
/// Prefix of the helper's error message if it cannot execute the program; its exit code is then `REFUSED`.
const MARK: &str = "ludex sandbox: ";
const REFUSED: i32 = 125;
/// True if this executable can act as the helper.
static READY: AtomicBool = AtomicBool::new(false);
/// Path of a different executable that can act as the helper.
static HELPER: OnceLock<PathBuf> = OnceLock::new();

/// If this process was started as a helper, executes the sandboxed program and does not return. Otherwise returns
/// immediately. Call this function first in `main`.
pub fn run_helper_if_requested() {
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

/// Sets the helper executable, for hosts whose `main` does not call [`run_helper_if_requested`], such as tests. Only
/// the first call has an effect.
pub fn set_helper(path: impl Into<PathBuf>) {
    let _ = HELPER.set(path.into());
}

/// Replaces the helper process with the program. Returns only on failure, with the reason.
#[cfg(target_os = "linux")]
fn become_program(orders: &str, argv: &[String]) -> String {
    match (serde_json::from_str(orders), argv) {
        (Ok(orders), [program, args @ ..]) => confine::exec(&orders, program, args),
        _ => format!("expected a helper configuration after the internal argument {ASKED}"),
    }
}

#[cfg(not(target_os = "linux"))]
fn become_program(_: &str, _: &[String]) -> String {
    format!("the sandbox needs Linux; {UNSANDBOXED_HINT}")
}

/// Role of a sandboxed program.
pub(crate) enum SandboxRole<'a> {
    Player,
    /// Compiler of untrusted source code. The compiler may read `source` and the files on its command line, write to
    /// `into`, and start other programs.
    Compiler {
        source: Option<&'a Path>,
        into: &'a Path,
    },
}

/// Scratch directory and control group of a sandboxed program, both removed on drop.
pub(crate) struct SandboxDirs {
    pub folder: ScratchDir,
    /// Control group that limits memory, if available.
    pub group: Option<Group>,
}

/// Creates the helper command for a program, and the program's directory and control group. The program may read
/// `opened`. `memory` limits memory in bytes; `file` limits the size of a single file in bytes.
///
/// # Errors
/// The reason why no sandbox is available, or a directory that cannot be opened to the program.
pub(crate) fn command(
    argv: &[String],
    role: &SandboxRole<'_>,
    opened: Option<&Path>,
    memory: u64,
    file: u64,
) -> Result<(Command, SandboxDirs), String> {
    #[cfg(target_os = "linux")]
    confine::available()?;
    if cfg!(not(target_os = "linux")) {
        return Err(format!("the sandbox needs Linux; {UNSANDBOXED_HINT}"));
    }
    let helper = match HELPER.get() {
        Some(path) => path.clone(),
        // The running executable, even if its file has been replaced.
        None if READY.load(Ordering::Relaxed) => "/proc/self/exe".into(),
        None => {
            return Err(format!(
                "this host has no sandbox: its main must call run_helper_if_requested; {UNSANDBOXED_HINT}"
            ));
        }
    };
    let folder = ScratchDir::new().map_err(|e| format!("cannot create a working directory: {e}"))?;
    let (argv, mut read) = allowed_paths::of(argv)?;
    read.extend(opened.map(allowed_paths::opened).transpose()?);
    let mut write = Vec::new();
    if let SandboxRole::Compiler { source, into } = role {
        read.extend(allowed_paths::compiler(&argv, *source));
        write.push(into.to_path_buf());
    }
    let group = Group::new(memory);
    let orders = HelperConfig {
        group: group.as_ref().map(|group| group.path().to_owned()),
        host: std::process::id(),
        folder: folder.path().to_owned(),
        write,
        read,
        // Memory in use is checked elsewhere. This limits address space, and runtimes reserve more than they use.
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
    Ok((command, SandboxDirs { folder, group }))
}

/// Returns the helper's reason for not executing the program; `None` if the program itself exited.
pub(crate) fn refusal(code: Option<i32>, errors: impl FnOnce() -> String) -> Option<String> {
    if code != Some(REFUSED) {
        return None;
    }
    errors().strip_prefix(MARK).map(|why| why.trim_end().to_owned())
}
