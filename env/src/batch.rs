//! Many environments of one game, stepped together.
//!
//! [`DynBatch`] is what hosts hold; inside, [`Batch`] is typed, so a step makes no virtual call and, once its buffers
//! have grown, no allocation. Rows of the answer go to [`Columns`], which the host reuses or takes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use ludex_protocol::spec::{Dynamics, Information, RewardModel, Spec, TensorSpec, Utility};

use crate::columns::{Columns, Final, MaskForm};
use crate::draw::{Draw, scale};
use crate::erased::{DynState, Given, Loaded, held};
use crate::game::{Action, Find, Game, Heard, Outcomes, Seat, SeatSet, Turn, Viewer};
use crate::policy::{AgentKey, Ask, Policy};

/// What happens to a finished environment (the three modes of Gymnasium).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// The next step resets it and ignores its action.
    #[default]
    NextStep,
    /// It is reset in the same step; the ended episode's last view goes to [`Columns::last`].
    SameStep,
    /// The client resets it.
    Disabled,
}

/// Who plays which seat, episode by episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rotate {
    /// Always as listed.
    #[default]
    None,
    /// In episode e, seat k is played by entry (k + e) mod P.
    Cycle,
    /// As `Cycle`, with a shift drawn from the episode's key for the purpose `rotate`.
    Random,
}

/// Whose view a row shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observer {
    /// The client's only seat, else the seat to move.
    #[default]
    Acting,
    /// Every seat.
    All,
}

/// What an illegal action does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnIllegal {
    /// The whole call is refused, nothing moves.
    #[default]
    Refuse,
    /// The offender's episode ends with its least return.
    Lose,
}

/// Layout of observation arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Ours: u8, egocentric.
    #[default]
    Ludex,
    /// OpenSpiel's: f32.
    OpenSpiel,
}

/// Which views a batch's rows carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewSet {
    /// The observation array.
    pub tensor: bool,
    /// The perfect-recall array.
    pub info: bool,
    /// The structured view.
    pub structure: bool,
    /// The view in words.
    pub text: bool,
    /// The returns so far.
    pub returns: bool,
}

/// A seat's player: `None` is the client.
pub type Player = Option<Arc<dyn Policy>>;

/// Settings of a batch.
#[derive(Clone, Default)]
pub struct BatchConfig {
    /// How many environments, at least 1.
    pub count: usize,
    /// One entry per seat; empty = every seat is the client's.
    pub seats: Vec<Player>,
    /// Seat rotation.
    pub rotate: Rotate,
    /// Whether the client injects chance outcomes.
    pub client_chance: bool,
    /// What happens to finished environments.
    pub autoreset: Autoreset,
    /// Which views.
    pub views: ViewSet,
    /// Layout of the observation array.
    pub layout: Layout,
    /// Form of the legal actions.
    pub mask: MaskForm,
    /// Whose view.
    pub observer: Observer,
    /// What illegal actions do.
    pub on_illegal: OnIllegal,
    /// Truncates episodes after this many moves of seats.
    pub max_steps: Option<u32>,
    /// Seed of the first episodes when the first reset brings none; environment i has this + i.
    pub seed: u64,
}

/// What kind of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchCode {
    /// A list has the wrong length.
    BadShape,
    /// A setting or index does not exist here.
    BadField,
    /// An action is not legal.
    IllegalAction,
    /// The environment is finished or was never reset.
    EnvOver,
    /// A snapshot does not replay.
    BadSnapshot,
    /// A bound was hit.
    Limit,
}

/// A refused call; nothing has moved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct BatchError {
    /// What kind.
    pub code: BatchCode,
    /// The field at fault.
    pub path: &'static str,
    /// Position in that field.
    pub at: Option<usize>,
    /// What was given.
    pub got: Value,
    /// What is allowed.
    pub allowed: Value,
    /// One sentence.
    pub message: String,
}

impl BatchError {
    fn new(code: BatchCode, path: &'static str, message: impl Into<String>) -> Self {
        BatchError { code, path, at: None, got: Value::Null, allowed: Value::Null, message: message.into() }
    }
}

/// The actions of a step.
#[derive(Clone, Copy, Debug)]
pub enum Actions<'a> {
    /// Ids; -1 = none.
    Ids(&'a [i32]),
    /// Ids, text or proposals; `None` = none.
    Given(&'a [Option<Given>]),
}

/// Seeds of a reset.
#[derive(Clone, Debug, Default)]
pub enum Seeds {
    /// The series goes on.
    #[default]
    Continue,
    /// Environment i gets this + i.
    Base(u64),
    /// By position in the list of environments.
    Each(Vec<u64>),
}

/// One environment, small enough to send and to check: its seed, and its moves, replayed on restore.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Form of the snapshot, 1.
    pub v: u32,
    /// Hash of the game.
    pub hash: String,
    /// Parameters of the game.
    pub params: ludex_protocol::spec::Params,
    /// Seed.
    pub seed: u64,
    /// Episode number.
    pub episode: u64,
    /// Specs of the seats, as the host knows them.
    pub seats: Vec<String>,
    /// Who did what: a seat, -1 for chance, -2 for a joint move with a list of ids (-1 for seats that did not act).
    pub h: Vec<(i32, Value)>,
}

