//! `gtp`: Go played by an engine with the Go Text Protocol, version 2, such as GNU Go.
//!
//! Every move request sends the whole game: `boardsize`, `clear_board`, `komi`, `play` for each move so far, then a
//! move command. An engine that supports `set_random_seed` gets a seed from the turn's stream, so that GNU Go gives the
//! same move for the same key. Ludex scores the game itself and counts every stone on the board as alive. Therefore
//! `kgs-genmove_cleanup`, which captures dead stones before it passes, is preferred to `genmove`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_env::{Action, GameRef, MoveRequest, Viewer};
use ludex_games::go::View;
use ludex_protocol::Refusal;

use super::pool::Pool;
use super::program::{self, OutputDeadline, name, start};
use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::process::{ChildProcess, ProgramConfig, WALL};
use crate::spec::{AgentClass, AgentEntry, AgentSpec};
use crate::typed_access::{require_game, view};

pub(crate) const ENTRY: AgentEntry =
    AgentEntry::new("gtp", "a Go engine that speaks GTP, such as \"gnugo --mode gtp\"", build)
        .class(AgentClass::External)
        .args(&[program::CMD, program::FOLDER, program::SANDBOX]);

/// Column letters; the letter I is skipped.
const LETTERS: &[u8; 19] = b"ABCDEFGHJKLMNOPQRST";
/// Time limit for a command other than a move command.
const PATIENCE: Duration = Duration::from_secs(30);
const COLORS: [&str; 2] = ["black", "white"];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game("go", spec, game)?;
    let params = &game.spec().params;
    let number = |name: &str| params.get(name).and_then(serde_json::Value::as_f64).unwrap_or_default();
    let (size, handicap) = (number("board_size") as usize, number("handicap"));
    // Without a handicap Black starts. With one, its stones are on the board and White gets one point for each.
    let (first, points) = if handicap >= 2.0 { (1, handicap) } else { (0, 0.0) };
    let mut setup = format!("boardsize {size}\nclear_board\nkomi {}\n", number("komi") + points);
    let start = game.start().view(Viewer::Public);
    let rows = start.as_any().downcast_ref::<View>().map_or(&[][..], |view| &view.board);
    for (i, row) in rows.iter().enumerate() {
        for (column, _) in row.chars().enumerate().filter(|&(_, point)| point == 'X') {
            setup += &format!("play black {}\n", vertex(column, size - i));
        }
    }
    Ok(Arc::new(Gtp { program: program::read(spec)?, setup, first, engines: Pool::new() }))
}

/// Returns the GTP name of a point. `row` counts from 1 at the bottom, `column` from 0 at the left.
fn vertex(column: usize, row: usize) -> String {
    format!("{}{row}", char::from(LETTERS[column]))
}

struct Gtp {
    program: ProgramConfig,
    /// Commands that set up the initial position.
    setup: String,
    /// Index in `COLORS` of the color that moves first.
    first: usize,
    engines: Pool<Engine>,
}

impl Agent for Gtp {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let deadline = ask.budget().deadline();
        let seen: View = view(ask)?;
        let mut game = self.setup.clone();
        for (i, point) in seen.moves.iter().enumerate() {
            game += &format!("play {} {point}\n", COLORS[(self.first + i) & 1]);
        }
        let color = COLORS[(self.first + seen.moves.len()) & 1];
        // 31 bits: GNU Go reads a signed 32-bit number.
        let seed = ask.stream().bits() >> 33;
        let said = self.engines.ask(
            |engine| engine.all("clear_board\n", OutputDeadline::new(PATIENCE, deadline)).is_ok(),
            || Engine::start(&self.program, deadline),
            |engine| engine.genmove(&game, color, seed, deadline),
        )?;
        let said = said.trim();
        if said.eq_ignore_ascii_case("resign") {
            return Ok(MoveReply::resign());
        }
        match ask.view().parse(ask.seat, ask.legal, said) {
            Some(action) => Ok(MoveReply::id(action)),
            None => Err(AgentError::failed(self.refusal(ask, said))),
        }
    }

    /// Returns false, since engines may lack `set_random_seed`.
    fn reproducible(&self) -> bool {
        false
    }

    fn is_io_bound(&self) -> bool {
        true
    }
}

