#![doc = include_str!("breakthrough.md")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

use crate::draw::{Stream, scale};
use crate::game::{Action, Facts, Game, PresetText, Seat, Sink, Turn, Viewer};
use crate::params::ParamError;
use crate::registry::Entry;
use crate::tensor::{planes, spread};

/// The registry's line.
pub const ENTRY: Entry = Entry::of::<Breakthrough>(&[]);

/// The rules on a board of given size.
///
/// Squares are bits, `row * columns + column` with row 0 on top, so the men of a side are a plane of the observation.
pub struct Breakthrough {
    params: Params,
    rows: u32,
    columns: u32,
    /// All squares.
    board: u128,
    /// Where each side's men begin.
    home: [u128; 2],
    /// The row in which each side wins.
    goal: [u128; 2],
    /// By direction (left, straight, right): the squares from which a step does not leave the board sideways.
    inside: [u128; 3],
    /// By seat and direction: what a step adds to the square's number.
    step: [[i32; 3]; 2],
    /// By seat: what men in a row are worth in the evaluation.
    worth: [Vec<(u128, i64)>; 2],
    /// More than any side's men can be worth.
    bound: f64,
}

/// Size of the board.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rows, 2 to 64; with fewer than 6, each side has one row of men. `rows * columns` is at most 128.
    #[schemars(range(min = 2, max = 64))]
    pub rows: u32,
    /// Columns, 2 to 26.
    #[schemars(range(min = 2, max = 26))]
    pub columns: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { rows: 8, columns: 8 }
    }
}

/// One position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    men: [u128; 2],
    /// Who is to move, or would be if the game went on.
    seat: u8,
    /// Whether the last move won.
    won: bool,
}

/// What everybody sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Rows of `.`, `b` and `w`, the top row first.
    pub board: Vec<String>,
    /// `b` or `w`; absent when the game is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
}

const NAMES: [&str; 2] = ["b", "w"];
/// Up to so many squares fit.
const SQUARES: u32 = 128;
/// From so many rows on, each side has two rows of men.
const ROWS_FOR_TWO: u32 = 6;
/// Ids per square: six directions, with and without taking.
const PER_SQUARE: u32 = 12;
/// Ids per square and seat.
const PER_SEAT: usize = 6;
/// Of these, all but taking straight ahead.
const KINDS: [usize; 5] = [0, 1, 2, 4, 5];
const STRAIGHT: usize = 1;

/// The number of the bit of `b` that has `n` set bits below it.
#[inline]
fn nth(b: u128, n: u32) -> u32 {
    let low = (b as u64).count_ones();
    let (mut half, n, base) = if n < low { (b as u64, n, 0) } else { ((b >> 64) as u64, n - low, 64) };
    for _ in 0..n {
        half &= half.wrapping_sub(1);
    }
    base + half.trailing_zeros()
}

/// What an id says.
#[derive(Clone, Copy)]
struct Move {
    from: u32,
    /// Whose direction it is.
    seat: Seat,
    /// 0 left, 1 straight, 2 right.
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
    /// The squares from which `seat` can move, by direction and capture as in the ids.
    #[inline]
    fn moves(&self, s: &State, seat: Seat) -> [u128; PER_SEAT] {
        let (mine, theirs) = (s.men[seat], s.men[1 - seat]);
        let free = self.board & !(mine | theirs);
        // Where a step leads, seen from where it begins. What runs over an end of the board comes from a row in which
        // the game is won already, or falls on bits that are no squares.
        let back = |b: u128, way: usize| b.rotate_right((self.step[seat][way] & 127) as u32) & mine & self.inside[way];
        [back(free, 0), back(theirs, 0), back(free, STRAIGHT), 0, back(free, 2), back(theirs, 2)]
    }

    /// The square that a move leads to, or no bit where it leaves the board.
    #[inline]
    fn target(&self, m: Move) -> u128 {
        let to = m.from as i32 + self.step[m.seat][m.way];
        if (0..SQUARES as i32).contains(&to) && self.inside[m.way] >> (m.from & 127) & 1 == 1 {
            1 << to & self.board
        } else {
            0
        }
    }

