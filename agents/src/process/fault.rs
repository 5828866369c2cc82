//! Faults of programs.

use std::fmt;
use std::time::Duration;

use crate::error::AgentError;

/// Reason why a program did not reply. `Display` writes one sentence. It omits the program's output and errors, which
/// only the program's owner may read ([`ChildProcess::errors`](super::ChildProcess::errors)).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessFault {
    /// Failure to start the program.
    NotStarted {
        /// Command line of the program.
        program: String,
        /// Reason for the failure, with a remedy.
        why: String,
    },
    /// Exit without a reply.
    Exited {
        code: Option<i32>,
        /// Signal that killed the program.
        signal: Option<i32>,
    },
    /// CPU time limit exceeded.
    Cpu {
        /// CPU time limit of one reply.
        limit: Duration,
    },
    /// Wall-clock time limit reached without a reply.
    Wall {
        /// Wall-clock limit of one reply.
        limit: Duration,
    },
    Memory {
        /// Memory limit in bytes.
        limit: u64,
    },
    Threads {
        /// Maximum number of threads.
        limit: u32,
    },
    Disk {
        /// Maximum number of files and directories.
        files: u64,
        /// Maximum number of bytes.
        bytes: u64,
    },
    Flood {
        /// Maximum size of one reply in bytes.
        limit: usize,
    },
    /// Output closed by the program, which still runs.
    Closed,
    /// Output that is not UTF-8.
    NotText,
}

impl fmt::Display for ProcessFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessFault::NotStarted { program, why } => write!(f, "{program} was not started: {why}"),
            ProcessFault::Exited { code: Some(code), .. } => {
                write!(f, "the program exited with code {code} and without a reply")
            }
            ProcessFault::Exited { signal: Some(signal), .. } => {
                write!(f, "the program was killed by {}", signal_name(*signal))
            }
            ProcessFault::Exited { .. } => write!(f, "the program exited without a reply"),
            ProcessFault::Cpu { limit } => {
                write!(f, "the program used more than {} of CPU time for one reply", seconds(*limit))
            }
            ProcessFault::Wall { limit } => write!(f, "the program did not reply within {}", seconds(*limit)),
            ProcessFault::Memory { limit } => write!(f, "the program used more than {} MiB of memory", limit >> 20),
            ProcessFault::Threads { limit } => write!(f, "the program ran more than {limit} threads"),
            ProcessFault::Disk { files, bytes } => {
                write!(f, "the program stored more than {files} files or {} MiB in its directory", bytes >> 20)
            }
            ProcessFault::Flood { limit } => write!(f, "the program wrote more than {limit} bytes for one reply"),
            ProcessFault::Closed => write!(f, "the program closed its output without a reply"),
            ProcessFault::NotText => write!(f, "the program's reply is not UTF-8 text"),
        }
    }
}

impl std::error::Error for ProcessFault {}

impl From<ProcessFault> for AgentError {
    fn from(fault: ProcessFault) -> Self {
        AgentError::failed(fault.to_string())
    }
}

/// Formats a duration in seconds, rounded to milliseconds.
fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// Formats a signal as its number, followed by its name if the signal is common. Common signals have the same number on
/// all Unix systems.
fn signal_name(signal: i32) -> String {
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
