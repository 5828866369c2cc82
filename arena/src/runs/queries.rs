//! Read-only queries of runs for the web pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_play::runs::folder::path_of;
use ludex_play::time::epoch_ms;
use ludex_protocol::spec::Params;
use ludex_referee::suite::Suite;
use ludex_report::runs::bundle::{PAGE, REPORT};
use serde_json::{Value, json};

use super::Runs;
use super::enrolment::Enrolment;
use super::host::Host;
use crate::seasons::{Season, SuiteSeasons, calendar};

impl Runs {
    /// Returns the seasons of all suites: `{suite, season, begin_ms, end_ms, state}`, where the state is `coming`,
    /// `open` or `over`.
    pub fn seasons(&self) -> Vec<Value> {
        let of_suite = |of: &SuiteSeasons| {
            let seasons = calendar(&of.seasons, epoch_ms());
            seasons.into_iter().map(|season| (of.suite.clone(), season)).collect::<Vec<_>>()
        };
        let told = |(suite, season): (String, Season)| {
            let state = self.state_of(&suite, &season);
            let (begin, name) = (Some(season.begin).filter(|begin| *begin > 0), &season.name);
            json!({ "suite": suite, "season": name, "begin_ms": begin, "end_ms": season.end, "state": state })
        };
        self.hub.config.seasons.get().iter().flat_map(of_suite).map(told).collect()
    }

    /// Returns the open runs in order of name.
    pub fn open_runs(&self) -> Vec<Value> {
        let hosts = self.hosts.lock();
        hosts.values().map(|host| about(&host.enrolment(), Some(host))).collect()
    }

    /// Returns at most `limit` finished runs in order of name, starting after the name `after`, and the cursor of the
    /// next page. With `season`, returns only runs of this suite and season.
    pub async fn runs_over(
        &self,
        after: &str,
        season: Option<[&str; 2]>,
        limit: usize,
    ) -> (Vec<Value>, Option<String>) {
        let read = self.hub.store.finished_runs(season, after, limit).await;
        let rows = read.inspect_err(|error| tracing::error!(%error, "run listing failed")).unwrap_or_default();
        let next = rows.last().filter(|_| rows.len() == limit).map(|row| row.name.clone());
        (Enrolment::all(rows).iter().map(|kept| about(kept, None)).collect(), next)
    }

    /// Returns a run, open or finished; `None` if it does not exist.
    pub async fn run(&self, run: &str) -> Option<Value> {
        if let Some(host) = self.host(run) {
            let kept = host.enrolment();
            let mut page = about(&kept, Some(&host));
            if kept.cup.is_some()
                && let Ok(contest) = Host::contest(self, &kept).await
            {
                let path = path_of(&self.hub.config.data, run);
                page["standings"] = self.hub.compute.wait(move || contest.table(&path)).await.ok().flatten().into();
            }
            return Some(page);
        }
        Some(about(&self.run_over(run).await?, None))
    }

    /// Returns true if an agent of this owner is enrolled in an open run.
    pub fn has_entrant_of(&self, run: &str, owner: &str) -> bool {
        let entrants = self.host(run).map(|host| host.enrolment().entrants).unwrap_or_default();
        entrants.iter().any(|e| e.owner.as_deref() == Some(owner))
    }

    /// Returns the seat names of a run's games, by game id. For a run that does not exist yet, uses the games of
    /// `suite` or, unless `only` is empty, of the parts in `only`, separated by commas.
    pub fn seats_of(&self, run: &str, suite: &str, only: &str) -> BTreeMap<String, Vec<String>> {
        let games = match (self.host(run), self.hub.config.suites.get(suite)) {
            (Some(host), _) => self.games_of(&host.enrolment()).unwrap_or_default(),
            (None, Some(offer)) => {
                let only: Vec<&str> = only.split(',').filter(|id| !id.is_empty()).collect();
                let parts =
                    offer.entry.parts.iter().filter(|part| only.is_empty() || only.contains(&part.part.as_str()));
                parts.filter_map(|part| self.hub.config.catalogue.load(&part.game, &Params::new()).ok()).collect()
            }
            (None, None) => Vec::new(),
        };
        let mut seats = BTreeMap::<String, Vec<String>>::new();
        for game in games {
            let spec = game.spec();
            let known = seats.entry(spec.game.clone()).or_default();
            // A variant for more players extends the seat names of the one for fewer.
            if known.len() < spec.seats.len() {
                known.clone_from(&spec.seats);
            }
        }
        seats
    }

