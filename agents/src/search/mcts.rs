//! `mcts`: Monte Carlo tree search (UCT) with OpenSpiel's meaning of its arguments.
//!
//! A simulation goes down the tree by UCT to a node that was never visited, plays on at random from there (one rollout),
//! and adds the returns to every node on its way; the first simulation is a rollout from the root. A child is worth
//! `mean + c * sqrt(ln(parent's visits) / visits)` to the seat that chooses it, children never visited come first, in an
//! order shuffled by the turn's stream. `c` counts in halves of the spread between the least and the greatest return
//! that the search has met: where winning is 1 and losing -1 that is OpenSpiel's `uct_c`, and elsewhere the same `c` still
//! means the same. Every seat maximises its own return (max^n). Chance is sampled by its weights.
//!
//! `form=puct` chooses by AlphaZero's formula instead: a child is worth `mean + c * prior * sqrt(parent's visits) /
//! (1 + visits)`, where a child that was never visited counts with the middle of the game's bounds for its mean, and is not
//! visited before its turn comes. It works without a network: where the game evaluates positions, the prior of a move is in
//! proportion to 1 / (1 + d / m), with d how much worse than the best move's the position behind it is for the seat, and m the
//! mean of that over the moves; elsewhere all moves have the same prior. `c` is AlphaGo Zero's constant; AlphaZero's begins
//! at 1.25 and hardly grows in searches of this size.
//!
//! `rollout=N` cuts rollouts after N moves and outcomes and takes the game's evaluation for the returns.
//!
//! `reuse=true` keeps the tree below the own move and the reply until the next turn, where the simulations then come on top
//! of those made before. Answers depend on what was asked before: such an agent is not reproducible.
//!
//! `solve=true` backs proven returns up: a position is proven when the seat to move has a move proven to give it the most
//! possible, or when all its moves are proven; a proven child counts with its proven return and without a bonus. The
//! final action is the greatest by (proven return, counting unproven moves as the middle of the game's bounds; visits;
//! mean), the lowest id of equals.
//!
//! Where seats move together, each seat draws among its own actions by regret matching, one time in ten any of them: UCT
//! for each seat apart would have equal seats try the same actions in step and learn from nothing else.
//!
//! Where information is hidden, the simulations are split evenly over `worlds` full positions drawn from the seat's view
//! (fewer, if there are not enough to try every action in each),
//! each with a tree of its own, and the root's visits are summed (a world that is solved early gives the rest of its share
//! to its best action); the action with most visits is played. This is perfect-information Monte Carlo: it plays each
//! world as if everybody saw it, so it neither bluffs nor pays for information. `peek=true` searches the true
//! state instead; only hosts of unrated in-process episodes allow that.
//!
//! Source: Kocsis and Szepesvari, *Bandit based Monte-Carlo planning* (2006); Winands, Bjornsson and Saito, *Monte-Carlo
//! tree search solver* (2008); Lisy, Kovarik, Lanctot and Bosansky, *Convergence of Monte Carlo tree search in simultaneous
//! move games* (2013); Silver and others, *Mastering the game of Go without human knowledge* (2017) and *A general
//! reinforcement learning algorithm that masters chess, shogi, and Go through self-play* (2018) for PUCT; OpenSpiel's
//! `algorithms/mcts.cc`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_env::{Action, DynState, GameRef, MoveRequest, Seat, Stream};
use ludex_protocol::Refusal;
use ludex_protocol::spec::Information;

use super::reuse::TreeCache;
use super::tree::{Tree, TreeSettings};
use crate::agent::{Agent, MoveReply};
use crate::digest::digest;
use crate::error::AgentError;
use crate::refusal::{bad_value, does_not_play};
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "mcts",
    "Monte Carlo tree search: UCT with random rollouts; samples worlds where information is hidden",
    build,
)
.args(&[
    ArgDef::new("sims", ArgKind::Int { min: 1, max: 1_000_000_000 }, "simulations per move")
        .default_unless("1000", "ms"),
    ArgDef::new("ms", ArgKind::Int { min: 1, max: 86_400_000 }, "time per move instead: not reproducible"),
    ArgDef::new("form", ArgKind::Text, "how moves are chosen in the tree: uct, or puct, AlphaZero's").default("uct"),
    ArgDef::new("c", ArgKind::Number { min: 0.0, max: 1e6 }, "exploration").default("2"),
    ArgDef::new("rollout", ArgKind::Int { min: 0, max: 1_000_000 }, "plies after which a rollout is cut and evaluated"),
    ArgDef::new("solve", ArgKind::Flag, "back proven results up").default("true"),
    ArgDef::new("worlds", ArgKind::Int { min: 1, max: 10_000 }, "worlds sampled where information is hidden")
        .default("16"),
    ArgDef::new("reuse", ArgKind::Flag, "keep the tree between turns: not reproducible").default("false"),
    ArgDef::new("peek", ArgKind::Flag, "search the true state: in-process and unrated only").default("false"),
]);

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let hidden = game.spec().information == Information::Imperfect;
    let unfit = |why: &str, fits: &str| Err(does_not_play(spec.name(), &game.spec().game, why, fits));
    let form = spec.text("form").unwrap_or_default();
    if !["uct", "puct"].contains(&form.as_str()) {
        return Err(bad_value("form", &form, "uct or puct"));
    }
    let cut = spec.int("rollout").map(|n| n as usize);
    if cut.is_some() && game.start().evaluate(0).is_none() {
        return unfit(
            "it does not evaluate positions, as rollout=N needs",
            "it plays with full rollouts, without rollout",
        );
    }
    let reuse = spec.flag("reuse");
    if reuse && hidden {
        return unfit(
            "every turn's search has worlds of its own where information is hidden",
            "it plays with reuse=false",
        );
    }
    Ok(Arc::new(Mcts {
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
    }))
}

