//! `puct`: tree search with the priors and values of a network, as in AlphaZero.
//!
//! A simulation descends from the root to a position without children by
//! `value + c * prior * sqrt(parent's visits) / (1 + visits)`. The network gives the priors of the position's actions and
//! the values of the seats, which are added to all nodes of the path. The ends of episodes count with their returns,
//! scaled to the same range. Chance outcomes are sampled by their weights. The action with the most visits is played.
//!
//! Up to `leaves` positions are evaluated at once. Meanwhile every pending descent counts as a visit with the value -1
//! (virtual loss), so that the next descent differs. With `noise=0.25`, the priors of the root contain a quarter of
//! Dirichlet noise, for games of self-play.
//!
//! In games with hidden information, the simulations are split evenly over `worlds` states sampled from the seat's view,
//! and the visits at the root are summed, as in [`mcts`](crate::search::mcts).
//!
//! Source: Silver and others, *A general reinforcement learning algorithm that masters chess, shogi, and Go through
//! self-play* (2018). The constant `c` is its `c_init`; this search omits its growth with the number of visits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_env::{Budget, DynState, GameRef, MoveRequest, Seat, Stream};
use ludex_protocol::Refusal;
use ludex_protocol::spec::{Dynamics, Information};
use ndarray::{Array1, Array2, Axis};

use super::agent::{choose, legal, rounded, unscaled};
use super::network::{Network, NetworkOutput};
use super::shared::{SharedNetwork, open};
use super::tree::{Descent, Leaf, PuctSettings, RootAction, Tree};
use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::{bad_spec, does_not_play};
use crate::spec::AgentSpec;

pub(super) fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    if game.spec().dynamics != Dynamics::Sequential {
        let why = "it has simultaneous moves";
        return Err(does_not_play(spec.name(), &game.spec().game, why, "net plays it without search"));
    }
    let network = open(spec, "net", game)?;
    let file = spec.text("net").unwrap_or_default();
    check(&network.network, game).map_err(|why| bad_spec(format!("net={file}: {why}")).path("net"))?;
    let hidden = game.spec().information == Information::Imperfect;
    Ok(Arc::new(Puct {
        network,
        sims: spec.int("sims").unwrap_or(u64::MAX),
        time: spec.int("ms").map(Duration::from_millis),
        leaves: spec.int("leaves").unwrap_or(1) as usize,
        worlds: if hidden { spec.int("worlds").unwrap_or(1) } else { 1 },
        temperature: spec.number("temperature").unwrap_or(0.0),
        tree: PuctSettings {
            c: spec.number("c").unwrap_or(1.25) as f32,
            noise: spec.number("noise").unwrap_or(0.0) as f32,
            alpha: spec.number("alpha").map(|alpha| alpha as f32),
        },
        bounds: (game.spec().min_return, game.spec().max_return),
    }))
}

/// Checks that the network suits a search.
///
/// # Errors
/// Returns the reason: no values, values of too few seats, or recurrent states.
pub(super) fn check(network: &Network, game: &GameRef) -> Result<(), String> {
    if !network.initial_states().is_empty() {
        return Err("expected a network without recurrent state".to_owned());
    }
    let rows = Array2::zeros((1, network.observation_len()));
    let found = network.evaluate(rows.view(), &[]).map_err(|e| e.message)?;
    let value = found.value.ok_or("expected the outputs policy and value, got policy only")?;
    if !network.values_all_seats(value.ncols()) {
        return Err(format!(
            "expected {} values per row, since one does not determine the others in {}; got {}",
            game.spec().players,
            game.spec().game,
            value.ncols()
        ));
    }
    Ok(())
}

struct Puct {
    network: Arc<SharedNetwork>,
    sims: u64,
    time: Option<Duration>,
    /// Maximum number of positions in an evaluation.
    leaves: usize,
    worlds: u64,
    temperature: f64,
    tree: PuctSettings,
    /// Least and greatest return of the game.
    bounds: (f64, f64),
}

