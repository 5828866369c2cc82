//! System calls that are denied to players.
//!
//! The listed calls are denied and all others are allowed. An allow list would break with new releases of runtimes.
//! Calls newer than [`NEWEST`] fail as if the kernel lacked them. A denied call fails with a permission error and does
//! not kill the program.
//!
//! These rules do not rely on Landlock, whose older versions cover neither signals nor the truncation of files.

use std::collections::BTreeMap;

use libc::{c_long, *};
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// Newest reviewed system call: `mseal` of Linux 6.10. Call numbers from 424 on are the same on all architectures.
const NEWEST: c_long = SYS_mseal;

// libc defines these on some architectures only, or not at all.
const FCHMODAT2: c_long = 452;
const STATMOUNT: c_long = 457;
const LISTMOUNT: c_long = 458;
const LSM_SET_SELF_ATTR: c_long = 460;
const F_SETSIG: c_int = 10;
const F_SETOWN_EX: c_int = 15;
const F_SETLEASE: c_int = 1024;
const F_NOTIFY: c_int = 1026;
const FIOSETOWN: c_int = 0x8901;
const SIOCSPGRP: c_int = 0x8902;

/// Calls that are denied regardless of their arguments.
#[rustfmt::skip]
const NEVER: &[c_long] = &[
    // Sockets. A socket pair cannot reach other processes without bind or connect.
    SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_sendmsg, SYS_sendmmsg,
    // Kernel interface that bypasses this filter.
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    // Other processes and their groups.
    SYS_setsid, SYS_setpgid, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp,
    SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_tkill, SYS_migrate_pages, SYS_move_pages,
    SYS_setpriority, SYS_ioprio_set, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_process_mrelease,
    // Namespaces, mounts, the machine.
    SYS_unshare, SYS_setns, SYS_chroot, SYS_pivot_root, SYS_mount, SYS_umount2, SYS_open_tree, SYS_move_mount,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, STATMOUNT, LISTMOUNT, SYS_swapon, SYS_swapoff,
    SYS_quotactl, SYS_quotactl_fd, LSM_SET_SELF_ATTR, SYS_sync, SYS_syncfs,
    SYS_reboot, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_acct,
    SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
    SYS_syslog, SYS_vhangup, SYS_personality,
    // Kernel subsystems with a history of vulnerabilities.
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_lookup_dcookie,
    SYS_fanotify_init, SYS_name_to_handle_at, SYS_open_by_handle_at,
    // Not covered by all Landlock versions: ownership, permissions, truncation and notification of files.
    SYS_truncate, SYS_inotify_init1, SYS_inotify_add_watch,
    SYS_fchmod, SYS_fchmodat, FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_utimensat,
    SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    // Memory that outlives its process.
    SYS_memfd_create, SYS_memfd_secret, SYS_shmget, SYS_shmat, SYS_shmctl, SYS_msgget, SYS_semget, SYS_mq_open,
];

/// Older variants of the calls in [`NEVER`], which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const NEVER_HERE: &[c_long] = &[
    SYS_fork, SYS_vfork, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_iopl, SYS_ioperm,
    SYS_modify_ldt, SYS_inotify_init,
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[c_long] = &[];

