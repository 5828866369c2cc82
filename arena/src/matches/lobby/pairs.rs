//! Matches that share a seed. In a *block*, the same joins meet until each join has played every seat; with two seats,
//! a block is a pair. Hidden information of all matches in a block is released when the last match ends.

use std::collections::{HashMap, HashSet};

use ludex_referee::schedule::may_share_seed;
use ludex_store::Write;

use super::{Lobby, LobbyAction, WaitingJoin, terms_of};
use crate::matches::plan::{MatchPlan, MatchTerms, RequestedTerms, SeatPlan};

/// Seed of a pair and, for rated matches, the write that reserves the number from which the seed is derived.
pub(in crate::matches) type ReservedSeed = (u64, Option<Write>);

/// Pairs of matches that share a seed, by pair id.
#[derive(Default)]
pub(in crate::matches) struct Pairs {
    all: HashMap<String, Pair>,
    /// Ended matches to release, from pairs whose remaining matches were canceled.
    due: Vec<String>,
}

#[derive(Default)]
struct Pair {
    seed: Option<ReservedSeed>,
    /// Number of matches that have not started yet.
    to_come: usize,
    running: HashSet<String>,
    /// Ended matches that are not released yet.
    over: Vec<String>,
}

impl Pair {
    fn is_over(&self) -> bool {
        self.to_come == 0 && self.running.is_empty()
    }
}

impl Pairs {
    fn of(&mut self, pair: &str) -> &mut Pair {
        self.all.entry(pair.to_owned()).or_default()
    }

    /// Announces `matches` further matches of a pair.
    pub(in crate::matches) fn planned(&mut self, pair: &str, matches: usize) {
        self.of(pair).to_come += matches;
    }

    /// Returns the seed of a pair. `draw` provides the seed for the pair's first match.
    ///
    /// # Errors
    ///
    /// Those of `draw`.
    pub(in crate::matches) fn seed<E>(
        &mut self,
        pair: &str,
        draw: impl FnOnce() -> Result<ReservedSeed, E>,
    ) -> Result<ReservedSeed, E> {
        let p = self.of(pair);
        Ok(match &p.seed {
            Some(drawn) => drawn.clone(),
            None => p.seed.insert(draw()?).clone(),
        })
    }

    /// Marks a match of a pair as started.
    pub(in crate::matches) fn on_match_start(&mut self, pair: &str, id: &str) {
        let p = self.of(pair);
        p.to_come = p.to_come.saturating_sub(1);
        p.running.insert(id.to_owned());
    }

    /// After a restart, adds a running match to its pair.
    pub(in crate::matches) fn goes_on(&mut self, pair: &str, id: &str) {
        self.of(pair).running.insert(id.to_owned());
    }

    /// After a restart, adds an ended but unreleased match to its pair.
    pub(in crate::matches) fn was_over(&mut self, pair: &str, id: &str) {
        self.of(pair).over.push(id.to_owned());
    }

    /// Marks a match of a pair as ended. Returns all matches of the pair once all of them have ended, and otherwise
    /// none.
    pub(in crate::matches) fn ended(&mut self, pair: &str, id: &str) -> Vec<String> {
        let p = self.of(pair);
        p.running.remove(id);
        p.over.push(id.to_owned());
        if !p.is_over() {
            return Vec::new();
        }
        self.all.remove(pair).map_or_else(Vec::new, |p| p.over)
    }

    /// Cancels the matches of a pair that have not started.
    fn cut(&mut self, pair: &str) {
        self.of(pair).to_come = 0;
        self.settle();
    }

    /// Queues the ended matches of completed pairs for release.
    pub(in crate::matches) fn settle(&mut self) {
        let due = &mut self.due;
        self.all.retain(|_, p| {
            let over = p.is_over();
            if over {
                due.append(&mut p.over);
            }
            !over
        });
    }

    /// Removes and returns the ended matches of pairs whose remaining matches were canceled. The caller releases these
    /// matches.
    pub(in crate::matches) fn take_due(&mut self) -> Vec<String> {
        std::mem::take(&mut self.due)
    }
}

