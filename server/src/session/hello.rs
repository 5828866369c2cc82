//! The handshake: `hello` first and in time, who it is, which session.

use std::sync::Arc;
use std::time::Duration;

use ludex_protocol::client::{AgentId, Hello, Resume};
use ludex_protocol::error::{Close, close};
use ludex_protocol::record::{AgentKind, RecordSeat};
use ludex_protocol::server::{Scope, Welcome};
use ludex_protocol::{ClientMessage, ErrorCode, Id, Refusal, VERSION};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::tungstenite::Message;

use super::replies::{Frame, Replies};
use super::sessions::Control;
use super::wire::{Broken, Io, Wire};
use super::{Identity, Out, Session, sessions};
use crate::auth::{self, AuthError, Grant, Scopes};
use crate::gym::Gym;
use crate::listen::Peer;
use crate::matches::Player;
use crate::matches::entrant::Entrant;
use crate::shared::Shared;

/// Messages that wait for the client in its mailbox; a mailbox that is full means that the client does not read.
const MAILBOX: usize = 1024;

/// How long an older connection may take to hand its session over.
const HAND_OVER: Duration = Duration::from_secs(5);

/// What a connection is made of once its client is welcome.
pub(super) struct Welcomed {
    pub session: Box<Session>,
    pub mailbox: mpsc::Receiver<Out>,
    pub control: mpsc::UnboundedReceiver<Control>,
    pub welcome: Frame,
}

/// A refusal: what is said, and how the connection ends.
struct Turned(Refusal, Close);

impl Turned {
    fn away(code: ErrorCode, message: impl Into<String>) -> Self {
        Turned(Refusal::new(code, message), close::PROTOCOL)
    }
}

/// Waits for `hello`, and makes or finds the session. On failure the client was told why.
///
/// # Errors
/// How the connection is to end.
pub(super) async fn greet<S: Io>(wire: &mut Wire<S>, peer: &Peer, shared: &Arc<Shared>) -> Result<Welcomed, Broken> {
    let by = Instant::now() + Duration::from_millis(shared.limits.hello_ms);
    let (id, turned) = match first(wire, shared, by).await? {
        Ok((id, hello)) => match welcome(id, *hello, wire, peer, shared).await {
            Ok(welcomed) => return Ok(welcomed),
            Err(turned) => (Some(id), turned),
        },
        Err((id, turned)) => (id, turned),
    };
    let Turned(error, close) = turned;
    shared.metrics.error(error.code);
    let bytes = wire.encoding.encode_server(id, &error.into()).unwrap_or_default();
    // Whoever does not read the answer gets no more than the time for a hello.
    let told = async {
        wire.room().await?;
        wire.push(Frame::new(wire.encoding, bytes).message)?;
        wire.flush().await
    };
    let _ = timeout_at(by, told).await;
    Err(Broken::Close(close))
}

type First = Result<(Id, Box<Hello>), (Option<Id>, Turned)>;

/// The first message, which must be `hello`.
async fn first<S: Io>(wire: &mut Wire<S>, shared: &Shared, by: Instant) -> Result<First, Broken> {
    let encoding = wire.encoding;
    let message = loop {
        match timeout_at(by, wire.next()).await {
            Err(_) => {
                let seconds = shared.limits.hello_ms as f64 / 1000.0;
                let why = format!("no hello came within {seconds} seconds");
                return Ok(Err((None, Turned::away(ErrorCode::HelloFirst, why))));
            }
            Ok(message) => match message? {
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                Message::Close(_) => return Err(Broken::Lost),
                message => break message,
            },
        }
    };
    let bytes = super::payload(&message, encoding).ok_or(Broken::Close(close::UNSUPPORTED))?;
    Ok(match encoding.decode_client(bytes, shared.limits.depth) {
        Ok((Some(id), ClientMessage::Hello(hello))) => Ok((id, hello)),
        Ok((id, other)) => {
            let why = format!("the first message is hello, not {}", super::kind(&other));
            Err((id, Turned::away(ErrorCode::HelloFirst, why)))
        }
        Err(rejected) => Err((rejected.id, Turned(*rejected.error, close::PROTOCOL))),
    })
}

