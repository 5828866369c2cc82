//! Joins of standing ladders. A ladder chooses the pairings; the matches are then played like all other matches.

use ludex_gym::opponents::Opponent;
use ludex_protocol::message::Join;

use super::queue::QueueKey;
use super::{Lobby, LobbyAction, WaitingJoin};
use crate::standing_ladders::{Partner, Seeker, StandingLadder};

fn kind(ladder: &StandingLadder) -> QueueKey {
    let mut join = Join::new("");
    ladder.fit(&mut join);
    QueueKey::of(&ladder.game.spec().string, &join, true)
}

impl Lobby {
    fn waiting_for<'a>(&'a self, ladder: &StandingLadder) -> impl Iterator<Item = &'a WaitingJoin> {
        let ids = self.queues.get(&kind(ladder)).map(|queue| queue.ids().collect::<Vec<_>>()).unwrap_or_default();
        ids.into_iter().filter_map(move |id| self.joins.get(id)).filter(|w| w.room() > 0 && w.block.is_none())
    }

    /// Returns the number of joins that wait on a ladder.
    pub(in crate::matches) fn seekers(&self, ladder: &StandingLadder) -> usize {
        self.waiting_for(ladder).count()
    }

    /// Returns the agents and owners of the ladder's joins.
    pub(in crate::matches) fn names_on(&self, ladder: &StandingLadder) -> Vec<(String, Option<String>)> {
        let of = |w: &&WaitingJoin| w.ladder.as_ref().is_some_and(|l| l.name == ladder.name);
        let name = |w: &WaitingJoin| (w.session.name().to_owned(), w.session.about.owner.clone());
        self.joins.values().filter(of).map(name).collect()
    }

    /// Returns true if a join of this ladder is in a match, or has the second match of a pair left to play.
    pub(in crate::matches) fn plays(&self, ladder: &StandingLadder) -> bool {
        let of = |w: &&WaitingJoin| w.ladder.as_ref().is_some_and(|l| l.name == ladder.name);
        self.joins.values().filter(of).any(|w| w.running > 0 || w.block.is_some())
    }

    /// Returns the actions that start the matches of the ladder's pairing. `busy` is true if the server's agents cannot
    /// play more matches.
    pub(in crate::matches) fn pair_up(&mut self, ladder: &StandingLadder, now: u64, busy: bool) -> Vec<LobbyAction> {
        let seeker = |w: &WaitingJoin| Seeker {
            agent: w.session.name().to_owned(),
            owner: w.session.account.name.to_string(),
            waits_ms: now.saturating_sub(w.since.unwrap_or(now)),
        };
        let (mut ids, seekers): (Vec<(u64, String)>, Vec<Seeker>) = self
            .waiting_for(ladder)
            .filter(|w| w.rests_until <= now && ladder.has_claimed(w.session.name()))
            .map(|w| ((w.arrival, w.kept.id.clone()), seeker(w)))
            .unzip();
        let mut begins = Vec::new();
        for meeting in ladder.meetings(&seekers, busy) {
            let mut id = |place: usize| std::mem::take(&mut ids[place]);
            let mut table = vec![id(meeting.waiter)];
            let next = match meeting.partner {
                Partner::Waiter(other) => {
                    table.push(id(other));
                    // Sorted by arrival, since the join that arrived first counts the encounters.
                    table.sort_unstable();
                    let table: Vec<String> = table.iter().map(|(_, id)| id.clone()).collect();
                    table.iter().for_each(|id| self.unqueue(id));
                    self.meet(&table)
                }
                Partner::Anchor(place) => {
                    ladder.anchor(place).and_then(|anchor| self.meet_anchor(&table[0].1, anchor, now))
                }
            };
            begins.extend(next);
            table.iter().for_each(|(_, id)| self.call(id));
        }
        begins
    }

    /// Starts a match, or the first match of a pair, between a join and an anchor.
    fn meet_anchor(&mut self, id: &str, anchor: Opponent, now: u64) -> Option<LobbyAction> {
        self.unqueue(id);
        // Until the pair ends, the join is treated like a join that requested this anchor as its opponent.
        self.joins.get_mut(id)?.against = vec![anchor];
        let next = self.match_for(id, now);
        if let Some(w) = self.joins.get_mut(id).filter(|w| w.block.is_none()) {
            w.against.clear();
        }
        next
    }
}
