//! Action ids and their names.

use ludex_env::game::Action;

use super::tiles::{KINDS, RANKS, Tile, name, rank, suited};

/// Number of action ids.
pub const ACTIONS: u32 = 108;
/// Declines to claim the tile.
pub const PASS: Action = 0;
/// First of the discards, ordered by kind.
pub const PLAY: Action = 1;
/// First of the concealed kongs and the kongs of a discard, ordered by kind.
pub const GANG: Action = PLAY + KINDS as Action;
/// First of the promoted kongs, ordered by kind.
pub const BUGANG: Action = GANG + KINDS as Action;
/// Declares the hand as won.
pub const HU: Action = BUGANG + KINDS as Action;
/// Claims the discard for a pung.
pub const PENG: Action = HU + 1;
/// Claims a chow with the discard as the lowest tile; the next two ids have it in the middle and as the highest.
pub const CHI: Action = PENG + 1;

/// The meaning of an action id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// No claim is made.
    Pass,
    /// A tile is discarded.
    Play(Tile),
    /// A kong of four standing tiles, or of three and the discard.
    Gang(Tile),
    /// A tile is added to a pung.
    Bugang(Tile),
    /// The hand is won.
    Hu,
    /// A pung with the discard.
    Peng,
    /// A chow with the discard as the lowest (0), middle (1) or highest tile (2).
    Chi(u8),
}

/// Decodes an id; ids beyond the last decode to a pass.
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

/// Returns the middle tile of a chow with `offer` at position `place`; `None` for an impossible chow.
pub fn middle(offer: Tile, place: u8) -> Option<Tile> {
    let (rank, place) = (rank(offer), usize::from(place));
    let fits = suited(offer) && rank >= place && rank + 2 - place < RANKS;
    fits.then(|| offer + 1 - place as Tile)
}

/// Returns the text of an id while `offer` is the discard that may be claimed.
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
