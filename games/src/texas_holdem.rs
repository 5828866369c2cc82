#![doc = include_str!("texas_holdem.md")]

use serde_json::{Value, json};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, Alias, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Marks, Mover, Outcomes, ParsedMove, Seat, ToMove, Unit, Viewer,
};
use ludex_env::params::ParamError;
use ludex_env::picture::Picture;
use ludex_protocol::error::Issue;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

mod analyze;
mod arrays;
mod deal;
mod marks;
mod picture;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod words;

use deal::{CALL, Deal, FOLD, LegalIds, NextStep};
pub use table::{Abstraction, Betting, Params, Score};
use table::{PokerTable, SEATS};
pub use view::{HandView, MoveView, View};

/// Texas hold'em at a poker table with fixed stakes, bets, and number of hands.
pub struct TexasHoldem {
    params: Params,
    table: PokerTable,
}

/// Minimum number of legal action ids that are sent as ranges instead of a list.
const MANY: u32 = 512;

/// A position of a match: the current hand and all earlier hands.
#[derive(Debug)]
pub struct State {
    now: Deal,
    past: Vec<Deal>,
    /// The seat of position 0 in the first hand; `None` until it is drawn.
    first: Option<u8>,
    /// Chips won in finished hands, by seat.
    total: [f64; SEATS],
}

impl Clone for State {
    fn clone(&self) -> Self {
        State { now: self.now.clone(), past: self.past.clone(), first: self.first, total: self.total }
    }

    fn clone_from(&mut self, other: &Self) {
        self.now.clone_from(&other.now);
        self.past.clone_from(&other.past);
        (self.first, self.total) = (other.first, other.total);
    }
}

impl State {
    fn new(t: &PokerTable) -> State {
        let first = (!t.random_seats).then_some(0);
        State { now: Deal::new(t), past: Vec::new(), first, total: [0.0; SEATS] }
    }

    /// Returns the seat of position 0 in hand `k`, counted from 0.
    fn shift(&self, t: &PokerTable, k: usize) -> Option<Seat> {
        self.first.map(|first| (usize::from(first) + k) % t.n)
    }
}

impl TexasHoldem {
    fn seat_at(&self, s: &State, position: usize) -> Seat {
        (position + s.shift(&self.table, s.past.len()).unwrap_or(0)) % self.table.n
    }

    fn options(&self, s: &State, seat: Seat) -> LegalIds {
        if self.to_move(s) == ToMove::Seat(seat) { s.now.options(&self.table) } else { LegalIds::default() }
    }

    /// Adds the chips of a finished hand to the totals, and starts the next hand.
    fn settle(&self, s: &mut State) {
        let t = &self.table;
        if s.now.next(t) != NextStep::Over {
            return;
        }
        let won = s.now.won(t);
        (0..t.n).for_each(|p| s.total[self.seat_at(s, p)] += won[p]);
        if s.past.len() + 1 < t.hands {
            let done = std::mem::replace(&mut s.now, Deal::new(t));
            s.past.push(done);
        }
    }

    /// Converts the chips won over all hands to the configured score.
    fn paid(&self, chips: f64) -> f64 {
        match self.table.score {
            Score::Chips => chips,
            Score::Blinds => ((2.0 * chips / f64::from(self.table.big_blind)) as i64) as f64 / 2.0,
        }
    }
}

