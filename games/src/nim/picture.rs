//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill};

use super::{Nim, View};

/// Maximum number of objects drawn one by one; for more objects, all piles are drawn as numbers.
const MOST: u32 = 160;
/// Maximum size of a pile drawn object by object; larger piles are drawn as numbers.
const TALLEST: u8 = 16;

/// Returns true if every object is drawn one by one.
pub(super) fn draws_all_objects(view: &View) -> bool {
    let sum: u32 = view.piles.iter().map(|&n| u32::from(n)).sum();
    sum <= MOST && view.piles.iter().all(|&n| n <= TALLEST)
}

/// Returns the name of the object with `below` objects under it, such as `1.1` for the lowest object of the first pile.
pub(super) fn name(pile: usize, below: usize) -> String {
    format!("{}.{}", pile + 1, below + 1)
}

pub(super) fn picture(game: &Nim, view: &View) -> Picture {
    let piles = view.piles.len().min(16);
    let start = game.params.pile_sizes.iter().copied().max().unwrap_or(1);
    let tallest = view.piles.iter().copied().max().unwrap_or(1).max(start.min(TALLEST.into()) as u8);
    let height = if draws_all_objects(view) { 26 * i32::from(tallest.min(TALLEST)) } else { 40 };
    let width = (64 * piles as i32 + 40).max(280);
    let left = (width - 64 * piles as i32) / 2;
    let mut sketch = Sketch::new(width, 24 + height + 84);
    for (pile, &size) in view.piles.iter().take(piles).enumerate() {
        let (x, floor) = (left + 64 * pile as i32 + 32, 24 + height);
        sketch.rect(fill(Paint::Wood), [x - 26, floor, 52, 6], 3);
        if draws_all_objects(view) {
            for k in 0..usize::from(size) {
                let y = floor - 13 - 26 * k as i32;
                sketch.rect(fill(Paint::Blue).edge(Paint::Panel, 1), [x - 20, y - 11, 40, 22], 11);
                sketch.cell(&name(pile, k), [x - 24, y - 13, 48, 26]);
            }
        } else {
            sketch.bold(Paint::Blue, TextAnchor::Middle, [x, floor - 20], 24, &size.to_string());
        }
        sketch.bold(Paint::Ink, TextAnchor::Middle, [x, floor + 20], 15, &size.to_string());
        sketch.text(Paint::Faint, TextAnchor::Middle, [x, floor + 38], 12, &format!("pile {}", pile + 1));
    }
    let goal = if game.params.is_misere { "who takes the last object loses" } else { "who takes the last object wins" };
    let status = match (view.to_move, view.winner) {
        (Some(p), _) => format!("p{p} to move; {goal}"),
        (None, Some(p)) => format!("p{p} wins"),
        (None, None) => "over".to_owned(),
    };
    sketch.caption(24 + height + 66, &status);
    let sizes: Vec<String> = view.piles.iter().enumerate().map(|(k, n)| format!("pile {} has {n}", k + 1)).collect();
    sketch.finish(&format!("{}: {status}", Nim::INFO.title), &sizes.join(", "))
}