struct Mcts {
    sims: u64,
    time: Option<Duration>,
    settings: TreeSettings,
    memory: Option<TreeCache>,
    worlds: u64,
    peek: bool,
}

/// What all worlds together say about one action.
#[derive(Clone, Copy, Default)]
struct Tally {
    visits: u64,
    /// Sum over visits.
    total: f64,
    /// The proven return less the middle of the bounds, 0 if unproven; of the last world.
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

/// The index of the best tally, the first of equals.
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
    fn act(&self, ask: &MoveRequest<'_>, deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        match ask.legal {
            [] => return Err(AgentError::failed("mcts: there is no action id to choose from")),
            [only] => return Ok(MoveReply::id(*only)),
            _ => {}
        }
        let peeked = match (self.peek, ask.peek()) {
            (true, None) => {
                return Err(AgentError::failed("mcts: peek=true needs the true state, which the host hides"));
            }
            (true, state) => state,
            (false, _) => None,
        };
        let start = Instant::now();
        let own = self.time.map(|t| start + t);
        let end = own.into_iter().chain(deadline).min();
        // With few simulations there are fewer worlds: a world in which not every action is tried is useless.
        let each = ask.legal.len() as u64 + 1;
        let worlds = if peeked.is_some() { 1 } else { self.worlds.min(self.sims / each).max(1) };
        let mut rng = ask.stream();
        let mut sum = vec![Tally::default(); ask.legal.len()];
        let (mut done, mut cut) = (0, false);
        let mut last = None;
        for w in 0..worlds {
            let world = match &peeked {
                Some(state) => state.boxed(),
                None => ask.view().world(&mut rng),
            };
            let share = self.sims / worlds + u64::from(w < self.sims % worlds);
            let until =
                end.map(|end| start + end.saturating_duration_since(start).mul_f64((w + 1) as f64 / worlds as f64));
            let mut tree = self.tree(ask, world);
            let found = self.search(&mut tree, ask.seat, ask.legal, share, until, &mut rng);
            last = Some(tree);
            done += found.sims;
            cut |= found.stopped && own != end;
            merge(&mut sum, found, share, worlds, self.time.is_some());
        }
        let at = best(&sum);
        if let (Some(memory), Some(tree)) = (&self.memory, last) {
            memory.keep(tree, ask.seat, ask.legal[at]);
        }
        let value = (sum[at].mean() * 1e4).round() / 1e4;
        let answer = MoveReply::id(ask.legal[at]).note("sims", done).note("value", value);
        Ok(if cut { answer.note("cut", true) } else { answer })
    }

    fn needs_full_state(&self) -> bool {
        self.peek
    }

    fn reproducible(&self) -> bool {
        self.time.is_none() && self.memory.is_none()
    }
}

/// The outcome of one world's search.
struct Found {
    /// By position in the legal actions.
    tallies: Vec<Tally>,
    /// Simulations made.
    sims: u64,
    /// Whether time ran out.
    stopped: bool,
}

impl Mcts {
    /// The tree to search: what is left of an earlier one, or an empty one.
    fn tree(&self, ask: &MoveRequest<'_>, world: Box<dyn DynState>) -> Tree {
        let known = self.memory.as_ref().and_then(|memory| memory.take(ask.seat, digest(&*ask.view())));
        let left = known.and_then(|(tree, at)| tree.below(at, world.boxed()));
        left.unwrap_or_else(|| Tree::new(world, self.settings))
    }

    fn search(
        &self,
        tree: &mut Tree,
        seat: Seat,
        legal: &[Action],
        sims: u64,
        until: Option<Instant>,
        rng: &mut Stream,
    ) -> Found {
        let mut made = 0;
        let mut stopped = false;
        while made < sims && !tree.settled() && !stopped {
            tree.simulate(rng);
            made += 1;
            // A look at the clock costs about as much as a short rollout.
            stopped = made % 8 == 2 && until.is_some_and(|t| Instant::now() >= t);
        }
        let mut tallies = vec![Tally::default(); legal.len()];
        for c in tree.candidates(seat) {
            if let Ok(i) = legal.binary_search(&c.action) {
                let rank = c.proven.map_or(0.0, |p| p - tree.middle(seat));
                tallies[i] = Tally { visits: c.visits, total: c.mean * c.visits as f64, rank };
            }
        }
        Found { tallies, sims: made, stopped }
    }
}

/// Adds a world's tallies. With several worlds a proof in one says nothing about the others: it counts through the visits
/// that it saved, which go to the world's best action.
fn merge(sum: &mut [Tally], found: Found, share: u64, worlds: u64, timed: bool) {
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
