//! Numeric representation of a seat's view of Hanabi, and inferences from it.

use ludex_env::{Action, Seat};
use ludex_games::hanabi::{Params, View};

/// Set of card kinds as a bit mask; a kind is `color * ranks + rank`, with color and rank counted from 0.
pub(super) type KindSet = u32;

const LETTERS: &str = "RYGWB";

/// Game parameters that the bots use.
#[derive(Clone, Copy, Debug)]
pub(super) struct HanabiRules {
    pub n: usize,
    /// Number of cards in a full hand.
    pub hand: usize,
    pub colors: usize,
    pub ranks: usize,
    pub tokens: u8,
}

/// Color or rank that a hint names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HintTarget {
    Color(usize),
    Rank(usize),
}

/// Action of a bot. Hints contain the seat of the receiver, not its distance as in action ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BotAction {
    Discard(usize),
    Play(usize),
    Hint(Seat, HintTarget),
}

impl HanabiRules {
    pub fn new(params: &Params) -> Self {
        let n = params.players as usize;
        HanabiRules {
            n,
            hand: params.hand_size.map_or(if n < 4 { 5 } else { 4 }, |h| h as usize),
            colors: params.colors as usize,
            ranks: params.ranks as usize,
            tokens: params.max_information_tokens as u8,
        }
    }

    pub fn kinds(&self) -> usize {
        self.colors * self.ranks
    }

    /// Returns the number of cards of this kind in the deck.
    pub fn copies(&self, kind: usize) -> u8 {
        match kind % self.ranks {
            0 => 3,
            r if r + 1 == self.ranks => 1,
            _ => 2,
        }
    }

    /// Returns the number of cards in a full deck.
    pub fn cards(&self) -> usize {
        (0..self.kinds()).map(|k| usize::from(self.copies(k))).sum()
    }

    /// Returns the kinds of the given color or rank.
    pub fn having(&self, named: HintTarget) -> KindSet {
        let has = |k: usize| match named {
            HintTarget::Color(c) => k / self.ranks == c,
            HintTarget::Rank(r) => k % self.ranks == r,
        };
        (0..self.kinds()).filter(|&k| has(k)).fold(0, |set, k| set | 1 << k)
    }

    /// Returns all colors and ranks that a hint can name.
    pub fn names(&self) -> impl Iterator<Item = HintTarget> + use<> {
        (0..self.colors).map(HintTarget::Color).chain((0..self.ranks).map(HintTarget::Rank))
    }

    pub fn id(&self, me: Seat, act: BotAction) -> Action {
        let id = match act {
            BotAction::Discard(slot) => slot,
            BotAction::Play(slot) => self.hand + slot,
            BotAction::Hint(to, named) => {
                let before = (to + self.n - me) % self.n - 1;
                match named {
                    HintTarget::Color(c) => 2 * self.hand + before * self.colors + c,
                    HintTarget::Rank(r) => 2 * self.hand + (self.n - 1) * self.colors + before * self.ranks + r,
                }
            }
        };
        id as Action
    }

    /// Returns the action of seat `me` with this id; `None` for an unknown id.
    pub fn act(&self, me: Seat, id: usize) -> Option<BotAction> {
        let colors = (self.n - 1) * self.colors;
        let to = |before: usize| (me + 1 + before) % self.n;
        let hints = id.checked_sub(2 * self.hand);
        match hints {
            None if id < self.hand => Some(BotAction::Discard(id)),
            None => Some(BotAction::Play(id - self.hand)),
            Some(k) if k < colors => Some(BotAction::Hint(to(k / self.colors), HintTarget::Color(k % self.colors))),
            Some(k) if k < colors + (self.n - 1) * self.ranks => {
                let k = k - colors;
                Some(BotAction::Hint(to(k / self.ranks), HintTarget::Rank(k % self.ranks)))
            }
            Some(_) => None,
        }
    }

    /// Parses a card kind such as `R1`.
    pub fn kind(&self, text: &str) -> Option<usize> {
        let mut chars = text.chars();
        let color = chars.next().and_then(|c| LETTERS.find(c)).filter(|&c| c < self.colors)?;
        let rank = chars.next().and_then(|r| r.to_digit(10)).filter(|r| (1..=self.ranks as u32).contains(r))?;
        Some(color * self.ranks + rank as usize - 1)
    }
}

/// Fireworks and discards, from which playable, useless and critical kinds follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piles {
    pub fireworks: [u8; 5],
    /// Number of discarded cards of each kind.
    pub gone: [u8; 25],
}

impl Piles {
    pub fn playable(&self, rules: &HanabiRules) -> KindSet {
        let next = |c: usize| usize::from(self.fireworks[c]);
        let open = (0..rules.colors).filter(|&c| next(c) < rules.ranks);
        open.fold(0, |set, c| set | 1 << (c * rules.ranks + next(c)))
    }

    /// Returns the kinds that have already been played or can no longer be played.
    pub fn useless(&self, rules: &HanabiRules) -> KindSet {
        let mut set = 0;
        for c in 0..rules.colors {
            let mut dead = false;
            for r in 0..rules.ranks {
                let k = c * rules.ranks + r;
                let played = r < usize::from(self.fireworks[c]);
                if played || dead {
                    set |= 1 << k;
                }
                dead |= !played && self.gone[k] >= rules.copies(k);
            }
        }
        set
    }

