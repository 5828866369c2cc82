//! Records of episodes: construction during play ([`RecordBuilder`]), and playing a record again ([`steps`]).
//!
//! Hosts push events as they happen. Code that displays or verifies a record iterates over the record's steps.

use ludex_protocol::record::{ChanceRecord, Footer, Header, Record, RecordEvent};
use ludex_protocol::spec::Spec;

use crate::batch::forfeit;
use crate::game::Action;

mod canonical;
mod digest;
mod line;
mod notation;
mod outcome;
mod steps;

pub use digest::{Chain, NotCanonical, OUTSIDE, canonical, digest, hex_text, seed_commit};
use digest::{canonical_part, write_event};
pub use line::{Keep, ParsedLine, read_line};
pub use notation::in_notation;
pub use outcome::{is_forfeit, outcomes};
pub use steps::{Replay, ReplayStep, ReplayStop, parsed_move, position, steps, submitted_move};

/// Initial capacity for events.
const EVENTS: usize = 16;

/// A record under construction, with a digest chained event by event.
#[derive(Clone, Debug)]
pub struct RecordBuilder {
    header: Header,
    events: Vec<RecordEvent>,
    chain: Chain,
    /// Buffer for the text of the last event, reused.
    text: Vec<u8>,
}

impl RecordBuilder {
    /// Creates a record without events.
    ///
    /// # Errors
    /// Fails on a parameter without a canonical form.
    pub fn begin(header: Header) -> Result<Self, NotCanonical> {
        let chain = Chain::of_canonical(&canonical_part(&header)?);
        Ok(RecordBuilder { header, events: Vec::with_capacity(EVENTS), chain, text: Vec::with_capacity(128) })
    }

    /// Returns the header of the record.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the events so far.
    pub fn events(&self) -> &[RecordEvent] {
        &self.events
    }

    /// Appends an event. The parts of a joint move must be in seat order; `more` must be true in all but the last part.
    ///
    /// # Errors
    /// Fails if a number in the event exceeds the range of a double; the record is unchanged.
    pub fn push(&mut self, event: RecordEvent) -> Result<(), NotCanonical> {
        self.text.clear();
        write_event(&event, &mut self.text)?;
        self.chain.push_canonical(&self.text);
        self.events.push(event);
        Ok(())
    }

    /// Appends a chance outcome.
    ///
    /// # Errors
    /// Never in practice, since ids always have a canonical form.
    pub fn push_chance(&mut self, outcome: Action) -> Result<(), NotCanonical> {
        self.push(RecordEvent::Chance(ChanceRecord { action: Some(outcome) }))
    }

    /// Completes the record. `teams` and `returns` have the team number, in games with teams, and
    /// the sum of rewards of each seat. `footer` has the fields that only the host
    /// knows: reason, seat at fault, time, run, pair, seed and salt. Sets the returns (adjusted after a forfeit), the
    /// outcome and the digest. Without a reason, no outcome is set.
    ///
    /// # Errors
    /// Fails on a return that is not finite.
    pub fn end(
        self,
        spec: &Spec,
        teams: Option<&[usize]>,
        returns: &[f64],
        footer: Footer,
    ) -> Result<Record, NotCanonical> {
        let RecordBuilder { header, events, mut chain, .. } = self;
        let mut footer = footer;
        let at_fault = footer.at_fault.map(|seat| seat as usize);
        // Adding 0 turns -0 into 0, the value that is read back from a record.
        footer.returns = returns.iter().map(|r| r + 0.0).collect();
        if let Some(seat) = at_fault {
            forfeit(spec, seat, &mut footer.returns);
        }
        footer.outcome =
            footer.reason.map(|reason| outcomes(spec, teams, &footer.returns, reason, at_fault)).unwrap_or_default();
        // The digest excludes the members in `OUTSIDE`, so they are removed while the footer is hashed.
        let (seed, salt) = (footer.seed.take(), footer.salt.take());
        let (run, pair) = (footer.run.take(), footer.pair.take());
        footer.digest = None;
        chain.push_canonical(&canonical_part(&footer)?);
        let footer = Footer { seed, salt, run, pair, digest: Some(chain.hex()), ..footer };
        Ok(Record { header, events, footer })
    }
}
