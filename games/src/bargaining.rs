#![doc = include_str!("bargaining.md")]

mod picture;
mod speech;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Marks, Mover, Outcomes, ParsedMove, Seat, ToMove, Unit, Viewer,
};
use ludex_env::params::{ParamError, rows};
use ludex_env::picture::Picture;
use ludex_env::tensor::stretches;
use ludex_protocol::error::Issue;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, TensorSpec, Utility};

use crate::division_marks;
use crate::quote::quoted;

/// The game with its parameters and all instances.
pub struct Bargaining {
    params: Params,
    /// Probability that the game ends after an offer, in units of 2^-53; 0 if chance never ends the game.
    end: u64,
    pools: Vec<Pool>,
    /// Number of each item that the proposer would keep, by offer id.
    offers: Vec<PerItem>,
    /// Position after all chance draws, if the parameters fix the instance.
    given: Option<State>,
}

/// Parameters of the negotiation and its notation.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Maximum number of offers, 1 to 40. The game ends with the last offer, which cannot be accepted. Without an
    /// agreement, both seats get 0.
    #[schemars(range(min = 1, max = 40))]
    pub max_turns: u32,
    /// Factor by which each offer after the first reduces the returns, above 0 and at most 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub discount: f64,
    /// Probability that the game ends without agreement after an offer, at least 0 and below 1. Applies to the second
    /// and later offers.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub prob_end: f64,
    /// Formula for a seat's return.
    pub reward: Reward,
    /// Names of the items.
    pub items: Items,
    /// If true, a move may include a message.
    pub talk: bool,
    /// A fixed instance: the pool, seat 0's values and seat 1's values, such as `1 1 3;3 7 0;1 6 1`. Default: chance
    /// draws the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// OpenSpiel's parameter. Must be empty, because chance draws the instances.
    #[serde(skip_serializing)]
    pub instances_file: String,
    /// OpenSpiel's parameter, without effect: chance draws from all possible instances.
    #[serde(skip_serializing)]
    pub max_num_instances: u32,
}

/// Formula for a seat's return.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reward {
    /// The value of the seat's own share.
    Own,
    /// The value of the seat's own share minus the opponent's value of the opponent's share.
    Difference,
}

/// Names of the items.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Items {
    /// OpenSpiel's names: Book, Hat, Basketball.
    BookHatBasketball,
    /// LLMArena's names: Hat, Ball, Apple.
    HatBallApple,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            max_turns: 10,
            discount: 1.0,
            prob_end: 0.0,
            reward: Reward::Own,
            items: Items::BookHatBasketball,
            talk: false,
            instance: None,
            instances_file: String::new(),
            max_num_instances: 1_000,
        }
    }
}

/// A number for each of the three items.
type PerItem = [u8; 3];

/// An item pool and the value lists that are possible with it.
struct Pool {
    counts: PerItem,
    /// Value lists that make the pool worth 10, each with the number of compatible lists for the other seat.
    values: Vec<(PerItem, u64)>,
}

const MOST_TURNS: usize = 40;
/// Maximum total number of items in a pool.
const MOST_ITEMS: u8 = 7;
/// Value of the whole pool to each seat.
const WORTH: u32 = 10;
/// Action that accepts the last offer. All lower ids are offers.
const AGREE: Action = 120;
/// Chance outcome: the game continues.
const CONTINUE: Action = 1_000;
/// Chance outcome: the game ends.
const END: Action = 1_001;
/// Sum of the weights of [`CONTINUE`] and [`END`]: weights are probabilities in units of 2^-53.
const WHOLE: u64 = 1 << 53;

/// The current phase of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Chance draws the pool.
    Pool,
    /// Chance draws the values of seat 0.
    First,
    /// Chance draws the values of seat 1.
    Second,
    /// A seat makes an offer or agrees.
    Offer,
    /// Chance ends or continues the game.
    Chance,
    /// The game ended with an agreement.
    Agreed,
    /// The game ended without an agreement.
    Failed,
}

