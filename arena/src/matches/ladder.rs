//! Standing ladders on the match plane: admission, match starts, record counting, and season ends.

use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use ludex_env::GameRef;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::Join;
use ludex_protocol::record::AgentKind;
use ludex_store::{MatchFilter, StoreError};
use serde_json::{Value, json};

use super::hub::{Hub, storage_failure};
use crate::cells::queue_name;
use crate::seasons::{SeasonStep, step};
use crate::sessions::Session;
use crate::settings::Humans;
use crate::standing_ladders::{Admission, QUEUE, StandingLadder};

/// Interval between pairing rounds.
const TICK: Duration = Duration::from_millis(200);
/// Number of queued jobs of the compute pool above which anchors play only agents that have waited too long.
const QUEUED: usize = 8;
/// Delay after a failure.
const LATER: Duration = Duration::from_secs(5);
/// Maximum number of table rows per page.
const LINES: usize = 500;

impl Hub {
    /// Returns the ladder that a join enters.
    pub(super) fn ladder_of(&self, join: &Join, game: &str) -> Option<Arc<StandingLadder>> {
        let asks = join.queue == QUEUE && join.rated && join.against.is_none() && join.ticket.is_none();
        let of_game = |ladder: &&Arc<StandingLadder>| ladder.game.spec().string == game;
        self.config.ladders.iter().find(of_game).filter(|_| asks).cloned()
    }

    /// Checks a join that enters a ladder, and applies the ladder's settings. Other joins are unchanged.
    pub(super) async fn enter_ladder(
        &self,
        session: &Session,
        join: &mut Join,
        game: &GameRef,
    ) -> Result<(), Box<Refusal>> {
        let Some(ladder) = self.ladder_of(join, &game.spec().string) else { return Ok(()) };
        let refused = |code, path: &str, message: &str| Err(Box::new(Refusal::new(code, message).path(path)));
        if session.about.agent.is_empty() {
            let message = "expected an agent name; a ladder admits only named agents (set it in `hello`)";
            return Err(Box::new(Refusal::new(ErrorCode::Forbidden, message)));
        }
        if self.config.humans == Humans::Apart && session.about.kind == AgentKind::Human {
            let message = "expected an agent kind other than human; ladders on this server admit only programs";
            return refused(ErrorCode::Forbidden, "queue", message);
        }
        if join.seat.is_some() {
            return refused(ErrorCode::BadField, "seat", "expected no seat; a ladder rotates the seats");
        }
        let clock = ladder.clock();
        if join.clock != ludex_protocol::record::Clock::of_join() && join.clock != clock {
            let message = "expected no clock or the clock of the ladder";
            let e = Refusal::new(ErrorCode::BadField, message).path("clock");
            return Err(Box::new(e.allowed(json!(clock))));
        }
        let (name, owner) = (session.name(), session.about.owner.as_deref());
        // Between two seasons, the names of the agents that wait belong to their owners too.
        let other =
            self.lobby.lock().names_on(&ladder).into_iter().any(|(agent, of)| agent == name && of.as_deref() != owner);
        let admitted = if other { Ok(Admission::Taken) } else { ladder.admits(&self.store, name, owner).await };
        match admitted.map_err(|e| storage_failure(&format!("{e:#}")))? {
            Admission::Admitted => {}
            Admission::Taken => {
                let message = "agent name is taken on this ladder by another owner; use another name";
                return refused(ErrorCode::Forbidden, "agent", message);
            }
            Admission::Full(most) => {
                let message = format!("expected at most {most} agents in a season of this ladder");
                return Err(Box::new(Refusal::new(ErrorCode::Limit, message).path("queue").allowed(most)));
            }
        }
        ladder.fit(join);
        Ok(())
    }

    /// Returns the ladders of this cell.
    fn own_ladders(&self) -> impl Iterator<Item = &Arc<StandingLadder>> {
        let is_own =
            |ladder: &&Arc<StandingLadder>| self.cell().has_name(&queue_name(&ladder.game.spec().string, QUEUE));
        self.config.ladders.iter().filter(is_own)
    }

    /// Runs the ladders until the server stops.
    pub async fn watch_ladders(self: Arc<Self>) {
        let all = self.own_ladders().map(|ladder| self.clone().watch_ladder(ladder.clone()));
        futures_util::future::join_all(all).await;
    }

    /// Counts the latest results. Called before the server stops.
    pub async fn close_ladders(&self) {
        for ladder in self.own_ladders() {
            if let Err(error) = ladder.count(&self.store).await {
                tracing::error!(ladder = ladder.name, error = %format!("{error:#}"), "ladder update failed");
            }
        }
    }