/// A batch without its type.
pub trait DynBatch: Send {
    /// The game's spec.
    fn spec(&self) -> &Spec;
    /// How many environments.
    fn count(&self) -> usize;
    /// Entries per row of [`Actions`]: 1, or the number of seats.
    fn width(&self) -> usize;
    /// The settings.
    fn config(&self) -> &BatchConfig;
    /// Name and shape of the observation array in the batch's layout, if the game has one.
    fn observation(&self) -> Option<(String, TensorSpec)>;
    /// Replaces the seats' players from the next episode on.
    ///
    /// # Errors
    /// A list of the wrong length.
    fn set_seats(&mut self, seats: Vec<Player>) -> Result<(), BatchError>;
    /// Starts episodes in `rows` (all, if `None`).
    ///
    /// # Errors
    /// An index out of range, seeds of the wrong number, or 1,000 episodes in a row that end before the client acts.
    fn reset(&mut self, rows: Option<&[u32]>, seeds: &Seeds, out: &mut Columns) -> Result<(), BatchError>;
    /// Steps `rows` (all, if `None`).
    ///
    /// # Errors
    /// One bad entry refuses the whole call and nothing moves.
    fn step(&mut self, rows: Option<&[u32]>, actions: Actions<'_>, out: &mut Columns) -> Result<(), BatchError>;
    /// The state of environment `i`, if it exists and was reset.
    fn state(&self, i: usize) -> Option<Box<dyn DynState>>;
    /// Copies of `rows` as a new batch: the same random streams, or fresh ones with `seed`.
    ///
    /// # Errors
    /// An index out of range.
    fn fork(&self, rows: Option<&[u32]>, seed: Option<u64>) -> Result<Box<dyn DynBatch>, BatchError>;
    /// Snapshots of `rows`; `seats` is what the host calls its players.
    ///
    /// # Errors
    /// An index out of range, or an environment that was never reset.
    fn snapshot(&self, rows: Option<&[u32]>, seats: &[String]) -> Result<Vec<Snapshot>, BatchError>;
    /// Replays snapshots into `rows` with checked moves.
    ///
    /// # Errors
    /// A snapshot of other rules, or one that does not replay; nothing changes then.
    fn restore(&mut self, rows: Option<&[u32]>, items: &[Snapshot], out: &mut Columns) -> Result<(), BatchError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Never reset.
    New,
    /// The client is to act.
    Live,
    /// Over by the rules.
    Terminated,
    /// Over by the step limit.
    Truncated,
}

/// What every step touches.
#[derive(Clone)]
struct Hot<S> {
    state: S,
    turn: Turn,
    status: Status,
    length: u32,
}

/// What only some steps touch.
#[derive(Clone)]
struct Cold {
    draw: Draw,
    /// Rotation: seat k is played by entry (k + shift) mod P.
    shift: usize,
    /// Who made the last move, for the view of a finished episode.
    last: Option<Seat>,
    /// Actions in order; a joint move has one entry per seat. `SAID` marks an index into `said`.
    history: Vec<u32>,
    said: Vec<Value>,
    /// Returns at the client's last action.
    base: Vec<f64>,
    /// Returns that a forfeit fixed.
    forfeit: Option<Vec<f64>>,
    /// Moves by seat, as agents count their turns.
    turns: Vec<u32>,
}

const SAID: u32 = 1 << 31;
const NONE: u32 = u32::MAX;
const SKIP_LIMIT: u32 = 1_000;
/// Up to this many actions the masks of a batch are kept for the legality check of the next step.
const KEPT_MASK: u32 = 512;

/// A typed batch.
pub(crate) struct Batch<G: Game> {
    of: Arc<Loaded<G>>,
    config: BatchConfig,
    players: usize,
    actions: usize,
    obs_bytes: usize,
    hot: Vec<Hot<G::State>>,
    cold: Vec<Cold>,
    /// Masks of the acting seats as last shown, `count * actions` bytes, where they are kept.
    masks: Vec<u8>,
    keep_masks: bool,
    /// Whether nothing can happen between two actions of the client but the end.
    plain: bool,
    /// Whether returns can be other than zero before the end.
    step_rewards: bool,
    outcomes: Outcomes,
    scratch: Vec<Action>,
}

impl<G: Game> Batch<G> {
    pub(crate) fn new(of: Arc<Loaded<G>>, config: BatchConfig) -> Result<Self, BatchError> {
        let spec = &of.spec;
        let players = spec.players as usize;
        if config.count == 0 {
            return Err(BatchError::new(BatchCode::BadField, "count", "count must be at least 1"));
        }
        if config.max_steps == Some(0) {
            return Err(BatchError::new(BatchCode::BadField, "max_steps", "max_steps must be at least 1"));
        }
        check_seats(&config.seats, players)?;
        let v = &config.views;
        let lacks = |what: &str| {
            let e = BatchError::new(BatchCode::BadField, "views", format!("{} has no view {what:?}", spec.game));
            Err(BatchError { got: what.into(), ..e })
        };
        if v.tensor && spec.views.tensor.is_none() {
            return lacks("tensor");
        }
        if v.info && spec.views.info.is_none() {
            return lacks("info");
        }
        if config.layout == Layout::OpenSpiel && of.game.facts().openspiel.is_none() {
            return Err(BatchError::new(
                BatchCode::BadField,
                "layout",
                format!("{} has no layout \"openspiel\"", spec.game),
            ));
        }
        let obs_bytes = crate::columns::obs_spec(spec, &of.game.facts(), config.layout).map_or(0, |t| t.bytes());
        let keep_masks = spec.actions <= KEPT_MASK && config.observer == Observer::Acting;
        let start = Hot { state: of.game.start(), turn: Turn::Over, status: Status::New, length: 0 };
        let cold = |i: usize| Cold {
            draw: Draw::new(G::ID, config.seed.wrapping_add(i as u64), 0),
            shift: 0,
            last: None,
            history: Vec::new(),
            said: Vec::new(),
            base: vec![0.0; players],
            forfeit: None,
            turns: vec![0; players],
        };
        let mut batch = Batch {
            players,
            actions: spec.actions as usize,
            obs_bytes,
            hot: vec![start; config.count],
            cold: (0..config.count).map(cold).collect(),
            masks: if keep_masks { vec![0; config.count * spec.actions as usize] } else { Vec::new() },
            keep_masks,
            plain: false,
            step_rewards: spec.rewards == RewardModel::Step,
            outcomes: Outcomes::new(),
            scratch: Vec::new(),
            of: of.clone(),
            config,
        };
        batch.settle();
        Ok(batch)
    }

    /// Recomputes what depends on the seats.
    fn settle(&mut self) {
        let spec = &self.of.spec;
        self.plain = self.config.seats.iter().all(Option::is_none)
            && (spec.max_chance == 0 || self.config.client_chance)
            && spec.dynamics == Dynamics::Sequential;
    }

    fn client_seats(&self) -> usize {
        if self.config.seats.is_empty() {
            self.players
        } else {
            self.config.seats.iter().filter(|p| p.is_none()).count()
        }
    }

    /// Who plays `seat` in row `i`.
    fn player(&self, i: usize, seat: Seat) -> Option<&Arc<dyn Policy>> {
        if self.config.seats.is_empty() {
            return None;
        }
        self.config.seats[(seat + self.cold[i].shift) % self.players].as_ref()
    }

