#![doc = include_str!("liars_dice.md")]

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
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::{ones, stretches, wrap};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

/// Liar's dice with a fixed number of seats and dice.
pub struct LiarsDice {
    params: Params,
    /// Number of seats at the table.
    n: usize,
    /// Number of dice per seat.
    each: usize,
    /// Number of sides of a die; the highest face is wild.
    sides: usize,
}

/// Parameters of seats, dice and bids.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of seats, 2 to 6.
    #[schemars(range(min = 2, max = 6))]
    pub players: u32,
    /// Number of dice per seat, 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    pub numdice: u32,
    /// Number of sides of a die, at least 2. The number of sides times the total number of dice is at most 256.
    #[schemars(range(min = 2, max = 128))]
    pub dice_sides: u32,
    /// Rule that determines which bid is higher than another.
    pub bidding_rule: BiddingRule,
}

/// Rule that determines which bid is higher than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BiddingRule {
    /// A higher bid has a greater quantity of any face, or the same quantity of a higher face.
    ResetFace,
    /// A higher bid has a higher face in any quantity, or the same face in a greater quantity.
    ResetQuantity,
}

impl Default for Params {
    fn default() -> Self {
        Params { players: 2, numdice: 1, dice_sides: 6, bidding_rule: BiddingRule::ResetFace }
    }
}

const MOST: usize = 6;
const MOST_EACH: usize = 5;
const MOST_DICE: usize = MOST * MOST_EACH;
const MOST_BIDS: usize = 256;

/// A position of the game. Each bid is higher than the previous one, so the set of bids determines their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Faces by seat, in the order of the rolls. After the last roll, the dice of each seat are sorted.
    dice: [u8; MOST_DICE],
    rolled: u8,
    /// Bit set of the bids made.
    bids: [u64; MOST_BIDS / 64],
    /// The seat that moves next; at the end, the seat that called.
    seat: u8,
    /// True if the last bid was called.
    called: bool,
}

/// Information visible to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The observer's seat; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// The observer's dice, sorted after the last roll.
    pub dice: Vec<u8>,
    /// Number of rolled dice, seat by seat.
    pub rolled: u8,
    /// Bids in order, starting with seat 0: quantity and face.
    pub bids: Vec<[u8; 2]>,
    /// True if the last bid was called.
    pub called: bool,
    /// The seat to move; absent at chance nodes and at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_move: Option<u8>,
    /// All dice by seat; empty before the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Vec<u8>>,
    /// The winner and the loser; absent before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<[u8; 2]>,
}

impl State {
    fn bid(&mut self, id: usize, players: usize) {
        if let Some(word) = self.bids.get_mut(id / 64) {
            *word |= 1 << (id % 64);
            self.seat = wrap(usize::from(self.seat) + 1, players) as u8;
        }
    }