impl Game for TexasHoldem {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("texas_holdem.j2"),
        players: [2, SEATS as u32],
        presets: &[
            (
                "hunl_fcpa",
                r#"{"betting":"nolimit","bettingAbstraction":"fcpa"}"#,
                "OpenSpiel's heads-up no-limit: the defaults, 200 big blinds; fold, call, pot, all-in",
            ),
            (
                "hunl_fullgame",
                r#"{"betting":"nolimit","bettingAbstraction":"fullgame"}"#,
                "OpenSpiel's heads-up no-limit with all bet sizes: 20,001 action ids",
            ),
            (
                "limit",
                r#"{"betting":"limit","blind":[10,5],"raiseSize":[10,10,20,20],"maxRaises":[3,4,4,4]}"#,
                "heads-up limit as in the ACPC and OpenSpiel: blinds 10 and 5, bets 10 and 20",
            ),
            (
                "llmarena",
                r#"{"bettingAbstraction":"rlcard","blind":[1,2],"firstPlayer":[1,1,1,1],"stack":[100,100],"randomSeats":true}"#,
                "LLMArena's, from PettingZoo and RLCard: one hand, 100 chips, blinds 1 and 2, five actions",
            ),
            (
                "botzone",
                r#"{"bettingAbstraction":"botzone","blind":[50,100],"firstPlayer":[1,1,1,1],"stack":[20000,20000],"randomSeats":true,"hands":20,"score":"blinds"}"#,
                "Botzone's TexasHoldem2p: 20 hands of 20,000 chips, blinds 50 and 100, integers as actions",
            ),
            (
                "botzonebench",
                r#"{"bettingAbstraction":"botzone","blind":[50,100],"firstPlayer":[1,1,1,1],"stack":[20000,20000],"randomSeats":true,"hands":20,"score":"blinds"}"#,
                "BotzoneBench's settings of Botzone's game: 20 hands",
            ),
        ],
        aliases: &[Alias { name: "universal_poker", map: table::universal }],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "pot_odds slips=0.2"),
            (2, 1, "pot_odds"),
            (2, 2, "hand_strength"),
            (3, 1, "hand_ranges"),
        ],
        unit: Unit::Duplicate(25),
        marks: marks::DOCS,
        ..GameInfo::new("texas_holdem", "Texas hold'em", include_str!("texas_holdem.md"))
    };

    fn new(mut params: Params) -> Result<Self, ParamError> {
        let table = PokerTable::new(&mut params)?;
        Ok(TexasHoldem { params, table })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let t = &self.table;
        let (lost, won) = t.swing();
        let all = |chips: u32| self.paid(f64::from(chips) * t.hands as f64);
        Facts {
            seats: (0..t.n).map(|p| format!("p{p}")).collect(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: if t.score == Score::Chips || t.n == 2 { Utility::ZeroSum } else { Utility::GeneralSum },
            rewards: if t.hands == 1 { RewardModel::Terminal } else { RewardModel::Step },
            returns: [-all(lost), all(won)],
            max_length: t.length().saturating_mul(t.hands as u32),
            actions: t.actions(),
            max_chance: u32::from(t.deck).max(if t.random_seats { t.n as u32 } else { 0 }),
            legal: if t.actions() > MANY { LegalForm::Ranges } else { LegalForm::Ids },
            tensor: Some(("observation", self.observation_spec())),
            info: self.info_spec().map(|spec| ("info", spec)),
            openspiel: Some(self.openspiel_spec()),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State::new(&self.table)
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if self.table.draws(s) {
            return ToMove::Chance;
        }
        match s.now.next(&self.table) {
            NextStep::Card => ToMove::Chance,
            NextStep::Move(p) => ToMove::Seat(self.seat_at(s, p)),
            NextStep::Over => ToMove::Over,
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        let o = self.options(s, seat);
        o.few.into_iter().for_each(|a| out.put(a));
        if let Some((low, high)) = o.range {
            (low..=high).for_each(|a| out.put(a));
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        let t = &self.table;
        if t.draws(s) {
            s.first = Some((a % t.n as u32) as u8);
            return;
        }
        match s.now.next(t) {
            NextStep::Card => s.now.deal(t, a),
            NextStep::Move(_) => s.now.act(t, a),
            NextStep::Over => return,
        }
        self.settle(s);
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.iter_mut().zip(&s.total).for_each(|(out, &chips)| *out = self.paid(chips));
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        self.look(s, who)
    }

    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        self.consistent_state(view, rng)
    }
}

impl GameMoves for TexasHoldem {
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let o = self.options(s, seat);
        out.fill(0);
        let range = o.range.map_or(0..0, |(low, high)| low as usize..high as usize + 1);
        if let Some(cells) = out.get_mut(range) {
            cells.fill(1);
        }
        for a in o.few {
            if let Some(cell) = out.get_mut(a as usize) {
                *cell = 1;
            }
        }
    }

    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        self.options(s, seat).has(a)
    }

    #[inline]
    fn random_action(&self, s: &State, seat: Seat, rng: &mut Stream) -> Action {
        let o = self.options(s, seat);
        o.nth(rng.below(o.count())).unwrap_or(CALL)
    }

    /// Returns a fold if it is legal, otherwise a check.
    fn default_action(&self, s: &State, seat: Seat) -> Action {
        if self.is_legal(s, seat, FOLD) { FOLD } else { CALL }
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        let t = &self.table;
        if t.draws(s) {
            return out.uniform(0..t.n as u32);
        }
        let c = &s.now.chips;
        let held = c.cards[..usize::from(c.dealt)].iter().fold(0u64, |set, &k| set | 1 << k);
        out.uniform((0..u32::from(t.deck)).filter(|k| held >> k & 1 == 0));
    }
}

