//! Sampled positions consistent with a view; unseen tiles are placed at random.

use arrayvec::ArrayVec;
use ludex_env::draw::Stream;

use super::McrMahjong;
use super::fans::FANS;
use super::hand::{Meld, MeldKind};
use super::ids;
use super::state::{FinishedHand, HAND, NONE, Outcome, Phase, SEATS, State, TableMeld, next};
use super::tiles::{ALL_KINDS, COPIES, KINDS, Tile, counts};
use super::view::{HandResult, MeldView, View};

fn seat(p: Option<u8>) -> u8 {
    p.map_or(NONE, |p| p % SEATS as u8)
}

/// Converts a meld of a view; `None` for a concealed kong that the viewer does not see.
fn meld(view: &MeldView) -> Option<Meld> {
    let place = usize::from(view.kind == MeldKind::Chi);
    let tile = view.tiles.get(place)?.0;
    let fits = usize::from(tile) < KINDS && (view.kind != MeldKind::Chi || super::tiles::chow_middle(tile));
    fits.then_some(Meld { kind: view.kind, tile })
}

fn finished_hand(result: &HandResult, own: Option<u8>) -> FinishedHand {
    let fan = |(_, count, name): &(u32, u8, String)| Some((FANS.iter().position(|row| row.name == name)?, *count));
    let mut overridden = [NONE; SEATS];
    if let (Some(p), Some(o)) = (own, &result.overridden) {
        overridden[usize::from(p) % SEATS] = (o.claim % ids::ACTIONS) as u8;
    }
    FinishedHand {
        outcome: result.outcome,
        winner: result.winner.map_or(NONE, |p| p % SEATS as u8),
        from: seat(result.from),
        tile: result.tile.map_or(NONE, |t| t.0),
        hand: counts(result.hand.iter().map(|k| k.0)),
        melds: result.melds.iter().filter_map(meld).take(4).collect(),
        fans: result.fans.iter().filter_map(fan).collect(),
        points: result.points,
        scores: result.scores,
        overridden,
        offer: match result.outcome {
            Outcome::Discard | Outcome::Robbed | Outcome::False => result.overridden.as_ref().map_or(0, |o| o.number),
            _ => 0,
        },
    }
}

struct Pool {
    left: [u8; ALL_KINDS],
}

impl Pool {
    fn take(&mut self, tile: Tile) {
        if let Some(n) = self.left.get_mut(usize::from(tile)) {
            *n = n.saturating_sub(1);
        }
    }

    /// Returns all unseen tiles in random order.
    fn shuffled(&self, rng: &mut Stream) -> Vec<Tile> {
        let mut all: Vec<Tile> =
            (0..).zip(self.left).flat_map(|(t, n): (Tile, u8)| std::iter::repeat_n(t, n.into())).collect();
        rng.shuffle(&mut all);
        all
    }
}

impl McrMahjong {
    pub(super) fn world_of(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = State::new();
        s.hand_number = view.hand_number.min(self.params.hands as u8 - 1);
        s.wind = seat(view.prevalent);
        s.phase = view.phase;
        (s.draws, s.discards_before, s.promoted) = (view.draws, view.discards_before.min(8_000), view.promoted);
        s.scores = view.scores;
        s.done = view.results.iter().map(|r| finished_hand(r, view.seat)).collect();
        let mut pool = Pool { left: [0; ALL_KINDS] };
        pool.left[..KINDS].fill(COPIES);
        if self.params.flowers {
            pool.left[KINDS..].fill(1);
        }
        if s.phase == Phase::Deal {
            self.deal_again(view, &mut s, &mut pool, rng);
        } else {
            self.lay_again(view, &mut s, &mut pool, rng);
        }
        s
    }

    /// Samples a position during the deal. The observer's tiles stay in the first hand, in random order.
    fn deal_again(&self, view: &View, s: &mut State, pool: &mut Pool, rng: &mut Stream) {
        s.dealt = view.dealt.unwrap_or(0).min(self.tiles() as u8);
        let mut own: Vec<Tile> = view.hand.iter().map(|k| k.0).collect();
        own.iter().for_each(|&t| pool.take(t));
        rng.shuffle(&mut own);
        let mut unseen = pool.shuffled(rng);
        let me = view.seat.map(usize::from);
        for at in 0..usize::from(s.dealt) {
            let mine = self.owner(at).is_some() && self.owner(at) == me;
            let tile = if mine { own.pop() } else { None };
            s.wall[at] = tile.or_else(|| unseen.pop()).unwrap_or(0);
        }
        if self.fixed_wind(s.hand_number).is_some() {
            s.wind = NONE;
            // If no wind is drawn, the last tile ends the deal, so it cannot be dealt yet.
            s.dealt = s.dealt.min(self.tiles() as u8 - 1);
        }
    }

