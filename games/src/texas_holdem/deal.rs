//! A single hand, from the first card to the showdown. Players are identified by position; the match maps positions to
//! seats.
//!
//! Betting follows the dealer of the Annual Computer Poker Competition, which OpenSpiel uses. A raise adds at least the
//! greatest earlier bet or raise of the round; only an all-in may add less. Betting ends when at most one position can
//! still bet.

use arrayvec::ArrayVec;
use ludex_env::game::Action;
use smallvec::SmallVec;

use super::table::{Abstraction, HAND, HOLE, PokerTable, ROUND_MOVES, SEATS};
use crate::cards::Hand;

/// Maximum number of cards in a hand.
const CARDS: usize = SEATS * HOLE + HAND;

/// Gives up the hand.
pub(super) const FOLD: Action = 0;
/// Matches the highest bet, or checks.
pub(super) const CALL: Action = 1;

/// The next step of a hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// A card is dealt.
    Card,
    /// The position that acts next.
    Move(usize),
    /// The hand has ended.
    Over,
}

/// The effect of an action id, legal or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActionEffect {
    Fold,
    Call,
    /// A raise that brings the position's chips in this hand to this total.
    Raise(u32),
    AllIn,
}

/// A move of one position, with its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BettingMove {
    pub action: Action,
    pub does: ActionEffect,
    pub position: u8,
    pub round: u8,
    /// Chips of the position in this hand after the move.
    pub to: u32,
    /// Number of cards dealt before the move.
    pub dealt: u8,
}

/// Legal action ids, ascending: single ids, then a range.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LegalIds {
    pub few: ArrayVec<Action, 5>,
    pub range: Option<(Action, Action)>,
}

impl LegalIds {
    pub fn has(&self, a: Action) -> bool {
        self.few.contains(&a) || self.range.is_some_and(|(low, high)| (low..=high).contains(&a))
    }

    pub fn count(&self) -> usize {
        self.few.len() + self.range.map_or(0, |(low, high)| (high - low) as usize + 1)
    }

    pub fn nth(&self, i: usize) -> Option<Action> {
        let beyond = || self.range.map(|(low, _)| low + (i - self.few.len()) as Action);
        self.few.get(i).copied().or_else(beyond)
    }
}

/// The copyable part of a hand's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chips {
    pub cards: [u8; CARDS],
    pub dealt: u8,
    /// Chips that each position has put in during this hand.
    pub spent: [u32; SEATS],
    /// Highest number of chips that any position has put in during this hand.
    pub most: u32,
    before: u32,
    /// Lowest total of chips in this hand to which a position may raise.
    least: u32,
    /// The largest number of chips put in by one move of this round. Starts at the big blind in the first round, and at
    /// half of it in later rounds.
    put: u32,
    /// Bit set of the positions that folded.
    pub folded: u16,
    /// Bit set of the positions that have replied to the last raise.
    answered: u16,
    pub round: u8,
    raises: u8,
    /// Number of moves in this round.
    moves: u8,
    next: u8,
    /// True if no more bets are possible.
    done: bool,
}

/// A hand with its cards and moves.
#[derive(Debug)]
pub(super) struct Deal {
    pub chips: Chips,
    pub moves: SmallVec<[BettingMove; 12]>,
}

impl Clone for Deal {
    fn clone(&self) -> Self {
        Deal { chips: self.chips, moves: self.moves.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.chips = other.chips;
        self.moves.clone_from(&other.moves);
    }
}

impl Deal {
    pub fn new(t: &PokerTable) -> Deal {
        let mut chips = Chips {
            cards: [0; CARDS],
            dealt: 0,
            spent: t.blinds,
            most: t.big_blind,
            before: 0,
            least: (2 * t.big_blind).max(1),
            put: t.big_blind,
            folded: 0,
            answered: 0,
            round: 0,
            raises: 0,
            moves: 0,
            next: 0,
            done: false,
        };
        chips.next = chips.after(t, usize::from(t.first[0]) + t.n - 1);
        Deal { chips, moves: SmallVec::new() }
    }

    #[inline]
    pub fn next(&self, t: &PokerTable) -> NextStep {
        let c = &self.chips;
        if c.dealt < t.holes {
            return NextStep::Card;
        }
        if c.seats_in(t) <= 1 {
            return NextStep::Over;
        }
        if c.dealt < t.dealt[usize::from(c.round)] {
            NextStep::Card
        } else if c.done {
            NextStep::Over
        } else {
            NextStep::Move(usize::from(c.next))
        }
    }

