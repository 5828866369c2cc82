//! Events and rules of runs that the match plane needs.

use ludex_protocol::error::Refusal;
use ludex_protocol::record::Record;

/// Recipient of the events of matches that belong to runs. It also decides who may see them.
pub trait RunObserver: Send + Sync {
    /// Called when a match has started.
    fn on_start(&self, id: &str);

    /// Called with the record of each ended match. The end of a match of a run is durable.
    fn on_end(&self, record: &Record);

    /// Called when a match, or a pending match of a paused run, is removed. An unfinished match of a run stays in the store.
    fn on_removal(&self, id: &str);

    /// Returns true if a run pauses while one of its agents is away. A tournament continues: the agent loses its matches.
    fn waits_for_agents(&self, run: &str) -> bool;

    /// Called when a client has received the reply to its `join` with a ticket.
    fn on_ticket(&self, ticket: &str);

    /// Returns the open run and the join of a ticket that was issued for this agent name.
    fn seat_of(&self, ticket: &str, agent: &str) -> Option<(String, String)>;

    /// Returns true if a match is hidden until its season ends.
    fn hides(&self, id: &str) -> bool;

    /// Checks that an owner may see the public data of a match. Match ids can be guessed from the name of their run. A
    /// match of an open run is therefore visible only to administrators and to the owners of agents in the run.
    ///
    /// # Errors
    ///
    /// `forbidden` for a match of an open run of others.
    fn check_visible(&self, id: &str, owner: Option<&str>, admin: bool) -> Result<(), Box<Refusal>>;
}
