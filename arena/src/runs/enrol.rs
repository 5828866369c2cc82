//! Enrolment of agents in runs, their return after a disconnection, and their withdrawal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ludex_play::runs::folder::path_of;
use ludex_protocol::error::{ErrorCode, Refusal, close, nearest, truncate_text};
use ludex_protocol::message::{Enrol, Enrolled, Join, RunReason, ServerMessage, SuiteEntry, SuiteList, SuitePart};
use ludex_protocol::record::Clock;
use ludex_protocol::spec::Params;
use ludex_referee::suite::roles::{RoleAgent, RoleAssignment};
use ludex_referee::suite::{Suite, is_word};
use ludex_store::Write;
use serde_json::{Value, json};

use super::enrolment::{EarlyStop, EnrolledAgent, Enrolment, InSeason};
use super::host::Host;
use super::{Runs, is_of};
use crate::cells::suite_name;
use crate::mailbox::MailboxItem;
use crate::matches::lobby::shows;
use crate::matches::storage_failure;
use crate::sessions::Session;
use crate::suites::unplayable;

/// Maximum length of a run's name in characters.
const NAME: usize = 64;
/// Maximum number of variants of an agent, each of which plays the whole run.
const VARIANTS: usize = 16;
/// Interval between checks for expired runs and for tournaments to start.
const LOOK: Duration = Duration::from_secs(1);

/// Result of an agent's enrolment.
enum Place {
    /// Open run, and the join of the agent.
    In(Arc<Host>, String),
    Over(Box<Enrolment>),
}

impl Runs {
    /// Returns the reply to `suites`.
    pub fn suites(&self) -> ServerMessage {
        ServerMessage::Suites(SuiteList { suites: self.offered() })
    }

    /// Returns the suites that agents may enroll in, each with its season.
    pub fn offered(&self) -> Vec<SuiteEntry> {
        let mut suites = self.hub.config.suites.entries();
        suites.iter_mut().for_each(|e| e.season = self.season_now(&e.suite).map(|season| season.name.clone()));
        suites
    }

    /// Processes an `enrol` request, then starts or continues the run.
    pub async fn enrol(self: &Arc<Self>, session: &Arc<Session>, re: i64, request: Enrol) {
        // No run ends before the reply is sent.
        let _one_by_one = self.enrolling.lock().await;
        let entered = self.enter_run(session, re, request).await;
        let Some(mailbox) = session.mailbox() else { return };
        match entered {
            Ok(Place::In(host, join)) => {
                let run = host.run();
                let left_out = host.enrolment().left_out;
                host.with_standing(|due, done, eta_ms| {
                    let enrolled = Enrolled { run, join: Some(join.clone()), due, done, left_out, eta_ms };
                    mailbox.reply(re, ServerMessage::Enrolled(enrolled));
                });
                self.hub.ready(&join);
                if host.enrolment().is_ready() {
                    host.start(self);
                }
            }
            Ok(Place::Over(kept)) => {
                let done = kept.over.as_ref().map_or(0, |over| matches_of(&over.verdict));
                let (run, left_out) = (kept.run().to_owned(), kept.left_out.clone());
                let enrolled = Enrolled { run, done, left_out, ..Enrolled::default() };
                mailbox.reply(re, ServerMessage::Enrolled(enrolled));
                if let Some(over) = kept.over {
                    let _ = mailbox.event(ServerMessage::RunEnd(Box::new(over)));
                }
            }
            Err(refusal) => mailbox.reply(re, *refusal),
        }
    }

