//! Server of one script: leads the client through the script and checks every message of the client.

mod frames;
mod place;
mod requests;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ludex_env::Seat;
use ludex_protocol::error::{Close, close};
use ludex_protocol::message::{Ack, ClientMessage, Draining, Hello, Scope, ServerMessage, ServerPing, Welcome};
use ludex_protocol::record::EndReason;
use ludex_protocol::{Id, Limits, Refusal, VERSION};
use serde_json::json;
use tokio::net::TcpListener;

use self::place::{Place, SECOND};
use self::run::Run;
use super::program::{Program, TOKEN};
use super::script::{Disturbance, Script};
use super::table::{ScriptMatch, ScriptSeat};
use super::trace::Trace;
use super::wire::{ReceivedMessage, ScriptSocket};
use crate::CheckFault;

/// Maximum time to wait for a client to exit after its match. Clients may exit but need not.
const LINGERS: Duration = Duration::from_millis(1_500);

/// Cell to which the client is moved, and the path of its URL.
const CELL: u32 = 3;
const CELL_PATH: &str = "/c/3";

/// Nonce of the `ping` that is sent together with unknown fields and messages.
const NONCE: u64 = 77;

/// Reason for the end of a connection.
enum Stop {
    /// The client broke a rule of the protocol.
    Fault(CheckFault),
    /// The script cut the connection.
    Broken,
    /// The match is over, and the client has disconnected or has nothing left to do.
    Done,
}

impl From<CheckFault> for Stop {
    fn from(fault: CheckFault) -> Self {
        Stop::Fault(fault)
    }
}

type Go<T> = Result<T, Stop>;

/// Session of the client, as a server stores it.
struct Session {
    id: String,
    key: String,
    /// Previous key, valid until the first message after `welcome`.
    old_key: Option<String>,
    /// Highest request id so far.
    last_id: Id,
    requests: BTreeMap<Id, Request>,
}

struct Request {
    message: ClientMessage,
    reply: Option<ServerMessage>,
    /// True if the reply was sent.
    replied: bool,
    /// Number of the connection that last carried the request.
    connection: u32,
}

/// Server that leads the client through one script.
pub(super) struct ScriptServer<'a> {
    script: &'a Script,
    listener: TcpListener,
    program: Program,
    patience: Duration,
    trace: Trace,
    connection: u32,
    session: Option<Session>,
    sessions: u32,
    table: Option<ScriptMatch>,
    /// Run that the client is to play, if any.
    run: Option<Run>,
    matches: u32,
    joins: u32,
    /// Points of the script that were reached.
    passed: BTreeSet<Place>,
    /// Last point of the script at which the connection was cut.
    broken_at: Option<Place>,
    /// True once the disturbance is over.
    done: bool,
    /// True if the client stays connected after its match, which is optional.
    stays: bool,
}

impl<'a> ScriptServer<'a> {
    pub fn new(script: &'a Script, listener: TcpListener, program: Program, patience: Duration, trace: Trace) -> Self {
        ScriptServer {
            script,
            listener,
            program,
            patience,
            trace,
            connection: 0,
            session: None,
            sessions: 0,
            table: None,
            run: script.run.then(Run::default),
            matches: 0,
            joins: 0,
            passed: BTreeSet::new(),
            broken_at: None,
            done: false,
            stays: false,
        }
    }

    /// Returns true if the client ever received `welcome`. A client that never received `welcome` would also fail all
    /// other scripts.
    pub fn has_greeted(&self) -> bool {
        self.session.is_some()
    }

    /// Runs the script with the client.
    pub async fn run(&mut self) -> Result<(), CheckFault> {
        loop {
            let mut wire = match self.arrival().await {
                Ok(wire) => wire,
                Err(Stop::Fault(fault)) => return Err(fault),
                Err(Stop::Broken | Stop::Done) => break,
            };
            match self.serve(&mut wire).await {
                Ok(()) | Err(Stop::Done) => break,
                Err(Stop::Broken) => {}
                Err(Stop::Fault(fault)) => return Err(fault),
            }
        }
        self.goodbye().await
    }

