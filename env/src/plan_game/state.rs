//! Positions, and the course of a match: who submits what, when a round is played, and what it comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::engine::{PartialPiece, PlanEngine, Side};
use super::settings::{PlanSettings, Revise, Roles};
use crate::game::Seat;

/// What is submitted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The first strategy.
    Initial,
    /// The first strategy of the other side, where sides alternate.
    InitialOther,
    /// A revision.
    Revision,
    /// A revision after an even round, where sides alternate.
    RevisionOther,
    /// Nothing: all rounds are played.
    Over,
}

impl Phase {
    /// Its name in schemas and messages.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Initial => "initial",
            Phase::InitialOther => "initial_other",
            Phase::Revision => "revision",
            Phase::RevisionOther => "revision_other",
            Phase::Over => "over",
        }
    }

    /// Whether what stood before may be kept.
    pub fn revises(self) -> bool {
        matches!(self, Phase::Revision | Phase::RevisionOther)
    }

    /// The side that `seat` submits for, if sides are fixed or this phase says which.
    pub fn side(self, seat: Seat) -> Side {
        match self {
            Phase::InitialOther | Phase::RevisionOther => 1 - seat,
            _ => seat,
        }
    }
}

/// A strategy as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Strategy<P> {
    /// It violates nothing.
    Legal(P),
    /// It violates something, and forfeits.
    Flawed(Box<Flawed>),
}

/// A strategy that forfeits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flawed {
    /// As it was given.
    pub document: Value,
    /// What its known names cost.
    pub cost: u32,
    /// What it violates, at least one.
    pub violations: Vec<&'static str>,
}

/// What a seat has for one side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stand<P> {
    /// The last strategy; nothing before the first.
    pub strategy: Option<Strategy<P>>,
    /// Whether the next round with this side is forfeited.
    pub absent: bool,
}

impl<P> Default for Stand<P> {
    fn default() -> Self {
        Stand { strategy: None, absent: false }
    }
}

impl<P> Stand<P> {
    /// What is played: nothing after no answer.
    pub fn played(&self) -> Option<&Strategy<P>> {
        self.strategy.as_ref().filter(|_| !self.absent)
    }
}

/// What a seat is doing in this phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Work<P> {
    /// Whether it is asked, and has not settled.
    pub due: bool,
    /// Pieces that were chosen by ids.
    pub plan: P,
    /// Ids of the piece that is being chosen.
    pub begun: PartialPiece,
    /// Initial documents that were over budget.
    pub sent: u32,
    /// The last one of them: the document, and its cost.
    pub over: Option<Box<(Value, u32)>>,
}

/// A round that was played.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Round<P> {
    /// The strategies by seat; nothing where there was no answer.
    pub strategies: [Option<Strategy<P>>; 2],
    /// The seat that won, if one did.
    pub winner: Option<Seat>,
    /// Why, in one word.
    pub reason: &'static str,
}

/// One position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<P> {
    /// What is submitted now.
    pub phase: Phase,
    /// What the seats are doing.
    pub work: [Work<P>; 2],
    /// What each seat has for each side.
    pub stands: [[Stand<P>; 2]; 2],
    /// The rounds so far.
    pub history: Vec<Round<P>>,
    /// How many rounds the last move played.
    pub fresh: u32,
}

/// What a seat submits.
#[derive(Clone, Debug, PartialEq)]
pub enum Submission<P> {
    /// What stood before.
    Keep,
    /// Nothing.
    Nothing,
    /// A strategy.
    Strategy(Strategy<P>),
}

/// The side of a seat in round `n`, from 0.
pub fn side_in(terms: &PlanSettings, n: usize, seat: Seat) -> Side {
    if terms.roles == Roles::Alternate && n % 2 == 1 { 1 - seat } else { seat }
}

/// The phase after `played` rounds, and the seats that submit in it. `None`: the next round is played at once.
pub fn phase_after(terms: &PlanSettings, played: u32) -> Option<(Phase, [bool; 2])> {
    if played >= terms.length() {
        return Some((Phase::Over, [false; 2]));
    }
    match (terms.revise, terms.roles) {
        (Revise::Alternate, _) => {
            let reviser = if played % 2 == 1 { terms.first } else { 1 - terms.first };
            Some((Phase::Revision, [reviser == 0, reviser == 1]))
        }
        (Revise::Both, Roles::Fixed) => Some((Phase::Revision, [true; 2])),
        // The side that was just played comes again after the next round, if there is one more.
        (Revise::Both, Roles::Alternate) if played + 2 > terms.length() => None,
        (Revise::Both, Roles::Alternate) if played % 2 == 1 => Some((Phase::Revision, [true; 2])),
        (Revise::Both, Roles::Alternate) => Some((Phase::RevisionOther, [true; 2])),
    }
}

