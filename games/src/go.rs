#![doc = include_str!("go.md")]

mod bits;
mod picture;
mod position;
#[cfg(test)]
mod tests;
mod view;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ludex_env::draw::{Stream, scale};
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::planes;
use ludex_protocol::record::Record;

use crate::board;
use crate::notation;
use crate::sgf as format;

use bits::Bits;
use position::{Grid, Position};
pub use view::View;
use view::{NAMES, sgf};

/// The game on a board of at most `64 * W` points.
pub struct Go<const W: usize> {
    params: Params,
    grid: Grid<W>,
    start: State<W>,
    /// The color that moves first (0 = Black).
    first: usize,
    /// Maximum number of plies. After the last ply, the area is counted.
    longest: usize,
}

/// Parameters of board size, handicap and end of the game.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of rows and of columns, 2 to 19.
    #[schemars(range(min = 2, max = 19))]
    pub board_size: u32,
    /// Points added to White's score. If komi is an integer, a game can be a draw.
    #[schemars(range(min = -400, max = 400))]
    pub komi: f64,
    /// Number of black handicap stones, 2 to 9, on 19x19 only; White then moves first. With 0 or 1, no stones are set
    /// up and Black moves first.
    #[schemars(range(min = 0, max = 9))]
    pub handicap: u32,
    /// Maximum number of plies. After the last ply, the area is counted. Default: 2 * board_size * board_size.
    #[schemars(range(min = 2, max = 100_000))]
    pub max_game_length: Option<u32>,
    /// Result of a move that repeats an earlier position.
    pub superko: Superko,
}

/// Result of a move that repeats an earlier position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Superko {
    /// The game is a draw.
    Draw,
    /// The move is not legal.
    Forbidden,
    /// The mover loses. This is Botzone's rule: passes count as repetitions too, and so do positions with exchanged
    /// colors.
    Loses,
}

impl Default for Params {
    fn default() -> Self {
        Params { board_size: 19, komi: 7.5, handicap: 0, max_game_length: None, superko: Superko::Draw }
    }
}

/// Reason for the end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passes,
    Length,
    Repetition,
}

impl End {
    const fn text(self) -> &'static str {
        match self {
            End::Passes => "passes",
            End::Length => "length",
            End::Repetition => "repetition",
        }
    }
}

/// A game in progress.
#[derive(Debug)]
pub struct State<const W: usize> {
    board: Position<W>,
    end: Option<End>,
    /// One entry per move: the key of the position after the move, with the low bits replaced by the action id.
    record: Vec<u64>,
}

/// Mask of the bits of a record entry that hold the action id, 0 to 361.
const MOVE: u64 = 0x1ff;

/// Maximum number of remaining plies that the hash distinguishes. Higher numbers are hashed as this number.
const NEAR: usize = 20;

// `clone_from` is implemented to reuse the record: search copies states very often.
impl<const W: usize> Clone for State<W> {
    fn clone(&self) -> Self {
        State { record: self.record.clone(), ..*self }
    }

    fn clone_from(&mut self, from: &Self) {
        self.record.clone_from(&from.record);
        (self.board, self.end) = (from.board, from.end);
    }
}

/// OpenSpiel's handicap points, in order. For a handicap of five, seven or nine, the last point is the center.
const HANDICAP: [&str; 9] = ["d4", "q16", "d16", "q4", "d10", "q10", "k4", "k16", "k10"];

fn handicap_points(handicap: usize) -> Vec<usize> {
    let mut names = HANDICAP[..handicap.min(9)].to_vec();
    if handicap >= 5 && handicap % 2 == 1 {
        names[handicap - 1] = "k10";
    }
    names.into_iter().filter_map(|name| view::read_point(19, name)).map(|a| a as usize).collect()
}

impl<const W: usize> Go<W> {
    fn size(&self) -> usize {
        self.grid.size
    }

    /// Returns the id of a pass, which equals the number of points.
    fn pass(&self) -> usize {
        self.size() * self.size()
    }

    #[inline]
    fn mover(&self, s: &State<W>) -> usize {
        (s.record.len() + self.first) & 1
    }

    fn passed(&self, s: &State<W>) -> bool {
        s.record.last().is_some_and(|entry| entry & MOVE == self.pass() as u64)
    }

