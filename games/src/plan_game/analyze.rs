//! Queries of `ludex games analyze`: a single battle between two strategies.

use ludex_env::game::Game;
use ludex_protocol::error::Issue;
use serde_json::{Map, Value, json};

use super::PlanGame;
use super::engine::PlanEngine;
use super::log::{FullLog, SummaryLog};
use super::state::{Strategy, forfeited, judged};

/// Parameters that a query may override.
const TERMS: [&str; 5] = ["budget_scale", "rules", "hp_invader", "hp_defender", "mode"];

/// Creates an issue at `path`; an empty path refers to the whole query.
fn wrong(path: &str, message: impl ToString) -> Issue {
    Issue { path: path.to_owned(), message: message.to_string(), ..Issue::default() }
}

/// Returns the game with the parameters that the query overrides.
fn game_of<C: PlanEngine>(game: &PlanGame<C>, fields: &Map<String, Value>) -> Result<PlanGame<C>, Issue> {
    let mut params = serde_json::to_value(game.params()).map_err(|e| wrong("", e))?;
    for (name, value) in fields.iter().filter(|(name, _)| TERMS.contains(&name.as_str())) {
        if params.get(name).is_none() {
            return Err(wrong(&format!("/{name}"), format!("{} has no parameter {name:?}", C::INFO.id)));
        }
        params[name] = value.clone();
    }
    let params = serde_json::from_value(params).map_err(|e| wrong("", e))?;
    PlanGame::new(params).map_err(|e| wrong("", e))
}

/// Returns winner, reason, costs, violations, and the battle's summary and log.
pub(super) fn answer<C: PlanEngine>(game: &PlanGame<C>, question: &Value) -> Result<Value, Issue> {
    let [a, b] = C::SIDES;
    let Some(fields) = question.as_object() else {
        let message = format!("expected an object with the strategies {a:?} and {b:?}, got {question}");
        return Err(wrong("", message));
    };
    let known = |name: &str| name == a || name == b || name == "log" || TERMS.contains(&name);
    if let Some(odd) = fields.keys().find(|name| !known(name)) {
        let settings = TERMS.join(", ");
        return Err(wrong(&format!("/{odd}"), format!("unknown field {odd:?}; allowed: {a}, {b}, log, {settings}")));
    }
    let logs = match fields.get("log") {
        None => false,
        Some(Value::Bool(log)) => *log,
        Some(other) => return Err(wrong("/log", format!("expected true or false, got {other}"))),
    };
    let game = game_of(game, fields)?;
    let mut strategies = Vec::new();
    for (side, name) in C::SIDES.into_iter().enumerate() {
        let missing = || wrong(&format!("/{name}"), format!("expected a strategy for {name}, or null to forfeit"));
        let document = fields.get(name).ok_or_else(missing)?;
        if !document.is_null() && document != &json!({ "none": true }) {
            game.fits(side, document).map_err(|flaw| Issue { path: format!("/{name}{}", flaw.path), ..flaw })?;
            strategies.push(Some(game.strategy(side, document)));
        } else {
            strategies.push(None);
        }
    }
    let judged = [0, 1].map(|side| judged(&game.engine, side, strategies[side].as_ref()));
    let (costs, violations) = ([judged[0].0, judged[1].0], [&judged[0].1, &judged[1].1]);
    let (winner, reason, summary, log) =
        match (forfeited(violations.map(|v| &v[..]), costs, game.budgets), &strategies[..]) {
            (None, [Some(Strategy::Legal(a)), Some(Strategy::Legal(b))]) if logs => {
                let mut log = FullLog::default();
                let ended = game.engine.simulate([a, b], game.budgets, &mut log);
                let events = log.events();
                (Some(ended.winner), ended.reason, log.summary, Some(events))
            }
            (None, [Some(Strategy::Legal(a)), Some(Strategy::Legal(b))]) => {
                let mut log = SummaryLog::default();
                let ended = game.engine.simulate([a, b], game.budgets, &mut log);
                (Some(ended.winner), ended.reason, log.0, None)
            }
            (end, _) => {
                let (winner, reason) = end.unwrap_or((None, "both_forfeit"));
                (winner, reason, Value::Null, logs.then(Vec::new))
            }
        };
    let winner = winner.map(|side| C::SIDES[side]);
    let mut answer = json!({
        "winner": winner, "reason": reason, "costs": costs, "violations": violations, "summary": summary,
    });
    if let Some(log) = log {
        answer["log"] = log.into();
    }
    Ok(answer)
}
