//! Move labels from people or a model: JSON lines `{"episode", "seat", "turn", "label"}`.

use std::collections::HashMap;

use ludex_env::MarkValue;
use serde::Deserialize;

use crate::metric::LABEL;
use crate::result::{GameResult, SeatMark};

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

/// Adds the labels of a text to their results, as marks with the name [`LABEL`], and returns the number of labels.
///
/// # Errors
/// The first invalid line, or a label for a missing episode or seat, with the line number.
pub fn put(text: &str, results: &mut [GameResult]) -> Result<usize, String> {
    let places: HashMap<String, usize> =
        results.iter().enumerate().map(|(k, game)| (game.episode.clone(), k)).collect();
    let mut count = 0;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| format!("line {number}: {why}");
        let Line { episode, seat, turn, label } = serde_json::from_str(line).map_err(|e| wrong(e.to_string()))?;
        let game = places.get(&episode).map(|&k| &mut results[k]);
        let game = game.ok_or_else(|| wrong(format!("there is no episode {episode:?}")))?;
        let seats = game.seats.len();
        let seat = game.seats.get_mut(seat).ok_or_else(|| wrong(format!("there is no seat {seat} of {seats}")))?;
        seat.marks.push(SeatMark { name: LABEL.into(), value: MarkValue::Text(label), turn });
        count += 1;
    }
    Ok(count)
}
