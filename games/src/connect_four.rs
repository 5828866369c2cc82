#![doc = include_str!("connect_four.md")]

mod marks;
mod picture;

use ludex_env::draw::{Stream, scale};
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Marks, ParsedMove, Seat, ToMove, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::{planes, put_bits, spread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board;

/// The game on a board of the configured size.
pub struct ConnectFour {
    params: Params,
    shape: Shape,
    usual: bool,
    /// All winning lines, for the evaluation.
    lines: Vec<u64>,
}

/// The board as bits.
///
/// Bit `row * (columns + 1) + column` is a cell, with row 0 at the bottom. A spare column separates the rows, so that a
/// line cannot wrap around the edge. Wins are found by shifting a side's stones along each direction.
#[derive(Clone, Copy, PartialEq)]
struct Shape {
    rows: u32,
    columns: u32,
    /// Length of a winning line.
    line: u32,
    /// Number of bits from one row to the next.
    stride: u32,
    /// All cells of the board.
    board: u64,
    bottom: u64,
    /// All cells of column 0.
    file: u64,
}

/// Parameters of the board and the winning line.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of rows, 1 to 16; `rows * (columns + 1)` is at most 64.
    #[schemars(range(min = 1, max = 16))]
    pub rows: u32,
    /// Number of columns, 1 to 15.
    #[schemars(range(min = 1, max = 15))]
    pub columns: u32,
    /// Length of a winning line, 2 to 16.
    #[schemars(range(min = 2, max = 16))]
    pub x_in_row: u32,
    /// If true, the layout `openspiel` puts the observer's plane first.
    pub egocentric_obs_tensor: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { rows: 6, columns: 7, x_in_row: 4, egocentric_obs_tensor: false }
    }
}

/// A position of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    stones: [u64; 2],
    ply: u8,
    won: bool,
}

/// The public information about a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Rows of `.`, `x` and `o`, the top row first.
    pub board: Vec<String>,
    /// `x` or `o`; absent when the game is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
}

const NAMES: [&str; 2] = ["x", "o"];
const MARKS: [char; 2] = ['x', 'o'];

impl State {
    fn all(&self) -> u64 {
        self.stones[0] | self.stones[1]
    }
}

impl Shape {
    /// The standard board of 6 rows and 7 columns.
    const USUAL: Shape = Shape::new(6, 7, 4);

    const fn new(rows: u32, columns: u32, line: u32) -> Shape {
        let (stride, bottom) = (columns + 1, (1 << columns) - 1);
        let (mut board, mut file, mut row) = (0, 0, 0);
        while row < rows {
            board |= bottom << (row * stride);
            file |= 1 << (row * stride);
            row += 1;
        }
        Shape { rows, columns, line, stride, board, bottom, file }
    }

    fn bit(&self, row: u32, column: u32) -> u64 {
        1 << (row * self.stride + column)
    }

    /// Returns the lowest empty cell of every column. `all` is the set of both sides' stones.
    fn free(&self, all: u64) -> u64 {
        (all << self.stride | self.bottom) & !all & self.board
    }

    /// Returns the columns with an empty cell, as bits. `all` is the set of both sides' stones.
    fn open(&self, all: u64) -> u64 {
        !(all >> ((self.rows - 1) * self.stride)) & self.bottom
    }

    /// Returns true if the stones `b` contain a winning line.
    fn wins(&self, b: u64) -> bool {
        let ends = [1, self.stride, self.stride + 1, self.stride - 1].map(|d| {
            // `run` holds the ends of runs of `have` stones; two consecutive runs form a longer one.
            let (mut run, mut have) = (b, 1);
            while have < self.line {
                let more = have.min(self.line - have);
                run &= run.checked_shr(more * d).unwrap_or(0);
                have += more;
            }
            run
        });
        ends[0] | ends[1] | ends[2] | ends[3] != 0
    }
}

impl ConnectFour {
    /// Returns the shape of the board. With `USUAL` the shape is a constant: the compiler then folds all shifts and
    /// bounds, which halves the instructions of a step.
    #[inline]
    fn shape<const USUAL: bool>(&self) -> Shape {
        if USUAL { Shape::USUAL } else { self.shape }
    }

