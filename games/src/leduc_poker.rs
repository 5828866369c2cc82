#![doc = include_str!("leduc_poker.md")]

mod picture;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Mover, Outcomes, Seat, SeatSet, ToMove, Unit, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::Picture;
use ludex_env::tensor::{one_hot, stretches, wrap};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

/// Leduc poker with fixed parameters.
pub struct LeducPoker {
    params: Params,
    /// Number of seats at the table.
    n: usize,
}

/// Parameters of the seats, the cards and the legal actions.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of seats, 2 to 10. The deck has two cards of each rank, and one rank more than seats.
    #[schemars(range(min = 2, max = 10))]
    pub players: u32,
    /// If true, all actions are always legal. A fold with nothing to pay and a third raise count as a call.
    pub action_mapping: bool,
    /// If true, cards of the same rank are not distinguished by suit.
    pub suit_isomorphism: bool,
    /// The seat that acts first in both rounds.
    #[schemars(range(min = 0, max = 9))]
    pub starting_player: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { players: 2, action_mapping: false, suit_isomorphism: false, starting_player: 0 }
    }
}

const MOST: usize = 10;
const ANTE: u8 = 1;
/// Size of a raise in chips, by round.
const RAISE_BY: [u8; 2] = [2, 4];
const RAISES: u8 = 2;
/// Maximum number of chips that one seat can put into the pot.
const MOST_CHIPS: u8 = ANTE + RAISES * (RAISE_BY[0] + RAISE_BY[1]);

const FOLD: Action = 0;
const CALL: Action = 1;
const RAISE: Action = 2;
const MOVES: [&str; 3] = ["Fold", "Call", "Raise"];
const LETTERS: [char; 3] = ['f', 'c', 'r'];

/// A position of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Cards of each seat.
    cards: [u8; MOST],
    dealt: u8,
    /// The card on the board; the second round starts once it is dealt.
    board: Option<u8>,
    /// Chips that each seat has put into the pot.
    chips: [u8; MOST],
    /// Bit set of the folded seats.
    folded: u16,
    /// The seat that acts next.
    seat: u8,
    /// Number of seats that must still act in this round.
    due: u8,
    raises: u8,
    /// Moves by round, two bits each.
    moves: [u64; 2],
    length: [u8; 2],
}

/// Information visible to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// The observer's card; absent until it is dealt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<u8>,
    /// Number of cards dealt to seats.
    pub dealt: u8,
    /// The card on the board; absent in the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<u8>,
    /// The moves of the first and the second round, in order: `f` is a fold, `c` a call, `r` a raise.
    pub moves: [String; 2],
    /// Chips in the pot, by seat.
    pub chips: Vec<u8>,
    /// The seats that have folded, ascending.
    pub folded: Vec<u8>,
    /// The seat to move; absent at chance nodes and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// The cards revealed at a showdown, by seat; null for a seat that folded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Option<u8>>,
    /// The seats that win or share the pot; empty before the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub winners: Vec<u8>,
}

impl State {
    fn round(&self) -> usize {
        usize::from(self.board.is_some())
    }

    fn is_in(&self, seat: usize) -> bool {
        self.folded >> seat & 1 == 0
    }

    fn stake(&self) -> u8 {
        self.chips.iter().copied().max().unwrap_or(0)
    }

    fn must_pay(&self) -> bool {
        self.chips[usize::from(self.seat)] < self.stake()
    }

    fn moved(&self, round: usize) -> impl Iterator<Item = usize> {
        let moves = self.moves[round];
        (0..self.length[round]).map(move |i| (moves >> (2 * i) & 3) as usize)
    }
}

impl LeducPoker {
    /// Returns the number of distinguishable cards.
    fn labels(&self) -> usize {
        if self.params.suit_isomorphism { self.n + 1 } else { 2 * (self.n + 1) }
    }

    fn rank(&self, card: u8) -> u8 {
        if self.params.suit_isomorphism { card } else { card / 2 }
    }

