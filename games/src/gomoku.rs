#![doc = include_str!("gomoku.md")]

mod evaluation;
mod lines;
mod picture;
mod points;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, Alias, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::ParamError;
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::{planes, spread_bits};
use ludex_protocol::record::Record;
use ludex_protocol::spec::Params as Raw;

use crate::board::{self, LETTERS};
use crate::notation;
use crate::sgf as format;

use lines::Lines;
use points::Points;

/// Converts the parameters of OpenSpiel's `mnk(m=S,n=S,k=K)` to those of this game.
fn mnk(mut raw: Raw) -> Result<Raw, ParamError> {
    let mut number = |name: &str, usual: u32, most: u32| {
        let got = raw.remove(name).filter(|v| !v.is_null()).unwrap_or_else(|| usual.into());
        let fits = got.as_u64().and_then(|v| u32::try_from(v).ok()).filter(|v| (1..=most).contains(v));
        fits.ok_or_else(|| ParamError::value(name, got, format!("1 to {most}")))
    };
    let size = number("m", 15, MOST)?;
    let rows = number("n", 15, MOST)?;
    let connect = number("k", 5, size)?;
    if size != rows {
        return Err(ParamError::value("n", rows, format!("{size}, the value of m; only square boards are supported")));
    }
    raw.extend([("size".to_owned(), size.into()), ("connect".to_owned(), connect.into())]);
    Ok(raw)
}

/// The game on a board of the configured size.
pub struct Gomoku {
    params: Params,
    board: Points,
    cells: usize,
    lines: Lines,
    /// For each point, the points that are close enough to be candidates in search.
    around: Vec<Points>,
}

/// Parameters of the board and the winning line.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of rows and columns, 1 to 19.
    #[schemars(range(min = 1, max = 19))]
    pub size: u32,
    /// Length of a winning line, 1 to `size`.
    #[schemars(range(min = 1, max = 19))]
    pub connect: u32,
    /// Effect of a line longer than `connect`: the longer line wins (`wins`) or is ignored (`nothing`).
    #[schemars(with = "String", extend("enum" = ["wins", "nothing"]))]
    pub overline: Overline,
    /// OpenSpiel's parameter; only 2 is supported.
    #[schemars(range(min = 2, max = 2))]
    pub dims: u32,
    /// OpenSpiel's parameter; only `false` is supported.
    pub wrap: bool,
    /// OpenSpiel's parameter; only `false` is supported.
    pub anti: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { size: 15, connect: 5, overline: Overline::Wins, dims: 2, wrap: false, anti: false }
    }
}

/// Effect of a line longer than `connect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overline {
    /// The longer line wins too.
    Wins,
    /// The longer line is ignored.
    Nothing,
}

/// A position of the game. Bit `row * size + column` is a point; row 0 is the top row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    stones: [Points; 2],
    ply: u16,
    /// True if the last move won.
    won: bool,
}

/// The public information about a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Rows of `.`, `b` and `w`, the top row first.
    pub board: Vec<String>,
    /// `black` or `white`; absent when the game is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
}

/// Maximum number of rows and columns.
const MOST: u32 = 19;
const NAMES: [&str; 2] = ["black", "white"];
const MARKS: [char; 2] = ['b', 'w'];

/// Returns a game in the Smart Game Format (SGF). `moves` are (seat, action id); for `properties`, see `sgf::game`.
fn sgf(params: &Params, moves: &[(Seat, Action)], properties: &[(&str, &str)]) -> String {
    let stone = |&(seat, a): &(Seat, Action)| (seat, Some([a % params.size, a / params.size]));
    format::game(4, params.size, properties, &[], &moves.iter().map(stone).collect::<Vec<_>>())
}

impl Gomoku {
    #[inline]
    fn empty(&self, s: &State) -> Points {
        self.board & !(s.stones[0] | s.stones[1])
    }

    /// Returns the id of a point by its name, such as `h8`.
    fn point(&self, text: &str) -> Option<Action> {
        let size = self.params.size;
        let [column, row] = board::square(text, &LETTERS[..size as usize], size)?;
        Some((size - 1 - row) * size + column)
    }