/// A position of the negotiation.
#[derive(Debug, PartialEq)]
pub struct State {
    pool: PerItem,
    values: [PerItem; 2],
    /// Action ids of the offers so far, in order.
    offers: [u8; MOST_TURNS],
    made: u8,
    phase: Phase,
    /// Messages sent with moves, oldest first.
    words: Vec<Words>,
}

impl Clone for State {
    fn clone(&self) -> Self {
        State { words: self.words.clone(), ..*self }
    }

    fn clone_from(&mut self, other: &Self) {
        let mut words = std::mem::take(&mut self.words);
        words.clone_from(&other.words);
        *self = State { words, ..*other };
    }
}

/// A message that was sent with a move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Words {
    /// Index of the move, from 0.
    pub turn: u8,
    /// The text of the message.
    pub text: String,
}

/// The information available to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Number of each item in the pool, once drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PerItem>,
    /// Value of one unit of each item to the observer, once drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<PerItem>,
    /// Offers in order, alternating from seat 0. An offer is the number of each item that the proposer would keep.
    pub offers: Vec<PerItem>,
    /// The current phase of the game.
    pub phase: Phase,
    /// The seat to move; absent at chance nodes and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// Messages sent with moves, oldest first. Seat 0 makes the moves with even indexes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Words>,
    /// Values of both seats, revealed at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<[PerItem; 2]>,
}

fn dot(counts: &PerItem, values: &PerItem) -> u32 {
    counts.iter().zip(values).map(|(&n, &v)| u32::from(n) * u32::from(v)).sum()
}

/// Iterates over all lists of three numbers from 0 to `most`; the first number varies fastest.
fn threes(most: u8) -> impl Iterator<Item = PerItem> {
    let each = move || 0..=most;
    each().flat_map(move |c| each().flat_map(move |b| each().map(move |a| [a, b, c])))
}

/// Returns true if two value lists are compatible: each item has a value for at least one seat, and at least one item
/// has a value for both seats.
fn compatible(a: &PerItem, b: &PerItem) -> bool {
    let mut pairs = a.iter().zip(b);
    pairs.clone().all(|(&a, &b)| a > 0 || b > 0) && pairs.any(|(&a, &b)| a > 0 && b > 0)
}

/// Returns all pools of 5 to 7 items that contain each kind, with the value lists that make the pool worth 10.
fn pools() -> Vec<Pool> {
    let counts = threes(MOST_ITEMS).filter(|n| n.iter().all(|&n| n > 0) && (5..=7).contains(&n.iter().sum::<u8>()));
    let pool = |counts: PerItem| {
        let worth: Vec<PerItem> = threes(WORTH as u8).filter(|v| dot(&counts, v) == WORTH).collect();
        let partners = |a: &PerItem| worth.iter().filter(|b| compatible(a, b)).count() as u64;
        Pool { counts, values: worth.iter().map(|a| (*a, partners(a))).collect() }
    };
    counts.map(pool).collect()
}

impl Bargaining {
    fn over(&self, s: &State) -> bool {
        matches!(s.phase, Phase::Agreed | Phase::Failed)
    }

    fn offer(&self, id: u32) -> PerItem {
        self.offers.get(id as usize).copied().unwrap_or_default()
    }

    fn id(&self, kept: &PerItem) -> Option<Action> {
        self.offers.iter().position(|o| o == kept).map(|i| i as Action)
    }

    fn past_offers<'a>(&'a self, s: &'a State) -> impl DoubleEndedIterator<Item = PerItem> + 'a {
        s.offers[..usize::from(s.made)].iter().map(|&id| self.offer(id.into()))
    }

    fn fits(&self, s: &State, a: Action) -> bool {
        a < AGREE && self.offer(a).iter().zip(&s.pool).all(|(q, have)| q <= have)
    }

