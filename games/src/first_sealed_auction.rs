#![doc = include_str!("first_sealed_auction.md")]

mod marks;
mod picture;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Marks, Mover, Outcomes, ParsedMove, Seat, ToMove, Unit, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::Picture;
use ludex_env::tensor::{one_hot, ones, stretches};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

/// The game with its parameters.
pub struct FirstSealedAuction {
    params: Params,
    /// Number of seats that bid.
    n: usize,
    /// The highest possible value, in units of the smallest coin.
    steps: u16,
}

/// Parameters of bidders, values and bids.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of bidders, 2 to 10.
    #[schemars(range(min = 2, max = 10))]
    pub players: u32,
    /// The highest possible value, 1 to 1000, or 1 to 10 with `cents`.
    #[schemars(range(min = 1, max = 1000))]
    pub max_value: u32,
    /// If true, values and bids are in cents; otherwise, in whole amounts.
    pub cents: bool,
    /// If true, a bid may equal the bidder's value; otherwise it must be lower.
    pub up_to_value: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { players: 2, max_value: 10, cents: false, up_to_value: false }
    }
}

const MOST: usize = 10;
const MOST_STEPS: u32 = 1000;
const CENTS: u32 = 100;

/// A position of the auction. Amounts are in units of the smallest coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    values: [u16; MOST],
    bids: [u16; MOST],
    /// Number of seats whose value is drawn.
    dealt: u8,
    /// Number of seats that have bid.
    made: u8,
    winner: Option<u8>,
}

/// The information available to one seat, or to the public. Amounts are in units of the smallest coin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Value of the item to the observer, once drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<u16>,
    /// The observer's bid, once made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bid: Option<u16>,
    /// Number of seats whose value is drawn.
    pub dealt: u8,
    /// Number of seats that have bid. Seats bid in order, from seat 0.
    pub made: u8,
    /// The seat to move; absent at chance nodes and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// All bids, by seat; empty until a winner is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bids: Vec<u16>,
    /// The winner and its value; absent until a winner is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<Winner>,
}

/// The winner of the auction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Winner {
    /// The seat that wins the item.
    pub seat: u8,
    /// Value of the item to the winner.
    pub value: u16,
}

impl FirstSealedAuction {
    /// Returns the number of legal bids of a bidder with this value. Legal bids start at 0 and have no gaps.
    fn open(&self, value: u16) -> usize {
        usize::from(value) + usize::from(self.params.up_to_value)
    }

    /// Returns the lowest value at which `bid` is legal.
    fn least(&self, bid: u16) -> u16 {
        if self.params.up_to_value { bid.max(1) } else { bid.saturating_add(1) }
    }

    /// Returns the number of action ids.
    fn actions(&self) -> usize {
        self.open(self.steps)
    }

    /// Returns the number of coins that correspond to a return of 1.
    fn unit(&self) -> u32 {
        if self.params.cents { CENTS } else { 1 }
    }

    /// Formats an amount of coins.
    fn money(&self, coins: u32) -> String {
        if self.params.cents { format!("{}.{:02}", coins / CENTS, coins % CENTS) } else { coins.to_string() }
    }

    /// Parses an amount into coins. Digits below the smallest coin are dropped.
    fn coins(&self, text: &str) -> Option<u32> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) {
            return None;
        }
        let part: u32 = format!("{part}00").get(..2)?.parse().ok()?;
        let part = if self.params.cents { part } else { 0 };
        whole.parse::<u32>().ok()?.checked_mul(self.unit())?.checked_add(part)
    }

    fn value(&self, s: &State, who: Viewer) -> Option<u16> {
        who.seat().filter(|&p| p < usize::from(s.dealt)).and_then(|p| s.values.get(p).copied())
    }

    fn bid(&self, s: &State, who: Viewer) -> Option<u16> {
        who.seat().filter(|&p| p < usize::from(s.made)).and_then(|p| s.bids.get(p).copied())
    }

    /// Draws a value uniformly from `least` to the highest possible value.
    fn draw(&self, least: u16, rng: &mut Stream) -> u16 {
        let least = least.clamp(1, self.steps);
        least + rng.below(usize::from(self.steps - least) + 1) as u16
    }
}

/// Returns the array index of a value; values start at 1.
fn cell(value: Option<u16>) -> Option<usize> {
    value.and_then(|v| usize::from(v).checked_sub(1))
}

