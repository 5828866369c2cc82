//! Program settings that all engine specs share, time limits for output, and errors for program faults.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ludex_protocol::Refusal;

use crate::error::AgentError;
use crate::process::{ChildProcess, ProcessFault, ProgramConfig, TimeBudget};
use crate::spec::{AgentSpec, ArgDef, ArgKind};

pub(super) const CMD: ArgDef = ArgDef::new("cmd", ArgKind::Text, "command line of the program").required();
pub(super) const SANDBOX: ArgDef =
    ArgDef::new("sandbox", ArgKind::Flag, "deny the program access to files, network and other programs")
        .default("true");

pub(super) const FOLDER: ArgDef =
    ArgDef::new("folder", ArgKind::Text, "folder that the sandboxed program may read, in addition to its own file");

/// Hint after an error of a program that was denied access to a file.
const FOLDER_HINT: &str = "; in the sandbox, a program reads its own file only, unless its spec has folder=DIR";

/// Maximum number of standard error lines quoted in an error.
const LAST_WORDS: usize = 5;

/// Parses the program settings of a spec. The program file is looked up when the program starts.
pub(super) fn read(spec: &AgentSpec) -> Result<ProgramConfig, Refusal> {
    let program = ProgramConfig::new(&spec.text("cmd").unwrap_or_default())?;
    let folder = spec.text("folder").map(PathBuf::from);
    Ok(ProgramConfig { sandboxed: spec.flag("sandbox"), folder, ..program })
}

/// Returns the program's file name without directory and arguments.
pub(super) fn name(program: &ProgramConfig) -> &str {
    program.argv[0].rsplit('/').next().unwrap_or_default()
}

pub(super) fn start(program: &ProgramConfig) -> Result<ChildProcess, AgentError> {
    program.start().map_err(|fault| {
        // Not every machine has the engines that anchor ladders name.
        let engines = ["stockfish", "gnugo"];
        let hint = engines.iter().find(|&&engine| engine == program.argv[0]);
        let hint = hint.map_or(String::new(), |engine| format!(" (Debian: apt install {engine})"));
        AgentError::failed(format!("{fault}{hint}"))
    })
}

/// Time limit for a program's output: the agent's own limit or the host's deadline, whichever comes first.
#[derive(Clone, Copy)]
pub(super) struct OutputDeadline {
    until: Instant,
    /// True if `until` is the host's deadline.
    deadline: bool,
}

impl OutputDeadline {
    pub fn new(own: Duration, deadline: Option<Instant>) -> Self {
        let until = Instant::now() + own;
        match deadline.filter(|deadline| *deadline < until) {
            Some(deadline) => OutputDeadline { until: deadline, deadline: true },
            None => OutputDeadline { until, deadline: false },
        }
    }

    /// Returns the remaining time as a budget.
    pub fn budget(self) -> TimeBudget {
        TimeBudget::wall(self.until.saturating_duration_since(Instant::now()))
    }

    /// Returns true if the fault is a timeout caused by the host's deadline.
    pub fn is_late(self, fault: &ProcessFault) -> bool {
        self.deadline && matches!(fault, ProcessFault::Wall { .. })
    }

    /// Reads the program's next line.
    pub fn read_line(self, process: &mut ChildProcess) -> Result<String, AgentError> {
        process.read_line(&self.budget()).map_err(|fault| self.error(&fault, process))
    }

    /// Converts a fault to an error that quotes the last lines of standard error.
    fn error(self, fault: &ProcessFault, process: &mut ChildProcess) -> AgentError {
        let stderr_tail = stderr_tail(&process.errors());
        if self.is_late(fault) {
            return AgentError::late(format!("the program did not reply before the deadline{stderr_tail}"));
        }
        AgentError::failed(format!("{fault}{stderr_tail}"))
    }
}

/// Formats the last lines of standard error as a suffix for an error; empty if nothing was written.
pub(super) fn stderr_tail(errors: &str) -> String {
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return String::new();
    }
    let hint = if errors.contains("ermission denied") { FOLDER_HINT } else { "" };
    format!("; last lines of stderr: {}{hint}", lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_error_suggests_the_folder_argument() {
        assert!(stderr_tail("open: Permission denied\n").ends_with(FOLDER_HINT));
        assert!(stderr_tail("PermissionError: [Errno 13] Permission denied: 'w.bin'").contains("folder=DIR"));
        assert_eq!(
            (stderr_tail("no move"), stderr_tail(" \n")),
            ("; last lines of stderr: no move".into(), String::new())
        );
    }
}
