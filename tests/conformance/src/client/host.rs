//! The server of one script: it leads the client through the script and watches what it does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ludex_protocol::Move;
use ludex_protocol::client::{Act, ClientMessage, Hello, Join};
use ludex_protocol::error::{Close, ErrorCode, Refusal, close};
use ludex_protocol::record::Reason;
use ludex_protocol::server::{
    Draining, EventKind, GameEntry, Games, Joined, MatchFrame, Matches, Ping, Pong, Scope, ServerMessage, SpecReply,
    Welcome,
};
use ludex_protocol::{Id, Limits, VERSION};
use serde_json::json;
use tokio::net::TcpListener;

use super::program::{GAME, Program, TOKEN};
use super::script::{Script, Trouble};
use super::table::{Frame, Table};
use super::wire::{Said, Wire};
use crate::Fault;

/// How long a client may stay when its match is over. Many end by themselves, but none must.
const LINGERS: Duration = Duration::from_millis(1_500);

/// Nonce of the `ping` that is sent among the extras.
const NONCE: u64 = 77;

/// The own turn at which most troubles begin: the client has played, and will have to play again.
const SECOND: u32 = 1;

/// Why a connection is no longer served.
enum Stop {
    /// The client did something it may not do.
    Fault(Fault),
    /// The script broke the connection.
    Broken,
    /// The match is over, and the client is gone or has nothing to do.
    Done,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Fault(fault)
    }
}

type Go<T> = Result<T, Stop>;

/// A session as a server keeps it.
struct Session {
    id: String,
    key: String,
    /// The key before, good until the first message after `welcome`.
    old_key: Option<String>,
    /// The greatest id of a request.
    last_id: Id,
    requests: BTreeMap<Id, Request>,
}

struct Request {
    message: ClientMessage,
    reply: Option<ServerMessage>,
    /// The reply was sent.
    replied: bool,
    /// The connection on which the request came last.
    connection: u32,
}

/// The server of one script.
pub(super) struct Host<'a> {
    script: &'a Script,
    listener: TcpListener,
    program: Program,
    patience: Duration,
    connection: u32,
    session: Option<Session>,
    sessions: u32,
    table: Option<Table>,
    matches: u32,
    joins: u32,
    /// Acts of the match by (turn, try), with the request that carried them first.
    acts: BTreeMap<(u32, u32), (Move, Id)>,
    /// The last frame of the match that was sent, on any connection.
    told: Option<u64>,
    /// Places in the script that were passed.
    passed: BTreeSet<String>,
    /// The last place at which the connection was broken.
    broken_at: Option<String>,
    /// Whether the trouble is over.
    done: bool,
    /// Whether the client stays when its match is over; it need not end.
    stays: bool,
}