    /// Returns true if a position with this key has occurred in the game.
    fn has_been(&self, s: &State<W>, key: u64) -> bool {
        let same = |entry: u64| (entry ^ key) & !MOVE == 0;
        same(self.start.board.key) || s.record.iter().any(|&entry| same(entry))
    }

    /// Returns true if a stone on `point` is forbidden only because it repeats an earlier position.
    fn forbids(&self, s: &State<W>, color: usize, point: usize) -> bool {
        self.params.superko == Superko::Forbidden
            && s.board.captured[color].has(point)
            && self.has_been(s, s.board.key_after(&self.grid, color, point))
    }

    /// Returns the points on which the side to move may place a stone.
    #[inline]
    fn open(&self, s: &State<W>) -> Bits<W> {
        let color = self.mover(s);
        let open = s.board.legal(&self.grid, color);
        if self.params.superko != Superko::Forbidden {
            return open;
        }
        let doubtful = (open & s.board.captured[color]).points();
        open & !doubtful.filter(|&point| self.forbids(s, color, point)).collect::<Bits<W>>()
    }

    #[inline]
    fn acts(&self, s: &State<W>, seat: Seat) -> bool {
        self.to_move(s) == ToMove::Seat(seat)
    }

    /// Returns Black's lead: Black's area, minus White's area, minus White's komi and handicap points.
    fn lead(&self, s: &State<W>) -> f64 {
        f64::from(s.board.area(&self.grid)) - self.white_bonus()
    }

    /// Returns the points that White gets in addition to its area, from komi and handicap.
    fn white_bonus(&self) -> f64 {
        let stones = if self.params.handicap >= 2 { self.params.handicap } else { 0 };
        self.params.komi + f64::from(stones)
    }

    fn winner(&self, s: &State<W>) -> Option<Seat> {
        match s.end? {
            End::Repetition if self.params.superko == Superko::Loses => Some(self.mover(s)),
            End::Repetition => None,
            End::Passes | End::Length => match self.lead(s) {
                lead if lead > 0.0 => Some(0),
                lead if lead < 0.0 => Some(1),
                _ => None,
            },
        }
    }

    fn owner(s: &State<W>, point: usize) -> Option<Seat> {
        (0..2).find(|&color| s.board.stones[color].has(point))
    }
}

