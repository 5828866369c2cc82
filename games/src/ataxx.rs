#![doc = include_str!("ataxx.md")]

use ludex_env::draw::{Stream, scale};
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::{planes, put_bits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::{self, LETTERS};

mod picture;
#[cfg(test)]
mod tests;

/// The game with its parameters. In a set of cells, bit `row * 7 + column` is the cell in this row and column; row 0 is
/// the top row.
pub struct Ataxx {
    params: Params,
}

/// Parameters that decide when a game ends.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Maximum number of plies, 1 to 10,000. After the last ply, the pieces are counted.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_plies: u32,
    /// Result of a move that repeats an earlier position.
    pub repetition: Repetition,
}

/// Result of a move that repeats an earlier position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repetition {
    /// A repeated position has no effect.
    Allowed,
    /// The player who repeats a position loses the game.
    Loses,
}

impl Default for Params {
    fn default() -> Self {
        Params { max_plies: 400, repetition: Repetition::Allowed }
    }
}

/// Reason for the end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NoMove,
    Plies,
    Repetition,
}

impl End {
    const fn text(self) -> &'static str {
        match self {
            End::NoMove => "no_move",
            End::Plies => "plies",
            End::Repetition => "repetition",
        }
    }
}

/// A game in progress.
#[derive(Debug)]
pub struct State {
    pieces: [u64; 2],
    plies: u16,
    end: Option<End>,
    /// Boards stored at the last clone (or at the start, if there was none) and at each jump since then. Each board is
    /// stored before the move flips pieces. Empty if repetition is allowed. A clone adds a piece, so no board from
    /// before it can recur.
    steps: Vec<[u64; 2]>,
}

// `clone_from` is implemented to reuse the list: search copies states very often.
impl Clone for State {
    fn clone(&self) -> Self {
        State { steps: self.steps.clone(), ..*self }
    }

    fn clone_from(&mut self, from: &Self) {
        self.steps.clone_from(&from.steps);
        (self.pieces, self.plies, self.end) = (from.pieces, from.plies, from.end);
    }
}

/// The public information about a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Seven rows of `.`, `x` and `o`, the top row (7) first.
    pub board: [String; 7],
    /// `x` or `o`; absent when the game is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
    /// Number of moves so far.
    pub plies: u32,
    /// Boards stored at the last clone (or at the start, if there was none) and at each jump since then, before the
    /// move flips pieces. Each board lists its rows from the top, separated by `/`. Empty if repetition is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// Reason for the end: `no_move`, `plies` or `repetition`; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Final scores of `x` and `o`: their pieces, plus the empty cells that they own. Absent before the end and after a
    /// loss by repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<[u32; 2]>,
}

const NAMES: [&str; 2] = ["x", "o"];
const MARKS: [char; 2] = ['x', 'o'];
const CELLS: usize = 49;
/// Number of jumps. Ids 0 to 48 are clones; the jumps follow.
const JUMPS: usize = 480;
const ACTIONS: u32 = (CELLS + JUMPS) as u32;
const FULL: u64 = (1 << CELLS) - 1;
const START: [u64; 2] = [1 | 1 << 48, 1 << 6 | 1 << 42];
/// Bit set of the cells in the left column; `RIGHT` is that of the right column.
const LEFT: u64 = 0x0000_0408_1020_4081;
const RIGHT: u64 = LEFT << 6;
/// Maximum number of moves that `search_moves` sorts. Search orders the remaining moves itself.
const FRONT: usize = 6;
/// Maximum number of remaining plies that the hash distinguishes. Higher numbers are hashed as this number.
const NEAR_END: u32 = 20;

/// Returns the Chebyshev distance of two cells.
const fn distance(a: usize, b: usize) -> usize {
    let (rows, columns) = ((a / 7).abs_diff(b / 7), (a % 7).abs_diff(b % 7));
    if rows > columns { rows } else { columns }
}

/// Returns, for every cell, the set of cells at Chebyshev distance `d`.
const fn ring(d: usize) -> [u64; CELLS] {
    let mut rings = [0; CELLS];
    let mut i = 0;
    while i < CELLS * CELLS {
        if distance(i / CELLS, i % CELLS) == d {
            rings[i / CELLS] |= 1 << (i % CELLS);
        }
        i += 1;
    }
    rings
}

