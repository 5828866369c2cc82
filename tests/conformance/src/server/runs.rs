//! Laws of runs: an agent enrols in a suite of the server, plays it, reconnects, and withdraws.

mod seat;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::FutureExt as _;
use ludex_protocol::message::{
    AgentId, ClientMessage, Describe, Enrol, ListSuites, Ping, RunReason, Scope, SuiteEntry, Withdraw,
};
use ludex_protocol::{Encoding, ErrorCode};
use serde_json::json;

use self::seat::RunSeat;
use super::bench::LawContext;
use super::{Law, LawFailure, LawResult, Trial, law, law_holds, same};

const fn of_runs(name: &'static str, tried: Trial) -> Law {
    law(12, name, Some(Scope::Play), tried)
}

pub(super) const LAWS: &[Law] = &[
    of_runs("lists its suites", |b| suites(b).boxed_local()),
    of_runs("explains why it refuses an enrolment", |b| wrong_enrolments(b).boxed_local()),
    of_runs("refuses to change the settings of a run", |b| settings(b).boxed_local()),
    of_runs("reserves a run for the agent that started it", |b| strangers(b).boxed_local()),
    of_runs("plays a run to its end", |b| to_the_end(b).boxed_local()),
    of_runs("continues a run for the agent that reconnects", |b| back(b).boxed_local()),
    of_runs("ends a run when its agent withdraws", |b| withdrawal(b).boxed_local()),
];

/// Metric of rating ladders. Parts with this metric are skipped, because the number of their matches changes during the
/// run.
const LEVEL: &str = "level";

/// Fraction of a suite that is played: one block per pairing.
const SCALE: f64 = 0.001;

