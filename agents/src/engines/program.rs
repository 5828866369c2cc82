//! What the specs of all engines say about their program, how long it is waited for, and how its faults are reported.

use std::time::{Duration, Instant};

use ludex_protocol::Refusal;

use crate::error::AgentError;
use crate::process::{Allowance, Process, ProcessFault, Program};
use crate::spec::{AgentSpec, ArgDef, ArgKind};

pub(super) const CMD: ArgDef = ArgDef::new("cmd", ArgKind::Text, "the command line").required();
pub(super) const SANDBOX: ArgDef =
    ArgDef::new("sandbox", ArgKind::Flag, "keep the program from files, network and other programs").default("true");

/// How many lines of standard error an error quotes.
const LAST_WORDS: usize = 5;

/// The program of a spec; it is looked for when it is started.
pub(super) fn read(spec: &AgentSpec) -> Result<Program, Refusal> {
    let program = Program::new(&spec.text("cmd").unwrap_or_default())?;
    Ok(Program { sandboxed: spec.flag("sandbox"), ..program })
}

/// Its name for people, without its folder and arguments.
pub(super) fn name(program: &Program) -> &str {
    program.argv[0].rsplit('/').next().unwrap_or_default()
}

/// Runs it.
pub(super) fn start(program: &Program) -> Result<Process, AgentError> {
    program.start().map_err(|fault| {
        // Specs of ladders name engines that not every machine has.
        let engines = ["stockfish", "gnugo"];
        let hint = engines.iter().find(|&&engine| engine == program.argv[0]);
        let hint = hint.map_or(String::new(), |engine| format!(" (Debian: apt install {engine})"));
        AgentError::failed(format!("{fault}{hint}"))
    })
}

/// How long a program is waited for: as long as the agent itself allows, or until the host's deadline if that is earlier.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    until: Instant,
    /// Whether `until` is the host's deadline.
    deadline: bool,
}

impl Patience {
    pub fn new(own: Duration, deadline: Option<Instant>) -> Self {
        let until = Instant::now() + own;
        match deadline.filter(|deadline| *deadline < until) {
            Some(deadline) => Patience { until: deadline, deadline: true },
            None => Patience { until, deadline: false },
        }
    }

    /// What is left of it.
    pub fn allowance(self) -> Allowance {
        Allowance::wall(self.until.saturating_duration_since(Instant::now()))
    }

    /// Whether the fault is that the host's deadline came.
    pub fn is_late(self, fault: &ProcessFault) -> bool {
        self.deadline && matches!(fault, ProcessFault::Wall { .. })
    }

    /// The program's next line.
    pub fn line(self, process: &mut Process) -> Result<String, AgentError> {
        process.line(&self.allowance()).map_err(|fault| self.error(&fault, process))
    }

    /// A fault with the last lines that the program wrote to its standard error.
    fn error(self, fault: &ProcessFault, process: &mut Process) -> AgentError {
        let last_words = last_words(&process.errors());
        if self.is_late(fault) {
            return AgentError::late(format!("the program gave no answer before the deadline{last_words}"));
        }
        AgentError::failed(format!("{fault}{last_words}"))
    }
}

/// The last lines of standard error, as the end of a sentence; empty if it wrote nothing.
pub(super) fn last_words(errors: &str) -> String {
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("; its last words: {}", lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n"))
}
