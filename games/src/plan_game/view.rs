//! Views of plan games, and sampled states consistent with them.

use std::collections::BTreeMap;

use ludex_env::draw::Stream;
use ludex_env::game::{Action, Seat, Viewer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PlanGame;
use super::engine::{PartialPiece, PlanEngine, Side};
use super::log::SummaryLog;
use super::settings::{Feedback, RoundFormat};
use super::state::{Flawed, Phase, Round, Stand, State, Strategy, Work, judged, side_in};

/// Information visible to one seat, or to the public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// Seat of the observer; absent for the public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u8>,
    /// Kind of submission that is currently required.
    pub phase: Phase,
    /// Number of rounds: one (duel), or several (match).
    pub format: RoundFormat,
    /// Number of the next round, from 1; at the end, the number of the last round.
    pub round: u32,
    /// Total number of rounds.
    pub rounds: u32,
    /// Seats that must still submit.
    pub waiting: Vec<u8>,
    /// Current side of the observer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// Current budget of the observer, in points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// Plan that the observer is building from action ids; absent without a plan under construction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    /// Submitted strategies of the observer, by side.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub strategy: BTreeMap<String, Settled>,
    /// Number of initial documents that the observer may still submit; absent in other phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tries_left: Option<u32>,
    /// The observer's latest document over budget in this phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<OverBudget>,
    /// Rounds played so far.
    pub history: Vec<RoundView>,
    /// Number of rounds won by the observer; for the public, by seat 0.
    pub won: u32,
    /// Number of rounds lost by the observer; for the public, by seat 0.
    pub lost: u32,
    /// Number of rounds that the last move played.
    pub fresh: u32,
}

/// A plan under construction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Draft {
    /// Pieces chosen so far, as a document.
    pub strategy: Value,
    /// Cost of the pieces chosen so far.
    pub cost: u32,
    /// Action ids of the incomplete piece.
    pub choosing: Vec<Action>,
}

/// A submitted strategy with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// Submitted document; null if no strategy was submitted.
    pub strategy: Value,
    /// Total cost of the pieces with known names.
    pub cost: u32,
    /// Names of the violated rules.
    pub violations: Vec<String>,
    /// True if the next round with this side is forfeited because no strategy was submitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

/// A document over budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverBudget {
    /// The document as submitted.
    pub strategy: Value,
    /// Cost of the document.
    pub cost: u32,
}

/// A finished round; pairs are in seat order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundView {
    /// Sides of the seats in this round.
    pub sides: [String; 2],
    /// Strategies by seat; null if no strategy was submitted.
    pub strategies: [Value; 2],
    /// Costs of the strategies, by seat.
    pub costs: [u32; 2],
    /// Violations of the strategies, by seat.
    pub violations: [Vec<String>; 2],
    /// Seat that won; null if both lost.
    pub winner: Option<u8>,
    /// Reason for the result, as one word.
    pub reason: String,
    /// Summary of the battle; only with `feedback=verbose`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Value>,
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}

impl<C: PlanEngine> PlanGame<C> {
    /// Returns the document of a strategy.
    pub(super) fn document_of(&self, side: Side, strategy: Option<&Strategy<C::Plan>>) -> Value {
        match strategy {
            None => Value::Null,
            Some(Strategy::Legal(plan)) => self.engine.document(side, plan),
            Some(Strategy::Flawed(flawed)) => flawed.document.clone(),
        }
    }

    /// Parses a document that matches the schema.
    pub(super) fn strategy(&self, side: Side, document: &Value) -> Strategy<C::Plan> {
        let reading = self.engine.read(side, self.budgets[side], document);
        match reading.plan {
            Some(plan) if reading.violations.is_empty() => Strategy::Legal(plan),
            _ => {
                let (cost, violations) = (reading.cost, reading.violations);
                Strategy::Flawed(Box::new(Flawed { document: self.ordered(side, document), cost, violations }))
            }
        }
    }

