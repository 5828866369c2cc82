//! Restriction of the helper process before it executes the program.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::helper_config::{HelperConfig, UNSANDBOXED_HINT};
use super::{allowed_paths, group, syscalls};

/// CPU time limit in seconds, for programs that their host no longer monitors. The limit is far above those that the
/// host enforces.
const CPU: u64 = 24 * 3600;
/// Maximum number of open files.
const FILES: u64 = 256;

const LEAST: ABI = ABI::V1;
/// Newest Landlock version that the sandbox uses. Features that the kernel lacks are skipped.
const MOST: ABI = ABI::V6;

/// Checks that the kernel supports the sandbox.
pub(super) fn available() -> Result<(), String> {
    let least = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let made = least.handle_access(AccessFs::from_all(LEAST)).and_then(Ruleset::create);
    made.map(drop).map_err(|_| {
        format!("the sandbox needs Landlock (Linux 5.13 or later), which this kernel lacks; {UNSANDBOXED_HINT}")
    })
}

/// Restricts this process and executes the program. Returns only on failure, with the reason.
pub(super) fn exec(orders: &HelperConfig, program: &str, args: &[String]) -> String {
    match confine(orders) {
        Ok(()) => format!("cannot execute {program}: {}", Command::new(program).args(args).exec()),
        Err(why) => format!("cannot create the sandbox: {why}; {UNSANDBOXED_HINT}"),
    }
}

fn confine(orders: &HelperConfig) -> Result<(), String> {
    let to = |what: &'static str| move |e: rustix::io::Errno| format!("{what}: {e}");
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(to("parent-death signal"))?;
    // The host may have exited before the signal was set.
    if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32) != Some(orders.host) {
        return Err("the host has exited".to_owned());
    }
    if let Some(group) = &orders.group {
        group::enter(group)?;
    }
    // If memory runs out, the kernel kills the program instead of the host. Kernels without this file do not need it.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let limits = [
        (Resource::Core, 0),
        (Resource::Cpu, CPU),
        (Resource::Data, orders.data),
        (Resource::Fsize, orders.file),
        (Resource::Nofile, FILES),
    ];
    // No process limit is set: the kernel counts all processes of the user and exempts root. Seccomp denies new
    // processes, and the host counts threads.
    for (resource, limit) in limits {
        // Lower existing limits are kept.
        let limit = rustix::process::getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) }).map_err(to("resource limits"))?;
    }
    rustix::thread::set_no_new_privs(true).map_err(to("no_new_privs"))?;
    let none = CapabilitySet::empty();
    let nothing = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, nothing).map_err(to("capabilities"))?;
    files(orders).map_err(|e| format!("Landlock: {e}"))?;
    // Closes files that the host inherited or opened for other programs. The standard streams stay open.
    close_fds::set_fds_cloexec(3, &[]);
    if orders.children { Ok(()) } else { syscalls::deny().map_err(|e| format!("seccomp: {e}")) }
}

/// Restricts file access to the paths that the program needs.
fn files(orders: &HelperConfig) -> Result<(), RulesetError> {
    let newest = orders.landlock.map_or(MOST, ABI::from);
    let read = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let write: BitFlags<AccessFs> = AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::Refer;
    let write = write & AccessFs::from_all(newest);
    let sink = AccessFs::ReadFile | AccessFs::WriteFile;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))?;
    // Old versions have no network rights, and an empty set is an error.
    if !AccessNet::from_all(newest).is_empty() {
        rules = rules.handle_access(AccessNet::from_all(newest))?;
    }
    if !Scope::from_all(newest).is_empty() {
        rules = rules.scope(Scope::from_all(newest))?;
    }
    rules
        .create()?
        // Missing files are skipped.
        .add_rules(path_beneath_rules(allowed_paths::SYSTEM, read))?
        .add_rules(path_beneath_rules(
            allowed_paths::PROC_SELF.split(' ').map(|file| format!("/proc/self/{file}")),
            read,
        ))?
        .add_rules(path_beneath_rules(&orders.read, read))?
        .add_rules(path_beneath_rules(orders.write.iter().chain([&orders.folder]), write))?
        .add_rules(path_beneath_rules([Path::new("/dev/null")], sink))?
        .restrict_self()?;
    Ok(())
}
