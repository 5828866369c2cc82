//! Positions, and the effects of draws, discards and claims.

use arrayvec::ArrayVec;
use ludex_env::game::{Action, Seat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fans::Fan;
use super::hand::{Flags, Hand, Meld, MeldKind};
use super::ids::{self, Doing};
use super::score::Score;
use super::shanten::{FORMS, Form};
use super::tiles::{COPIES, Counts, KINDS, Tile, rank, suited};
use super::{Errors, McrMahjong};

/// Number of seats at the table.
pub const SEATS: usize = 4;
/// Number of tiles without flowers.
pub const TILES: usize = 136;
/// Number of tiles with flowers.
pub const MOST_TILES: usize = 144;
/// Number of tiles in a seat's own wall, including the first hand.
pub const OWN_WALL: usize = 34;
/// Number of tiles in a hand.
pub const HAND: usize = 13;
/// Maximum number of discards in a hand: 92 after draws, 16 after claims.
pub const DISCARDS: usize = 108;
/// Marker for an absent seat, tile or number.
pub const NONE: u8 = u8::MAX;

/// The current phase of a hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Chance builds the walls.
    Deal,
    /// A seat has drawn a tile.
    Turn,
    /// The other seats may claim a discard.
    Claim,
    /// The other seats may rob a kong.
    Kong,
    /// A seat has claimed and must discard.
    Discard,
    /// All hands are finished.
    Over,
}

/// The result of a hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Won with a tile from the wall.
    SelfDraw,
    /// Won with a discard.
    Discard,
    /// Won with the tile of a promoted kong.
    Robbed,
    /// No seat has won.
    Drawn,
    /// A seat declared HU without a sufficient hand.
    False,
}

/// A meld on the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableMeld {
    pub meld: Meld,
    /// The seat whose discard was claimed; `NONE` for a concealed kong.
    pub from: u8,
    /// Index of the claimed discard among all discards of the hand.
    pub discard: u8,
    /// The CHI that this claim overrode, as an offset from the first CHI id; `NONE` if the next seat did not claim.
    pub overrode: u8,
}

/// The result of a finished hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedHand {
    pub(super) outcome: Outcome,
    /// The winner, or the seat that declared a false HU.
    pub(super) winner: u8,
    /// The seat that supplied the winning tile.
    pub(super) from: u8,
    pub(super) tile: Tile,
    /// The winner's standing tiles including the winning tile.
    pub(super) hand: Counts,
    pub(super) melds: ArrayVec<Meld, 4>,
    pub(super) fans: Vec<(Fan, u8)>,
    pub(super) points: u32,
    pub(super) scores: [i16; SEATS],
    /// Overridden claims on the last offer, by seat; `NONE` for a seat without an overridden claim.
    pub(super) overridden: [u8; SEATS],
    /// The number of the last offer.
    pub(super) offer: u16,
}

/// A position of the match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub(super) phase: Phase,
    /// Index of the current hand, from 0.
    pub(super) hand_number: u8,
    /// The prevalent wind; `NONE` before it is drawn.
    pub(super) wind: u8,
    /// Number of wall tiles drawn by chance.
    pub(super) dealt: u8,
    /// The seat that last drew, claimed, discarded or promoted.
    pub(super) seat: u8,
    /// The tile last drawn, discarded or added to a pung.
    pub(super) tile: Tile,
    /// True if the current tile is a replacement for a kong.
    pub(super) replacement: bool,
    /// Number of draws in the last move.
    pub(super) fresh_draws: u8,
    /// True if the first draw of the last move came from the back of a common wall.
    pub(super) fresh_back: bool,
    pub(super) fresh_kong: bool,
    pub(super) fresh_deal: bool,
    /// Number of tiles taken from the wall of each seat. With a common wall, the first two entries are the numbers
    /// taken from the front and from the back.
    pub(super) taken: [u8; SEATS],
    /// Exposed flowers, one bit each.
    pub(super) flowers: [u8; SEATS],
    pub(super) laid: [u8; SEATS],
    pub(super) discarded: u8,
    /// Number of draws in the match.
    pub(super) draws: u16,
    pub(super) discards_before: u16,
    pub(super) promoted: u16,
    pub(super) scores: [i16; SEATS],
    pub(super) hands: [Counts; SEATS],
    /// Discards in order, each encoded as its tile plus 64 times the seat.
    pub(super) discards: [u8; DISCARDS],
    /// Wall tiles in the order in which chance drew them.
    pub(super) wall: [Tile; MOST_TILES],
    melds: [[Packed; 4]; SEATS],
    pub(super) done: Vec<FinishedHand>,
}

