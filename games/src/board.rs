//! Helpers for two-player board games: facts, returns, observation planes, text diagrams, and square names.
//!
//! Games may store stones in any form: functions that need the owner of a cell take a closure that returns `None` for
//! an empty cell. In a text diagram, each side has one character, and `.` is an empty cell.

use std::cmp::Ordering;

use ludex_env::draw::Stream;
use ludex_env::game::{CompleteGame, Facts, Seat, ToMove, Viewer};
use ludex_env::picture;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

/// Returns the facts of a deterministic sequential game of perfect information: a win returns 1, a draw 0, a loss -1.
/// The facts contain no arrays; a game with arrays writes `Facts { tensor: .., ..facts(..) }`.
pub fn facts(seats: [&str; 2], actions: u32, max_length: u32) -> Facts {
    Facts {
        seats: seats.map(String::from).to_vec(),
        dynamics: Dynamics::Sequential,
        chance: ChanceMode::Deterministic,
        information: Information::Perfect,
        utility: Utility::ZeroSum,
        rewards: RewardModel::Terminal,
        returns: [-1.0, 1.0],
        max_length,
        actions,
        max_chance: 0,
        legal: LegalForm::Ids,
        tensor: None,
        info: None,
        openspiel: None,
        document_schemas: None,
    }
}

/// Writes the return of each seat after a win by `winner`, or zeros for a draw.
#[inline]
pub fn returns(winner: Option<Seat>, out: &mut [f64]) {
    let first = match winner {
        None => 0.0,
        Some(0) => 1.0,
        Some(_) => -1.0,
    };
    out.copy_from_slice(&[first, -first]);
}

/// Returns the seats in the order of egocentric planes: observer, opponent. The public view uses seat 0's order.
#[inline]
pub fn sides(who: Viewer) -> [Seat; 2] {
    let me = usize::from(who == Viewer::Seat(1));
    [me, 1 - me]
}

/// Writes one plane for each entry of `order`: 1 in cells whose owner equals the entry, 0 in all other cells.
///
/// Used for observation arrays (`u8`) and for OpenSpiel's arrays (`f32`), where the order of planes depends on the
/// game.
pub fn planes<T: From<bool>>(out: &mut [T], order: &[Option<Seat>], owner: impl Fn(usize) -> Option<Seat>) {
    let cells = out.len() / order.len().max(1);
    for (plane, wanted) in order.iter().enumerate() {
        for (cell, value) in out[plane * cells..(plane + 1) * cells].iter_mut().enumerate() {
            *value = T::from(owner(cell) == *wanted);
        }
    }
}

/// Returns the owner of `cell`, given the stones of both sides as bits.
#[inline]
pub fn owner(stones: [u64; 2], cell: usize) -> Option<Seat> {
    (0..2).find(|&seat| stones[seat] >> cell & 1 == 1)
}

/// Returns the name of the seat to move for a view; `None` when the game is over.
pub fn to_move(turn: ToMove, seats: [&str; 2]) -> Option<String> {
    match turn {
        ToMove::Seat(seat) => seats.get(seat).map(|name| (*name).to_owned()),
        _ => None,
    }
}

/// Lists the stones of a text diagram, each with its square (column, then row from the top) and its owner. Squares
/// outside `columns` and `rows` are ignored.
pub(crate) fn placed<S: AsRef<str>>(
    drawn: &[S],
    [columns, rows]: [usize; 2],
    marks: [char; 2],
) -> Vec<([usize; 2], Seat)> {
    let line = |(row, line): (usize, &S)| {
        let stones = stones_of(line.as_ref(), columns, marks);
        stones.map(|(column, seat)| ([column, row], seat)).collect::<Vec<_>>()
    };
    drawn.iter().take(rows).enumerate().flat_map(line).collect()
}

/// Describes in text which squares each side occupies.
pub(crate) fn described(
    names: [&str; 2],
    stones: &[([usize; 2], Seat)],
    name: impl Fn([usize; 2]) -> String,
) -> String {
    let of = |side: Seat| stones.iter().filter(|s| s.1 == side).map(|s| name(s.0)).collect();
    picture::sides(names, [of(0), of(1)])
}

/// Returns the line under a picture: the side to move, or the result. The game must have no chance nodes.
pub(crate) fn status<G: CompleteGame>(game: &G, view: &G::View, to_move: Option<&str>, names: [&str; 2]) -> String {
    if let Some(name) = to_move {
        return format!("{name} to move");
    }
    let mut returns = [0.0; 2];
    game.returns(&game.sample_world(view, &mut Stream::new(&[0; 32])), &mut returns);
    match returns[0].total_cmp(&returns[1]) {
        Ordering::Greater => format!("{} wins", names[0]),
        Ordering::Less => format!("{} wins", names[1]),
        Ordering::Equal => "a draw".to_owned(),
    }
}

