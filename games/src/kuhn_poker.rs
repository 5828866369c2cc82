#![doc = include_str!("kuhn_poker.md")]

mod picture;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Mover, Outcomes, Seat, ToMove, Unit, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::Picture;
use ludex_env::tensor::{one_hot, stretches, wrap};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

/// Kuhn poker with a fixed number of seats.
pub struct KuhnPoker {
    params: Params,
    /// Number of seats; the deck has one card more than seats.
    n: usize,
}

/// Parameters of the game.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of seats, 2 to 10; the deck has one card more than seats.
    #[schemars(range(min = 2, max = 10))]
    pub players: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { players: 2 }
    }
}

const MOST: usize = 10;

/// A position: cards in the order of the deal, then passes and bets as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    cards: [u8; MOST],
    dealt: u8,
    /// Number of passes and bets so far.
    length: u8,
    /// Bit i is set if move i was a bet.
    bets: u32,
}

/// Information visible to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// The observer's card; absent until it is dealt. The highest card wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<u8>,
    /// Number of dealt cards.
    pub dealt: u8,
    /// Moves in order, starting with seat 0: `p` is a pass, `b` is a bet.
    pub bets: String,
    /// Chips in the pot, by seat.
    pub chips: Vec<u8>,
    /// The seat to move; absent during the deal and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// The cards revealed at a showdown, by seat; null for a seat that folded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Option<u8>>,
    /// The seat that wins the pot; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<u8>,
}

const MOVES: [&str; 2] = ["Pass", "Bet"];

impl State {
    fn first_bet(&self) -> Option<usize> {
        (self.bets != 0).then(|| self.bets.trailing_zeros() as usize)
    }

    fn bet(&self, i: usize) -> u8 {
        (self.bets.checked_shr(i as u32).unwrap_or(0) & 1) as u8
    }
}

impl KuhnPoker {
    /// Returns the total number of moves of the episode. Without a bet each seat moves once; after a bet, the seats
    /// before the first bettor move once more.
    fn due(&self, s: &State) -> usize {
        self.n + s.first_bet().unwrap_or(0)
    }

    fn over(&self, s: &State) -> bool {
        usize::from(s.length) >= self.due(s)
    }

    /// Returns the chips that `seat` has put into the pot: the ante, plus one chip for a bet.
    fn chips(&self, s: &State, seat: usize) -> u8 {
        1 + s.bet(seat) + s.bet(self.n + seat)
    }

    /// Returns true if `seat` can still win the pot: it has bet, or no seat has bet.
    fn stays(&self, s: &State, seat: usize) -> bool {
        s.bets == 0 || self.chips(s, seat) > 1
    }

    fn winner(&self, s: &State) -> usize {
        (0..self.n).filter(|&p| self.stays(s, p)).max_by_key(|&p| s.cards[p]).unwrap_or(0)
    }

    /// Returns true at a showdown: the game has ended and more than one seat can win the pot.
    fn showdown(&self, s: &State) -> bool {
        self.over(s) && (0..self.n).filter(|&p| self.stays(s, p)).count() > 1
    }

    fn card(&self, s: &State, who: Viewer) -> Option<u8> {
        match who {
            Viewer::Seat(p) if p < usize::from(s.dealt) => s.cards.get(p).copied(),
            _ => None,
        }
    }
}

