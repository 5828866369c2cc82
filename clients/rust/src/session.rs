//! Background task that owns the connection. The task numbers requests, matches replies to requests, and reconnects
//! after a lost connection.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ludex_protocol::error::{self, close};
use ludex_protocol::message::{Hello, Pong, ResumeSession, SeenFrames, Welcome};
use ludex_protocol::{ClientMessage, Id, ServerMessage, VERSION};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::error::Error;
use crate::options::Options;
use crate::wire::{ClientSocket, ConnectError, Incoming};

/// Time without frames after which the client sends a ping. After the same time without a reply, the connection counts
/// as lost.
const SILENCE: Duration = Duration::from_secs(30);

/// First and maximum pause between attempts to connect. The pause doubles after each attempt.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Number of ended matches whose last `seq` is still listed in a resume request.
const ENDED: usize = 100;

/// A command from a client handle to the background task.
pub(crate) enum Command {
    /// Request to send. If the request has a session number, it is sent only if that session is still current.
    Request(ClientMessage, ReplySender, Option<u64>),
    /// Message to send that has no reply.
    Send(ClientMessage),
    /// Request to close the connection and to confirm the close.
    Close(oneshot::Sender<()>),
}

/// Sending half of the channel that delivers the reply to the caller of a request.
pub(crate) type ReplySender = oneshot::Sender<Result<ServerMessage, Error>>;

/// An event of a connection; replies are not events.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The client has reconnected. If `resumed` is true, the session continues and nothing was lost. Otherwise the old
    /// session and its environments are lost; `matches` and `joins` list what was reclaimed.
    Connected(Box<Welcome>),
    /// The server sent an event: `queued`, `match_start`, `turn`, `event`, `match_end`, `resync`, `draining` or
    /// `error`. A `turn` that has no reply yet may arrive twice.
    Message(ServerMessage),
    /// The client could not reconnect. This is the last event.
    Gone(Error),
}

/// A request without a reply.
struct PendingRequest {
    frame: Vec<u8>,
    reply: ReplySender,
}

/// A numbered stream of messages: match id and seat, without a seat for a spectator.
type FrameStream = (String, Option<u32>);

pub(crate) struct ClientSession {
    url: String,
    /// URL of the cell that has the session, once the server has named it.
    cell: Option<String>,
    /// True once the session has environments, joins or seats, so that it stays in its cell.
    is_used: bool,
    options: Options,
    commands: mpsc::Receiver<Command>,
    events: mpsc::UnboundedSender<Event>,
    welcome: Box<Welcome>,
    seen: BTreeMap<FrameStream, u64>,
    ended: VecDeque<FrameStream>,
    last_id: Id,
    /// Requests that have no reply yet, by id. Ids increase in the order of the calls.
    pending: BTreeMap<Id, PendingRequest>,
    /// Id of the last request that was sent on this connection.
    sent: Id,
    in_flight: usize,
    /// Number of lost sessions.
    lost: u64,
    last_frame: Instant,
    /// True if the client has sent a ping since the last frame.
    has_pinged: bool,
}

/// Reason why a connection ended.
enum Disconnect {
    /// The caller closed the client.
    Requested(Option<oneshot::Sender<()>>),
    /// The connection was lost for this reason.
    Lost(String),
    /// The server asks the client to wait before reconnecting.
    Later(String),
    /// The server ended the session because it was idle; a new session may start.
    Idle,
    /// The cell at this URL serves the request, in a new session.
    Moved(String),
    /// The client cannot reconnect.
    Over(Error),
}

impl ClientSession {
    /// Connects. The caller must run the returned task.
    pub async fn connect(
        url: &str,
        options: Options,
        commands: mpsc::Receiver<Command>,
        events: mpsc::UnboundedSender<Event>,
    ) -> Result<(ClientSession, ClientSocket), Error> {
        let url = &address(url);
        let hello = hello(&options, None);
        let (wire, welcome) = ClientSocket::open(url, &options, hello).await.map_err(|failed| failed.error)?;
        let session = ClientSession {
            url: url.to_owned(),
            cell: None,
            is_used: false,
            options,
            commands,
            events,
            welcome,
            seen: BTreeMap::new(),
            ended: VecDeque::new(),
            last_id: 0,
            pending: BTreeMap::new(),
            sent: 0,
            in_flight: 0,
            lost: 0,
            last_frame: Instant::now(),
            has_pinged: false,
        };
        Ok((session, wire))
    }

