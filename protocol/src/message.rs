//! The messages: one file for each, and the two lists that make them the protocol.
//!
//! To add a message, write its file, add its line to one of the lists below, and describe it in `docs/protocol.md`. The
//! file says everything about it: its fields, its `type`, the scope that it needs, and which limits bound its texts.

mod accepted;
mod ack;
mod act;
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
mod organise;
mod organised;
mod ping;
mod pong;
mod progress;
mod queued;
mod refused;
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
    accepted::*, ack::*, act::*, batch::*, clone::*, close::*, describe::*, draining::*, enrol::*, enrolled::*,
    event::*, games::*, hello::*, join::*, joined::*, leave::*, list_games::*, list_matches::*, match_end::*,
    match_start::*, matches::*, ok::*, open::*, opened::*, organise::*, organised::*, ping::*, pong::*, progress::*,
    queued::*, refused::*, reset::*, resign::*, restore::*, resync::*, run_end::*, snapshot::*, snapshots::*, spec::*,
    spectate::*, step::*, suites::*, turn::*, unspectate::*, view::*, viewed::*, welcome::*, withdraw::*,
};
pub use crate::error::Issue;
pub use crate::legal::Legal;
pub use crate::seed::Seed;

/// What a server asks about a client's message before it carries it out.
pub(crate) trait FromClient {
    /// The message as all of them can be asked.
    fn facts(&self) -> &dyn FromClient
    where
        Self: Sized,
    {
        self
    }

    /// The scope that it needs, if it needs one: `gym` for the gym plane, `play` and `spectate` for the match plane.
    fn scope(&self) -> Option<Scope> {
        None
    }

    /// Whether it has an `id` and gets a reply.
    fn is_request(&self) -> bool {
        true
    }

    /// Whether it begins something new, which a draining server refuses.
    fn begins(&self) -> bool {
        false
    }

    /// Whether the fields fit together, where their types alone do not say so.
    fn complete(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether what a tree of values does not show is within the limits: documents, and the texts of `act`, `step` and
    /// `reset`.
    fn check(&self, _: &Limits) -> Result<(), Refusal> {
        Ok(())
    }
}

/// What the codec asks about a server's message before it writes it.
pub(crate) trait FromServer {
    /// The message as all of them can be asked.
    fn facts(&self) -> &dyn FromServer
    where
        Self: Sized,
    {
        self
    }

