//! Seats in matches: against agents of the server, other clients of a queue, or in the matches of a run.

use std::sync::Arc;
use std::time::Duration;

use ludex_client::protocol::message::{Act, ActRefused, Enrol, Join, Leave, MatchView, Resign, TurnFrame};
use ludex_client::protocol::record::Clock;
use ludex_client::protocol::spec::Params;
use ludex_client::protocol::{ClientMessage, ServerMessage};
use ludex_client::{Client, Error, Event, Events};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::arguments::{self, PictureForm};
use super::practice::{CHAT, seat_of};
use super::reply::{ToolReply, ToolResult, failure};
use super::seat_state::SeatState;

/// Longest wait of a request for a turn. Clients commonly end a call after a minute.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Time of a move in milliseconds against other clients, if the caller sets none: models and people need minutes.
const MOVE_MS: u64 = 300_000;

/// Seat in a match, or in the matches of a run one after another.
pub(super) struct RemoteSeat {
    shared: Arc<Shared>,
}

/// State that the reader of events writes and requests read.
struct Shared {
    /// Connection; `None` once all matches are over.
    client: Mutex<Option<Client>>,
    state: watch::Sender<SeatState>,
    /// Request that continues the run after a lost session.
    enrol: Option<Enrol>,
}

impl Drop for RemoteSeat {
    fn drop(&mut self) {
        // Closes the connection, which ends the reader too.
        self.shared.client.lock().take();
    }
}

impl RemoteSeat {
    /// Takes a seat: joins a match, enrolls in a run, or resumes the seats that are reserved for the agent name.
    ///
    /// # Errors
    /// Those of `join` and `enrol`, or contradictory arguments.
    pub async fn take(client: Client, events: Events, arguments: arguments::JoinArguments) -> Result<Self, ToolReply> {
        let request = request(&client, &arguments).await?;
        let enrol = match &request {
            Some(ClientMessage::Enrol(enrol)) => Some((**enrol).clone()),
            _ => None,
        };
        let state = SeatState { is_run: enrol.is_some(), ..SeatState::default() };
        if arguments.resume && client.welcome().matches.is_empty() {
            let name = &client.welcome().agent;
            return Err(failure("nothing_reserved", format!("no seat is reserved for the agent name {name}")));
        }
        let shared =
            Arc::new(Shared { client: Mutex::new(Some(client.clone())), state: watch::Sender::new(state), enrol });
        tokio::spawn(read(shared.clone(), events));
        let seat = RemoteSeat { shared };
        if let Some(request) = request {
            match client.request(request).await? {
                ServerMessage::Joined(joined) => seat.shared.state.send_modify(|state| state.join = Some(joined.join)),
                ServerMessage::Enrolled(enrolled) => seat.shared.state.send_modify(|state| state.enrolled(&enrolled)),
                _ => return Err(failure("internal", "unexpected reply to a join")),
            }
        }
        Ok(seat)
    }

    pub fn is_over(&self) -> bool {
        self.shared.state.borrow().over.is_some()
    }

    /// Returns the game string of the running match, or a note on the state.
    pub fn game(&self) -> String {
        let state = self.shared.state.borrow();
        state.starts.values().next().map_or_else(|| state.note.clone(), |start| start.game.clone())
    }

    /// Waits for a turn or the end, for [`MAX_WAIT`] at most, and returns the position.
    pub async fn position(&self, id: &str, full: bool, picture: Option<PictureForm>) -> ToolResult {
        let mut changes = self.shared.state.subscribe();
        let ready = changes.wait_for(|state| state.over.is_some() || !state.turns.is_empty());
        // Without a turn in time, the reply says what the seat waits for.
        let _ = tokio::time::timeout(MAX_WAIT, ready).await;
        let Some(turn) = self.turn() else { return Ok(self.status(id)) };
        let reply = with_prompt(self.status(id), &turn, full);
        Ok(match (picture, &turn.view.picture) {
            (Some(form), Some(picture)) => reply.picture(id, form, picture),
            _ => reply,
        })
    }