    /// Returns the first `welcome`.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Runs until the caller closes the client or the server cannot be reached.
    pub async fn run(mut self, mut wire: ClientSocket) {
        let error = loop {
            let end = self.serve(&mut wire).await;
            if let Disconnect::Requested(_) = end {
                // Do not wait long for the server's close frame.
                let _ = tokio::time::timeout(Duration::from_secs(2), wire.close()).await;
            }
            // The server must see that the old connection is closed before the client reconnects.
            drop(wire);
            let reconnected = match end {
                Disconnect::Requested(closing) => {
                    let _ = closing.map(|closing| closing.send(()));
                    break Error::ClientClosed;
                }
                Disconnect::Over(error) => break error,
                Disconnect::Lost(why) => self.reconnect(&why, PAUSES.0, Next::Resume).await,
                Disconnect::Later(why) => self.reconnect(&why, PAUSES.1, Next::Resume).await,
                Disconnect::Idle => self.reconnect("idle", PAUSES.0, Next::Start).await,
                Disconnect::Moved(at) => {
                    self.cell = Some(at);
                    self.reconnect("moved", PAUSES.0, Next::Move).await
                }
            };
            wire = match reconnected {
                Ok(wire) => wire,
                Err(error) => break error,
            };
        };
        for (_, pending) in std::mem::take(&mut self.pending) {
            let _ = pending.reply.send(Err(error.clone()));
        }
        self.commands.close();
        while let Some(command) = self.commands.recv().await {
            if let Command::Request(_, reply, _) = command {
                let _ = reply.send(Err(error.clone()));
            }
        }
        if error != Error::ClientClosed {
            let _ = self.events.send(Event::Gone(error));
        }
    }

