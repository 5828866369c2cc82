//! Task of one connection: it reads and writes frames.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use ludex_gym::GymReply;
use ludex_gym::catalogue::Catalogue;
use ludex_gym::compute::internal;
use ludex_protocol::error::{Close, ResumeRule, close};
use ludex_protocol::message::ServerPong;
use ludex_protocol::{ClientMessage, ErrorCode, Id, Refusal, ServerMessage};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::gate::{Passed, RequestGate, read_large};
use super::hello;
use super::match_client::MatchClient;
use super::wire::{Broken, Io, ServerSocket};
use crate::peer::Peer;
use crate::server_state::ServerState;
use ludex_arena::frame::WireFrame;
use ludex_arena::mailbox::{MailboxItem, OutgoingFrame};
use ludex_arena::sessions::reply_cache::RequestFingerprint;
use ludex_arena::sessions::{Control, Session, SessionData};

/// Interval between probes of idle clients, by which the operating system detects dead peers.
const ARE_YOU_THERE: Duration = Duration::from_secs(30);
/// Maximum time that a connection works before it yields to other connections on its thread.
const ROUND: Duration = Duration::from_millis(2);
/// Interval at which a blocked write checks whether the client is too slow.
const STALLED: Duration = Duration::from_millis(50);
/// Maximum time that events wait for a client that does not read from its socket.
const UNREAD: Duration = Duration::from_secs(10);
/// Time for which a client that was too slow can resume a session that has environments but no seats, since a learner
/// may compute for long before it reads.
const LEARNING: Duration = Duration::from_secs(3_600);

/// Reason for the end of a connection.
enum End {
    Broken(Broken),
    Taken(oneshot::Sender<Box<SessionData>>),
}

impl From<Broken> for End {
    fn from(broken: Broken) -> Self {
        End::Broken(broken)
    }
}

fn close_with(close: Close) -> End {
    End::Broken(Broken::Close(close))
}

/// Serves one WebSocket until it ends. `cell` is the number of the cell that the client asked for.
pub(crate) async fn serve<S: Io>(mut wire: ServerSocket<S>, peer: Peer, shared: Arc<ServerState>, cell: u32) {
    // Boxed, since a connection's future is as large as its largest await point, and this part runs only once.
    let welcomed = match Box::pin(hello::greet(&mut wire, &peer, &shared, cell)).await {
        Ok(welcomed) => welcomed,
        Err(Broken::Close(with)) => return wire.close(with).await,
        Err(Broken::Lost) => return wire.closed().await,
    };
    let hello::Welcomed { session, work, player, scopes, mailbox, control, welcome } = welcomed;
    work.gym.set_suspended(false);
    let bucket = shared.is_limited(&peer).then(|| shared.rates.bucket(peer.ip));
    let mut connection = Connection {
        gate: RequestGate::new(scopes, bucket),
        timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
        heard: Instant::now(),
        wire,
        session,
        work,
        player,
        mailbox,
        control,
        shared,
        settled: false,
        written: Vec::new(),
    };
    let end = match connection.send(welcome).await {
        Ok(()) => connection.run().await,
        Err(end) => end,
    };
    Box::pin(connection.finish(end)).await;
}

struct Connection<S> {
    wire: ServerSocket<S>,
    shared: Arc<ServerState>,
    session: Arc<Session>,
    work: Box<SessionData>,
    player: MatchClient,
    gate: RequestGate,
    mailbox: mpsc::Receiver<MailboxItem>,
    control: mpsc::UnboundedReceiver<Control>,
    timer: Pin<Box<Sleep>>,
    /// Time at which the last frame from the client was read. Frames that arrive while earlier frames are processed get
    /// the same time as the earlier frames.
    heard: Instant,
    /// True once the client has sent a message after `welcome`. The message confirms that the client has its new resume
    /// key.
    settled: bool,
    /// Gym replies to send; reused to save allocations.
    written: Vec<GymReply>,
}

enum Input {
    Frame(Result<Message, Broken>),
    Out(Option<MailboxItem>),
    Control(Option<Control>),
    Replies,
    Timer,
}

impl<S: Io> Connection<S> {
    async fn run(&mut self) -> End {
        loop {
            if let Err(end) = self.round().await {
                return end;
            }
        }
    }

