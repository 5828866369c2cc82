#![doc = include_str!("negotiation.md")]

mod picture;
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
use ludex_env::params::{ParamError, in_range, rows};
use ludex_env::picture::Picture;
use ludex_env::tensor::stretches;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, TensorSpec, Utility};

use crate::division_marks;

/// Negotiation over a pool of items, with fixed parameters.
pub struct Negotiation {
    params: Params,
    items: usize,
    /// Number of possible utterances; 0 if utterances are disabled.
    utterances: u32,
    /// The first position in which a seat moves; `None` unless the parameters set the instance.
    given: Option<State>,
}

/// Parameters of items and utterances.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Accepted from OpenSpiel and ignored: proposals are always enabled.
    #[serde(skip_serializing)]
    pub enable_proposals: bool,
    /// If true, the proposer adds an utterance to every proposal.
    pub enable_utterances: bool,
    /// Number of item kinds, 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    pub num_items: u32,
    /// Number of symbols for utterances, 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub num_symbols: u32,
    /// Number of symbols in an utterance, 1 to 8. At most 10,000 different utterances are allowed.
    #[schemars(range(min = 1, max = 8))]
    pub utterance_dim: u32,
    /// A fixed instance: the pool, the values of seat 0, the values of seat 1, and the maximum number of proposals,
    /// such as `2 3 4;7 1 7;7 6 1;6`. Default: chance draws the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Accepted from OpenSpiel and ignored: the episode sets the seed.
    #[serde(skip_serializing)]
    pub rng_seed: Option<i64>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            enable_proposals: true,
            enable_utterances: true,
            num_items: 3,
            num_symbols: 5,
            utterance_dim: 3,
            instance: None,
            rng_seed: None,
        }
    }
}

const MOST_ITEMS: usize = 5;
/// Maximum quantity of an item in the pool.
const MOST_EACH: u8 = 5;
/// Base of encoded proposals, in which each digit is a quantity.
const BASE: u32 = 6;
const MOST_VALUE: u8 = 10;
/// Inclusive range of the maximum number of proposals, which chance draws.
const LIMITS: [u8; 2] = [4, 10];
const MOST_STEPS: usize = 10;

/// A position of the negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Maximum number of proposals.
    limit: u8,
    pool: [u8; MOST_ITEMS],
    values: [[u8; MOST_ITEMS]; 2],
    /// Number of draws so far. Chance draws the limit, the pool, the values of seat 0, and the values of seat 1.
    drawn: u8,
    /// Proposals in order, encoded as action ids.
    proposals: [u16; MOST_STEPS],
    proposed: u8,
    words: [u16; MOST_STEPS],
    uttered: u8,
    agreed: bool,
}

/// Information visible to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Maximum number of proposals; absent until it is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u8>,
    /// Quantities of the items drawn so far.
    pub pool: Vec<u8>,
    /// Values that one item of each kind has to the observer; includes only values drawn so far.
    pub values: Vec<u8>,
    /// Number of chance draws so far.
    pub drawn: u8,
    /// Proposals in order, starting with seat 0: the number of each item that the proposer keeps.
    pub proposals: Vec<Vec<u8>>,
    /// Utterances in order, starting with seat 0.
    pub utterances: Vec<Vec<u8>>,
    /// True if the last proposal was accepted.
    pub agreed: bool,
    /// The seat to move; absent during the draw and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// Values of both seats; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<[Vec<u8>; 2]>,
}

/// A quantity that chance draws.
enum Draw {
    Limit,
    Pool(usize),
    Value(usize, usize),
}

impl Negotiation {
    /// Returns the number of draws before the first proposal.
    fn draws(&self) -> usize {
        1 + 3 * self.items
    }

    fn draw(&self, k: usize) -> Draw {
        match k.checked_sub(1).map(|k| (k / self.items, k % self.items)) {
            None => Draw::Limit,
            Some((0, item)) => Draw::Pool(item),
            Some((seat, item)) => Draw::Value((seat - 1).min(1), item),
        }
    }

    fn agree(&self) -> Action {
        BASE.pow(self.items as u32)
    }

