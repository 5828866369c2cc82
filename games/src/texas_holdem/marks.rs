//! Marks of moves and hands: decisions, equity, and folds.

use ludex_env::draw::Stream;
use ludex_env::game::{Game, MarkDoc, Marks, ParsedMove, ToMove};
use ludex_env::marks::{COUNT, FLAG, WORD};

use super::deal::{ActionEffect, Deal, NextStep};
use super::{State, TexasHoldem};
use crate::cards::{Card, Equity};

const BENCH: &str = "BotzoneBench, table 3";

/// Number of sampled boards for an equity.
const SAMPLES: u32 = 10_000;

/// Documentation of the marks.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new(
        "action",
        WORD,
        "for each decision: `fold`, `check`, `call`, `raise` or `all_in` (a raise with the whole stack; a call is always `call`)",
        BENCH,
    ),
    MarkDoc::new(
        "equity",
        "0 to 1",
        "for each decision: mean share of the pot that the seat's cards win against random cards of all other seats in the hand, \
         over 10,000 random boards; ties split the pot. Reproducible: the visible cards, the hand's number and the move's number \
         determine the random stream",
        "LLMArena, figure 4",
    ),
    MarkDoc::new("hand", COUNT, "at the end of each hand, for each seat: number of the hand, from 1", BENCH),
    MarkDoc::new("folded_hand", FLAG, "at the end of each hand, for each seat: 1 if the seat folded, else 0", BENCH),
];

impl TexasHoldem {
    pub(super) fn count(&self, before: &State, joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        self.decision(before, joint, out);
        let k = before.past.len();
        let ended = match after.past.get(k) {
            Some(hand) => Some(hand),
            None => (self.to_move(after) == ToMove::Over && self.to_move(before) != ToMove::Over).then_some(&after.now),
        };
        let Some(hand) = ended else { return };
        let shift = before.shift(&self.table, k).unwrap_or(0);
        for seat in 0..self.table.n {
            let position = (seat + self.table.n - shift) % self.table.n;
            out.number(seat, "hand", (k + 1) as u32);
            out.flag(seat, "folded_hand", !hand.chips.in_hand(position));
        }
    }

    fn decision(&self, s: &State, joint: &[Option<ParsedMove>], out: &mut Marks) {
        let t = &self.table;
        let (ToMove::Seat(seat), NextStep::Move(p)) = (self.to_move(s), s.now.next(t)) else { return };
        let Some(Some(ParsedMove::Action(a))) = joint.get(seat) else { return };
        let chips = &s.now.chips;
        let word = match s.now.does(t, *a) {
            ActionEffect::Fold => "fold",
            ActionEffect::Call if chips.most > chips.spent[p] => "call",
            ActionEffect::Call => "check",
            ActionEffect::Raise(to) if to < t.stacks[p] => "raise",
            ActionEffect::Raise(_) | ActionEffect::AllIn => "all_in",
        };
        out.word(seat, "action", word);
        if out.wants("equity") {
            out.number(seat, "equity", self.equity(&s.now, p, s.past.len()));
        }
    }

    /// Returns the equity of position `p` in hand `k`.
    fn equity(&self, d: &Deal, p: usize, k: usize) -> f64 {
        let t = &self.table;
        let [hole, board] =
            [d.hole(t, p), d.board(t)].map(|cards| cards.iter().map(|&c| t.card(c)).collect::<Vec<Card>>());
        let deck: Vec<Card> = (0..t.deck).map(|c| t.card(c)).collect();
        let full = usize::from(t.dealt[t.rounds - 1] - t.holes);
        let others = d.chips.seats_in(t) - 1;
        let name = format!("ludex.v1:equity:{hole:?}:{board:?}:{k}:{}", d.moves.len());
        Equity::against_random(&deck, &hole, &board, full, others, SAMPLES, &mut Stream::from_text(&name))
    }
}
