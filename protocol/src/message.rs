//! The messages of the protocol, with one file per message and one list per direction.
//!
//! To add a message, write its file, add the message to a list below, and describe the message in `docs/protocol.md`.
//! The file contains everything about the message: its fields, its `type`, the required scope, and the limits on its
//! texts.

mod accepted;
mod ack;
mod act;
mod act_refused;
mod answers;
mod batch;
mod clone;
mod close;
mod describe;
mod draining;
mod enrol;
mod enrolled;
mod error;
mod event;
mod games;
mod hello;
mod join;
mod joined;
mod leave;
mod list_games;
mod list_matches;
mod match_end;
mod match_start;
mod matches;
mod ok;
mod open;
mod opened;
mod ping;
mod pong;
mod progress;
mod queued;
mod reset;
mod resign;
mod restore;
mod resync;
mod run_end;
mod snapshot;
mod snapshots;
mod spec;
mod spectate;
mod step;
mod suites;
mod turn;
mod unspectate;
mod view;
mod viewed;
mod welcome;
mod withdraw;

use serde::{Serialize, Serializer};

use crate::Id;
use crate::envelope::{Envelope, Message};
use crate::error::Refusal;
use crate::frame::{DecodeError, EncodeError, Encoding, Reader};
use crate::limits::Limits;

pub use self::{
    accepted::*, ack::*, act::*, act_refused::*, answers::*, batch::*, clone::*, close::*, describe::*, draining::*,
    enrol::*, enrolled::*, event::*, games::*, hello::*, join::*, joined::*, leave::*, list_games::*, list_matches::*,
    match_end::*, match_start::*, matches::*, ok::*, open::*, opened::*, ping::*, pong::*, progress::*, queued::*,
    reset::*, resign::*, restore::*, resync::*, run_end::*, snapshot::*, snapshots::*, spec::*, spectate::*, step::*,
    suites::*, turn::*, unspectate::*, view::*, viewed::*, welcome::*, withdraw::*,
};
pub use crate::error::Issue;
pub use crate::legal::Legal;
pub use crate::seed::Seed;

/// The properties of a client's message that a server checks before it executes the message.
pub(crate) trait ClientBody {
    /// Returns the message as a trait object.
    fn facts(&self) -> &dyn ClientBody
    where
        Self: Sized,
    {
        self
    }

    /// Returns the required scope, if any: `gym` for the gym plane, `play` and `spectate` for the match plane.
    fn scope(&self) -> Option<Scope> {
        None
    }

    /// Returns true if the message starts new work, which a draining server refuses.
    fn starts_work(&self) -> bool {
        false
    }

    /// Checks constraints between fields that their types do not express.
    fn complete(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Checks limits that decoding does not check: sizes of documents, and texts of `act`, `step` and `reset`.
    fn check(&self, _: &Limits) -> Result<(), Refusal> {
        Ok(())
    }
}

/// The properties of a server's message that the codec needs for encoding.
pub(crate) trait ServerBody {
    /// Returns the message as a trait object.
    fn facts(&self) -> &dyn ServerBody
    where
        Self: Sized,
    {
        self
    }

