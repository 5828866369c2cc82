//! Stored form of a match's start.

use ludex_play::machine::interface::{MatchSetup, SeatSetup};
use ludex_referee::suite::starts::Excerpt;
use ludex_store::{MatchRow, SeatRow, Unkept, text};
use serde::{Deserialize, Serialize};

use super::plan::{Occupant, SeatPlan};

/// Data of a running match that become public at its release.
#[derive(Serialize, Deserialize)]
pub(super) struct Secret {
    pub(super) seed: String,
    pub(super) salt: String,
    pub(super) skip_forced: bool,
    pub(super) release: bool,
    pub(super) seats: Vec<SecretSeat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pair: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
    /// Milliseconds for which a client may be disconnected in the whole match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) grace_ms: Option<u64>,
    /// Seat that loses the match before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) forfeit: Option<usize>,
    /// Index of the match among the matches of its pair, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) turn: u32,
    /// Return of each seat in the mirror match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) mirror: Vec<f64>,
    /// Part of the game that is played, if not the whole game.
    #[serde(default, skip_serializing_if = "Excerpt::is_whole")]
    pub(super) excerpt: Excerpt,
}

fn is_zero(turn: &u32) -> bool {
    *turn == 0
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SecretSeat {
    pub(super) setup: SeatSetup,
    /// Owner of the token of the first session that had this seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
    /// Complete spec of the server agent on this seat, if the header does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) spec: Option<String>,
}

impl From<&SeatPlan> for SecretSeat {
    fn from(plan: &SeatPlan) -> Self {
        let owner = plan.occupant.session().and_then(|session| session.about.owner.clone());
        let spec = match &plan.occupant {
            Occupant::Agent { spec, .. } if plan.seat.spec.as_ref() != Some(spec) => Some(spec.clone()),
            _ => None,
        };
        SecretSeat { setup: plan.setup.clone(), owner, spec }
    }
}

/// Data of a match's row that the match machine does not hold. Needed until the row is stored.
pub(super) struct RowDraft {
    pub(super) seats: Vec<SecretSeat>,
    /// Index of the match among the matches of its pair, from 0.
    pub(super) turn: u32,
    /// Label of the ladder season that the match belongs to.
    pub(super) label: Option<String>,
    pub(super) started_ms: i64,
}

impl RowDraft {
    /// Returns the row of a match. `sessions` holds the session of each seat, `None` for server agents.
    ///
    /// # Errors
    ///
    /// Data that cannot be serialized.
    pub(super) fn row(self, setup: &MatchSetup, sessions: Vec<Option<String>>) -> Result<MatchRow, Unkept> {
        let seat = |(session, (seat, s)): (Option<String>, (&ludex_protocol::record::RecordSeat, &SecretSeat))| {
            SeatRow { agent: seat.name.clone(), session, join: s.setup.join.clone() }
        };
        let seats = sessions.into_iter().zip(setup.header.seats.iter().zip(&self.seats)).map(seat).collect();
        let secret = Secret {
            seed: setup.seed.to_string(),
            salt: hex::encode(setup.salt),
            skip_forced: setup.skip_forced,
            release: setup.release,
            seats: self.seats,
            pair: setup.pair.clone(),
            run: setup.run.clone(),
            grace_ms: setup.grace_ms,
            forfeit: setup.forfeit,
            turn: self.turn,
            mirror: setup.mirror.clone(),
            excerpt: setup.excerpt.clone(),
        };
        let spec = setup.game.spec();
        Ok(MatchRow {
            id: setup.header.episode.clone(),
            game: spec.game.clone(),
            string: spec.string.clone(),
            rated: setup.header.rated,
            run: setup.run.clone().or(self.label),
            seats,
            header: text(&setup.header)?,
            secret: text(&secret)?,
            started_ms: self.started_ms,
        })
    }
}
