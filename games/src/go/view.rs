//! The public view and its text forms.

use ludex_env::game::{Action, Seat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Params, handicap_points};
use crate::board::{labelled, letters, numbers, row, square};
use crate::sgf;

/// The public information about a game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Rows of `+` (empty), `X` (Black) and `O` (White), the top row first.
    pub board: Vec<String>,
    /// All moves so far, each as `d4` or `pass`.
    pub moves: Vec<String>,
    /// `black` or `white`; absent when the game is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<String>,
    /// The point that the ko rule forbids for the next move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ko: Option<String>,
    /// Reason for the end: `passes`, `length` or `repetition`; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Black's area, minus White's area, minus White's komi and handicap points. Present only if the game ended and the
    /// area was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<f64>,
}

/// Names of the seats, also used in the texts of actions.
pub(super) const NAMES: [&str; 2] = ["black", "white"];
const SHORT: [&str; 2] = ["B", "W"];

/// Letters of the columns, without `i`.
pub(super) const LETTERS: &str = "abcdefghjklmnopqrst";

/// Returns the name of a point, such as `d4`, or `pass` for other ids.
pub(super) fn point_name(size: usize, a: Action) -> String {
    let (row, column) = (a as usize / size, a as usize % size);
    if row < size { format!("{}{}", char::from(LETTERS.as_bytes()[column]), row + 1) } else { "pass".to_owned() }
}

/// Parses a name such as `d4` or `pass` into an id.
pub(super) fn read_point(size: usize, name: &str) -> Option<Action> {
    if name.eq_ignore_ascii_case("pass") {
        return Some((size * size) as Action);
    }
    let [column, row] = square(name, &LETTERS[..size], size as u32)?;
    Some(row * size as Action + column)
}

/// Returns OpenSpiel's name of an action: `B d4`, `W PASS`.
pub(super) fn action_text(size: usize, seat: Seat, a: Action) -> String {
    let point = point_name(size, a);
    format!("{} {}", SHORT[seat & 1], if point == "pass" { "PASS" } else { &point })
}

/// Parses `d4` or `pass`, alone or after a color (`B d4`, `white pass`), or the action id.
pub(super) fn parse(size: usize, seat: Seat, text: &str) -> Option<Action> {
    let mut words = text.split_whitespace();
    let (first, second) = (words.next()?, words.next());
    let own = [SHORT[seat & 1], NAMES[seat & 1]].iter().any(|name| name.eq_ignore_ascii_case(first));
    let name = match second {
        Some(name) if own => name,
        Some(_) => return None,
        None => first,
    };
    if words.next().is_some() {
        return None;
    }
    read_point(size, name).or_else(|| name.parse().ok())
}

/// Returns the rows of the board, the top row first.
pub(super) fn board(size: usize, owner: impl Fn(usize) -> Option<Seat>) -> Vec<String> {
    let line = |r: usize| row((0..size).map(|c| owner(r * size + c)), ['X', 'O']).replace('.', "+");
    (0..size).rev().map(line).collect()
}

/// Returns OpenSpiel's state string (heading, board, column letters), followed by a line about the ko or the end.
/// `next` is the seat with the next turn.
pub(super) fn text(view: &View, komi: f64, next: Seat) -> String {
    let plies = view.moves.len();
    let heading = format!("GoState(komi={komi}, to_play={}, history.size()={plies})", SHORT[next & 1]);
    under(&heading, view)
}

/// Returns the state string with its first line replaced by a readable heading.
pub(super) fn drawing(view: &View, komi: f64, next: Seat) -> String {
    let size = view.board.len().min(LETTERS.len());
    let stones = ["Black (X)", "White (O)"][next & 1];
    let move_ = view.moves.len() + 1;
    let heading = if view.end.is_some() { String::new() } else { format!("Move {move_}: {stones} to play; ") };
    let mut names = numbers(1, size as u32);
    names.reverse();
    let board = labelled(&view.board[..size], &letters(&LETTERS[..size]), &names);
    format!("{heading}White gets {komi} points more at the end\n\n{board}{}", remarks(view))
}

/// Returns `heading`, the board, the column letters, and a line about the ko or the end.
fn under(heading: &str, view: &View) -> String {
    let mut out = format!("{heading}\n\n");
    let size = view.board.len().min(LETTERS.len());
    for (i, line) in view.board.iter().take(size).enumerate() {
        out.push_str(&format!("{:2} {line}\n", size - i));
    }
    out.push_str(&format!("   {}\n", LETTERS[..size].to_uppercase()));
    out + &remarks(view)
}

/// Returns a line about the ko or the end of the game; empty if there is neither.
fn remarks(view: &View) -> String {
    let mut out = String::new();
    if let Some(point) = &view.ko {
        out.push_str(&format!("\nko: {point} may not be retaken at once\n"));
    }
    let why = match view.end.as_deref() {
        Some("passes") => "two passes",
        Some("length") => "the greatest length is reached",
        Some(_) => "an earlier position came back",
        None => return out,
    };
    let lead = view.lead.map(|lead| format!("; Black leads by {lead}"));
    out.push_str(&format!("\nover: {why}{}\n", lead.unwrap_or_default()));
    out
}

/// Returns a game in the Smart Game Format (SGF). `moves` are (seat, action id); for `properties`, see `sgf::game`.
///
/// The properties for size, komi and handicap are added.
pub(super) fn sgf(params: &Params, moves: &[(Seat, Action)], properties: &[(&str, &str)]) -> String {
    let size = params.board_size;
    // Ids count rows from the bottom, the format counts them from the top.
    let point = |a: Action| [a % size, size - 1 - a / size];
    let stones: Vec<sgf::Stone> = moves.iter().map(|&(seat, a)| (seat, (a < size * size).then(|| point(a)))).collect();
    let set_up: Vec<[u32; 2]> = match params.handicap {
        0 | 1 => Vec::new(),
        n => handicap_points(n as usize).into_iter().map(|p| point(p as Action)).collect(),
    };
    let (komi, handicap) = (params.komi.to_string(), params.handicap.to_string());
    let mut all = vec![("KM", komi.as_str())];
    all.extend((!set_up.is_empty()).then_some(("HA", handicap.as_str())));
    all.extend(properties);
    sgf::game(1, size, &all, &set_up, &stones)
}
