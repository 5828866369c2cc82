//! Records of gym episodes, written for handles opened with `record`. Gym episodes are never rated.

use std::collections::BTreeMap;

use ludex_env::batch::ChanceBy;
use ludex_env::recording::RecordBuilder;
use ludex_env::{DynBatch, Episode, Seat};
use ludex_play::header::header;
use ludex_play::time::{epoch_ms, now_text};
use ludex_protocol::record::{EndReason, Footer, Header, IllegalMoveRules, IllegalPolicy, RecordSeat};
use ludex_store::{EndRow, MatchRow, Write, random_bytes};

use crate::opponents::Opponents;

/// Recorder for the episodes of one handle.
#[derive(Clone)]
pub(super) struct Recorder {
    /// Client, as listed on its seats in the records.
    client: RecordSeat,
    /// Start time of each environment's running episode, as text and in milliseconds since the Unix epoch. An episode
    /// without an entry started when the handle was opened.
    began: BTreeMap<u32, (String, i64)>,
    opened: (String, i64),
}

impl Recorder {
    pub(super) fn new(client: RecordSeat) -> Self {
        Recorder { client, began: BTreeMap::new(), opened: (now_text(), epoch_ms()) }
    }

    /// Returns the writes that store the episodes in `ended`. If an episode cannot be recorded,
    /// logs an error and omits the episode.
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
                Err(why) => tracing::error!(error = %why, "gym episode recording failed"),
            }
        }
        writes
    }

    /// Records the start time of new episodes in the environments `rows`.
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
        let shift = episode.shift as usize;
        let entry = |seat: Seat| seats.get((seat + shift) % spec.players as usize).map(String::as_str);
        let is_client = |seat: Seat| entry(seat).is_none_or(|text| text == "agent");
        let seated = (0..spec.players as usize).map(|seat| match entry(seat) {
            Some(text) if !is_client(seat) => opponents.record_seat(text),
            _ => self.client.clone(),
        });
        let peeks = |text: &String| opponents.agents.parse(opponents.private_spec(text)).is_ok_and(|spec| spec.peeks());
        let flags = [("peek", seats.iter().any(peeks)), ("client_chance", config.chance == ChanceBy::Client)];
        let id = format!("g_{}", hex::encode(random_bytes::<12>().map_err(|e| e.to_string())?));
        let header = Header {
            number: u32::try_from(episode.number).unwrap_or(u32::MAX),
            illegal: IllegalMoveRules { policy: IllegalPolicy::Forfeit, tries: 1, unparsed: None },
            started: began.0.clone(),
            ..header(spec, id.clone(), &flags, seated.collect())
        };
        let reason = match episode.at_fault {
            Some(seat) if is_client(seat) => EndReason::Illegal,
            Some(_) => EndReason::AgentError,
            None if episode.truncated => EndReason::Truncated,
            None => EndReason::Finished,
        };
        let footer = Footer {
            reason: Some(reason),
            at_fault: episode.at_fault.map(|seat| seat as u32),
            ended: Some(now.0.clone()),
            seed: episode.seed.map(|seed| seed.to_string()),
            ..Footer::default()
        };
        let mut history = RecordBuilder::begin(header).map_err(|e| e.to_string())?;
        episode.events.iter().cloned().try_for_each(|event| history.push(event)).map_err(|e| e.to_string())?;
        let record =
            history.end(spec, episode.teams.as_deref(), &episode.returns, footer).map_err(|e| e.to_string())?;
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
