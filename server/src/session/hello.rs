//! Handshake. It checks that `hello` arrives first and in time, identifies the client, and creates or resumes a
//! session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ludex_gym::Gym;
use ludex_protocol::error::{Close, close};
use ludex_protocol::message::{AgentId, Hello, Scope, Welcome};
use ludex_protocol::record::{AgentKind, RecordSeat};
use ludex_protocol::{ClientMessage, ErrorCode, Id, Refusal, ServerMessage, VERSION};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::tungstenite::Message;

use super::gate::payload;
use super::match_client::MatchClient;
use super::wire::{Broken, Io, ServerSocket};
use crate::auth::{self, AuthError, Grant, Scopes};
use crate::peer::Peer;
use crate::server_state::ServerState;
use ludex_arena::frame::WireFrame;
use ludex_arena::mailbox::{Mailbox, MailboxItem};
use ludex_arena::sessions::reply_cache::Replies;
use ludex_arena::sessions::{
    ClientInfo, Control, ResumedSession, Session, SessionConnection, SessionData, StillMoving,
};

/// Capacity of a mailbox in messages. A mailbox becomes full if the client does not read.
const MAILBOX: usize = 1024;

/// Maximum size in bytes of an agent's version and model, which are in every record of the agent.
const TEXT_BYTES: usize = 200;

/// Maximum time for an older connection to hand over the session to a newer one.
const HAND_OVER: Duration = Duration::from_secs(5);

/// Time in milliseconds after which a refused client may try again.
const AGAIN_MS: u32 = 1_000;

/// State of a connection after the handshake.
pub(super) struct Welcomed {
    pub session: Arc<Session>,
    pub work: Box<SessionData>,
    pub player: MatchClient,
    pub scopes: Scopes,
    pub mailbox: mpsc::Receiver<MailboxItem>,
    pub control: mpsc::UnboundedReceiver<Control>,
    pub welcome: WireFrame,
}

/// Refusal to send to the client, and the code with which to close the connection.
struct HelloRefusal(Refusal, Close);

impl HelloRefusal {
    /// Refuses a client that soon tries again.
    fn later(why: &str) -> Self {
        HelloRefusal(Refusal::new(ErrorCode::Limit, why).after_ms(AGAIN_MS), close::RATE)
    }

    fn of(code: ErrorCode, message: impl Into<String>) -> Self {
        HelloRefusal(Refusal::new(code, message), close::PROTOCOL)
    }
}

/// Waits for `hello`, then creates or resumes a session of the cell number `cell`. If this fails, the client has already received the reason.
///
/// # Errors
///
/// A lost connection, or the code with which to close the connection.
pub(super) async fn greet<S: Io>(
    wire: &mut ServerSocket<S>,
    peer: &Peer,
    shared: &Arc<ServerState>,
    cell: u32,
) -> Result<Welcomed, Broken> {
    let time = peer.hello_time(&shared.limits);
    let by = Instant::now() + time;
    let (id, refused) = match first(wire, shared, time, by).await? {
        Ok((id, hello)) => match welcome(id, *hello, wire, peer, shared, cell).await {
            Ok(welcomed) => return Ok(welcomed),
            Err(refused) => (Some(id), refused),
        },
        Err((id, refused)) => (id, refused),
    };
    let HelloRefusal(error, close) = refused;
    let code = error.code.as_str();
    tracing::info!(ip = %peer.ip, code, why = error.message, "hello rejected");
    shared.metrics.error(error.code);
    shared.metrics.count_refusal("hello", code);
    if let Ok(bytes) = wire.encoding.encode_server(id, &error.into()) {
        // The client may not read the reply, so sending it has the same time limit as `hello`.
        let told = async {
            wire.room().await?;
            wire.push(WireFrame::new(wire.encoding, bytes).message)?;
            wire.flush().await
        };
        let _ = timeout_at(by, told).await;
    }
    Err(Broken::Close(close))
}

