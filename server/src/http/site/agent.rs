//! The page of an agent: its ratings by game and over time, the cost of its moves, its opponents and its recent
//! matches.

use std::collections::BTreeMap;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::HeaderMap;
use ludex_referee::rating::elo::Elo;
use ludex_report::scale::{AgentRow, Scale};
use ludex_store::MatchFilter;
use serde_json::{Value, json};

use super::curve::curve;
use super::{Answer, App, admitted, compute, errors, matches, scales, show, text};
use crate::ratings::RatingsSnapshot;
use crate::server_state::ServerState;

/// Number of the agent's latest matches that count toward its results against opponents.
const COUNTED: u32 = 500;
const LISTED: usize = 20;

/// Results against one opponent.
#[derive(Default)]
struct Tally {
    wins: u32,
    draws: u32,
    losses: u32,
    other: u32,
}

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
    let matches = matches::match_lines(shared, &page["matches"]);
    if matches.is_empty() {
        return errors::missing("agent", &name, "/matches", None);
    }
    let mut opponents: BTreeMap<&str, Tally> = BTreeMap::new();
    for line in matches.iter().filter(|line| line["live"] == false) {
        let names: Vec<&str> = line["seats"].as_array().map_or_else(Vec::new, |seats| {
            seats.iter().map(|seat| seat["name"].as_str().unwrap_or_default()).collect()
        });
        let own = names.iter().position(|n| *n == name).and_then(|seat| line["outcome"][seat].as_str());
        for other in names.iter().filter(|other| **other != name) {
            let tally = opponents.entry(*other).or_default();
            match own {
                Some("win") => tally.wins += 1,
                Some("draw") => tally.draws += 1,
                Some("loss") => tally.losses += 1,
                _ => tally.other += 1,
            }
        }
    }
    let opponents: Vec<Value> = opponents
        .into_iter()
        .map(
            |(name, t)| json!({ "name": name, "wins": t.wins, "draws": t.draws, "losses": t.losses, "other": t.other }),
        )
        .collect();
    let all = scales::ratings_soon(shared, None).await;
    let late = all.is_none();
    let (of, server) = (name.clone(), shared.clone());
    let draw = move || all.map(|made| ratings(&made, &of, &server)).unwrap_or_default();
    let ratings = match compute(shared, &app.1, draw).await {
        Ok(ratings) => ratings,
        Err(failure) => return *failure,
    };
    let more = matches.len() > LISTED;
    let matches: Vec<Value> = matches.iter().take(LISTED).cloned().collect();
    show(
        "agent.html",
        json!({ "name": name, "matches": matches, "more": more, "opponents": opponents, "ratings": ratings, "late": late }),
    )
}

/// Returns the agent's row on each rating scale, with a rating curve and the cost of its moves.
fn ratings(made: &RatingsSnapshot, name: &str, shared: &ServerState) -> Vec<Value> {
    let names = scales::names(&made.scales, &shared.catalogue, &shared.config.suites);
    let pages = made.page["ratings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |((scale, page), called): ((&Scale, &Value), String)| {
        let row = scale.agents.iter().find(|row| row.name == name)?;
        let points = row.course.points().into_iter().map(|(at, elo)| (at as f64, elo)).collect();
        let title = format!("Elo after each match of {called}");
        let note = note(row);
        let drawn = curve(&title, &note, ["Match", "Elo"], 0, vec![("Elo".to_owned(), points)]);
        let cost = cost(row);
        let costly = cost.as_object().is_some_and(|cost| cost.values().any(Value::is_number));
        Some(json!({
            "game": scale.game, "title": called, "people": page["people"], "row": json!(row), "cost": cost,
            "costly": costly, "curve": drawn,
        }))
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
fn cost(row: &AgentRow) -> Value {
    let per = |sum: f64, moves: u64| (moves > 0).then(|| sum / moves as f64);
    json!({
        "ms": row.metrics.get("time_per_move").map(|time| time.value),
        "tokens": per(row.tokens.total() as f64, row.tokens.moves),
        "usd": per(row.spent.usd, row.spent.moves),
    })
}
