//! The match plane as an event loop, which joins, replies to turns, repeats lost acts, and ends after its matches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::{
    Act, ActRefused, Draining, Enrol, Join, Leave, Legal, MatchEnd, MatchEvent, MatchStart, Ping, Resign, ResumedMatch,
    Resync, RunEnd, TurnFrame, Welcome,
};
use ludex_protocol::{ClientMessage, ServerMessage};
use tokio::task::{JoinError, JoinSet};

use crate::client::{Client, Events, Reply, expect};
use crate::error::Error;
use crate::handler::{DynHandler, Failure, Handler, MatchResult, TurnReply, TurnRequest};
use crate::options::Options;
use crate::session::Event;

/// Pause before a retry if the server does not specify one.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Maximum wait for the replies to resignations after an agent has failed.
const RESIGN_TIMEOUT: Duration = Duration::from_secs(2);

/// Number of ended matches whose ids are kept, so that a repeated message does not restart an ended match.
const MAX_ENDED: usize = 1_000;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A seat of a match, by match id and seat. A client has one seat of a match, or several in a run whose tables seat one
/// agent several times.
type SeatKey = (String, u32);

/// Key (turn, try) of a move request. The player chooses one move per key, and the server accepts at most one.
type Key = (u32, u32);

/// Player of the matches of one join, or of one run that the agent enrolls in.
///
/// The player sends one move per (turn, try). If the connection or the session is lost, the player sends the same move
/// again. The server identifies a move by (match, seat, turn, try) and plays the move once.
#[derive(Debug)]
pub struct Player {
    client: Client,
    events: Events,
    handler: Arc<dyn DynHandler>,
    goal: Goal,
    join: JoinState,
    /// End of the run, once received.
    run_end: Option<Box<RunEnd>>,
    /// Ids of the joins whose matches count: those of this player, and those that it reclaimed.
    joins: BTreeSet<String>,
    /// Seats that a `welcome` listed. They count too, since their join may be lost with an earlier session.
    reclaimed: BTreeSet<SeatKey>,
    /// Running matches, one entry for each seat.
    matches: BTreeMap<SeatKey, RunningMatch>,
    /// Reclaimed seats whose `resync` has not arrived yet.
    expected: BTreeSet<SeatKey>,
    /// Seats of a lost session that the new session does not have, and whose matches may have ended.
    doubtful: BTreeSet<SeatKey>,
    /// Number of matches that a reclaimed join must still start.
    owed: u32,
    /// True if the player takes no new matches and only finishes the running matches.
    no_more: bool,
    played: Vec<MatchResult>,
    ended: VecDeque<SeatKey>,
    work: JoinSet<TaskResult>,
    /// Number of lost sessions.
    lost: u64,
}

/// The request by which the player gets matches.
#[derive(Debug)]
enum Goal {
    Join(Box<Join>),
    Enrol(Box<Enrol>),
}

/// The state of the join.
#[derive(Debug, PartialEq)]
enum JoinState {
    Out,
    Asking,
    In(String),
    Leaving,
    Left,
}

/// The state of a running match.
#[derive(Debug)]
struct RunningMatch {
    start: Arc<MatchStart>,
    /// Open turn with its time of arrival.
    turn: Option<(Box<TurnFrame>, Instant)>,
    /// Key of the last move request to the agent.
    requested: Option<Key>,
    /// Last act that was sent.
    act: Option<Act>,
    /// True if the last act has no reply yet.
    in_flight: bool,
}

/// Result of a task of the player.
#[derive(Debug)]
enum TaskResult {
    Replied(SeatKey, Key, Result<TurnReply, Failure>),
    Acted(SeatKey, Key, Result<ServerMessage, Error>),
    /// End of the pause before the act with this key is sent again.
    Resend(SeatKey, Key),
    Joined(Result<ServerMessage, Error>),
    /// End of the pause before the player joins again.
    Rejoin,
    Left,
    /// Reply to the ping that the player sends in a new session; true if the ping succeeded. The ends of all matches
    /// that the server still has arrive before this reply.
    Synced(bool),
    Resigned,
}

