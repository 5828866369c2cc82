//! Frozen season of a ladder with its records, as in its bundle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use ludex_referee::read::{RejectedRecord, Source};
use ludex_referee::{GameResult, VerifiedRecord, Verifier};
use ludex_report::runs::bundle::{Files, SEASON};
use ludex_report::runs::run_files::EPISODES;
use ludex_store::{MatchFilter, RecordRow, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::LABEL;
use super::count_records::{self, PAGE};
use super::season_state::{CountedRecords, SeasonState};
use super::table::StandingTable;
use crate::season_audit::SeasonAudit;

/// Season of a ladder: game, rules, settings and roster.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LadderSeason {
    /// Program that wrote the bundle.
    program: String,
    ladder: String,
    /// Owners of agents, by agent name; `None` for a guest's agent.
    owners: BTreeMap<String, Option<String>>,
    #[serde(flatten)]
    state: SeasonState,
}

impl LadderSeason {
    /// Reads a frozen season from the store, with its records in order of release.
    ///
    /// # Errors
    ///
    /// Those of the store, or a season that does not exist or is not over.
    pub async fn read(store: &Store, ladder: &str, season: &str) -> anyhow::Result<(Self, Files)> {
        let contest = format!("{LABEL}{ladder}");
        let stored = SeasonState::stored(store, &contest, season).await?;
        let stored =
            stored.with_context(|| format!("expected a season of the ladder {ladder} that has begun, got {season}"))?;
        let state = SeasonState::read(stored)?;
        anyhow::ensure!(state.frozen_ms.is_some(), "season {season}: expected a season that is over; it is still open");
        let filter = MatchFilter { run: Some(format!("{contest}:{season}")), ..MatchFilter::default() };
        let (mut lines, mut after) = (Vec::new(), 0);
        loop {
            let page = store.records(&filter, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for row in page.iter().filter(|row| row.seq <= state.counted.last) {
                lines.extend_from_slice(row.record.as_bytes());
                lines.push(b'\n');
            }
        }
        let (program, ladder, owners) = (ludex_play::PROGRAM.to_owned(), ladder.to_owned(), state.owners.clone());
        Ok((LadderSeason { program, ladder, owners, state }, Files::from([(EPISODES.to_owned(), lines)])))
    }

    /// Returns the name of the bundle's folder.
    pub fn title(&self) -> String {
        format!("{}-{}", self.ladder, self.state.season.name)
    }

    /// Computes the table from the records of the bundle. Returns the table, the results of the records, and those that
    /// fail the verification.
    ///
    /// # Errors
    ///
    /// Records that are not text, or a table that JSON cannot represent.
    pub fn table_again(&self, files: &Files) -> anyhow::Result<(Value, Vec<GameResult>, Vec<RejectedRecord>)> {
        let lines = std::str::from_utf8(files.get(EPISODES).context("expected episodes.jsonl in the bundle")?)?;
        let rows =
            lines.lines().zip(1..).map(|(line, seq)| RecordRow { seq, id: String::new(), record: line.to_owned() });
        let rows: Vec<RecordRow> = rows.collect();
        let (verifier, mut refused) = (Verifier::new(ludex_games::builtin()), Vec::new());
        let mut results = Vec::new();
        for row in &rows {
            let source = Source { file: EPISODES.to_owned(), line: row.seq as usize };
            match verifier.verify_line(&row.record, source.clone()) {
                Ok(verified) => results.push(Some(VerifiedRecord::into_result(verified))),
                Err(why) => {
                    refused.push(RejectedRecord { source, episode: None, message: why.message });
                    results.push(None);
                }
            }
        }
        let was = &self.state.counted.table;
        let table = StandingTable::new(was.rating.clone(), was.anchors.clone(), was.draws);
        let mut counted = CountedRecords { last: 0, records: 0, refused: 0, table };
        while counted.last < rows.len() as u64 {
            let from = counted.last as usize;
            let to = rows.len().min(from + PAGE as usize);
            count_records::take(&mut counted, &rows[from..to], &results[from..to]);
        }
        counted.table.skills = counted.table.fit();
        let rows = counted.table.rows(self.state.frozen_ms.unwrap_or_default());
        Ok((json!(rows), results.into_iter().flatten().collect(), refused))
    }

    /// Verifies the records and the table of the bundle.
    ///
    /// # Errors
    ///
    /// Those of [`table_again`](Self::table_again).
    pub fn verify(&self, place: &Path, files: &Files, out: &mut SeasonAudit) -> anyhow::Result<()> {
        out.title = format!("season {} of the ladder {}", self.state.season.name, self.ladder);
        let (table, results, refused) = self.table_again(files)?;
        out.verified = results.len();
        for mut rejected in refused {
            rejected.source.file = place.join(&rejected.source.file).display().to_string();
            out.refused.push(rejected);
        }
        // A bundle may state any numbers.
        let expected = self.state.counted.records.saturating_sub(self.state.counted.refused);
        let got = results.len() as u64;
        if got != expected {
            out.refuse(place, EPISODES, format!("expected {expected} records, got {got}"));
        }
        let rules = |game: &GameResult| game.spec().string == self.state.game && game.spec().hash == self.state.rules;
        if let Some(other) = results.iter().find(|game| !rules(game)) {
            let expected = &self.state.game;
            out.refuse(place, EPISODES, format!("{}: expected {expected}, got other rules", other.episode));
        }
        let seats = results.iter().flat_map(|game| &game.seats).filter(|seat| seat.spec.is_none());
        let names: BTreeSet<&str> = seats.map(|seat| seat.name.as_str()).collect();
        for name in names.into_iter().filter(|name| !self.owners.contains_key(*name)) {
            out.refuse(place, SEASON, format!("owners: expected the agent {name}, which has records"));
        }
        out.notes.push(format!("{} agents in {got} matches", self.owners.len()));
        out.compare(place, files, &table);
        Ok(())
    }
}
