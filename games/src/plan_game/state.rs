//! Positions and phases of a match: submissions, rounds and verdicts.

use ludex_env::game::Seat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::engine::{PartialPiece, PlanEngine, Side};
use super::settings::{PlanSettings, Revise, Roles};

/// Kind of submission that is currently required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// First strategy of each seat for its side in round 1.
    Initial,
    /// First strategy of each seat for its second side, if sides swap.
    InitialOther,
    /// Revision of a strategy after a round.
    Revision,
    /// Revision after an even round, if sides swap.
    RevisionOther,
    /// No submission, because all rounds are played.
    Over,
}

impl Phase {
    /// Returns the name of the phase in schemas and messages.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Initial => "initial",
            Phase::InitialOther => "initial_other",
            Phase::Revision => "revision",
            Phase::RevisionOther => "revision_other",
            Phase::Over => "over",
        }
    }

    /// Returns true if a seat may keep its current strategy in this phase.
    pub fn revises(self) -> bool {
        matches!(self, Phase::Revision | Phase::RevisionOther)
    }

    /// Returns the side that `seat` submits for in this phase. At the end of a match, the phase does not determine the
    /// side; see [`State::side`].
    pub fn side(self, seat: Seat) -> Side {
        match self {
            Phase::InitialOther | Phase::RevisionOther => 1 - seat,
            _ => seat,
        }
    }
}

/// Current strategy of a seat for one side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Strategy<P> {
    /// A strategy that violates no rule.
    Legal(P),
    /// A strategy with violations. It forfeits every round in which it is used.
    Flawed(Box<Flawed>),
}

/// A strategy with violations. It forfeits every round in which it is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flawed {
    /// The strategy document as submitted.
    pub document: Value,
    /// Total cost of the pieces with known names.
    pub cost: u32,
    /// Violations, at least one.
    pub violations: Vec<&'static str>,
}

/// Current strategy of a seat for one side, with a flag for a forfeit of the next round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stand<P> {
    /// The latest strategy; `None` before the first submission.
    pub strategy: Option<Strategy<P>>,
    /// True if the seat forfeits its next round with this side.
    pub absent: bool,
}

impl<P> Default for Stand<P> {
    fn default() -> Self {
        Stand { strategy: None, absent: false }
    }
}

impl<P> Stand<P> {
    /// Returns the strategy for the next round; `None` if the seat forfeits without one.
    pub fn played(&self) -> Option<&Strategy<P>> {
        self.strategy.as_ref().filter(|_| !self.absent)
    }
}

/// Progress of a seat in the current phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Work<P> {
    /// True if the seat must still submit.
    pub due: bool,
    /// Pieces chosen by action ids.
    pub plan: P,
    /// Action ids of the incomplete piece.
    pub begun: PartialPiece,
    /// Number of initial documents over budget.
    pub sent: u32,
    /// The latest initial document over budget, with its cost.
    pub over: Option<Box<(Value, u32)>>,
}

/// A finished round with its strategies and result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Round<P> {
    /// Strategies by seat; `None` for a seat without a strategy.
    pub strategies: [Option<Strategy<P>>; 2],
    /// Seat that won; `None` if both seats lost.
    pub winner: Option<Seat>,
    /// Reason for the result, as one word.
    pub reason: &'static str,
}

/// A position of a match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<P> {
    /// Kind of submission that is currently required.
    pub phase: Phase,
    /// Progress of each seat.
    pub work: [Work<P>; 2],
    /// Strategies by seat and side.
    pub stands: [[Stand<P>; 2]; 2],
    /// Rounds played so far.
    pub history: Vec<Round<P>>,
    /// Number of rounds that the last move played.
    pub fresh: u32,
}

/// A submission of a seat.
#[derive(Clone, Debug, PartialEq)]
pub enum Submission<P> {
    /// Keeps the current strategy.
    Keep,
    /// Submits no strategy and forfeits the next round.
    Nothing,
    /// Submits a new strategy, legal or not.
    Strategy(Strategy<P>),
}

/// Returns the side of a seat in round `n`, counted from 0.
pub fn side_in(settings: &PlanSettings, n: usize, seat: Seat) -> Side {
    if settings.roles == Roles::Alternate && n % 2 == 1 { 1 - seat } else { seat }
}