    /// The man that a move moves, whoever stands there.
    #[inline]
    fn origin(&self, m: Move) -> u128 {
        1u128.checked_shl(m.from).unwrap_or(0) & self.board
    }

    /// Whether one side has come through or lost all of its men.
    fn decided(&self, men: &[u128; 2]) -> bool {
        (0..2).any(|p| men[p] == 0 || men[p] & self.goal[p] != 0)
    }

    fn name(&self, square: u128) -> String {
        if square == 0 {
            return "--".to_owned();
        }
        let at = square.trailing_zeros();
        format!("{}{}", letter(at % self.columns), self.rows - at / self.columns)
    }

    /// The square at the beginning of `text`, and what follows it.
    fn square<'t>(&self, text: &'t str) -> Option<(u32, &'t str)> {
        let (c, rest) = text.split_at_checked(1)?;
        let column = u32::from(c.bytes().next()?).checked_sub(u32::from(b'a'))?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let row: u32 = rest[..digits].parse().ok()?;
        let there = column < self.columns && (1..=self.rows).contains(&row);
        there.then(|| ((self.rows - row) * self.columns + column, &rest[digits..]))
    }

    /// Two squares with or without a sign between them: `a7b6`, `a7-b6`, `a7xb6*`.
    fn squares(&self, text: &str) -> Option<(u32, u32)> {
        let text = text.trim_end_matches('*');
        let (from, rest) = self.square(text)?;
        let rest = rest.trim_start_matches([' ', '-', '>', ':']);
        let (to, end) = self.square(rest).or_else(|| self.square(rest.strip_prefix('x')?))?;
        end.is_empty().then_some((from, to))
    }
}

/// The letter of a column; columns beyond the letters are refused as parameters.
fn letter(column: u32) -> char {
    (b'a' + column.min(25) as u8) as char
}

impl Game for Breakthrough {
    type Params = Params;
    type State = State;
    type View = View;