    fn pool_of(&self, s: &State) -> Option<&Pool> {
        self.pools.iter().find(|p| p.counts == s.pool)
    }

    fn instance(&self, text: &str) -> Option<State> {
        let rows: Vec<PerItem> = rows(text)?.into_iter().map(|row| row.try_into().ok()).collect::<Option<_>>()?;
        let &[pool, first, second] = &rows[..] else { return None };
        let values = [first, second];
        let good = pool.iter().map(|&n| u32::from(n)).sum::<u32>() <= MOST_ITEMS.into()
            && values.iter().all(|v| dot(&pool, v) <= WORTH && v.iter().all(|&v| u32::from(v) <= WORTH));
        good.then(|| State { pool, values, phase: Phase::Offer, ..self.start() })
    }

    /// Plays an offer or the acceptance for the seat to move, with an optional message.
    fn act(&self, s: &mut State, a: Action, say: Option<&str>) {
        if let Some(text) = say {
            s.words.push(Words { turn: s.made, text: text.to_owned() });
        }
        if a >= AGREE {
            s.phase = if s.made > 0 { Phase::Agreed } else { s.phase };
            return;
        }
        if let Some(place) = s.offers.get_mut(usize::from(s.made)) {
            *place = a as u8;
            s.made += 1;
        }
        s.phase = match u32::from(s.made) {
            n if n >= self.params.max_turns => Phase::Failed,
            n if n >= 2 && self.end > 0 => Phase::Chance,
            _ => Phase::Offer,
        };
    }

    fn names(&self) -> [&'static str; 3] {
        match self.params.items {
            Items::BookHatBasketball => ["Book", "Hat", "Basketball"],
            Items::HatBallApple => ["Hat", "Ball", "Apple"],
        }
    }

    /// Formats one number per item with the item names, such as `Book: 1, Hat: 0, Basketball: 2`.
    fn list(&self, numbers: &PerItem) -> String {
        let named = self.names().into_iter().zip(numbers).map(|(name, n)| format!("{name}: {n}"));
        named.collect::<Vec<_>>().join(", ")
    }

    fn move_text(&self, a: Action) -> String {
        if a >= AGREE { "Agree".to_owned() } else { format!("Offer: {}", self.list(&self.offer(a))) }
    }

    /// Returns the layout of an observation array. `shown` lists the names of the offer slots.
    fn parts(&self, shown: &[String]) -> TensorSpec {
        let numbers = 3 * (u32::from(MOST_ITEMS) + 1);
        let mut parts =
            vec![("agreed", 1), ("number", self.params.max_turns + 1), ("pool", numbers), ("values", 3 * (WORTH + 1))];
        parts.extend(shown.iter().map(|name| (name.as_str(), numbers)));
        stretches(&parts, 1.0)
    }

    /// Returns the names of the offer slots in the perfect-recall array.
    fn all_offers(&self) -> Vec<String> {
        (1..=self.params.max_turns).map(|k| format!("offer_{k}")).collect()
    }

    /// Writes OpenSpiel's array. The array contains all offers if `all` is true, otherwise only the last offer. At
    /// chance nodes, all cells are zero.
    fn encode<T: From<u8> + Clone>(&self, s: &State, who: Viewer, all: bool, out: &mut [T]) {
        out.fill(T::from(0));
        if self.to_move(s) == ToMove::Chance {
            return;
        }
        let mut at = 0;
        let mut cells = |from: usize, to: usize, room: usize| {
            out.iter_mut().skip(at + from).take(to - from).for_each(|cell| *cell = T::from(1));
            at += room;
        };
        let made = usize::from(s.made);
        cells(0, usize::from(s.phase == Phase::Agreed), 1);
        cells(made, made + 1, self.params.max_turns as usize + 1);
        // A number n is encoded as n + 1 ones.
        let items = usize::from(MOST_ITEMS) + 1;
        s.pool.iter().for_each(|&n| cells(0, usize::from(n) + 1, items));
        for i in 0..3 {
            let known = match who {
                Viewer::Seat(p) => usize::from(s.values[p & 1][i]) + 1,
                Viewer::Public => 0,
            };
            cells(0, known, WORTH as usize + 1);
        }
        let from = if all { 0 } else { made.saturating_sub(1) };
        for kept in self.past_offers(s).skip(from) {
            kept.iter().for_each(|&n| cells(0, usize::from(n) + 1, items));
        }
    }
}