    /// About how many bytes it takes in MessagePack, so that its buffer is made once.
    fn size_hint(&self) -> usize {
        256
    }
}

/// One list of messages: their enum, their table of types, and how they are read and written.
macro_rules! messages {
    ($(#[$about:meta])* $side:ident by $trait:ident, $id:literal: $($(#[$what:meta])* $name:ident($body:ty),)*) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = "type", rename_all = "snake_case"))]
        pub enum $side {
            $($(#[$what])* $name($body),)*
        }

        impl $side {
            /// Every `type`, in the order of the list.
            pub const TYPES: [&'static str; [$(<$body as Message>::TYPE),*].len()] = [$(<$body as Message>::TYPE),*];

            /// Its `type`.
            pub fn kind(&self) -> &'static str {
                match self {
                    $($side::$name(_) => <$body as Message>::TYPE,)*
                }
            }

            /// What its file says about it.
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
    /// A message of a client.
    ClientMessage by FromClient, "id":
    /// The first message.
    Hello(Box<Hello>),
    /// Asks for the server's time.
    Ping(Ping),
    /// Answers the server's `ping`; gets no reply.
    Pong(Pong),
    /// Asks for the catalogue.
    ListGames(ListGames),
    /// Asks for a game's spec.
    Describe(Describe),
    /// Opens environments.
    Open(Box<Open>),
    /// Starts episodes.
    Reset(Reset),
    /// Acts in environments.
    Step(StepEnvs),
    /// Looks at an environment.
    View(ViewEnv),
    /// Copies environments into a new handle.
    Clone(CloneEnvs),
    /// Asks for states as bytes.
    Snapshot(SnapshotEnvs),
    /// Sets states from bytes.
    Restore(Restore),
    /// Closes a handle.
    Close(CloseHandle),
    /// Asks for seats in matches.
    Join(Box<Join>),
    /// Takes no new matches.
    Leave(Leave),
    /// Moves in a match.
    Act(Box<Act>),
    /// Gives up a match.
    Resign(Resign),
    /// Asks for the list of matches.
    ListMatches(ListMatches),
    /// Watches a match.
    Spectate(Spectate),
    /// Watches no longer.
    Unspectate(Unspectate),
    /// Saw the events of a match up to here; gets no reply.
    Ack(Ack),
    /// Asks for the suites that the server offers.
    Suites(ListSuites),
    /// Enters the agent for a run.
    Enrol(Box<Enrol>),
    /// Ends the agent's run before its time.
    Withdraw(Withdraw),
    /// Begins a tournament.
    Organise(Box<Organise>),
}

messages! {
    /// A message of a server.
    ServerMessage by FromServer, "re":
    /// Answers `hello`.
    Welcome(Box<Welcome>),
    /// Answers `ping`.
    Pong(ServerPong),
    /// Is the client there? Answering with `pong` is optional.
    Ping(ServerPing),
    /// Answers `list_games`.
    Games(GameList),
    /// Answers `describe`.
    Spec(Box<SpecReply>),
    /// Answers `open` and `clone`.
    Opened(Box<HandleOpened>),
    /// Answers `reset`, `step` and `restore`.
    Batch(Box<Batch>),
    /// Answers `view`.
    Viewed(Box<Viewed>),
    /// Answers `snapshot`.
    Snapshots(Snapshots),
    /// Answers `close`, `leave`, `resign`, `spectate`, `unspectate` and `withdraw`.
    Ok(OkReply),
    /// Answers `join`.
    Joined(Joined),
    /// A join waits for others.
    Queued(Queued),
    /// A match begins.
    MatchStart(Box<MatchStart>),
    /// This seat is to move.
    Turn(Box<TurnFrame>),
    /// Answers an `act` that was played.
    Accepted(Accepted),
    /// Answers an `act` that was not legal.
    Refused(Box<ActRefused>),
    /// Something happened in a match.
    Event(Box<MatchEvent>),
    /// A match is over.
    MatchEnd(Box<MatchEnd>),
    /// Everything about a match again, instead of what was missed.
    Resync(Box<Resync>),
    /// Answers `list_matches`.
    Matches(Matches),
    /// Answers `suites`.
    Suites(SuiteList),
    /// Answers `enrol`.
    Enrolled(Enrolled),
    /// Answers `organise`.
    Organised(Organised),
    /// A match of a run is done.
    Progress(Box<Progress>),
    /// A run is over.
    RunEnd(Box<RunEnd>),
    /// The server goes down.
    Draining(Draining),
    /// Answers a request that was not carried out, or a frame that was not understood.
    Error(Box<Refusal>),
}

impl ClientMessage {
    /// The scope that it needs, if it needs one.
    pub fn scope(&self) -> Option<Scope> {
        self.facts().scope()
    }

    /// Whether it has an `id` and gets a reply: all but `pong` and `ack`.
    pub fn is_request(&self) -> bool {
        self.facts().is_request()
    }

    /// Whether it begins something new (`open`, `clone`, `join`, `enrol`, `organise`), which a draining server refuses.
    pub fn begins(&self) -> bool {
        self.facts().begins()
    }

    /// Checks texts, documents and notes against the limits.
    ///
    /// # Errors
    /// `too_large` with the path of the field.
    pub fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        self.facts().check(limits)
    }

    /// Checks what the types of the fields do not say: an `act` has exactly one move, for example.
    pub(crate) fn complete(&self) -> Result<(), Refusal> {
        self.facts().complete()
    }
}

impl ServerMessage {
    /// About how many bytes the message takes in MessagePack, so that its buffer is made once.
    pub fn size_hint(&self) -> usize {
        self.facts().size_hint()
    }
}
