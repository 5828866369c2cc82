//! `mcts`: Monte Carlo tree search (UCT). Arguments have the same meaning as in OpenSpiel's MCTS.
//!
//! A simulation descends the tree by UCT to an unvisited node, plays one random rollout from there, and adds the
//! returns to every node of its path. The first simulation is a rollout from the root. A child is worth
//! `mean + c * sqrt(ln(parent's visits) / visits)` to the seat that chooses it. Unvisited children come first, in an
//! order shuffled by the turn's stream. `c` is in units of half the spread of the observed returns. If a win is 1 and a
//! loss -1, `c` equals OpenSpiel's `uct_c`; in games with other returns, the same `c` has the same effect. Every seat
//! maximizes its own return (max^n). Chance outcomes are sampled by their weights.
//!
//! `form=puct` uses AlphaZero's formula instead: a child is worth
//! `mean + c * prior * sqrt(parent's visits) / (1 + visits)`. An unvisited child has the midpoint of the game's bounds
//! as its mean and gets no precedence. Priors come from the game's evaluation instead of a network. A move's prior is
//! proportional to 1 / (1 + d / m), where d is the difference between the evaluations after the best move and after
//! this move, and m is the mean of d over all moves. If the game has no evaluation, priors are uniform. `c` is AlphaGo
//! Zero's constant; AlphaZero's starts at 1.25 and hardly grows in searches of this size.
//!
//! `rollout=N` stops rollouts after N moves and outcomes and uses the game's evaluation as the returns.
//!
//! `reuse=true` stores the subtree below the agent's move and the opponents' replies. The search of the next turn adds
//! its simulations to this subtree. Replies then depend on earlier requests, so the agent is not reproducible.
//!
//! `solve=true` backs up proven returns: a position is proven when the seat to move has a move proven to give the
//! maximum return, or when all its moves are proven. A proven child counts with its proven return and no exploration
//! bonus. The agent plays the action with the greatest proven return, where unproven actions count as the midpoint of
//! the game's bounds. Ties are broken by visits, then mean, then the lowest id.
//!
//! In simultaneous moves, each seat samples its action by regret matching, and uniformly one time in ten. With
//! independent UCT, identical seats would try the same actions in lockstep.
//!
//! In games with hidden information, the simulations are split evenly over `worlds` states sampled from the seat's
//! view. If there are too few simulations to try every action in each state, fewer states are sampled. Each state has
//! its own tree, and the visits at the root are summed. If a sampled state is solved early, its remaining simulations
//! count as visits of its best action. The action with the most visits is played. This is perfect-information Monte
//! Carlo: each state is searched as if all seats saw it, so the agent neither bluffs nor pays for information.
//! `peek=true` searches the true state instead; only hosts of unrated in-process episodes allow that.
//!
//! Source: Kocsis and Szepesvari, *Bandit based Monte-Carlo planning* (2006); Winands, Bjornsson and Saito,
//! *Monte-Carlo tree search solver* (2008); Lisy, Kovarik, Lanctot and Bosansky, *Convergence of Monte Carlo tree
//! search in simultaneous move games* (2013); Silver and others, *Mastering the game of Go without human knowledge*
//! (2017) and *A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play* (2018)
//! for PUCT; OpenSpiel's `algorithms/mcts.cc`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_env::{Budget, DynState, GameRef, MoveRequest, Stream};
use ludex_protocol::Refusal;
use ludex_protocol::spec::Information;

use super::reuse::TreeCache;
use super::tree::{SearchTree, TreeSettings};
use crate::agent::{Agent, MoveReply};
use crate::digest::digest;
use crate::error::AgentError;
use crate::refusal::{bad_value, does_not_play};
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "mcts",
    "Monte Carlo tree search: UCT with random rollouts; samples states if information is hidden",
    build,
)
.args(&[
    ArgDef::new("sims", ArgKind::Int { min: 1, max: 1_000_000_000 }, "simulations per move")
        .default_unless("1000", "ms"),
    ArgDef::new("ms", ArgKind::Int { min: 1, max: 86_400_000 }, "milliseconds per move; not reproducible"),
    ArgDef::new("form", ArgKind::Text, "selection formula: uct, or puct as in AlphaZero").default("uct"),
    ArgDef::new("c", ArgKind::Number { min: 0.0, max: 1e6 }, "exploration constant").default("2"),
    ArgDef::new("rollout", ArgKind::Int { min: 0, max: 1_000_000 }, "plies after which a rollout is cut and evaluated"),
    ArgDef::new("solve", ArgKind::Flag, "back up proven results").default("true"),
    ArgDef::new("worlds", ArgKind::Int { min: 1, max: 10_000 }, "number of sampled states if information is hidden")
        .default("16"),
    ArgDef::new("reuse", ArgKind::Flag, "reuse the search tree in the next turn; not reproducible").default("false"),
    ArgDef::new("peek", ArgKind::Flag, "search the true state; in-process and unrated only").default("false"),
]);

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    Ok(Arc::new(mcts(spec, game)?))
}

