//! Standing ladders: their settings, tables and stored data.
//!
//! The matches of a ladder are ordinary rated matches whose rows in the store name the ladder and its season. The table
//! is computed from the records of these matches in order of release, so it can be rebuilt from the store.
//! `matches/ladder.rs` runs the matches.

mod config;
mod count_records;
mod pairing;
mod season_file;
#[cfg(test)]
mod simulation;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_gym::catalogue::Catalogue;
use ludex_gym::opponents::{Opponent, Opponents};
use ludex_protocol::message::Join;
use ludex_protocol::record::Clock;
use ludex_protocol::spec::Params;
use ludex_referee::Verifier;
use ludex_referee::outcome::is_competitive;
use ludex_referee::suite::is_word;
use ludex_store::{MatchFilter, Store};
use parking_lot::Mutex;
use serde_json::{Value, json};

pub use self::config::LadderTerms;
pub(crate) use self::pairing::Partner;
use self::pairing::{Meeting, WaitingAgent, meetings};
use self::season_file::SeasonState;
use self::table::{StandingRow, StandingTable};
use crate::seasons::Season;

/// Queue name of joins that enter a ladder.
pub(crate) const QUEUE: &str = "ladder";
/// Prefix of the labels of ladder matches. No run name starts with this prefix.
const LABEL: &str = "ladder:";

/// Returns true if `run`, the value of a match's run column, is the label of a ladder.
pub(crate) fn is_label(run: &str) -> bool {
    run.starts_with(LABEL)
}

/// Ladder of a running server.
pub(crate) struct StandingLadder {
    pub(crate) name: String,
    pub(crate) game: GameRef,
    /// Anchors with their ratings. An anchor plays if a waiting agent finds no suitable opponent.
    anchors: Vec<(Opponent, f64)>,
    terms: LadderTerms,
    folder: PathBuf,
    verifier: Verifier,
    state: Mutex<State>,
}

struct State {
    /// Seasons that are not frozen, in chronological order.
    seasons: Vec<Season>,
    kept: Option<SeasonState>,
    /// True if the state has changed since it was last written to its file.
    changed: bool,
    /// Number of seats filled since the server started. The field `waited_ms` holds the total waiting time of these
    /// seats.
    seats: u64,
    waited_ms: u64,
}

/// Agent that waits for a match, as known to the lobby.
pub(crate) struct Seeker {
    pub(crate) agent: String,
    pub(crate) owner: String,
    pub(crate) waits_ms: u64,
}

/// Pending task of a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LadderTask {
    Nothing,
    Play,
    /// Freeze the season, which has ended, once its last match is counted.
    End,
}

impl StandingLadder {
    /// Opens a ladder and loads the data from its directory.
    ///
    /// # Errors
    ///
    /// A game that cannot have a ladder, contradictory settings, or a file that cannot be read.
    pub(crate) fn open(
        terms: &LadderTerms,
        catalogue: &Catalogue,
        opponents: &Opponents,
        data: &Path,
    ) -> anyhow::Result<Self> {
        let game = catalogue.load(&terms.game, &Params::new()).map_err(|e| anyhow::anyhow!("{}", e.message))?;
        let spec = game.spec();
        let name = terms.name.clone().unwrap_or_else(|| spec.game.clone());
        anyhow::ensure!(is_word(&name), "expected a ladder name of lower-case letters, digits, _ and -, got {name:?}");
        anyhow::ensure!(
            spec.players == 2 && is_competitive(&*game),
            "expected a competitive two-player game for a ladder, got {}",
            spec.game
        );
        terms.check()?;
        let rung = |a: &&ludex_protocol::spec::Anchor| terms.anchors.as_ref().is_none_or(|l| l.contains(&a.level));
        let mut anchors = Vec::new();
        for anchor in spec.anchors.iter().filter(rung) {
            let Some(rating) = anchor.rating else { continue };
            let text = format!("anchor level={} bot={}", anchor.level, anchor.bot);
            match opponents.seat(&text, &game, true) {
                Ok(opponent) => anchors.push((opponent, rating)),
                Err(error) => tracing::warn!(ladder = name, anchor = text, %error, "seating an anchor failed"),
            }
        }
        let folder = data.join("ladders").join(&name);
        let seasons = season_file::open_seasons(&folder, terms).with_context(|| format!("ladder {name}"))?;
        let state = State { seasons, kept: None, changed: false, seats: 0, waited_ms: 0 };
        let verifier = Verifier::new(catalogue.games().clone());
        Ok(StandingLadder { name, game, anchors, terms: terms.clone(), folder, verifier, state: Mutex::new(state) })
    }

    /// Applies the ladder's settings to a join.
    pub(crate) fn fit(&self, join: &mut Join) {
        QUEUE.clone_into(&mut join.queue);
        (join.rated, join.pairs) = (true, Some(true));
        join.clock = self.clock();
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock::per_move(self.terms.move_ms)
    }

