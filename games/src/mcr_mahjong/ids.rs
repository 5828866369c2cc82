//! Action ids and their names.

use ludex_env::game::Action;

use super::tiles::{KINDS, RANKS, Tile, name, rank, suited};

/// Number of action ids.
pub const ACTIONS: u32 = 108;
/// Declines to claim the tile.
pub const PASS: Action = 0;
/// First id of the discards, one id per kind.
pub const PLAY: Action = 1;
/// First id of the kongs, both concealed and with a claimed discard; one id per kind.
pub const GANG: Action = PLAY + KINDS as Action;
/// First id of the promoted kongs, one id per kind.
pub const BUGANG: Action = GANG + KINDS as Action;
/// Declares the hand as won.
pub const HU: Action = BUGANG + KINDS as Action;
/// Claims the discard for a pung.
pub const PENG: Action = HU + 1;
/// Claims a chow with the discard as its lowest tile. The next two ids claim a chow with the discard as its middle or
/// highest tile.
pub const CHI: Action = PENG + 1;

/// The meaning of an action id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// No claim is made.
    Pass,
    /// A tile is discarded.
    Play(Tile),
    /// A kong is formed from four standing tiles, or from three standing tiles and the discard.
    Gang(Tile),
    /// A tile is added to a claimed pung.
    Bugang(Tile),
    /// The hand is declared as won.
    Hu,
    /// A pung is formed with the discard.
    Peng,
    /// A chow is formed with the discard as its lowest (0), middle (1) or highest (2) tile.
    Chi(u8),
}

/// Decodes an id; an id out of range decodes to a pass.
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

/// Returns the middle tile of a chow in which `offer` is tile `place` (0 to 2, lowest first); `None` for an impossible
/// chow.
pub fn middle(offer: Tile, place: u8) -> Option<Tile> {
    let (rank, place) = (rank(offer), usize::from(place));
    let fits = suited(offer) && rank >= place && rank + 2 - place < RANKS;
    fits.then(|| offer + 1 - place as Tile)
}

/// Returns the text of an action id; `offer` is the tile that may be claimed, if any.
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
