//! FEN, SAN, UCI and PGN.

use std::fmt::Write as _;

use shakmaty::fen::Fen;
use shakmaty::san::{San, SanPlus};
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, Move, Position, PositionErrorKinds, Role};

use super::ids;
use super::moves::Scan;
use ludex_protocol::record::{EndReason, Outcome, Record};

use ludex_env::game::Action;

use crate::notation::{date, moves, player};

/// Returns the FEN in OpenSpiel's form, with an en passant square only if the capture is legal.
pub(super) fn fen(pos: &Chess) -> String {
    Fen::from_position(pos, EnPassantMode::Legal).to_string()
}

/// Parses a FEN. The move counters are optional.
///
/// # Errors
/// Returns a sentence about the first problem.
pub(super) fn position(fen: &str) -> Result<Chess, String> {
    let fen: Fen = fen.trim().parse().map_err(|e| format!("{fen:?} is not a FEN: {e}"))?;
    fen.into_position(CastlingMode::Standard).map_err(|e| format!("illegal position: {}", flaws(e.kinds())))
}

fn flaws(kinds: PositionErrorKinds) -> String {
    let words = [
        (PositionErrorKinds::EMPTY_BOARD, "the board is empty"),
        (PositionErrorKinds::MISSING_KING, "a king is missing"),
        (PositionErrorKinds::TOO_MANY_KINGS, "a side has several kings"),
        (PositionErrorKinds::PAWNS_ON_BACKRANK, "a pawn is on the first or last rank"),
        (PositionErrorKinds::INVALID_CASTLING_RIGHTS, "a castling right requires king and rook on their start squares"),
        (PositionErrorKinds::INVALID_EP_SQUARE, "the en passant square has no pawn that can be captured"),
        (PositionErrorKinds::OPPOSITE_CHECK, "the side that is not to move is in check"),
        (PositionErrorKinds::IMPOSSIBLE_CHECK, "no legal move leads to this check"),
        (PositionErrorKinds::TOO_MUCH_MATERIAL, "a side has more pieces than promotions allow"),
    ];
    let found: Vec<&str> = words.iter().filter(|(k, _)| kinds.contains(*k)).map(|(_, w)| *w).collect();
    found.join(", ")
}

/// Decodes an id; `None` if the move is illegal.
pub(super) fn legal_move(pos: &Chess, a: Action) -> Option<Move> {
    ids::read(pos, a).filter(|_| Scan::new(pos).is_some_and(|scan| scan.is_legal(a)))
}

/// Returns the SAN of an id with `+` or `#`, or UCI if the move is illegal.
pub(super) fn san(pos: &Chess, a: Action) -> String {
    match legal_move(pos, a) {
        Some(m) => SanPlus::from_move(pos.clone(), m).to_string(),
        None => uci(pos.turn(), a),
    }
}

/// Returns an id as UCI for a move of side `turn`. The move may be illegal. Promotions to a queen have no letter.
pub(super) fn uci(turn: Color, a: Action) -> String {
    if a >= ids::LONG {
        return if a == ids::LONG { "O-O-O" } else { "O-O" }.into();
    }
    match ids::squares(turn, a) {
        Some((from, to, under)) => UciMove::Normal { from, to, promotion: under }.to_string(),
        None => format!("{a} (no move)"),
    }
}

/// Parses a legal move given in UCI.
pub(super) fn from_uci(pos: &Chess, text: &str) -> Option<Action> {
    let m = UciMove::from_ascii(text.as_bytes()).ok()?.to_move(pos).ok()?;
    Some(ids::id(pos.turn(), m))
}

/// Parses an illegal move given in UCI, and returns the id if the move has one.
fn from_squares(pos: &Chess, text: &str) -> Option<Action> {
    let UciMove::Normal { from, to, promotion } = UciMove::from_ascii(text.as_bytes()).ok()? else { return None };
    let under = promotion.filter(|role| *role != Role::Queen);
    let found = (0..ids::LONG).find(|&a| ids::squares(pos.turn(), a) == Some((from, to, under)));
    // A pawn move to the last rank without a promotion letter has no id.
    found.filter(|&a| ids::read(pos, a).is_none_or(|m| !pos.is_legal(m)))
}

/// Parses a legal move given as an id, UCI, SAN, or loose SAN.
pub(super) fn parse(pos: &Chess, legal: &[Action], text: &str) -> Option<Action> {
    let text = text.trim().trim_end_matches(['!', '?', '.']);
    let found = text
        .parse()
        .ok()
        .or_else(|| from_uci(pos, &text.to_ascii_lowercase().replace('-', "")))
        .or_else(|| from_san(pos, text))
        .or_else(|| from_loose(pos, legal, text))
        .or_else(|| from_squares(pos, &text.to_ascii_lowercase().replace('-', "")))?;
    legal.contains(&found).then_some(found)
}

fn from_san(pos: &Chess, text: &str) -> Option<Action> {
    let san: San = SanPlus::from_ascii(text.as_bytes()).ok()?.san;
    Some(ids::id(pos.turn(), san.to_move(pos).ok()?))
}

