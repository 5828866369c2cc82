#![doc = include_str!("chess.md")]

mod evaluation;
mod ids;
mod moves;
mod notation;
mod order;
mod picture;
mod state;
#[cfg(test)]
mod tests;
mod view;
mod why;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shakmaty::{Chess as Board, Color, Position};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
    GameText, Seat, ToMove, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_protocol::record::Record;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

pub use ids::{ACTIONS, LONG, SHORT};
#[cfg(test)]
use notation::pgn;
pub use state::{End, State};
pub use view::View;

use moves::Scan;

/// The game with its parameters and start position.
pub struct Chess {
    params: Params,
    start: State,
    /// FEN of the start position.
    fen: String,
}

/// Parameters of the start position and the automatic draws.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Start position as FEN. Default: the standard start position.
    pub fen: Option<String>,
    /// The game is a draw after this many consecutive plies without a capture or a pawn move; 0 = never (requires
    /// `max_plies`).
    #[schemars(range(min = 0, max = 1000))]
    pub draw_after: u32,
    /// The game is a draw when a position has occurred this many times; 0 = never.
    #[schemars(range(min = 0, max = 1000))]
    pub repetition: u32,
    /// If true, the game is a draw when neither side has enough material for a mate.
    pub insufficient_material: bool,
    /// The game is a draw after this many plies; 0 = no limit.
    #[schemars(range(min = 0, max = 20_000))]
    pub max_plies: u32,
    /// OpenSpiel's parameter; only `false` is supported.
    pub chess960: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { fen: None, draw_after: 100, repetition: 3, insufficient_material: true, max_plies: 0, chess960: false }
    }
}

/// Upper bound on the plies of a game under the 75-move rule, from OpenSpiel.
const LONGEST: u32 = 17_695;
/// Maximum number of captures and pawn moves in a game: 96 pawn moves plus 30 captures, minus 8 pawn captures that are
/// counted in both.
const ZEROING: u32 = 118;
/// Maximum number of remaining plies that the hash distinguishes. Higher numbers are hashed as this number.
const NEAR: u32 = 20;

impl Chess {
    /// Returns the plies left before each of the two draw limits, capped at [`NEAR`] and combined into one number.
    fn near_limit(&self, s: &State) -> u32 {
        let left = |limit: u32, now: u32| if limit == 0 { NEAR } else { limit.saturating_sub(now).min(NEAR) };
        let counter = left(self.params.draw_after, s.pos.halfmoves());
        counter * (NEAR + 1) + left(self.params.max_plies, s.plies() as u32)
    }

    fn seen_by(who: Viewer) -> Color {
        if who == Viewer::Seat(0) { Color::Black } else { Color::White }
    }

    /// Returns the position of a view; `None` if the FEN of the view is invalid.
    fn position(view: &View) -> Option<Board> {
        notation::position(&view.fen).ok()
    }
}

impl Game for Chess {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("chess.j2"),
        presets: &[
            (
                "botzone",
                r#"{"draw_after": 50, "repetition": 0, "insufficient_material": false}"#,
                "Botzone: a draw after 50 plies without capture or pawn move, but no draw by repetition or material",
            ),
            (
                "botzonebench",
                r#"{"draw_after": 50, "repetition": 0, "insufficient_material": false}"#,
                "BotzoneBench: as botzone",
            ),
            ("qitown", r#"{"max_plies": 300}"#, "Qi Town: a draw after 300 plies"),
        ],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "alphabeta depth=1 noise=1"),
            (2, 1, "alphabeta depth=1 noise=0.3"),
            (3, 1, "alphabeta depth=1 noise=0.12"),
            (4, 1, "alphabeta depth=1 noise=0.04"),
            (5, 1, "alphabeta depth=1 noise=0.004"),
            (6, 1, "alphabeta depth=2 noise=0.004"),
            (7, 1, "alphabeta nodes=2500 noise=0.004"),
            (8, 1, "alphabeta nodes=8000 noise=0.004"),
            (9, 1, "alphabeta nodes=25000 noise=0.004"),
            (10, 1, "uci cmd=stockfish nodes=5000 within=15"),
            (11, 1, "uci cmd=stockfish nodes=20000 within=15"),
        ],
        notation: Some(crate::notation::PGN),
        ..GameInfo::new("chess", "Chess", include_str!("chess.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        if params.repetition == 1 {
            return Err(ParamError::value("repetition", 1, "0 (never) or at least 2"));
        }
        if params.draw_after == 0 && params.max_plies == 0 {
            return Err(ParamError::value("draw_after", 0, "at least 1, or 0 if max_plies is at least 1"));
        }
        if params.chess960 {
            return Err(ParamError::value("chess960", true, "false; shuffled start positions are not supported"));
        }
        let refused = |why: String| ParamError::value("fen", params.fen.clone(), why);
        let pos = params.fen.as_deref().map_or_else(|| Ok(Board::new()), notation::position).map_err(refused)?;
        let fen = notation::fen(&pos);
        let start = State::new(pos, &params);
        if let Some(end) = start.end {
            return Err(refused(format!("the game is already over in this position: {}", end.text())));
        }
        Ok(Chess { params, start, fen })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let Params { draw_after, max_plies, .. } = self.params;
        let longest = if draw_after == 0 { max_plies } else { LONGEST.max((ZEROING + 1) * draw_after) };
        Facts {
            seats: vec!["black".into(), "white".into()],
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Deterministic,
            information: Information::Perfect,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-1.0, 1.0],
            max_length: if max_plies == 0 { longest } else { longest.min(max_plies) },
            actions: ACTIONS,
            max_chance: 0,
            legal: LegalForm::Ids,
            tensor: Some(("board", view::tensor_spec(draw_after))),
            info: None,
            openspiel: Some(view::openspiel_spec()),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        self.start.clone()
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if s.end.is_some() { ToMove::Over } else { ToMove::Seat(s.mover()) }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat)
            && let Some(scan) = Scan::new(&s.pos)
        {
            scan.legal(out);
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        s.play(a, &self.params);
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        if s.end == Some(state::End::Checkmate) {
            let loser = s.mover();
            out[loser] = -1.0;
            out[1 - loser] = 1.0;
        }
    }

    fn view(&self, s: &State, _who: Viewer) -> View {
        view::view(&self.fen, s)
    }

    fn sample_world(&self, view: &View, _rng: &mut Stream) -> State {
        let mut s = if view.start == self.fen {
            self.start()
        } else {
            notation::position(&view.start).map_or_else(|_| self.start(), |pos| State::new(pos, &self.params))
        };
        for text in &view.moves {
            match notation::from_uci(&s.pos, text) {
                Some(a) => s.play(a, &self.params),
                None => break,
            }
        }
        s
    }
}

