//! Games that a network plays against itself by search, as training samples in the manner of AlphaZero.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use ludex_env::draw::{Stream, episode_key};
use ludex_env::{Action, DynState, GameRef, Outcomes, Seat, ToMove, Viewer};
use ludex_protocol::spec::{Dynamics, Information, TensorSpec};
use ndarray::{Array1, Array2};

use super::agent::choose;
use super::cache::EvaluationCache;
use super::network::Network;
use super::puct::{PuctSearch, check};
use super::tree::{Descent, Leaf, scaled};
use crate::error::AgentError;

pub use super::tree::PuctSettings;

/// Settings of searches and moves in self-play.
#[derive(Clone, Copy, Debug)]
pub struct SelfPlaySettings {
    /// Number of simulations per move.
    pub sims: u64,
    pub tree: PuctSettings,
    /// Number of moves at the start of a game that are sampled in proportion to the visits; later moves are those with
    /// the most visits.
    pub explore: u32,
    /// Number of sampled states per search, in games with hidden information.
    pub worlds: u64,
    /// Seed of the games.
    pub seed: u64,
}

/// Games of a network against itself.
pub struct SelfPlay {
    network: Network,
    game: GameRef,
    settings: SelfPlaySettings,
    /// Sampled states per search.
    worlds: u64,
}

/// Training samples: one row for each move.
pub struct Samples {
    /// Observations in the form of the game's array, row by row.
    pub observations: Vec<u8>,
    /// Shares of the visits of all actions, of shape `[N, A]`.
    pub policy: Array2<f32>,
    /// Ones for legal actions, of shape `[N, A]`.
    pub mask: Array2<u8>,
    /// Returns of the game, scaled so that -1 and 1 are the bounds of the game's returns, of shape `[N, P]`; the
    /// observing seat is first, and the others follow in seat order.
    pub value: Array2<f32>,
    /// Numbers of the games, of shape `[N]`.
    pub game: Array1<i64>,
    /// Observing seats, of shape `[N]`.
    pub seat: Array1<i64>,
}

/// Error that ends [`SelfPlay::play`].
#[derive(Debug, thiserror::Error)]
pub enum SelfPlayError {
    #[error("self-play was stopped")]
    Stopped,
    #[error(transparent)]
    Network(#[from] AgentError),
}

impl SelfPlay {
    /// Creates games of `network`, which was loaded for `game`.
    ///
    /// # Errors
    /// Returns the reason for a game with simultaneous moves or documents, or a network that gives no value for each
    /// seat or has recurrent state.
    pub fn new(network: Network, game: GameRef, settings: SelfPlaySettings) -> Result<Self, String> {
        let spec = game.spec();
        if spec.dynamics != Dynamics::Sequential {
            return Err(format!("{} has simultaneous moves, which the search does not support", spec.game));
        }
        if spec.document_schemas.is_some() {
            return Err(format!("{} has moves without action ids, which the search does not support", spec.game));
        }
        check(&network, &game)?;
        let worlds = if spec.information == Information::Imperfect { settings.worlds } else { 1 };
        Ok(SelfPlay { network, game, settings, worlds })
    }

    /// Returns the spec of the array of observations.
    pub fn array(&self) -> Option<&TensorSpec> {
        self.network.kind().spec(self.game.spec())
    }

    /// Returns the SHA-256 of the network's file in hexadecimal digits.
    pub fn digest(&self) -> &str {
        self.network.digest()
    }

    /// Plays the games with these numbers at the same time, with one evaluation for a leaf of each game.
    ///
    /// The draws of a game are a function of the seed and the game's number. With equal floating-point results, so are
    /// its moves.
    ///
    /// # Errors
    /// Fails if the network fails, or soon after `stop` becomes true.
    pub fn play(&self, games: Range<u64>, stop: &AtomicBool) -> Result<Samples, SelfPlayError> {
        let mut live: Vec<SelfPlayGame<'_>> = games.clone().map(|number| SelfPlayGame::new(self, number)).collect();
        let bytes = self.array().map_or(0, TensorSpec::bytes);
        let spec = self.game.spec();
        let mut cache = EvaluationCache::new(bytes, spec.actions as usize, spec.players as usize);
        let mut rows: Vec<u8> = Vec::new();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(SelfPlayError::Stopped);
            }
            rows.clear();
            let mut leaves: Vec<(usize, Leaf)> = Vec::new();
            for (i, game) in live.iter_mut().enumerate() {
                if let Some(leaf) = game.advance(&mut rows) {
                    leaves.push((i, leaf));
                }
            }
            if leaves.is_empty() {
                return Ok(self.collect(live));
            }
            let found = cache.evaluate(&self.network, &rows, bytes)?;
            for (row, (i, leaf)) in leaves.iter().enumerate() {
                live[*i].supply(leaf, &found, row);
            }
        }
    }

    fn collect(&self, games: Vec<SelfPlayGame<'_>>) -> Samples {
        let spec = self.game.spec();
        let (actions, players) = (spec.actions as usize, spec.players as usize);
        let rows: usize = games.iter().map(|game| game.positions.len()).sum();
        let mut samples = Samples {
            observations: Vec::new(),
            policy: Array2::zeros((rows, actions)),
            mask: Array2::zeros((rows, actions)),
            value: Array2::zeros((rows, players)),
            game: Array1::zeros(rows),
            seat: Array1::zeros(rows),
        };
        let mut row = 0;
        for game in games {
            let returns = game.state.returns();
            for position in game.positions {
                samples.observations.extend_from_slice(&position.observation);
                let sum = position.visits.sum().max(1.0);
                for (&a, visits) in position.legal.iter().zip(&position.visits) {
                    samples.policy[[row, a as usize]] = visits / sum;
                    samples.mask[[row, a as usize]] = 1;
                }
                for (k, value) in samples.value.row_mut(row).iter_mut().enumerate() {
                    let seat = (position.seat + k) % players;
                    *value = scaled(returns[seat], spec.min_return, spec.max_return) as f32;
                }
                samples.game[row] = i64::try_from(game.number).unwrap_or(i64::MAX);
                samples.seat[row] = position.seat as i64;
                row += 1;
            }
        }
        samples
    }
}