/// A [`TableMeld`] in three bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    /// The type, the source seat (4 for none), and the overridden CHI (3 for none).
    what: u8,
    tile: Tile,
    discard: u8,
}

const KIND_OF: [MeldKind; 5] = [MeldKind::Chi, MeldKind::Peng, MeldKind::Gang, MeldKind::Bugang, MeldKind::Angang];

impl Packed {
    const NOTHING: Packed = Packed { what: 0, tile: 0, discard: 0 };

    fn of(laid: TableMeld) -> Packed {
        let kind = KIND_OF.iter().position(|&k| k == laid.meld.kind).unwrap_or(0) as u8;
        let what = kind + 5 * laid.from.min(4) + 25 * laid.overrode.min(3);
        Packed { what, tile: laid.meld.tile, discard: laid.discard }
    }

    fn laid(self) -> TableMeld {
        let (kind, from, overrode) = (self.what % 5, self.what / 5 % 5, self.what / 25);
        TableMeld {
            meld: Meld { kind: KIND_OF[usize::from(kind)], tile: self.tile },
            from: if from < 4 { from } else { NONE },
            discard: self.discard,
            overrode: if overrode < 3 { overrode } else { NONE },
        }
    }
}

/// Returns the seat after `seat`.
pub(super) const fn next(seat: u8) -> u8 {
    (seat + 1) % SEATS as u8
}

/// Returns the three other seats in turn order, starting after `seat`.
pub(super) fn others(seat: u8) -> [Seat; SEATS - 1] {
    [1, 2, 3].map(|k| (usize::from(seat) + k) % SEATS)
}

impl State {
    pub(super) fn new() -> State {
        State {
            phase: Phase::Deal,
            hand_number: 0,
            wind: NONE,
            dealt: 0,
            seat: 0,
            tile: NONE,
            replacement: false,
            fresh_draws: 0,
            fresh_back: false,
            fresh_kong: false,
            fresh_deal: false,
            taken: [0; SEATS],
            flowers: [0; SEATS],
            laid: [0; SEATS],
            discarded: 0,
            draws: 0,
            discards_before: 0,
            promoted: 0,
            scores: [0; SEATS],
            hands: [[0; KINDS]; SEATS],
            discards: [0; DISCARDS],
            wall: [NONE; MOST_TILES],
            melds: [[Packed::NOTHING; 4]; SEATS],
            done: Vec::new(),
        }
    }

    /// Resets the state for the next hand.
    fn again(&mut self) {
        let kept = (self.hand_number + 1, self.draws, self.discards_before + u16::from(self.discarded), self.promoted);
        let (scores, done) = (self.scores, std::mem::take(&mut self.done));
        *self = State::new();
        (self.hand_number, self.draws, self.discards_before, self.promoted) = kept;
        (self.scores, self.done) = (scores, done);
    }

