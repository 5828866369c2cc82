//! Standing ladders: their settings, tables and stored data.
//!
//! The matches of a ladder are ordinary rated matches whose rows in the store name the ladder and its season. The table
//! counts the results in the records of these matches in order of release. Each counted batch of records is one
//! transaction with the rows that it changes. The ratings are fitted to all counted results.
//! `matches/ladder.rs` runs the matches.

mod config;
mod count_records;
mod pairing;
mod season_records;
mod season_state;
#[cfg(test)]
mod simulation;
mod table;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context as _;
use futures_util::stream::{Stream, try_unfold};
use ludex_env::{GameRef, anchor_ladder};
use ludex_gym::catalogue::Catalogue;
use ludex_gym::opponents::{Opponent, Opponents};
use ludex_protocol::message::Join;
use ludex_protocol::record::Clock;
use ludex_protocol::spec::Params;
use ludex_referee::Verifier;
use ludex_referee::outcome::is_competitive;
use ludex_referee::suite::is_word;
use ludex_store::{MatchFilter, Store, StoreError};
use parking_lot::Mutex;
use serde_json::{Value, json};

pub use self::config::LadderTerms;
use self::count_records::PAGE;
pub use self::pairing::Partner;
use self::pairing::{Encounters, Meeting};
pub(crate) use self::season_records::LadderSeason;
use self::season_state::{CountedRecords, SeasonState, StoredSeason};
use self::table::{StandingLine, StandingTable};
use crate::seasons::{Season, add_repetitions, calendar, unfrozen};

/// Queue name of joins that enter a ladder.
pub const QUEUE: &str = "ladder";
/// Number of records in a chunk of a season's records.
const CHUNK: u32 = 50;
/// Prefix of the labels of ladder matches. No run name starts with this prefix.
const LABEL: &str = "ladder:";

/// Returns true if `run`, the value of a match's run column, is the label of a ladder.
pub fn is_label(run: &str) -> bool {
    run.starts_with(LABEL)
}

/// Decision on an agent that wants to enter a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// The name belongs to another owner or to an anchor.
    Taken,
    /// The season has its maximum number of agents.
    Full(usize),
}

/// Ladder of a running server.
pub struct StandingLadder {
    pub name: String,
    pub game: GameRef,
    /// Anchors with their ratings. They play a share of the matches, and if a waiting agent finds no suitable opponent.
    anchors: Vec<(Opponent, f64)>,
    terms: LadderTerms,
    /// Contest of the ladder's seasons in the store. A season's matches have the label `CONTEST:SEASON`.
    contest: String,
    verifier: Verifier,
    state: Mutex<State>,
}

struct State {
    /// Seasons that are not frozen, in chronological order.
    seasons: Vec<Season>,
    /// Names of the frozen seasons.
    frozen: BTreeSet<String>,
    kept: Option<SeasonState>,
    /// True if the ratings do not contain all counted results yet.
    unrated: bool,
    /// Earliest time of the next fit, in milliseconds since the Unix epoch.
    next_fit_ms: i64,
    met: Encounters,
    /// Number of seats filled since the server started. The field `waited_ms` holds the total waiting time of these
    /// seats.
    seats: u64,
    waited_ms: u64,
}

/// Agent that waits for a match, as known to the lobby.
pub struct Seeker {
    pub agent: String,
    pub owner: String,
    pub waits_ms: u64,
}

impl StandingLadder {
    /// Opens a ladder and loads the list of its seasons.
    ///
    /// # Errors
    ///
    /// A game that cannot have a ladder, contradictory settings, or those of the store.
    pub async fn open(
        terms: &LadderTerms,
        catalogue: &Catalogue,
        opponents: &Opponents,
        store: &Store,
    ) -> anyhow::Result<Self> {
        let (name, game) = checked(terms, catalogue)?;
        let spec = game.spec();
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
        let contest = format!("{LABEL}{name}");
        let rows = store.seasons(&contest).await?;
        let seasons = unfrozen(&calendar(&terms.all_seasons(), ludex_play::time::epoch_ms()), &rows)
            .with_context(|| format!("ladder {name}"))?;
        let frozen = rows.into_iter().filter(|row| row.frozen_ms.is_some()).map(|row| row.name).collect();
        let (unrated, next_fit_ms, met) = (false, 0, Encounters::default());
        let state = State { seasons, frozen, kept: None, unrated, next_fit_ms, met, seats: 0, waited_ms: 0 };
        let state = Mutex::new(state);
        let verifier = Verifier::new(catalogue.games().clone());
        Ok(StandingLadder { name, game, anchors, terms: terms.clone(), contest, verifier, state })
    }

