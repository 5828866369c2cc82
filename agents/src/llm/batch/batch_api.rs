//! HTTP calls of the batch interfaces. Failures are converted to results of the affected requests.

use serde_json::Value;

use super::{CollectorSettings, ItemResult};
use crate::llm::http::{HttpError, HttpRequest, HttpResponse, excerpt};

/// Maximum size of a batch status response in bytes.
const PAGE: u64 = 10 << 20;
/// Maximum size of a result file in bytes.
const ANSWERS: u64 = 1 << 30;

/// Status of a batch.
pub(super) enum BatchStatus {
    Running,
    /// Finished, with the results of the requests by request id.
    Ended(Vec<(String, ItemResult)>),
    /// Rejected because the provider's limit of queued tokens was reached.
    Full(String),
    /// Failed before any of its requests ran.
    Failed(ItemResult),
    /// Not found by the provider.
    Gone,
    /// Not known, because the status call failed.
    Unknown(ItemResult),
}

/// Client of an endpoint's batch interface.
pub(super) struct BatchApi {
    settings: CollectorSettings,
    key: Option<String>,
}

impl BatchApi {
    pub(super) fn new(settings: CollectorSettings, key: Option<String>) -> Self {
        BatchApi { settings, key }
    }

    /// Sends a GET request and parses the response as JSON; `None` for status 404.
    pub(super) fn get_json(&self, path: &str) -> Result<Option<Value>, ItemResult> {
        let answered = self.call(path, None, PAGE)?;
        if answered.status == 404 {
            return Ok(None);
        }
        self.json(path, &answered).map(Some)
    }

    /// Sends a GET request and parses the response as JSON lines, skipping invalid lines; `None` for status 404.
    pub(super) fn get_json_lines(&self, path: &str) -> Result<Option<Vec<Value>>, ItemResult> {
        let answered = self.call(path, None, ANSWERS)?;
        if answered.status == 404 {
            return Ok(None);
        }
        self.good(path, &answered)?;
        Ok(Some(answered.text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// Sends a POST request that creates an object, and returns the id of the object.
    pub(super) fn post_for_id(&self, path: &str, kind: &str, body: &[u8]) -> Result<String, ItemResult> {
        let answered = self.call(path, Some((kind, body)), PAGE)?;
        let made = self.json(path, &answered)?;
        // The id becomes part of a path.
        let plain = |id: &&str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        match made["id"].as_str().filter(plain) {
            Some(id) => Ok(id.to_owned()),
            None => Err(ItemResult::Never(format!("the reply at {path} has no id: {}", self.excerpt_of(&answered)))),
        }
    }

    fn call(&self, path: &str, body: Option<(&str, &[u8])>, most: u64) -> Result<HttpResponse, ItemResult> {
        let CollectorSettings { api, base_url, timeout, .. } = &self.settings;
        let mut headers = api.headers(self.key.as_deref());
        headers.retain(|(name, _)| *name != "content-type");
        headers.extend(body.map(|(kind, _)| ("content-type", kind.to_owned())));
        let url = format!("{base_url}{path}");
        let call =
            HttpRequest { url: &url, headers: &headers, body: body.map(|(_, body)| body), limit: *timeout, most };
        call.send().map_err(|lost| match lost {
            HttpError::Slow => {
                ItemResult::Later(format!("no reply within {} s at {path} (timeout)", timeout.as_secs_f64()), None)
            }
            HttpError::Later(why) => ItemResult::Later(why, None),
            HttpError::Never(why) => ItemResult::Never(why),
        })
    }

    fn json(&self, path: &str, answered: &HttpResponse) -> Result<Value, ItemResult> {
        self.good(path, answered)?;
        let why = |e| format!("invalid reply at {path} ({e}): {}", self.excerpt_of(answered));
        serde_json::from_str(&answered.text).map_err(|e| ItemResult::Later(why(e), None))
    }

    /// Checks that the status of a response is a success.
    ///
    /// # Errors
    /// The result that all requests of the batch get.
    fn good(&self, path: &str, answered: &HttpResponse) -> Result<(), ItemResult> {
        if answered.is_ok() {
            return Ok(());
        }
        let (status, said) = (answered.status, self.excerpt_of(answered));
        Err(match status {
            401 | 403 => ItemResult::Never(format!("the key is refused for batches at {path} ({status}): {said}")),
            404 | 405 => ItemResult::Never(format!("no batch interface at {path} ({status}): {said}. Try batch=false")),
            413 => ItemResult::Never(format!("the batch is too large ({status}): {said}. Try a smaller batch_size")),
            429 if answered.text.contains("insufficient_quota") => {
                ItemResult::Never(format!("the account has no quota left: {said}"))
            }
            408 | 409 | 429 | 500..=599 => {
                ItemResult::Later(format!("HTTP status {status} at {path}: {said}"), answered.wait)
            }
            _ => ItemResult::Never(format!("the batch is refused at {path} ({status}): {said}")),
        })
    }

    fn excerpt_of(&self, answered: &HttpResponse) -> String {
        excerpt(&answered.text, self.key.as_deref())
    }
}