const BESIDE: [u64; CELLS] = ring(1);
const AFAR: [u64; CELLS] = ring(2);

/// Source and target cell of every jump, and the jump id by source and target (0: no such jump).
const TABLES: ([[u8; 2]; JUMPS], [[u16; CELLS]; CELLS]) = {
    let mut jumps = [[0; 2]; JUMPS];
    let mut ids = [[0; CELLS]; CELLS];
    let (mut i, mut n) = (0, 0);
    while i < CELLS * CELLS {
        let (from, to) = (i / CELLS, i % CELLS);
        if distance(from, to) == 2 {
            jumps[n] = [from as u8, to as u8];
            ids[from][to] = (CELLS + n) as u16;
            n += 1;
        }
        i += 1;
    }
    (jumps, ids)
};
static JUMP: [[u8; 2]; JUMPS] = TABLES.0;
static JUMP_ID: [[u16; CELLS]; CELLS] = TABLES.1;

/// Returns the cells of `set` and their neighbors. The result may contain bits beyond the board.
#[inline]
const fn widen(set: u64) -> u64 {
    let row = set | (set & !RIGHT) << 1 | (set & !LEFT) >> 1;
    row | row << 7 | row >> 7
}

/// Iterates over the cells of a set in ascending order.
#[inline]
fn cells(set: u64) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        let cell = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (cell < 64).then_some(cell as usize)
    })
}

/// Returns the source of move `a` (`None` for a clone) and the target.
#[inline]
fn ends_of(a: Action) -> (Option<usize>, usize) {
    match a as usize {
        to if to < CELLS => (None, to),
        jump => {
            let [from, to] = JUMP[(jump - CELLS) % JUMPS];
            (Some(from.into()), to.into())
        }
    }
}

/// Returns the name of a cell: `a7` for cell 0, `g1` for cell 48.
fn name(cell: usize) -> String {
    let letter = char::from(LETTERS.as_bytes()[cell % 7]);
    format!("{letter}{}", 7 - cell / 7)
}

fn read_cell(name: &str) -> Option<usize> {
    let [column, row] = board::square(name, &LETTERS[..7], 7)?;
    Some((6 - row as usize) * 7 + column as usize)
}

impl State {
    #[inline]
    fn mover(&self) -> usize {
        usize::from(self.plies & 1)
    }

    #[inline]
    fn empty(&self) -> u64 {
        FULL & !(self.pieces[0] | self.pieces[1])
    }

    /// Returns the empty cells that `seat` can reach with a clone.
    #[inline]
    fn clones(&self, seat: Seat) -> u64 {
        widen(self.pieces[seat]) & self.empty()
    }

    /// Iterates over the jumps of `seat`: each source with the set of its targets.
    #[inline]
    fn jumps(&self, seat: Seat) -> impl Iterator<Item = (usize, u64)> {
        let empty = self.empty();
        cells(self.pieces[seat] & FULL).map(move |from| (from, AFAR[from] & empty))
    }

    #[inline]
    fn can_move(&self, seat: Seat) -> bool {
        widen(widen(self.pieces[seat]) & FULL) & self.empty() != 0
    }

    /// Returns the largest change of the piece lead that one move of `seat` can make.
    fn best_gain(&self, seat: Seat) -> u32 {
        let clones = self.clones(seat);
        let jumps = widen(widen(self.pieces[seat]) & FULL) & self.empty() & !clones;
        let most = |to: u64| cells(to).map(|to| (self.pieces[1 - seat] & BESIDE[to]).count_ones()).max();
        let clone = most(clones).map_or(0, |turned| 2 * turned + 1);
        clone.max(most(jumps).map_or(0, |turned| 2 * turned))
    }

    /// Returns the scores: the piece counts, plus all empty cells for a side that can move while the opponent cannot.
    fn score(&self) -> [u32; 2] {
        let rest = self.empty().count_ones();
        let can = [self.can_move(0), self.can_move(1)];
        [0, 1].map(|seat| self.pieces[seat].count_ones() + if can[seat] && !can[1 - seat] { rest } else { 0 })
    }

    fn owner(&self, cell: usize) -> Option<Seat> {
        board::owner(self.pieces, cell)
    }
}

/// Formats a board as seven rows, the top row first.
fn rows(pieces: [u64; 2]) -> [String; 7] {
    std::array::from_fn(|r| board::row((0..7).map(|c| board::owner(pieces, r * 7 + c)), MARKS))
}