impl Game for KuhnPoker {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("kuhn_poker.j2"),
        players: [2, MOST as u32],
        presets: &[("gtbench", "{}", "GTBench's game: the defaults")],
        ladder: &[(0, 1, "random"), (1, 1, "cfr rounds=4"), (2, 1, "equilibrium")],
        unit: Unit::Duplicate(6),
        ..GameInfo::new("kuhn_poker", "Kuhn poker", include_str!("kuhn_poker.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        Ok(KuhnPoker { n: params.players as usize, params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let n = self.params.players;
        Facts {
            seats: (0..n).map(|p| format!("p{p}")).collect(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-2.0, f64::from(2 * (n - 1))],
            max_length: 2 * n - 1,
            actions: 2,
            max_chance: n + 1,
            legal: LegalForm::Ids,
            tensor: Some(("observation", stretches(&[("card", n + 1), ("seat", n), ("chips", n)], 2.0))),
            info: Some(("info", stretches(&[("seat", n), ("card", n + 1), ("betting", 2 * (2 * n - 1))], 1.0))),
            openspiel: Some(stretches(&[("player", n), ("private_card", n + 1), ("pot_contribution", n)], 2.0)),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State { cards: [0; MOST], dealt: 0, length: 0, bets: 0 }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if usize::from(s.dealt) < self.n {
            ToMove::Chance
        } else if self.over(s) {
            ToMove::Over
        } else {
            ToMove::Seat(wrap(s.length.into(), self.n))
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            out.put(0);
            out.put(1);
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        if usize::from(s.dealt) < self.n {
            s.cards[usize::from(s.dealt)] = a as u8;
            s.dealt += 1;
            return;
        }
        s.bets |= (a & 1).checked_shl(u32::from(s.length)).unwrap_or(0);
        s.length = s.length.saturating_add(1);
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        if self.to_move(s) == ToMove::Over {
            let mut pot = 0.0;
            for (p, r) in out.iter_mut().enumerate() {
                let chips = f64::from(self.chips(s, p));
                *r = -chips;
                pot += chips;
            }
            out[self.winner(s)] += pot;
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        let turn = self.to_move(s);
        let shown = if self.showdown(s) {
            (0..self.n).map(|p| self.stays(s, p).then_some(s.cards[p])).collect()
        } else {
            Vec::new()
        };
        View {
            seat: who.seat().map(|p| p as u8),
            card: self.card(s, who),
            dealt: s.dealt,
            bets: (0..usize::from(s.length)).map(|i| if s.bet(i) == 1 { 'b' } else { 'p' }).collect(),
            chips: (0..self.n).map(|p| self.chips(s, p)).collect(),
            to_move: turn.seat().map(|p| p as u8),
            shown,
            winner: (turn == ToMove::Over).then(|| self.winner(s) as u8),
        }
    }

    /// Samples uniformly from all deals of the unknown cards; the bets do not affect the probabilities.
    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        s.dealt = view.dealt.min(self.n as u8);
        for (i, c) in view.bets.chars().take(2 * self.n - 1).enumerate() {
            s.bets |= u32::from(c == 'b') << i;
            s.length += 1;
        }
        let known = |p: usize| {
            let own = view.card.filter(|_| view.seat.map(usize::from) == Some(p));
            own.or_else(|| view.shown.get(p).copied().flatten())
        };
        let held: Vec<u8> = (0..self.n).filter_map(known).collect();
        let mut rest: Vec<u8> = (0..=self.n as u8).filter(|c| !held.contains(c)).collect();
        rng.shuffle(&mut rest);
        for p in 0..usize::from(s.dealt) {
            s.cards[p] = known(p).or_else(|| rest.pop()).unwrap_or(0);
        }
        s
    }
}

impl GameMoves for KuhnPoker {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        if let [pass, bet] = out {
            *pass = u8::from(self.to_move(s) == ToMove::Seat(seat));
            *bet = *pass;
        }
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        let dealt = s.cards[..usize::from(s.dealt)].iter().fold(0, |set, card| set | 1 << card);
        out.uniform((0..self.n as u32 + 1).filter(|c| dealt >> c & 1 == 0));
    }
}

impl GameText for KuhnPoker {
    fn outcome_text(&self, _s: &State, a: Action) -> String {
        format!("Deal:{a}")
    }

    fn text(&self, view: &View) -> String {
        let seat = |p: usize| format!("p{p}");
        let mut lines = Vec::new();
        match (view.seat, view.card) {
            (Some(p), Some(card)) => lines.push(format!("You are p{p} and hold card {card} of 0 to {}.", self.n)),
            (Some(p), None) => lines.push(format!("You are p{p} and wait for your card.")),
            (None, _) => lines.push(format!("{} of {} cards are dealt.", view.dealt, self.n)),
        }
        let chips: Vec<String> = view.chips.iter().enumerate().map(|(p, c)| format!("{} {c}", seat(p))).collect();
        lines.push(format!("Chips in the pot: {}", chips.join(", ")));
        let moves = view.bets.chars().enumerate();
        let moves: Vec<String> =
            moves.map(|(i, c)| format!("{} {}", seat(i % self.n), MOVES[usize::from(c == 'b')])).collect();
        if !moves.is_empty() {
            lines.push(format!("Moves: {}", moves.join(", ")));
        }
        let shown = view.shown.iter().enumerate();
        let shown: Vec<String> = shown.filter_map(|(p, c)| c.map(|c| format!("{} {c}", seat(p)))).collect();
        if !shown.is_empty() {
            lines.push(format!("Cards shown: {}", shown.join(", ")));
        }
        match (view.to_move, view.winner) {
            (Some(p), _) => lines.push(format!("p{p} is to move.")),
            (None, Some(p)) => lines.push(format!("p{p} takes the pot.")),
            (None, None) => lines.push("The cards are being dealt.".to_owned()),
        }
        lines.join("\n")
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        MOVES[(a & 1) as usize].to_owned()
    }

    /// Accepts the displayed names, `p` and `b`, the poker terms `check` and `fold` for a pass and `call` for a bet,
    /// and action ids.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let a = match text.trim().to_ascii_lowercase().as_str() {
            "pass" | "p" | "check" | "fold" | "0" => 0,
            "bet" | "b" | "call" | "1" => 1,
            _ => return None,
        };
        legal.contains(&a).then_some(a)
    }
}