impl GameText for TexasHoldem {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        if self.table.draws(s) { format!("First p{a}") } else { format!("Deal {}", self.table.name(a as u8)) }
    }

    fn text(&self, view: &View) -> String {
        self.words(view)
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        self.name(a)
    }

    /// Accepts the displayed names, poker terms, and bet sizes in many forms; see the manual.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        self.id(legal, text).filter(|a| legal.binary_search(a).is_ok())
    }

    fn why_not_text(&self, s: &State, seat: Seat, text: &str) -> String {
        let mut legal = Vec::new();
        self.legal(s, seat, &mut legal);
        match self.id(&legal, text) {
            Some(a) => self.refusal(&s.now, a),
            None => format!("{text:?} is not an action; expected a name such as {}", self.words_of(&legal)),
        }
    }

    fn why_not(&self, s: &State, _seat: Seat, a: Action) -> String {
        self.refusal(&s.now, a)
    }
}

impl GameObservation for TexasHoldem {
    /// Hides hole cards from all seats except their owner; the board and the moves are public.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let t = &self.table;
        let open = |text: String| EventView { action: Some(a), text: Some(text) };
        match by {
            Mover::Seat(_) => open(self.name(a)),
            Mover::Chance if t.draws(before) => open(format!("p{a} sits first")),
            Mover::Chance => {
                let (dealt, card) = (before.now.chips.dealt, t.name(a as u8));
                if dealt >= t.holes {
                    return open(format!("{card} is dealt to the board"));
                }
                let to = self.seat_at(before, usize::from(dealt / t.hole));
                match who == Viewer::Seat(to) {
                    true => open(format!("{card} is dealt to p{to}")),
                    false => EventView { action: None, text: Some(format!("a card is dealt to p{to}")) },
                }
            }
        }
    }

    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        let t = &self.table;
        // A finished hand is the newest entry of `past`. Only the final hand of the match stays in `now`.
        let fresh = now.now.chips.dealt == 0 && !now.past.is_empty();
        let (d, k) =
            if fresh { (&now.past[now.past.len() - 1], now.past.len() - 1) } else { (&now.now, now.past.len()) };
        if !d.showdown(t) {
            return Vec::new();
        }
        let shift = now.shift(t, k).unwrap_or(0);
        let show = |seat: Seat| {
            let p = (seat + t.n - shift) % t.n;
            let cards = t.names(d.hole(t, p));
            let text = format!("p{seat} shows {}", cards.join(" "));
            d.chips.in_hand(p).then(|| (text, json!({ "seat": seat, "cards": cards })))
        };
        (0..t.n).filter_map(show).collect()
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.observe(s, who, out);
    }

    fn info(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.recall(s, who, out);
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        self.observe_as_openspiel(s, seat, out);
    }
}

impl GameDisplay for TexasHoldem {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    fn drawing(&self, view: &View, _from: Viewer) -> String {
        self.verbose_text(view)
    }

    fn gloss(&self, view: &View, _seat: Seat, a: Action) -> String {
        self.chips_of(view, a)
    }
}

impl GameSearch for TexasHoldem {}

impl GameMarks for TexasHoldem {
    fn marks(&self, before: &State, joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        self.count(before, joint, after, out);
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        analyze::answer(question).map_err(|message| Issue { message, ..Issue::default() })
    }
}