/// Parses a board from its rows, the top row first.
fn read_rows<'a>(lines: impl Iterator<Item = &'a str>) -> [u64; 2] {
    let mut pieces = [0; 2];
    for (row, line) in lines.take(7).enumerate() {
        board::stones_of(line, 7, MARKS).for_each(|(column, seat)| pieces[seat] |= 1 << (row * 7 + column));
    }
    pieces
}

impl Ataxx {
    fn counts_steps(&self) -> bool {
        self.params.repetition == Repetition::Loses
    }

    /// Describes the side to move or the winner, and both piece counts.
    fn standing(&self, view: &View) -> String {
        let pieces = read_rows(view.board.iter().map(String::as_str)).map(u64::count_ones);
        let state = match (&view.to_move, view.end.as_deref(), view.score) {
            (Some(mover), ..) => format!("{mover} to move"),
            (None, Some("repetition"), _) => format!("over: {} repeated a step", NAMES[(view.plies + 1) as usize & 1]),
            (None, _, score) => {
                let [x, o] = score.unwrap_or(pieces);
                format!("over, x {x} : {o} o")
            }
        };
        format!("{state}; move {} of {}; x has {}, o has {}\n", view.plies, self.params.max_plies, pieces[0], pieces[1])
    }

    /// Returns the reason for the end of the game, or `None`. Does not check for a repetition.
    #[inline]
    fn judge(&self, s: &State) -> Option<End> {
        if !s.can_move(0) || !s.can_move(1) {
            Some(End::NoMove)
        } else if u32::from(s.plies) >= self.params.max_plies {
            Some(End::Plies)
        } else {
            None
        }
    }

    fn winner(s: &State) -> Option<Seat> {
        if s.end? == End::Repetition {
            return Some(s.mover());
        }
        let [x, o] = s.score();
        (x != o).then_some(usize::from(o > x))
    }

    #[inline]
    fn acts(&self, s: &State, seat: Seat) -> bool {
        self.to_move(s) == ToMove::Seat(seat)
    }
}

impl Game for Ataxx {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("ataxx.j2"),
        presets: &[
            ("botzone", r#"{"repetition": "loses"}"#, "Botzone: a player who repeats a position loses"),
            ("botzonebench", "{}", "BotzoneBench: the defaults; positions may be repeated"),
        ],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "alphabeta depth=1 noise=0.8"),
            (2, 1, "alphabeta depth=1 noise=0.22"),
            (3, 1, "alphabeta depth=1 noise=0.08"),
            (4, 1, "alphabeta depth=1 noise=0.03"),
            (5, 1, "alphabeta depth=1 noise=0.007"),
            (6, 1, "alphabeta nodes=120 noise=0.002"),
            (7, 1, "alphabeta nodes=400 noise=0.002"),
            (8, 1, "alphabeta nodes=1600 noise=0.002"),
        ],
        ..GameInfo::new("ataxx", "Ataxx", include_str!("ataxx.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        Ok(Ataxx { params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        Facts {
            tensor: Some(("board", planes(&["mine", "theirs", "my_move"], &[7, 7]))),
            ..board::facts(NAMES, ACTIONS, self.params.max_plies)
        }
    }

    fn start(&self) -> State {
        let steps = if self.counts_steps() { vec![START] } else { Vec::new() };
        State { pieces: START, plies: 0, end: None, steps }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if s.end.is_some() { ToMove::Over } else { ToMove::Seat(s.mover()) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if !self.acts(s, seat) {
            return;
        }
        // Actions are collected in an array first, because a growing sink would reallocate per action. At most 240 of
        // the 480 jumps are legal: a jump and its reverse are never both legal.
        let (mut ids, mut n) = ([0; 512], 0);
        let mut gather = |a: Action| {
            ids[n & 511] = a;
            n += 1;
        };
        cells(s.clones(seat)).for_each(|to| gather(to as Action));
        for (from, targets) in s.jumps(seat) {
            cells(targets).for_each(|to| gather(JUMP_ID[from][to].into()));
        }
        out.put_all(&ids[..n & 511]);
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        let mover = s.mover();
        let (from, to) = ends_of(a);
        let left = from.map_or(0, |from| 1 << from);
        let own = (s.pieces[mover] & !left) | 1 << to;
        let enemy = s.pieces[1 - mover] & !(1 << to);
        let mut repeated = false;
        if self.counts_steps() {
            let step = if mover == 0 { [own, enemy] } else { [enemy, own] };
            match (from, s.steps.last()) {
                (Some(_), Some(&last)) => repeated = s.steps.windows(2).any(|two| two == [last, step]),
                _ => s.steps.clear(),
            }
            s.steps.push(step);
        }
        let flipped = enemy & BESIDE[to];
        s.pieces[mover] = own | flipped;
        s.pieces[1 - mover] = enemy & !flipped;
        s.plies = s.plies.saturating_add(1);
        s.end = if repeated { Some(End::Repetition) } else { self.judge(s) };
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        board::returns(Self::winner(s), out);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let counted = matches!(s.end, Some(End::NoMove | End::Plies));
        View {
            board: rows(s.pieces),
            to_move: board::to_move(self.to_move(s), NAMES),
            plies: s.plies.into(),
            steps: s.steps.iter().map(|&step| rows(step).join("/")).collect(),
            end: s.end.map(|end| end.text().to_owned()),
            score: counted.then(|| s.score()),
        }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let pieces = read_rows(view.board.iter().map(String::as_str));
        let plies = view.plies.min(self.params.max_plies) as u16;
        let mut s = State { pieces, plies, end: None, steps: Vec::new() };
        if self.counts_steps() {
            s.steps = view.steps.iter().map(|step| read_rows(step.split('/'))).collect();
        }
        let repeated = view.end.as_deref() == Some(End::Repetition.text());
        s.end = if repeated { Some(End::Repetition) } else { self.judge(&s) };
        s
    }
}

