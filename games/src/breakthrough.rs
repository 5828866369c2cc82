#![doc = include_str!("breakthrough.md")]

mod picture;
#[cfg(test)]
mod tests;

use ludex_env::draw::{Stream, scale};
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::{planes, spread_bits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::{self, LETTERS};

/// The game on a board of the configured size.
///
/// In a set of squares, bit `row * columns + column` stands for one square; row 0 is the top row. The bits of a side's
/// men are thus in the order of an observation plane.
pub struct Breakthrough {
    params: Params,
    rows: u32,
    columns: u32,
    /// All squares of the board.
    board: u128,
    /// Starting squares of each side's men.
    home: [u128; 2],
    /// Goal row of each side.
    goal: [u128; 2],
    /// The row before each side's goal row.
    brink: [u128; 2],
    /// Squares from which a step stays within the left and right edges, by direction (left, straight, right).
    inside: [u128; 3],
    /// Change of the square index by one step, by seat and direction.
    step: [[i32; 3]; 2],
    /// For each seat, the rows of the board with the value of a man on each row. Used by the evaluation.
    worth: [Vec<(u128, i64)>; 2],
    /// Upper bound on the total value of one side's men.
    bound: f64,
}

/// Parameters of the board size.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of rows, 2 to 64. Each side has two rows of men, or a single row if the board has fewer than 6 rows.
    /// `rows * columns` is at most 128.
    #[schemars(range(min = 2, max = 64))]
    pub rows: u32,
    /// Number of columns, 2 to 26.
    #[schemars(range(min = 2, max = 26))]
    pub columns: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { rows: 8, columns: 8 }
    }
}

/// A position of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    men: [u128; 2],
    /// The seat to move. When the game is over, the seat whose turn would come next.
    seat: u8,
    /// True if the last move won.
    won: bool,
}

impl State {
    /// Returns the owner of the man on a square.
    fn owner(&self, square: usize) -> Option<Seat> {
        (0..2).find(|&seat| self.men[seat] >> square & 1 == 1)
    }
}

/// The public information about a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Rows of `.`, `b` and `w`, the top row first.
    pub board: Vec<String>,
    /// `b` or `w`; absent when the game is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
}

const NAMES: [&str; 2] = ["b", "w"];
const MARKS: [char; 2] = ['b', 'w'];
/// Maximum number of squares.
const SQUARES: u32 = 128;
/// Minimum number of rows for a start with two rows of men per side.
const ROWS_FOR_TWO: u32 = 6;
/// Number of action ids per square: six directions, with and without a capture.
const PER_SQUARE: u32 = 12;
/// Number of action ids per square and seat: three directions, with and without a capture.
const PER_SEAT: usize = 6;
const STRAIGHT: usize = 1;

/// Returns the index of the `n`th set bit of `b`, counted from 0.
#[inline]
fn nth(b: u128, n: u32) -> u32 {
    let low = (b as u64).count_ones();
    let (mut half, n, base) = if n < low { (b as u64, n, 0) } else { ((b >> 64) as u64, n - low, 64) };
    for _ in 0..n {
        half &= half.wrapping_sub(1);
    }
    base + half.trailing_zeros()
}

/// A decoded action id.
#[derive(Clone, Copy)]
struct Move {
    from: u32,
    /// The seat whose men move in this direction.
    seat: Seat,
    /// Direction: 0 left, 1 straight, 2 right.
    way: usize,
    takes: bool,
}

impl Move {
    #[inline]
    fn of(a: Action) -> Move {
        let direction = (a % PER_SQUARE / 2) as usize;
        Move { from: a / PER_SQUARE, seat: direction / 3, way: direction % 3, takes: a & 1 == 1 }
    }

    #[inline]
    fn id(self) -> Action {
        self.from * PER_SQUARE + (self.seat * PER_SEAT + self.way * 2) as u32 + u32::from(self.takes)
    }
}