    /// Returns the label of the current season's matches, which is stored in their run column; `None` between seasons.
    pub(crate) fn label(&self) -> Option<String> {
        self.state.lock().kept.as_ref().map(|kept| label(&self.name, &kept.season.name))
    }

    /// Returns true if an owner may use an agent name. A name belongs to the first owner that plays under this name.
    pub(crate) fn admits(&self, agent: &str, owner: Option<&str>) -> bool {
        if self.anchors.iter().any(|(anchor, _)| anchor.name == agent) {
            return false;
        }
        let mut state = self.state.lock();
        let Some(kept) = &mut state.kept else { return true };
        let mut new = false;
        let has = kept.owners.entry(agent.to_owned()).or_insert_with(|| {
            new = true;
            owner.map(str::to_owned)
        });
        let admitted = has.as_deref() == owner;
        state.changed |= new;
        admitted
    }

    /// Opens the season that is current at `now_ms`, in milliseconds since the Unix epoch, and returns the pending
    /// task.
    ///
    /// # Errors
    ///
    /// A season file that cannot be read.
    pub(crate) fn at(&self, now_ms: i64) -> anyhow::Result<LadderTask> {
        let mut state = self.state.lock();
        if state.kept.is_none() {
            let Some(season) = state.seasons.iter().find(|season| season.begin <= now_ms).cloned() else {
                return Ok(LadderTask::Nothing);
            };
            let anchors = self.anchors.iter().map(|(anchor, rating)| (anchor.spec.to_string(), *rating)).collect();
            let table = StandingTable::new(self.terms.rating.clone(), anchors);
            let kept = SeasonState::open(&self.folder, season, &self.game, table)?;
            tracing::info!(ladder = self.name, season = kept.season.name, "season opened");
            (state.kept, state.changed) = (Some(kept), true);
        }
        let over = state.kept.as_ref().and_then(|kept| kept.season.end).is_some_and(|end| end <= now_ms);
        Ok(if over { LadderTask::End } else { LadderTask::Play })
    }

    /// Returns the matches to start in this pairing round.
    pub(crate) fn meetings(&self, seekers: &[Seeker], now_ms: i64) -> Vec<Meeting> {
        let mut state = self.state.lock();
        let Some(kept) = &state.kept else { return Vec::new() };
        let table = &kept.counted.table;
        let waiter = |seeker: &Seeker| WaitingAgent {
            agent: seeker.agent.clone(),
            owner: seeker.owner.clone(),
            rating: table.skill(&seeker.agent, now_ms).rating,
            met: table.agents.get(&seeker.agent).map(|entry| entry.met.clone()).unwrap_or_default(),
            waits_ms: seeker.waits_ms,
        };
        let waiters: Vec<WaitingAgent> = seekers.iter().map(waiter).collect();
        let anchors: Vec<(String, f64)> =
            self.anchors.iter().map(|(anchor, rating)| (anchor.spec.to_string(), *rating)).collect();
        meetings(&waiters, &anchors, &self.terms.pairing)
            .into_iter()
            .inspect(|meeting| {
                let other = match meeting.partner {
                    Partner::Waiter(other) => Some(other),
                    Partner::Anchor(_) => None,
                };
                for place in other.into_iter().chain([meeting.waiter]) {
                    state.seats += 1;
                    state.waited_ms += waiters[place].waits_ms;
                }
            })
            .collect()
    }

    /// Returns the anchor with the index `place`, as in [`Partner::Anchor`].
    pub(crate) fn anchor(&self, place: usize) -> Option<Opponent> {
        self.anchors.get(place).map(|(anchor, _)| anchor.clone())
    }

