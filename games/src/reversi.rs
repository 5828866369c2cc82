#![doc = include_str!("reversi.md")]

mod evaluation;
mod lines;
mod picture;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, Alias, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::ParamError;
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::{planes, spread_bits};
use ludex_protocol::record::Record;

use crate::board;
use crate::notation;
use crate::sgf as format;

use lines::{flips, moves};

/// Reversi with fixed parameters.
pub struct Reversi {
    params: Params,
}

/// Parameters of Reversi: only the rule for passing.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// If true, a player without a legal move is skipped; otherwise the player must pass.
    pub auto_pass: bool,
}

/// A position of the game. Squares are bits `row * 8 + column`, counted from the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    discs: [u64; 2],
    /// Legal squares of the seat to move; empty if the seat must pass, and at the end.
    moves: u64,
    /// The seat to move; 0 at the end.
    mover: u8,
    over: bool,
}

/// The public information about a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Eight rows of `.`, `x` (black) and `o` (white), row 1 first.
    pub board: [String; 8],
    /// Number of discs of black and of white.
    pub discs: [u32; 2],
    /// Color to move, `black` or `white`; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
}

/// The id of a pass.
pub const PASS: Action = 64;

const NAMES: [&str; 2] = ["black", "white"];
const MARKS: [char; 2] = ['x', 'o'];
/// Initial discs of black (e4, d5) and white (d4, e5).
const START: [u64; 2] = [1 << 28 | 1 << 35, 1 << 27 | 1 << 36];
/// Number of moves that search tries in sorted order.
const FRONT: usize = 4;
/// OpenSpiel's upper bound on the moves of a game, including passes.
const LONGEST: u32 = 128;

impl Reversi {
    /// Returns the position with these discs. Seat `next` is to move if it has a legal move.
    #[inline]
    fn settle(&self, discs: [u64; 2], next: usize) -> State {
        let can = |seat: usize| moves(discs[seat], discs[1 - seat]);
        let mut s = State { discs, moves: can(next), mover: next as u8, over: false };
        if s.moves == 0 {
            let other = can(1 - next);
            s.over = other == 0;
            if s.over {
                s.mover = 0;
            } else if self.params.auto_pass {
                (s.moves, s.mover) = (other, 1 - s.mover);
            }
        }
        s
    }
}

/// Returns a game in the Smart Game Format, starting from the standard position. `moves` holds seats and action ids;
/// for `properties` see `sgf::game`.
fn sgf(moves: &[(Seat, Action)], properties: &[(&str, &str)]) -> String {
    let stone = |&(seat, a): &(Seat, Action)| (seat, (a < PASS).then_some([a % 8, a / 8]));
    format::game(2, 8, properties, &[], &moves.iter().map(stone).collect::<Vec<_>>())
}

fn square_text(a: Action) -> String {
    format!("{}{}", char::from(b'a' + (a % 8) as u8), a / 8 + 1)
}

impl Game for Reversi {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("reversi.j2"),
        presets: &[
            ("botzonebench", "{}", "BotzoneBench: the defaults"),
            ("qitown", r#"{"auto_pass": true}"#, "Qi Town: a side without a move passes automatically"),
        ],
        aliases: &[Alias { name: "othello", map: Ok }],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "alphabeta depth=1 noise=0.015"),
            (1, 2, "mcts sims=10"),
            (2, 1, "alphabeta nodes=60 noise=0.01"),
            (2, 2, "mcts sims=100"),
            (3, 1, "alphabeta nodes=140 noise=0.002"),
            (4, 1, "alphabeta nodes=500 noise=0.002"),
            (5, 1, "alphabeta nodes=2500 noise=0.002"),
            (6, 1, "alphabeta nodes=15000 noise=0.002"),
        ],
        notation: Some(notation::SGF),
        ..GameInfo::new("reversi", "Reversi", include_str!("reversi.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        Ok(Reversi { params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let max_length = if self.params.auto_pass { 60 } else { LONGEST };
        Facts {
            tensor: Some(("board", planes(&["mine", "theirs"], &[8, 8]))),
            openspiel: Some(planes(&["empty", "mine", "theirs"], &[8, 8])),
            ..board::facts(NAMES, PASS + 1, max_length)
        }
    }

    fn start(&self) -> State {
        self.settle(START, 0)
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if s.over { ToMove::Over } else { ToMove::Seat(usize::from(s.mover)) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) != ToMove::Seat(seat) {
            return;
        }
        let mut left = s.moves;
        while left != 0 {
            out.put(left.trailing_zeros());
            left &= left - 1;
        }
        if s.moves == 0 {
            out.put(PASS);
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        let me = usize::from(s.mover & 1);
        let (mut mine, mut theirs) = (s.discs[me], s.discs[1 - me]);
        if a < PASS {
            let gained = 1 << a | flips(mine, theirs, 1 << a);
            mine |= gained;
            theirs &= !gained;
        }
        let discs = if me == 0 { [mine, theirs] } else { [theirs, mine] };
        *s = self.settle(discs, 1 - me);
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        let [black, white] = s.discs.map(u64::count_ones);
        let decided = s.over && black != white;
        board::returns(decided.then_some(usize::from(white > black)), out);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let row = |r: usize| board::row((0..8).map(|c| board::owner(s.discs, r * 8 + c)), MARKS);
        View {
            board: std::array::from_fn(row),
            discs: s.discs.map(u64::count_ones),
            to_move: board::to_move(self.to_move(s), NAMES),
        }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let mut discs = [0; 2];
        for (r, row) in view.board.iter().enumerate() {
            board::stones_of(row, 8, MARKS).for_each(|(c, seat)| discs[seat] |= 1 << (r * 8 + c));
        }
        self.settle(discs, usize::from(view.to_move.as_deref() == Some(NAMES[1])))
    }
}

impl GameMoves for Reversi {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let acts = self.to_move(s) == ToMove::Seat(seat);
        if let Some((pass, squares)) = out.split_last_mut() {
            spread_bits(&[if acts { s.moves } else { 0 }], squares);
            *pass = u8::from(acts && s.moves == 0);
        }
    }

    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        let may = if a < PASS { s.moves >> a & 1 == 1 } else { a == PASS && s.moves == 0 };
        may && self.to_move(s) == ToMove::Seat(seat)
    }

    #[inline]
    fn random_action(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Action {
        let mut left = s.moves;
        for _ in 0..rng.below(left.count_ones() as usize) {
            left &= left - 1;
        }
        // Without a legal square, the result is 64, the id of a pass.
        left.trailing_zeros()
    }
}