impl Breakthrough {
    /// Returns the squares from which `seat` can move, in the order of action ids: for each direction, one set of
    /// squares for plain steps and one for captures.
    #[inline]
    fn moves(&self, s: &State, seat: Seat) -> [u128; PER_SEAT] {
        let (mine, theirs) = (s.men[seat], s.men[1 - seat]);
        let free = self.board & !(mine | theirs);
        // Maps targets back to the squares from which a step starts. A bit that wraps around an end of the board comes
        // from a goal row, where the game is already won, or falls outside the board.
        let back = |b: u128, way: usize| b.rotate_right((self.step[seat][way] & 127) as u32) & mine & self.inside[way];
        [back(free, 0), back(theirs, 0), back(free, STRAIGHT), 0, back(free, 2), back(theirs, 2)]
    }

    /// Returns the target square of a move as a bit; 0 if the move leaves the board.
    #[inline]
    fn target(&self, m: Move) -> u128 {
        let to = m.from as i32 + self.step[m.seat][m.way];
        if (0..SQUARES as i32).contains(&to) && self.inside[m.way] >> (m.from & 127) & 1 == 1 {
            1 << to & self.board
        } else {
            0
        }
    }

    /// Returns the source square of a move as a bit; the square may be empty.
    #[inline]
    fn origin(&self, m: Move) -> u128 {
        1u128.checked_shl(m.from).unwrap_or(0) & self.board
    }

    /// Returns true if either side has reached its goal row or has no men left.
    fn decided(&self, men: &[u128; 2]) -> bool {
        (0..2).any(|p| men[p] == 0 || men[p] & self.goal[p] != 0)
    }

    /// Returns the squares on which men of `seat` could capture.
    fn attacked(&self, s: &State, seat: Seat) -> u128 {
        let ahead = |way: usize| {
            let men = s.men[seat] & self.inside[way];
            men.rotate_left((self.step[seat][way] & 127) as u32)
        };
        (ahead(0) | ahead(2)) & self.board
    }

    /// Returns true if a move is a capture or reaches the goal row.
    fn tactical(&self, a: Action) -> bool {
        let m = Move::of(a);
        m.takes || self.target(m) & self.goal[m.seat] != 0
    }

    /// Sorts moves: winning steps, then captures, then other moves. Captures are ordered by the advance of the captured
    /// man, steps by the advance of the moved man.
    fn sort(&self, seat: Seat, moves: &mut [Action]) {
        moves.sort_by_cached_key(|&a| {
            let m = Move::of(a);
            let row = self.target(m).trailing_zeros() / self.columns;
            let come = if seat == 0 { row } else { self.rows.saturating_sub(row + 1) };
            let wins = self.target(m) & self.goal[seat] != 0;
            // Captures deep in the mover's own half come first, because they remove far advanced men.
            let order = if m.takes { come } else { self.rows.saturating_sub(come) };
            (!wins, !m.takes, order)
        });
    }

    fn name(&self, square: u128) -> String {
        if square == 0 {
            return "--".to_owned();
        }
        let at = square.trailing_zeros();
        format!("{}{}", char::from(LETTERS.as_bytes()[(at % self.columns) as usize]), self.rows - at / self.columns)
    }

    /// Parses the square name at the start of `text`. Returns the square and the rest of the text.
    fn square<'t>(&self, text: &'t str) -> Option<(u32, &'t str)> {
        let (_, digits) = text.split_at_checked(1)?;
        let end = 1 + digits.bytes().take_while(u8::is_ascii_digit).count();
        let [column, row] = board::square(&text[..end], &LETTERS[..self.columns as usize], self.rows)?;
        Some(((self.rows - 1 - row) * self.columns + column, &text[end..]))
    }

    /// Parses two squares with an optional separator: `a7b6`, `a7-b6`, `a7xb6*`.
    fn squares(&self, text: &str) -> Option<(u32, u32)> {
        let text = text.trim_end_matches('*');
        let (from, rest) = self.square(text)?;
        let rest = rest.trim_start_matches([' ', '-', '>', ':']);
        let (to, end) = self.square(rest).or_else(|| self.square(rest.strip_prefix('x')?))?;
        end.is_empty().then_some((from, to))
    }

    /// Returns the board as text in OpenSpiel's format.
    fn draw_board(&self, view: &View) -> String {
        let width = if self.rows > 9 { 2 } else { 1 };
        let lines = (1..=self.rows).rev().zip(&view.board);
        let mut out: String = lines.map(|(number, line)| format!("{number:>width$}{line}\n")).collect();
        out.push_str(&format!("{}{}\n", " ".repeat(width), &LETTERS[..self.columns as usize]));
        out
    }
}

