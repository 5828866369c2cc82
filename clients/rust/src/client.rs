//! A handle on a connection: requests and their replies.

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

/// Requests that callers may queue before they have to wait. The server's window limits them further.
const QUEUE: usize = 1_024;

/// A connection to a server. Clones are handles on the same connection; it is closed when the last one is dropped.
///
/// If the connection is lost, the client connects again in the background. It repeats requests without a reply under
/// their old numbers, so the server carries out each of them once. A request fails with [`Error::SessionLost`] if the
/// server has forgotten the session.
#[derive(Clone, Debug)]
pub struct Client {
    commands: mpsc::Sender<Command>,
    welcome: Arc<Welcome>,
}

/// The events of a connection, in the order of their arrival.
///
/// Events are buffered until they are read. Drop this value if you do not need them.
#[derive(Debug)]
pub struct Events(mpsc::UnboundedReceiver<Event>);

impl Events {
    /// Waits for the next event; `None` after the client was closed.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }
}

/// A reply that has not arrived yet. Dropping it does not cancel the request.
#[derive(Debug)]
pub struct Reply(oneshot::Receiver<Result<ServerMessage, Error>>);

impl Future for Reply {
    type Output = Result<ServerMessage, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|reply| reply.unwrap_or(Err(Error::ClientClosed)))
    }
}

/// Returns the expected reply, or [`Error::Unexpected`] for any other.
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
    /// Connects to `ws://host:port` or `wss://host:port` and says hello. Must be called in a tokio runtime, because it
    /// spawns a task for the connection.
    ///
    /// # Errors
    /// [`Error::Connect`] if no server answers, [`Error::Refused`] if the server refuses the client.
    pub async fn connect(url: &str, options: Options) -> Result<(Client, Events), Error> {
        let (commands, received) = mpsc::channel(QUEUE);
        let (sent, events) = mpsc::unbounded_channel();
        let (session, wire) = ClientSession::connect(url, options, received, sent).await?;
        let welcome = Arc::new(session.welcome().clone());
        tokio::spawn(session.run(wire));
        Ok((Client { commands, welcome }, Events(events)))
    }

    /// Returns the server's `welcome` to the first connection.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Sends a request; the reply can be awaited later. Requests are sent in the order of these calls.
    ///
    /// # Errors
    /// [`Error::ClientClosed`] if the client is closed.
    pub async fn post(&self, message: ClientMessage) -> Result<Reply, Error> {
        self.post_in(None, message).await
    }

    /// Sends a request that has a meaning only in one session, given as the number of sessions lost before it. In any
    /// other session the request fails with [`Error::SessionLost`] and is not sent.
    pub(crate) async fn post_in(&self, session: Option<u64>, message: ClientMessage) -> Result<Reply, Error> {
        let (answered, reply) = oneshot::channel();
        self.commands.send(Command::Request(message, answered, session)).await.map_err(|_| Error::ClientClosed)?;
        Ok(Reply(reply))
    }

    /// Sends a request and waits for its reply. An `error` reply becomes [`Error::Refused`].
    ///
    /// # Errors
    /// All variants except [`Error::Connect`] and [`Error::Agent`].
    pub async fn request(&self, message: ClientMessage) -> Result<ServerMessage, Error> {
        self.post(message).await?.await
    }

    /// Sends a message that gets no reply: `ack`.
    ///
    /// # Errors
    /// [`Error::ClientClosed`] if the client is closed.
    pub async fn send(&self, message: ClientMessage) -> Result<(), Error> {
        self.commands.send(Command::Send(message)).await.map_err(|_| Error::ClientClosed)
    }

    /// Returns the server's monotonic clock, in milliseconds.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn ping(&self) -> Result<u64, Error> {
        Ok(expect_reply!(self.request(ClientMessage::Ping(Ping {})).await?, Pong, "pong")?.now_ms)
    }

    /// Lists the catalogue of games, or the part that passes the filter.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn list_games(&self, filter: Option<GameFilter>) -> Result<Vec<GameEntry>, Error> {
        let request = ClientMessage::ListGames(ListGames { filter });
        Ok(expect_reply!(self.request(request).await?, Games, "games")?.games)
    }

    /// Returns the spec of a game. `game` is an id or a whole game string. With `text`, the spec has the rules page.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn describe(&self, game: &str, params: Params, text: bool) -> Result<Spec, Error> {
        let request = ClientMessage::Describe(Describe { game: game.to_owned(), params, rules_text: text });
        Ok(expect_reply!(self.request(request).await?, Spec, "spec")?.spec)
    }

    /// Requests seats in matches and returns the join's id. [`Player`](crate::Player) does this and then plays.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn join(&self, join: Join) -> Result<String, Error> {
        Ok(expect_reply!(self.request(ClientMessage::Join(Box::new(join))).await?, Joined, "joined")?.join)
    }

    /// Leaves a join: it brings no new matches, and running ones continue.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn leave(&self, join: &str) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Leave(Leave { join: join.to_owned() })).await
    }

    /// Resigns a match.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn resign(&self, match_id: &str) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Resign(Resign { match_id: match_id.to_owned() })).await
    }

    /// Lists matches of the server, newest first.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn list_matches(&self, which: ListMatches) -> Result<Vec<MatchEntry>, Error> {
        Ok(expect_reply!(self.request(ClientMessage::ListMatches(which)).await?, Matches, "matches")?.matches)
    }

    /// Lists the suites that the server offers.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn suites(&self) -> Result<Vec<SuiteEntry>, Error> {
        Ok(expect_reply!(self.request(ClientMessage::Suites(ListSuites {})).await?, Suites, "suites")?.suites)
    }

    /// Ends a run of this agent for good; its matches under way are lost.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn withdraw(&self, run: &str) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Withdraw(Withdraw { run: run.to_owned() })).await
    }

    /// Starts to watch a match, whose messages arrive as events.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn spectate(&self, spectate: Spectate) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Spectate(spectate)).await
    }

    /// Stops watching a match.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn unspectate(&self, match_id: &str) -> Result<(), Error> {
        self.expect_ok(ClientMessage::Unspectate(Unspectate { match_id: match_id.to_owned() })).await
    }

    /// Closes the connection for all handles, and waits until it is closed.
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