    /// Returns the last `count` digits of a number in `base`, most significant first.
    fn digits(mut number: u32, base: u32, count: usize) -> Vec<u8> {
        let mut out = vec![0; count];
        for digit in out.iter_mut().rev() {
            *digit = (number % base) as u8;
            number /= base;
        }
        out
    }

    fn quantities(&self, proposal: u32) -> Vec<u8> {
        Self::digits(proposal, BASE, self.items)
    }

    fn symbols(&self, utterance: u32) -> Vec<u8> {
        Self::digits(utterance, self.params.num_symbols, self.params.utterance_dim as usize)
    }

    /// Returns the number with these digits; `None` unless there are `count` digits below `base`.
    fn number(digits: &[u8], base: u32, count: usize) -> Option<u32> {
        let good = digits.len() == count && digits.iter().all(|&d| u32::from(d) < base);
        good.then(|| digits.iter().fold(0, |n, &d| n * base + u32::from(d)))
    }

    /// Returns true if an utterance is due.
    fn utters(&self, s: &State) -> bool {
        self.utterances > 0 && s.proposed > s.uttered
    }

    fn over(&self, s: &State) -> bool {
        let rounds = if self.utterances > 0 { s.uttered } else { s.proposed };
        s.agreed || rounds >= s.limit
    }

    fn within_pool(&self, s: &State, proposal: u32) -> bool {
        self.quantities(proposal).iter().zip(&s.pool).all(|(q, have)| q <= have)
    }

    fn last(&self, s: &State) -> Option<Vec<u8>> {
        let last = s.proposals[..usize::from(s.proposed)].last()?;
        Some(self.quantities(u32::from(*last)))
    }

    fn list(numbers: &[u8]) -> String {
        let list: Vec<String> = numbers.iter().map(u8::to_string).collect();
        format!("[{}]", list.join(", "))
    }

    /// Returns the part of a seat's values that is drawn so far.
    fn values_of(&self, s: &State, seat: usize) -> Vec<u8> {
        let before = 1 + self.items * (1 + seat);
        s.values[seat][..usize::from(s.drawn).saturating_sub(before).min(self.items)].to_vec()
    }

    fn instance(&self, text: &str) -> Option<State> {
        let rows = rows(text)?;
        let [pool, first, second, limit] = &rows[..] else { return None };
        let &[limit] = &limit[..] else { return None };
        let mut s = self.start();
        let lists = [(pool, MOST_EACH), (first, MOST_VALUE), (second, MOST_VALUE)];
        if !(1..=LIMITS[1]).contains(&limit) || !lists.iter().all(|(l, most)| self.holds(l, *most)) {
            return None;
        }
        let draws = std::iter::once(&limit).chain(pool).chain(first).chain(second);
        draws.for_each(|&a| self.play_unchecked(&mut s, a.into()));
        Some(s)
    }

    fn holds(&self, list: &[u8], most: u8) -> bool {
        list.len() == self.items && list.iter().all(|&n| n <= most)
    }

    /// Returns the layout of the array, which is also OpenSpiel's.
    fn parts(&self) -> TensorSpec {
        let (items, dim) = (self.params.num_items, self.params.utterance_dim * self.params.num_symbols);
        let spoken = if self.utterances > 0 { dim } else { 0 };
        let parts = [
            ("to_move", 2),
            ("phase", 2),
            ("over", 1),
            ("agreed", 1),
            ("pool", items * BASE),
            ("values", items * (u32::from(MOST_VALUE) + 1)),
            ("proposal", items * BASE),
            ("utterance", spoken),
        ];
        stretches(&parts, 1.0)
    }