async fn welcome<S>(
    id: Id,
    hello: Hello,
    wire: &Wire<S>,
    peer: &Peer,
    shared: &Arc<Shared>,
) -> Result<Welcomed, Turned> {
    if !hello.protocol.contains(&VERSION) {
        let why = format!("this server speaks protocol {VERSION}");
        let Turned(error, close) = Turned::away(ErrorCode::ProtocolVersion, why);
        return Err(Turned(error.path("protocol").got(hello.protocol.as_slice()).allowed(vec![VERSION]), close));
    }
    let token = hello.token.as_deref().or(peer.bearer.as_deref());
    let grant = auth::admit(&shared.store, token, peer.guests_welcome(), shared.epoch_ms()).await.map_err(refused)?;
    let asked = hello.agent.unwrap_or_default();
    let name = agent_name(&asked, &grant)?;

    let key = random("k_")?;
    let (mail, mailbox) = mpsc::channel(MAILBOX);
    let (say, control) = mpsc::unbounded_channel();
    let old = match &hello.resume {
        Some(r) => shared.sessions.take(&r.session, &r.key, grant.owner.as_deref(), HAND_OVER).await,
        None => None,
    };
    let mut resumed = old.is_some();
    let shown = hello.resume.as_ref().map(|r| hex::encode(sessions::hash(&r.key)));
    let session = match old {
        Some(mut session) => {
            session.who.scopes = grant.scopes;
            shared.sessions.hold(&session.who.session, &key, say);
            let seen = hello.resume.map(|r| r.seen).unwrap_or_default();
            session.player.resume(grant.scopes, mail, &seen);
            session
        }
        None => {
            let stored = hello.resume.as_ref().and_then(|r| stored(shared, r, grant.owner.as_deref()));
            // Two may come with the same key: one of them gets the session.
            let enter = |id: &str| shared.sessions.insert(id, &key, grant.owner.clone(), say.clone());
            let stored = stored.filter(|entrant| enter(&entrant.session));
            resumed = stored.is_some();
            let session = match &stored {
                Some(entrant) => entrant.session.clone(),
                None => {
                    let id = random("s_")?;
                    enter(&id);
                    id
                }
            };
            let name = stored.as_ref().map_or(name, |entrant| entrant.agent.clone());
            let who = Identity {
                session,
                agent: name,
                version: asked.version,
                kind: asked.kind.unwrap_or(AgentKind::Bot),
                scopes: grant.scopes,
                owner: grant.owner,
            };
            let hub = shared.hub.clone();
            let player = match stored {
                // From before a restart: the matches are there, environments and replies are not.
                Some(entrant) => {
                    let mut player = Player::of(hub, entrant, who.scopes, mail.clone());
                    player.resume(who.scopes, mail, &hello.resume.map(|r| r.seen).unwrap_or_default());
                    player
                }
                None => {
                    let player = Player::new(hub, who.clone(), mail);
                    if hello.reclaim {
                        player.reclaim().await;
                    }
                    player
                }
            };
            let name = if who.agent.is_empty() { "guest" } else { &who.agent };
            let seat = RecordSeat { name: name.to_owned(), version: who.version.clone(), kind: who.kind, spec: None };
            let gym = Gym::new(shared.means.clone(), seat);
            Box::new(Session { who, replies: Replies::new(shared.limits.replies_kept as usize), gym, player })
        }
    };
    session.player.set_key(hex::encode(sessions::hash(&key)), shown.filter(|_| resumed)).await;
    let mut limits = shared.limits.as_ref().clone();
    if !shared.is_limited(peer) {
        limits.requests_per_s = 0;
    }
    let welcome = Welcome {
        protocol: VERSION,
        server: ludex_play::PROGRAM.to_owned(),
        session: session.who.session.clone(),
        key,
        resumed,
        scopes: scopes(session.who.scopes),
        agent: session.who.agent.clone(),
        limits,
        envs: session.gym.handles(),
        matches: session.player.seats().await,
        joins: session.player.joins(),
    };
    let bytes = wire.encoding.encode_server(Some(id), &ludex_protocol::ServerMessage::Welcome(Box::new(welcome)));
    let bytes = bytes.map_err(|e| Turned::away(ErrorCode::Internal, e.to_string()))?;
    session.player.go_on();
    Ok(Welcomed { session, mailbox, control, welcome: Frame::new(wire.encoding, bytes) })
}

/// The session of before a restart that `resume` names, if its key opens it.
fn stored(shared: &Shared, resume: &Resume, owner: Option<&str>) -> Option<Arc<Entrant>> {
    let entrant = shared.hub.entrant(&resume.session)?;
    let opens = entrant.opens(&hex::encode(sessions::hash(&resume.key))) && entrant.owner.as_deref() == owner;
    opens.then_some(entrant)
}

fn refused(e: AuthError) -> Turned {
    match e {
        AuthError::Required | AuthError::Unknown | AuthError::Revoked | AuthError::Expired => {
            Turned(Refusal::new(ErrorCode::Unauthorized, e.to_string()).path("token"), close::UNAUTHORIZED)
        }
        AuthError::Name { ref name, ref allowed } => {
            let error = Refusal::new(ErrorCode::Forbidden, e.to_string()).path("agent.name");
            Turned(error.got(name.as_str()).allowed(allowed.clone()), close::PROTOCOL)
        }
        AuthError::BadName { ref got } => {
            let error = Refusal::new(ErrorCode::BadField, e.to_string()).path("agent.name");
            Turned(error.got(ludex_protocol::error::shortened(got)), close::PROTOCOL)
        }
        other => {
            tracing::error!("a token could not be checked: {other}");
            Turned(*crate::gym::internal(), close::GOING_AWAY)
        }
    }
}

/// The name to play under: the one asked for, else the token's own.
fn agent_name(asked: &AgentId, grant: &Grant) -> Result<String, Turned> {
    if asked.name.is_empty() {
        return Ok(grant.default_name().unwrap_or_default().to_owned());
    }
    grant.check_name(&asked.name).map_err(refused)?;
    Ok(asked.name.clone())
}

fn random(prefix: &str) -> Result<String, Turned> {
    let bytes = auth::random_bytes::<16>().map_err(|e| Turned::away(ErrorCode::Internal, e.to_string()))?;
    Ok(format!("{prefix}{}", hex::encode(bytes)))
}

fn scopes(granted: Scopes) -> Vec<Scope> {
    let all = [
        (Scopes::GYM, Scope::Gym),
        (Scopes::PLAY, Scope::Play),
        (Scopes::SPECTATE, Scope::Spectate),
        (Scopes::ADMIN, Scope::Admin),
    ];
    all.into_iter().filter(|(scope, _)| granted.has(*scope)).map(|(_, name)| name).collect()
}
