//! The scripts.

use std::time::Duration;

use super::program::GAME;

/// The level that a client claims (`docs/protocol.md`, section 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Level {
    /// Plays matches.
    Bot,
    /// Plays matches over connections that break.
    Resumable,
    /// Also answers with documents, where a game hears them.
    Documents,
    /// Plays a suite too, if LUDEX_SUITE names one.
    Runs,
}

impl Level {
    /// Whether a client of this level passes the scripts of another. Documents and runs say nothing of each other.
    pub(super) fn includes(self, other: Level) -> bool {
        other == self || other <= self.min(Level::Resumable)
    }
}

/// What disturbs the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing.
    None,
    /// The token is required.
    Token,
    /// The client sits on the second seat.
    Second,
    /// Fields, kinds and types that this version of the protocol does not know.
    Extras,
    /// The second turn is refused this many times; `legal` says whether the refusals list the legal actions.
    Refusals { times: u32, legal: bool },
    /// The first document of the second turn is refused with two issues.
    Flaws,
    /// The first reply of each kind is late.
    Slow(Duration),
    /// The connection is cut after every message, sent or received, once.
    Cuts,
    /// The second act is lost with the connection.
    LostAct,
    /// The connection is cut before the second turn is sent; then one `resync` contains the turn.
    Resync,
    /// The connection is cut before the second turn is sent, and the server forgets the session.
    Forgotten,
    /// The server announces that it drains, and closes with 1012 when the second act comes.
    Drain,
    /// The match ends while the client is away; the end comes as events or in a `resync`.
    Ended { resync: bool },
}

/// One script.
pub(super) struct Script {
    pub section: u32,
    pub name: &'static str,
    pub level: Level,
    pub trouble: Trouble,
    /// What is played.
    pub game: &'static str,
    /// Whether the client plays a run instead of one match.
    pub run: bool,
}

impl Script {
    /// Whether every turn wants a document.
    pub fn documents(&self) -> bool {
        self.level == Level::Documents
    }
}

const fn script(section: u32, level: Level, name: &'static str, trouble: Trouble) -> Script {
    Script { section, name, level, trouble, game: GAME, run: false }
}

/// Four in line, by rules that are a document: each ply may be said as `{"move": "c3"}`.
const fn said(section: u32, name: &'static str, trouble: Trouble) -> Script {
    Script { game: "free_style(rules=F0)", ..script(section, Level::Documents, name, trouble) }
}

const fn run(name: &'static str, trouble: Trouble) -> Script {
    Script { run: true, ..script(12, Level::Runs, name, trouble) }
}

/// In the order of their lines.
pub(super) const SCRIPTS: &[Script] = &[
    script(5, Level::Bot, "plays a match", Trouble::None),
    script(2, Level::Bot, "shows its token", Trouble::Token),
    script(5, Level::Bot, "plays the second seat", Trouble::Second),
    script(1, Level::Bot, "ignores what it does not know", Trouble::Extras),
    script(5, Level::Bot, "acts again when refused", Trouble::Refusals { times: 2, legal: true }),
    script(5, Level::Bot, "acts again when refused without a list", Trouble::Refusals { times: 1, legal: false }),
    script(1, Level::Bot, "waits for slow replies", Trouble::Slow(Duration::from_millis(700))),
    script(7, Level::Resumable, "comes back after a cut at every message", Trouble::Cuts),
    script(7, Level::Resumable, "sends a lost act again", Trouble::LostAct),
    script(7, Level::Resumable, "continues after a resync", Trouble::Resync),
    script(7, Level::Resumable, "continues or joins again when its session is forgotten", Trouble::Forgotten),
    script(6, Level::Resumable, "comes back to a server that restarts", Trouble::Drain),
    script(7, Level::Resumable, "accepts the end of a match that it missed", Trouble::Ended { resync: false }),
    script(7, Level::Resumable, "accepts a missed end in a resync", Trouble::Ended { resync: true }),
    said(5, "answers with documents", Trouble::None),
    said(5, "repairs a document with flaws", Trouble::Flaws),
    said(7, "sends a lost document again", Trouble::LostAct),
    run("plays a run to its end", Trouble::None),
    run("enrols again after a cut at every message", Trouble::Cuts),
    run("continues a run in a new session", Trouble::Forgotten),
    run("accepts the end of a run that it missed", Trouble::Ended { resync: false }),
];
