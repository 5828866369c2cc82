//! `botzone`: a program written for botzone.org.cn.
//!
//! Such a program runs once per turn. It reads all requests and its own earlier responses of the match as one line of
//! JSON, and writes its next response. A program that prints a keep-running line stays alive and then reads one request
//! per turn. Each game has a module here that defines its messages.

mod ataxx;
mod chess;
mod codec;
mod fight_the_landlord;
mod games;
mod go;
mod grid;
mod limits;
mod log;
#[cfg(test)]
mod mahjong_tests;
mod mcr_mahjong;
mod message;
mod program_cache;
#[cfg(test)]
mod tests;
mod texas_holdem;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;

use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::{Move, Refusal};

use super::program::{self, OutputDeadline, stderr_tail};
use crate::agent::{Agent, MoveReply};
use crate::error::{AgentError, ErrorKind};
use crate::process::{ChildProcess, ProcessFault, ProcessLimits, ProgramConfig, TimeBudget};
use crate::refusal::{bad_value, does_not_play};
use crate::spec::{AgentClass, AgentEntry, AgentSpec, ArgDef, ArgKind};

use codec::{Codec, PastTurn, TurnLog};
use games::codec;
use limits::Times;
use log::OwnerLog;
use message::{KEEP, MessageFormat, ProgramReply};
use program_cache::{HistoryKey, ProgramCache};

/// Maximum number of consecutive blank outputs that are skipped when a persistent program replies.
const BLANKS: usize = 8;

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "botzone",
    "a program that speaks Botzone's JSON or its simplified interaction",
    build,
)
.class(AgentClass::External)
.args(&[
    program::CMD,
    ArgDef::new("io", ArgKind::Text, "json or simple").default("json"),
    ArgDef::new("eof", ArgKind::Flag, "close the program's input after the request, so it cannot keep running")
        .default("false"),
    ArgDef::new(
        "cpu",
        ArgKind::Number { min: 0.1, max: 3600.0 },
        "CPU seconds per turn, doubled for the first turn of a match; if absent, Botzone's limit for the language",
    ),
    ArgDef::new("memory", ArgKind::Int { min: 16, max: 1 << 16 }, "memory limit in MiB").default("256"),
    ArgDef::new("log", ArgKind::Text, "file for its debug output and standard error, readable only by its owner"),
    program::FOLDER,
    program::SANDBOX,
]);

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let codec = codec(spec, game)?;
    let form = match spec.text("io").unwrap_or_default().as_str() {
        "json" => MessageFormat::Json,
        "simple" => {
            let Some(fields) = codec.simple else {
                let why = "Botzone has no simplified interaction for it";
                return Err(does_not_play("botzone io=simple", &game.spec().string, why, "use io=json"));
            };
            MessageFormat::Simple(fields)
        }
        other => return Err(bad_value("io", other, "json or simple")),
    };
    let program = program::read(spec)?;
    let limits =
        ProcessLimits { memory: spec.int("memory").unwrap_or(256) << 20, output: 1 << 20, ..ProcessLimits::default() };
    let times = spec.number("cpu").map_or_else(|| Times::of(&program.argv), |s| Times::all(Duration::from_secs_f64(s)));
    let program = ProgramConfig { limits, ..program };
    let log = spec.text("log").map(|path| OwnerLog::open(&path)).transpose()?;
    Ok(Arc::new(Botzone { codec, form, eof: spec.flag("eof"), program, times, log, memory: Mutex::default() }))
}

/// Agent that runs a program with Botzone's protocol.
struct Botzone {
    codec: &'static Codec,
    form: MessageFormat,
    /// True if the program reads its input to the end before it replies, so the input must be closed.
    eof: bool,
    program: ProgramConfig,
    times: Times,
    log: Option<OwnerLog>,
    memory: Mutex<ProgramCache>,
}

impl Agent for Botzone {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let talk = (self.codec.talk)(ask)?;
        let course = HistoryKey::before(ask.seat, &talk);
        // An earlier turn may already contain the response to this request.
        let known = talk.again.and_then(|_| self.memory.lock().answer(&course));
        if let Some(action) = known.and_then(|response| (self.codec.read)(ask, &response)) {
            return Ok(MoveReply::id(action));
        }
        let answered = self.ask(&course, &talk, ask.budget().deadline());
        self.log_turn(ask, &answered)?;
        let TurnResponse { reply, program, .. } = match answered {
            Ok(answered) => answered,
            Err(failed) => return self.reply_to_failure(&failed),
        };
        let Some(action) = (self.codec.read)(ask, &reply.response) else {
            return self.reply_to_illegal(ask, &reply.response, course, &talk, program);
        };
        let after = course.after(&talk, talk.again.unwrap_or(action));
        let mut memory = self.memory.lock();
        if self.codec.idle.is_some() {
            memory.keep_answer(course, reply.response);
        }
        if let Some(data) = reply.data {
            memory.keep_data(after.clone(), data);
        }
        if reply.globaldata.is_some() {
            memory.globaldata = reply.globaldata;
        }
        drop(memory);
        self.keep(after, program);
        Ok(MoveReply::id(action))
    }

    fn reproducible(&self) -> bool {
        false
    }

    fn is_io_bound(&self) -> bool {
        true
    }

    fn needs_history(&self) -> bool {
        true
    }

    fn enter(&self) {
        self.memory.lock().matches += 1;
    }

    fn leave(&self) {
        let mut memory = self.memory.lock();
        memory.matches = memory.matches.saturating_sub(1);
        let idle = if memory.matches == 0 { memory.take_programs() } else { VecDeque::new() };
        drop(memory);
        // The processes terminate here, where the lock is not held.
        drop(idle);
    }
}

