//! Events of running matches that concern the rest of the match plane.

use futures_util::future::BoxFuture;
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::MatchSetup;
use ludex_protocol::record::Record;
use ludex_store::Write;

/// Recipient of the events of running matches. The event loops call it between two steps of their matches, so no method
/// may block.
pub(super) trait MatchObserver: Send + Sync {
    /// Called when a new match has started: its clients are seated, and its first input is queued.
    fn on_start(&self, id: &str);

    /// Returns the matches to release with the end of this match: this match alone, all matches of its pair, or none.
    fn released_with(&self, machine: &MatchMachine) -> Vec<String>;

    /// Called when the release of these matches is stored or queued.
    fn on_release(&self, ids: &[String]);

    /// Called when the clients have been notified of the end of a match. Returns writes that need not be durable.
    fn on_end(&self, machine: &MatchMachine) -> Vec<Write>;

    /// Reads the setup and the record of a match that has ended, after `restarts` restarts of the server.
    fn read_ended(&self, id: &str, restarts: u32) -> BoxFuture<'static, Result<(MatchSetup, Record), String>>;

    /// Called when a match of a run is suspended. It stays in the store.
    fn on_suspension(&self, machine: &MatchMachine);

    /// Called when a match is removed from its event loop.
    fn on_removal(&self, id: &str);

    /// Called when a match was removed because its code panicked or its log was lost. Of the machine, only the setup may be
    /// read. `is_stored` is true if the store has the row of the match.
    fn on_failure(&self, machine: &MatchMachine, is_stored: bool);
}