    /// Returns the legal action ids of the position to move.
    pub fn options(&self, t: &PokerTable) -> LegalIds {
        let c = &self.chips;
        let p = usize::from(c.next);
        let mut o = LegalIds::default();
        let mut may = |a: Action, legal: bool| {
            if legal {
                o.few.push(a);
            }
        };
        let (spent, stack) = (c.spent[p], t.stacks[p]);
        let (owed, has) = (c.most.saturating_sub(spent), stack.saturating_sub(spent));
        let raise = c.raise_bounds(t);
        match t.sizes {
            Abstraction::Rlcard if !t.limit => {
                may(FOLD, true);
                may(CALL, true);
                if owed < has && !c.full(t) {
                    let (half, whole) = (c.pot(t) / 2, c.pot(t));
                    may(2, half <= has && spent + half > c.most);
                    may(3, whole <= has && spent + whole > c.most);
                    may(4, true);
                }
            }
            Abstraction::Botzone if !t.limit => {
                let pressed = (0..t.n).any(|q| q != p && c.in_hand(q) && c.spent[q] >= t.stacks[q]);
                may(FOLD, true);
                may(CALL, !pressed && owed < has);
                may(2, true);
                let low = (2 * c.put + c.before).max(c.most + 1).saturating_sub(spent).max(1);
                if !pressed && low < has && !c.full(t) {
                    o.range = Some((low + 2, has + 1));
                }
            }
            sizes => {
                may(FOLD, owed > 0);
                may(CALL, true);
                match (raise, sizes) {
                    (None, _) | (_, Abstraction::Fc) => {}
                    (Some(_), _) if t.limit => may(2, true),
                    (Some((low, high)), Abstraction::Fullgame) => {
                        o.range = (low.max(2) <= high).then_some((low.max(2), high))
                    }
                    (Some((low, high)), _) => {
                        let (half, whole) = c.pot_raises(t, p);
                        may(2, (low..=high).contains(&whole));
                        // If a pot-sized raise is all-in, only one of the two ids is legal.
                        may(3, whole != high);
                        may(4, sizes == Abstraction::Fchpa && whole <= high && (low..=high).contains(&half));
                    }
                }
            }
        }
        o
    }

    /// Returns the effect of an action id for the position to move.
    pub fn does(&self, t: &PokerTable, a: Action) -> ActionEffect {
        let c = &self.chips;
        let p = usize::from(c.next);
        let (spent, pot) = (c.spent[p], c.pot(t));
        match (a, t.sizes) {
            (FOLD, _) => ActionEffect::Fold,
            (CALL, _) => ActionEffect::Call,
            (_, _) if t.limit => ActionEffect::Raise(c.most.saturating_add(t.raise[usize::from(c.round)])),
            (_, Abstraction::Fullgame) => ActionEffect::Raise(a),
            (2, Abstraction::Botzone) => ActionEffect::AllIn,
            (_, Abstraction::Botzone) => ActionEffect::Raise(spent.saturating_add(a - 2)),
            (2, Abstraction::Rlcard) => ActionEffect::Raise(spent + pot / 2),
            (3, Abstraction::Rlcard) => ActionEffect::Raise(spent + pot),
            (2, _) => ActionEffect::Raise(c.pot_raises(t, p).1),
            (4, Abstraction::Fchpa) => ActionEffect::Raise(c.pot_raises(t, p).0),
            _ => ActionEffect::AllIn,
        }
    }

    pub fn deal(&mut self, t: &PokerTable, card: Action) {
        let c = &mut self.chips;
        if let Some(place) = c.cards.get_mut(usize::from(c.dealt)) {
            *place = (card % u32::from(t.deck)) as u8;
            c.dealt += 1;
        }
    }

    pub fn act(&mut self, t: &PokerTable, a: Action) {
        let (does, p) = (self.does(t, a), usize::from(self.chips.next));
        let c = &mut self.chips;
        let stack = t.stacks[p];
        let to = match does {
            ActionEffect::Fold => 0,
            ActionEffect::Call => c.most.min(stack),
            ActionEffect::Raise(to) => to.min(stack),
            ActionEffect::AllIn => stack,
        };
        let round = c.round;
        match does {
            ActionEffect::Fold => c.folded |= 1 << p,
            _ => {
                c.put = c.put.max(to.saturating_sub(c.spent[p]));
                if to > c.most {
                    c.least = c.least.max(to.saturating_mul(2) - c.most);
                    c.most = to;
                    c.answered = 0;
                    c.raises = c.raises.saturating_add(1);
                }
                c.spent[p] = c.spent[p].max(to);
                c.answered |= 1 << p;
            }
        }
        c.moves = c.moves.saturating_add(1);
        let made = BettingMove { action: a, does, position: p as u8, round, to: c.spent[p], dealt: c.dealt };
        self.moves.push(made);
        c.settle(t, p);
    }

    /// Returns the hole cards that have been dealt to a position so far.
    pub fn hole(&self, t: &PokerTable, p: usize) -> &[u8] {
        let (from, dealt) = (p * usize::from(t.hole), usize::from(self.chips.dealt));
        &self.chips.cards[from.min(dealt)..(from + usize::from(t.hole)).min(dealt)]
    }

    /// Returns the board cards that have been dealt so far.
    pub fn board(&self, t: &PokerTable) -> &[u8] {
        let dealt = usize::from(self.chips.dealt);
        &self.chips.cards[usize::from(t.holes).min(dealt)..dealt]
    }

    /// Returns true at a showdown: the hand has ended, and at least two positions have not folded.
    pub fn showdown(&self, t: &PokerTable) -> bool {
        self.chips.seats_in(t) > 1 && self.next(t) == NextStep::Over
    }

