//! Episodes of the gym plane as records, for handles that were opened with `record`. They are never rated.

use std::collections::BTreeMap;

use ludex_agents::AgentSpec;
use ludex_env::{DynBatch, Episode, Seat};
use ludex_protocol::record::{
    ChanceRecord, Footer, Header, Illegal, IllegalPolicy, MoveRecord, Parts, Reason, Record, RecordEvent, RecordSeat,
    VERSION,
};
use ludex_protocol::spec::Spec;
use ludex_referee::digest::digest;
use ludex_referee::outcome::outcomes;
use serde_json::Value;

use crate::auth;
use crate::opponents::Opponents;
use crate::store::{EndRow, MatchRow, Write};
use ludex_play::time::{epoch_ms, now_text};

/// Writes the episodes of one handle down.
#[derive(Clone)]
pub(super) struct Recorder {
    /// The client, as it sits on its seats.
    client: RecordSeat,
    /// When the running episode of each environment began, where that is known.
    began: BTreeMap<u32, (String, i64)>,
    opened: (String, i64),
}

impl Recorder {
    pub(super) fn new(client: RecordSeat) -> Self {
        Recorder { client, began: BTreeMap::new(), opened: (now_text(), epoch_ms()) }
    }

    /// The writes that keep what has ended. An episode that cannot be written down is logged and left out.
    pub(super) fn keep(
        &mut self,
        ended: &[Episode],
        batch: &dyn DynBatch,
        seats: &[String],
        opponents: &Opponents,
    ) -> Vec<Write> {
        let now = (now_text(), epoch_ms());
        let mut writes = Vec::with_capacity(3 * ended.len());
        for episode in ended {
            let began = self.began.insert(episode.env, now.clone()).unwrap_or_else(|| self.opened.clone());
            match self.written(episode, batch, seats, opponents, &began, &now) {
                Ok(written) => writes.extend(written),
                Err(why) => tracing::error!("an episode of the gym plane could not be kept: {why}"),
            }
        }
        writes
    }

    /// The episodes of these environments begin anew.
    pub(super) fn begin(&mut self, rows: impl Iterator<Item = u32>) {
        let now = (now_text(), epoch_ms());
        self.began.extend(rows.map(|i| (i, now.clone())));
    }

