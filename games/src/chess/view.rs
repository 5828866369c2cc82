//! The public view, its texts and its arrays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Chess, Color, EnPassantMode, Position, Role, Square};

use ludex_env::tensor::spread;
use ludex_protocol::spec::{Dtype, Part, TensorSpec};

use super::notation;
use super::state::{self, State};

/// The public information about a game, from its first position to the current position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// FEN of the first position.
    pub start: String,
    /// All moves since the start, in UCI.
    pub moves: Vec<String>,
    /// FEN of the current position. The en passant square is included only if the capture is legal.
    pub fen: String,
    /// `white` or `black`; absent when the game is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
    /// True if the king of the side to move is attacked.
    pub check: bool,
    /// Number of plies since the last capture or pawn move.
    pub quiet: u32,
    /// Number of times that the current position has occurred, including now.
    pub seen: u32,
    /// Reason for the end: `checkmate`, `stalemate`, `insufficient material`, `repetition`, `no capture or pawn move`,
    /// `ply limit`; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

/// Returns the view of a state that started from the FEN `start`.
pub(super) fn view(start: &str, s: &State) -> View {
    let color = if s.pos.turn() == Color::White { "white" } else { "black" };
    View {
        start: start.to_owned(),
        moves: s.moves.iter().map(|&m| state::uci(m)).collect(),
        fen: notation::fen(&s.pos),
        to_move: s.end.is_none().then(|| color.to_owned()),
        check: s.check,
        quiet: s.pos.halfmoves(),
        seen: s.seen,
        end: s.end.map(|e| e.text().to_owned()),
    }
}

/// Returns the FEN, the board from the side of `me`, and the facts that a FEN does not contain.
pub(super) fn text(view: &View, me: Color) -> String {
    let rows = view.fen.split(' ').next().unwrap_or_default().split('/');
    let mut lines: Vec<(char, Vec<char>)> =
        ('1'..='8').rev().zip(rows.map(|row| row.chars().flat_map(signs).collect())).collect();
    let mut letters: Vec<char> = ('a'..='h').collect();
    if me == Color::Black {
        lines.reverse();
        lines.iter_mut().for_each(|(_, signs)| signs.reverse());
        letters.reverse();
    }
    let mut out = format!("{}\n\n", view.fen);
    for (rank, signs) in lines.into_iter().chain([(' ', letters)]) {
        out.push(rank);
        signs.into_iter().for_each(|sign| out.extend([' ', sign]));
        out.push('\n');
    }
    out.push('\n');
    let check = if view.check { ", in check" } else { "" };
    match (&view.to_move, &view.end) {
        (Some(side), _) => out.push_str(&format!("{side} to move{check}")),
        (None, Some(end)) => out.push_str(&format!("game over: {end}")),
        (None, None) => out.push_str("game over"),
    }
    if let Some(last) = view.moves.last() {
        out.push_str(&format!("; last move {last}"));
    }
    out.push_str(&format!("; {} plies without capture or pawn move", view.quiet));
    if view.seen > 1 {
        out.push_str(&format!("; this position has occurred {} times", view.seen));
    }
    out
}

fn signs(c: char) -> impl Iterator<Item = char> {
    let (sign, times) = c.to_digit(10).map_or((c, 1), |n| ('.', n.min(8) as usize));
    std::iter::repeat_n(sign, times)
}

const PARTS: [&str; 21] = [
    "my_pawns",
    "my_knights",
    "my_bishops",
    "my_rooks",
    "my_queens",
    "my_king",
    "their_pawns",
    "their_knights",
    "their_bishops",
    "their_rooks",
    "their_queens",
    "their_king",
    "i_castle_short",
    "i_castle_long",
    "they_castle_short",
    "they_castle_long",
    "en_passant",
    "i_am_white",
    "my_move",
    "repeats",
    "quiet",
];

/// Returns the spec of the array. `limit` is the configured number of plies without a capture or a pawn move.
pub(super) fn tensor_spec(limit: u32) -> TensorSpec {
    let parts = PARTS.iter().enumerate().map(|(i, name)| Part { name: (*name).into(), at: i as u32, len: 1 });
    let high = if limit == 0 { 255 } else { limit.clamp(2, 255) };
    TensorSpec { d: Dtype::U1, s: vec![21, 8, 8], low: 0.0, high: f64::from(high), parts: parts.collect() }
}