    pub(super) fn melds(&self, seat: Seat) -> impl Iterator<Item = TableMeld> + '_ {
        self.melds[seat][..usize::from(self.laid[seat])].iter().map(|m| m.laid())
    }

    pub(super) fn lay(&mut self, seat: Seat, laid: TableMeld) {
        if let Some(place) = self.melds[seat].get_mut(usize::from(self.laid[seat])) {
            *place = Packed::of(laid);
            self.laid[seat] += 1;
        }
    }

    /// Iterates over the discards in order: seat and tile.
    pub(super) fn discards(&self) -> impl Iterator<Item = (u8, Tile)> + '_ {
        self.discards[..usize::from(self.discarded)].iter().map(|&d| (d >> 6, d & 63))
    }

    /// Returns the discard that a meld claimed; `None` for a concealed kong.
    pub(super) fn taken_for(&self, laid: TableMeld) -> Option<Tile> {
        self.discards().nth(laid.discard.into()).map(|d| d.1).filter(|_| laid.from != NONE)
    }

    /// Returns the indexes of the claimed discards as bits.
    pub(super) fn claimed(&self) -> u128 {
        (0..SEATS).flat_map(|p| self.melds(p)).filter(|l| l.from != NONE).fold(0, |all, l| all | 1 << (l.discard & 127))
    }

    /// Counts the visible tiles of a kind in unclaimed discards and open melds.
    pub(super) fn open(&self, tile: Tile) -> u8 {
        let claimed = self.claimed();
        let mut n = 0;
        for (k, (_, t)) in self.discards().enumerate() {
            n += u8::from(t == tile && claimed >> k & 1 == 0);
        }
        for laid in (0..SEATS).flat_map(|p| self.melds(p)).filter(|l| l.meld.kind != MeldKind::Angang) {
            n += laid.meld.copies(tile);
        }
        n
    }

    /// Removes `n` tiles of one kind from a hand.
    fn remove(&mut self, seat: Seat, tile: Tile, n: u8) {
        if let Some(held) = self.hands[seat].get_mut(usize::from(tile)) {
            *held = held.saturating_sub(n);
        }
    }

    /// Returns the number of the current offer, or of the last offer if no tile is on offer.
    pub(super) fn offer(&self) -> u16 {
        if self.phase == Phase::Kong { self.promoted } else { self.discards_before + u16::from(self.discarded) }
    }
}

impl McrMahjong {
    /// Returns the number of tiles in all walls.
    pub(super) fn tiles(&self) -> usize {
        if self.params.flowers { MOST_TILES } else { TILES }
    }

    /// Returns the number of tiles left in the wall from which `seat` draws.
    pub(super) fn tiles_left(&self, s: &State, seat: u8) -> usize {
        if self.common() {
            let taken = usize::from(s.taken[0]) + usize::from(s.taken[1]);
            self.tiles().saturating_sub(taken)
        } else {
            OWN_WALL.saturating_sub(s.taken[usize::from(seat)].into())
        }
    }

    /// Returns the wall index of tile `k` of a seat's first hand.
    pub(super) fn place(&self, seat: Seat, k: usize) -> usize {
        if self.common() { HAND * seat + k } else { OWN_WALL * seat + OWN_WALL - 1 - k }
    }

    /// Returns the seat whose first hand contains the tile at wall index `at`.
    pub(super) fn owner(&self, at: usize) -> Option<Seat> {
        let (seat, k) = if self.common() {
            (at / HAND, at % HAND)
        } else {
            (at / OWN_WALL, (OWN_WALL - 1).wrapping_sub(at % OWN_WALL))
        };
        (seat < SEATS && k < HAND).then_some(seat)
    }

    /// Takes the next tile from the wall of `seat`. In a common wall, `back` takes a replacement from the back.
    fn take(&self, s: &mut State, seat: u8, back: bool) -> Option<Tile> {
        let left = self.tiles_left(s, seat);
        if left == 0 {
            return None;
        }
        let at = match (self.common(), back) {
            (true, false) => usize::from(s.taken[0]),
            (true, true) => self.tiles() - 1 - usize::from(s.taken[1]),
            (false, _) => OWN_WALL * usize::from(seat) + left - 1,
        };
        s.taken[if self.common() { usize::from(back) } else { usize::from(seat) }] += 1;
        s.wall.get(at).copied()
    }

    /// Applies a chance outcome: a tile of the walls, or the prevalent wind.
    pub(super) fn deal(&self, s: &mut State, a: Action) {
        (s.fresh_draws, s.fresh_kong, s.fresh_deal) = (0, false, false);
        if usize::from(s.dealt) < self.tiles() {
            s.wall[usize::from(s.dealt)] = (a as usize % self.kinds()) as Tile;
            s.dealt += 1;
            if usize::from(s.dealt) == self.tiles() && self.fixed_wind(s.hand_number).is_some() {
                self.begin(s);
            }
        } else {
            s.wind = (a % SEATS as Action) as u8;
            self.begin(s);
        }
    }

