//! The batch interfaces of both APIs, in memory: questions are taken together and answered after a while.

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

use super::problem::Problem;
use super::request::Request;
use super::{Api, App, Stub};

/// Greatest batch that is read, in bytes.
const BODY: usize = 256 << 20;
/// The page that OpenAI's batches are about.
const CHAT: &str = "/v1/chat/completions";
/// Most letters of a question's id.
const ID: usize = 64;

/// Files and batches by id.
#[derive(Default)]
pub(super) struct Desk {
    files: Mutex<HashMap<String, String>>,
    batches: Mutex<BTreeMap<String, Batch>>,
}

/// A batch, done or not.
struct Batch {
    api: Api,
    /// How many questions it has.
    total: usize,
    /// The file of its questions, where they came in one.
    input: String,
    course: Course,
}

enum Course {
    Waiting,
    /// It was not taken: a code and why.
    Failed(&'static str, String),
    Done(Vec<(String, Entry)>),
}

/// What became of a question.
enum Entry {
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
        .layer(DefaultBodyLimit::max(BODY))
}

fn answered(api: Api, result: Result<Value, Problem>) -> Response {
    result.map_or_else(|problem| problem.response(api), |value| Json(value).into_response())
}

async fn upload(State(stub): App, headers: HeaderMap, body: Bytes) -> Response {
    answered(Api::OpenAi, stub.uploaded(&headers, &body))
}

async fn content(State(stub): App, headers: HeaderMap, Path(id): Path<String>) -> Response {
    let file =
        stub.admit(&headers).and_then(|()| stub.desk.files().get(&id).cloned().ok_or_else(|| missing("file", &id)));
    file.map_or_else(|problem| problem.response(Api::OpenAi), IntoResponse::into_response)
}

async fn create_openai(State(stub): App, headers: HeaderMap, body: Bytes) -> Response {
    answered(Api::OpenAi, stub.admit(&headers).and_then(|()| stub.created_openai(&body)))
}

async fn create_anthropic(State(stub): App, headers: HeaderMap, body: Bytes) -> Response {
    answered(Api::Anthropic, stub.admit(&headers).and_then(|()| stub.created_anthropic(&headers, &body)))
}

async fn list_openai(State(stub): App, headers: HeaderMap) -> Response {
    answered(Api::OpenAi, stub.admit(&headers).map(|()| stub.listed(Api::OpenAi, &headers)))
}

async fn list_anthropic(State(stub): App, headers: HeaderMap) -> Response {
    answered(Api::Anthropic, stub.admit(&headers).map(|()| stub.listed(Api::Anthropic, &headers)))
}

async fn show_openai(State(stub): App, headers: HeaderMap, Path(id): Path<String>) -> Response {
    answered(Api::OpenAi, stub.shown(Api::OpenAi, &headers, &id))
}

async fn show_anthropic(State(stub): App, headers: HeaderMap, Path(id): Path<String>) -> Response {
    answered(Api::Anthropic, stub.shown(Api::Anthropic, &headers, &id))
}

async fn results(State(stub): App, headers: HeaderMap, Path(id): Path<String>) -> Response {
    match stub.results(&headers, &id) {
        Ok(lines) => ([(header::CONTENT_TYPE, "application/x-jsonl")], lines).into_response(),
        Err(problem) => problem.response(Api::Anthropic),
    }
}

fn missing(what: &str, id: &str) -> Problem {
    Problem::missing(format!("there is no {what} {id:?}"))
}

impl Desk {
    fn files(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.files.lock()
    }

    fn batches(&self) -> MutexGuard<'_, BTreeMap<String, Batch>> {
        self.batches.lock()
    }
}

impl Stub {
    fn uploaded(&self, headers: &HeaderMap, body: &[u8]) -> Result<Value, Problem> {
        self.admit(headers)?;
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let mark = kind.strip_prefix("multipart/form-data").and_then(|rest| rest.split_once("boundary="));
        let (_, mark) = mark.ok_or_else(|| Problem::bad("a form with the file is needed (multipart/form-data)"))?;
        let text = std::str::from_utf8(body).map_err(|_| Problem::bad("the form is not text"))?;
        let part = |name: &str| field(text, mark.trim_matches('"'), name);
        if part("purpose") != Some("batch") {
            return Err(Problem::bad("purpose: batch is the only one that the stand-in knows"));
        }
        let file = part("file").ok_or_else(|| Problem::bad("file: it is missing"))?;
        let mut files = self.desk.files();
        let id = format!("file-{}", named(file, files.len()));
        files.insert(id.clone(), file.to_owned());
        Ok(json!({ "id": id, "object": "file", "bytes": file.len(), "created_at": 0, "purpose": "batch" }))
    }

