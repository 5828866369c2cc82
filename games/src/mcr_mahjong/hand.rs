//! A complete or incomplete hand: melds, standing tiles, the winning tile and its source.

use arrayvec::ArrayVec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tiles::{COPIES, Counts, Tile};

/// Maximum number of melds.
pub const MELDS: usize = 4;

/// Type of a meld, in Botzone's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum MeldKind {
    /// A chow of a claimed discard.
    Chi,
    /// A pung of a claimed discard.
    Peng,
    /// A kong of a claimed discard.
    Gang,
    /// A claimed pung promoted to a kong.
    Bugang,
    /// A concealed kong of four drawn tiles.
    Angang,
}

/// A meld: tiles laid down as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meld {
    /// The type of the meld.
    pub kind: MeldKind,
    /// The kind of the meld's tiles; for a chow, the kind of the middle tile.
    pub tile: Tile,
}

impl Meld {
    /// Returns true if the meld has four tiles.
    pub const fn kong(self) -> bool {
        matches!(self.kind, MeldKind::Gang | MeldKind::Bugang | MeldKind::Angang)
    }

    /// Returns the number of tiles of kind `tile` in the meld.
    pub fn copies(self, tile: Tile) -> u8 {
        match self.kind {
            MeldKind::Chi => u8::from(self.tile.abs_diff(tile) <= 1),
            MeldKind::Peng => 3 * u8::from(self.tile == tile),
            _ => COPIES * u8::from(self.tile == tile),
        }
    }

    /// Returns the three or four tiles of the meld.
    pub fn tiles(self) -> ArrayVec<Tile, 4> {
        match self.kind {
            MeldKind::Chi => [self.tile.saturating_sub(1), self.tile, self.tile + 1].into_iter().collect(),
            MeldKind::Peng => [self.tile; 3].into_iter().collect(),
            _ => [self.tile; 4].into(),
        }
    }
}

/// Edition of the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edition {
    /// Scoring of PyMahjongGB 1.4.0 and Botzone.
    #[default]
    Oracle,
    /// The rules of 1998, applied literally.
    Strict98,
}

/// Circumstances of a win: source of the winning tile, winds, and flowers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// True if the winning tile was drawn from the wall; false if it was discarded, or robbed from a promoted kong.
    pub self_drawn: bool,
    /// True if the other three copies of the winning tile are visible to all seats.
    pub fourth_tile: bool,
    /// True if the winning tile is the replacement for a kong, or was robbed from a promoted kong.
    pub about_kong: bool,
    /// True if the winning tile is the last tile of the wall, or the discard after the last draw.
    pub wall_last: bool,
    /// The seat's wind, 0 to 3.
    pub seat_wind: u8,
    /// The prevalent wind, 0 to 3.
    pub prevalent_wind: u8,
    /// The number of flowers.
    pub flowers: u8,
}

/// A hand: melds, standing tiles, and the winning tile. Without melds there are 13 standing tiles; each meld replaces
/// three.
///
/// ```
/// use ludex_games::mcr_mahjong::{Edition, Flags, Hand, tiles};
///
/// let tile = |name| tiles::read(name).unwrap();
/// let standing = ["W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9", "B3", "B4", "T6", "T6"].map(tile);
/// let hand = Hand::new(&[], tiles::counts(standing), tile("B5"), Flags { self_drawn: true, ..Flags::default() });
/// let score = hand.score(Edition::Oracle).unwrap();
/// let fans: Vec<&str> = score.fans().map(|(_, _, name)| name).collect();
/// assert_eq!(fans, ["Pure Straight", "Fully Concealed Hand", "All Chows"]);
/// assert_eq!(score.points, 22);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hand {
    /// The melds of the hand.
    pub melds: ArrayVec<Meld, MELDS>,
    /// The standing tiles without the winning tile.
    pub standing: Counts,
    /// The tile that completes the hand.
    pub win: Tile,
    /// Circumstances of the win.
    pub flags: Flags,
}

impl Hand {
    /// Creates a hand; melds beyond the first four are ignored.
    pub fn new(melds: &[Meld], standing: Counts, win: Tile, flags: Flags) -> Hand {
        Hand { melds: melds.iter().copied().take(MELDS).collect(), standing, win, flags }
    }

    /// Returns the standing tiles including the winning tile.
    pub fn complete(&self) -> Counts {
        let mut all = self.standing;
        if let Some(n) = all.get_mut(usize::from(self.win)) {
            *n += 1;
        }
        all
    }

    /// Corrects impossible flags and returns the names of the changed flags.
    ///
    /// `fourth_tile` becomes false if a standing tile equals the winning tile, otherwise true if the melds contain the
    /// other three copies. `about_kong` becomes false for a drawn tile in a hand without a kong. For a discard,
    /// `about_kong` becomes false if the hand contains another copy of the winning tile.
    pub fn correct(&mut self) -> ArrayVec<&'static str, 2> {
        let (mut changed, old) = (ArrayVec::new(), self.flags);
        let held = self.standing.get(usize::from(self.win)).copied().unwrap_or(0);
        let laid: u8 = self.melds.iter().map(|m| m.copies(self.win)).sum();
        let f = &mut self.flags;
        f.fourth_tile = held == 0 && (f.fourth_tile || laid == COPIES - 1);
        f.about_kong &= if f.self_drawn { self.melds.iter().any(|m| m.kong()) } else { held + laid == 0 };
        if old.fourth_tile != f.fourth_tile {
            changed.push("fourth_tile");
        }
        if old.about_kong != f.about_kong {
            changed.push("about_kong");
        }
        changed
    }
}