    /// Deals the first hands, replaces flowers, and draws for seat 0.
    pub(super) fn begin(&self, s: &mut State) {
        if let Some(wind) = self.fixed_wind(s.hand_number) {
            s.wind = wind;
        }
        s.taken = if self.common() { [(HAND * SEATS) as u8, 0, 0, 0] } else { [HAND as u8; SEATS] };
        for seat in 0..SEATS {
            for k in 0..HAND {
                let mut tile = s.wall[self.place(seat, k)];
                while usize::from(tile) >= KINDS {
                    s.flowers[seat] |= 1 << ((usize::from(tile) - KINDS) & 7);
                    tile = self.take(s, seat as u8, true).unwrap_or(0);
                }
                s.hands[seat][usize::from(tile)] += 1;
            }
        }
        s.fresh_deal = true;
        self.draw(s, 0, false);
    }

    /// Draws a tile for `seat`; ends the hand if the wall is empty.
    fn draw(&self, s: &mut State, seat: u8, for_kong: bool) {
        (s.seat, s.replacement, s.fresh_draws, s.fresh_back) = (seat, for_kong, 0, for_kong);
        let mut back = for_kong;
        loop {
            let Some(tile) = self.take(s, seat, back) else {
                return self.end(s, Outcome::Drawn, NONE, NONE, None);
            };
            s.draws = s.draws.wrapping_add(1);
            s.fresh_draws = s.fresh_draws.saturating_add(1);
            s.tile = tile;
            if usize::from(tile) < KINDS {
                break;
            }
            s.flowers[usize::from(seat)] |= 1 << ((usize::from(tile) - KINDS) & 7);
            (back, s.replacement) = (true, false);
        }
        s.hands[usize::from(seat)][usize::from(s.tile)] += 1;
        s.phase = Phase::Turn;
    }

    /// Returns true if `seat` could draw a replacement after a kong.
    pub(super) fn may_kong(&self, s: &State, seat: u8) -> bool {
        self.tiles_left(s, seat) > 0 && self.tiles_left(s, next(seat)) > 0
    }

    /// Returns the circumstances of a win by `seat` with the current tile.
    pub(super) fn flags(&self, s: &State, seat: Seat) -> Flags {
        let drawn = s.phase == Phase::Turn;
        // `open` counts an offered discard, which is the winning tile itself, so it is subtracted.
        let on_offer = u8::from(s.phase == Phase::Claim);
        let robbed = s.phase == Phase::Kong;
        Flags {
            self_drawn: drawn,
            fourth_tile: !robbed && s.open(s.tile) - on_offer.min(s.open(s.tile)) == COPIES - 1,
            about_kong: if drawn { s.replacement } else { robbed },
            wall_last: self.tiles_left(s, next(s.seat)) == 0,
            seat_wind: seat as u8,
            prevalent_wind: s.wind % SEATS as u8,
            flowers: s.flowers[seat].count_ones() as u8,
        }
    }

    /// Returns the score of HU by `seat` with the current tile; `None` if the hand does not win.
    pub(super) fn worth(&self, s: &State, seat: Seat) -> Option<Score> {
        let (mut standing, tile) = (s.hands[seat], usize::from(s.tile));
        if tile >= KINDS {
            return None;
        }
        if s.phase == Phase::Turn {
            standing[tile] = standing[tile].saturating_sub(1);
        }
        let melds: ArrayVec<Meld, 4> = s.melds(seat).map(|l| l.meld).collect();
        let mut complete = standing;
        complete[tile] += 1;
        if !wins(&complete, melds.len()) {
            return None;
        }
        let mut hand = Hand::new(&melds, standing, s.tile, self.flags(s, seat));
        hand.correct();
        hand.score(self.params.edition)
    }

    /// Returns the score of HU by `seat` with the current tile; `None` if it is below the minimum.
    pub(super) fn enough(&self, s: &State, seat: Seat) -> Option<Score> {
        self.worth(s, seat).filter(|score| score.points >= self.params.minimum)
    }

