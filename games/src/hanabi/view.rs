//! Information available to a viewer, and sampled states consistent with it.

use ludex_env::draw::Stream;
use ludex_env::game::{Game, ToMove, Viewer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hanabi, HandCard, LETTERS, MOST_KINDS, MOST_MOVES, NO_CARD, NO_MOVE, NO_SEAT, PlayedMove, Sight, State, slots,
};

/// Information visible to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Number of lives left.
    pub lives: u8,
    /// Number of information tokens left.
    pub information: u8,
    /// Number of cards in the deck.
    pub deck: u8,
    /// The highest card of each firework, in the order R, Y, G, W, B; 0 for an empty firework.
    pub fireworks: Vec<u8>,
    /// Discarded and misplayed cards in order, such as `R1`.
    pub discards: Vec<String>,
    /// The hands by seat, the oldest card first.
    pub hands: Vec<Vec<Card>>,
    /// All moves so far, oldest first.
    pub moves: Vec<Past>,
    /// The seat that moves first; absent until chance draws it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u8>,
    /// The seat to move; absent during a deal and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// Number of turns left; absent until the deck is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_left: Option<u8>,
}

/// A card in a hand with the facts known from hints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Card {
    /// The name of the card; absent if it is hidden from the observer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// The color named by a hint; absent without a color hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The rank named by a hint; absent without a rank hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u8>,
    /// Colors that the hints leave possible: some of the letters `RYGWB`.
    pub colors: String,
    /// Ranks that the hints leave possible: some of the digits `12345`.
    pub ranks: String,
}

/// A move with its public effects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Past {
    /// The seat that moved.
    pub seat: u8,
    /// The id of the action.
    pub action: u8,
    /// The card that was played or discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// True if the played card extended its firework.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fits: bool,
    /// True if the move restored an information token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub token: bool,
    /// The slots that a hint pointed at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<u8>,
}

/// Maximum number of attempts to sample consistent hands before inconsistent hands are accepted. The true state is
/// always consistent, so only a forged view reaches the limit.
const TRIES: usize = 1 << 17;

fn colors(bits: u8) -> String {
    LETTERS.chars().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, c)| c).collect()
}

fn ranks(bits: u8) -> String {
    (0..5).filter(|r| bits >> r & 1 == 1).map(|r| char::from(b'1' + r)).collect()
}

impl Hanabi {
    pub(super) fn seen_by(&self, s: &State, who: Viewer) -> View {
        let turn = self.to_move(s);
        let card = |held: &HandCard, p: usize| Card {
            card: self.sees(who, p).then(|| self.card_text(held.card)),
            color: (held.color > 0).then(|| colors(1 << (held.color - 1))),
            rank: (held.rank > 0).then_some(held.rank),
            colors: colors(held.colors),
            ranks: ranks(held.ranks),
        };
        let past = |(k, done): (usize, &PlayedMove)| Past {
            seat: ((usize::from(s.first) + k) % self.n) as u8,
            action: done.action,
            card: (done.card != NO_CARD).then(|| self.card_text(done.card)),
            fits: done.fits,
            token: done.token,
            slots: slots(done.touched).map(|i| i as u8).collect(),
        };
        let discarded = s.moves().iter().filter(|d| d.card != NO_CARD && !d.fits);
        View {
            seat: who.seat().map(|p| p as u8),
            lives: s.lives,
            information: s.information,
            deck: s.deck,
            fireworks: s.fireworks[..self.colors].to_vec(),
            discards: discarded.map(|d| self.card_text(d.card)).collect(),
            hands: (0..self.n).map(|p| s.hands[p].cards().iter().map(|held| card(held, p)).collect()).collect(),
            moves: s.moves().iter().enumerate().map(past).collect(),
            first: (s.first != NO_SEAT).then_some(s.first),
            to_move: match turn {
                ToMove::Seat(p) => Some(p as u8),
                _ => None,
            },
            turns_left: (s.deck == 0).then_some(s.turns_left),
        }
    }