/// Reason why a turn has no response.
enum Failure {
    /// Fault of the program.
    Fault(ProcessFault),
    /// Host's deadline missed before Botzone's time limit was reached.
    Late,
    Malformed(String),
    /// Response other than a pass in a turn without a decision.
    Untimely(String),
}

impl Failure {
    /// Returns Botzone's verdict and a description. A program that could not be started gets no verdict.
    fn words(&self) -> (Option<&'static str>, String) {
        let fault = match self {
            Failure::Malformed(output) if output.is_empty() => {
                return (Some("NJ"), "expected a response from the program, got none".into());
            }
            Failure::Malformed(output) => return (Some("NJ"), format!("invalid program output: {}", short(output))),
            Failure::Untimely(response) => {
                return (None, format!("expected a pass in a turn without a decision, got {}", short(response)));
            }
            Failure::Late => return (Some("TLE"), "the program did not reply before the deadline".into()),
            Failure::Fault(fault) => fault,
        };
        let word = match fault {
            ProcessFault::NotStarted { .. } => None,
            ProcessFault::Cpu { .. } | ProcessFault::Wall { .. } => Some("TLE"),
            ProcessFault::Memory { .. } => Some("MLE"),
            ProcessFault::Flood { .. } | ProcessFault::Disk { .. } => Some("OLE"),
            ProcessFault::NotText => Some("NJ"),
            ProcessFault::Exited { .. } | ProcessFault::Threads { .. } | ProcessFault::Closed => Some("RE"),
        };
        (word, fault.to_string())
    }
}

/// Reply of the program. Includes the process if it keeps running, and the last standard error output if a log is
/// written.
struct TurnResponse {
    reply: ProgramReply,
    program: Option<ChildProcess>,
    errors: String,
}

/// Failure of a turn, and the program's last standard error output.
struct FailedTurn {
    failure: Failure,
    errors: String,
}

impl Botzone {
    /// Appends the turn to the owner's log, if there is one.
    fn log_turn(&self, ask: &MoveRequest<'_>, answered: &Result<TurnResponse, FailedTurn>) -> Result<(), AgentError> {
        let Some(log) = &self.log else { return Ok(()) };
        let told = match answered {
            Ok(TurnResponse { reply, errors, .. }) => log.add(ask.seat, ask.turn, Ok(reply), errors),
            Err(FailedTurn { failure, errors }) => log.add(ask.seat, ask.turn, Err(&failure.words().1), errors),
        };
        told.map_err(|e| AgentError::failed(format!("botzone: cannot write the log: {e}")))
    }

    /// Requests the program's reply for the current turn, from an idle program if possible.
    fn ask(&self, course: &HistoryKey, talk: &TurnLog, deadline: Option<Instant>) -> Result<TurnResponse, FailedTurn> {
        let is_idle = |turn: &PastTurn| self.codec.idle.is_some_and(|idle| turn.response == idle);
        // A persistent program does not receive turns without a decision, so its history may lack the latest turns.
        let idle = talk.turns.iter().rev().take_while(|turn| is_idle(turn)).count();
        let waiting = self.memory.lock().program(course, talk.turns.len() - idle);
        let time = |kept_running: bool| {
            let own = TimeBudget::cpu(self.times.of_turn(talk.turns.is_empty(), kept_running));
            TurnLimits { cpu: own.cpu, deadline: OutputDeadline::new(own.wall, deadline) }
        };
        let failed = |failure: Failure, mut program: ChildProcess| FailedTurn { errors: program.errors(), failure };
        let answered = |reply: ProgramReply, mut program: ChildProcess, keeps_running: bool| {
            let errors = self.log.as_ref().map(|_| program.errors()).unwrap_or_default();
            TurnResponse { reply, program: keeps_running.then_some(program), errors }
        };
        if let Some((mut program, heard)) = waiting {
            for turn in &talk.turns[heard..] {
                program.send(&self.form.request(&turn.request));
                match later_reply(self.form, &mut program, time(true)) {
                    Ok(reply) if reply.response == turn.response => {}
                    Ok(reply) => return Err(failed(Failure::Untimely(reply.response.to_string()), program)),
                    Err(failure) => return Err(failed(failure, program)),
                }
            }
            program.send(&self.form.request(&talk.now));
            return match later_reply(self.form, &mut program, time(true)) {
                Ok(reply) => Ok(answered(reply, program, true)),
                Err(failure) => Err(failed(failure, program)),
            };
        }
        let input = {
            let memory = self.memory.lock();
            self.form.history(talk, memory.data(course), memory.globaldata.as_ref())
        };
        let started = self.program.start();
        let mut program =
            started.map_err(|fault| FailedTurn { failure: Failure::Fault(fault), errors: String::new() })?;
        program.send(&input);
        if self.eof {
            program.close_input();
        }
        match first_reply(self.form, &mut program, time(false)) {
            Ok((reply, keeps_running)) => Ok(answered(reply, program, keeps_running && !self.eof)),
            Err(failure) => Err(failed(failure, program)),
        }
    }

