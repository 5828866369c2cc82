//! Standing ladders: what the operator said of them, their tables, and what is kept of them.
//!
//! The matches of a ladder are ordinary rated matches, whose rows name the ladder and its season. The table is made from their
//! records in the order of release, so the records of the store are enough to make it again. `matches/ladder.rs` plays them.

mod config;
mod count_records;
mod season_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_protocol::message::Join;
use ludex_protocol::record::Clock;
use ludex_protocol::spec::Params;
use ludex_referee::Verifier;
use ludex_referee::outcome::is_competitive;
use ludex_referee::standing_ladder::{Meeting, Partner, StandingRow, StandingTable, WaitingAgent, meetings};
use ludex_referee::suite::is_word;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub use self::config::LadderTerms;
use self::season_file::SeasonState;
use crate::catalogue::Catalogue;
use crate::opponents::{Opponent, Opponents};
use crate::seasons::Season;
use crate::store::{MatchFilter, Store};

/// The queue that enters a ladder.
pub(crate) const QUEUE: &str = "ladder";
/// What the label of a ladder's matches begins with. No run has such a name.
const LABEL: &str = "ladder:";

/// Whether what a row has in the place of a run names a ladder.
pub(crate) fn is_label(run: &str) -> bool {
    run.starts_with(LABEL)
}

/// A ladder of a running server.
pub(crate) struct StandingLadder {
    pub(crate) name: String,
    pub(crate) game: GameRef,
    /// Who plays where nobody waits, with their ratings.
    anchors: Vec<(Opponent, f64)>,
    terms: LadderTerms,
    folder: PathBuf,
    verifier: Verifier,
    state: Mutex<State>,
}

/// What changes.
struct State {
    /// Seasons that are not frozen, in order.
    seasons: Vec<Season>,
    /// The one that is played.
    kept: Option<SeasonState>,
    /// Whether the file is older than what is kept.
    changed: bool,
    /// Places in meetings since the server began, and the waiting before them.
    seats: u64,
    waited_ms: u64,
}

/// Somebody who waits, as the lobby knows it.
pub(crate) struct Seeker {
    pub(crate) agent: String,
    pub(crate) owner: String,
    pub(crate) waits_ms: u64,
}

/// What is to be done for a ladder at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LadderTask {
    /// There is no season now.
    Nothing,
    /// Matches begin.
    Play,
    /// The season is over: it is frozen when its last match is counted.
    End,
}