/// Joins that play a block of matches.
pub(super) struct JoinBlock {
    /// Joins in seat order of the first match; a single join if server agents play the other seats.
    joins: Vec<String>,
    /// Number of started matches, out of `turns` matches.
    turn: u32,
    turns: u32,
}

/// Stored match that belongs to a block.
pub(in crate::matches) struct BlockMatch {
    /// Index of the match in its block, from 0.
    pub(in crate::matches) turn: u32,
    /// Join of each seat; `None` for a server agent.
    pub(in crate::matches) joins: Vec<Option<String>>,
}

impl Lobby {
    /// Starts a block of matches between these joins and returns the block's id. Returns `None` if the joins do not
    /// play in blocks, or cannot play all matches of a block.
    pub(super) fn begin_block(&mut self, ids: &[String]) -> Option<String> {
        let all: Vec<&WaitingJoin> = ids.iter().filter_map(|id| self.joins.get(id)).collect();
        let first = *all.first()?;
        let game = first.game.as_ref()?;
        let turns = game.spec().players;
        let whole = |w: &&WaitingJoin| {
            w.paired && w.request().seat.is_none() && w.left.is_none_or(|left| left >= turns) && w.block.is_none()
        };
        let aligned = first.queues() || first.ladder.is_some() || first.played.is_multiple_of(turns);
        if turns < 2 || !aligned || !may_share_seed(game) || !all.iter().all(whole) {
            return None;
        }
        // No join plays its match of this number twice, so the id is unique.
        let pair = format!("{}-{}", first.kept.id, first.played);
        for id in ids {
            self.unqueue(id);
            if let Some(w) = self.joins.get_mut(id) {
                w.block = Some(pair.clone());
            }
        }
        self.blocks.insert(pair.clone(), JoinBlock { joins: ids.to_vec(), turn: 1, turns });
        self.pairs.planned(&pair, turns as usize);
        Some(pair)
    }

    /// Starts the next match of a block between queued joins, if all of them have a free slot or `forfeited` is true.
    pub(super) fn next_of_block(&mut self, pair: &str, forfeited: bool) -> Option<LobbyAction> {
        let block = self.blocks.get(pair)?;
        let (n, turn) = (block.joins.len(), block.turn);
        let ids: Vec<String> = (0..n).map(|k| block.joins[(k + turn as usize) % n].clone()).collect();
        let fits = |w: &&WaitingJoin| forfeited || w.room() > 0;
        let all: Vec<&WaitingJoin> = ids.iter().filter_map(|id| self.joins.get(id)).filter(fits).collect();
        if all.len() < n {
            return None;
        }
        let seats = all.iter().map(|w| w.seat_plan()).collect();
        let asked = RequestedTerms { pair: Some(pair.to_owned()), turn, ..terms_of(all[0])? };
        self.block_turn(pair);
        Some(self.begins(MatchPlan { seats, terms: MatchTerms::Asked(asked) }, ids, None))
    }

    /// Starts the remaining matches of a rated block that a join leaves: the join loses them. Otherwise, it could choose
    /// which seats count.
    pub(super) fn forfeit_rest(&mut self, id: &str) {
        while let Some(w) = self.joins.get(id).filter(|w| w.request().rated)
            && let Some(pair) = w.block.clone()
        {
            let next = match w.queues() {
                true => self.next_of_block(&pair, true),
                false => self.next_against(id),
            };
            let Some(LobbyAction::Begins(mut plan, begun)) = next else { return };
            if let MatchTerms::Asked(asked) = &mut plan.terms {
                let own = |seat: &SeatPlan| seat.setup.join.as_deref() == Some(id);
                asked.forfeit = plan.seats.iter().position(own);
            }
            self.forfeits.push(LobbyAction::Begins(plan, begun));
        }
    }

    /// Returns the number of matches that a join has left to play in its block, if the block is rated.
    pub(super) fn rest_of_block(&self, id: &str) -> u32 {
        let of = |w: &WaitingJoin| self.blocks.get(w.block.as_ref().filter(|_| w.request().rated)?);
        self.joins.get(id).and_then(of).map_or(0, |block| block.turns - block.turn)
    }

