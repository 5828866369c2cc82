//! Pictures of a position.

use ludex_env::picture::{Board, Paint, Picture, line};

use super::view::{LETTERS, NAMES, View, point_name, read_point};
use crate::board;

pub(super) fn picture(size: usize, view: &View) -> Picture {
    let grid = Board::new(size, size, false);
    let mut sketch = grid.sketch();
    grid.points(&mut sketch, &stars(size));
    grid.names(&mut sketch, &LETTERS[..size.min(LETTERS.len())]);
    let name = |[column, row]: [usize; 2]| point_name(size, ((size - 1 - row) * size + column) as u32);
    let stones = board::placed(&view.board, [size, size], ['X', 'O']);
    grid.stones(&mut sketch, &stones);
    if let Some(ko) = view.ko.as_deref().and_then(|ko| read_point(size, ko)).map(|a| a as usize) {
        let [x, y] = grid.middle([ko % size, size.saturating_sub(1 + ko / size)]);
        sketch.rect(line(Paint::Red, 2), [x - 7, y - 7, 14, 14], 0);
    }
    grid.cells(&mut sketch, name);
    let last = view.moves.last().map(String::as_str);
    sketch.last(last.unwrap_or_default());
    let status = match (&view.to_move, view.lead) {
        (Some(side), _) => format!("{side} to move"),
        (None, Some(lead)) if lead > 0.0 => format!("black wins by {lead}"),
        (None, Some(lead)) if lead < 0.0 => format!("white wins by {}", -lead),
        (None, Some(_)) => "a draw".to_owned(),
        (None, None) => "over: an earlier position came back".to_owned(),
    };
    let last_text = last.map(|point| format!("; last move {point}")).unwrap_or_default();
    let desc = board::described(NAMES, &stones, name);
    let ko = view.ko.as_ref().map(|ko| format!("; ko at {ko}")).unwrap_or_default();
    grid.finish(sketch, "Go", &format!("{status}{last_text}"), &format!("{desc}{ko}"))
}

fn stars(size: usize) -> Vec<[usize; 2]> {
    let edge = match size {
        7..=12 => 2,
        13.. => 3,
        _ => return Vec::new(),
    };
    let far = size - 1 - edge;
    let mut stars = vec![[edge, edge], [far, edge], [edge, far], [far, far]];
    if size % 2 == 1 {
        let middle = size / 2;
        stars.push([middle, middle]);
        if size > 13 {
            stars.extend([[edge, middle], [far, middle], [middle, edge], [middle, far]]);
        }
    }
    stars
}
