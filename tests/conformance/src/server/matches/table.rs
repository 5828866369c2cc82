//! Seat in a match that checks the number and content of every frame.

use ludex_env::Stream;
use ludex_protocol::message::{
    Accepted, Act, ClientMessage, EventKind, Join, Legal, MatchEnd, MatchEvent, MatchFrame, MatchStart, Resync,
    ServerMessage, TurnFrame, Welcome,
};
use ludex_protocol::spec::{LegalForm, Spec};
use ludex_protocol::{Encoding, Id};
use serde_json::Value;

use super::super::bench::LawContext;
use super::super::incoming::IncomingMessage;
use super::super::link::Link;
use super::super::{LawResult, law_holds, same, wrong};
use super::terms::{begins, ends};

/// Seat in a match, with checks of every frame.
pub(in super::super) struct CheckedSeat {
    pub link: Link,
    pub welcome: Box<Welcome>,
    pub spec: Spec,
    pub join: Join,
    pub id: String,
    pub start: MatchStart,
    /// Sequence number of the last frame.
    pub seq: u64,
    /// Received frames except the last, in order.
    pub told: Vec<Value>,
    /// Moves so far as (seat, action).
    pub moves: Vec<(u32, Option<u32>)>,
    /// Number of turns of this seat so far.
    pub turns: u32,
    /// Pending turn of this seat.
    pub turn: Option<TurnFrame>,
    pub end: Option<MatchEnd>,
    /// Number of accepted acts; absent after a reply was lost with its connection.
    pub accepted: Option<usize>,
    /// Number of received resyncs.
    pub resyncs: u32,
}

impl CheckedSeat {
    /// Joins on a connection and waits for the match.
    pub async fn sit(mut link: Link, welcome: Box<Welcome>, spec: &Spec, join: Join) -> LawResult<CheckedSeat> {
        let request = ClientMessage::Join(Box::new(join.clone()));
        let joined = link.call(request).await?.joined()?;
        CheckedSeat::wait(link, welcome, spec, join, &joined).await
    }

    /// Waits for a match of a join.
    pub async fn wait(
        mut link: Link,
        welcome: Box<Welcome>,
        spec: &Spec,
        join: Join,
        joined: &str,
    ) -> LawResult<CheckedSeat> {
        let (heard, start) = loop {
            let heard = link.hear().await?;
            match heard.message.clone() {
                ServerMessage::MatchStart(start) => break (heard, *start),
                ServerMessage::Queued(_) => {}
                _ => return Err(heard.not("`match_start`")),
            }
        };
        begins(&start, spec, &join, joined, &welcome)?;
        Ok(CheckedSeat {
            link,
            welcome,
            spec: spec.clone(),
            join,
            id: start.match_id.clone(),
            start,
            seq: 0,
            told: vec![heard.raw],
            moves: Vec::new(),
            turns: 0,
            turn: None,
            end: None,
            accepted: Some(0),
            resyncs: 0,
        })
    }

    /// Opens a connection, joins, and returns the seat in the new match.
    pub async fn new(b: &LawContext, spec: &Spec, join: Join) -> LawResult<CheckedSeat> {
        let (link, welcome) = b.link_in(Encoding::Json).await?;
        CheckedSeat::sit(link, welcome, spec, join).await
    }

    pub fn seat(&self) -> u32 {
        self.start.seat.unwrap_or_default()
    }

    // ---- what comes in ----------------------------------------------------------------------------------------------

    /// Reads the next frame while no reply is pending.
    pub async fn next(&mut self) -> LawResult {
        let heard = self.link.hear().await?;
        self.take(heard)
    }

    /// Reads frames until the next turn of this seat or the end of the match.
    pub async fn turn(&mut self) -> LawResult<Option<TurnFrame>> {
        while self.turn.is_none() && self.end.is_none() {
            self.next().await?;
        }
        Ok(self.turn.clone())
    }

    /// Reads frames until the next turn of this seat. Fails if the match ends.
    pub async fn due(&mut self) -> LawResult<TurnFrame> {
        self.turn().await?.ok_or_else(|| wrong("ended the match early", "a `turn`"))
    }

    /// Reads frames until the end of the match.
    pub async fn ending(&mut self) -> LawResult<MatchEnd> {
        loop {
            if let Some(end) = &self.end {
                return Ok(end.clone());
            }
            self.next().await?;
        }
    }

