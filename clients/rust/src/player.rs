//! The match plane as an event loop: it joins, answers turns, repeats lost acts, and ends with its matches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::{
    Act, ActRefused, Draining, Enrol, Join, Leave, Legal, MatchEnd, MatchStart, Ping, Resign, Resync, RunEnd,
    TurnFrame, Welcome,
};
use ludex_protocol::{ClientMessage, ServerMessage};
use tokio::task::{JoinError, JoinSet};

use crate::client::{Client, Events, Reply, expect};
use crate::error::Error;
use crate::handler::{DynHandler, Failure, Handler, MatchResult, TurnReply, TurnRequest};
use crate::options::Options;
use crate::session::Event;

/// Pause before a retry if the server named no time.
const AGAIN: Duration = Duration::from_secs(1);

/// How long to wait for the replies to resignations after an agent has failed.
const GOODBYE: Duration = Duration::from_secs(2);

/// How many ended matches are remembered, so that a repeated message does not begin one again.
const ENDED: usize = 1_000;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// (turn, try): the question that an act answers. The server accepts one act for each, and a player sends one for each.
type Key = (u32, u32);

/// Plays the matches of one join, or of one run that the agent enrols for.
///
/// The player answers each (turn, try) with one move. If the connection or the whole session is lost, it sends the same
/// move again. The server recognises a move by (match, turn, try) and plays it once.
#[derive(Debug)]
pub struct Player {
    client: Client,
    events: Events,
    handler: Arc<dyn DynHandler>,
    aim: Aim,
    entry: Entry,
    /// How the run ended.
    over: Option<Box<RunEnd>>,
    matches: BTreeMap<String, Table>,
    /// Reclaimed matches whose `resync` has not arrived yet.
    expected: BTreeSet<String>,
    /// Matches of a lost session that the new session does not hold; their fate is not known yet.
    doubtful: BTreeSet<String>,
    /// How many matches a reclaimed join will still bring.
    owed: u32,
    /// Whether to take no new matches and only finish the running ones.
    no_more: bool,
    played: Vec<MatchResult>,
    ended: VecDeque<String>,
    work: JoinSet<Done>,
    /// How many sessions were lost.
    lost: u64,
}

/// What the player asks the server for.
#[derive(Debug)]
enum Aim {
    Join(Box<Join>),
    Enrol(Box<Enrol>),
}

/// The state of the join.
#[derive(Debug, PartialEq)]
enum Entry {
    Out,
    Asking,
    In(String),
    Leaving,
    Left,
}

/// A running match.
#[derive(Debug)]
struct Table {
    start: Arc<MatchStart>,
    /// The open turn, and when it arrived.
    turn: Option<(Box<TurnFrame>, Instant)>,
    /// The key of the last question to the agent.
    asked: Option<Key>,
    /// The last act that was sent.
    act: Option<Act>,
    /// Whether that act has no reply yet.
    in_flight: bool,
}

/// A result that the player waited for.
#[derive(Debug)]
enum Done {
    Answered(String, Key, Result<TurnReply, Failure>),
    Acted(String, Key, Result<ServerMessage, Error>),
    /// It is time to send the act of this key again.
    Again(String, Key),
    Joined(Result<ServerMessage, Error>),
    /// It is time to join again.
    Rejoin,
    Left,
    /// The ping after a new session is answered (true) or failed. All ends of matches that the server kept came before
    /// it.
    Settled(bool),
    Resigned,
}

/// Connects, plays the matches of a join to their end, and closes the connection.
///
/// # Errors
/// As [`Client::connect`] and [`Player::run`].
pub async fn play<H: Handler>(url: &str, options: Options, join: Join, handler: H) -> Result<Vec<MatchResult>, Error> {
    let (client, events) = Client::connect(url, options).await?;
    let played = Player::new(client.clone(), events, join, handler).run(pending()).await;
    client.close().await;
    played
}

/// Connects, plays a run to its end, however often the connection is lost, and closes the connection.
///
/// # Errors
/// As [`Client::connect`] and [`Player::run_to_end`].
pub async fn evaluate<H: Handler>(
    url: &str,
    options: Options,
    enrol: Enrol,
    handler: H,
) -> Result<Option<Box<RunEnd>>, Error> {
    let (client, events) = Client::connect(url, options).await?;
    let over = Player::enrolled(client.clone(), events, enrol, handler).run_to_end(pending()).await;
    client.close().await;
    over
}

