//! Documents about the interface: the JSON Schemas, and the OpenAPI description.

use serde_json::{Map, Value, json};

/// Returns the schemas of actions, observations and states.
pub(super) fn schemas() -> Value {
    let metadata = json!({ "type": "object", "additionalProperties": true, "default": {}, "title": "Metadata" });
    let text = |about: &str| json!({ "type": "string", "default": "", "description": about });
    let or_null = |kind: &str, about: &str| json!({ "anyOf": [{ "type": kind }, { "type": "null" }], "default": null, "description": about });
    let observation = json!({
        "type": "object",
        "title": "GameObservation",
        "properties": {
            "done": { "type": "boolean", "default": false, "description": "True if the episode is over." },
            "reward": or_null("number", "Reward of the episode at its end, otherwise 0; null after reset."),
            "metadata": metadata,
            "system": text("System message: the rules, the notation of moves and the form of the answer."),
            "prompt": text("User message: the position, and the refused answers of this turn. Empty at the end."),
            "legal": {
                "type": "array",
                "items": { "type": "string" },
                "default": [],
                "description": "Legal moves by name.",
            },
            "seat": { "type": "integer", "default": 0, "description": "Seat of the model." },
            "refusal": or_null("string", "Words about the refused answers of this turn."),
        },
        "additionalProperties": false,
    });
    json!({
        "action": {
            "type": "object",
            "title": "GameAnswer",
            "properties": {
                "answer": { "type": "string", "description": "Answer of the model, as it wrote it." },
                "metadata": metadata,
            },
            "required": ["answer"],
            "additionalProperties": true,
        },
        "observation": observation,
        "reset_observation": observation,
        "state": {
            "type": "object",
            "title": "GameState",
            "properties": {
                "episode_id": or_null("string", "Id of the episode, as reset got it."),
                "step_count": { "type": "integer", "minimum": 0, "default": 0, "description": "Number of answers." },
                "game": text("Game with its parameters."),
                "seed": or_null("integer", "Seed of the episode."),
                "seat": { "type": "integer", "description": "Seat of the model." },
                "refused": { "type": "integer", "description": "Number of refused answers." },
                "done": { "type": "boolean", "description": "True if the episode is over." },
            },
            "additionalProperties": true,
        },
    })
}

/// Returns the OpenAPI description of the HTTP routes.
pub(super) fn openapi() -> Value {
    let ok = json!({ "200": { "description": "Success", "content": { "application/json": { "schema": {} } } } });
    let get = |summary: &str| json!({ "get": { "summary": summary, "responses": ok } });
    let post = |summary: &str| {
        let body = json!({ "content": { "application/json": { "schema": { "type": "object" } } } });
        json!({ "post": { "summary": summary, "requestBody": body, "responses": ok } })
    };
    let env = json!([{ "name": "env", "in": "path", "required": true, "schema": { "type": "string" } }]);
    let with_env = |mut item: Value| {
        item["parameters"] = env.clone();
        item
    };
    let paths = Map::from_iter(
        [
            ("/health", get("Return the health of the environment")),
            ("/metadata", get("Describe the environment")),
            ("/schema", get("Return the schemas of actions, observations and states")),
            ("/state", get("Return the state of a new session")),
            ("/reset", post("Start an episode in a new session and return its first observation")),
            ("/step", post("Start an episode in a new session and play one answer")),
            ("/mcp", post("Answer a JSON-RPC request")),
            ("/list_environments", get("List the environment")),
            ("/{env}/splits", with_env(get("List the splits"))),
            ("/{env}/tasks", with_env(post("List the tasks of a split"))),
            ("/{env}/num_tasks", with_env(post("Count the tasks of a split"))),
            ("/{env}/task", with_env(post("Return a task of a split"))),
            ("/{env}/task_range", with_env(post("List a range of tasks of a split"))),
        ]
        .map(|(path, item)| (path.to_owned(), item)),
    );
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ludex games as OpenEnv environments",
            "version": "1.0.0",
            "description": "Episodes are played on the WebSocket /ws; each HTTP request has a session of its own.",
        },
        "paths": paths,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients that get plain text need to know the field that takes it.
    #[test]
    fn action_has_one_required_field() {
        assert_eq!(schemas()["action"]["required"], json!(["answer"]));
    }
}