impl Game for FirstSealedAuction {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("first_sealed_auction.j2"),
        players: [2, MOST as u32],
        presets: &[
            ("openspiel", "{}", "OpenSpiel: the defaults, whole amounts"),
            ("gtbench", "{}", "GTBench: the defaults"),
            (
                "llmarena",
                r#"{"max_value":10,"cents":true,"up_to_value":true}"#,
                "LLMArena's Bid: values up to 10.00, bids in cents up to the value",
            ),
        ],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "shading_bidder part=0.25"),
            (2, 1, "shading_bidder part=0.6"),
            (3, 1, "equilibrium_bidder"),
            (3, 2, "best_response_bidder"),
        ],
        unit: Unit::Field(&["random", "truthful_bidder", "shading_bidder", "equilibrium_bidder"]),
        marks: marks::DOCS,
        ..GameInfo::new(
            "first_sealed_auction",
            "First-price sealed-bid auction",
            include_str!("first_sealed_auction.md"),
        )
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let Params { players, max_value, cents, .. } = params;
        let most = if cents { MOST_STEPS / CENTS } else { MOST_STEPS };
        if !(1..=most).contains(&max_value) {
            let with = if cents { ", with cents" } else { "" };
            return Err(ParamError::value("max_value", max_value, format!("1 to {most}{with}")));
        }
        let steps = max_value * if cents { CENTS } else { 1 };
        Ok(FirstSealedAuction { n: players as usize, steps: steps as u16, params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let (n, steps, actions) = (self.params.players, u32::from(self.steps), self.actions() as u32);
        Facts {
            seats: (0..n).map(|p| format!("p{p}")).collect(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: Utility::GeneralSum,
            rewards: RewardModel::Terminal,
            returns: [0.0, f64::from(self.params.max_value)],
            max_length: n,
            actions,
            max_chance: n.max(steps + 1),
            legal: LegalForm::Ids,
            tensor: Some(("observation", stretches(&[("value", steps), ("bid", actions), ("seat", n)], 1.0))),
            info: Some(("info", stretches(&[("seat", n), ("value", steps), ("bid", actions)], 1.0))),
            openspiel: Some(stretches(&[("value", steps)], 1.0)),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State { values: [0; MOST], bids: [0; MOST], dealt: 0, made: 0, winner: None }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if usize::from(s.dealt) < self.n {
            ToMove::Chance
        } else if usize::from(s.made) < self.n {
            ToMove::Seat(usize::from(s.made))
        } else if s.winner.is_none() {
            ToMove::Chance
        } else {
            ToMove::Over
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            (0..self.open(s.values[seat])).for_each(|bid| out.put(bid as Action));
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        let coins = a.min(u32::from(self.steps)) as u16;
        match self.to_move(s) {
            ToMove::Chance if usize::from(s.dealt) < self.n => {
                s.values[usize::from(s.dealt)] = coins;
                s.dealt += 1;
            }
            ToMove::Chance => s.winner = Some(a.min(self.params.players - 1) as u8),
            ToMove::Seat(p) => {
                s.bids[p] = coins;
                s.made += 1;
            }
            _ => {}
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        if let Some(p) = s.winner.map(usize::from) {
            out[p] = (f64::from(s.values[p]) - f64::from(s.bids[p])) / f64::from(self.unit());
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        View {
            seat: who.seat().map(|p| p as u8),
            value: self.value(s, who),
            bid: self.bid(s, who),
            dealt: s.dealt,
            made: s.made,
            to_move: self.to_move(s).seat().map(|p| p as u8),
            bids: s.winner.map_or_else(Vec::new, |_| s.bids[..self.n].to_vec()),
            winner: s.winner.map(|seat| Winner { seat, value: s.values[usize::from(seat)] }),
        }
    }

    /// Samples each unknown value uniformly among those consistent with the known bids. Then samples each unknown bid
    /// uniformly among those legal at the bidder's value.
    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        let n = self.n as u8;
        s.dealt = view.dealt.min(n);
        s.made = if s.dealt == n { view.made.min(n) } else { 0 };
        let winner = view.winner.as_ref().filter(|w| s.made == n && w.seat < n);
        s.winner = winner.map(|w| w.seat);
        for p in 0..usize::from(s.dealt) {
            let own = view.seat.map(usize::from) == Some(p);
            let won = winner.filter(|w| usize::from(w.seat) == p);
            let bid = view.bid.filter(|_| own).or_else(|| view.bids.get(p).copied());
            let value = view.value.filter(|_| own).or_else(|| won.map(|w| w.value));
            let value = value.unwrap_or_else(|| self.draw(self.least(bid.unwrap_or(0)), rng)).min(self.steps);
            s.values[p] = value;
            if p < usize::from(s.made) {
                s.bids[p] = bid.unwrap_or_else(|| rng.below(self.open(value)) as u16).min(self.steps);
            }
        }
        s
    }
}

impl GameMoves for FirstSealedAuction {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        let open = if self.to_move(s) == ToMove::Seat(seat) { self.open(s.values[seat]) } else { 0 };
        ones(out, 0..open);
    }

    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        self.to_move(s) == ToMove::Seat(seat) && (a as usize) < self.open(s.values[seat])
    }

    #[inline]
    fn random_action(&self, s: &State, seat: Seat, rng: &mut Stream) -> Action {
        rng.below(s.values.get(seat).map_or(0, |&value| self.open(value))) as Action
    }

    /// Lists the values that the item can have for the next bidder. After the bids, lists the highest bidders:
    /// chance draws the winner, even from a single highest bidder.
    fn chance(&self, s: &State, out: &mut Outcomes) {
        if usize::from(s.dealt) < self.n {
            out.uniform(1..u32::from(self.steps) + 1);
        } else {
            let bids = &s.bids[..self.n];
            let most = bids.iter().max();
            out.uniform((0..).zip(bids).filter(|(_, bid)| Some(*bid) == most).map(|(p, _)| p));
        }
    }
}

impl GameText for FirstSealedAuction {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        if usize::from(s.dealt) < self.n {
            format!("Player {} value: {}", s.dealt, self.money(a))
        } else {
            format!("Chose winner {a}")
        }
    }

    fn text(&self, view: &View) -> String {
        let money = |coins: u16| self.money(coins.into());
        let mut lines = Vec::new();
        match (view.seat, view.value) {
            (Some(p), Some(value)) => lines.push(format!("You are p{p}. The item is worth {} to you.", money(value))),
            (Some(p), None) => lines.push(format!("You are p{p} and do not know yet what the item is worth to you.")),
            (None, _) => {
                lines.push(format!("{} of {} bidders know what the item is worth to them.", view.dealt, self.n))
            }
        }
        match view.bid {
            Some(bid) => lines.push(format!("You have bid {}.", money(bid))),
            None => lines.push(format!("{} of {} have bid.", view.made, self.n)),
        }
        for (p, &bid) in view.bids.iter().enumerate() {
            lines.push(format!("p{p} bid {}", money(bid)));
        }
        lines.push(match (view.to_move, &view.winner) {
            (Some(p), _) => format!("p{p} is to bid."),
            (None, Some(w)) => format!("p{} gets the item, worth {} to it.", w.seat, money(w.value)),
            (None, None) if usize::from(view.dealt) < self.n => "Values are being drawn.".to_owned(),
            (None, None) => "The bids are being opened.".to_owned(),
        });
        lines.join("\n")
    }

    fn action_text(&self, _view: &View, seat: Seat, a: Action) -> String {
        format!("Player {seat} bid: {}", self.money(a))
    }

    /// Accepts an amount, with or without `$` and leading words. With `cents`, `3.5` is 3.50 and `3` is 3.00.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let amount = text.trim().rsplit([':', '$', ' ']).next().unwrap_or_default();
        let coins = self.coins(amount)?;
        // Legal bids are 0 to `legal.len() - 1`.
        ((coins as usize) < legal.len()).then_some(coins)
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        let value = self.money(s.values.get(seat).copied().unwrap_or(0).into());
        let rule = if self.params.up_to_value { "above" } else { "not below" };
        format!("a bid of {} is {rule} your value of {value}", self.money(a))
    }
}