    /// Returns true if `seat` may declare HU.
    pub(super) fn may_hu(&self, s: &State, seat: Seat) -> bool {
        self.params.errors == Errors::Botzone || self.enough(s, seat).is_some()
    }

    /// Returns true if `seat` may claim a chow in which the offered tile is tile `place` (0 to 2, lowest first).
    pub(super) fn may_chi(&self, s: &State, seat: Seat, place: u8) -> bool {
        let tile = s.tile;
        if seat != usize::from(next(s.seat)) || !suited(tile) {
            return false;
        }
        let (rank, place) = (rank(tile), usize::from(place));
        if rank < place || rank + 2 - place > 8 {
            return false;
        }
        let low = usize::from(tile) - place;
        (low..low + 3).all(|t| t == usize::from(tile) || s.hands[seat][t] > 0)
    }

    /// Returns true if the next seat could draw, which CHI, PENG and GANG require.
    pub(super) fn claimable(&self, s: &State) -> bool {
        self.tiles_left(s, next(s.seat)) > 0
    }

    /// Applies a move of the seat that has drawn or claimed.
    pub(super) fn act(&self, s: &mut State, a: Action) {
        (s.fresh_draws, s.fresh_kong, s.fresh_deal) = (0, false, false);
        let (seat, by) = (usize::from(s.seat), s.seat);
        match ids::reading(a) {
            Doing::Play(tile) => {
                s.remove(seat, tile, 1);
                if let Some(place) = s.discards.get_mut(usize::from(s.discarded)) {
                    *place = tile | by << 6;
                    s.discarded += 1;
                }
                (s.tile, s.phase) = (tile, Phase::Claim);
            }
            Doing::Gang(tile) if s.phase == Phase::Turn => {
                s.remove(seat, tile, COPIES);
                let meld = Meld { kind: MeldKind::Angang, tile };
                s.lay(seat, TableMeld { meld, from: NONE, discard: NONE, overrode: NONE });
                self.draw(s, by, true);
            }
            Doing::Bugang(tile) => {
                s.remove(seat, tile, 1);
                let all = &mut s.melds[seat][..usize::from(s.laid[seat])];
                let same = |m: &&mut Packed| m.laid().meld == Meld { kind: MeldKind::Peng, tile };
                if let Some(place) = all.iter_mut().find(same) {
                    let old = place.laid();
                    *place = Packed::of(TableMeld { meld: Meld { kind: MeldKind::Bugang, tile }, ..old });
                }
                s.promoted = s.promoted.wrapping_add(1);
                (s.tile, s.phase) = (tile, Phase::Kong);
            }
            Doing::Hu => match self.enough(s, seat) {
                Some(score) => self.end(s, Outcome::SelfDraw, by, NONE, Some(&score)),
                None => self.end(s, Outcome::False, by, NONE, None),
            },
            // Unreachable by legal moves; ends the match instead of blocking it.
            _ => s.phase = Phase::Over,
        }
    }

