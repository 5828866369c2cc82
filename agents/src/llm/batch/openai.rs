//! OpenAI's batch interface: requests are uploaded as a file, from which a batch is created; results are another file.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::batch_api::{BatchApi, BatchStatus};
use super::{ItemResult, QueuedItem};
use crate::llm::http::HttpResponse;

/// Submits a batch of requests and returns the batch id.
pub(super) fn create(wire: &BatchApi, items: &[QueuedItem]) -> Result<String, ItemResult> {
    // Request bodies are JSON already.
    let line = |queued: &QueuedItem| {
        format!(
            "{{\"custom_id\":\"{}\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{}}}\n",
            queued.item.id, queued.body
        )
    };
    let (kind, form) = form(&items.iter().map(line).collect::<String>());
    let file = wire.post_for_id("/files", &kind, form.as_bytes())?;
    let batch = json!({ "input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h" });
    wire.post_for_id("/batches", "application/json", batch.to_string().as_bytes())
}

/// Returns a multipart form that contains the request file, and the form's content type.
fn form(lines: &str) -> (String, String) {
    // A boundary that cannot occur in the text: the text cannot contain its own digest.
    let mark = format!("ludex-{}", hex::encode(&Sha256::digest(lines)[..16]));
    let part =
        |head: &str, content: &str| format!("--{mark}\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n");
    let purpose = part("name=\"purpose\"", "batch");
    let file = part("name=\"file\"; filename=\"batch.jsonl\"\r\nContent-Type: application/jsonl", lines);
    (format!("multipart/form-data; boundary={mark}"), format!("{purpose}{file}--{mark}--\r\n"))
}

/// Returns the status of a batch.
pub(super) fn poll_batch(wire: &BatchApi, id: &str) -> BatchStatus {
    poll_status(wire, id).unwrap_or_else(BatchStatus::Unknown)
}

fn poll_status(wire: &BatchApi, id: &str) -> Result<BatchStatus, ItemResult> {
    let Some(batch) = wire.get_json(&format!("/batches/{id}"))? else { return Ok(BatchStatus::Gone) };
    match batch["status"].as_str().unwrap_or_default() {
        "failed" => return Ok(failed(&batch["errors"]["data"][0])),
        "completed" | "expired" | "cancelled" => {}
        _ => return Ok(BatchStatus::Running),
    }
    let mut results = Vec::new();
    for name in ["output_file_id", "error_file_id"] {
        let Some(file) = batch[name].as_str().filter(|file| !file.is_empty()) else { continue };
        let Some(lines) = wire.get_json_lines(&format!("/files/{file}/content"))? else { return Ok(BatchStatus::Gone) };
        results.extend(lines.into_iter().filter_map(parse_result));
    }
    Ok(BatchStatus::Ended(results))
}

fn failed(error: &Value) -> BatchStatus {
    let said = error["message"].as_str().unwrap_or("no reason is given");
    match error["code"].as_str() {
        Some("token_limit_exceeded") => BatchStatus::Full(format!("batch token limit reached: {said}")),
        _ => BatchStatus::Failed(ItemResult::Never(format!("the batch is refused: {said}"))),
    }
}

/// Parses a line of a result or error file as a request id and its result.
fn parse_result(line: Value) -> Option<(String, ItemResult)> {
    let id = line["custom_id"].as_str()?.to_owned();
    let response = &line["response"];
    let result = match response["status_code"].as_u64().and_then(|status| u16::try_from(status).ok()) {
        Some(status) => ItemResult::Answer(HttpResponse::new(status, response["body"].to_string())),
        None => {
            let error = &line["error"];
            let why = error["message"].as_str().or(error["code"].as_str()).unwrap_or("no reason is given");
            ItemResult::Later(format!("the batch has no reply to this request: {why}"), None)
        }
    };
    Some((id, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_parsed() {
        let of = |text: &str| parse_result(serde_json::from_str(text).unwrap());
        let good = r#"{"id":"r","custom_id":"a","response":{"status_code":200,"request_id":"q","body":{"choices":[]}},"error":null}"#;
        let (id, ItemResult::Answer(answered)) = of(good).unwrap() else { panic!("no answer") };
        assert_eq!((id.as_str(), answered.status, answered.text.as_str()), ("a", 200, r#"{"choices":[]}"#));
        let refused =
            r#"{"custom_id":"b","response":{"status_code":429,"body":{"error":{"message":"slow"}}},"error":null}"#;
        assert!(matches!(of(refused), Some((_, ItemResult::Answer(HttpResponse { status: 429, .. })))));
        let expired = r#"{"custom_id":"c","response":null,"error":{"code":"batch_expired","message":"too late"}}"#;
        assert!(matches!(of(expired), Some((_, ItemResult::Later(why, None))) if why.contains("too late")));
        assert!(of(r#"{"response":null}"#).is_none());
    }

    #[test]
    fn form_contains_all_request_lines() {
        let (kind, text) = form("{\"a\":1}\n");
        let mark = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let parts: Vec<&str> = text.split(&format!("--{mark}")).collect();
        assert_eq!((parts.len(), parts[0], parts[3]), (4, "", "--\r\n"));
        assert!(parts[1].ends_with("name=\"purpose\"\r\n\r\nbatch\r\n"));
        assert!(parts[2].contains("filename=\"batch.jsonl\"") && parts[2].ends_with("\r\n\r\n{\"a\":1}\n\r\n"));
    }
}