/// Position of a game in which a seat moved.
struct Position {
    observation: Vec<u8>,
    seat: Seat,
    legal: Vec<Action>,
    /// Visits of each legal action.
    visits: Array1<f32>,
}

/// Search for the move of a position.
struct MoveSearch<'a> {
    position: Position,
    search: PuctSearch<'a>,
    /// Number of states searched before this one.
    world: u64,
    /// Simulations in this state so far.
    made: u64,
}

/// Game in progress, with the search for its next move.
struct SelfPlayGame<'a> {
    of: &'a SelfPlay,
    number: u64,
    state: Box<dyn DynState>,
    rng: Stream,
    outcomes: Outcomes,
    positions: Vec<Position>,
    search: Option<MoveSearch<'a>>,
}

impl<'a> SelfPlayGame<'a> {
    fn new(of: &'a SelfPlay, number: u64) -> Self {
        let key = episode_key("self-play", of.game.id(), of.settings.seed, number);
        SelfPlayGame {
            of,
            number,
            state: of.game.start(),
            rng: Stream::new(&key),
            outcomes: Outcomes::new(),
            positions: Vec::new(),
            search: None,
        }
    }

    /// Plays and searches until a position needs an evaluation, and appends its observation to `rows`. Returns `None` at
    /// the end of the game.
    fn advance(&mut self, rows: &mut Vec<u8>) -> Option<Leaf> {
        loop {
            match self.state.turn() {
                ToMove::Over | ToMove::Simultaneous(_) => return None,
                ToMove::Chance => {
                    self.state.chance(&mut self.outcomes);
                    let outcome = self.rng.pick(&self.outcomes)?;
                    self.state.play_unchecked(outcome);
                }
                ToMove::Seat(seat) => {
                    let mut search = match self.search.take() {
                        Some(search) => search,
                        None => self.begin(seat)?,
                    };
                    if let Some(leaf) = self.descend(&mut search) {
                        search.search.append_rows(rows);
                        self.search = Some(search);
                        return Some(leaf);
                    }
                    self.play(search.position);
                }
            }
        }
    }

    /// Starts the search for a move of `seat`; `None` if the game has more moves than its spec allows.
    fn begin(&mut self, seat: Seat) -> Option<MoveSearch<'a>> {
        let most = self.of.game.spec().max_length as usize;
        if self.positions.len() >= most {
            return None;
        }
        let mut observation = vec![0; self.of.array().map_or(0, TensorSpec::bytes)];
        self.of.network.kind().write(&*self.state, seat, &mut observation);
        let legal = self.state.legal_list(seat);
        let visits = Array1::zeros(legal.len());
        let position = Position { observation, seat, legal, visits };
        let search = PuctSearch::new(self.world(seat), self.of.settings.tree, &self.of.network);
        Some(MoveSearch { position, search, world: 0, made: 0 })
    }

    /// Returns a state that `seat` cannot distinguish from the true state.
    fn world(&mut self, seat: Seat) -> Box<dyn DynState> {
        match self.of.game.spec().information {
            Information::Perfect => self.state.boxed(),
            Information::Imperfect => self.state.view(Viewer::Seat(seat)).world(&mut self.rng),
        }
    }

    /// Searches until a position needs an evaluation. Returns `None` at the end of the search.
    fn descend(&mut self, of: &mut MoveSearch<'a>) -> Option<Leaf> {
        let SelfPlaySettings { sims, tree, .. } = self.of.settings;
        // Each sampled state needs a simulation for the root and one per action, so `sims` limits the states.
        let worlds = self.of.worlds.min(sims / (of.position.legal.len() as u64 + 1)).max(1);
        loop {
            if let [_] = of.position.legal[..] {
                of.position.visits.fill(1.0);
                return None;
            }
            let share = sims / worlds + u64::from(of.world < sims % worlds);
            if of.made >= share || of.search.tree.is_full() {
                for (visits, action) in of.position.visits.iter_mut().zip(of.search.tree.root_actions()) {
                    *visits += action.visits as f32;
                }
                of.world += 1;
                if of.world >= worlds {
                    return None;
                }
                of.made = 0;
                of.search = PuctSearch::new(self.world(of.position.seat), tree, &self.of.network);
            }
            of.made += 1;
            if let Descent::Leaf(leaf) = of.search.descend(&mut self.rng) {
                return Some(leaf);
            }
        }
    }

    /// Adds the evaluation of the pending leaf: row `i` of `found`.
    fn supply(&mut self, leaf: &Leaf, found: &super::NetworkOutput, i: usize) {
        if let Some(search) = &mut self.search {
            search.search.expand(leaf, found, i, &mut self.rng);
        }
    }

    /// Plays the move of a finished search.
    fn play(&mut self, position: Position) {
        // One simulation visits only the root: all actions are then equally good.
        let visits = if position.visits.sum() > 0.0 { position.visits.clone() } else { position.visits.mapv(|_| 1.0) };
        let temperature = if self.positions.len() < self.of.settings.explore as usize { 1.0 } else { 0.0 };
        let at = choose(visits.view(), temperature, &mut self.rng);
        self.state.play_unchecked(position.legal[at]);
        self.positions.push(Position { visits, ..position });
    }
}