impl Gtp {
    /// Describes why the engine's move is illegal. Many engines support only the simple ko rule.
    fn refusal(&self, ask: &MoveRequest<'_>, said: &str) -> String {
        let seen = ask.view();
        let ids: Vec<Action> = (0..seen.spec().actions).collect();
        let meant = seen.parse(ask.seat, &ids, said);
        let why = meant.map(|a| seen.world(&mut ask.stream()).play(ask.seat, a));
        let why = match why {
            Some(Err(refusal)) => refusal.message,
            Some(Ok(())) | None => "the move is not in the list of legal moves".to_owned(),
        };
        format!("{} returned an illegal move {said}: {why}", name(&self.program))
    }
}

struct Engine {
    process: ChildProcess,
    /// Command that requests a move from the engine.
    genmove: &'static str,
    /// True if the engine supports `set_random_seed`.
    seeded: bool,
}

impl Engine {
    fn start(program: &ProgramConfig, deadline: Option<Instant>) -> Result<Self, AgentError> {
        let mut engine = Engine { process: start(program)?, genmove: "genmove", seeded: false };
        let known = engine.all("list_commands\n", OutputDeadline::new(PATIENCE, deadline))?;
        let knows = |command: &str| known.lines().any(|line| line.trim() == command);
        engine.seeded = knows("set_random_seed");
        if knows("kgs-genmove_cleanup") {
            engine.genmove = "kgs-genmove_cleanup";
        }
        Ok(engine)
    }

    fn genmove(&mut self, game: &str, color: &str, seed: u64, deadline: Option<Instant>) -> Result<String, AgentError> {
        self.all(game, OutputDeadline::new(PATIENCE, deadline))?;
        if self.seeded {
            self.all(&format!("set_random_seed {seed}\n"), OutputDeadline::new(PATIENCE, deadline))?;
        }
        self.all(&format!("{} {color}\n", self.genmove), OutputDeadline::new(WALL, deadline))
    }

    /// Sends commands, one per line, and returns the response to the last command.
    fn all(&mut self, commands: &str, limit: OutputDeadline) -> Result<String, AgentError> {
        self.process.send(commands);
        let mut last = String::new();
        for command in commands.lines() {
            last = response(|| limit.read_line(&mut self.process))?
                .map_err(|why| AgentError::failed(format!("engine rejected {command:?}: {why}")))?;
        }
        Ok(last)
    }
}

/// Parses a response: `=` or `?`, an optional id, then text up to the first blank line. Skips lines before the
/// response.
///
/// # Errors
/// Outer: errors of `line`. Inner: the engine's message after `?`.
fn response<E>(mut line: impl FnMut() -> Result<String, E>) -> Result<Result<String, String>, E> {
    let (mut text, good) = loop {
        let line = line()?;
        if let Some(rest) = line.strip_prefix(['=', '?']) {
            break (rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim().to_owned(), line.starts_with('='));
        }
    };
    loop {
        let more = line()?;
        if more.trim().is_empty() {
            return Ok(if good { Ok(text) } else { Err(text) });
        }
        text = format!("{text}\n{}", more.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Result<String, String>, ()> {
        let mut lines = text.lines().map(str::to_owned);
        response(|| lines.next().ok_or(()))
    }

    #[test]
    fn response_parser_accepts_ids_and_extra_lines() {
        assert_eq!(read("= C6\n\n"), Ok(Ok("C6".into())));
        assert_eq!(read("hello\n\n=12 pass\n\n"), Ok(Ok("pass".into())));
        assert_eq!(read("=\nname\nversion \n\n= more"), Ok(Ok("\nname\nversion".into())));
        assert_eq!(read("?3 illegal move\n\n"), Ok(Err("illegal move".into())));
        assert_eq!(read("= C6"), Err(()));
        assert_eq!(read("\u{e9}t\u{e9}\n"), Err(()));
    }

    #[test]
    fn column_names_skip_letter_i() {
        assert_eq!(
            (vertex(0, 1), vertex(7, 19), vertex(8, 10), vertex(18, 3)),
            ("A1".into(), "H19".into(), "J10".into(), "T3".into())
        );
    }
}