    fn was_bid(&self, id: usize) -> bool {
        self.bids.get(id / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    fn last(&self) -> Option<usize> {
        let at = self.bids.iter().rposition(|&word| word != 0)?;
        Some(64 * at + 63 - self.bids[at].leading_zeros() as usize)
    }
}

impl LiarsDice {
    fn total(&self) -> usize {
        self.n * self.each
    }

    /// Returns the number of possible bids, which is also the action id of the call.
    fn bids(&self) -> usize {
        self.total() * self.sides
    }

    /// Returns the quantity and the face of a bid.
    fn meaning(&self, id: usize) -> [usize; 2] {
        match self.params.bidding_rule {
            BiddingRule::ResetFace => [id / self.sides + 1, id % self.sides + 1],
            BiddingRule::ResetQuantity => [id % self.total() + 1, id / self.total() + 1],
        }
    }

    /// Returns the id of a bid by quantity and face.
    fn id(&self, quantity: usize, face: usize) -> Option<usize> {
        let there = (1..=self.total()).contains(&quantity) && (1..=self.sides).contains(&face);
        there.then(|| match self.params.bidding_rule {
            BiddingRule::ResetFace => (quantity - 1) * self.sides + face - 1,
            BiddingRule::ResetQuantity => (face - 1) * self.total() + quantity - 1,
        })
    }

    fn name(&self, id: usize) -> String {
        if id >= self.bids() {
            return "Liar".to_owned();
        }
        let [quantity, face] = self.meaning(id);
        format!("{quantity}-{face}")
    }

    fn past_bids<'a>(&'a self, s: &'a State) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.bids()).filter(|&id| s.was_bid(id))
    }

    /// Returns the dice that `seat` has rolled so far.
    fn dice<'a>(&self, s: &'a State, seat: usize) -> &'a [u8] {
        let first = seat * self.each;
        let end = (first + self.each).min(usize::from(s.rolled));
        s.dice.get(first..end).unwrap_or(&[])
    }

    fn own<'a>(&self, s: &'a State, who: Viewer) -> &'a [u8] {
        who.seat().map_or(&[], |p| self.dice(s, p))
    }

    /// Returns the seat that made the last bid.
    fn bidder(&self, s: &State) -> usize {
        wrap(usize::from(s.seat) + self.n - 1, self.n)
    }

    /// Returns the legal action ids: all higher bids, and the call if a bid exists.
    fn open(&self, s: &State) -> std::ops::Range<usize> {
        match s.last() {
            Some(last) => last + 1..self.bids() + 1,
            None => 0..self.bids(),
        }
    }

    fn sort(&self, s: &mut State) {
        s.dice[..self.total()].chunks_exact_mut(self.each).for_each(<[u8]>::sort_unstable);
    }

    /// Returns the winner and the loser of a called bid; `None` before a call.
    fn result(&self, s: &State) -> Option<[usize; 2]> {
        let [quantity, face] = self.meaning(s.last().filter(|_| s.called)?);
        let fits = |&&die: &&u8| usize::from(die) == face || usize::from(die) == self.sides;
        let there = s.dice[..self.total()].iter().filter(fits).count();
        let (caller, bidder) = (usize::from(s.seat), self.bidder(s));
        Some(if there >= quantity { [bidder, caller] } else { [caller, bidder] })
    }

    /// Writes the seat, its dice, the given bids and the call flag, in OpenSpiel's order.
    fn cells<T: From<u8>>(&self, s: &State, who: Viewer, bids: impl Iterator<Item = usize>, out: &mut [T]) {
        out.iter_mut().for_each(|cell| *cell = T::from(0));
        let dice = self.own(s, who).iter().enumerate();
        let dice = dice.map(|(i, &die)| self.n + i * self.sides + usize::from(die).saturating_sub(1));
        let first = self.n + self.each * self.sides;
        let call = s.called.then_some(first + self.bids());
        for i in who.seat().into_iter().chain(dice).chain(bids.map(|id| first + id)).chain(call) {
            if let Some(cell) = out.get_mut(i) {
                *cell = T::from(1);
            }
        }
    }
}

fn words(dice: &[u8]) -> String {
    dice.iter().map(u8::to_string).collect::<Vec<_>>().join(" ")
}