impl GameMoves for Ataxx {
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let (clones, jumps) = out.split_at_mut(CELLS);
        jumps.fill(0);
        if !self.acts(s, seat) {
            return clones.fill(0);
        }
        put_bits(clones, s.clones(seat));
        for (from, targets) in s.jumps(seat) {
            cells(targets).for_each(|to| jumps[usize::from(JUMP_ID[from][to]) - CELLS] = 1);
        }
    }

    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        let (from, to) = ends_of(a);
        let near = from.map_or(BESIDE[to], |from| 1 << from);
        a < ACTIONS && self.acts(s, seat) && s.empty() >> to & 1 == 1 && s.pieces[seat] & near != 0
    }

    fn random_action(&self, s: &State, seat: Seat, rng: &mut Stream) -> Action {
        let (clones, seat) = (s.clones(seat & 1), seat & 1);
        let count = s.jumps(seat).fold(clones.count_ones(), |n, (_, targets)| n + targets.count_ones());
        let mut left = scale(rng.bits(), count.into()) as usize;
        let first = clones.count_ones() as usize;
        if left < first {
            return cells(clones).nth(left).unwrap_or(0) as Action;
        }
        left -= first;
        for (from, targets) in s.jumps(seat) {
            let here = targets.count_ones() as usize;
            if left < here {
                return cells(targets).nth(left).map_or(0, |to| JUMP_ID[from][to].into());
            }
            left -= here;
        }
        0
    }
}

impl GameText for Ataxx {
    fn text(&self, view: &View) -> String {
        let board: String = view.board.iter().enumerate().map(|(r, row)| format!("{} {row}\n", 7 - r)).collect();
        format!("{board}  abcdefg\n\n{}", self.standing(view))
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        let (from, to) = ends_of(a);
        from.map(name).unwrap_or_default() + &name(to)
    }

    /// Accepts `b6` or `a7b6` for a clone (from any adjacent piece of the mover), `a7c5` for a jump, and the action id.
    /// Punctuation and spaces in the cells are ignored.
    fn parse(&self, view: &View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let word: String = text.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let a = match word.len() {
            2 if word.as_bytes()[0].is_ascii_alphabetic() => read_cell(&word)? as Action,
            4 if word.as_bytes()[0].is_ascii_alphabetic() => {
                let (from, to) = (read_cell(&word[..2])?, read_cell(&word[2..])?);
                let own = read_rows(view.board.iter().map(String::as_str))[seat & 1] >> from & 1 == 1;
                match distance(from, to) {
                    1 if own => to as Action,
                    2 => JUMP_ID[from][to].into(),
                    _ => return None,
                }
            }
            _ => text.trim().parse().ok().filter(|a: &Action| a.to_string() == text.trim())?,
        };
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        let (from, to) = ends_of(a);
        let own = s.pieces[seat & 1];
        if s.owner(to).is_some() {
            return format!("{} is taken", name(to));
        }
        match from {
            Some(from) if own >> from & 1 == 0 => format!("{} has no piece on {}", NAMES[seat & 1], name(from)),
            _ => format!("{} has no piece next to {}", NAMES[seat & 1], name(to)),
        }
    }
}