    /// The client's seat in row `i`, if it has exactly one.
    fn only_seat(&self, i: usize) -> Option<Seat> {
        if self.client_seats() != 1 {
            return None;
        }
        (0..self.players).find(|&seat| self.player(i, seat).is_none())
    }

    fn rows<'r>(&self, rows: Option<&'r [u32]>) -> Result<Rows<'r>, BatchError> {
        let count = self.hot.len();
        match rows {
            None => Ok(Rows::All(count)),
            Some(list) => {
                let mut seen = vec![false; count];
                for (at, &i) in list.iter().enumerate() {
                    let twice = seen.get_mut(i as usize).map(|s| std::mem::replace(s, true));
                    if twice != Some(false) {
                        let what = if twice.is_none() { "does not exist" } else { "is named twice" };
                        let e = BatchError::new(BatchCode::BadField, "envs", format!("environment {i} {what}"));
                        return Err(BatchError {
                            at: Some(at),
                            got: i.into(),
                            allowed: format!("0..{count}, each once").into(),
                            ..e
                        });
                    }
                }
                Ok(Rows::Some(list))
            }
        }
    }

    // ---- episodes -------------------------------------------------------------------------------------------------

    /// Starts the next episode of row `i`, going on while episodes end before the client can act.
    fn begin(&mut self, i: usize, pos: usize, out: &mut Columns) -> Result<(), BatchError> {
        for _ in 0..SKIP_LIMIT {
            self.fresh(i);
            self.advance(i);
            let over = matches!(self.hot[i].status, Status::Terminated | Status::Truncated);
            if !over {
                return Ok(());
            }
            let mut returns = vec![0.0; self.players];
            self.returns(i, &mut returns);
            out.skip(pos, &returns);
            let c = &mut self.cold[i];
            c.draw = Draw::new(G::ID, c.draw.seed(), c.draw.episode() + 1);
        }
        let message = format!("environment {i}: {SKIP_LIMIT} episodes in a row ended before the client could act");
        Err(BatchError::new(BatchCode::Limit, "envs", message))
    }

    /// The first position under the row's draw.
    fn fresh(&mut self, i: usize) {
        let state = self.of.game.start();
        let turn = self.of.game.turn(&state);
        self.hot[i] = Hot { state, turn, status: Status::Live, length: 0 };
        let players = self.players;
        let c = &mut self.cold[i];
        c.history.clear();
        c.said.clear();
        c.base.fill(0.0);
        c.forfeit = None;
        c.last = None;
        c.turns.fill(0);
        c.shift = match self.config.rotate {
            Rotate::None => 0,
            Rotate::Cycle => (c.draw.episode() % players as u64) as usize,
            Rotate::Random => {
                let key = c.draw.other("rotate");
                scale(crate::draw::block(&key, 0), players as u64) as usize
            }
        };
    }

    /// Plays on until the client is to act or the episode is over.
    fn advance(&mut self, i: usize) {
        loop {
            let turn = self.of.game.turn(&self.hot[i].state);
            let h = &mut self.hot[i];
            h.turn = turn;
            if turn == Turn::Over {
                h.status = Status::Terminated;
                return;
            }
            if self.config.max_steps.is_some_and(|max| h.length >= max) {
                h.status = Status::Truncated;
                return;
            }
            if self.plain {
                return;
            }
            match turn {
                Turn::Chance if !self.config.client_chance => {
                    self.outcomes.clear();
                    self.of.game.chance(&self.hot[i].state, &mut self.outcomes);
                    let a = self.cold[i].draw.pick(&self.outcomes).unwrap_or(0);
                    self.move_chance(i, a);
                }
                Turn::Seat(seat) if self.player(i, seat).is_some() => match self.ask(i, seat) {
                    Some(a) => self.move_seat(i, seat, a),
                    None => return self.lose(i, seat),
                },
                Turn::Together(set) if set.iter().all(|seat| self.player(i, seat).is_some()) => {
                    let mut joint = [NONE; 16];
                    for seat in set.iter() {
                        match self.ask(i, seat) {
                            Some(a) => joint[seat] = a,
                            None => return self.lose(i, seat),
                        }
                    }
                    self.move_together(i, &joint);
                }
                _ => return,
            }
        }
    }

    /// The answer of the server's agent on `seat`; `None` if it is not legal.
    fn ask(&mut self, i: usize, seat: Seat) -> Option<Action> {
        let policy = self.player(i, seat)?.clone();
        let mut legal = std::mem::take(&mut self.scratch);
        legal.clear();
        self.of.game.legal(&self.hot[i].state, seat, &mut legal);
        let state = held(&self.of, self.hot[i].state.clone());
        let c = &self.cold[i];
        let mut ask = Ask::on_state(&*state, seat, c.turns[seat], &legal, AgentKey::Episode(&c.draw));
        if policy.peeks() {
            ask = ask.with_peek();
        }
        let a = policy.choose(&ask);
        let answer = legal.contains(&a).then_some(a);
        self.scratch = legal;
        answer
    }

    #[inline]
    fn move_seat(&mut self, i: usize, seat: Seat, a: Action) {
        let h = &mut self.hot[i];
        self.of.game.play_unchecked(&mut h.state, a);
        h.length += 1;
        let c = &mut self.cold[i];
        c.history.push(a);
        c.last = Some(seat);
        c.turns[seat] += 1;
    }

    fn move_chance(&mut self, i: usize, a: Action) {
        self.of.game.play_unchecked(&mut self.hot[i].state, a);
        let c = &mut self.cold[i];
        c.history.push(a);
        c.last = None;
    }

    fn move_together(&mut self, i: usize, joint: &[u32; 16]) {
        let players = self.players;
        let c = &mut self.cold[i];
        c.history.extend_from_slice(&joint[..players]);
        c.last = None;
        let mut ids = [0; 16];
        for seat in 0..players {
            if joint[seat] != NONE {
                ids[seat] = joint[seat];
                c.turns[seat] += 1;
            }
        }
        let h = &mut self.hot[i];
        self.of.game.play_together_unchecked(&mut h.state, &ids[..players]);
        h.length += 1;
    }

    fn move_said(&mut self, i: usize, seat: Seat, said: Value) {
        let h = &mut self.hot[i];
        self.of.game.play_said(&mut h.state, seat, &said);
        h.length += 1;
        let c = &mut self.cold[i];
        c.history.push(SAID | c.said.len() as u32);
        c.said.push(said);
        c.last = Some(seat);
        c.turns[seat] += 1;
    }

    /// Ends row `i` against `seat`.
    fn lose(&mut self, i: usize, seat: Seat) {
        let mut returns = vec![0.0; self.players];
        self.returns(i, &mut returns);
        forfeit(&self.of.spec, seat, &mut returns);
        self.cold[i].forfeit = Some(returns);
        self.cold[i].last = Some(seat);
        self.hot[i].status = Status::Terminated;
        self.hot[i].turn = Turn::Over;
    }

    fn returns(&self, i: usize, out: &mut [f64]) {
        match &self.cold[i].forfeit {
            Some(fixed) => out.copy_from_slice(fixed),
            None => self.of.game.returns(&self.hot[i].state, out),
        }
    }

    // ---- checking -------------------------------------------------------------------------------------------------

    fn over(&self, i: usize, at: usize) -> BatchError {
        let message = match self.hot[i].status {
            Status::New => format!("environment {i} was never reset: reset it first"),
            _ => format!("environment {i} is finished: reset it first"),
        };
        BatchError { at: Some(at), got: (i as u64).into(), ..BatchError::new(BatchCode::EnvOver, "actions", message) }
    }

    #[inline]
    fn is_legal(&self, i: usize, seat: Seat, a: i32) -> bool {
        if a < 0 || a as usize >= self.actions {
            return false;
        }
        if self.keep_masks && self.hot[i].turn == Turn::Seat(seat) {
            return self.masks[i * self.actions + a as usize] == 1;
        }
        let mut find = Find { wanted: a as u32, found: false };
        self.of.game.legal(&self.hot[i].state, seat, &mut find);
        find.found
    }

    fn illegal(&self, i: usize, seat: Option<Seat>, a: i32, at: usize) -> BatchError {
        let state = held(&self.of, self.hot[i].state.clone());
        let spec = &self.of.spec;
        let (why, allowed): (String, Value) = match seat {
            None => {
                let mut outcomes = Outcomes::new();
                state.chance(&mut outcomes);
                let ids: Vec<Action> = outcomes.items().iter().map(|o| o.0).collect();
                (format!("{a} is no outcome of this chance node"), ids.into())
            }
            Some(_) if a < 0 || a as usize >= self.actions => {
                (format!("{a} is no action of {} (0..{})", spec.game, spec.actions), self.allowed(i, seat))
            }
            Some(p) => (self.of.game.why_not(&self.hot[i].state, p, a as u32), self.allowed(i, seat)),
        };
        let e = BatchError::new(BatchCode::IllegalAction, "actions", format!("environment {i}: {why}"));
        BatchError { at: Some(at), got: a.into(), allowed, ..e }
    }

    fn allowed(&self, i: usize, seat: Option<Seat>) -> Value {
        let mut legal = Vec::new();
        if let Some(seat) = seat {
            self.of.game.legal(&self.hot[i].state, seat, &mut legal);
        }
        // A refusal stays small: thousands of ids help nobody.
        legal.truncate(KEPT_MASK as usize);
        legal.into()
    }

    /// Checks one row of ids. `Ok(Some(seat))` names an offender where illegal actions lose.
    fn check(&self, i: usize, at: usize, row: &[i32]) -> Result<Option<Seat>, BatchError> {
        let h = &self.hot[i];
        if row.iter().all(|&a| a == -1) {
            return if h.status == Status::New { Err(self.over(i, at)) } else { Ok(None) };
        }
        match h.status {
            Status::New => return Err(self.over(i, at)),
            Status::Terminated | Status::Truncated => {
                return if self.config.autoreset == Autoreset::NextStep { Ok(None) } else { Err(self.over(i, at)) };
            }
            Status::Live => {}
        }
        let lose = self.config.on_illegal == OnIllegal::Lose;
        let column = |seat: Seat| if row.len() == 1 { 0 } else { seat };
        let mut used = SeatSet(0);
        match h.turn {
            Turn::Seat(seat) => {
                used = SeatSet(1 << column(seat));
                let a = row[column(seat)];
                if !self.is_legal(i, seat, a) {
                    return if lose { Ok(Some(seat)) } else { Err(self.illegal(i, Some(seat), a, at)) };
                }
            }
            Turn::Chance => {
                used = SeatSet(1);
                let mut outcomes = Outcomes::new();
                self.of.game.chance(&h.state, &mut outcomes);
                if !outcomes.items().iter().any(|o| i64::from(o.0) == i64::from(row[0])) {
                    return Err(self.illegal(i, None, row[0], at));
                }
            }
            Turn::Together(set) => {
                for seat in set.iter().filter(|&s| self.player(i, s).is_none()) {
                    used.0 |= 1 << column(seat);
                    let a = row[column(seat)];
                    if !self.is_legal(i, seat, a) {
                        return if lose && a != -1 { Ok(Some(seat)) } else { Err(self.illegal(i, Some(seat), a, at)) };
                    }
                }
            }
            Turn::Over => {}
        }
        for (c, &a) in row.iter().enumerate() {
            if a != -1 && !used.has(c) {
                let e = BatchError::new(
                    BatchCode::IllegalAction,
                    "actions",
                    format!("environment {i}: seat {c} does not act, its column holds -1"),
                );
                return Err(BatchError { at: Some(at), got: a.into(), allowed: (-1).into(), ..e });
            }
        }
        Ok(None)
    }

    // ---- writing --------------------------------------------------------------------------------------------------

    /// Whose view row `i` shows.
    #[inline]
    fn viewer(&self, i: usize) -> Seat {
        if !self.config.seats.is_empty()
            && let Some(seat) = self.only_seat(i)
        {
            return seat;
        }
        match self.hot[i].turn {
            Turn::Seat(seat) => seat,
            Turn::Together(set) => set.iter().find(|&s| self.player(i, s).is_none()).unwrap_or(0),
            Turn::Chance => 0,
            Turn::Over => self.cold[i].last.unwrap_or(0),
        }
    }

    fn write_tensor(&self, i: usize, seat: Seat, out: &mut [u8]) {
        match self.config.layout {
            Layout::Ludex => self.of.game.tensor(&self.hot[i].state, Viewer::Seat(seat), out),
            Layout::OpenSpiel => {
                let mut values = vec![0f32; out.len() / 4];
                self.of.game.openspiel_tensor(&self.hot[i].state, seat, &mut values);
                for (bytes, v) in out.chunks_exact_mut(4).zip(values) {
                    bytes.copy_from_slice(&v.to_le_bytes());
                }
            }
        }
    }

    /// Writes the views and the mask of row `i` at position `pos`.
    #[inline]
    fn show(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let all = self.config.observer == Observer::All;
        let first = if all { 0 } else { self.viewer(i) };
        let seats = if all { self.players } else { 1 };
        let v = self.config.views;
        for k in 0..seats {
            let (seat, at) = (first + k, pos * seats + k);
            if v.tensor {
                let range = at * self.obs_bytes..(at + 1) * self.obs_bytes;
                self.write_tensor(i, seat, &mut out.obs[range]);
            }
            if v.info {
                let n = out.info_len;
                self.of.game.info(&self.hot[i].state, Viewer::Seat(seat), &mut out.info[at * n..(at + 1) * n]);
            }
            if v.structure || v.text {
                let view = held(&self.of, self.hot[i].state.clone()).view(Viewer::Seat(seat));
                if v.structure {
                    out.structure[at] = view.value();
                }
                if v.text {
                    out.text[at] = view.text();
                }
            }
            self.show_mask(i, seat, at, out);
        }
    }

    #[inline]
    fn show_mask(&mut self, i: usize, seat: Seat, at: usize, out: &mut Columns) {
        let n = self.actions;
        let h = &self.hot[i];
        let live = h.status == Status::Live;
        if self.keep_masks {
            let kept = &mut self.masks[i * n..(i + 1) * n];
            if live {
                self.of.game.mask(&h.state, seat, kept);
            } else {
                kept.fill(0);
            }
            out.put_mask(at, kept);
            return;
        }
        let form = self.config.mask;
        if form == MaskForm::None {
            return;
        }
        self.scratch.clear();
        if live {
            self.of.game.legal(&h.state, seat, &mut self.scratch);
        }
        out.put_legal(at, &self.scratch);
    }

    /// Writes everything about row `i` at position `pos`, with the rewards since the client's last action.
    #[inline]
    fn write(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let p = self.players;
        let over = self.hot[i].status != Status::Live;
        if over || self.step_rewards {
            let mut now = [0.0; 16];
            self.returns(i, &mut now[..p]);
            let base = &mut self.cold[i].base;
            for seat in 0..p {
                out.reward[pos * p + seat] = (now[seat] - base[seat]) as f32;
                base[seat] = now[seat];
            }
        } else {
            out.reward[pos * p..(pos + 1) * p].fill(0.0);
        }
        out.terminated[pos] = u8::from(self.hot[i].status == Status::Terminated);
        out.truncated[pos] = u8::from(self.hot[i].status == Status::Truncated);
        self.write_rest(i, pos, out);
    }

    /// Writes what is about the episode that row `i` is in now.
    #[inline]
    fn write_rest(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let p = self.players;
        let h = &self.hot[i];
        out.to_move[pos] = if h.status == Status::Live { h.turn.code() } else { Turn::Over.code() };
        out.length[pos] = h.length;
        out.episode[pos] = self.cold[i].draw.episode() as u32;
        if !self.config.seats.is_empty()
            && let Some(seat) = self.only_seat(i)
        {
            out.seat[pos] = seat as i8;
        }
        if self.config.views.returns {
            // A copy of the sums, so that the borrow of the column ends before the row is shown.
            let mut now = [0.0; 16];
            self.returns(i, &mut now[..p]);
            out.returns[pos * p..(pos + 1) * p].copy_from_slice(&now[..p]);
        }
        if self.config.client_chance {
            self.outcomes.clear();
            if self.hot[i].status == Status::Live && self.hot[i].turn == Turn::Chance {
                self.of.game.chance(&self.hot[i].state, &mut self.outcomes);
            }
            out.put_chance(pos, &self.outcomes);
        }
        self.show(i, pos, out);
    }

    /// Keeps the last view of row `i` before a reset in the same step.
    fn write_final(&mut self, i: usize, pos: usize, out: &mut Columns) {
        let all = self.config.observer == Observer::All;
        let (first, seats) = if all { (0, self.players) } else { (self.viewer(i), 1) };
        let mut last = std::mem::take(&mut out.last);
        let Final { at, obs, info, structure, text, returns, length, seat } = &mut last;
        at.push(pos as u32);
        length.push(self.hot[i].length);
        if let (false, Some(only)) = (self.config.seats.is_empty(), self.only_seat(i)) {
            seat.push(only as i8);
        }
        let from = returns.len();
        returns.resize(from + self.players, 0.0);
        self.returns(i, &mut returns[from..]);
        let v = self.config.views;
        for viewer in first..first + seats {
            if v.tensor {
                let from = obs.len();
                obs.resize(from + self.obs_bytes, 0);
                self.write_tensor(i, viewer, &mut obs[from..]);
            }
            if v.info {
                let from = info.len();
                info.resize(from + out.info_len, 0);
                self.of.game.info(&self.hot[i].state, Viewer::Seat(viewer), &mut info[from..]);
            }
            if v.structure || v.text {
                let view = held(&self.of, self.hot[i].state.clone()).view(Viewer::Seat(viewer));
                if v.structure {
                    structure.push(view.value());
                }
                if v.text {
                    text.push(view.text());
                }
            }
        }
        out.last = last;
    }

    fn prepare(&self, rows: usize, out: &mut Columns) {
        out.prepare(
            rows,
            &self.of.spec,
            &self.config,
            self.obs_bytes,
            self.client_seats() == 1 && !self.config.seats.is_empty(),
        );
    }

    fn next_episode(&mut self, i: usize) {
        let c = &mut self.cold[i];
        c.draw = Draw::new(G::ID, c.draw.seed(), c.draw.episode() + 1);
    }

    /// What follows an action of the client: the rest of the turn, the row of the answer, and a reset where it is due.
    #[inline]
    fn after(&mut self, i: usize, pos: usize, out: &mut Columns) -> Result<(), BatchError> {
        self.write_after(i, pos, out)
    }

    #[inline]
    fn write_after(&mut self, i: usize, pos: usize, out: &mut Columns) -> Result<(), BatchError> {
        if self.hot[i].status == Status::Live {
            self.advance(i);
        }
        if self.hot[i].status == Status::Live || self.config.autoreset != Autoreset::SameStep {
            self.write(i, pos, out);
            return Ok(());
        }
        // Reward and flags tell the ended episode, everything else the new one.
        let p = self.players;
        let mut now = [0.0; 16];
        self.returns(i, &mut now[..p]);
        for seat in 0..p {
            out.reward[pos * p + seat] = (now[seat] - self.cold[i].base[seat]) as f32;
        }
        out.terminated[pos] = u8::from(self.hot[i].status == Status::Terminated);
        out.truncated[pos] = u8::from(self.hot[i].status == Status::Truncated);
        self.write_final(i, pos, out);
        self.next_episode(i);
        self.begin(i, pos, out)?;
        self.write_rest(i, pos, out);
        Ok(())
    }

    /// Plays one checked row of ids.
    #[inline]
    fn play_row(
        &mut self,
        i: usize,
        pos: usize,
        row: &[i32],
        offender: Option<Seat>,
        out: &mut Columns,
    ) -> Result<(), BatchError> {
        if row.iter().all(|&a| a == -1) {
            self.write(i, pos, out);
            return Ok(());
        }
        if self.hot[i].status != Status::Live {
            // Next-step reset: the action is ignored.
            self.next_episode(i);
            self.begin(i, pos, out)?;
            self.write(i, pos, out);
            return Ok(());
        }
        if let Some(seat) = offender {
            out.illegal.push(pos as u32);
            self.lose(i, seat);
            return self.after(i, pos, out);
        }
        let column = |seat: Seat| if row.len() == 1 { 0 } else { seat };
        match self.hot[i].turn {
            Turn::Seat(seat) => self.move_seat(i, seat, row[column(seat)] as u32),
            Turn::Chance => self.move_chance(i, row[0] as u32),
            Turn::Together(set) => {
                let mut joint = [NONE; 16];
                for seat in set.iter() {
                    if self.player(i, seat).is_none() {
                        joint[seat] = row[column(seat)] as u32;
                        continue;
                    }
                    match self.ask(i, seat) {
                        Some(a) => joint[seat] = a,
                        None => {
                            self.lose(i, seat);
                            return self.after(i, pos, out);
                        }
                    }
                }
                self.move_together(i, &joint);
            }
            Turn::Over => {}
        }
        self.after(i, pos, out)
    }

    fn step_ids(&mut self, rows: Rows<'_>, actions: &[i32], out: &mut Columns) -> Result<(), BatchError> {
        let width = self.width();
        let n = rows.len();
        if actions.len() != n * width {
            let e = BatchError::new(
                BatchCode::BadShape,
                "actions",
                format!("{} actions were given for {n} environments of {width}", actions.len()),
            );
            return Err(BatchError { got: actions.len().into(), allowed: (n * width).into(), ..e });
        }
        let mut offenders: Vec<(usize, Seat)> = Vec::new();
        for pos in 0..n {
            let row = &actions[pos * width..(pos + 1) * width];
            if let Some(seat) = self.check(rows.at(pos), pos, row)? {
                offenders.push((pos, seat));
            }
        }
        self.prepare(n, out);
        let mut offenders = offenders.into_iter().peekable();
        for pos in 0..n {
            let offender = offenders.next_if(|o| o.0 == pos).map(|o| o.1);
            self.play_row(rows.at(pos), pos, &actions[pos * width..(pos + 1) * width], offender, out)?;
        }
        Ok(())
    }

    /// Text and proposals: every entry is read before anything moves; ids go the common way.
    fn step_given(&mut self, rows: Rows<'_>, given: &[Option<Given>], out: &mut Columns) -> Result<(), BatchError> {
        let (width, n) = (self.width(), rows.len());
        if given.len() != n * width {
            let e = BatchError::new(
                BatchCode::BadShape,
                "moves",
                format!("{} moves were given for {n} environments of {width}", given.len()),
            );
            return Err(BatchError { got: given.len().into(), allowed: (n * width).into(), ..e });
        }
        let mut ids = vec![-1; given.len()];
        let mut said: Vec<(usize, Seat, Value)> = Vec::new();
        for (k, entry) in given.iter().enumerate() {
            let (pos, i) = (k / width, rows.at(k / width));
            let Some(entry) = entry else { continue };
            let h = &self.hot[i];
            if let Given::Id(id) = entry {
                ids[k] = i32::try_from(*id).unwrap_or(i32::MAX);
                continue;
            }
            if h.status != Status::Live {
                // Checked below like an id: refused, or ignored before a next-step reset.
                ids[k] = 0;
                continue;
            }
            let seat = if width > 1 { k % width } else { self.only_seat(i).unwrap_or(self.viewer(i)) };
            match held(&self.of, h.state.clone()).read(seat, entry) {
                Ok(Heard::Action(a)) => ids[k] = a as i32,
                Ok(Heard::Said(value)) => said.push((pos, seat, value)),
                Err(_) if self.config.on_illegal == OnIllegal::Lose => ids[k] = i32::MAX,
                Err(refusal) => {
                    let e = BatchError::new(BatchCode::IllegalAction, "moves", format!("environment {i}: {refusal}"));
                    let allowed = if refusal.issues.is_empty() {
                        self.allowed(i, Some(seat))
                    } else {
                        serde_json::to_value(&refusal.issues).unwrap_or_default()
                    };
                    return Err(BatchError { at: Some(k), allowed, ..e });
                }
            }
        }
        let mut offenders = Vec::new();
        for pos in 0..n {
            if !said.iter().any(|s| s.0 == pos)
                && let Some(seat) = self.check(rows.at(pos), pos, &ids[pos * width..(pos + 1) * width])?
            {
                offenders.push((pos, seat));
            }
        }
        self.prepare(n, out);
        for pos in 0..n {
            let i = rows.at(pos);
            if let Some(k) = said.iter().position(|s| s.0 == pos) {
                let (_, seat, value) = said.swap_remove(k);
                self.move_said(i, seat, value);
                self.after(i, pos, out)?;
                continue;
            }
            let offender = offenders.iter().find(|o| o.0 == pos).map(|o| o.1);
            self.play_row(i, pos, &ids[pos * width..(pos + 1) * width], offender, out)?;
        }
        Ok(())
    }

    // ---- snapshots ------------------------------------------------------------------------------------------------

    /// The history of row `i` with who acted, found by replaying it.
    fn told(&self, i: usize) -> Vec<(i32, Value)> {
        let c = &self.cold[i];
        let mut s = self.of.game.start();
        let (mut h, mut k) = (Vec::new(), 0);
        while k < c.history.len() {
            let a = c.history[k];
            match self.of.game.turn(&s) {
                Turn::Together(_) => {
                    let joint: Vec<u32> = c.history[k..k + self.players].to_vec();
                    let shown: Vec<i64> = joint.iter().map(|&a| if a == NONE { -1 } else { i64::from(a) }).collect();
                    h.push((-2, shown.into()));
                    let ids: Vec<u32> = joint.iter().map(|&a| if a == NONE { 0 } else { a }).collect();
                    self.of.game.play_together_unchecked(&mut s, &ids);
                    k += self.players;
                    continue;
                }
                Turn::Seat(seat) if a & SAID != 0 => {
                    let said = &c.said[(a & !SAID) as usize];
                    h.push((seat as i32, serde_json::json!({ "said": said })));
                    self.of.game.play_said(&mut s, seat, said);
                }
                turn => {
                    h.push((i32::from(turn.code()), a.into()));
                    self.of.game.play_unchecked(&mut s, a);
                }
            }
            k += 1;
        }
        h
    }

    /// A row replayed from a snapshot with checked moves.
    fn replayed(&self, i: usize, item: &Snapshot) -> Result<(Hot<G::State>, Cold), String> {
        let spec = &self.of.spec;
        if item.v != 1 || item.hash != spec.hash {
            return Err(format!("it is of rules {}, not {}", item.hash, spec.hash));
        }
        let mut fork = self.single(i, Draw::new(G::ID, item.seed, item.episode));
        fork.fresh(0);
        for (k, (who, what)) in item.h.iter().enumerate() {
            fork.replay_one(*who, what).map_err(|why| format!("move {k}: {why}"))?;
        }
        fork.advance_replayed();
        let (Some(hot), Some(cold)) = (fork.hot.pop(), fork.cold.pop()) else {
            return Err("it is empty".into());
        };
        Ok((hot, cold))
    }

    fn replay_one(&mut self, who: i32, what: &Value) -> Result<(), String> {
        let state = held(&self.of, self.hot[0].state.clone());
        let id = |v: &Value| v.as_u64().and_then(|a| u32::try_from(a).ok()).ok_or_else(|| format!("{v} is no action"));
        match state.turn() {
            Turn::Chance if who == -1 => {
                let a = id(what)?;
                state.boxed().play_chance(a).map_err(|e| e.to_string())?;
                self.move_chance(0, a);
                // The stream goes on after the draws that were made.
                let _ = self.cold[0].draw.bits();
            }
            Turn::Together(set) if who == -2 => {
                let list = what.as_array().filter(|l| l.len() == self.players).ok_or("no joint move")?;
                let mut joint = [NONE; 16];
                for seat in set.iter() {
                    joint[seat] = id(&list[seat])?;
                }
                let checked: Vec<_> = joint[..self.players].iter().map(|&a| (a != NONE).then_some(a)).collect();
                state.boxed().play_together(&checked).map_err(|e| e.to_string())?;
                self.move_together(0, &joint);
            }
            Turn::Seat(seat) if who == seat as i32 => match what.get("said") {
                Some(said) => match state.read(seat, &Given::Proposal(said.clone())).map_err(|e| e.to_string())? {
                    Heard::Said(canonical) => self.move_said(0, seat, canonical),
                    Heard::Action(a) => self.move_seat(0, seat, a),
                },
                None => {
                    let a = id(what)?;
                    state.boxed().play(seat, a).map_err(|e| e.to_string())?;
                    self.move_seat(0, seat, a);
                }
            },
            turn => return Err(format!("{who} moves, but it is the turn of {}", turn.code())),
        }
        Ok(())
    }

    /// After a replay: rewards count from here, and the game goes on until the client is to act. (It is already there
    /// unless the snapshot was made by hand.)
    fn advance_replayed(&mut self) {
        let mut base = std::mem::take(&mut self.cold[0].base);
        self.returns(0, &mut base);
        self.cold[0].base = base;
        self.advance(0);
    }

    /// A batch of one with this draw, for replays.
    fn single(&self, i: usize, draw: Draw) -> Batch<G> {
        let mut one = self.copy(&[i]);
        one.cold[0].draw = draw;
        one
    }

    fn copy(&self, rows: &[usize]) -> Batch<G> {
        let mut config = self.config.clone();
        config.count = rows.len();
        let n = self.actions;
        let mut masks = Vec::new();
        if self.keep_masks {
            rows.iter().for_each(|&i| masks.extend_from_slice(&self.masks[i * n..(i + 1) * n]));
        }
        Batch {
            of: self.of.clone(),
            config,
            hot: rows.iter().map(|&i| self.hot[i].clone()).collect(),
            cold: rows.iter().map(|&i| self.cold[i].clone()).collect(),
            masks,
            outcomes: Outcomes::new(),
            scratch: Vec::new(),
            ..*self
        }
    }
}