type First = Result<(Id, Box<Hello>), (Option<Id>, HelloRefusal)>;

/// Reads the first message, which must be `hello`.
async fn first<S: Io>(
    wire: &mut ServerSocket<S>,
    shared: &ServerState,
    time: Duration,
    by: Instant,
) -> Result<First, Broken> {
    let encoding = wire.encoding;
    let message = loop {
        match timeout_at(by, wire.next()).await {
            Err(_) => {
                let seconds = time.as_secs_f64();
                let why = format!("expected hello within {seconds} seconds");
                return Ok(Err((None, HelloRefusal::of(ErrorCode::HelloFirst, why))));
            }
            Ok(message) => match message? {
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                Message::Close(_) => return Err(Broken::Lost),
                message => break message,
            },
        }
    };
    let bytes = payload(&message, encoding).ok_or(Broken::Close(close::UNSUPPORTED))?;
    Ok(match encoding.read_client(bytes, &shared.limits) {
        Ok((Some(id), ClientMessage::Hello(hello))) => {
            shared.metrics.request("hello");
            Ok((id, hello))
        }
        Ok((id, other)) => {
            let why = format!("expected hello as the first message, got {}", other.kind());
            Err((id, HelloRefusal::of(ErrorCode::HelloFirst, why)))
        }
        Err(rejected) => Err((rejected.id, HelloRefusal(*rejected.error, close::PROTOCOL))),
    })
}

async fn welcome<S: Io>(
    id: Id,
    hello: Hello,
    wire: &mut ServerSocket<S>,
    peer: &Peer,
    shared: &Arc<ServerState>,
    cell: u32,
) -> Result<Welcomed, HelloRefusal> {
    check_cell(&hello, shared, cell)?;
    let (about, grant) = who(&hello, peer, shared).await?;
    let scopes = grant.scopes;
    if !peer.entry.welcome(grant.token.is_some()) {
        let why = "limit of connections without a token reached; try again later";
        return Err(HelloRefusal(Refusal::new(ErrorCode::Limit, why), close::RATE));
    }
    check_lease(shared)?;
    let found = find(&hello, &about, shared).await?;
    let resumed = found.is_some();
    wire.welcome(Duration::from_millis(shared.limits.write_stall_ms));
    let (session, work) = match found {
        Some(ResumedSession { session, work }) => {
            shared.hub.recall_for(&session.id).await;
            (session, work)
        }
        None => {
            let session = shared.hub.sessions.create(shared.hub.cell().id('s', &random_hex()?), about);
            let owner = session.about.owner.as_deref();
            tracing::info!(session = %session.id, agent = session.name(), owner, ip = %peer.ip, "session started");
            (session, None)
        }
    };
    // After a restart, a session has no environments and no cached replies.
    let mut work = work.unwrap_or_else(|| new_work(&session, shared));
    // The limits may have changed since the session was parked.
    work.replies.resize(shared.limits.replies_kept as usize);
    work.gym.set_context(shared.gym.clone());

    let key = format!("k_{}", random_hex()?);
    let (mail, mailbox) = mpsc::channel(MAILBOX);
    let (say, mut control) = mpsc::unbounded_channel();
    let (mail, generation) = (Mailbox::new(mail, wire.encoding), shared.hub.sessions.generation());
    let player = MatchClient::new(
        shared.runs.clone(),
        session.clone(),
        scopes.contains(Scopes::ADMIN),
        mail.clone(),
        generation,
    );
    let reclaims = !resumed && hello.reclaim;
    if reclaims {
        player.reclaim().await;
    }
    // A client that resumes after a crash shows the key of its last welcome.
    session.renew_key(&key);
    if !shared.hub.keep_session(&session, resumed || player.at_stake()).await && player.at_stake() {
        park(shared, session, work, &mut control, shared.hub.grace());
        return Err(HelloRefusal::later("the store cannot be written; try again"));
    }
    // From here on, the client is present and its clocks run. A slow commit must not use their time.
    session.hold(&key, SessionConnection { control: say, mailbox: mail, generation, token: grant.token });
    player.catch_up(&hello.resume.map_or_else(BTreeMap::new, |r| r.seen), reclaims);

    let mut limits = shared.limits.as_ref().clone();
    if !shared.is_limited(peer) {
        limits.requests_per_s = 0;
    }
    let welcome = Welcome {
        protocol: VERSION,
        server: ludex_play::PROGRAM.to_owned(),
        session: session.id.clone(),
        key,
        resumed,
        scopes: names(scopes),
        agent: session.about.agent.clone(),
        limits,
        envs: work.gym.handles(),
        matches: player.seats().await,
        joins: player.joins(),
    };
    // A paused process may have lost the store meanwhile.
    check_lease(shared)?;
    let bytes = wire.encoding.encode_server(Some(id), &ServerMessage::Welcome(Box::new(welcome)));
    let bytes = bytes.map_err(|e| HelloRefusal::of(ErrorCode::Internal, e.to_string()))?;
    player.online();
    let welcome = WireFrame::new(wire.encoding, bytes);
    Ok(Welcomed { session, work, player, scopes, mailbox, control, welcome })
}

