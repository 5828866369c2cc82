//! Cache of an agent's search trees between turns.

use std::collections::{HashMap, VecDeque};

use ludex_env::{Action, Seat, Viewer};
use parking_lot::Mutex;

use super::tree::SearchTree;
use crate::digest::digest;

/// Maximum number of cached trees, one per concurrent episode; `MOST_NODES` is their maximum total size in nodes (160
/// MB).
const MOST_TREES: usize = 8;
const MOST_NODES: usize = 1 << 22;

/// Trees of recent searches, indexed by the positions at the searching seat's next turn.
///
/// Concurrent episodes do not share trees: a tree is found by the view of a position that it contains, and then removed
/// from the cache. A position without a cached tree is searched from scratch.
#[derive(Default)]
pub(super) struct TreeCache(Mutex<VecDeque<CachedTree>>);

struct CachedTree {
    seat: Seat,
    tree: SearchTree,
    /// Nodes at which `seat` moves next, by the digest of its view.
    next: HashMap<u128, u32>,
}

impl TreeCache {
    /// Stores the tree of a search after which `seat` played `action`.
    pub fn insert(&self, tree: SearchTree, seat: Seat, action: Action) {
        let next: HashMap<u128, u32> = tree
            .next_turns(seat, action)
            .map(|(state, node)| (digest(&*state.view(Viewer::Seat(seat))), node))
            .collect();
        if next.is_empty() {
            return;
        }
        let mut kept = self.0.lock();
        kept.push_back(CachedTree { seat, tree, next });
        while kept.len() > MOST_TREES || kept.iter().map(|k| k.tree.len()).sum::<usize>() > MOST_NODES {
            kept.pop_front();
        }
    }

    /// Removes and returns the tree that contains a position with this view of `seat`, and the node of the position.
    pub fn take(&self, seat: Seat, view: u128) -> Option<(SearchTree, u32)> {
        let mut kept = self.0.lock();
        let at = kept.iter().position(|k| k.seat == seat && k.next.contains_key(&view))?;
        let found = kept.remove(at)?;
        Some((found.tree, found.next[&view]))
    }
}

#[cfg(test)]
mod tests {
    use ludex_env::Stream;

    use super::super::tree::TreeSettings;
    use super::*;

    #[test]
    fn cache_returns_subtree_after_move_and_reply() {
        // Pig has dice, turns of several moves, and pays when the episode ends.
        for name in ["connect_four", "pig", "iterated_prisoners_dilemma"] {
            let game = ludex_games::load(name).unwrap();
            let settings = TreeSettings { c: 2.0, solve: true, puct: false, cut: None };
            let (mut tree, mut rng) = (SearchTree::new(game.start(), settings), Stream::from_text(name));
            (0..2_000).for_each(|_| tree.simulate(&mut rng));
            let most = tree.candidates(0).max_by_key(|c| c.visits).unwrap();
            let next: Vec<_> = tree.next_turns(0, most.action).collect();
            let memory = TreeCache::default();
            memory.insert(tree, 0, most.action);
            let Some((state, node)) = next.into_iter().next_back() else {
                assert_eq!(name, "iterated_prisoners_dilemma", "trees of simultaneous moves are not stored");
                continue;
            };
            let view = digest(&*state.view(Viewer::Seat(0)));
            assert!(memory.take(1, view).is_none(), "tree belongs to another seat");
            let (tree, at) = memory.take(0, view).unwrap();
            assert_eq!(at, node);
            let below = tree.subtree(at, state).unwrap();
            let visits: u64 = below.candidates(0).map(|c| c.visits).sum();
            assert!(visits > 0 && visits < most.visits, "{name}: {visits}");
            assert!(memory.take(0, view).is_none(), "tree is taken only once");
        }
    }

    #[test]
    fn cache_evicts_oldest_trees() {
        let game = ludex_games::load("connect_four").unwrap();
        let settings = TreeSettings { c: 2.0, solve: true, puct: false, cut: None };
        let (memory, mut rng) = (TreeCache::default(), Stream::from_text("few"));
        for _ in 0..20 {
            let mut tree = SearchTree::new(game.start(), settings);
            (0..100).for_each(|_| tree.simulate(&mut rng));
            memory.insert(tree, 0, 3);
        }
        assert_eq!(memory.0.lock().len(), MOST_TREES);
    }
}
