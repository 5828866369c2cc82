//! Plan games: two seats write a plan each, and a simulator decides the winner. Plans are revised over several rounds.
//!
//! [`PlanGame`] implements the game around a [`PlanEngine`]: rounds, attempts, verdicts, revisions, views, texts, and
//! plans built from action ids. The engine supplies the data tables, the checker, the simulator and the catalogue.

mod analyze;
mod documents;
mod engine;
mod log;
mod marks;
mod picture;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod view;
mod words;

pub(crate) use engine::LADDER;
pub use engine::{BattleEnd, ParsedPlan, PartialPiece, PlanEngine, PlanPiece, Side};
pub(crate) use log::event;
#[cfg(test)]
pub(crate) use log::events;
pub use log::{BattleLog, EventField, FullLog, SummaryLog};
pub(crate) use settings::plan_params;
pub use settings::{Feedback, PlanParams, PlanSettings, Revise, Roles, RoundFormat, Rules};
pub use state::{Flawed, Phase, Round, Stand, State, Strategy, Submission, Work};
pub use view::{Draft, OverBudget, RoundView, Settled, View};

use std::hash::{DefaultHasher, Hash, Hasher};

use documents::StrategyDocument;
use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Marks, Mover, ParsedMove, Seat, SeatSet, ToMove, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::Picture;
use ludex_env::tensor::{one_hot, stretches};
use ludex_protocol::error::Issue;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, TensorSpec, Utility};
use serde_json::{Value, json};

/// Action id that submits the plan built from action ids.
pub const SUBMIT: Action = 0;
/// Action id that keeps the current strategy.
pub const KEEP: Action = 1;
/// Maximum number of rounds of a match.
const MOST_ROUNDS: u32 = 50;

/// A plan game with fixed parameters.
pub struct PlanGame<C: PlanEngine> {
    params: C::Params,
    engine: C,
    settings: PlanSettings,
    /// Budgets of side 0 and side 1.
    budgets: [u32; 2],
}

impl<C: PlanEngine> PlanGame<C> {
    fn seats(&self) -> [String; 2] {
        match self.settings.roles {
            Roles::Fixed => C::SIDES.map(str::to_owned),
            Roles::Alternate => ["p0".to_owned(), "p1".to_owned()],
        }
    }

    /// Returns the engine, which supplies data tables, checker and simulator.
    pub fn engine(&self) -> &C {
        &self.engine
    }

    /// Returns the budgets of side 0 and side 1.
    pub fn budgets(&self) -> [u32; 2] {
        self.budgets
    }

    /// Returns the constant that equals `word`, the reason for the result of a round.
    fn reason(&self, word: &str) -> &'static str {
        const ALL: [&str; 8] =
            ["breach", "cleared", "cap", "wiped_out", "both_empty", "both_out", "forfeit", "both_forfeit"];
        ALL.into_iter().find(|known| *known == word).unwrap_or("both_forfeit")
    }

    /// Applies the move of a seat that must submit.
    fn take(&self, s: &mut State<C::Plan>, seat: Seat, parsed: &ParsedMove) {
        let side = s.side(&self.settings, seat);
        let work = &mut s.work[seat];
        match parsed {
            // Unchecked play may submit an incomplete plan, which is ignored.
            ParsedMove::Action(SUBMIT) if !self.engine.complete(&work.plan) || !work.begun.is_empty() => {}
            ParsedMove::Action(SUBMIT) => {
                let plan = std::mem::take(&mut work.plan);
                s.settle(side, seat, Submission::Strategy(Strategy::Legal(plan)));
            }
            ParsedMove::Action(KEEP) => s.settle(side, seat, Submission::Keep),
            ParsedMove::Action(a) => self.engine.choose(side, &mut work.plan, &mut work.begun, *a),
            ParsedMove::Document(document) => match self.understand(s, seat, document) {
                Ok((StrategyDocument::Settles(submission), _)) => s.settle(side, seat, submission),
                Ok((StrategyDocument::Over(document, cost), _)) => {
                    let work = &mut s.work[seat];
                    *work = Work { sent: work.sent + 1, over: Some(Box::new((document, cost))), ..Work::new(true) };
                }
                Err(_) => {}
            },
        }
    }

    fn play(&self, s: &mut State<C::Plan>, joint: &[Option<ParsedMove>]) {
        s.fresh = 0;
        for (seat, parsed) in joint.iter().enumerate().take(2) {
            if let (true, Some(parsed)) = (s.work[seat].due, parsed) {
                self.take(s, seat, parsed);
            }
        }
        s.advance(&self.engine, &self.settings, self.budgets);
    }

    /// Returns the event for all seats except the mover. `settles`: a text says that `seat` is done in this phase.
    fn aside(&self, seat: Seat, settles: bool) -> EventView {
        let text = settles.then(|| format!("{} has settled", self.seats()[seat & 1]));
        EventView { action: None, text }
    }

    fn array(&self) -> TensorSpec {
        let parts = [
            ("own", C::CELLS),
            ("draft", C::CELLS),
            ("opponent", C::CELLS),
            ("choosing", C::ACTIONS),
            ("left", 1),
            ("side", 2),
            ("phase", 2),
            ("round", MOST_ROUNDS),
        ];
        stretches(&parts, 255.0)
    }
}

