//! Batch interfaces of both APIs, in memory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::error::StubError;
use super::request::StubRequest;
use super::{Api, App, Stub};

/// Maximum size of a batch in bytes.
const MAX_BODY: usize = 256 << 20;
/// Endpoint that items of an OpenAI batch must name.
const CHAT: &str = "/v1/chat/completions";
/// Maximum length of an item's id in bytes.
const MAX_ID: usize = 64;

/// Files and batches by id.
#[derive(Default)]
pub(super) struct BatchStore {
    files: Mutex<HashMap<String, String>>,
    batches: Mutex<BTreeMap<String, Batch>>,
}

/// Batch that is pending, failed or done.
struct Batch {
    api: Api,
    total: usize,
    /// Id of the input file, if any.
    input: String,
    state: BatchState,
}

enum BatchState {
    Pending,
    /// Error code and message of a rejected batch.
    Failed(&'static str, String),
    Done(Vec<(String, ItemState)>),
}

/// Result of an item.
enum ItemState {
    Answer(Value),
    Error(StatusCode, Value),
    Expired,
}

pub(super) fn routes() -> Router<Arc<Stub>> {
    Router::new()
        .route("/v1/files", post(upload))
        .route("/v1/files/{id}/content", get(content))
        .route("/v1/batches", post(create_openai).get(list_openai))
        .route("/v1/batches/{id}", get(show_openai))
        .route("/v1/messages/batches", post(create_anthropic).get(list_anthropic))
        .route("/v1/messages/batches/{id}", get(show_anthropic))
        .route("/v1/messages/batches/{id}/results", get(results))
        .layer(DefaultBodyLimit::max(MAX_BODY))
}

fn json_reply(api: Api, result: Result<Value, StubError>) -> Response {
    result.map_or_else(|error| error.response(api), |value| Json(value).into_response())
}

async fn upload(State(stub): App, headers: HeaderMap, body: Bytes) -> Response {
    json_reply(Api::OpenAi, stub.store_file(&headers, &body))
}

async fn content(State(stub): App, headers: HeaderMap, Path(id): Path<String>) -> Response {
    let file = stub
        .admit(&headers)
        .and_then(|()| stub.batch_store.files().get(&id).cloned().ok_or_else(|| missing("file", &id)));
    file.map_or_else(|error| error.response(Api::OpenAi), IntoResponse::into_response)
}

async fn create_openai(State(stub): App, headers: HeaderMap, body: Bytes) -> Response {
    json_reply(Api::OpenAi, stub.admit(&headers).and_then(|()| stub.create_openai(&body)))
}

async fn create_anthropic(State(stub): App, headers: HeaderMap, body: Bytes) -> Response {
    json_reply(Api::Anthropic, stub.admit(&headers).and_then(|()| stub.create_anthropic(&headers, &body)))
}

async fn list_openai(State(stub): App, headers: HeaderMap) -> Response {
    json_reply(Api::OpenAi, stub.admit(&headers).map(|()| stub.list_json(Api::OpenAi, &headers)))
}

async fn list_anthropic(State(stub): App, headers: HeaderMap) -> Response {
    json_reply(Api::Anthropic, stub.admit(&headers).map(|()| stub.list_json(Api::Anthropic, &headers)))
}

async fn show_openai(State(stub): App, headers: HeaderMap, Path(id): Path<String>) -> Response {
    json_reply(Api::OpenAi, stub.batch_json(Api::OpenAi, &headers, &id))
}

async fn show_anthropic(State(stub): App, headers: HeaderMap, Path(id): Path<String>) -> Response {
    json_reply(Api::Anthropic, stub.batch_json(Api::Anthropic, &headers, &id))
}

async fn results(State(stub): App, headers: HeaderMap, Path(id): Path<String>) -> Response {
    match stub.results(&headers, &id) {
        Ok(lines) => ([(header::CONTENT_TYPE, "application/x-jsonl")], lines).into_response(),
        Err(error) => error.response(Api::Anthropic),
    }
}

fn missing(what: &str, id: &str) -> StubError {
    StubError::missing(format!("unknown {what} {id:?}"))
}

impl BatchStore {
    fn files(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.files.lock()
    }

    fn batches(&self) -> MutexGuard<'_, BTreeMap<String, Batch>> {
        self.batches.lock()
    }
}