impl Game for Bargaining {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("bargaining.j2"),
        presets: &[(
            "llmarena",
            r#"{"max_turns":20,"reward":"difference","items":"hat_ball_apple","talk":true}"#,
            "LLMArena: 20 offers, messages with moves; the return is the difference of the values",
        )],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "time_dependent"),
            (2, 1, "absolute_tit_for_tat"),
            (3, 1, "bayesian_negotiator"),
        ],
        unit: Unit::Field(&["random", "time_dependent", "absolute_tit_for_tat", "time_dependent reserve=0.5"]),
        marks: division_marks::DOCS,
        ..GameInfo::new("bargaining", "Bargaining", include_str!("bargaining.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        if !(1..=MOST_TURNS as u32).contains(&params.max_turns) {
            return Err(ParamError::value("max_turns", params.max_turns, format!("1 to {MOST_TURNS}")));
        }
        if !(params.discount > 0.0 && params.discount <= 1.0) {
            return Err(ParamError::value("discount", params.discount, "above 0 and at most 1"));
        }
        if !(0.0..1.0).contains(&params.prob_end) {
            return Err(ParamError::value("prob_end", params.prob_end, "at least 0 and below 1"));
        }
        if !params.instances_file.is_empty() {
            let allowed = "an empty text; to set an instance, use the parameter instance";
            return Err(ParamError::value("instances_file", params.instances_file.as_str(), allowed));
        }
        let end = (params.prob_end * WHOLE as f64 + 0.5) as u64;
        let offers = threes(MOST_ITEMS).filter(|q| q.iter().sum::<u8>() <= MOST_ITEMS).collect();
        let mut game = Bargaining { end, pools: pools(), offers, given: None, params };
        if let Some(text) = &game.params.instance {
            let allowed = "pool;values;values such as 1 1 3;3 7 0;1 6 1: at most 7 items, worth at most 10 to a seat";
            let given = game.instance(text).ok_or_else(|| ParamError::value("instance", text.as_str(), allowed))?;
            game.given = Some(given);
        }
        Ok(game)
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let chance = self.given.is_none() || self.end > 0;
        let most = f64::from(WORTH);
        let (low, utility) = match self.params.reward {
            Reward::Own => (0.0, Utility::GeneralSum),
            Reward::Difference => (-most, Utility::ZeroSum),
        };
        Facts {
            seats: vec!["p0".into(), "p1".into()],
            dynamics: Dynamics::Sequential,
            chance: if chance { ChanceMode::Explicit } else { ChanceMode::Deterministic },
            information: Information::Imperfect,
            utility,
            rewards: RewardModel::Terminal,
            returns: [low, most],
            max_length: self.params.max_turns,
            actions: AGREE + 1,
            max_chance: if chance { END + 1 } else { 0 },
            legal: LegalForm::Ids,
            tensor: Some(("observation", self.parts(&["offer".into()]))),
            info: Some(("info", self.parts(&self.all_offers()))),
            openspiel: Some(self.parts(&["offer".into()])),
            document_schemas: self.params.talk.then(|| [("offer".to_owned(), speech::schema())].into()),
        }
    }

    fn start(&self) -> State {
        self.given.clone().unwrap_or(State {
            pool: [0; 3],
            values: [[0; 3]; 2],
            offers: [0; MOST_TURNS],
            made: 0,
            phase: Phase::Pool,
            words: Vec::new(),
        })
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        match s.phase {
            Phase::Pool | Phase::First | Phase::Second | Phase::Chance => ToMove::Chance,
            Phase::Offer => ToMove::Seat(usize::from(s.made) % 2),
            Phase::Agreed | Phase::Failed => ToMove::Over,
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            (0..AGREE).filter(|&a| self.fits(s, a)).for_each(|a| out.put(a));
            if s.made > 0 {
                out.put(AGREE);
            }
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        let value = |s: &State| self.pool_of(s).and_then(|p| p.values.get(a as usize)).map_or([0; 3], |v| v.0);
        match s.phase {
            Phase::Pool => {
                s.pool = self.pools.get(a as usize).map_or([1, 1, 3], |p| p.counts);
                s.phase = Phase::First;
            }
            Phase::First => (s.values[0], s.phase) = (value(s), Phase::Second),
            Phase::Second => (s.values[1], s.phase) = (value(s), Phase::Offer),
            Phase::Chance => s.phase = if a == END { Phase::Failed } else { Phase::Offer },
            Phase::Offer => self.act(s, a, None),
            Phase::Agreed | Phase::Failed => {}
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        let (Phase::Agreed, Some(kept)) = (s.phase, self.past_offers(s).next_back()) else { return };
        let mut given = s.pool;
        given.iter_mut().zip(&kept).for_each(|(n, kept)| *n = n.saturating_sub(*kept));
        let proposer = usize::from(s.made + 1) % 2;
        let discount = (1..s.made).fold(1.0, |d, _| d * self.params.discount);
        out[proposer] = discount * f64::from(dot(&kept, &s.values[proposer]));
        out[1 - proposer] = discount * f64::from(dot(&given, &s.values[1 - proposer]));
        if self.params.reward == Reward::Difference {
            let ahead = out[0] - out[1];
            out.copy_from_slice(&[ahead, -ahead]);
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        let seat = who.seat().map(|p| p & 1);
        let drawn = |p: usize| match s.phase {
            Phase::Pool | Phase::First => false,
            Phase::Second => p == 0,
            _ => true,
        };
        View {
            seat: seat.map(|p| p as u8),
            pool: (s.phase != Phase::Pool).then_some(s.pool),
            values: seat.filter(|&p| drawn(p)).map(|p| s.values[p]),
            offers: self.past_offers(s).collect(),
            phase: s.phase,
            to_move: match self.to_move(s) {
                ToMove::Seat(p) => Some(p as u8),
                _ => None,
            },
            words: s.words.clone(),
            shown: self.over(s).then_some(s.values),
        }
    }

    /// Samples uniformly from the value pairs that chance could have drawn for the pool.
    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        if self.given.is_none() {
            s.pool = view.pool.unwrap_or(s.pool);
            let known = |p: u8| view.shown.map(|v| v[usize::from(p)]).or(view.values.filter(|_| view.seat == Some(p)));
            let mut known = [known(0), known(1)];
            let all = self.pool_of(&s).map(|p| &p.values[..]).unwrap_or_default();
            // Draws each unknown list. A list is weighted by its number of compatible lists; if the other seat's list
            // is known, all lists compatible with that list are equally likely.
            for p in 0..2 {
                let mut outcomes = Outcomes::new();
                for (a, (v, partners)) in (0..).zip(all) {
                    outcomes.put(a, known[1 - p].map_or(*partners, |other| compatible(v, &other).into()));
                }
                let drawn = || rng.pick(&outcomes).and_then(|a| all.get(a as usize)).map(|v| v.0);
                known[p] = known[p].or_else(drawn);
            }
            match view.phase {
                Phase::Pool | Phase::First => {}
                Phase::Second => s.values[0] = known[0].unwrap_or_default(),
                _ => s.values = known.map(Option::unwrap_or_default),
            }
        }
        for (place, kept) in s.offers.iter_mut().zip(&view.offers).take(self.params.max_turns as usize) {
            *place = self.id(kept).unwrap_or(0) as u8;
            s.made += 1;
        }
        s.phase = view.phase;
        s.words.clone_from(&view.words);
        s
    }
}

impl GameMoves for Bargaining {
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        self.to_move(s) == ToMove::Seat(seat) && (self.fits(s, a) || a == AGREE && s.made > 0)
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        let values = self.pool_of(s).map(|p| &p.values[..]).unwrap_or_default();
        match s.phase {
            Phase::Pool => out.uniform(0..self.pools.len() as Action),
            Phase::First => (0..).zip(values).for_each(|(a, v)| out.put(a, v.1)),
            Phase::Second => {
                let good = |v: &PerItem| u64::from(compatible(v, &s.values[0]));
                (0..).zip(values).for_each(|(a, v)| out.put(a, good(&v.0)));
            }
            _ => {
                out.put(CONTINUE, WHOLE - self.end);
                out.put(END, self.end);
            }
        }
    }

    fn parse_document(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        self.read_document(s, seat, document)
    }

    fn sample(&self, s: &State, seat: Seat, rng: &mut Stream) -> Option<Value> {
        if !self.params.talk || self.to_move(s) != ToMove::Seat(seat) {
            return None;
        }
        let (a, say) = (self.random_action(s, seat, rng), ["That is fair.", "I need these.", ""][rng.below(3)]);
        let mut document = if a == AGREE { json!({ "deal": true }) } else { json!({ "offer": self.offer(a) }) };
        if !say.is_empty() {
            document["say"] = say.into();
        }
        Some(document)
    }

    fn play_document(&self, s: &mut State, _seat: Seat, document: &Value) {
        if let (Phase::Offer, Ok((a, say))) = (s.phase, self.decode(document)) {
            self.act(s, a, say.as_deref());
        }
    }
}