    /// Returns the index of the next match in a block, and advances the block. The last match of a block frees the
    /// block's joins.
    pub(super) fn block_turn(&mut self, pair: &str) -> u32 {
        let Some(block) = self.blocks.get_mut(pair) else { return 0 };
        let turn = block.turn;
        block.turn += 1;
        if block.turn == block.turns {
            self.free(pair);
        }
        turn
    }

    /// Cancels the remaining matches of a block and frees its joins.
    pub(super) fn cut(&mut self, pair: &str) {
        self.free(pair);
        self.pairs.cut(pair);
    }

    /// Cancels the remaining matches of the block that a join plays, if any.
    pub(super) fn cut_of(&mut self, id: &str) {
        if let Some(pair) = self.joins.get(id).and_then(|w| w.block.clone()) {
            self.cut(&pair);
        }
    }

    fn free(&mut self, pair: &str) {
        for id in self.blocks.remove(pair).map(|block| block.joins).unwrap_or_default() {
            if let Some(w) = self.joins.get_mut(&id) {
                w.block = None;
                if w.ladder.is_some() {
                    w.against.clear();
                }
            }
            self.call(&id);
        }
    }

    /// Resumes a block after a restart, if the joins of the block still exist. `begun` lists the matches that had
    /// started.
    pub(in crate::matches) fn resume_block(&mut self, pair: &str, begun: &[BlockMatch]) {
        let Some(any) = begun.first() else { return };
        let (n, turn) = (any.joins.len(), any.turn as usize);
        let next = begun.iter().map(|m| m.turn + 1).max().unwrap_or_default();
        let seated: Vec<&String> = any.joins.iter().flatten().collect();
        let joins: Vec<String> = match seated.len() {
            // The anchor of a ladder join is not stored, so the rest of such a pair is cancelled.
            1 if self.joins.get(seated[0]).is_some_and(|w| w.ladder.is_some()) => return,
            1 => vec![seated[0].clone()],
            len if len == n => (0..n).map(|k| seated[(k + n - turn % n) % n].clone()).collect(),
            _ => return,
        };
        if next as usize >= n || joins.iter().any(|id| self.joins.get(id).is_none_or(|w| w.left == Some(0))) {
            return;
        }
        for id in &joins {
            if let Some(w) = self.joins.get_mut(id) {
                w.block = Some(pair.to_owned());
            }
        }
        self.blocks.insert(pair.to_owned(), JoinBlock { joins, turn: next, turns: n as u32 });
        self.pairs.planned(pair, n - next as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(drawn: u64) -> Pairs {
        let mut pairs = Pairs::default();
        pairs.planned("p", 2);
        assert_eq!(pairs.seed("p", || Ok::<_, ()>((drawn, None))), Ok((drawn, None)));
        pairs
    }

    #[test]
    fn matches_of_a_pair_share_a_seed_and_are_released_together() {
        let mut pairs = pairs(7);
        assert_eq!(pairs.seed("p", || Err("drawn a second time")), Ok((7, None)));
        pairs.on_match_start("p", "one");
        assert_eq!(pairs.ended("p", "one"), [""; 0]);
        pairs.on_match_start("p", "two");
        pairs.settle();
        assert_eq!(pairs.take_due(), [""; 0]);
        assert_eq!(pairs.ended("p", "two"), ["one", "two"]);
    }

    #[test]
    fn ended_match_is_released_if_its_pair_is_canceled() {
        let mut over = pairs(7);
        over.on_match_start("p", "one");
        over.ended("p", "one");
        over.cut("p");
        assert_eq!((over.take_due(), over.take_due()), (vec!["one".to_owned()], Vec::new()));
        let mut running = pairs(8);
        running.on_match_start("p", "one");
        running.cut("p");
        assert_eq!(running.take_due(), [""; 0]);
        assert_eq!(running.ended("p", "one"), ["one"]);
    }
}