    /// Returns the kinds that are still needed and have only one card left.
    pub fn critical(&self, rules: &HanabiRules) -> KindSet {
        let last = (0..rules.kinds()).filter(|&k| self.gone[k] + 1 == rules.copies(k));
        last.fold(0, |set, k| set | 1 << k) & !self.useless(rules)
    }

    /// Returns the kinds whose cards have all been played or discarded.
    pub fn spent(&self, rules: &HanabiRules) -> KindSet {
        let out = |k: usize| self.gone[k] + u8::from(k % rules.ranks < usize::from(self.fireworks[k / rules.ranks]));
        (0..rules.kinds()).filter(|&k| out(k) >= rules.copies(k)).fold(0, |set, k| set | 1 << k)
    }
}

/// Card in a hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct CardInHand {
    /// Kind of the card; `None` if the viewing seat cannot see the card.
    pub kind: Option<usize>,
    /// Kinds that are possible according to the hints.
    pub hinted: KindSet,
    /// Flags for color and rank: true if a hint has named this property of the card.
    pub named: [bool; 2],
}

/// Game position as one seat knows it.
#[derive(Clone, Debug)]
pub(super) struct HanabiTable {
    pub rules: HanabiRules,
    pub me: Seat,
    pub lives: u8,
    pub information: u8,
    pub deck: u8,
    pub piles: Piles,
    pub hands: Vec<Vec<CardInHand>>,
}

impl HanabiTable {
    pub fn new(rules: HanabiRules, me: Seat, view: &View) -> Self {
        let mut piles = Piles { fireworks: [0; 5], gone: [0; 25] };
        piles.fireworks.iter_mut().zip(&view.fireworks).for_each(|(height, &shown)| *height = shown);
        view.discards.iter().filter_map(|text| rules.kind(text)).for_each(|k| piles.gone[k] += 1);
        let held = |card: &ludex_games::hanabi::Card| {
            let ranks = card.ranks.bytes().fold(0, |set: KindSet, b| set | 1 << (b - b'1').min(4));
            let colors = card.colors.chars().filter_map(|c| LETTERS.find(c)).filter(|&c| c < rules.colors);
            let kind = card.card.as_deref().and_then(|text| rules.kind(text));
            CardInHand {
                kind,
                hinted: colors.fold(0, |set, c| set | ranks << (c * rules.ranks)),
                named: [card.color.is_some(), card.rank.is_some()],
            }
        };
        HanabiTable {
            rules,
            me,
            lives: view.lives,
            information: view.information,
            deck: view.deck,
            piles,
            hands: view.hands.iter().map(|hand| hand.iter().map(held).collect()).collect(),
        }
    }

    /// Returns the other seats in turn order.
    pub fn others(&self) -> impl Iterator<Item = Seat> + use<> {
        let (me, n) = (self.me, self.rules.n);
        (1..n).map(move |k| (me + k) % n)
    }

    /// Returns, for each kind, the number of cards that `seat` does not see. Cards that the viewing seat does not see
    /// count as unseen.
    fn unseen(&self, seat: Seat) -> [u8; 25] {
        let mut left = [0; 25];
        for (k, left) in left.iter_mut().enumerate().take(self.rules.kinds()) {
            let played = k % self.rules.ranks < usize::from(self.piles.fireworks[k / self.rules.ranks]);
            *left = self.rules.copies(k).saturating_sub(self.piles.gone[k] + u8::from(played));
        }
        let seen = self.hands.iter().enumerate().filter(|(p, _)| *p != seat).flat_map(|(_, hand)| hand);
        seen.filter_map(|held| held.kind).for_each(|k| left[k] = left[k].saturating_sub(1));
        left
    }

    /// Returns, for each card of `seat`, the kinds that are possible from its owner's perspective.
    pub fn may(&self, seat: Seat) -> Vec<KindSet> {
        let left = self.unseen(seat);
        let open = (0..self.rules.kinds()).filter(|&k| left[k] > 0).fold(0, |set: KindSet, k| set | 1 << k);
        self.hands[seat].iter().map(|held| held.hinted & open).collect()
    }

    /// Returns, for each of the viewing seat's own cards, the probability that the card's kind is in `good`.
    pub fn chances(&self, good: KindSet) -> Vec<f64> {
        let left = self.unseen(self.me);
        let count = |set: KindSet| -> u32 { (0..25).filter(|k| set >> k & 1 == 1).map(|k| u32::from(left[k])).sum() };
        let chance = |held: &CardInHand| f64::from(count(held.hinted & good)) / f64::from(count(held.hinted).max(1));
        self.hands[self.me].iter().map(chance).collect()
    }

    /// Returns the slots in the hand of seat `to` that the hint touches.
    pub fn touched(&self, to: Seat, named: HintTarget) -> Vec<usize> {
        let set = self.rules.having(named);
        let hit = |held: &CardInHand| held.kind.is_some_and(|k| set >> k & 1 == 1);
        self.hands[to].iter().enumerate().filter(|(_, held)| hit(held)).map(|(i, _)| i).collect()
    }
}

/// Returns true if `may` is not empty and contains only kinds in `good`.
pub(super) fn surely(may: KindSet, good: KindSet) -> bool {
    may != 0 && may & !good == 0
}
