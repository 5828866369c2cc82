//! Card tables: the board in the middle, and the seats with their cards and chips.

use ludex_env::picture::labels::{seat_panel, short};
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill};

use super::cards::{self, Suit};

/// A card on the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Face {
    /// Face up with rank and suit, such as `Th`.
    Named(String),
    /// Face up with only a number or a letter.
    Plain(String),
    /// Face down on the table.
    Down,
    /// An empty slot for a card that is not dealt yet.
    Missing,
}

/// Content of the panel of a seat.
#[derive(Clone, Debug, Default)]
pub struct Player {
    /// Display name of the seat.
    pub name: String,
    /// Cards of the seat.
    pub cards: Vec<Face>,
    /// Chips on the table, as text.
    pub chips: String,
    /// Additional text, such as the size of the stack.
    pub note: String,
    /// True if the seat is to act.
    pub acts: bool,
    /// True if the seat has folded or is out of the game.
    pub out: bool,
}

/// Content of the picture of a card table.
#[derive(Clone, Debug, Default)]
pub struct CardTable {
    /// Cards of the board.
    pub board: Vec<Face>,
    /// Text about the pot.
    pub pot: String,
    /// Panels of the seats, in seat order.
    pub players: Vec<Player>,
    /// Status text at the bottom.
    pub status: String,
}

const WIDE: i32 = 560;
const SEAT: i32 = 122;
/// Maximum number of cards drawn for a seat or the board.
const MOST: usize = 8;

/// Draws one card with its upper left corner at `at`.
pub fn face(sketch: &mut Sketch, at: [i32; 2], face: &Face) {
    match face {
        Face::Named(name) => cards::card_by_name(sketch, at, name),
        Face::Plain(text) => cards::card(sketch, at, &short(text, 4), None),
        Face::Down => cards::back(sketch, at),
        Face::Missing => cards::place(sketch, at, Paint::FeltLine),
    }
}

fn word(face: &Face) -> Option<String> {
    match face {
        Face::Named(name) => Some(if name.chars().next_back().and_then(Suit::of).is_some() {
            cards::word(name)
        } else {
            "a hidden card".into()
        }),
        Face::Plain(text) => Some(format!("card {text}")),
        Face::Down => Some("a hidden card".to_owned()),
        Face::Missing => None,
    }
}

fn listed(faces: &[Face]) -> String {
    let words: Vec<String> = faces.iter().filter_map(word).collect();
    if words.is_empty() { "no cards".to_owned() } else { words.join(", ") }
}

impl CardTable {
    /// Draws the table under this title.
    pub fn picture(&self, title: &str) -> Picture {
        let middle = if self.board.is_empty() { 58 } else { 128 };
        let rows = self.players.len().div_ceil(2) as i32;
        let mut sketch = Sketch::new(WIDE, middle + rows * SEAT + 46);
        sketch.rect(fill(Paint::Felt), [10, 10, WIDE - 20, middle - 14], 14);
        let board = &self.board[..self.board.len().min(MOST)];
        let left = (WIDE - board.len() as i32 * 62 + 8) / 2;
        for (k, card) in board.iter().enumerate() {
            face(&mut sketch, [left + 62 * k as i32, 18], card);
        }
        sketch.bold(Paint::White, TextAnchor::Middle, [WIDE / 2, middle - 18], 15, &short(&self.pot, 60));
        for (k, player) in self.players.iter().enumerate() {
            let area = [10 + 275 * (k as i32 % 2), middle + SEAT * (k as i32 / 2), 265, SEAT - 8];
            self.seat(&mut sketch, area, player);
        }
        let [_, height] = sketch.size();
        sketch.caption(height - 22, &self.status);
        let seats = self.players.iter().map(|p| {
            let out = if p.out { ", out" } else { "" };
            format!("{}: {}; {} {}{out}", p.name, listed(&p.cards), p.chips, p.note)
        });
        let desc = format!("{}. Board: {}. {}.", self.pot, listed(&self.board), seats.collect::<Vec<_>>().join(". "));
        sketch.finish(&format!("{title}: {}", self.status), &desc)
    }

    fn seat(&self, sketch: &mut Sketch, area: [i32; 4], player: &Player) {
        let [x, y, width, _] = area;
        seat_panel(sketch, area, &player.name, player.acts);
        let cards = &player.cards[..player.cards.len().min(MOST)];
        // Large hands overlap.
        let step = if cards.len() < 3 { 60 } else { (130 / (cards.len() as i32 - 1)).min(60) };
        for (k, card) in cards.iter().enumerate() {
            face(sketch, [x + 12 + step * k as i32, y + 30], card);
        }
        if player.out {
            sketch.text(Paint::Red, TextAnchor::End, [x + width - 12, y + 16], 13, "folded");
        }
        if !player.chips.is_empty() {
            cards::chips(sketch, [x + 184, y + 52], Paint::Ink, &short(&player.chips, 7));
        }
        sketch.text(Paint::Faint, TextAnchor::End, [x + width - 12, y + 88], 13, &short(&player.note, 20));
    }
}