impl Game for LiarsDice {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("liars_dice.j2"),
        players: [2, MOST as u32],
        presets: &[("gtbench", "{}", "GTBench's game: the defaults")],
        ladder: &[
            (0, 1, "random"),
            (1, 1, "ismcts sims=2"),
            (2, 1, "ismcts sims=8"),
            (3, 1, "ismcts sims=60"),
            (4, 1, "equilibrium"),
            (4, 2, "liars_odds"),
        ],
        unit: Unit::Duplicate(6),
        ..GameInfo::new("liars_dice", "Liar's dice", include_str!("liars_dice.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let Params { players, numdice, dice_sides, .. } = params;
        let most = MOST_BIDS as u32 / (players * numdice);
        if dice_sides > most {
            let allowed = format!("2 to {most} (at most {MOST_BIDS} divided by the total number of dice)");
            return Err(ParamError::value("dice_sides", dice_sides, allowed));
        }
        Ok(LiarsDice { n: players as usize, each: numdice as usize, sides: dice_sides as usize, params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let Params { players, numdice, dice_sides, .. } = self.params;
        let bids = self.bids() as u32;
        let own = [("dice", dice_sides), ("seat", players), ("bid", bids), ("bidder", players), ("liar", 1)];
        let all = stretches(&[("seat", players), ("dice", numdice * dice_sides), ("bids", bids), ("liar", 1)], 1.0);
        Facts {
            seats: (0..players).map(|p| format!("p{p}")).collect(),
            dynamics: Dynamics::Sequential,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-1.0, 1.0],
            max_length: bids + 1,
            actions: bids + 1,
            max_chance: dice_sides,
            legal: LegalForm::Ids,
            tensor: Some(("observation", stretches(&own, f64::from(numdice)))),
            info: Some(("info", all.clone())),
            openspiel: Some(all),
            document_schemas: None,
        }
    }

    fn start(&self) -> State {
        State { dice: [0; MOST_DICE], rolled: 0, bids: [0; MOST_BIDS / 64], seat: 0, called: false }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        if usize::from(s.rolled) < self.total() {
            ToMove::Chance
        } else if s.called {
            ToMove::Over
        } else {
            ToMove::Seat(s.seat.into())
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if self.to_move(s) == ToMove::Seat(seat) {
            self.open(s).for_each(|id| out.put(id as Action));
        }
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        if usize::from(s.rolled) < self.total() {
            s.dice[usize::from(s.rolled)] = a.min(self.sides as u32 - 1) as u8 + 1;
            s.rolled += 1;
            if usize::from(s.rolled) == self.total() {
                self.sort(s);
            }
        } else if a as usize >= self.bids() {
            s.called = true;
        } else {
            s.bid(a as usize, self.n);
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        if let Some([winner, loser]) = self.result(s) {
            (out[winner], out[loser]) = (1.0, -1.0);
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        let turn = self.to_move(s);
        let over = turn == ToMove::Over;
        View {
            seat: who.seat().map(|p| p as u8),
            dice: self.own(s, who).to_vec(),
            rolled: s.rolled,
            bids: self.past_bids(s).map(|id| self.meaning(id).map(|k| k as u8)).collect(),
            called: s.called,
            to_move: turn.seat().map(|p| p as u8),
            shown: if over { (0..self.n).map(|p| self.dice(s, p).to_vec()).collect() } else { Vec::new() },
            result: self.result(s).filter(|_| over).map(|r| r.map(|p| p as u8)),
        }
    }

    /// Samples uniformly from all rolls of the unknown dice; the bids do not affect the probabilities.
    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        s.rolled = view.rolled.min(self.total() as u8);
        for (i, die) in s.dice[..usize::from(s.rolled)].iter_mut().enumerate() {
            let (seat, k) = (i / self.each, i % self.each);
            let own = view.dice.get(k).filter(|_| view.seat.map(usize::from) == Some(seat));
            let known = own.or_else(|| view.shown.get(seat).and_then(|dice| dice.get(k)));
            *die = known.copied().unwrap_or_else(|| rng.below(self.sides) as u8 + 1);
        }
        if usize::from(s.rolled) == self.total() {
            self.sort(&mut s);
        }
        for &[quantity, face] in &view.bids {
            if let Some(id) = self.id(quantity.into(), face.into()) {
                s.bid(id, self.n);
            }
        }
        s.called = view.called;
        s
    }
}

impl GameMoves for LiarsDice {
    #[inline]
    fn mask(&self, s: &State, seat: Seat, out: &mut [u8]) {
        ones(out, if self.to_move(s) == ToMove::Seat(seat) { self.open(s) } else { 0..0 });
    }

    #[inline]
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        self.to_move(s) == ToMove::Seat(seat) && self.open(s).contains(&(a as usize))
    }

    fn chance(&self, _s: &State, out: &mut Outcomes) {
        out.uniform(0..self.sides as u32);
    }
}

impl GameText for LiarsDice {
    fn outcome_text(&self, _s: &State, a: Action) -> String {
        format!("Roll {}", a.saturating_add(1))
    }

    fn text(&self, view: &View) -> String {
        let wild = self.sides;
        let mut lines = Vec::new();
        match view.seat {
            Some(p) if view.dice.is_empty() => lines.push(format!("You are p{p} and have not rolled yet.")),
            Some(p) => lines.push(format!("You are p{p} and rolled {} ({wild} is wild).", words(&view.dice))),
            None => lines.push(format!("{} of {} dice are rolled ({wild} is wild).", view.rolled, self.total())),
        }
        let bids = view.bids.iter().enumerate();
        let bids: Vec<String> = bids.map(|(i, [q, f])| format!("p{} {q}-{f}", i % self.n)).collect();
        if !bids.is_empty() {
            lines.push(format!("Bids (quantity-face): {}", bids.join(", ")));
        }
        if view.called {
            lines.push(format!("p{} calls: Liar", view.bids.len() % self.n));
        }
        for (p, dice) in view.shown.iter().enumerate() {
            lines.push(format!("p{p} rolled {}", words(dice)));
        }
        match (view.to_move, view.result) {
            (Some(p), _) => lines.push(format!("p{p} is to move.")),
            (None, Some([winner, loser])) => lines.push(format!("p{winner} wins, p{loser} loses.")),
            (None, None) => lines.push("The dice are being rolled.".to_owned()),
        }
        lines.join("\n")
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        self.name(a as usize)
    }

    /// Accepts bids such as `2-5`, `2x5`, `2 5` and `2 dice, 5 value`, the word `call`, and action ids.
    fn parse(&self, _view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.to_ascii_lowercase();
        let letters = text.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty());
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|w| !w.is_empty());
        let (letters, numbers): (Vec<&str>, Vec<&str>) = (letters.collect(), numbers.collect());
        let number = |k: usize| numbers[k].parse::<usize>().ok();
        let known = ["bid", "x", "dice", "dices", "die", "value", "face", "of"];
        let a = match (letters.as_slice(), numbers.len()) {
            (["liar" | "call" | "challenge"], 0) => self.bids(),
            ([], 1) => number(0)?,
            (words, 2) if words.iter().all(|w| known.contains(w)) => self.id(number(0)?, number(1)?)?,
            _ => return None,
        };
        legal.iter().copied().find(|&id| id as usize == a)
    }

    fn why_not(&self, s: &State, _seat: Seat, a: Action) -> String {
        match s.last() {
            Some(last) => format!("{} is not higher than the last bid, {}", self.name(a as usize), self.name(last)),
            None => "expected a bid, got a call before the first bid".to_owned(),
        }
    }
}

impl GameObservation for LiarsDice {
    /// Hides a die from all seats except its owner; bids and calls are public.
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let roller = usize::from(before.rolled) / self.each;
        match by {
            Mover::Seat(_) => EventView { action: Some(a), text: Some(self.name(a as usize)) },
            Mover::Chance if who == Viewer::Seat(roller) => {
                EventView { action: Some(a), text: Some(format!("p{roller} rolls {}", a.saturating_add(1))) }
            }
            Mover::Chance => EventView { action: None, text: Some(format!("p{roller} rolls a die")) },
        }
    }

    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        if self.to_move(now) != ToMove::Over {
            return Vec::new();
        }
        let show = |p: usize| {
            let dice = self.dice(now, p);
            (format!("p{p} rolled {}", words(dice)), json!({ "seat": p, "dice": dice }))
        };
        (0..self.n).map(show).collect()
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        out.fill(0);
        for &die in self.own(s, who) {
            if let Some(cell) = out.get_mut(usize::from(die).saturating_sub(1)) {
                *cell += 1;
            }
        }
        let seat = self.sides;
        let (bid, bidder) = (seat + self.n, seat + self.n + self.bids());
        let me = who.seat().unwrap_or(0) % self.n;
        if let Viewer::Seat(_) = who {
            out[seat + me] = 1;
        }
        if let Some(last) = s.last() {
            out[bid + last] = 1;
            out[bidder + wrap(self.bidder(s) + self.n - me, self.n)] = 1;
        }
        out[bidder + self.n] = u8::from(s.called);
    }

    fn info(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.cells(s, who, self.past_bids(s), out);
    }

    /// Writes OpenSpiel's array, which has only the last bid of each seat; a call counts as a bid.
    fn openspiel_tensor(&self, s: &State, seat: Seat, out: &mut [f32]) {
        let shown = self.n - usize::from(s.called);
        self.cells(s, Viewer::Seat(seat), self.past_bids(s).rev().take(shown), out);
    }
}