/// Installs the system call filter for this process permanently.
pub(super) fn deny() -> Result<(), Box<dyn std::error::Error>> {
    let me = u64::from(std::process::id());
    let mut denied: BTreeMap<c_long, Vec<SeccompRule>> =
        NEVER.iter().chain(NEVER_HERE).map(|&call| (call, Vec::new())).collect();
    let mut when = |call: c_long, conditions: Vec<Condition>| -> Result<(), BackendError> {
        let conditions = conditions.into_iter().map(|(arg, len, op, value)| SeccompCondition::new(arg, len, op, value));
        let rule = SeccompRule::new(conditions.collect::<Result<_, _>>()?)?;
        denied.entry(call).or_default().push(rule);
        Ok(())
    };
    // A new process, but not a new thread.
    when(SYS_clone, vec![(0, Qword, MaskedEq(CLONE_THREAD as u64), 0)])?;
    // A message to an address.
    when(SYS_sendto, vec![(4, Qword, Ne, 0)])?;
    // Signals to other processes.
    for call in [SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo] {
        when(call, vec![(0, Dword, Ne, me)])?;
    }
    // Signals on file events, and leases, which block other processes that open the file.
    for order in [F_SETOWN, F_SETOWN_EX, F_SETSIG, F_NOTIFY, F_SETLEASE] {
        when(SYS_fcntl, vec![(1, Dword, Eq, order as u64)])?;
    }
    when(SYS_fcntl, vec![(1, Dword, Eq, F_SETFL as u64), (2, Dword, MaskedEq(O_ASYNC as u64), O_ASYNC as u64)])?;
    // `ioctl` forms of these calls, and input injection into the host's terminal.
    for order in [FIOASYNC as c_int, FIOSETOWN, SIOCSPGRP, TIOCSTI as c_int, TIOCLINUX as c_int] {
        when(SYS_ioctl, vec![(1, Dword, Eq, order as u64)])?;
    }
    // Limits and CPU affinity of other processes.
    for call in [SYS_prlimit64, SYS_sched_setaffinity] {
        when(call, vec![(0, Dword, Ne, 0), (0, Dword, Ne, me)])?;
    }
    // Outliving the host, and hiding open files from the host.
    for order in [PR_SET_PDEATHSIG, PR_SET_DUMPABLE] {
        when(SYS_prctl, vec![(0, Dword, Eq, order as u64)])?;
    }
    // Opening a file for truncation without write access, which Landlock denies from Linux 6.2 on. Mode 3 is "neither
    // read nor write".
    for access in [O_RDONLY, 3] {
        when(SYS_openat, vec![(2, Dword, MaskedEq((3 | O_TRUNC) as u64), (access | O_TRUNC) as u64)])?;
        #[cfg(target_arch = "x86_64")]
        when(SYS_open, vec![(1, Dword, MaskedEq((3 | O_TRUNC) as u64), (access | O_TRUNC) as u64)])?;
    }
    // Directories that the host could not list and therefore not remove.
    for bit in [S_IRUSR, S_IWUSR, S_IXUSR].map(u64::from) {
        when(SYS_mkdirat, vec![(2, Dword, MaskedEq(bit), 0)])?;
        #[cfg(target_arch = "x86_64")]
        when(SYS_mkdir, vec![(1, Dword, MaskedEq(bit), 0)])?;
        when(SYS_umask, vec![(0, Dword, MaskedEq(bit), bit)])?;
    }
    apply(denied, EPERM)?;
    // Arguments of these calls are in memory, which a filter cannot inspect. Libraries fall back to `clone` and
    // `openat`.
    apply(BTreeMap::from([(SYS_clone3, Vec::new()), (SYS_openat2, Vec::new())]), ENOSYS)?;
    apply_filter(&newer())?;
    Ok(())
}

/// Condition on an argument of a call: index, width, comparison and value.
type Condition = (u8, SeccompCmpArgLen, SeccompCmpOp, u64);

fn apply(denied: BTreeMap<c_long, Vec<SeccompRule>>, errno: c_int) -> Result<(), Box<dyn std::error::Error>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(denied, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch)?;
    apply_filter(&seccompiler::BpfProgram::try_from(filter)?)?;
    Ok(())
}

/// Returns a filter under which calls with numbers above [`NEWEST`] fail as unknown. Among these are the calls of the
/// x32 interface, which gives high numbers to old calls.
fn newer() -> seccompiler::BpfProgram {
    let step = |code: u32, jt, jf, k| seccompiler::sock_filter { code: code as u16, jt, jf, k };
    vec![
        // The call number is the first word of the filter input.
        step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        step(BPF_JMP | BPF_JGT | BPF_K, 0, 1, NEWEST as u32),
        step(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS as u32),
        step(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW),
    ]
}
