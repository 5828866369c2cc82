//! Drawing of playing cards and chips.

use ludex_env::picture::{Paint, Sketch, TextAnchor, fill, line};

/// Width and height of a card.
pub const SIZE: [i32; 2] = [54, 76];

/// Suit of a playing card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the four suits")]
pub enum Suit {
    Clubs,
    Diamonds,
    Hearts,
    Spades,
}

impl Suit {
    /// Returns the suit with this letter, such as `h` in `Th`.
    pub fn of(letter: char) -> Option<Suit> {
        Some(match letter.to_ascii_lowercase() {
            'c' => Suit::Clubs,
            'd' => Suit::Diamonds,
            'h' => Suit::Hearts,
            's' => Suit::Spades,
            _ => return None,
        })
    }

    /// Returns the SVG path data of the suit, with coordinates in -50..50.
    fn path(self) -> &'static str {
        match self {
            Suit::Clubs => {
                "M0-48a22 22 0 0 1 17 36a22 22 0 1 1-12 34c1 12 5 18 11 24h-32c6-6 10-12 11-24a22 22 0 1 1-12-34a22 22 0 0 1 17-36z"
            }
            Suit::Diamonds => "M0-50Q16-20 37 0Q16 20 0 50Q-16 20-37 0Q-16-20 0-50z",
            Suit::Hearts => {
                "M0 46C-20 22-46 4-46-20C-46-38-34-46-23-46C-11-46-3-38 0-28C3-38 11-46 23-46C34-46 46-38 46-20C46 4 20 22 0 46z"
            }
            Suit::Spades => {
                "M0-50C18-24 46-6 46 14C46 26 37 33 27 33C17 33 9 27 5 19C6 32 10 40 16 46H-16C-10 40-6 32-5 19C-9 27-17 33-27 33C-37 33-46 26-46 14C-46-6-18-24 0-50z"
            }
        }
    }

    const fn paint(self) -> Paint {
        if matches!(self, Suit::Diamonds | Suit::Hearts) { Paint::FaceRed } else { Paint::FaceInk }
    }
}

/// Draws a card with its upper left corner at `at`. `rank` has one or two letters. Without a suit, only the rank is
/// drawn.
pub fn card(sketch: &mut Sketch, at: [i32; 2], rank: &str, suit: Option<Suit>) {
    let [x, y] = at;
    let rank = if rank == "T" { "10" } else { rank };
    sketch.rect(fill(Paint::Face).edge(Paint::FaceEdge, 1), [x, y, SIZE[0], SIZE[1]], 6);
    match suit {
        Some(suit) => {
            sketch.bold(suit.paint(), TextAnchor::Middle, [x + 13, y + 15], 19, rank);
            sketch.moved([x + 13, y + 34], 14, |s| s.path(fill(suit.paint()), suit.path()));
            sketch.moved([x + 34, y + 50], 38, |s| s.path(fill(suit.paint()), suit.path()));
        }
        None => sketch.bold(Paint::FaceInk, TextAnchor::Middle, [x + SIZE[0] / 2, y + SIZE[1] / 2], 34, rank),
    }
}

/// Draws a card by its name, such as `Th`; `?` draws the back.
pub fn card_by_name(sketch: &mut Sketch, at: [i32; 2], name: &str) {
    let suit = name.chars().next_back().and_then(Suit::of);
    match suit {
        Some(suit) => card(sketch, at, &name[..name.len() - 1], Some(suit)),
        None => back(sketch, at),
    }
}

/// Draws a card in one color, for games whose cards have colors instead of suits.
pub fn coloured(sketch: &mut Sketch, at: [i32; 2], ink: Paint, rank: &str) {
    let [x, y] = at;
    sketch.rect(fill(Paint::Face).edge(ink, 3), [x + 1, y + 1, SIZE[0] - 2, SIZE[1] - 2], 6);
    sketch.bold(ink, TextAnchor::Middle, [x + SIZE[0] / 2, y + SIZE[1] / 2], 34, rank);
}

/// Draws the back of a card.
pub fn back(sketch: &mut Sketch, at: [i32; 2]) {
    let [x, y] = at;
    sketch.rect(fill(Paint::Back).edge(Paint::FaceEdge, 1), [x, y, SIZE[0], SIZE[1]], 6);
    sketch.rect(line(Paint::BackLine, 1), [x + 5, y + 5, SIZE[0] - 10, SIZE[1] - 10], 3);
    let d = "M5 38L27 10L49 38L27 66zM16 38L27 24L38 38L27 52z";
    sketch.moved(at, 100, |s| s.path(line(Paint::BackLine, 1), d));
}

/// Draws an empty slot for a card.
pub fn place(sketch: &mut Sketch, [x, y]: [i32; 2], look: Paint) {
    sketch.rect(line(look, 1), [x, y, SIZE[0], SIZE[1]], 6);
}

/// Draws a stack of chips with a number next to it.
pub fn chips(sketch: &mut Sketch, [x, y]: [i32; 2], ink: Paint, number: &str) {
    sketch.circle(fill(Paint::Chip).edge(Paint::Face, 2), [x, y], 9);
    sketch.circle(line(Paint::Face, 1), [x, y], 5);
    sketch.bold(ink, TextAnchor::Start, [x + 14, y], 15, number);
}

/// Returns the description of a card: `Th` is "ten of hearts".
pub fn word(name: &str) -> String {
    let suit = match name.chars().next_back().and_then(Suit::of) {
        Some(Suit::Clubs) => "clubs",
        Some(Suit::Diamonds) => "diamonds",
        Some(Suit::Hearts) => "hearts",
        Some(Suit::Spades) => "spades",
        None => return "a hidden card".to_owned(),
    };
    let rank = match &name[..name.len() - 1] {
        "A" => "ace",
        "K" => "king",
        "Q" => "queen",
        "J" => "jack",
        "T" => "10",
        other => other,
    };
    format!("{rank} of {suit}")
}
