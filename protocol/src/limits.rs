//! Limits of a connection, announced in `welcome`.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, Refusal};
use crate::record::Notes;

/// The limits of a connection, as announced in `welcome.limits`.
///
/// Absent limits have their default values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// Maximum size of one WebSocket frame in bytes; a larger frame closes the connection.
    pub frame_bytes: u64,
    /// Maximum size of one message in bytes; a larger message gets the error `too_large`.
    pub message_bytes: u64,
    /// Maximum size in bytes of all messages except `reset`, `step`, `restore`, `clone` and `snapshot`.
    pub request_bytes: u64,
    /// Maximum number of entries of one list or map. `batch` limits lists with one entry per environment.
    pub list_entries: u32,
    /// Maximum nesting depth of maps and lists, including the message itself.
    pub depth: u32,
    /// Maximum number of requests without a reply.
    pub window: u32,
    /// Maximum requests per second, averaged over a few seconds; 0: no limit.
    pub requests_per_s: u32,
    /// Maximum HTTP requests per second of one IP address, averaged over a few seconds; 0: no limit. A request for a
    /// game with parameters counts as ten.
    pub pages_per_s: u32,
    /// Maximum number of owners that visitors register from one IP address within an hour; 0: no limit.
    pub registrations_per_hour: u32,
    /// Maximum number of owners that registered themselves without an invitation.
    pub registered_owners: u32,
    /// Maximum number of environment handles per session.
    pub envs: u32,
    /// Maximum number of environments per handle.
    pub batch: u32,
    /// Maximum size of one `batch` reply in bytes.
    pub batch_bytes: u64,
    /// Maximum number of plies that the server's agents search for one request, summed over all its environments.
    pub search: u64,
    /// Maximum number of matches that a session plays or watches at the same time.
    pub matches: u32,
    /// Maximum number of active joins per session.
    pub joins: u32,
    /// Maximum number of environments over all sessions of one owner.
    pub owner_envs: u32,
    /// Maximum number of matches over all sessions of one owner.
    pub owner_matches: u32,
    /// Maximum number of joins over all sessions of one owner.
    pub owner_joins: u32,
    /// Maximum memory in bytes for documents in the environments of all sessions of one owner.
    pub owner_document_bytes: u32,
    /// Maximum number of unfinished runs per owner.
    pub owner_runs: u32,
    /// Maximum size in bytes of one text in a message, such as a name, the text of a move or a document.
    pub text_bytes: u32,
    /// Maximum size of the notes of one act, in bytes of JSON, without the texts that `transcript_bytes` limits.
    pub notes_bytes: u32,
    /// Maximum size in bytes of the texts `prompt`, `answer` and `reasoning` in the notes of one act.
    pub transcript_bytes: u32,
    /// Milliseconds without a message after which a connection without seats and environments is closed.
    pub idle_ms: u64,
    /// Milliseconds for which a disconnected session can be resumed and its seats are reserved.
    pub grace_ms: u64,
    /// Milliseconds within which `hello` must arrive.
    pub hello_ms: u64,
    /// Milliseconds after which a connection is closed if its client reads no bytes. The client can resume. Before
    /// `welcome`, `hello_ms` applies.
    pub write_stall_ms: u64,
    /// Maximum number of bytes that a client may send before `welcome`.
    pub hello_bytes: u64,
    /// Maximum number of connections per IP address.
    pub address_connections: u32,
    /// Maximum number of connections over all addresses. A tenth of them is reserved for clients with a token.
    pub connections: u32,
    /// Maximum number of connections per IP address that have not completed `hello`.
    pub address_hellos: u32,
    /// Maximum number of connections over all addresses that have not completed `hello`; at most a quarter of `connections`.
    pub hellos: u32,
    /// Number of replies cached for repeated requests; at least `window`.
    pub replies_kept: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame_bytes: 16 << 20,
            message_bytes: 16 << 20,
            request_bytes: 512 << 10,
            list_entries: 1_024,
            depth: 64,
            window: 256,
            requests_per_s: 20_000,
            pages_per_s: 50,
            registrations_per_hour: 10,
            registered_owners: 10_000,
            envs: 64,
            batch: 16_384,
            batch_bytes: 64 << 20,
            search: 100_000_000,
            matches: 256,
            joins: 256,
            owner_envs: 1 << 20,
            owner_matches: 4_096,
            owner_joins: 4_096,
            owner_document_bytes: 1 << 28,
            owner_runs: 256,
            text_bytes: 64 << 10,
            notes_bytes: 16 << 10,
            transcript_bytes: 256 << 10,
            idle_ms: 300_000,
            grace_ms: 60_000,
            hello_ms: 10_000,
            write_stall_ms: 60_000,
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
        let mut checked =
            texts.enumerate().map(|(at, text)| self.text(path, text).map_err(|refusal| refusal.index(at)));
        checked.find(Result::is_err).unwrap_or(Ok(()))
    }

    /// Checks the JSON size of a document against `text_bytes`.
    pub(crate) fn document<T: Serialize>(&self, path: &str, document: &T) -> Result<(), Refusal> {
        measure(path, json_bytes(document), self.text_bytes)
    }

    /// Checks the JSON size of notes against `notes_bytes` and `transcript_bytes`.
    pub(crate) fn notes(&self, path: &str, notes: &Notes) -> Result<(), Refusal> {
        let texts = ["prompt", "answer", "reasoning"].map(|name| notes.more.get(name).map_or(0, json_bytes));
        let transcript = texts.iter().sum();
        measure(path, transcript, self.transcript_bytes)?;
        measure(path, json_bytes(notes) - transcript, self.notes_bytes)
    }
}

fn json_bytes<T: Serialize>(value: &T) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len())
}

fn measure(path: &str, bytes: usize, most: u32) -> Result<(), Refusal> {
    if bytes <= most as usize {
        return Ok(());
    }
    let message = format!("{path}: expected at most {most} bytes, got {bytes}");
    Err(Refusal::new(ErrorCode::TooLarge, message).path(path).got(bytes as u64).allowed(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_limits_have_default_values() {
        let limits: Limits = serde_json::from_str(r#"{"window":8,"new_limit":1}"#).unwrap();
        assert_eq!(limits, Limits { window: 8, ..Limits::default() });
        assert!(Limits::default().replies_kept >= Limits::default().window);
    }
}
