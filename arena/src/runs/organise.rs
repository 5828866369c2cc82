//! Tournaments between clients and the server's agents.

use std::collections::BTreeSet;
use std::sync::Arc;

use ludex_protocol::error::{ErrorCode, Refusal, truncate_text};
use ludex_protocol::message::Enrol;
use ludex_protocol::spec::Params;
use ludex_referee::tournament::TournamentFormat;
use ludex_store::Write;
use serde::Deserialize;

use super::Runs;
use super::enrol::check_name;
use super::enrolment::{EnrolledAgent, Enrolment, StoredTournament};
use super::host::Host;
use crate::matches::storage_failure;

/// Default time per move in milliseconds.
const MOVE_MS: u64 = 30_000;
/// Default time that a match waits for an absent client, in milliseconds.
const GRACE_MS: u64 = 300_000;
/// Maximum number of entrants in a tournament.
const MOST: usize = 1_024;
/// Default number of concurrent matches per client.
const SLOTS: u32 = 1;

/// Entrants and settings of a tournament between clients and the server's agents.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TournamentRequest {
    /// Name of the run.
    pub run: String,
    /// Game string, with parameters if needed.
    pub game: String,
    pub format: TournamentFormat,
    /// Number of blocks per pairing, each on its own seed.
    #[serde(default = "one")]
    pub blocks: u32,
    /// Number of matches that an entrant must end by its own failures to be disqualified; 0 means that no entrant is
    /// disqualified.
    #[serde(default)]
    pub strikes: u32,
    /// Time per move in milliseconds; by default 30 seconds.
    pub move_ms: Option<u64>,
    /// Milliseconds for which the tournament waits for clients to enroll, and for an absent client; by default five
    /// minutes.
    pub grace_ms: Option<u64>,
    pub entrants: Vec<TournamentEntrant>,
}

/// Entrant of a tournament.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TournamentEntrant {
    /// Name of the entrant, unique in the tournament. A client plays under this name.
    pub name: String,
    /// Spec or name of a server agent; `None` for a client.
    pub agent: Option<String>,
    /// Owner of the client's token; `None` for a guest.
    pub owner: Option<String>,
}

/// Ticket of a client in a tournament.
#[derive(Clone, Debug)]
pub struct TournamentTicket {
    /// Name of the entrant.
    pub name: String,
    /// Value for `ticket` in a `join`, for clients that do not enroll.
    pub ticket: String,
}

fn one() -> u32 {
    1
}

impl Runs {
    /// Creates a tournament, which starts when its clients have enrolled. Returns a ticket for each client.
    ///
    /// # Errors
    ///
    /// Invalid settings, by field, or a taken run name.
    pub async fn organise(
        self: &Arc<Self>,
        request: &TournamentRequest,
    ) -> Result<Vec<TournamentTicket>, Box<Refusal>> {
        let _one_by_one = self.enrolling.lock().await;
        let run = &request.run;
        check_name(run)?;
        match self.existing_run(run).await {
            Ok(None) => {}
            Err(error) if error.code == ErrorCode::Internal => return Err(error),
            _ => {
                let e = Refusal::new(ErrorCode::Conflict, "run name is taken; choose another name");
                return Err(Box::new(e.path("run").got(run.as_str())));
            }
        }
        let (terms, entrants) = self.cup(request)?;
        let until_ms = i64::try_from(self.hub.config.run_time.as_millis()).unwrap_or(i64::MAX);
        let kept = Enrolment {
            request: Enrol { candidates: u32::try_from(entrants.len()).unwrap_or(u32::MAX), ..Enrol::new("", run) },
            text: String::new(),
            roles: Default::default(),
            left_out: Default::default(),
            season: None,
            cup: Some(terms),
            entrants: entrants.clone(),
            until_ms: ludex_play::time::epoch_ms().saturating_add(until_ms),
            stop: None,
            over: None,
            ended_ms: None,
        };
        // The settings are checked as a whole before anything is stored.
        let checked = Host::contest(self, &kept).await;
        checked.map_err(|e| Box::new(Refusal::new(ErrorCode::BadField, format!("{e:#}"))))?;
        let row = kept.row().map_err(|e| storage_failure(&e))?;
        self.hub.store.write(vec![Write::Run(row)]).await.map_err(|e| storage_failure(&e))?;
        let host = Arc::new(Host::new(kept));
        self.hosts.lock().insert(run.clone(), host.clone());
        if entrants.is_empty() {
            host.start(self);
        }
        let ticket = |e: EnrolledAgent| TournamentTicket { name: e.agent, ticket: e.ticket };
        Ok(entrants.into_iter().map(ticket).collect())
    }

    fn cup(&self, request: &TournamentRequest) -> Result<(StoredTournament, Vec<EnrolledAgent>), Box<Refusal>> {
        let bad = |path: &str, message: &str| Box::new(Refusal::new(ErrorCode::BadField, message).path(path));
        let game = self.hub.config.catalogue.load(&request.game, &Params::new())?;
        let names: BTreeSet<&str> = request.entrants.iter().map(|e| e.name.as_str()).collect();
        if names.len() < request.entrants.len() || request.entrants.len() > MOST {
            return Err(bad("entrants", &format!("expected at most {MOST} entrants with unique names")));
        }
        if let Some(at) = request.entrants.iter().position(|e| !ludex_protocol::is_agent_name(&e.name)) {
            let e = bad("entrants", "expected a name of 1 to 40 characters of A-Za-z0-9._-").index(at);
            return Err(Box::new(e.got(truncate_text(&request.entrants[at].name))));
        }
        let (mut agents, mut clients) = (Vec::new(), Vec::new());
        for (at, entrant) in request.entrants.iter().enumerate() {
            let spec = match &entrant.agent {
                Some(text) => {
                    let seated = self.hub.config.opponents.get().seat(text, &game, true);
                    seated.map_err(|e| Box::new(e.path("entrants").index(at)))?.spec.to_string()
                }
                None => {
                    clients.push(EnrolledAgent {
                        agent: entrant.name.clone(),
                        owner: entrant.owner.clone(),
                        ticket: self.hub.fresh_id('t')?,
                        join: self.hub.fresh_id('j')?,
                        slots: SLOTS,
                        came: false,
                        consent: None,
                    });
                    "remote".to_owned()
                }
            };
            agents.push((entrant.name.clone(), spec));
        }
        let grace_ms = request.grace_ms.unwrap_or(GRACE_MS);
        let terms = StoredTournament {
            game: game.spec().string.clone(),
            format: request.format,
            blocks: request.blocks.into(),
            strikes: request.strikes.into(),
            move_s: request.move_ms.unwrap_or(MOVE_MS).div_ceil(1_000).max(1),
            grace_ms,
            begins_ms: ludex_play::time::epoch_ms().saturating_add(i64::try_from(grace_ms).unwrap_or(i64::MAX)),
            agents,
            left_out: Default::default(),
        };
        Ok((terms, clients))
    }
}