    /// Counts the records released since the last call.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub(crate) async fn count(self: &Arc<Self>, store: &Store) -> anyhow::Result<()> {
        loop {
            let Some((mut counted, filter)) = self.counted_records() else { return Ok(()) };
            let page = store.records(&filter, counted.last, season_file::PAGE).await?;
            if page.is_empty() {
                return Ok(());
            }
            let ladder = self.clone();
            let work = move || {
                count_records::take(&mut counted, &ladder.verifier, &page);
                (counted, page.len() < season_file::PAGE as usize)
            };
            let (counted, done) = tokio::task::spawn_blocking(work).await?;
            let mut state = self.state.lock();
            state.changed = true;
            if let Some(kept) = &mut state.kept {
                kept.counted = counted;
            }
            if done {
                return Ok(());
            }
        }
    }

    fn counted_records(&self) -> Option<(season_file::CountedRecords, MatchFilter)> {
        let state = self.state.lock();
        let kept = state.kept.as_ref()?;
        Some((kept.counted.clone(), self.filter(&kept.season.name)))
    }

    fn filter(&self, season: &str) -> MatchFilter {
        MatchFilter { run: Some(label(&self.name, season)), ..MatchFilter::default() }
    }

    /// Writes the state of the ladder to its file, if it has changed.
    ///
    /// # Errors
    ///
    /// A failed write.
    pub(crate) fn keep(&self) -> anyhow::Result<()> {
        let kept = {
            let mut state = self.state.lock();
            if !std::mem::take(&mut state.changed) {
                return Ok(());
            }
            state.kept.clone()
        };
        // Outside the lock, which starting matches also need.
        let written = kept.map_or(Ok(()), |kept| kept.keep(&self.folder));
        self.state.lock().changed |= written.is_err();
        written
    }

    /// Ends the season: its table becomes final, and its records are written to a file.
    ///
    /// # Errors
    ///
    /// Those of the store, or a failed write. The season is then not frozen.
    pub(crate) async fn freeze(&self, store: &Store, now_ms: i64) -> anyhow::Result<()> {
        let Some(mut kept) = self.state.lock().kept.clone() else { return Ok(()) };
        let records =
            season_file::write_records(&self.folder, &kept.season.name, store, &self.filter(&kept.season.name)).await?;
        kept.frozen = Some(season_file::Frozen { at_ms: now_ms, records });
        kept.keep(&self.folder)?;
        tracing::info!(ladder = self.name, season = kept.season.name, records, "season ended");
        let mut state = self.state.lock();
        state.seasons.retain(|season| season.name != kept.season.name);
        (state.kept, state.changed) = (None, false);
        Ok(())
    }

    // ---- pages ----------------------------------------------------------------------------------------------------

    /// Returns the entry for the list of ladders.
    pub(crate) fn entry(&self) -> Value {
        let over = season_file::frozen_seasons(&self.folder);
        let state = self.state.lock();
        let kept = state.kept.as_ref();
        json!({
            "ladder": self.name, "game": self.game.spec().string, "move_ms": self.terms.move_ms,
            "season": kept.map(|kept| &kept.season), "agents": kept.map_or(0, |kept| kept.counted.table.agents.len()),
            "matches": kept.map_or(0, |kept| kept.counted.table.matches), "seasons": over,
        })
    }

    /// Returns a page of the current table, or of the final table of a past season; `None` if the season does not
    /// exist.
    pub(crate) fn page(&self, season: Option<&str>, now_ms: i64, offset: usize, limit: usize) -> Option<Value> {
        let (now, mean_wait_ms) = {
            let state = self.state.lock();
            (state.kept.clone(), state.waited_ms.checked_div(state.seats))
        };
        let now = now.filter(|kept| season.is_none_or(|name| kept.season.name == name));
        let mut page = self.entry();
        let kept = match (now, season) {
            (Some(kept), _) => {
                page["mean_wait_ms"] = json!(mean_wait_ms);
                kept
            }
            (None, None) => return Some(page),
            (None, Some(name)) => SeasonState::read(&self.folder, name).ok().flatten()?,
        };
        let at_ms = kept.frozen.as_ref().map_or(now_ms, |frozen| frozen.at_ms);
        let rows: Vec<StandingRow> = kept.counted.table.rows(at_ms);
        (page["season"], page["frozen"]) = (json!(kept.season), json!(kept.frozen));
        (page["agents"], page["matches"]) = (kept.counted.table.agents.len().into(), kept.counted.table.matches.into());
        (page["refused"], page["rows"]) = (kept.counted.refused.into(), rows.len().into());
        let next = offset.saturating_add(limit);
        if next < rows.len() {
            page["next"] = next.into();
        }
        page["table"] = json!(rows.into_iter().skip(offset).take(limit).collect::<Vec<_>>());
        Some(page)
    }

    /// Returns the path of the records of a past season.
    pub(crate) fn records(&self, season: &str) -> Option<PathBuf> {
        let kept = SeasonState::read(&self.folder, season).ok().flatten()?;
        kept.frozen.map(|_| season_file::records_file(&self.folder, season))
    }
}

fn label(ladder: &str, season: &str) -> String {
    format!("{LABEL}{ladder}:{season}")
}

/// Opens the ladders in the operator's settings.
///
/// # Errors
///
/// Those of [`StandingLadder::open`], or two ladders with the same name or game.
pub(crate) fn open(
    all: &[LadderTerms],
    catalogue: &Catalogue,
    opponents: &Opponents,
    data: &Path,
) -> anyhow::Result<Vec<Arc<StandingLadder>>> {
    let mut ladders: Vec<Arc<StandingLadder>> = Vec::new();
    let mut games = BTreeMap::new();
    for terms in all {
        let ladder = StandingLadder::open(terms, catalogue, opponents, data)
            .with_context(|| format!("ladder of {}", terms.game))?;
        let game = ladder.game.spec().string.clone();
        anyhow::ensure!(
            !ladders.iter().any(|other| other.name == ladder.name),
            "expected different ladder names, got {} twice",
            ladder.name
        );
        anyhow::ensure!(games.insert(game.clone(), ()).is_none(), "expected one ladder per game, got two for {game}");
        ladders.push(Arc::new(ladder));
    }
    Ok(ladders)
}