impl Game for Breakthrough {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("breakthrough.j2"),
        presets: &[("gtbench", r#"{"columns": 3}"#, "GTBench: 3 columns, 6 men each")],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "alphabeta depth=1 noise=1"),
            (2, 1, "alphabeta depth=1 noise=0.015"),
            (3, 1, "alphabeta nodes=100 noise=0.002"),
            (4, 1, "alphabeta nodes=3000 noise=0.002"),
            (5, 1, "alphabeta nodes=20000 noise=0.002"),
        ],
        ..GameInfo::new("breakthrough", "Breakthrough", include_str!("breakthrough.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let Params { rows, columns } = params;
        if rows * columns > SQUARES {
            let allowed = format!("rows * columns of at most {SQUARES}, with columns = {columns}");
            return Err(ParamError::value("rows", rows, allowed));
        }
        let row = |r: u32| ((1u128 << columns) - 1) << (r * columns);
        let file = |c: u32| (0..rows).fold(0u128, |b, r| b | 1 << (r * columns + c));
        let board = (0..rows).fold(0, |b, r| b | row(r));
        let deep = if rows < ROWS_FOR_TWO { 1 } else { 2 };
        let home = [0..deep, rows - deep..rows].map(|rows| rows.fold(0, |b, r| b | row(r)));
        // A man is worth the number of rows, plus the square of the number of rows behind it.
        let points = |behind: u32| i64::from(rows + behind * behind);
        let worth = [
            (0..rows).map(|r| (row(r), points(r))).collect(),
            (0..rows).map(|r| (row(r), points(rows - 1 - r))).collect(),
        ];
        let down = columns as i32;
        Ok(Breakthrough {
            rows,
            columns,
            board,
            home,
            goal: [row(rows - 1), row(0)],
            brink: [row(rows - 2), row(1)],
            inside: [board & !file(0), board, board & !file(columns - 1)],
            step: [[down - 1, down, down + 1], [-down - 1, -down, -down + 1]],
            worth,
            bound: (i64::from(deep * columns) * points(rows - 1) + 1) as f64,
            params,
        })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let size = [self.rows, self.columns];
        // OpenSpiel's bound: all men of two rows advance to the next-to-last row, and one more step wins.
        let max_length = 2 * (2 * self.rows - 3) * self.columns + 1;
        Facts {
            tensor: Some(("board", planes(&["mine", "theirs", "i_am_black", "my_move"], &size))),
            openspiel: Some(planes(&["b", "w", "empty"], &size)),
            ..board::facts(["black", "white"], self.rows * self.columns * PER_SQUARE, max_length)
        }
    }

    fn start(&self) -> State {
        State { men: self.home, seat: 0, won: false }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if s.won { ToMove::Over } else { ToMove::Seat(usize::from(s.seat & 1)) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) != ToMove::Seat(seat) {
            return;
        }
        let [to_left, takes_left, straight, _, to_right, takes_right] = self.moves(s, seat);
        // A man has at most three moves, as each direction is either a capture or a plain step. All three are written,
        // but only legal moves advance the count: a branch would be mispredicted half of the time.
        let mut ids = [0; 256];
        for half in [0, 64] {
            let word = |squares: u128| (squares >> half) as u64;
            let (takes_left, takes_right) = (word(takes_left), word(takes_right));
            let [left, straight, right] = [word(to_left) | takes_left, word(straight), word(to_right) | takes_right];
            let (mut movers, mut n) = (left | straight | right, 0);
            while movers != 0 {
                let square = movers.trailing_zeros();
                let has = |squares: u64| (squares >> square & 1) as u32;
                let first = (half + square) * PER_SQUARE + (seat * PER_SEAT) as u32;
                ids[n & 255] = first + has(takes_left);
                n += has(left) as usize;
                ids[n & 255] = first + 2;
                n += has(straight) as usize;
                ids[n & 255] = first + 4 + has(takes_right);
                n += has(right) as usize;
                movers &= movers - 1;
            }
            out.put_all(&ids[..n]);
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        let m = Move::of(a);
        let to = self.target(m);
        let seat = usize::from(s.seat & 1);
        s.men[seat] = s.men[seat] & !self.origin(m) | to;
        s.men[1 - seat] &= !to;
        s.won = to & self.goal[seat] != 0 || s.men[1 - seat] == 0;
        s.seat = 1 - seat as u8;
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        // A win belongs to the side that moved last.
        board::returns(s.won.then(|| usize::from(s.seat & 1 ^ 1)), out);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let row = |r: u32| board::row((0..self.columns).map(|c| s.owner((r * self.columns + c) as usize)), MARKS);
        View { board: (0..self.rows).map(row).collect(), to_move: board::to_move(self.to_move(s), NAMES) }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let columns = self.columns as usize;
        let mut men = [0; 2];
        for (r, line) in view.board.iter().take(self.rows as usize).enumerate() {
            board::stones_of(line, columns, MARKS).for_each(|(c, seat)| men[seat] |= 1 << (r * columns + c));
        }
        let won = self.decided(&men);
        let black_won = men[0] & self.goal[0] != 0 || men[1] == 0;
        let seat = if won { black_won } else { view.to_move.as_deref() == Some(NAMES[1]) };
        State { men, seat: u8::from(seat), won }
    }
}

impl GameMoves for Breakthrough {
    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        let m = Move::of(a);
        if self.to_move(s) != ToMove::Seat(seat) || m.seat != seat || s.men[seat] & self.origin(m) == 0 {
            return false;
        }
        let wanted = if m.takes { s.men[1 - seat] } else { !(s.men[0] | s.men[1]) };
        self.target(m) & wanted != 0 && !(m.takes && m.way == STRAIGHT)
    }

    #[inline]
    fn random_action(&self, s: &State, seat: Seat, rng: &mut Stream) -> Action {
        let seat = seat & 1;
        let moves = self.moves(s, seat);
        let counts = moves.map(u128::count_ones);
        let mut n = scale(rng.bits(), u64::from(counts.iter().sum::<u32>())) as u32;
        let mut kind = 0;
        while kind < PER_SEAT - 1 && n >= counts[kind] {
            n -= counts[kind];
            kind += 1;
        }
        (nth(moves[kind], n) & 127) * PER_SQUARE + (seat * PER_SEAT + kind) as u32
    }
}

impl GameText for Breakthrough {
    fn text(&self, view: &View) -> String {
        self.draw_board(view)
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        let m = Move::of(a);
        let star = if m.takes { "*" } else { "" };
        format!("{}{}{star}", self.name(self.origin(m)), self.name(self.target(m)))
    }

    /// Parses two squares, with or without a capture sign, or the action id.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim().to_ascii_lowercase();
        if let Ok(id) = text.parse() {
            return legal.contains(&id).then_some(id);
        }
        let (from, to) = self.squares(&text)?;
        legal.iter().copied().find(|&a| {
            let m = Move::of(a);
            m.from == from && self.target(m) == 1 << to
        })
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        let m = Move::of(a);
        let seat = seat & 1;
        let name = self.action_text(&self.view(s, Viewer::Public), seat, a);
        let (from, to) = (self.origin(m), self.target(m));
        let (here, there) = (self.name(from), self.name(to));
        let why = if s.men[seat] & from == 0 {
            format!("{} has no man on {here}", NAMES[seat])
        } else if m.seat != seat {
            let way = ["down", "up"][seat];
            format!("men of {} move {way} the board", NAMES[seat])
        } else if to == 0 {
            "the step leaves the board".to_owned()
        } else if s.men[seat] & to != 0 {
            format!("{there} is occupied by another man of {}", NAMES[seat])
        } else if m.way == STRAIGHT {
            let taken = if s.men[1 - seat] & to != 0 { format!("{there} is occupied; ") } else { String::new() };
            format!("{taken}a man captures only diagonally")
        } else if m.takes {
            let other = Move { takes: false, ..m }.id();
            format!("there is no man to capture on {there}; the step to {there} is action {other}")
        } else {
            let other = Move { takes: true, ..m }.id();
            format!("{there} is occupied by an enemy man; its capture is action {other}")
        };
        format!("{a} is {name}: {why}")
    }
}

impl GameObservation for Breakthrough {
    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let squares = (self.rows * self.columns) as usize;
        let [me, other] = board::sides(who);
        let (men, rest) = out.split_at_mut(2 * squares);
        for (plane, seat) in men.chunks_exact_mut(squares).zip([me, other]) {
            spread_bits(&[s.men[seat] as u64, (s.men[seat] >> 64) as u64], plane);
        }
        let (black, mover) = rest.split_at_mut(squares);
        black.fill(other as u8);
        mover.fill(u8::from(self.to_move(s) == ToMove::Seat(me)));
    }

