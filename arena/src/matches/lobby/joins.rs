//! Arrival, transfer and removal of joins.

use std::collections::HashMap;
use std::sync::Arc;

use ludex_env::GameRef;
use ludex_gym::opponents::Opponent;
use ludex_gym::quotas::Share;
use ludex_protocol::message::ResumedJoin;

use super::queue::QueueKey;
use super::request::StoredJoin;
use super::{Lobby, PendingMatch, WaitingJoin};
use crate::sessions::Session;
use crate::standing_ladders::StandingLadder;

/// Join that a client has requested or that a restart restores.
pub(in crate::matches) struct NewJoin {
    pub(in crate::matches) kept: StoredJoin,
    pub(in crate::matches) session: Arc<Session>,
    /// Game to play; `None` for a join by ticket, since the ticket's run chooses the game.
    pub(in crate::matches) game: Option<GameRef>,
    /// Ladder that the join enters, if any.
    pub(in crate::matches) ladder: Option<Arc<StandingLadder>>,
    /// Server agents that the join plays against.
    pub(in crate::matches) against: Vec<Opponent>,
    /// True if each match of the join is paired or has a mirror match.
    pub(in crate::matches) paired: bool,
    /// Number of matches that the join has played before a restart.
    pub(in crate::matches) played: u32,
    /// Reserved shares of the owner's quotas.
    pub(in crate::matches) shares: [Share; 2],
}

impl Lobby {
    /// Adds a join, which starts no match before it is [ready](Self::ready).
    pub(in crate::matches) fn add(&mut self, new: NewJoin) {
        let NewJoin { kept, session, game, ladder, against, paired, played, shares } = new;
        let name = game.as_ref().map_or("", |game| &game.spec().string);
        self.insert(WaitingJoin {
            kind: QueueKey::of(name, &kept.request, paired),
            left: kept.count.map(|count| count.saturating_sub(played)),
            session,
            paired,
            ladder,
            since: None,
            block: None,
            met: HashMap::new(),
            arrival: 0,
            against,
            _shares: shares,
            played,
            running: 0,
            absences: 0,
            rests_until: 0,
            told: false,
            ready: false,
            due: false,
            kept,
            game,
        });
    }

    /// Allows a join to start matches.
    pub(in crate::matches) fn ready(&mut self, id: &str) {
        if let Some(w) = self.joins.get_mut(id) {
            w.ready = true;
        }
        self.call(id);
    }

    /// Returns the join that a session requested with the request `re`.
    pub(in crate::matches) fn requested(&self, session: &str, re: i64) -> Option<String> {
        self.of_session(session).find(|w| w.kept.re == re).map(|w| w.kept.id.clone())
    }

    /// Moves an existing join to the session that repeated its ticket with the request `re`. Returns false if there is no
    /// such join.
    pub(in crate::matches) fn repeat(&mut self, id: &str, session: &Arc<Session>, re: i64) -> bool {
        let Some(w) = self.joins.get_mut(id) else { return false };
        w.kept.re = re;
        self.give(id, session);
        true
    }

    /// Returns the number of a session's joins.
    pub(in crate::matches) fn count_of(&self, session: &str) -> usize {
        self.of_session(session).count()
    }

    /// Cancels the remaining matches of a join, except those of a rated pair that it has begun. Returns false if the
    /// session does not hold this join.
    pub(in crate::matches) fn leave(&mut self, session: &str, id: &str) -> bool {
        let rest = self.rest_of_block(id);
        let Some(w) = self.joins.get_mut(id).filter(|w| w.session.id == session) else { return false };
        w.left = Some(rest);
        if rest > 0 {
            self.call(id);
        } else if w.running == 0 {
            self.remove(id);
        } else {
            self.unqueue(id);
            self.cut_of(id);
        }
        true
    }

    /// Returns the joins of a session, for `welcome`.
    pub(in crate::matches) fn resumed(&self, session: &str) -> Vec<ResumedJoin> {
        let resumed =
            |w: &WaitingJoin| ResumedJoin { join: w.kept.id.clone(), game: w.request().game.clone(), left: w.left };
        self.of_session(session).map(resumed).collect()
    }

    /// Returns true if a session has joins.
    pub(in crate::matches) fn has_joins(&self, session: &str) -> bool {
        self.by_session.contains_key(session)
    }

    /// Moves all joins of the session `from` to the session `to`.
    pub(in crate::matches) fn move_joins(&mut self, from: &str, to: &Arc<Session>) {
        for id in self.by_session.remove(from).unwrap_or_default() {
            self.give(&id, to);
        }
    }

    /// Removes the joins of a session, and returns their ids.
    pub(in crate::matches) fn remove_session(&mut self, session: &str) -> Vec<String> {
        let ids = self.by_session.remove(session).unwrap_or_default();
        ids.iter().for_each(|id| self.remove(id));
        ids
    }

    /// Returns the session that holds a join.
    pub(in crate::matches) fn session_of(&self, id: &str) -> Option<Arc<Session>> {
        self.joins.get(id).map(|w| w.session.clone())
    }

    /// Returns the join of a ticket.
    pub(in crate::matches) fn join_of(&self, ticket: &str) -> Option<String> {
        self.by_ticket.get(ticket).cloned()
    }

    /// Removes and returns the names of the runs that an agent has left.
    pub(in crate::matches) fn take_left(&mut self) -> Vec<String> {
        std::mem::take(&mut self.left)
    }

    /// Adds a pending match, which starts as soon as the holders of its tickets have joined.
    pub(in crate::matches) fn plan(&mut self, planned: PendingMatch) {
        let tickets: Vec<String> = planned.tickets().into_iter().map(str::to_owned).collect();
        self.plan.add(planned);
        // A client may already hold its ticket.
        for id in tickets.iter().filter_map(|ticket| self.join_of(ticket)).collect::<Vec<_>>() {
            self.call(&id);
        }
    }

    /// Removes a pending match. Returns false if the match has already started.
    pub(in crate::matches) fn unplan(&mut self, id: &str) -> bool {
        self.plan.drop_match(id)
    }

    /// Removes the pending matches of a run, and returns their ids.
    pub(in crate::matches) fn unplan_run(&mut self, run: &str) -> Vec<String> {
        self.plan.drop_run(run)
    }
}