/// Checks `hello` and returns the client's identity and permissions.
async fn who(hello: &Hello, peer: &Peer, shared: &ServerState) -> Result<(ClientInfo, Grant), HelloRefusal> {
    if !hello.protocol.contains(&VERSION) {
        let error = Refusal::new(ErrorCode::ProtocolVersion, format!("expected protocol version {VERSION}"));
        let error = error.path("protocol").got(hello.protocol.as_slice()).allowed(vec![VERSION]);
        return Err(HelloRefusal(error, close::PROTOCOL));
    }
    let token = hello.token.as_deref().or(peer.bearer.as_deref());
    let grant = auth::admit(&shared.store, token, shared.welcomes_guests(peer), shared.epoch_ms())
        .await
        .map_err(not_admitted)?;
    let asked = hello.agent.clone().unwrap_or_default();
    let agent = agent_name(&asked, &grant)?;
    for (path, text) in [("agent.version", &asked.version), ("agent.model", &asked.model)] {
        if let Some(text) = text.as_ref().filter(|text| text.len() > TEXT_BYTES) {
            let message = format!("{path}: expected at most {TEXT_BYTES} bytes, got {}", text.len());
            let error = Refusal::new(ErrorCode::TooLarge, message).path(path).got(text.len()).allowed(TEXT_BYTES);
            return Err(HelloRefusal(error, close::PROTOCOL));
        }
    }
    let kind = asked.kind.unwrap_or(AgentKind::Bot);
    let AgentId { version, model, price, .. } = asked;
    let (owner, registered) = (grant.owner.clone(), grant.scopes.contains(Scopes::REGISTERED));
    let invited = grant.invited.clone();
    Ok((ClientInfo { agent, version, kind, model, price, owner, registered, invited }, grant))
}

/// Returns the session that the client wants to resume, if its resume key matches.
async fn find(hello: &Hello, about: &ClientInfo, shared: &ServerState) -> Result<Option<ResumedSession>, HelloRefusal> {
    let Some(resume) = &hello.resume else { return Ok(None) };
    let taken = shared.hub.sessions.take(&resume.session, &resume.key, about.owner.as_deref(), HAND_OVER).await;
    taken.map_err(|StillMoving| {
        // A new session in its place would lose the seats of the old one.
        HelloRefusal::later("an earlier connection has not handed over the session yet; try again")
    })
}