impl GameObservation for KuhnPoker {
    /// Hides a dealt card from all seats except its owner.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let to = usize::from(before.dealt);
        match by {
            Mover::Seat(_) => EventView { action: Some(a), text: Some(MOVES[(a & 1) as usize].to_owned()) },
            Mover::Chance if who == Viewer::Seat(to) => {
                EventView { action: Some(a), text: Some(format!("card {a} is dealt to p{to}")) }
            }
            Mover::Chance => EventView { action: None, text: Some(format!("a card is dealt to p{to}")) },
        }
    }

    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        if !self.showdown(now) {
            return Vec::new();
        }
        let staying = (0..self.n).filter(|&p| self.stays(now, p));
        let show = |p: usize| (format!("p{p} shows card {}", now.cards[p]), json!({ "seat": p, "card": now.cards[p] }));
        staying.map(show).collect()
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let (cards, rest) = out.split_at_mut(self.n + 1);
        let (seats, chips) = rest.split_at_mut(self.n);
        one_hot(cards, self.card(s, who).map(usize::from));
        one_hot(seats, who.seat());
        let me = who.seat().unwrap_or(0);
        for (k, c) in chips.iter_mut().enumerate() {
            *c = self.chips(s, wrap(me + k, self.n));
        }
    }

    fn info(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let (seat, rest) = out.split_at_mut(self.n);
        let (card, betting) = rest.split_at_mut(self.n + 1);
        one_hot(seat, who.seat());
        one_hot(card, self.card(s, who).map(usize::from));
        for (i, pair) in betting.chunks_exact_mut(2).enumerate() {
            let done = i < usize::from(s.length);
            one_hot(pair, done.then(|| usize::from(s.bet(i))));
        }
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        let card = self.card(s, Viewer::Seat(seat)).map(|c| self.n + usize::from(c));
        for i in [Some(seat), card].into_iter().flatten() {
            if let Some(cell) = out.get_mut(i) {
                *cell = 1.0;
            }
        }
        for p in 0..self.n {
            out[2 * self.n + 1 + p] = f32::from(self.chips(s, p));
        }
    }
}

impl GameDisplay for KuhnPoker {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(view)
    }
}

impl GameSearch for KuhnPoker {}

impl GameMarks for KuhnPoker {}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(players: u32, cards: &[u32], moves: &str) -> (KuhnPoker, State) {
        let game = KuhnPoker::new(Params { players }).unwrap();
        let mut s = game.start();
        cards.iter().for_each(|&c| game.play_unchecked(&mut s, c));
        moves.chars().for_each(|c| game.play_unchecked(&mut s, u32::from(c == 'b')));
        (game, s)
    }

    #[test]
    fn fold_reveals_no_cards() {
        let (game, s) = played(2, &[0, 2], "bp");
        assert_eq!(game.to_move(&s), ToMove::Over);
        assert!(game.reveals(&s, Viewer::Public).is_empty());
        assert!(game.view(&s, Viewer::Seat(1)).shown.is_empty());
    }

    #[test]
    fn showdown_reveals_remaining_hands() {
        let (game, s) = played(3, &[0, 1, 3], "bpb");
        assert_eq!(game.view(&s, Viewer::Public).shown, [Some(0), None, Some(3)]);
        assert_eq!(game.reveals(&s, Viewer::Public).len(), 2);
        let mut r = [0.0; 3];
        game.returns(&s, &mut r);
        assert_eq!(r, [-2.0, -1.0, 3.0]);
    }

    #[test]
    fn sampled_cards_are_uniform() {
        let (game, s) = played(2, &[1, 0], "b");
        let view = game.view(&s, Viewer::Seat(0));
        let mut rng = Stream::from_text("kuhn worlds");
        let low = (0..2_000).filter(|_| game.sample_world(&view, &mut rng).cards[1] == 0).count();
        assert!((900..1_100).contains(&low), "{low}");
    }

    #[test]
    fn sampling_from_forged_view_does_not_panic() {
        let (game, s) = played(2, &[1, 0], "b");
        let mut view = game.view(&s, Viewer::Seat(0));
        (view.card, view.dealt, view.seat) = (Some(200), 99, Some(77));
        view.bets = "b".repeat(500);
        view.shown = vec![Some(3); 60];
        let w = game.sample_world(&view, &mut Stream::from_text("forged"));
        let again = game.view(&w, Viewer::Seat(0));
        assert!(game.text(&again).contains("takes the pot"));
    }
}
