//! Counterfactual regret minimization for small games, and the agent that plays the resulting equilibria.
//!
//! Source: Zinkevich, Johanson, Bowling and Piccione, *Regret minimization in games with incomplete information*
//! (2007); CFR+: Tammelin, Burch, Johanson and Bowling, *Solving heads-up limit Texas hold'em* (2015): regrets are
//! never negative, seats are updated alternately, and round t has weight t in the average policy. In a two-player
//! zero-sum game the average policy converges to an equilibrium; in other games convergence is not guaranteed.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use ludex_env::{GameRef, MoveRequest, Seat};
use ludex_protocol::Refusal;
use parking_lot::Mutex;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::solve::tree::{GameTree, GameTreeNode, NodeKind};
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};

/// Maximum number of nodes in the tree of a supported game. Building the agent enumerates the whole tree.
const MOST_NODES: usize = 20_000;
/// Maximum number of cached solutions. A limit is needed because clients choose the parameters of games.
const MOST_KEPT: usize = 16;

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "cfr",
    "plays the average policy of CFR+ over the whole tree: for games as small as Kuhn and Leduc poker",
    build,
)
.args(&[ArgDef::new("rounds", ArgKind::Int { min: 1, max: 2_000 }, "rounds of CFR+").default("1000")]);

/// CFR+ on one game tree. Policies have the layout of [`GameTree`]: one probability for each action of each information
/// set.
pub struct Cfr<'t> {
    tree: &'t GameTree,
    regrets: Vec<f64>,
    /// Policy of the next round, computed by regret matching.
    policy: Vec<f64>,
    /// Sum of the policies of all rounds, weighted by the seat's own reach probability and the round number.
    sums: Vec<f64>,
    rounds: u32,
    // Reused buffers by node: reach probability of the seat's own choices and of all others, and value.
    own: Vec<f64>,
    others: Vec<f64>,
    value: Vec<f64>,
}

impl<'t> Cfr<'t> {
    /// Creates the solver before its first round, with the uniform policy.
    pub fn new(tree: &'t GameTree) -> Self {
        let (policy, nodes) = (tree.uniform(), tree.nodes().len());
        let (none, blank) = (vec![0.0; policy.len()], vec![1.0; nodes]);
        Cfr {
            tree,
            regrets: none.clone(),
            sums: none,
            policy,
            rounds: 0,
            own: blank.clone(),
            others: blank.clone(),
            value: blank,
        }
    }

    /// Runs `rounds` more rounds.
    pub fn run(&mut self, rounds: u32) {
        for _ in 0..rounds {
            self.rounds += 1;
            (0..self.tree.players()).for_each(|seat| self.update(seat));
        }
    }

    /// Returns the average policy over all rounds, which is the policy to play. Information sets that their seat never
    /// reached have uniform probabilities.
    pub fn average(&self) -> Vec<f64> {
        self.tree.shares(&self.sums)
    }

    /// Returns the information set of a node if `seat` chooses there.
    fn own_set(&self, node: &GameTreeNode, seat: Seat) -> Option<usize> {
        match node.kind {
            NodeKind::Choice(set) if self.tree.sets()[set as usize].seat == seat => Some(set as usize),
            _ => None,
        }
    }

    /// Returns the probability of `child`, the k-th child of `node`, under the current policy.
    fn likely(&self, node: &GameTreeNode, child: usize, k: usize) -> f64 {
        match node.kind {
            NodeKind::Choice(set) => self.policy[self.tree.sets()[set as usize].places().start + k],
            _ => self.tree.probability(child),
        }
    }

    /// Runs one seat's part of a round: updates the seat's regrets against the others' policies, then its policy.
    fn update(&mut self, seat: Seat) {
        let tree = self.tree;
        let mut summed = vec![false; tree.sets().len()];
        for (i, node) in tree.nodes().iter().enumerate() {
            let set = self.own_set(node, seat);
            if let Some(set) = set
                && !std::mem::replace(&mut summed[set], true)
            {
                // Since views have perfect recall, the seat's own reach is equal at all nodes of an information set.
                let weight = f64::from(self.rounds) * self.own[i];
                tree.sets()[set].places().for_each(|place| self.sums[place] += weight * self.policy[place]);
            }
            for (k, child) in node.children().enumerate() {
                let p = self.likely(node, child, k);
                let (mine, theirs) = if set.is_some() { (p, 1.0) } else { (1.0, p) };
                self.own[child] = self.own[i] * mine;
                self.others[child] = self.others[i] * theirs;
            }
        }
        for (i, node) in tree.nodes().iter().enumerate().rev() {
            self.value[i] = match node.kind {
                NodeKind::Over(end) => tree.returns(end)[seat],
                _ => {
                    let children = node.children().enumerate();
                    children.map(|(k, child)| self.likely(node, child, k) * self.value[child]).sum()
                }
            };
            if let Some(set) = self.own_set(node, seat) {
                for (place, child) in tree.sets()[set].places().zip(node.children()) {
                    self.regrets[place] += self.others[i] * (self.value[child] - self.value[i]);
                }
            }
        }
        for set in tree.sets().iter().filter(|set| set.seat == seat) {
            self.regrets[set.places()].iter_mut().for_each(|regret| *regret = regret.max(0.0));
        }
        self.policy = self.tree.shares(&self.regrets);
    }
}

