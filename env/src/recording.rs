//! Records: made while an episode is played ([`History`]), and played again ([`steps`]).
//!
//! Hosts push events as they happen. Code that shows, checks or prompts from a record walks over its steps. Only this
//! module knows how events and positions belong together.

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
pub(crate) use notation::moves;
pub use outcome::{is_forfeit, outcomes};
pub use steps::{Replay, ReplayStep, ReplayStop, position, steps, submitted_move};

/// Events that a record has room for at once. Most games have more, and nearly all have a few.
const EVENTS: usize = 16;

/// A record in the making. Its digest is chained event by event.
#[derive(Clone, Debug)]
pub struct RecordBuilder {
    header: Header,
    events: Vec<RecordEvent>,
    chain: Chain,
    /// The last event as text, kept for its memory.
    text: Vec<u8>,
}

impl RecordBuilder {
    /// A record without events.
    ///
    /// # Errors
    /// A parameter without a canonical form.
    pub fn begin(header: Header) -> Result<Self, NotCanonical> {
        let chain = Chain::of_canonical(&canonical_part(&header)?);
        Ok(RecordBuilder { header, events: Vec::with_capacity(EVENTS), chain, text: Vec::with_capacity(128) })
    }

    /// What is known at the start.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The events so far.
    pub fn events(&self) -> &[RecordEvent] {
        &self.events
    }

    /// Appends an event. The parts of a joint move come in the order of seats, each but the last with `more`.
    ///
    /// # Errors
    /// An event without a canonical form (a note may hold any number); the record is as it was.
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
    /// Never in practice: an id has a canonical form.
    pub fn push_chance(&mut self, outcome: Action) -> Result<(), NotCanonical> {
        self.push(RecordEvent::Chance(ChanceRecord { action: Some(outcome) }))
    }

    /// The record of an episode that ends here with these sums of rewards. The caller gives a footer with what only it
    /// knows: reason, seat at fault, time, run, pair, seed and salt. Returns after a forfeit, outcome and digest are
    /// filled in here. A footer without a reason gets no outcome.
    ///
    /// # Errors
    /// A return that is not finite.
    pub fn end(self, spec: &Spec, returns: &[f64], footer: Footer) -> Result<Record, NotCanonical> {
        let RecordBuilder { header, events, mut chain, .. } = self;
        let mut footer = footer;
        let at_fault = footer.at_fault.map(|seat| seat as usize);
        // 0 added makes -0 plain 0, as which it is read back from a record.
        footer.returns = returns.iter().map(|r| r + 0.0).collect();
        if let Some(seat) = at_fault {
            forfeit(spec, seat, &mut footer.returns);
        }
        footer.outcome =
            footer.reason.map(|reason| outcomes(spec, &footer.returns, reason, at_fault)).unwrap_or_default();
        // The chain does not cover the members that are OUTSIDE.
        let (seed, salt) = (footer.seed.take(), footer.salt.take());
        let (run, pair) = (footer.run.take(), footer.pair.take());
        footer.digest = None;
        chain.push_canonical(&canonical_part(&footer)?);
        let footer = Footer { seed, salt, run, pair, digest: Some(chain.hex()), ..footer };
        Ok(Record { header, events, footer })
    }
}

#[cfg(test)]
mod tests;
