//! One row of a batch: its state, its episode, and the seats that the server plays.

use std::sync::Arc;

use serde_json::Value;

use ludex_protocol::message::{Batch, FinalRows};
use ludex_protocol::spec::RewardModel;
use ludex_protocol::{ErrorCode, Refusal};

use super::columns::Shape;
use super::{BatchConfig, ChanceBy, Episode, GymView, Layout, Observer, Rotate, SeatPolicy, check_seats, forfeit};
use crate::documents;
use crate::draw::{Draw, Key, TOGETHER, first_draws, scale};
use crate::game::{Action, CompleteGame, Outcomes, ParsedMove, Seat, ToMove};
use crate::policy::{AgentKey, MoveRequest, Policy};
use crate::typed::{Loaded, box_state};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// The row has had no episode since the batch was opened.
    New,
    /// The episode is running.
    Live,
    /// The rules, or a forfeit, ended the episode.
    Terminated,
    /// The step limit ended the episode.
    Truncated,
}

/// The fields of a row that every step accesses, mostly in wire form.
#[derive(Clone)]
pub(super) struct RowState<S> {
    pub(super) state: S,
    pub(super) status: Status,
    /// [`ToMove::code`] of the current position, or the code for an ended episode.
    pub(super) to_move: i8,
    /// Seat of the last move, for the view of a finished episode; [`NO_SEAT`] after chance and joint moves.
    pub(super) last: i8,
    pub(super) length: u32,
    pub(super) episode: u32,
    /// Actions in order. A joint move has one entry per seat, `NONE` for seats that did not act. The flag
    /// `DOCUMENT_FLAG` marks an index into `documents`.
    pub(super) history: Vec<u32>,
}

/// The documents of an episode, and their total size in memory.
#[derive(Clone, Default)]
pub(super) struct EpisodeDocuments {
    pub(super) values: Vec<Value>,
    pub(super) bytes: usize,
}

impl EpisodeDocuments {
    /// Stores a document and returns its history entry.
    fn push(&mut self, document: Value) -> u32 {
        self.bytes += documents::bytes(&document);
        self.values.push(document);
        DOCUMENT_FLAG | (self.values.len() - 1) as u32
    }
}

/// The fields of a row that only some steps access.
#[derive(Clone)]
pub(super) struct RowContext {
    pub(super) draw: Draw,
    /// Policies of this episode's seats; empty: the client plays every seat.
    pub(super) seats: Arc<[SeatPolicy]>,
    /// Rotation of the episode: entry (k + shift) mod P of `seats` plays seat k, where P is the number of seats.
    pub(super) shift: usize,
    pub(super) documents: EpisodeDocuments,
    /// Sum of each seat's rewards up to the client's last action, in games with step rewards.
    pub(super) base: Vec<f64>,
    /// Final return of each seat after a forfeit.
    pub(super) forfeit: Option<Vec<f64>>,
    /// Number of moves of each seat, passed to agents as the turn number.
    pub(super) turns: Vec<u32>,
    /// True if all chance outcomes so far derive from the seed.
    pub(super) seeded: bool,
}

pub(super) const DOCUMENT_FLAG: u32 = 1 << 31;
pub(super) const NONE: u32 = u32::MAX;
pub(super) const NO_SEAT: i8 = -1;
const SKIP_LIMIT: u32 = 1_000;
/// Number of moves of chance and server agents between two pauses.
const MOVES_PER_PAUSE: u32 = 64;
/// Number of rows per group in [`Envs::reset_due`].
const AT_ONCE: usize = 8 * TOGETHER;
/// Largest number of actions for which masks are cached for the legality check of the next step.
pub(super) const MAX_CACHED_MASK: u32 = 512;

/// One view in a reply: a row, and the seat from whose perspective the row is viewed.
#[derive(Clone, Copy)]
pub(super) struct ViewRow {
    row: u32,
    seat: u32,
}

impl ViewRow {
    pub(super) fn new(row: usize, seat: Seat) -> Self {
        ViewRow { row: row as u32, seat: seat as u32 }
    }

    pub(super) fn row(self) -> usize {
        self.row as usize
    }

    pub(super) fn seat(self) -> Seat {
        self.seat as Seat
    }
}

