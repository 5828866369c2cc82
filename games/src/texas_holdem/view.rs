//! Information available to a viewer, as data and as text.

use ludex_env::draw::Stream;
use ludex_env::game::{Action, Seat, Viewer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deal::{Deal, FOLD, NextStep};
use super::table::{Abstraction, PokerTable};
use super::{State, TexasHoldem};
use crate::cards;

/// Information visible to one seat, or to the public: the current hand, and the visible parts of earlier hands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Number of the current hand, from 1.
    pub hand: u32,
    /// Number of hands in the match.
    pub hands: u32,
    /// Chips won or lost in all finished hands, by seat.
    pub total: Vec<f64>,
    /// The current hand; at the end, the last hand.
    #[serde(flatten)]
    pub now: HandView,
    /// Earlier hands, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<HandView>,
}

/// The information of one viewer about one hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandView {
    /// The seats by position; empty until chance has drawn them.
    pub positions: Vec<u8>,
    /// The observer's hole cards, in the order of the deal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hole: Vec<String>,
    /// The board, in the order of the deal.
    pub board: Vec<String>,
    /// Number of cards dealt so far to all seats and to the board.
    pub dealt: u8,
    /// The betting round, from 0.
    pub round: u8,
    /// Chips that each seat has put in during this hand.
    pub spent: Vec<u32>,
    /// Chips that each seat has left; empty without a stack limit, and before the seats are drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<u32>,
    /// The seats that have folded.
    pub folded: Vec<u8>,
    /// The moves of all seats, in order.
    pub moves: Vec<MoveView>,
    /// The seat to move; absent at chance nodes and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// The lowest and the highest legal raise, as the numbers in their action names. Absent if no raise is legal, and
    /// if only some sizes have an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<[u32; 2]>,
    /// The hole cards revealed at a showdown, by seat; null for a seat that folded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Option<Vec<String>>>,
    /// Chips won or lost in this hand, by seat; empty before the end of the hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub won: Vec<f64>,
}

/// One move of one seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MoveView {
    /// The seat that moved.
    pub seat: u8,
    /// The betting round, from 0.
    pub round: u8,
    /// The id of the action.
    pub action: u32,
    /// The name of the action.
    pub name: String,
    /// Total chips of the seat in this hand after the move.
    pub to: u32,
}

/// Names of betting rounds.
const STREETS: [&str; 4] = ["Pre-flop", "Flop", "Turn", "River"];

impl TexasHoldem {
    /// Returns the view of `who`.
    pub(super) fn look(&self, s: &State, who: Viewer) -> View {
        let t = &self.table;
        let seat = match who {
            Viewer::Seat(p) if p < t.n => Some(p),
            _ => None,
        };
        let hand = |(k, d): (usize, &Deal)| self.hand_view(d, s.shift(t, k), seat);
        View {
            seat: seat.map(|p| p as u8),
            hand: s.past.len() as u32 + 1,
            hands: t.hands as u32,
            total: s.total[..t.n].to_vec(),
            now: hand((s.past.len(), &s.now)),
            past: s.past.iter().enumerate().map(hand).collect(),
        }
    }

