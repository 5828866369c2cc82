//! Writing games of two colours of stones in the Smart Game Format, FF\[4\]: what Go, gomoku and reversi share.

use std::fmt::Write as _;

use ludex_protocol::record::{EndReason, Outcome, Record};

use crate::game::{Action, Seat};
use crate::notation::{date, player};
use crate::recording::moves;

/// A move: the seat (0 is Black) and the point, column and row from the top left, from 0; `None` is a pass.
pub type Stone = (Seat, Option<[u32; 2]>);

/// A game as one tree without branches.
///
/// `kind` is SGF's number of the game (`GM`), `size` the lines of the board. `properties` follow in the order given, names
/// as SGF has them; values are escaped here. Properties that take several points (`AB`) are given as points.
pub fn game(kind: u32, size: u32, properties: &[(&str, &str)], set_up: &[[u32; 2]], moves: &[Stone]) -> String {
    let mut out = format!("(;FF[4]CA[UTF-8]GM[{kind}]SZ[{size}]");
    for (name, value) in properties {
        let _ = write!(out, "{name}[{}]", escaped(value));
    }
    if !set_up.is_empty() {
        out.push_str("AB");
        for &at in set_up {
            let _ = write!(out, "[{}]", point(Some(at)));
        }
    }
    for (k, &(seat, at)) in moves.iter().enumerate() {
        // Short lines, as mail and people like them.
        out.push_str(if k % 10 == 0 { "\n;" } else { ";" });
        let _ = write!(out, "{}[{}]", if seat == 0 { 'B' } else { 'W' }, point(at));
    }
    out.push_str(")\n");
    out
}

/// A record as `write` puts its moves, under what SGF says of every game: program, players, result, day, event and name.
/// `lead` is how far Black leads in the last position, where the board is counted.
pub fn written(
    record: &Record,
    lead: Option<f64>,
    write: impl FnOnce(&[(Seat, Action)], &[(&str, &str)]) -> String,
) -> String {
    let all = [
        ("AP", record.header.server.replace('/', ":")),
        ("PB", player(record, 0).to_owned()),
        ("PW", player(record, 1).to_owned()),
        ("RE", result(record, lead)),
        ("DT", date(record).unwrap_or_default().to_owned()),
        ("EV", record.footer.run.clone().unwrap_or_default()),
        ("GN", record.header.episode.clone()),
    ];
    let given = all.iter().filter(|(_, value)| !value.is_empty());
    write(&moves(record), &given.map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
}

/// `B+3.5`, `W+R`, `0`, or `Void` for a match that does not count.
fn result(record: &Record, lead: Option<f64>) -> String {
    let winner = match record.footer.outcome.first() {
        Some(Outcome::Win) => 'B',
        Some(Outcome::Loss) => 'W',
        Some(Outcome::Draw) => return "0".to_owned(),
        Some(Outcome::None) | None => return "Void".to_owned(),
    };
    let by = match record.footer.reason {
        Some(EndReason::Resign) => "R".to_owned(),
        Some(EndReason::Timeout) => "T".to_owned(),
        Some(EndReason::Finished | EndReason::Truncated) => lead.map(|lead| lead.abs().to_string()).unwrap_or_default(),
        _ => "F".to_owned(),
    };
    format!("{winner}+{by}")
}

/// Two letters, `aa` at the top left; nothing for a pass.
fn point(at: Option<[u32; 2]>) -> String {
    let letter = |n: u32| char::from(b'a' + (n % 26) as u8);
    at.map(|[column, row]| format!("{}{}", letter(column), letter(row))).unwrap_or_default()
}

/// Brackets and backslashes are escaped, breaks and other blanks are spaces.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            ']' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_written_as_the_format_says() {
        let moves: Vec<Stone> = vec![(0, Some([0, 0])), (1, None), (0, Some([18, 2]))];
        let text = game(1, 19, &[("PB", "a]b\\c\nd"), ("RE", "B+R")], &[[3, 15], [15, 3]], &moves);
        assert_eq!(text, "(;FF[4]CA[UTF-8]GM[1]SZ[19]PB[a\\]b\\\\c d]RE[B+R]AB[dp][pd]\n;B[aa];W[];B[sc])\n");
    }
}
