//! Move labels from people or a model: JSON lines `{"episode", "seat", "turn", "label"}`.

use std::collections::HashMap;

use ludex_env::MarkValue;
use ludex_referee::metric::LABEL;
use ludex_referee::result::{GameResult, SeatMark};
use serde::Deserialize;

/// Label of a move.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    episode: String,
    seat: usize,
    /// Index of the seat's own turn, from 0, as in records.
    turn: u32,
    label: String,
}

/// Parses labels and adds each one to the result of its match, as a mark with the name [`LABEL`]. Returns the number of
/// labels.
///
/// # Errors
/// Returns an error with the line number for the first invalid line, and for a label that cannot apply: of an unknown
/// episode, seat or turn, or of a match that does not count.
pub fn put(text: &str, results: &mut [GameResult], counts: impl Fn(&GameResult) -> bool) -> Result<usize, String> {
    let places: HashMap<String, usize> =
        results.iter().enumerate().map(|(k, game)| (game.episode.clone(), k)).collect();
    let mut count = 0;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| format!("line {number}: {why}");
        let Line { episode, seat, turn, label } = serde_json::from_str(line).map_err(|e| wrong(e.to_string()))?;
        let game = places.get(&episode).map(|&k| &mut results[k]);
        let game = game.ok_or_else(|| wrong(format!("unknown episode {episode:?}")))?;
        if !counts(game) {
            return Err(wrong(format!("expected a match that counts, got {episode:?}")));
        }
        let seats = game.seats.len();
        let seat =
            game.seats.get_mut(seat).ok_or_else(|| wrong(format!("expected a seat below {seats}, got {seat}")))?;
        // The turn after the last move is the one in which a refused attempt ended the match.
        if turn > seat.turns {
            return Err(wrong(format!("expected a turn from 0 to {}, got {turn}", seat.turns)));
        }
        seat.marks.push(SeatMark { name: LABEL.into(), value: MarkValue::Text(label), turn });
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use ludex_referee::metric::{MetricQuery, Value};
    use ludex_referee::testing::{play, verify};

    use super::*;
    use crate::scale::{RatingOptions, rows};

    #[test]
    fn label_lines_add_marks_to_moves() {
        let mut games = vec![verify(play("tic_tac_toe", &["a", "b"], 1)).into_result()];
        let name = games[0].episode.clone();
        let line = |seat: usize, turn: u32, label: &str| {
            format!("{{\"episode\": {name:?}, \"seat\": {seat}, \"turn\": {turn}, \"label\": {label:?}}}\n")
        };
        let text =
            [line(0, 0, "endgame"), line(0, 0, "factual"), line(0, 1, "endgame"), line(1, 0, "factual")].concat();
        assert_eq!(put(&text, &mut games, |_| true), Ok(4));
        let options = RatingOptions { unrated: true, ..RatingOptions::default() };
        let own = MetricQuery::parse("labels").unwrap().of(&rows(&games, &options).of_agent(0));
        let Some(Value::Shares(shares)) = own else { panic!("no labels") };
        let shares: Vec<(&str, f64, u64)> = shares.iter().map(|(name, m)| (name.as_str(), m.value, m.n)).collect();
        assert_eq!(shares, [("endgame", 1.0, 2), ("factual", 0.5, 2)]);
        for (line, why) in [
            (line(2, 0, "x"), "line 1: expected a seat below 2, got 2"),
            (text.clone() + "{}", "line 5: missing field"),
            (line(0, 0, "x").replace(&name, "other"), "line 1: unknown episode \"other\""),
            (line(0, 99, "x"), "line 1: expected a turn from 0 to "),
        ] {
            let why_not = put(&line, &mut games, |_| true).unwrap_err();
            assert!(why_not.starts_with(why), "{why_not}");
        }
        let why_not = put(&line(0, 0, "x"), &mut games, |_| false).unwrap_err();
        assert!(why_not.starts_with("line 1: expected a match that counts"), "{why_not}");
    }
}
