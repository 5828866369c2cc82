//! Client, which is a handle on a connection: requests and replies.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ludex_protocol::message::{
    Describe, GameEntry, GameFilter, Join, Leave, ListGames, ListMatches, ListSuites, MatchEntry, Ping, Resign,
    Spectate, SuiteEntry, Unspectate, Welcome, Withdraw,
};
use ludex_protocol::spec::{Params, Spec};
use ludex_protocol::{ClientMessage, ServerMessage};
use tokio::sync::{mpsc, oneshot};

use crate::error::Error;
use crate::options::Options;
use crate::session::{ClientSession, Command, Event};

/// Number of requests that callers can queue before they must wait. The server's window separately limits the requests
/// that have been sent but not answered.
const QUEUE: usize = 1_024;

/// A connection to a server. Clones share the connection, which is closed when the last clone is dropped.
///
/// If the connection is lost, the client reconnects in the background. Requests that have no reply yet are sent again
/// with their original ids, so the server executes each request once. If the server no longer has the session, such a
/// request may fail with [`Error::SessionLost`].
#[derive(Clone, Debug)]
pub struct Client {
    commands: mpsc::Sender<Command>,
    welcome: Arc<Welcome>,
}

/// The events of a connection, in order of arrival.
///
/// Events are buffered until they are read. If you do not need the events, drop this value.
#[derive(Debug)]
pub struct Events(mpsc::UnboundedReceiver<Event>);

impl Events {
    /// Waits for the next event. Returns `None` once the client is closed.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }
}

/// A future of the reply to a request. Dropping the future does not cancel the request.
#[derive(Debug)]
pub struct Reply(oneshot::Receiver<Result<ServerMessage, Error>>);

impl Future for Reply {
    type Output = Result<ServerMessage, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|reply| reply.unwrap_or(Err(Error::ClientClosed)))
    }
}

/// Returns the reply if it is of the expected type, or [`Error::Unexpected`] otherwise.
macro_rules! expect_reply {
    ($reply:expr, $kind:ident, $name:literal) => {
        match $reply {
            ludex_protocol::ServerMessage::$kind(reply) => std::result::Result::Ok(reply),
            other => std::result::Result::Err($crate::client::unexpected($name, &other)),
        }
    };
}
pub(crate) use expect_reply as expect;

pub(crate) fn unexpected(expected: &'static str, got: &ServerMessage) -> Error {
    let got = serde_json::to_value(got).ok().and_then(|message| Some(message.get("type")?.as_str()?.to_owned()));
    Error::Unexpected { expected, got: got.unwrap_or_default() }
}

impl Client {
    /// Connects to `ws://host:port` or `wss://host:port` and sends `hello`. Must be called in a tokio runtime, because
    /// the connection runs in a spawned task.
    ///
    /// # Errors
    /// Returns [`Error::Connect`] if no server responds, or [`Error::Refused`] if the server refuses the client.
    pub async fn connect(url: &str, options: Options) -> Result<(Client, Events), Error> {
        let (commands, received) = mpsc::channel(QUEUE);
        let (sent, events) = mpsc::unbounded_channel();
        let (session, wire) = ClientSession::connect(url, options, received, sent).await?;
        let welcome = Arc::new(session.welcome().clone());
        tokio::spawn(session.run(wire));
        Ok((Client { commands, welcome }, Events(events)))
    }

    /// Returns the server's `welcome` message for the first connection.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Sends a request and returns a future of its reply. Requests are sent in the order of the calls.
    ///
    /// # Errors
    /// Returns [`Error::ClientClosed`] if the client is closed.
    pub async fn post(&self, message: ClientMessage) -> Result<Reply, Error> {
        self.post_in(None, message).await
    }

    /// Sends a request that is valid only in one session. `session` is the number of sessions lost before that session.
    /// If the session has ended, the request is not sent and fails with [`Error::SessionLost`]. `None`: any session.
    pub(crate) async fn post_in(&self, session: Option<u64>, message: ClientMessage) -> Result<Reply, Error> {
        let (answered, reply) = oneshot::channel();
        self.commands.send(Command::Request(message, answered, session)).await.map_err(|_| Error::ClientClosed)?;
        Ok(Reply(reply))
    }