    #[inline]
    fn drop_stone<const USUAL: bool>(&self, s: &mut State, column: u32) {
        let (shape, all) = (self.shape::<USUAL>(), s.all());
        let side = &mut s.stones[usize::from(s.ply & 1)];
        // `free` holds the lowest empty cell of each column, so this adds at most one stone.
        *side |= shape.free(all) & shape.file.wrapping_shl(column);
        s.won = shape.wins(*side);
        s.ply = s.ply.saturating_add(1);
    }

    #[inline]
    fn put_mask<const USUAL: bool>(&self, s: &State, out: &mut [u8]) {
        let shape = self.shape::<USUAL>();
        put_bits(&mut out[..shape.columns as usize], shape.open(s.all()));
    }

    /// Writes two sets of stones as planes, row by row.
    #[inline]
    fn put_planes<const USUAL: bool>(&self, planes: [u64; 2], out: &mut [u8]) {
        let shape = self.shape::<USUAL>();
        let (rows, columns) = (shape.rows as usize, shape.columns as usize);
        let out = &mut out[..2 * rows * columns];
        for (k, stones) in planes.into_iter().enumerate() {
            for row in 0..rows {
                let (cells, at) = (stones >> (row as u32 * shape.stride), (k * rows + row) * columns);
                if columns <= 8 && at + 8 <= out.len() {
                    // Writes a whole word; the next row overwrites the excess.
                    out[at..at + 8].copy_from_slice(&spread(cells));
                } else {
                    put_bits(&mut out[at..at + columns], cells);
                }
            }
        }
    }

    fn owner(&self, s: &State, row: u32, column: u32) -> Option<Seat> {
        board::owner(s.stones, (row * self.shape.stride + column) as usize)
    }

    /// Returns all winning lines of the board.
    fn all_lines(shape: &Shape) -> Vec<u64> {
        let n = shape.line as i32;
        let on = |r: i32, c: i32| (0..shape.rows as i32).contains(&r) && (0..shape.columns as i32).contains(&c);
        let mut lines = Vec::new();
        for (r, c) in (0..shape.rows as i32).flat_map(|r| (0..shape.columns as i32).map(move |c| (r, c))) {
            for (dr, dc) in [(0, 1), (1, 0), (1, 1), (1, -1)] {
                if on(r + dr * (n - 1), c + dc * (n - 1)) {
                    let cells = (0..n).map(|i| shape.bit((r + dr * i) as u32, (c + dc * i) as u32));
                    lines.push(cells.fold(0, |line, cell| line | cell));
                }
            }
        }
        lines
    }

    /// Returns the line score of `seat` minus the opponent's, scaled into (-1, 1). If a line holds stones of only one
    /// side, that side scores the square of their number.
    fn open_lines(&self, s: &State, seat: Seat) -> f64 {
        let (mine, theirs) = (s.stones[seat], s.stones[1 - seat]);
        let worth = |b: u64| i64::from(b.count_ones().pow(2));
        let sum: i64 = self
            .lines
            .iter()
            .map(|&line| match (mine & line, theirs & line) {
                (m, 0) => worth(m),
                (0, t) => -worth(t),
                _ => 0,
            })
            .sum();
        let bound = i64::from(self.params.x_in_row.pow(2)) * self.lines.len() as i64;
        sum as f64 / (bound + 1) as f64
    }
}

