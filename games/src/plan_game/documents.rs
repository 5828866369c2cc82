//! Schemas and parsing of strategy documents.

use std::collections::BTreeMap;

use ludex_env::documents::Schemas;
use ludex_env::game::Seat;
use ludex_protocol::error::Issue;
use serde_json::{Map, Value, json};

use super::PlanGame;
use super::engine::{PlanEngine, Side};
use super::settings::{Roles, RoundFormat};
use super::state::{Phase, State, Strategy, Submission};

/// The meaning of a parsed document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StrategyDocument<P> {
    /// The final submission of the seat in this phase.
    Settles(Submission<P>),
    /// An initial strategy over budget, with its cost; the seat must submit another strategy.
    Over(Value, u32),
}

/// Field of a submission that keeps the current strategy.
const KEEP: &str = "keep";
const NONE: &str = "none";

/// Returns the schema of a submission.
fn schema<C: PlanEngine>(side: Side, revises: bool) -> Value {
    let mut properties = Map::new();
    let fields = C::fields(side);
    let first = fields.first().map_or("", |field| field.0);
    let mut needs = Map::new();
    for (name, field) in fields {
        if name != first {
            needs.insert(name.to_owned(), json!([first]));
        }
        properties.insert(name.to_owned(), field);
    }
    let mut ways = vec![json!({ "required": [first] })];
    if revises {
        let about = "Keep the strategy as it is.";
        properties.insert(KEEP.to_owned(), json!({ "const": true, "description": about }));
        ways.push(json!({ "required": [KEEP] }));
    }
    let about = "Give no strategy: the next round with this side is forfeited.";
    properties.insert(NONE.to_owned(), json!({ "const": true, "description": about }));
    ways.push(json!({ "required": [NONE] }));
    json!({
        "type": "object",
        "properties": properties,
        "oneOf": ways,
        "dependentRequired": needs,
        "additionalProperties": false,
    })
}

/// Returns a value with the fields of each object in schema order.
fn ordered(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let known = schema["properties"].as_object().into_iter().flatten();
            let mut out = Map::new();
            for (name, field) in known {
                if let Some(value) = map.get(name) {
                    out.insert(name.clone(), ordered(field, value));
                }
            }
            out.into()
        }
        Value::Array(list) => list.iter().map(|value| ordered(&schema["items"], value)).collect(),
        other => other.clone(),
    }
}

impl<C: PlanEngine> PlanGame<C> {
    /// Returns the document schemas by phase and seat.
    pub(super) fn schemas(&self) -> BTreeMap<String, Value> {
        let alternate = self.settings.roles == Roles::Alternate;
        let mut phases = vec![Phase::Initial];
        if alternate {
            phases.push(Phase::InitialOther);
        }
        if self.settings.format == RoundFormat::Match {
            phases.push(Phase::Revision);
            if alternate {
                phases.push(Phase::RevisionOther);
            }
        }
        let mut out = BTreeMap::new();
        for phase in phases {
            for (seat, name) in self.seats().into_iter().enumerate() {
                let side = if alternate { phase.side(seat) } else { seat };
                out.insert(format!("{}/{name}", phase.name()), schema::<C>(side, phase.revises()));
            }
        }
        out
    }

    /// Checks a strategy document against the schema of its side.
    ///
    /// # Errors
    /// Returns the first violation.
    pub(super) fn fits(&self, side: Side, document: &Value) -> Result<(), Issue> {
        let schemas = Schemas::new(Some(&[(String::new(), schema::<C>(side, false))].into()));
        let schemas = schemas.map_err(|message| Issue { message, ..Issue::default() })?;
        schemas.check("", document).into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns a strategy document with its fields in schema order. Values stay unchanged, even invalid ones.
    pub(super) fn ordered(&self, side: Side, document: &Value) -> Value {
        ordered(&schema::<C>(side, false), document)
    }

    /// Parses a document that matches the schema of the turn. Returns its meaning and its canonical form.
    ///
    /// # Errors
    /// Returns an issue for a document that is text without a JSON object.
    pub(super) fn understand(
        &self,
        s: &State<C::Plan>,
        seat: Seat,
        document: &Value,
    ) -> Result<(StrategyDocument<C::Plan>, Value), Vec<Issue>> {
        let side = s.side(&self.settings, seat);
        let Some(map) = document.as_object() else {
            let example = self.engine.document(side, &self.engine.example(side));
            let message = "expected a JSON object, got text without one";
            return Err(vec![Issue::unparsed(document, format!("one JSON object, such as {example}"), message)]);
        };
        let has = |name: &str| map.get(name) == Some(&Value::Bool(true));
        if has(NONE) {
            return Ok((StrategyDocument::Settles(Submission::Nothing), json!({ NONE: true })));
        }
        if has(KEEP) {
            return Ok((StrategyDocument::Settles(Submission::Keep), json!({ KEEP: true })));
        }
        let strategy = self.strategy(side, document);
        let canonical = self.document_of(side, Some(&strategy));
        let again = !s.phase.revises() && s.work[seat].sent + 1 < self.settings.tries;
        Ok(match strategy {
            Strategy::Flawed(flawed) if again && flawed.violations.contains(&"over_budget") => {
                (StrategyDocument::Over(flawed.document, flawed.cost), canonical)
            }
            strategy => (StrategyDocument::Settles(Submission::Strategy(strategy)), canonical),
        })
    }
}