    fn owner(s: &State, point: usize) -> Option<Seat> {
        (0..2).find(|&seat| s.stones[seat].has(point))
    }
}

impl Game for Gomoku {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("gomoku.j2"),
        presets: &[
            ("botzone", "{}", "Botzone: the defaults; five or more in a row win"),
            ("botzonebench", "{}", "BotzoneBench: the defaults"),
            ("qitown", r#"{"overline": "nothing"}"#, "Qi Town: exactly five in a row win; longer lines are ignored"),
        ],
        aliases: &[Alias { name: "mnk", map: mnk }],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "mcts sims=5"),
            (2, 1, "mcts sims=14"),
            (3, 1, "mcts sims=80"),
            (4, 1, "alphabeta depth=1 noise=0.5"),
            (5, 1, "alphabeta depth=1 noise=0.25"),
            (6, 1, "alphabeta depth=1 noise=0.03"),
            (7, 1, "alphabeta nodes=3000 noise=0.01"),
        ],
        notation: Some(notation::SGF),
        ..GameInfo::new("gomoku", "Gomoku", include_str!("gomoku.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        let Params { size, connect, overline, dims, wrap, anti } = params;
        if !(1..=MOST).contains(&size) {
            return Err(ParamError::value("size", size, format!("1 to {MOST}")));
        }
        if !(1..=size).contains(&connect) {
            return Err(ParamError::value("connect", connect, format!("1 to size, which is {size}")));
        }
        let only = |name: &str, got: Value, usual: Value| {
            let why = format!("{usual}; other values of OpenSpiel's parameter are not supported");
            if got == usual { Ok(()) } else { Err(ParamError::value(name, got, why)) }
        };
        only("dims", dims.into(), 2.into())?;
        only("wrap", wrap.into(), false.into())?;
        only("anti", anti.into(), false.into())?;
        let cells = (size * size) as usize;
        let lines = Lines::new(size, connect, overline == Overline::Wins);
        let around = evaluation::around(size);
        Ok(Gomoku { board: Points::first(cells), cells, lines, around, params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let size = self.params.size;
        Facts {
            tensor: Some(("board", planes(&["mine", "theirs"], &[size, size]))),
            openspiel: Some(planes(&["black", "white", "black_to_move"], &[size * size])),
            ..board::facts(NAMES, size * size, size * size)
        }
    }

    fn start(&self) -> State {
        State { stones: [Points::default(); 2], ply: 0, won: false }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if s.won || usize::from(s.ply) >= self.cells { ToMove::Over } else { ToMove::Seat(usize::from(s.ply & 1)) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            self.empty(s).iter().for_each(|i| out.put(i as Action));
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        let side = &mut s.stones[usize::from(s.ply & 1)];
        side.put(a as usize);
        s.won = self.lines.won_at(side, a as usize);
        s.ply = s.ply.saturating_add(1);
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        // A win belongs to the side that moved last.
        board::returns(s.won.then(|| usize::from(s.ply & 1 ^ 1)), out);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let size = self.params.size as usize;
        let row = |r: usize| board::row((0..size).map(|c| Self::owner(s, r * size + c)), MARKS);
        View { board: (0..size).map(row).collect(), to_move: board::to_move(self.to_move(s), NAMES) }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let size = self.params.size as usize;
        let mut s = self.start();
        for (r, row) in view.board.iter().take(size).enumerate() {
            board::stones_of(row, size, MARKS).for_each(|(c, seat)| s.stones[seat].put(r * size + c));
        }
        s.ply = (s.stones[0].len() + s.stones[1].len()) as u16;
        s.won = s.stones.iter().any(|side| side.iter().any(|i| self.lines.won_at(side, i)));
        s
    }
}

impl GameMoves for Gomoku {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let open = if self.to_move(s) == ToMove::Seat(seat) { self.empty(s) } else { Points::default() };
        spread_bits(open.words(), out);
    }

    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        self.to_move(s) == ToMove::Seat(seat) && self.empty(s).has(a as usize)
    }

    #[inline]
    fn random_action(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Action {
        let open = self.empty(s);
        open.nth(rng.below(open.len())).unwrap_or(0) as Action
    }
}

impl GameText for Gomoku {
    /// Returns the board, after a first line with the letter of the side to move. As in OpenSpiel, this line is present
    /// at the end of the game too.
    fn text(&self, view: &View) -> String {
        let stones = view.board.iter().flat_map(|row| row.chars()).filter(|&c| c != '.').count();
        let mut out = String::from(if stones.is_multiple_of(2) { "B\n" } else { "W\n" });
        view.board.iter().for_each(|row| out += &format!("{row}\n"));
        out
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        format!("{},{}", a / self.params.size, a % self.params.size)
    }

    /// Accepts `h8` (column letter, then row number from the bottom), `row,column` from 0, and the action id.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim();
        let a = match text.split_once(',') {
            Some((row, column)) => {
                let (row, column): (u32, u32) = (row.trim().parse().ok()?, column.trim().parse().ok()?);
                let fits = row < self.params.size && column < self.params.size;
                fits.then(|| row * self.params.size + column)?
            }
            None => self.point(text).or_else(|| text.parse().ok())?,
        };
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        let name = self.action_text(&self.view(s, Viewer::Public), seat, a);
        format!("{a} is {name}: the point is taken")
    }

    fn in_notation(&self, _end: &State, record: &Record) -> Result<String, String> {
        Ok(format::record_sgf(record, None, |moves, properties| sgf(&self.params, moves, properties)))
    }
}

impl GameObservation for Gomoku {
    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let sides = board::sides(who);
        for (plane, side) in out.chunks_exact_mut(self.cells).zip(sides) {
            spread_bits(s.stones[side].words(), plane);
        }
    }

    fn openspiel_tensor(&self, s: &State, _seat: Seat, out: &mut [f32]) {
        let (stones, turn) = out.split_at_mut(2 * self.cells);
        board::planes(stones, &[Some(0), Some(1)], |point| Self::owner(s, point));
        turn.fill(if s.ply & 1 == 0 { 1.0 } else { 0.0 });
    }
}