impl Player {
    /// Creates a player. The connection must have an agent name, and nobody else may read its events.
    pub fn new(client: Client, events: Events, join: Join, handler: impl Handler) -> Self {
        Self::with(client, events, Aim::Join(Box::new(join)), Arc::new(handler))
    }

    /// Creates a player for a run. The connection must have an agent name, and nobody else may read its events.
    pub fn enrolled(client: Client, events: Events, enrol: Enrol, handler: impl Handler) -> Self {
        Self::with(client, events, Aim::Enrol(Box::new(enrol)), Arc::new(handler))
    }

    fn with(client: Client, events: Events, aim: Aim, handler: Arc<dyn DynHandler>) -> Self {
        Player {
            client,
            events,
            handler,
            aim,
            over: None,
            entry: Entry::Out,
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

    /// Plays until `join.count` matches have ended (0: for an unlimited number). If the server forgets a match with its
    /// session, the player joins again for another one. When `stop` resolves, the player takes no new matches and
    /// finishes the running ones.
    ///
    /// # Errors
    /// [`Error::Refused`] if the server refuses the join, or refuses an act for another reason than lateness;
    /// [`Error::Agent`] if the handler fails; and the errors that end the connection.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) -> Result<Vec<MatchResult>, Error> {
        self.boxed(Box::pin(stop)).await?;
        Ok(self.played)
    }

    /// Plays a run until it is over, and returns how it ended. When `stop` resolves, the player takes no new matches, finishes the
    /// running ones and returns `None`; the same enrolment continues the run later.
    ///
    /// # Errors
    /// As [`Player::run`]; [`Error::Refused`] if the server refuses the enrolment.
    pub async fn run_to_end(mut self, stop: impl Future<Output = ()> + Send) -> Result<Option<Box<RunEnd>>, Error> {
        self.boxed(Box::pin(stop)).await?;
        Ok(self.over)
    }

    /// Boxed, so that the player is compiled here and not in the crates that use it.
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
            if self.finished() {
                return Ok(());
            }
            self.enter().await?;
            done = tokio::select! {
                event = self.events.next() => match event {
                    Some(Event::Message(message)) => self.message(message).await,
                    Some(Event::Connected(welcome)) if welcome.resumed => {
                        self.ask_again();
                        Ok(())
                    }
                    Some(Event::Connected(welcome)) => {
                        self.lost += 1;
                        self.adopt(&welcome).await
                    }
                    Some(Event::Gone(error)) => return Err(error),
                    None => return Err(Error::Shut),
                },
                Some(work) = self.work.join_next() => self.done(work).await,
                () = &mut stop, if !stopped => {
                    stopped = true;
                    self.leave().await
                }
            };
        }
    }

    fn finished(&self) -> bool {
        let running = self.matches.len() + self.expected.len();
        let over = match self.entry {
            // The end of a run follows its last answer.
            Entry::Left => self.no_more || matches!(self.aim, Aim::Join(_)),
            Entry::Out | Entry::In(_) => self.no_more,
            Entry::Asking | Entry::Leaving => false,
        };
        let done = match &self.aim {
            Aim::Join(join) => join.count > 0 && self.ended_count() >= join.count as usize,
            Aim::Enrol(_) => self.over.is_some(),
        };
        (over && running == 0) || done
    }

    /// The end of a run may have been told while nobody listened. Who enrols again hears it again.
    fn ask_again(&mut self) {
        if matches!((&self.aim, &self.entry), (Aim::Enrol(_), Entry::In(_))) && !self.no_more {
            self.entry = Entry::Out;
        }
    }

    /// How many matches have ended; a match that the server forgot does not count.
    fn ended_count(&self) -> usize {
        self.played.iter().filter(|played| played.end.is_some()).count()
    }

    async fn post(&self, message: ClientMessage) -> Result<Reply, Error> {
        self.client.post_in(Some(self.lost), message).await
    }

    // ---- the join -------------------------------------------------------------------------------------------------

    async fn enter(&mut self) -> Result<(), Error> {
        if self.entry != Entry::Out || self.no_more {
            return Ok(());
        }
        let message = match &self.aim {
            Aim::Enrol(enrol) => ClientMessage::Enrol(enrol.clone()),
            Aim::Join(join) => {
                let mut join = join.clone();
                if join.count > 0 {
                    let begun = self.ended_count() + self.matches.len() + self.expected.len() + self.owed as usize;
                    join.count = join.count.saturating_sub(u32::try_from(begun).unwrap_or(u32::MAX));
                    if join.count == 0 {
                        return Ok(());
                    }
                }
                ClientMessage::Join(join)
            }
        };
        self.entry = Entry::Asking;
        let reply = self.post(message).await?;
        self.work.spawn(async move { Done::Joined(reply.await) });
        Ok(())
    }

    async fn leave(&mut self) -> Result<(), Error> {
        self.no_more = true;
        let Entry::In(join) = &self.entry else { return Ok(()) };
        let reply = self.post(ClientMessage::Leave(Leave { join: join.clone() })).await?;
        self.entry = Entry::Leaving;
        self.work.spawn(async move {
            // If the server no longer knows the join, it has been left too.
            let _ = reply.await;
            Done::Left
        });
        Ok(())
    }

    async fn joined(&mut self, reply: Result<ServerMessage, Error>) -> Result<(), Error> {
        self.entry = Entry::Out;
        match reply {
            Ok(message) => {
                let join = match self.aim {
                    Aim::Join(_) => Some(expect!(message, Joined, "joined")?.join),
                    Aim::Enrol(_) => expect!(message, Enrolled, "enrolled")?.join,
                };
                // Without a join the run is over, which `run_end` tells.
                let Some(join) = join else {
                    self.entry = Entry::Left;
                    return Ok(());
                };
                self.entry = Entry::In(join);
                // The player may have been told to stop before this answer arrived.
                if self.no_more { self.leave().await } else { Ok(()) }
            }
            Err(Error::SessionLost) => Ok(()),
            Err(Error::Refused(error)) if error.retry => {
                self.entry = Entry::Asking;
                let pause = pause(&error);
                self.work.spawn(async move {
                    tokio::time::sleep(pause).await;
                    Done::Rejoin
                });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    // ---- sessions -------------------------------------------------------------------------------------------------

    /// Takes over a new session. A `resync` follows for each match that was reclaimed. The other matches of the old
    /// session are gone or have ended meanwhile; the end of such a match comes before the answer to our next request.
    async fn adopt(&mut self, welcome: &Welcome) -> Result<(), Error> {
        let seats = welcome.matches.iter().filter(|held| held.seat.is_some());
        let held: BTreeSet<String> = seats.map(|held| held.match_id.clone()).collect();
        for table in self.matches.values_mut() {
            table.in_flight = false;
        }
        self.doubtful = self.matches.keys().filter(|&id| !held.contains(id)).cloned().collect();
        self.expected = held.into_iter().filter(|id| !self.matches.contains_key(id)).collect();
        self.owed = welcome.joins.iter().filter_map(|join| join.left).sum();
        self.entry = welcome.joins.first().map_or(Entry::Out, |join| Entry::In(join.join.clone()));
        self.ask_again();
        if !self.doubtful.is_empty() {
            let reply = self.post(ClientMessage::Ping(Ping {})).await?;
            self.work.spawn(async move { Done::Settled(reply.await.is_ok()) });
        }
        if self.no_more { self.leave().await } else { Ok(()) }
    }

    // ---- what comes in --------------------------------------------------------------------------------------------

    async fn message(&mut self, message: ServerMessage) -> Result<(), Error> {
        match message {
            ServerMessage::MatchStart(start) => self.start(*start),
            ServerMessage::Turn(turn) => self.turn(turn, None).await?,
            ServerMessage::Event(event) if self.matches.contains_key(&event.match_id) => self.handler.event(&event),
            ServerMessage::MatchEnd(end) => self.finish(&end.match_id.clone(), Some(end)),
            ServerMessage::Resync(resync) => self.resync(*resync).await?,
            ServerMessage::Progress(progress) => self.handler.progress(&progress),
            ServerMessage::RunEnd(over) if self.is_of(&over.run) => self.over = Some(over),
            ServerMessage::Draining(Draining { resume: false, .. }) => self.no_more = true,
            // Other messages answer frames that we never send, or are meant for people.
            _ => {}
        }
        Ok(())
    }

    fn is_of(&self, run: &str) -> bool {
        matches!(&self.aim, Aim::Enrol(enrol) if enrol.run == run)
    }

    fn start(&mut self, start: MatchStart) {
        let id = start.match_id.clone();
        if start.seat.is_none() || self.ended.contains(&id) || self.matches.contains_key(&id) {
            return;
        }
        self.owed = self.owed.saturating_sub(1);
        self.open(id, start);
    }

    fn open(&mut self, id: String, start: MatchStart) -> &mut Table {
        let start = Arc::new(start);
        self.handler.started(&start);
        let table = Table { start, turn: None, asked: None, act: None, in_flight: false };
        self.matches.entry(id).insert_entry(table).into_mut()
    }

    async fn resync(&mut self, resync: Resync) -> Result<(), Error> {
        let id = resync.match_id.clone();
        if resync.start.seat.is_none() || self.ended.contains(&id) {
            return Ok(());
        }
        self.expected.remove(&id);
        self.doubtful.remove(&id);
        if !self.matches.contains_key(&id) {
            self.open(id.clone(), (*resync.start).clone());
        }
        self.handler.resync(&resync);
        if let Some(end) = resync.end {
            self.finish(&id, Some(end));
        } else if let (Some(turn), Some(table)) = (resync.turn, self.matches.get_mut(&id)) {
            // The match may have moved back. A question or an act for the key of the open turn is still valid.
            let key = (turn.turn, turn.attempt);
            table.asked = table.asked.filter(|&asked| asked == key);
            table.turn = table.turn.take().filter(|(old, _)| old.turn == turn.turn);
            self.turn(turn, None).await?;
        }
        Ok(())
    }

    /// Handles an open turn: asks the agent, unless it was asked already; repeats its act if that may be lost.
    async fn turn(&mut self, turn: Box<TurnFrame>, refusal: Option<Box<ActRefused>>) -> Result<(), Error> {
        let id = turn.match_id.clone();
        let Some(table) = self.matches.get_mut(&id) else { return Ok(()) };
        let key = (turn.turn, turn.attempt);
        if table.act.as_ref().is_some_and(|act| key_of(act) == key) {
            return if table.in_flight { Ok(()) } else { self.send(&id, key).await };
        }
        if table.asked.is_some_and(|asked| key <= asked) {
            return Ok(());
        }
        let since = table.turn.take().filter(|(old, _)| old.turn == turn.turn).map_or_else(Instant::now, |(_, at)| at);
        if table.in_flight && table.act.as_ref().is_some_and(|act| act.turn == turn.turn) {
            // The last attempt was refused. Its reply, which gives the reason, will be sent again.
            table.turn = Some((turn, since));
            return Ok(());
        }
        table.asked = Some(key);
        let ask = TurnRequest {
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
        self.work.spawn(async move { Done::Answered(id, key, handler.turn(ask).await) });
        Ok(())
    }

    fn finish(&mut self, id: &str, end: Option<Box<MatchEnd>>) {
        self.doubtful.remove(id);
        self.expected.remove(id);
        let Some(table) = self.matches.remove(id) else { return };
        let played = MatchResult { start: table.start, end };
        self.handler.ended(&played);
        self.played.push(played);
        self.ended.push_back(id.to_owned());
        if self.ended.len() > ENDED {
            self.ended.pop_front();
        }
    }

    // ---- results --------------------------------------------------------------------------------------------------

    async fn done(&mut self, work: Result<Done, JoinError>) -> Result<(), Error> {
        match work.map_err(|e| Error::Agent(e.to_string()))? {
            Done::Answered(id, key, answer) => self.answered(&id, key, answer).await,
            Done::Acted(id, key, reply) => self.acted(&id, key, reply).await,
            Done::Again(id, key) => self.send(&id, key).await,
            Done::Joined(reply) if self.entry == Entry::Asking => self.joined(reply).await,
            Done::Rejoin if self.entry == Entry::Asking => {
                self.entry = Entry::Out;
                Ok(())
            }
            Done::Left if self.entry == Entry::Leaving => {
                self.entry = Entry::Left;
                Ok(())
            }
            Done::Settled(true) => {
                for id in std::mem::take(&mut self.doubtful) {
                    self.finish(&id, None);
                }
                Ok(())
            }
            Done::Joined(_) | Done::Rejoin | Done::Left | Done::Settled(false) | Done::Resigned => Ok(()),
        }
    }

    async fn answered(&mut self, id: &str, key: Key, answer: Result<TurnReply, Failure>) -> Result<(), Error> {
        // If a clock or a resync has ended the turn, the answer is not needed.
        let Some(table) = self.matches.get_mut(id).filter(|table| table.asked == Some(key)) else { return Ok(()) };
        match answer.map_err(|failure| Error::Agent(failure.to_string()))?.act(id, key) {
            Some(act) => {
                table.act = Some(act);
                self.send(id, key).await
            }
            None => {
                let reply = self.post(ClientMessage::Resign(Resign { match_id: id.to_owned() })).await?;
                self.work.spawn(async move {
                    // The reply does not matter: the match may already be over.
                    let _ = reply.await;
                    Done::Resigned
                });
                Ok(())
            }
        }
    }

    /// Sends the act of `key`, the first time or again.
    async fn send(&mut self, id: &str, key: Key) -> Result<(), Error> {
        let Some(table) = self.matches.get_mut(id) else { return Ok(()) };
        let Some(act) = table.act.clone().filter(|act| key_of(act) == key) else { return Ok(()) };
        table.in_flight = true;
        let reply = self.post(ClientMessage::Act(Box::new(act))).await?;
        let id = id.to_owned();
        self.work.spawn(async move { Done::Acted(id, key, reply.await) });
        Ok(())
    }

    async fn acted(&mut self, id: &str, key: Key, reply: Result<ServerMessage, Error>) -> Result<(), Error> {
        let Some(table) = self.matches.get_mut(id) else { return Ok(()) };
        if table.act.as_ref().map(key_of) == Some(key) {
            table.in_flight = false;
        }
        match reply {
            Ok(ServerMessage::Refused(refused)) => self.refused(id, refused).await,
            Ok(message) => expect!(message, Accepted, "accepted").map(drop),
            Err(Error::Refused(error)) => {
                let waiting = table.turn.as_ref().map(|(turn, _)| turn.clone());
                self.not_acted(id, key, *error)?;
                // A later attempt may have waited for this reply.
                match waiting.filter(|turn| (turn.turn, turn.attempt) > key) {
                    Some(turn) => self.turn(turn, None).await,
                    None => Ok(()),
                }
            }
            // The welcome of a new session handles these; the end of the connection arrives as an event.
            Err(Error::SessionLost | Error::Shut | Error::Lost { .. } | Error::Closed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn refused(&mut self, id: &str, refused: Box<ActRefused>) -> Result<(), Error> {
        let turn = self.matches.get(id).and_then(|table| table.turn.as_ref());
        let Some((turn, _)) = turn.filter(|(turn, _)| turn.turn == refused.turn && refused.tries_left > 0) else {
            return Ok(());
        };
        let mut again = turn.clone();
        again.attempt = refused.attempt;
        if let Some(legal) = &refused.legal {
            again.names = again.names.map(|names| renamed(&turn.legal, names, legal));
            again.legal = legal.clone();
        }
        self.turn(again, Some(refused)).await
    }

    fn not_acted(&mut self, id: &str, key: Key, error: Refusal) -> Result<(), Error> {
        match error.code {
            // The act came too late or was a repetition. Nothing is lost.
            ErrorCode::StaleTurn | ErrorCode::Conflict | ErrorCode::NotYourTurn | ErrorCode::MatchOver => Ok(()),
            ErrorCode::UnknownMatch | ErrorCode::NotYourSeat => {
                self.finish(id, None);
                Ok(())
            }
            _ if error.retry => {
                let (id, pause) = (id.to_owned(), pause(&error));
                self.work.spawn(async move {
                    tokio::time::sleep(pause).await;
                    Done::Again(id, key)
                });
                Ok(())
            }
            _ => Err(error.into()),
        }
    }

    async fn resign_all(&mut self) {
        let resigning = async {
            for id in self.matches.keys() {
                // An error means that the match is over or the connection is gone.
                let _ = self.client.resign(id).await;
            }
        };
        let _ = tokio::time::timeout(GOODBYE, resigning).await;
    }
}

fn key_of(act: &Act) -> Key {
    (act.turn, act.attempt)
}

fn pause(error: &Refusal) -> Duration {
    error.after_ms.map_or(AGAIN, |ms| Duration::from_millis(ms.into()))
}

/// Returns the names for a new list of legal actions, taken from the names of the turn.
fn renamed(before: &Legal, names: Vec<String>, legal: &Legal) -> Vec<String> {
    if before == legal {
        return names;
    }
    let known: BTreeMap<u32, String> = before.iter().zip(names).collect();
    legal.iter().map(|id| known.get(&id).cloned().unwrap_or_else(|| id.to_string())).collect()
}