/// The environments of a batch of the game `G`.
pub(crate) struct Envs<G: CompleteGame> {
    pub(super) of: Arc<Loaded<G>>,
    pub(super) config: BatchConfig,
    /// Policies for future episodes; empty: the client plays every seat.
    pub(super) seats: Arc<[SeatPolicy]>,
    /// Number of seats that the client plays; constant for the lifetime of the batch.
    pub(super) client_seats: usize,
    pub(super) players: usize,
    pub(super) actions: usize,
    /// Layout of the replies.
    pub(super) shape: Shape,
    pub(super) hot: Vec<RowState<G::State>>,
    pub(super) cold: Vec<RowContext>,
    /// Cached masks of the acting seats from the last reply, `count * actions` bytes; empty if masks are not cached.
    pub(super) masks: Vec<u8>,
    pub(super) keep_masks: bool,
    /// True if neither chance nor a server agent can move between two actions of the client.
    pub(super) plain: bool,
    /// True if the server draws chance outcomes.
    pub(super) draws: bool,
    /// True if returns can be nonzero before the end.
    pub(super) step_rewards: bool,
    /// Rows in which an episode is due to start, and their positions in the reply.
    pub(super) due: Vec<(u32, u32)>,
    pub(super) outcomes: Outcomes,
    pub(super) scratch: Vec<Action>,
    /// Views that the current reply contains.
    pub(super) eyes: Vec<ViewRow>,
    /// Final rows of the reply; filled only under same-step autoreset.
    pub(super) last: FinalRows,
    /// Episodes that ended in this call, if episodes are recorded.
    pub(super) episodes: Vec<Episode>,
}

impl<G: CompleteGame> Envs<G> {
    pub(crate) fn new(of: Arc<Loaded<G>>, config: BatchConfig) -> Result<Self, Refusal> {
        let spec = &of.spec;
        let players = spec.players as usize;
        if config.count == 0 {
            return Err(Refusal::new(ErrorCode::BadField, "count: expected at least 1, got 0").path("count"));
        }
        if config.max_steps == Some(0) {
            return Err(Refusal::new(ErrorCode::BadField, "max_steps: expected at least 1, got 0").path("max_steps"));
        }
        check_seats(&config.seats, players)?;
        let facts = of.game.facts();
        if config.layout == Layout::OpenSpiel && facts.openspiel.is_none() {
            let message = format!("{} has no layout \"openspiel\"", spec.game);
            return Err(Refusal::new(ErrorCode::BadField, message).path("layout"));
        }
        if config.views.iter().flatten().any(|view| *view == GymView::Picture) {
            let message = "batches do not support pictures: request a view instead";
            return Err(Refusal::new(ErrorCode::BadField, message).path("views"));
        }
        let client_seats = client_seats(&config, players);
        let shape = Shape::new(spec, &facts, &config, client_seats == 1).map_err(|view| {
            Refusal::new(ErrorCode::BadField, format!("{} has no view {view:?}", spec.game)).path("views").got(view)
        })?;
        let keep_masks = spec.actions <= MAX_CACHED_MASK && config.observer == Observer::Acting;
        let start = RowState {
            state: of.game.start(),
            status: Status::New,
            to_move: ToMove::Over.code(),
            last: NO_SEAT,
            length: 0,
            episode: 0,
            history: Vec::new(),
        };
        let seats: Arc<[SeatPolicy]> = players_of(&config);
        let cold = |i: usize| RowContext {
            seats: seats.clone(),
            draw: Draw::new(G::INFO.id, config.seed.wrapping_add(i as u64), 0),
            shift: 0,
            documents: EpisodeDocuments::default(),
            base: vec![0.0; players],
            forfeit: None,
            turns: vec![0; players],
            seeded: false,
        };
        Ok(Envs {
            players,
            actions: spec.actions as usize,
            shape,
            hot: vec![start; config.count],
            cold: (0..config.count).map(cold).collect(),
            masks: if keep_masks { vec![0; config.count * spec.actions as usize] } else { Vec::new() },
            keep_masks,
            plain: seats.is_empty() && (spec.max_chance == 0 || config.chance == ChanceBy::Client),
            draws: spec.max_chance > 0 && config.chance == ChanceBy::Server,
            step_rewards: spec.rewards == RewardModel::Step,
            due: Vec::new(),
            outcomes: Outcomes::new(),
            scratch: Vec::new(),
            eyes: Vec::new(),
            last: FinalRows::default(),
            episodes: Vec::new(),
            client_seats,
            seats,
            of: of.clone(),
            config,
        })
    }

