//! Information available to each seat.

use ludex_env::game::{Action, Seat, Viewer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fans::FANS;
use super::hand::MeldKind;
use super::state::{FinishedHand, NONE, Outcome, Phase, SEATS, State};
use super::tiles::{self, ALL_KINDS, KINDS, Tile};
use super::{McrMahjong, owner};

/// A tile, serialized as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Kind(pub Tile);

impl From<Kind> for String {
    fn from(kind: Kind) -> String {
        tiles::name(kind.0)
    }
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(text: String) -> Result<Kind, String> {
        tiles::read(&text).map(Kind).ok_or_else(|| format!("{text:?} is not a tile"))
    }
}

/// Information visible to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Index of the current hand, from 0.
    pub hand_number: u8,
    /// Number of hands in the episode.
    pub hands: u8,
    /// The prevalent wind, 0 to 3 for east to north; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prevalent: Option<u8>,
    /// The current phase of the hand.
    pub phase: Phase,
    /// Number of wall tiles drawn by chance so far; absent after the deal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dealt: Option<u8>,
    /// The seats to move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to_move: Vec<u8>,
    /// The observer's standing tiles, sorted, including the drawn tile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hand: Vec<Kind>,
    /// The tile that the observer has just drawn; absent if another seat is to move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Kind>,
    /// Properties of the drawn tile; absent if `drawn` is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<SeatFlags>,
    /// Melds of each seat.
    pub melds: [Vec<MeldView>; SEATS],
    /// Flowers of each seat.
    pub flowers: [Vec<Kind>; SEATS],
    /// All discards of the hand in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discards: Vec<Discard>,
    /// The tile that may be claimed or robbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
    /// Number of standing tiles of each seat.
    pub held: [u8; SEATS],
    /// Number of tiles left in the wall of each seat, or in the common wall.
    pub wall: Vec<u8>,
    /// The observer's claims that another seat's claim overrode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<Overridden>,
    /// Number of draws in the episode.
    pub draws: u16,
    /// Number of discards in earlier hands.
    pub discards_before: u16,
    /// Number of promoted kongs in the episode.
    pub promoted: u16,
    /// Total scores of each seat.
    pub scores: [i16; SEATS],
    /// Results of the finished hands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<HandResult>,
}

/// Properties of the drawn tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeatFlags {
    /// True if the tile is a replacement for a kong.
    pub replacement: bool,
    /// True for the last tile of the wall.
    pub last_tile: bool,
}

/// A meld of a seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeldView {
    /// The type of the meld.
    pub kind: MeldKind,
    /// The tiles of the meld; empty for a concealed kong of another seat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<Kind>,
    /// The seat whose discard was claimed; absent for a concealed kong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u8>,
    /// The tile that was claimed; absent for a concealed kong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Kind>,
}

/// A discard of the current hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Discard {
    /// Number of the discard in the episode, from 1.
    pub number: u16,
    /// The seat that discarded.
    pub seat: u8,
    /// The tile that was discarded.
    pub tile: Kind,
    /// The seat that claimed the discard, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<u8>,
}

/// A tile that may be claimed or robbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offer {
    /// The tile on offer.
    pub tile: Kind,
    /// The seat that offers the tile.
    pub seat: u8,
    /// True if the tile was added to a pung and may be robbed; false for a discard.
    pub kong: bool,
}

/// A claim that another seat's claim overrode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overridden {
    /// The number of the discard, or of the promoted kong.
    pub number: u16,
    /// The action id of the claim.
    pub claim: u32,
}

/// The result of a finished hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandResult {
    /// The outcome of the hand.
    pub outcome: Outcome,
    /// The winner, or the seat that declared a false HU; absent in a drawn hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<u8>,
    /// The seat that supplied the winning tile; absent for a drawn tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u8>,
    /// The tile that completed the winning hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<Kind>,
    /// Fans of the winning hand: points per occurrence, count, and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fans: Vec<(u32, u8, String)>,
    /// Total points of the winning hand, including flowers.
    pub points: u32,
    /// Score of each seat for this hand.
    pub scores: [i16; SEATS],
    /// The winner's standing tiles including the winning tile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hand: Vec<Kind>,
    /// The winner's melds, including concealed kongs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub melds: Vec<MeldView>,
    /// The observer's claim of the winning tile; absent unless another seat's claim overrode it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overridden: Option<Overridden>,
}

pub(super) fn some(value: u8) -> Option<u8> {
    (value != NONE).then_some(value)
}

fn kinds(tiles: impl IntoIterator<Item = Tile>) -> Vec<Kind> {
    tiles.into_iter().map(Kind).collect()
}

/// Returns the flowers of a seat.
pub(super) fn flowers(bits: u8) -> Vec<Kind> {
    kinds((KINDS..ALL_KINDS).filter(|t| bits >> (t - KINDS) & 1 == 1).map(|t| t as Tile))
}