    async fn enter_run(
        self: &Arc<Self>,
        session: &Arc<Session>,
        re: i64,
        request: Enrol,
    ) -> Result<Place, Box<Refusal>> {
        if session.about.agent.is_empty() {
            let message = "expected an agent name; only named agents can enroll (set it in `hello`)";
            return Err(Box::new(Refusal::new(ErrorCode::Forbidden, message)));
        }
        if let Some(invited) = &session.about.invited {
            invited.check(session.about.kind, &request)?;
        }
        let run = request.run.clone();
        check_name(&run)?;
        self.hub.check_cell(self.hub.cell_of_suite(&request.suite))?;
        let host = match self.existing_run(&run).await? {
            Some(ExistingRun::Open(host)) => host,
            Some(ExistingRun::Over(kept)) => {
                known_to(&kept, session)?;
                same(&kept.request, &request)?;
                return Ok(Place::Over(kept));
            }
            None => self.new_run(session, &request)?,
        };
        let kept = host.enrolment();
        // Only current and possible entrants may learn the settings of a run.
        if kept.entrant(session.name(), session.about.owner.as_deref()).is_none() && !kept.has_room() {
            return Err(name_taken(&run));
        }
        same(&kept.request, &request)?;
        // A rejected request starts nothing.
        let shown = Join {
            views: request.views.clone(),
            prompt: request.prompt.clone(),
            layout: request.layout.clone(),
            ..Join::new("")
        };
        for game in self.games_of(&kept)? {
            shows(&game, &shown)?;
        }
        let owner = session.about.owner.as_deref();
        let entrant = match kept.entrant(session.name(), owner) {
            Some(entrant) if entrant.came => entrant.clone(),
            Some(entrant) => {
                // First enrolment of a tournament entrant.
                let consent = self.consent_of(&session.about, &run)?;
                let came = EnrolledAgent { came: true, slots: request.slots.max(1), consent, ..entrant.clone() };
                let new = came.clone();
                let change = |kept: &mut Enrolment| {
                    kept.entrants.iter_mut().filter(|e| e.ticket == new.ticket).for_each(|e| *e = new.clone());
                };
                let changed = host.book.change(&self.hub.store, Vec::new(), change).await;
                changed.map_err(|e| storage_failure(&format!("{e:#}")))?;
                came
            }
            None => self.new_entrant(session, &host, &request).await?,
        };
        let kept = host.enrolment();
        let join = Join {
            ticket: Some(entrant.ticket.clone()),
            slots: entrant.slots,
            count: 0,
            rated: true,
            clock: Clock::default(),
            ..shown
        };
        if kept.is_ready() {
            let contest = Host::contest(self, &kept).await.map_err(|e| storage_failure(&format!("{e:#}")))?;
            let name = run.clone();
            let stands =
                self.hub.compute.wait(move || contest.standing(&name)).await.map_err(|e| storage_failure(&e))?;
            let (due, done) = stands.map_err(|e| storage_failure(&format!("{e:#}")))?;
            host.stands(due, done);
        }
        let before = self.hub.holder(&entrant.ticket).filter(|before| before.id != session.id);
        let join = self.hub.enter(session, re, join).await?;
        self.take_over(session, &run).await;
        // Two clients of one agent cannot play the same run: the newer one takes over.
        if let Some(mailbox) = before.and_then(|before| before.mailbox()) {
            let _ = mailbox.post(MailboxItem::Close(close::SUPERSEDED));
        }
        Ok(Place::In(host, join))
    }

    /// Moves the agent's seats in matches of the run from earlier sessions of the agent to `session`. This is necessary
    /// after a restart of the client.
    async fn take_over(&self, session: &Arc<Session>, run: &str) {
        let mut taken = false;
        for other in self.hub.sessions.by_agent(session.name(), session.about.owner.as_deref()) {
            if other.id == session.id {
                continue;
            }
            let seats = other.give_seats(session, |id| is_of(id, run));
            if seats.is_empty() {
                continue;
            }
            taken = true;
            let moved = Write::SeatsMoved { to: session.id.clone(), seats };
            if let Err(error) = self.hub.store.write_behind(vec![moved]).await {
                tracing::error!(session = %session.id, %error, "storing the seats of a run failed");
            }
        }
        if taken {
            session.catch_up(&BTreeMap::new(), true);
        }
    }

    /// Returns the existing run with this name.
    pub(super) async fn existing_run(&self, run: &str) -> Result<Option<ExistingRun>, Box<Refusal>> {
        if let Some(host) = self.host(run) {
            return Ok(Some(ExistingRun::Open(host)));
        }
        let row = self.hub.store.run(run).await.map_err(|e| storage_failure(&e))?;
        // A folder without a row is a run of local agents.
        if row.is_none() && !path_of(&self.hub.config.data, run).exists() {
            return Ok(None);
        }
        if row.as_ref().is_some_and(|row| row.body.is_empty()) {
            let message = "run name was used by a run that has been removed; choose another name";
            return Err(Box::new(Refusal::new(ErrorCode::Conflict, message).path("run").got(run)));
        }
        let kept = row.and_then(|row| Enrolment::all(vec![row]).pop()).filter(|kept| kept.over.is_some());
        Ok(Some(ExistingRun::Over(Box::new(kept.ok_or_else(|| name_taken(run))?))))
    }