    /// Applies the ladder's settings to a join.
    pub fn fit(&self, join: &mut Join) {
        QUEUE.clone_into(&mut join.queue);
        (join.rated, join.pairs) = (true, Some(true));
        join.clock = self.clock();
    }

    pub fn clock(&self) -> Clock {
        Clock::per_move(self.terms.move_ms)
    }

    /// Returns the label of the current season's matches, which is stored in their run column; `None` between seasons.
    pub fn label(&self) -> Option<String> {
        self.state.lock().kept.as_ref().map(|kept| self.label_of(&kept.season.name))
    }

    /// Returns true if an agent name belongs to an owner in the current season.
    pub fn has_claimed(&self, agent: &str) -> bool {
        self.state.lock().kept.as_ref().is_some_and(|kept| kept.owners.contains_key(agent))
    }

    /// Decides whether an owner may use an agent name. A name belongs to the first owner that plays under this name.
    ///
    /// # Errors
    ///
    /// Those of the store; a new name then stays free.
    pub async fn admits(&self, store: &Store, agent: &str, owner: Option<&str>) -> anyhow::Result<Admission> {
        if self.anchors.iter().any(|(anchor, _)| anchor.name == agent) {
            return Ok(Admission::Taken);
        }
        let claim = {
            let mut state = self.state.lock();
            let Some(kept) = &mut state.kept else { return Ok(Admission::Admitted) };
            if let Some(known) = kept.owners.get(agent) {
                return Ok(if known.as_deref() == owner { Admission::Admitted } else { Admission::Taken });
            }
            if kept.owners.len() >= self.terms.max_agents {
                return Ok(Admission::Full(self.terms.max_agents));
            }
            kept.owners.insert(agent.to_owned(), owner.map(str::to_owned));
            kept.standing(&self.contest, agent, None)?
        };
        let stored = store.write(vec![claim]).await;
        if let (Err(_), Some(kept)) = (&stored, &mut self.state.lock().kept) {
            kept.owners.remove(agent);
        }
        Ok(stored.map(|()| Admission::Admitted)?)
    }

    /// Opens the season that has begun at `now_ms`, in milliseconds since the Unix epoch, unless another is in progress.
    /// Returns the season in progress.
    ///
    /// # Errors
    ///
    /// Those of the store, or a stored season that cannot be continued.
    pub async fn season_at(&self, store: &Store, now_ms: i64) -> anyhow::Result<Option<Season>> {
        let due = {
            let mut state = self.state.lock();
            add_repetitions(&mut state.seasons, &self.terms.seasons, now_ms);
            if let Some(kept) = &state.kept {
                return Ok(Some(kept.season.clone()));
            }
            state.seasons.iter().find(|season| season.begin <= now_ms).cloned()
        };
        let Some(season) = due else { return Ok(None) };
        let anchors = self.anchors.iter().map(|(anchor, rating)| (anchor.spec.to_string(), *rating)).collect();
        let draws = anchor_ladder::draws(self.game.info().page, &self.game.spec().string);
        let table = StandingTable::new(self.terms.rating.clone(), anchors, draws);
        let mut kept = SeasonState::open(store, &self.contest, season.clone(), &self.game, table).await?;
        let table = kept.counted.table.clone();
        kept.counted.table.skills = tokio::task::spawn_blocking(move || table.fit()).await?;
        tracing::info!(ladder = self.name, season = season.name, "season opened");
        self.state.lock().kept = Some(kept);
        Ok(Some(season))
    }

