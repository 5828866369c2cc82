//! Server of one script: leads the client through the script and checks every message of the client.

mod requests;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ludex_protocol::Move;
use ludex_protocol::error::{Close, close};
use ludex_protocol::message::{
    ClientMessage, Draining, EventKind, Hello, MatchFrame, Scope, ServerMessage, ServerPing, Welcome,
};
use ludex_protocol::record::EndReason;
use ludex_protocol::{Id, Limits, VERSION};
use serde_json::json;
use tokio::net::TcpListener;

use self::run::Run;
use super::program::{Program, TOKEN};
use super::script::{Disturbance, Script};
use super::table::{ScriptFrame, ScriptMatch};
use super::trace::Trace;
use super::wire::{ReceivedMessage, ScriptSocket};
use crate::CheckFault;

/// Maximum time to wait for a client to exit after its match. Clients may exit but need not.
const LINGERS: Duration = Duration::from_millis(1_500);

/// Nonce of the `ping` that is sent together with unknown fields and messages.
const NONCE: u64 = 77;

/// Index of the client's turn at which most disturbances start. The client has moved once and must move again.
const SECOND: u32 = 1;

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
    /// Acts of the match by (turn, try), each with the id of the first request that carried the act.
    acts: BTreeMap<(u32, u32), (Move, Id)>,
    /// Sequence number of the last frame of the match that was sent on any connection.
    told: Option<u64>,
    /// Points of the script that were reached.
    passed: BTreeSet<String>,
    /// Last point of the script at which the connection was cut.
    broken_at: Option<String>,
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
            acts: BTreeMap::new(),
            told: None,
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
        let open = self.table.as_ref().and_then(|table| table.open.as_ref());
        let away = self.run.as_ref().is_some_and(|run| !run.here);
        match (&self.session, &self.table, open) {
            (None, _, _) => "`hello`".into(),
            (_, _, Some(turn)) if !away => format!("an `act` for turn {}, try {}", turn.turn, turn.attempt),
            _ if away => "`enrol`, as after every `welcome`".into(),
            (_, None, _) => "a `join`".into(),
            _ => "the match to continue".into(),
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
    async fn place(&mut self, wire: &mut ScriptSocket, at: String) -> Go<()> {
        let first = self.passed.insert(at.clone());
        if self.over() {
            // After the end of its match, a client may reconnect or not.
            return Ok(());
        }
        let unseen = at == before_turn(SECOND);
        let turn = at == format!("sent turn {SECOND}");
        let act = at == format!("got act {SECOND}");
        let close = match self.script.trouble {
            Disturbance::Cuts if first && !at.starts_with(BEFORE) => None,
            Disturbance::LostAct if act && !self.done => None,
            // Only the resync contains the turn.
            Disturbance::Resync | Disturbance::Forgotten if unseen && !self.done => None,
            Disturbance::Ended { .. } if turn && !self.done => None,
            Disturbance::Drain if act && !self.done => Some(close::RESTART),
            _ => {
                if self.has(Disturbance::Drain) && turn && first {
                    let draining = Draining { until_ms: 60_000, resume: true };
                    wire.send(None, &ServerMessage::Draining(draining), false).await?;
                }
                return Ok(());
            }
        };
        self.done = true;
        self.break_off(wire, at, close).await
    }

    async fn break_off(&mut self, wire: &mut ScriptSocket, at: String, close: Option<Close>) -> Go<()> {
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
            table.end(EndReason::Timeout, Some(table.seat));
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
                (None, ClientMessage::Ack(ack)) if self.told.is_none_or(|told| ack.seq > told) => {
                    let did = format!("acknowledged seq {}", ack.seq);
                    return Err(CheckFault::new(5, did, format!("at most {:?}", self.told.unwrap_or(0))).into());
                }
                (None, ClientMessage::Pong(pong)) if pong.nonce.is_some_and(|nonce| nonce != NONCE) => {
                    let did = format!("answered a `ping` with nonce {:?}", pong.nonce);
                    return Err(CheckFault::new(2, did, format!("nonce {NONCE}")).into());
                }
                (None, _) => {}
            }
        }
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
        let resumed = self.resumes(hello)?;
        self.sessions += 1;
        let key = format!("k_kit{}", self.sessions);
        let seen = hello.resume.as_ref().map(|resume| &resume.seen).filter(|_| resumed);
        let cursor = seen.and_then(|seen| {
            let table = self.table.as_ref()?;
            seen.get(&table.id)?.of(table.seat as u32, true)
        });
        if let (Some(seen), Some(told)) = (cursor, self.told.or(Some(0)))
            && seen > told
        {
            let did = format!("claimed to have seen seq {seen}{}", self.since_break());
            return Err(CheckFault::new(7, did, format!("at most {told}, the last that was sent")).into());
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
                    self.acts.clear();
                    self.told = None;
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
            matches: running.map(ScriptMatch::resume_entry).into_iter().collect(),
            joins: Vec::new(),
        };
        self.slow("welcome").await;
        self.send(wire, id, ServerMessage::Welcome(Box::new(welcome))).await?;
        if self.has(Disturbance::Extras) {
            wire.value(&json!({ "type": "x_news", "text": "no version of the protocol has this message" })).await?;
            wire.send(None, &ServerMessage::Ping(ServerPing { nonce: NONCE }), true).await?;
        }
        self.place(wire, "sent welcome".into()).await?;
        if seated { self.catch_up(wire, cursor).await } else { Ok(()) }
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

    /// After a `welcome`, sends the frames that the client has not seen, and then the pending turn.
    async fn catch_up(&mut self, wire: &mut ScriptSocket, seen: Option<u64>) -> Go<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let whole =
            matches!(self.script.trouble, Disturbance::Resync | Disturbance::Ended { resync: true }) && self.done;
        let Some(seen) = seen.filter(|_| !whole) else {
            let last = table.log.last().map(ScriptFrame::seq);
            let resync = table.resync();
            self.send(wire, None, resync).await?;
            self.told = last;
            return self.place(wire, "sent resync".into()).await;
        };
        let again = table.open.clone().filter(|turn| turn.seq <= seen);
        self.frames(wire, seen + 1).await?;
        if let Some(turn) = again {
            let at = format!("sent turn {} again", turn.turn);
            self.send(wire, None, ServerMessage::Turn(Box::new(turn))).await?;
            self.place(wire, at).await?;
        }
        Ok(())
    }

    /// Sends the frames of the match from sequence number `from` on.
    async fn frames(&mut self, wire: &mut ScriptSocket, from: u64) -> Go<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let id = table.id.clone();
        for frame in table.log.iter().filter(|frame| frame.seq() >= from).cloned().collect::<Vec<_>>() {
            let seq = frame.seq();
            let at = match frame {
                ScriptFrame::Unknown(seq) => {
                    let strange =
                        json!({ "type": "event", "seq": seq, "match": id, "kind": "x_weather", "sky": "grey" });
                    wire.value(&strange).await?;
                    format!("sent event {seq}")
                }
                ScriptFrame::Known(frame) => {
                    if let MatchFrame::Turn(turn) = &frame {
                        self.place(wire, before_turn(turn.turn)).await?;
                    }
                    let at = name_of(&frame);
                    // The turn is sent in its current state, since a move may have been refused meanwhile.
                    let frame = match (frame, self.table.as_ref().and_then(|table| table.open.clone())) {
                        (MatchFrame::Turn(old), Some(open)) if old.turn == open.turn => {
                            MatchFrame::Turn(Box::new(open))
                        }
                        (frame, _) => frame,
                    };
                    self.send(wire, None, frame.into()).await?;
                    at
                }
            };
            self.told = self.told.max(Some(seq));
            self.place(wire, at).await?;
        }
        Ok(())
    }

    async fn send(&mut self, wire: &mut ScriptSocket, re: Option<Id>, message: ServerMessage) -> Go<()> {
        Ok(wire.send(re, &message, self.has(Disturbance::Extras)).await?)
    }

    /// Delays the first reply of each kind if the script requires slow replies.
    async fn slow(&mut self, kind: &str) {
        if let Disturbance::Slow(pause) = self.script.trouble
            && self.passed.insert(format!("slow {kind}"))
        {
            tokio::time::sleep(pause).await;
        }
    }
}

/// Prefix of the names of script points that precede a turn. No message is sent at such a point.
const BEFORE: &str = "before turn ";

fn before_turn(turn: u32) -> String {
    format!("{BEFORE}{turn}")
}

fn name_of(frame: &MatchFrame) -> String {
    match frame {
        MatchFrame::MatchStart(_) => "sent match_start".into(),
        MatchFrame::Turn(turn) => format!("sent turn {}", turn.turn),
        MatchFrame::Event(event) => match &event.kind {
            EventKind::Move { .. } => format!("sent move, seq {}", event.seq),
            _ => format!("sent event {}", event.seq),
        },
        MatchFrame::MatchEnd(_) => "sent match_end".into(),
    }
}

/// Returns the `type` of a message.
fn kind(message: &ClientMessage) -> String {
    type_of(&serde_json::to_value(message).unwrap_or_default())
}

fn type_of(message: &serde_json::Value) -> String {
    message["type"].as_str().unwrap_or_default().to_owned()
}