    /// Creates a run for an enrolling agent. The run is stored once the agent has become an entrant.
    fn new_run(&self, session: &Session, request: &Enrol) -> Result<Arc<Host>, Box<Refusal>> {
        if self.hub.draining() {
            let message = "server is shutting down and accepts no new runs";
            return Err(Box::new(Refusal::new(ErrorCode::Draining, message)));
        }
        let suites = &self.hub.config.suites;
        let Some(offer) = suites.get(&request.suite) else {
            let names: Vec<&str> = suites.names().collect();
            let e = match request.suite.as_str() {
                "" => Refusal::new(ErrorCode::UnknownRun, "expected an existing run; name a suite to start a new one")
                    .path("run"),
                other => {
                    let mut e =
                        Refusal::new(ErrorCode::UnknownSuite, "expected the name of an offered suite").path("suite");
                    e.nearest = nearest(other, names.iter().copied()).map(Into::into);
                    e.got(truncate_text(other))
                }
            };
            return Err(Box::new(e.allowed(names)));
        };
        if !(request.scale > 0.0 && request.scale <= 1.0) {
            let e = Refusal::new(ErrorCode::BadField, "scale: expected a number above 0 and at most 1").path("scale");
            return Err(Box::new(e.got(request.scale)));
        }
        if !(1..=64).contains(&request.candidates) {
            let e = Refusal::new(ErrorCode::BadField, "candidates: expected 1 to 64").path("candidates");
            return Err(Box::new(e.got(request.candidates)));
        }
        let parts: Vec<&str> = offer.entry.parts.iter().map(|part| part.part.as_str()).collect();
        if let Some(at) = request.only.iter().position(|id| !parts.contains(&id.as_str())) {
            let e = Refusal::new(ErrorCode::BadField, "only: expected a part of the suite").path("only").index(at);
            return Err(Box::new(e.got(truncate_text(&request.only[at])).allowed(parts)));
        }
        let owner = session.about.owner.as_deref();
        let own = |host: &&Arc<Host>| host.enrolment().entrants.first().is_some_and(|e| e.owner.as_deref() == owner);
        let most = self.hub.config.limits.get().owner_runs;
        if self.hosts.lock().values().filter(own).count() >= most as usize {
            let message = format!("expected at most {most} open runs per owner; finish or withdraw from one");
            return Err(Box::new(Refusal::new(ErrorCode::Limit, message).path("run").allowed(most)));
        }
        let (roles, left_out) = self.assign_roles(request, &offer.text)?;
        let left_out = parts_left_out(request, &offer.entry.parts, left_out)?;
        let until_ms = i64::try_from(self.hub.config.run_time.as_millis()).unwrap_or(i64::MAX);
        let kept = Enrolment {
            request: request.clone(),
            text: offer.text.clone(),
            roles,
            left_out,
            cup: None,
            season: self
                .season_now(&request.suite)
                .filter(|_| request.rated)
                .map(|season| InSeason { name: season.name, released: false }),
            entrants: Vec::new(),
            until_ms: ludex_play::time::epoch_ms().saturating_add(until_ms),
            stop: None,
            over: None,
            ended_ms: None,
        };
        Ok(Arc::new(Host::new(kept)))
    }