    /// Returns the matches to start in this pairing round. If anchors are `busy`, they play only agents that have waited
    /// too long.
    pub fn meetings(&self, seekers: &[Seeker], busy: bool) -> Vec<Meeting> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(kept) = &state.kept else { return Vec::new() };
        let anchors: Vec<(String, f64)> =
            self.anchors.iter().map(|(anchor, rating)| (anchor.spec.to_string(), *rating)).collect();
        let all = state.met.pair(seekers, &kept.counted.table, &anchors, &self.terms.pairing, busy);
        for meeting in &all {
            let other = match meeting.partner {
                Partner::Waiter(other) => Some(other),
                Partner::Anchor(_) => None,
            };
            for place in other.into_iter().chain([meeting.waiter]) {
                state.seats += 1;
                state.waited_ms += seekers[place].waits_ms;
            }
        }
        all
    }

    /// Returns the anchor with the index `place`, as in [`Partner::Anchor`].
    pub fn anchor(&self, place: usize) -> Option<Opponent> {
        self.anchors.get(place).map(|(anchor, _)| anchor.clone())
    }

    /// Counts the records released since the last call. A batch becomes visible once it is stored, together with its
    /// ratings.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn count(self: &Arc<Self>, store: &Store) -> anyhow::Result<()> {
        loop {
            let Some((last, filter)) = self.next_records() else { return Ok(()) };
            let page = store.records(&filter, last, PAGE).await?;
            if page.is_empty() {
                return Ok(());
            }
            let ladder = self.clone();
            let work = move || {
                let results = count_records::verified(&ladder.verifier, &page);
                let state = ladder.state.lock();
                let kept = state.kept.as_ref().context("the season is over")?;
                let mut part = kept.part(&results);
                count_records::take(&mut part, &page, &results);
                anyhow::Ok((kept.writes(&ladder.contest, &part)?, part, page.len() < PAGE as usize))
            };
            let (writes, part, done) = tokio::task::spawn_blocking(work).await??;
            store.write(writes).await?;
            self.rate(Some(part)).await?;
            if done {
                return Ok(());
            }
        }
    }

    /// Adds a further counted part, if any, and fits the ratings. Fits take at most a twentieth of the time: if the last
    /// one was too recent, a later call fits the ratings.
    ///
    /// # Errors
    ///
    /// A fit that panics.
    pub async fn rate(&self, part: Option<CountedRecords>) -> anyhow::Result<()> {
        let begin_ms = ludex_play::time::epoch_ms();
        let table = {
            let state = self.state.lock();
            let due = begin_ms >= state.next_fit_ms && (part.is_some() || state.unrated);
            state.kept.as_ref().filter(|_| due).map(|kept| kept.counted.table.clone())
        };
        let skills = match table {
            Some(mut table) => {
                table.agents.extend(part.iter().flat_map(|part| part.table.agents.clone()));
                Some(tokio::task::spawn_blocking(move || table.fit()).await?)
            }
            None => None,
        };
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(kept) = &mut state.kept else { return Ok(()) };
        if let Some(part) = part {
            kept.merge(part);
            state.unrated = true;
        }
        if let Some(skills) = skills {
            kept.counted.table.skills = skills;
            state.unrated = false;
            let end_ms = ludex_play::time::epoch_ms();
            state.next_fit_ms = end_ms + 19 * (end_ms - begin_ms);
        }
        Ok(())
    }

    /// Returns the number of the last counted release, and the filter for the season's records.
    fn next_records(&self) -> Option<(u64, MatchFilter)> {
        let state = self.state.lock();
        let kept = state.kept.as_ref()?;
        Some((kept.counted.last, self.filter(&kept.season.name)))
    }

    fn label_of(&self, season: &str) -> String {
        format!("{}:{season}", self.contest)
    }

    fn filter(&self, season: &str) -> MatchFilter {
        MatchFilter { run: Some(self.label_of(season)), ..MatchFilter::default() }
    }

    /// Ends the season: its table becomes final.
    ///
    /// # Errors
    ///
    /// Those of the store. The season is then not frozen.
    pub async fn freeze(&self, store: &Store, now_ms: i64) -> anyhow::Result<()> {
        let Some(mut kept) = self.state.lock().kept.clone() else { return Ok(()) };
        let contest = self.contest.clone();
        let frozen = move || kept.freeze(&contest, now_ms).map(|writes| (kept, writes));
        let (kept, writes) = tokio::task::spawn_blocking(frozen).await??;
        store.write(writes).await?;
        tracing::info!(ladder = self.name, season = kept.season.name, records = kept.counted.records, "season ended");
        let mut state = self.state.lock();
        state.seasons.retain(|season| season.name != kept.season.name);
        state.frozen.insert(kept.season.name);
        (state.kept, state.unrated, state.next_fit_ms) = (None, false, 0);
        state.met = Encounters::default();
        Ok(())
    }

    // ---- pages ----------------------------------------------------------------------------------------------------

    /// Returns the entry for the list of ladders.
    pub fn entry(&self) -> Value {
        let state = self.state.lock();
        let kept = state.kept.as_ref();
        json!({
            "ladder": self.name, "game": self.game.spec().string, "move_ms": self.terms.move_ms,
            "season": kept.map(|kept| &kept.season), "agents": kept.map_or(0, |kept| kept.counted.table.agents.len()),
            "matches": kept.map_or(0, |kept| kept.counted.table.matches), "seasons": state.frozen,
        })
    }

    /// Returns the rows of a season that is not in progress; `None` if the season does not exist.
    pub async fn past(&self, store: &Store, season: &str) -> Result<Option<StoredSeason>, StoreError> {
        if self.state.lock().kept.as_ref().is_some_and(|kept| kept.season.name == season) {
            return Ok(None);
        }
        SeasonState::stored(store, &self.contest, season).await
    }

    /// Returns a page of the current table, or of the table of the season `past`; `None` if the season does not exist.
    pub fn page(
        &self,
        season: Option<&str>,
        past: Option<StoredSeason>,
        now_ms: i64,
        [offset, limit]: [usize; 2],
    ) -> Option<Value> {
        let mut page = self.entry();
        let state = self.state.lock();
        let past = match (&state.kept, season) {
            (None, None) => return Some(page),
            (Some(kept), season) if season.is_none_or(|name| kept.season.name == name) => None,
            _ => Some(SeasonState::read(past?).ok()?),
        };
        if past.is_none() {
            page["mean_wait_ms"] = json!(state.waited_ms.checked_div(state.seats));
        }
        let kept = past.as_ref().or(state.kept.as_ref())?;
        let rows: Vec<StandingLine> = kept.counted.table.rows(kept.frozen_ms.unwrap_or(now_ms));
        let frozen = kept.frozen_ms.map(|at_ms| json!({ "at_ms": at_ms, "records": kept.counted.records }));
        (page["season"], page["frozen"]) = (json!(kept.season), json!(frozen));
        (page["agents"], page["matches"]) = (kept.counted.table.agents.len().into(), kept.counted.table.matches.into());
        (page["refused"], page["rows"]) = (kept.counted.refused.into(), rows.len().into());
        drop(state);
        let next = offset.saturating_add(limit);
        if next < rows.len() {
            page["next"] = next.into();
        }
        page["table"] = json!(rows.into_iter().skip(offset).take(limit).collect::<Vec<_>>());
        Some(page)
    }

    /// Returns the records of a frozen season in order of release, one per line, in chunks.
    pub async fn records(
        &self,
        store: &Store,
        season: &str,
    ) -> Option<impl Stream<Item = Result<String, StoreError>> + use<>> {
        let (row, _) = self.past(store, season).await.ok()??;
        let last = SeasonState::read((row, Vec::new())).ok().filter(|kept| kept.frozen_ms.is_some())?.counted.last;
        let from = (store.clone(), self.filter(season));
        Some(try_unfold((from, 0), move |((store, filter), after)| async move {
            let page = store.records(&filter, after, CHUNK).await?;
            let page = page.iter().take_while(|record| record.seq <= last);
            let (end, text) = page.fold((after, String::new()), |(_, text), row| (row.seq, text + &row.record + "\n"));
            Ok((end > after).then_some((text, ((store, filter), end))))
        }))
    }
}

