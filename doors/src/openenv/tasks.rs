//! Tasks: arguments of `reset`, in splits for training and for tests with different seeds.

use std::ops::Range;

use ludex_client::protocol::spec::Params;
use serde_json::{Value, json};

use super::failure::RequestFailure;

/// First seed of the split for tests, as in the Python client.
const FIRST_TEST: u64 = 1 << 32;

/// Splits with their seeds. Others may be chosen freely; these serve clients that list tasks.
const SPLITS: [(&str, Range<u64>); 2] = [("train", 0..10_000), ("test", FIRST_TEST..FIRST_TEST + 1_000)];

/// Returns the splits, as `/{env}/splits` lists them.
pub(super) fn splits() -> Value {
    SPLITS.iter().map(|(name, _)| json!({ "name": name, "type": name })).collect()
}

/// Returns the task at an index of a split.
fn task(seeds: &Range<u64>, index: u64) -> Option<Value> {
    let seed = seeds.start.checked_add(index).filter(|seed| seeds.contains(seed))?;
    Some(json!({ "seed": seed }))
}

/// Returns the response to a request of the task routes; `None` for a route that does not exist.
///
/// # Errors
/// An unknown split, or an index out of range.
pub(super) fn respond(route: &str, env: &str, request: &Params) -> Option<Result<Value, RequestFailure>> {
    let seeds = || {
        let split = request.get("split");
        let named = SPLITS.iter().find(|(name, _)| split.is_some_and(|split| split == name));
        named.map(|(_, seeds)| seeds.clone()).ok_or_else(|| RequestFailure::field("split", "train or test", split))
    };
    let bound = |name: &str, default: u64| match request.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => value.as_u64().ok_or_else(|| RequestFailure::field(name, "an index of at least 0", Some(value))),
    };
    let listed = |from: u64, to: u64, seeds: &Range<u64>| -> Vec<Value> {
        (from..to.min(seeds.end - seeds.start)).filter_map(|index| task(seeds, index)).collect()
    };
    Some(match route {
        "tasks" => seeds().map(|seeds| json!({ "tasks": listed(0, u64::MAX, &seeds), "env_name": env })),
        "num_tasks" => seeds().map(|seeds| json!({ "num_tasks": seeds.end - seeds.start })),
        "task" => seeds().and_then(|seeds| {
            let index = request.get("index");
            let found = index.and_then(Value::as_u64).and_then(|index| task(&seeds, index));
            let expected = format!("an index from 0 to {}", seeds.end - seeds.start - 1);
            found.map(|task| json!({ "task": task })).ok_or_else(|| RequestFailure::field("index", &expected, index))
        }),
        "task_range" => seeds().and_then(|seeds| {
            let (start, stop) = (bound("start", 0)?, bound("stop", u64::MAX)?);
            Ok(json!({ "tasks": listed(start, stop, &seeds) }))
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(route: &str, request: Value) -> Result<Value, RequestFailure> {
        respond(route, "nim", request.as_object().unwrap()).unwrap()
    }

    #[test]
    fn splits_share_no_seed() {
        let [(_, train), (_, test)] = &SPLITS;
        assert!(train.start >= test.end || test.start >= train.end);
    }

    #[test]
    fn tasks_are_arguments_of_reset() {
        assert_eq!(ask("num_tasks", json!({ "split": "test" })).unwrap(), json!({ "num_tasks": 1_000 }));
        assert_eq!(ask("task", json!({ "split": "train", "index": 7 })).unwrap(), json!({ "task": { "seed": 7 } }));
        let range = ask("task_range", json!({ "split": "test", "start": 998, "stop": null })).unwrap();
        assert_eq!(range, json!({ "tasks": [{ "seed": FIRST_TEST + 998 }, { "seed": FIRST_TEST + 999 }] }));
        let all = ask("tasks", json!({ "split": "train" })).unwrap();
        assert_eq!((all["tasks"].as_array().unwrap().len(), &all["env_name"]), (10_000, &json!("nim")));
    }

    #[test]
    fn bad_requests_are_refused() {
        for (route, request) in [
            ("tasks", json!({})),
            ("num_tasks", json!({ "split": "dev" })),
            ("task", json!({ "split": "test" })),
            ("task", json!({ "split": "test", "index": 1_000 })),
            ("task_range", json!({ "split": "test", "start": -1 })),
        ] {
            assert!(ask(route, request.clone()).is_err(), "{route} {request}");
        }
        assert!(respond("steps", "nim", &Params::new()).is_none());
    }
}
