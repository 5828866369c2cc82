//! The observation array.

use ludex_env::game::Viewer;
use ludex_env::tensor::stretches;
use ludex_protocol::spec::TensorSpec;

use super::hand::MeldKind;
use super::state::{MOST_TILES, NONE, Phase, SEATS, State, next};
use super::tiles::{COPIES, KINDS};
use super::{McrMahjong, owner};

/// Number of most recent discards that the array encodes one by one.
const RECENT: usize = 8;
const FOUR: usize = SEATS * KINDS;

/// Names and lengths of the array's parts, in order.
const PARTS: [(&str, u32); 19] = [
    ("hand", KINDS as u32),
    ("drawn", KINDS as u32),
    ("chows", FOUR as u32),
    ("pungs", FOUR as u32),
    ("kongs", FOUR as u32),
    ("concealed_kongs", 4),
    ("discards", FOUR as u32),
    ("recent", (RECENT * KINDS) as u32),
    ("recent_seat", (RECENT * SEATS) as u32),
    ("offer", KINDS as u32),
    ("offer_seat", 4),
    ("unseen", KINDS as u32),
    ("wall", 4),
    ("held", 4),
    ("flowers", 4),
    ("seat_wind", 4),
    ("prevalent", 4),
    ("phase", 6),
    ("flags", 2),
];

/// Returns the spec of the observation array.
pub(super) fn spec() -> TensorSpec {
    stretches(&PARTS, MOST_TILES as f64)
}

/// The unwritten rest of an array. Parts are taken from its front.
struct Rest<'a>(&'a mut [u8]);

impl<'a> Rest<'a> {
    fn part(&mut self, length: usize) -> &'a mut [u8] {
        let (part, rest) = std::mem::take(&mut self.0).split_at_mut(length);
        self.0 = rest;
        part
    }
}

impl McrMahjong {
    /// Writes the array of `who`. The public gets the array of seat 0 without a hand.
    pub(super) fn write(&self, s: &State, who: Viewer, out: &mut [u8]) {
        out.fill(0);
        let mut rest = Rest(out);
        let own = owner(who);
        let me = own.unwrap_or(0);
        let around = |k: usize| (me + k) % SEATS;
        let from_me = |p: u8| (usize::from(p) + SEATS - me) % SEATS;
        let deal = s.phase == Phase::Deal;
        let mut seen = [0u8; KINDS];
        let hand = rest.part(KINDS);
        if deal {
            // Flowers have no cell.
            let view = self.seen_by(s, who);
            view.hand.iter().filter(|k| usize::from(k.0) < KINDS).for_each(|k| hand[usize::from(k.0)] += 1);
        } else if let Some(p) = own {
            hand.copy_from_slice(&s.hands[p]);
        }
        seen.iter_mut().zip(&*hand).for_each(|(all, n)| *all += n);
        let drawn = rest.part(KINDS);
        if s.phase == Phase::Turn && own == Some(s.seat.into()) {
            drawn[usize::from(s.tile)] = 1;
        }
        let (chows, pungs, kongs) = (rest.part(FOUR), rest.part(FOUR), rest.part(FOUR));
        let concealed = rest.part(SEATS);
        for (k, concealed) in concealed.iter_mut().enumerate() {
            for laid in s.melds(around(k)) {
                let (meld, at) = (laid.meld, KINDS * k + usize::from(laid.meld.tile));
                let hidden = meld.kind == MeldKind::Angang && own != Some(around(k));
                *concealed += u8::from(meld.kind == MeldKind::Angang);
                if hidden {
                    continue;
                }
                match meld.kind {
                    MeldKind::Chi => chows[at] += 1,
                    MeldKind::Peng => pungs[at] += 1,
                    _ => kongs[at] += 1,
                }
                meld.tiles().into_iter().for_each(|t| seen[usize::from(t)] += 1);
            }
        }
        let discards = rest.part(FOUR);
        let claimed = s.claimed();
        for (k, (seat, tile)) in s.discards().enumerate() {
            discards[KINDS * from_me(seat) + usize::from(tile)] += 1;
            seen[usize::from(tile)] += u8::from(claimed >> k & 1 == 0);
        }
        let (recent, seats) = (rest.part(RECENT * KINDS), rest.part(RECENT * SEATS));
        let all = usize::from(s.discarded);
        for (k, (seat, tile)) in s.discards().enumerate().skip(all.saturating_sub(RECENT)) {
            let back = all - 1 - k;
            recent[KINDS * back + usize::from(tile)] = 1;
            seats[SEATS * back + from_me(seat)] = 1;
        }
        let (offer, offer_seat) = (rest.part(KINDS), rest.part(SEATS));
        if matches!(s.phase, Phase::Claim | Phase::Kong) {
            offer[usize::from(s.tile)] = 1;
            offer_seat[from_me(s.seat)] = 1;
        }
        let unseen = rest.part(KINDS);
        unseen.iter_mut().zip(seen).for_each(|(to, n)| *to = COPIES.saturating_sub(n));
        let (wall, held, flowers) = (rest.part(SEATS), rest.part(SEATS), rest.part(SEATS));
        for k in 0..SEATS {
            if !deal && (k == 0 || !self.common()) {
                wall[k] = self.tiles_left(s, around(k) as u8) as u8;
            }
            held[k] = s.hands[around(k)].iter().sum();
            flowers[k] = s.flowers[around(k)].count_ones() as u8;
        }
        if deal {
            held.copy_from_slice(&std::array::from_fn::<u8, SEATS, _>(|k| self.seen_by(s, who).held[around(k)]));
        }
        let (seat_wind, prevalent) = (rest.part(SEATS), rest.part(SEATS));
        if let Some(p) = own {
            seat_wind[p] = 1;
        }
        if s.wind != NONE {
            prevalent[usize::from(s.wind)] = 1;
        }
        rest.part(6)[s.phase as usize] = 1;
        let flags = rest.part(2);
        if s.phase == Phase::Turn && own == Some(s.seat.into()) {
            flags[0] = u8::from(s.replacement);
            flags[1] = u8::from(self.tiles_left(s, next(s.seat)) == 0);
        }
    }
}