fn mcts(spec: &AgentSpec, game: &GameRef) -> Result<Mcts, Refusal> {
    let hidden = game.spec().information == Information::Imperfect;
    let unfit = |why: &str, fits: &str| Err(does_not_play(spec.name(), &game.spec().game, why, fits));
    let form = spec.text("form").unwrap_or_default();
    if !["uct", "puct"].contains(&form.as_str()) {
        return Err(bad_value("form", &form, "uct or puct"));
    }
    let cut = spec.int("rollout").map(|n| n as usize);
    if cut.is_some() && game.start().evaluate(0).is_none() {
        return unfit("it has no evaluation, which rollout=N requires", "it plays this game without rollout");
    }
    let reuse = spec.flag("reuse");
    if reuse && hidden {
        return unfit("reuse=true does not support hidden information", "it plays this game with reuse=false");
    }
    Ok(Mcts {
        sims: spec.int("sims").unwrap_or(u64::MAX),
        time: spec.int("ms").map(Duration::from_millis),
        settings: TreeSettings {
            c: spec.number("c").unwrap_or(2.0),
            solve: spec.flag("solve"),
            puct: form == "puct",
            cut,
        },
        memory: reuse.then(TreeCache::default),
        worlds: if hidden { spec.int("worlds").unwrap_or(1) } else { 1 },
        peek: spec.peeks(),
    })
}

pub(super) struct Mcts {
    sims: u64,
    time: Option<Duration>,
    settings: TreeSettings,
    memory: Option<TreeCache>,
    worlds: u64,
    peek: bool,
}

/// Statistics of one action, summed over all sampled states.
#[derive(Clone, Copy, Default)]
struct Tally {
    visits: u64,
    /// Sum of the returns of all visits.
    total: f64,
    /// Proven return minus the midpoint of the game's bounds; 0 if unproven or if several states are sampled.
    rank: f64,
}

impl Tally {
    fn mean(&self) -> f64 {
        if self.visits == 0 { 0.0 } else { self.total / self.visits as f64 }
    }

    fn key(&self) -> (f64, f64, f64) {
        (self.rank, self.visits as f64, self.mean())
    }
}

/// Returns the index of the best tally, the first in a tie.
fn best(tallies: &[Tally]) -> usize {
    let mut best = 0;
    for i in 1..tallies.len() {
        if tallies[i].key() > tallies[best].key() {
            best = i;
        }
    }
    best
}

impl Agent for Mcts {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        match ask.legal {
            [] => return Err(AgentError::failed("mcts: expected at least one legal action id, got none")),
            [only] => return Ok(MoveReply::id(*only)),
            _ => {}
        }
        let peeked = match (self.peek, ask.peek()) {
            (true, None) => {
                return Err(AgentError::failed("mcts: peek=true requires the full state, which the host hides"));
            }
            (true, state) => state,
            (false, _) => None,
        };
        let found = self.search_worlds(ask, peeked.as_deref());
        let at = best(&found.tallies);
        if let (Some(memory), Some(tree)) = (&self.memory, found.last) {
            memory.insert(tree, ask.seat, ask.legal[at]);
        }
        let value = (found.tallies[at].mean() * 1e4).round() / 1e4;
        let answer = MoveReply::id(ask.legal[at]).note("sims", found.sims).note("value", value);
        Ok(if found.cut { answer.note("cut", true) } else { answer })
    }

    fn needs_full_state(&self) -> bool {
        self.peek
    }

    fn reproducible(&self) -> bool {
        self.time.is_none() && self.memory.is_none()
    }
}

/// Search result for all sampled states.
struct RootSearch {
    /// Statistics of each legal action, in the order of the list of legal actions.
    tallies: Vec<Tally>,
    sims: u64,
    /// True if the host's deadline ended the search.
    cut: bool,
    /// Difference between the greatest and the least simulated return of any seat; the greatest of all sampled states.
    spread: f64,
    /// Tree of the last sampled state.
    last: Option<SearchTree>,
}

/// Search result for one sampled state.
struct WorldSearch {
    /// Statistics of each legal action, in the order of the list of legal actions.
    tallies: Vec<Tally>,
    sims: u64,
    /// True if the search ran out of time.
    stopped: bool,
}