    /// Parses a card such as `R1`; returns [`NO_CARD`] for other text.
    fn card_of(&self, text: Option<&str>) -> u8 {
        let mut chars = text.unwrap_or_default().chars();
        let color = chars.next().and_then(|c| LETTERS.find(c)).filter(|&c| c < self.colors);
        let rank = chars.next().and_then(|c| c.to_digit(10)).filter(|r| (1..=self.ranks as u32).contains(r));
        color.zip(rank).map_or(NO_CARD, |(c, r)| (c * self.ranks) as u8 + r as u8 - 1)
    }

    /// Samples the cards that the viewer does not see. All deals consistent with the hints are equally likely.
    pub(super) fn world_of(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        s.first = view.first.map_or(s.first, |p| p % self.n as u8);
        s.lives = s.lives.min(view.lives);
        s.information = s.information.min(view.information);
        for (height, &shown) in s.fireworks[..self.colors].iter_mut().zip(&view.fireworks) {
            *height = shown.min(self.ranks as u8);
        }
        for (hand, shown) in s.hands[..self.n].iter_mut().zip(&view.hands) {
            shown.iter().take(self.hand).for_each(|card| hand.push(self.hand_card(card)));
        }
        for past in view.moves.iter().take(MOST_MOVES) {
            let touched = past.slots.iter().filter(|&&i| i < 8).fold(0, |bits, &i| bits | 1 << i);
            let card = self.card_of(past.card.as_deref());
            s.log[usize::from(s.length)] =
                PlayedMove { action: past.action, touched, card, fits: past.fits, token: past.token };
            s.length += 1;
        }
        let gone = s.moves().iter().map(|d| d.card).collect::<Vec<u8>>();
        let held = s.hands.iter().flat_map(|hand| hand.cards()).map(|held| held.card);
        for card in held.chain(gone).collect::<Vec<u8>>() {
            if let Some(left) = s.left.get_mut(usize::from(card)) {
                *left = left.saturating_sub(1);
            }
        }
        self.fill(&mut s, rng);
        s.deck = s.left.iter().sum();
        s.turns_left = view.turns_left.map_or(s.turns_left, |t| t.min(self.n as u8));
        s
    }

    fn hand_card(&self, card: &Card) -> HandCard {
        let bits = |letters: &str, among: &str, most: usize| {
            let found = letters.chars().filter_map(|c| among.find(c)).filter(|&i| i < most);
            found.fold(0, |bits, i| bits | 1 << i)
        };
        let named = card.color.as_deref().and_then(|c| LETTERS.find(c)).filter(|&c| c < self.colors);
        HandCard {
            card: self.card_of(card.card.as_deref()),
            colors: bits(&card.colors, LETTERS, self.colors),
            ranks: bits(&card.ranks, "12345", self.ranks),
            color: named.map_or(0, |c| c as u8 + 1),
            rank: card.rank.unwrap_or(0).min(self.ranks as u8),
        }
    }

    /// Deals the unknown cards slot by slot, starting with the slots that have the fewest candidates. Each slot draws a
    /// number below `bound`, an upper bound on its remaining candidates. A number without a candidate restarts the
    /// deal, so that all complete deals are equally likely.
    fn fill(&self, s: &mut State, rng: &mut Stream) {
        let mut open = Vec::new();
        for (p, hand) in s.hands.iter().enumerate() {
            for (slot, held) in hand.cards().iter().enumerate().filter(|(_, held)| held.card == NO_CARD) {
                let may = |k: usize| held.colors >> (k / self.ranks) & held.ranks >> (k % self.ranks) & 1 == 1;
                let set = (0..self.kinds()).filter(|&k| may(k)).fold(0u32, |set, k| set | 1 << k);
                open.push((p, slot, set, cards_of(&s.left, set)));
            }
        }
        open.sort_by_key(|slot| slot.3);
        for i in 0..open.len() {
            // Each earlier slot whose candidates are all candidates of this slot takes one of them.
            let inside = open[..i].iter().filter(|before| before.2 & !open[i].2 == 0).count();
            open[i].3 = open[i].3.saturating_sub(inside);
        }
        let whole = s.left;
        'tries: for _ in 0..TRIES {
            s.left = whole;
            for &(p, slot, set, bound) in &open {
                let Some(card) = nth_card(&s.left, set, rng.below(bound)) else { continue 'tries };
                s.left[card] -= 1;
                s.hands[p].cards[slot].card = card as u8;
            }
            return;
        }
        s.left = whole;
        for &(p, slot, ..) in &open {
            let card = nth_card(&s.left, u32::MAX, 0).unwrap_or(0);
            s.left[card] = s.left[card].saturating_sub(1);
            s.hands[p].cards[slot].card = card as u8;
        }
    }