impl GameText for Reversi {
    fn text(&self, view: &View) -> String {
        const LETTERS: &str = "  a b c d e f g h  ";
        let head = match view.to_move.as_deref() {
            Some("black") => "Black (x) to play:",
            Some(_) => "White (o) to play:",
            None => "Terminal State:",
        };
        let mut out = format!("{head}\n{LETTERS}\n");
        for (r, row) in view.board.iter().enumerate() {
            let cells: String = row.chars().flat_map(|c| [if c == '.' { '-' } else { c }, ' ']).collect();
            out += &format!("{n} {cells}{n}\n", n = r + 1);
        }
        out + LETTERS
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        if a < PASS { square_text(a) } else { "pass".to_owned() }
    }

    /// Accepts square names, `pass`, and action ids.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim().to_ascii_lowercase();
        let a = match *text.as_bytes() {
            [c @ b'a'..=b'h', r @ b'1'..=b'8'] => u32::from(r - b'1') * 8 + u32::from(c - b'a'),
            _ if text == "pass" => PASS,
            _ => text.parse().ok()?,
        };
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, s: &State, _seat: Seat, a: Action) -> String {
        if a >= PASS {
            return "a player who can place a disc may not pass".to_owned();
        }
        let why = if (s.discs[0] | s.discs[1]) >> a & 1 == 1 {
            "the square is taken"
        } else if s.moves == 0 {
            "the only move is to pass"
        } else {
            "the move flips no disc"
        };
        format!("{a} is {}: {why}", square_text(a))
    }

    fn in_notation(&self, _end: &State, record: &Record) -> Result<String, String> {
        Ok(format::record_sgf(record, None, sgf))
    }
}

impl GameObservation for Reversi {
    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        spread_bits(&board::sides(who).map(|side| s.discs[side]), out);
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        let me = seat & 1;
        board::planes(out, &[None, Some(me), Some(1 - me)], |square| board::owner(s.discs, square));
    }
}

impl GameDisplay for Reversi {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        (a < PASS).then(|| Gesture::of([square_text(a)]))
    }
}

impl GameSearch for Reversi {
    /// Returns the lead of `seat` in corners, stable edges, mobility and enclosed discs, scaled into (-1, 1). At the
    /// end, returns the result.
    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        let me = seat & 1;
        if s.over {
            let mut returns = [0.0; 2];
            self.returns(s, &mut returns);
            return Some(returns[me]);
        }
        Some(evaluation::lead(s.discs[me], s.discs[1 - me]))
    }

    /// Adds the legal moves, with corners first, then moves that leave the opponent few replies. Returns the number of
    /// moves that search tries in this order.
    fn search_moves(&self, s: &State, seat: Seat, out: &mut Vec<Action>) -> usize {
        let from = out.len();
        self.legal(s, seat, out);
        if s.moves == 0 {
            return 0;
        }
        let (mine, theirs) = (s.discs[seat & 1], s.discs[1 - (seat & 1)]);
        out[from..].sort_by_cached_key(|&a| {
            let gained = 1 << a | flips(mine, theirs, 1 << a);
            evaluation::unpromising(1 << a, mine | gained, theirs & !gained)
        });
        (out.len() - from).min(FRONT)
    }

    fn hash(&self, s: &State) -> Option<u64> {
        let [black, white] = s.discs;
        let side = black.rotate_left(31) ^ u64::from(s.mover);
        Some((side.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ white).wrapping_mul(0xd6e8_feb8_6659_fd93))
    }
}

impl GameMarks for Reversi {}
