//! Simulated players.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::FutureExt as _;
use ludex_client::protocol::ErrorCode;
use ludex_client::protocol::message::{Act, ClientMessage, Join, ServerMessage, TurnFrame};
use ludex_client::protocol::record::Clock;
use ludex_client::{Client, Error, Event, Events, Options};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::network::SimulatedNetwork;

/// Time for a move. Longer than a player and the network need, and shorter than a crashed server is away in total: a clock
/// that ran meanwhile would end matches.
const MOVE: Duration = Duration::from_secs(60);

/// Delay before a player that cannot connect tries again.
const RETRY: Duration = Duration::from_millis(500);

/// Player of the matches of one join.
pub(super) struct SimulatedPlayer {
    pub name: String,
    pub game: String,
    pub queue: String,
    /// True for a player that plays an agent of the server.
    pub is_alone: bool,
    pub is_rated: bool,
    pub count: u32,
    pub network: SimulatedNetwork,
    pub rng: SmallRng,
}

/// Observations of a player.
pub(super) struct Played {
    pub name: String,
    pub is_rated: bool,
    pub count: u32,
    /// Reasons of the ends of its matches, by match.
    pub ended: BTreeMap<String, String>,
    /// Accepted actions by match, seat and turn.
    pub accepted: BTreeMap<(String, u32, u32), i64>,
}

/// Match, seat, turn and try of a request for a move.
type Key = (String, u32, u32, u32);

impl SimulatedPlayer {
    pub async fn play(mut self) -> Played {
        let (mut client, mut events, mut first) = self.join().await;
        let (mut ended, mut accepted) = (BTreeMap::new(), BTreeMap::new());
        let (mut asked, mut acts) = (BTreeSet::<Key>::new(), JoinSet::new());
        while ended.len() < self.count as usize || !acts.is_empty() {
            let message = tokio::select! {
                event = async { if let Some(event) = first.take() { Some(event) } else { events.next().await } } => match event {
                    Some(Event::Message(message)) => message,
                    Some(Event::Connected(welcome)) if welcome.resumed => continue,
                    // The session is lost: it was not on disk at a crash, so that its join was not either.
                    Some(Event::Connected(_)) => {
                        assert!(ended.is_empty() && !self.is_rated, "{}: a session is lost", self.name);
                        (client, events, first) = self.join().await;
                        continue;
                    }
                    other => panic!("{}: {other:?}", self.name),
                },
                Some(act) = acts.join_next() => {
                    let (key, action, reply): (Key, i64, Result<ServerMessage, Error>) = act.unwrap();
                    match reply {
                        Ok(ServerMessage::Accepted(_)) => {
                            accepted.insert((key.0, key.1, key.2), action);
                        }
                        // A crash may have removed the last moves of an unrated match, or the match.
                        Err(_) | Ok(ServerMessage::Refused(_)) if !self.is_rated => {
                            asked.remove(&key);
                        }
                        reply => panic!("{}: {key:?}: {reply:?}", self.name),
                    }
                    continue;
                }
            };
            match message {
                ServerMessage::Turn(turn) => self.answer(&client, &turn, &mut asked, &mut acts),
                ServerMessage::MatchEnd(end) => {
                    ended.insert(end.match_id.clone(), reason(&end.reason));
                }
                ServerMessage::Resync(resync) => {
                    if let Some(end) = &resync.end {
                        ended.insert(resync.match_id.clone(), reason(&end.reason));
                    } else if !self.is_rated {
                        // The match may continue from an earlier position, where its turns come again.
                        accepted.retain(|(id, ..), _| *id != resync.match_id);
                        asked.retain(|(id, ..)| *id != resync.match_id);
                    }
                    if let Some(turn) = &resync.turn {
                        self.answer(&client, turn, &mut asked, &mut acts);
                    }
                }
                _ => {}
            }
        }
        Played { name: self.name, is_rated: self.is_rated, count: self.count, ended, accepted }
    }

    /// Connects and joins, again and again until it succeeds. Returns the first event after the join, if it is known
    /// already: earlier events may be of a session that was lost before the join.
    async fn join(&mut self) -> (Client, Events, Option<Event>) {
        let (game, params) = self.game.split_once('(').unwrap_or((&self.game, ""));
        let mut join = Join { queue: self.queue.clone(), rated: self.is_rated, count: self.count, ..Join::new(game) };
        join.params = params
            .trim_end_matches(')')
            .split(',')
            .filter_map(|param| param.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.parse::<u64>().unwrap().into()))
            .collect();
        join.against = self.is_alone.then(|| vec!["random".to_owned()]);
        join.clock = Clock { move_ms: Some(MOVE.as_millis() as u64), ..Clock::default() };
        loop {
            let options = Options { local: Some(self.network.connector()), ..Options::default().agent(&self.name) };
            if let Ok((client, mut events)) = Client::connect("simulation", options).await {
                match client.join(join.clone()).await {
                    Ok(_) => loop {
                        match events.next().now_or_never().flatten() {
                            Some(Event::Connected(_)) => {}
                            first => return (client, events, first),
                        }
                    },
                    // The disk fails.
                    Err(Error::Refused(refusal)) if refusal.code == ErrorCode::Internal => client.close().await,
                    Err(Error::Refused(refusal)) => panic!("{}: {refusal:?}", self.name),
                    Err(_) => client.close().await,
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Plays a random legal action after some thought, once for each request.
    fn answer(
        &mut self,
        client: &Client,
        turn: &TurnFrame,
        asked: &mut BTreeSet<Key>,
        acts: &mut JoinSet<(Key, i64, Result<ServerMessage, Error>)>,
    ) {
        let key = (turn.match_id.clone(), turn.seat, turn.turn, turn.attempt);
        if !asked.insert(key.clone()) {
            return;
        }
        let legal: Vec<u32> = turn.legal.iter().collect();
        let mut rng = SmallRng::seed_from_u64(self.rng.random());
        let (thought, action) = (rng.random_range(0..5_000), i64::from(legal[rng.random_range(0..legal.len())]));
        let act = Act {
            match_id: turn.match_id.clone(),
            seat: Some(turn.seat),
            turn: turn.turn,
            attempt: turn.attempt,
            action: Some(action),
            ..Act::default()
        };
        let client = client.clone();
        acts.spawn(async move {
            tokio::time::sleep(Duration::from_millis(thought)).await;
            (key, action, client.request(ClientMessage::Act(act.into())).await)
        });
    }
}

fn reason(reason: &impl serde::Serialize) -> String {
    serde_json::to_value(reason).unwrap().as_str().unwrap_or_default().to_owned()
}
