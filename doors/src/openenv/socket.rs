//! Session on a WebSocket: messages are executed one after another, while pings are answered.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use axum::http::HeaderMap;
use ludex_client::{Event, Events, LocalConnector};
use tokio::time::{Instant, MissedTickBehavior};

use super::environment::Environment;
use super::failure::RequestFailure;
use super::messages::{MessageOutcome, execute};
use crate::websocket::{DoorSocket, Frame};

/// Maximum number of messages that wait for their execution. Beyond it, the socket is not read.
const MAX_WAITING: usize = 2;

/// Time between pings, by which a lost connection is noticed.
const PING: Duration = Duration::from_secs(30);

/// Close codes of WebSockets.
mod close {
    pub const NORMAL: u16 = 1000;
    pub const GOING_AWAY: u16 = 1001;
    pub const TOO_LARGE: u16 = 1009;
}

/// Message that is executed now.
type Running = Pin<Box<dyn Future<Output = (Box<Environment>, MessageOutcome)> + Send>>;

/// Executor of a session's messages.
enum Work {
    Idle(Box<Environment>),
    Running(Running),
}

/// Serves a session of a game.
pub(super) async fn serve(mut socket: DoorSocket, connector: LocalConnector, game: String, headers: HeaderMap) {
    match Environment::connect(&connector, &headers, &game).await {
        Ok((environment, events)) => {
            let (code, reason) = run(&mut socket, environment, events).await;
            socket.close(code, reason).await;
        }
        Err(failure) => {
            socket.send(failure.at_start().message()).await;
            socket.close(close::NORMAL, "session failed").await;
        }
    }
}

/// Runs a session until its end, and returns the close code with its reason.
async fn run(socket: &mut DoorSocket, environment: Environment, mut events: Events) -> (u16, &'static str) {
    let idle = Duration::from_millis(environment.client().welcome().limits.idle_ms);
    let mut timer = tokio::time::interval(PING.min(idle));
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = Instant::now();
    let mut waiting = VecDeque::new();
    let mut work = Some(Work::Idle(Box::new(environment)));
    loop {
        work = work.map(|work| start(work, &mut waiting));
        tokio::select! {
            frame = socket.next(), if waiting.len() < MAX_WAITING => match frame {
                Frame::Text(text) => {
                    heard = Instant::now();
                    waiting.push_back(text);
                }
                // Binary frames are as little JSON as an empty text.
                Frame::Binary => waiting.push_back(String::new()),
                Frame::Control => {}
                Frame::TooLong => return (close::TOO_LARGE, "message is too long"),
                Frame::Gone => return (close::NORMAL, ""),
            },
            (environment, outcome) = finished(&mut work) => {
                work = Some(Work::Idle(environment));
                match outcome {
                    MessageOutcome::Reply(reply) => {
                        if !socket.send(reply).await {
                            return (close::NORMAL, "");
                        }
                    }
                    MessageOutcome::Last(reply) => {
                        socket.send(reply).await;
                        return (close::GOING_AWAY, "session ended");
                    }
                    MessageOutcome::Closed => return (close::NORMAL, ""),
                }
            }
            event = events.next() => match event {
                None | Some(Event::Gone(_)) => {
                    let failure = RequestFailure::from(ludex_client::Error::SessionLost);
                    socket.send(failure.message()).await;
                    return (close::GOING_AWAY, "session ended");
                }
                Some(_) => {}
            },
            _ = timer.tick() => {
                let is_idle = matches!(&work, Some(Work::Idle(environment)) if !environment.is_open());
                if is_idle && heard.elapsed() >= idle {
                    return (close::NORMAL, "session was idle");
                }
                if !socket.ping().await {
                    return (close::NORMAL, "");
                }
            }
        }
    }
}

/// Starts the next message if none is running.
fn start(work: Work, waiting: &mut VecDeque<String>) -> Work {
    match work {
        Work::Idle(mut environment) => match waiting.pop_front() {
            Some(text) => Work::Running(Box::pin(async move {
                let outcome = execute(&mut environment, &text).await;
                (environment, outcome)
            })),
            None => Work::Idle(environment),
        },
        running => running,
    }
}

/// Waits until the running message is executed; forever if none is running.
async fn finished(work: &mut Option<Work>) -> (Box<Environment>, MessageOutcome) {
    match work {
        Some(Work::Running(running)) => running.await,
        _ => std::future::pending().await,
    }
}