impl Stub {
    fn store_file(&self, headers: &HeaderMap, body: &[u8]) -> Result<Value, StubError> {
        self.admit(headers)?;
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let mark = kind.strip_prefix("multipart/form-data").and_then(|rest| rest.split_once("boundary="));
        let (_, mark) =
            mark.ok_or_else(|| StubError::bad("expected a multipart/form-data body with the input file"))?;
        let text = std::str::from_utf8(body).map_err(|_| StubError::bad("form: expected UTF-8 text"))?;
        let part = |name: &str| field(text, mark.trim_matches('"'), name);
        if part("purpose") != Some("batch") {
            return Err(StubError::bad("purpose: expected \"batch\""));
        }
        let file = part("file").ok_or_else(|| StubError::bad("file: missing"))?;
        let mut files = self.batch_store.files();
        let id = format!("file-{}", item_name(file, files.len()));
        files.insert(id.clone(), file.to_owned());
        Ok(json!({ "id": id, "object": "file", "bytes": file.len(), "created_at": 0, "purpose": "batch" }))
    }

    fn create_openai(self: &Arc<Self>, body: &[u8]) -> Result<Value, StubError> {
        let request: Value = serde_json::from_slice(body).map_err(|e| StubError::bad(format!("the body: {e}")))?;
        if request["endpoint"] != CHAT || request["completion_window"] != "24h" {
            return Err(StubError::bad(format!("expected endpoint {CHAT:?} and completion_window \"24h\"")));
        }
        let input = request["input_file_id"].as_str().unwrap_or_default().to_owned();
        let text = self.batch_store.files().get(&input).cloned().ok_or_else(|| missing("file", &input))?;
        let refused = |why: String| BatchState::Failed("invalid_request", why);
        let questions = lines(&text);
        let state = match &questions {
            Err(why) => refused(why.clone()),
            Ok(questions) => match self.too_many(questions.len()) {
                Some(why) => BatchState::Failed("token_limit_exceeded", why),
                None => BatchState::Pending,
            },
        };
        let questions = questions.unwrap_or_default();
        Ok(self.create_batch(Api::OpenAi, input, questions, state, &HeaderMap::new()))
    }

    fn create_anthropic(self: &Arc<Self>, headers: &HeaderMap, body: &[u8]) -> Result<Value, StubError> {
        let request: Value = serde_json::from_slice(body).map_err(|e| StubError::bad(format!("the body: {e}")))?;
        let requests = request["requests"].as_array().filter(|all| !all.is_empty());
        let requests = requests.ok_or_else(|| StubError::bad("requests: expected at least one request, got none"))?;
        let all = requests.iter().map(|request| (request["custom_id"].clone(), request["params"].clone()));
        let questions = check_ids(all.collect()).map_err(StubError::bad)?;
        if self.too_many(questions.len()).is_some() {
            return Err(StubError::rate_limit(self.options.retry_after));
        }
        Ok(self.create_batch(Api::Anthropic, String::new(), questions, BatchState::Pending, headers))
    }

    /// Returns an error message if `more` additional items would exceed the limit of pending items.
    fn too_many(&self, more: usize) -> Option<String> {
        let most = self.options.batch_most?;
        let batches = self.batch_store.batches();
        let waiting: usize =
            batches.values().filter(|batch| matches!(batch.state, BatchState::Pending)).map(|batch| batch.total).sum();
        (waiting + more > most).then(|| format!("expected at most {most} pending items, got {waiting} and {more} more"))
    }

    /// Stores a batch and starts a background task that answers the items.
    fn create_batch(
        self: &Arc<Self>,
        api: Api,
        input: String,
        questions: Vec<(String, Value)>,
        state: BatchState,
        headers: &HeaderMap,
    ) -> Value {
        let is_pending = matches!(state, BatchState::Pending);
        let mut batches = self.batch_store.batches();
        let about: String = questions.iter().map(|(id, _)| id.as_str()).collect();
        let kind = if api == Api::OpenAi { "batch" } else { "msgbatch" };
        let id = format!("{kind}_{}", item_name(&about, batches.len()));
        let batch = Batch { api, total: questions.len(), input, state };
        let page = batch.json(&id, headers);
        batches.insert(id.clone(), batch);
        drop(batches);
        if is_pending {
            tokio::spawn(self.clone().answer_all(api, id, questions));
        }
        page
    }