impl<const W: usize> Game for Go<W> {
    type Params = Params;
    type State = State<W>;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("go.j2"),
        presets: &[
            ("small", r#"{"board_size": 9}"#, "9x9: the usual board for beginners and for short games"),
            (
                "botzone",
                r#"{"board_size": 8, "komi": 1.5, "superko": "loses", "max_game_length": 1000}"#,
                "Botzone: 8x8; komi 1.5 (0.75 stones); a player who repeats a position loses; 1000 plies, where Botzone has no limit",
            ),
            (
                "botzonebench",
                r#"{"board_size": 8, "komi": 1.5, "superko": "loses", "max_game_length": 1000}"#,
                "BotzoneBench's code (not part of its benchmark): as botzone",
            ),
        ],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "alphabeta depth=1 noise=1"),
            (2, 1, "alphabeta depth=1 noise=0.25"),
            (3, 1, "alphabeta depth=1 noise=0.09"),
            (4, 1, "alphabeta depth=1 noise=0.035"),
            (5, 1, "alphabeta depth=1 noise=0.012"),
            (6, 1, "alphabeta depth=1 noise=0.002"),
            (7, 1, "alphabeta nodes=700 noise=0.001"),
        ],
        notation: Some(notation::SGF),
        ..GameInfo::new("go", "Go", include_str!("go.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let Params { board_size, handicap, max_game_length, .. } = params;
        let size = board_size as usize;
        if size * size > 64 * W {
            return Err(ParamError::value("board_size", board_size, "2 to 19"));
        }
        if handicap >= 2 && size != 19 {
            return Err(ParamError::value("handicap", handicap, "0 or 1 unless board_size is 19"));
        }
        let grid = Grid::new(size);
        let mut start = State { board: Position::EMPTY, end: None, record: Vec::new() };
        let first = usize::from(handicap >= 2);
        if first == 1 {
            handicap_points(handicap as usize).into_iter().for_each(|point| start.board.place(&grid, 0, point));
        }
        let longest = max_game_length.map_or(2 * size * size, |length| length as usize);
        let params = Params { max_game_length: Some(longest as u32), ..params };
        Ok(Go { params, grid, start, first, longest })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let size = [self.params.board_size; 2];
        Facts {
            tensor: Some(("board", planes(&["mine", "theirs", "ko", "passed", "i_am_black", "my_move"], &size))),
            openspiel: Some(planes(&["black", "white", "empty", "white_to_play"], &size)),
            ..board::facts(NAMES, self.pass() as u32 + 1, self.longest as u32)
        }
    }

    fn start(&self) -> State<W> {
        self.start.clone()
    }

    #[inline]
    fn to_move(&self, s: &State<W>) -> ToMove {
        if s.end.is_some() { ToMove::Over } else { ToMove::Seat(self.mover(s)) }
    }

    fn legal(&self, s: &State<W>, seat: Seat, out: &mut impl ActionSink) {
        if self.acts(s, seat) {
            self.open(s).points().for_each(|point| out.put(point as Action));
            out.put(self.pass() as Action);
        }
    }

    fn play_unchecked(&self, s: &mut State<W>, a: Action) {
        let (color, point) = (self.mover(s), a as usize);
        let passes = point >= self.pass();
        if !passes {
            s.board.place(&self.grid, color, point);
        }
        let superko = self.params.superko;
        let key = if superko == Superko::Loses { s.board.key_for(1 - color) } else { s.board.key };
        s.end = if passes && self.passed(s) {
            Some(End::Passes)
        } else if match superko {
            // A stone can repeat an earlier board only on a point where a stone of its color was captured.
            Superko::Draw => !passes && s.board.captured[color].has(point) && self.has_been(s, key),
            Superko::Loses => s.record.iter().any(|entry| (entry ^ key) & !MOVE == 0),
            Superko::Forbidden => false,
        } {
            Some(End::Repetition)
        } else if s.record.len() + 1 >= self.longest {
            Some(End::Length)
        } else {
            None
        };
        if passes {
            s.board.ko = None;
        }
        s.record.push(key & !MOVE | a as u64 & MOVE);
    }

    fn returns(&self, s: &State<W>, out: &mut [f64]) {
        board::returns(self.winner(s), out);
    }

    fn view(&self, s: &State<W>, _who: Viewer) -> View {
        let size = self.size();
        let counted = matches!(s.end, Some(End::Passes | End::Length));
        View {
            board: view::board(size, |point| Self::owner(s, point)),
            moves: s.record.iter().map(|entry| view::point_name(size, (entry & MOVE) as Action)).collect(),
            to_move: board::to_move(self.to_move(s), NAMES),
            ko: s.board.ko.map(|point| view::point_name(size, point.into())),
            end: s.end.map(|end| end.text().to_owned()),
            lead: counted.then(|| self.lead(s)),
        }
    }

    /// Plays the moves of the view again, up to the first illegal move.
    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State<W> {
        let mut s = self.start();
        for name in &view.moves {
            let Some(a) = view::read_point(self.size(), name) else { break };
            if !self.is_legal(&s, self.mover(&s), a) {
                break;
            }
            self.play_unchecked(&mut s, a);
        }
        s
    }
}

impl<const W: usize> GameMoves for Go<W> {
    #[inline]
    fn mask(&self, s: &State<W>, seat: Seat, out: &mut [u8]) {
        let acts = self.acts(s, seat);
        let open = if acts { self.open(s) } else { Bits::EMPTY };
        let pass = self.pass();
        open.put(&mut out[..pass]);
        out[pass] = u8::from(acts);
    }

    fn is_legal(&self, s: &State<W>, seat: Seat, a: Action) -> bool {
        let point = a as usize;
        let free = || s.board.legal(&self.grid, seat).has(point) && !self.forbids(s, seat, point);
        self.acts(s, seat) && (point == self.pass() || free())
    }

    #[inline]
    fn random_action(&self, s: &State<W>, _seat: Seat, rng: &mut Stream) -> Action {
        let open = self.open(s);
        let nth = scale(rng.bits(), u64::from(open.count()) + 1) as u32;
        open.nth(nth).unwrap_or(self.pass()) as Action
    }
}

impl<const W: usize> GameText for Go<W> {
    fn text(&self, view: &View) -> String {
        view::text(view, self.params.komi, view.moves.len() + self.first)
    }

    fn action_text(&self, _view: &View, seat: Seat, a: Action) -> String {
        view::action_text(self.size(), seat, a)
    }

