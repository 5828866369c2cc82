//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::{seat_panel, short};
use ludex_env::picture::{Gesture, Paint, Picture, Sketch, TextAnchor};

use super::cards::{Counts, RANKS, SHORT, count};
use super::view::View;
use super::{FightTheLandlord, Phase};
use crate::picture::cards::{SIZE, Suit, back, card};

const WIDE: i32 = 660;
const SEAT: i32 = 118;

/// Draws the card with this number. Cards are numbered by rank, and within a rank in the order hearts, diamonds,
/// spades, clubs. The two jokers come last.
fn one(sketch: &mut Sketch, at: [i32; 2], number: u8) {
    match number {
        52 => card(sketch, at, "JK", None),
        53 => {
            card(sketch, at, "", None);
            sketch.bold(Paint::FaceRed, TextAnchor::Middle, [at[0] + SIZE[0] / 2, at[1] + SIZE[1] / 2], 34, "JK");
        }
        n => {
            let suit = [Suit::Hearts, Suit::Diamonds, Suit::Spades, Suit::Clubs][usize::from(n % 4)];
            card(sketch, at, rank(n), Some(suit));
        }
    }
}

fn rank(number: u8) -> &'static str {
    let k = if number < 52 { usize::from(number / 4) } else { usize::from(number.min(53)) - 39 };
    SHORT.get(k).copied().unwrap_or("?")
}

pub(super) fn gesture(cards: Counts) -> Gesture {
    Gesture::of((0..RANKS).flat_map(|r| std::iter::repeat_n(SHORT[r], count(cards, r).into())))
}

/// Draws a row of overlapping cards that starts at `at` and fits into `width`. Returns the horizontal distance between
/// cards.
fn fan(sketch: &mut Sketch, at: [i32; 2], width: i32, numbers: &[u8]) -> i32 {
    let step = ((width - SIZE[0]) / (numbers.len().max(2) as i32 - 1)).clamp(12, 58);
    for (k, &number) in numbers.iter().enumerate() {
        one(sketch, [at[0] + step * k as i32, at[1]], number);
    }
    step
}

pub(super) fn picture(game: &FightTheLandlord, view: &View) -> Picture {
    let mut sketch = Sketch::new(WIDE, 10 + 3 * SEAT + 112 + 40);
    let landlord = |p: usize| view.landlord.map(usize::from) == Some(p);
    for p in 0..3 {
        let area = [10, 10 + SEAT * p as i32, WIDE - 20, SEAT - 8];
        let part = if landlord(p) {
            ", landlord"
        } else if view.landlord.is_some() {
            ", farmer"
        } else {
            ""
        };
        let me = if view.seat.map(usize::from) == Some(p) { " (you)" } else { "" };
        let name = format!("p{p}{me}{part}: {} cards", view.held[p]);
        seat_panel(&mut sketch, area, &name, view.to_move.map(usize::from) == Some(p));
        back(&mut sketch, [area[0] + 12, area[1] + 28]);
        sketch.bold(Paint::White, TextAnchor::Middle, [area[0] + 39, area[1] + 66], 24, &view.held[p].to_string());
        let last = view.plays.iter().rev().take(3).find(|put| usize::from(put.seat) == p);
        match last {
            Some(put) if put.action == 0 => {
                sketch.text(Paint::Faint, TextAnchor::Start, [area[0] + 90, area[1] + 66], 18, "pass");
            }
            Some(put) => {
                fan(&mut sketch, [area[0] + 90, area[1] + 28], WIDE - 220, &put.cards[..put.cards.len().min(20)]);
            }
            None => {}
        }
    }
    let y = 10 + 3 * SEAT;
    sketch.bold(
        Paint::Faint,
        TextAnchor::Start,
        [22, y + 16],
        13,
        if view.seat.is_some() { "Your hand" } else { "The landlord's cards" },
    );
    let shown = if view.seat.is_some() { &view.hand } else { &view.bottom };
    let shown = &shown[..shown.len().min(20)];
    let step = fan(&mut sketch, [22, y + 32], WIDE - 44, shown);
    if view.seat.is_some() {
        for (k, &number) in shown.iter().enumerate() {
            let wide = if k + 1 == shown.len() { SIZE[0] } else { step.min(SIZE[0]) };
            sketch.cell(rank(number), [22 + step * k as i32, y + 32, wide, SIZE[1]]);
        }
    }
    let stake = view.stake.map(|n| format!("; stake {n}")).unwrap_or_default();
    let status = match (view.winner, view.to_move) {
        (Some(p), _) if landlord(p.into()) => "the landlord wins".to_owned(),
        (Some(_), _) => "the farmers win".to_owned(),
        (None, Some(p)) if view.phase == Phase::Bid => format!("p{p} to bid"),
        (None, Some(p)) => match view.to_beat {
            Some(top) => format!("p{p} to move, {} is to be beaten", short(&game.name(top), 24)),
            None => format!("p{p} leads"),
        },
        (None, None) if view.phase == Phase::Over => "no bids".to_owned(),
        (None, None) => format!("{} cards are dealt", view.dealt),
    };
    let status = format!("{status}{stake}");
    sketch.caption(y + 130, &status);
    let text = |numbers: &[u8]| numbers.iter().map(|&n| rank(n)).collect::<Vec<_>>().join(" ");
    let mut desc = format!("Cards held: p0 {}, p1 {}, p2 {}. ", view.held[0], view.held[1], view.held[2]);
    if let Some(p) = view.seat {
        desc += &format!("p{p} holds {}. ", text(&view.hand));
    }
    for put in view.plays.iter().rev().take(3).rev() {
        desc += &format!("p{} {}. ", put.seat, game.name(put.action));
    }
    sketch.finish(&format!("{}: {status}", FightTheLandlord::INFO.title), desc.trim_end())
}
