#![doc = include_str!("connect_four.md")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

use crate::draw::{Stream, scale};
use crate::game::{Action, Facts, Game, Seat, Sink, Turn, Viewer};
use crate::params::ParamError;
use crate::registry::Entry;
use crate::tensor::{planes, spread};

/// The registry's line.
pub const ENTRY: Entry = Entry::of::<ConnectFour>(&[]);

/// The rules on a board of given size.
///
/// Cells are bits, `row * (columns + 1) + column` with row 0 at the bottom: the spare column keeps lines from running
/// over the edge, and a win is found by shifting the mover's bits along each direction.
pub struct ConnectFour {
    params: Params,
    rows: u32,
    columns: u32,
    /// Bits from one row to the next.
    stride: u32,
    /// All cells of the board.
    board: u64,
    /// The bottom row.
    bottom: u64,
    /// Column 0.
    file: u64,
    /// Every line that wins, for the evaluation.
    lines: Vec<u64>,
}

/// Size of the board and of the line.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rows, 1 to 16; `rows * (columns + 1)` is at most 64.
    #[schemars(range(min = 1, max = 16))]
    pub rows: u32,
    /// Columns, 1 to 15.
    #[schemars(range(min = 1, max = 15))]
    pub columns: u32,
    /// How many in a line win, 2 to 16.
    #[schemars(range(min = 2, max = 16))]
    pub x_in_row: u32,
    /// Whether the layout `openspiel` puts the observer's plane first.
    pub egocentric_obs_tensor: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { rows: 6, columns: 7, x_in_row: 4, egocentric_obs_tensor: false }
    }
}

/// One position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    stones: [u64; 2],
    ply: u8,
    won: bool,
}

/// What everybody sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Rows of `.`, `x` and `o`, the top row first.
    pub board: Vec<String>,
    /// `x` or `o`; absent when the game is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
}

const NAMES: [&str; 2] = ["x", "o"];

impl ConnectFour {
    #[inline]
    fn free(&self, s: &State) -> u64 {
        // The lowest empty cell of every column: one above the top stone, or the bottom.
        let all = s.stones[0] | s.stones[1];
        (all << self.stride | self.bottom) & !all & self.board
    }

    /// The columns of the cells in `free` as bits 0..columns; `free` holds at most one cell per column.
    #[inline]
    fn open(&self, s: &State) -> u64 {
        let all = s.stones[0] | s.stones[1];
        !(all >> ((self.rows - 1) * self.stride)) & ((1 << self.columns) - 1)
    }

    #[inline]
    fn wins(&self, b: u64) -> bool {
        if self.params.x_in_row == 4 {
            return [1, self.stride, self.stride + 1, self.stride - 1].iter().any(|&d| {
                let pairs = b & b >> d;
                pairs & pairs >> (2 * d) != 0
            });
        }
        [1, self.stride, self.stride + 1, self.stride - 1].iter().any(|&d| {
            let run = (1..self.params.x_in_row).fold(b, |run, _| run & run.checked_shr(d).unwrap_or(0));
            run != 0
        })
    }

    fn all_lines(&self) -> Vec<u64> {
        let n = self.params.x_in_row as i32;
        let on = |r: i32, c: i32| (0..self.rows as i32).contains(&r) && (0..self.columns as i32).contains(&c);
        let mut lines = Vec::new();
        for (r, c) in (0..self.rows as i32).flat_map(|r| (0..self.columns as i32).map(move |c| (r, c))) {
            for (dr, dc) in [(0, 1), (1, 0), (1, 1), (1, -1)] {
                if on(r + dr * (n - 1), c + dc * (n - 1)) {
                    let cells = (0..n).map(|i| self.bit((r + dr * i) as u32, (c + dc * i) as u32));
                    lines.push(cells.fold(0, |line, cell| line | cell));
                }
            }
        }
        lines
    }

