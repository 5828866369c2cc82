//! Scripts of the client check.

use std::time::Duration;

use ludex_env::Seat;

use super::program::GAME;

/// Level of support that a client claims (`docs/protocol.md`, section 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Level {
    /// Plays matches over a stable connection.
    Bot,
    /// Plays matches over connections that are cut.
    Resumable,
    /// Also sends documents in games that accept them.
    Documents,
    /// Also follows its queue to another cell of the server.
    Cells,
    /// Also plays matches in which it has several seats.
    Seats,
    /// Also plays a suite if LUDEX_SUITE names one.
    Runs,
}

impl Level {
    /// Returns true if a client of this level must pass the scripts of `other`: each level includes those before it,
    /// except `Documents` and `Cells`, which no other level includes.
    pub(super) fn includes(self, other: Level) -> bool {
        other == self || (other < self && !matches!(other, Level::Documents | Level::Cells))
    }
}

/// Disturbance of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    /// Undisturbed match, for comparison.
    None,
    /// The server requires a token.
    Token,
    /// Messages contain fields, kinds and types that are not in this version of the protocol.
    Extras,
    /// The second turn is refused `times` times; if `legal` is true, the refusals list the legal actions.
    Refusals { times: u32, legal: bool },
    /// The first document of the second turn is refused with two issues.
    Flaws,
    /// The first reply of each kind is delayed by this time.
    Slow(Duration),
    /// The connection is cut once after every message, sent or received.
    Cuts,
    /// The second act is lost when the connection is cut.
    LostAct,
    /// The connection is cut before the second turn is sent; after that, one `resync` contains the turn.
    Resync,
    /// The connection is cut before the second turn is sent, and the server forgets the session.
    Forgotten,
    /// The server announces that it is draining, and closes the connection with code 1012 after the second act.
    Drain,
    /// Another cell has the queue of the first `join`.
    Moved,
    /// The match ends while the client is disconnected. The end arrives as events or, if `resync` is true, in a
    /// `resync`.
    Ended { resync: bool },
}

/// One scripted check of a client.
pub(super) struct Script {
    pub section: u32,
    pub name: &'static str,
    pub level: Level,
    pub trouble: Disturbance,
    /// Game string of the matches in this script.
    pub game: &'static str,
    /// Seats of the client, in ascending order. In other matches of the script the seats are shifted.
    pub seats: &'static [Seat],
    /// True if the client plays a run instead of one match.
    pub run: bool,
}

impl Script {
    /// Returns true if every turn requires a document.
    pub fn documents(&self) -> bool {
        self.level == Level::Documents
    }
}

const fn script(section: u32, level: Level, name: &'static str, trouble: Disturbance) -> Script {
    Script { section, name, level, trouble, game: GAME, seats: &[0], run: false }
}

/// Creates a script in which every turn requires a document. The game is four in a row with written rules; a move is a
/// document such as `{"move": "c3"}`.
const fn document_script(section: u32, name: &'static str, trouble: Disturbance) -> Script {
    Script { game: "free_style(rules=F0)", ..script(section, Level::Documents, name, trouble) }
}

/// Creates a script in which the client has several seats. In undercover, clues are given in turn, so that the numbers
/// of the seats differ, and votes together, so that the turns of several seats are pending at the same time.
const fn seats_script(section: u32, name: &'static str, trouble: Disturbance) -> Script {
    Script { game: "undercover(undercover=last)", seats: &[0, 2], ..script(section, Level::Seats, name, trouble) }
}

const fn run(name: &'static str, trouble: Disturbance) -> Script {
    Script { run: true, ..script(12, Level::Runs, name, trouble) }
}

/// All scripts, in the order of the report.
pub(super) const SCRIPTS: &[Script] = &[
    script(5, Level::Bot, "plays a match", Disturbance::None),
    script(2, Level::Bot, "sends its token", Disturbance::Token),
    Script { seats: &[1], ..script(5, Level::Bot, "plays the second seat", Disturbance::None) },
    script(1, Level::Bot, "ignores unknown fields and messages", Disturbance::Extras),
    script(5, Level::Bot, "acts again when refused", Disturbance::Refusals { times: 2, legal: true }),
    script(5, Level::Bot, "acts again when refused without a list", Disturbance::Refusals { times: 1, legal: false }),
    script(1, Level::Bot, "waits for slow replies", Disturbance::Slow(Duration::from_millis(700))),
    script(7, Level::Resumable, "comes back after a cut at every message", Disturbance::Cuts),
    script(7, Level::Resumable, "sends a lost act again", Disturbance::LostAct),
    script(7, Level::Resumable, "continues after a resync", Disturbance::Resync),
    script(7, Level::Resumable, "continues or joins again when its session is forgotten", Disturbance::Forgotten),
    script(6, Level::Resumable, "comes back to a server that restarts", Disturbance::Drain),
    script(7, Level::Resumable, "accepts the end of a match that it missed", Disturbance::Ended { resync: false }),
    script(7, Level::Resumable, "accepts a missed end in a resync", Disturbance::Ended { resync: true }),
    script(7, Level::Cells, "follows its queue to another cell", Disturbance::Moved),
    document_script(5, "answers with documents", Disturbance::None),
    document_script(5, "repairs a document with flaws", Disturbance::Flaws),
    document_script(7, "sends a lost document again", Disturbance::LostAct),
    seats_script(5, "plays several seats", Disturbance::None),
    seats_script(5, "acts again when refused in several seats", Disturbance::Refusals { times: 2, legal: true }),
    seats_script(7, "resumes several seats after a cut at every message", Disturbance::Cuts),
    seats_script(7, "sends a lost act of several seats again", Disturbance::LostAct),
    seats_script(7, "continues several seats after a resync", Disturbance::Resync),
    seats_script(7, "continues or joins again when several seats are forgotten", Disturbance::Forgotten),
    seats_script(7, "accepts the end of several seats that it missed", Disturbance::Ended { resync: false }),
    run("plays a run to its end", Disturbance::None),
    run("enrols again after a cut at every message", Disturbance::Cuts),
    run("continues a run in a new session", Disturbance::Forgotten),
    run("accepts the end of a run that it missed", Disturbance::Ended { resync: false }),
    Script { run: true, level: Level::Runs, ..seats_script(12, "plays several seats in a run", Disturbance::None) },
];
