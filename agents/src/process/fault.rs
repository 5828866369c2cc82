//! What can be wrong with a program.

use std::fmt;
use std::time::Duration;

use crate::error::AgentError;

/// Why a program gave no answer. `Display` says it in one sentence, without the program's output and errors: those are for
/// its owner ([`Process::errors`](super::Process::errors)).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessFault {
    /// It was never run.
    NotStarted {
        /// What was to be run.
        program: String,
        /// Why not, and what to do about it.
        why: String,
    },
    /// It ended: with a code, or by a signal.
    Exited {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// It used more CPU time than it had for an answer.
    Cpu {
        /// How much it had.
        limit: Duration,
    },
    /// It did not answer in time by the clock, though it used little CPU time.
    Wall {
        /// How long it was waited for.
        limit: Duration,
    },
    /// It held more memory than it may.
    Memory {
        /// How many bytes it may.
        limit: u64,
    },
    /// It ran more threads than it may.
    Threads {
        /// How many it may.
        limit: u32,
    },
    /// It kept more in its folder than it may.
    Disk {
        /// How many files and folders it may.
        files: u64,
        /// How many bytes it may.
        bytes: u64,
    },
    /// It wrote more than an answer may be.
    Flood {
        /// How many bytes that is.
        limit: usize,
    },
    /// It runs, but closed its output.
    Closed,
    /// Its output is not UTF-8.
    NotText,
}

impl fmt::Display for ProcessFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessFault::NotStarted { program, why } => write!(f, "{program} was not started: {why}"),
            ProcessFault::Exited { code: Some(code), .. } => {
                write!(f, "the program ended with code {code} and without an answer")
            }
            ProcessFault::Exited { signal: Some(signal), .. } => {
                write!(f, "the program was ended by {}", named(*signal))
            }
            ProcessFault::Exited { .. } => write!(f, "the program ended without an answer"),
            ProcessFault::Cpu { limit } => {
                write!(f, "the program used more than {} of CPU time for an answer", seconds(*limit))
            }
            ProcessFault::Wall { limit } => write!(f, "the program gave no answer within {}", seconds(*limit)),
            ProcessFault::Memory { limit } => write!(f, "the program held more than {} MiB of memory", limit >> 20),
            ProcessFault::Threads { limit } => write!(f, "the program ran more than {limit} threads"),
            ProcessFault::Disk { files, bytes } => {
                write!(f, "the program kept more than {files} files or {} MiB in its folder", bytes >> 20)
            }
            ProcessFault::Flood { limit } => write!(f, "the program wrote more than {limit} bytes for one answer"),
            ProcessFault::Closed => write!(f, "the program closed its output and gave no answer"),
            ProcessFault::NotText => write!(f, "the program's answer is not UTF-8 text"),
        }
    }
}

impl std::error::Error for ProcessFault {}

impl From<ProcessFault> for AgentError {
    fn from(fault: ProcessFault) -> Self {
        AgentError::failed(fault.to_string())
    }
}

/// A duration in seconds, to the millisecond: what is left of a deadline is never a round number.
fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// A signal's number, with its name where programs commonly end by it. The numbers are the same on all Unix systems.
fn named(signal: i32) -> String {
    let name = match signal {
        4 => "illegal instruction",
        6 => "abort",
        8 => "arithmetic error, such as a division by zero",
        9 => "kill",
        11 => "segmentation fault",
        13 => "broken pipe",
        15 => "termination",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}