    /// Returns the approximate size of the MessagePack form in bytes, used as the initial buffer capacity.
    fn size_hint(&self) -> usize {
        256
    }
}

/// Defines a message enum, the table of its types, and its encoding and decoding.
macro_rules! messages {
    ($(#[$about:meta])* $side:ident by $trait:ident, $id:literal: $($(#[$what:meta])* $name:ident($body:ty),)*) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = "type", rename_all = "snake_case"))]
        pub enum $side {
            $($(#[$what])* $name($body),)*
        }

        impl $side {
            /// All values of `type`, in the order of the enum's variants.
            pub const TYPES: [&'static str; [$(<$body as Message>::TYPE),*].len()] = [$(<$body as Message>::TYPE),*];

            /// Types of the possible replies to each message type, in the order of the enum's variants. Empty for
            /// messages that get no reply.
            pub const REPLIES: [&'static [&'static str]; Self::TYPES.len()] = [$(<$body as Message>::REPLIES),*];

            /// Returns the value of `type`.
            pub fn kind(&self) -> &'static str {
                match self {
                    $($side::$name(_) => <$body as Message>::TYPE,)*
                }
            }

            /// Returns the types of the possible replies, without `error`.
            pub fn replies(&self) -> &'static [&'static str] {
                match self {
                    $($side::$name(_) => <$body as Message>::REPLIES,)*
                }
            }

            /// Returns the trait object with the properties of the message.
            fn facts(&self) -> &dyn $trait {
                match self {
                    $($side::$name(message) => message.facts(),)*
                }
            }

            pub(crate) fn read(kind: &str, reader: &Reader) -> Result<Self, DecodeError> {
                match kind {
                    $(<$body as Message>::TYPE => reader.read().map($side::$name),)*
                    _ => Err(reader.unknown_type(kind, &Self::TYPES)),
                }
            }

            pub(crate) fn write(&self, encoding: Encoding, id: Option<Id>, room: usize) -> Result<Vec<u8>, EncodeError> {
                match self {
                    $($side::$name(message) => encoding.write(&Envelope { id_name: $id, id, message }, room),)*
                }
            }
        }

        impl Serialize for $side {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let as_text = serializer.is_human_readable();
                let tree = match self {
                    $($side::$name(message) => Envelope { id_name: $id, id: None, message }.tree(as_text),)*
                };
                tree.map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        }
    };
}

messages! {
    /// A message sent by a client.
    ClientMessage by ClientBody, "id":
    /// Opens a session; the first message of a connection.
    Hello(Box<Hello>),
    /// Requests the server's time.
    Ping(Ping),
    /// Replies to the server's `ping`; gets no reply.
    Pong(Pong),
    /// Requests the list of games.
    ListGames(ListGames),
    /// Requests the spec of a game.
    Describe(Describe),
    /// Opens environments of one game.
    Open(Box<Open>),
    /// Starts episodes in environments.
    Reset(Reset),
    /// Plays actions in environments.
    Step(StepEnvs),
    /// Requests views of one environment.
    View(ViewEnv),
    /// Copies environments into a new handle.
    Clone(CloneEnvs),
    /// Requests snapshots of environment states.
    Snapshot(SnapshotEnvs),
    /// Restores environment states from snapshots.
    Restore(Restore),
    /// Closes an environment handle.
    Close(CloseHandle),
    /// Requests seats in matches.
    Join(Box<Join>),
    /// Stops a join from getting new matches.
    Leave(Leave),
    /// Plays a move in a match.
    Act(Box<Act>),
    /// Resigns the client's seat in a match.
    Resign(Resign),
    /// Requests the list of matches.
    ListMatches(ListMatches),
    /// Starts watching a match.
    Spectate(Spectate),
    /// Stops watching a match.
    Unspectate(Unspectate),
    /// Acknowledges the messages of a match; gets no reply.
    Ack(Ack),
    /// Requests the suites of the server.
    Suites(ListSuites),
    /// Enrolls the agent in a run.
    Enrol(Box<Enrol>),
    /// Ends the agent's run early.
    Withdraw(Withdraw),
}

messages! {
    /// A message sent by the server.
    ServerMessage by ServerBody, "re":
    /// Reply to `hello`, with session and limits.
    Welcome(Box<Welcome>),
    /// Reply to `ping`, with the server's time.
    Pong(ServerPong),
    /// Liveness check; replying with `pong` is optional.
    Ping(ServerPing),
    /// Reply to `list_games`, with the matching games.
    Games(GameList),
    /// Reply to `describe`, with the game's spec.
    Spec(Box<SpecReply>),
    /// Reply to `open` and `clone`.
    Opened(Box<HandleOpened>),
    /// Reply to `reset`, `step` and `restore`.
    Batch(Box<Batch>),
    /// Reply to `view`, with the requested views.
    Viewed(Box<Viewed>),
    /// Reply to `snapshot`, with one snapshot per environment.
    Snapshots(Snapshots),
    /// Reply to `close`, `leave`, `resign`, `spectate`, `unspectate` and `withdraw`.
    Ok(OkReply),
    /// Reply to `join`, with the id of the join.
    Joined(Joined),
    /// Event: a join is waiting in its queue.
    Queued(Queued),
    /// Event: a match starts.
    MatchStart(Box<MatchStart>),
    /// Event: the client's seat is to move.
    Turn(Box<TurnFrame>),
    /// Reply to an `act` whose move was played.
    Accepted(Accepted),
    /// Reply to an `act` that was refused.
    Refused(Box<ActRefused>),
    /// Event of a match, as visible to the viewer.
    Event(Box<MatchEvent>),
    /// Event: a match has ended.
    MatchEnd(Box<MatchEnd>),
    /// The complete state of a match, sent instead of missed messages.
    Resync(Box<Resync>),
    /// Reply to `list_matches`, with the matching matches.
    Matches(Matches),
    /// Reply to `suites`, with the available suites.
    Suites(SuiteList),
    /// Reply to `enrol`, with the progress of the run.
    Enrolled(Enrolled),
    /// Event: a match of a run has finished.
    Progress(Box<Progress>),
    /// Event: a run has ended.
    RunEnd(Box<RunEnd>),
    /// Event: the server is shutting down.
    Draining(Draining),
    /// Reply to a request that failed, or to an invalid frame.
    Error(Box<Refusal>),
}

impl ClientMessage {
    /// Returns the required scope, if any.
    pub fn scope(&self) -> Option<Scope> {
        self.facts().scope()
    }

    /// Returns true if the message has an `id` and gets a reply: all but `pong` and `ack`.
    pub fn is_request(&self) -> bool {
        !self.replies().is_empty()
    }

    /// Returns true if the message starts new work (`open`, `clone`, `join`, `enrol`), which a draining
    /// server refuses.
    pub fn starts_work(&self) -> bool {
        self.facts().starts_work()
    }

    /// Checks texts, documents and notes against the limits.
    ///
    /// # Errors
    /// Returns `too_large` with the path of the field.
    pub fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        self.facts().check(limits)
    }

    /// Checks constraints that field types do not express, for example that an `act` has exactly one move.
    pub(crate) fn complete(&self) -> Result<(), Refusal> {
        self.facts().complete()
    }
}

impl ServerMessage {
    /// Returns the approximate size of the MessagePack form in bytes, used as the initial buffer capacity.
    pub fn size_hint(&self) -> usize {
        self.facts().size_hint()
    }
}