/// Connects, plays the matches of a join to their end, and closes the connection.
///
/// # Errors
/// Same as [`Client::connect`] and [`Player::run`].
pub async fn play<H: Handler>(url: &str, options: Options, join: Join, handler: H) -> Result<Vec<MatchResult>, Error> {
    let (client, events) = Client::connect(url, options).await?;
    let played = Player::new(client.clone(), events, join, handler).run(pending()).await;
    client.close().await;
    played
}

/// Connects, plays a run to its end, and closes the connection. Reconnects and continues the run if a connection fails.
///
/// # Errors
/// Same as [`Client::connect`] and [`Player::run_to_end`].
pub async fn evaluate<H: Handler>(
    url: &str,
    options: Options,
    enrol: Enrol,
    handler: H,
) -> Result<Option<Box<RunEnd>>, Error> {
    let (client, events) = Client::connect(url, options).await?;
    let over = Player::for_run(client.clone(), events, enrol, handler).run_to_end(pending()).await;
    client.close().await;
    over
}

impl Player {
    /// Creates a player. The connection must have an agent name, and the player must be the only reader of its events.
    pub fn new(client: Client, events: Events, join: Join, handler: impl Handler) -> Self {
        Self::with(client, events, Goal::Join(Box::new(join)), Arc::new(handler))
    }

    /// Creates a player for a run. The connection must have an agent name and no other reader of its events.
    pub fn for_run(client: Client, events: Events, enrol: Enrol, handler: impl Handler) -> Self {
        Self::with(client, events, Goal::Enrol(Box::new(enrol)), Arc::new(handler))
    }

    fn with(client: Client, events: Events, goal: Goal, handler: Arc<dyn DynHandler>) -> Self {
        Player {
            client,
            events,
            handler,
            goal,
            run_end: None,
            join: JoinState::Out,
            joins: BTreeSet::new(),
            reclaimed: BTreeSet::new(),
            matches: BTreeMap::new(),
            expected: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            owed: 0,
            no_more: false,
            played: Vec::new(),
            ended: VecDeque::new(),
            work: JoinSet::new(),
            lost: 0,
        }
    }