    /// Returns the agents for the roles of a suite, and the parts that the server cannot play with them, each with the
    /// reason.
    fn assign_roles(
        &self,
        request: &Enrol,
        text: &str,
    ) -> Result<(RoleAssignment, BTreeMap<String, String>), Box<Refusal>> {
        let games = ludex_games::builtin();
        let mut suite = Suite::parse(text, &games).map_err(|e| storage_failure(&e))?;
        let bad = |message: String| Box::new(Refusal::new(ErrorCode::BadField, message).path("roles"));
        suite.keep_only(&request.only).map_err(|e| bad(e.to_string()))?;
        if request.variants.len() > VARIANTS {
            let got = request.variants.len();
            let e = Refusal::new(ErrorCode::Limit, format!("variants: expected at most {VARIANTS}, got {got}"));
            return Err(Box::new(e.path("variants").got(got).allowed(VARIANTS)));
        }
        let labels = suite.play_remotely(&request.variants);
        labels.map_err(|e| Box::new(Refusal::new(ErrorCode::BadField, e.to_string()).path("variants")))?;
        let named = |agent: &String| RoleAgent { name: agent.clone(), spec: agent.clone() };
        let given = request.roles.iter().map(|(role, agents)| (role.clone(), agents.iter().map(named).collect()));
        let mut cast: RoleAssignment = given.collect();
        // The roles and their sizes are checked first, since building an agent is expensive.
        suite.fill(&cast).map_err(|e| bad(e.to_string()))?;
        for (role, agents) in &mut cast {
            let named = format!("@{role}");
            for part in suite.parts.iter().filter(|part| part.opponents.contains(&named)) {
                for game in part.games(&games).map_err(|e| storage_failure(&e))? {
                    for (at, (agent, text)) in agents.iter_mut().zip(&request.roles[role]).enumerate() {
                        let seated = self.hub.config.opponents.get().seat(text, &game, true);
                        let seated = seated.map_err(|e| Box::new(e.path("roles").index(at)))?;
                        *agent = RoleAgent { name: seated.name, spec: seated.spec.to_string() };
                    }
                }
            }
        }
        suite.fill(&cast).map_err(|e| bad(e.to_string()))?;
        let left_out = unplayable(&suite, &cast);
        Ok((cast, left_out))
    }

    /// Adds an agent to the run.
    async fn new_entrant(
        &self,
        session: &Session,
        host: &Arc<Host>,
        request: &Enrol,
    ) -> Result<EnrolledAgent, Box<Refusal>> {
        let kept = host.enrolment();
        if !kept.has_room() {
            return Err(name_taken(kept.run()));
        }
        self.may_enter_season(session, &kept)?;
        if kept.entrants.iter().any(|e| e.agent == session.name()) {
            let message = "agent name is taken in this run; use another name";
            return Err(Box::new(Refusal::new(ErrorCode::Conflict, message).path("run")));
        }
        let consent = self.consent_of(&session.about, kept.run())?;
        let most = self.hub.config.limits.get().matches;
        if request.slots == 0 || request.slots > most {
            let e = Refusal::new(ErrorCode::Limit, format!("slots: expected 1 to {most}, got {}", request.slots))
                .path("slots")
                .got(request.slots);
            return Err(Box::new(e.allowed(format!("1 to {most}"))));
        }
        let entrant = EnrolledAgent {
            agent: session.name().to_owned(),
            owner: session.about.owner.clone(),
            ticket: self.hub.fresh_id('t')?,
            join: self.hub.fresh_id('j')?,
            slots: request.slots,
            came: true,
            consent,
        };
        let new = entrant.clone();
        // The first run of a season starts the season.
        let changed = host.book.change(&self.hub.store, self.season_row(&kept), |kept| kept.entrants.push(new)).await;
        changed.map_err(|e| storage_failure(&format!("{e:#}")))?;
        self.hosts.lock().insert(host.run(), host.clone());
        // Programs of the same owner, and other guests, leave the acceptance of a person alone.
        if entrant.consent.is_some() {
            self.consents.lock().remove(session.about.owner.as_deref().unwrap_or_default());
        }
        Ok(entrant)
    }

    pub(super) fn games_of(&self, kept: &Enrolment) -> Result<Vec<ludex_env::GameRef>, Box<Refusal>> {
        if let Some(cup) = &kept.cup {
            return Ok(vec![self.hub.config.catalogue.load(&cup.game, &Params::new())?]);
        }
        let games = ludex_games::builtin();
        let suite = Suite::parse(&kept.text, &games).map_err(|e| storage_failure(&e))?;
        let mut all = Vec::new();
        for part in suite.parts.iter().filter(|part| kept.plays(&part.id)) {
            all.extend(part.games(&games).map_err(|e| storage_failure(&e))?);
        }
        Ok(all)
    }

