//! Smart Game Format (FF\[4\]) writer, shared by Go, Gomoku and Reversi.

use std::fmt::Write as _;

use ludex_env::game::{Action, Seat};
use ludex_protocol::record::{EndReason, Outcome, Record};

use crate::notation::{date, moves, player};

/// A move: the seat (0 is Black), and the column and row of the point, counted from 0 at the top left. `None` is a
/// pass.
pub type Stone = (Seat, Option<[u32; 2]>);

/// Returns a game as a single SGF tree without branches.
///
/// `kind` is the SGF number of the game (`GM`), and `size` the number of lines of the board. `properties` lists SGF
/// names and unescaped values, which are written in this order. `set_up` lists the points of Black's setup stones
/// (`AB`).
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
        // Ten moves per line keep lines short enough for mail programs and human readers.
        out.push_str(if k % 10 == 0 { "\n;" } else { ";" });
        let _ = write!(out, "{}[{}]", if seat == 0 { 'B' } else { 'W' }, point(at));
    }
    out.push_str(")\n");
    out
}

/// Returns a record in SGF. `write` receives the moves and the common properties: program, players, result, date, event
/// and name. `lead` is Black's lead in the final position; `None` if the board is not scored.
pub fn record_sgf(
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

/// Returns the SGF result, such as `B+3.5`, `W+R` or `0`; `Void` for a match that does not count.
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

/// Returns the two letters of a point, where `aa` is the top left; an empty text for a pass.
fn point(at: Option<[u32; 2]>) -> String {
    let letter = |n: u32| char::from(b'a' + (n % 26) as u8);
    at.map(|[column, row]| format!("{}{}", letter(column), letter(row))).unwrap_or_default()
}

/// Escapes brackets and backslashes, and replaces each line break or other white space by a space.
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
    fn game_is_written_as_one_escaped_sgf_tree() {
        let moves: Vec<Stone> = vec![(0, Some([0, 0])), (1, None), (0, Some([18, 2]))];
        let text = game(1, 19, &[("PB", "a]b\\c\nd"), ("RE", "B+R")], &[[3, 15], [15, 3]], &moves);
        assert_eq!(text, "(;FF[4]CA[UTF-8]GM[1]SZ[19]PB[a\\]b\\\\c d]RE[B+R]AB[dp][pd]\n;B[aa];W[];B[sc])\n");
    }
}