    /// Sends a request and waits for its reply. An `error` reply becomes [`Error::Refused`].
    ///
    /// # Errors
    /// Returns any variant except [`Error::Connect`] and [`Error::Agent`].
    pub async fn request(&self, message: ClientMessage) -> Result<ServerMessage, Error> {
        self.post(message).await?.await
    }

    /// Sends a message that has no reply, such as `ack`.
    ///
    /// # Errors
    /// Returns [`Error::ClientClosed`] if the client is closed.
    pub async fn send(&self, message: ClientMessage) -> Result<(), Error> {
        self.commands.send(Command::Send(message)).await.map_err(|_| Error::ClientClosed)
    }

    /// Returns the time of the server's monotonic clock, in milliseconds.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn ping(&self) -> Result<u64, Error> {
        Ok(expect_reply!(self.request(ClientMessage::Ping(Ping {})).await?, Pong, "pong")?.now_ms)
    }

    /// Lists the games of the server, or those that match the filter.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn list_games(&self, filter: Option<GameFilter>) -> Result<Vec<GameEntry>, Error> {
        let request = ClientMessage::ListGames(ListGames { filter });
        Ok(expect_reply!(self.request(request).await?, Games, "games")?.games)
    }

    /// Returns the spec of a game, given by its id or by a game string. With `text`, the spec includes the rules page.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn describe(&self, game: &str, params: Params, text: bool) -> Result<Spec, Error> {
        let request = ClientMessage::Describe(Describe { game: game.to_owned(), params, rules_text: text });
        Ok(expect_reply!(self.request(request).await?, Spec, "spec")?.spec)
    }

    /// Requests seats in matches and returns the id of the join. [`Player`](crate::Player) also plays the matches.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn join(&self, join: Join) -> Result<String, Error> {
        Ok(expect_reply!(self.request(ClientMessage::Join(Box::new(join))).await?, Joined, "joined")?.join)
    }

    /// Leaves a join. No further matches start for the join, and running matches continue.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn leave(&self, join: &str) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Leave(Leave { join: join.to_owned() })).await
    }

    /// Resigns a seat of a match. The seat may be absent while the session holds one seat of the match.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn resign(&self, match_id: &str, seat: Option<u32>) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Resign(Resign { match_id: match_id.to_owned(), seat })).await
    }

    /// Lists matches of the server, newest first.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn list_matches(&self, which: ListMatches) -> Result<Vec<MatchEntry>, Error> {
        Ok(expect_reply!(self.request(ClientMessage::ListMatches(which)).await?, Matches, "matches")?.matches)
    }

    /// Lists the suites that the server offers.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn suites(&self) -> Result<Vec<SuiteEntry>, Error> {
        Ok(expect_reply!(self.request(ClientMessage::Suites(ListSuites {})).await?, Suites, "suites")?.suites)
    }

    /// Ends a run of this agent permanently. The agent loses the running matches.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn withdraw(&self, run: &str) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Withdraw(Withdraw { run: run.to_owned() })).await
    }

    /// Starts watching a match. Messages of the match arrive as events.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn spectate(&self, spectate: Spectate) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Spectate(spectate)).await
    }

    /// Stops watching a match.
    ///
    /// # Errors
    /// Same as [`request`](Self::request).
    pub async fn unspectate(&self, match_id: &str) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Unspectate(Unspectate { match_id: match_id.to_owned() })).await
    }

    /// Closes the connection for all clones, and waits until the connection is closed.
    pub async fn close(self) {
        let (closing, closed) = oneshot::channel();
        if self.commands.send(Command::Close(closing)).await.is_ok() {
            let _ = closed.await;
        }
    }

    pub(crate) async fn expect_ok(&self, message: ClientMessage) -> Result<(), Error> {
        expect_reply!(self.request(message).await?, Ok, "ok").map(drop)
    }
}