impl<'a> Host<'a> {
    pub fn new(script: &'a Script, listener: TcpListener, program: Program, patience: Duration) -> Self {
        Host {
            script,
            listener,
            program,
            patience,
            connection: 0,
            session: None,
            sessions: 0,
            table: None,
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

    /// Leads the client through the script.
    pub async fn run(mut self) -> Result<(), Fault> {
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
        self.table.as_ref().is_some_and(|table| table.over)
    }

    fn has(&self, trouble: Trouble) -> bool {
        self.script.trouble == trouble
    }

    /// Where the connection was broken, for the words of a fault.
    fn since_break(&self) -> String {
        self.broken_at.as_ref().map(|at| format!(" after the connection was cut ({at})")).unwrap_or_default()
    }

    // ---- connections ----------------------------------------------------------------------------------------------

    async fn arrival(&mut self) -> Go<Wire> {
        let expected = "a connection to LUDEX_URL";
        let back = self.since_break();
        let section = if self.broken_at.is_some() { 7 } else { 2 };
        tokio::select! {
            accepted = self.listener.accept() => {
                let (stream, _) = accepted.map_err(|e| Fault::new(0, format!("the kit itself failed: {e}"), expected))?;
                self.connection += 1;
                Ok(Wire::accept(stream).await?)
            }
            status = self.program.ended() => {
                let words = self.program.last_words(status).await;
                Err(Fault::new(section, format!("ended {words} without connecting{back}"), expected).into())
            }
            () = tokio::time::sleep(self.patience) => {
                let did = format!("did not connect within {} s{back}", self.patience.as_secs());
                Err(Fault::new(section, did, expected).into())
            }
        }
    }

    /// The next message of the client.
    async fn next(&mut self, wire: &mut Wire) -> Go<Said> {
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
                return Err(Fault::new(self.script.section, format!("was silent for {seconds} s"), waited).into());
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
            Some(status) => format!("ended {}", self.program.last_words(status).await),
            None => "closed the connection".to_owned(),
        };
        Err(Fault::new(self.script.section, did, waited).into())
    }

    fn waited_for(&self) -> String {
        let open = self.table.as_ref().and_then(|table| table.open.as_ref());
        match (&self.session, &self.table, open) {
            (None, _, _) => "`hello`".into(),
            (_, None, _) => "a `join`".into(),
            (_, _, Some(turn)) => format!("an `act` for turn {}, try {}", turn.turn, turn.attempt),
            _ => "the match to continue".into(),
        }
    }

    async fn goodbye(&mut self) -> Result<(), Fault> {
        if self.stays {
            return Ok(());
        }
        let Ok(status) = tokio::time::timeout(LINGERS, self.program.ended()).await else { return Ok(()) };
        if status.is_some_and(|status| status.success()) {
            return Ok(());
        }
        let did = format!("ended {} after its match", self.program.last_words(status).await);
        Err(Fault::new(self.script.section, did, "exit code 0"))
    }

    /// A place in the script: breaks the connection here, if the script says so and has not done it yet.
    async fn place(&mut self, wire: &mut Wire, at: String) -> Go<()> {
        let first = self.passed.insert(at.clone());
        if self.over() {
            // A client may come back or not when its match is over.
            return Ok(());
        }
        let unseen = at == before_turn(SECOND);
        let turn = at == format!("sent turn {SECOND}");
        let act = at == format!("got act {SECOND}");
        let close = match self.script.trouble {
            Trouble::Cuts if first && !at.starts_with(BEFORE) => None,
            Trouble::LostAct if act && !self.done => None,
            // Only the resync contains the turn.
            Trouble::Resync | Trouble::Forgotten if unseen && !self.done => None,
            Trouble::Ended { .. } if turn && !self.done => None,
            Trouble::Drain if act && !self.done => Some(close::RESTART),
            _ => {
                if self.has(Trouble::Drain) && turn && first {
                    let draining = Draining { until_ms: 60_000, resume: true };
                    wire.send(None, &ServerMessage::Draining(draining), false).await?;
                }
                return Ok(());
            }
        };
        self.done = true;
        self.break_off(wire, at, close).await
    }

    async fn break_off(&mut self, wire: &mut Wire, at: String, close: Option<Close>) -> Go<()> {
        let rest = match close {
            None => wire.cut().await?,
            Some(close) => wire.close(close).await?,
        };
        // Messages on their way are lost to the server, but the client has sent them.
        for (id, message) in rest {
            if let Some(id) = id {
                self.note(id, &message)?;
            }
        }
        if let (Trouble::Ended { .. }, Some(table)) = (self.script.trouble, &mut self.table) {
            table.end(Reason::Timeout, Some(table.seat));
        }
        self.broken_at = Some(at);
        Err(Stop::Broken)
    }

    // ---- one connection -------------------------------------------------------------------------------------------

    async fn serve(&mut self, wire: &mut Wire) -> Go<()> {
        let (id, message) = self.next(wire).await?;
        let ClientMessage::Hello(hello) = message else {
            return Err(
                Fault::new(2, format!("sent `{}` first", kind(&message)), "`hello` as the first message").into()
            );
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
                    return Err(Fault::new(5, did, format!("at most {:?}", self.told.unwrap_or(0))).into());
                }
                (None, ClientMessage::Pong(pong)) if pong.nonce.is_some_and(|nonce| nonce != NONCE) => {
                    let did = format!("answered a `ping` with nonce {:?}", pong.nonce);
                    return Err(Fault::new(2, did, format!("nonce {NONCE}")).into());
                }
                (None, _) => {}
            }
        }
    }

    async fn greet(&mut self, wire: &mut Wire, id: Option<Id>, hello: &Hello) -> Go<()> {
        if !hello.protocol.contains(&VERSION) {
            let did = format!("offered the protocols {:?}", hello.protocol);
            return Err(Fault::new(2, did, format!("{VERSION} among them")).into());
        }
        if wire.uri.contains(TOKEN) {
            return Err(Fault::new(2, "put its token into the URL", "the token in `hello` or `Authorization`").into());
        }
        let token = hello.token.as_ref().or(wire.bearer.as_ref());
        if let Some(token) = token.filter(|&token| token != TOKEN) {
            return Err(Fault::new(2, format!("showed the token {token:?}"), "the one of LUDEX_TOKEN").into());
        }
        if self.has(Trouble::Token) && token.is_none() {
            return Err(Fault::new(2, "showed no token", "the one of LUDEX_TOKEN").into());
        }
        match &hello.agent {
            None => return Err(Fault::new(2, "said hello without `agent`", "the name that it plays under").into()),
            Some(agent) if !ludex_protocol::is_agent_name(&agent.name) => {
                let did = format!("called itself {:?}", agent.name);
                return Err(Fault::new(2, did, "1 to 40 of A-Za-z0-9._-").into());
            }
            Some(_) => {}
        }
        let resumed = self.resumes(hello)?;
        self.sessions += 1;
        let key = format!("k_kit{}", self.sessions);
        let seen = hello.resume.as_ref().map(|resume| &resume.seen).filter(|_| resumed);
        let cursor = seen.and_then(|seen| seen.get(&self.table.as_ref()?.id).copied());
        if let (Some(seen), Some(told)) = (cursor, self.told.or(Some(0)))
            && seen > told
        {
            let did = format!("claimed to have seen seq {seen}{}", self.since_break());
            return Err(Fault::new(7, did, format!("at most {told}, the last that was sent")).into());
        }
        match &mut self.session {
            Some(session) if resumed => session.old_key = Some(std::mem::replace(&mut session.key, key.clone())),
            _ => {
                let id = format!("s_kit{}", self.sessions);
                let requests = BTreeMap::new();
                self.session = Some(Session { id, key: key.clone(), old_key: None, last_id: Id::MIN, requests });
                // A match that is not reclaimed is dropped.
                if !hello.reclaim {
                    self.table = None;
                    self.acts.clear();
                    self.told = None;
                }
            }
        }
        let running = self.table.as_ref().filter(|table| !table.over);
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
            matches: running.map(Table::held).into_iter().collect(),
            joins: Vec::new(),
        };
        self.slow("welcome").await;
        self.send(wire, id, ServerMessage::Welcome(Box::new(welcome))).await?;
        if self.has(Trouble::Extras) {
            wire.value(&json!({ "type": "x_news", "text": "no version of the protocol has this message" })).await?;
            wire.send(None, &ServerMessage::Ping(Ping { nonce: NONCE }), true).await?;
        }
        self.place(wire, "sent welcome".into()).await?;
        self.catch_up(wire, cursor).await
    }

    /// Whether the client resumes its session, with the right key.
    fn resumes(&self, hello: &Hello) -> Result<bool, Fault> {
        let expected = "`resume` with the session and the key of the last `welcome`";
        match (&hello.resume, &self.session) {
            (_, None) => Ok(false),
            (None, Some(_)) => {
                let did = format!("came back without `resume`{}", self.since_break());
                Err(Fault::new(7, did, expected))
            }
            (Some(resume), Some(session)) => {
                let key = resume.key == session.key || session.old_key.as_ref() == Some(&resume.key);
                if resume.session != session.id || !key {
                    let did = format!("came back with session {:?} and key {:?}", resume.session, resume.key);
                    return Err(Fault::new(7, did, format!("{:?} and {:?}", session.id, session.key)));
                }
                let forgotten = self.has(Trouble::Forgotten) && session.id == "s_kit1";
                Ok(!forgotten)
            }
        }
    }

    /// After a `welcome`: sends what the client has not seen, and the waiting turn.
    async fn catch_up(&mut self, wire: &mut Wire, seen: Option<u64>) -> Go<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let whole = matches!(self.script.trouble, Trouble::Resync | Trouble::Ended { resync: true }) && self.done;
        let Some(seen) = seen.filter(|_| !whole) else {
            let last = table.log.last().map(Frame::seq);
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

    /// Sends the frames of the match from a number on.
    async fn frames(&mut self, wire: &mut Wire, from: u64) -> Go<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let id = table.id.clone();
        for frame in table.log.iter().filter(|frame| frame.seq() >= from).cloned().collect::<Vec<_>>() {
            let seq = frame.seq();
            let at = match frame {
                Frame::Unknown(seq) => {
                    let strange =
                        json!({ "type": "event", "seq": seq, "match": id, "kind": "x_weather", "sky": "grey" });
                    wire.value(&strange).await?;
                    format!("sent event {seq}")
                }
                Frame::Known(frame) => {
                    if let MatchFrame::Turn(turn) = &frame {
                        self.place(wire, before_turn(turn.turn)).await?;
                    }
                    let at = name_of(&frame);
                    // A turn is sent as it is now: refusals may have come since.
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

    async fn send(&mut self, wire: &mut Wire, re: Option<Id>, message: ServerMessage) -> Go<()> {
        Ok(wire.send(re, &message, self.has(Trouble::Extras)).await?)
    }

    /// Delays the first reply of each kind, if the script says so.
    async fn slow(&mut self, kind: &str) {
        if let Trouble::Slow(pause) = self.script.trouble
            && self.passed.insert(format!("slow {kind}"))
        {
            tokio::time::sleep(pause).await;
        }
    }

    // ---- requests -------------------------------------------------------------------------------------------------

    /// Checks a request and keeps it. The result says whether it is new.
    fn note(&mut self, id: Id, message: &ClientMessage) -> Result<bool, Fault> {
        if let ClientMessage::Hello(_) = message {
            return Err(Fault::new(2, "said `hello` twice on one connection", "`hello` once"));
        }
        let Some(session) = &mut self.session else { return Ok(false) };
        let name = format!("request {id} (`{}`)", kind(message));
        if let Some(known) = session.requests.get_mut(&id) {
            if known.message != *message {
                let did = format!("sent another message under the id of {name}");
                return Err(Fault::new(1, did, "a new id for a new request"));
            }
            if known.connection == self.connection {
                let did = format!("sent {name} twice on one connection");
                return Err(Fault::new(1, did, "it once: exactly one reply comes"));
            }
            known.connection = self.connection;
            return Ok(false);
        }
        if id <= session.last_id {
            let did = format!("sent {name} after request {}", session.last_id);
            return Err(Fault::new(1, did, "ids that rise over all connections of a session"));
        }
        let due = session.requests.iter().find(|(_, known)| !known.replied && known.connection < self.connection);
        if let Some((due, known)) = due {
            let did = format!("sent {name} but not request {due} (`{}`) again", kind(&known.message));
            let expected = "every unanswered request again, with its old id, after a resume";
            return Err(Fault::new(7, format!("{did}{}", self.since_break()), expected));
        }
        session.last_id = id;
        let request = Request { message: message.clone(), reply: None, replied: false, connection: self.connection };
        session.requests.insert(id, request);
        if let ClientMessage::Act(act) = message {
            self.note_act(id, act)?;
        }
        Ok(true)
    }

    /// Checks that there is at most one move for each (turn, try), and only for the waiting turn.
    fn note_act(&mut self, id: Id, act: &Act) -> Result<(), Fault> {
        let Some(table) = &self.table else { return Ok(()) };
        let key = (act.turn, act.attempt);
        let (Some(given), true) = (act.chosen(), act.match_id == table.id) else {
            return Err(Fault::new(5, format!("acted in {:?}", act.match_id), format!("{:?}", table.id)));
        };
        let of = format!("turn {}, try {}", key.0, key.1);
        if let Some((first, before)) = self.acts.get(&key) {
            let same = *first == given || table.read(first).is_ok_and(|action| table.read(&given) == Ok(action));
            let held = self.session.as_ref().is_some_and(|session| session.requests.contains_key(before));
            if !same {
                let did = format!("acted twice for {of}: first {}, then {}", shown(first), shown(&given));
                return Err(Fault::new(5, did, "one move for each (turn, try), however often it is sent"));
            }
            if held && *before != id && !table.over {
                let did = format!("acted twice for {of}: in request {before} and in request {id}");
                return Err(Fault::new(5, did, "one act for each (turn, try)"));
            }
            return Ok(());
        }
        let open = table.open.as_ref().map(|turn| (turn.turn, turn.attempt));
        if open != Some(key) && !table.over {
            let expected = self.waited_for();
            return Err(Fault::new(5, format!("acted for {of}"), expected));
        }
        self.acts.insert(key, (given, id));
        Ok(())
    }

    async fn request(&mut self, wire: &mut Wire, id: Id, message: ClientMessage) -> Go<()> {
        self.note(id, &message)?;
        let at = match &message {
            ClientMessage::Act(act) => format!("got act {}", act.turn),
            other => format!("got {}", kind(other)),
        };
        let played = matches!(message, ClientMessage::Act(_) | ClientMessage::Join(_));
        let kept = self.session.as_ref().and_then(|session| session.requests.get(&id)?.reply.clone());
        let from = self.table.as_ref().map_or(0, |table| table.log.last().map_or(0, |frame| frame.seq() + 1));
        // Here the act is lost before the server has carried it out; elsewhere, only its reply is lost.
        if matches!(self.script.trouble, Trouble::LostAct | Trouble::Drain) && kept.is_none() {
            self.place(wire, at.clone()).await?;
        }
        let reply = match kept {
            Some(reply) => reply,
            None => self.carry_out(message)?,
        };
        if let Some(request) = self.session.as_mut().and_then(|session| session.requests.get_mut(&id)) {
            request.reply = Some(reply.clone());
        }
        if played {
            self.place(wire, at).await?;
        }
        let name = kind_of_reply(&reply);
        self.slow(&name).await;
        self.send(wire, Some(id), reply).await?;
        if let Some(request) = self.session.as_mut().and_then(|session| session.requests.get_mut(&id)) {
            request.replied = true;
        }
        if played {
            self.place(wire, format!("sent {name} to {id}")).await?;
        }
        self.frames(wire, from).await
    }

    fn carry_out(&mut self, message: ClientMessage) -> Go<ServerMessage> {
        Ok(match message {
            ClientMessage::Join(join) => self.join(&join)?,
            ClientMessage::Act(act) => self.act(&act)?,
            ClientMessage::Resign(_) if self.over() => over(),
            ClientMessage::Resign(_) => {
                return Err(Fault::new(self.script.section, "resigned", self.waited_for()).into());
            }
            ClientMessage::Ping(_) => ServerMessage::Pong(Pong { now_ms: 1 }),
            ClientMessage::Leave(_) => ServerMessage::Ok(Default::default()),
            ClientMessage::ListMatches(_) => ServerMessage::Matches(Matches::default()),
            ClientMessage::ListGames(_) => ServerMessage::Games(Games { games: games() }),
            ClientMessage::Describe(describe) => match ludex_env::load_with(&describe.game, &describe.params) {
                Ok(game) => ServerMessage::Spec(Box::new(SpecReply { spec: game.spec().clone() })),
                Err(error) => ServerMessage::Error(Box::new(error.into())),
            },
            other => {
                let text = format!("this server only plays {GAME}, and has no use for `{}`", kind(&other));
                Refusal::new(ErrorCode::Forbidden, text).into()
            }
        })
    }

    fn join(&mut self, join: &Join) -> Result<ServerMessage, Fault> {
        if self.table.as_ref().is_some_and(|table| !table.over) {
            return Err(Fault::new(5, "joined while its match runs", self.waited_for()));
        }
        self.joins += 1;
        let id = format!("j_kit{}", self.joins);
        let joined = ServerMessage::Joined(Joined { join: id.clone() });
        if self.over() {
            // It waits for another match, but none comes.
            return Ok(joined);
        }
        let game = join.game.split('(').next().unwrap_or_default();
        if game != GAME {
            return Err(Fault::new(
                5,
                format!("joined a match of {:?}", join.game),
                format!("{GAME:?}, as LUDEX_GAME says"),
            ));
        }
        let seat = join.seat.unwrap_or(u32::from(self.has(Trouble::Second))) as usize;
        self.matches += 1;
        let table = Table::new(join, &id, seat, self.matches, self.has(Trouble::Extras));
        let asked = format!("joined with {}", json!(join));
        self.table = Some(table.map_err(|why| Fault::new(5, asked.clone(), why))?);
        if seat > 1 {
            return Err(Fault::new(5, asked, "seat 0 or 1"));
        }
        Ok(joined)
    }

    fn act(&mut self, act: &Act) -> Go<ServerMessage> {
        let (refuses, legal) = match self.script.trouble {
            Trouble::Refusals { times, legal } => (act.turn == SECOND && act.attempt < times, legal),
            _ => (false, true),
        };
        let Some(table) = &mut self.table else {
            return Err(Fault::new(5, "acted without a match", "a `join` first").into());
        };
        if table.over {
            return Ok(over());
        }
        match act.chosen().ok_or_else(|| "an act has one move".to_owned()).and_then(|given| table.read(&given)) {
            Ok(_) if refuses => Ok(table.refuse("this is a check: the move is refused; act again".into(), legal)),
            Ok(action) => Ok(table.accept(action)),
            Err(why) => {
                let answer = table.refuse(why.clone(), true);
                if table.over {
                    let did = format!("was refused at every try, the last time {}: {why}", shown_act(act));
                    return Err(Fault::new(5, did, "a move of `legal`").into());
                }
                Ok(answer)
            }
        }
    }
}

fn over() -> ServerMessage {
    Refusal::new(ErrorCode::MatchOver, "the match is over").into()
}

fn games() -> Vec<GameEntry> {
    let spec = ludex_env::load(GAME).map(|game| game.spec().clone());
    let entry = spec.map(|spec| GameEntry {
        game: spec.game,
        title: spec.title,
        players: spec.player_range,
        dynamics: spec.dynamics,
        chance: spec.chance,
        information: spec.information,
        presets: Vec::new(),
        rules: spec.rules,
    });
    entry.into_iter().collect()
}

/// The places before turns; they are not messages.
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

/// The `type` of a message.
fn kind(message: &ClientMessage) -> String {
    type_of(&serde_json::to_value(message).unwrap_or_default())
}

fn kind_of_reply(message: &ServerMessage) -> String {
    type_of(&serde_json::to_value(message).unwrap_or_default())
}

fn type_of(message: &serde_json::Value) -> String {
    message["type"].as_str().unwrap_or_default().to_owned()
}

fn shown(given: &Move) -> String {
    ludex_protocol::error::shortened(&json!(given).to_string())
}

fn shown_act(act: &Act) -> String {
    act.chosen().as_ref().map_or_else(|| "nothing".to_owned(), shown)
}