/// Returns a name that no run has.
fn fresh() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros());
    format!("conformance-{now:x}-{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

async fn listed(b: &LawContext) -> LawResult<Vec<SuiteEntry>> {
    b.link().await?.call(ClientMessage::Suites(ListSuites {})).await?.suites()
}

/// Creates the smallest run that one agent can play alone, with a unique name.
async fn smallest(b: &LawContext) -> LawResult<Enrol> {
    let suites = listed(b).await?;
    let parts = suites.iter().flat_map(|suite| suite.parts.iter().map(move |part| (suite, part)));
    let alone = parts.filter(|(_, part)| part.candidates == 1 && part.matches > 1);
    let steady = |part: &[String]| !part.iter().any(|metric| metric == LEVEL);
    let (suite, part) = alone
        .filter(|(_, part)| steady(&part.metrics))
        .min_by_key(|(_, part)| part.matches)
        .ok_or_else(|| LawFailure::Skip("the server offers no suite that a single agent can play".into()))?;
    Ok(Enrol { scale: SCALE, only: vec![part.part.clone()], rated: false, ..Enrol::new(&suite.suite, fresh()) })
}

fn request(enrol: &Enrol) -> ClientMessage {
    ClientMessage::Enrol(Box::new(enrol.clone()))
}

fn withdraw(run: &str) -> ClientMessage {
    ClientMessage::Withdraw(Withdraw { run: run.to_owned() })
}

async fn suites(b: &LawContext) -> LawResult {
    let suites = listed(b).await?;
    let names: BTreeSet<&str> = suites.iter().map(|suite| suite.suite.as_str()).collect();
    same(&names.len(), &suites.len(), || "number of distinct suite names".into())?;
    let mut link = b.link().await?;
    for suite in &suites {
        let of = |what: &str| format!("{what} of the suite {:?}", suite.suite);
        let word =
            |text: &str| !text.is_empty() && text.bytes().all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
        law_holds(word(&suite.suite), || of("the name"), "lowercase letters, digits, `_` and `-`")?;
        law_holds(!suite.digest.is_empty(), || format!("{} is empty", of("the digest")), "a digest")?;
        let parts: BTreeSet<&str> = suite.parts.iter().map(|part| part.part.as_str()).collect();
        same(&parts.len(), &suite.parts.len(), || of("number of distinct part names"))?;
        law_holds(!parts.is_empty(), || format!("listed no parts of the suite {:?}", suite.suite), "at least one")?;
        let alone: u64 = suite.parts.iter().filter(|part| part.candidates == 1).map(|part| part.matches).sum();
        same(&suite.matches, &alone, || {
            format!("{}, compared with the sum over its parts for one agent", of("matches"))
        })?;
        for part in &suite.parts {
            law_holds(part.candidates >= 1, || of("candidates of a part"), "at least one")?;
            let describe = Describe { game: part.game.clone(), ..Describe::default() };
            let spec = link.call(ClientMessage::Describe(describe)).await?.spec()?;
            same(&part.game, &spec.string, || format!("the game of the part {:?}", part.part))?;
        }
    }
    Ok(())
}

async fn wrong_enrolments(b: &LawContext) -> LawResult {
    let run = smallest(b).await?;
    let mut link = b.link().await?;
    let misspelt = Enrol { suite: format!("{}q", run.suite), ..run.clone() };
    let error = link.call(request(&misspelt)).await?.error_at(ErrorCode::UnknownSuite, "suite")?;
    same(&error.nearest.as_deref(), &Some(run.suite.as_str()), || format!("`nearest` to {:?}", misspelt.suite))?;
    let nowhere = Enrol { suite: String::new(), only: Vec::new(), scale: 1.0, ..run.clone() };
    link.call(request(&nowhere)).await?.error_at(ErrorCode::UnknownRun, "run")?;
    for (enrol, code, path) in [
        (Enrol { run: "Not a name".into(), ..run.clone() }, ErrorCode::BadField, "run"),
        (Enrol { run: "r".repeat(65), ..run.clone() }, ErrorCode::BadField, "run"),
        (Enrol { scale: 1.5, ..run.clone() }, ErrorCode::BadField, "scale"),
        (Enrol { scale: 0.0, ..run.clone() }, ErrorCode::BadField, "scale"),
        (Enrol { only: vec!["no_such_part".into()], ..run.clone() }, ErrorCode::BadField, "only"),
        (Enrol { candidates: 0, ..run.clone() }, ErrorCode::BadField, "candidates"),
        (Enrol { slots: 0, ..run.clone() }, ErrorCode::Limit, "slots"),
        (Enrol { layout: Some("no_such_layout".into()), ..run.clone() }, ErrorCode::BadField, "layout"),
    ] {
        link.call(request(&enrol)).await?.error_at(code, path)?;
    }
    link.call(withdraw(&run.run)).await?.error(ErrorCode::UnknownRun)?;
    // A client without an agent name has no run.
    let mut nobody = b.mute(&[Encoding::Json]).await?;
    let mut hello = b.hello();
    hello.agent = None;
    if nobody.greet(hello).await?.agent.is_empty() {
        nobody.call(request(&run)).await?.error(ErrorCode::Forbidden)?;
    }
    Ok(())
}

/// Checks that a repeated enrolment continues the run, and that a change of settings is refused with the names of the
/// changed settings.
async fn settings(b: &LawContext) -> LawResult {
    let run = smallest(b).await?;
    let mut seat = RunSeat::new(b, &run).await?;
    let (join, due) = (seat.join.clone(), seat.due);
    let again = seat.enrol(&run).await?;
    same(&(again.run, again.join), &(run.run.clone(), join), || {
        "run and join in the reply to a repeated `enrol`".into()
    })?;
    same(&(again.due, again.done), &(due, 0), || "due and done in the reply to a repeated `enrol`".into())?;
    let suites = listed(b).await?;
    let another = suites.iter().find(|suite| suite.suite != run.suite);
    let more = Enrol { suite: another.map_or_else(String::new, |suite| suite.suite.clone()), ..run.clone() };
    for (enrol, path, was) in [
        (Enrol { scale: 1.0, ..run.clone() }, "scale", json!(run.scale)),
        (Enrol { only: Vec::new(), ..run.clone() }, "only", json!(run.only)),
        (Enrol { candidates: 2, ..run.clone() }, "candidates", json!(1)),
        (more, "suite", json!(run.suite)),
    ] {
        // If the suite is absent, the run's suite is used.
        if enrol.suite.is_empty() {
            continue;
        }
        let id = seat.link.ask(&request(&enrol)).await?;
        let error = seat.reply(id).await?.error_at(ErrorCode::Conflict, path)?;
        same(&error.allowed.as_deref(), &Some(&was), || format!("`allowed` of the conflict about {path}"))?;
    }
    seat.give_up().await
}

async fn strangers(b: &LawContext) -> LawResult {
    let run = smallest(b).await?;
    let seat = RunSeat::new(b, &run).await?;
    let mut hello = b.hello();
    let name = format!("{}.x", b.link_in(Encoding::Json).await?.1.agent);
    hello.agent = Some(AgentId { name, ..AgentId::default() });
    let mut other = b.mute(&[Encoding::Json]).await?;
    match other.greet(hello).await {
        Ok(_) => {
            other.call(request(&run)).await?.error(ErrorCode::Forbidden)?;
            other.call(withdraw(&run.run)).await?.error(ErrorCode::UnknownRun)?;
        }
        Err(_) => {
            seat.give_up().await?;
            return Err(LawFailure::Skip("the token allows only one agent name".into()));
        }
    }
    seat.give_up().await
}

async fn to_the_end(b: &LawContext) -> LawResult {
    let run = smallest(b).await?;
    let mut seat = RunSeat::new(b, &run).await?;
    let due = seat.due;
    law_holds(due > 0, || "sent `enrolled` with `due` 0".into(), "the number of matches in the run")?;
    let over = seat.play().await?;
    same(&over.reason, &RunReason::Done, || "run_end.reason".into())?;
    same(&seat.begun.len(), &(due as usize), || "number of matches played".into())?;
    same(&(seat.due, seat.done), &(0, due), || "due and done of the last `progress`".into())?;
    law_holds(!over.report.is_empty(), || "run_end.report is empty".into(), "a path")?;
    law_holds(over.verdict.is_object(), || format!("run_end.verdict is {}", over.verdict), "a map")?;
    // No frame follows the end, and a repeated enrolment receives the same end.
    let ping = seat.link.ask(&ClientMessage::Ping(Ping {})).await?;
    let heard = seat.link.hear().await?;
    law_holds(heard.re == Some(ping), || format!("sent {} after `run_end`", heard.raw), "nothing")?;
    let mut again = RunSeat::new(b, &run).await?;
    same(&(&again.join, again.due, again.done), &(&None, 0, due), || "join, due and done of a finished run".into())?;
    same(&again.play().await?, &over, || "the repeated `run_end`".into())?;
    if let Ok((status, _)) = b.page(&over.report).await {
        same(&status, &200, || format!("status of GET {}", over.report))?;
    }
    Ok(())
}

/// Checks that a disconnected agent continues its run and its match in a new session.
async fn back(b: &LawContext) -> LawResult {
    let run = smallest(b).await?;
    let mut seat = RunSeat::new(b, &run).await?;
    let due = seat.due;
    while seat.done == 0 {
        seat.next().await?;
    }
    // A match has started and waits for the client.
    let waits = seat.turn().await?;
    let (begun, done) = (seat.begun.clone(), seat.done);
    seat.link.cut();
    let mut seat = RunSeat::new(b, &run).await?;
    same(&(seat.due, seat.done), &(due - done, done), || "due and done after the reconnect".into())?;
    seat.begun = begun;
    let turn = seat.turn().await?;
    let key = |turn: &ludex_protocol::message::TurnFrame| (turn.match_id.clone(), turn.turn, turn.legal.clone());
    same(&key(&turn), &key(&waits), || "match, turn and legal after the reconnect".into())?;
    let over = seat.play().await?;
    same(&over.reason, &RunReason::Done, || "run_end.reason".into())?;
    same(&seat.begun.len(), &(due as usize), || "number of matches played in both sessions".into())
}

async fn withdrawal(b: &LawContext) -> LawResult {
    let run = smallest(b).await?;
    let mut seat = RunSeat::new(b, &run).await?;
    seat.turn().await?;
    let id = seat.link.ask(&withdraw(&run.run)).await?;
    seat.reply(id).await?.ok()?;
    let over = seat.over().await?;
    same(&over.reason, &RunReason::Withdrawn, || "run_end.reason".into())?;
    law_holds(seat.lost > 0, || "did not end the running match".into(), "`match_end` with a loss for the client")?;
    seat.link.call(withdraw(&run.run)).await?.error(ErrorCode::UnknownRun)?;
    let mut again = RunSeat::new(b, &run).await?;
    same(&again.join, &None, || "join of a finished run".into())?;
    same(&again.over().await?, &over, || "the repeated `run_end`".into())
}