    fn created_openai(self: &Arc<Self>, body: &[u8]) -> Result<Value, Problem> {
        let asked: Value = serde_json::from_slice(body).map_err(|e| Problem::bad(format!("the body: {e}")))?;
        if asked["endpoint"] != CHAT || asked["completion_window"] != "24h" {
            return Err(Problem::bad(format!("endpoint must be {CHAT:?}, and completion_window \"24h\"")));
        }
        let input = asked["input_file_id"].as_str().unwrap_or_default().to_owned();
        let text = self.desk.files().get(&input).cloned().ok_or_else(|| missing("file", &input))?;
        let refused = |why: String| Course::Failed("invalid_request", why);
        let questions = lines(&text);
        let course = match &questions {
            Err(why) => refused(why.clone()),
            Ok(questions) => match self.too_many(questions.len()) {
                Some(why) => Course::Failed("token_limit_exceeded", why),
                None => Course::Waiting,
            },
        };
        let questions = questions.unwrap_or_default();
        Ok(self.begun(Api::OpenAi, input, questions, course, &HeaderMap::new()))
    }

    fn created_anthropic(self: &Arc<Self>, headers: &HeaderMap, body: &[u8]) -> Result<Value, Problem> {
        let asked: Value = serde_json::from_slice(body).map_err(|e| Problem::bad(format!("the body: {e}")))?;
        let requests = asked["requests"].as_array().filter(|all| !all.is_empty());
        let requests = requests.ok_or_else(|| Problem::bad("requests: at least one is needed"))?;
        let all = requests.iter().map(|request| (request["custom_id"].clone(), request["params"].clone()));
        let questions = checked(all.collect()).map_err(Problem::bad)?;
        if self.too_many(questions.len()).is_some() {
            return Err(Problem::rate_limit(self.options.retry_after));
        }
        Ok(self.begun(Api::Anthropic, String::new(), questions, Course::Waiting, headers))
    }

    /// Why this number of further questions is too large, if it is.
    fn too_many(&self, more: usize) -> Option<String> {
        let most = self.options.batches.most?;
        let batches = self.desk.batches();
        let waiting: usize =
            batches.values().filter(|batch| matches!(batch.course, Course::Waiting)).map(|batch| batch.total).sum();
        (waiting + more > most).then(|| format!("{waiting} questions wait, {more} came, and {most} may wait"))
    }

    /// Puts a batch on the desk, and answers it after a while.
    fn begun(
        self: &Arc<Self>,
        api: Api,
        input: String,
        questions: Vec<(String, Value)>,
        course: Course,
        headers: &HeaderMap,
    ) -> Value {
        let waits = matches!(course, Course::Waiting);
        let mut batches = self.desk.batches();
        let about: String = questions.iter().map(|(id, _)| id.as_str()).collect();
        let kind = if api == Api::OpenAi { "batch" } else { "msgbatch" };
        let id = format!("{kind}_{}", named(&about, batches.len()));
        let batch = Batch { api, total: questions.len(), input, course };
        let page = batch.page(&id, headers);
        batches.insert(id.clone(), batch);
        drop(batches);
        if waits {
            tokio::spawn(self.clone().answer_all(api, id, questions));
        }
        page
    }

    async fn answer_all(self: Arc<Self>, api: Api, id: String, questions: Vec<(String, Value)>) {
        tokio::time::sleep(self.options.batches.latency).await;
        let mut entries = Vec::new();
        for (question, body) in questions {
            let entry = self.entry(api, &body.to_string()).await;
            let entry = entry.unwrap_or_else(|problem| {
                let (status, document) = problem.document(api);
                Entry::Error(status, document)
            });
            entries.push((question, entry));
        }
        if api == Api::OpenAi {
            for good in [true, false] {
                let text = file(&entries, good);
                self.desk.files().insert(file_name(&id, good), text);
            }
        }
        if let Some(batch) = self.desk.batches().get_mut(&id) {
            batch.course = Course::Done(entries);
        }
    }

    /// What a question of a batch comes to.
    async fn entry(&self, api: Api, body: &str) -> Result<Entry, Problem> {
        let hash: [u8; 32] = Sha256::digest(body).into();
        let super::Batches { fail, expire, .. } = self.options.batches;
        if fail + expire > 0.0 {
            let mut luck = self.luck("batch", &hash);
            if luck.unit() < expire {
                return Ok(Entry::Expired);
            }
            if luck.unit() < fail {
                return Err(Problem::internal("the stand-in fails on purpose (--batch-fail)"));
            }
        }
        let request = Request::read(api, body.as_bytes())?;
        self.fits(api, &request)?;
        if self.way(&hash)? {
            return Err(Problem::internal("the stand-in fails on purpose (--malformed)"));
        }
        Ok(Entry::Answer(self.document(api, request, hash).await?))
    }

    fn shown(&self, api: Api, headers: &HeaderMap, id: &str) -> Result<Value, Problem> {
        self.admit(headers)?;
        let batches = self.desk.batches();
        let batch = batches.get(id).filter(|batch| batch.api == api).ok_or_else(|| missing("batch", id))?;
        Ok(batch.page(id, headers))
    }

    fn listed(&self, api: Api, headers: &HeaderMap) -> Value {
        let batches = self.desk.batches();
        let own = batches.iter().filter(|(_, batch)| batch.api == api);
        let pages: Vec<Value> = own.map(|(id, batch)| batch.page(id, headers)).collect();
        json!({ "object": "list", "data": pages, "has_more": false })
    }