impl GameObservation for FirstSealedAuction {
    /// Shows values and bids to their own seat only, and the winner to all.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let (own, hidden, seat) = match by {
            Mover::Seat(p) => (format!("p{p} bids {}", self.money(a)), format!("p{p} bids"), p),
            Mover::Chance if usize::from(before.dealt) < self.n => {
                let p = before.dealt;
                (format!("the item is worth {} to p{p}", self.money(a)), format!("p{p} learns its value"), p.into())
            }
            Mover::Chance => return EventView { action: Some(a), text: Some(format!("p{a} wins the auction")) },
        };
        let sees = who == Viewer::Seat(seat);
        EventView { action: sees.then_some(a), text: Some(if sees { own } else { hidden }) }
    }

    /// Returns all bids and the winner's value, which the winner's return reveals anyway.
    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        let Some(winner) = now.winner else { return Vec::new() };
        let money = |coins: u16| self.money(coins.into());
        let bids = now.bids[..self.n].iter().enumerate();
        let bids = bids.map(|(p, &bid)| (format!("p{p} bid {}", money(bid)), json!({ "seat": p, "bid": bid })));
        let value = now.values[usize::from(winner)];
        let worth = format!("the item is worth {} to p{winner}", money(value));
        bids.chain([(worth, json!({ "seat": winner, "value": value }))]).collect()
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let (value, rest) = out.split_at_mut(usize::from(self.steps));
        let (bid, seat) = rest.split_at_mut(self.actions());
        one_hot(value, cell(self.value(s, who)));
        one_hot(bid, self.bid(s, who).map(usize::from));
        one_hot(seat, who.seat());
    }

    fn info(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let (seat, rest) = out.split_at_mut(self.n);
        let (value, bid) = rest.split_at_mut(usize::from(self.steps));
        one_hot(seat, who.seat());
        one_hot(value, cell(self.value(s, who)));
        one_hot(bid, self.bid(s, who).map(usize::from));
    }

    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        one_hot(out, cell(self.value(s, Viewer::Seat(seat))));
    }
}