/// Parses loose SAN: ignores `x`, `-`, `=`, `+` and `#`, and accepts zeros for castling. If no move or several moves
/// match, also ignores case. Returns a move only if exactly one legal move matches.
fn from_loose(pos: &Chess, legal: &[Action], text: &str) -> Option<Action> {
    let bare = |t: &str| t.replace('0', "O").replace(['x', '-', '=', '+', '#', ':'], "");
    let wanted = bare(text.trim_end_matches("e.p").trim_end());
    let forms: Vec<(Action, [String; 2])> = legal
        .iter()
        .filter_map(|&a| {
            let m = ids::read(pos, a)?;
            let long = m.from().map_or_else(String::new, |from| format!("{}{from}{}", m.role().upper_char(), m.to()));
            Some((a, [bare(&San::from_move(pos, m).to_string()), long]))
        })
        .collect();
    let one = |fits: &dyn Fn(&str) -> bool| {
        let mut found = forms.iter().filter(|(_, f)| f.iter().any(|f| fits(f))).map(|f| f.0);
        found.next().filter(|_| found.next().is_none())
    };
    one(&|form| form == wanted).or_else(|| one(&|form| form.eq_ignore_ascii_case(&wanted)))
}

/// Returns a record in Portable Game Notation (PGN). `start` is the FEN of the first position. White is seat 1.
///
/// # Errors
/// Same as [`pgn`].
pub(super) fn record_pgn(start: Option<&str>, record: &Record) -> Result<String, String> {
    let (black, white) = (0, 1);
    let result = match record.footer.outcome.get(white) {
        Some(Outcome::Win) => "1-0",
        Some(Outcome::Loss) => "0-1",
        Some(Outcome::Draw) => "1/2-1/2",
        Some(Outcome::None) | None => "*",
    };
    let termination = match record.footer.reason {
        Some(EndReason::Finished | EndReason::Resign) => "normal",
        Some(EndReason::Timeout) => "time forfeit",
        Some(EndReason::Illegal | EndReason::AgentError) => "rules infraction",
        Some(EndReason::Disconnect | EndReason::NoShow) => "abandoned",
        Some(EndReason::Truncated) => "adjudication",
        Some(EndReason::InfraError | EndReason::Aborted) | None => "unterminated",
    };
    let date = date(record).map_or("????.??.??".to_owned(), |date| date.replace('-', "."));
    let tags = [
        ("Event", record.footer.run.as_deref().unwrap_or("?")),
        ("Site", &record.header.server),
        ("Date", &date),
        ("Round", "-"),
        ("White", player(record, white)),
        ("Black", player(record, black)),
        ("Termination", termination),
        ("Episode", &record.header.episode),
    ];
    let moves: Vec<Action> = moves(record).into_iter().map(|(_, action)| action).collect();
    pgn(start, &moves, result, &tags)
}

/// Returns a game in Portable Game Notation (PGN).
///
/// `start` is the FEN of the first position (`None`: the standard position), `moves` are the played ids, and `result`
/// is `1-0`, `0-1`, `1/2-1/2` or `*`. The required PGN tags come first, with `?` for tags missing in `tags`; the
/// function writes `Result`, `SetUp` and `FEN` itself. The remaining `tags` follow in the given order.
///
/// # Errors
/// Fails if `start` is not a valid position, or at the first illegal move.
pub(super) fn pgn(
    start: Option<&str>,
    moves: &[Action],
    result: &str,
    tags: &[(&str, &str)],
) -> Result<String, String> {
    let mut pos = start.map_or_else(|| Ok(Chess::new()), position)?;
    let mut out = String::new();
    let mut tag = |name: &str, value: &str| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        let _ = writeln!(out, "[{name} \"{value}\"]");
    };
    let given = |name: &str| tags.iter().find(|t| t.0 == name).map(|t| t.1);
    for (name, unknown) in
        [("Event", "?"), ("Site", "?"), ("Date", "????.??.??"), ("Round", "?"), ("White", "?"), ("Black", "?")]
    {
        tag(name, given(name).unwrap_or(unknown));
    }
    tag("Result", result);
    if start.is_some() {
        tag("SetUp", "1");
        tag("FEN", &fen(&pos));
    }
    let ours = ["Event", "Site", "Date", "Round", "White", "Black", "Result", "SetUp", "FEN"];
    tags.iter().filter(|t| !ours.contains(&t.0)).for_each(|t| tag(t.0, t.1));
    out.push('\n');
    let mut words = Vec::new();
    for (i, &a) in moves.iter().enumerate() {
        let m = legal_move(&pos, a).ok_or_else(|| format!("move {i} (id {a}) is not legal in {}", fen(&pos)))?;
        if pos.turn() == Color::White || i == 0 {
            words.push(format!("{}{}", pos.fullmoves(), if pos.turn() == Color::White { "." } else { "..." }));
        }
        words.push(SanPlus::from_move_and_play_unchecked(&mut pos, m).to_string());
    }
    words.push(result.to_owned());
    let mut column = 0;
    for word in words {
        if column > 0 {
            // The export format keeps lines below 80 characters.
            let space = if column + word.len() >= 79 { '\n' } else { ' ' };
            out.push(space);
            column = if space == '\n' { 0 } else { column + 1 };
        }
        column += word.len();
        out.push_str(&word);
    }
    out.push('\n');
    Ok(out)
}