/// What is violated by what a seat plays, and what it costs.
pub fn judged<C: PlanEngine>(craft: &C, side: Side, strategy: Option<&Strategy<C::Plan>>) -> (u32, Vec<&'static str>) {
    match strategy {
        None => (0, vec!["no_answer"]),
        Some(Strategy::Legal(plan)) => (craft.cost(side, plan), Vec::new()),
        Some(Strategy::Flawed(flawed)) => (flawed.cost, flawed.violations.clone()),
    }
}

/// Who wins a round without a battle: `costs` and `budgets` in the order of the strategies.
///
/// `None`: neither violates anything, so the battle decides. Else the winner, if there is one, and why.
pub fn forfeited(
    violations: [&[&str]; 2],
    costs: [u32; 2],
    budgets: [u32; 2],
) -> Option<(Option<usize>, &'static str)> {
    match violations.map(<[&str]>::is_empty) {
        [true, true] => None,
        [true, false] => Some((Some(0), "forfeit")),
        [false, true] => Some((Some(1), "forfeit")),
        [false, false] => {
            let over = violations.iter().all(|all| **all == ["over_budget"]);
            // cost / budget of either, compared without a division.
            let [a, b] = [0, 1].map(|n| u64::from(costs[n]) * u64::from(budgets[1 - n]));
            let winner = match a.cmp(&b) {
                _ if !over => None,
                std::cmp::Ordering::Less => Some(0),
                std::cmp::Ordering::Greater => Some(1),
                std::cmp::Ordering::Equal => None,
            };
            Some((winner, "both_forfeit"))
        }
    }
}

impl<P: Clone + Default> Work<P> {
    pub(super) fn new(due: bool) -> Self {
        Work { due, plan: P::default(), begun: PartialPiece::new(), sent: 0, over: None }
    }
}

impl<P: Clone + Default + PartialEq> State<P> {
    /// The first position.
    pub fn start() -> Self {
        State {
            phase: Phase::Initial,
            work: [Work::new(true), Work::new(true)],
            stands: Default::default(),
            history: Vec::new(),
            fresh: 0,
        }
    }

    /// The side that a seat submits for now, or played last.
    pub fn side(&self, terms: &PlanSettings, seat: Seat) -> Side {
        match (terms.roles, self.phase) {
            (Roles::Fixed, _) => seat,
            (_, Phase::Over) => side_in(terms, self.history.len().saturating_sub(1), seat),
            (_, phase) => phase.side(seat),
        }
    }

    /// Takes a submission of a seat that is asked.
    pub fn settle(&mut self, side: Side, seat: Seat, submission: Submission<P>) {
        let stand = &mut self.stands[seat][side];
        match submission {
            Submission::Keep => {}
            Submission::Nothing => stand.absent = true,
            Submission::Strategy(strategy) => *stand = Stand { strategy: Some(strategy), absent: false },
        }
        self.work[seat] = Work { over: self.work[seat].over.take(), sent: self.work[seat].sent, ..Work::new(false) };
    }

    /// Goes on once nobody is asked: to the next phase, over the rounds that are played before it.
    pub fn advance<C: PlanEngine<Plan = P>>(&mut self, craft: &C, terms: &PlanSettings, budgets: [u32; 2]) {
        if self.phase == Phase::Over || self.work.iter().any(|work| work.due) {
            return;
        }
        if self.phase == Phase::Initial && terms.roles == Roles::Alternate {
            self.phase = Phase::InitialOther;
            self.work = [Work::new(true), Work::new(true)];
            return;
        }
        loop {
            self.play_round(craft, terms, budgets);
            if let Some((phase, asked)) = phase_after(terms, self.history.len() as u32) {
                self.phase = phase;
                self.work = asked.map(Work::new);
                return;
            }
        }
    }

    fn play_round<C: PlanEngine<Plan = P>>(&mut self, craft: &C, terms: &PlanSettings, budgets: [u32; 2]) {
        let n = self.history.len();
        // By side: the seat that plays it, and what it plays.
        let seat_of = |side: Side| if side_in(terms, n, 0) == side { 0 } else { 1 };
        let played = [0, 1].map(|side| self.stands[seat_of(side)][side].played());
        let judged = [0, 1].map(|side| judged(craft, side, played[side]));
        let costs = [judged[0].0, judged[1].0];
        let (winner, reason) = match (forfeited([&judged[0].1, &judged[1].1], costs, budgets), played) {
            (Some(end), _) => end,
            (None, [Some(Strategy::Legal(a)), Some(Strategy::Legal(b))]) => {
                let ended = craft.simulate([a, b], budgets, &mut ());
                (Some(ended.winner), ended.reason)
            }
            // Who violates nothing has a legal plan.
            (None, _) => (None, "both_forfeit"),
        };
        let by_seat = [0, 1].map(|seat| played[side_in(terms, n, seat)].cloned());
        self.history.push(Round { strategies: by_seat, winner: winner.map(seat_of), reason });
        for seat in 0..2 {
            self.stands[seat][side_in(terms, n, seat)].absent = false;
        }
        self.fresh += 1;
    }
}
