//! Matches that a tournament wants.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ludex_protocol::record::{Clock, Illegal};
use serde::{Deserialize, Serialize};

/// A match that a tournament wants: who sits where, on which seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMatch {
    /// Game string.
    pub game: String,
    /// Per seat: the ticket of a client, or the spec of an agent of the server's.
    pub seats: Vec<PlannedSeat>,
    /// The seed; matches of a pair share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The pair: seed, digest and record are released when its last match is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
    /// The run that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Whether it counts.
    pub rated: bool,
    /// Clock of every seat.
    pub clock: Clock,
    /// Policy for illegal moves.
    #[serde(default)]
    pub illegal: Illegal,
    /// Whether forced moves are played without asking.
    #[serde(default)]
    pub skip_forced: bool,
}

/// Who sits on a planned seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedSeat {
    /// The client that holds this ticket.
    Ticket(String),
    /// An agent of the server's.
    Agent(String),
}

impl PlannedMatch {
    /// Its tickets, each with the number of seats that it stands for.
    pub(super) fn tickets(&self) -> BTreeMap<&str, u32> {
        let mut tickets = BTreeMap::new();
        for seat in &self.seats {
            if let PlannedSeat::Ticket(ticket) = seat {
                *tickets.entry(ticket.as_str()).or_default() += 1;
            }
        }
        tickets
    }
}

/// The matches of all tournaments that have not begun.
#[derive(Default)]
pub(super) struct Plan {
    matches: BTreeMap<u64, PlannedMatch>,
    by_ticket: HashMap<String, BTreeSet<u64>>,
    /// Matches without tickets.
    free: BTreeSet<u64>,
    next: u64,
}

impl Plan {
    pub(super) fn len(&self) -> usize {
        self.matches.len()
    }

    pub(super) fn add(&mut self, planned: PlannedMatch) {
        self.next += 1;
        self.put_back(self.next, planned);
    }

    /// A match that was [taken](Self::take) and did not begin.
    pub(super) fn put_back(&mut self, n: u64, planned: PlannedMatch) {
        let tickets = planned.tickets();
        if tickets.is_empty() {
            self.free.insert(n);
        }
        for ticket in tickets.into_keys() {
            self.by_ticket.entry(ticket.to_owned()).or_default().insert(n);
        }
        self.matches.insert(n, planned);
    }

    /// The first match that waits for this ticket (without one: that needs no ticket) and for which `make` gives a
    /// result, with that result.
    pub(super) fn first<T>(&self, ticket: Option<&str>, make: impl Fn(&PlannedMatch) -> Option<T>) -> Option<(u64, T)> {
        let of = match ticket {
            Some(ticket) => self.by_ticket.get(ticket)?,
            None => &self.free,
        };
        of.iter().find_map(|n| Some((*n, make(self.matches.get(n)?)?)))
    }

    /// The match begins.
    pub(super) fn take(&mut self, n: u64) -> Option<PlannedMatch> {
        let planned = self.matches.remove(&n)?;
        self.free.remove(&n);
        for ticket in planned.tickets().into_keys() {
            if let Some(of) = self.by_ticket.get_mut(ticket) {
                of.remove(&n);
                if of.is_empty() {
                    self.by_ticket.remove(ticket);
                }
            }
        }
        Some(planned)
    }
}