/// Returns the phase after `played` rounds, and the seats that submit in this phase. `None` if no seat submits before
/// the next round.
pub fn phase_after(settings: &PlanSettings, played: u32) -> Option<(Phase, [bool; 2])> {
    if played >= settings.length() {
        return Some((Phase::Over, [false; 2]));
    }
    match (settings.revise, settings.roles) {
        (Revise::Alternate, _) => {
            let reviser = if played % 2 == 1 { settings.first } else { 1 - settings.first };
            Some((Phase::Revision, [reviser == 0, reviser == 1]))
        }
        (Revise::Both, Roles::Fixed) => Some((Phase::Revision, [true; 2])),
        // The side just played is used again two rounds later, if the match has that round.
        (Revise::Both, Roles::Alternate) if played + 2 > settings.length() => None,
        (Revise::Both, Roles::Alternate) if played % 2 == 1 => Some((Phase::Revision, [true; 2])),
        (Revise::Both, Roles::Alternate) => Some((Phase::RevisionOther, [true; 2])),
    }
}

/// Returns the cost and the violations of a strategy; a missing strategy violates `no_answer`.
pub fn judged<C: PlanEngine>(engine: &C, side: Side, strategy: Option<&Strategy<C::Plan>>) -> (u32, Vec<&'static str>) {
    match strategy {
        None => (0, vec!["no_answer"]),
        Some(Strategy::Legal(plan)) => (engine.cost(side, plan), Vec::new()),
        Some(Strategy::Flawed(flawed)) => (flawed.cost, flawed.violations.clone()),
    }
}

/// Returns the result of a round without a battle: the winner, if any, and the reason. All arguments are in the order
/// of the strategies.
///
/// Returns `None` if neither strategy has violations, so that a battle decides the round.
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
            // Compares cost / budget of both sides without a division.
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
    /// Returns the initial position.
    pub fn start() -> Self {
        State {
            phase: Phase::Initial,
            work: [Work::new(true), Work::new(true)],
            stands: Default::default(),
            history: Vec::new(),
            fresh: 0,
        }
    }

    /// Returns the side that a seat submits for; at the end, the side that it played last.
    pub fn side(&self, settings: &PlanSettings, seat: Seat) -> Side {
        match (settings.roles, self.phase) {
            (Roles::Fixed, _) => seat,
            (_, Phase::Over) => side_in(settings, self.history.len().saturating_sub(1), seat),
            (_, phase) => phase.side(seat),
        }
    }

    /// Applies the final submission of a seat in this phase.
    pub fn settle(&mut self, side: Side, seat: Seat, submission: Submission<P>) {
        let stand = &mut self.stands[seat][side];
        match submission {
            Submission::Keep => {}
            Submission::Nothing => stand.absent = true,
            Submission::Strategy(strategy) => *stand = Stand { strategy: Some(strategy), absent: false },
        }
        self.work[seat] = Work { over: self.work[seat].over.take(), sent: self.work[seat].sent, ..Work::new(false) };
    }

    /// Plays the next round and enters the next phase, unless a seat must still submit.
    pub fn advance<C: PlanEngine<Plan = P>>(&mut self, engine: &C, settings: &PlanSettings, budgets: [u32; 2]) {
        if self.phase == Phase::Over || self.work.iter().any(|work| work.due) {
            return;
        }
        if self.phase == Phase::Initial && settings.roles == Roles::Alternate {
            self.phase = Phase::InitialOther;
            self.work = [Work::new(true), Work::new(true)];
            return;
        }
        loop {
            self.play_round(engine, settings, budgets);
            if let Some((phase, requested)) = phase_after(settings, self.history.len() as u32) {
                self.phase = phase;
                self.work = requested.map(Work::new);
                return;
            }
        }
    }

    fn play_round<C: PlanEngine<Plan = P>>(&mut self, engine: &C, settings: &PlanSettings, budgets: [u32; 2]) {
        let n = self.history.len();
        // The seat and strategy of each side.
        let seat_of = |side: Side| if side_in(settings, n, 0) == side { 0 } else { 1 };
        let played = [0, 1].map(|side| self.stands[seat_of(side)][side].played());
        let judged = [0, 1].map(|side| judged(engine, side, played[side]));
        let costs = [judged[0].0, judged[1].0];
        let (winner, reason) = match (forfeited([&judged[0].1, &judged[1].1], costs, budgets), played) {
            (Some(end), _) => end,
            (None, [Some(Strategy::Legal(a)), Some(Strategy::Legal(b))]) => {
                let ended = engine.simulate([a, b], budgets, &mut ());
                (Some(ended.winner), ended.reason)
            }
            // Not reached: a strategy without violations is a legal plan.
            (None, _) => (None, "both_forfeit"),
        };
        let by_seat = [0, 1].map(|seat| played[side_in(settings, n, seat)].cloned());
        self.history.push(Round { strategies: by_seat, winner: winner.map(seat_of), reason });
        for seat in 0..2 {
            self.stands[seat][side_in(settings, n, seat)].absent = false;
        }
        self.fresh += 1;
    }
}