    fn openspiel_tensor(&self, s: &State, _seat: Seat, out: &mut [f32]) {
        board::planes(out, &[Some(0), Some(1), None], |square| s.owner(square));
    }
}

impl GameDisplay for Breakthrough {
    /// Draws the board from the observer's side. Seat 0's men start at the top, so seat 0 sees a rotated board.
    fn drawing(&self, view: &View, from: Viewer) -> String {
        let (mut rows, mut names) = (view.board.clone(), board::numbers(1, self.rows));
        let mut columns = board::letters(&LETTERS[..self.columns as usize]);
        if from == Viewer::Seat(0) {
            rows = rows.iter().rev().map(|row| row.chars().rev().collect()).collect();
            columns.reverse();
        } else {
            names.reverse();
        }
        board::labelled(&rows, &columns, &names)
    }

    fn picture(&self, view: &View, from: Viewer) -> Picture {
        picture::picture(self, view, from == Viewer::Seat(0))
    }

    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        let m = Move::of(a);
        let ends = [self.origin(m), self.target(m)];
        (!ends.contains(&0)).then(|| Gesture::of(ends.map(|square| self.name(square))))
    }
}

impl GameSearch for Breakthrough {
    /// Returns a near win for the side to move if one of its men is one step from the goal. Returns a near loss if an
    /// opposing man is one step from its goal and cannot be captured. Otherwise compares the values of the men, scaled.
    /// A man counts twice its row value, plus the number of rows if another man protects it.
    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        let seat = seat & 1;
        if s.won {
            let winner = usize::from(s.seat & 1 ^ 1);
            return Some(if winner == seat { 1.0 } else { -1.0 });
        }
        let mover = usize::from(s.seat & 1);
        let value = if s.men[mover] & self.brink[mover] != 0 {
            0.99
        } else if s.men[1 - mover] & self.brink[1 - mover] & !self.attacked(s, mover) != 0 {
            -0.98
        } else {
            let points = |p: Seat| -> i64 {
                let men: i64 =
                    self.worth[p].iter().map(|&(row, worth)| i64::from((s.men[p] & row).count_ones()) * worth).sum();
                2 * men + i64::from((s.men[p] & self.attacked(s, p)).count_ones()) * i64::from(self.rows)
            };
            (points(mover) - points(1 - mover)) as f64 / (4.0 * self.bound)
        };
        Some(if mover == seat { value } else { -value })
    }

    /// Orders winning steps and captures first, then the remaining steps by the advance of the moved man. Returns the
    /// number of winning steps and captures.
    fn search_moves(&self, s: &State, seat: Seat, out: &mut Vec<Action>) -> usize {
        let from = out.len();
        self.legal(s, seat, out);
        self.sort(seat, &mut out[from..]);
        out[from..].iter().take_while(|&&a| self.tactical(a)).count()
    }

    /// Lists winning steps if there are any. Otherwise lists captures; if the opponent threatens to win, only captures
    /// that stop the threat.
    fn quiescence_moves(&self, s: &State, seat: Seat, out: &mut Vec<Action>) -> bool {
        let mut all = Vec::new();
        self.legal(s, seat, &mut all);
        let danger = s.men[1 - seat] & self.brink[1 - seat];
        let wins = s.men[seat] & self.brink[seat] != 0;
        let from = out.len();
        out.extend(all.into_iter().filter(|&a| {
            let m = Move::of(a);
            if wins {
                self.target(m) & self.goal[seat] != 0
            } else {
                m.takes && (danger == 0 || self.target(m) & danger != 0)
            }
        }));
        self.sort(seat, &mut out[from..]);
        out.len() == from || danger == 0 && !wins
    }

    fn hash(&self, s: &State) -> Option<u64> {
        let words = s.men.into_iter().flat_map(|men| [men as u64, (men >> 64) as u64]);
        let side = u64::from(s.seat) << 1 | u64::from(s.won);
        Some(words.fold(side, |hash, word| (hash.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}

impl GameMarks for Breakthrough {}