impl<G: Game> DynBatch for Batch<G> {
    fn spec(&self) -> &Spec {
        &self.of.spec
    }

    fn count(&self) -> usize {
        self.hot.len()
    }

    fn width(&self) -> usize {
        if self.of.spec.dynamics == Dynamics::Sequential || self.client_seats() == 1 { 1 } else { self.players }
    }

    fn config(&self) -> &BatchConfig {
        &self.config
    }

    fn observation(&self) -> Option<(String, TensorSpec)> {
        let name = self.of.spec.views.tensor.as_ref()?.keys().next()?.clone();
        let array = crate::columns::obs_spec(&self.of.spec, &self.of.game.facts(), self.config.layout)?;
        Some((name, array))
    }

    fn set_seats(&mut self, seats: Vec<Player>) -> Result<(), BatchError> {
        check_seats(&seats, self.players)?;
        self.config.seats = seats;
        self.settle();
        Ok(())
    }

    fn reset(&mut self, rows: Option<&[u32]>, seeds: &Seeds, out: &mut Columns) -> Result<(), BatchError> {
        let rows = self.rows(rows)?;
        if let Seeds::Each(list) = seeds
            && list.len() != rows.len()
        {
            let e = BatchError::new(
                BatchCode::BadShape,
                "seeds",
                format!("{} seeds were given for {} environments", list.len(), rows.len()),
            );
            return Err(BatchError { got: list.len().into(), allowed: rows.len().into(), ..e });
        }
        self.prepare(rows.len(), out);
        for pos in 0..rows.len() {
            let i = rows.at(pos);
            let seed = match seeds {
                Seeds::Continue => None,
                Seeds::Base(s) => Some(s.wrapping_add(i as u64)),
                Seeds::Each(list) => Some(list[pos]),
            };
            match (seed, self.hot[i].status) {
                (Some(seed), _) => self.cold[i].draw = Draw::new(G::ID, seed, 0),
                (None, Status::New) => {}
                (None, _) => self.next_episode(i),
            }
            self.begin(i, pos, out)?;
            self.write(i, pos, out);
        }
        Ok(())
    }