    /// Writes the array of `who`. Seats are counted from `from`. Before a seat moves, the array is all zero.
    fn encode<T: From<u8> + Clone>(&self, s: &State, who: Viewer, from: usize, out: &mut [T]) {
        out.fill(T::from(0));
        let turn = self.to_move(s);
        if turn == ToMove::Chance {
            return;
        }
        let mut at = 0;
        let mut one = |i: Option<usize>, room: usize| {
            if let Some(cell) = i.filter(|&i| i < room).and_then(|i| out.get_mut(at + i)) {
                *cell = T::from(1);
            }
            at += room;
        };
        let to_move = turn.seats().iter().next();
        one(to_move.map(|p| (p + from) % 2), 2);
        one(Some(usize::from(self.utters(s) || s.agreed && self.utterances > 0)), 2);
        one((turn == ToMove::Over).then_some(0), 1);
        one(s.agreed.then_some(0), 1);
        let base = BASE as usize;
        s.pool[..self.items].iter().for_each(|&n| one(Some(n.into()), base));
        let values = who.seat().map(|p| s.values[p & 1]);
        (0..self.items).for_each(|i| one(values.map(|v| v[i].into()), usize::from(MOST_VALUE) + 1));
        let last = self.last(s);
        (0..self.items).for_each(|i| one(last.as_ref().map(|q| q[i].into()), base));
        let words = s.words[..usize::from(s.uttered)].last().map(|&u| self.symbols(u.into()));
        let symbols = self.params.num_symbols as usize;
        let dim = if self.utterances > 0 { self.params.utterance_dim as usize } else { 0 };
        (0..dim).for_each(|i| one(words.as_ref().map(|w| w[i].into()), symbols));
    }
}

