//! Calls of the batch interfaces, and what their failures mean for the questions of a batch.

use serde_json::Value;

use super::{Terms, Word};
use crate::llm::http::{Answered, Lost, Outgoing, excerpt};

/// The longest page about a batch, in bytes.
const PAGE: u64 = 10 << 20;
/// The longest file of answers, in bytes.
const ANSWERS: u64 = 1 << 30;

/// What became of a batch.
pub(super) enum Look {
    /// It is not done.
    Running,
    /// It is done, with a word for each question that it says something of.
    Ended(Vec<(String, Word)>),
    /// The provider does not take as much at a time.
    Full(String),
    /// Nothing of it was asked.
    Failed(Word),
    /// The provider does not know it any more.
    Gone,
    /// It could not be found out.
    Unknown(Word),
}

/// The way to an endpoint.
pub(super) struct Wire {
    terms: Terms,
    key: Option<String>,
}

impl Wire {
    pub(super) fn new(terms: Terms, key: Option<String>) -> Self {
        Wire { terms, key }
    }

    /// A page of the endpoint as JSON; `None` for status 404.
    pub(super) fn page(&self, path: &str) -> Result<Option<Value>, Word> {
        let answered = self.call(path, None, PAGE)?;
        if answered.status == 404 {
            return Ok(None);
        }
        self.json(path, &answered).map(Some)
    }

    /// The lines of a file as JSON, without those that cannot be read; `None` for status 404.
    pub(super) fn lines(&self, path: &str) -> Result<Option<Vec<Value>>, Word> {
        let answered = self.call(path, None, ANSWERS)?;
        if answered.status == 404 {
            return Ok(None);
        }
        self.good(path, &answered)?;
        Ok(Some(answered.text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// Posts something that makes something, and gives its id.
    pub(super) fn made(&self, path: &str, kind: &str, body: &[u8]) -> Result<String, Word> {
        let answered = self.call(path, Some((kind, body)), PAGE)?;
        let made = self.json(path, &answered)?;
        // It becomes a part of a path.
        let plain = |id: &&str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        match made["id"].as_str().filter(plain) {
            Some(id) => Ok(id.to_owned()),
            None => Err(Word::Never(format!("its answer at {path} has no id: {}", self.said(&answered)))),
        }
    }

    fn call(&self, path: &str, body: Option<(&str, &[u8])>, most: u64) -> Result<Answered, Word> {
        let Terms { api, base_url, timeout, .. } = &self.terms;
        let mut headers = api.headers(self.key.as_deref());
        headers.retain(|(name, _)| *name != "content-type");
        headers.extend(body.map(|(kind, _)| ("content-type", kind.to_owned())));
        let url = format!("{base_url}{path}");
        let call = Outgoing { url: &url, headers: &headers, body: body.map(|(_, body)| body), limit: *timeout, most };
        call.send().map_err(|lost| match lost {
            Lost::Slow => {
                Word::Later(format!("it did not answer within {} s at {path} (timeout)", timeout.as_secs_f64()), None)
            }
            Lost::Later(why) => Word::Later(why, None),
            Lost::Never(why) => Word::Never(why),
        })
    }

    fn json(&self, path: &str, answered: &Answered) -> Result<Value, Word> {
        self.good(path, answered)?;
        let why = |e| format!("its answer at {path} cannot be read ({e}): {}", self.said(answered));
        serde_json::from_str(&answered.text).map_err(|e| Word::Later(why(e), None))
    }

    /// Whether an answer is good; if not, what that means for the questions of a batch.
    fn good(&self, path: &str, answered: &Answered) -> Result<(), Word> {
        if answered.is_ok() {
            return Ok(());
        }
        let (status, said) = (answered.status, self.said(answered));
        Err(match status {
            401 | 403 => Word::Never(format!("it refuses the key for batches at {path} ({status}): {said}")),
            404 | 405 => {
                Word::Never(format!("it has no batch interface at {path} ({status}): {said}. Try batch=false"))
            }
            413 => Word::Never(format!("the batch is too large ({status}): {said}. Try a smaller batch_size")),
            429 if answered.text.contains("insufficient_quota") => {
                Word::Never(format!("the account has no quota left: {said}"))
            }
            408 | 409 | 429 | 500..=599 => Word::Later(format!("it answers {status} at {path}: {said}"), answered.wait),
            _ => Word::Never(format!("it refuses the batch at {path} ({status}): {said}")),
        })
    }

    fn said(&self, answered: &Answered) -> String {
        excerpt(&answered.text, self.key.as_deref())
    }
}
