//! Calls of the batch interfaces, and what their failures mean for the questions of a batch.

use serde_json::Value;

use super::{ItemResult, Terms};
use crate::llm::http::{HttpError, HttpResponse, Outgoing, excerpt};

/// The longest page about a batch, in bytes.
const PAGE: u64 = 10 << 20;
/// The longest file of answers, in bytes.
const ANSWERS: u64 = 1 << 30;

/// What became of a batch.
pub(super) enum BatchStatus {
    /// It is not done.
    Running,
    /// It is done, with a word for each question that it says something of.
    Ended(Vec<(String, ItemResult)>),
    /// The provider does not take as much at a time.
    Full(String),
    /// Nothing of it was asked.
    Failed(ItemResult),
    /// The provider does not know it any more.
    Gone,
    /// It could not be found out.
    Unknown(ItemResult),
}

/// The way to an endpoint.
pub(super) struct BatchApi {
    terms: Terms,
    key: Option<String>,
}

impl BatchApi {
    pub(super) fn new(terms: Terms, key: Option<String>) -> Self {
        BatchApi { terms, key }
    }

    /// A page of the endpoint as JSON; `None` for status 404.
    pub(super) fn page(&self, path: &str) -> Result<Option<Value>, ItemResult> {
        let answered = self.call(path, None, PAGE)?;
        if answered.status == 404 {
            return Ok(None);
        }
        self.json(path, &answered).map(Some)
    }

    /// The lines of a file as JSON, without those that cannot be read; `None` for status 404.
    pub(super) fn lines(&self, path: &str) -> Result<Option<Vec<Value>>, ItemResult> {
        let answered = self.call(path, None, ANSWERS)?;
        if answered.status == 404 {
            return Ok(None);
        }
        self.good(path, &answered)?;
        Ok(Some(answered.text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// Posts something that makes something, and gives its id.
    pub(super) fn post_for_id(&self, path: &str, kind: &str, body: &[u8]) -> Result<String, ItemResult> {
        let answered = self.call(path, Some((kind, body)), PAGE)?;
        let made = self.json(path, &answered)?;
        // It becomes a part of a path.
        let plain = |id: &&str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        match made["id"].as_str().filter(plain) {
            Some(id) => Ok(id.to_owned()),
            None => Err(ItemResult::Never(format!("its answer at {path} has no id: {}", self.said(&answered)))),
        }
    }

    fn call(&self, path: &str, body: Option<(&str, &[u8])>, most: u64) -> Result<HttpResponse, ItemResult> {
        let Terms { api, base_url, timeout, .. } = &self.terms;
        let mut headers = api.headers(self.key.as_deref());
        headers.retain(|(name, _)| *name != "content-type");
        headers.extend(body.map(|(kind, _)| ("content-type", kind.to_owned())));
        let url = format!("{base_url}{path}");
        let call = Outgoing { url: &url, headers: &headers, body: body.map(|(_, body)| body), limit: *timeout, most };
        call.send().map_err(|lost| match lost {
            HttpError::Slow => ItemResult::Later(
                format!("it did not answer within {} s at {path} (timeout)", timeout.as_secs_f64()),
                None,
            ),
            HttpError::Later(why) => ItemResult::Later(why, None),
            HttpError::Never(why) => ItemResult::Never(why),
        })
    }

    fn json(&self, path: &str, answered: &HttpResponse) -> Result<Value, ItemResult> {
        self.good(path, answered)?;
        let why = |e| format!("its answer at {path} cannot be read ({e}): {}", self.said(answered));
        serde_json::from_str(&answered.text).map_err(|e| ItemResult::Later(why(e), None))
    }

    /// Whether an answer is good; if not, what that means for the questions of a batch.
    fn good(&self, path: &str, answered: &HttpResponse) -> Result<(), ItemResult> {
        if answered.is_ok() {
            return Ok(());
        }
        let (status, said) = (answered.status, self.said(answered));
        Err(match status {
            401 | 403 => ItemResult::Never(format!("it refuses the key for batches at {path} ({status}): {said}")),
            404 | 405 => {
                ItemResult::Never(format!("it has no batch interface at {path} ({status}): {said}. Try batch=false"))
            }
            413 => ItemResult::Never(format!("the batch is too large ({status}): {said}. Try a smaller batch_size")),
            429 if answered.text.contains("insufficient_quota") => {
                ItemResult::Never(format!("the account has no quota left: {said}"))
            }
            408 | 409 | 429 | 500..=599 => {
                ItemResult::Later(format!("it answers {status} at {path}: {said}"), answered.wait)
            }
            _ => ItemResult::Never(format!("it refuses the batch at {path} ({status}): {said}")),
        })
    }

    fn said(&self, answered: &HttpResponse) -> String {
        excerpt(&answered.text, self.key.as_deref())
    }
}
