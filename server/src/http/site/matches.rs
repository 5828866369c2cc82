//! Match pages: the list of matches, and one match before, during and after play.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::response::IntoResponse;
use flate2::Compression;
use ludex_pages::match_list::{GameOption, ListedMatch, ListedSeat, MatchListFilter, MatchListPage};
use ludex_pages::match_page::{MatchPage, MatchSeat, MatchStep, NotationLink, StepNotes, evaluations};
use ludex_pages::{AccountLink, Page, result_text, text};
use ludex_protocol::message::{EventKind, GameEntry, MatchFrame};
use ludex_protocol::record::{Footer, MoveRecord, Notes, Outcome, Record, RecordEvent, RecordSeat};
use ludex_protocol::spec::Utility;
use ludex_protocol::{ErrorCode, Refusal};
use ludex_store::MatchFilter;
use serde::Deserialize;
use serde_json::Value;

use super::super::{access, failed};
use super::svg::svg;
use super::{
    Answer, App, Shut, account, admitted, cached, compute, errors, harden, not_rendered, send, show, shut, token,
    visitor,
};
use crate::page_cache::PageKind;
use crate::peer::Peer;
use crate::response_body::ResponseBody;
use crate::server_state::ServerState;
use ludex_arena::matches::MatchReplay;

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
    let option = |e: &GameEntry| GameOption { id: e.game.clone(), title: e.title.clone() };
    let games = app.0.catalogue.entries().iter().map(option).collect();
    let MatchListQuery { game, agent, live, rated, .. } = wanted;
    let asked = MatchListFilter { game, agent, live, rated };
    show(Page::MatchList(MatchListPage { matches, next, games, asked }))
}

/// Returns one page of listed matches, and the cursor of the next page.
pub(super) async fn lines(
    (shared, peer): &(Arc<ServerState>, Peer),
    filter: &MatchFilter,
    limit: u32,
) -> (Vec<ListedMatch>, Option<u64>) {
    let page = shared.hub.page_of_matches(filter, limit, &peer.job_owner()).await.unwrap_or_else(|error| {
        tracing::error!("match listing failed: {error:#}");
        Value::Null
    });
    (match_lines(shared, &page["matches"]), page["next"].as_u64())
}

/// Returns the matches of a list in the JSON API as views.
pub(super) fn match_lines(shared: &ServerState, matches: &Value) -> Vec<ListedMatch> {
    matches.as_array().into_iter().flatten().map(|line| match_line(shared, line)).collect()
}

fn match_line(shared: &ServerState, line: &Value) -> ListedMatch {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let seats: Vec<ListedSeat> =
        line["seats"].as_array().into_iter().flatten().map(|seat| ListedSeat { name: word(&seat["name"]) }).collect();
    let names: Vec<String> = seats.iter().map(|seat| text::clean(&seat.name, text::NAME)).collect();
    let end = end_of(line);
    let id = word(&line["match"]);
    ListedMatch {
        title: shared.catalogue.called(&word(&line["game"])),
        draw: end.outcome.contains(&Outcome::Draw),
        why: result_text::reason(&end, &names),
        live: line["live"] == true,
        rated: line["rated"] == true,
        hidden: shared.hub.hides(&id),
        ended_ms: line["ended_ms"].as_i64(),
        outcome: end.outcome,
        seats,
        id,
    }
}