    /// Checks a frame of the match and updates the state from it.
    pub fn take(&mut self, heard: IncomingMessage) -> LawResult {
        if self.end.is_some() && heard.raw["match"] == *self.id {
            return Err(heard.not("no frames of a match after its `match_end`"));
        }
        if self.is_of_another(&heard) {
            return Ok(());
        }
        let own = self.seat();
        let numbered = |id: &str, seat: Option<u32>| {
            law_holds(id == self.id, || format!("sent a frame of {id}"), "frames of the client's match only")?;
            same(&seat, &Some(own), || "seat (`viewer` of an event) in a frame of the match".into())
        };
        match heard.message.clone() {
            ServerMessage::Turn(turn) => {
                numbered(&turn.match_id, Some(turn.seat))?;
                self.take_turn(*turn, &heard)?;
            }
            ServerMessage::Event(event) => {
                numbered(&event.match_id, event.viewer)?;
                self.follows(event.seq, &heard)?;
                self.event(&event, &heard)?;
            }
            ServerMessage::MatchEnd(end) => {
                numbered(&end.match_id, end.seat)?;
                self.follows(end.seq, &heard)?;
                ends(&end, &self.spec)?;
                self.end = Some(*end);
                self.turn = None;
                return Ok(());
            }
            ServerMessage::Resync(resync) => {
                numbered(&resync.match_id, resync.seat)?;
                self.anew(*resync)?;
            }
            ServerMessage::Queued(_) | ServerMessage::Draining(_) | ServerMessage::Ping(_) => {}
            _ => return Err(heard.not("a frame of the match")),
        }
        self.told.push(heard.raw);
        Ok(())
    }

    /// Returns true if a frame belongs to a different match under this agent's name that is running or has just ended.
    fn is_of_another(&self, heard: &IncomingMessage) -> bool {
        let Some(id) = heard.raw["match"].as_str().filter(|id| *id != self.id) else { return false };
        let ended = matches!(&heard.message, ServerMessage::Resync(resync) if resync.end.is_some());
        ended || self.welcome.matches.iter().any(|held| held.match_id == id)
    }

    /// Checks that sequence numbers have no gaps.
    fn follows(&mut self, seq: u64, heard: &IncomingMessage) -> LawResult {
        if seq != self.seq + 1 {
            return Err(heard.not(&format!("seq {}, because the last was {}", self.seq + 1, self.seq)));
        }
        self.seq = seq;
        Ok(())
    }

    fn take_turn(&mut self, turn: TurnFrame, heard: &IncomingMessage) -> LawResult {
        let waiting = self.turn.as_ref().is_some_and(|old| (old.seq, old.turn) == (turn.seq, turn.turn));
        if !waiting {
            self.follows(turn.seq, heard)?;
            let (due, none) = ((self.turns, 0), self.turn.is_none());
            let counted = (turn.turn, turn.attempt) == due && none;
            law_holds(
                counted,
                || format!("requested turn {}, try {}", turn.turn, turn.attempt),
                &format!("turn {}, try 0, after the previous turn", due.0),
            )?;
            self.turns += 1;
        }
        self.asks_well(&turn)?;
        self.turn = Some(turn);
        Ok(())
    }

    /// Checks the fields of a turn against the spec.
    fn asks_well(&self, turn: &TurnFrame) -> LawResult {
        let ids: Vec<u32> = turn.legal.iter().take(self.spec.actions as usize + 1).collect();
        let good = ids.windows(2).all(|w| w[0] < w[1]) && ids.last().is_none_or(|&last| last < self.spec.actions);
        law_holds(good, || format!("turn.legal is {:?}", turn.legal), "ascending ids of legal actions")?;
        law_holds(!ids.is_empty() || turn.phase.is_some(), || "sent a turn without a legal action".into(), "one")?;
        let form = matches!(turn.legal, Legal::Ranges(_)) == (self.spec.legal == LegalForm::Ranges) || ids.is_empty();
        law_holds(form, || format!("turn.legal is {:?}", turn.legal), &format!("the form {:?}", self.spec.legal))?;
        let names = turn.names.as_ref().map(Vec::len);
        same(&names, &Some(ids.len()), || "number of requested turn.names".into())?;
        law_holds(turn.view.structure.is_some(), || "sent a turn without `view.struct`".into(), "the requested view")?;
        same(&turn.bank_ms.len(), &(self.spec.players as usize), || "entries of turn.bank_ms".into())?;
        let most = self.join.clock.move_ms;
        law_holds(
            turn.budget_ms <= most && turn.budget_ms.is_some() == most.is_some(),
            || format!("turn.budget_ms is {:?}", turn.budget_ms),
            &format!("{most:?}"),
        )
    }

    fn event(&mut self, event: &MatchEvent, heard: &IncomingMessage) -> LawResult {
        let players = self.spec.players;
        let EventKind::Move { seat, action, text, forced, .. } = &event.kind else { return Ok(()) };
        law_holds(*seat < players && !text.is_empty(), || format!("sent {}", heard.raw), "a seat and a text")?;
        if *seat == self.seat() {
            let own = self.moves.iter().filter(|(seat, _)| *seat == self.seat()).count();
            let after = self.accepted.is_none_or(|accepted| own < accepted) || *forced;
            law_holds(after, || "sent the `move` event of an act before its `accepted`".into(), "`accepted` first")?;
            // The reply has ended that turn.
            self.turn = None;
        }
        self.moves.push((*seat, *action));
        Ok(())
    }

