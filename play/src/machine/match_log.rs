//! Log of a match. Records, frames and repeated replies are built from this log.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use ludex_env::recording::{NotCanonical, RecordBuilder};
use ludex_protocol::record::{Footer, Header, Notes, Record, RecordEvent};
use ludex_protocol::spec::Spec;
use serde::{Deserialize, Serialize};

/// Maximum size in bytes of packed logs that are left uncompressed, because compression takes as long as playing a
/// short match.
const SMALL: usize = 3_000;
/// First byte of a compressed log. No JSON text starts with this byte.
const DEFLATED: u8 = 0;

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
    Open(RecordBuilder),
    /// Log of an ended match.
    Closed(Record),
}

/// Content of a packed log.
#[derive(Serialize, Deserialize)]
struct Remains {
    record: Record,
    banks: Vec<u64>,
    presence: Vec<Presence>,
}

/// Lost or restored connection.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Presence {
    /// Number of events before the connection was lost or restored.
    pub(super) at: usize,
    pub(super) seat: u32,
    pub(super) online: bool,
}

impl MatchLog {
    /// Creates the log of a match that has not started.
    pub(super) fn new(header: Header) -> Self {
        // Canonical forms lack only parameters outside the range of a double, and no game has one.
        let log = match RecordBuilder::begin(header.clone()) {
            Ok(history) => Log::Open(history),
            Err(error) => {
                tracing::error!(%error, "header has no canonical form");
                Log::Closed(Record { header, ..Record::default() })
            }
        };
        MatchLog { begun: false, log, banks: Vec::new(), presence: Vec::new() }
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
            Log::Closed(record) => Some(record),
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
    pub(super) fn end(&mut self, spec: &Spec, returns: &[f64], footer: Footer) -> Result<(), NotCanonical> {
        let log = std::mem::replace(&mut self.log, Log::Closed(Record::default()));
        self.log = Log::Closed(match log {
            Log::Open(history) => history.end(spec, returns, footer)?,
            Log::Closed(record) => record,
        });
        Ok(())
    }

    /// Ends the match with a record that was written before a restart.
    pub(super) fn close(&mut self, record: Record) {
        self.log = Log::Closed(record);
    }

    /// Returns the remaining bank in ms of the seat that moved in event `n`, after that event.
    pub(super) fn bank(&self, n: usize) -> u64 {
        self.banks.get(n).copied().unwrap_or(0)
    }

    pub(super) fn presence(&mut self, seat: u32, online: bool) {
        self.presence.push(Presence { at: self.events().len(), seat, online });
    }

    /// Compresses the log of an ended match; `None` while the match runs. All notes except `say` are dropped, since
    /// frames do not use them.
    pub(super) fn pack(&self) -> Option<Box<[u8]>> {
        let mut record = self.record()?.clone();
        for event in &mut record.events {
            let RecordEvent::Move(m) = event else { continue };
            let aloud = |n: Notes| n.say.map(|say| Notes { say: Some(say), ..Notes::default() });
            m.notes = m.notes.take().and_then(aloud);
            m.tries.iter_mut().for_each(|t| t.notes = None);
        }
        let remains = Remains { record, banks: self.banks.clone(), presence: self.presence.clone() };
        let plain = serde_json::to_vec(&remains).ok()?;
        if plain.len() <= SMALL {
            return Some(plain.into_boxed_slice());
        }
        let mut packed = DeflateEncoder::new(vec![DEFLATED], Compression::fast());
        packed.write_all(&plain).ok()?;
        packed.finish().ok().map(Vec::into_boxed_slice)
    }

    /// Restores a log from the bytes of [`MatchLog::pack`].
    pub(super) fn unpack(packed: &[u8]) -> Option<MatchLog> {
        let mut text = Vec::new();
        let plain = match packed.strip_prefix(&[DEFLATED]) {
            None => packed,
            Some(deflated) => {
                DeflateDecoder::new(deflated).read_to_end(&mut text).ok()?;
                &text
            }
        };
        let Remains { record, banks, presence } = serde_json::from_slice(plain).ok()?;
        Some(MatchLog { begun: true, log: Log::Closed(record), banks, presence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_match_stays_below_size_limit() {
        for (name, seats, most) in [
            ("tic_tac_toe", 2, SMALL),
            ("kuhn_poker", 2, SMALL),
            ("chess(max_plies=300)", 2, 4_000),
            ("iterated_prisoners_dilemma", 2, SMALL),
        ] {
            let game = ludex_games::load(name).unwrap();
            for seed in 0..8 {
                let record = crate::play(&game, vec!["random"; seats], seed).unwrap().record;
                let events = record.events.len();
                let mut log = MatchLog::new(record.header.clone());
                log.close(record);
                let packed = log.pack().unwrap();
                assert!(packed.len() <= most, "{name}: {} bytes for {events} events", packed.len());
                let again = MatchLog::unpack(&packed).unwrap();
                assert_eq!(again.record(), log.record());
            }
        }
    }
}