    /// Plays a move, and waits for the next turn as [`position`](Self::position) does.
    ///
    /// # Errors
    /// A refused move, with the reason and the number of tries left.
    pub async fn answer(&self, id: &str, answer: &str) -> ToolResult {
        let Some(turn) = self.turn() else {
            let why = "it is not your turn; wait for it with `position`";
            return Err(failure(if self.is_over() { "match_over" } else { "not_your_turn" }, why));
        };
        let client = self.client()?;
        let act = Act {
            match_id: turn.match_id.clone(),
            seat: Some(turn.seat),
            turn: turn.turn,
            attempt: turn.attempt,
            answer: Some(answer.to_owned()),
            ..Act::default()
        };
        match client.request(ClientMessage::Act(Box::new(act))).await? {
            ServerMessage::Accepted(accepted) => {
                self.shared.state.send_modify(|state| state.close_turn(&turn));
                Ok(self.position(id, false, None).await?.with("move", accepted.text).with("verdict", "ok"))
            }
            ServerMessage::Refused(refused) => Err(self.refusal_reply(id, &turn, *refused)),
            _ => Err(failure("internal", "unexpected reply to a move")),
        }
    }

    /// Resigns the running match, or leaves the queue.
    pub async fn resign(&self, id: &str) -> ToolResult {
        let client = self.client()?;
        let (seats, join) = {
            let state = self.shared.state.borrow();
            (state.starts.keys().cloned().collect::<Vec<_>>(), state.join.clone())
        };
        for (match_id, seat) in &seats {
            let request = Resign { match_id: match_id.clone(), seat: Some(*seat) };
            client.request(ClientMessage::Resign(request)).await?;
        }
        if let (true, Some(join)) = (seats.is_empty(), join) {
            client.request(ClientMessage::Leave(Leave { join })).await?;
            self.shared.end("left the queue".to_owned());
        }
        let mut changes = self.shared.state.subscribe();
        let ended = changes.wait_for(|state| seats.iter().all(|key| !state.starts.contains_key(key)));
        let _ = tokio::time::timeout(MAX_WAIT, ended).await;
        self.position(id, false, None).await
    }

    /// Returns the events of the matches as the seat saw them.
    pub fn history(&self, id: &str) -> ToolReply {
        let entries = self.shared.state.borrow().history.since(0);
        ToolReply::default().with("id", id).with("history", &entries).text(entries.join("\n"))
    }

    fn turn(&self) -> Option<Box<TurnFrame>> {
        self.shared.state.borrow().turns.values().next().cloned()
    }

    fn client(&self) -> Result<Client, ToolReply> {
        self.shared.client.lock().clone().ok_or_else(|| failure("match_over", "the match is over"))
    }

    fn refusal_reply(&self, id: &str, turn: &TurnFrame, refused: ActRefused) -> ToolReply {
        self.shared.state.send_modify(|state| state.refuse(turn, &refused));
        let left = refused.tries_left;
        // The words for the model ask for another move, which comes too late after the last try.
        let words = refused.answer.as_ref().and_then(|answer| answer.message.as_ref());
        let words = words.filter(|_| refused.applied_policy.is_none()).unwrap_or(&refused.message);
        let text = match &refused.applied_policy {
            Some(_) => format!("{words}\nNo tries are left, so the server decides the turn. Call `position`."),
            None => format!("{words}\nTries left: {left}."),
        };
        let verdict = refused.answer.as_ref().map(|answer| answer.verdict);
        let reply = ToolReply::default().with("id", id).with("verdict", verdict).with("message", words);
        reply.with("tries_left", left).with("issues", refused.issues).text(text).into_error()
    }

    /// Returns the state without the position: the end, the events since the last reply, or what the seat waits for.
    fn status(&self, id: &str) -> ToolReply {
        let mut news = Vec::new();
        self.shared.state.send_if_modified(|state| {
            news = state.history.since(state.shown);
            state.shown = state.history.count();
            false
        });
        let state = self.shared.state.borrow();
        let mut reply = ToolReply::default().with("id", id).with("over", state.over.is_some()).with("news", &news);
        if let Some(played) = &state.last {
            reply = reply.with("last_match", played);
        }
        let head = match &state.over {
            Some(why) => format!("Game {id} is over: {why}."),
            None if state.turns.is_empty() => {
                format!("Game {id}: no turn yet ({}). Call `position` to wait for it.", state.note)
            }
            None => format!("Game {id}: it is your turn."),
        };
        reply = reply.with("waiting", state.over.is_none() && state.turns.is_empty()).text(head);
        if news.is_empty() { reply } else { reply.text(news.join("\n")) }
    }
}