    async fn answer_all(self: Arc<Self>, api: Api, id: String, questions: Vec<(String, Value)>) {
        tokio::time::sleep(std::time::Duration::from_millis(self.options.batch_latency)).await;
        let mut entries = Vec::new();
        for (question, body) in questions {
            let entry = self.answer_item(api, &body.to_string()).await;
            let entry = entry.unwrap_or_else(|error| {
                let (status, document) = error.document(api);
                ItemState::Error(status, document)
            });
            entries.push((question, entry));
        }
        if api == Api::OpenAi {
            for good in [true, false] {
                let text = file(&entries, good);
                self.batch_store.files().insert(file_name(&id, good), text);
            }
        }
        if let Some(batch) = self.batch_store.batches().get_mut(&id) {
            batch.state = BatchState::Done(entries);
        }
    }

    /// Answers one item of a batch.
    async fn answer_item(&self, api: Api, body: &str) -> Result<ItemState, StubError> {
        let hash: [u8; 32] = Sha256::digest(body).into();
        let super::StubOptions { batch_fail: fail, batch_expire: expire, .. } = self.options;
        if fail + expire > 0.0 {
            let mut luck = self.attempt_stream("batch", &hash);
            if luck.unit() < expire {
                return Ok(ItemState::Expired);
            }
            if luck.unit() < fail {
                return Err(StubError::internal("injected fault (--batch-fail)"));
            }
        }
        let request = StubRequest::read(api, body.as_bytes())?;
        if request.stream {
            return Err(StubError::bad("stream: expected false in a batch, got true"));
        }
        self.check(api, &request)?;
        if self.draw_transport_fault(&hash)? {
            return Err(StubError::internal("injected fault (--malformed)"));
        }
        Ok(ItemState::Answer(self.document(api, request, hash).await?))
    }

    fn batch_json(&self, api: Api, headers: &HeaderMap, id: &str) -> Result<Value, StubError> {
        self.admit(headers)?;
        let batches = self.batch_store.batches();
        let batch = batches.get(id).filter(|batch| batch.api == api).ok_or_else(|| missing("batch", id))?;
        Ok(batch.json(id, headers))
    }

    fn list_json(&self, api: Api, headers: &HeaderMap) -> Value {
        let batches = self.batch_store.batches();
        let own = batches.iter().filter(|(_, batch)| batch.api == api);
        let pages: Vec<Value> = own.map(|(id, batch)| batch.json(id, headers)).collect();
        json!({ "object": "list", "data": pages, "has_more": false })
    }

    fn results(&self, headers: &HeaderMap, id: &str) -> Result<String, StubError> {
        self.admit(headers)?;
        let batches = self.batch_store.batches();
        let Some(Batch { api: Api::Anthropic, state: BatchState::Done(entries), .. }) = batches.get(id) else {
            return Err(missing("ended batch", id));
        };
        let line = |(question, entry): &(String, ItemState)| {
            let result = match entry {
                ItemState::Answer(message) => json!({ "type": "succeeded", "message": message }),
                ItemState::Error(_, error) => json!({ "type": "errored", "error": error }),
                ItemState::Expired => json!({ "type": "expired" }),
            };
            format!("{}\n", json!({ "custom_id": question, "result": result }))
        };
        Ok(entries.iter().map(line).collect())
    }
}

impl Batch {
    /// Returns the batch in the form of its API.
    fn json(&self, id: &str, headers: &HeaderMap) -> Value {
        let entries: &[(String, ItemState)] = if let BatchState::Done(entries) = &self.state { entries } else { &[] };
        let count = |of: fn(&ItemState) -> bool| entries.iter().filter(|(_, entry)| of(entry)).count();
        let good = count(|entry| matches!(entry, ItemState::Answer(_)));
        let errors = count(|entry| matches!(entry, ItemState::Error(..)));
        let expired = count(|entry| matches!(entry, ItemState::Expired));
        let ended = !matches!(self.state, BatchState::Pending);
        let at = "1970-01-01T00:00:00Z";
        match self.api {
            Api::OpenAi => {
                let (status, why) = match &self.state {
                    BatchState::Pending => ("in_progress", Value::Null),
                    BatchState::Failed(code, why) => {
                        ("failed", json!({ "object": "list", "data": [{ "code": code, "message": why }] }))
                    }
                    BatchState::Done(_) if expired > 0 => ("expired", Value::Null),
                    BatchState::Done(_) => ("completed", Value::Null),
                };
                let file = |n: usize, good| if n > 0 { file_name(id, good).into() } else { Value::Null };
                json!({
                    "id": id, "object": "batch", "endpoint": CHAT, "completion_window": "24h", "created_at": 0,
                    "input_file_id": self.input, "status": status, "errors": why,
                    "output_file_id": file(good, true), "error_file_id": file(errors + expired, false),
                    "request_counts": { "total": self.total, "completed": good, "failed": errors + expired },
                })
            }
            Api::Anthropic => {
                let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
                let url = ended.then(|| format!("http://{host}/v1/messages/batches/{id}/results"));
                let counts = json!({
                    "processing": self.total - entries.len(), "succeeded": good, "errored": errors, "canceled": 0,
                    "expired": expired,
                });
                json!({
                    "id": id, "type": "message_batch", "processing_status": if ended { "ended" } else { "in_progress" },
                    "request_counts": counts, "results_url": url, "created_at": at, "expires_at": at,
                    "ended_at": ended.then_some(at), "archived_at": null, "cancel_initiated_at": null,
                })
            }
        }
    }
}

