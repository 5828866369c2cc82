//! Seasons of suites. The runs of a season share seeds, so their data stay hidden until the season ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ludex_play::files::write_whole;
use ludex_play::runs::folder::path_of;
use ludex_play::runs::report_files::pages;
use ludex_play::time::epoch_ms;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_report::runs::archive::Archive;
use ludex_store::{MatchFilter, SeasonRow, StoreError, Write};
use serde_json::json;

use super::Runs;
use super::enrolment::Enrolment;
use super::host::Host;
use crate::cells::suite_name;
use crate::seasons::{Season, SeasonStep, SuiteSeasons, add_repetitions, calendar, step, unfrozen};
use crate::sessions::Session;

impl Enrolment {
    /// Returns the id of the secret from which the seeds of the run are derived. A run outside a season has its own
    /// secret.
    pub(super) fn secret(&self) -> String {
        match &self.season {
            Some(season) => format!("season:{}:{}", self.request.suite, season.name),
            None => format!("run:{}", self.run()),
        }
    }
}

/// Returns the contest of a suite, as in the store.
fn contest_of(suite: &str) -> String {
    format!("suite:{suite}")
}

fn row_of(suite: &str, season: &Season, frozen_ms: Option<i64>) -> Write {
    let body = json!({ "season": season }).to_string();
    Write::Season(SeasonRow { contest: contest_of(suite), name: season.name.clone(), frozen_ms, body })
}

