//! Anthropic's batch interface: one call submits all requests; the results are returned as JSON lines.

use serde_json::Value;

use super::batch_api::{BatchApi, BatchStatus};
use super::{ItemResult, QueuedItem};
use crate::llm::http::HttpResponse;

const PATH: &str = "/v1/messages/batches";

/// Submits a batch of requests and returns the batch id.
pub(super) fn create(wire: &BatchApi, items: &[QueuedItem]) -> Result<String, ItemResult> {
    // Request bodies are JSON already.
    let request = |queued: &QueuedItem| format!("{{\"custom_id\":\"{}\",\"params\":{}}}", queued.item.id, queued.body);
    let requests: Vec<String> = items.iter().map(request).collect();
    wire.post_for_id(PATH, "application/json", format!("{{\"requests\":[{}]}}", requests.join(",")).as_bytes())
}

/// Returns the status of a batch.
pub(super) fn poll_batch(wire: &BatchApi, id: &str) -> BatchStatus {
    poll_status(wire, id).unwrap_or_else(BatchStatus::Unknown)
}

fn poll_status(wire: &BatchApi, id: &str) -> Result<BatchStatus, ItemResult> {
    let Some(batch) = wire.get_json(&format!("{PATH}/{id}"))? else { return Ok(BatchStatus::Gone) };
    if batch["processing_status"] != "ended" {
        return Ok(BatchStatus::Running);
    }
    // Results expire after some weeks.
    if batch["results_url"].is_null() {
        return Ok(BatchStatus::Gone);
    }
    let lines = wire.get_json_lines(&format!("{PATH}/{id}/results"))?;
    Ok(lines
        .map_or(BatchStatus::Gone, |lines| BatchStatus::Ended(lines.into_iter().filter_map(parse_result).collect())))
}

/// Parses a result line as a request id and its result.
fn parse_result(line: Value) -> Option<(String, ItemResult)> {
    let id = line["custom_id"].as_str()?.to_owned();
    let result = &line["result"];
    let result = match result["type"].as_str()? {
        "succeeded" => ItemResult::Answer(HttpResponse::new(200, result["message"].to_string())),
        "errored" => {
            let error = &result["error"];
            let kind = error["error"]["type"].as_str().or(error["type"].as_str()).unwrap_or_default();
            ItemResult::Answer(HttpResponse::new(status(kind), error.to_string()))
        }
        other => ItemResult::Later(format!("the batch has no reply to this request: {other}"), None),
    };
    Some((id, result))
}

/// Returns the HTTP status that a direct call with an error of this type would have.
fn status(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_parsed() {
        let of = |text: &str| parse_result(serde_json::from_str(text).unwrap());
        let good = r#"{"custom_id":"a","result":{"type":"succeeded","message":{"content":[]}}}"#;
        let (id, ItemResult::Answer(answered)) = of(good).unwrap() else { panic!("no answer") };
        assert_eq!((id.as_str(), answered.status, answered.text.as_str()), ("a", 200, r#"{"content":[]}"#));
        for (kind, wanted) in [("invalid_request_error", 400), ("overloaded_error", 529), ("new_error", 500)] {
            let line = format!(
                r#"{{"custom_id":"b","result":{{"type":"errored","error":{{"type":"error","error":{{"type":"{kind}","message":"no"}}}}}}}}"#
            );
            let (_, ItemResult::Answer(answered)) = of(&line).unwrap() else { panic!("no answer") };
            assert_eq!(answered.status, wanted, "{kind}");
            assert!(answered.text.contains("\"message\":\"no\""));
        }
        for gone in ["expired", "canceled"] {
            let line = format!(r#"{{"custom_id":"c","result":{{"type":"{gone}"}}}}"#);
            assert!(matches!(of(&line), Some((_, ItemResult::Later(why, None))) if why.contains(gone)));
        }
    }
}
