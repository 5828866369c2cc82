//! Ids of actions, and their names.

use super::tiles::{KINDS, RANKS, Tile, name, rank, suited};
use crate::game::Action;

/// Number of ids.
pub const ACTIONS: u32 = 108;
/// Nothing is claimed.
pub const PASS: Action = 0;
/// The first of the discards, by kind.
pub const PLAY: Action = 1;
/// The first of the kongs: concealed ones, and of a discard.
pub const GANG: Action = PLAY + KINDS as Action;
/// The first of the promoted kongs.
pub const BUGANG: Action = GANG + KINDS as Action;
/// The hand is won.
pub const HU: Action = BUGANG + KINDS as Action;
/// A pung of the discard.
pub const PENG: Action = HU + 1;
/// A chow with the discard as the lowest tile; the next two have it in the middle and as the highest.
pub const CHI: Action = PENG + 1;

/// What an id means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Nothing is claimed.
    Pass,
    /// A tile is discarded.
    Play(Tile),
    /// A kong of four standing tiles, or of three and the discard.
    Gang(Tile),
    /// A tile is added to a pung.
    Bugang(Tile),
    /// The hand is won.
    Hu,
    /// A pung of the discard.
    Peng,
    /// A chow in which the discard is the lowest (0), middle (1) or highest tile (2).
    Chi(u8),
}

/// The meaning of an id; one beyond the last means nothing is claimed.
pub fn reading(a: Action) -> Doing {
    match a {
        PLAY..GANG => Doing::Play((a - PLAY) as Tile),
        GANG..BUGANG => Doing::Gang((a - GANG) as Tile),
        BUGANG..HU => Doing::Bugang((a - BUGANG) as Tile),
        HU => Doing::Hu,
        PENG => Doing::Peng,
        CHI..ACTIONS => Doing::Chi((a - CHI) as u8),
        _ => Doing::Pass,
    }
}

/// The middle tile of a chow of `offer` at a place; `None` where there is no such chow.
pub fn middle(offer: Tile, place: u8) -> Option<Tile> {
    let (rank, place) = (rank(offer), usize::from(place));
    let fits = suited(offer) && rank >= place && rank + 2 - place < RANKS;
    fits.then(|| offer + 1 - place as Tile)
}

/// The name of an id while `offer` is the discard that may be claimed.
pub fn text(a: Action, offer: Option<Tile>) -> String {
    match reading(a) {
        Doing::Pass => "PASS".to_owned(),
        Doing::Play(t) => format!("PLAY {}", name(t)),
        Doing::Gang(t) => format!("GANG {}", name(t)),
        Doing::Bugang(t) => format!("BUGANG {}", name(t)),
        Doing::Hu => "HU".to_owned(),
        Doing::Peng => "PENG".to_owned(),
        Doing::Chi(place) => match offer.and_then(|o| middle(o, place)) {
            Some(m) => format!("CHI {}", name(m)),
            None => format!("CHI {}", ["low", "middle", "high"][usize::from(place)]),
        },
    }
}