    /// Accepts `d4` or `pass`, either alone or after a color, and the action id.
    fn parse(&self, _view: &View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        view::parse(self.size(), seat, text).filter(|a| legal.contains(a))
    }

    fn why_not(&self, s: &State<W>, seat: Seat, a: Action) -> String {
        let (point, name) = (a as usize, view::point_name(self.size(), a));
        if !s.board.is_empty_at(point) {
            format!("{name} is taken")
        } else if s.board.ko == Some(point as u16) {
            format!("the ko rule forbids {name} for this move")
        } else if s.board.legal(&self.grid, seat & 1).has(point) {
            format!("a stone on {name} would repeat an earlier position")
        } else {
            format!("a stone on {name} would have no liberty: suicide")
        }
    }

    fn in_notation(&self, end: &State<W>, record: &Record) -> Result<String, String> {
        let counted = matches!(end.end, Some(End::Passes | End::Length));
        let lead = counted.then(|| self.lead(end));
        Ok(format::record_sgf(record, lead, |moves, properties| sgf(&self.params, moves, properties)))
    }
}

impl<const W: usize> GameObservation for Go<W> {
    #[inline]
    fn tensor(&self, s: &State<W>, who: Viewer, out: &mut [u8]) {
        let sides = board::sides(who);
        let ko = s.board.ko.map_or(Bits::EMPTY, |point| Bits::of(point.into()));
        let (sets, ones) = out.split_at_mut(3 * self.pass());
        let planes = [s.board.stones[sides[0]], s.board.stones[sides[1]], ko];
        sets.chunks_exact_mut(self.pass()).zip(planes).for_each(|(plane, set)| set.put(plane));
        let facts = [self.passed(s), sides[0] == 0, self.acts(s, sides[0])];
        ones.chunks_exact_mut(self.pass()).zip(facts).for_each(|(plane, fact)| plane.fill(u8::from(fact)));
    }

    fn openspiel_tensor(&self, s: &State<W>, _seat: Seat, out: &mut [f32]) {
        let (stones, turn) = out.split_at_mut(3 * self.pass());
        board::planes(stones, &[Some(0), Some(1), None], |point| Self::owner(s, point));
        turn.fill(if self.mover(s) == 1 { 1.0 } else { 0.0 });
    }
}

impl<const W: usize> GameDisplay for Go<W> {
    fn drawing(&self, view: &View, _from: Viewer) -> String {
        view::drawing(view, self.params.komi, view.moves.len() + self.first)
    }

    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self.size(), view)
    }

    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        ((a as usize) < self.pass()).then(|| Gesture::of([view::point_name(self.size(), a)]))
    }

    /// Returns a warning for a move that ends the game by repetition.
    fn gloss(&self, view: &View, seat: Seat, a: Action) -> String {
        let word = match self.params.superko {
            Superko::Forbidden => return String::new(),
            Superko::Draw => "brings an earlier board back: the game ends as a draw",
            Superko::Loses => "repeats an earlier position and loses at once",
        };
        let mut s = self.sample_world(view, &mut Stream::new(&[0; 32]));
        if !self.is_legal(&s, seat, a) {
            return String::new();
        }
        self.play_unchecked(&mut s, a);
        if s.end == Some(End::Repetition) { word.to_owned() } else { String::new() }
    }
}

impl<const W: usize> GameSearch for Go<W> {
    /// Assigns each empty point to the nearest stones, and returns lead / (|lead| + number of points). The lead
    /// includes komi and handicap.
    fn evaluate(&self, s: &State<W>, seat: Seat) -> Option<f64> {
        let lead = f64::from(s.board.influence(&self.grid, self.mover(s))) - self.white_bonus();
        let black = lead / (lead.abs() + self.pass() as f64);
        Some(if seat == 0 { black } else { -black })
    }

    /// Hashes the stones, ko, side to move, whether the last move was a pass, and number of remaining plies (capped at
    /// 20). Earlier positions that superko may forbid are not included.
    fn hash(&self, s: &State<W>) -> Option<u64> {
        let left = self.longest.saturating_sub(s.record.len()).min(NEAR) as u64;
        let ko = s.board.ko.map_or(MOVE, u64::from);
        let rest = ko | u64::from(self.passed(s)) << 9 | (self.mover(s) as u64) << 10 | left << 11;
        Some(s.board.key ^ (rest + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

impl<const W: usize> GameMarks for Go<W> {}