    /// Returns the maximum number of moves in a round: a call by each seat, and the other seats' replies to each raise.
    fn most_moves(&self) -> usize {
        3 * self.n - 2
    }

    fn seats_in(&self, s: &State) -> impl DoubleEndedIterator<Item = usize> {
        let s = *s;
        (0..self.n).filter(move |&p| s.is_in(p))
    }

    fn count_in(&self, s: &State) -> u8 {
        (self.n as u32 - s.folded.count_ones()) as u8
    }

    fn over(&self, s: &State) -> bool {
        self.count_in(s) == 1 || (s.due == 0 && s.board.is_some())
    }

    /// Returns the first seat at or after `from` that has not folded.
    fn next_in(&self, s: &State, from: usize) -> u8 {
        (from..from + self.n).map(|p| wrap(p, self.n)).find(|&p| s.is_in(p)).unwrap_or(0) as u8
    }

    /// Returns the effective move: a raise beyond the second and a fold with nothing to pay count as a call.
    fn effect(&self, s: &State, a: Action) -> Action {
        match a {
            FOLD if s.must_pay() => FOLD,
            RAISE if s.raises < RAISES => RAISE,
            _ => CALL,
        }
    }

    fn act(&self, s: &mut State, a: Action) {
        let (round, seat) = (s.round(), usize::from(s.seat));
        let a = self.effect(s, a);
        s.due = s.due.saturating_sub(1);
        match a {
            FOLD => s.folded |= 1 << seat,
            CALL => s.chips[seat] = s.stake(),
            _ => {
                s.chips[seat] = s.stake() + RAISE_BY[round];
                s.raises += 1;
                s.due = self.count_in(s) - 1;
            }
        }
        s.moves[round] |= u64::from(a).checked_shl(2 * u32::from(s.length[round])).unwrap_or(0);
        s.length[round] += 1;
        s.seat = self.next_in(s, wrap(seat + 1, self.n));
    }

    fn turn_up(&self, s: &mut State, card: u8) {
        s.board = Some(card);
        s.raises = 0;
        s.due = self.count_in(s);
        s.seat = self.next_in(s, self.params.starting_player as usize);
    }

    /// Returns the seats that win the pot. A pair with the board beats any single card; otherwise the higher rank wins.
    fn winners(&self, s: &State) -> SeatSet {
        let board = s.board.map(|c| self.rank(c));
        let worth = |p: usize| {
            let rank = self.rank(s.cards[p]);
            (board == Some(rank), rank)
        };
        let mut best: u16 = 0;
        if let Some(most) = self.seats_in(s).map(worth).max() {
            // If only one seat is left, it wins with any cards.
            best = self.seats_in(s).filter(|&p| worth(p) == most).fold(0, |set, p| set | 1 << p);
        }
        SeatSet(best)
    }

    /// Returns true at a showdown: the game has ended and more than one seat can win the pot.
    fn showdown(&self, s: &State) -> bool {
        self.over(s) && self.count_in(s) > 1
    }

    fn card(&self, s: &State, who: Viewer) -> Option<u8> {
        match who {
            Viewer::Seat(p) if p < usize::from(s.dealt) => s.cards.get(p).copied(),
            _ => None,
        }
    }

    /// Formats a card for display.
    fn name(&self, card: u8) -> String {
        if self.params.suit_isomorphism { format!("{card}") } else { format!("{card} (rank {})", card / 2) }
    }

    /// Writes one-hot parts for the player, the card and the board; returns the remaining cells of `out`.
    fn head<'a, T: From<u8> + Clone>(&self, s: &State, who: Viewer, out: &'a mut [T]) -> &'a mut [T] {
        let (seat, rest) = out.split_at_mut(self.n);
        let (card, rest) = rest.split_at_mut(self.labels());
        let (board, rest) = rest.split_at_mut(self.labels());
        one_hot(seat, who.seat());
        one_hot(card, self.card(s, who).map(usize::from));
        one_hot(board, s.board.map(usize::from));
        rest
    }
}