    fn over(&self) -> bool {
        match &self.run {
            Some(run) => run.told,
            None => self.table.as_ref().is_some_and(|table| table.over),
        }
    }

    fn has(&self, trouble: Disturbance) -> bool {
        self.script.trouble == trouble
    }

    /// Returns the point at which the connection was cut, as a suffix for the text of a fault.
    fn since_break(&self) -> String {
        self.broken_at.as_ref().map(|at| format!(" after the connection was cut ({at})")).unwrap_or_default()
    }

    // ---- connections ----------------------------------------------------------------------------------------------

    async fn arrival(&mut self) -> Go<ScriptSocket> {
        let expected = "a connection to LUDEX_URL";
        let back = self.since_break();
        let section = if self.broken_at.is_some() { 7 } else { 2 };
        tokio::select! {
            accepted = self.listener.accept() => {
                let (stream, _) = accepted.map_err(|e| CheckFault::new(0, format!("internal error of the check: {e}"), expected))?;
                self.connection += 1;
                Ok(ScriptSocket::accept(stream, self.trace.clone()).await?)
            }
            status = self.program.ended() => {
                let words = self.program.last_words(status).await;
                Err(CheckFault::new(section, format!("exited {words} without connecting{back}"), expected).into())
            }
            () = tokio::time::sleep(self.patience) => {
                let did = format!("did not connect within {} s{back}", self.patience.as_secs());
                Err(CheckFault::new(section, did, expected).into())
            }
        }
    }

    /// Returns the next message of the client.
    async fn next(&mut self, wire: &mut ScriptSocket) -> Go<ReceivedMessage> {
        let patience = if self.over() { LINGERS } else { self.patience };
        let waited = self.waited_for();
        let gone = tokio::select! {
            biased;
            read = wire.read() => match read? {
                Some(said) => return Ok(said),
                None => None,
            },
            status = self.program.ended() => Some(status),
            () = tokio::time::sleep(patience) => {
                if self.over() {
                    self.stays = true;
                    return Err(Stop::Done);
                }
                let seconds = self.patience.as_secs();
                return Err(CheckFault::new(self.script.section, format!("was silent for {seconds} s"), waited).into());
            }
        };
        if self.over() {
            return Err(Stop::Done);
        }
        let ended = async {
            match gone {
                Some(status) => Some(status),
                None => tokio::time::timeout(LINGERS, self.program.ended()).await.ok(),
            }
        };
        let did = match ended.await {
            Some(status) => format!("exited {}", self.program.last_words(status).await),
            None => "closed the connection".to_owned(),
        };
        Err(CheckFault::new(self.script.section, did, waited).into())
    }

    fn waited_for(&self) -> String {
        let due = self.table.iter().flat_map(|table| &table.seats).filter_map(ScriptSeat::due);
        let due: Vec<String> = due.map(|key| key.to_string()).collect();
        let away = self.run.as_ref().is_some_and(|run| !run.here);
        match (&self.session, &self.table) {
            (None, _) => "`hello`".into(),
            _ if away => "`enrol`, as after every `welcome`".into(),
            (_, None) => "a `join`".into(),
            _ if due.is_empty() => "the match to continue".into(),
            _ => format!("an `act` for {}", due.join(" or for ")),
        }
    }

    async fn goodbye(&mut self) -> Result<(), CheckFault> {
        if self.stays {
            return Ok(());
        }
        let Ok(status) = tokio::time::timeout(LINGERS, self.program.ended()).await else { return Ok(()) };
        if status.is_some_and(|status| status.success()) {
            return Ok(());
        }
        let did = format!("exited {} after its match", self.program.last_words(status).await);
        Err(CheckFault::new(self.script.section, did, "exit code 0"))
    }

