//! What the specs of all engines say about their program, and how its faults are told.

use crate::error::AgentError;
use crate::process::{Fault, Process, Program};
use crate::spec::{AgentSpec, ArgDef, ArgKind};

pub(super) const CMD: ArgDef = ArgDef::new("cmd", ArgKind::Text, "the command line").required();
pub(super) const SANDBOX: ArgDef =
    ArgDef::new("sandbox", ArgKind::Flag, "keep the program from files, network and other programs").default("true");

/// How many lines of standard error an error quotes.
const LAST_WORDS: usize = 5;

/// The program of a spec; it is looked for when it is started.
pub(super) fn read(spec: &AgentSpec) -> Result<Program, AgentError> {
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

/// A fault with the last lines that the program wrote to its standard error.
pub(super) fn failed(fault: Fault, process: &mut Process) -> AgentError {
    AgentError::failed(format!("{fault}{}", last_words(&process.errors())))
}

/// The last lines of standard error, as the end of a sentence; nothing if there are none.
pub(super) fn last_words(errors: &str) -> String {
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("; its last words: {}", lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n"))
}