    /// Waits for an event, processes all available input, and flushes the output once.
    async fn round(&mut self) -> Result<(), End> {
        let input = tokio::select! {
            biased;
            said = self.control.recv() => Input::Control(said),
            out = self.mailbox.recv() => Input::Out(out),
            frame = self.wire.next() => Input::Frame(frame),
            () = self.work.gym.finished(&mut self.written) => Input::Replies,
            () = self.timer.as_mut() => Input::Timer,
        };
        let from = Instant::now();
        match input {
            Input::Frame(frame) => {
                self.heard = from;
                self.frame(frame?).await?;
            }
            Input::Out(out) => self.out(out).await?,
            Input::Control(said) => self.control(said).await?,
            Input::Replies => self.deliver(None).await?,
            Input::Timer => self.timer().await?,
        }
        let mut more = true;
        while more && from.elapsed() < ROUND {
            while let Ok(out) = self.mailbox.try_recv() {
                self.out(Some(out)).await?;
            }
            match self.wire.ready().await {
                Some(frame) => {
                    self.heard = from;
                    self.frame(frame?).await?;
                }
                None => more = false,
            }
        }
        self.flush().await?;
        if more {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn frame(&mut self, message: Message) -> Result<(), End> {
        if let Message::Close(with) = &message {
            if with.as_ref().is_some_and(|with| u16::from(with.code) == close::NORMAL.code) {
                self.player.leave_ended();
            }
            return Err(End::Broken(Broken::Lost));
        }
        let encoding = self.wire.encoding;
        let read = match read_large(&message, encoding, &self.session.account.name, &self.shared) {
            // Boxed, since a connection's future is as large as its largest await point, and this part runs rarely.
            Some(reading) => Box::pin(self.while_serving(reading)).await?,
            None => None,
        };
        let passed = self.gate.pass(&message, read, encoding, &mut self.work.replies, &self.shared);
        if !self.settled && self.gate.heard {
            self.settled = true;
            self.session.settle();
        }
        match passed {
            Passed::Request(id, asked, message) => self.request(id, asked, message).await,
            Passed::Seen(ack) => {
                self.player.ack(&ack);
                Ok(())
            }
            Passed::Again(frame) => self.send(frame.speaking(self.wire.encoding, self.shared.limits.depth)).await,
            Passed::Forbidden(id, asked, error) => self.answer(id, asked, (*error).into()).await,
            Passed::Refused(id, error) => self.refuse(id, *error).await,
            Passed::Nothing => Ok(()),
            Passed::Close(with) => Err(close_with(with)),
        }
    }

    /// Awaits `work` and meanwhile notifies the client of other events. A revoked token, or a resume on another
    /// connection, ends the wait and cancels work that has not started.
    async fn while_serving<T>(&mut self, work: impl Future<Output = T>) -> Result<T, End> {
        let mut work = std::pin::pin!(work);
        loop {
            self.flush().await?;
            tokio::select! {
                biased;
                said = self.control.recv() => self.control(said).await?,
                out = self.mailbox.recv() => self.out(out).await?,
                done = &mut work => return Ok(done),
            }
        }
    }

    async fn request(&mut self, id: Id, asked: RequestFingerprint, message: ClientMessage) -> Result<(), End> {
        match message {
            ClientMessage::Hello(_) => {
                let error = Refusal::new(ErrorCode::BadMessage, "expected hello only once").path("type");
                self.answer(id, asked, error.into()).await
            }
            ClientMessage::Ping(_) => {
                let now_ms = self.shared.now_ms();
                self.answer(id, asked, ServerMessage::Pong(ServerPong { now_ms })).await
            }
            ClientMessage::ListGames(list) => self.answer(id, asked, self.shared.catalogue.list(&list)).await,
            ClientMessage::Describe(describe) => {
                let (shared, owner) = (self.shared.clone(), self.session.account.name.clone());
                let load = async move {
                    let game = shared.catalogue.load_as(&shared.gym.compute, &owner, &describe.game, &describe.params);
                    game.await.map(|game| Catalogue::describe(&game, &describe))
                };
                let spec = Box::pin(self.while_serving(load)).await?;
                self.answer(id, asked, spec.unwrap_or_else(|error| (*error).into())).await
            }
            ClientMessage::Open(_)
            | ClientMessage::Reset(_)
            | ClientMessage::Step(_)
            | ClientMessage::View(_)
            | ClientMessage::Clone(_)
            | ClientMessage::Snapshot(_)
            | ClientMessage::Restore(_)
            | ClientMessage::Close(_) => {
                self.work.gym.request(id, message, self.wire.encoding, &mut self.written);
                if self.written.is_empty() {
                    self.work.replies.mark_in_flight(id, asked, false);
                    return Ok(());
                }
                self.deliver(Some(asked)).await
            }
            ClientMessage::Join(_)
            | ClientMessage::Leave(_)
            | ClientMessage::Act(_)
            | ClientMessage::Resign(_)
            | ClientMessage::ListMatches(_)
            | ClientMessage::Suites(_)
            | ClientMessage::Enrol(_)
            | ClientMessage::Withdraw(_)
            | ClientMessage::Spectate(_)
            | ClientMessage::Unspectate(_) => {
                self.work.replies.mark_in_flight(id, asked, true);
                let at = self.shared.hub.clock.at(self.heard);
                let handled = AssertUnwindSafe(self.player.handle(at, id, message)).catch_unwind().await;
                if handled.is_err() {
                    tracing::error!("match request panicked");
                    return self.answer(id, asked, (*internal()).into()).await;
                }
                Ok(())
            }
            // The request gate never passes these on.
            ClientMessage::Pong(_) | ClientMessage::Ack(_) => Ok(()),
        }
    }

    async fn control(&mut self, said: Option<Control>) -> Result<(), End> {
        match said {
            Some(Control::Take(give)) => Err(End::Taken(give)),
            Some(Control::Drain(draining)) => self.event(ServerMessage::Draining(draining)).await,
            Some(Control::Close(with)) => Err(close_with(with)),
            // The channel is closed only if the session has ended and was removed from the session table.
            None => Err(close_with(close::GOING_AWAY)),
        }
    }

    async fn timer(&mut self) -> Result<(), End> {
        let idle = Duration::from_millis(self.shared.limits.idle_ms);
        let nothing_at_stake = self.work.gym.is_empty() && !self.player.at_stake();
        let silent = self.heard.elapsed();
        if nothing_at_stake && silent >= idle {
            return Err(close_with(close::IDLE));
        }
        if silent >= ARE_YOU_THERE {
            self.push(Message::Ping(Bytes::new())).await?;
        }
        let left = if nothing_at_stake { idle.saturating_sub(silent) } else { idle };
        let next = left.clamp(Duration::from_millis(10), ARE_YOU_THERE);
        self.timer.as_mut().reset(Instant::now() + next);
        Ok(())
    }

    /// Sends gym replies. `asked` is the fingerprint of the current request, if the replies belong to that request.
    async fn deliver(&mut self, asked: Option<RequestFingerprint>) -> Result<(), End> {
        let mut written = std::mem::take(&mut self.written);
        let mut sent = Ok(());
        for GymReply { id, env, frame, encoding, error, records } in written.drain(..) {
            if let Some(code) = error {
                self.count_error(code, "gym request");
            }
            if !records.is_empty()
                && let Err(e) = self.shared.store.write_behind(records).await
            {
                tracing::error!(error = %e, "storing gym records failed");
            }
            let frame = WireFrame::new(encoding, frame).speaking(self.wire.encoding, self.shared.limits.depth);
            self.work.replies.answer(id, asked, env, frame.clone());
            // All are cached, even if the connection breaks meanwhile.
            if sent.is_ok() {
                sent = self.send(frame).await;
            }
        }
        let SessionData { replies, gym } = &mut *self.work;
        replies.only_envs(|env| gym.has(env));
        self.written = written;
        sent
    }

    async fn out(&mut self, out: Option<MailboxItem>) -> Result<(), End> {
        match out {
            Some(MailboxItem::Frames(frames)) => {
                let mut sent = Ok(());
                for OutgoingFrame { re, frame, error } in frames {
                    if let Some((code, message)) = &error {
                        self.count_error(*code, message);
                    }
                    // All replies are cached, even if the connection breaks meanwhile.
                    if let Some(id) = re {
                        self.work.replies.answer(id, None, None, frame.clone());
                    }
                    if sent.is_ok() {
                        sent = self.send(frame).await;
                    }
                }
                sent
            }
            Some(MailboxItem::Broadcast(events)) => {
                let encoding = self.wire.encoding;
                for frame in events.iter().filter_map(|event| event.frame(encoding)) {
                    self.send(frame).await?;
                }
                Ok(())
            }
            Some(MailboxItem::Close(with)) => Err(close_with(with)),
            // The match plane has dropped the mailbox because it was full.
            None => Err(close_with(close::TOO_SLOW)),
        }
    }

    async fn answer(&mut self, id: Id, asked: RequestFingerprint, message: ServerMessage) -> Result<(), End> {
        if let ServerMessage::Error(error) = &message {
            self.count_error(error.code, &error.message);
        }
        let frame = self.encode(Some(id), &message);
        self.work.replies.answer(id, Some(asked), None, frame.clone());
        self.send(frame).await
    }

    /// Sends an error without caching it, since the request was not executed.
    async fn refuse(&mut self, id: Option<Id>, error: Refusal) -> Result<(), End> {
        self.count_error(error.code, &error.message);
        let frame = self.encode(id, &error.into());
        self.send(frame).await
    }

    /// Counts an error, and logs errors of clients that reach a limit.
    fn count_error(&self, code: ErrorCode, message: &str) {
        self.shared.metrics.error(code);
        if matches!(code, ErrorCode::Limit | ErrorCode::RateLimited | ErrorCode::TooLarge) {
            let (session, agent) = (&*self.session.id, self.session.name());
            tracing::info!(session, agent, code = code.as_str(), why = message, "client limit reached");
        }
    }

    async fn event(&mut self, message: ServerMessage) -> Result<(), End> {
        let frame = self.encode(None, &message);
        self.send(frame).await
    }

    fn encode(&self, re: Option<Id>, message: &ServerMessage) -> WireFrame {
        WireFrame::encode(self.wire.encoding, re, message)
    }

    async fn send(&mut self, frame: WireFrame) -> Result<(), End> {
        self.push(frame.message).await
    }

    async fn push(&mut self, message: Message) -> Result<(), End> {
        self.written_out(false).await?;
        Ok(self.wire.push(message)?)
    }

    async fn flush(&mut self) -> Result<(), End> {
        self.written_out(true).await
    }

    /// Waits until the socket has taken all queued data or, if `all` is false, until it has room for more. Gym replies
    /// may remain unread until the socket has made no progress for `write_stall_ms`. For match events, the limit is
    /// shorter.
    async fn written_out(&mut self, all: bool) -> Result<(), End> {
        let wire = &mut self.wire;
        let at_once = if all { wire.flush().now_or_never() } else { wire.room().now_or_never() };
        if let Some(done) = at_once {
            return Ok(done?);
        }
        let from = Instant::now();
        loop {
            let wire = &mut self.wire;
            let write = async { if all { wire.flush().await } else { wire.room().await } };
            tokio::select! {
                biased;
                done = write => return Ok(done?),
                said = self.control.recv() => match said {
                    // The client does not read, so the notification of the shutdown cannot be sent either.
                    Some(Control::Drain(_)) => {}
                    other => return self.blocked(other),
                },
                () = tokio::time::sleep(STALLED) => {
                    let full = self.mailbox.capacity() == 0;
                    let waiting = !self.mailbox.is_empty() && from.elapsed() > UNREAD;
                    if full || waiting || self.mailbox.is_closed() {
                        return Err(close_with(close::TOO_SLOW));
                    }
                }
            }
        }
    }

    /// Handles the command `said` for a connection whose client does not read: returns the end of the connection.
    fn blocked(&self, said: Option<Control>) -> Result<(), End> {
        Err(match said {
            Some(Control::Take(give)) => End::Taken(give),
            Some(Control::Close(with)) => close_with(with),
            _ => close_with(close::GOING_AWAY),
        })
    }

    /// Ends the connection: parks, hands over or ends the session, then closes the socket.
    async fn finish(self, end: End) {
        let Connection { wire, shared, session, mut work, player, mut mailbox, mut control, .. } = self;
        let learning = !work.gym.is_empty() && !player.at_stake();
        player.detach();
        mailbox.close();
        // Undelivered replies are cached for the resuming client.
        while let Ok(out) = mailbox.try_recv() {
            let MailboxItem::Frames(frames) = out else { continue };
            for (id, frame) in frames.into_iter().filter_map(|out| Some((out.re?, out.frame))) {
                work.replies.answer(id, None, None, frame);
            }
        }
        work.replies.disconnect();
        let grace = shared.hub.grace();
        let with = match end {
            // With another token of the owner, the client may return to its seats. Until then, no new match starts.
            End::Broken(Broken::Close(with)) if with == close::UNAUTHORIZED => {
                shared.hub.dismiss(&session).await;
                hello::park(&shared, session, work, &mut control, grace);
                Some(with)
            }
            End::Broken(Broken::Close(with)) if with.resume == ResumeRule::No => {
                shared.hub.sessions.remove(&session);
                shared.hub.session_over(&session, with.name).await;
                drop(work);
                Some(with)
            }
            End::Broken(broken) => {
                let slow = matches!(broken, Broken::Close(close::TOO_SLOW));
                let time = if slow && learning { LEARNING.max(grace) } else { grace };
                hello::park(&shared, session, work, &mut control, time);
                match broken {
                    Broken::Close(with) => Some(with),
                    Broken::Lost => None,
                }
            }
            End::Taken(give) => {
                if let Err(work) = give.send(work) {
                    hello::park(&shared, session, work, &mut control, grace);
                }
                Some(close::SUPERSEDED)
            }
        };
        match with {
            Some(with) => {
                shared.metrics.closed(with.name);
                wire.close(with).await;
            }
            None => wire.closed().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::session::wire::timed;
    use futures_util::{SinkExt as _, StreamExt as _};
    use ludex_arena::metrics::Metrics;
    use ludex_protocol::Encoding;
    use ludex_protocol::message::Queued;
    use ludex_store::Store;
    use serde_json::{Value, json};
    use tokio::io::DuplexStream;
    use tokio::task::JoinHandle;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::protocol::Role;

    /// Maximum time that a write may wait without progress before `welcome`.
    const PATIENCE: Duration = Duration::from_secs(20);
    /// Size in bytes of a small pipe. If one side does not read, the other side soon blocks.
    const PIPE: usize = 4 << 10;

    /// Serves one end of a pipe as a connection.
    async fn spawn_serve(shared: &Arc<ServerState>, near: DuplexStream) -> JoinHandle<()> {
        let ip = [127, 0, 0, 1].into();
        let entry = shared.permits.enter(ip).unwrap();
        let peer = Peer { ip, local: true, bearer: None, entry: Arc::new(entry) };
        let wire = ServerSocket::new(timed(near, PATIENCE), Vec::new(), Encoding::Json, &shared.limits).await;
        tokio::task::spawn_local(serve(wire, peer, shared.clone(), 0))
    }

    async fn say(ws: &mut WebSocketStream<DuplexStream>, message: Value) -> Value {
        ws.send(Message::text(message.to_string())).await.unwrap();
        serde_json::from_str(ws.next().await.unwrap().unwrap().to_text().unwrap()).unwrap()
    }

    #[tokio::test]
    async fn client_that_does_not_read_events_is_disconnected() {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(data.path()).await.unwrap();
        let config = Config::new(data.path());
        let shared = Arc::new(ServerState::new(config, store.clone(), Metrics::new().unwrap()).await.unwrap());
        let (near, far) = tokio::io::duplex(PIPE);
        let client = async {
            let mut ws = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
            let hello = json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0"});
            let welcome = say(&mut ws, hello).await;
            let session = shared.hub.sessions.get(welcome["session"].as_str().unwrap()).unwrap();
            let mailbox = session.mailbox().unwrap();
            // Sends more than pipe, buffer and mailbox hold together, to a client that does not read.
            let event = || ServerMessage::Queued(Queued { join: "j".repeat(1_000), waiting: 1, eta_ms: None });
            while mailbox.event(event()).is_ok() {
                tokio::task::yield_now().await;
            }
            // The session is parked until its client resumes.
            while shared.hub.sessions.count() != (0, 1) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert!(shared.metrics.render().contains("ludex_closed_total{with=\"too_slow\"} 1"));
        };
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                let serving = spawn_serve(&shared, near).await;
                client.await;
                serving.await.unwrap();
            })
            .await;
        drop(shared);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn pending_large_frame_does_not_block_the_connection() {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(data.path()).await.unwrap();
        let config = Config { workers: 1, ..Config::new(data.path()) };
        let shared = Arc::new(ServerState::new(config, store.clone(), Metrics::new().unwrap()).await.unwrap());
        let (near, far) = tokio::io::duplex(PIPE);
        // Another owner occupies the only compute thread.
        let (release, held) = std::sync::mpsc::channel::<()>();
        let busy = shared.gym.compute.run(&"other".into(), move || held.recv().is_ok());
        let client = async {
            let mut ws = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
            let hello = json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0"});
            let welcome = say(&mut ws, hello).await;
            let session = shared.hub.sessions.get(welcome["session"].as_str().unwrap()).unwrap();
            let ping = json!({"type": "ping", "id": 1, "unknown": "x".repeat(100_000)});
            ws.send(Message::text(ping.to_string())).await.unwrap();
            let event = Queued { join: "j".into(), waiting: 1, eta_ms: None };
            assert!(session.mailbox().unwrap().event(ServerMessage::Queued(event)).is_ok());
            assert_eq!(next(&mut ws, None).await["type"], "queued");
            release.send(()).unwrap();
            assert_eq!(next(&mut ws, None).await["re"], 1);
            ws.close(None).await.unwrap();
        };
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                let serving = spawn_serve(&shared, near).await;
                client.await;
                serving.await.unwrap();
            })
            .await;
        assert!(busy.await.unwrap());
        drop(shared);
        store.close().await.unwrap();
    }

    /// Reads frames up to the next message of the type `kind`.
    async fn next(ws: &mut WebSocketStream<DuplexStream>, kind: Option<&str>) -> Value {
        loop {
            let frame = tokio::time::timeout(Duration::from_secs(20), ws.next()).await.expect("a frame");
            let message: Value = serde_json::from_str(frame.unwrap().unwrap().to_text().unwrap()).unwrap();
            if kind.is_none_or(|kind| message["type"] == kind) {
                return message;
            }
        }
    }

    #[tokio::test]
    async fn slow_watcher_gets_one_resync() {
        // Number of rounds whose frames exceed pipe, buffer and mailbox together, and of further rounds.
        const MISSED: usize = 400;
        const LATER: usize = 20;
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(data.path()).await.unwrap();
        let config = Config::new(data.path());
        let shared = Arc::new(ServerState::new(config, store.clone(), Metrics::new().unwrap()).await.unwrap());
        let ((near, far), (near_watcher, far_watcher)) = (tokio::io::duplex(PIPE), tokio::io::duplex(PIPE));
        let client = async {
            let mut player = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
            let mut watcher = WebSocketStream::from_raw_socket(far_watcher, Role::Client, None).await;
            for ws in [&mut player, &mut watcher] {
                say(ws, json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0"})).await;
            }
            let params = json!({"num_repetitions": MISSED + LATER});
            let game = "iterated_prisoners_dilemma";
            say(
                &mut player,
                json!({"type": "join", "id": 1, "game": game, "params": params, "against": ["tit_for_tat"]}),
            )
            .await;
            let id = next(&mut player, Some("match_start")).await["match"].clone();
            let watch = json!({"type": "spectate", "id": 1, "match": id, "views": ["struct"]});
            assert_eq!(say(&mut watcher, watch).await["type"], "ok");
            let mut request = 1;
            let mut rounds = async |many: usize| {
                for _ in 0..many {
                    let turn = next(&mut player, Some("turn")).await;
                    request += 1;
                    let act = json!({"type": "act", "id": request, "match": id, "turn": turn["turn"], "try": turn["try"], "action": turn["legal"][0]});
                    player.send(Message::text(act.to_string())).await.unwrap();
                    assert_eq!(next(&mut player, Some("accepted")).await["re"], request);
                }
            };
            rounds(MISSED).await;
            // Sequence numbers have no gap before the resync, and none after it.
            let mut last: Option<u64> = None;
            let (mut resyncs, mut over) = (0, false);
            while !over {
                let message = next(&mut watcher, None).await;
                let seq = message["seq"].as_u64().unwrap();
                match message["type"].as_str().unwrap() {
                    "resync" => {
                        assert!(seq > last.unwrap() + 1, "nothing was missed");
                        let events = message["events"].as_array().unwrap();
                        assert_eq!(events.iter().filter(|event| event["kind"] == "move").count(), 2 * MISSED);
                        resyncs += 1;
                        rounds(LATER).await;
                    }
                    kind => {
                        assert_eq!(seq, last.map_or(0, |last| last + 1), "{message}");
                        over = kind == "match_end";
                    }
                }
                last = Some(seq);
            }
            assert_eq!(resyncs, 1);
            for ws in [&mut player, &mut watcher] {
                ws.close(None).await.unwrap();
            }
        };
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                let mut serving = Vec::new();
                for near in [near, near_watcher] {
                    serving.push(spawn_serve(&shared, near).await);
                }
                let matches = tokio::task::spawn_local(shared.hub.clone().run_matches(0));
                client.await;
                matches.abort();
                for served in serving {
                    served.await.unwrap();
                }
            })
            .await;
        drop(shared);
        store.close().await.unwrap();
    }
}