impl Game for ConnectFour {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("connect_four.j2"),
        presets: &[
            ("gtbench", "{}", "GTBench's game: the defaults"),
            ("llmarena", "{}", "LLMArena's game: the defaults"),
        ],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "alphabeta depth=1 noise=0.1"),
            (2, 1, "alphabeta depth=3 noise=0.1"),
            (3, 1, "alphabeta depth=4 noise=0.02"),
            (4, 1, "mcts sims=300"),
            (4, 2, "alphabeta depth=8 noise=0.02"),
            (5, 1, "solver"),
        ],
        marks: marks::DOCS,
        ..GameInfo::new("connect_four", "Connect Four", include_str!("connect_four.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let Params { rows, columns, x_in_row, .. } = params;
        if rows * (columns + 1) > 64 {
            return Err(ParamError::value(
                "rows",
                rows,
                format!("rows * (columns + 1) of at most 64, with columns = {columns}"),
            ));
        }
        let shape = Shape::new(rows, columns, x_in_row);
        Ok(ConnectFour { lines: Self::all_lines(&shape), usual: shape == Shape::USUAL, shape, params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let Shape { rows, columns, .. } = self.shape;
        Facts {
            tensor: Some(("board", planes(&["mine", "theirs"], &[rows, columns]))),
            openspiel: Some(planes(&["x", "o", "empty"], &[rows, columns])),
            ..board::facts(NAMES, columns, rows * columns)
        }
    }

    fn start(&self) -> State {
        State { stones: [0; 2], ply: 0, won: false }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        let full = u32::from(s.ply) >= self.shape.rows * self.shape.columns;
        if s.won || full { ToMove::Over } else { ToMove::Seat(usize::from(s.ply & 1)) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            let open = self.shape.open(s.all());
            (0..self.shape.columns).filter(|c| open >> c & 1 == 1).for_each(|c| out.put(c));
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        if self.usual { self.drop_stone::<true>(s, a) } else { self.drop_stone::<false>(s, a) }
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        // A win belongs to the side that moved last.
        board::returns(s.won.then(|| usize::from(s.ply & 1 ^ 1)), out);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let Shape { rows, columns, .. } = self.shape;
        let row = |row| board::row((0..columns).map(|c| self.owner(s, row, c)), MARKS);
        View { board: (0..rows).rev().map(row).collect(), to_move: board::to_move(self.to_move(s), NAMES) }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let (mut s, board) = (self.start(), &self.shape);
        for (row, line) in (0..board.rows).zip(view.board.iter().rev()) {
            for (c, seat) in board::stones_of(line, board.columns as usize, MARKS) {
                s.stones[seat] |= board.bit(row, c as u32);
            }
        }
        s.ply = (s.stones[0].count_ones() + s.stones[1].count_ones()) as u8;
        s.won = board.wins(s.stones[0]) || board.wins(s.stones[1]);
        s
    }
}

impl GameMoves for ConnectFour {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        if self.to_move(s) != ToMove::Seat(seat) {
            out.fill(0);
        } else if self.usual {
            self.put_mask::<true>(s, out);
        } else {
            self.put_mask::<false>(s, out);
        }
    }

    #[inline]
    fn random_action(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Action {
        let mut open = self.shape.open(s.all());
        for _ in 0..scale(rng.bits(), u64::from(open.count_ones())) {
            open &= open - 1;
        }
        open.trailing_zeros().min(self.shape.columns - 1)
    }
}

impl GameText for ConnectFour {
    fn text(&self, view: &View) -> String {
        let mut out = view.board.join("\n");
        out.push('\n');
        out
    }

    fn action_text(&self, _view: &View, seat: Seat, a: Action) -> String {
        format!("{}{a}", NAMES[seat & 1])
    }

    /// In addition to the action text, accepts a column number, counted from 0.
    fn parse(&self, view: &View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim();
        let named = |&a: &Action| self.action_text(view, seat, a).eq_ignore_ascii_case(text);
        let a = text.parse().ok().or_else(|| legal.iter().copied().find(named))?;
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, _s: &State, _seat: Seat, a: Action) -> String {
        format!("column {a} is full")
    }
}

impl GameObservation for ConnectFour {
    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let planes = board::sides(who).map(|side| s.stones[side]);
        if self.usual { self.put_planes::<true>(planes, out) } else { self.put_planes::<false>(planes, out) }
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        let first = if self.params.egocentric_obs_tensor { seat & 1 } else { 0 };
        let columns = self.shape.columns as usize;
        let owner = |cell| self.owner(s, (cell / columns) as u32, (cell % columns) as u32);
        board::planes(out, &[Some(first), Some(1 - first), None], owner);
    }
}

impl GameDisplay for ConnectFour {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Returns one click: the column, named by its number.
    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        Some(Gesture::of([a.to_string()]))
    }

    fn drawing(&self, view: &View, _from: Viewer) -> String {
        board::labelled(&view.board, &board::numbers(0, self.params.columns), &[])
    }
}

impl GameSearch for ConnectFour {
    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        Some(self.open_lines(s, seat & 1))
    }

    fn hash(&self, s: &State) -> Option<u64> {
        // One side's stones, and the sum of all stones and the bottom row, identify the position. They are mixed so
        // that the low bits can serve as an index.
        Some(
            (s.stones[0].rotate_left(29) ^ (s.all() + self.shape.bottom).wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .wrapping_mul(0xd6e8_feb8_6659_fd93),
        )
    }
}

impl GameMarks for ConnectFour {
    fn marks(&self, before: &State, _joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        self.count(before, after, out);
    }
}
