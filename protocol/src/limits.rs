//! What a server allows, announced in `welcome`.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, Refusal};
use crate::record::Notes;

/// The limits of a connection, as announced in `welcome.limits`.
///
/// A client takes an absent limit for its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// Bytes of one WebSocket frame; a longer one closes the connection.
    pub frame_bytes: u64,
    /// Bytes of one message; a longer one is answered with `too_large`.
    pub message_bytes: u64,
    /// The same for messages without an entry for each environment: all but `reset`, `step`, `restore`, `clone` and
    /// `snapshot`.
    pub request_bytes: u64,
    /// Entries of one list or map in such a message. Lists with an entry for each environment have at most `batch`.
    pub list: u32,
    /// Nesting of maps and lists in a message, the message itself counted.
    pub depth: u32,
    /// Requests without a reply.
    pub window: u32,
    /// Requests per second, averaged over a few seconds; 0: no limit.
    pub requests_per_s: u32,
    /// Environment handles of a session.
    pub envs: u32,
    /// Environments of one handle.
    pub batch: u32,
    /// Bytes of one `batch` reply.
    pub batch_bytes: u64,
    /// Steps of search (simulations, positions) that one request may ask of the server's agents for a move: the sum over
    /// its environments.
    pub search: u64,
    /// Matches that a session plays or watches at once.
    pub matches: u32,
    /// Joins of a session that have matches to come.
    pub joins: u32,
    /// Environments of all sessions of one owner.
    pub owner_envs: u32,
    /// Matches of all sessions of one owner.
    pub owner_matches: u32,
    /// Joins of all sessions of one owner.
    pub owner_joins: u32,
    /// Bytes of documents that the environments of all sessions of one owner keep.
    pub owner_said_bytes: u32,
    /// Runs of one owner that are not over.
    pub owner_runs: u32,
    /// Bytes of one text in a message: a move's text, a proposal, a name.
    pub text_bytes: u32,
    /// Bytes of the notes of one act.
    pub notes_bytes: u32,
    /// Milliseconds of silence, with neither a seat nor an environment, after which a connection is closed.
    pub idle_ms: u64,
    /// Milliseconds for which a lost session can be resumed and its seats are held.
    pub grace_ms: u64,
    /// Milliseconds within which `hello` must come.
    pub hello_ms: u64,
    /// Bytes that may come before `welcome`.
    pub hello_bytes: u64,
    /// Connections of one address.
    pub address_connections: u32,
    /// Connections of all addresses.
    pub connections: u32,
    /// Connections of one address that are not welcome yet.
    pub address_hellos: u32,
    /// Connections of all addresses that are not welcome yet.
    pub hellos: u32,
    /// Replies that are kept for repeated requests; at least `window`.
    pub replies_kept: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame_bytes: 16 << 20,
            message_bytes: 16 << 20,
            request_bytes: 256 << 10,
            list: 1_024,
            depth: 64,
            window: 256,
            requests_per_s: 20_000,
            envs: 64,
            batch: 16_384,
            batch_bytes: 64 << 20,
            search: 4_000_000,
            matches: 256,
            joins: 256,
            owner_envs: 1 << 20,
            owner_matches: 4_096,
            owner_joins: 4_096,
            owner_said_bytes: 1 << 28,
            owner_runs: 256,
            text_bytes: 64 << 10,
            notes_bytes: 16 << 10,
            idle_ms: 300_000,
            grace_ms: 60_000,
            hello_ms: 10_000,
            hello_bytes: 64 << 10,
            address_connections: 8_192,
            connections: 16_384,
            address_hellos: 1_024,
            hellos: 4_096,
            replies_kept: 256,
        }
    }
}

impl Limits {
    /// Checks one text against `text_bytes`.
    pub(crate) fn text(&self, path: &str, text: &str) -> Result<(), Refusal> {
        measure(path, text.len(), self.text_bytes)
    }

    /// Checks each text of a list against `text_bytes`.
    pub(crate) fn texts<'t>(&self, path: &str, texts: impl Iterator<Item = &'t String>) -> Result<(), Refusal> {
        let mut checked = texts.enumerate().map(|(at, text)| self.text(path, text).map_err(|refusal| refusal.at(at)));
        checked.find(Result::is_err).unwrap_or(Ok(()))
    }

    /// Checks a document, as JSON, against `text_bytes`.
    pub(crate) fn document<T: Serialize>(&self, path: &str, document: &T) -> Result<(), Refusal> {
        measure(path, json_bytes(document), self.text_bytes)
    }

    /// Checks notes, as JSON, against `notes_bytes`.
    pub(crate) fn notes(&self, path: &str, notes: &Notes) -> Result<(), Refusal> {
        measure(path, json_bytes(notes), self.notes_bytes)
    }
}

fn json_bytes<T: Serialize>(value: &T) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

fn measure(path: &str, bytes: usize, most: u32) -> Result<(), Refusal> {
    if bytes <= most as usize {
        return Ok(());
    }
    let message = format!("{path} has {bytes} bytes, {most} are allowed");
    Err(Refusal::new(ErrorCode::TooLarge, message).path(path).got(bytes as u64).allowed(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_limits_are_defaults_and_replies_cover_the_window() {
        let limits: Limits = serde_json::from_str(r#"{"window":8,"new_limit":1}"#).unwrap();
        assert_eq!(limits, Limits { window: 8, ..Limits::default() });
        assert!(Limits::default().replies_kept >= Limits::default().window);
    }
}