    /// Suspends a running program and stores it for the turn after `course`.
    fn keep(&self, course: HistoryKey, program: Option<ChildProcess>) {
        let Some(mut program) = program else { return };
        program.suspend();
        let oldest = self.memory.lock().keep_program(course, program);
        // The process terminates here, where the lock is not held.
        drop(oldest);
    }

    /// Converts a failed turn to a reply or an error. The reply is Botzone's fallback action, if the game has one and
    /// the failure has a verdict on Botzone. A missed deadline is always an error.
    fn reply_to_failure(&self, failed: &FailedTurn) -> Result<MoveReply, AgentError> {
        let (word, why) = failed.failure.words();
        let said = word.map_or_else(|| why.clone(), |word| format!("{word}: {why}"));
        let late = matches!(failed.failure, Failure::Late);
        if let (Some(action), Some(_), false) = (self.codec.fallback, word, late) {
            return Ok(MoveReply::id(action).note("botzone", said));
        }
        let hint = match failed.failure {
            Failure::Late | Failure::Fault(ProcessFault::Wall { .. }) if !self.eof => {
                ". A program that reads to the end of its input needs eof=true"
            }
            _ => "",
        };
        let kind = if late { ErrorKind::Late } else { ErrorKind::Failed };
        Err(AgentError::new(kind, format!("botzone: {said}{hint}{}", stderr_tail(&failed.errors))))
    }

    /// Converts an illegal response to a reply: Botzone's fallback action, or text that no game accepts as a move.
    fn reply_to_illegal(
        &self,
        ask: &MoveRequest<'_>,
        response: &Value,
        course: HistoryKey,
        talk: &TurnLog,
        program: Option<ChildProcess>,
    ) -> Result<MoveReply, AgentError> {
        let said = format!("botzone answered {}", short(&response.to_string()));
        if let Some(action) = self.codec.fallback {
            // The match continues, and so does the program.
            self.keep(course.after(talk, action), program);
            return Ok(MoveReply::id(action).note("botzone", format!("{said}, which is not legal")));
        }
        if ask.view().parse(ask.seat, ask.legal, &said).is_some() {
            return Err(AgentError::failed(format!("{said}, which is not a legal response")));
        }
        Ok(MoveReply::new(Move::Text(said)))
    }
}

/// Time limits for one turn of a program.
#[derive(Clone, Copy)]
struct TurnLimits {
    cpu: Option<Duration>,
    deadline: OutputDeadline,
}

impl TurnLimits {
    /// Returns the time budget for the next output.
    fn budget(self) -> TimeBudget {
        TimeBudget { cpu: self.cpu, ..self.deadline.budget() }
    }

    fn failure(self, fault: ProcessFault) -> Failure {
        if self.deadline.is_late(&fault) { Failure::Late } else { Failure::Fault(fault) }
    }
}

/// Reads the reply of a newly started program. Returns the reply, and true if the program keeps running.
fn first_reply(
    form: MessageFormat,
    program: &mut ChildProcess,
    time: TurnLimits,
) -> Result<(ProgramReply, bool), Failure> {
    let (output, keeps_running) = program.read_until(KEEP, &time.budget()).map_err(|fault| time.failure(fault))?;
    let reply = form.reply(&output).ok_or(Failure::Malformed(output))?;
    Ok((reply, keeps_running))
}

/// Reads the reply of a persistent program.
///
/// Only some programs print the keep-running line in every turn. A JSON reply is a single line, so this function does
/// not wait for the keep-running line after it. Instead, the line is skipped before the next reply.
fn later_reply(form: MessageFormat, program: &mut ChildProcess, time: TurnLimits) -> Result<ProgramReply, Failure> {
    let mut output = String::new();
    for _ in 0..BLANKS {
        let read = match form {
            MessageFormat::Json => program.read_line(&time.budget()).map(|line| line.replace(KEEP, "")),
            MessageFormat::Simple(_) => program.read_until(KEEP, &time.budget()).map(|(text, _)| text),
        };
        output = read.map_err(|fault| time.failure(fault))?;
        if !output.trim().is_empty() {
            break;
        }
    }
    let reply = form.reply(&output).ok_or(Failure::Malformed(output))?;
    // A persistent program stores its data itself.
    Ok(ProgramReply { data: None, globaldata: None, ..reply })
}

/// Shortens a text to at most 200 characters on one line.
fn short(text: &str) -> String {
    let line = text.trim().replace(['\n', '\r'], " ");
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}