impl<C: PlanEngine> Game for PlanGame<C> {
    type Params = C::Params;
    type State = State<C::Plan>;
    type View = View;

    const INFO: GameInfo = GameInfo { marks: &marks::docs(C::VALUE, C::STRUCTURAL), ..C::INFO };

    fn new(params: C::Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let settings = params.settings();
        settings.check()?;
        let engine = C::new(&params)?;
        Ok(PlanGame { params, engine, settings, budgets: C::BUDGETS.map(|base| settings.budget(base)) })
    }

    fn params(&self) -> &C::Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let rounds = self.settings.length();
        let twice = if self.settings.roles == Roles::Alternate { 2 } else { 1 };
        let most = f64::from(rounds);
        Facts {
            seats: self.seats().into(),
            dynamics: Dynamics::Mixed,
            chance: ChanceMode::Deterministic,
            information: Information::Imperfect,
            utility: Utility::GeneralSum,
            rewards: if rounds == 1 { RewardModel::Terminal } else { RewardModel::Step },
            returns: [-most, most],
            max_length: C::most_steps(self.budgets[0]) * rounds * twice + self.settings.tries,
            actions: C::ACTIONS,
            max_chance: 0,
            legal: LegalForm::Ids,
            tensor: Some(("observation", self.array())),
            info: None,
            openspiel: None,
            document_schemas: Some(self.schemas()),
        }
    }

    fn start(&self) -> State<C::Plan> {
        State::start()
    }

    fn to_move(&self, s: &State<C::Plan>) -> ToMove {
        let due = [0, 1].map(|seat| s.work[seat].due);
        let alone = s.phase.revises() && self.settings.revise == Revise::Alternate;
        match (s.phase, due) {
            (Phase::Over, _) | (_, [false, false]) => ToMove::Over,
            _ if alone => ToMove::Seat(usize::from(due[1])),
            (_, [a, b]) => ToMove::Simultaneous(SeatSet(u16::from(a) | u16::from(b) << 1)),
        }
    }

    fn legal(&self, s: &State<C::Plan>, seat: Seat, out: &mut impl ActionSink) {
        let Some(work) = s.work.get(seat).filter(|work| work.due) else { return };
        let side = s.side(&self.settings, seat);
        if work.begun.is_empty() {
            if self.engine.complete(&work.plan) {
                out.put(SUBMIT);
            }
            if s.phase.revises() && work.plan == C::Plan::default() {
                out.put(KEEP);
            }
        }
        self.engine.choices(side, self.budgets[side], &work.plan, &work.begun, out);
    }

    fn play_unchecked(&self, s: &mut State<C::Plan>, a: Action) {
        let seat = self.to_move(s).seat().unwrap_or(0);
        let mut joint = [None, None];
        joint[seat & 1] = Some(ParsedMove::Action(a));
        self.play(s, &joint);
    }

    fn returns(&self, s: &State<C::Plan>, out: &mut [f64]) {
        for (seat, out) in out.iter_mut().enumerate() {
            *out = s.history.iter().map(|round| if round.winner == Some(seat) { 1.0 } else { -1.0 }).sum();
        }
    }

    fn view(&self, s: &State<C::Plan>, who: Viewer) -> View {
        self.make_view(s, who)
    }

    fn sample_world(&self, view: &View, rng: &mut Stream) -> State<C::Plan> {
        self.make_world(view, rng)
    }
}

impl<C: PlanEngine> GameMoves for PlanGame<C> {
    fn play_together_unchecked(&self, s: &mut State<C::Plan>, joint: &[Action]) {
        let all = [0, 1].map(|seat| joint.get(seat).map(|&a| ParsedMove::Action(a)));
        self.play(s, &all);
    }

    fn play_joint_unchecked(&self, s: &mut State<C::Plan>, joint: &[Option<ParsedMove>]) {
        self.play(s, joint);
    }

    fn play_document(&self, s: &mut State<C::Plan>, seat: Seat, document: &Value) {
        let mut joint = [None, None];
        joint[seat & 1] = Some(ParsedMove::Document(document.clone()));
        self.play(s, &joint);
    }

    fn parse_document(&self, s: &State<C::Plan>, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        self.understand(s, seat & 1, document).map(|(_, canonical)| ParsedMove::Document(canonical))
    }

    fn sample(&self, s: &State<C::Plan>, seat: Seat, rng: &mut Stream) -> Option<Value> {
        let side = s.side(&self.settings, seat & 1);
        let budget = self.budgets[side];
        Some(match rng.below(20) {
            0 => json!({ "none": true }),
            1 | 2 if s.phase.revises() => json!({ "keep": true }),
            3 => self.engine.document(side, &self.engine.random(side, 2 * budget, rng)),
            _ => self.engine.document(side, &self.engine.random(side, budget, rng)),
        })
    }