/// Returns the file name of a batch's answers (`good`) or of its errors.
fn file_name(batch: &str, good: bool) -> String {
    format!("file-{batch}-{}", if good { "output" } else { "error" })
}

/// Returns the content of a batch's file of answers (`good`) or of errors.
fn file(entries: &[(String, ItemState)], good: bool) -> String {
    let line = |(question, entry): &(String, ItemState)| {
        let (response, error) = match entry {
            ItemState::Answer(body) => (json!({ "status_code": 200, "request_id": "stub", "body": body }), Value::Null),
            ItemState::Error(status, body) => {
                (json!({ "status_code": status.as_u16(), "request_id": "stub", "body": body }), Value::Null)
            }
            ItemState::Expired => {
                let message = "the batch expired before this request";
                (Value::Null, json!({ "code": "batch_expired", "message": message }))
            }
        };
        let line = json!({ "id": "stub", "custom_id": question, "response": response, "error": error });
        (matches!(entry, ItemState::Answer(_)) == good).then(|| format!("{line}\n"))
    };
    entries.iter().filter_map(line).collect()
}

/// Parses the items of an OpenAI input file.
fn lines(text: &str) -> Result<Vec<(String, Value)>, String> {
    let line = |(k, line): (usize, &str)| {
        let line: Value = serde_json::from_str(line).map_err(|e| format!("line {}: {e}", k + 1))?;
        if line["method"] != "POST" || line["url"] != CHAT {
            return Err(format!("line {}: expected method \"POST\" and url {CHAT:?}", k + 1));
        }
        Ok((line["custom_id"].clone(), line["body"].clone()))
    };
    let all = text.lines().enumerate().map(line).collect::<Result<Vec<_>, String>>()?;
    if all.windows(2).any(|two| two[0].1["model"] != two[1].1["model"]) {
        return Err("model: expected the same model in all items of a batch".into());
    }
    check_ids(all)
}

/// Returns the items if each has a valid unique id.
fn check_ids(all: Vec<(Value, Value)>) -> Result<Vec<(String, Value)>, String> {
    let plain = |id: &str| {
        (1..=MAX_ID).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let mut seen = HashSet::new();
    let check = |(id, body): (Value, Value)| {
        let id = id
            .as_str()
            .filter(|id| plain(id))
            .ok_or_else(|| format!("custom_id: expected 1 to {MAX_ID} characters A-Za-z0-9_-, got {id}"))?
            .to_owned();
        if !seen.insert(id.clone()) {
            return Err(format!("custom_id: duplicate {id:?}"));
        }
        Ok((id, body))
    };
    all.into_iter().map(check).collect()
}

/// Returns the field `name` of a multipart form with the boundary `mark`.
fn field<'t>(form: &'t str, mark: &str, name: &str) -> Option<&'t str> {
    let wanted = format!("name=\"{name}\"");
    let parts = form.split(&format!("--{mark}")).filter_map(|part| part.split_once("\r\n\r\n")).collect::<Vec<_>>();
    let (_, content) = parts.into_iter().find(|(head, _)| head.contains(&wanted))?;
    content.strip_suffix("\r\n")
}

/// Returns an id derived from content and number.
fn item_name(content: &str, number: usize) -> String {
    hex::encode(&Sha256::digest(format!("{number}:{content}"))[..8])
}