/// Returns the name and the game of a ladder.
///
/// # Errors
///
/// A game that cannot have a ladder, or contradictory settings.
fn checked(terms: &LadderTerms, catalogue: &Catalogue) -> anyhow::Result<(String, GameRef)> {
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
    Ok((name, game))
}

/// Checks the ladders in the operator's settings.
///
/// # Errors
///
/// A game that cannot have a ladder, contradictory settings, or two ladders with the same name or game.
pub fn check(all: &[LadderTerms], catalogue: &Catalogue) -> anyhow::Result<()> {
    let (mut names, mut games) = (BTreeSet::new(), BTreeSet::new());
    for terms in all {
        let (name, game) = checked(terms, catalogue).with_context(|| format!("ladder of {}", terms.game))?;
        anyhow::ensure!(names.insert(name.clone()), "expected different ladder names, got {name} twice");
        let game = &game.spec().string;
        anyhow::ensure!(games.insert(game.clone()), "expected one ladder per game, got two for {game}");
    }
    Ok(())
}

/// Opens the ladders in the operator's settings.
///
/// # Errors
///
/// Those of [`StandingLadder::open`] and of [`check`].
pub async fn open(
    all: &[LadderTerms],
    catalogue: &Catalogue,
    opponents: &Opponents,
    store: &Store,
) -> anyhow::Result<Vec<Arc<StandingLadder>>> {
    check(all, catalogue)?;
    let mut ladders: Vec<Arc<StandingLadder>> = Vec::new();
    for terms in all {
        let ladder = StandingLadder::open(terms, catalogue, opponents, store)
            .await
            .with_context(|| format!("ladder of {}", terms.game))?;
        // Names belong to their owners from the first join on. The ladder's watcher repeats and logs a failure.
        let _ = ladder.season_at(store, ludex_play::time::epoch_ms()).await;
        ladders.push(Arc::new(ladder));
    }
    Ok(ladders)
}
