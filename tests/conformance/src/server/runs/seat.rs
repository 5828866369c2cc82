//! A careful client of a run: replies to turns with the first legal action, and checks all messages about
//! the run. The frames of matches have laws of their own.

use std::collections::BTreeSet;

use ludex_protocol::message::{Act, ClientMessage, Enrol, Enrolled, RunEnd, ServerMessage, TurnFrame};
use ludex_protocol::record::Outcome;
use ludex_protocol::{Encoding, Id};

use super::super::bench::LawContext;
use super::super::incoming::IncomingMessage;
use super::super::link::Link;
use super::super::{LawResult, law_holds, same};
use super::{request, withdraw};

/// A careful client of a run.
pub(super) struct RunSeat {
    pub link: Link,
    run: String,
    pub join: Option<String>,
    pub due: u64,
    pub done: u64,
    /// The matches that began.
    pub begun: BTreeSet<String>,
    /// Matches that we lost.
    pub lost: u32,
    /// The turn that waits.
    turn: Option<TurnFrame>,
    /// Acts without a reply.
    acts: BTreeSet<Id>,
    over: Option<RunEnd>,
}

impl RunSeat {
    /// Enrols on a connection of its own.
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
            return Err(heard.not("`enrolled` before anything of the run"));
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

    /// Reads on to a reply; what comes before it counts.
    pub async fn reply(&mut self, id: Id) -> LawResult<IncomingMessage> {
        loop {
            let heard = self.link.hear().await?;
            if heard.re == Some(id) {
                return Ok(heard);
            }
            self.take(heard)?;
        }
    }

    /// Answers the turn that waits, and reads the next message.
    pub async fn next(&mut self) -> LawResult {
        if let Some(turn) = self.turn.take() {
            let action = turn.legal.iter().next().map(Into::into);
            let act = Act { match_id: turn.match_id, turn: turn.turn, attempt: turn.attempt, action, ..Act::default() };
            self.acts.insert(self.link.ask(&ClientMessage::Act(Box::new(act))).await?);
        }
        let heard = self.link.hear().await?;
        self.take(heard)
    }

    /// Reads on to a turn, which it does not answer.
    pub async fn turn(&mut self) -> LawResult<TurnFrame> {
        loop {
            if let Some(turn) = &self.turn {
                return Ok(turn.clone());
            }
            let heard = self.link.hear().await?;
            self.take(heard)?;
        }
    }

    /// Plays to the end of the run.
    pub async fn play(&mut self) -> LawResult<RunEnd> {
        while self.over.is_none() {
            self.next().await?;
        }
        self.over().await
    }

    /// Reads on to the end of the run, and answers nothing.
    pub async fn over(&mut self) -> LawResult<RunEnd> {
        loop {
            if let Some(over) = &self.over {
                return Ok(over.clone());
            }
            let heard = self.link.hear().await?;
            self.take(heard)?;
        }
    }

    /// Ends the run, so that the server keeps nothing for us.
    pub async fn give_up(mut self) -> LawResult {
        let id = self.link.ask(&withdraw(&self.run)).await?;
        self.reply(id).await?.ok()
    }

    fn take(&mut self, heard: IncomingMessage) -> LawResult {
        let again = heard.clone();
        match heard.message {
            ServerMessage::MatchStart(start) => {
                same(&start.join, &self.join, || "match_start.join, beside enrolled.join".into())?;
                law_holds(
                    self.begun.insert(start.match_id.clone()),
                    || format!("began the match {} again", start.match_id),
                    "each match once",
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
                law_holds(self.over.is_none(), || "sent `run_end` twice".into(), "it once")?;
                self.over = Some(*over);
                Ok(())
            }
            ServerMessage::Accepted(_) if heard.re.is_some_and(|re| self.acts.remove(&re)) => Ok(()),
            // The match may have ended meanwhile.
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