    fn results(&self, headers: &HeaderMap, id: &str) -> Result<String, Problem> {
        self.admit(headers)?;
        let batches = self.desk.batches();
        let Some(Batch { api: Api::Anthropic, course: Course::Done(entries), .. }) = batches.get(id) else {
            return Err(missing("ended batch", id));
        };
        let line = |(question, entry): &(String, Entry)| {
            let result = match entry {
                Entry::Answer(message) => json!({ "type": "succeeded", "message": message }),
                Entry::Error(_, error) => json!({ "type": "errored", "error": error }),
                Entry::Expired => json!({ "type": "expired" }),
            };
            format!("{}\n", json!({ "custom_id": question, "result": result }))
        };
        Ok(entries.iter().map(line).collect())
    }
}

impl Batch {
    /// The batch as its API shows it.
    fn page(&self, id: &str, headers: &HeaderMap) -> Value {
        let entries: &[(String, Entry)] = if let Course::Done(entries) = &self.course { entries } else { &[] };
        let count = |of: fn(&Entry) -> bool| entries.iter().filter(|(_, entry)| of(entry)).count();
        let good = count(|entry| matches!(entry, Entry::Answer(_)));
        let errors = count(|entry| matches!(entry, Entry::Error(..)));
        let expired = count(|entry| matches!(entry, Entry::Expired));
        let ended = !matches!(self.course, Course::Waiting);
        let at = "1970-01-01T00:00:00Z";
        match self.api {
            Api::OpenAi => {
                let (status, why) = match &self.course {
                    Course::Waiting => ("in_progress", Value::Null),
                    Course::Failed(code, why) => {
                        ("failed", json!({ "object": "list", "data": [{ "code": code, "message": why }] }))
                    }
                    Course::Done(_) if expired > 0 => ("expired", Value::Null),
                    Course::Done(_) => ("completed", Value::Null),
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

/// The name of a batch's file of answers, or of errors.
fn file_name(batch: &str, good: bool) -> String {
    format!("file-{batch}-{}", if good { "output" } else { "error" })
}

/// The text of a batch's file of answers, or of errors.
fn file(entries: &[(String, Entry)], good: bool) -> String {
    let line = |(question, entry): &(String, Entry)| {
        let (response, error) = match entry {
            Entry::Answer(body) => (json!({ "status_code": 200, "request_id": "stub", "body": body }), Value::Null),
            Entry::Error(status, body) => {
                (json!({ "status_code": status.as_u16(), "request_id": "stub", "body": body }), Value::Null)
            }
            Entry::Expired => {
                let message = "the batch expired before it was asked";
                (Value::Null, json!({ "code": "batch_expired", "message": message }))
            }
        };
        let line = json!({ "id": "stub", "custom_id": question, "response": response, "error": error });
        (matches!(entry, Entry::Answer(_)) == good).then(|| format!("{line}\n"))
    };
    entries.iter().filter_map(line).collect()
}

/// The questions in a file of OpenAI's.
fn lines(text: &str) -> Result<Vec<(String, Value)>, String> {
    let line = |(k, line): (usize, &str)| {
        let line: Value = serde_json::from_str(line).map_err(|e| format!("line {}: {e}", k + 1))?;
        if line["method"] != "POST" || line["url"] != CHAT {
            return Err(format!("line {}: method must be \"POST\", and url {CHAT:?}", k + 1));
        }
        Ok((line["custom_id"].clone(), line["body"].clone()))
    };
    let all = text.lines().enumerate().map(line).collect::<Result<Vec<_>, String>>()?;
    if all.windows(2).any(|two| two[0].1["model"] != two[1].1["model"]) {
        return Err("a batch asks one model".into());
    }
    checked(all)
}

/// The questions, if each has an id of its own.
fn checked(all: Vec<(Value, Value)>) -> Result<Vec<(String, Value)>, String> {
    let plain = |id: &str| {
        (1..=ID).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let mut seen = HashSet::new();
    let check = |(id, body): (Value, Value)| {
        let id = id.as_str().filter(|id| plain(id)).ok_or_else(|| format!("custom_id: {id} is not valid"))?.to_owned();
        if !seen.insert(id.clone()) {
            return Err(format!("custom_id: {id:?} is there twice"));
        }
        Ok((id, body))
    };
    all.into_iter().map(check).collect()
}

/// A field of a form.
fn field<'t>(form: &'t str, mark: &str, name: &str) -> Option<&'t str> {
    let wanted = format!("name=\"{name}\"");
    let parts = form.split(&format!("--{mark}")).filter_map(|part| part.split_once("\r\n\r\n")).collect::<Vec<_>>();
    let (_, content) = parts.into_iter().find(|(head, _)| head.contains(&wanted))?;
    content.strip_suffix("\r\n")
}

/// A name that no other thing with another content or number has.
fn named(content: &str, number: usize) -> String {
    hex::encode(&Sha256::digest(format!("{number}:{content}"))[..8])
}
