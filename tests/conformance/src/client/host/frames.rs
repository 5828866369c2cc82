//! Messages of the match: those that follow from a request, and those that a returning client has missed.

use std::collections::BTreeMap;

use ludex_env::Seat;
use ludex_protocol::message::{MatchFrame, ServerMessage};
use serde_json::json;

use super::super::script::Disturbance;
use super::super::table::ScriptFrame;
use super::super::wire::ScriptSocket;
use super::place::Place;
use super::{Go, ScriptServer};

impl ScriptServer<'_> {
    /// After a `welcome`, sends each seat the frames after its number in `seen`, and then its pending turn. A seat
    /// without a number gets a `resync`.
    pub(super) async fn catch_up(&mut self, wire: &mut ScriptSocket, mut seen: BTreeMap<Seat, u64>) -> Go<()> {
        let Some(table) = &self.table else { return Ok(()) };
        if matches!(self.script.trouble, Disturbance::Resync | Disturbance::Ended { resync: true }) && self.done {
            seen.clear();
        }
        let seats = table.seat_numbers();
        let fresh = |message: &&ScriptFrame| seen.get(&message.seat).is_some_and(|&seen| message.seq > seen);
        let missed: Vec<ScriptFrame> = table.log.iter().filter(fresh).cloned().collect();
        for &seat in seats.iter().filter(|&seat| !seen.contains_key(seat)) {
            self.resync(wire, seat).await?;
        }
        self.frames(wire, missed).await?;
        for (seat, seen) in seen {
            let open = self.table.as_ref().and_then(|table| table.open(seat).cloned());
            if let Some(turn) = open.filter(|turn| turn.seq <= seen) {
                let at = Place::SentTo(seat, format!("turn {} again", turn.turn));
                self.send(wire, None, ServerMessage::Turn(Box::new(turn))).await?;
                self.place(wire, at).await?;
            }
        }
        Ok(())
    }

    async fn resync(&mut self, wire: &mut ScriptSocket, seat: Seat) -> Go<()> {
        let Some((seq, resync)) = self.table.as_ref().map(|table| table.resync(seat)) else { return Ok(()) };
        self.send(wire, None, resync).await?;
        self.tell(seat, seq);
        self.place(wire, Place::SentTo(seat, "resync".into())).await
    }

    /// Sends the messages of the match from this position of its log on.
    pub(super) async fn frames_from(&mut self, wire: &mut ScriptSocket, from: usize) -> Go<()> {
        let new = self.table.as_ref().and_then(|table| table.log.get(from..)).map(<[_]>::to_vec);
        self.frames(wire, new.unwrap_or_default()).await
    }

    async fn frames(&mut self, wire: &mut ScriptSocket, messages: Vec<ScriptFrame>) -> Go<()> {
        for message in messages {
            let Some(table) = &self.table else { return Ok(()) };
            let (seat, seq) = (message.seat, message.seq);
            let at = Place::sent(&message);
            match message.frame {
                None => {
                    let strange = json!({
                        "type": "event", "seq": seq, "match": table.id, "viewer": seat, "kind": "x_weather", "sky": "grey"
                    });
                    wire.value(&strange).await?;
                }
                Some(MatchFrame::Turn(turn)) => {
                    // The turn is sent in its current state, since a move may have been refused meanwhile.
                    let open = table.open(seat).filter(|open| open.turn == turn.turn);
                    let turn = open.cloned().map_or(turn, Box::new);
                    self.place(wire, Place::BeforeTurn(seat, turn.turn)).await?;
                    self.send(wire, None, ServerMessage::Turn(turn)).await?;
                }
                Some(frame) => self.send(wire, None, frame.into()).await?,
            }
            self.tell(seat, seq);
            self.place(wire, at).await?;
        }
        Ok(())
    }

    /// Stores that the messages about a seat were sent up to a number.
    fn tell(&mut self, seat: Seat, seq: u64) {
        if let Some(held) = self.table.as_mut().and_then(|table| table.seat_mut(seat)) {
            held.told = held.told.max(Some(seq));
        }
    }
}
