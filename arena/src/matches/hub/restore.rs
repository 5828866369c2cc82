//! Restores matches and sessions after a restart.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::{AcceptedMove, LogRow, MatchSetup};
use ludex_protocol::record::{EndReason, Header, MoveRecord, Record, RecordEvent};
use ludex_store::{SessionRow, StoreError, StoredMatch, Write};

use super::Hub;
use crate::cells::suite_name;
use crate::matches::lobby::BlockMatch;
use crate::matches::match_row::Secret;
use crate::matches::plan::Occupant;
use crate::sessions::{ClientInfo, ENDED, Session};
use crate::standing_ladders::is_label;

/// Matches that ended shortly before a restart, by session. Few clients return after a restart, so a match is not
/// loaded until one of its sessions resumes.
#[derive(Default)]
pub(super) struct EndedBeforeRestart {
    by_session: HashMap<String, Vec<String>>,
    unread: HashSet<String>,
}

impl EndedBeforeRestart {
    /// Adds pairs of a match id and a session id, oldest match first. Skips sessions that are not `known`, and all but
    /// the latest [`ENDED`] matches of each session.
    fn fill(&mut self, ended: Vec<(String, String)>, known: impl Fn(&str) -> bool) {
        for (id, session) in ended.into_iter().rev().filter(|(_, session)| known(session)) {
            let of = self.by_session.entry(session).or_default();
            if of.len() < ENDED {
                self.unread.insert(id.clone());
                of.push(id);
            }
        }
    }

    /// Takes the matches of a session that have not been loaded yet, oldest first.
    fn take(&mut self, session: &str) -> Vec<String> {
        let ids = self.by_session.remove(session).unwrap_or_default();
        ids.into_iter().rev().filter(|id| self.unread.remove(id)).collect()
    }

    /// Removes the matches of a session that has ended.
    pub(super) fn forget(&mut self, session: &str) {
        self.by_session.remove(session);
    }
}

impl Hub {
    /// Restores running matches and sessions, and returns the number of restored matches. Must be called once, before
    /// the server accepts connections.
    ///
    /// # Errors
    ///
    /// Those of the store. A match that cannot be restored is logged and ends as `infra_error`.
    pub async fn restore(self: &Arc<Self>) -> Result<usize, StoreError> {
        let cell = self.cell();
        for row in self.store.sessions().await?.into_iter().filter(|row| cell.has_id(&row.id)) {
            let id = row.id.clone();
            if let Err(error) = self.restore_session(row) {
                tracing::warn!(session = %id, %error, "session restore failed");
            }
        }
        for (row, played) in self.store.joins().await? {
            let Some(session) = self.sessions.get(&row.session) else { continue };
            if let Err(error) = self.rejoin(&session, row, played) {
                tracing::warn!(session = %session.id, %error, "join restore failed");
            }
        }
        let running = self.own_running().await?;
        let mut over = self.store.unreleased().await?;
        over.retain(|(id, _)| cell.has_id(id));
        self.restore_pairs(over, &running);
        let mut back = 0;
        for kept in running {
            // A match of a run whose agent is away stays in the store until the agent returns.
            let away = |id: &String| self.sessions.get(id).is_none();
            let waits = kept.row.run.as_deref().is_some_and(|run| !is_label(run));
            if waits && kept.row.seats.iter().filter_map(|seat| seat.session.as_ref()).any(away) {
                continue;
            }
            let id = kept.row.id.clone();
            match self.revive(kept).await {
                Ok(()) => back += 1,
                Err(why) => {
                    tracing::error!(match_id = %id, %why, "match restore failed");
                    self.abandon(&id, EndReason::InfraError, &why).await?;
                }
            }
        }
        let grace = i64::try_from(self.config.limits.get().grace_ms).unwrap_or(i64::MAX);
        // Counts from the last end, since the clock may have jumped, and clients could not return while the server was down.
        let last_ms = self.store.last_end_ms().await?.min(ludex_play::time::epoch_ms());
        let ended = self.store.ended_since(last_ms.saturating_sub(grace)).await?;
        self.late.lock().fill(ended, |session| self.sessions.get(session).is_some());
        let done = {
            let mut lobby = self.lobby.lock();
            lobby.pairs.settle();
            lobby.remove_done()
        };
        self.joins_gone(done).await;
        Ok(back)
    }