/// Game tree with its policy, which is computed at the first move request.
struct SolvedGame {
    tree: GameTree,
    rounds: u32,
    policy: OnceLock<Vec<f64>>,
}

impl SolvedGame {
    fn policy(&self) -> &[f64] {
        self.policy.get_or_init(|| {
            let mut cfr = Cfr::new(&self.tree);
            cfr.run(self.rounds);
            cfr.average()
        })
    }
}

/// Solved games by game string and number of rounds.
type SolvedGames = HashMap<(String, u64), Arc<SolvedGame>>;

/// Cache of solved games, shared by all agents because a server builds an agent for every match.
static KNOWN: LazyLock<Mutex<SolvedGames>> = LazyLock::new(Mutex::default);

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let rounds = spec.int("rounds").unwrap_or(1);
    let key = (game.spec().string.clone(), rounds);
    let mut known = KNOWN.lock();
    if let Some(solved) = known.get(&key) {
        return Ok(Arc::new(CfrPlayer(solved.clone())));
    }
    let fits = format!("it plays games whose whole tree has at most {MOST_NODES} nodes");
    let tree = GameTree::build(game, MOST_NODES)
        .map_err(|why| does_not_play(spec.name(), &game.spec().game, &why.to_string(), &fits))?;
    if known.len() >= MOST_KEPT {
        known.clear();
    }
    let solved = Arc::new(SolvedGame { tree, rounds: rounds as u32, policy: OnceLock::new() });
    known.insert(key, solved.clone());
    Ok(Arc::new(CfrPlayer(solved)))
}

struct CfrPlayer(Arc<SolvedGame>);

impl Agent for CfrPlayer {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let (tree, policy) = (&self.0.tree, self.0.policy());
        let set = tree.set(ask.seat, &*ask.view());
        let set = set.ok_or_else(|| AgentError::failed("cfr: the view is not in the game's tree"))?;
        let drawn = super::solution::sample_index(&policy[tree.sets()[set].places()], &mut ask.stream());
        Ok(MoveReply::id(tree.actions(set)[drawn]))
    }
}

#[cfg(test)]
mod tests {
    use ludex_env::AgentKey;

    use super::*;

    fn tree(game: &str) -> (GameRef, GameTree) {
        let game = ludex_games::load(game).unwrap();
        let tree = GameTree::build(&game, MOST_NODES).unwrap();
        (game, tree)
    }

    /// Checks the value published by Kuhn (1950): the first seat loses 1/18 per hand.
    #[test]
    fn kuhn_poker_value_equals_published_value() {
        let (_, tree) = tree("kuhn_poker");
        let mut cfr = Cfr::new(&tree);
        cfr.run(2_000);
        let policy = cfr.average();
        let value = tree.values(&policy)[0];
        assert!((value + 1.0 / 18.0).abs() < 1e-4, "{value}");
        assert!(tree.exploitability(&policy) < 1e-3, "{}", tree.exploitability(&policy));
    }

    #[test]
    fn leduc_poker_policy_has_low_exploitability() {
        let (_, tree) = tree("leduc_poker");
        let mut cfr = Cfr::new(&tree);
        cfr.run(300);
        let found = tree.exploitability(&cfr.average());
        assert!(found < 0.005, "{found} antes a hand");
        assert!(tree.exploitability(&tree.uniform()) > 1.0, "the uniform policy is much worse");
    }

    #[test]
    fn agent_samples_from_policy() {
        let (game, tree) = tree("kuhn_poker");
        let agent = crate::build("cfr rounds=2000", &game).unwrap();
        let mut cfr = Cfr::new(&tree);
        cfr.run(2_000);
        let policy = cfr.average();
        // With the queen, facing a bet after a pass, the policy sometimes calls.
        let mut s = game.start();
        [1, 2].iter().for_each(|&card| s.play_chance(card).unwrap());
        s.play(0, 0).unwrap();
        s.play(1, 1).unwrap();
        let set = tree.set(0, &*s.view(ludex_env::Viewer::Seat(0))).unwrap();
        let wanted = policy[tree.sets()[set].places()][1];
        let calls = (0..2_000u32).filter(|&turn| {
            let ask = MoveRequest::on_state(&*s, 0, turn, &[0, 1], AgentKey::Own(&[7; 32]));
            agent.act(&ask).unwrap() == MoveReply::id(1)
        });
        let share = calls.count() as f64 / 2_000.0;
        assert!(wanted > 0.2 && (share - wanted).abs() < 0.05, "{share} of {wanted}");
    }

    #[test]
    fn large_games_are_refused() {
        let game = ludex_games::load("connect_four").unwrap();
        let error = crate::build("cfr", &game).err().unwrap();
        assert!(error.message.contains("20000 nodes"), "{}", error.message);
    }
}