impl GameDisplay for LiarsDice {
    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Returns a click on the cell of a bid; `None` for the call, and if the picture omits bids.
    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        (picture::draws_all_bids(self) && (a as usize) < self.bids())
            .then(|| Gesture::of([picture::name(self.meaning(a as usize))]))
    }
}

impl GameSearch for LiarsDice {}

impl GameMarks for LiarsDice {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rolls `dice`, then plays the bids and calls named in `moves`.
    fn played(params: &str, dice: &[u32], moves: &str) -> Box<dyn ludex_env::DynState> {
        let mut s = crate::load(&format!("liars_dice({params})")).unwrap().start();
        dice.iter().for_each(|&die| s.play_chance(die - 1).unwrap());
        for text in moves.split_whitespace() {
            let ToMove::Seat(seat) = s.turn() else { panic!("{text} at {:?}", s.turn()) };
            let parsed = s.parse_move(seat, &ludex_env::Move::Text(text.to_owned())).unwrap();
            let ludex_env::ParsedMove::Action(a) = parsed else { panic!("{parsed:?}") };
            s.play(seat, a).unwrap();
        }
        s
    }

    #[test]
    fn highest_face_is_wild() {
        assert_eq!(played("", &[6, 3], "1-1 Liar").returns(), [1.0, -1.0]);
        assert_eq!(played("", &[1, 1], "1-6 Liar").returns(), [-1.0, 1.0]);
        assert_eq!(played("", &[6, 3], "1-3 2-3 Liar").returns(), [-1.0, 1.0]);
        assert_eq!(played("dice_sides=3", &[3, 1], "2-1 Liar").returns(), [1.0, -1.0]);
    }