    fn settled(&self, side: Side, stand: &Stand<C::Plan>) -> Settled {
        let strategy = stand.strategy.as_ref();
        let (cost, violations) = judged(&self.engine, side, strategy);
        Settled {
            strategy: self.document_of(side, strategy),
            cost,
            violations: words(&violations),
            absent: stand.absent,
        }
    }

    /// Returns the summary of a round's battle; `None` if the settings omit summaries or there was no battle.
    fn summary(&self, n: usize, round: &Round<C::Plan>) -> Option<Value> {
        let by_side = [0, 1].map(|side| &round.strategies[side_in(&self.settings, n, side)]);
        match by_side {
            [Some(Strategy::Legal(a)), Some(Strategy::Legal(b))] if self.settings.feedback == Feedback::Verbose => {
                let mut log = SummaryLog::default();
                self.engine.simulate([a, b], self.budgets, &mut log);
                Some(log.0)
            }
            _ => None,
        }
    }

    fn played(&self, n: usize, round: &Round<C::Plan>) -> RoundView {
        let sides = [0, 1].map(|seat| side_in(&self.settings, n, seat));
        let judged = [0, 1].map(|seat| judged(&self.engine, sides[seat], round.strategies[seat].as_ref()));
        RoundView {
            sides: sides.map(|side| C::SIDES[side].to_owned()),
            strategies: [0, 1].map(|seat| self.document_of(sides[seat], round.strategies[seat].as_ref())),
            costs: [judged[0].0, judged[1].0],
            violations: [words(&judged[0].1), words(&judged[1].1)],
            winner: round.winner.map(|seat| seat as u8),
            reason: round.reason.to_owned(),
            summary: self.summary(n, round),
        }
    }

    /// Returns the rounds that the last move played, in public form and with numbers from 1.
    pub(super) fn last_played(&self, s: &State<C::Plan>) -> Vec<(usize, RoundView)> {
        let first = s.history.len().saturating_sub(s.fresh as usize);
        (first..s.history.len()).map(|n| (n + 1, self.played(n, &s.history[n]))).collect()
    }

    pub(super) fn make_view(&self, s: &State<C::Plan>, who: Viewer) -> View {
        let seat = who.seat().map(|seat| seat & 1);
        let us = seat.unwrap_or(0);
        let won = |p: Seat| s.history.iter().filter(|round| round.winner == Some(p)).count() as u32;
        let side = seat.map(|seat| s.side(&self.settings, seat));
        let work = seat.map(|seat| &s.work[seat]);
        let empty = C::Plan::default();
        let draft =
            work.filter(|work| work.plan != empty || !work.begun.is_empty()).zip(side).map(|(work, side)| Draft {
                strategy: self.engine.document(side, &work.plan),
                cost: self.engine.cost(side, &work.plan),
                choosing: work.begun.to_vec(),
            });
        let stands = seat.into_iter().flat_map(|seat| s.stands[seat].iter().enumerate());
        let known = stands.filter(|(_, stand)| stand.strategy.is_some() || stand.absent);
        let initial = matches!(s.phase, Phase::Initial | Phase::InitialOther);
        View {
            seat: seat.map(|seat| seat as u8),
            phase: s.phase,
            format: self.settings.format,
            round: (s.history.len() as u32 + 1).min(self.settings.length()),
            rounds: self.settings.length(),
            waiting: (0..2).filter(|&p| s.work[usize::from(p)].due).collect(),
            side: side.map(|side| C::SIDES[side].to_owned()),
            budget: side.map(|side| self.budgets[side]),
            draft,
            strategy: known.map(|(side, stand)| (C::SIDES[side].to_owned(), self.settled(side, stand))).collect(),
            tries_left: work.filter(|work| initial && work.due).map(|work| self.settings.tries - work.sent),
            over: work
                .and_then(|work| work.over.as_ref())
                .map(|over| OverBudget { strategy: over.0.clone(), cost: over.1 }),
            history: s.history.iter().enumerate().map(|(n, round)| self.played(n, round)).collect(),
            won: won(us),
            lost: s.history.len() as u32 - won(us),
            fresh: s.fresh,
        }
    }