    fn step(&mut self, rows: Option<&[u32]>, actions: Actions<'_>, out: &mut Columns) -> Result<(), BatchError> {
        let rows = self.rows(rows)?;
        match actions {
            Actions::Ids(ids) => self.step_ids(rows, ids, out),
            Actions::Given(given) => self.step_given(rows, given, out),
        }
    }

    fn state(&self, i: usize) -> Option<Box<dyn DynState>> {
        let h = self.hot.get(i).filter(|h| h.status != Status::New)?;
        Some(held(&self.of, h.state.clone()))
    }

    fn fork(&self, rows: Option<&[u32]>, seed: Option<u64>) -> Result<Box<dyn DynBatch>, BatchError> {
        let rows = self.rows(rows)?;
        let list: Vec<usize> = (0..rows.len()).map(|pos| rows.at(pos)).collect();
        let mut fork = self.copy(&list);
        if let Some(seed) = seed {
            for (i, c) in fork.cold.iter_mut().enumerate() {
                c.draw = Draw::new(G::ID, seed.wrapping_add(i as u64), c.draw.episode());
            }
        }
        Ok(Box::new(fork))
    }

    fn snapshot(&self, rows: Option<&[u32]>, seats: &[String]) -> Result<Vec<Snapshot>, BatchError> {
        let rows = self.rows(rows)?;
        let one = |pos| {
            let i = rows.at(pos);
            if self.hot[i].status == Status::New {
                return Err(BatchError { path: "envs", ..self.over(i, pos) });
            }
            let (spec, c) = (&self.of.spec, &self.cold[i]);
            Ok(Snapshot {
                v: 1,
                hash: spec.hash.clone(),
                params: spec.params.clone(),
                seed: c.draw.seed(),
                episode: c.draw.episode(),
                seats: seats.to_vec(),
                h: self.told(i),
            })
        };
        (0..rows.len()).map(one).collect()
    }

