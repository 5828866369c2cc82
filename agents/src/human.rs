//! `human`: a person at a terminal, or any program that reads and writes lines.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use ludex_env::dyn_state::DynView;
use ludex_env::{GameRef, MoveRequest, Viewer};
use ludex_protocol::{Move, Refusal, plain_text};
use parking_lot::Mutex;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::parse_move::parse_move;
use crate::spec::{AgentClass, AgentEntry, AgentSpec};

pub(crate) const ENTRY: AgentEntry =
    AgentEntry::new("human", "a person at this terminal", build).class(AgentClass::Person);

fn build(_spec: &AgentSpec, _game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    Ok(Arc::new(HumanPlayer::new(io::BufReader::new(io::stdin()), io::stdout()).with_width(width())))
}

/// Maximum number of legal moves listed in the prompt; the `?` command lists all.
const SHOWN: usize = 32;

/// Returns the terminal width in characters; `None` if standard output is not a terminal.
#[cfg(unix)]
pub fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// Returns `None`: the width is unknown on this system.
#[cfg(not(unix))]
pub fn width() -> Option<usize> {
    None
}

/// Wraps the lines of `text` between words. Continuation lines are indented by four spaces.
pub fn wrap_lines(text: &str, width: Option<usize>) -> String {
    // One column stays free for the cursor.
    let Some(width) = width.map(|width| width.max(40) - 1) else { return text.to_owned() };
    let fits = |line: &str| line.chars().count() <= width;
    let mut out: Vec<String> = Vec::new();
    for line in text.split('\n') {
        if fits(line) {
            out.push(line.to_owned());
            continue;
        }
        let mut open = String::new();
        for word in line.split_inclusive(' ') {
            let longer = format!("{open}{word}");
            if open.trim().is_empty() || fits(longer.trim_end()) {
                open = longer;
            } else {
                out.push(open.trim_end().to_owned());
                open = format!("    {word}");
            }
        }
        out.push(open.trim_end().to_owned());
    }
    out.join("\n")
}

/// Person at a terminal, represented by a reader and a writer.
///
/// Prints the view and the legal moves, then reads a move. Accepts any notation of the game, an action id, or a
/// document as JSON. After an invalid move, prints the reason and prompts again. `?` lists the legal moves; `quit` or
/// the end of input resigns. The deadline is ignored, since reading cannot be interrupted.
pub struct HumanPlayer<R, W> {
    io: Mutex<(R, W)>,
    width: Option<usize>,
}

impl<R: BufRead, W: Write> HumanPlayer<R, W> {
    pub fn new(reader: R, writer: W) -> Self {
        HumanPlayer { io: Mutex::new((reader, writer)), width: None }
    }

    /// Limits output lines to `width` characters.
    pub fn with_width(self, width: Option<usize>) -> Self {
        HumanPlayer { width, ..self }
    }

    /// Prompts until the person enters a valid move, and returns it; `None` if the person resigns.
    fn talk(&self, ask: &MoveRequest<'_>) -> io::Result<Option<Move>> {
        let mut io = self.io.lock();
        let (reader, writer) = &mut *io;
        let view = ask.view();
        let me = view.spec().seats.get(ask.seat).cloned().unwrap_or_else(|| ask.seat.to_string());
        // Texts of other players are untrusted.
        let say = |writer: &mut W, text: &str| writeln!(writer, "{}", wrap_lines(&plain_text(text), self.width));
        say(writer, &format!("\n{}", view.drawing(Viewer::Seat(ask.seat)).trim_end()))?;
        if ask.legal.len() <= SHOWN {
            say(writer, &format!("{me} to move: {}", names(ask, &*view)))?;
        } else {
            say(writer, &format!("{me} to move: {} legal moves; enter ? to list them", ask.legal.len()))?;
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
                "?" | "help" => say(writer, names(ask, &*view).trim_start())?,
                "quit" => return Ok(None),
                text => match read(ask, &*view, text) {
                    Ok(mv) => return Ok(Some(mv)),
                    Err(why) => say(writer, &format!("{why}. Enter ? to list the legal moves, or quit to resign."))?,
                },
            }
        }
    }
}

impl<R: BufRead + Send, W: Write + Send> Agent for HumanPlayer<R, W> {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let mv = self.talk(ask).map_err(|e| AgentError::failed(format!("terminal read or write failed: {e}")))?;
        Ok(mv.map_or_else(MoveReply::resign, MoveReply::new))
    }

    fn reproducible(&self) -> bool {
        false
    }

    fn is_io_bound(&self) -> bool {
        true
    }
}

/// Formats the legal moves on one line. If a move contains commas, lists each move with its id on its own line.
fn names(ask: &MoveRequest<'_>, view: &dyn DynView) -> String {
    let texts: Vec<String> = ask.legal.iter().map(|&a| view.action_text(ask.seat, a)).collect();
    let lines = texts.iter().any(|text| text.contains(", "));
    let name = |(text, &a): (String, &ludex_env::Action)| match (lines, view.gloss(ask.seat, a)) {
        (true, _) => format!("\n  {a:>5}  {text}"),
        (false, gloss) if gloss.is_empty() => text,
        (false, gloss) => format!("{text} ({gloss})"),
    };
    let all: Vec<String> = texts.into_iter().zip(ask.legal).map(name).collect();
    all.join(if lines { "" } else { ", " })
}

/// Parses an input line as a move.
///
/// # Errors
/// The game's reason why the line is not a move.
fn read(ask: &MoveRequest<'_>, view: &dyn DynView, text: &str) -> Result<Move, String> {
    if let Some(a) = view.parse(ask.seat, ask.legal, text) {
        return Ok(Move::Id(a.into()));
    }
    let given = match serde_json::from_str(text) {
        Ok(serde_json::Value::Number(n)) if n.is_i64() => Move::Id(n.as_i64().unwrap_or(-1)),
        Ok(document @ serde_json::Value::Object(_)) => Move::Document(document),
        _ => Move::Text(text.to_owned()),
    };
    parse_move(ask, view, &given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words() {
        let text = format!("short\n{}end\n\nlast", "word, ".repeat(12));
        assert_eq!(wrap_lines(&text, None), text);
        let broken = wrap_lines(&text, Some(50));
        assert!(broken.lines().all(|line| line.chars().count() < 50), "{broken}");
        assert!(broken.starts_with("short\nword, ") && broken.ends_with("end\n\nlast"), "{broken}");
        assert_eq!(broken.lines().nth(2).map(|line| line.starts_with("    word,")), Some(true), "{broken}");
        assert_eq!(broken.matches("word,").count(), 12);
        // Long words and boards stay unbroken.
        assert_eq!(wrap_lines(&"x".repeat(60), Some(50)), "x".repeat(60));
        assert_eq!(wrap_lines(" a b\n . .", Some(50)), " a b\n . .");
    }
}