    /// Withdraws the agent of `session` from a run. The run ends permanently.
    pub async fn withdraw(self: &Arc<Self>, session: &Session, run: &str) -> Result<(), Box<Refusal>> {
        let unknown = || {
            let e = Refusal::new(ErrorCode::UnknownRun, "expected an open run of this agent").path("run");
            Box::new(e.got(truncate_text(run)))
        };
        if !is_word(run) {
            return Err(unknown());
        }
        let Some(ExistingRun::Open(host)) = self.existing_run(run).await? else { return Err(unknown()) };
        let kept = host.enrolment();
        kept.entrant(session.name(), session.about.owner.as_deref()).ok_or_else(unknown)?;
        let stop = EarlyStop { reason: RunReason::Withdrawn, agent: Some(session.name().to_owned()) };
        // The change is completed even if the client disconnects.
        let runs = self.clone();
        let stopped = tokio::spawn(async move { host.stop_for(&runs, stop).await }).await;
        stopped.map_err(anyhow::Error::from).flatten().map_err(|e| storage_failure(&format!("{e:#}")))
    }

    /// Starts or continues the run of a ticket. Called after the client has received the reply to its `join` with the
    /// ticket.
    pub async fn ticket_shown(self: &Arc<Self>, ticket: &str) {
        let Some((host, _)) = self.entrant_with(ticket) else { return };
        let came = |kept: &mut Enrolment| {
            kept.entrants.iter_mut().filter(|e| e.ticket == ticket).for_each(|e| e.came = true);
        };
        if let Err(error) = host.book.change(&self.hub.store, Vec::new(), came).await {
            tracing::error!(run = host.run(), error = %format!("{error:#}"), "enrolment write failed");
        }
        if host.enrolment().is_ready() {
            host.start(self);
        }
    }

    /// Continues runs after a restart, if their agents still hold their joins. Must be called before the first
    /// enrolment.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn resume_runs(self: Arc<Self>) -> anyhow::Result<()> {
        let mut rows = self.hub.store.active_runs().await?;
        rows.retain(|row| self.hub.cell().has_name(&suite_name(&row.suite)));
        let active = Enrolment::all(rows);
        self.open_seasons(&active).await?;
        for kept in active {
            if kept.over.is_some() {
                self.held.lock().insert(kept.run().to_owned(), kept);
                continue;
            }
            let here = kept.entrants.iter().any(|e| self.hub.has_ticket(&e.ticket));
            let called = kept.is_ready() && (here || kept.cup.is_some()) || kept.stop.is_some();
            let host = Arc::new(Host::new(kept));
            self.hosts.lock().insert(host.run(), host.clone());
            if called {
                host.start(&self);
            }
        }
        Ok(())
    }

    /// Ends expired runs, and starts tournaments whose waiting time is over, until the server stops.
    pub async fn watch_runs(self: Arc<Self>) {
        loop {
            let now = ludex_play::time::epoch_ms();
            let late = |host: &&Arc<Host>| {
                let kept = host.enrolment();
                kept.until_ms <= now && kept.stop.is_none()
            };
            let late: Vec<Arc<Host>> = self.hosts.lock().values().filter(late).cloned().collect();
            // Tournaments whose time to wait for clients is over.
            let waits = |host: &&Arc<Host>| host.enrolment().cup.as_ref().is_some_and(|cup| cup.begins_ms > 0);
            let waiting: Vec<Arc<Host>> = self.hosts.lock().values().filter(waits).cloned().collect();
            waiting.iter().filter(|host| host.enrolment().is_ready()).for_each(|host| host.start(&self));
            self.stop_late(late).await;
            self.advance_seasons().await;
            tokio::time::sleep(LOOK.min(self.hub.config.run_time)).await;
        }
    }

    /// Ends runs whose time is over.
    pub(super) async fn stop_late(self: &Arc<Self>, late: Vec<Arc<Host>>) {
        for host in late {
            let stop = EarlyStop { reason: RunReason::Deadline, agent: None };
            if let Err(error) = host.stop_for(self, stop).await {
                tracing::error!(run = host.run(), error = %format!("{error:#}"), "ending a run failed");
            }
        }
    }
}

/// Existing run with the requested name.
pub(super) enum ExistingRun {
    Open(Arc<Host>),
    Over(Box<Enrolment>),
}

