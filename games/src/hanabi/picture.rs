//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::{panel, seat_panel, short};
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill};

use super::view::{Card, View};
use super::{Hanabi, LETTERS};
use crate::picture::cards::{SIZE, back, coloured, place};

const WIDE: i32 = 600;
const HAND: i32 = 122;

fn paint(letter: Option<char>) -> Paint {
    match letter {
        Some('R') => Paint::FaceRed,
        Some('Y') => Paint::FaceYellow,
        Some('G') => Paint::FaceGreen,
        Some('B') => Paint::FaceBlue,
        _ => Paint::FaceInk,
    }
}

pub(super) fn picture(game: &Hanabi, view: &View) -> Picture {
    let hands = view.hands.len().min(5) as i32;
    let mut sketch = Sketch::new(WIDE, 216 + hands * HAND + 44);
    let colors: Vec<char> = LETTERS.chars().take(game.colors).collect();
    table(&mut sketch, game, view, &colors);
    for (p, hand) in view.hands.iter().take(5).enumerate() {
        let area = [10, 216 + HAND * p as i32, WIDE - 20, HAND - 8];
        let me = view.seat.map(usize::from) == Some(p);
        let name = if me { format!("p{p} (you)") } else { format!("p{p}") };
        seat_panel(&mut sketch, area, &name, view.to_move.map(usize::from) == Some(p));
        sketch.cell(&format!("p{p}"), [area[0], area[1], WIDE - 20, 28]);
        for (slot, card) in hand.iter().take(5).enumerate() {
            let at = [area[0] + 16 + 112 * slot as i32, area[1] + 28];
            one(&mut sketch, at, card);
            sketch.cell(&format!("p{p}.{slot}"), [at[0], at[1], 104, SIZE[1]]);
        }
    }
    let score: u32 = view.fireworks.iter().map(|&f| u32::from(f)).sum();
    let status = match view.to_move {
        Some(p) => format!("p{p} to move"),
        None if view.hands.iter().any(|hand| hand.is_empty()) => "cards are dealt".to_owned(),
        None => "over".to_owned(),
    };
    let status = format!("{status}; score {score}");
    let [_, height] = sketch.size();
    sketch.caption(height - 22, &status);
    let fireworks = colors.iter().zip(&view.fireworks).map(|(c, n)| format!("{c}{n}")).collect::<Vec<_>>().join(" ");
    let held = |(p, hand): (usize, &Vec<Card>)| {
        let cards =
            hand.iter().map(|c| c.card.clone().unwrap_or_else(|| format!("hidden ({}, {})", c.colors, c.ranks)));
        format!("p{p} holds {}", cards.collect::<Vec<_>>().join(", "))
    };
    let hands: Vec<String> = view.hands.iter().take(5).enumerate().map(held).collect();
    let desc = format!(
        "Fireworks {fireworks}; {} lives, {} information tokens, {} cards in the deck; discarded: {}. {}.",
        view.lives,
        view.information,
        view.deck,
        if view.discards.is_empty() { "nothing".to_owned() } else { view.discards.join(" ") },
        hands.join(". ")
    );
    sketch.finish(&format!("{}: {status}", Hanabi::INFO.title), &desc)
}

/// Draws fireworks, tokens, deck and discards.
fn table(sketch: &mut Sketch, game: &Hanabi, view: &View, colors: &[char]) {
    panel(sketch, [10, 10, 340, 116], "Fireworks");
    sketch.cell("play", [10, 10, 340, 116]);
    for (k, &letter) in colors.iter().enumerate() {
        let at = [22 + 64 * k as i32, 38];
        match view.fireworks.get(k).copied().unwrap_or(0) {
            0 => {
                place(sketch, at, Paint::Edge);
                sketch.bold(
                    Paint::Edge,
                    TextAnchor::Middle,
                    [at[0] + SIZE[0] / 2, at[1] + SIZE[1] / 2],
                    24,
                    &letter.to_string(),
                );
            }
            n => coloured(sketch, at, paint(Some(letter)), &n.to_string()),
        }
    }
    panel(sketch, [360, 10, 230, 116], "Tokens");
    for (row, (word, have, ink)) in
        [("lives", view.lives, Paint::Red), ("information", view.information, Paint::Blue)].into_iter().enumerate()
    {
        let y = 46 + 28 * row as i32;
        for k in 0..i32::from(have.min(10)) {
            sketch.circle(fill(ink), [380 + 13 * k, y], 5);
        }
        sketch.text(Paint::Faint, TextAnchor::End, [580, y], 13, &format!("{have} {word}"));
    }
    let last = view.turns_left.map(|n| format!(", {n} turns left")).unwrap_or_default();
    sketch.text(Paint::Ink, TextAnchor::Start, [372, 104], 14, &format!("deck {}{last}", view.deck));
    panel(sketch, [10, 134, 340, 74], "Discards");
    sketch.cell("discard", [10, 134, 340, 74]);
    for (k, name) in view.discards.iter().take(39).enumerate() {
        let at = [30 + 25 * (k as i32 % 13), 168 + 14 * (k as i32 / 13)];
        let ink = match name.chars().next() {
            Some('R') => Paint::Red,
            Some('Y') => Paint::Yellow,
            Some('G') => Paint::Green,
            Some('B') => Paint::Blue,
            _ => Paint::Ink,
        };
        sketch.bold(ink, TextAnchor::Middle, at, 13, &short(name, 2));
    }
    panel(sketch, [360, 134, 230, 74], "Tell");
    let swatches = colors.iter().map(char::to_string).chain((1..=game.ranks).map(|r| r.to_string()));
    for (k, word) in swatches.enumerate() {
        let (row, column) = if k < colors.len() { (0, k) } else { (1, k - colors.len()) };
        let at = [420 + 30 * column as i32, 146 + 30 * row];
        let letter = word.chars().next().filter(|_| row == 0);
        sketch.rect(fill(Paint::Face).edge(paint(letter), 2), [at[0], at[1], 26, 26], 5);
        sketch.bold(paint(letter), TextAnchor::Middle, [at[0] + 13, at[1] + 13], 15, &word);
        sketch.cell(&word, [at[0], at[1], 26, 26]);
    }
}

/// Draws a card next to the facts known from hints.
fn one(sketch: &mut Sketch, [x, y]: [i32; 2], card: &Card) {
    match &card.card {
        Some(name) => coloured(sketch, [x, y], paint(name.chars().next()), name.get(1..).unwrap_or("?")),
        None => back(sketch, [x, y]),
    }
    if let Some(color) = card.color.as_deref() {
        let letter = color.chars().next();
        sketch.rect(fill(paint(letter)), [x + 64, y + 8, 28, 24], 6);
        sketch.bold(Paint::Face, TextAnchor::Middle, [x + 78, y + 20], 14, &short(color, 1));
    }
    if let Some(rank) = card.rank {
        sketch.rect(fill(Paint::Face).edge(Paint::FaceInk, 1), [x + 64, y + 40, 28, 24], 6);
        sketch.bold(Paint::FaceInk, TextAnchor::Middle, [x + 78, y + 52], 14, &rank.to_string());
    }
    if card.color.is_none() && card.rank.is_none() {
        sketch.text(Paint::Faint, TextAnchor::Middle, [x + 82, y + 26], 12, &short(&card.colors, 5));
        sketch.text(Paint::Faint, TextAnchor::Middle, [x + 82, y + 46], 12, &short(&card.ranks, 5));
    }
}
