//! Match pages: the list of matches, and one match before, during and after play.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::response::IntoResponse;
use flate2::Compression;
use ludex_env::DynGame;
use ludex_protocol::message::{EventKind, MatchFrame};
use ludex_protocol::record::{MoveRecord, Record, RecordEvent};
use ludex_protocol::spec::Utility;
use ludex_protocol::{ErrorCode, Refusal};
use ludex_store::MatchFilter;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{access, failed};
use super::curve::{Series, curve};
use super::svg::svg;
use super::{
    Answer, App, Shut, account, admitted, cached, compute, errors, harden, not_rendered, result_text, send, show, shut,
    templates, text, token,
};
use crate::matches::MatchReplay;
use crate::page_cache::PageKind;
use crate::peer::Peer;
use crate::response_body::ResponseBody;
use crate::server_state::ServerState;

/// Number of matches per page.
const LISTED: u32 = 50;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MatchListQuery {
    game: String,
    agent: String,
    live: String,
    rated: String,
    before: Option<u64>,
}

pub(super) async fn list(State(app): App, headers: HeaderMap, query: Query<MatchListQuery>) -> Answer {
    if let Err(shut) = admitted(&app, &headers, "/matches").await {
        return *shut;
    }
    let Query(wanted) = query;
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let yes_or_no = |text: &str| match text {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    let filter = MatchFilter {
        game: some(&wanted.game),
        agent: some(&wanted.agent),
        live: yes_or_no(&wanted.live),
        rated: yes_or_no(&wanted.rated),
        before: wanted.before,
        ..MatchFilter::default()
    };
    let (matches, next) = lines(&app, &filter, LISTED).await;
    let games: Vec<Value> =
        app.0.catalogue.entries().iter().map(|e| json!({ "id": e.game, "title": e.title })).collect();
    let asked = json!({ "game": wanted.game, "agent": wanted.agent, "live": wanted.live, "rated": wanted.rated });
    show("matches.html", json!({ "matches": matches, "next": next, "games": games, "asked": asked }))
}

/// Returns one page of listed matches, and the cursor of the next page.
pub(super) async fn lines(
    (shared, peer): &(Arc<ServerState>, Peer),
    filter: &MatchFilter,
    limit: u32,
) -> (Vec<Value>, Option<u64>) {
    let page = shared.hub.page_of_matches(filter, limit, &peer.job_owner()).await.unwrap_or_else(|error| {
        tracing::error!("match listing failed: {error:#}");
        Value::Null
    });
    (match_lines(shared, &page["matches"]), page["next"].as_u64())
}

/// Returns listed matches with display fields. `title` is the title of the game, `draw` is true after a draw, and `why`
/// is the reason if the match did not end by the rules. `hidden` is true if the moves are hidden until the season ends.
pub(super) fn match_lines(shared: &ServerState, matches: &Value) -> Vec<Value> {
    let mut lines = matches.as_array().cloned().unwrap_or_default();
    for line in &mut lines {
        let seats = line["seats"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<String> =
            seats.iter().map(|seat| text::clean(seat["name"].as_str().unwrap_or_default(), text::NAME)).collect();
        let draw = line["outcome"].as_array().is_some_and(|all| all.iter().any(|outcome| outcome == "draw"));
        (line["draw"], line["why"]) = (draw.into(), result_text::reason(line, &names).into());
        line["hidden"] = shared.hub.hides(line["match"].as_str().unwrap_or_default()).into();
        line["title"] = shared.catalogue.called(line["game"].as_str().unwrap_or_default()).into();
    }
    lines
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Step {
    seat: String,
    at: String,
}

impl Step {
    /// Returns the requested seat and step. A form sends an empty text for a blank field.
    fn numbers(&self) -> (Option<usize>, Option<usize>) {
        (self.seat.parse().ok(), self.at.parse().ok())
    }
}

pub(super) async fn page(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<String>, PathRejection>,
    step: Query<Step>,
) -> Answer {
    let (shared, peer) = &app;
    let id = path.map(|Path(id)| id).unwrap_or_default();
    if let Err(refusal) = access::to_match(&app, &headers, &id).await {
        return match refusal.code {
            ErrorCode::Forbidden => errors::of_open_run(&id),
            _ => *shut(&headers, &format!("/matches/{}", text::path(&id)), &refusal.message),
        };
    }
    let (seat, at) = step.numbers();
    let account = account(shared, peer, token::in_cookie(&headers).is_some()).await;
    let make = page_document(shared, peer, &id, seat, at, account);
    match cached(&app, &id, PageKind::Page { seat, at, account }, make).await {
        Ok(Some(html)) => {
            let mut answer = send([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html);
            harden(&mut answer);
            answer
        }
        Ok(None) => {
            // Visitors who may see the list of matches know from it that the match exists.
            let knows = admitted(&app, &headers, "/").await.is_ok();
            if knows && shared.hub.has_hidden(&id).await {
                return errors::hidden(&id);
            }
            errors::missing("match", &id, "/matches", None)
        }
        Err(failure) => *failure,
    }
}

/// Renders the page of a match.
async fn page_document(
    shared: &Arc<ServerState>,
    peer: &Peer,
    id: &str,
    seat: Option<usize>,
    at: Option<usize>,
    account: &'static str,
) -> Result<ResponseBody, Shut> {
    let owner = peer.job_owner();
    let missing = || Box::new(errors::missing("match", id, "/matches", None));
    let look = shared.hub.look(id, seat, &owner).await.ok_or_else(missing)?;
    let last = last_step(&look.events);
    let at = at.unwrap_or(last).min(last);
    let picture = shared.hub.picture(id, seat, at, &owner).await.map(|picture| picture.svg);
    let (server, id) = (shared.clone(), id.to_owned());
    let render = move || {
        let context = context(&server, &id, &look, seat, [at, last], picture);
        templates::render(TEMPLATE, account, context).map(|html| ResponseBody::new(html, Some(Compression::fast())))
    };
    compute(shared, peer, render).await?.map_err(|error| not_rendered(TEMPLATE, &error))
}

const TEMPLATE: &str = "match.html";

/// Returns the variables of a match page that displays step `at` of `last` steps.
fn context(
    shared: &ServerState,
    id: &str,
    look: &MatchReplay,
    seat: Option<usize>,
    [at, last]: [usize; 2],
    picture: Option<String>,
) -> Value {
    let header = &look.header;
    let notes = look.record.as_deref().map(|record| thoughts(record, &look.events)).unwrap_or_default();
    let game = shared.catalogue.load(&header.game, &header.params).ok();
    let spec = game.as_ref().map(|game| game.spec());
    let title = spec.map_or_else(|| header.game.clone(), |spec| shared.catalogue.called(&spec.string));
    let roles = spec.map(|spec| spec.seats.clone()).unwrap_or_default();
    let names: Vec<&str> = header.seats.iter().map(|seat| seat.name.as_str()).collect();
    let called = result_text::called(&names, &roles);
    let steps = steps(&look.events, notes, &called);
    let seats: Vec<Value> = header
        .seats
        .iter()
        .enumerate()
        .map(|(k, seat)| {
            let of = |key: &str| look.footer.as_ref().map(|footer| footer[key][k].clone());
            json!({ "name": seat.name, "version": seat.version, "kind": seat.kind, "outcome": of("outcome"), "points": of("returns").filter(says_more).map(|value| result_text::points(&value)), "role": roles.get(k) })
        })
        .collect();
    let released = look.record.is_some();
    let notation = game.as_ref().filter(|_| released).and_then(|game| game.info().notation);
    let notation = notation.map(|n| json!({ "name": n.name, "extension": n.extension }));
    let curve = if released { values(&steps, &called, game.as_deref()) } else { None };
    let verdict = look.footer.as_ref().map(|footer| result_text::verdict(footer, &called));
    json!({ "id": id, "title": title, "game": header.game, "params": header.params, "rated": header.rated, "clock": header.clock, "began": text::minute(&header.started), "called": called, "roles": roles, "seats": seats, "seat": seat, "at": at, "last": last, "steps": steps, "picture": picture, "live": look.footer.is_none(), "released": released, "verdict": verdict, "ended_ms": look.ended_ms, "curve": curve, "notation": notation, "digest": look.record.as_ref().and_then(|record| record.footer.digest.clone()) })
}

/// Returns a whole match as a file in the notation of its game.
pub(super) async fn notation(State(app): App, headers: HeaderMap, path: Result<Path<String>, PathRejection>) -> Answer {
    let id = path.map(|Path(id)| id).unwrap_or_default();
    if let Err(refusal) = access::to_match(&app, &headers, &id).await {
        return access::denied(*refusal);
    }
    let Some((notation, written)) = app.0.hub.written(&id, &app.1.job_owner()).await else {
        let why = "expected a released match of a game with a notation";
        return failed(StatusCode::NOT_FOUND, Refusal::new(ErrorCode::UnknownMatch, why));
    };
    let file = format!("attachment; filename=\"{}.{}\"", text::path(&id), notation.extension);
    let headers = [
        (header::CONTENT_TYPE, format!("{}; charset=utf-8", notation.media)),
        (header::CONTENT_DISPOSITION, file),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    (headers, written).into_response()
}

/// Returns a picture of the match position after a step.
pub(super) async fn picture(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<String>, PathRejection>,
    step: Query<Step>,
) -> Answer {
    let (shared, peer) = &app;
    let id = path.map(|Path(id)| id).unwrap_or_default();
    if let Err(refusal) = access::to_match(&app, &headers, &id).await {
        return access::denied(*refusal);
    }
    let (seat, at) = step.numbers();
    let make = async {
        let drawn = shared.hub.picture(&id, seat, at.unwrap_or(usize::MAX), &peer.job_owner()).await;
        let picture = drawn.ok_or_else(|| Box::new(errors::no_page()))?;
        compute(shared, peer, || ResponseBody::new(picture.svg, Some(Compression::fast()))).await
    };
    match cached(&app, &id, PageKind::Picture { seat, at }, make).await {
        Ok(Some(picture)) => svg(picture, "private, no-cache"),
        Ok(None) => errors::no_page(),
        Err(failure) => *failure,
    }
}

/// Returns the moves of a released record in order. Empty if their number differs from the number of moves in `events`.
fn thoughts<'r>(record: &'r Record, events: &[MatchFrame]) -> VecDeque<&'r MoveRecord> {
    let moves: VecDeque<_> =
        record.events.iter().filter_map(|e| if let RecordEvent::Move(m) = e { Some(m) } else { None }).collect();
    let told = events.iter().filter(|f| matches!(f, MatchFrame::Event(e) if matches!(e.kind, EventKind::Move { .. })));
    if told.count() == moves.len() { moves } else { VecDeque::new() }
}

/// Returns a chart of the agents' evaluations by step number, from the notes of their moves. `value` is the expected
/// return; `cp` is an engine's evaluation in centipawns. In two-player zero-sum games, both lines show the view of seat
/// 0.
fn values(steps: &[Value], names: &[String], game: Option<&dyn DynGame>) -> Option<Value> {
    let against = game.is_some_and(|game| game.spec().players == 2 && game.spec().utility == Utility::ZeroSum);
    let of = |seat: usize, key: &str, scale: f64| -> Vec<(f64, f64)> {
        let lines = steps.iter().filter(|line| line["seat"] == seat && line["at"].is_number());
        let sign = if against && seat == 1 { -scale } else { scale };
        let point = |line: &Value| Some((line["at"].as_f64()?, line["notes"][key].as_f64()? * sign + 0.0));
        lines.filter_map(point).filter(|(_, value)| value.abs() <= GREATEST).collect()
    };
    let all = |key: &str, scale: f64| -> Series {
        let line = |(seat, name): (usize, &String)| (name.clone(), of(seat, key, scale));
        names.iter().enumerate().map(line).filter(|(_, points)| !points.is_empty()).collect()
    };
    let first = names.first().map(String::as_str).unwrap_or_default();
    let (good, own) = (format!("Higher is better for {first}."), "Each agent's expectation of its own return.");
    let note = if against { good.as_str() } else { own };
    let axes = |y| ["Step", y];
    curve("Expected result", note, axes("Return"), 2, all("value", 1.0))
        .or_else(|| curve("Evaluation", note, axes("Pawns"), 2, all("cp", 0.01)))
}

/// Maximum absolute value in a chart. Larger values in notes are treated as errors of the agent.
const GREATEST: f64 = 1e6;

/// Returns true if a return is not 1, 0 or -1 and thus says more than win, draw or loss.
fn says_more(points: &Value) -> bool {
    points.as_f64().is_some_and(|points| ![-1.0, 0.0, 1.0].contains(&points))
}

/// Returns the number of the last step.
fn last_step(events: &[MatchFrame]) -> usize {
    let is_step = |frame: &&MatchFrame| matches!(frame, MatchFrame::Event(e) if matches!(e.kind, EventKind::Move { .. } | EventKind::Chance { .. }));
    events.iter().filter(is_step).count()
}

/// Returns the events for display. Moves and chance outcomes have step numbers, from 1.
fn steps(events: &[MatchFrame], mut notes: VecDeque<&MoveRecord>, names: &[String]) -> Vec<Value> {
    let mut at = 0;
    let mut lines = Vec::with_capacity(events.len());
    for frame in events {
        let MatchFrame::Event(event) = frame else { continue };
        let line = match &event.kind {
            EventKind::Move { seat, text, ms, forced, .. } => {
                at += 1;
                let notes = notes.pop_front().and_then(|m| m.notes.as_ref());
                json!({ "at": at, "seat": seat, "text": text, "ms": ms, "forced": forced, "notes": notes })
            }
            EventKind::Chance { text, .. } => {
                at += 1;
                json!({ "at": at, "text": text })
            }
            EventKind::Reveal { text, .. } => json!({ "word": "revealed", "text": text }),
            EventKind::Say { seat, text } => json!({ "word": "says", "seat": seat, "text": text }),
            EventKind::Phase { phase } => json!({ "word": "phase", "text": phase }),
            EventKind::Reward { rewards } => {
                let points: Vec<String> =
                    names.iter().zip(rewards).map(|(name, points)| format!("{name} {points}")).collect();
                json!({ "word": "points", "text": points.join(", ") })
            }
            EventKind::Presence { .. } => continue,
        };
        lines.push(line);
    }
    lines
}