    #[test]
    fn bids_must_increase_and_call_needs_a_bid() {
        let mut s = played("numdice=2", &[1, 2, 3, 4], "");
        assert!(s.play(0, 24).unwrap_err().message.contains("got a call before the first bid"));
        let mut s = played("numdice=2", &[1, 2, 3, 4], "2-3");
        assert_eq!(s.play(1, 7).unwrap_err().message, "2-2 is not higher than the last bid, 2-3");
        let s = played("numdice=2", &[1, 2, 3, 4], "4-6");
        assert_eq!(s.legal_list(1), [24]);
    }

    #[test]
    fn face_order_follows_bidding_rule() {
        let s = played("numdice=2,bidding_rule=reset-quantity", &[1, 2, 3, 4], "3-1 1-2");
        assert_eq!(s.legal_list(0)[..3], [5, 6, 7]);
        assert_eq!(s.view(Viewer::Public).action_text(0, 5), "2-2");
    }

    #[test]
    fn dice_are_hidden_until_call() {
        let s = played("numdice=2", &[4, 2, 6, 1], "1-2");
        let view = |s: &dyn ludex_env::DynState, who| s.view(who).value();
        assert_eq!(view(&*s, Viewer::Seat(0))["dice"], json!([2, 4]));
        assert_eq!(view(&*s, Viewer::Public)["dice"], json!([]));
        let s = played("numdice=2", &[4, 2, 6, 1], "1-2 call");
        assert_eq!(view(&*s, Viewer::Public)["shown"], json!([[2, 4], [1, 6]]));
    }

    #[test]
    fn bid_notation_variants_parse() {
        let s = played("numdice=5", &[1; 10], "");
        let legal = s.legal_list(0);
        let view = s.view(Viewer::Seat(0));
        for text in ["2-5", "2x5", "2 5", "2 dices, 5 value", "Bid 2 of face 5", "10"] {
            assert_eq!(view.parse(0, &legal, text), Some(10), "{text}");
        }
        for text in ["Liar", "2-7", "11-1", "0-1", "2 liars 5", "99999999999999999999999-1", ""] {
            assert_eq!(view.parse(0, &legal, text), None, "{text}");
        }
    }

    #[test]
    fn seat_uninvolved_in_final_call_gets_zero_return() {
        assert_eq!(played("players=3", &[1, 2, 3], "1-4 2-2 Liar").returns(), [0.0, -1.0, 1.0]);
        assert_eq!(played("players=3", &[1, 2, 6], "1-4 2-2 Liar").returns(), [0.0, 1.0, -1.0]);
    }

    #[test]
    fn error_identifies_the_invalid_parameter() {
        for params in ["players=7", "numdice=0", "numdice=6", "dice_sides=1", "dice_sides=129", "bidding_rule=none"] {
            let error = crate::load(&format!("liars_dice({params})")).err().unwrap();
            assert_eq!(error.name.as_deref(), params.split('=').next());
        }
        assert!(crate::load("liars_dice(players=6,numdice=5,dice_sides=8)").is_ok());
        assert!(crate::load("liars_dice(players=6,numdice=5,dice_sides=9)").is_err());
    }
}
