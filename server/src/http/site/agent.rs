//! The page of an agent: its ratings by game and over time, the cost of its moves, its opponents and its recent
//! matches.

use std::collections::BTreeMap;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::HeaderMap;
use ludex_pages::agent::{AgentPage, AgentRating, MoveCost, OpponentLine};
use ludex_pages::curve::curve;
use ludex_pages::{Page, text};
use ludex_protocol::record::Outcome;
use ludex_referee::rating::elo::Elo;
use ludex_report::scale::{AgentRow, Scale};
use ludex_store::MatchFilter;
use serde_json::Value;

use super::{Answer, App, admitted, compute, errors, matches, scales, show};
use crate::ratings::RatingsSnapshot;
use crate::server_state::ServerState;

/// Number of the agent's latest matches that count toward its results against opponents.
const COUNTED: u32 = 500;
const LISTED: usize = 20;

pub(super) async fn page(State(app): App, headers: HeaderMap, path: Result<Path<String>, PathRejection>) -> Answer {
    let shared = &app.0;
    let name = path.map(|Path(name)| name).unwrap_or_default();
    if let Err(shut) = admitted(&app, &headers, &format!("/agents/{}", text::path(&name))).await {
        return *shut;
    }
    let filter = MatchFilter { agent: Some(name.clone()), ..MatchFilter::default() };
    let Ok(page) = shared.hub.page_of_matches(&filter, COUNTED, &app.1.job_owner()).await else {
        return errors::failure();
    };
    let mut matches = matches::match_lines(shared, &page["matches"]);
    if matches.is_empty() {
        return errors::missing("agent", &name, "/matches", None);
    }
    let mut opponents: BTreeMap<&str, OpponentLine> = BTreeMap::new();
    for line in matches.iter().filter(|line| !line.live) {
        let names: Vec<&str> = line.seats.iter().map(|seat| seat.name.as_str()).collect();
        let own = names.iter().position(|n| *n == name).and_then(|seat| line.outcome.get(seat));
        for other in names.iter().filter(|other| **other != name) {
            let tally = opponents.entry(*other).or_default();
            match own {
                Some(Outcome::Win) => tally.wins += 1,
                Some(Outcome::Draw) => tally.draws += 1,
                Some(Outcome::Loss) => tally.losses += 1,
                _ => tally.other += 1,
            }
        }
    }
    let opponents = opponents.into_iter().map(|(name, line)| OpponentLine { name: name.to_owned(), ..line }).collect();
    let all = scales::ratings_soon(shared, None).await;
    let late = all.is_none();
    let (of, server) = (name.clone(), shared.clone());
    let draw = move || all.map(|made| ratings(&made, &of, &server)).unwrap_or_default();
    let ratings = match compute(shared, &app.1, draw).await {
        Ok(ratings) => ratings,
        Err(failure) => return *failure,
    };
    let more = matches.len() > LISTED;
    matches.truncate(LISTED);
    show(Page::Agent(AgentPage { name, ratings, late, opponents, matches, more }))
}

/// Returns the agent's row on each rating scale, with a rating curve and the cost of its moves.
fn ratings(made: &RatingsSnapshot, name: &str, shared: &ServerState) -> Vec<AgentRating> {
    let names = scales::names(&made.scales, &shared.catalogue, &shared.config.suites);
    let pages = made.page["ratings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |((scale, page), called): ((&Scale, &Value), String)| {
        let row = scale.agents.iter().find(|row| row.name == name)?;
        let points = row.course.points().into_iter().map(|(at, elo)| (at as f64, elo)).collect();
        let title = format!("Elo after each match of {called}");
        let cost = cost(row);
        Some(AgentRating {
            game: scale.game.clone(),
            title: called,
            people: scales::is_of_people(page),
            row: scales::row(row),
            costly: cost.ms.or(cost.tokens).or(cost.usd).is_some(),
            cost,
            curve: curve(&title, &note(row), ["Match", "Elo"], 0, vec![("Elo".to_owned(), points)]),
        })
    };
    made.scales.iter().zip(pages).zip(names).filter_map(of).collect()
}

/// Returns the caption of an agent's rating curve. It explains why the end of the curve differs from the rating in the
/// table.
fn note(row: &AgentRow) -> String {
    let Elo { start, k } = Elo::default();
    let zero = if row.anchored { ", on a scale where random has 0" } else { "" };
    format!(
        "Sequential Elo: it starts at {start} and changes by at most {k} points per match. The rating in the table is fitted \
         to all matches at once{zero}, so the two are not comparable."
    )
}

/// Returns the mean cost of one move of the agent, where recorded: milliseconds, tokens, dollars.
fn cost(row: &AgentRow) -> MoveCost {
    let per = |sum: f64, moves: u64| (moves > 0).then(|| sum / moves as f64).filter(|cost| cost.is_finite());
    MoveCost {
        ms: row.metrics.get("time_per_move").map(|time| time.value).filter(|ms| ms.is_finite()),
        tokens: per(row.tokens.total() as f64, row.tokens.moves),
        usd: per(row.spent.usd, row.spent.moves),
    }
}
