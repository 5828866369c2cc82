//! `human`: a person at a terminal, or anything that reads and writes lines.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use ludex_env::erased::DynView;
use ludex_env::{Ask, GameRef};
use ludex_protocol::{Move, Refusal};
use parking_lot::Mutex;

use crate::agent::{Agent, Answer};
use crate::error::AgentError;
use crate::reading::understand;
use crate::spec::{AgentClass, AgentEntry, AgentSpec};

pub(crate) const ENTRY: AgentEntry = AgentEntry::new("human", "you, at this terminal", build).class(AgentClass::Person);

fn build(_spec: &AgentSpec, _game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    Ok(Arc::new(Human::new(io::BufReader::new(io::stdin()), io::stdout())))
}

/// Up to this many legal moves are listed without being asked for.
const SHOWN: usize = 32;

/// A person behind a reader and a writer. Shows the view and the legal moves; reads a move in any notation of the game, an
/// id, or a document as JSON; asks again with the reason when it does not fit. `?` lists the legal moves, `quit` (or the
/// end of input) resigns. The deadline is not kept: reading cannot be interrupted.
pub struct Human<R, W> {
    io: Mutex<(R, W)>,
}

impl<R: BufRead, W: Write> Human<R, W> {
    /// A person behind these.
    pub fn new(reader: R, writer: W) -> Self {
        Human { io: Mutex::new((reader, writer)) }
    }

    /// The move that is typed; `None` for a resignation.
    fn talk(&self, ask: &Ask<'_>) -> io::Result<Option<Move>> {
        let mut io = self.io.lock();
        let (reader, writer) = &mut *io;
        let view = ask.view();
        let me = view.spec().seats.get(ask.seat).cloned().unwrap_or_else(|| ask.seat.to_string());
        writeln!(writer, "\n{}", view.text().trim_end())?;
        if ask.legal.len() <= SHOWN {
            writeln!(writer, "{me} to move: {}", names(ask, &*view))?;
        } else {
            writeln!(writer, "{me} to move: {} legal moves, ? lists them", ask.legal.len())?;
        }
        loop {
            write!(writer, "{me}> ")?;
            writer.flush()?;
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                writeln!(writer)?;
                return Ok(None);
            }
            match line.trim() {
                "" => {}
                "?" => writeln!(writer, "{}", names(ask, &*view))?,
                "quit" => return Ok(None),
                text => match read(ask, &*view, text) {
                    Ok(mv) => return Ok(Some(mv)),
                    Err(why) => writeln!(writer, "{why}. ? lists the legal moves, quit resigns.")?,
                },
            }
        }
    }
}

impl<R: BufRead + Send, W: Write + Send> Agent for Human<R, W> {
    fn act(&self, ask: &Ask<'_>, _deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let mv = self.talk(ask).map_err(|e| AgentError::failed(format!("human: the terminal failed: {e}")))?;
        Ok(mv.map_or_else(Answer::resign, Answer::new))
    }

    fn reproducible(&self) -> bool {
        false
    }

    fn waits(&self) -> bool {
        true
    }
}

fn names(ask: &Ask<'_>, view: &dyn DynView) -> String {
    let all: Vec<String> = ask.legal.iter().map(|&a| view.action_text(ask.seat, a)).collect();
    all.join(", ")
}

/// The move that a line means, in the game's own reading, or the game's reason why it is not a move.
fn read(ask: &Ask<'_>, view: &dyn DynView, text: &str) -> Result<Move, String> {
    if let Some(a) = view.parse(ask.seat, ask.legal, text) {
        return Ok(Move::Id(a.into()));
    }
    let given = match serde_json::from_str(text) {
        Ok(serde_json::Value::Number(n)) if n.is_i64() => Move::Id(n.as_i64().unwrap_or(-1)),
        Ok(document @ serde_json::Value::Object(_)) => Move::Document(document),
        _ => Move::Text(text.to_owned()),
    };
    understand(ask, view, &given)
}