    /// Returns the chips won or lost by each position; call at the end of the hand. The pot is split exactly, down to
    /// fractions of a chip.
    pub fn won(&self, t: &PokerTable) -> [f64; SEATS] {
        let c = &self.chips;
        let mut won = [0.0; SEATS];
        let board: Hand = self.board(t).iter().map(|&k| t.card(k)).collect();
        let single = c.seats_in(t) == 1;
        let strength = |p: usize| {
            let hole: Hand = self.hole(t, p).iter().map(|&k| t.card(k)).collect();
            (hole + board).strength()
        };
        let strengths: [u16; SEATS] =
            std::array::from_fn(|p| if !single && p < t.n && c.in_hand(p) { strength(p) } else { 0 });
        // Side pots, level by level: the best hand that reaches a level gets the chips up to that level. Unmatched
        // chips return to their owner.
        let mut floor = 0;
        loop {
            let reach = |p: &usize| c.in_hand(*p) && c.spent[*p] > floor;
            let Some(level) = (0..t.n).filter(reach).map(|p| c.spent[p]).min() else { return won };
            let best = (0..t.n).filter(reach).map(|p| strengths[p]).max().unwrap_or(0);
            let wins = |p: usize| reach(&p) && strengths[p] == best;
            let puts = |p: usize| c.spent[p].min(level).saturating_sub(floor);
            let pot: u64 = (0..t.n).filter(|&p| !wins(p)).map(|p| u64::from(puts(p))).sum();
            let share = pot as f64 / (0..t.n).filter(|&p| wins(p)).count() as f64;
            (0..t.n).for_each(|p| won[p] += if wins(p) { share } else { -f64::from(puts(p)) });
            floor = level;
        }
    }
}

impl Chips {
    pub fn in_hand(&self, p: usize) -> bool {
        self.folded >> p & 1 == 0
    }

    /// Returns the number of positions that have not folded.
    #[inline]
    pub fn seats_in(&self, t: &PokerTable) -> usize {
        t.n - self.folded.count_ones() as usize
    }

    /// Returns true if a position can still bet.
    fn acts(&self, t: &PokerTable, p: usize) -> bool {
        self.in_hand(p) && self.spent[p] < t.stacks[p]
    }

    /// Returns the next position after `p` that can still bet; `p` itself if no other position can.
    fn after(&self, t: &PokerTable, p: usize) -> u8 {
        let order = (1..=t.n).map(|k| (p + k) % t.n);
        order.clone().find(|&q| self.acts(t, q)).unwrap_or(p % t.n) as u8
    }

    pub fn pot(&self, t: &PokerTable) -> u32 {
        self.spent[..t.n].iter().fold(0, |sum: u32, &s| sum.saturating_add(s))
    }

    /// Returns the chips of position `p` in this hand after a call plus a raise: first for a raise of half the pot,
    /// then for a raise of the whole pot.
    fn pot_raises(&self, t: &PokerTable, p: usize) -> (u32, u32) {
        let pot = self.pot(t).saturating_add(self.most.saturating_sub(self.spent[p]));
        (self.most.saturating_add(pot.div_ceil(2)), self.most.saturating_add(pot))
    }

    /// Returns true if another raise and the replies to it would exceed [`ROUND_MOVES`].
    fn full(&self, t: &PokerTable) -> bool {
        usize::from(self.moves) + t.n > ROUND_MOVES
    }

    /// Returns the lowest and highest total of chips in this hand after a raise; `None` if no raise is possible.
    fn raise_bounds(&self, t: &PokerTable) -> Option<(u32, u32)> {
        let alone = (0..t.n).filter(|&p| self.acts(t, p)).count() <= 1;
        if self.raises >= t.raises[usize::from(self.round)] || self.full(t) || alone {
            return None;
        }
        let stack = t.stacks[usize::from(self.next)];
        (self.most < stack).then(|| (self.least.min(stack), stack))
    }

    /// Advances after a move of `p`: to the next position, to the next round, or to the end of betting.
    fn settle(&mut self, t: &PokerTable, p: usize) {
        let acting = (0..t.n).filter(|&q| self.acts(t, q)).fold(0, |set: u16, q| set | 1 << q);
        self.next = self.after(t, p);
        if self.seats_in(t) <= 1 {
            self.done = true;
        } else if acting & !self.answered == 0 {
            if acting.count_ones() > 1 && usize::from(self.round) + 1 < t.rounds {
                self.round += 1;
                (self.before, self.put) = (self.most, t.big_blind / 2);
                self.least = self.most.saturating_add(t.big_blind.max(1));
                (self.answered, self.raises, self.moves) = (0, 0, 0);
                self.next = self.after(t, usize::from(t.first[usize::from(self.round)]) + t.n - 1);
            } else {
                self.done = true;
                self.round = t.rounds as u8 - 1;
            }
        }
    }
}

impl PokerTable {
    /// Converts a card of this table's deck to a card of the full deck.
    pub fn card(&self, k: u8) -> crate::cards::Card {
        k / self.suits * 4 + k % self.suits
    }
}