    /// Marks a point of the script as reached. Cuts the connection there if the script requires a cut that has not
    /// happened yet.
    async fn place(&mut self, wire: &mut ScriptSocket, at: Place) -> Go<()> {
        let first = self.passed.insert(at.clone());
        if self.over() {
            // After the end of its match, a client may reconnect or not.
            return Ok(());
        }
        let close = match (self.script.trouble, &at) {
            (Disturbance::Cuts, Place::BeforeTurn(..)) => return Ok(()),
            (Disturbance::Cuts, _) if first => None,
            (Disturbance::LostAct, Place::GotAct(_, SECOND)) if !self.done => None,
            // Only the resync contains the turn.
            (Disturbance::Resync | Disturbance::Forgotten, Place::BeforeTurn(_, SECOND)) if !self.done => None,
            (Disturbance::Ended { .. }, Place::SentTurn(_, SECOND)) if !self.done => None,
            (Disturbance::Drain, Place::GotAct(_, SECOND)) if !self.done => Some(close::RESTART),
            (Disturbance::Drain, Place::SentTurn(_, SECOND)) if first => {
                let draining = Draining { until_ms: 60_000, resume: true };
                return Ok(wire.send(None, &ServerMessage::Draining(draining), false).await?);
            }
            _ => return Ok(()),
        };
        self.done = true;
        self.break_off(wire, at, close).await
    }

    async fn break_off(&mut self, wire: &mut ScriptSocket, at: Place, close: Option<Close>) -> Go<()> {
        let rest = match close {
            None => wire.cut().await?,
            Some(close) => wire.close(close).await?,
        };
        // Messages in flight are lost to the server, but the client has sent them.
        for (id, message) in rest {
            if let Some(id) = id {
                self.note(id, &message)?;
            }
        }
        if let (Disturbance::Ended { .. }, Some(table)) = (self.script.trouble, &mut self.table) {
            let late = table.seats.iter().find(|held| held.open.is_some()).map(|held| held.seat);
            table.end(EndReason::Timeout, late);
            self.run.iter_mut().for_each(Run::end_early);
        }
        self.broken_at = Some(at);
        Err(Stop::Broken)
    }

    // ---- one connection -------------------------------------------------------------------------------------------

    async fn serve(&mut self, wire: &mut ScriptSocket) -> Go<()> {
        let (id, message) = self.next(wire).await?;
        let ClientMessage::Hello(hello) = message else {
            return Err(CheckFault::new(2, format!("sent `{}` first", kind(&message)), "`hello` first").into());
        };
        self.greet(wire, id, &hello).await?;
        loop {
            let (id, message) = self.next(wire).await?;
            if let Some(session) = &mut self.session {
                session.old_key = None;
            }
            match (id, message) {
                (Some(id), message) => self.request(wire, id, message).await?,
                (None, ClientMessage::Ack(ack)) => self.acknowledged(&ack)?,
                (None, ClientMessage::Pong(pong)) if pong.nonce.is_some_and(|nonce| nonce != NONCE) => {
                    let did = format!("answered a `ping` with nonce {:?}", pong.nonce);
                    return Err(CheckFault::new(2, did, format!("nonce {NONCE}")).into());
                }
                (None, _) => {}
            }
        }
    }

    /// Checks an `ack` for the current match.
    fn acknowledged(&self, ack: &Ack) -> Result<(), CheckFault> {
        let Some(table) = self.table.as_ref().filter(|table| table.id == ack.match_id) else { return Ok(()) };
        let held = self.find_seat(table, ack.seat, "acknowledged messages")?;
        let told = held.told.unwrap_or(0);
        if ack.seq <= told {
            return Ok(());
        }
        let did = format!("acknowledged seq {} of seat {}", ack.seq, held.seat);
        Err(CheckFault::new(5, did, format!("at most {told}")))
    }