    fn restore(&mut self, rows: Option<&[u32]>, items: &[Snapshot], out: &mut Columns) -> Result<(), BatchError> {
        let rows = self.rows(rows)?;
        if items.len() != rows.len() {
            let e = BatchError::new(
                BatchCode::BadShape,
                "items",
                format!("{} snapshots were given for {} environments", items.len(), rows.len()),
            );
            return Err(BatchError { got: items.len().into(), allowed: rows.len().into(), ..e });
        }
        let mut replayed = Vec::with_capacity(items.len());
        for (pos, item) in items.iter().enumerate() {
            replayed.push(self.replayed(rows.at(pos), item).map_err(|why| {
                let e =
                    BatchError::new(BatchCode::BadSnapshot, "items", format!("snapshot {pos} does not replay: {why}"));
                BatchError { at: Some(pos), ..e }
            })?);
        }
        self.prepare(rows.len(), out);
        for (pos, (hot, cold)) in replayed.into_iter().enumerate() {
            let i = rows.at(pos);
            (self.hot[i], self.cold[i]) = (hot, cold);
            self.write(i, pos, out);
        }
        Ok(())
    }
}

/// Rows of a call: all, or a checked list.
#[derive(Clone, Copy)]
enum Rows<'a> {
    All(usize),
    Some(&'a [u32]),
}