    /// Returns the view of one hand. Seat `shift` has position 0; `None` before the seats are drawn.
    fn hand_view(&self, d: &Deal, shift: Option<usize>, me: Option<Seat>) -> HandView {
        let t = &self.table;
        let c = &d.chips;
        let drawn = shift.is_some();
        let shift = shift.unwrap_or(0);
        let position = |seat: Seat| (seat + t.n - shift) % t.n;
        let seat_at = |p: usize| ((p + shift) % t.n) as u8;
        let by_seat = |of: &dyn Fn(usize) -> u32| (0..t.n).map(|seat| of(position(seat))).collect::<Vec<u32>>();
        let next = d.next(t);
        let options = (drawn && matches!(next, NextStep::Move(_))).then(|| d.options(t));
        let show = |p: usize| c.in_hand(p).then(|| t.names(d.hole(t, p)));
        let seats = || (0..t.n).map(position);
        let over = next == NextStep::Over;
        HandView {
            positions: if drawn { (0..t.n).map(seat_at).collect() } else { Vec::new() },
            hole: me.filter(|_| drawn).map(|m| t.names(d.hole(t, position(m)))).unwrap_or_default(),
            board: t.names(d.board(t)),
            dealt: c.dealt,
            round: c.round,
            spent: if drawn { by_seat(&|p| c.spent[p]) } else { vec![0; t.n] },
            left: if t.stacked && drawn { by_seat(&|p| t.stacks[p].saturating_sub(c.spent[p])) } else { Vec::new() },
            folded: (0..t.n).filter(|&seat| !c.in_hand(position(seat))).map(|seat| seat as u8).collect(),
            moves: d
                .moves
                .iter()
                .map(|m| MoveView {
                    seat: seat_at(m.position.into()),
                    round: m.round,
                    action: m.action,
                    name: self.name(m.action),
                    to: m.to,
                })
                .collect(),
            to_move: match next {
                NextStep::Move(p) if drawn => Some(seat_at(p)),
                _ => None,
            },
            raise: options.and_then(|o| o.range).map(|(low, high)| [self.size(low), self.size(high)]),
            shown: if d.showdown(t) { seats().map(show).collect() } else { Vec::new() },
            won: if over {
                let won = d.won(t);
                seats().map(|p| won[p]).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Samples a state consistent with the view; hidden cards are dealt at random.
    pub(super) fn consistent_state(&self, view: &View, rng: &mut Stream) -> State {
        let t = &self.table;
        let me = view.seat.map(usize::from).filter(|&p| p < t.n);
        let mut s = State::new(t);
        let first = view.past.first().unwrap_or(&view.now);
        let drawn = first.positions.first().map(|&p| usize::from(p) % t.n);
        s.first = if t.random_seats { drawn.map(|p| p as u8) } else { Some(0) };
        for hand in view.past.iter().take(t.hands - 1) {
            let d = self.dealt_anew(hand, s.shift(t, s.past.len()).unwrap_or(0), me, rng);
            s.past.push(d);
        }
        s.now = self.dealt_anew(&view.now, s.shift(t, s.past.len()).unwrap_or(0), me, rng);
        for (sum, seen) in s.total.iter_mut().zip(&view.total) {
            *sum = *seen;
        }
        s
    }

    fn dealt_anew(&self, hand: &HandView, shift: usize, me: Option<Seat>, rng: &mut Stream) -> Deal {
        let t = &self.table;
        let mut cards: Vec<Option<u8>> = vec![None; usize::from(t.dealt[t.rounds - 1])];
        let mut know = |from: usize, names: &[String], most: usize| {
            for (k, name) in names.iter().take(most).enumerate() {
                if let Some(place) = cards.get_mut(from + k) {
                    *place = t.read(name);
                }
            }
        };
        let holes = usize::from(t.hole);
        for seat in 0..t.n {
            let own = (me == Some(seat)).then_some(&hand.hole);
            let shown = hand.shown.get(seat).and_then(Option::as_ref);
            if let Some(names) = own.or(shown) {
                know((seat + t.n - shift) % t.n * holes, names, holes);
            }
        }
        know(t.holes.into(), &hand.board, cards_of_board(t));
        let held: Vec<u8> = cards.iter().flatten().copied().collect();
        let mut rest: Vec<u8> = (0..t.deck).filter(|k| !held.contains(k)).collect();
        rng.shuffle(&mut rest);
        let mut d = Deal::new(t);
        let (mut deal, mut moves) = (cards.into_iter(), hand.moves.iter());
        loop {
            match d.next(t) {
                NextStep::Card if d.chips.dealt < hand.dealt => {
                    let Some(known) = deal.next() else { return d };
                    d.deal(t, known.or_else(|| rest.pop()).unwrap_or(0).into());
                }
                NextStep::Move(_) => {
                    let Some(m) = moves.next().filter(|m| m.action < t.actions()) else { return d };
                    d.act(t, m.action);
                }
                NextStep::Card | NextStep::Over => return d,
            }
        }
    }

    /// Returns the number of chips that an action of the seat to move puts in, as text.
    pub(super) fn chips_of(&self, view: &View, a: Action) -> String {
        // Hidden cards do not affect the chips, so any consistent state can be used.
        let mut deal = self.consistent_state(view, &mut Stream::new(&[0; 32])).now;
        let t = &self.table;
        let NextStep::Move(p) = deal.next(t) else { return String::new() };
        let before = deal.chips.spent[p];
        if !deal.options(t).has(a) {
            return String::new();
        }
        deal.act(t, a);
        let to = deal.moves.last().map_or(before, |m| m.to);
        match (a, to.saturating_sub(before)) {
            (FOLD, _) => String::new(),
            (_, 0) => "check".to_owned(),
            (_, chips) => format!("{chips} more, {to} in all"),
        }
    }

    /// Returns the view as text.
    pub(super) fn words(&self, view: &View) -> String {
        self.in_words(view, |m| format!("p{} {}", m.seat, m.name))
    }

    /// Returns the view as text, including the chips of each move.
    pub(super) fn verbose_text(&self, view: &View) -> String {
        let mut words = self.in_words(view, |m| match m.action {
            FOLD => format!("p{} {}", m.seat, m.name),
            _ => format!("p{} {} ({} in all)", m.seat, m.name, m.to),
        });
        // The manual refers to the rounds by number.
        for (round, name) in STREETS.iter().enumerate() {
            words =
                words.replace(&format!("\n{name}: "), &format!("\nRound {} ({}): ", round + 1, name.to_lowercase()));
        }
        // By Botzone's rules, a call cannot be all-in.
        let (hand, table) = (&view.now, &self.table);
        let to_move = hand.to_move.map(usize::from).filter(|_| table.sizes == Abstraction::Botzone && !table.limit);
        let chips = to_move.and_then(|p| Some((*hand.spent.get(p)?, *hand.left.get(p)?)));
        if let Some((spent, left)) = chips {
            let owed = hand.spent.iter().max().map_or(0, |most| most.saturating_sub(spent));
            if owed >= left {
                let instead = " A call is not possible: it would take all your chips.";
                words = words.replace(&format!(" A call costs {owed}."), instead);
            }
        }
        let moving = view.hands > 1 || self.table.random_seats;
        let order: Vec<String> = view.now.positions.iter().map(|p| format!("p{p}")).collect();
        if moving && !order.is_empty() { format!("Places from 1 on: {}\n{words}", order.join(", ")) } else { words }
    }

    fn in_words(&self, view: &View, of: fn(&MoveView) -> String) -> String {
        let hand = &view.now;
        let mut lines = Vec::new();
        if view.hands > 1 {
            let sums: Vec<String> = view.total.iter().enumerate().map(|(p, sum)| format!("p{p} {sum:+}")).collect();
            lines.push(format!("Hand {} of {}. Won so far: {}", view.hand, view.hands, sums.join(", ")));
            if let Some(last) = view.past.last() {
                lines.push(format!("The hand before: {}", ended(last).join("; ")));
            }
        }
        let hole = hand.hole.join(" ");
        lines.push(match (view.seat, hole.is_empty()) {
            (Some(p), false) => format!("You are p{p} and hold {hole}."),
            (Some(p), true) => format!("You are p{p} and have no cards yet."),
            (None, _) => format!("{} cards are dealt.", hand.dealt),
        });
        if !hand.board.is_empty() {
            lines.push(format!("Board: {}", hand.board.join(" ")));
        }
        let pot: u64 = hand.spent.iter().map(|&c| u64::from(c)).sum();
        let chips = |(p, spent): (usize, &u32)| {
            let left = hand.left.get(p).map(|left| format!(" ({left} left)")).unwrap_or_default();
            let folded = if hand.folded.contains(&(p as u8)) { ", folded" } else { "" };
            format!("p{p} {spent}{left}{folded}")
        };
        let chips: Vec<String> = hand.spent.iter().enumerate().map(chips).collect();
        lines.push(format!("Pot {pot}: {}", chips.join("; ")));
        lines.extend(streets(hand, of));
        match (hand.to_move, hand.won.is_empty()) {
            (Some(p), _) => {
                let [low, high] = hand.raise.unwrap_or_default();
                let raise = hand.raise.map(|_| format!(" Raises go from {low} to {high}.")).unwrap_or_default();
                let most = hand.spent.iter().max().copied().unwrap_or(0);
                let owed = most.saturating_sub(hand.spent.get(usize::from(p)).copied().unwrap_or(0));
                let call = if owed > 0 { format!(" A call costs {owed}.") } else { String::new() };
                lines.push(format!("p{p} is to move.{call}{raise}"));
            }
            (None, false) => lines.extend(ended(hand)),
            (None, true) if self.table.random_seats && hand.positions.is_empty() => {
                lines.push("The seats are being drawn.".to_owned());
            }
            (None, true) => lines.push("Cards are being dealt.".to_owned()),
        }
        lines.join("\n")
    }
}

/// Lists the moves, one line for each betting round.
fn streets(hand: &HandView, of: fn(&MoveView) -> String) -> Vec<String> {
    let line = |(r, name): (usize, &&str)| {
        let moves: Vec<String> = hand.moves.iter().filter(|m| usize::from(m.round) == r).map(of).collect();
        (!moves.is_empty()).then(|| format!("{name}: {}", moves.join(", ")))
    };
    STREETS.iter().enumerate().filter_map(line).collect()
}

/// Describes the revealed cards and the chips won.
fn ended(hand: &HandView) -> Vec<String> {
    let shown = hand.shown.iter().enumerate();
    let shown: Vec<String> =
        shown.filter_map(|(p, cards)| cards.as_ref().map(|c| format!("p{p} {}", c.join(" ")))).collect();
    let won: Vec<String> = hand.won.iter().enumerate().map(|(p, won)| format!("p{p} {won:+}")).collect();
    let mut lines = Vec::new();
    if !shown.is_empty() {
        lines.push(format!("Shown: {}", shown.join(", ")));
    }
    lines.push(format!("Won: {}", won.join(", ")));
    lines
}

pub(super) fn cards_of_board(t: &PokerTable) -> usize {
    usize::from(t.dealt[t.rounds - 1] - t.holes)
}

impl PokerTable {
    /// Returns the name of card `k` of this table's deck.
    pub fn name(&self, k: u8) -> String {
        cards::name(self.card(k))
    }

    pub fn names(&self, list: &[u8]) -> Vec<String> {
        list.iter().map(|&k| self.name(k)).collect()
    }

    /// Returns the card with this name in this table's deck.
    pub fn read(&self, name: &str) -> Option<u8> {
        let card = cards::card(name)?;
        let (rank, suit) = (card / 4, card % 4);
        let k = rank * self.suits + suit;
        (suit < self.suits && k < self.deck).then_some(k)
    }
}
