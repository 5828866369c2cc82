//! What was answered already: a request that comes again is not carried out again.

use std::collections::{BTreeSet, HashMap, VecDeque};

use ludex_protocol::{Encoding, Id};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

/// A message as it is sent, shared with the socket's buffer.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub encoding: Encoding,
    pub message: Message,
}

impl Frame {
    pub fn new(encoding: Encoding, bytes: Vec<u8>) -> Self {
        let message = match encoding {
            Encoding::MsgPack => Message::Binary(Bytes::from(bytes)),
            Encoding::Json => Message::Text(Utf8Bytes::try_from(bytes).unwrap_or_default()),
        };
        Frame { encoding, message }
    }

    /// The same message in another encoding, for a session that came back speaking differently.
    pub fn speaking(&self, encoding: Encoding, depth: u32) -> Frame {
        if self.encoding == encoding {
            return self.clone();
        }
        let bytes: &[u8] = match &self.message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            _ => &[],
        };
        let again = self.encoding.decode_server(bytes, depth).ok();
        match again.and_then(|(re, message)| encoding.encode_server(re, &message).ok()) {
            Some(bytes) => Frame::new(encoding, bytes),
            None => self.clone(),
        }
    }
}

/// What to do with a request's `id`.
#[derive(Debug)]
pub(crate) enum Admitted {
    /// Carry it out.
    New,
    /// It was: here is its reply.
    Answered(Frame),
    /// It is being carried out; its reply will come.
    Flying,
    /// The `id` was used for another request, or too long ago.
    Conflict,
}

/// The memory of a session's requests.
#[derive(Debug)]
pub(crate) struct Replies {
    highest: Option<Id>,
    keep: usize,
    kept: VecDeque<Kept>,
    /// The last two replies of each handle: batches are big.
    envs: HashMap<u32, VecDeque<Kept>>,
    /// Requests without a reply yet.
    flying: HashMap<Id, Flight>,
    /// Requests that came, were not carried out, and may come again.
    again: BTreeSet<Id>,
}

#[derive(Debug)]
struct Kept {
    id: Id,
    kind: &'static str,
    frame: Frame,
}

#[derive(Debug)]
struct Flight {
    kind: &'static str,
    /// Whether the match plane answers, to a mailbox that dies with the connection.
    mailbox: bool,
}

/// Replies kept of one handle.
const PER_ENV: usize = 2;

impl Replies {
    /// Keeps `keep` replies beside those of handles.
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

    /// How many requests wait for their reply.
    pub fn unanswered(&self) -> usize {
        self.flying.len()
    }

    /// Whether the `id` is above all others so far.
    #[inline]
    pub fn is_new(&self, id: Id) -> bool {
        self.highest.is_none_or(|highest| id > highest)
    }

    /// Decides about a request of type `kind`.
    #[inline]
    pub fn admit(&mut self, id: Id, kind: &'static str) -> Admitted {
        if self.is_new(id) {
            self.highest = Some(id);
            return Admitted::New;
        }
        self.known(id, kind)
    }

    #[cold]
    fn known(&mut self, id: Id, kind: &'static str) -> Admitted {
        if self.again.remove(&id) {
            return Admitted::New;
        }
        if let Some(flight) = self.flying.get(&id) {
            return if flight.kind == kind { Admitted::Flying } else { Admitted::Conflict };
        }
        match self.kept.iter().chain(self.envs.values().flatten()).find(|kept| kept.id == id) {
            Some(kept) if kept.kind == kind => Admitted::Answered(kept.frame.clone()),
            _ => Admitted::Conflict,
        }
    }

    /// The request was refused without being looked at: it may come again under its `id`.
    pub fn postpone(&mut self, id: Id) {
        if self.is_new(id) {
            self.again.insert(id);
            while self.again.len() > self.keep {
                self.again.pop_first();
            }
        }
    }

    /// The reply will come later; `mailbox`: from the match plane.
    pub fn fly(&mut self, id: Id, kind: &'static str, mailbox: bool) {
        self.flying.insert(id, Flight { kind, mailbox });
    }

    /// Keeps the reply of a request. `kind` is its type, unless it was flying.
    pub fn answer(&mut self, id: Id, kind: Option<&'static str>, env: Option<u32>, frame: Frame) {
        let flown = if self.flying.is_empty() { None } else { self.flying.remove(&id) };
        let Some(kind) = kind.or(flown.map(|flight| flight.kind)) else { return };
        let kept = Kept { id, kind, frame };
        let (list, most) = match env {
            Some(env) => (self.envs.entry(env).or_default(), PER_ENV),
            None => (&mut self.kept, self.keep),
        };
        if list.len() >= most {
            list.pop_front();
        }
        list.push_back(kept);
    }

    /// Forgets the replies of handles that were closed.
    pub fn only_envs(&mut self, open: impl Fn(u32) -> bool) {
        if self.envs.keys().any(|&env| !open(env)) {
            self.envs.retain(|&env, _| open(env));
        }
    }

    /// The connection is lost: what the match plane has not answered may come again (its requests are safe to repeat).
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

    fn frame(text: &str) -> Frame {
        Frame::new(Encoding::Json, text.as_bytes().to_vec())
    }

    #[test]
    fn what_was_answered_is_answered_again_and_not_done_again() {
        let mut replies = Replies::new(3);
        for id in 1..=5 {
            assert!(matches!(replies.admit(id, "ping"), Admitted::New));
            replies.answer(id, Some("ping"), None, frame(&id.to_string()));
        }
        for id in 3..=5 {
            let Admitted::Answered(kept) = replies.admit(id, "ping") else { panic!("{id}") };
            assert_eq!(kept.message, frame(&id.to_string()).message);
        }
        assert!(matches!(replies.admit(4, "open"), Admitted::Conflict), "another request");
        assert!(matches!(replies.admit(2, "ping"), Admitted::Conflict), "too old");
        assert!(matches!(replies.admit(-7, "ping"), Admitted::Conflict), "never seen");
    }

    #[test]
    fn a_handle_keeps_two() {
        let mut replies = Replies::new(8);
        for id in 1..=3 {
            assert!(matches!(replies.admit(id, "step"), Admitted::New));
            replies.answer(id, Some("step"), Some(1), frame(&id.to_string()));
        }
        assert!(matches!(replies.admit(1, "step"), Admitted::Conflict));
        assert!(matches!(replies.admit(2, "step"), Admitted::Answered(_)));
        replies.only_envs(|env| env != 1);
        assert!(matches!(replies.admit(3, "step"), Admitted::Conflict));
    }

    #[test]
    fn what_was_not_done_may_come_again() {
        let mut replies = Replies::new(8);
        replies.postpone(1);
        assert!(matches!(replies.admit(2, "act"), Admitted::New));
        replies.fly(2, "act", true);
        assert!(matches!(replies.admit(1, "act"), Admitted::New));
        assert!(matches!(replies.admit(2, "act"), Admitted::Flying));
        assert_eq!(replies.unanswered(), 1);
        replies.disconnect();
        assert_eq!(replies.unanswered(), 0);
        assert!(matches!(replies.admit(2, "act"), Admitted::New));
    }

    #[test]
    fn a_kept_reply_changes_its_encoding() {
        let json = frame(r#"{"type":"pong","re":4,"now_ms":9}"#);
        let packed = json.speaking(Encoding::MsgPack, 16);
        assert_eq!(packed.encoding, Encoding::MsgPack);
        assert_eq!(packed.speaking(Encoding::Json, 16).message, json.message);
    }
}
