//! Matches that are about to start.

use std::sync::Arc;

use ludex_agents::Agent;
use ludex_env::GameRef;
use ludex_gym::opponents::Pace;
use ludex_play::local::{auto_play_forced, faults_as_infra};
use ludex_play::machine::interface::{MatchSetup, SeatSetup};
use ludex_protocol::record::{Clock, RecordSeat};
use ludex_store::StoredMatch;

use crate::sessions::Session;

/// Match that is about to start.
pub(super) struct MatchPlan {
    pub(super) seats: Vec<SeatPlan>,
    pub(super) terms: MatchTerms,
}

/// Seat of a match that is about to start.
pub(super) struct SeatPlan {
    /// Entry in the record header, which is public.
    pub(super) seat: RecordSeat,
    pub(super) setup: SeatSetup,
    pub(super) occupant: Occupant,
}

/// Options for a server agent in a match of a run.
#[derive(Clone, Copy, Debug)]
pub struct AgentOptions {
    /// True if the agent's only legal move is played for it.
    pub skips_forced: bool,
    /// True if failures of the agent count as faults of the server.
    pub blameless: bool,
}

impl AgentOptions {
    /// Wraps an agent to apply the options.
    pub fn around(self, agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
        let agent = if self.blameless { faults_as_infra(agent) } else { agent };
        if self.skips_forced { auto_play_forced(agent) } else { agent }
    }
}

/// Player of a seat.
pub(super) enum Occupant {
    Client(Arc<Session>),
    Agent {
        agent: Arc<dyn Agent>,
        /// Complete spec, which may be private.
        spec: String,
        pace: Arc<Pace>,
    },
    /// Server agent that the thread of the match's run provides later.
    Expected,
}

impl Occupant {
    pub(super) fn session(&self) -> Option<&Arc<Session>> {
        match self {
            Occupant::Client(session) => Some(session),
            Occupant::Agent { .. } | Occupant::Expected => None,
        }
    }
}

/// Settings of a match that is about to start.
pub(super) enum MatchTerms {
    /// Match that clients requested.
    Asked(RequestedTerms),
    /// Match planned by a run.
    Planned(Box<MatchSetup>),
    /// Match that resumes after an interruption.
    Kept(Arc<StoredMatch>),
}

/// Settings of a match that clients requested.
pub(super) struct RequestedTerms {
    pub(super) game: GameRef,
    pub(super) rated: bool,
    pub(super) clock: Clock,
    pub(super) pair: Option<String>,
    /// Index of the match among the matches of its pair, from 0.
    pub(super) turn: u32,
    /// True if the server also plays a mirror match: a match with the same seed, in which its agent plays every seat.
    pub(super) mirror: bool,
    /// Seat of a client that left between the matches of a pair, and so loses this match.
    pub(super) forfeit: Option<usize>,
    /// True if the clients may have agreed to play each other, or one has chosen its seat.
    pub(super) arranged: bool,
    /// Label of the ladder season that the match belongs to.
    pub(super) label: Option<String>,
}