impl McrMahjong {
    /// Returns the standing tiles of a seat. During the deal, these are the dealt tiles of its first hand.
    fn standing(&self, s: &State, seat: Seat) -> Vec<Kind> {
        if s.phase != Phase::Deal {
            return kinds(tiles::list(&s.hands[seat]));
        }
        let there = (0..super::state::HAND).map(|k| self.place(seat, k)).filter(|&at| at < usize::from(s.dealt));
        let mut own: Vec<Tile> = there.map(|at| s.wall[at]).collect();
        own.sort_unstable();
        kinds(own)
    }

    fn melds_seen(&self, s: &State, seat: Seat, who: Option<Seat>) -> Vec<MeldView> {
        let meld = |l: super::state::TableMeld| {
            let known = l.meld.kind != MeldKind::Angang || who == Some(seat);
            MeldView {
                kind: l.meld.kind,
                tiles: if known { kinds(l.meld.tiles()) } else { Vec::new() },
                from: some(l.from),
                claimed: s.taken_for(l).map(Kind),
            }
        };
        s.melds(seat).map(meld).collect()
    }

    fn discards_seen(&self, s: &State) -> Vec<Discard> {
        let mut all: Vec<Discard> = (s.discards_before + 1..)
            .zip(s.discards())
            .map(|(number, (seat, tile))| Discard { number, seat, tile: Kind(tile), claimed_by: None })
            .collect();
        for p in 0..SEATS {
            for laid in s.melds(p).filter(|l| l.from != NONE) {
                if let Some(discard) = all.get_mut(usize::from(laid.discard)) {
                    discard.claimed_by = Some(p as u8);
                }
            }
        }
        all
    }

    /// Returns the CHI claims of a seat that another seat's claim overrode in this hand.
    fn overridden(&self, s: &State, seat: Seat) -> Vec<Overridden> {
        let all = (0..SEATS).flat_map(|p| s.melds(p));
        let own = all.filter(|l| l.overrode != NONE && usize::from(super::state::next(l.from)) == seat);
        let mut own: Vec<Overridden> = own
            .map(|l| Overridden {
                number: s.discards_before + 1 + u16::from(l.discard),
                claim: super::ids::CHI + Action::from(l.overrode),
            })
            .collect();
        own.sort_by_key(|o| o.number);
        own
    }

    pub(super) fn result(&self, done: &FinishedHand, who: Option<Seat>) -> HandResult {
        let fan = |&(fan, count): &(usize, u8)| (FANS[fan].points, count, FANS[fan].name.to_owned());
        let meld = |m: &super::Meld| MeldView { kind: m.kind, tiles: kinds(m.tiles()), from: None, claimed: None };
        let own = who.and_then(|p| some(done.overridden[p]));
        HandResult {
            outcome: done.outcome,
            winner: some(done.winner),
            from: some(done.from),
            tile: some(done.tile).map(Kind),
            fans: done.fans.iter().map(fan).collect(),
            points: done.points,
            scores: done.scores,
            hand: kinds(tiles::list(&done.hand)),
            melds: done.melds.iter().map(meld).collect(),
            overridden: own.map(|claim| Overridden { number: done.offer, claim: claim.into() }),
        }
    }

    pub(super) fn seen_by(&self, s: &State, who: Viewer) -> View {
        let own = owner(who);
        let deal = s.phase == Phase::Deal;
        let drew = own.filter(|&p| s.phase == Phase::Turn && p == usize::from(s.seat));
        let offer = matches!(s.phase, Phase::Claim | Phase::Kong);
        let held = |p: Seat| {
            if deal { self.standing(s, p).len() as u8 } else { s.hands[p].iter().sum() }
        };
        let walls = if self.common() { 1 } else { SEATS as u8 };
        View {
            seat: own.map(|p| p as u8),
            hand_number: s.hand_number,
            hands: self.params.hands as u8,
            prevalent: some(s.wind),
            phase: s.phase,
            dealt: deal.then_some(s.dealt),
            to_move: self.acting(s).iter().map(|p| p as u8).collect(),
            hand: own.map(|p| self.standing(s, p)).unwrap_or_default(),
            drawn: drew.map(|_| Kind(s.tile)),
            flags: drew.map(|_| SeatFlags {
                replacement: s.replacement,
                last_tile: self.tiles_left(s, super::state::next(s.seat)) == 0,
            }),
            melds: std::array::from_fn(|p| self.melds_seen(s, p, own)),
            flowers: s.flowers.map(flowers),
            discards: self.discards_seen(s),
            offer: offer.then(|| Offer { tile: Kind(s.tile), seat: s.seat, kong: s.phase == Phase::Kong }),
            held: std::array::from_fn(held),
            wall: if deal { Vec::new() } else { (0..walls).map(|p| self.tiles_left(s, p) as u8).collect() },
            overridden: own.map(|p| self.overridden(s, p)).unwrap_or_default(),
            draws: s.draws,
            discards_before: s.discards_before,
            promoted: s.promoted,
            scores: s.scores,
            results: s.done.iter().map(|d| self.result(d, own)).collect(),
        }
    }
}