    /// Samples a position during play.
    fn lay_again(&self, view: &View, s: &mut State, pool: &mut Pool, rng: &mut Stream) {
        for (p, list) in view.flowers.iter().enumerate() {
            for kind in list.iter().filter(|k| usize::from(k.0) >= KINDS) {
                s.flowers[p] |= 1 << ((usize::from(kind.0) - KINDS) & 7);
                pool.take(kind.0);
            }
        }
        for discard in view.discards.iter().take(super::state::DISCARDS) {
            let tile = discard.tile.0.min(KINDS as Tile - 1);
            s.discards[usize::from(s.discarded)] = tile | (discard.seat % SEATS as u8) << 6;
            s.discarded += 1;
            if discard.claimed_by.is_none() {
                pool.take(tile);
            }
        }
        let mut hidden: ArrayVec<(usize, usize), 16> = ArrayVec::new();
        let mut laid: [ArrayVec<TableMeld, 4>; SEATS] = Default::default();
        for (p, melds) in view.melds.iter().enumerate() {
            // A seat's claims are in the order of the claimed discards.
            let mut claimed = (0u8..).zip(&view.discards).filter(|(_, d)| d.claimed_by == Some(p as u8));
            for (k, seen) in melds.iter().take(4).enumerate() {
                let known = meld(seen);
                if known.is_none() && hidden.try_push((p, k)).is_err() {
                    continue;
                }
                let from = seat(seen.from);
                let discard = if from == NONE { NONE } else { claimed.next().map_or(NONE, |(at, _)| at) };
                let number = view.discards.get(usize::from(discard)).map(|d| d.number);
                let own = view.overridden.iter().find(|o| Some(o.number) == number);
                let next_is_own = from != NONE && Some(next(from)) == view.seat;
                let overrode =
                    own.filter(|_| next_is_own).map_or(NONE, |o| o.claim.wrapping_sub(ids::CHI).min(2) as u8);
                let meld = known.unwrap_or(Meld { kind: MeldKind::Angang, tile: 0 });
                if known.is_some() {
                    meld.tiles().into_iter().for_each(|t| pool.take(t));
                }
                laid[p].push(TableMeld { meld, from, discard, overrode });
            }
        }
        let me = view.seat.map(|p| usize::from(p) % SEATS);
        let own = counts(view.hand.iter().map(|k| k.0));
        view.hand.iter().for_each(|k| pool.take(k.0));
        self.hide_kongs(&hidden, &mut laid, pool, rng);
        for (p, list) in laid.into_iter().enumerate() {
            list.into_iter().for_each(|l| s.lay(p, l));
        }
        turn_again(view, s);
        let mut unseen = pool.shuffled(rng);
        for p in 0..SEATS {
            if Some(p) == me {
                s.hands[p] = own;
                continue;
            }
            let drew = s.phase == Phase::Turn && p == usize::from(s.seat);
            for k in 0..view.held[p].min(HAND as u8 + 1) {
                // Flowers are never part of a hand.
                let at = unseen.iter().rposition(|&t| usize::from(t) < KINDS);
                let Some(tile) = at.map(|at| unseen.remove(at)) else { break };
                s.hands[p][usize::from(tile)] += 1;
                if drew && k == 0 {
                    s.tile = tile;
                }
            }
        }
        self.wall_again(view, s, &mut unseen);
    }

    /// Assigns a kind without visible tiles to each hidden kong.
    fn hide_kongs(
        &self,
        hidden: &[(usize, usize)],
        laid: &mut [ArrayVec<TableMeld, 4>; SEATS],
        pool: &mut Pool,
        rng: &mut Stream,
    ) {
        for &(p, k) in hidden {
            let free: Vec<usize> = (0..KINDS).filter(|&t| pool.left[t] == COPIES).collect();
            let Some(&tile) = free.get(rng.below(free.len())) else { continue };
            pool.left[tile] = 0;
            if let Some(l) = laid[p].get_mut(k) {
                l.meld.tile = tile as Tile;
            }
        }
    }

    /// Fills the walls. Tiles that are still to be drawn are random. Drawn tiles are left at 0, because they no longer
    /// matter.
    fn wall_again(&self, view: &View, s: &mut State, unseen: &mut Vec<Tile>) {
        s.dealt = self.tiles() as u8;
        s.wall[..self.tiles()].fill(0);
        let left = |k: usize| usize::from(view.wall.get(k).copied().unwrap_or(0));
        if self.common() {
            let left = left(0).min(self.tiles() - HAND * SEATS);
            s.taken[0] = (self.tiles() - left) as u8;
            for at in usize::from(s.taken[0])..self.tiles() {
                s.wall[at] = unseen.pop().unwrap_or(0);
            }
        } else {
            for p in 0..SEATS {
                let left = left(p).min(super::state::OWN_WALL - HAND);
                s.taken[p] = (super::state::OWN_WALL - left) as u8;
                let first = super::state::OWN_WALL * p;
                s.wall[first..first + left].iter_mut().for_each(|t| *t = unseen.pop().unwrap_or(0));
            }
        }
    }
}

/// Restores the seat to move and the current tile.
fn turn_again(view: &View, s: &mut State) {
    let mover = view.to_move.first().map_or(0, |&p| p % SEATS as u8);
    s.seat = mover;
    match (&view.offer, s.phase) {
        (Some(offer), Phase::Claim | Phase::Kong) => {
            (s.seat, s.tile) = (offer.seat % SEATS as u8, offer.tile.0.min(KINDS as Tile - 1));
        }
        (None, Phase::Claim | Phase::Kong) => s.tile = 0,
        (_, Phase::Turn) => {
            s.tile = view.drawn.map_or(0, |t| t.0.min(KINDS as Tile - 1));
            s.replacement = view.flags.is_some_and(|f| f.replacement);
        }
        _ => s.tile = 0,
    }
}