impl GameDisplay for FirstSealedAuction {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }
}

impl GameSearch for FirstSealedAuction {}

impl GameMarks for FirstSealedAuction {
    fn marks(&self, before: &State, _joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        self.count(before, after, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(params: &str, values: &[u32], bids: &[u32]) -> Box<dyn ludex_env::DynState> {
        let mut s = crate::load(&format!("first_sealed_auction({params})")).unwrap().start();
        values.iter().for_each(|&v| s.play_chance(v).unwrap());
        bids.iter().enumerate().for_each(|(p, &bid)| s.play(p, bid).unwrap());
        s
    }

    #[test]
    fn legal_bids_are_below_value() {
        let mut s = played("", &[5, 8], &[]);
        assert_eq!(s.play(0, 5).unwrap_err().message, "a bid of 5 is not below your value of 5");
        s.play(0, 4).unwrap();
        let mut s = played("preset=llmarena", &[325, 800], &[]);
        assert_eq!(s.play(0, 326).unwrap_err().message, "a bid of 3.26 is above your value of 3.25");
        s.play(0, 325).unwrap();
    }

    #[test]
    fn highest_bid_wins_and_pays() {
        let mut s = played("players=3", &[5, 8, 9], &[2, 6, 5]);
        let mut outcomes = Outcomes::new();
        s.chance(&mut outcomes);
        assert_eq!(outcomes.items(), [(1, 1)]);
        s.play_chance(1).unwrap();
        assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![0.0, 2.0, 0.0]));
        let s = &mut played("preset=llmarena", &[325, 800], &[100, 350]);
        s.play_chance(1).unwrap();
        assert_eq!(s.returns(), [0.0, 4.5]);
    }

    #[test]
    fn ties_are_drawn_by_chance() {
        let mut outcomes = Outcomes::new();
        played("players=3", &[5, 8, 9], &[4, 2, 4]).chance(&mut outcomes);
        assert_eq!(outcomes.items(), [(0, 1), (2, 1)]);
    }

    #[test]
    fn bids_are_sealed_until_end() {
        let mut s = played("", &[5, 8], &[4, 7]);
        assert!(s.view(Viewer::Seat(1)).value().get("bids").is_none());
        s.play_chance(1).unwrap();
        let view = s.view(Viewer::Seat(0)).value();
        assert_eq!((&view["bids"], &view["winner"]), (&json!([4, 7]), &json!({ "seat": 1, "value": 8 })));
        let view = s.view(Viewer::Public);
        let mut rng = Stream::from_text("auction worlds");
        for _ in 0..100 {
            let loser = view.world(&mut rng).view(Viewer::Seat(0)).value();
            assert!(loser["value"].as_u64().unwrap() > 4);
        }
    }

    #[test]
    fn amount_notations_are_equivalent() {
        let read = |params: &str, values: &[u32], text: &str| {
            let s = played(params, values, &[]);
            s.view(Viewer::Seat(0)).parse(0, &s.legal_list(0), text)
        };
        for text in ["3", "Player 0 bid: 3", "$3", "I bid 3", " 3.00 "] {
            assert_eq!(read("", &[5, 8], text), Some(3), "{text}");
        }
        for (text, coins) in [("3", 300), ("player_0: $3.2", 320), ("3.259", 325), ("0.05", 5)] {
            assert_eq!(read("preset=llmarena", &[500, 800], text), Some(coins), "{text}");
        }
        for text in ["5", "-1", "3,5", ".", "", "three", "99999999999", "$"] {
            assert_eq!(read("", &[5, 8], text), None, "{text}");
        }
    }

    #[test]
    fn error_identifies_the_invalid_parameter() {
        for params in ["players=11", "max_value=0", "max_value=1001", "max_value=11,cents=true"] {
            let error = crate::load(&format!("first_sealed_auction({params})")).err().unwrap();
            assert_eq!(error.name.as_deref(), params.split('=').next());
        }
    }
}