impl StandingLadder {
    /// A ladder with what its folder has of it.
    ///
    /// # Errors
    /// A game that has no ladder, terms that contradict each other, a file that cannot be read.
    pub(crate) fn open(
        terms: &LadderTerms,
        catalogue: &Catalogue,
        opponents: &Opponents,
        data: &Path,
    ) -> anyhow::Result<Self> {
        let game = catalogue.load(&terms.game, &Params::new()).map_err(|e| anyhow::anyhow!("{}", e.message))?;
        let spec = game.spec();
        let name = terms.name.clone().unwrap_or_else(|| spec.game.clone());
        anyhow::ensure!(is_word(&name), "the name of a ladder has small letters, digits, _ and -, and not {name:?}");
        anyhow::ensure!(
            spec.players == 2 && is_competitive(&*game),
            "{} can have no ladder: it is not a game of two that one of them wins",
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
                Err(error) => tracing::warn!(ladder = name, anchor = text, %error, "an anchor cannot be seated"),
            }
        }
        let folder = data.join("ladders").join(&name);
        let seasons = season_file::open_seasons(&folder, terms).with_context(|| format!("the ladder {name}"))?;
        let state = State { seasons, kept: None, changed: false, seats: 0, waited_ms: 0 };
        let verifier = Verifier::of(catalogue.games().clone());
        Ok(StandingLadder { name, game, anchors, terms: terms.clone(), folder, verifier, state: Mutex::new(state) })
    }

    /// What all joins of this ladder have in common, whatever else they ask for.
    pub(crate) fn fit(&self, join: &mut Join) {
        QUEUE.clone_into(&mut join.queue);
        (join.rated, join.pairs) = (true, Some(true));
        join.clock = self.clock();
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock::per_move(self.terms.move_ms)
    }

    /// What the rows of its matches have in the place of a run; `None` between seasons.
    pub(crate) fn label(&self) -> Option<String> {
        self.state.lock().kept.as_ref().map(|kept| label(&self.name, &kept.season.name))
    }

    /// Whether an agent of this name may be that of this owner. The first owner that plays under a name has it.
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

    /// Opens the season of this time, in milliseconds since the Unix epoch, and says what is to be done.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub(crate) fn at(&self, now_ms: i64) -> anyhow::Result<LadderTask> {
        let mut state = self.state.lock();
        if state.kept.is_none() {
            let Some(season) = state.seasons.iter().find(|season| season.begin <= now_ms).cloned() else {
                return Ok(LadderTask::Nothing);
            };
            let anchors = self.anchors.iter().map(|(anchor, rating)| (anchor.spec.to_string(), *rating)).collect();
            let table = StandingTable::new(self.terms.rating.clone(), anchors);
            let kept = SeasonState::open(&self.folder, season, &self.game, table)?;
            tracing::info!(ladder = self.name, season = kept.season.name, "a season is played");
            (state.kept, state.changed) = (Some(kept), true);
        }
        let over = state.kept.as_ref().and_then(|kept| kept.season.end).is_some_and(|end| end <= now_ms);
        Ok(if over { LadderTask::End } else { LadderTask::Play })
    }

    /// Who meets now.
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

    /// The anchor at a place of what [`meetings`](Self::meetings) was told.
    pub(crate) fn anchor(&self, place: usize) -> Option<Opponent> {
        self.anchors.get(place).map(|(anchor, _)| anchor.clone())
    }

    /// Counts what was released since the last time.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn count(self: &Arc<Self>, store: &Store) -> anyhow::Result<()> {
        loop {
            let Some((mut counted, filter)) = self.counted() else { return Ok(()) };
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

    fn counted(&self) -> Option<(season_file::CountedRecords, MatchFilter)> {
        let state = self.state.lock();
        let kept = state.kept.as_ref()?;
        Some((kept.counted.clone(), self.filter(&kept.season.name)))
    }

    fn filter(&self, season: &str) -> MatchFilter {
        MatchFilter { run: Some(label(&self.name, season)), ..MatchFilter::default() }
    }

    /// Writes down what has changed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn keep(&self) -> anyhow::Result<()> {
        let kept = {
            let mut state = self.state.lock();
            if !std::mem::take(&mut state.changed) {
                return Ok(());
            }
            state.kept.clone()
        };
        // Not under the lock: matches that begin need it too.
        let written = kept.map_or(Ok(()), |kept| kept.keep(&self.folder));
        self.state.lock().changed |= written.is_err();
        written
    }

    /// Ends the season: its table stands as it is, and its records are one file beside it.
    ///
    /// # Errors
    /// The store's, or a file that cannot be written. Then the season is not over yet.
    pub(crate) async fn freeze(&self, store: &Store, now_ms: i64) -> anyhow::Result<()> {
        let Some(mut kept) = self.state.lock().kept.clone() else { return Ok(()) };
        let records =
            season_file::write_records(&self.folder, &kept.season.name, store, &self.filter(&kept.season.name)).await?;
        kept.frozen = Some(season_file::Frozen { at_ms: now_ms, records });
        kept.keep(&self.folder)?;
        tracing::info!(ladder = self.name, season = kept.season.name, records, "a season is over");
        let mut state = self.state.lock();
        state.seasons.retain(|season| season.name != kept.season.name);
        (state.kept, state.changed) = (None, false);
        Ok(())
    }

    // ---- pages ----------------------------------------------------------------------------------------------------

    /// What the list of ladders says of it.
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

    /// A page of the table now, or of a season that is over as it was then; `None` if there is no such season.
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

    /// The file with the records of a season that is over.
    pub(crate) fn records(&self, season: &str) -> Option<PathBuf> {
        let kept = SeasonState::read(&self.folder, season).ok().flatten()?;
        kept.frozen.map(|_| season_file::records_file(&self.folder, season))
    }
}

fn label(ladder: &str, season: &str) -> String {
    format!("{LABEL}{ladder}:{season}")
}

/// The ladders that an operator asked for.
///
/// # Errors
/// As [`Ladder::open`]; two of one name or game.
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
            .with_context(|| format!("ladder {}", terms.game))?;
        let game = ladder.game.spec().string.clone();
        anyhow::ensure!(
            !ladders.iter().any(|other| other.name == ladder.name),
            "two ladders are called {}",
            ladder.name
        );
        anyhow::ensure!(games.insert(game.clone(), ()).is_none(), "there are two ladders of {game}");
        ladders.push(Arc::new(ladder));
    }
    Ok(ladders)
}