    /// Returns true if the strategy of `seat` for `side` is still hidden, because no round has used it since its
    /// submission.
    fn hidden(&self, s: &State<C::Plan>, seat: Seat, side: Side) -> bool {
        let settled_now = !s.work[seat].due && s.side(&self.settings, seat) == side;
        let fixed = side_in(&self.settings, 1, 0) == 0;
        match s.phase {
            Phase::Over => false,
            // A seat that does not submit in this phase has no new strategy to hide.
            Phase::Initial => settled_now,
            Phase::InitialOther => settled_now || side == seat,
            Phase::Revision | Phase::RevisionOther if fixed => settled_now && self.submitting_seats(s)[seat],
            // If sides alternate, the previous revision is played in the next round; the first two rounds play the initial
            // strategies.
            Phase::Revision | Phase::RevisionOther => settled_now || s.side(&self.settings, seat) != side,
        }
    }

    /// Returns true for each seat that submits in the current phase.
    fn submitting_seats(&self, s: &State<C::Plan>) -> [bool; 2] {
        super::state::phase_after(&self.settings, s.history.len() as u32)
            .map_or([true; 2], |(_, submitting_seats)| submitting_seats)
    }

    pub(super) fn make_world(&self, view: &View, rng: &mut Stream) -> State<C::Plan> {
        let mut s = State::start();
        s.phase = view.phase;
        s.fresh = view.fresh;
        for p in 0..2 {
            s.work[p] = Work::new(view.waiting.contains(&(p as u8)));
        }
        for (n, played) in view.history.iter().enumerate() {
            let strategies = [0, 1].map(|seat| {
                let document = &played.strategies[seat];
                (!document.is_null()).then(|| self.strategy(side_in(&self.settings, n, seat), document))
            });
            let winner = played.winner.map(|p| usize::from(p & 1));
            let reason = self.reason(&played.reason);
            for (seat, strategy) in strategies.iter().enumerate() {
                if let Some(strategy) = strategy {
                    s.stands[seat][side_in(&self.settings, n, seat)].strategy = Some(strategy.clone());
                }
            }
            s.history.push(Round { strategies, winner, reason });
        }
        for seat in 0..2 {
            if view.seat == Some(seat as u8) {
                self.recall(&mut s, view, seat);
                continue;
            }
            for side in 0..2 {
                if self.hidden(&s, seat, side) {
                    let plan = self.engine.random(side, self.budgets[side], rng);
                    s.stands[seat][side] = Stand { strategy: Some(Strategy::Legal(plan)), absent: false };
                }
            }
        }
        s
    }

    /// Copies the observer's own information into a sampled state.
    fn recall(&self, s: &mut State<C::Plan>, view: &View, seat: Seat) {
        for (side, name) in C::SIDES.into_iter().enumerate() {
            s.stands[seat][side] = match view.strategy.get(name) {
                None => Stand::default(),
                Some(settled) => {
                    let known = !settled.strategy.is_null();
                    let strategy = known.then(|| self.strategy(side, &settled.strategy));
                    Stand { strategy, absent: settled.absent }
                }
            };
        }
        let side = s.side(&self.settings, seat);
        let work = &mut s.work[seat];
        if let Some(draft) = &view.draft {
            let reading = self.engine.read(side, self.budgets[side], &draft.strategy);
            work.plan = reading.plan.unwrap_or_default();
            work.begun = PartialPiece::from_slice(&draft.choosing);
        }
        work.sent = view.tries_left.map_or(0, |left| self.settings.tries.saturating_sub(left));
        work.over = view.over.as_ref().map(|over| Box::new((over.strategy.clone(), over.cost)));
    }
}