/// Returns one row of a text diagram: `marks[owner]` for each stone and `.` for each empty cell.
pub fn row(owners: impl Iterator<Item = Option<Seat>>, marks: [char; 2]) -> String {
    owners.map(|owner| owner.map_or('.', |seat| marks[seat])).collect()
}

/// Returns a text diagram with spaces between cells, column names above, and row names (if any) on the left.
pub fn labelled<S: AsRef<str>>(rows: &[S], columns: &[String], names: &[String]) -> String {
    let most = |all: &[String]| all.iter().map(String::len).max().unwrap_or(0);
    let (wide, left) = (most(columns).max(1), most(names));
    let line = |name: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>wide$}")).collect();
        format!("{name:>left$}{cells}\n")
    };
    let mut out = line("", columns);
    for (k, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.as_ref().chars().map(String::from).collect();
        out += &line(names.get(k).map_or("", String::as_str), &cells);
    }
    out
}

/// Returns `count` consecutive numbers from `first` as row or column names for [`labelled`].
pub fn numbers(first: u32, count: u32) -> Vec<String> {
    (first..first + count).map(|n| n.to_string()).collect()
}

/// Returns the letters of `all` as column names for [`labelled`].
pub fn letters(all: &str) -> Vec<String> {
    all.chars().map(String::from).collect()
}

/// Iterates over the stones in one row of a text diagram as (column, owner). Columns from `columns` on are ignored, and
/// characters other than `marks` are empty cells.
pub fn stones_of(row: &str, columns: usize, marks: [char; 2]) -> impl Iterator<Item = (usize, Seat)> {
    let owner = move |c: char| marks.iter().position(|&mark| mark == c);
    row.chars().take(columns).enumerate().filter_map(move |(column, c)| Some((column, owner(c)?)))
}

/// Letters of the columns. Go has its own list without `i`.
pub const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Parses the name of a square, such as `c2`, and returns its column and its row, both from 0. The letter is an entry
/// of `letters`, in lowercase or uppercase. The number counts rows from the bottom, from 1 to `rows`.
pub fn square(name: &str, letters: &str, rows: u32) -> Option<[u32; 2]> {
    let mut rest = name.chars();
    let letter = rest.next()?.to_ascii_lowercase();
    let column = letters.chars().position(|c| c == letter)?;
    let number = rest.as_str();
    // No sign and no leading zeros, so that each square has one name.
    let row: u32 = number.parse().ok().filter(|row: &u32| row.to_string() == number)?;
    (1..=rows).contains(&row).then(|| [column as u32, row - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_accepts_only_canonical_names() {
        let at = |name| square(name, &LETTERS[..3], 12);
        assert_eq!([at("a1"), at("C12"), at("b3")], [Some([0, 0]), Some([2, 11]), Some([1, 2])]);
        for name in ["", "a", "d1", "a0", "a13", "a01", "a+1", "a1 ", "1a", "é1"] {
            assert_eq!(at(name), None, "{name:?}");
        }
        assert_eq!(square("j9", "abcdefghj", 9), Some([8, 8]), "go has no i");
    }

    #[test]
    fn labelled_board_shows_row_and_column_names() {
        let plain = labelled(&["x.", ".o"], &numbers(0, 2), &numbers(0, 2));
        assert_eq!(plain, "  0 1\n0 x .\n1 . o\n");
        let wide = labelled(&["x."], &[String::from("9"), String::from("10")], &[]);
        assert_eq!(wide, "  9 10\n  x  .\n");
    }

    #[test]
    fn stones_are_read_back_from_drawn_row() {
        let owners = [None, Some(0), Some(1), None, Some(1)];
        let drawn = row(owners.into_iter(), ['b', 'w']);
        assert_eq!(drawn, ".bw.w");
        let read: Vec<_> = stones_of(&drawn, 4, ['b', 'w']).collect();
        assert_eq!(read, [(1, 0), (2, 1)], "cells beyond the board are ignored");
    }

    #[test]
    fn planes_follow_requested_owner_order() {
        let cells = |cell| owner([0b001, 0b100], cell);
        let mut u8s = [7u8; 6];
        planes(&mut u8s, &sides(Viewer::Seat(1)).map(Some), cells);
        assert_eq!(u8s, [0, 0, 1, 1, 0, 0]);
        let mut f32s = [7f32; 9];
        planes(&mut f32s, &[None, Some(0), Some(1)], cells);
        assert_eq!(f32s, [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn winner_and_loser_get_opposite_returns() {
        let of = |winner| {
            let mut out = [9.0; 2];
            returns(winner, &mut out);
            out
        };
        assert_eq!([of(None), of(Some(0)), of(Some(1))], [[0.0, 0.0], [1.0, -1.0], [-1.0, 1.0]]);
    }
}