impl GameDisplay for Gomoku {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        let size = self.params.size;
        Some(Gesture::of([picture::name(size as usize, [a % size, a / size].map(|k| k as usize))]))
    }

    fn drawing(&self, view: &View, _from: Viewer) -> String {
        let lines = board::numbers(0, self.params.size);
        board::labelled(&view.board, &lines, &lines)
    }
}

impl GameSearch for Gomoku {
    /// Returns a near win or loss if threats decide the game, otherwise compares the open lines of both sides. Each
    /// stone in a line multiplies the value of the line by eight. Returns the exact result at the end of the game.
    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        Some(match self.to_move(s) {
            ToMove::Seat(mover) if mover == seat & 1 => self.guess(s),
            ToMove::Seat(_) => -self.guess(s),
            _ => {
                let mut returns = [0.0; 2];
                self.returns(s, &mut returns);
                returns[seat & 1]
            }
        })
    }

    /// Lists points near stones, the most promising first. If a line can be completed, lists only the points that
    /// complete or block it.
    fn search_moves(&self, s: &State, seat: Seat, out: &mut Vec<Action>) -> usize {
        if self.to_move(s) == ToMove::Seat(seat) { self.candidates(s, out) } else { 0 }
    }

    /// Lists winning moves, forced replies, or new threats.
    fn quiescence_moves(&self, s: &State, seat: Seat, out: &mut Vec<Action>) -> bool {
        self.to_move(s) != ToMove::Seat(seat) || self.forcing(s, out)
    }

    fn hash(&self, s: &State) -> Option<u64> {
        let words = s.stones.iter().flat_map(|side| side.words());
        Some(words.fold(0, |h: u64, w| (h.rotate_left(29) ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}

impl GameMarks for Gomoku {}
