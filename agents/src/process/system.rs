//! What is asked of the system about a process and its group.

#[cfg(not(unix))]
pub(super) use other::*;
#[cfg(unix)]
pub(super) use unix::*;

use std::time::Duration;

/// What a process uses, with all its threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// CPU time since it began.
    pub(super) cpu: Duration,
    /// Bytes of memory that it holds.
    pub(super) memory: u64,
    /// How many threads it has.
    pub(super) threads: u32,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

#[cfg(unix)]
mod unix {
    use std::process::Child;
    use std::time::Duration;

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    use super::{End, Usage};

    /// What it uses now; `None` once it is gone, and where the system does not tell.
    pub(crate) fn usage(child: &Child) -> Option<Usage> {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", child.id())).ok();
        let stat = read("stat")?;
        // The second field is the program's name in brackets, which may hold anything.
        let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ticks = number(14)? + number(15)?;
        let cpu = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
        let pages: u64 = read("statm")?.split_whitespace().nth(1)?.parse().ok()?;
        let memory = pages * rustix::param::page_size() as u64;
        Some(Usage { cpu, memory, threads: number(20)? as u32 })
    }

    /// How it ended, if it did. It is not reaped yet, so its id, which is also the id of its group, is not given to another.
    pub(crate) fn ended(child: &mut Child) -> Option<End> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(pid(child)), options).ok()??;
        Some(End { code: status.exit_status(), signal: status.terminating_signal() })
    }

    /// Ends it and all of its group at once, and reaps it.
    pub(crate) fn end(child: &mut Child) {
        // The group is gone already when its last process is.
        let _ = kill_process_group(pid(child), Signal::KILL);
        let _ = child.wait();
    }

    /// Stops the group, or lets it continue.
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

    use super::{End, Usage};

    /// Unknown on this system: only the limit by the clock holds.
    pub(crate) fn usage(_: &Child) -> Option<Usage> {
        None
    }

    /// How it ended, if it did.
    pub(crate) fn ended(child: &mut Child) -> Option<End> {
        let status = child.try_wait().ok()??;
        Some(End { code: status.code(), signal: None })
    }

    /// Ends it and reaps it.
    pub(crate) fn end(child: &mut Child) {
        let _ = child.kill();
        let _ = child.wait();
    }

    /// This system cannot stop a group.
    pub(crate) fn stop(_: &Child, _: bool) {}
}