    const ID: &'static str = "breakthrough";
    const TITLE: &'static str = "Breakthrough";
    const PAGE: &'static str = include_str!("breakthrough.md");
    const PRESETS: &'static [PresetText] = &[("gtbench", r#"{"columns": 3}"#, "GTBench: 3 columns, 6 men each")];
    const LADDER: &'static [(u32, u32, &'static str)] = &[
        (0, 1, "random"),
        (1, 1, "mcts sims=100"),
        (2, 1, "alphabeta depth=1"),
        (3, 1, "alphabeta depth=2"),
        (4, 1, "alphabeta depth=4"),
    ];

    fn new(params: Params) -> Result<Self, ParamError> {
        let Params { rows, columns } = params;
        if !(2..=64).contains(&rows) {
            return Err(ParamError::value("rows", rows, "2 to 64"));
        }
        if !(2..=26).contains(&columns) {
            return Err(ParamError::value("columns", columns, "2 to 26"));
        }
        if rows * columns > SQUARES {
            let allowed = format!("rows * columns at most {SQUARES}, columns = {columns}");
            return Err(ParamError::value("rows", rows, allowed));
        }
        let row = |r: u32| ((1u128 << columns) - 1) << (r * columns);
        let file = |c: u32| (0..rows).fold(0u128, |b, r| b | 1 << (r * columns + c));
        let board = (0..rows).fold(0, |b, r| b | row(r));
        let deep = if rows < ROWS_FOR_TWO { 1 } else { 2 };
        let home = [0..deep, rows - deep..rows].map(|rows| rows.fold(0, |b, r| b | row(r)));
        // A man counts as many points as there are rows, and the square of the rows that it has behind it.
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
        Facts {
            seats: ["black", "white"].map(String::from).to_vec(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Deterministic,
            information: Information::Perfect,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-1.0, 1.0],
            // OpenSpiel's bound: all men of two rows walk up to the last row but one, and one more step wins.
            max_length: 2 * (2 * self.rows - 3) * self.columns + 1,
            actions: self.rows * self.columns * PER_SQUARE,
            max_chance: 0,
            legal: LegalForm::Ids,
            tensor: Some(("board", planes(&["mine", "theirs", "i_am_black", "my_move"], &size))),
            info: None,
            openspiel: Some(planes(&["b", "w", "empty"], &size)),
            proposals: None,
        }
    }

    fn start(&self) -> State {
        State { men: self.home, seat: 0, won: false }
    }

    #[inline]
    fn turn(&self, s: &State) -> Turn {
        if s.won { Turn::Over } else { Turn::Seat(usize::from(s.seat & 1)) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl Sink) {
        if self.turn(s) != Turn::Seat(seat) {
            return;
        }
        let moves = self.moves(s, seat);
        let movers = moves.iter().fold(0, |all, squares| all | squares).to_le_bytes();
        let moves = moves.map(u128::to_le_bytes);
        // Eight squares at a time: a byte per square, a bit per move, so that ids come in their order.
        for (eight, _) in movers.iter().enumerate().filter(|(_, squares)| **squares != 0) {
            let bits = |kind: usize| u64::from_le_bytes(spread(u64::from(moves[kind][eight]))) << kind;
            let mut left = KINDS.iter().fold(0, |word, &kind| word | bits(kind));
            let first = eight as u32 * 8 * PER_SQUARE + (seat * PER_SEAT) as u32;
            while left != 0 {
                let bit = left.trailing_zeros();
                out.put(first + bit / 8 * PER_SQUARE + bit % 8);
                left &= left - 1;
            }
        }
    }

    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        let m = Move::of(a);
        if self.turn(s) != Turn::Seat(seat) || m.seat != seat || s.men[seat] & self.origin(m) == 0 {
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
        // The last mover won, if anybody did.
        let first = match (s.won, s.seat) {
            (false, _) => 0.0,
            (true, 1) => 1.0,
            (true, _) => -1.0,
        };
        out.copy_from_slice(&[first, -first]);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let mark = |at: u32| match s.men.map(|men| men >> at & 1) {
            [1, _] => 'b',
            [_, 1] => 'w',
            _ => '.',
        };
        let row = |r: u32| (0..self.columns).map(|c| mark(r * self.columns + c)).collect();
        let to_move = match self.turn(s) {
            Turn::Seat(p) => Some(NAMES[p].to_owned()),
            _ => None,
        };
        View { board: (0..self.rows).map(row).collect(), to_move }
    }

    fn world(&self, view: &View, _rng: &mut Stream) -> State {
        let mut men = [0; 2];
        for (r, line) in view.board.iter().take(self.rows as usize).enumerate() {
            for (c, mark) in line.chars().take(self.columns as usize).enumerate() {
                if let Some(p) = NAMES.iter().position(|name| name.starts_with(mark)) {
                    men[p] |= 1 << (r * self.columns as usize + c);
                }
            }
        }
        let won = self.decided(&men);
        let black_won = men[0] & self.goal[0] != 0 || men[1] == 0;
        let seat = if won { black_won } else { view.to_move.as_deref() == Some(NAMES[1]) };
        State { men, seat: u8::from(seat), won }
    }

    fn text(&self, view: &View) -> String {
        let width = if self.rows > 9 { 2 } else { 1 };
        let numbered = view.board.iter().zip((1..=self.rows).rev());
        let mut out: String = numbered.map(|(line, number)| format!("{number:>width$}{line}\n")).collect();
        out.push_str(&" ".repeat(width));
        out.extend((0..self.columns).map(letter));
        out.push('\n');
        out
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        let m = Move::of(a);
        let star = if m.takes { "*" } else { "" };
        format!("{}{}{star}", self.name(self.origin(m)), self.name(self.target(m)))
    }

    /// Reads the two squares; whether anything is taken there, the board knows. Also knows the bare id.
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
            format!("no man of {} stands on {here}", NAMES[seat])
        } else if m.seat != seat {
            let way = ["down", "up"][seat];
            format!("men of {} move {way} the board", NAMES[seat])
        } else if to == 0 {
            "the step leaves the board".to_owned()
        } else if s.men[seat] & to != 0 {
            format!("a man of one's own stands on {there}")
        } else if m.way == STRAIGHT {
            let taken = if s.men[1 - seat] & to != 0 { format!("{there} is taken, and ") } else { String::new() };
            format!("{taken}nothing is taken straight ahead")
        } else if m.takes {
            let other = Move { takes: false, ..m }.id();
            format!("there is nothing to take on {there}; the step onto it is {other}")
        } else {
            let other = Move { takes: true, ..m }.id();
            format!("an enemy stands on {there}; taking it is {other}")
        };
        format!("{a} is {name}: {why}")
    }

    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let me = if who == Viewer::Seat(1) { 1 } else { 0 };
        let squares = (self.rows * self.columns) as usize;
        let (mine, rest) = out.split_at_mut(squares);
        let (theirs, rest) = rest.split_at_mut(squares);
        let (black, mover) = rest.split_at_mut(squares);
        write_squares(mine, s.men[me]);
        write_squares(theirs, s.men[1 - me]);
        black.fill(1 - me as u8);
        mover.fill(u8::from(self.turn(s) == Turn::Seat(me)));
    }

    fn openspiel_tensor(&self, s: &State, _seat: Seat, out: &mut [f32]) {
        let squares = (self.rows * self.columns) as usize;
        let planes = [s.men[0], s.men[1], !(s.men[0] | s.men[1])];
        for (cells, bits) in out.chunks_exact_mut(squares).zip(planes) {
            for (at, cell) in cells.iter_mut().enumerate() {
                *cell = f32::from((bits >> at & 1) as u8);
            }
        }
    }

    /// The worth of the men of `seat` less that of the others, scaled into (-1, 1). A man is worth as many points as the
    /// board has rows, and the square of the rows that it has come.
    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        let points = |p: Seat| -> i64 {
            self.worth[p].iter().map(|&(row, worth)| i64::from((s.men[p] & row).count_ones()) * worth).sum()
        };
        let seat = seat & 1;
        Some((points(seat) - points(1 - seat)) as f64 / self.bound)
    }

    fn hash(&self, s: &State) -> Option<u64> {
        let words = s.men.into_iter().flat_map(|men| [men as u64, (men >> 64) as u64]);
        let side = u64::from(s.seat) << 1 | u64::from(s.won);
        Some(words.fold(side, |hash, word| (hash.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}

/// Writes one byte per square.
#[inline]
fn write_squares(out: &mut [u8], bits: u128) {
    for (cells, eight) in out.chunks_mut(8).zip(bits.to_le_bytes()) {
        let bytes = spread(u64::from(eight));
        match cells.first_chunk_mut::<8>() {
            Some(all) => *all = bytes,
            None => cells.copy_from_slice(&bytes[..cells.len()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(rows: u32, columns: u32) -> Breakthrough {
        Breakthrough::new(Params { rows, columns }).unwrap()
    }

    fn board(game: &Breakthrough, rows: &[&str], to_move: &str) -> State {
        let view = View { board: rows.iter().map(|r| (*r).to_owned()).collect(), to_move: Some(to_move.to_owned()) };
        game.world(&view, &mut Stream::named("unused"))
    }

    fn texts(game: &Breakthrough, s: &State, seat: Seat) -> Vec<String> {
        let mut legal = Vec::new();
        game.legal(s, seat, &mut legal);
        let view = game.view(s, Viewer::Public);
        legal.into_iter().map(|a| game.action_text(&view, seat, a)).collect()
    }

    fn play(game: &Breakthrough, s: &mut State, text: &str) {
        let Turn::Seat(seat) = game.turn(s) else { panic!("the game is over") };
        let mut legal = Vec::new();
        game.legal(s, seat, &mut legal);
        let a = game.parse(&game.view(s, Viewer::Public), seat, &legal, text).unwrap_or_else(|| panic!("{text}"));
        game.play_unchecked(s, a);
    }

    fn result(game: &Breakthrough, s: &State) -> (Turn, [f64; 2]) {
        let mut r = [0.0; 2];
        game.returns(s, &mut r);
        (game.turn(s), r)
    }

    #[test]
    fn five_rows_have_one_row_of_men_each_and_six_have_two() {
        for (rows, men) in [(5, 4), (6, 8)] {
            assert_eq!(game(rows, 4).start().men.map(u128::count_ones), [men; 2], "{rows} rows");
        }
    }

    #[test]
    fn men_take_on_diagonals_only_and_need_not() {
        let g = game(4, 4);
        let s = board(&g, &["....", ".b..", "www.", "...."], "b");
        assert_eq!(texts(&g, &s, 0), ["b3a2*", "b3c2*"], "straight ahead is blocked");
        let s = board(&g, &["....", ".b..", "..w.", "...."], "b");
        assert_eq!(texts(&g, &s, 0), ["b3a2", "b3b2", "b3c2*"]);
        let s = board(&g, &["....", ".b..", "..w.", "...."], "w");
        assert_eq!(texts(&g, &s, 1), ["c2b3*", "c2c3", "c2d3"]);
    }

    #[test]
    fn nothing_steps_over_the_edge() {
        let g = game(4, 3);
        let s = board(&g, &["...", "b.b", "...", "w.w"], "b");
        assert_eq!(texts(&g, &s, 0), ["a3a2", "a3b2", "c3b2", "c3c2"]);
        let s = board(&g, &["...", "b.b", "...", "w.w"], "w");
        assert_eq!(texts(&g, &s, 1), ["a1a2", "a1b2", "c1b2", "c1c2"]);
    }

    #[test]
    fn the_farthest_row_wins() {
        let g = game(4, 2);
        let mut s = board(&g, &["..", ".w", "b.", ".."], "w");
        play(&g, &mut s, "b3b4");
        assert_eq!(result(&g, &s), (Turn::Over, [-1.0, 1.0]));
        let mut s = board(&g, &["..", ".w", "b.", ".."], "b");
        play(&g, &mut s, "a2b1");
        assert_eq!(result(&g, &s), (Turn::Over, [1.0, -1.0]));
    }

    #[test]
    fn taking_the_last_man_wins() {
        let g = game(6, 3);
        let mut s = board(&g, &["...", ".b.", "..w", "...", "b..", "..."], "w");
        assert_eq!(g.turn(&s), Turn::Seat(1));
        let mut other = s;
        play(&g, &mut other, "c4b5*");
        assert_eq!(g.turn(&other), Turn::Seat(0), "one man is left");
        s = board(&g, &["...", ".b.", "..w", "...", "...", "..."], "w");
        play(&g, &mut s, "c4b5*");
        assert_eq!(result(&g, &s), (Turn::Over, [-1.0, 1.0]));
    }

    #[test]
    fn people_write_moves_in_many_ways() {
        let g = game(4, 4);
        let s = board(&g, &["....", ".b..", "..w.", "...."], "b");
        let mut legal = Vec::new();
        g.legal(&s, 0, &mut legal);
        let view = g.view(&s, Viewer::Seat(0));
        let read = |text: &str| g.parse(&view, 0, &legal, text);
        for text in ["b3c2*", "b3c2", " B3xC2 ", "b3-c2", "b3->c2", "b3 c2", &legal[2].to_string()] {
            assert_eq!(read(text), Some(legal[2]), "{text}");
        }
        assert_eq!(read("b3b2*"), Some(legal[1]), "a star too many");
        for text in ["", "b3", "b3d2", "b3b2b1", "c3b2", "b33b2", "é", "b3é", "0", "b3xx2", "b99999999999c2"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn column_x_is_a_column() {
        let g = game(4, 26);
        let row = |at: usize, mark: char| (0..26).map(|c| if c == at { mark } else { '.' }).collect::<String>();
        let s = board(&g, &[&row(26, '.'), &row(22, 'b'), &row(23, 'w'), &row(26, '.')], "b");
        let mut legal = Vec::new();
        g.legal(&s, 0, &mut legal);
        let view = g.view(&s, Viewer::Seat(0));
        for text in ["w3x2*", "w3xx2", "w3x2"] {
            assert_eq!(g.parse(&view, 0, &legal, text), Some(legal[2]), "{text}");
        }
    }

    #[test]
    fn refusals_name_the_reason() {
        let g = game(4, 4);
        let s = board(&g, &["....", "bb..", "bww.", "...."], "b");
        let at =
            |row: u32, column: u32, direction: u32, capture: u32| ((row * 4 + column) * 6 + direction) * 2 + capture;
        for (a, word) in [
            (at(0, 0, 1, 0), "no man of b stands on a4"),
            (at(1, 0, 4, 0), "move down"),
            (at(1, 0, 0, 0), "leaves the board"),
            (at(1, 0, 1, 0), "one's own"),
            (at(1, 1, 1, 0), "b2 is taken, and nothing is taken straight ahead"),
            (at(2, 0, 1, 1), "nothing is taken straight ahead"),
            (at(1, 0, 2, 0), "an enemy stands on b2; taking it is 53"),
            (at(2, 0, 2, 1), "nothing to take on b1; the step onto it is 100"),
        ] {
            assert!(!g.is_legal(&s, 0, a), "{a}");
            let why = g.why_not(&s, 0, a);
            assert!(why.contains(word), "{why}");
        }
        assert!(g.is_legal(&s, 0, 53) && g.is_legal(&s, 0, 100));
    }

    #[test]
    fn sizes_have_limits() {
        for (rows, columns, name) in
            [(1, 8, "rows"), (65, 2, "rows"), (8, 1, "columns"), (8, 27, "columns"), (12, 11, "rows")]
        {
            let error = Breakthrough::new(Params { rows, columns }).err().unwrap();
            assert_eq!(error.name.as_deref(), Some(name), "{rows} x {columns}");
        }
    }

    /// Legal moves by the rules as they are told, square by square.
    fn by_squares(g: &Breakthrough, s: &State, seat: Seat) -> Vec<Action> {
        let view = g.view(s, Viewer::Public);
        let mark = |r: i32, c: i32| view.board.get(usize::try_from(r).ok()?)?.chars().nth(usize::try_from(c).ok()?);
        let (mine, theirs) = if seat == 0 { ('b', 'w') } else { ('w', 'b') };
        let ahead = if seat == 0 { 1 } else { -1 };
        let mut ids = Vec::new();
        for (r, c) in (0..g.rows as i32).flat_map(|r| (0..g.columns as i32).map(move |c| (r, c))) {
            for side in [-1, 0, 1] {
                let to = mark(r + ahead, c + side);
                let takes = to == Some(theirs) && side != 0;
                if mark(r, c) == Some(mine) && (to == Some('.') || takes) {
                    let direction = seat as i32 * 3 + side + 1;
                    ids.push((((r * g.columns as i32 + c) * 6 + direction) * 2 + i32::from(takes)) as Action);
                }
            }
        }
        ids
    }

    #[test]
    fn every_size_moves_by_the_rules() {
        let mut rng = Stream::named("breakthrough sizes");
        for (rows, columns) in [(2, 2), (2, 26), (5, 5), (8, 8), (16, 8), (8, 16), (11, 11), (64, 2), (4, 26), (9, 14)]
        {
            let g = game(rows, columns);
            for _ in 0..20 {
                let mut s = g.start();
                while let Turn::Seat(seat) = g.turn(&s) {
                    let wanted = by_squares(&g, &s, seat);
                    let mut legal = Vec::new();
                    g.legal(&s, seat, &mut legal);
                    assert_eq!(legal, wanted, "{rows} x {columns}: {s:?}");
                    let ids = 0..g.facts().actions;
                    let single: Vec<Action> = ids.filter(|&a| g.is_legal(&s, seat, a)).collect();
                    assert_eq!(single, wanted, "{rows} x {columns}: {s:?}");
                    let a = g.random_action(&s, seat, &mut rng);
                    assert!(wanted.contains(&a));
                    g.play_unchecked(&mut s, a);
                }
            }
        }
    }

    #[test]
    fn random_actions_are_even() {
        let g = game(8, 3);
        let (s, mut rng) = (g.start(), Stream::named("breakthrough evenly"));
        let mut counts = std::collections::BTreeMap::new();
        (0..7_000).for_each(|_| *counts.entry(g.random_action(&s, 0, &mut rng)).or_insert(0) += 1);
        assert_eq!(counts.len(), 7);
        assert!(counts.values().all(|n| (850..1_150).contains(n)), "{counts:?}");
    }
}