impl GameMoves for Chess {
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        self.to_move(s) == ToMove::Seat(seat) && Scan::new(&s.pos).is_some_and(|scan| scan.is_legal(a))
    }

    fn random_action(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Action {
        Scan::new(&s.pos).map_or(0, |scan| scan.random(rng))
    }
}

impl GameText for Chess {
    fn text(&self, view: &View) -> String {
        view::text(view, Color::White)
    }

    /// Returns the move in SAN. Returns UCI if the move is illegal or the seat is not to move.
    fn action_text(&self, view: &View, seat: Seat, a: Action) -> String {
        let color = if seat == 0 { Color::Black } else { Color::White };
        match Self::position(view) {
            Some(pos) if pos.turn() == color => notation::san(&pos, a),
            _ => notation::uci(color, a),
        }
    }

    /// Accepts SAN (strict or loose), castling with letters or zeros, UCI, and the action id.
    fn parse(&self, view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        notation::parse(&Self::position(view)?, legal, text)
    }

    fn why_not(&self, s: &State, _seat: Seat, a: Action) -> String {
        why::why_not(&s.pos, a)
    }

    /// Explains illegal moves given as two squares or as castling. Other text gets a message without a reason.
    fn why_not_text(&self, s: &State, _seat: Seat, text: &str) -> String {
        let wanted = text.trim().replace(['-', 'x'], "").replace('0', "O");
        let same = |a: &Action| notation::uci(s.pos.turn(), *a).replace('-', "").eq_ignore_ascii_case(&wanted);
        match (0..ACTIONS).find(same) {
            Some(a) => why::why_not(&s.pos, a),
            None => format!("{text:?}: not legal here"),
        }
    }

    fn in_notation(&self, _end: &State, record: &Record) -> Result<String, String> {
        notation::record_pgn(self.params.fen.as_deref(), record)
    }
}

impl GameObservation for Chess {
    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        view::tensor(s, Self::seen_by(who), self.params.draw_after, out);
    }

    fn openspiel_tensor(&self, s: &State, _seat: Seat, out: &mut [f32]) {
        view::openspiel(s, out);
    }
}

impl GameDisplay for Chess {
    fn drawing(&self, view: &View, from: Viewer) -> String {
        format!("FEN: {}", view::text(view, Self::seen_by(from)))
    }

    /// Returns a warning for a move that ends the game by repetition.
    fn gloss(&self, view: &View, _seat: Seat, a: Action) -> String {
        // The fourth ply without a capture or a pawn move is the first that can repeat a position.
        if self.params.repetition == 0 || view.quiet < 3 {
            return String::new();
        }
        let mut s = self.sample_world(view, &mut Stream::new(&[0; 32]));
        s.play(a, &self.params);
        let draws = s.end == Some(state::End::Repetition);
        if draws { "brings this position back: the game ends as a draw".to_owned() } else { String::new() }
    }

    fn picture(&self, view: &View, from: Viewer) -> Picture {
        picture::picture(view, Self::seen_by(from) == Color::Black)
    }

    /// Returns the clicks for a move: source and target of the moved piece (for castling, of the king). All promotions
    /// of a pawn to one square share a gesture.
    fn gesture(&self, _view: &View, seat: Seat, a: Action) -> Option<Gesture> {
        picture::gesture(if seat == 0 { Color::Black } else { Color::White }, a)
    }
}

impl GameSearch for Chess {
    fn evaluate(&self, s: &State, seat: Seat) -> Option<f64> {
        let white = match s.end {
            Some(state::End::Checkmate) => s.pos.turn().fold_wb(-1.0, 1.0),
            Some(_) => 0.0,
            None => evaluation::guess(s),
        };
        Some(if seat == 1 { white } else { -white })
    }

    fn search_moves(&self, s: &State, _seat: Seat, out: &mut Vec<Action>) -> usize {
        order::promising(s, out)
    }

    fn quiescence_moves(&self, s: &State, _seat: Seat, out: &mut Vec<Action>) -> bool {
        order::noisy(s, out)
    }

    /// Hashes the pieces, side to move, castling rights, en passant square, repetition count, and number of plies left
    /// before each draw limit (capped at 20). Earlier positions that may recur are not included.
    fn hash(&self, s: &State) -> Option<u64> {
        let rest = u64::from(s.seen) << 32 | u64::from(self.near_limit(s));
        Some(s.key ^ rest.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

impl GameMarks for Chess {}