    /// Applies the replies of the three other seats to an offer: a discard or a promoted kong.
    pub(super) fn answer(&self, s: &mut State, joint: &[Action]) {
        (s.fresh_draws, s.fresh_kong, s.fresh_deal) = (0, false, false);
        let answer = |p: Seat| ids::reading(joint.get(p).copied().unwrap_or(0));
        let order = others(s.seat);
        if let Some(p) = order.into_iter().find(|&p| answer(p) == Doing::Hu) {
            let robbed = s.phase == Phase::Kong;
            let score = self.enough(s, p);
            let outcome = match score {
                None => Outcome::False,
                Some(_) if robbed => Outcome::Robbed,
                Some(_) => Outcome::Discard,
            };
            let (from, offer) = (s.seat, s.offer());
            let mut overridden = [NONE; SEATS];
            for q in order.into_iter().filter(|&q| q != p && answer(q) != Doing::Pass) {
                overridden[q] = joint.get(q).copied().unwrap_or(0) as u8;
            }
            self.end(s, outcome, p as u8, from, score.as_ref());
            if let Some(done) = s.done.last_mut() {
                (done.overridden, done.offer) = (overridden, offer);
            }
            return;
        }
        if s.phase == Phase::Kong {
            return self.draw(s, s.seat, true);
        }
        let (tile, from) = (s.tile, s.seat);
        let claim = |meld: Meld| TableMeld { meld, from, discard: s.discarded.wrapping_sub(1), overrode: NONE };
        let takes = |p: &Seat| matches!(answer(*p), Doing::Gang(_) | Doing::Peng);
        if let Some(p) = order.into_iter().find(takes) {
            let kong = answer(p) != Doing::Peng;
            let kind = if kong { MeldKind::Gang } else { MeldKind::Peng };
            let after = usize::from(next(from));
            let overrode = match answer(after) {
                Doing::Chi(place) if after != p => place,
                _ => NONE,
            };
            let laid = TableMeld { overrode, ..claim(Meld { kind, tile }) };
            s.remove(p, tile, if kong { 3 } else { 2 });
            s.lay(p, laid);
            s.seat = p as u8;
            if kong {
                s.fresh_kong = true;
                self.draw(s, p as u8, true);
            } else {
                s.phase = Phase::Discard;
            }
        } else if let Some((p, place)) = order.into_iter().find_map(|p| match answer(p) {
            Doing::Chi(place) => Some((p, place)),
            _ => None,
        }) {
            // The discard's position in the chow determines the middle tile.
            let middle = (tile + 1).saturating_sub(place);
            let laid = claim(Meld { kind: MeldKind::Chi, tile: middle });
            laid.meld.tiles().into_iter().filter(|&t| t != tile).for_each(|t| s.remove(p, t, 1));
            s.lay(p, laid);
            (s.seat, s.phase) = (p as u8, Phase::Discard);
        } else {
            self.draw(s, next(from), false);
        }
    }

    /// Scores the hand, and starts the next hand if any are left.
    fn end(&self, s: &mut State, outcome: Outcome, winner: u8, from: u8, score: Option<&Score>) {
        let mut scores = [0i16; SEATS];
        let points = score.map_or(0, Score::total);
        for (p, to) in scores.iter_mut().enumerate() {
            let (won, points) = (p == usize::from(winner), points as i16);
            *to = match outcome {
                Outcome::Drawn => 0,
                Outcome::False if won => -30,
                Outcome::False => 10,
                Outcome::SelfDraw if won => 3 * (8 + points),
                Outcome::SelfDraw => -(8 + points),
                _ if won => 24 + points,
                _ if p == usize::from(from) => -(8 + points),
                _ => -8,
            };
            s.scores[p] = s.scores[p].saturating_add(*to);
        }
        let shown = outcome != Outcome::Drawn && outcome != Outcome::False;
        let mut hand = [0; KINDS];
        let mut melds = ArrayVec::new();
        if shown {
            hand = s.hands[usize::from(winner)];
            if outcome != Outcome::SelfDraw {
                hand[usize::from(s.tile)] += 1;
            }
            melds = s.melds(winner.into()).map(|l| l.meld).collect();
        }
        s.done.push(FinishedHand {
            outcome,
            winner,
            from,
            tile: if shown { s.tile } else { NONE },
            hand,
            melds,
            fans: score.map(|score| score.numbers().collect()).unwrap_or_default(),
            points,
            scores,
            overridden: [NONE; SEATS],
            offer: 0,
        });
        if u32::from(s.hand_number) + 1 < self.params.hands {
            s.again();
        } else {
            s.phase = Phase::Over;
        }
    }
}

/// Returns true if the tiles are a complete winning hand of any form.
fn wins(tiles: &Counts, melds: usize) -> bool {
    FORMS.into_iter().any(|form| form.open_to(melds) && likely(tiles, form) && form.distance(tiles, melds) == 0)
}

/// Returns true if the tiles meet a necessary condition for a form, which is faster to check than the form.
fn likely(tiles: &Counts, form: Form) -> bool {
    match form {
        Form::KnittedStraight => tiles.iter().filter(|n| **n > 0).count() >= 10,
        _ => true,
    }
}
