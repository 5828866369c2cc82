//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::{panel, seat_panel};
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill};

use super::{LiarsDice, View};
use crate::picture::dice::{SIDE, die, hidden};

/// Maximum number of bids drawn as cells.
const MOST: usize = 96;
const ROW: i32 = 88;

/// Returns true if every possible bid is drawn as a cell.
pub(super) fn draws_all_bids(game: &LiarsDice) -> bool {
    game.bids() <= MOST && game.sides <= 12
}

/// Returns the display name of a bid, such as `2-5`.
pub(super) fn name([quantity, face]: [usize; 2]) -> String {
    format!("{quantity}-{face}")
}

pub(super) fn picture(game: &LiarsDice, view: &View) -> Picture {
    let (n, each, sides) = (game.n, game.each, game.sides);
    let grid = if draws_all_bids(game) { 46 + 30 * game.total() as i32 } else { 0 };
    let width = (40 + 52 * each as i32 + 150).max(52 + 44 * sides.min(12) as i32).max(340);
    let mut sketch = Sketch::new(width, 10 + ROW * n as i32 + grid + 44);
    for p in 0..n {
        let area = [10, 10 + ROW * p as i32, width - 20, ROW - 8];
        let me = view.seat.map(usize::from) == Some(p);
        let name = if me { format!("p{p} (you)") } else { format!("p{p}") };
        seat_panel(&mut sketch, area, &name, view.to_move.map(usize::from) == Some(p));
        let known = if me { Some(&view.dice) } else { view.shown.get(p) };
        let rolled = usize::from(view.rolled).saturating_sub(p * each).min(each);
        for k in 0..rolled {
            let at = [area[0] + 12 + 52 * k as i32, area[1] + 29];
            match known.and_then(|dice| dice.get(k)) {
                Some(&face) => die(&mut sketch, at, &face.to_string(), usize::from(face) == sides),
                None => hidden(&mut sketch, at),
            }
        }
        let last = view.bids.iter().enumerate().rfind(|(i, _)| i % n == p);
        let called = view.called && view.bids.len() % n == p;
        let bid_text = if called { Some("Liar!".to_owned()) } else { last.map(|(_, [q, f])| format!("{q} x {f}")) };
        let x = area[0] + area[2] - 14;
        sketch.bold(Paint::Accent, TextAnchor::End, [x, area[1] + 29 + SIDE / 2], 18, &bid_text.unwrap_or_default());
    }
    if draws_all_bids(game) {
        bids(&mut sketch, game, view, 10 + ROW * n as i32);
    }
    let status = match (view.to_move, view.result) {
        (Some(p), _) => format!("p{p} to move; {sides} is wild"),
        (None, Some([winner, loser])) => format!("p{winner} wins, p{loser} loses"),
        (None, None) => "the dice are rolled".to_owned(),
    };
    let [_, height] = sketch.size();
    sketch.caption(height - 22, &status);
    let words = |dice: &[u8]| dice.iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
    let mut desc = match view.seat {
        Some(p) => format!("p{p} sees its dice {}. ", words(&view.dice)),
        None => format!("{} dice are rolled. ", view.rolled),
    };
    view.shown.iter().enumerate().for_each(|(p, dice)| desc += &format!("p{p} rolled {}. ", words(dice)));
    let made: Vec<String> = view.bids.iter().enumerate().map(|(i, [q, f])| format!("p{} {q} x {f}", i % n)).collect();
    desc += &format!("Bids: {}.", if made.is_empty() { "none yet".to_owned() } else { made.join(", ") });
    sketch.finish(&format!("{}: {status}", LiarsDice::INFO.title), &desc)
}

/// Draws every possible bid: a row for each quantity, a column for each face.
fn bids(sketch: &mut Sketch, game: &LiarsDice, view: &View, top: i32) {
    let [width, _] = sketch.size();
    panel(sketch, [10, top, width - 20, 38 + 30 * game.total() as i32], "Bids (quantity x face)");
    let last = view.bids.last().map(|bid| bid.map(usize::from));
    for quantity in 1..=game.total() {
        for face in 1..=game.sides {
            let area = [22 + 44 * (face as i32 - 1), top + 4 + 30 * quantity as i32, 40, 26];
            let made = view.bids.iter().any(|bid| bid.map(usize::from) == [quantity, face]);
            let (ground, ink) = if made { (Paint::Accent, Paint::Paper) } else { (Paint::Paper, Paint::Ink) };
            sketch.rect(fill(ground), area, 5);
            sketch.text(ink, TextAnchor::Middle, [area[0] + 20, area[1] + 13], 14, &format!("{quantity}x{face}"));
            sketch.cell(&name([quantity, face]), area);
        }
    }
    sketch.last(last.map(name).unwrap_or_default());
}