    /// Returns the running matches of this cell.
    async fn own_running(&self) -> Result<Vec<StoredMatch>, StoreError> {
        let cell = self.cell();
        if cell.count() == 1 {
            return self.store.running().await;
        }
        let active = self.store.active_runs().await?.into_iter();
        let runs: HashSet<String> =
            active.filter(|run| cell.has_name(&suite_name(&run.suite))).map(|run| run.name).collect();
        let is_own = |id: &str, run: Option<&str>| match run.filter(|run| !is_label(run)) {
            Some(run) => runs.contains(run),
            None => cell.has_id(id),
        };
        self.store.running_of(is_own).await
    }

    /// Restores the seeds and the remaining matches of all pairs that contain an unreleased match.
    fn restore_pairs(&self, over: Vec<(String, String)>, running: &[StoredMatch]) {
        let mut lobby = self.lobby.lock();
        let mut blocks: BTreeMap<String, Vec<BlockMatch>> = BTreeMap::new();
        let over = over.iter().map(|(id, secret)| (Some(id), secret));
        for (over, secret) in over.chain(running.iter().map(|kept| (None, &kept.row.secret))) {
            let Ok(secret) = serde_json::from_str::<Secret>(secret) else { continue };
            let Some(pair) = secret.pair.filter(|_| secret.run.is_none()) else { continue };
            if let Some(id) = over {
                lobby.pairs.was_over(&pair, id);
            }
            let Ok(seed) = secret.seed.parse() else { continue };
            let _ = lobby.pairs.seed(&pair, || Ok::<_, Infallible>((seed, None)));
            let joins = secret.seats.into_iter().map(|seat| seat.setup.join).collect();
            blocks.entry(pair).or_default().push(BlockMatch { turn: secret.turn, joins });
        }
        for (pair, begun) in blocks {
            lobby.resume_block(&pair, &begun);
        }
    }

    fn restore_session(self: &Arc<Self>, row: SessionRow) -> serde_json::Result<()> {
        let about = ClientInfo { agent: row.agent, ..serde_json::from_str(&row.body)? };
        let session = self.sessions.restore(row.id, about, Some(row.key_hash), row.old_key);
        let number = self.sessions.wait_of(&session);
        self.wait_for(session, number, self.grace());
        Ok(())
    }

    /// Creates a substitute for a session that is missing in the store, to reserve the session's seat. Only `reclaim`
    /// can find the substitute.
    fn lost_session(self: &Arc<Self>, id: &str, agent: &str, owner: Option<String>) -> Arc<Session> {
        let about = ClientInfo { agent: agent.to_owned(), owner, ..ClientInfo::default() };
        let session = self.sessions.restore(id.to_owned(), about, None, None);
        let number = self.sessions.wait_of(&session);
        self.wait_for(session.clone(), number, self.grace());
        session
    }

    /// Restores a match in its last state, and attaches it to the sessions of its seats.
    ///
    /// # Errors
    ///
    /// The reason why the match cannot continue.
    pub async fn revive(self: &Arc<Self>, kept: StoredMatch) -> Result<(), String> {
        let (setup, secret) = self.setup_of(&kept, kept.restarts + 1)?;
        let occupants = self.occupants_of(&setup, &secret, &kept)?;
        if let Some(pair) = setup.pair.as_deref().filter(|_| setup.run.is_none()) {
            self.lobby.lock().pairs.goes_on(pair, &kept.row.id);
        }
        setup.joins().into_iter().for_each(|join| self.lobby.lock().continues(join));
        self.continue_with(&kept, occupants).await?;
        self.counts(1);
        Ok(())
    }

