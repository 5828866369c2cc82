//! What happened in a match, kept once. The record, the frames and the answers of old turns are made from it.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use ludex_protocol::record::{Clock, Notes, Record, RecordEvent};
use serde::{Deserialize, Serialize};

/// What happened in a match.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Story {
    pub(super) begun: bool,
    pub(super) over: bool,
    /// The events so far; when the match is over, the whole record.
    pub(super) record: Record,
    /// The mover's bank after each event, for clocks that have banks.
    pub(super) banks: Vec<u64>,
    pub(super) presence: Vec<Presence>,
}

/// A connection that was lost or came back.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Presence {
    /// Events before it.
    pub(super) at: usize,
    pub(super) seat: u32,
    pub(super) online: bool,
}

impl Story {
    pub(super) fn events(&self) -> &[RecordEvent] {
        &self.record.events
    }

    /// Adds an event; `bank` is the mover's bank after it.
    pub(super) fn push(&mut self, event: RecordEvent, bank: u64, clock: &Clock) {
        self.record.events.push(event);
        if clock.bank_ms > 0 || clock.inc_ms > 0 {
            self.banks.push(bank);
        }
    }

    /// The mover's bank after event `n`.
    pub(super) fn bank(&self, n: usize) -> u64 {
        self.banks.get(n).copied().unwrap_or(0)
    }

    pub(super) fn presence(&mut self, seat: u32, online: bool) {
        self.presence.push(Presence { at: self.record.events.len(), seat, online });
    }

    /// The story in a few bytes. Of the notes only what was said aloud remains: frames show nothing else. `None` when it
    /// has no JSON; it is kept as it is then.
    pub(super) fn pack(&mut self) -> Option<Box<[u8]>> {
        for event in &mut self.record.events {
            let RecordEvent::Move(m) = event else { continue };
            let aloud = |n: Notes| n.say.map(|say| Notes { say: Some(say), ..Notes::default() });
            m.notes = m.notes.take().and_then(aloud);
            m.tries.iter_mut().for_each(|t| t.notes = None);
        }
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&serde_json::to_vec(self).ok()?).ok()?;
        packed.finish().ok().map(Vec::into_boxed_slice)
    }

    /// What [`Story::pack`] packed.
    pub(super) fn unpack(packed: &[u8]) -> Option<Story> {
        let mut text = Vec::new();
        DeflateDecoder::new(packed).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_match_is_small() {
        for (name, seats, most) in [
            ("tic_tac_toe", 2, 1_000),
            ("kuhn_poker", 2, 1_000),
            ("chess(max_plies=300)", 2, 3_500),
            ("iterated_prisoners_dilemma", 2, 2_000),
        ] {
            let game = ludex_env::load(name).unwrap();
            for seed in 0..8 {
                let record = crate::play(&game, vec!["random"; seats], seed).unwrap().record;
                let events = record.events.len();
                let mut story = Story { begun: true, over: true, record, ..Story::default() };
                let packed = story.pack().unwrap();
                assert!(packed.len() <= most, "{name}: {} bytes for {events} events", packed.len());
                let again = Story::unpack(&packed).unwrap();
                assert_eq!(again.record, story.record);
            }
        }
    }
}