impl Agent for Puct {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let legal = legal(ask)?;
        if let [only] = legal {
            return Ok(MoveReply::id(*only));
        }
        let start = Instant::now();
        let own = self.time.map(|time| start + time);
        let end = own.into_iter().chain(ask.budget().deadline()).min();
        let mut rng = ask.stream();
        // Each sampled state needs a simulation for the root and one per action, so `sims` limits the states.
        let worlds = self.worlds.min(self.sims / (legal.len() as u64 + 1)).max(1);
        let mut sum = vec![RootAction::default(); legal.len()];
        let (mut sims, mut cut) = (0, false);
        for w in 0..worlds {
            let share = self.sims / worlds + u64::from(w < self.sims % worlds);
            let until =
                end.map(|end| start + end.saturating_duration_since(start).mul_f64((w + 1) as f64 / worlds as f64));
            let budget = ask.budget().with_deadline(until);
            let mut search = PuctSearch::new(ask.view().world(&mut rng), self.tree, &self.network.network);
            let made = self.search(&mut search, share, budget, &mut rng)?;
            cut |= made < share && own != end;
            sims += made;
            for (total, action) in sum.iter_mut().zip(search.tree.root_actions()) {
                total.visits += action.visits;
                total.total += action.total;
            }
        }
        let visits: Array1<f32> = sum.iter().map(|action| action.visits as f32).collect();
        let at = choose(visits.view(), self.temperature, &mut rng);
        let mean = f64::from(sum[at].total) / f64::from(sum[at].visits.max(1));
        let reply = MoveReply::id(legal[at]).note("sims", sims).note("value", rounded(unscaled(mean, self.bounds)));
        Ok(if cut { reply.note("cut", true) } else { reply })
    }

    fn reproducible(&self) -> bool {
        false
    }

    fn version(&self) -> Option<String> {
        Some(self.network.network.short_digest())
    }
}

impl Puct {
    /// Runs up to `sims` simulations and returns their number, which is less if the time ends or the tree is full.
    fn search(
        &self,
        search: &mut PuctSearch<'_>,
        sims: u64,
        budget: Budget<'_>,
        rng: &mut Stream,
    ) -> Result<u64, AgentError> {
        let mut made = 0;
        while made < sims && !search.tree.is_full() && (made == 0 || !budget.is_spent()) {
            let mut leaves = Vec::new();
            while leaves.len() < self.leaves && made < sims {
                match search.descend(rng) {
                    Descent::Leaf(leaf) => leaves.push(leaf),
                    Descent::Backed => {}
                    Descent::Blocked => break,
                }
                made += 1;
                if leaves.is_empty() && made % 64 == 0 && budget.is_spent() {
                    return Ok(made);
                }
            }
            if leaves.is_empty() {
                continue;
            }
            let found = self.network.evaluate(search.take_rows(), Vec::new())?;
            leaves.iter().enumerate().for_each(|(i, leaf)| search.expand(leaf, &found, i, rng));
        }
        Ok(made)
    }
}

/// Search of one position, with the observations of its leaves.
pub(super) struct PuctSearch<'a> {
    pub tree: Tree,
    network: &'a Network,
    /// Observations of the leaves since the last evaluation, in the form of the game's array, row by row.
    rows: Vec<u8>,
    /// Size of an observation in bytes.
    bytes: usize,
    /// Buffer for the value of each seat.
    values: Vec<f32>,
}

impl<'a> PuctSearch<'a> {
    pub fn new(root: Box<dyn DynState>, settings: PuctSettings, network: &'a Network) -> Self {
        let bytes = network.kind().spec(root.spec()).map_or(0, |array| array.bytes());
        let values = vec![0.0; root.spec().players as usize];
        PuctSearch { tree: Tree::new(root, settings), network, rows: Vec::new(), bytes, values }
    }

    /// Descends once, and adds the observation of a leaf.
    pub fn descend(&mut self, rng: &mut Stream) -> Descent {
        let PuctSearch { tree, network, rows, bytes, .. } = self;
        tree.descend(rng, &mut |state: &dyn DynState, seat: Seat| {
            let from = rows.len();
            rows.resize(from + *bytes, 0);
            network.kind().write(state, seat, &mut rows[from..]);
        })
    }

    /// Removes the observations of the leaves and returns them as floats, as an array of shape `[N, len]`.
    pub fn take_rows(&mut self) -> Array2<f32> {
        let rows = std::mem::take(&mut self.rows);
        let mut floats = Array2::zeros((rows.len() / self.bytes.max(1), self.network.observation_len()));
        for (row, bytes) in floats.rows_mut().into_iter().zip(rows.chunks_exact(self.bytes.max(1))) {
            self.network.observe(bytes, row);
        }
        floats
    }

    /// Moves the observations of the leaves to the end of `rows`.
    pub fn append_rows(&mut self, rows: &mut Vec<u8>) {
        rows.append(&mut self.rows);
    }

    /// Expands a leaf by row `i` of its evaluation.
    pub fn expand(&mut self, leaf: &Leaf, found: &NetworkOutput, i: usize, rng: &mut Stream) {
        let priors = found.probabilities(i, &leaf.legal);
        if let Some(value) = &found.value {
            self.network.seat_values(value.index_axis(Axis(0), i), leaf.seat, &mut self.values);
        }
        let bounded: Vec<f32> = self.values.iter().map(|value| value.clamp(-1.0, 1.0)).collect();
        let priors: Vec<f32> = priors.to_vec();
        self.tree.expand(leaf, &priors, &bounded, rng);
    }
}
