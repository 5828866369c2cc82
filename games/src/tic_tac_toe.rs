#![doc = include_str!("tic_tac_toe.md")]

mod picture;

use ludex_env::draw::{Stream, scale};
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::ParamError;
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::{planes, put_bits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board;

/// Tic-tac-toe on a board of three rows and columns.
pub struct TicTacToe {
    params: Params,
}

/// Parameters; the game has none.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {}

/// A position: the cells of each side as bits `row * 3 + column`, counted from the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    stones: [u16; 2],
    ply: u8,
    /// True if the last move made a line.
    won: bool,
}

/// The public information about a position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Three rows of `.`, `x` and `o`, the top row first.
    pub board: [String; 3],
    /// Side to move, `x` or `o`; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
}

const FULL: u16 = 0o777;
const NAMES: [&str; 2] = ["x", "o"];
const MARKS: [char; 2] = ['x', 'o'];

/// Returns true if `stones` contains a line: a row, a column or a diagonal.
const fn has_line(stones: u16) -> bool {
    let mut i = 0;
    while i < LINES.len() {
        if stones & LINES[i] == LINES[i] {
            return true;
        }
        i += 1;
    }
    false
}

const LINES: [u16; 8] = [0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];

/// True for each set of stones that contains a line, indexed by the nine bits of the set.
const WON: [bool; 512] = {
    let mut table = [false; 512];
    let mut i = 0;
    while i < 512 {
        table[i] = has_line(i as u16);
        i += 1;
    }
    table
};

impl State {
    fn mover(&self) -> usize {
        usize::from(self.ply & 1)
    }

    fn empty(&self) -> u16 {
        FULL & !(self.stones[0] | self.stones[1])
    }

    fn owner(&self, cell: usize) -> Option<Seat> {
        board::owner(self.stones.map(u64::from), cell)
    }
}

impl Game for TicTacToe {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("tic_tac_toe.j2"),
        presets: &[
            ("botzonebench", "{}", "BotzoneBench's game: the defaults"),
            ("gtbench", "{}", "GTBench's game: the defaults"),
            ("llmarena", "{}", "LLMArena's game: the defaults"),
            ("qitown", "{}", "Qi Town's game: the defaults"),
        ],
        ladder: &[(0, 1, "random"), (1, 1, "solver"), (1, 2, "alphabeta depth=9")],
        ..GameInfo::new("tic_tac_toe", "Tic-tac-toe", include_str!("tic_tac_toe.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        Ok(TicTacToe { params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        Facts {
            tensor: Some(("board", planes(&["mine", "theirs"], &[3, 3]))),
            openspiel: Some(planes(&["empty", "o", "x"], &[3, 3])),
            ..board::facts(NAMES, 9, 9)
        }
    }

    fn start(&self) -> State {
        State { stones: [0; 2], ply: 0, won: false }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if s.won || s.ply >= 9 { ToMove::Over } else { ToMove::Seat(s.mover()) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            (0..9).filter(|a| s.empty() >> a & 1 == 1).for_each(|a| out.put(a));
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        let side = &mut s.stones[usize::from(s.ply & 1)];
        *side |= 1 << (a & 15) & FULL;
        s.won = WON[usize::from(*side)];
        s.ply = s.ply.saturating_add(1);
    }

    #[inline]
    fn returns(&self, s: &State, out: &mut [f64]) {
        // A win belongs to the side that moved last.
        board::returns(s.won.then(|| 1 - s.mover()), out);
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        let row = |r: usize| board::row((0..3).map(|c| s.owner(r * 3 + c)), MARKS);
        View { board: [row(0), row(1), row(2)], to_move: board::to_move(self.to_move(s), NAMES) }
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let mut s = self.start();
        for (row, line) in view.board.iter().enumerate() {
            board::stones_of(line, 3, MARKS).for_each(|(c, seat)| s.stones[seat] |= 1 << (row * 3 + c));
        }
        s.ply = (s.stones[0].count_ones() + s.stones[1].count_ones()) as u8;
        s.won = WON[usize::from(s.stones[0] & FULL)] || WON[usize::from(s.stones[1] & FULL)];
        s
    }
}

impl GameMoves for TicTacToe {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let bits = if self.to_move(s) == ToMove::Seat(seat) { s.empty() } else { 0 };
        put_bits(&mut out[..9], bits.into());
    }

    #[inline]
    fn random_action(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Action {
        let mut left = s.empty();
        for _ in 0..scale(rng.bits(), u64::from(left.count_ones())) {
            left &= left - 1;
        }
        left.trailing_zeros().min(8)
    }
}

impl GameText for TicTacToe {
    fn text(&self, view: &View) -> String {
        view.board.join("\n")
    }

    fn action_text(&self, _view: &View, seat: Seat, a: Action) -> String {
        format!("{}({},{})", NAMES[seat & 1], a / 3, a % 3)
    }

    /// Accepts the displayed name, `a1` (column letter, row from the bottom), and action ids.
    fn parse(&self, view: &View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim();
        let a = match (board::square(text, &board::LETTERS[..3], 3), text.as_bytes()) {
            (Some([column, row]), _) => (2 - row) * 3 + column,
            (_, [d @ b'0'..=b'8']) => u32::from(d - b'0'),
            _ => (0..9).find(|&a| self.action_text(view, seat, a).eq_ignore_ascii_case(text))?,
        };
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        let name = self.action_text(&self.view(s, Viewer::Public), seat, a);
        format!("{a} is {name}: the square is taken")
    }
}

impl GameObservation for TicTacToe {
    #[inline]
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let [mine, theirs] = board::sides(who).map(|side| u64::from(s.stones[side]));
        put_bits(&mut out[..18], mine | theirs << 9);
    }

    fn openspiel_tensor(&self, s: &State, _seat: Seat, out: &mut [f32]) {
        board::planes(out, &[None, Some(1), Some(0)], |cell| s.owner(cell));
    }
}

impl GameDisplay for TicTacToe {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        Some(Gesture::of([picture::name([a as usize % 3, a as usize / 3])]))
    }

    fn drawing(&self, view: &View, _from: Viewer) -> String {
        board::labelled(&view.board, &board::numbers(0, 3), &board::numbers(0, 3))
    }
}

impl GameSearch for TicTacToe {
    fn hash(&self, s: &State) -> Option<u64> {
        Some(u64::from(s.stones[0]) | u64::from(s.stones[1]) << 16)
    }
}

impl GameMarks for TicTacToe {}