/// Refuses clients of another cell: of the session to resume, or else of the cell number `cell`.
fn check_cell(hello: &Hello, shared: &ServerState, cell: u32) -> Result<(), HelloRefusal> {
    let own = shared.hub.cell();
    let wanted = hello.resume.as_ref().map_or(cell, |resume| own.of_id(&resume.session));
    shared.hub.check_cell(wanted).map_err(|refusal| {
        let close = if refusal.code == ErrorCode::Moved { close::MOVED } else { close::RATE };
        HelloRefusal(*refusal, close)
    })
}

/// Refuses clients while another server may own the store, and so the sessions in it.
fn check_lease(shared: &ServerState) -> Result<(), HelloRefusal> {
    if shared.store.holds_lease() {
        return Ok(());
    }
    Err(HelloRefusal::later("the lease of the store has expired; try again"))
}

/// Parks the session. Its client may resume the session within `time`.
pub(super) fn park(
    shared: &ServerState,
    session: Arc<Session>,
    work: Box<SessionData>,
    control: &mut mpsc::UnboundedReceiver<Control>,
    time: Duration,
) {
    // While no client is connected, no one waits for the searches. The next connection resumes them.
    work.gym.set_suspended(true);
    if let Some(number) = shared.hub.sessions.park(&session, work, control) {
        shared.hub.wait_for(session, number, time);
    }
}

/// Creates the data of a new session.
fn new_work(session: &Session, shared: &ServerState) -> Box<SessionData> {
    let about = &session.about;
    let name = if about.agent.is_empty() { "guest" } else { &about.agent };
    let seat = RecordSeat {
        name: name.to_owned(),
        version: about.version.clone(),
        kind: about.kind,
        model: about.model.clone(),
        spec: None,
    };
    let gym = Gym::new(shared.gym.clone(), seat, session.account.clone());
    Box::new(SessionData { replies: Replies::new(shared.limits.replies_kept as usize), gym })
}

fn not_admitted(e: AuthError) -> HelloRefusal {
    match e {
        AuthError::Required | AuthError::Unknown | AuthError::Revoked | AuthError::Expired | AuthError::Invitation => {
            HelloRefusal(Refusal::new(ErrorCode::Unauthorized, e.to_string()).path("token"), close::UNAUTHORIZED)
        }
        AuthError::Suspended { ref owner } => {
            let error = Refusal::new(ErrorCode::Forbidden, e.to_string()).path("token").got(owner.as_str());
            HelloRefusal(error, close::UNAUTHORIZED)
        }
        AuthError::Name { ref name, ref allowed } => {
            let error = Refusal::new(ErrorCode::Forbidden, e.to_string()).path("agent.name");
            HelloRefusal(error.got(name.as_str()).allowed(allowed.clone()), close::PROTOCOL)
        }
        AuthError::BadName { ref got } => {
            let error = Refusal::new(ErrorCode::BadField, e.to_string()).path("agent.name");
            HelloRefusal(error.got(ludex_protocol::error::truncate_text(got)), close::PROTOCOL)
        }
        other => {
            tracing::error!(error = %other, "token check failed");
            HelloRefusal(*ludex_gym::compute::internal(), close::GOING_AWAY)
        }
    }
}

/// Returns the agent name: the requested name or, without one, the default name of the token.
fn agent_name(asked: &AgentId, grant: &Grant) -> Result<String, HelloRefusal> {
    if asked.name.is_empty() {
        return Ok(grant.default_name().unwrap_or_default().to_owned());
    }
    grant.check_name(&asked.name).map_err(not_admitted)?;
    Ok(asked.name.clone())
}

fn random_hex() -> Result<String, HelloRefusal> {
    let bytes = auth::random_bytes::<16>().map_err(|e| HelloRefusal::of(ErrorCode::Internal, e.to_string()))?;
    Ok(hex::encode(bytes))
}

fn names(granted: Scopes) -> Vec<Scope> {
    let all = [Scope::Gym, Scope::Play, Scope::Spectate, Scope::Admin];
    all.into_iter().filter(|&scope| granted.contains(auth::scopes_of(scope))).collect()
}