impl GameText for Bargaining {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        let mut after = s.clone();
        self.play_unchecked(&mut after, a);
        match s.phase {
            Phase::Pool => format!("Pool: {}", self.list(&after.pool)),
            Phase::First => format!("P0 vals: {}", self.list(&after.values[0])),
            Phase::Second => format!("P1 vals: {}", self.list(&after.values[1])),
            _ => if a == END { "End" } else { "Continue" }.to_owned(),
        }
    }

    fn text(&self, view: &View) -> String {
        let Some(pool) = view.pool else { return "The pool is being drawn.".to_owned() };
        let mut lines = vec![format!("Pool: {}", self.list(&pool))];
        if let (Some(p), Some(values)) = (view.seat, view.values) {
            lines.push(format!("You are p{p}. Your values: {}", self.list(&values)));
        }
        // Messages are quoted on one line, so that a seat's text cannot look like a line of the position.
        let message = |turn: usize| view.words.iter().find(|w| usize::from(w.turn) == turn).map(|w| quoted(&w.text));
        for (k, kept) in view.offers.iter().enumerate() {
            lines.extend(message(k).map(|text| format!("p{} says: {text}", k % 2)));
            lines.push(format!("p{} offers to keep {}", k % 2, self.list(kept)));
        }
        lines.extend(message(view.offers.len()).map(|text| format!("p{} says: {text}", view.offers.len() % 2)));
        let left = (self.params.max_turns as usize).saturating_sub(view.offers.len());
        lines.push(match (view.phase, view.to_move) {
            (Phase::Agreed, _) => format!("p{} agrees.", view.offers.len() % 2),
            (Phase::Failed, _) => "There is no agreement.".to_owned(),
            (_, Some(p)) => format!("p{p} is to move; offers left: {left}."),
            (Phase::Chance, None) => "Chance decides whether the game goes on.".to_owned(),
            (_, None) => "The values are being drawn.".to_owned(),
        });
        if let Some([first, second]) = &view.shown {
            lines.push(format!("Values of p0: {}; of p1: {}", self.list(first), self.list(second)));
        }
        lines.join("\n")
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        self.move_text(a)
    }

    /// In addition to the offer's text, accepts three numbers in item order, numbers before the item names (`1 hats 2
    /// balls 0 apples`), `deal`, and the action id.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        self.short(text).filter(|a| legal.contains(a))
    }

    fn why_not(&self, s: &State, _seat: Seat, a: Action) -> String {
        if a == AGREE {
            return "no offer has been made yet".to_owned();
        }
        format!("expected an offer within the pool ({}), got {}", self.list(&s.pool), self.list(&self.offer(a)))
    }

    fn phase(&self, s: &State) -> Option<&'static str> {
        (self.params.talk && s.phase == Phase::Offer).then_some("offer")
    }
}