    /// Returns the seat that a message names; `did` describes the message.
    fn find_seat<'t>(
        &self,
        table: &'t ScriptMatch,
        seat: Option<u32>,
        did: &str,
    ) -> Result<&'t ScriptSeat, CheckFault> {
        let name = seat.map_or_else(|| "without `seat`".to_owned(), |seat| format!("for seat {seat}"));
        let held: Vec<String> = table.seat_numbers().iter().map(Seat::to_string).collect();
        let expected = format!("a seat of the client: {}", held.join(" or "));
        table.seat_or_only(seat).ok_or_else(|| CheckFault::new(5, format!("{did} {name}"), expected))
    }

    async fn greet(&mut self, wire: &mut ScriptSocket, id: Option<Id>, hello: &Hello) -> Go<()> {
        if !hello.protocol.contains(&VERSION) {
            let did = format!("offered the protocols {:?}", hello.protocol);
            return Err(CheckFault::new(2, did, format!("{VERSION} among them")).into());
        }
        if wire.uri.contains(TOKEN) {
            return Err(CheckFault::new(2, "sent its token in the URL", "a token in `hello` or `Authorization`").into());
        }
        let token = hello.token.as_ref().or(wire.bearer.as_ref());
        if let Some(token) = token.filter(|&token| token != TOKEN) {
            return Err(CheckFault::new(2, format!("sent the token {token:?}"), "the token in LUDEX_TOKEN").into());
        }
        if self.has(Disturbance::Token) && token.is_none() {
            return Err(CheckFault::new(2, "sent no token", "the token in LUDEX_TOKEN").into());
        }
        match &hello.agent {
            None => {
                return Err(CheckFault::new(2, "sent `hello` without `agent`", "`agent` with the client's name").into());
            }
            Some(agent) if !ludex_protocol::is_agent_name(&agent.name) => {
                let did = format!("sent the agent name {:?}", agent.name);
                return Err(CheckFault::new(2, did, "1 to 40 of A-Za-z0-9._-").into());
            }
            Some(_) => {}
        }
        if self.has(Disturbance::Moved) && self.done {
            self.is_in_cell(wire, hello)?;
        }
        let resumed = self.resumes(hello)?;
        self.sessions += 1;
        let key = format!("k_kit{}", self.sessions);
        let seen = hello.resume.as_ref().map(|resume| &resume.seen).filter(|_| resumed);
        let cursors = self.table.as_ref().zip(seen).map(|(table, seen)| table.cursors(seen)).unwrap_or_default();
        for held in self.table.iter().flat_map(|table| &table.seats) {
            let told = held.told.unwrap_or(0);
            if let Some(seen) = cursors.get(&held.seat).filter(|&&seen| seen > told) {
                let did = format!("claimed to have seen seq {seen} of seat {}{}", held.seat, self.since_break());
                return Err(CheckFault::new(7, did, format!("at most {told}, the last that was sent")).into());
            }
        }
        match &mut self.session {
            Some(session) if resumed => session.old_key = Some(std::mem::replace(&mut session.key, key.clone())),
            _ => {
                let id = format!("s_kit{}", self.sessions);
                let requests = BTreeMap::new();
                self.session = Some(Session { id, key: key.clone(), old_key: None, last_id: Id::MIN, requests });
                // A match that is not reclaimed is dropped, except in a run, where it waits.
                if let Some(run) = &mut self.run {
                    run.seated = false;
                } else if !hello.reclaim {
                    self.table = None;
                }
            }
        }
        if let Some(run) = &mut self.run {
            run.here = false;
        }
        let seated = self.run.as_ref().is_none_or(|run| run.seated);
        let running = self.table.as_ref().filter(|table| !table.over && seated);
        let welcome = Welcome {
            protocol: VERSION,
            server: crate::PROGRAM.into(),
            session: self.session.as_ref().map(|session| session.id.clone()).unwrap_or_default(),
            key,
            resumed,
            scopes: vec![Scope::Play, Scope::Spectate],
            agent: hello.agent.as_ref().map(|agent| agent.name.clone()).unwrap_or_default(),
            limits: Limits::default(),
            envs: Vec::new(),
            matches: running.map(ScriptMatch::resume_entries).unwrap_or_default(),
            joins: Vec::new(),
        };
        self.slow("welcome").await;
        self.send(wire, id, ServerMessage::Welcome(Box::new(welcome))).await?;
        if self.has(Disturbance::Extras) {
            wire.value(&json!({ "type": "x_news", "text": "no version of the protocol has this message" })).await?;
            wire.send(None, &ServerMessage::Ping(ServerPing { nonce: NONCE }), true).await?;
        }
        self.place(wire, Place::Other("sent welcome".into())).await?;
        if seated { self.catch_up(wire, cursors).await } else { Ok(()) }
    }

    /// Refuses a `join` because another cell has its queue, and closes the connection.
    async fn move_away(&mut self, wire: &mut ScriptSocket, id: Id) -> Go<()> {
        let address = self.listener.local_addr();
        let address =
            address.map_err(|e| CheckFault::new(0, format!("internal error of the check: {e}"), "an address"))?;
        let refusal = Refusal::moved(CELL, &format!("ws://{address}{CELL_PATH}"));
        wire.send(Some(id), &refusal.into(), false).await?;
        (self.session, self.done) = (None, true);
        self.break_off(wire, Place::Other("sent moved".into()), Some(close::MOVED)).await
    }

    /// Checks that the client starts a session at the URL of the cell.
    fn is_in_cell(&self, wire: &ScriptSocket, hello: &Hello) -> Result<(), CheckFault> {
        if !wire.uri.starts_with(CELL_PATH) {
            let did = format!("connected to {} after `moved`", wire.uri);
            return Err(CheckFault::new(7, did, format!("{CELL_PATH}, the path in `at`")));
        }
        if hello.resume.is_some() && self.session.is_none() {
            let did = "resumed a session of another cell after `moved`";
            return Err(CheckFault::new(7, did, "`hello` without `resume`"));
        }
        Ok(())
    }

    /// Returns true if the client resumes its session. Fails if the session key is wrong.
    fn resumes(&self, hello: &Hello) -> Result<bool, CheckFault> {
        let expected = "`resume` with the session and the key of the last `welcome`";
        match (&hello.resume, &self.session) {
            (_, None) => Ok(false),
            (None, Some(_)) => {
                let did = format!("reconnected without `resume`{}", self.since_break());
                Err(CheckFault::new(7, did, expected))
            }
            (Some(resume), Some(session)) => {
                let key = resume.key == session.key || session.old_key.as_ref() == Some(&resume.key);
                if resume.session != session.id || !key {
                    let did = format!("resumed with session {:?} and key {:?}", resume.session, resume.key);
                    return Err(CheckFault::new(7, did, format!("{:?} and {:?}", session.id, session.key)));
                }
                let forgotten = self.has(Disturbance::Forgotten) && session.id == "s_kit1";
                Ok(!forgotten)
            }
        }
    }

    async fn send(&mut self, wire: &mut ScriptSocket, re: Option<Id>, message: ServerMessage) -> Go<()> {
        Ok(wire.send(re, &message, self.has(Disturbance::Extras)).await?)
    }

    /// Delays the first reply of each kind if the script requires slow replies.
    async fn slow(&mut self, kind: &str) {
        if let Disturbance::Slow(pause) = self.script.trouble
            && self.passed.insert(Place::Other(format!("slow {kind}")))
        {
            tokio::time::sleep(pause).await;
        }
    }
}

/// Returns the `type` of a message.
fn kind(message: &ClientMessage) -> String {
    type_of(&serde_json::to_value(message).unwrap_or_default())
}

fn type_of(message: &serde_json::Value) -> String {
    message["type"].as_str().unwrap_or_default().to_owned()
}
