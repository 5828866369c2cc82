//! Cached replies, which make repeated requests idempotent.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasher as _;

use ludex_protocol::{ClientMessage, Encoding, Id};

use crate::frame::WireFrame;

/// Message size in bytes above which the digest is computed from the received bytes.
const BIG: usize = 64 << 10;

/// Fingerprint of a request. The fingerprint distinguishes a repeated request from a different request with the same
/// `id`.
#[derive(Clone, Copy, Debug)]
pub struct RequestFingerprint {
    pub kind: &'static str,
    encoding: Encoding,
    digest: u64,
}

impl RequestFingerprint {
    /// Computes the fingerprint of a request. The digest is computed from the re-encoded message, since a repetition
    /// may order its fields differently. The digest of a plain act, the most frequent request, is computed from its
    /// fields, and that of a large message from the received bytes, which is faster.
    pub fn new(encoding: Encoding, message: &ClientMessage, frame: &[u8]) -> Self {
        let state = foldhash::fast::FixedState::default();
        let digest = match message {
            ClientMessage::Act(act) if act.document.is_none() && act.notes.is_none() => {
                state.hash_one((&act.match_id, act.seat, act.turn, act.attempt, act.action, &act.text))
            }
            _ if frame.len() > BIG => state.hash_one(frame),
            _ => state.hash_one(encoding.encode_client(None, message).as_deref().unwrap_or(frame)),
        };
        RequestFingerprint { kind: message.kind(), encoding, digest }
    }

    /// Returns true if two requests are equal. If their encodings differ, compares only their kinds, since the bytes
    /// differ.
    fn is(&self, other: &RequestFingerprint) -> bool {
        self.kind == other.kind && (self.encoding != other.encoding || self.digest == other.digest)
    }
}

/// Action for a request, depending on its `id`.
#[derive(Debug)]
pub enum Admission {
    New,
    /// Send the cached reply.
    Answered(WireFrame),
    /// Wait for the reply: the request is in flight.
    InFlight,
    /// Refuse the request: a different request has used the `id`.
    Other,
    /// Refuse the request: its `id` is not above the previous ones, and no reply with this `id` is cached.
    Old,
}

/// Reply cache of a session.
#[derive(Debug)]
pub struct Replies {
    highest: Option<Id>,
    keep: usize,
    kept: VecDeque<CachedReply>,
    /// Last two replies of each environment handle. More replies would take too much memory, since batches are large.
    envs: HashMap<u32, VecDeque<CachedReply>>,
    flying: HashMap<Id, Flight>,
    /// Ids of requests that were not executed and may be repeated.
    again: BTreeSet<Id>,
}

#[derive(Debug)]
struct CachedReply {
    id: Id,
    asked: RequestFingerprint,
    frame: WireFrame,
}

#[derive(Debug)]
struct Flight {
    asked: RequestFingerprint,
    /// True if the match plane replies to the request. The reply goes to a mailbox that closes with the connection.
    mailbox: bool,
}

/// Number of cached replies per environment handle.
const PER_ENV: usize = 2;

impl Replies {
    /// Changes the number of cached replies, after the operator has changed the limits.
    pub fn resize(&mut self, keep: usize) {
        self.keep = keep;
        self.kept.drain(..self.kept.len().saturating_sub(keep));
    }

    /// Creates a cache for `keep` replies. Replies of environment handles are limited separately.
    pub fn new(keep: usize) -> Self {
        Replies {
            highest: None,
            keep,
            kept: VecDeque::new(),
            envs: HashMap::new(),
            flying: HashMap::new(),
            again: BTreeSet::new(),
        }
    }

    /// Returns the number of requests in flight.
    pub fn unanswered(&self) -> usize {
        self.flying.len()
    }

    /// Returns true if the `id` is above all previous ones.
    #[inline]
    pub fn is_new(&self, id: Id) -> bool {
        self.highest.is_none_or(|highest| id > highest)
    }

    /// Decides how to process a request.
    #[inline]
    pub fn admit(&mut self, id: Id, asked: RequestFingerprint) -> Admission {
        if self.is_new(id) {
            self.highest = Some(id);
            return Admission::New;
        }
        self.admit_repeat(id, asked)
    }

    #[cold]
    fn admit_repeat(&mut self, id: Id, asked: RequestFingerprint) -> Admission {
        if self.again.remove(&id) {
            return Admission::New;
        }
        if let Some(flight) = self.flying.get(&id) {
            return if asked.is(&flight.asked) { Admission::InFlight } else { Admission::Other };
        }
        match self.kept.iter().chain(self.envs.values().flatten()).find(|kept| kept.id == id) {
            Some(kept) if asked.is(&kept.asked) => Admission::Answered(kept.frame.clone()),
            Some(_) => Admission::Other,
            None => Admission::Old,
        }
    }

    /// Allows the client to repeat a request that was refused without execution.
    pub fn postpone(&mut self, id: Id) {
        if self.is_new(id) {
            self.again.insert(id);
            while self.again.len() > self.keep {
                self.again.pop_first();
            }
        }
    }

    /// Marks a request as in flight. `mailbox` is true if the match plane replies to the request.
    pub fn mark_in_flight(&mut self, id: Id, asked: RequestFingerprint, mailbox: bool) {
        self.flying.insert(id, Flight { asked, mailbox });
    }

