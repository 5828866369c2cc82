//! System calls that measure and control a process and its group.

#[cfg(not(unix))]
pub(super) use other::*;
#[cfg(unix)]
pub(super) use unix::*;

use std::time::Duration;

/// Resource usage of a process with all its threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResourceUsage {
    /// CPU time since the start.
    pub(super) cpu: Duration,
    /// Memory in use, in bytes.
    pub(super) memory: u64,
    pub(super) threads: u32,
}

/// Exit status of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessExit {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

#[cfg(unix)]
mod unix {
    use std::process::Child;
    use std::time::Duration;

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    use super::{ProcessExit, ResourceUsage};

    /// Returns the current resource usage; `None` if the process has exited or the system does not report its usage.
    pub(crate) fn usage(child: &Child) -> Option<ResourceUsage> {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", child.id())).ok();
        let stat = read("stat")?;
        // The second field is the program's name in parentheses, which may contain any character.
        let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ticks = number(14)? + number(15)?;
        let cpu = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
        let pages: u64 = read("statm")?.split_whitespace().nth(1)?.parse().ok()?;
        let memory = pages * rustix::param::page_size() as u64;
        Some(ResourceUsage { cpu, memory, threads: number(20)? as u32 })
    }

    /// Returns the exit status if the process has exited. Does not reap the process, so its id, which is also its group
    /// id, stays reserved.
    pub(crate) fn try_wait(child: &mut Child) -> Option<ProcessExit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(pid(child)), options).ok()??;
        Some(ProcessExit { code: status.exit_status(), signal: status.terminating_signal() })
    }

    /// Kills the process group and reaps the process.
    pub(crate) fn end(child: &mut Child) {
        // The group no longer exists if its last process has exited.
        let _ = kill_process_group(pid(child), Signal::KILL);
        let _ = child.wait();
    }

    /// Suspends (`stop` is true) or resumes the process group.
    pub(crate) fn stop(child: &Child, stop: bool) {
        let _ = kill_process_group(pid(child), if stop { Signal::STOP } else { Signal::CONT });
    }

    fn pid(child: &Child) -> Pid {
        Pid::from_child(child)
    }
}

#[cfg(not(unix))]
mod other {
    use std::process::Child;

    use super::{ProcessExit, ResourceUsage};

    /// Returns `None`, so that only the wall-clock limit applies on this system.
    pub(crate) fn usage(_: &Child) -> Option<ResourceUsage> {
        None
    }

    /// Returns the exit status, if the process has exited.
    pub(crate) fn try_wait(child: &mut Child) -> Option<ProcessExit> {
        let status = child.try_wait().ok()??;
        Some(ProcessExit { code: status.code(), signal: None })
    }

    /// Kills and reaps the process.
    pub(crate) fn end(child: &mut Child) {
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Does nothing, since this system cannot suspend a process group.
    pub(crate) fn stop(_: &Child, _: bool) {}
}