impl Runs {
    /// Returns the name of the open run that a match belongs to.
    pub fn open_run_of<'i>(&self, id: &'i str) -> Option<&'i str> {
        let (run, _) = id.split_once('.')?;
        self.host(run).map(|_| run)
    }

    /// Returns the open runs of a season.
    fn hosts_of(&self, suite: &str, season: &str) -> Vec<Arc<Host>> {
        let is_of = |host: &&Arc<Host>| host.book.read(|kept| kept.is_of(suite, season));
        self.hosts.lock().values().filter(is_of).cloned().collect()
    }

    /// Returns the finished, still hidden runs of a season.
    fn held_of(&self, suite: &str, season: &str) -> Vec<Enrolment> {
        self.held.lock().values().filter(|kept| kept.is_of(suite, season)).cloned().collect()
    }

    /// Opens the seasons of the operator's settings that are not frozen, and those of the active runs.
    ///
    /// # Errors
    ///
    /// Those of the store, or a row that cannot be read.
    pub(super) async fn open_seasons(&self, active: &[Enrolment]) -> anyhow::Result<()> {
        let settings = self.hub.config.seasons.get();
        let configured = settings.iter().map(|of| (of.suite.clone(), of.seasons.clone()));
        let mut suites: BTreeMap<String, Vec<Season>> = configured.collect();
        for kept in active.iter().filter(|kept| kept.season.is_some()) {
            suites.entry(kept.request.suite.clone()).or_default();
        }
        for (suite, seasons) in &mut suites {
            *seasons = calendar(seasons, epoch_ms());
            *seasons = unfrozen(seasons, &self.hub.store.seasons(&contest_of(suite)).await?)?;
        }
        *self.seasons.lock() = suites;
        Ok(())
    }

    /// Replaces the seasons of the operator's settings. They apply with the next step of the seasons, as after a restart.
    pub fn set_seasons(&self, seasons: Vec<SuiteSeasons>) {
        self.hub.config.seasons.set(seasons);
        self.seasons_changed.store(true, Ordering::Relaxed);
    }

    /// Opens the seasons again if their settings have changed. Only the task that freezes seasons calls this function, so
    /// no season is frozen meanwhile. A failure is repeated with the next step.
    async fn apply_season_settings(&self) {
        if self.seasons_changed.swap(false, Ordering::Relaxed) {
            let mut active: Vec<Enrolment> = self.held.lock().values().cloned().collect();
            active.extend(self.hosts.lock().values().map(|host| host.enrolment()));
            if let Err(error) = self.open_seasons(&active).await {
                tracing::error!(error = %format!("{error:#}"), "opening the changed seasons failed");
                self.seasons_changed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Returns a season that is not frozen.
    fn unfrozen(&self, suite: &str, is_wanted: impl FnMut(&&Season) -> bool) -> Option<Season> {
        self.seasons.lock().get(suite)?.iter().find(is_wanted).cloned()
    }

    /// Returns the state of a suite's season: `coming`, `open` or `over`. A frozen season remains over, even if the
    /// operator changes its end.
    pub(super) fn state_of(&self, suite: &str, season: &Season) -> &'static str {
        match self.unfrozen(suite, |other| other.name == season.name).map(|season| step(&season, epoch_ms(), false)) {
            Some(None) => "coming",
            Some(Some(SeasonStep::Open)) => "open",
            _ => "over",
        }
    }

    /// Returns the season to which a run of the suite belongs if the run starts now.
    pub(super) fn season_now(&self, suite: &str) -> Option<Season> {
        self.unfrozen(suite, |season| step(season, epoch_ms(), false) == Some(SeasonStep::Open))
    }

    /// Returns the row of the season of a new run.
    pub(super) fn season_row(&self, kept: &Enrolment) -> Vec<Write> {
        let suite = &kept.request.suite;
        let own = kept.season.as_ref().and_then(|own| self.unfrozen(suite, |season| season.name == own.name));
        own.map(|season| row_of(suite, &season, None)).into_iter().collect()
    }

    /// Checks that an agent may enter the season of a run. The agent needs an owner with a token of the operator, and may
    /// enroll only once per season. The number of agents of an owner is limited, since all get the same deals: a
    /// participant that registers itself could have any number of owners.
    ///
    /// # Errors
    ///
    /// A refusal if the agent may not enter.
    pub(super) fn may_enter_season(&self, session: &Session, kept: &Enrolment) -> Result<(), Box<Refusal>> {
        let Some(season) = &kept.season else { return Ok(()) };
        let name = &season.name;
        let refusal = |message: String| Box::new(Refusal::new(ErrorCode::Forbidden, message).path("suite"));
        let Some(owner) = session.about.owner.as_deref() else {
            return Err(refusal(format!(
                "season {name}: expected an agent with an owner; ask the operator for a token"
            )));
        };
        if session.about.registered {
            return Err(refusal(format!(
                "season {name}: expected an owner with a token of the operator; this owner registered itself"
            )));
        }
        let played =
            |other: &Enrolment| other.run() != kept.run() && other.entrant(session.name(), Some(owner)).is_some();
        let suite = &kept.request.suite;
        let mut runs = self.held_of(suite, name);
        runs.extend(self.hosts_of(suite, name).into_iter().map(|host| host.enrolment()));
        if let Some(other) = runs.iter().find(|other| played(other)) {
            let run = other.run();
            return Err(refusal(format!("season {name}: agent is already enrolled in the run {run}")));
        }
        let entrants = runs.iter().chain([kept]).flat_map(|run| &run.entrants);
        let own = entrants.filter(|entrant| entrant.owner.as_deref() == Some(owner));
        let others: BTreeSet<&str> =
            own.map(|own| own.agent.as_str()).filter(|agent| *agent != session.name()).collect();
        let most = self.hub.config.seasons.get().iter().find(|of| of.suite == *suite).map_or(1, |of| of.entries.get());
        if others.len() >= most {
            let others = others.into_iter().collect::<Vec<_>>().join(", ");
            let got = session.name();
            return Err(refusal(format!(
                "season {name}: expected no further agent of {owner}, got {got}; entered: {others}; allowed: {most}"
            )));
        }
        Ok(())
    }

    /// Advances the seasons: ends the runs of seasons that are over, freezes the seasons without open runs, and
    /// publishes the hidden data of frozen seasons.
    pub(super) async fn advance_seasons(self: &Arc<Self>) {
        self.apply_season_settings().await;
        let seasons = {
            let mut seasons = self.seasons.lock();
            for of in self.hub.config.seasons.get().iter() {
                add_repetitions(seasons.entry(of.suite.clone()).or_default(), &of.seasons, epoch_ms());
            }
            seasons.clone()
        };
        let is_own = |(suite, _): &(String, Vec<Season>)| self.hub.cell().has_name(&suite_name(suite));
        let seasons = seasons
            .into_iter()
            .filter(is_own)
            .flat_map(|(suite, all)| all.into_iter().map(move |one| (suite.clone(), one)));
        for (suite, season) in seasons.collect::<Vec<_>>() {
            let open = self.hosts_of(&suite, &season.name);
            match step(&season, epoch_ms(), !open.is_empty()) {
                Some(SeasonStep::Close) => {
                    let goes_on = |host: &Arc<Host>| host.book.stop().is_none();
                    self.stop_late(open.into_iter().filter(goes_on).collect()).await;
                }
                Some(SeasonStep::Freeze) => {
                    if let Err(error) = self.freeze(&suite, &season).await {
                        tracing::error!(suite, season = season.name, %error, "season freeze failed");
                    }
                }
                Some(SeasonStep::Open) | None => {}
            }
        }
        let held: Vec<Enrolment> = self.held.lock().values().cloned().collect();
        for kept in held {
            let is_own = |season: &&Season| kept.is_of(&kept.request.suite, &season.name);
            if self.unfrozen(&kept.request.suite, is_own).is_some() {
                continue;
            }
            let run = kept.run().to_owned();
            if let Err(error) = self.publish(kept).await {
                tracing::error!(run, error = %format!("{error:#}"), "run release failed");
            }
        }
    }

    /// Freezes a season, unless a run of it has just started. A season without runs can still be extended.
    async fn freeze(&self, suite: &str, season: &Season) -> Result<(), StoreError> {
        let _one_by_one = self.enrolling.lock().await;
        if self.hosts_of(suite, &season.name).is_empty() && !self.held_of(suite, &season.name).is_empty() {
            self.hub.store.write(vec![row_of(suite, season, Some(epoch_ms()))]).await?;
            self.seasons.lock().values_mut().for_each(|all| all.retain(|other| other != season));
        }
        Ok(())
    }

    /// Publishes the hidden data of a finished run.
    async fn publish(&self, mut kept: Enrolment) -> anyhow::Result<()> {
        let ids = self.report(kept.run()).await?;
        kept.season.iter_mut().for_each(|season| season.released = true);
        kept.ended_ms = Some(epoch_ms());
        self.hub.store.write(vec![Write::Released { ids: ids.clone() }, Write::Run(kept.row()?)]).await?;
        self.hub.mark_released(&ids);
        self.held.lock().remove(kept.run());
        Ok(())
    }

    /// Writes the report of a run, and returns the ids of its matches, which the caller releases.
    ///
    /// # Errors
    ///
    /// A failed write to a file, or those of the store.
    pub(super) async fn report(&self, run: &str) -> anyhow::Result<Vec<String>> {
        let (data, name) = (self.hub.config.data.clone(), run.to_owned());
        let written = self.hub.compute.wait(move || -> anyhow::Result<()> {
            let (files, _) = pages(&Archive::open(&name, &data)?);
            let folder = path_of(&data, &name);
            files.iter().try_for_each(|(file, bytes)| write_whole(&folder, file, bytes))?;
            Ok(())
        });
        written.await??;
        let filter = MatchFilter { run: Some(run.to_owned()), ..MatchFilter::default() };
        Ok(self.hub.store.matches(&filter, u32::MAX).await?.into_iter().map(|line| line.id).collect())
    }
}
