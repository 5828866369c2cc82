//! Run pages: the list of runs, the page of one run, and the page on which a person plays a run.

use std::collections::BTreeMap;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::response::IntoResponse;
use ludex_protocol::message::SuiteEntry;
use ludex_referee::suite::is_word;
use ludex_store::MatchFilter;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, App, admitted, errors, matches, show, text};
use crate::auth::Scopes;
use crate::server_state::ServerState;

/// Number of matches per page.
const LISTED: u32 = 50;
/// Number of finished runs per page.
const OVER: usize = 50;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RunListQuery {
    /// Name of the last run on the previous page.
    after: String,
    /// Season whose runs are listed, as `SUITE/SEASON`.
    season: String,
    /// Name of a run that a person wants to start. The fields `suite` and `scale` hold the run's suite (`suite` or
    /// `suite/part`) and the fraction of the suite's matches to play.
    play: String,
    suite: String,
    scale: String,
}

pub(super) async fn list(State(app): App, headers: HeaderMap, query: Query<RunListQuery>) -> Answer {
    if let Err(shut) = admitted(&app, &headers, "/runs").await {
        return *shut;
    }
    let Query(listed) = query;
    if !listed.play.is_empty() {
        let (suite, only) = listed.suite.split_once('/').unwrap_or((&listed.suite, ""));
        let [run, suite, only, scale] = [listed.play.as_str(), suite, only, &listed.scale].map(text::path);
        let to = format!("/runs/{run}/play?suite={suite}&only={only}&scale={scale}");
        return (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    }
    let season = listed.season.split_once('/').map(<[&str; 2]>::from);
    let (mut over, next) = app.0.runs.runs_over(&listed.after, season, OVER).await;
    let mut runs = app.0.runs.open_runs();
    if let Some([suite, name]) = season {
        runs.retain(|run| run["suite"] == suite && run["season"]["name"] == name);
    }
    for run in runs.iter_mut().chain(&mut over) {
        run["state_text"] = state(run).into();
        run["title"] = app.0.catalogue.called(run["game"].as_str().unwrap_or_default()).into();
    }
    let (suites, seasons) = (alone(&app.0), app.0.runs.seasons());
    let season = season.map(|[suite, name]| json!({ "suite": suite, "name": name }));
    show(
        "runs.html",
        json!({ "suites": suites, "seasons": seasons, "season": season, "runs": runs, "over": over, "next": next }),
    )
}

/// Returns the suites, or parts of suites, that one person can play alone, smallest suite first.
fn alone(shared: &ServerState) -> Vec<Value> {
    let mut suites = shared.runs.offered();
    suites.sort_by_key(|suite| suite.matches);
    let told = |suite: SuiteEntry| {
        let alone = &shared.config.suites.get(&suite.suite)?.alone;
        (!alone.parts.is_empty()).then(|| {
            json!({
                "suite": suite.suite, "title": suite.title, "matches": suite.matches, "season": suite.season, "whole": alone.whole,
                "parts": alone.parts,
            })
        })
    };
    suites.into_iter().filter_map(told).collect()
}

#[derive(Default, Deserialize)]
pub(super) struct Older {
    before: Option<u64>,
}

pub(super) async fn page(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<String>, PathRejection>,
    older: Query<Older>,
) -> Answer {
    let run = path.map(|Path(run)| run).unwrap_or_default();
    let grant = match admitted(&app, &headers, &format!("/runs/{}", text::path(&run))).await {
        Ok(grant) => grant,
        Err(shut) => return *shut,
    };
    let Some(about) = app.0.runs.run(&run).await else { return errors::missing("run", &run, "/runs", None) };
    // As in the JSON API: knowing which matches belong together reveals more about a seed than the players may know.
    let released = !grant.may(Scopes::ADMIN);
    let filter = MatchFilter { run: Some(run.clone()), released, before: older.before, ..MatchFilter::default() };
    let (matches, next) = matches::lines(&app, &filter, LISTED).await;
    let state = state(&about);
    let title = app.0.catalogue.called(about["game"].as_str().unwrap_or_default());
    let format = about["format"].as_str().map(|format| format.replace('_', " "));
    let own = grant.owner.as_deref().is_some_and(|owner| app.0.runs.has_entrant_of(&run, owner));
    let (overall, figures) = (overall(&about["verdict"]), figures(&about["verdict"]));
    show(
        "run.html",
        json!({
            "run": run, "about": about, "matches": matches, "next": next, "state": state, "format": format,
            "title": title, "own": own,
            "overall": overall, "figures": figures,
        }),
    )
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Enter {
    suite: String,
    only: String,
    scale: String,
}

/// Returns the page on which a person plays a run. Its script enrolls over the protocol, like any other client.
pub(super) async fn play(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<String>, PathRejection>,
    enter: Query<Enter>,
) -> Answer {
    let run = path.map(|Path(run)| run).unwrap_or_default();
    let Query(Enter { suite, only, scale }) = enter;
    let [at, of, part, share] = [&run, &suite, &only, &scale].map(|word| text::path(word));
    let here = format!("/runs/{at}/play?suite={of}&only={part}&scale={share}");
    let grant = match admitted(&app, &headers, &here).await {
        Ok(grant) => grant,
        Err(shut) => return *shut,
    };
    match app.0.runs.run(&run).await {
        Some(about) if about["state"] == "open" => {}
        Some(_) => return (StatusCode::SEE_OTHER, [(header::LOCATION, format!("/runs/{at}"))]).into_response(),
        None if suite.is_empty() || !is_word(&run) => return errors::missing("run", &run, "/runs", None),
        None if app.0.config.suites.get(&suite).is_none() => return errors::missing("suite", &suite, "/runs", None),
        None => {}
    }
    let scale = scale.parse::<f64>().ok().filter(|scale| *scale != 1.0);
    let seats = json!(app.0.runs.seats_of(&run, &suite, &only)).to_string();
    let context = json!({ "run": run, "suite": suite, "only": only, "scale": scale, "seats": seats, "agent": grant.default_name(), "prefix": grant.prefix() });
    show("run-play.html", context)
}

/// Returns the display text of a run's state.
fn state(about: &Value) -> &'static str {
    match about["state"].as_str().unwrap_or_default() {
        "open" => "In progress",
        "withdrawn" => "Finished: an agent withdrew",
        "deadline" => "Finished: deadline reached",
        _ => "Finished: all matches played",
    }
}

/// Returns the results of each candidate of a suite, summed over all scored parts, and the number of the candidate's
/// matches in unscored parts.
fn overall(verdict: &Value) -> Vec<Value> {
    let mut all: BTreeMap<&str, ([u64; 3], u64)> = BTreeMap::new();
    for row in verdict["parts"].as_array().into_iter().flatten() {
        let (tally, others) = all.entry(row["agent"].as_str().unwrap_or_default()).or_default();
        for (sum, key) in tally.iter_mut().zip(["wins", "draws", "losses"]) {
            let sum = if row["score"].is_null() { &mut *others } else { sum };
            *sum += row[key].as_u64().unwrap_or(0);
        }
    }
    let line = |(agent, ([wins, draws, losses], others)): (&str, ([u64; 3], u64))| {
        let matches = wins + draws + losses;
        let share = (matches > 0).then(|| (wins as f64 + draws as f64 / 2.0) / matches as f64);
        json!({
            "agent": agent, "wins": wins, "draws": draws, "losses": losses, "matches": matches, "share": share, "others": others,
        })
    };
    all.into_iter().map(line).collect()
}

/// Returns the metrics of each part of a suite, one metric per line.
fn figures(verdict: &Value) -> Vec<Value> {
    let mut lines = Vec::new();
    for row in verdict["parts"].as_array().into_iter().flatten() {
        for (figure, measure) in row["metrics"].as_object().into_iter().flatten() {
            lines.push(json!({
                "part": row["part"], "agent": row["agent"], "figure": figure, "value": measure["value"],
                "low": measure["low"], "high": measure["high"],
            }));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_suite_parts_are_summed_by_agent() {
        let part = |agent: &str, wins: u64, losses: u64, score: Value| json!({ "part": "p", "agent": agent, "wins": wins, "draws": 1, "losses": losses, "score": score, "metrics": { "m": { "value": 0.5 } } });
        let score = || json!({ "value": 0.5 });
        let verdict = json!({ "parts": [
            part("b", 2, 1, score()), part("a", 0, 0, Value::Null), part("b", 3, 0, score()), part("b", 7, 7, Value::Null),
        ] });
        let line = |agent, wins, draws, losses, share: Option<f64>, others| json!({ "agent": agent, "wins": wins, "draws": draws, "losses": losses, "matches": wins + draws + losses, "share": share, "others": others });
        assert_eq!(overall(&verdict), [line("a", 0, 0, 0, None, 1), line("b", 5, 2, 1, Some(0.75), 15)]);
        assert_eq!(figures(&verdict).len(), 4);
        assert!(overall(&Value::Null).is_empty() && figures(&Value::Null).is_empty());
    }
}
