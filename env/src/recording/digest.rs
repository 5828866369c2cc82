//! The digest chain over an episode's events, and the commitment to its seed (`docs/records.md`).

use ludex_protocol::record::{ChanceRecord, MoveRecord, RecordEvent, RecordParts};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::canonical::canonical_text;

/// Footer members that the digest excludes: values disclosed later, and values that a host may add.
pub const OUTSIDE: [&str; 5] = ["seed", "salt", "digest", "run", "pair"];

/// The error for a value without a canonical form: a number beyond the range of a double.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("no canonical JSON: {0}")]
pub struct NotCanonical(String);

impl NotCanonical {
    pub(super) fn new(e: &serde_json::Error) -> Self {
        NotCanonical(e.to_string())
    }
}

/// Returns the canonical JSON text of a value (RFC 8785).
///
/// # Errors
/// Fails on a number beyond the range of a double.
pub fn canonical(value: &impl Serialize) -> Result<Vec<u8>, NotCanonical> {
    serde_json_canonicalizer::to_vec(value).map_err(|e| NotCanonical::new(&e))
}

/// Returns the canonical JSON text of a header or footer. Faster than [`canonical`], because the result is derived from
/// plain JSON text. Non-finite numbers cannot become `null`, because headers and footers refuse to serialize them.
///
/// # Errors
/// Fails under the conditions of [`canonical`], and on a return that is not finite.
pub(super) fn canonical_part(part: &impl Serialize) -> Result<Vec<u8>, NotCanonical> {
    let text = serde_json::to_string(part).map_err(|e| NotCanonical::new(&e))?;
    canonical_text(&text).map_or_else(|| canonical(part), Ok)
}

/// Appends the canonical JSON text of an event to `out`. Events without tries, notes or documents (nearly all events)
/// are formatted directly, which is about ten times faster.
///
/// # Errors
/// Fails under the conditions of [`canonical`].
pub(super) fn write_event(event: &RecordEvent, out: &mut Vec<u8>) -> Result<(), NotCanonical> {
    // Limit below which a double represents every integer exactly, and canonical text contains all digits.
    const EXACT: u64 = 1 << 53;
    match event {
        RecordEvent::Chance(ChanceRecord { action: Some(action) }) => {
            push(out, "{\"action\":", u64::from(*action));
            out.extend_from_slice(b",\"kind\":\"chance\"}");
        }
        RecordEvent::Move(m) if m.document.is_none() && m.notes.is_none() && m.tries.is_empty() && m.ms <= EXACT => {
            write_move(m, None, out);
        }
        other => out.extend(canonical(other)?),
    }
    Ok(())
}

/// Appends the canonical JSON text of a move that has no document and no tries. `notes` is the canonical text of the
/// move's notes.
pub(super) fn write_move(m: &MoveRecord, notes: Option<&[u8]>, out: &mut Vec<u8>) {
    out.push(b'{');
    if let Some(action) = m.action {
        push(out, "\"action\":", u64::from(action));
        out.push(b',');
    }
    out.extend_from_slice(if m.forced { b"\"forced\":true," } else { b"" });
    out.extend_from_slice(b"\"kind\":\"move\",");
    out.extend_from_slice(if m.more { b"\"more\":true," } else { b"" });
    push(out, "\"ms\":", m.ms);
    if let Some(notes) = notes {
        out.extend_from_slice(b",\"notes\":");
        out.extend_from_slice(notes);
    }
    push(out, ",\"seat\":", u64::from(m.seat));
    push(out, ",\"turn\":", u64::from(m.turn));
    out.push(b'}');
}

fn push(out: &mut Vec<u8>, name: &str, number: u64) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A SHA-256 chain over the parts of an episode, extended during play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain([u8; 32]);

impl Chain {
    /// Starts the chain with the header.
    ///
    /// # Errors
    /// Fails on a value without a canonical form.
    pub fn new(header: &impl Serialize) -> Result<Self, NotCanonical> {
        Ok(Chain::of_canonical(&canonical(header)?))
    }

    /// Starts the chain with a header that is already canonical JSON.
    pub fn of_canonical(header: &[u8]) -> Self {
        Chain(Sha256::digest(header).into())
    }

    /// Appends an event or, at the end, the footer (without `seed`, `salt`, `digest`, `run` and `pair`).
    ///
    /// # Errors
    /// Fails on a value without a canonical form; the chain is unchanged.
    pub fn push(&mut self, part: &impl Serialize) -> Result<(), NotCanonical> {
        self.push_canonical(&canonical(part)?);
        Ok(())
    }

    /// Appends a part that is already canonical JSON.
    pub fn push_canonical(&mut self, part: &[u8]) {
        self.0 = Sha256::new().chain_update(self.0).chain_update(part).finalize().into();
    }

    /// Returns the current digest in lowercase hex.
    pub fn hex(&self) -> String {
        hex_text(&self.0)
    }
}

