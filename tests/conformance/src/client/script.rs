//! The scripts.

use std::time::Duration;

/// What a client claims to be (`docs/protocol.md`, section 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Level {
    /// Plays matches.
    Bot,
    /// Plays matches over connections that break.
    Resumable,
}

/// What disturbs the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing.
    None,
    /// Nobody is let in without the token.
    Token,
    /// The client sits on the second seat.
    Second,
    /// Fields, kinds and types that this version of the protocol does not know.
    Extras,
    /// The second turn is refused so often; `legal` tells whether the refusals list the legal actions.
    Refusals { times: u32, legal: bool },
    /// The first reply of each kind takes its time.
    Slow(Duration),
    /// The connection is cut after every message, sent or received, once.
    Cuts,
    /// The second act gets lost together with the connection.
    LostAct,
    /// The connection is cut before the second turn is told; what comes back is one `resync` with the turn in it.
    Resync,
    /// The connection is cut before the second turn is told, and the session is forgotten.
    Forgotten,
    /// The server says that it drains, and closes with 1012 when the second act comes.
    Drain,
    /// The match ends while the client is away, and is told by events or by a `resync`.
    Ended { resync: bool },
}

/// One script.
pub(super) struct Script {
    pub section: u32,
    pub name: &'static str,
    pub level: Level,
    pub trouble: Trouble,
}

const fn script(section: u32, level: Level, name: &'static str, trouble: Trouble) -> Script {
    Script { section, name, level, trouble }
}

/// In the order of their lines.
pub(super) const SCRIPTS: &[Script] = &[
    script(5, Level::Bot, "plays a match", Trouble::None),
    script(2, Level::Bot, "shows its token", Trouble::Token),
    script(5, Level::Bot, "plays the second seat", Trouble::Second),
    script(1, Level::Bot, "passes over what it does not know", Trouble::Extras),
    script(5, Level::Bot, "acts again when refused", Trouble::Refusals { times: 2, legal: true }),
    script(5, Level::Bot, "acts again when refused without a list", Trouble::Refusals { times: 1, legal: false }),
    script(1, Level::Bot, "waits for slow replies", Trouble::Slow(Duration::from_millis(700))),
    script(7, Level::Resumable, "comes back after a cut at every message", Trouble::Cuts),
    script(7, Level::Resumable, "sends a lost act again", Trouble::LostAct),
    script(7, Level::Resumable, "goes on after a resync", Trouble::Resync),
    script(7, Level::Resumable, "goes on or joins anew when its session is forgotten", Trouble::Forgotten),
    script(6, Level::Resumable, "comes back to a server that restarts", Trouble::Drain),
    script(7, Level::Resumable, "takes the end of a match that it missed", Trouble::Ended { resync: false }),
    script(7, Level::Resumable, "takes a missed end from a resync", Trouble::Ended { resync: true }),
];