impl GameObservation for Bargaining {
    /// Hides a seat's values from all other observers.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let hidden = |p: usize| {
            let text = format!("the values of p{p} are drawn");
            if who == Viewer::Seat(p) { None } else { Some(EventView { action: None, text: Some(text) }) }
        };
        let hidden = match before.phase {
            Phase::First => hidden(0),
            Phase::Second => hidden(1),
            _ => None,
        };
        hidden.unwrap_or_else(|| {
            let text = if by == Mover::Chance { self.outcome_text(before, a) } else { self.move_text(a) };
            EventView { action: Some(a), text: Some(text) }
        })
    }

    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        let show = |p: usize| {
            let text = format!("the values of p{p} were {}", self.list(&now.values[p]));
            (text, json!({ "seat": p, "values": now.values[p] }))
        };
        if self.over(now) { vec![show(0), show(1)] } else { Vec::new() }
    }

    fn observe_document(&self, _before: &State, _who: Viewer, _seat: Seat, document: &Value) -> EventView {
        let text = match self.decode(document) {
            Ok((a, Some(say))) => format!("says: {}\n{}", quoted(&say), self.move_text(a)),
            Ok((a, None)) => self.move_text(a),
            Err(_) => document.to_string(),
        };
        EventView { action: None, text: Some(text) }
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.encode(s, who, false, out);
    }

    fn info(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.encode(s, who, true, out);
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        self.encode(s, Viewer::Seat(seat), false, out);
    }
}