    async fn watch_ladder(self: Arc<Self>, ladder: Arc<StandingLadder>) {
        let mut counted = None;
        loop {
            if let Err(error) = self.look_at(&ladder, &mut counted).await {
                tracing::error!(ladder = ladder.name, error = %format!("{error:#}"), "ladder update failed");
                tokio::time::sleep(LATER).await;
            }
            tokio::time::sleep(TICK).await;
        }
    }

    /// Performs the pending step of a ladder's season. `counted` is the number of releases at the last count of results.
    async fn look_at(self: &Arc<Self>, ladder: &Arc<StandingLadder>, counted: &mut Option<u64>) -> anyhow::Result<()> {
        let now_ms = ludex_play::time::epoch_ms();
        let Some(season) = ladder.season_at(&self.store, now_ms).await? else { return Ok(()) };
        let releases = self.releases();
        if *counted != Some(releases) {
            ladder.count(&self.store).await?;
            *counted = Some(releases);
        }
        ladder.rate(None).await?;
        let is_over = step(&season, now_ms, true) == Some(SeasonStep::Close);
        match step(&season, now_ms, is_over && self.under_way(ladder).await?) {
            Some(SeasonStep::Open) => {
                self.claim_names(ladder).await?;
                self.pair_up(ladder);
            }
            Some(SeasonStep::Freeze) => {
                ladder.count(&self.store).await?;
                ladder.freeze(&self.store, now_ms).await?;
                // The next season has its own count.
                *counted = None;
            }
            Some(SeasonStep::Close) | None => {}
        }
        Ok(())
    }

    /// Claims the names of agents that joined before the season began.
    async fn claim_names(&self, ladder: &StandingLadder) -> anyhow::Result<()> {
        let names = self.lobby.lock().names_on(ladder);
        for (agent, owner) in names.into_iter().filter(|(agent, _)| !ladder.has_claimed(agent)) {
            // An agent that is not admitted waits for the next season.
            ladder.admits(&self.store, &agent, owner.as_deref()).await?;
        }
        Ok(())
    }

    /// Starts the matches that the ladder's pairing selects.
    fn pair_up(self: &Arc<Self>, ladder: &StandingLadder) {
        if self.draining() {
            return;
        }
        let begins = self.lobby.lock().pair_up(ladder, self.now(), self.compute.queued() > QUEUED);
        if !begins.is_empty() {
            begins.into_iter().for_each(|next| self.carry_out(next));
            // If the joins have room, the second match of a pair starts immediately.
            self.seat();
        }
    }

    /// Returns true if a match of the ladder's current season is running or pending.
    async fn under_way(&self, ladder: &StandingLadder) -> anyhow::Result<bool> {
        if self.lobby.lock().plays(ladder) {
            return Ok(true);
        }
        let filter = MatchFilter { run: ladder.label(), live: Some(true), ..MatchFilter::default() };
        Ok(!self.store.matches(&filter, 1).await?.is_empty())
    }

    // ---- pages ----------------------------------------------------------------------------------------------------

    fn ladder(&self, name: &str) -> Option<&Arc<StandingLadder>> {
        self.config.ladders.iter().find(|ladder| ladder.name == name)
    }

    pub fn ladders(&self) -> Vec<Value> {
        self.config.ladders.iter().map(|ladder| ladder.entry()).collect()
    }

    /// Returns a page of a ladder's table, for the current or a past season. `None` if the ladder or season does not
    /// exist. The list of running matches is computed as a job of `owner`.
    pub async fn ladder_page(
        &self,
        name: &str,
        season: Option<&str>,
        [offset, limit]: [usize; 2],
        owner: &Arc<str>,
    ) -> Option<Value> {
        let (ladder, season) = (self.ladder(name)?.clone(), season.map(str::to_owned));
        let now_ms = ludex_play::time::epoch_ms();
        let label = ladder.label();
        let past = match &season {
            Some(season) => ladder.past(&self.store, season).await.ok()?,
            None => None,
        };
        let made = ladder.clone();
        let work = move || made.page(season.as_deref(), past, now_ms, [offset, limit.min(LINES)]);
        let mut page = self.compute.wait(work).await.ok()??;
        if page["frozen"].is_null() && label.is_some() {
            let filter = MatchFilter { run: label, live: Some(true), ..MatchFilter::default() };
            let live = self.page_of_matches(&filter, u32::MAX, owner).await.ok()?;
            page["live"] = live["matches"].clone();
            page["waiting"] = self.lobby.lock().seekers(&ladder).into();
        }
        Some(page)
    }

    /// Returns the records of a finished season, one per line, in chunks.
    pub async fn ladder_records(
        &self,
        name: &str,
        season: &str,
    ) -> Option<impl Stream<Item = Result<String, StoreError>> + use<>> {
        self.ladder(name)?.records(&self.store, season).await
    }
}