    /// Serves one connection, from `welcome` to its end.
    async fn serve(&mut self, wire: &mut ClientSocket) -> Disconnect {
        loop {
            self.pump(wire);
            let silence = self.last_frame + if self.has_pinged { 2 * SILENCE } else { SILENCE };
            let end = tokio::select! {
                command = self.commands.recv() => self.command(wire, command),
                incoming = wire.next() => self.take(wire, incoming),
                () = tokio::time::sleep_until(silence) => self.silent(wire),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    fn silent(&mut self, wire: &mut ClientSocket) -> Option<Disconnect> {
        if self.has_pinged {
            return Some(Disconnect::Lost("the server sent no frame in time".into()));
        }
        wire.ping();
        self.has_pinged = true;
        None
    }

    fn command(&mut self, wire: &mut ClientSocket, command: Option<Command>) -> Option<Disconnect> {
        match command {
            None => Some(Disconnect::Requested(None)),
            Some(Command::Close(closing)) => Some(Disconnect::Requested(Some(closing))),
            Some(Command::Send(message)) => {
                match self.options.encoding.encode_client(None, &message) {
                    Ok(frame) => wire.send(frame),
                    // No caller waits for a result. The two messages without a reply can always be encoded.
                    Err(_) => debug_assert!(false, "{message:?} cannot be encoded"),
                }
                None
            }
            Some(Command::Request(_, reply, Some(meant))) if meant != self.lost => {
                let _ = reply.send(Err(Error::SessionLost));
                None
            }
            Some(Command::Request(message, reply, _)) => {
                let id = self.last_id + 1;
                match self.options.encoding.encode_client(Some(id), &message) {
                    Ok(frame) => {
                        self.last_id = id;
                        self.pending.insert(id, PendingRequest { frame, reply });
                    }
                    Err(e) => drop(reply.send(Err(e.into()))),
                }
                None
            }
        }
    }

    /// Sends pending requests, up to the limit of the server's window.
    fn pump(&mut self, wire: &mut ClientSocket) {
        let window = self.welcome.limits.window.max(1) as usize;
        let room = window.saturating_sub(self.in_flight);
        for (&id, pending) in self.pending.range(self.sent + 1..).take(room) {
            wire.send(pending.frame.clone());
            self.sent = id;
            self.in_flight += 1;
        }
    }

    fn take(&mut self, wire: &mut ClientSocket, incoming: Incoming) -> Option<Disconnect> {
        (self.last_frame, self.has_pinged) = (Instant::now(), false);
        match incoming {
            Incoming::Message(Some(re), ServerMessage::Error(error)) => match &error.moved {
                // The request stays without a reply, and is sent to its cell.
                Some(moved) if !self.is_used && self.pending.contains_key(&re) => {
                    return Some(Disconnect::Moved(moved.at.clone()));
                }
                _ => self.reply(re, Err(Error::Refused(error))),
            },
            Incoming::Message(Some(re), message) => {
                let holds =
                    matches!(message, ServerMessage::Opened(_) | ServerMessage::Joined(_) | ServerMessage::Enrolled(_));
                self.is_used |= holds;
                self.reply(re, Ok(message));
            }
            Incoming::Message(None, ServerMessage::Ping(ping)) => {
                return self.command(wire, Some(Command::Send(ClientMessage::Pong(Pong { nonce: Some(ping.nonce) }))));
            }
            Incoming::Message(None, message) => self.event(message),
            Incoming::Unread(rejected, position) => match (rejected.id, position) {
                (Some(re), _) => self.reply(re, Err(Error::Decode(Box::new(rejected)))),
                // A newer server may send unknown events, which count as seen too.
                (None, Some(position)) => self.record_seq((position.match_id, position.viewer), position.seq),
                (None, None) => {}
            },
            Incoming::Alive => {}
            Incoming::Lost(why) => return Some(Disconnect::Lost(why)),
            Incoming::Closed { code, reason } => {
                return Some(match close::of(code) {
                    Some(close::IDLE) => Disconnect::Idle,
                    Some(close) => match close.resume {
                        error::ResumeRule::Yes => Disconnect::Lost(close.name.to_owned()),
                        error::ResumeRule::Later => Disconnect::Later(close.name.to_owned()),
                        error::ResumeRule::No => Disconnect::Over(Error::Closed { code, reason }),
                    },
                    None => Disconnect::Lost(format!("the server closed the connection with code {code}")),
                });
            }
        }
        None
    }

    fn reply(&mut self, re: Id, reply: Result<ServerMessage, Error>) {
        // A second reply to the same request is dropped.
        if let Some(pending) = self.pending.remove(&re) {
            self.in_flight = self.in_flight.saturating_sub(1);
            let _ = pending.reply.send(reply);
        }
    }

    fn event(&mut self, message: ServerMessage) {
        let news = match &message {
            ServerMessage::MatchStart(m) => Some((&m.match_id, m.seat, m.seq)),
            ServerMessage::Turn(m) => Some((&m.match_id, Some(m.seat), m.seq)),
            ServerMessage::Event(m) => Some((&m.match_id, m.viewer, m.seq)),
            ServerMessage::MatchEnd(m) => Some((&m.match_id, m.seat, m.seq)),
            _ => None,
        };
        match (news.map(|(id, seat, seq)| ((id.clone(), seat), seq)), &message) {
            (Some((of, seq)), _) => {
                let before = self.seen.get(&of).copied();
                // Only a turn without a reply may arrive twice.
                if before.is_some_and(|before| seq <= before) && !matches!(message, ServerMessage::Turn(_)) {
                    return;
                }
                self.record_seq(of.clone(), seq);
                if matches!(message, ServerMessage::MatchEnd(_)) {
                    self.forget_later(of);
                }
            }
            (None, ServerMessage::Resync(resync)) => {
                let of = (resync.match_id.clone(), resync.seat);
                self.seen.insert(of.clone(), resync.seq);
                if resync.end.is_some() {
                    self.forget_later(of);
                }
            }
            (None, _) => {}
        }
        let _ = self.events.send(Event::Message(message));
    }

    fn record_seq(&mut self, of: FrameStream, seq: u64) {
        let seen = self.seen.entry(of).or_insert(seq);
        *seen = seq.max(*seen);
    }

    /// Returns the last processed numbers of all seats, for `hello`.
    fn seen_frames(&self) -> BTreeMap<String, SeenFrames> {
        let mut all: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for ((id, seat), seq) in &self.seen {
            if let Some(seat) = seat {
                all.entry(id.clone()).or_default().insert(seat.to_string(), *seq);
            }
        }
        all.into_iter().map(|(id, seats)| (id, SeenFrames::Seats(seats))).collect()
    }

    fn forget_later(&mut self, of: FrameStream) {
        self.ended.push_back(of);
        if self.ended.len() > ENDED {
            self.ended.pop_front().map(|oldest| self.seen.remove(&oldest));
        }
    }

    /// Tries to reconnect for the time `patience`. A cell that cannot be reached is looked up at the first URL.
    async fn reconnect(&mut self, why: &str, first: Duration, next: Next) -> Result<ClientSocket, Error> {
        let patience = self.options.patience.unwrap_or(Duration::from_millis(self.welcome.limits.grace_ms));
        let began = Instant::now();
        let mut pause = first;
        loop {
            if self.commands.is_closed() && self.commands.is_empty() {
                return Err(Error::ClientClosed);
            }
            let resume = (next == Next::Resume).then(|| ResumeSession {
                session: self.welcome.session.clone(),
                key: self.welcome.key.clone(),
                seen: self.seen_frames(),
            });
            let mut wait = pause;
            let url = self.cell.as_ref().unwrap_or(&self.url);
            match ClientSocket::open(url, &self.options, hello(&self.options, resume)).await {
                Ok((wire, welcome)) => {
                    self.adopt(welcome, next);
                    return Ok(wire);
                }
                Err(ConnectError { error: Error::Refused(refusal), .. }) if refusal.moved.is_some() => {
                    self.cell = refusal.moved.map(|moved| moved.at);
                }
                Err(ConnectError { error, retry: false, .. }) => return Err(error),
                Err(ConnectError { after_ms, .. }) => {
                    // Its next owner may have another URL.
                    self.cell = None;
                    wait = wait.max(Duration::from_millis(after_ms.unwrap_or(0).into()));
                }
            }
            if began.elapsed() + wait > patience {
                let seconds = began.elapsed().as_secs();
                return Err(Error::Lost { url: self.url.clone(), why: why.to_owned(), seconds });
            }
            tokio::time::sleep(wait).await;
            pause = (2 * pause).min(PAUSES.1);
        }
    }

    fn adopt(&mut self, welcome: Box<Welcome>, next: Next) {
        (self.last_frame, self.has_pinged) = (Instant::now(), false);
        // Requests without a reply are sent again, with their old ids.
        self.sent = 0;
        self.in_flight = 0;
        if !welcome.resumed && next != Next::Move {
            self.lost += 1;
            self.is_used = false;
            self.seen.clear();
            self.ended.clear();
            for (_, pending) in std::mem::take(&mut self.pending) {
                let _ = pending.reply.send(Err(Error::SessionLost));
            }
        }
        self.welcome = welcome.clone();
        // For the caller, a session that moves is the first one.
        if next != Next::Move {
            let _ = self.events.send(Event::Connected(welcome));
        }
    }
}

/// Session of the next connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The session of the lost connection.
    Resume,
    /// A new session, because the server has ended the old one.
    Start,
    /// A new session in another cell. The old one had nothing, so that nothing is lost.
    Move,
}

fn hello(options: &Options, resume: Option<ResumeSession>) -> Hello {
    Hello {
        protocol: vec![VERSION],
        client: options.client.clone(),
        token: options.token.clone(),
        agent: options.agent.clone(),
        resume,
        reclaim: options.reclaim,
    }
}

/// Converts an address to a WebSocket URL: `host:port` gets the prefix `ws://`, and `http(s)` becomes `ws(s)`.
fn address(url: &str) -> String {
    match url.split_once("://") {
        None => format!("ws://{url}"),
        Some(("http", rest)) => format!("ws://{rest}"),
        Some(("https", rest)) => format!("wss://{rest}"),
        Some(_) => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_scheme_becomes_websocket_url() {
        assert_eq!(address("127.0.0.1:7878"), "ws://127.0.0.1:7878");
        assert_eq!(address("https://example.org/ws"), "wss://example.org/ws");
        assert_eq!(address("ws://h:1/ws"), "ws://h:1/ws");
    }
}