/// Computes the digest of a complete record, including fields unknown to this version. The `digest` of a valid record
/// equals the result.
///
/// # Errors
/// Fails on a value without a canonical form.
pub fn digest(parts: &RecordParts) -> Result<String, NotCanonical> {
    let mut chain = Chain::new(&Value::Object(parts.header.clone()))?;
    for event in &parts.events {
        chain.push(event)?;
    }
    let mut footer = parts.footer.clone();
    footer.retain(|name, _| !OUTSIDE.contains(&name.as_str()));
    chain.push(&Value::Object(footer))?;
    Ok(chain.hex())
}

/// Returns bytes as lowercase hex. Faster than `hex::encode`.
///
/// # Panics
/// Never: the text has space for two digits per byte, and digits are UTF-8.
pub fn hex_text(bytes: &[u8]) -> String {
    let mut text = vec![0; 2 * bytes.len()];
    let written = hex::encode_to_slice(bytes, &mut text).is_ok();
    String::from_utf8(text).ok().filter(|_| written).unwrap_or_else(|| unreachable!("two digits for each byte"))
}

/// Returns the commitment to a seed: hex SHA-256 over the salt's bytes and the seed's decimal text.
pub fn seed_commit(salt: &[u8; 16], seed: u64) -> String {
    hex_text(&Sha256::new().chain_update(salt).chain_update(seed.to_string()).finalize())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn golden() -> Value {
        json!({
            "ludex": 1, "episode": "m_1", "game": "kuhn_poker", "params": {"players": 2},
            "events": [
                {"kind": "chance", "action": 1},
                {"kind": "chance", "action": 0},
                {"kind": "move", "seat": 0, "turn": 0, "action": 0, "ms": 3},
                {"kind": "move", "seat": 1, "turn": 0, "action": 0, "ms": 5},
            ],
            "returns": [1, -1], "outcome": ["win", "loss"], "reason": "finished",
            "seed": "42", "salt": "00", "run": "r", "pair": "p", "digest": "to be replaced",
        })
    }

    fn of(record: &Value) -> String {
        digest(&RecordParts::from_map(record.as_object().unwrap().clone()).unwrap()).unwrap()
    }

    #[test]
    fn directly_written_events_are_canonical() {
        let plain = MoveRecord { seat: 1, turn: 20, action: Some(4095), ms: 7, ..MoveRecord::default() };
        let moves = [
            plain.clone(),
            MoveRecord::default(),
            MoveRecord { forced: true, more: true, ..plain.clone() },
            MoveRecord { ms: (1 << 53) + 1, ..plain.clone() },
            MoveRecord { ms: u64::MAX, action: Some(u32::MAX), ..plain.clone() },
            MoveRecord { ms: 1 << 53, more: true, ..plain.clone() },
            MoveRecord { document: Some(json!({"b": 1.5, "a": "x"})), ..plain.clone() },
            MoveRecord { notes: Some(ludex_protocol::record::Notes::default()), ..plain },
        ];
        let chance = [None, Some(0), Some(12)].map(|action| RecordEvent::Chance(ChanceRecord { action }));
        for event in moves.into_iter().map(RecordEvent::Move).chain(chance) {
            let mut written = Vec::new();
            write_event(&event, &mut written).unwrap();
            assert_eq!(String::from_utf8(written), String::from_utf8(canonical(&event).unwrap()), "{event:?}");
        }
    }

    const GOLDEN: &str = "7be0c7d153bd5208507b191484c5a04d6dde22583f526bb76bac40f3a54f93b7";

    #[test]
    fn incremental_digest_equals_golden_value() {
        let record = golden();
        assert_eq!(of(&record), GOLDEN);
        let mut chain =
            Chain::new(&json!({"ludex": 1, "episode": "m_1", "game": "kuhn_poker", "params": {"players": 2}})).unwrap();
        for event in record["events"].as_array().unwrap() {
            chain.push(event).unwrap();
        }
        chain.push(&json!({"returns": [1, -1], "outcome": ["win", "loss"], "reason": "finished"})).unwrap();
        assert_eq!(chain.hex(), GOLDEN);
    }

    #[test]
    fn digest_ignores_spelling_of_numbers() {
        let text = golden().to_string().replace("[1,-1]", "[1.0,-1e0]");
        let record: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(of(&record), GOLDEN);
    }

    #[test]
    fn digest_depends_only_on_covered_fields() {
        for (path, covered) in [
            ("/game", true),
            ("/events/1/action", true),
            ("/events/3/ms", true),
            ("/reason", true),
            ("/seed", false),
            ("/salt", false),
            ("/run", false),
            ("/pair", false),
        ] {
            let mut record = golden();
            *record.pointer_mut(path).unwrap() = json!(77);
            let same = of(&record) == GOLDEN;
            assert_eq!(same, !covered, "{path}");
        }
        let mut record = golden();
        record["events"].as_array_mut().unwrap().swap(2, 3);
        assert_ne!(of(&record), GOLDEN);
    }

    #[test]
    fn seed_commit_equals_golden_value() {
        let salt: [u8; 16] = std::array::from_fn(|i| i as u8);
        assert_eq!(seed_commit(&salt, 42), "e5f022734f83dcfebe0e0d0a8eb1ebf9c2b42e50c04bf5a59c8de0e1d2c654cb");
    }
}
