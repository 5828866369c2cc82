//! Seasons of suites. The runs of a season share seeds, so their data stay hidden until the season ends.

use std::sync::Arc;

use ludex_play::files::write_whole;
use ludex_play::runs::folder::path_of;
use ludex_play::runs::report_files::pages;
use ludex_play::time::epoch_ms;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_report::runs::archive::Archive;
use ludex_store::{MatchFilter, Write};

use super::Runs;
use super::enrolment::Enrolment;
use crate::seasons::Season;
use crate::sessions::Session;

/// Returns the id of the secret from which the seeds of a season are derived.
fn secret_of(suite: &str, season: &str) -> String {
    format!("season:{suite}:{season}")
}

/// Returns the id of the secret from which the seeds of a run outside a season are derived.
pub(super) fn secret_of_run(run: &str) -> String {
    format!("run:{run}")
}

impl Enrolment {
    /// Returns the id of the secret from which the seeds of the run are derived. A run outside a season has its own
    /// secret.
    pub(super) fn secret(&self) -> String {
        match &self.season {
            Some(season) => secret_of(&self.request.suite, &season.name),
            None => secret_of_run(self.run()),
        }
    }

    fn shares_seeds_with(&self, other: &Enrolment) -> bool {
        self.season.is_some() && self.secret() == other.secret()
    }
}

impl Runs {
    /// Returns the name of the open run that a match belongs to.
    pub(crate) fn open_run_of<'i>(&self, id: &'i str) -> Option<&'i str> {
        let (run, _) = id.split_once('.')?;
        self.host(run).map(|_| run)
    }

    /// Adds a finished run to the runs that a season hides, or, if its season is released, marks the seeds as public.
    pub(super) fn remember(&self, kept: Enrolment) {
        if kept.is_held() {
            self.held.lock().insert(kept.run().to_owned(), kept);
        } else {
            self.shown.lock().insert(kept.secret());
        }
    }

    /// Returns the open runs and the finished, still hidden runs that share seeds with a run, including the run itself.
    fn fellows(&self, kept: &Enrolment) -> Vec<Enrolment> {
        let mut all: Vec<Enrolment> = self.hosts.lock().values().map(|host| host.enrolment()).collect();
        all.extend(self.held.lock().values().cloned());
        all.retain(|other| other.shares_seeds_with(kept));
        all
    }
}

impl Runs {
    /// Returns the seasons of a suite that are not over. A season whose seeds are public remains over, even if the
    /// operator changes its end.
    fn seasons_of<'h>(&'h self, suite: &'h str) -> impl Iterator<Item = &'h Season> {
        let all = self.hub.config.seasons.iter().filter(move |of| of.suite == suite).flat_map(|of| &of.seasons);
        let shown = |season: &Season| self.shown.lock().contains(&secret_of(suite, &season.name));
        all.filter(move |season| !season.is_over(epoch_ms()) && !shown(season))
    }

    /// Returns the state of a suite's season: `coming`, `open` or `over`.
    pub(super) fn state_of(&self, suite: &str, season: &Season) -> &'static str {
        match self.seasons_of(suite).find(|other| other.name == season.name) {
            None => "over",
            Some(_) if season.begin > epoch_ms() => "coming",
            Some(_) => "open",
        }
    }

    /// Returns the season to which a run of the suite belongs if the run starts now.
    pub(super) fn season_now<'h>(&'h self, suite: &'h str) -> Option<&'h Season> {
        self.seasons_of(suite).find(|season| season.begin <= epoch_ms())
    }

    /// Returns true if the season of a run is over. A season removed from the operator's settings is over as well.
    pub(super) fn season_is_over(&self, kept: &Enrolment) -> bool {
        let Some(of_run) = &kept.season else { return false };
        !self.seasons_of(&kept.request.suite).any(|season| season.name == of_run.name)
    }

    /// Checks that an agent may enter the season of a run. The agent needs an owner, and may enroll only once per
    /// season.
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
        let played =
            |other: &Enrolment| other.run() != kept.run() && other.entrant(session.name(), Some(owner)).is_some();
        match self.fellows(kept).into_iter().find(played) {
            Some(other) => {
                let run = other.run();
                Err(refusal(format!("season {name}: agent is already enrolled in the run {run}")))
            }
            None => Ok(()),
        }
    }

    /// Publishes the hidden data of seasons that are over and have no open run.
    pub(super) async fn release_seasons(self: &Arc<Self>) {
        let held: Vec<Enrolment> = self.held.lock().values().cloned().collect();
        for mut kept in held.into_iter().filter(|kept| self.season_is_over(kept)) {
            if self.fellows(&kept).iter().any(|other| other.over.is_none()) {
                continue;
            }
            let run = kept.run().to_owned();
            let released = async {
                self.release(&run).await?;
                kept.season.iter_mut().for_each(|season| season.released = true);
                let (data, written) = (self.hub.config.data.clone(), kept.clone());
                self.hub.compute.wait(move || written.keep(&data)).await?
            };
            match released.await {
                Ok(()) => {
                    self.held.lock().remove(&run);
                    self.remember(kept);
                }
                Err(error) => {
                    tracing::error!(run, error = %format!("{error:#}"), "run release failed")
                }
            }
        }
    }

    /// Writes the report of a run and releases its records.
    ///
    /// # Errors
    ///
    /// A failed write to a file or the store.
    pub(super) async fn release(&self, run: &str) -> anyhow::Result<()> {
        let (data, name) = (self.hub.config.data.clone(), run.to_owned());
        let written = self.hub.compute.wait(move || -> anyhow::Result<()> {
            let (files, _) = pages(&Archive::open(&name, &data)?);
            let folder = path_of(&data, &name);
            files.iter().try_for_each(|(file, bytes)| write_whole(&folder, file, bytes))?;
            Ok(())
        });
        written.await??;
        let filter = MatchFilter { run: Some(run.to_owned()), ..MatchFilter::default() };
        let ids: Vec<String> =
            self.hub.store.matches(&filter, u32::MAX).await?.into_iter().map(|line| line.id).collect();
        self.hub.store.write(vec![Write::Released { ids: ids.clone() }]).await?;
        self.hub.mark_released(&ids);
        Ok(())
    }
}