impl GameObservation for Ataxx {
    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let [me, other] = board::sides(who);
        let (pieces, turn) = out.split_at_mut(2 * CELLS);
        put_bits(&mut pieces[..CELLS], s.pieces[me]);
        put_bits(&mut pieces[CELLS..], s.pieces[other]);
        turn.fill(u8::from(self.acts(s, me)));
    }
}

impl GameDisplay for Ataxx {
    fn drawing(&self, view: &View, _from: Viewer) -> String {
        let mut names = board::numbers(1, 7);
        names.reverse();
        let board = board::labelled(&view.board, &board::letters(&LETTERS[..7]), &names);
        format!("{board}\n{}", self.standing(view))
    }

    /// Returns a warning for a move that loses by repetition.
    fn gloss(&self, view: &View, seat: Seat, a: Action) -> String {
        if !self.counts_steps() {
            return String::new();
        }
        let mut s = self.sample_world(view, &mut Stream::new(&[0; 32]));
        if !self.is_legal(&s, seat, a) {
            return String::new();
        }
        self.play_unchecked(&mut s, a);
        let loses = s.end == Some(End::Repetition);
        if loses { "repeats an earlier step and loses at once".to_owned() } else { String::new() }
    }

    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Returns one click for a clone (the target), two for a jump (source and target).
    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        let (from, to) = ends_of(a);
        Some(Gesture::of(from.into_iter().chain([to]).map(name)))
    }
}

impl GameSearch for Ataxx {
    /// Returns the scaled piece lead of `seat`, adjusted by half of the best gain of the side to move. Only half of the
    /// gain counts because the opponent usually wins part of it back.
    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        let me = seat & 1;
        let [mine, theirs] = [me, 1 - me].map(|p| f64::from((s.pieces[p] & FULL).count_ones()));
        let gain = if s.end.is_some() { 0.0 } else { f64::from(s.best_gain(s.mover())) };
        let gain = if s.mover() == me { gain } else { -gain };
        // The lead is below 50 and a gain is at most 17, so the result stays between -1 and 1.
        Some((2.0 * (mine - theirs) + gain) / 120.0)
    }

    /// Orders moves mainly by the number of pieces that they flip, highest first. Jumps that flip no piece are listed
    /// only if no clone is legal.
    fn search_moves(&self, s: &State, seat: Seat, out: &mut Vec<Action>) -> usize {
        if !self.acts(s, seat) {
            return 0;
        }
        let from = out.len();
        let turns = |to: usize| (s.pieces[1 - seat] & BESIDE[to]).count_ones();
        let clones = s.clones(seat);
        cells(clones).for_each(|to| out.push(to as Action));
        for (from, targets) in s.jumps(seat) {
            let worth_it = cells(targets).filter(|&to| clones == 0 || turns(to) > 0);
            worth_it.for_each(|to| out.push(JUMP_ID[from][to].into()));
        }
        out[from..].sort_by_cached_key(|&a| {
            let (left, to) = ends_of(a);
            // A jump empties its source, which lets the opponent in among the mover's pieces around it.
            let cost = left.map_or(0, |left| 2 + (s.pieces[seat] & BESIDE[left]).count_ones());
            let own = (s.pieces[seat] & BESIDE[to]).count_ones();
            cost as i32 - 4 * turns(to) as i32 - own as i32
        });
        (out.len() - from).min(FRONT)
    }

    /// Hashes the pieces, the side to move, and the number of remaining plies (capped at 20). Earlier boards,
    /// which determine repetitions, are not included.
    fn hash(&self, s: &State) -> Option<u64> {
        let left = self.params.max_plies.saturating_sub(s.plies.into()).min(NEAR_END);
        let rest = u64::from(left) << 1 | s.mover() as u64;
        let mixed = s.pieces[0].wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (s.pieces[1] | rest << CELLS);
        Some((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }
}

impl GameMarks for Ataxx {}