pub(super) fn check_name(run: &str) -> Result<(), Box<Refusal>> {
    if is_word(run) && run.len() <= NAME {
        return Ok(());
    }
    let message = format!("run: expected 1 to {NAME} lower-case letters, digits, _ and -");
    Err(Box::new(Refusal::new(ErrorCode::BadField, message).path("run").got(truncate_text(run))))
}

/// Returns the parts that a run leaves out: those of `closed`, and those that need more candidates than the run has.
///
/// # Errors
///
/// A part that the request names, and a run without any part.
fn parts_left_out(
    request: &Enrol,
    parts: &[SuitePart],
    mut closed: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Box<Refusal>> {
    let mut few = BTreeMap::new();
    for part in parts.iter().filter(|part| part.candidates > request.candidates) {
        let why = format!("expected at least {} candidates, got {}", part.candidates, request.candidates);
        few.insert(part.part.clone(), why);
    }
    let wanted = |id: &String| request.only.is_empty() || request.only.contains(id);
    let named = |closed: &BTreeMap<String, String>, path: &str| {
        let unplayed = closed.iter().filter(|(part, _)| wanted(part));
        let why: Vec<String> = unplayed.map(|(part, why)| format!("part {part}: {why}")).collect();
        Box::new(Refusal::new(ErrorCode::BadField, format!("{path}: {}", why.join("; "))).path(path))
    };
    let all = |closed: &BTreeMap<String, String>| parts.iter().all(|part| closed.contains_key(&part.part));
    if request.only.iter().any(|id| few.contains_key(id)) || all(&few) {
        return Err(Box::new(named(&few, "candidates").got(request.candidates)));
    }
    if request.only.iter().any(|id| closed.contains_key(id)) {
        return Err(named(&closed, "roles"));
    }
    let found = closed.clone();
    closed.append(&mut few);
    if all(&closed) {
        return Err(named(&found, "roles"));
    }
    closed.retain(|_, _| request.only.is_empty());
    Ok(closed)
}

fn name_taken(run: &str) -> Box<Refusal> {
    let message = "run name is taken by another owner; choose another name";
    Box::new(Refusal::new(ErrorCode::Forbidden, message).path("run").got(truncate_text(run)))
}

/// Checks that the agent of a session is in a run.
fn known_to(kept: &Enrolment, session: &Session) -> Result<(), Box<Refusal>> {
    let found = kept.entrant(session.name(), session.about.owner.as_deref());
    found.map(drop).ok_or_else(|| match &kept.cup {
        Some(_) => {
            let message = format!("expected an entrant of the tournament {}, got {}", kept.run(), session.name());
            Box::new(Refusal::new(ErrorCode::Forbidden, message).path("run"))
        }
        None => name_taken(kept.run()),
    })
}

/// Checks that a request matches the request that created the run. Only the number of concurrent matches and the views
/// may differ.
fn same(was: &Enrol, is: &Enrol) -> Result<(), Box<Refusal>> {
    let differs = |path: &str, was: Value, is: Value| {
        let message = format!("{path}: expected the value of the existing run; choose a different name for a new run");
        Box::new(Refusal::new(ErrorCode::Conflict, message).path(path).got(is).allowed(was))
    };
    if !is.suite.is_empty() && was.suite != is.suite {
        return Err(differs("suite", json!(was.suite), json!(is.suite)));
    }
    if is.suite.is_empty() {
        // A request without a suite accepts the run's settings.
        return Ok(());
    }
    if was.scale != is.scale {
        return Err(differs("scale", json!(was.scale), json!(is.scale)));
    }
    if was.only != is.only {
        return Err(differs("only", json!(was.only), json!(is.only)));
    }
    if was.roles != is.roles {
        return Err(differs("roles", json!(was.roles), json!(is.roles)));
    }
    if was.variants != is.variants {
        return Err(differs("variants", json!(was.variants), json!(is.variants)));
    }
    if was.candidates != is.candidates {
        return Err(differs("candidates", json!(was.candidates), json!(is.candidates)));
    }
    Ok(())
}

/// Returns the number of matches in a verdict.
fn matches_of(verdict: &Value) -> u64 {
    let rows = verdict["parts"].as_array().into_iter().flatten();
    rows.map(|row| ["wins", "draws", "losses"].iter().filter_map(|key| row[key].as_u64()).sum::<u64>()).sum()
}