impl Game for LeducPoker {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("leduc_poker.j2"),
        players: [2, MOST as u32],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "ismcts sims=3"),
            (2, 1, "ismcts sims=30"),
            (3, 1, "equilibrium"),
            (3, 2, "leduc_honest"),
        ],
        unit: Unit::Duplicate(10),
        ..GameInfo::new("leduc_poker", "Leduc poker", include_str!("leduc_poker.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let Params { players, starting_player, .. } = params;
        if starting_player >= players {
            return Err(ParamError::value("starting_player", starting_player, format!("0 to {}", players - 1)));
        }
        Ok(LeducPoker { n: players as usize, params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let (n, labels, moves) = (self.params.players, self.labels() as u32, 2 * self.most_moves() as u32);
        let most = f64::from(MOST_CHIPS);
        let cards = [("card", labels), ("board", labels)];
        let parts = |more: &[(&'static str, u32)], high| stretches(&[&[("seat", n)][..], &cards, more].concat(), high);
        Facts {
            seats: (0..n).map(|p| format!("p{p}")).collect(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-most, most * f64::from(n - 1)],
            max_length: moves,
            actions: 3,
            max_chance: labels,
            legal: LegalForm::Ids,
            tensor: Some(("observation", parts(&[("chips", n), ("folded", n), ("raises", 1)], most))),
            info: Some(("info", parts(&[("betting", 2 * moves)], 1.0))),
            openspiel: Some(parts(&[("pot_contribution", n)], most)),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State {
            cards: [0; MOST],
            dealt: 0,
            board: None,
            chips: std::array::from_fn(|p| if p < self.n { ANTE } else { 0 }),
            folded: 0,
            seat: self.params.starting_player as u8,
            due: self.n as u8,
            raises: 0,
            moves: [0; 2],
            length: [0; 2],
        }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if usize::from(s.dealt) < self.n {
            ToMove::Chance
        } else if self.over(s) {
            ToMove::Over
        } else if s.due == 0 {
            ToMove::Chance
        } else {
            ToMove::Seat(usize::from(s.seat))
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            let all = self.params.action_mapping;
            (FOLD..=RAISE).filter(|&a| all || self.effect(s, a) == a).for_each(|a| out.put(a));
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        match self.to_move(s) {
            ToMove::Chance if usize::from(s.dealt) < self.n => {
                s.cards[usize::from(s.dealt)] = a as u8;
                s.dealt += 1;
            }
            ToMove::Chance => self.turn_up(s, a as u8),
            ToMove::Seat(_) => self.act(s, a),
            _ => {}
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        if self.to_move(s) == ToMove::Over {
            let pot = f64::from(s.chips.iter().copied().map(u32::from).sum::<u32>());
            let winners = self.winners(s);
            let share = pot / winners.len().max(1) as f64;
            out.iter_mut().zip(&s.chips).for_each(|(r, &chips)| *r = -f64::from(chips));
            winners.iter().for_each(|p| out[p] += share);
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        let turn = self.to_move(s);
        let shown =
            if self.showdown(s) { (0..self.n).map(|p| s.is_in(p).then_some(s.cards[p])).collect() } else { Vec::new() };
        let winners = if turn == ToMove::Over { self.winners(s).iter().map(|p| p as u8).collect() } else { Vec::new() };
        View {
            seat: who.seat().map(|p| p as u8),
            card: self.card(s, who),
            dealt: s.dealt,
            board: s.board,
            moves: [0, 1].map(|round| s.moved(round).filter_map(|m| LETTERS.get(m)).collect()),
            chips: s.chips[..self.n].to_vec(),
            folded: (0..self.n).filter(|&p| !s.is_in(p)).map(|p| p as u8).collect(),
            to_move: turn.seat().map(|p| p as u8),
            shown,
            winners,
        }
    }

    /// Samples uniformly from all deals of the unknown cards; the bets do not affect the probabilities.
    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        let known = |p: usize| {
            let own = view.card.filter(|_| view.seat.map(usize::from) == Some(p));
            own.or_else(|| view.shown.get(p).copied().flatten())
        };
        let whole = 0..2 * (self.n as u8 + 1);
        let mut deck: Vec<u8> = whole.map(|c| if self.params.suit_isomorphism { c / 2 } else { c }).collect();
        for card in (0..self.n).filter_map(known).chain(view.board) {
            if let Some(at) = deck.iter().position(|&c| c == card) {
                deck.swap_remove(at);
            }
        }
        rng.shuffle(&mut deck);
        s.dealt = view.dealt.min(self.n as u8);
        for p in 0..usize::from(s.dealt) {
            s.cards[p] = known(p).or_else(|| deck.pop()).unwrap_or(0);
        }
        for (round, moves) in view.moves.iter().enumerate() {
            if let (1, ToMove::Chance, Some(card)) = (round, self.to_move(&s), view.board) {
                self.turn_up(&mut s, card);
            }
            for a in moves.chars().filter_map(|c| LETTERS.iter().position(|&l| l == c)) {
                if let ToMove::Seat(_) = self.to_move(&s) {
                    self.act(&mut s, a as Action);
                }
            }
        }
        s
    }
}

impl GameMoves for LeducPoker {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let (acts, all) = (self.to_move(s) == ToMove::Seat(seat), self.params.action_mapping);
        for (a, cell) in (FOLD..).zip(out) {
            *cell = u8::from(acts && (all || self.effect(s, a) == a));
        }
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        let dealt = &s.cards[..usize::from(s.dealt)];
        let copies: u64 = if self.params.suit_isomorphism { 2 } else { 1 };
        for card in 0..self.labels() as u8 {
            let gone = dealt.iter().filter(|&&c| c == card).count() as u64;
            out.put(card.into(), copies.saturating_sub(gone));
        }
    }

    /// Returns a call if there is nothing to pay, otherwise a fold.
    fn default_action(&self, s: &State, _seat: Seat) -> Action {
        if s.must_pay() { FOLD } else { CALL }
    }
}

impl GameText for LeducPoker {
    fn outcome_text(&self, _s: &State, a: Action) -> String {
        format!("Chance outcome:{a}")
    }

    fn text(&self, view: &View) -> String {
        let seat = |p: usize| format!("p{p}");
        let mut lines = Vec::new();
        match (view.seat, view.card) {
            (Some(p), Some(card)) => lines.push(format!("You are p{p} and hold card {}.", self.name(card))),
            (Some(p), None) => lines.push(format!("You are p{p} and wait for your card.")),
            (None, _) => lines.push(format!("{} of {} cards are dealt.", view.dealt, self.n)),
        }
        if let Some(card) = view.board {
            lines.push(format!("On the board: card {}", self.name(card)));
        }
        let chips: Vec<String> = view.chips.iter().enumerate().map(|(p, c)| format!("{} {c}", seat(p))).collect();
        lines.push(format!("Chips in the pot: {}", chips.join(", ")));
        for (round, moves) in (1..).zip(&view.moves) {
            let words = moves.chars().filter_map(|c| LETTERS.iter().position(|&l| l == c)).map(|a| MOVES[a]);
            let words: Vec<&str> = words.collect();
            if !words.is_empty() {
                lines.push(format!("Round {round}: {}", words.join(", ")));
            }
        }
        if !view.folded.is_empty() {
            let folded: Vec<String> = view.folded.iter().map(|&p| seat(p.into())).collect();
            lines.push(format!("Folded: {}", folded.join(", ")));
        }
        let shown = view.shown.iter().enumerate();
        let shown: Vec<String> =
            shown.filter_map(|(p, c)| c.map(|c| format!("{} {}", seat(p), self.name(c)))).collect();
        if !shown.is_empty() {
            lines.push(format!("Cards shown: {}", shown.join(", ")));
        }
        lines.push(match (view.to_move, view.winners.as_slice()) {
            (Some(p), _) => format!("p{p} is to move."),
            (None, []) => "The cards are being dealt.".to_owned(),
            (None, [p]) => format!("p{p} takes the pot."),
            (None, some) => {
                let some: Vec<String> = some.iter().map(|&p| seat(p.into())).collect();
                format!("{} share the pot.", some.join(" and "))
            }
        });
        lines.join("\n")
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        MOVES.get(a as usize).copied().unwrap_or("Call").to_owned()
    }

    /// Accepts the displayed names, `f`, `c` and `r`, `check` and `bet`, and action ids.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let a = match text.trim().to_ascii_lowercase().as_str() {
            "fold" | "f" | "0" => FOLD,
            "call" | "check" | "c" | "1" => CALL,
            "raise" | "bet" | "r" | "2" => RAISE,
            _ => return None,
        };
        legal.contains(&a).then_some(a)
    }

    fn why_not(&self, _s: &State, _seat: Seat, a: Action) -> String {
        match a {
            FOLD => "there is nothing to pay: call (check) instead of folding".to_owned(),
            _ => format!("a round has at most {RAISES} raises"),
        }
    }
}

impl GameObservation for LeducPoker {
    /// Hides a seat's card from all other seats; the board and the moves are public.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let to = usize::from(before.dealt);
        match by {
            Mover::Seat(_) => {
                let name = MOVES[self.effect(before, a) as usize];
                EventView { action: Some(a), text: Some(name.to_owned()) }
            }
            Mover::Chance if to >= self.n => {
                EventView { action: Some(a), text: Some(format!("card {} is turned up", self.name(a as u8))) }
            }
            Mover::Chance if who == Viewer::Seat(to) => {
                EventView { action: Some(a), text: Some(format!("card {} is dealt to p{to}", self.name(a as u8))) }
            }
            Mover::Chance => EventView { action: None, text: Some(format!("a card is dealt to p{to}")) },
        }
    }

    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        if !self.showdown(now) {
            return Vec::new();
        }
        let show = |p: usize| {
            let card = now.cards[p];
            (format!("p{p} shows card {}", self.name(card)), json!({ "seat": p, "card": card }))
        };
        self.seats_in(now).map(show).collect()
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let rest = self.head(s, who, out);
        let me = who.seat().unwrap_or(0);
        let (chips, rest) = rest.split_at_mut(self.n);
        let (folded, raises) = rest.split_at_mut(self.n);
        for k in 0..self.n {
            let p = wrap(me + k, self.n);
            chips[k] = s.chips[p];
            folded[k] = u8::from(!s.is_in(p));
        }
        raises.fill(s.raises);
    }

    fn info(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let betting = self.head(s, who, out);
        for (round, cells) in betting.chunks_exact_mut(2 * self.most_moves()).enumerate() {
            cells.fill(0);
            for (pair, a) in cells.chunks_exact_mut(2).zip(s.moved(round)) {
                one_hot(pair, a.checked_sub(CALL as usize));
            }
        }
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        let chips = self.head(s, Viewer::Seat(seat), out);
        chips.iter_mut().zip(&s.chips).for_each(|(cell, &chips)| *cell = f32::from(chips));
    }
}

impl GameDisplay for LeducPoker {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(view)
    }
}

impl GameSearch for LeducPoker {}

impl GameMarks for LeducPoker {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deals `cards`, then plays the letters of `moves`; a digit deals the card on the board.
    fn played(params: &str, cards: &[u32], moves: &str) -> Box<dyn ludex_env::DynState> {
        let mut s = crate::load(&format!("leduc_poker({params})")).unwrap().start();
        cards.iter().for_each(|&c| s.play_chance(c).unwrap());
        for c in moves.chars() {
            match (c.to_digit(10), s.turn()) {
                (Some(card), _) => s.play_chance(card).unwrap(),
                (None, ToMove::Seat(seat)) => {
                    s.play(seat, LETTERS.iter().position(|&l| l == c).unwrap() as Action).unwrap();
                }
                (None, turn) => panic!("{c} at {turn:?}"),
            }
        }
        s
    }

    fn view(s: &dyn ludex_env::DynState, who: Viewer) -> Value {
        s.view(who).value()
    }

    #[test]
    fn fold_reveals_no_cards() {
        let s = played("", &[0, 2], "rf");
        assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![1.0, -1.0]));
        assert!(s.reveals(Viewer::Public).is_empty());
        assert!(view(&*s, Viewer::Seat(1)).get("shown").is_none());
    }

    #[test]
    fn pair_beats_higher_card() {
        let s = played("", &[0, 5], "crc1rrc");
        assert_eq!(s.returns(), [11.0, -11.0]);
        assert_eq!(view(&*s, Viewer::Public)["shown"], json!([0, 5]));
        assert_eq!(s.reveals(Viewer::Public).len(), 2);
    }

    #[test]
    fn equal_ranks_share_pot() {
        let s = played("players=3", &[0, 1, 2], "crfrc3crc");
        assert_eq!(s.returns(), [0.5, 0.5, -1.0]);
        let v = s.view(Viewer::Seat(2));
        assert!(v.text().ends_with("p0 and p1 share the pot."), "{}", v.text());
        assert_eq!(v.value()["shown"], json!([0, 1, null]));
    }

    #[test]
    fn third_raise_and_fold_without_bet_are_illegal() {
        let mut s = played("", &[0, 2], "rr");
        assert!(s.play(0, RAISE).unwrap_err().message.contains("at most 2 raises"));
        let mut s2 = played("", &[0, 2], "");
        assert!(s2.play(0, FOLD).unwrap_err().message.contains("nothing to pay"));
        s.play(0, CALL).unwrap();
        assert_eq!(s.turn(), ToMove::Chance);
    }

    #[test]
    fn action_mapping_turns_illegal_moves_into_calls() {
        let s = played("action_mapping=true", &[0, 2], "frrr");
        assert_eq!(view(&*s, Viewer::Public)["moves"], json!(["crrc", ""]));
        assert_eq!(s.turn(), ToMove::Chance);
    }

    #[test]
    fn starting_player_is_configurable() {
        let s = played("players=3,starting_player=2", &[0, 1, 2], "rfc5");
        assert_eq!(s.turn(), ToMove::Seat(2));
        let s = played("players=3,starting_player=2", &[0, 1, 2], "crcf5");
        assert_eq!(s.turn(), ToMove::Seat(0));
    }

    #[test]
    fn rank_probabilities_follow_remaining_cards() {
        let s = played("suit_isomorphism=true", &[1], "");
        let mut outcomes = Outcomes::new();
        s.chance(&mut outcomes);
        assert_eq!(outcomes.items(), [(0, 2), (1, 1), (2, 2)]);
    }

    #[test]
    fn sampled_cards_are_uniform() {
        let s = played("suit_isomorphism=true", &[1, 0], "cc1");
        let mut rng = Stream::from_text("leduc worlds");
        let view = s.view(Viewer::Seat(0));
        let other = |rng: &mut Stream| view.world(rng).view(Viewer::Seat(1)).value()["card"].as_u64().unwrap();
        let cards: Vec<u64> = (0..2_000).map(|_| other(&mut rng)).collect();
        let low = cards.iter().filter(|&&c| c == 0).count();
        assert!((900..1_100).contains(&low) && !cards.contains(&1), "{low}");
    }

    #[test]
    fn error_identifies_the_invalid_parameter() {
        for params in ["players=1", "players=11", "starting_player=2"] {
            let error = crate::load(&format!("leduc_poker({params})")).err().unwrap();
            assert_eq!(error.name.as_deref(), params.split('=').next());
        }
    }
}