    fn default_move(&self, _s: &State<C::Plan>, _seat: Seat, _rng: &mut Stream) -> ParsedMove {
        ParsedMove::Document(json!({ "none": true }))
    }
}

impl<C: PlanEngine> GameText for PlanGame<C> {
    fn text(&self, view: &View) -> String {
        self.words(view)
    }

    fn action_text(&self, view: &View, seat: Seat, a: Action) -> String {
        // A viewer that does not know the seat's side derives it from the phase.
        let side = match (self.settings.roles, view.phase) {
            (Roles::Fixed, _) | (_, Phase::Over) => seat & 1,
            (_, phase) => phase.side(seat & 1),
        };
        self.name(side, a)
    }

    fn phase(&self, s: &State<C::Plan>) -> Option<&'static str> {
        (s.phase != Phase::Over).then(|| s.phase.name())
    }
}

impl<C: PlanEngine> GameObservation for PlanGame<C> {
    fn observe_action(&self, before: &State<C::Plan>, who: Viewer, by: Mover, a: Action) -> EventView {
        let Mover::Seat(seat) = by else { return EventView::default() };
        if who != Viewer::Seat(seat) {
            return self.aside(seat, a == SUBMIT || a == KEEP);
        }
        EventView { action: Some(a), text: Some(self.name(before.side(&self.settings, seat & 1), a)) }
    }

    fn observe_document(&self, before: &State<C::Plan>, who: Viewer, seat: Seat, document: &Value) -> EventView {
        if who == Viewer::Seat(seat) {
            return EventView { action: None, text: Some(document.to_string()) };
        }
        self.aside(seat, matches!(self.understand(before, seat & 1, document), Ok((StrategyDocument::Settles(_), _))))
    }

    fn reveals(&self, now: &State<C::Plan>, _who: Viewer) -> Vec<(String, Value)> {
        let event = |(n, played): (usize, RoundView)| {
            (self.result(n, &played), serde_json::to_value(played).unwrap_or(Value::Null))
        };
        self.last_played(now).into_iter().map(event).collect()
    }

    fn tensor(&self, s: &State<C::Plan>, who: Viewer, out: &mut [u8]) {
        out.fill(0);
        let cells = C::CELLS as usize;
        let (plans, rest) = out.split_at_mut(3 * cells);
        let (choosing, rest) = rest.split_at_mut(C::ACTIONS as usize);
        let (flags, round) = rest.split_at_mut(5);
        one_hot(round, Some(s.history.len().min(MOST_ROUNDS as usize - 1)));
        flags[3] = u8::from(!s.phase.revises());
        flags[4] = u8::from(s.phase.revises());
        let Some(seat) = who.seat().map(|seat| seat & 1) else { return };
        let side = s.side(&self.settings, seat);
        let work = &s.work[seat];
        let mut draw = |at: usize, side: Side, strategy: Option<&Strategy<C::Plan>>| {
            if let Some(Strategy::Legal(plan)) = strategy {
                self.engine.encode(side, plan, &mut plans[at * cells..(at + 1) * cells]);
            }
        };
        draw(0, side, s.stands[seat][side].strategy.as_ref());
        if let Some(n) = s.history.len().checked_sub(1) {
            let theirs = s.history[n].strategies[1 - seat].as_ref();
            draw(2, state::side_in(&self.settings, n, 1 - seat), theirs);
        }
        self.engine.encode(side, &work.plan, &mut plans[cells..2 * cells]);
        work.begun.iter().for_each(|&a| choosing[a as usize % C::ACTIONS as usize] = 1);
        let budget = self.budgets[side].max(1);
        let left = budget.saturating_sub(self.engine.cost(side, &work.plan));
        flags[0] = (255 * left / budget) as u8;
        flags[1 + side] = 1;
    }
}

impl<C: PlanEngine> GameDisplay for PlanGame<C> {
    /// Returns the view as text without the rules, which the manual explains in full.
    fn drawing(&self, view: &View, _from: Viewer) -> String {
        self.words(view).replacen(&format!("{}\n", C::RULES), "", 1)
    }

    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture::<C>(view, self.budgets)
    }

    /// Explains an action id that follows the ids chosen so far for the current piece.
    fn gloss(&self, view: &View, seat: Seat, a: Action) -> String {
        let own = view.seat.map(usize::from) == Some(seat);
        let side = view.side.as_ref().and_then(|name| C::SIDES.iter().position(|n| n == name));
        let (Some(side), Some(draft)) = (side.filter(|_| own), &view.draft) else { return String::new() };
        if a <= KEEP { String::new() } else { self.engine.gloss(side, &draft.choosing, a) }
    }
}

impl<C: PlanEngine> GameSearch for PlanGame<C> {
    fn hash(&self, s: &State<C::Plan>) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        s.hash(&mut hasher);
        Some(hasher.finish())
    }
}

impl<C: PlanEngine> GameMarks for PlanGame<C> {
    fn marks(&self, before: &State<C::Plan>, _joint: &[Option<ParsedMove>], after: &State<C::Plan>, out: &mut Marks) {
        self.count(before, after, out);
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        analyze::answer(self, question)
    }
}
