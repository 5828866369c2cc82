//! Run of a client: it enrols, plays the matches of a small plan in sequence, and receives the end of the run.

use std::collections::BTreeMap;

use ludex_protocol::message::{
    Enrol, Enrolled, Join, Progress, RunEnd, RunReason, ServerMessage, SuiteEntry, SuiteList, SuitePart,
};
use serde_json::json;

use super::super::program::{RUN, SUITE};
use super::super::wire::ScriptSocket;
use super::place::Place;
use super::{Go, ScriptServer};
use crate::CheckFault;

/// Number of matches in the plan.
const MATCHES: u64 = 3;

/// State of the client's run on the server.
#[derive(Default)]
pub(super) struct Run {
    /// First `enrol` message of the client.
    enrolled: Option<Enrol>,
    /// True if the client has enrolled on this connection.
    pub here: bool,
    /// True if the client's session has a seat in the current match.
    pub seated: bool,
    done: u64,
    /// True if the last match is included in the number of finished matches.
    counted: bool,
    /// Reason for the end of the run; `None` while the run continues.
    over: Option<RunReason>,
    /// True if `run_end` was sent to the client.
    pub told: bool,
}

impl Run {
    /// Ends the run as if its time limit had expired.
    pub fn end_early(&mut self) {
        self.over = Some(RunReason::Deadline);
    }

    fn due(&self) -> u64 {
        MATCHES - self.done
    }
}

/// Returns the reply to `suites`.
pub(super) fn suites(game: &str) -> ServerMessage {
    let part = SuitePart {
        part: "matches".into(),
        game: game.into(),
        matches: MATCHES,
        candidates: 1,
        metrics: vec!["score_rate".into()],
    };
    let suite = SuiteEntry {
        suite: SUITE.into(),
        version: 1,
        digest: "00".repeat(8),
        title: "The matches of this check".into(),
        matches: MATCHES,
        parts: vec![part],
        season: None,
    };
    ServerMessage::Suites(SuiteList { suites: vec![suite] })
}

impl ScriptServer<'_> {
    pub(super) fn enrol(&mut self, enrol: &Enrol) -> Result<ServerMessage, CheckFault> {
        let asked = format!("enrolled with {}", json!(enrol));
        if enrol.suite != SUITE || enrol.run != RUN {
            return Err(CheckFault::new(
                12,
                asked,
                format!("the suite {SUITE:?} and the run {RUN:?}, as LUDEX_SUITE and LUDEX_RUN say"),
            ));
        }
        let Some(run) = &mut self.run else { return Err(CheckFault::new(0, asked, "no internal error")) };
        let first = run.enrolled.get_or_insert_with(|| enrol.clone());
        if first != enrol {
            let did = format!("{asked}{}", self.since_break());
            return Err(CheckFault::new(12, did, "the same `enrol` again, to continue the run"));
        }
        run.here = true;
        self.count();
        let Some(run) = &self.run else { return Err(CheckFault::new(0, asked, "no internal error")) };
        let join = run.over.is_none().then(|| "j_kit1".to_owned());
        let due = if run.over.is_some() { 0 } else { run.due() };
        Ok(ServerMessage::Enrolled(Enrolled { run: RUN.into(), join, due, done: run.done, ..Enrolled::default() }))
    }

    /// Counts the finished match. Returns false if no match has finished or if the match was already counted.
    fn count(&mut self) -> bool {
        let ended = self.table.as_ref().is_some_and(|table| table.over);
        let Some(run) = self.run.as_mut().filter(|run| ended && !run.counted) else { return false };
        run.counted = true;
        run.done += 1;
        if run.done == MATCHES {
            run.over.get_or_insert(RunReason::Done);
        }
        true
    }

    /// Sends the next message of the run: its progress, the match that was left unfinished in an earlier session, the
    /// next match, or the end.
    pub(super) async fn deal(&mut self, wire: &mut ScriptSocket) -> Go<()> {
        if self.count()
            && let Some(run) = &self.run
        {
            let progress = Progress { run: RUN.into(), done: run.done, due: run.due(), verdict_so_far: None };
            self.send(wire, None, ServerMessage::Progress(Box::new(progress))).await?;
            self.place(wire, Place::Other("sent progress".into())).await?;
        }
        let Some(run) = self.run.as_mut().filter(|run| run.here && !run.told) else { return Ok(()) };
        if let Some(reason) = run.over {
            run.told = true;
            let (report, none) = (format!("/runs/{RUN}/report.html"), json!([]));
            let verdict = json!({ "parts": none, "groups": none });
            let over = RunEnd { run: RUN.into(), reason, verdict, ratings: none, report };
            return self.send(wire, None, ServerMessage::RunEnd(Box::new(over))).await;
        }
        let runs = self.table.as_ref().is_some_and(|table| !table.over);
        if runs {
            let away = !std::mem::replace(&mut run.seated, true);
            return if away { self.catch_up(wire, BTreeMap::new()).await } else { Ok(()) };
        }
        (run.seated, run.counted) = (true, false);
        let views = run.enrolled.as_ref().map(|enrol| enrol.views.clone()).unwrap_or_default();
        let join = Join { views, ..Join::new(self.script.game) };
        let first = self.script.seats[0] + run.done as usize;
        self.start(&join, "j_kit1", first)?;
        self.frames_from(wire, 0).await
    }
}