impl Game for Negotiation {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("negotiation.j2"),
        presets: &[("gtbench", "{}", "GTBench's game: the defaults")],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "time_dependent"),
            (2, 1, "absolute_tit_for_tat"),
            (3, 1, "bayesian_negotiator"),
        ],
        unit: Unit::Field(&["random", "time_dependent", "absolute_tit_for_tat", "time_dependent reserve=0.5"]),
        marks: division_marks::DOCS,
        ..GameInfo::new("negotiation", "Negotiation", include_str!("negotiation.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        if !params.enable_proposals {
            return Err(ParamError::value("enable_proposals", false, "true (proposals cannot be disabled)"));
        }
        let utterances = u64::from(params.num_symbols).pow(params.utterance_dim);
        if utterances > 10_000 {
            let allowed = "at most 10,000 possible utterances (num_symbols to the power of utterance_dim)";
            return Err(ParamError::value("utterance_dim", params.utterance_dim, allowed));
        }
        let utterances = if params.enable_utterances { utterances as u32 } else { 0 };
        let mut game = Negotiation { items: params.num_items as usize, utterances, given: None, params };
        if let Some(text) = &game.params.instance {
            let allowed = "pool;values of seat 0;values of seat 1;limit, such as 2 3 4;7 1 7;7 6 1;6 \
                           (quantities up to 5, values up to 10, limit from 1 to 10)";
            let given = game.instance(text).ok_or_else(|| ParamError::value("instance", text.as_str(), allowed))?;
            game.given = Some(given);
        }
        Ok(game)
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let chance = self.given.is_none();
        Facts {
            seats: vec!["p0".into(), "p1".into()],
            dynamics: Dynamics::Sequential,
            chance: if chance { ChanceMode::Explicit } else { ChanceMode::Deterministic },
            information: Information::Imperfect,
            utility: Utility::GeneralSum,
            rewards: RewardModel::Terminal,
            returns: [0.0, f64::from(self.params.num_items * u32::from(MOST_EACH * MOST_VALUE))],
            max_length: u32::from(LIMITS[1]) * if self.utterances > 0 { 2 } else { 1 },
            actions: self.agree() + 1 + self.utterances,
            max_chance: if chance { u32::from(MOST_VALUE) + 1 } else { 0 },
            legal: LegalForm::Ids,
            tensor: Some(("observation", self.parts())),
            info: None,
            openspiel: Some(self.parts()),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        self.given.unwrap_or(State {
            limit: 0,
            pool: [0; MOST_ITEMS],
            values: [[0; MOST_ITEMS]; 2],
            drawn: 0,
            proposals: [0; MOST_STEPS],
            proposed: 0,
            words: [0; MOST_STEPS],
            uttered: 0,
            agreed: false,
        })
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if usize::from(s.drawn) < self.draws() {
            ToMove::Chance
        } else if self.over(s) {
            ToMove::Over
        } else if self.utters(s) {
            ToMove::Seat(usize::from(s.uttered) % 2)
        } else {
            ToMove::Seat(usize::from(s.proposed) % 2)
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) != ToMove::Seat(seat) {
            return;
        }
        let agree = self.agree();
        if self.utters(s) {
            (0..self.utterances).for_each(|u| out.put(agree + 1 + u));
            return;
        }
        (0..agree).filter(|&a| self.within_pool(s, a)).for_each(|a| out.put(a));
        if s.proposed > 0 {
            out.put(agree);
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        match self.to_move(s) {
            ToMove::Chance => {
                let a = a.min(u32::from(MOST_VALUE)) as u8;
                match self.draw(s.drawn.into()) {
                    Draw::Limit => s.limit = a.clamp(1, LIMITS[1]),
                    Draw::Pool(item) => s.pool[item] = a.min(MOST_EACH),
                    Draw::Value(seat, item) => s.values[seat][item] = a,
                }
                s.drawn += 1;
            }
            ToMove::Seat(_) if self.utters(s) => {
                let u = a.saturating_sub(self.agree() + 1).min(self.utterances - 1);
                s.words[usize::from(s.uttered)] = u as u16;
                s.uttered += 1;
            }
            ToMove::Seat(_) if a < self.agree() => {
                s.proposals[usize::from(s.proposed)] = a as u16;
                s.proposed += 1;
            }
            ToMove::Seat(_) => s.agreed = s.proposed > 0,
            ToMove::Simultaneous(_) | ToMove::Over => {}
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        let (true, Some(kept)) = (s.agreed, self.last(s)) else { return };
        let proposer = usize::from(s.proposed + 1) % 2;
        for (item, &kept) in kept.iter().enumerate() {
            let given = s.pool[item].saturating_sub(kept);
            out[proposer] += f64::from(kept) * f64::from(s.values[proposer][item]);
            out[1 - proposer] += f64::from(given) * f64::from(s.values[1 - proposer][item]);
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        let turn = self.to_move(s);
        let seat = who.seat().map(|p| p & 1);
        let drawn = usize::from(s.drawn);
        View {
            seat: seat.map(|p| p as u8),
            limit: (drawn > 0).then_some(s.limit),
            pool: s.pool[..drawn.saturating_sub(1).min(self.items)].to_vec(),
            values: seat.map(|p| self.values_of(s, p)).unwrap_or_default(),
            drawn: s.drawn,
            proposals: s.proposals[..usize::from(s.proposed)].iter().map(|&a| self.quantities(a.into())).collect(),
            utterances: s.words[..usize::from(s.uttered)].iter().map(|&u| self.symbols(u.into())).collect(),
            agreed: s.agreed,
            to_move: match turn {
                ToMove::Seat(p) => Some(p as u8),
                _ => None,
            },
            shown: (turn == ToMove::Over).then(|| [0, 1].map(|p| self.values_of(s, p))),
        }
    }

    /// Samples the values that the viewer does not see, from the distribution of chance.
    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        let mut outcomes = Outcomes::new();
        while usize::from(s.drawn) < self.draws().min(view.drawn.into()) {
            let known = match self.draw(s.drawn.into()) {
                Draw::Limit => view.limit,
                Draw::Pool(item) => view.pool.get(item).copied(),
                Draw::Value(seat, item) => match &view.shown {
                    Some(shown) => shown[seat].get(item).copied(),
                    None if view.seat == Some(seat as u8) => view.values.get(item).copied(),
                    None => None,
                },
            };
            outcomes.clear();
            self.chance(&s, &mut outcomes);
            let drawn = known.map(u32::from).or_else(|| rng.pick(&outcomes)).unwrap_or(0);
            self.play_unchecked(&mut s, drawn);
        }
        let proposals = view.proposals.iter().map(|q| Self::number(q, BASE, self.items).unwrap_or(0));
        for (place, a) in s.proposals.iter_mut().zip(proposals) {
            *place = a as u16;
            s.proposed += 1;
        }
        let (symbols, dim) = (self.params.num_symbols, self.params.utterance_dim as usize);
        let words = view.utterances.iter().map(|w| Self::number(w, symbols, dim).unwrap_or(0));
        for (place, u) in s.words.iter_mut().zip(words) {
            *place = u as u16;
            s.uttered += 1;
        }
        s.agreed = view.agreed;
        // A forged view may have more utterances than proposals, which is impossible in a game.
        s.uttered = s.uttered.min(s.proposed);
        s.proposed = if self.utterances > 0 { s.proposed.min(s.uttered + 1) } else { s.proposed };
        s
    }
}

impl GameMoves for Negotiation {
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        let agree = self.agree();
        self.to_move(s) == ToMove::Seat(seat)
            && match self.utters(s) {
                true => a > agree && a - agree <= self.utterances,
                false => a == agree && s.proposed > 0 || a < agree && self.within_pool(s, a),
            }
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        match self.draw(s.drawn.into()) {
            // Poisson distribution with mean 7, limited to 4 to 10. The weights are 7^k / k! * 10!, which are integers.
            Draw::Limit => {
                let (mut weight, [low, high]) = (3_628_800, LIMITS);
                for k in 1..=high {
                    weight = weight * 7 / u64::from(k);
                    out.put(k.into(), if k < low { 0 } else { weight });
                }
            }
            Draw::Pool(_) => out.uniform(0..BASE),
            // All value lists except all zeros are equally likely: after only zeros, a zero has one continuation fewer.
            Draw::Value(seat, item) => {
                let each = 11u64.pow((self.items - 1 - item) as u32);
                let zeros = s.values[seat][..item].iter().all(|&v| v == 0);
                out.put(0, each - u64::from(zeros));
                (1..=u32::from(MOST_VALUE)).for_each(|v| out.put(v, each));
            }
        }
    }

    /// Returns the proposal to keep nothing, or the first utterance.
    fn default_action(&self, s: &State, _seat: Seat) -> Action {
        if self.utters(s) { self.agree() + 1 } else { 0 }
    }
}

impl GameText for Negotiation {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        match self.draw(s.drawn.into()) {
            Draw::Limit => format!("at most {a} proposals"),
            Draw::Pool(item) => format!("{a} of item {item}"),
            Draw::Value(seat, item) => format!("item {item} is worth {a} to p{seat}"),
        }
    }

    fn text(&self, view: &View) -> String {
        let Some(limit) = view.limit else { return "The draw has not begun.".to_owned() };
        let left = usize::from(limit).saturating_sub(view.proposals.len());
        let plural = if limit == 1 { "" } else { "s" };
        let most = format!(
            "At most {limit} proposal{plural} of both players together; {left} left. The last one cannot be accepted."
        );
        let mut lines = vec![most, format!("Pool: {}", Self::list(&view.pool))];
        if let Some(p) = view.seat {
            lines.push(format!("You are p{p}. Your values: {}", Self::list(&view.values)));
        }
        for (k, kept) in view.proposals.iter().enumerate() {
            let says = view.utterances.get(k).map(|w| format!(" and utters {}", Self::list(w))).unwrap_or_default();
            lines.push(format!("p{} proposes to keep {}{says}", k % 2, Self::list(kept)));
        }
        let utters = self.utterances > 0 && view.proposals.len() > view.utterances.len();
        let due = match (utters, view.proposals.is_empty()) {
            (true, _) => "an utterance",
            (false, true) => "a proposal",
            (false, false) => "a proposal, or agrees",
        };
        lines.push(match (view.to_move, view.agreed) {
            (Some(p), _) => format!("p{p} is to move: {due}."),
            (None, true) => "The last proposal is agreed.".to_owned(),
            (None, false) if view.shown.is_some() => "There is no agreement.".to_owned(),
            (None, false) => "The values are being drawn.".to_owned(),
        });
        if let Some([first, second]) = &view.shown {
            lines.push(format!("Values of p0: {}, of p1: {}", Self::list(first), Self::list(second)));
        }
        lines.join("\n")
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        match a.checked_sub(self.agree()) {
            None => format!("Proposal: {}", Self::list(&self.quantities(a))),
            Some(0) => "Proposal: Agreement reached!".to_owned(),
            Some(u) => format!(", Utterance: {}", Self::list(&self.symbols(u - 1))),
        }
    }

    /// Accepts the displayed text, GTBench's angle brackets, `Agree`, bare numbers in order, and action ids.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim().trim_matches(|c| "<>,".contains(c)).trim().to_ascii_lowercase();
        if let Ok(id) = text.parse() {
            return legal.contains(&id).then_some(id);
        }
        let (head, rest) = text.split_once(':').unwrap_or(("", &text));
        let rest = rest.trim();
        if matches!(rest, "agree" | "agreement reached!") {
            return legal.contains(&self.agree()).then(|| self.agree());
        }
        let inner = rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')).unwrap_or(rest);
        let split = inner.split([',', ' ']).filter(|w| !w.is_empty());
        let numbers: Vec<u8> = split.map(|w| w.parse().ok()).collect::<Option<_>>()?;
        let (symbols, dim) = (self.params.num_symbols, self.params.utterance_dim as usize);
        let proposal = Self::number(&numbers, BASE, self.items).filter(|_| head != "utterance");
        let utterance = Self::number(&numbers, symbols, dim).filter(|_| head != "proposal");
        let named = matches!(head, "" | "proposal" | "utterance");
        let ids = [proposal, utterance.map(|u| self.agree() + 1 + u)];
        ids.into_iter().flatten().find(|a| named && legal.contains(a))
    }

    fn why_not(&self, s: &State, _seat: Seat, a: Action) -> String {
        match (self.utters(s), a.checked_sub(self.agree())) {
            (true, _) => "an utterance is due now, not a proposal".to_owned(),
            (false, Some(0)) => "no proposal to agree to yet".to_owned(),
            (false, Some(_)) => "a proposal is due now, not an utterance".to_owned(),
            (false, None) => {
                let kept = self.quantities(a);
                format!("{} exceeds the pool, which is {}", Self::list(&kept), Self::list(&s.pool[..self.items]))
            }
        }
    }

    fn phase(&self, s: &State) -> Option<&'static str> {
        matches!(self.to_move(s), ToMove::Seat(_)).then(|| if self.utters(s) { "utterance" } else { "proposal" })
    }
}