    fn written(
        &self,
        episode: &Episode,
        batch: &dyn DynBatch,
        seats: &[String],
        opponents: &Opponents,
        began: &(String, i64),
        now: &(String, i64),
    ) -> Result<[Write; 3], String> {
        let (spec, config) = (batch.spec(), batch.config());
        let snapshot = &episode.snapshot;
        let shift = snapshot.shift.unwrap_or(0) as usize;
        let entry = |seat: Seat| seats.get((seat + shift) % spec.players as usize).map(String::as_str);
        let is_client = |seat: Seat| entry(seat).is_none_or(|text| text == "agent");
        let seated = (0..spec.players as usize).map(|seat| match entry(seat) {
            Some(text) if !is_client(seat) => {
                RecordSeat { name: text.into(), spec: Some(text.into()), ..RecordSeat::default() }
            }
            _ => self.client.clone(),
        });
        let peeks = |text: &String| {
            let text = opponents.named.get(text.trim()).unwrap_or(text);
            AgentSpec::parse(text).is_ok_and(|spec| spec.peeks())
        };
        let flags = [("peek", seats.iter().any(peeks)), ("client_chance", config.client_chance)];
        let id = format!("g_{}", hex::encode(auth::random_bytes::<12>().map_err(|e| e.to_string())?));
        let header = Header {
            ludex: VERSION,
            episode: id.clone(),
            number: u32::try_from(snapshot.episode).unwrap_or(u32::MAX),
            flags: flags.iter().filter(|(_, is)| *is).map(|(name, _)| (*name).to_owned()).collect(),
            game: spec.game.clone(),
            params: spec.params.clone(),
            rules: spec.rules,
            hash: spec.hash.clone(),
            server: ludex_play::PROGRAM.to_owned(),
            seats: seated.collect(),
            illegal: Illegal { policy: IllegalPolicy::Forfeit, tries: 1 },
            started: began.0.clone(),
            ..Header::default()
        };
        let reason = match episode.at_fault {
            Some(seat) if is_client(seat) => Reason::Illegal,
            Some(_) => Reason::AgentError,
            None if episode.truncated => Reason::Truncated,
            None => Reason::Finished,
        };
        let mut record = Record {
            header,
            events: events(spec, &snapshot.h)?,
            footer: Footer {
                returns: episode.returns.clone(),
                outcome: outcomes(spec, &episode.returns, reason, episode.at_fault),
                reason: Some(reason),
                at_fault: episode.at_fault.map(|seat| seat as u32),
                ended: Some(now.0.clone()),
                seed: episode.seeded.then(|| snapshot.seed.to_string()),
                ..Footer::default()
            },
        };
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let parts = Parts::parse(&record.to_line().map_err(|e| text(&e))?).map_err(|e| text(&e))?;
        record.footer.digest = Some(digest(&parts).map_err(|e| text(&e))?);
        let json = |value: serde_json::Result<String>| value.map_err(|e| e.to_string());
        let row = MatchRow {
            id: id.clone(),
            game: spec.game.clone(),
            string: spec.string.clone(),
            rated: false,
            run: None,
            seats: record.header.seats.iter().map(|seat| seat.name.as_str().into()).collect(),
            header: json(serde_json::to_string(&record.header))?,
            secret: "{}".to_owned(),
            started_ms: began.1,
        };
        let end = EndRow {
            reason: json(serde_json::to_string(&reason))?.trim_matches('"').to_owned(),
            ended_ms: now.1,
            footer: json(serde_json::to_string(&record.footer))?,
            record: record.to_line().map_err(|e| e.to_string())?,
        };
        Ok([
            Write::MatchStart(row),
            Write::MatchEnd { id: id.clone(), acts: Vec::new(), end },
            Write::Released { ids: vec![id] },
        ])
    }
}

/// A snapshot's history as the events of a record.
fn events(spec: &Spec, h: &[(i32, Value)]) -> Result<Vec<RecordEvent>, String> {
    let mut turns = vec![0; spec.players as usize];
    let mut events = Vec::with_capacity(h.len());
    let mut moved =
        |seat: usize, action: Option<u32>, said: Option<Value>, more: bool| -> Result<RecordEvent, String> {
            let turn = turns.get_mut(seat).ok_or_else(|| format!("there is no seat {seat}"))?;
            *turn += 1;
            let played = MoveRecord { seat: seat as u32, turn: *turn - 1, action, said, more, ..MoveRecord::default() };
            Ok(RecordEvent::Move(played))
        };
    let id = |v: &Value| v.as_u64().and_then(|a| u32::try_from(a).ok());
    for (who, what) in h {
        match (usize::try_from(*who), what) {
            (Err(_), Value::Array(joint)) => {
                let acting: Vec<(usize, u32)> =
                    joint.iter().enumerate().filter_map(|(seat, v)| Some((seat, id(v)?))).collect();
                for (k, &(seat, action)) in acting.iter().enumerate() {
                    events.push(moved(seat, Some(action), None, k + 1 < acting.len())?);
                }
            }
            (Err(_), outcome) => events.push(RecordEvent::Chance(ChanceRecord { action: id(outcome) })),
            // The footer names who forfeited.
            (Ok(_), Value::Object(document)) if document.contains_key("forfeit") => {}
            (Ok(seat), Value::Object(document)) => {
                events.push(moved(seat, None, document.get("said").cloned(), false)?);
            }
            (Ok(seat), action) => events.push(moved(seat, id(action), None, false)?),
        }
    }
    Ok(events)
}