    pub(super) fn describe(&self, view: &View) -> String {
        let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(" ") };
        let fireworks: Vec<String> = LETTERS.chars().zip(&view.fireworks).map(|(c, h)| format!("{c}{h}")).collect();
        let mut lines = vec![
            format!(
                "Lives: {}, information tokens: {}, cards in the deck: {}",
                view.lives, view.information, view.deck
            ),
            format!("Fireworks: {}", list(&fireworks)),
            format!("Discards: {}", list(&view.discards)),
        ];
        for (p, hand) in view.hands.iter().enumerate() {
            let me = if view.seat.map(usize::from) == Some(p) { " (you)" } else { "" };
            lines.push(format!("Hand of p{p}{me}:"));
            lines.extend(hand.iter().enumerate().map(|(slot, card)| format!("  {slot}: {}", self.card_line(card))));
        }
        for past in view.moves.iter().skip(view.moves.len().saturating_sub(self.n)) {
            let touched = past.slots.iter().filter(|&&i| i < 8).fold(0, |bits, &i| bits | 1 << i);
            let card = self.card_of(past.card.as_deref());
            let done = PlayedMove { action: past.action, touched, card, fits: past.fits, ..NO_MOVE };
            lines.push(format!("p{} {}", past.seat, self.done_text(&done)));
        }
        lines.extend(view.turns_left.map(|t| format!("The deck is empty; turns left: {t}")));
        lines.push(match view.to_move {
            Some(p) => format!("p{p} is to move."),
            None if self.ended(view) => "The game is over.".to_owned(),
            None => "Cards are being dealt.".to_owned(),
        });
        lines.join("\n")
    }

    /// Returns true if the game shown in the view has ended.
    fn ended(&self, view: &View) -> bool {
        let score: usize = view.fireworks.iter().map(|&h| usize::from(h)).sum();
        view.lives == 0 || view.turns_left == Some(0) || score >= self.kinds()
    }

    /// Formats the visible part of a card with its hints and possible kinds.
    fn card_line(&self, card: &Card) -> String {
        let seen = card.card.as_deref().unwrap_or("XX");
        if self.params.observation_type == Sight::Minimal {
            return seen.to_owned();
        }
        let color = card.color.as_deref().unwrap_or("X");
        let rank = card.rank.map_or("X".to_owned(), |r| r.to_string());
        format!("{seen}, told {color}{rank}, may be {} {}", card.colors, card.ranks)
    }
}

/// Returns the number of remaining cards of the kinds in the bit set `set`.
fn cards_of(left: &[u8; MOST_KINDS], set: u32) -> usize {
    left.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1).map(|(_, &n)| usize::from(n)).sum()
}

/// Returns the kind of the `nth` remaining card (from 0) among the kinds in the bit set `set`.
fn nth_card(left: &[u8; MOST_KINDS], set: u32, nth: usize) -> Option<usize> {
    let mut run = 0;
    (0..MOST_KINDS).filter(|k| set >> k & 1 == 1).find(|&k| {
        run += usize::from(left[k]);
        run > nth
    })
}