    /// Plays until `join.count` matches have ended (0 means no limit). If a match is lost with a session, the player
    /// joins again to replace the match. When `stop` resolves, the player takes no new matches and finishes the running
    /// matches.
    ///
    /// # Errors
    /// Returns [`Error::Refused`] if the server refuses the join, or refuses an act for a reason other than lateness;
    /// [`Error::Agent`] if the handler fails; and the errors that end the connection.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) -> Result<Vec<MatchResult>, Error> {
        self.boxed(Box::pin(stop)).await?;
        Ok(self.played)
    }

    /// Plays a run until the run is over, and returns the end of the run. When `stop` resolves, the player takes no new
    /// matches, finishes the running matches and returns `None`; repeat the enrollment to continue the run.
    ///
    /// # Errors
    /// Same as [`Player::run`]. Returns [`Error::Refused`] if the server refuses the enrollment.
    pub async fn run_to_end(mut self, stop: impl Future<Output = ()> + Send) -> Result<Option<Box<RunEnd>>, Error> {
        self.boxed(Box::pin(stop)).await?;
        Ok(self.run_end)
    }

    /// Boxes the future, so that the player is compiled here and not in the crates that use it.
    fn boxed<'a>(&'a mut self, stop: Boxed<'a, ()>) -> Boxed<'a, Result<(), Error>> {
        Box::pin(self.play(stop))
    }

    async fn play(&mut self, mut stop: Boxed<'_, ()>) -> Result<(), Error> {
        let mut stopped = false;
        let welcome = self.client.welcome().clone();
        let mut done = self.adopt(&welcome).await;
        loop {
            if let Err(error) = done {
                self.resign_all().await;
                return Err(error);
            }
            if self.is_finished() {
                return Ok(());
            }
            self.request_matches().await?;
            done = tokio::select! {
                event = self.events.next() => match event {
                    Some(Event::Message(message)) => self.message(message).await,
                    Some(Event::Connected(welcome)) if welcome.resumed => {
                        self.reenrol();
                        Ok(())
                    }
                    Some(Event::Connected(welcome)) => {
                        self.lost += 1;
                        self.adopt(&welcome).await
                    }
                    Some(Event::Gone(error)) => return Err(error),
                    None => return Err(Error::ClientClosed),
                },
                Some(work) = self.work.join_next() => self.on_task_done(work).await,
                () = &mut stop, if !stopped => {
                    stopped = true;
                    self.leave().await
                }
            };
        }
    }

    fn is_finished(&self) -> bool {
        let running = self.matches.len() + self.expected.len();
        let over = match self.join {
            // The end of a run follows its last reply.
            JoinState::Left => self.no_more || matches!(self.goal, Goal::Join(_)),
            JoinState::Out | JoinState::In(_) => self.no_more,
            JoinState::Asking | JoinState::Leaving => false,
        };
        let done = match &self.goal {
            Goal::Join(join) => join.count > 0 && self.ended_count() >= join.count as usize,
            Goal::Enrol(_) => self.run_end.is_some(),
        };
        (over && running == 0) || done
    }

    /// Makes the player enroll again after a reconnect. If `run_end` was lost with the old connection, the server
    /// repeats it.
    fn reenrol(&mut self) {
        if matches!((&self.goal, &self.join), (Goal::Enrol(_), JoinState::In(_))) && !self.no_more {
            self.join = JoinState::Out;
        }
    }

    /// Returns the number of ended matches, excluding matches that were lost with a session.
    fn ended_count(&self) -> usize {
        self.played.iter().filter(|played| played.end.is_some()).count()
    }

    async fn post(&self, message: ClientMessage) -> Result<Reply, Error> {
        self.client.post_in(Some(self.lost), message).await
    }

    // ---- the join -------------------------------------------------------------------------------------------------

    async fn request_matches(&mut self) -> Result<(), Error> {
        if self.join != JoinState::Out || self.no_more {
            return Ok(());
        }
        let message = match &self.goal {
            Goal::Enrol(enrol) => ClientMessage::Enrol(enrol.clone()),
            Goal::Join(join) => {
                let mut join = join.clone();
                if join.count > 0 {
                    let started = self.ended_count() + self.matches.len() + self.expected.len() + self.owed as usize;
                    join.count = join.count.saturating_sub(u32::try_from(started).unwrap_or(u32::MAX));
                    if join.count == 0 {
                        return Ok(());
                    }
                }
                ClientMessage::Join(join)
            }
        };
        self.join = JoinState::Asking;
        let reply = self.post(message).await?;
        self.work.spawn(async move { TaskResult::Joined(reply.await) });
        Ok(())
    }

    async fn leave(&mut self) -> Result<(), Error> {
        self.no_more = true;
        let JoinState::In(join) = &self.join else { return Ok(()) };
        let reply = self.post(ClientMessage::Leave(Leave { join: join.clone() })).await?;
        self.join = JoinState::Leaving;
        self.work.spawn(async move {
            // If the server no longer knows the join, it has been left too.
            let _ = reply.await;
            TaskResult::Left
        });
        Ok(())
    }

    async fn on_joined(&mut self, reply: Result<ServerMessage, Error>) -> Result<(), Error> {
        self.join = JoinState::Out;
        match reply {
            Ok(message) => {
                let join = match self.goal {
                    Goal::Join(_) => Some(expect!(message, Joined, "joined")?.join),
                    Goal::Enrol(_) => {
                        let enrolled = expect!(message, Enrolled, "enrolled")?;
                        self.handler.enrolled(&enrolled);
                        enrolled.join
                    }
                };
                // Without a join the run is over; `run_end` follows.
                let Some(join) = join else {
                    self.join = JoinState::Left;
                    return Ok(());
                };
                self.joins.insert(join.clone());
                self.join = JoinState::In(join);
                // `stop` may have resolved before this reply arrived.
                if self.no_more { self.leave().await } else { Ok(()) }
            }
            Err(Error::SessionLost) => Ok(()),
            Err(Error::Refused(error)) if error.retry => {
                self.join = JoinState::Asking;
                let pause = pause(&error);
                self.work.spawn(async move {
                    tokio::time::sleep(pause).await;
                    TaskResult::Rejoin
                });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    // ---- sessions -------------------------------------------------------------------------------------------------

    /// Takes over a new session. A `resync` follows for each reclaimed seat. Each other match of the old session is
    /// lost or has ended, unless it belongs to a run. The message about the end of an ended match arrives before the reply to the next request.
    async fn adopt(&mut self, welcome: &Welcome) -> Result<(), Error> {
        let seat = |entry: &ResumedMatch| Some((entry.match_id.clone(), entry.seat?));
        let held: BTreeSet<SeatKey> = welcome.matches.iter().filter_map(seat).collect();
        self.reclaimed.extend(held.iter().cloned());
        for table in self.matches.values_mut() {
            table.in_flight = false;
        }
        // A match of a run is not lost with a session: its `resync` follows the next `enrol`.
        let continues = matches!(self.goal, Goal::Enrol(_)) && !self.no_more;
        self.doubtful = self.matches.keys().filter(|&at| !continues && !held.contains(at)).cloned().collect();
        self.expected = held.into_iter().filter(|at| !self.matches.contains_key(at)).collect();
        self.owed = welcome.joins.iter().filter_map(|join| join.left).sum();
        self.joins.extend(welcome.joins.iter().map(|join| join.join.clone()));
        self.join = welcome.joins.first().map_or(JoinState::Out, |join| JoinState::In(join.join.clone()));
        self.reenrol();
        if !self.doubtful.is_empty() {
            let reply = self.post(ClientMessage::Ping(Ping {})).await?;
            self.work.spawn(async move { TaskResult::Synced(reply.await.is_ok()) });
        }
        if self.no_more { self.leave().await } else { Ok(()) }
    }

    // ---- incoming messages ----------------------------------------------------------------------------------------

    async fn message(&mut self, message: ServerMessage) -> Result<(), Error> {
        match message {
            ServerMessage::MatchStart(start) => self.start(*start),
            ServerMessage::Turn(turn) => self.turn(turn, None).await?,
            ServerMessage::Event(event) if self.plays(&event) => self.handler.event(&event),
            ServerMessage::MatchEnd(end) => {
                if let Some(seat) = end.seat {
                    self.finish(&(end.match_id.clone(), seat), Some(end));
                }
            }
            ServerMessage::Resync(resync) => self.resync(*resync).await?,
            ServerMessage::Progress(progress) => self.handler.progress(&progress),
            ServerMessage::RunEnd(over) if self.plays_run(&over.run) => self.run_end = Some(over),
            ServerMessage::Draining(Draining { resume: false, .. }) => self.no_more = true,
            // Other messages reply to frames that we never send, or are meant for people.
            _ => {}
        }
        Ok(())
    }

    fn plays(&self, event: &MatchEvent) -> bool {
        event.viewer.is_some_and(|seat| self.matches.contains_key(&(event.match_id.clone(), seat)))
    }

    fn plays_run(&self, run: &str) -> bool {
        matches!(&self.goal, Goal::Enrol(enrol) if enrol.run == run)
    }

    fn start(&mut self, start: MatchStart) {
        let Some(seat) = start.seat else { return };
        let at = (start.match_id.clone(), seat);
        if self.ended.contains(&at) || self.matches.contains_key(&at) {
            return;
        }
        self.owed = self.owed.saturating_sub(1);
        self.open(at, start);
    }

    fn open(&mut self, at: SeatKey, start: MatchStart) -> &mut RunningMatch {
        let start = Arc::new(start);
        self.handler.started(&start);
        let table = RunningMatch { start, turn: None, requested: None, act: None, in_flight: false };
        self.matches.entry(at).insert_entry(table).into_mut()
    }

    async fn resync(&mut self, resync: Resync) -> Result<(), Error> {
        let Some(seat) = resync.seat else { return Ok(()) };
        let at = (resync.match_id.clone(), seat);
        if self.ended.contains(&at) {
            return Ok(());
        }
        self.expected.remove(&at);
        self.doubtful.remove(&at);
        if !self.matches.contains_key(&at) {
            self.open(at.clone(), (*resync.start).clone());
        }
        self.handler.resync(&resync);
        if let Some(end) = resync.end {
            self.finish(&at, Some(end));
        } else if let (Some(turn), Some(table)) = (resync.turn, self.matches.get_mut(&at)) {
            // The match may have moved back. A request or an act for the key of the open turn is still valid.
            let key = (turn.turn, turn.attempt);
            table.requested = table.requested.filter(|&last| last == key);
            table.turn = table.turn.take().filter(|(old, _)| old.turn == turn.turn);
            self.turn(turn, None).await?;
        }
        Ok(())
    }

    /// Handles an open turn. Requests a move from the agent once per key, and sends the act again if the first copy may
    /// have been lost.
    async fn turn(&mut self, turn: Box<TurnFrame>, refusal: Option<Box<ActRefused>>) -> Result<(), Error> {
        let at = (turn.match_id.clone(), turn.seat);
        let Some(table) = self.matches.get_mut(&at) else { return Ok(()) };
        let key = (turn.turn, turn.attempt);
        if table.act.as_ref().is_some_and(|act| key_of(act) == key) {
            return if table.in_flight { Ok(()) } else { self.send(&at, key).await };
        }
        if table.requested.is_some_and(|last| key <= last) {
            return Ok(());
        }
        let since = table.turn.take().filter(|(old, _)| old.turn == turn.turn).map_or_else(Instant::now, |(_, at)| at);
        if table.in_flight && table.act.as_ref().is_some_and(|act| act.turn == turn.turn) {
            // The last attempt was refused. Its reply, which gives the reason, will be sent again.
            table.turn = Some((turn, since));
            return Ok(());
        }
        table.requested = Some(key);
        let request = TurnRequest {
            start: table.start.clone(),
            turn: turn.turn,
            attempt: turn.attempt,
            legal: turn.legal.clone(),
            names: turn.names.clone(),
            view: turn.view.clone(),
            phase: turn.phase.clone(),
            schema: turn.schema.clone(),
            budget: turn.budget_ms.map(Duration::from_millis),
            bank_ms: turn.bank_ms.clone(),
            since,
            refusal,
        };
        table.turn = Some((turn, since));
        let handler = self.handler.clone();
        self.work.spawn(async move { TaskResult::Replied(at, key, handler.turn(request).await) });
        Ok(())
    }

    fn finish(&mut self, at: &SeatKey, end: Option<Box<MatchEnd>>) {
        self.doubtful.remove(at);
        self.expected.remove(at);
        let Some(table) = self.matches.remove(at) else { return };
        let played = MatchResult { start: table.start, end };
        self.handler.ended(&played);
        // An earlier join of the agent may have left matches whose end was not delivered.
        let own = played.start.join.as_ref().is_none_or(|join| self.joins.contains(join));
        if self.reclaimed.remove(at) || own {
            self.played.push(played);
        }
        self.ended.push_back(at.clone());
        if self.ended.len() > MAX_ENDED {
            self.ended.pop_front();
        }
    }

    // ---- results --------------------------------------------------------------------------------------------------

    async fn on_task_done(&mut self, work: Result<TaskResult, JoinError>) -> Result<(), Error> {
        match work.map_err(|e| Error::Agent(e.to_string()))? {
            TaskResult::Replied(at, key, reply) => self.on_replied(&at, key, reply).await,
            TaskResult::Acted(at, key, reply) => self.on_acted(&at, key, reply).await,
            TaskResult::Resend(at, key) => self.send(&at, key).await,
            TaskResult::Joined(reply) if self.join == JoinState::Asking => self.on_joined(reply).await,
            TaskResult::Rejoin if self.join == JoinState::Asking => {
                self.join = JoinState::Out;
                Ok(())
            }
            TaskResult::Left if self.join == JoinState::Leaving => {
                self.join = JoinState::Left;
                Ok(())
            }
            TaskResult::Synced(true) => {
                for at in std::mem::take(&mut self.doubtful) {
                    self.finish(&at, None);
                }
                Ok(())
            }
            TaskResult::Joined(_)
            | TaskResult::Rejoin
            | TaskResult::Left
            | TaskResult::Synced(false)
            | TaskResult::Resigned => Ok(()),
        }
    }

    async fn on_replied(&mut self, at: &SeatKey, key: Key, reply: Result<TurnReply, Failure>) -> Result<(), Error> {
        // If a clock or a resync has ended the turn, the reply is not needed.
        let Some(table) = self.matches.get_mut(at).filter(|table| table.requested == Some(key)) else { return Ok(()) };
        match reply.map_err(|failure| Error::Agent(failure.to_string()))?.into_act(at, key) {
            Some(act) => {
                table.act = Some(act);
                self.send(at, key).await
            }
            None => {
                let (match_id, seat) = at.clone();
                let resign = Resign { match_id, seat: Some(seat) };
                let reply = self.post(ClientMessage::Resign(resign)).await?;
                self.work.spawn(async move {
                    // The reply does not matter: the match may already be over.
                    let _ = reply.await;
                    TaskResult::Resigned
                });
                Ok(())
            }
        }
    }

    /// Sends the act with this key, for the first time or again.
    async fn send(&mut self, at: &SeatKey, key: Key) -> Result<(), Error> {
        let Some(table) = self.matches.get_mut(at) else { return Ok(()) };
        let Some(act) = table.act.clone().filter(|act| key_of(act) == key) else { return Ok(()) };
        table.in_flight = true;
        let reply = self.post(ClientMessage::Act(Box::new(act))).await?;
        let at = at.clone();
        self.work.spawn(async move { TaskResult::Acted(at, key, reply.await) });
        Ok(())
    }

    async fn on_acted(&mut self, at: &SeatKey, key: Key, reply: Result<ServerMessage, Error>) -> Result<(), Error> {
        let Some(table) = self.matches.get_mut(at) else { return Ok(()) };
        if table.act.as_ref().map(key_of) == Some(key) {
            table.in_flight = false;
        }
        match reply {
            Ok(ServerMessage::Refused(refused)) => self.on_refused(at, refused).await,
            Ok(message) => expect!(message, Accepted, "accepted").map(drop),
            Err(Error::Refused(error)) => {
                let open = table.turn.as_ref().map(|(turn, _)| turn.clone());
                self.on_act_error(at, key, *error)?;
                // A later attempt may be pending until this reply.
                match open.filter(|turn| (turn.turn, turn.attempt) > key) {
                    Some(turn) => self.turn(turn, None).await,
                    None => Ok(()),
                }
            }
            // The welcome of a new session handles these; the end of the connection arrives as an event.
            Err(Error::SessionLost | Error::ClientClosed | Error::Lost { .. } | Error::Closed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn on_refused(&mut self, at: &SeatKey, refused: Box<ActRefused>) -> Result<(), Error> {
        let turn = self.matches.get(at).and_then(|table| table.turn.as_ref());
        let Some((turn, _)) = turn.filter(|(turn, _)| turn.turn == refused.turn && refused.tries_left > 0) else {
            return Ok(());
        };
        let mut again = turn.clone();
        again.attempt = refused.attempt;
        if let Some(legal) = &refused.legal {
            again.names = again.names.map(|names| names_of(&turn.legal, names, legal));
            again.legal = legal.clone();
        }
        self.turn(again, Some(refused)).await
    }

    fn on_act_error(&mut self, at: &SeatKey, key: Key, error: Refusal) -> Result<(), Error> {
        match error.code {
            // The act came too late or was a repetition. Nothing is lost.
            ErrorCode::StaleTurn | ErrorCode::Conflict | ErrorCode::NotYourTurn | ErrorCode::MatchOver => Ok(()),
            ErrorCode::UnknownMatch | ErrorCode::NotYourSeat => {
                self.finish(at, None);
                Ok(())
            }
            _ if error.retry => {
                let (at, pause) = (at.clone(), pause(&error));
                self.work.spawn(async move {
                    tokio::time::sleep(pause).await;
                    TaskResult::Resend(at, key)
                });
                Ok(())
            }
            _ => Err(error.into()),
        }
    }

    async fn resign_all(&mut self) {
        let resigning = async {
            for (id, seat) in self.matches.keys() {
                // An error means that the match is over or the connection is gone.
                let _ = self.client.resign(id, Some(*seat)).await;
            }
        };
        let _ = tokio::time::timeout(RESIGN_TIMEOUT, resigning).await;
    }
}

fn key_of(act: &Act) -> Key {
    (act.turn, act.attempt)
}

fn pause(error: &Refusal) -> Duration {
    error.after_ms.map_or(RETRY_PAUSE, |ms| Duration::from_millis(ms.get().into()))
}

/// Returns the names of the actions in `legal`, given the `names` of the turn's original legal actions `before`. The id
/// of an action that `before` does not contain is used as the action's name.
fn names_of(before: &Legal, names: Vec<String>, legal: &Legal) -> Vec<String> {
    if before == legal {
        return names;
    }
    let known: BTreeMap<u32, String> = before.iter().zip(names).collect();
    legal.iter().map(|id| known.get(&id).cloned().unwrap_or_else(|| id.to_string())).collect()
}
