//! Pending matches of runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ludex_gym::opponents::Opponent;
use ludex_play::machine::interface::MatchSetup;
use ludex_play::machine::known_answers::KnownAnswers;
use ludex_store::StoredMatch;

/// Planned match of a run, not started yet.
pub struct PendingMatch {
    /// Setup of the match. Its seats are filled in when the match starts.
    pub setup: MatchSetup,
    /// Player of each seat, in seat order.
    pub seats: Vec<PlannedSeat>,
    /// Stored state of the match, if it was interrupted.
    pub kept: Option<Arc<StoredMatch>>,
}

/// Player of a seat in a pending match.
pub enum PlannedSeat {
    /// Client that holds this ticket.
    Ticket {
        ticket: String,
        /// Name of the player in the record: that of the agent, with its variant if it has one.
        name: String,
        /// Variant of the agent that plays, for `match_start`.
        variant: Option<String>,
        /// Earlier answers of the client, which the host plays again.
        known: KnownAnswers,
    },
    Agent(Opponent),
}

impl PendingMatch {
    /// Returns the tickets of the match, each once, even if its holder plays several seats.
    pub(super) fn tickets(&self) -> BTreeSet<&str> {
        let tickets = self.seats.iter().filter_map(|seat| match seat {
            PlannedSeat::Ticket { ticket, .. } => Some(ticket.as_str()),
            PlannedSeat::Agent(_) => None,
        });
        tickets.collect()
    }
}

/// Pending matches of all runs.
#[derive(Default)]
pub(super) struct PendingMatches {
    matches: BTreeMap<u64, PendingMatch>,
    by_ticket: HashMap<String, BTreeSet<u64>>,
    free: BTreeSet<u64>,
    next: u64,
}

impl PendingMatches {
    pub(super) fn add(&mut self, planned: PendingMatch) {
        self.next += 1;
        self.put_back(self.next, planned);
    }

    /// Puts back a match that was [taken](Self::take) but did not start.
    pub(super) fn put_back(&mut self, n: u64, planned: PendingMatch) {
        let tickets = planned.tickets();
        if tickets.is_empty() {
            self.free.insert(n);
        }
        for ticket in tickets {
            self.by_ticket.entry(ticket.to_owned()).or_default().insert(n);
        }
        self.matches.insert(n, planned);
    }

    /// Returns the first match for which `make` returns a result, and the result. Considers the matches for `ticket`
    /// or, if `None`, the matches without tickets.
    pub(super) fn first<T>(&self, ticket: Option<&str>, make: impl Fn(&PendingMatch) -> Option<T>) -> Option<(u64, T)> {
        let of = match ticket {
            Some(ticket) => self.by_ticket.get(ticket)?,
            None => &self.free,
        };
        of.iter().find_map(|n| Some((*n, make(self.matches.get(n)?)?)))
    }

    /// Removes a match that is about to start.
    pub(super) fn take(&mut self, n: u64) -> Option<PendingMatch> {
        let planned = self.matches.remove(&n)?;
        self.free.remove(&n);
        for ticket in planned.tickets() {
            if let Some(of) = self.by_ticket.get_mut(ticket) {
                of.remove(&n);
                if of.is_empty() {
                    self.by_ticket.remove(ticket);
                }
            }
        }
        Some(planned)
    }

    /// Removes a match. Returns false if the match was not pending.
    pub(super) fn drop_match(&mut self, id: &str) -> bool {
        let found = self.matches.iter().find(|(_, m)| m.setup.header.episode == id).map(|(n, _)| *n);
        found.and_then(|n| self.take(n)).is_some()
    }

    /// Removes the matches of a run, and returns their ids.
    pub(super) fn drop_run(&mut self, run: &str) -> Vec<String> {
        let of_run = |m: &PendingMatch| m.setup.run.as_deref() == Some(run);
        let gone: Vec<u64> = self.matches.iter().filter(|(_, m)| of_run(m)).map(|(n, _)| *n).collect();
        gone.into_iter().filter_map(|n| self.take(n)).map(|m| m.setup.header.episode).collect()
    }
}