impl Mcts {
    /// Builds a search that spends all its simulations, for the means of all moves.
    pub(super) fn estimator(game: &GameRef, sims: u64) -> Result<Mcts, Refusal> {
        mcts(&AgentSpec::parse("mcts solve=false")?.set("sims", &sims.to_string())?, game)
    }

    /// Returns the mean return and the number of visits of each legal action, and the spread of the simulated returns.
    pub(super) fn root_means(&self, ask: &MoveRequest<'_>) -> (Vec<(f64, u64)>, f64) {
        let found = self.search_worlds(ask, None);
        (found.tallies.iter().map(|tally| (tally.mean(), tally.visits)).collect(), found.spread)
    }

    /// Searches the true state, or the states sampled from the seat's view.
    fn search_worlds(&self, ask: &MoveRequest<'_>, peeked: Option<&dyn DynState>) -> RootSearch {
        let start = Instant::now();
        let own = self.time.map(|t| start + t);
        let end = own.into_iter().chain(ask.budget().deadline()).min();
        // Each sampled state needs a simulation for the root and one per action, so `sims` limits the states.
        let each = ask.legal.len() as u64 + 1;
        let worlds = if peeked.is_some() { 1 } else { self.worlds.min(self.sims / each).max(1) };
        let mut rng = ask.stream();
        let tallies = vec![Tally::default(); ask.legal.len()];
        let mut sum = RootSearch { tallies, sims: 0, cut: false, spread: 0.0, last: None };
        for w in 0..worlds {
            let world = match peeked {
                Some(state) => state.boxed(),
                None => ask.view().world(&mut rng),
            };
            let share = self.sims / worlds + u64::from(w < self.sims % worlds);
            let until =
                end.map(|end| start + end.saturating_duration_since(start).mul_f64((w + 1) as f64 / worlds as f64));
            let mut tree = self.tree(ask, world);
            let found = self.search(&mut tree, ask, share, ask.budget().with_deadline(until), &mut rng);
            sum.spread = sum.spread.max(tree.spread());
            sum.last = Some(tree);
            sum.sims += found.sims;
            sum.cut |= found.stopped && own != end;
            merge(&mut sum.tallies, found, share, worlds, self.time.is_some());
        }
        sum
    }

    /// Returns the tree to search: the cached subtree of an earlier search or, without one, an empty tree.
    fn tree(&self, ask: &MoveRequest<'_>, world: Box<dyn DynState>) -> SearchTree {
        let known = self.memory.as_ref().and_then(|memory| memory.take(ask.seat, digest(&*ask.view())));
        let left = known.and_then(|(tree, at)| tree.subtree(at, world.boxed()));
        left.unwrap_or_else(|| SearchTree::new(world, self.settings))
    }

    fn search(
        &self,
        tree: &mut SearchTree,
        ask: &MoveRequest<'_>,
        sims: u64,
        budget: Budget<'_>,
        rng: &mut Stream,
    ) -> WorldSearch {
        let mut made = 0;
        let mut stopped = false;
        while made < sims && !tree.is_decided() && !stopped {
            tree.simulate(rng);
            made += 1;
            // A clock read costs about as much as a short rollout, so the clock is read in every eighth simulation.
            stopped = made % 8 == 2 && budget.is_spent();
        }
        let mut tallies = vec![Tally::default(); ask.legal.len()];
        for c in tree.candidates(ask.seat) {
            if let Ok(i) = ask.legal.binary_search(&c.action) {
                let rank = c.proven.map_or(0.0, |p| p - tree.middle(ask.seat));
                tallies[i] = Tally { visits: c.visits, total: c.mean * c.visits as f64, rank };
            }
        }
        WorldSearch { tallies, sims: made, stopped }
    }
}

/// Adds the statistics of one sampled state to `sum`, or copies them if there is only one state. With several states, a
/// proof in one of them does not hold in the others, so proven returns are ignored. If a proof ended the search early,
/// the simulations that it saved count as visits of the state's best action.
fn merge(sum: &mut [Tally], found: WorldSearch, share: u64, worlds: u64, timed: bool) {
    if worlds == 1 {
        sum.copy_from_slice(&found.tallies);
        return;
    }
    let favourite = best(&found.tallies);
    for (i, (s, t)) in sum.iter_mut().zip(&found.tallies).enumerate() {
        let saved = if i == favourite && !timed && !found.stopped { share - found.sims } else { 0 };
        s.visits += t.visits + saved;
        s.total += t.total + t.mean() * saved as f64;
    }
}