    /// Caches the reply to a request. `asked` is the fingerprint of the request; `None` if the request was in flight.
    pub fn answer(&mut self, id: Id, asked: Option<RequestFingerprint>, env: Option<u32>, frame: WireFrame) {
        let flown = if self.flying.is_empty() { None } else { self.flying.remove(&id) };
        let Some(asked) = asked.or(flown.map(|flight| flight.asked)) else { return };
        let kept = CachedReply { id, asked, frame };
        let (list, most) = match env {
            Some(env) => (self.envs.entry(env).or_default(), PER_ENV),
            None => (&mut self.kept, self.keep),
        };
        if list.len() >= most {
            list.pop_front();
        }
        list.push_back(kept);
    }

    /// Removes the replies of environment handles that are not `open`.
    pub fn only_envs(&mut self, open: impl Fn(u32) -> bool) {
        if self.envs.keys().any(|&env| !open(env)) {
            self.envs.retain(|&env, _| open(env));
        }
    }

    /// Handles a lost connection. Requests in flight to the match plane may then be repeated, which is safe.
    pub fn disconnect(&mut self) {
        let lost: Vec<Id> = self.flying.iter().filter(|(_, flight)| flight.mailbox).map(|(&id, _)| id).collect();
        for id in lost {
            self.flying.remove(&id);
            self.again.insert(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &str = r#""ping""#;
    const OPEN: &str = r#""open","game":"nim""#;
    const STEP: &str = r#""step","env":1,"actions":[0]"#;
    const ACT: &str = r#""act","match":"m_1","turn":0,"action":1"#;

    fn frame(text: &str) -> WireFrame {
        WireFrame::new(Encoding::Json, text.as_bytes().to_vec())
    }

    fn fingerprint(request: &str) -> RequestFingerprint {
        let text = format!(r#"{{"id":1,"type":{request}}}"#);
        let (_, message) = Encoding::Json.decode_client(text.as_bytes(), 16).unwrap();
        RequestFingerprint::new(Encoding::Json, &message, text.as_bytes())
    }

    #[test]
    fn different_request_with_a_used_id_is_refused() {
        const ZERO: &str = r#""step","env":1,"actions":[0]"#;
        const SIX: &str = r#""step","env":1,"actions":[6]"#;
        let mut replies = Replies::new(3);
        assert!(matches!(replies.admit(1, fingerprint(ZERO)), Admission::New));
        replies.mark_in_flight(1, fingerprint(ZERO), false);
        assert!(matches!(replies.admit(1, fingerprint(SIX)), Admission::Other), "while the request is in flight");
        assert!(matches!(replies.admit(1, fingerprint(ZERO)), Admission::InFlight));
        replies.answer(1, None, Some(1), frame("1"));
        assert!(matches!(replies.admit(1, fingerprint(SIX)), Admission::Other), "after the reply");
        assert!(matches!(replies.admit(1, fingerprint(ZERO)), Admission::Answered(_)));
        let reordered = fingerprint(r#""step","actions":[0],"env":1"#);
        assert!(matches!(replies.admit(1, reordered), Admission::Answered(_)), "the order of fields does not matter");
    }

    #[test]
    fn repeated_request_gets_the_cached_reply() {
        let mut replies = Replies::new(3);
        for id in 1..=5 {
            assert!(matches!(replies.admit(id, fingerprint(PING)), Admission::New));
            replies.answer(id, Some(fingerprint(PING)), None, frame(&id.to_string()));
        }
        for id in 3..=5 {
            let Admission::Answered(kept) = replies.admit(id, fingerprint(PING)) else { panic!("{id}") };
            assert_eq!(kept.message, frame(&id.to_string()).message);
        }
        assert!(matches!(replies.admit(4, fingerprint(OPEN)), Admission::Other), "another request");
        assert!(matches!(replies.admit(2, fingerprint(PING)), Admission::Old), "too old");
        assert!(matches!(replies.admit(-7, fingerprint(PING)), Admission::Old), "never seen");
    }

    #[test]
    fn environment_handle_caches_its_last_two_replies() {
        let mut replies = Replies::new(8);
        for id in 1..=3 {
            assert!(matches!(replies.admit(id, fingerprint(STEP)), Admission::New));
            replies.answer(id, Some(fingerprint(STEP)), Some(1), frame(&id.to_string()));
        }
        assert!(matches!(replies.admit(1, fingerprint(STEP)), Admission::Old));
        assert!(matches!(replies.admit(2, fingerprint(STEP)), Admission::Answered(_)));
        replies.only_envs(|env| env != 1);
        assert!(matches!(replies.admit(3, fingerprint(STEP)), Admission::Old));
    }

    #[test]
    fn refused_request_may_be_repeated() {
        let mut replies = Replies::new(8);
        replies.postpone(1);
        assert!(matches!(replies.admit(2, fingerprint(ACT)), Admission::New));
        replies.mark_in_flight(2, fingerprint(ACT), true);
        assert!(matches!(replies.admit(1, fingerprint(ACT)), Admission::New));
        assert!(matches!(replies.admit(2, fingerprint(ACT)), Admission::InFlight));
        assert_eq!(replies.unanswered(), 1);
        replies.disconnect();
        assert_eq!(replies.unanswered(), 0);
        assert!(matches!(replies.admit(2, fingerprint(ACT)), Admission::New));
    }

    #[test]
    fn cached_reply_is_reencoded_for_a_new_connection() {
        let json = frame(r#"{"type":"pong","re":4,"now_ms":9}"#);
        let packed = json.speaking(Encoding::MsgPack, 16);
        assert_eq!(packed.encoding, Encoding::MsgPack);
        assert_eq!(packed.speaking(Encoding::Json, 16).message, json.message);
    }
}