impl GameObservation for Negotiation {
    /// Hides the drawn values of a seat from the other seat.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let text = match (by, self.draw(before.drawn.into())) {
            (Mover::Chance, Draw::Value(seat, item)) if who != Viewer::Seat(seat) => {
                return EventView { action: None, text: Some(format!("p{seat}'s value of item {item} is drawn")) };
            }
            (Mover::Chance, _) => self.outcome_text(before, a),
            (Mover::Seat(seat), _) => self.action_text(&self.view(before, Viewer::Public), seat, a),
        };
        EventView { action: Some(a), text: Some(text) }
    }

    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        if self.to_move(now) != ToMove::Over {
            return Vec::new();
        }
        let show = |p: usize| {
            let values = self.values_of(now, p);
            (format!("the values of p{p} were {}", Self::list(&values)), json!({ "seat": p, "values": values }))
        };
        vec![show(0), show(1)]
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let from = if who == Viewer::Seat(1) { 1 } else { 0 };
        self.encode(s, who, from, out);
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        self.encode(s, Viewer::Seat(seat), 0, out);
    }
}

impl GameDisplay for Negotiation {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(view)
    }

    /// Returns the share that a seat gets by accepting; empty for other actions.
    fn gloss(&self, view: &View, seat: Seat, a: Action) -> String {
        let Some(kept) =
            view.proposals.last().filter(|_| a == self.agree() && view.seat.map(usize::from) == Some(seat))
        else {
            return String::new();
        };
        let rest: Vec<u8> = view.pool.iter().zip(kept).map(|(&all, &kept)| all.saturating_sub(kept)).collect();
        let worth: u32 = rest.iter().zip(&view.values).map(|(&n, &value)| u32::from(n) * u32::from(value)).sum();
        format!("you get {}, worth {worth} to you", Self::list(&rest))
    }
}

impl GameSearch for Negotiation {}

impl GameMarks for Negotiation {
    fn marks(&self, before: &State, _joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        if self.to_move(before) == ToMove::Over || self.to_move(after) != ToMove::Over {
            return;
        }
        let pool = &after.pool[..self.items];
        let kept = self.last(after).filter(|_| after.agreed).map(|kept| match after.proposed % 2 {
            // Seat 1 made the last proposal, so seat 0 gets the rest.
            0 => pool.iter().zip(kept).map(|(n, kept)| n.saturating_sub(kept)).collect(),
            _ => kept,
        });
        division_marks::count(pool, [0, 1].map(|seat| &after.values[seat][..self.items]), kept.as_deref(), out);
    }
}