impl Rows<'_> {
    fn len(&self) -> usize {
        match self {
            Rows::All(n) => *n,
            Rows::Some(list) => list.len(),
        }
    }

    #[inline]
    fn at(&self, pos: usize) -> usize {
        match self {
            Rows::All(_) => pos,
            Rows::Some(list) => list[pos] as usize,
        }
    }
}

fn check_seats(seats: &[Player], players: usize) -> Result<(), BatchError> {
    let wrong = |message: String| {
        let e = BatchError::new(BatchCode::BadShape, "seats", message);
        Err(BatchError { got: seats.len().into(), allowed: players.into(), ..e })
    };
    if !seats.is_empty() && seats.len() != players {
        return wrong(format!("{} seats were given, the game has {players}", seats.len()));
    }
    if !seats.is_empty() && seats.iter().all(Option::is_some) {
        return wrong("no seat is left to the client".into());
    }
    Ok(())
}

/// What a forfeit of `seat` makes of the sums so far: the offender gets the least return; in two-player zero- and
/// constant-sum games the other gets the greatest, elsewhere the others keep theirs.
pub fn forfeit(spec: &Spec, seat: Seat, returns: &mut [f64]) {
    if returns.len() == 2 && matches!(spec.utility, Utility::ZeroSum | Utility::ConstantSum) {
        returns.fill(spec.max_return);
    }
    if let Some(r) = returns.get_mut(seat) {
        *r = spec.min_return;
    }
}

/// Whether a game hides anything; hosts decide by it what spectators may see.
pub fn hides(spec: &Spec) -> bool {
    spec.information == Information::Imperfect
}
