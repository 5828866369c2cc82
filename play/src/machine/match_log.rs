//! Log of a match. Records, frames and repeated replies are built from this log.

use ludex_env::recording::{NotCanonical, RecordBuilder};
use ludex_protocol::record::{Footer, Header, Record, RecordEvent};
use ludex_protocol::spec::Spec;

/// Events, banks and presence changes of one match.
pub(super) struct MatchLog {
    pub(super) begun: bool,
    log: Log,
    /// Bank in ms of the seat that moved, after each event; empty for clocks without banks.
    banks: Vec<u64>,
    pub(super) presence: Vec<Presence>,
}

enum Log {
    /// Log of a running match.
    Open(Box<RecordBuilder>),
    /// Log of an ended match.
    Closed(Box<Record>),
}

/// Part of a match log that a record does not contain.
#[derive(Default)]
pub(super) struct UnrecordedLog {
    banks: Vec<u64>,
    presence: Vec<Presence>,
}

/// Lost or restored connection.
#[derive(Clone, Copy)]
pub(super) struct Presence {
    /// Number of events before the connection was lost or restored.
    pub(super) at: usize,
    pub(super) seat: u32,
    pub(super) online: bool,
}

impl MatchLog {
    /// Creates the log of a match that has not started.
    pub(super) fn new(header: Header) -> Self {
        // This cannot fail: only parameters outside the range of a double have no canonical form, and no game has them.
        let log = match RecordBuilder::begin(header.clone()) {
            Ok(history) => Log::Open(Box::new(history)),
            Err(error) => {
                tracing::error!(%error, "header has no canonical form");
                Log::Closed(Box::new(Record { header, ..Record::default() }))
            }
        };
        MatchLog { begun: false, log, banks: Vec::new(), presence: Vec::new() }
    }

    /// Restores the log of an ended match from its record and the rest of the log.
    pub(super) fn ended(record: Record, rest: UnrecordedLog) -> Self {
        let UnrecordedLog { banks, presence } = rest;
        MatchLog { begun: true, log: Log::Closed(Box::new(record)), banks, presence }
    }

    /// Drops the record, and returns the rest of the log.
    pub(super) fn into_unrecorded(self) -> UnrecordedLog {
        let (mut banks, mut presence) = (self.banks, self.presence);
        banks.shrink_to_fit();
        presence.shrink_to_fit();
        UnrecordedLog { banks, presence }
    }

    pub(super) fn events(&self) -> &[RecordEvent] {
        match &self.log {
            Log::Open(history) => history.events(),
            Log::Closed(record) => &record.events,
        }
    }

    /// Returns the record of a match that has ended.
    pub(super) fn record(&self) -> Option<&Record> {
        match &self.log {
            Log::Open(_) => None,
            Log::Closed(record) => Some(record),
        }
    }

    pub(super) fn into_record(self) -> Option<Record> {
        match self.log {
            Log::Open(_) => None,
            Log::Closed(record) => Some(*record),
        }
    }

    /// Appends an event; `bank` is the bank in ms of the seat that moved, after the event.
    pub(super) fn push(&mut self, event: RecordEvent, bank: u64) {
        let Log::Open(history) = &mut self.log else { return };
        let clock = &history.header().clock;
        if clock.bank_ms > 0 || clock.inc_ms > 0 {
            self.banks.push(bank);
        }
        if let Err(error) = history.push(event) {
            tracing::error!(%error, "event has no canonical form");
        }
    }

    /// Ends the match and completes the record.
    ///
    /// # Errors
    /// Same as [`RecordBuilder::end`].
    pub(super) fn end(
        &mut self,
        spec: &Spec,
        teams: Option<&[usize]>,
        returns: &[f64],
        footer: Footer,
    ) -> Result<(), NotCanonical> {
        let log = std::mem::replace(&mut self.log, Log::Closed(Box::default()));
        self.log = Log::Closed(match log {
            Log::Open(history) => Box::new(history.end(spec, teams, returns, footer)?),
            Log::Closed(record) => record,
        });
        Ok(())
    }

    /// Ends the match with a record that was written before a restart.
    pub(super) fn close(&mut self, record: Box<Record>) {
        self.log = Log::Closed(record);
    }

    /// Returns the bank, in ms, that the seat of event `n` had left after the event.
    pub(super) fn bank(&self, n: usize) -> u64 {
        self.banks.get(n).copied().unwrap_or(0)
    }

    pub(super) fn presence(&mut self, seat: u32, online: bool) {
        self.presence.push(Presence { at: self.events().len(), seat, online });
    }
}