    /// Continues a match from the end of its log.
    pub(super) async fn continue_with(
        self: &Arc<Self>,
        kept: &StoredMatch,
        occupants: Vec<Occupant>,
    ) -> Result<(), String> {
        let restarts = kept.restarts + 1;
        let (setup, _) = self.setup_of(kept, restarts)?;
        let rows = rows_of(kept)?;
        let count = rows.len() as u64;
        let (machine, asks) = MatchMachine::restore(setup, rows, self.now())?;
        let mut writes = vec![Write::Restarted { id: kept.row.id.clone(), restarts }];
        // After a crash, the sessions that play now get the match back before their clients can resume.
        let held =
            occupants.iter().zip(0..).filter_map(|(occupant, seat)| Some((occupant.session()?.id.clone(), seat)));
        writes.extend(held.map(|(to, seat)| Write::SeatsMoved { to, seats: vec![(kept.row.id.clone(), seat)] }));
        self.store.write(writes).await.map_err(|e| e.to_string())?;
        self.launch_stored(machine, &occupants, count, asks);
        Ok(())
    }

    /// Restores a session's matches that ended shortly before the restart, so that the client is notified of their
    /// ends.
    pub async fn recall_for(self: &Arc<Self>, session: &str) {
        // The clients of one match return at about the same time. None gets its welcome before the match is restored
        // for all.
        let _one_by_one = self.recalls.lock().await;
        let ids = self.late.lock().take(session);
        for id in ids {
            let recalled = match self.store.episode(&id).await {
                Ok(Some(kept)) => self.recall(kept),
                Ok(None) => Err("the match is missing in the store".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = recalled {
                tracing::warn!(match_id = %id, %why, "restoring the end of a match failed");
            }
        }
    }

    fn recall(self: &Arc<Self>, kept: StoredMatch) -> Result<(), String> {
        let Some(end) = &kept.end else { return Ok(()) };
        let (setup, secret) = self.setup_of(&kept, kept.restarts + 1)?;
        let occupants = self.occupants_of(&setup, &secret, &kept)?;
        let record = serde_json::from_str(&end.record).map_err(|e| e.to_string())?;
        let machine = MatchMachine::recall(setup, rows_of(&kept)?, record, self.now())?;
        let handle = self.launch_stored(machine, &occupants, 0, Vec::new());
        if kept.released {
            handle.release();
        }
        Ok(())
    }

    /// Returns the players of a match that started before a restart.
    fn occupants_of(
        self: &Arc<Self>,
        setup: &MatchSetup,
        secret: &Secret,
        kept: &StoredMatch,
    ) -> Result<Vec<Occupant>, String> {
        let mut occupants = Vec::new();
        for (k, seat) in kept.row.seats.iter().enumerate() {
            let record = setup.header.seats.get(k).ok_or("expected no more players than seats")?;
            let owner = secret.seats.get(k).and_then(|seat| seat.owner.clone());
            occupants.push(match &seat.session {
                Some(id) => {
                    let session = self.sessions.get(id);
                    Occupant::Client(session.unwrap_or_else(|| self.lost_session(id, &record.name, owner)))
                }
                // The run's thread has the agent with the answers that the run has cached.
                None if setup.run.is_some() => Occupant::Expected,
                None => {
                    let secret = secret.seats.get(k);
                    let spec = secret.and_then(|seat| seat.spec.as_ref()).or(record.spec.as_ref());
                    let opponents = self.config.opponents.get();
                    let spec = opponents.private_spec(spec.unwrap_or(&record.name)).to_owned();
                    // The operator's limits were checked when the match started, and are not checked again.
                    let agent = opponents.agents.build(&spec, &setup.game).map_err(|e| e.to_string())?;
                    Occupant::Agent { agent, spec, pace: Arc::default() }
                }
            });
        }
        Ok(occupants)
    }

    pub(super) fn setup_of(&self, kept: &StoredMatch, restarts: u32) -> Result<(MatchSetup, Secret), String> {
        let header: Header = serde_json::from_str(&kept.row.header).map_err(|e| e.to_string())?;
        let secret: Secret = serde_json::from_str(&kept.row.secret).map_err(|e| e.to_string())?;
        let game = self.config.catalogue.load(&header.game, &header.params).map_err(|e| e.message)?;
        if game.spec().hash != header.hash {
            return Err(format!("expected the rules hash {1}, got {0}", header.hash, game.spec().hash));
        }
        let mut salt = [0; 16];
        hex::decode_to_slice(&secret.salt, &mut salt).map_err(|e| e.to_string())?;
        let seed = secret.seed.parse().map_err(|_| "seed: expected a number".to_owned())?;
        let setup = MatchSetup {
            seats: secret.seats.iter().map(|s| s.setup.clone()).collect(),
            skip_forced: secret.skip_forced,
            release: secret.release,
            grace_ms: secret.grace_ms,
            follows: secret.turn > 0,
            forfeit: secret.forfeit,
            run: secret.run.clone(),
            pair: secret.pair.clone(),
            mirror: secret.mirror.clone(),
            excerpt: secret.excerpt.clone(),
            restarts,
            ..MatchSetup::new(game, header, seed, salt)
        };
        Ok((setup, secret))
    }
}

/// Returns the log of a match. The stored log of a finished unrated match may be incomplete, so its log is derived from
/// the record. A match that was not played to its end has no record.
pub(super) fn rows_of(kept: &StoredMatch) -> Result<Vec<LogRow>, String> {
    let end = kept.end.as_ref().filter(|_| !kept.row.rated || kept.acts.is_empty());
    if let Some(record) = end.and_then(|end| serde_json::from_str::<Record>(&end.record).ok()) {
        let secret: Secret = serde_json::from_str(&kept.row.secret).map_err(|e| e.to_string())?;
        return Ok(rows_of_record(&record, secret.skip_forced));
    }
    kept.acts.iter().map(|a| serde_json::from_str(&a.body).map_err(|e| e.to_string())).collect()
}

/// Converts the moves of a record to log rows. Omits moves that the machine plays itself: those before the starting
/// position and, with `skip_forced`, forced moves. Omits refused attempts too, since no client can react to them
/// anymore.
fn rows_of_record(record: &Record, skip_forced: bool) -> Vec<LogRow> {
    // The machine plays the start by itself.
    let moves = record.events.iter().skip(record.header.start as usize).filter_map(|event| match event {
        RecordEvent::Move(m) if m.action.is_some() || m.document.is_some() => Some(m),
        _ => None,
    });
    let made = moves.filter(|m| !(skip_forced && m.forced && m.tries.is_empty()));
    let act = |m: &MoveRecord| {
        let record = MoveRecord { tries: Vec::new(), more: false, ..m.clone() };
        LogRow::Act(AcceptedMove { record, attempt: m.tries.len() as u32, bank_ms: 0 })
    };
    made.map(act).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resumed_session_gets_its_latest_ended_matches_once() {
        let seat = |m: usize, session: &str| (format!("m_{m}"), session.to_owned());
        let mut ended: Vec<_> = (0..100_000).map(|m| seat(m, "busy")).collect();
        ended.extend([seat(100_000, "busy"), seat(100_000, "other"), seat(100_001, "gone")]);
        let mut late = EndedBeforeRestart::default();
        late.fill(ended, |session| session != "gone");
        assert_eq!(late.unread.len(), ENDED);
        assert_eq!(late.take("other"), ["m_100000"]);
        let told = late.take("busy");
        assert_eq!((told.len(), told.last().map(String::as_str)), (ENDED - 1, Some("m_99999")));
        assert!(late.take("busy").is_empty() && late.unread.is_empty());
    }
}
