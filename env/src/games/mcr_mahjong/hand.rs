//! A hand that may win: melds, standing tiles, the winning tile, and how it came.

use arrayvec::ArrayVec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tiles::{COPIES, Counts, Tile};

/// Most melds of a hand.
pub const MELDS: usize = 4;

/// What a meld is, in Botzone's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum MeldKind {
    /// A claimed chow.
    Chi,
    /// A claimed pung.
    Peng,
    /// A kong of a claimed discard.
    Gang,
    /// A claimed pung that became a kong.
    Bugang,
    /// A concealed kong.
    Angang,
}

/// Tiles that are laid down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meld {
    /// What it is.
    pub kind: MeldKind,
    /// The kind of its tiles; of a chow the middle one.
    pub tile: Tile,
}

impl Meld {
    /// Whether it has four tiles.
    pub const fn kong(self) -> bool {
        matches!(self.kind, MeldKind::Gang | MeldKind::Bugang | MeldKind::Angang)
    }

    /// How many tiles of `tile` it has.
    pub fn copies(self, tile: Tile) -> u8 {
        match self.kind {
            MeldKind::Chi => u8::from(self.tile.abs_diff(tile) <= 1),
            MeldKind::Peng => 3 * u8::from(self.tile == tile),
            _ => COPIES * u8::from(self.tile == tile),
        }
    }

    /// Its tiles.
    pub fn tiles(self) -> ArrayVec<Tile, 4> {
        match self.kind {
            MeldKind::Chi => [self.tile.saturating_sub(1), self.tile, self.tile + 1].into_iter().collect(),
            MeldKind::Peng => [self.tile; 3].into_iter().collect(),
            _ => [self.tile; 4].into(),
        }
    }
}

/// Whose reading of the rules, where texts differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edition {
    /// As PyMahjongGB 1.4.0 and Botzone count.
    #[default]
    Oracle,
    /// The text of 1998 to the letter.
    Strict98,
}

/// How the winning tile came, and the winds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Drawn from the wall; else discarded, or added to a pung that is robbed.
    pub self_drawn: bool,
    /// The three other copies lie open.
    pub fourth_tile: bool,
    /// Drawn in the place of a kong's tile, or robbed from a kong.
    pub about_kong: bool,
    /// The last tile of the wall, or the discard after it.
    pub wall_last: bool,
    /// The seat's wind, 0 to 3.
    pub seat_wind: u8,
    /// The prevalent wind, 0 to 3.
    pub prevalent_wind: u8,
    /// Flowers.
    pub flowers: u8,
}

/// Melds and standing tiles, which make 3n + 2 tiles with the winning one.
///
/// ```
/// use ludex_env::games::mcr_mahjong::{Edition, Flags, Hand, tiles};
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
    /// What is laid down.
    pub melds: ArrayVec<Meld, MELDS>,
    /// The standing tiles without the winning one.
    pub standing: Counts,
    /// The winning tile.
    pub win: Tile,
    /// How it came.
    pub flags: Flags,
}

impl Hand {
    /// A hand; of more than four melds the first four count.
    pub fn new(melds: &[Meld], standing: Counts, win: Tile, flags: Flags) -> Hand {
        Hand { melds: melds.iter().copied().take(MELDS).collect(), standing, win, flags }
    }

    /// The standing tiles with the winning one.
    pub fn complete(&self) -> Counts {
        let mut all = self.standing;
        if let Some(n) = all.get_mut(usize::from(self.win)) {
            *n += 1;
        }
        all
    }

    /// Corrects flags that cannot be: names of those that changed.
    ///
    /// A tile of which the own hand holds a copy is not the last one, and one of which the own melds show three is. A tile that
    /// was drawn belongs to a kong only if there is one, and a tile of which the hand has a copy was not robbed.
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