    /// Replaces the state by the state in a resync.
    fn anew(&mut self, resync: Resync) -> LawResult {
        self.resyncs += 1;
        let start = MatchStart { seq: self.start.seq, join: self.start.join.clone(), ..(*resync.start).clone() };
        same(&start, &self.start, || "resync.start".into())?;
        let numbers: Vec<u64> = resync.events.iter().map(|event| event.seq()).collect();
        let rise = numbers.windows(2).all(|w| w[0] < w[1]) && numbers.iter().all(|&seq| seq <= resync.seq);
        law_holds(rise, || format!("resync.events are numbered {numbers:?}"), &format!("up to {}", resync.seq))?;
        self.seq = resync.seq;
        self.moves.clear();
        for event in &resync.events {
            if let MatchFrame::Event(event) = event
                && let EventKind::Move { seat, action, .. } = &event.kind
            {
                self.moves.push((*seat, *action));
            }
        }
        self.turn = None;
        if let Some(turn) = resync.turn {
            law_holds(
                turn.seq <= resync.seq,
                || format!("resync.turn.seq is {}", turn.seq),
                &format!("at most {}", resync.seq),
            )?;
            self.asks_well(&turn)?;
            self.turns = turn.turn + 1;
            self.turn = Some(*turn);
        }
        self.end = resync.end.map(|end| *end);
        Ok(())
    }

    // ---- what goes out ----------------------------------------------------------------------------------------------

    /// Sends an act and reads frames until its reply.
    pub async fn act(&mut self, act: &Act) -> LawResult<IncomingMessage> {
        let id = self.link.ask(&ClientMessage::Act(Box::new(act.clone()))).await?;
        self.reply(id).await
    }

    /// Reads frames until a reply and checks all frames before it.
    pub async fn reply(&mut self, id: Id) -> LawResult<IncomingMessage> {
        loop {
            let heard = self.link.hear().await?;
            if heard.re == Some(id) {
                return Ok(heard);
            }
            self.take(heard)?;
        }
    }

    /// Creates an act that answers a turn with an action id.
    pub fn answer(&self, turn: &TurnFrame, action: u32) -> Act {
        let (match_id, seat, action) = (self.id.clone(), Some(turn.seat), Some(action.into()));
        Act { match_id, seat, turn: turn.turn, attempt: turn.attempt, action, ..Act::default() }
    }

    /// Chooses a random legal action, determined by the turn.
    pub fn choose(&self, turn: &TurnFrame) -> LawResult<u32> {
        let legal: Vec<u32> = turn.legal.iter().collect();
        let mut rng = Stream::from_text(&format!("conformance:{}:{}", self.spec.game, turn.turn));
        legal.get(rng.below(legal.len())).copied().ok_or_else(|| wrong("listed no legal action", "one"))
    }

    /// Checks the reply to an accepted act and counts the act.
    pub fn was_accepted(&mut self, turn: &TurnFrame, action: u32, accepted: &Accepted) -> LawResult {
        let at = turn.legal.iter().position(|id| id == action);
        let name = turn.names.as_ref().zip(at).and_then(|(names, at)| names.get(at));
        let due = (&self.id, self.seat(), turn.turn);
        same(&(&accepted.match_id, accepted.seat, accepted.turn), &due, || {
            "match, seat and turn of `accepted`".into()
        })?;
        same(&accepted.action, &Some(action), || "accepted.action".into())?;
        same(&Some(&accepted.text), &name, || "accepted.text, compared with turn.names".into())?;
        self.accepted = self.accepted.map(|n| n + 1);
        self.turn = self.turn.take().filter(|waiting| waiting.turn != turn.turn);
        Ok(())
    }

    /// Counts an accepted document.
    pub fn note_document(&mut self, turn: u32) {
        self.accepted = self.accepted.map(|n| n + 1);
        self.turn = self.turn.take().filter(|waiting| waiting.turn != turn);
    }

    /// Plays one random move.
    pub async fn play_turn(&mut self, turn: &TurnFrame) -> LawResult {
        let action = self.choose(turn)?;
        let accepted = self.act(&self.answer(turn, action)).await?.accepted()?;
        self.was_accepted(turn, action, &accepted)
    }

    /// Plays random moves until the match ends.
    pub async fn play(&mut self) -> LawResult<MatchEnd> {
        while let Some(turn) = self.turn().await? {
            self.play_turn(&turn).await?;
        }
        self.ending().await
    }
}