/// Returns the end of a match from its JSON; empty while the match runs.
fn end_of(value: &Value) -> Footer {
    Footer::deserialize(value).unwrap_or_default()
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Step {
    seat: String,
    at: String,
}

impl Step {
    /// Returns the requested seat and step. `None` for a blank field, for which a form sends an empty text.
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
    account: AccountLink,
) -> Result<ResponseBody, Shut> {
    let owner = peer.job_owner();
    let missing = || Box::new(errors::missing("match", id, "/matches", None));
    let look = shared.hub.look(id, seat, &owner).await.ok_or_else(missing)?;
    let last = last_step(&look.events);
    let at = at.unwrap_or(last).min(last);
    let picture = shared.hub.picture(id, seat, at, &owner).await.map(|picture| picture.svg);
    let (server, id) = (shared.clone(), id.to_owned());
    let render = move || {
        let page = Page::Match(Box::new(match_page(&server, id, &look, seat, [at, last], picture)));
        let html = page.render(visitor(&server, account)).map_err(|error| (page.template(), error))?;
        Ok(ResponseBody::new(html, Some(Compression::fast())))
    };
    compute(shared, peer, render).await?.map_err(|(template, error)| not_rendered(template, &error))
}

/// Returns the view of a match page that displays step `at` of `last` steps.
fn match_page(
    shared: &ServerState,
    id: String,
    look: &MatchReplay,
    seat: Option<usize>,
    [at, last]: [usize; 2],
    picture: Option<String>,
) -> MatchPage {
    let header = &look.header;
    let notes = look.record.as_deref().map(|record| thoughts(record, &look.events)).unwrap_or_default();
    let game = shared.catalogue.load(&header.game, &header.params).ok();
    let spec = game.as_ref().map(|game| game.spec());
    let title = spec.map_or_else(|| header.game.clone(), |spec| shared.catalogue.called(&spec.string));
    let roles = spec.map(|spec| spec.seats.clone()).unwrap_or_default();
    let names: Vec<&str> = header.seats.iter().map(|seat| seat.name.as_str()).collect();
    let called = result_text::called(&names, &roles);
    let steps = steps(&look.events, notes, &called);
    let end = look.footer.as_ref().map(end_of);
    let seat_of = |(k, seat): (usize, &RecordSeat)| {
        let points = end.as_ref().and_then(|end| end.returns.get(k).copied());
        MatchSeat {
            name: seat.name.clone(),
            version: seat.version.clone(),
            kind: seat.kind,
            outcome: end.as_ref().and_then(|end| end.outcome.get(k).copied()),
            points: points.filter(|points| says_more(*points)).map(result_text::points),
            role: roles.get(k).cloned(),
        }
    };
    let seats = header.seats.iter().enumerate().map(seat_of).collect();
    let released = look.record.is_some();
    let notation = game.as_ref().filter(|_| released).and_then(|game| game.info().notation);
    let against = spec.is_some_and(|spec| spec.players == 2 && spec.utility == Utility::ZeroSum);
    MatchPage {
        id,
        title,
        game: header.game.clone(),
        rated: header.rated,
        began: text::minute(&header.started),
        seats,
        seat,
        at,
        last,
        picture,
        live: end.is_none(),
        released,
        verdict: end.as_ref().map(|end| result_text::verdict(end, &called)),
        ended_ms: look.ended_ms,
        curve: if released { evaluations(&steps, &called, against) } else { None },
        notation: notation.map(|n| NotationLink { name: n.name, extension: n.extension }),
        digest: look.record.as_ref().and_then(|record| record.footer.digest.clone()),
        called,
        roles,
        steps,
    }
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

/// Returns the moves of a released record; empty if their number differs from the number of moves in `events`.
fn thoughts<'r>(record: &'r Record, events: &[MatchFrame]) -> VecDeque<&'r MoveRecord> {
    let moves: VecDeque<_> =
        record.events.iter().filter_map(|e| if let RecordEvent::Move(m) = e { Some(m) } else { None }).collect();
    let told = events.iter().filter(|f| matches!(f, MatchFrame::Event(e) if matches!(e.kind, EventKind::Move { .. })));
    if told.count() == moves.len() { moves } else { VecDeque::new() }
}

/// Returns true if a return is a number other than 1, 0 and -1, and so says more than win, draw or loss.
fn says_more(points: f64) -> bool {
    ![-1.0, 0.0, 1.0].contains(&points)
}

/// Returns the number of the last step.
fn last_step(events: &[MatchFrame]) -> usize {
    let is_step = |frame: &&MatchFrame| matches!(frame, MatchFrame::Event(e) if matches!(e.kind, EventKind::Move { .. } | EventKind::Chance { .. }));
    events.iter().filter(is_step).count()
}

/// Returns the events for display. Moves and chance outcomes have step numbers, from 1.
fn steps(events: &[MatchFrame], mut notes: VecDeque<&MoveRecord>, names: &[String]) -> Vec<MatchStep> {
    let mut at = 0;
    let mut number = || {
        at += 1;
        Some(at)
    };
    let line = |word, text| MatchStep { word: Some(word), text, ..MatchStep::default() };
    let mut lines = Vec::with_capacity(events.len());
    for frame in events {
        let MatchFrame::Event(event) = frame else { continue };
        lines.push(match &event.kind {
            EventKind::Move { seat, text, ms, forced, .. } => MatchStep {
                at: number(),
                seat: Some(*seat),
                text: text.clone(),
                ms: Some(*ms),
                forced: *forced,
                notes: notes.pop_front().and_then(|m| m.notes.as_ref()).map(notes_of),
                ..MatchStep::default()
            },
            EventKind::Chance { text, .. } => MatchStep { at: number(), text: text.clone(), ..MatchStep::default() },
            EventKind::Reveal { text, .. } => line("revealed", text.clone()),
            EventKind::Say { seat, text } => MatchStep { seat: Some(*seat), ..line("says", text.clone()) },
            EventKind::Phase { phase } => line("phase", phase.clone()),
            EventKind::Reward { rewards } => {
                let points: Vec<String> =
                    names.iter().zip(rewards).map(|(name, points)| format!("{name} {points}")).collect();
                line("points", points.join(", "))
            }
            EventKind::Presence { .. } => continue,
        });
    }
    lines
}

fn notes_of(notes: &Notes) -> StepNotes {
    let number = |key: &str| notes.more.get(key).and_then(Value::as_f64);
    StepNotes { analysis: notes.analysis.clone(), say: notes.say.clone(), value: number("value"), cp: number("cp") }
}