/// Adds the prompt of a turn to a reply, and with `full` the rules and the form of the answer too.
fn with_prompt(reply: ToolReply, turn: &TurnFrame, full: bool) -> ToolReply {
    let all = turn.view.prompt.as_deref().unwrap_or_default();
    let messages = if full { all } else { all.last_chunk::<1>().map_or(all, |last| last) };
    let reply = reply.with("match", &turn.match_id).with("seat", turn.seat).with("messages", messages);
    let reply = reply.with("phase", &turn.phase).with("budget_ms", turn.budget_ms);
    messages.iter().fold(reply, |reply, message| reply.text(message.content.clone()))
}

/// Returns the request for a seat; `None` to resume reserved seats.
async fn request(client: &Client, arguments: &arguments::JoinArguments) -> Result<Option<ClientMessage>, ToolReply> {
    let mut views = vec![MatchView::Prompt];
    views.extend(arguments.pictures.then_some(MatchView::Picture));
    match (&arguments.game, &arguments.run) {
        _ if arguments.resume => Ok(None),
        (Some(game), None) => Ok(Some(ClientMessage::Join(Box::new(join(client, game, views, arguments).await?)))),
        (None, Some(run)) => {
            let suite = arguments.suite.clone().unwrap_or_default();
            let scale = arguments.scale.unwrap_or(1.0);
            let prompt = conversation();
            let enrol = Enrol { scale, only: arguments.parts.clone(), views, prompt, ..Enrol::new(suite, run) };
            Ok(Some(ClientMessage::Enrol(Box::new(enrol))))
        }
        _ => Err(failure("bad_field", "expected either `game`, or `run` with `suite` for a new run")),
    }
}

/// Returns the settings of prompts as one conversation.
fn conversation() -> Params {
    Params::from_iter([("prompting".to_owned(), CHAT.into())])
}

async fn join(
    client: &Client,
    game: &str,
    views: Vec<MatchView>,
    arguments: &arguments::JoinArguments,
) -> Result<Join, ToolReply> {
    let seat = match &arguments.seat {
        Some(seat) => Some(seat_of(&client.describe(game, Params::new(), false).await?, seat)? as u32),
        None => None,
    };
    let against = arguments.against.clone().map(|agents| match agents {
        arguments::AgentNames::One(agent) => vec![agent],
        arguments::AgentNames::Many(agents) => agents,
    });
    let clock = match arguments.move_seconds {
        Some(0) => Clock::default(),
        None if against.is_some() => Clock::default(),
        Some(seconds) => Clock::per_move(seconds.saturating_mul(1_000)),
        None => Clock::per_move(MOVE_MS),
    };
    let mut join =
        Join { against, seat, rated: arguments.rated, clock, views, prompt: conversation(), ..Join::new(game) };
    if let Some(queue) = &arguments.queue {
        join.queue.clone_from(queue);
    }
    Ok(join)
}

impl Shared {
    /// Ends the seat and closes its connection.
    fn end(&self, why: String) {
        self.state.send_modify(|state| {
            state.over.get_or_insert(why);
            state.turns.clear();
        });
        self.client.lock().take();
    }

    /// Enrolls again after a reconnection, since the run may have ended meanwhile.
    async fn enrol_again(&self) -> Result<(), Error> {
        let client = self.client.lock().clone();
        if let (Some(enrol), Some(client)) = (&self.enrol, client) {
            client.request(ClientMessage::Enrol(Box::new(enrol.clone()))).await?;
        }
        Ok(())
    }
}

/// Reads the events of a connection until it is closed.
async fn read(shared: Arc<Shared>, mut events: Events) {
    while let Some(event) = events.next().await {
        let ended = match event {
            Event::Message(message) => {
                let mut ended = None;
                shared.state.send_modify(|state| ended = state.apply(message));
                ended
            }
            Event::Connected(welcome) if shared.enrol.is_some() => {
                shared.state.send_modify(|state| state.forget_matches(welcome.resumed));
                shared.enrol_again().await.err().map(|error| error.to_string())
            }
            Event::Connected(welcome) if !welcome.resumed && welcome.matches.is_empty() => {
                Some("the server no longer has the match".to_owned())
            }
            Event::Gone(error) => Some(error.to_string()),
            _ => None,
        };
        if let Some(why) = ended {
            shared.end(why);
        }
    }
    shared.end("the connection is closed".to_owned());
}