    /// Returns the party to move in row `i`; after truncation, the party that would move next.
    #[inline]
    pub(super) fn turn(&self, i: usize) -> ToMove {
        let h = &self.hot[i];
        match (Seat::try_from(h.to_move), h.status) {
            (Ok(seat), _) => ToMove::Seat(seat),
            (_, Status::Terminated) => ToMove::Over,
            _ => self.of.game.to_move(&h.state),
        }
    }

    /// Returns the policy of `seat` in row `i`; `None` if the client plays the seat.
    #[inline]
    pub(super) fn player(&self, i: usize, seat: Seat) -> Option<&Arc<dyn Policy>> {
        let c = &self.cold[i];
        if c.seats.is_empty() {
            return None;
        }
        c.seats[(seat + c.shift) % self.players].as_ref()
    }

    /// Returns the client's seat in row `i`, if the client plays exactly one seat.
    #[inline]
    pub(super) fn only_seat(&self, i: usize) -> Option<Seat> {
        if self.client_seats != 1 {
            return None;
        }
        (0..self.players).find(|&seat| self.player(i, seat).is_none())
    }

    pub(super) fn rows<'r>(&self, rows: Option<&'r [u32]>) -> Result<Rows<'r>, Refusal> {
        let count = self.hot.len();
        match rows {
            None => Ok(Rows::All(count)),
            Some(list) => {
                let mut seen = vec![false; count];
                for (at, &i) in list.iter().enumerate() {
                    let twice = seen.get_mut(i as usize).map(|s| std::mem::replace(s, true));
                    if twice != Some(false) {
                        let what = if twice.is_none() { "does not exist" } else { "is listed twice" };
                        let e =
                            Refusal::new(ErrorCode::BadField, format!("environment {i} {what}")).path("envs").index(at);
                        return Err(e.got(i).allowed(format!("0 to {}, each once", count - 1)));
                    }
                }
                Ok(Rows::Some(list))
            }
        }
    }

    /// Starts an episode in every due row. Processes the rows in groups, with a separate loop for each stage. The
    /// processor can then overlap independent rows, and the data of a group stays in the cache.
    ///
    /// # Errors
    /// Fails if the episodes of a row repeatedly end before the client can act. The episodes of all other rows have
    /// then started.
    pub(super) fn reset_due(&mut self, out: &mut Batch) -> Result<(), Refusal> {
        let mut due = std::mem::take(&mut self.due);
        let mut failed = None;
        for some in due.chunks(AT_ONCE) {
            some.iter().for_each(|&(i, _)| self.fresh(i as usize));
            if self.draws {
                let (mut keys, mut draws) = ([Key::default(); AT_ONCE], [Default::default(); AT_ONCE]);
                for (key, &(i, _)) in keys.iter_mut().zip(some) {
                    *key = self.cold[i as usize].draw.make_key();
                }
                let filled = some.len().next_multiple_of(TOGETHER);
                first_draws(&keys[..filled], &mut draws[..filled]);
                for (&(i, _), first) in some.iter().zip(draws) {
                    self.cold[i as usize].draw.foresee(first);
                }
            }
            for &(i, pos) in some {
                if !self.advance(i as usize)
                    && let Err(e) = self.skip(i as usize, pos as usize, out)
                {
                    failed.get_or_insert(e);
                }
            }
        }
        due.clear();
        self.due = due;
        failed.map_or(Ok(()), Err)
    }

    /// Reports the episode of row `i` as skipped, because it ended before the client could act. Then starts further
    /// episodes until the client can act.
    #[cold]
    fn skip(&mut self, i: usize, pos: usize, out: &mut Batch) -> Result<(), Refusal> {
        for _ in 0..SKIP_LIMIT {
            let mut returns = vec![0.0; self.players];
            self.returns(i, &mut returns);
            let skipped = out.skipped.get_or_insert_default();
            skipped.at.push(pos as u32);
            skipped.returns.extend_from_slice(&returns);
            self.archive_row(i);
            self.next_episode(i);
            self.fresh(i);
            if self.advance(i) {
                return Ok(());
            }
        }
        let message = self.of_env(i, &format!("{SKIP_LIMIT} consecutive episodes ended before the client could act"));
        Err(Refusal::new(ErrorCode::Limit, message).path("envs"))
    }

    #[inline]
    pub(super) fn next_episode(&mut self, i: usize) {
        let draw = &mut self.cold[i].draw;
        draw.next_episode();
        self.hot[i].episode = draw.episode() as u32;
    }

    /// Resets row `i` to the initial state. The caller must then call [`Envs::advance`], which sets the party to move.
    #[inline]
    pub(super) fn fresh(&mut self, i: usize) {
        let players = self.players;
        let c = &mut self.cold[i];
        let h = &mut self.hot[i];
        h.state = self.of.game.start();
        (h.status, h.last, h.length, h.episode) = (Status::Live, NO_SEAT, 0, c.draw.episode() as u32);
        h.history.clear();
        c.documents = EpisodeDocuments::default();
        if self.step_rewards {
            c.base.fill(0.0);
        }
        c.forfeit = None;
        c.seeded = self.config.chance == ChanceBy::Server;
        if !self.seats.is_empty() {
            c.turns.fill(0);
            c.seats = self.seats.clone();
        }
        c.shift = match self.config.rotate {
            Rotate::None => 0,
            Rotate::Cycle => (c.draw.episode() % players as u64) as usize,
            Rotate::Random => {
                let key = c.draw.other("rotate");
                scale(crate::draw::block(&key, 0), players as u64) as usize
            }
        };
    }

    /// Plays until the client is to act or the episode ends. Returns true if the episode continues.
    #[inline(always)]
    pub(super) fn advance(&mut self, i: usize) -> bool {
        let turn = self.of.game.to_move(&self.hot[i].state);
        self.settle(i, turn) && (self.plain || self.play_on(i, turn))
    }

    /// Stores `turn` in row `i` as the party to move. Ends the episode if the game is over or the step limit is
    /// reached. Returns true if the episode continues.
    #[inline(always)]
    fn settle(&mut self, i: usize, turn: ToMove) -> bool {
        let h = &mut self.hot[i];
        h.to_move = turn.code();
        if turn == ToMove::Over {
            h.status = Status::Terminated;
            return false;
        }
        if self.config.max_steps.is_some_and(|max| h.length >= max) {
            (h.status, h.to_move) = (Status::Truncated, ToMove::Over.code());
            return false;
        }
        true
    }

    /// Plays the moves of chance and of server agents until the client is to act. Returns true if the episode
    /// continues.
    #[inline]
    fn play_on(&mut self, i: usize, mut turn: ToMove) -> bool {
        let mut moves = 0_u32;
        while self.server_moves(i, turn) {
            moves += 1;
            if moves.is_multiple_of(MOVES_PER_PAUSE) && self.config.pause().is_err() {
                (self.hot[i].status, self.hot[i].to_move) = (Status::Truncated, ToMove::Over.code());
                return false;
            }
            turn = self.of.game.to_move(&self.hot[i].state);
            if !self.settle(i, turn) {
                return false;
            }
        }
        self.hot[i].status == Status::Live
    }

    /// Plays the pending move in row `i` if chance or a server agent is to move. Returns true if more such moves may
    /// follow.
    #[inline]
    fn server_moves(&mut self, i: usize, turn: ToMove) -> bool {
        match turn {
            ToMove::Chance if self.config.chance == ChanceBy::Server => {
                self.outcomes.clear();
                self.of.game.chance(&self.hot[i].state, &mut self.outcomes);
                let a = self.cold[i].draw.pick(&self.outcomes).unwrap_or(0);
                self.move_chance(i, a);
            }
            ToMove::Seat(seat) if self.player(i, seat).is_some() => {
                let Some(a) = self.ask(i, seat) else {
                    self.lose(i, seat);
                    return false;
                };
                self.move_seat(i, seat, a);
            }
            ToMove::Simultaneous(set) if set.iter().all(|seat| self.player(i, seat).is_some()) => {
                let mut joint = [NONE; 16];
                for seat in set.iter() {
                    let Some(a) = self.ask(i, seat) else {
                        self.lose(i, seat);
                        return false;
                    };
                    joint[seat] = a;
                }
                self.move_together(i, &joint);
            }
            _ => return false,
        }
        true
    }

    /// Requests a move from the server agent on `seat`. Returns `None` if the reply is illegal.
    pub(super) fn ask(&mut self, i: usize, seat: Seat) -> Option<Action> {
        let policy = self.player(i, seat)?.clone();
        let mut legal = std::mem::take(&mut self.scratch);
        legal.clear();
        self.of.game.legal(&self.hot[i].state, seat, &mut legal);
        let state = box_state(&self.of, self.hot[i].state.clone());
        let c = &self.cold[i];
        let ask = MoveRequest::on_state(&*state, seat, c.turns[seat], &legal, AgentKey::Episode(&c.draw));
        let mut ask = ask.with_budget(self.config.budget());
        if policy.peeks() {
            ask = ask.with_peek();
        }
        let a = policy.choose(&ask);
        let answer = legal.contains(&a).then_some(a);
        self.scratch = legal;
        answer
    }

    #[inline]
    pub(super) fn move_seat(&mut self, i: usize, seat: Seat, a: Action) {
        self.of.game.play_unchecked(&mut self.hot[i].state, a);
        self.moved(i, seat, a);
    }

    pub(super) fn apply_document(&mut self, i: usize, seat: Seat, document: Value) {
        self.of.game.play_document(&mut self.hot[i].state, seat, &document);
        let at = self.cold[i].documents.push(document);
        self.moved(i, seat, at);
    }

    #[inline]
    fn moved(&mut self, i: usize, seat: Seat, entry: u32) {
        let h = &mut self.hot[i];
        h.length += 1;
        h.last = seat as i8;
        h.history.push(entry);
        if !self.seats.is_empty() {
            self.cold[i].turns[seat] += 1;
        }
    }

    #[inline]
    pub(super) fn move_chance(&mut self, i: usize, a: Action) {
        let h = &mut self.hot[i];
        self.of.game.play_unchecked(&mut h.state, a);
        h.last = NO_SEAT;
        h.history.push(a);
    }

    /// Plays a joint move that contains a document.
    pub(super) fn move_joint(&mut self, i: usize, joint: Vec<Option<ParsedMove>>) {
        self.of.game.play_joint_unchecked(&mut self.hot[i].state, &joint);
        let (h, c) = (&mut self.hot[i], &mut self.cold[i]);
        for (seat, heard) in joint.into_iter().enumerate() {
            c.turns[seat] += u32::from(heard.is_some());
            h.history.push(match heard {
                None => NONE,
                Some(ParsedMove::Action(a)) => a,
                Some(ParsedMove::Document(document)) => c.documents.push(document),
            });
        }
        h.length += 1;
        h.last = NO_SEAT;
    }

    pub(super) fn move_together(&mut self, i: usize, joint: &[u32; 16]) {
        let players = self.players;
        let mut ids = [0; 16];
        for seat in 0..players {
            if joint[seat] != NONE {
                ids[seat] = joint[seat];
                self.cold[i].turns[seat] += 1;
            }
        }
        let h = &mut self.hot[i];
        self.of.game.play_together_unchecked(&mut h.state, &ids[..players]);
        h.history.extend_from_slice(&joint[..players]);
        h.length += 1;
        h.last = NO_SEAT;
    }

    /// Ends row `i` with a forfeit of `seat`.
    pub(super) fn lose(&mut self, i: usize, seat: Seat) {
        let mut returns = vec![0.0; self.players];
        self.returns(i, &mut returns);
        forfeit(&self.of.spec, seat, &mut returns);
        self.cold[i].forfeit = Some(returns);
        let h = &mut self.hot[i];
        (h.last, h.status, h.to_move) = (seat as i8, Status::Terminated, ToMove::Over.code());
    }

    #[inline]
    pub(super) fn returns(&self, i: usize, out: &mut [f64]) {
        match &self.cold[i].forfeit {
            Some(fixed) => out.copy_from_slice(fixed),
            None => self.of.game.returns(&self.hot[i].state, out),
        }
    }
}

/// The rows of a call: all rows, or a validated list.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    All(usize),
    Some(&'a [u32]),
}

impl Rows<'_> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Rows::All(n) => *n,
            Rows::Some(list) => list.len(),
        }
    }

    #[inline]
    pub(super) fn at(&self, pos: usize) -> usize {
        match self {
            Rows::All(_) => pos,
            Rows::Some(list) => list[pos] as usize,
        }
    }

    /// Iterates over the rows in order.
    #[inline]
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(move |pos| self.at(pos))
    }
}

/// Returns the policies of `config`; empty if the client plays every seat.
pub(super) fn players_of(config: &BatchConfig) -> Arc<[SeatPolicy]> {
    if config.seats.iter().all(Option::is_none) { Arc::new([]) } else { config.seats.as_slice().into() }
}

/// Returns the number of seats of `config` that the client plays.
pub(super) fn client_seats(config: &BatchConfig, players: usize) -> usize {
    if config.seats.is_empty() { players } else { config.seats.iter().filter(|p| p.is_none()).count() }
}