    /// Returns the shortest and the longest time limit of a move, in seconds, over the parts of a run. For a run that does
    /// not exist yet, uses `suite` and `only` as [`seats_of`](Self::seats_of) does. `None` if the suite is unknown.
    pub fn move_limits(&self, run: &str, suite: &str, only: &str) -> Option<[u64; 2]> {
        let kept = self.host(run).map(|host| host.enrolment());
        if let Some(cup) = kept.as_ref().and_then(|kept| kept.cup.as_ref()) {
            return Some([cup.move_s; 2]);
        }
        let text = match &kept {
            Some(kept) => &kept.text,
            None => &self.hub.config.suites.get(suite)?.text,
        };
        let suite = Suite::parse(text, &ludex_games::builtin()).ok()?;
        let only: Vec<&str> = only.split(',').filter(|id| !id.is_empty()).collect();
        let plays = |part: &str| match &kept {
            Some(kept) => kept.plays(part),
            None => only.is_empty() || only.contains(&part),
        };
        let parts = suite.parts.iter().filter(|part| plays(&part.id));
        let limits: Vec<u64> = parts.map(|part| suite.policy(part).limit_s).collect();
        Some([*limits.iter().min()?, *limits.iter().max()?])
    }

    /// Returns a file of a finished run's report, with its content type. If another server has played the run, its folder
    /// is first written from the store.
    pub async fn run_file(self: &Arc<Self>, run: &str, file: &str) -> Option<(&'static str, Vec<u8>)> {
        let kind = match file {
            PAGE => "text/html; charset=utf-8",
            REPORT => "application/json",
            _ => return None,
        };
        let kept = self.run_over(run).await?;
        if let Err(error) = self.write_stored_folder(kept).await {
            tracing::error!(run, error = %format!("{error:#}"), "writing the folder of a run failed");
        }
        let path = path_of(&self.hub.config.data, run).join(file);
        let read = self.hub.compute.wait(move || std::fs::read(path)).await;
        Some((kind, read.ok()?.ok()?))
    }

    async fn run_over(&self, run: &str) -> Option<Enrolment> {
        let row = self.hub.store.run(run).await.ok()??;
        Enrolment::all(vec![row]).pop().filter(|kept| kept.over.is_some())
    }
}

fn about(kept: &Enrolment, host: Option<&std::sync::Arc<Host>>) -> Value {
    let agents: Vec<&str> = kept.entrants.iter().map(|e| e.agent.as_str()).collect();
    let mut page = json!({
        "run": kept.run(), "suite": kept.request.suite, "scale": kept.request.scale, "only": kept.request.only,
        "agents": agents, "candidates": kept.request.candidates,
    });
    if !kept.request.roles.is_empty() {
        page["roles"] = json!(kept.request.roles);
    }
    if !kept.left_out.is_empty() {
        page["left_out"] = json!(kept.left_out);
    }
    if !kept.request.variants.is_empty() {
        page["variants"] = json!(kept.request.variants);
    }
    if let Some(season) = &kept.season {
        page["season"] = json!(season);
    }
    if let Some(host) = host {
        page["state"] = "open".into();
        let standing = host.with_standing(|due, done, eta_ms| (due.into(), done.into(), json!(eta_ms)));
        (page["due"], page["done"], page["eta_ms"]) = standing;
    }
    if let Some(cup) = &kept.cup {
        (page["game"], page["format"], page["left_out"]) = (json!(cup.game), json!(cup.format), json!(cup.left_out));
        page["entrants"] = cup.agents.iter().map(|(name, _)| name.as_str()).collect();
    }
    if let Some(over) = &kept.over {
        page["state"] = json!(over.reason);
        (page["verdict"], page["ratings"]) = (over.verdict.clone(), over.ratings.clone());
        // The report of a run in a season is written when the season ends.
        if !kept.is_held() {
            page["report"] = over.report.as_str().into();
        }
    }
    page
}
