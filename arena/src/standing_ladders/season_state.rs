//! State of a ladder's season. In the store, the season is one row, and so is each of its agents.

use std::collections::BTreeMap;

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_referee::GameResult;
use ludex_store::{SeasonRow, StandingRow, Store, StoreError, Unkept, Write, text};
use serde::{Deserialize, Serialize};

use super::table::{StandingEntry, StandingTable};
use crate::seasons::Season;

/// Season with its table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SeasonState {
    pub season: Season,
    /// Game with its parameters, and the hash of its rules.
    pub game: String,
    pub rules: String,
    /// Owners of agents, by agent name; `None` for a guest's agent. The owners are in the rows of the agents.
    #[serde(skip)]
    pub owners: BTreeMap<String, Option<String>>,
    /// Time since which the season is final.
    pub frozen_ms: Option<i64>,
    pub counted: CountedRecords,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedRecords {
    /// Number of the last release whose record has been counted.
    pub last: u64,
    /// Number of records up to this release.
    pub records: u64,
    /// Number of records that failed the verification.
    pub refused: u64,
    pub table: StandingTable,
}

/// Rows of a season.
pub type StoredSeason = (SeasonRow, Vec<StandingRow>);

impl SeasonState {
    /// Continues a season, or starts it with an empty table. If the rating settings have changed, all records are
    /// counted again.
    ///
    /// # Errors
    ///
    /// Those of the store, or a stored season that cannot be read or belongs to a different game.
    pub(super) async fn open(
        store: &Store,
        contest: &str,
        season: Season,
        game: &GameRef,
        table: StandingTable,
    ) -> anyhow::Result<Self> {
        let spec = game.spec();
        let (game, rules) = (spec.string.clone(), spec.hash.clone());
        let counted = CountedRecords { last: 0, records: 0, refused: 0, table };
        let mut writes = Vec::new();
        let kept = match Self::stored(store, contest, &season.name).await? {
            None => SeasonState { season, game, rules, owners: BTreeMap::new(), frozen_ms: None, counted },
            Some(stored) => {
                let mut kept = Self::read(stored)?;
                anyhow::ensure!(
                    kept.game == game && kept.rules == rules,
                    "season {}: game or rules have changed since it started as {}; use a new season name",
                    season.name,
                    kept.game
                );
                let (was, is) = (&kept.counted.table, &counted.table);
                if was.rating != is.rating || was.anchors != is.anchors || was.draws != is.draws {
                    kept.counted = counted;
                    writes.push(Write::StandingsReset { contest: contest.to_owned(), season: season.name.clone() });
                }
                SeasonState { season, ..kept }
            }
        };
        writes.push(kept.row(contest)?);
        store.write(writes).await?;
        Ok(kept)
    }

    /// Returns the rows of a season; `None` if it has not begun.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub(super) async fn stored(store: &Store, contest: &str, season: &str) -> Result<Option<StoredSeason>, StoreError> {
        let row = store.seasons(contest).await?.into_iter().find(|row| row.name == season);
        let Some(row) = row else { return Ok(None) };
        Ok(Some((row, store.standings(contest, season).await?)))
    }

    /// Returns the season of these rows.
    ///
    /// # Errors
    ///
    /// A row that cannot be read.
    pub(super) fn read((row, standings): StoredSeason) -> anyhow::Result<Self> {
        let mut kept: Self =
            serde_json::from_str(&row.body).with_context(|| format!("reading season {} failed", row.name))?;
        for StandingRow { agent, owner, body } in standings {
            if let Some(owner) = owner {
                kept.owners.insert(agent.clone(), Some(owner).filter(|owner| !owner.is_empty()));
            }
            if let Some(body) = body {
                let entry = serde_json::from_str(&body).with_context(|| format!("reading agent {agent} failed"))?;
                kept.counted.table.agents.insert(agent, entry);
            }
        }
        Ok(kept)
    }

    /// Returns the write of the season's row.
    ///
    /// # Errors
    ///
    /// A season that JSON cannot represent.
    pub(super) fn row(&self, contest: &str) -> Result<Write, Unkept> {
        Ok(Write::Season(SeasonRow {
            contest: contest.to_owned(),
            name: self.season.name.clone(),
            frozen_ms: self.frozen_ms,
            body: text(self)?,
        }))
    }

    /// Returns the write of an agent's row: its owner and, if it has changed, its rating.
    ///
    /// # Errors
    ///
    /// A rating that JSON cannot represent.
    pub(super) fn standing(&self, contest: &str, agent: &str, entry: Option<&StandingEntry>) -> Result<Write, Unkept> {
        let owner = self.owners.get(agent).map(|owner| owner.clone().unwrap_or_default());
        let row = StandingRow { agent: agent.to_owned(), owner, body: entry.map(text).transpose()? };
        Ok(Write::Standing { contest: contest.to_owned(), season: self.season.name.clone(), row })
    }

    /// Returns the counts so far, with the table's rows of the players of these results alone.
    pub(super) fn part(&self, results: &[Option<GameResult>]) -> CountedRecords {
        let CountedRecords { last, records, refused, table } = &self.counted;
        let names = results.iter().flatten().flat_map(|result| &result.seats).map(|seat| &seat.name);
        let agents = names.filter_map(|name| Some((name.clone(), table.agents.get(name)?.clone()))).collect();
        let new = StandingTable::new(table.rating.clone(), table.anchors.clone(), table.draws);
        let table = StandingTable { agents, matches: table.matches, ..new };
        CountedRecords { last: *last, records: *records, refused: *refused, table }
    }

    /// Returns the writes that store a further counted part: the changed rows of the table, and the season's row.
    ///
    /// # Errors
    ///
    /// A value that JSON cannot represent.
    pub(super) fn writes(&self, contest: &str, part: &CountedRecords) -> Result<Vec<Write>, Unkept> {
        let known = &self.counted.table.agents;
        let changed = part.table.agents.iter().filter(|(agent, entry)| known.get(*agent) != Some(*entry));
        let rows = changed.map(|(agent, entry)| self.standing(contest, agent, Some(entry)));
        let mut writes = rows.collect::<Result<Vec<Write>, Unkept>>()?;
        let (season, game, rules) = (self.season.clone(), self.game.clone(), self.rules.clone());
        let next = SeasonState { season, game, rules, owners: BTreeMap::new(), frozen_ms: None, counted: part.clone() };
        writes.push(next.row(contest)?);
        Ok(writes)
    }

    /// Ends the season at `now_ms`: its table gets the final ratings. Returns the writes of all its rows.
    ///
    /// # Errors
    ///
    /// A value that JSON cannot represent.
    pub(super) fn freeze(&mut self, contest: &str, now_ms: i64) -> Result<Vec<Write>, Unkept> {
        self.frozen_ms = Some(now_ms);
        let skills = self.counted.table.fit();
        self.counted.table.agents.iter_mut().for_each(|(agent, entry)| entry.skill = skills.get(agent).copied());
        let agents = self.counted.table.agents.iter();
        let rows = agents.map(|(agent, entry)| self.standing(contest, agent, Some(entry)));
        rows.chain([self.row(contest)]).collect()
    }

    /// Adds a further counted part.
    pub(super) fn merge(&mut self, mut part: CountedRecords) {
        let mut agents = std::mem::take(&mut self.counted.table.agents);
        agents.extend(std::mem::take(&mut part.table.agents));
        part.table.agents = agents;
        part.table.skills = std::mem::take(&mut self.counted.table.skills);
        self.counted = part;
    }
}