impl GameDisplay for Bargaining {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Describes the share that the seat gets if it accepts the last offer.
    fn gloss(&self, view: &View, seat: Seat, a: Action) -> String {
        let own = view.seat.map(usize::from) == Some(seat) && a == AGREE;
        let (Some(pool), Some(values), Some(kept)) = (view.pool, view.values, view.offers.last().filter(|_| own))
        else {
            return String::new();
        };
        let mut rest = pool;
        rest.iter_mut().zip(kept).for_each(|(n, &kept)| *n = n.saturating_sub(kept));
        let minus = match self.params.reward {
            Reward::Difference => "; what the other keeps is worth something to them, which is taken off",
            Reward::Own => "",
        };
        format!("you get {}, worth {} to you{minus}", self.list(&rest), dot(&rest, &values))
    }
}

impl GameSearch for Bargaining {}

impl GameMarks for Bargaining {
    fn marks(&self, before: &State, _joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        if self.over(before) || !self.over(after) {
            return;
        }
        let last = self.past_offers(after).next_back().filter(|_| after.phase == Phase::Agreed);
        let kept = last.map(|kept| match after.made % 2 {
            // Seat 1 made the last offer, so seat 0 gets the rest.
            0 => std::array::from_fn(|item| after.pool[item].saturating_sub(kept[item])),
            _ => kept,
        });
        let values = [0, 1].map(|seat| &after.values[seat][..]);
        division_marks::count(&after.pool, values, kept.as_ref().map(|kept: &PerItem| &kept[..]), out);
    }
}