fn pieces(pos: &Chess, color: Color, role: Role) -> Bitboard {
    pos.board().by_piece(role.of(color))
}

/// Writes the array from the perspective of `me`: rank 0 is the back rank of `me`. For `limit`, see [`tensor_spec`].
pub(super) fn tensor(s: &State, me: Color, limit: u32, out: &mut [u8]) {
    let (pos, them) = (&s.pos, !me);
    let eyes = |b: Bitboard| if me == Color::White { b } else { b.flip_vertical() };
    let (planes, _) = out.as_chunks_mut::<64>();
    let mut planes = planes.iter_mut();
    let mut squares = |b: Bitboard| {
        if let Some(plane) = planes.next() {
            for (rank, bits) in plane.as_chunks_mut::<8>().0.iter_mut().zip(eyes(b).0.to_le_bytes()) {
                *rank = spread(u64::from(bits));
            }
        }
    };
    for color in [me, them] {
        Role::ALL.into_iter().for_each(|role| squares(pieces(pos, color, role)));
    }
    let all = |yes: bool| if yes { Bitboard::FULL } else { Bitboard::EMPTY };
    for color in [me, them] {
        for side in shakmaty::CastlingSide::ALL {
            squares(all(pos.castles().has(color, side)));
        }
    }
    squares(pos.ep_square(EnPassantMode::Legal).map_or(Bitboard::EMPTY, Bitboard::from_square));
    squares(all(me == Color::White));
    squares(all(s.end.is_none() && pos.turn() == me));
    let high = if limit == 0 { 255 } else { limit.clamp(2, 255) };
    for (plane, n) in planes.zip([s.seen - 1, pos.halfmoves()]) {
        plane.fill(n.min(high) as u8);
    }
}

/// Returns the spec of OpenSpiel's array.
pub(super) fn openspiel_spec() -> TensorSpec {
    let names = [
        "white_king",
        "black_king",
        "white_queen",
        "black_queen",
        "white_rook",
        "black_rook",
        "white_bishop",
        "black_bishop",
        "white_knight",
        "black_knight",
        "white_pawn",
        "black_pawn",
        "empty",
        "repetitions",
        "side_to_move",
        "irreversible_counter",
        "white_castles_long",
        "white_castles_short",
        "black_castles_long",
        "black_castles_short",
    ];
    let parts = names.iter().enumerate().map(|(i, name)| Part { name: (*name).into(), at: i as u32, len: 1 });
    TensorSpec { d: Dtype::F4, s: vec![20, 8, 8], low: 0.0, high: 1.0, parts: parts.collect() }
}

/// Writes OpenSpiel's array, which does not depend on the seat. Ranks are counted from White's side.
pub(super) fn openspiel(s: &State, out: &mut [f32]) {
    let (pos, mut planes) = (&s.pos, out.as_chunks_mut::<64>().0.iter_mut());
    let mut squares = |b: Bitboard| {
        if let Some(plane) = planes.next() {
            plane.fill(0.0);
            b.into_iter().for_each(|square: Square| plane[usize::from(square)] = 1.0);
        }
    };
    for role in [Role::King, Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn] {
        [Color::White, Color::Black].into_iter().for_each(|color| squares(pieces(pos, color, role)));
    }
    squares(!pos.board().occupied());
    let yes = |b: bool| if b { 1.0 } else { 0.0 };
    let right = |color, side| yes(pos.castles().has(color, side));
    let [short, long] = shakmaty::CastlingSide::ALL;
    let numbers = [
        ((s.seen - 1) as f32 / 2.0).min(1.0),
        yes(pos.turn() == Color::White),
        (pos.halfmoves() as f32 / 101.0).min(1.0),
        right(Color::White, long),
        right(Color::White, short),
        right(Color::Black, long),
        right(Color::Black, short),
    ];
    for (plane, n) in planes.zip(numbers) {
        plane.fill(n);
    }
}
