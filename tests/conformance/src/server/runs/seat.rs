//! Client of a run that answers each turn with the first legal action and checks all messages about the run. Frames of
//! matches are checked by other laws.

use std::collections::BTreeSet;

use ludex_protocol::message::{Act, ClientMessage, Enrol, Enrolled, RunEnd, ServerMessage, TurnFrame};
use ludex_protocol::record::Outcome;
use ludex_protocol::{Encoding, Id};

use super::super::bench::LawContext;
use super::super::incoming::IncomingMessage;
use super::super::link::Link;
use super::super::{LawResult, law_holds, same};
use super::{request, withdraw};

/// Client of a run, with checks of every message about the run.
pub(super) struct RunSeat {
    pub link: Link,
    run: String,
    pub join: Option<String>,
    pub due: u64,
    pub done: u64,
    /// Ids of the matches that have started.
    pub begun: BTreeSet<String>,
    /// Number of matches that the client lost.
    pub lost: u32,
    /// Pending turn of the client.
    turn: Option<TurnFrame>,
    /// Ids of acts without a reply.
    acts: BTreeSet<Id>,
    over: Option<RunEnd>,
}

impl RunSeat {
    /// Opens a connection and enrols in a run.
    pub async fn new(b: &LawContext, run: &Enrol) -> LawResult<RunSeat> {
        let link = b.link_in(Encoding::Json).await?.0;
        let mut seat = RunSeat {
            link,
            run: run.run.clone(),
            join: None,
            due: 0,
            done: 0,
            begun: BTreeSet::new(),
            lost: 0,
            turn: None,
            acts: BTreeSet::new(),
            over: None,
        };
        let id = seat.link.ask(&request(run)).await?;
        let heard = seat.link.hear().await?;
        if heard.re != Some(id) {
            return Err(heard.not("`enrolled` before all other messages of the run"));
        }
        let enrolled = heard.enrolled()?;
        same(&enrolled.run, &run.run, || "enrolled.run".into())?;
        (seat.join, seat.due, seat.done) = (enrolled.join, enrolled.due, enrolled.done);
        Ok(seat)
    }

    /// Enrols again on the same connection.
    pub async fn enrol(&mut self, run: &Enrol) -> LawResult<Enrolled> {
        let id = self.link.ask(&request(run)).await?;
        self.reply(id).await?.enrolled()
    }

    /// Reads messages until a reply and checks the messages before it.
    pub async fn reply(&mut self, id: Id) -> LawResult<IncomingMessage> {
        loop {
            let heard = self.link.hear().await?;
            if heard.re == Some(id) {
                return Ok(heard);
            }
            self.take(heard)?;
        }
    }

    /// Answers the pending turn, if any, and reads the next message.
    pub async fn next(&mut self) -> LawResult {
        if let Some(turn) = self.turn.take() {
            let action = turn.legal.iter().next().map(Into::into);
            let act = Act { match_id: turn.match_id, turn: turn.turn, attempt: turn.attempt, action, ..Act::default() };
            self.acts.insert(self.link.ask(&ClientMessage::Act(Box::new(act))).await?);
        }
        let heard = self.link.hear().await?;
        self.take(heard)
    }

    /// Reads messages until a turn, which is left unanswered.
    pub async fn turn(&mut self) -> LawResult<TurnFrame> {
        loop {
            if let Some(turn) = &self.turn {
                return Ok(turn.clone());
            }
            let heard = self.link.hear().await?;
            self.take(heard)?;
        }
    }

    /// Plays until the run ends.
    pub async fn play(&mut self) -> LawResult<RunEnd> {
        while self.over.is_none() {
            self.next().await?;
        }
        self.over().await
    }

    /// Reads messages until the run ends, without answering turns.
    pub async fn over(&mut self) -> LawResult<RunEnd> {
        loop {
            if let Some(over) = &self.over {
                return Ok(over.clone());
            }
            let heard = self.link.hear().await?;
            self.take(heard)?;
        }
    }

    /// Withdraws from the run, so that the server stores no unfinished run.
    pub async fn give_up(mut self) -> LawResult {
        let id = self.link.ask(&withdraw(&self.run)).await?;
        self.reply(id).await?.ok()
    }

    fn take(&mut self, heard: IncomingMessage) -> LawResult {
        let again = heard.clone();
        match heard.message {
            ServerMessage::MatchStart(start) => {
                same(&start.join, &self.join, || "match_start.join, compared with enrolled.join".into())?;
                law_holds(
                    self.begun.insert(start.match_id.clone()),
                    || format!("started the match {} twice", start.match_id),
                    "one start per match",
                )
            }
            ServerMessage::Turn(turn) => {
                self.turn = Some(*turn);
                Ok(())
            }
            ServerMessage::Resync(resync) => {
                self.begun.insert(resync.match_id);
                self.turn = resync.turn.map(|turn| *turn);
                Ok(())
            }
            ServerMessage::MatchEnd(end) => {
                self.turn = None;
                self.lost += u32::from(end.outcome.contains(&Outcome::Loss));
                Ok(())
            }
            ServerMessage::Progress(progress) => {
                same(&progress.run, &self.run, || "progress.run".into())?;
                let (done, due) = (self.done + 1, self.due.saturating_sub(1));
                same(&(progress.done, progress.due), &(done, due), || "done and due of `progress`".into())?;
                (self.done, self.due) = (done, due);
                Ok(())
            }
            ServerMessage::RunEnd(over) => {
                same(&over.run, &self.run, || "run_end.run".into())?;
                law_holds(self.over.is_none(), || "sent `run_end` twice".into(), "one `run_end` per run")?;
                self.over = Some(*over);
                Ok(())
            }
            ServerMessage::Accepted(_) if heard.re.is_some_and(|re| self.acts.remove(&re)) => Ok(()),
            // The match may have ended before the act arrived.
            ServerMessage::Error(_) if heard.re.is_some_and(|re| self.acts.remove(&re)) && self.over.is_some() => {
                Ok(())
            }
            ServerMessage::Event(_)
            | ServerMessage::Queued(_)
            | ServerMessage::Draining(_)
            | ServerMessage::Ping(_) => Ok(()),
            _ => Err(again.not("a message of the run")),
        }
    }
}