    /// Over the lines that only one side can still fill: the squares of its stones there, ours minus theirs,
    /// scaled into (-1, 1).
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

    fn bit(&self, row: u32, column: u32) -> u64 {
        1 << (row * self.stride + column)
    }

    /// Writes the planes of `mine` and `theirs`, row by row.
    #[inline]
    fn write_planes(&self, mine: u64, theirs: u64, out: &mut [u8]) {
        let columns = self.columns as usize;
        let mut at = 0;
        for bits in [mine, theirs] {
            for row in 0..self.rows {
                let cells = bits >> (row * self.stride);
                if columns <= 8 && at + 8 <= out.len() {
                    // A whole word at once; what it writes too much, the next row writes over.
                    out[at..at + 8].copy_from_slice(&spread(cells));
                } else {
                    let wide = [spread(cells), spread(cells >> 8)];
                    out[at..at + columns].copy_from_slice(&wide.as_flattened()[..columns]);
                }
                at += columns;
            }
        }
    }
}

impl Game for ConnectFour {
    type Params = Params;
    type State = State;
    type View = View;

    const ID: &'static str = "connect_four";
    const TITLE: &'static str = "Connect Four";
    const PAGE: &'static str = include_str!("connect_four.md");
    const LADDER: &'static [(u32, u32, &'static str)] = &[
        (0, 1, "random"),
        (1, 1, "alphabeta depth=1"),
        (2, 1, "alphabeta depth=4"),
        (2, 2, "mcts sims=100"),
        (3, 1, "mcts sims=1000"),
    ];

    fn new(params: Params) -> Result<Self, ParamError> {
        let Params { rows, columns, x_in_row, .. } = params;
        if !(1..=16).contains(&rows) {
            return Err(ParamError::value("rows", rows, "1 to 16"));
        }
        if !(1..=15).contains(&columns) {
            return Err(ParamError::value("columns", columns, "1 to 15"));
        }
        if rows * (columns + 1) > 64 {
            return Err(ParamError::value(
                "rows",
                rows,
                format!("rows * (columns + 1) at most 64, columns = {columns}"),
            ));
        }
        if !(2..=16).contains(&x_in_row) {
            return Err(ParamError::value("x_in_row", x_in_row, "2 to 16"));
        }
        let (stride, bottom) = (columns + 1, (1 << columns) - 1);
        let board = (0..rows).fold(0, |b, r| b | bottom << (r * stride));
        let file = (0..rows).fold(0, |b, r| b | 1 << (r * stride));
        let mut game = ConnectFour { rows, columns, stride, board, bottom, file, lines: Vec::new(), params };
        game.lines = game.all_lines();
        Ok(game)
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let size = [self.rows, self.columns];
        Facts {
            seats: NAMES.map(String::from).to_vec(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Deterministic,
            information: Information::Perfect,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-1.0, 1.0],
            max_length: self.rows * self.columns,
            actions: self.columns,
            max_chance: 0,
            legal: LegalForm::Ids,
            tensor: Some(("board", planes(&["mine", "theirs"], &size))),
            info: None,
            openspiel: Some(planes(&["x", "o", "empty"], &size)),
            proposals: None,
        }
    }

    fn start(&self) -> State {
        State { stones: [0; 2], ply: 0, won: false }
    }

    #[inline]
    fn turn(&self, s: &State) -> Turn {
        if s.won || u32::from(s.ply) >= self.rows * self.columns {
            Turn::Over
        } else {
            Turn::Seat(usize::from(s.ply & 1))
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl Sink) {
        if self.turn(s) == Turn::Seat(seat) {
            let open = self.open(s);
            (0..self.columns).filter(|c| open >> c & 1 == 1).for_each(|c| out.put(c));
        }
    }

    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let open = if self.turn(s) == Turn::Seat(seat) { self.open(s) } else { 0 };
        let (low, high) = (spread(open), spread(open >> 8));
        for (c, cell) in out.iter_mut().enumerate() {
            *cell = if c < 8 { low[c] } else { high[(c - 8) & 7] };
        }
    }

    #[inline]
    fn random_action(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Action {
        let mut open = self.open(s);
        for _ in 0..scale(rng.bits(), u64::from(open.count_ones())) {
            open &= open - 1;
        }
        open.trailing_zeros().min(self.columns - 1)
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        // Of a column's cells, `free` holds at most one.
        let cell = self.free(s) & self.file.wrapping_shl(a);
        let side = &mut s.stones[usize::from(s.ply & 1)];
        *side |= cell;
        s.won = self.wins(*side);
        s.ply = s.ply.saturating_add(1);
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        // The last mover won, if anybody did.
        let first = match (s.won, s.ply & 1) {
            (false, _) => 0.0,
            (true, 1) => 1.0,
            (true, _) => -1.0,
        };
        out.copy_from_slice(&[first, -first]);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let cell = |row, c| match [0, 1].map(|p: usize| s.stones[p] & self.bit(row, c) != 0) {
            [true, _] => 'x',
            [_, true] => 'o',
            _ => '.',
        };
        let board = (0..self.rows).rev().map(|r| (0..self.columns).map(|c| cell(r, c)).collect()).collect();
        let to_move = match self.turn(s) {
            Turn::Seat(p) => Some(NAMES[p].to_owned()),
            _ => None,
        };
        View { board, to_move }
    }

    fn world(&self, view: &View, _rng: &mut Stream) -> State {
        let mut s = self.start();
        for (row, line) in view.board.iter().rev().take(self.rows as usize).enumerate() {
            for (c, mark) in line.chars().take(self.columns as usize).enumerate() {
                match mark {
                    'x' => s.stones[0] |= self.bit(row as u32, c as u32),
                    'o' => s.stones[1] |= self.bit(row as u32, c as u32),
                    _ => {}
                }
            }
        }
        s.ply = (s.stones[0].count_ones() + s.stones[1].count_ones()) as u8;
        s.won = self.wins(s.stones[0]) || self.wins(s.stones[1]);
        s
    }

    fn text(&self, view: &View) -> String {
        let mut out = view.board.join("\n");
        out.push('\n');
        out
    }

    fn action_text(&self, _view: &View, seat: Seat, a: Action) -> String {
        format!("{}{a}", NAMES[seat & 1])
    }

    /// Also knows the bare column number, from 0.
    fn parse(&self, view: &View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim();
        let named = |&a: &Action| self.action_text(view, seat, a).eq_ignore_ascii_case(text);
        let a = text.parse().ok().or_else(|| legal.iter().copied().find(named))?;
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, _s: &State, _seat: Seat, a: Action) -> String {
        format!("column {a} is full")
    }

    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let me = if who == Viewer::Seat(1) { 1 } else { 0 };
        self.write_planes(s.stones[me], s.stones[1 - me], out);
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        let first = if self.params.egocentric_obs_tensor { seat & 1 } else { 0 };
        let cells = (self.rows * self.columns) as usize;
        for (i, (row, c)) in (0..self.rows).flat_map(|r| (0..self.columns).map(move |c| (r, c))).enumerate() {
            let [a, b] = [first, 1 - first].map(|p| s.stones[p] & self.bit(row, c) != 0);
            out[i] = f32::from(u8::from(a));
            out[cells + i] = f32::from(u8::from(b));
            out[2 * cells + i] = f32::from(u8::from(!a && !b));
        }
    }

    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        Some(self.open_lines(s, seat & 1))
    }

    fn hash(&self, s: &State) -> Option<u64> {
        // Stones of one side plus all stones with a floor tell the position; mixed so that low bits serve as an index.
        let all = s.stones[0] | s.stones[1];
        Some(
            (s.stones[0].rotate_left(29) ^ (all + self.bottom).wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .wrapping_mul(0xd6e8_feb8_6659_fd93),
        )
    }
}
