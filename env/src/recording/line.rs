//! A parser that reads a record and its digest from one line, without a tree of JSON values.
//!
//! The fast path for usual records. [`read_line`] returns `None` for all other lines, such as lines with a syntax
//! error, a duplicate key, a key that is not ASCII, or a field of the wrong type. The caller then uses the slow path,
//! [`RecordParts`](ludex_protocol::record::RecordParts). Both paths agree on every line that the fast path accepts.

use ludex_protocol::record::{ChanceRecord, FOOTER, MoveRecord, Notes, Record, RecordEvent, RefusedMove, VERSION};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::canonical::{Member, Scanner, Token, sort, write_object};
use super::digest::{Chain, OUTSIDE, write_event, write_move};

/// A record and the digest of its text.
#[derive(Clone, Debug)]
pub struct ParsedLine {
    /// The record in typed form.
    pub record: Record,
    /// Digest of the text in lowercase hex, independent of the record's own `digest`.
    pub digest: String,
}

/// A header or footer that is being read.
#[derive(Default)]
struct Part<'a> {
    /// Members as spelled in the text, as an object.
    text: String,
    /// Canonical forms of the members.
    forms: Vec<u8>,
    members: Vec<Member<'a>>,
}

impl<'a> Part<'a> {
    fn take(&mut self, scanner: &mut Scanner<'a>, key: Token<'a>) -> Option<()> {
        let from = self.forms.len();
        key.write(&mut self.forms)?;
        self.forms.push(b':');
        let value = scanner.value(&mut self.forms)?;
        self.members.push(Member { key: key.name(), form: from..self.forms.len() });
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
        self.text.push_str(key.text);
        self.text.push(':');
        self.text.push_str(scanner.between(value));
        Some(())
    }

    fn typed<T: DeserializeOwned>(&mut self) -> Option<T> {
        if self.text.is_empty() {
            self.text.push('{');
        }
        self.text.push('}');
        serde_json::from_str(&self.text).ok()
    }

    /// Returns the canonical object without the members in `except`.
    fn canonical(&mut self, except: &[&str]) -> Option<Vec<u8>> {
        sort(&mut self.members)?;
        let kept = self.members.iter().filter(|m| !except.contains(&m.key));
        let mut out = Vec::with_capacity(self.forms.len() + self.members.len() + 2);
        write_object(&mut out, kept.map(|m| &self.forms[m.form.clone()]));
        Some(out)
    }
}

/// The fields of both kinds of events. Deserializes several times faster than the tagged [`RecordEvent`].
#[derive(Deserialize)]
struct AnyEvent<'a> {
    kind: &'a str,
    seat: Option<u32>,
    turn: Option<u32>,
    action: Option<u32>,
    #[serde(alias = "said")]
    document: Option<Value>,
    ms: Option<u64>,
    tries: Option<Vec<RefusedMove>>,
    notes: Option<Notes>,
    forced: Option<bool>,
    more: Option<bool>,
}

fn event(text: &str) -> Option<RecordEvent> {
    // The filter refuses lists, which serde would accept in place of a struct.
    let any: AnyEvent = serde_json::from_str(text).ok().filter(|_| text.starts_with('{'))?;
    match any.kind {
        "chance" => Some(RecordEvent::Chance(ChanceRecord { action: any.action })),
        "move" => Some(RecordEvent::Move(MoveRecord {
            seat: any.seat?,
            turn: any.turn?,
            action: any.action,
            document: any.document,
            ms: any.ms.unwrap_or_default(),
            tries: any.tries.unwrap_or_default(),
            notes: any.notes,
            forced: any.forced.unwrap_or_default(),
            more: any.more.unwrap_or_default(),
        })),
        _ => None,
    }
}

/// The parts of events to retain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Complete events, including all notes.
    All,
    /// Events without notes, except for moves with tries or a document, which may have notes. Much faster than
    /// [`All`](Keep::All). Omitted notes are still checked and covered by the digest.
    WithoutNotes,
}

/// Reads an event spelled exactly as this program writes events: a chance outcome, or a move with neither tries nor a
/// document. Nearly all events have this form. Appends the canonical form to `forms`; `spare` is a scratch buffer.
fn plain(scanner: &mut Scanner, keep: Keep, forms: &mut Vec<u8>, spare: &mut Vec<u8>) -> Option<RecordEvent> {
    if scanner.literal("{\"kind\":\"chance\",\"action\":") {
        let event = RecordEvent::Chance(ChanceRecord { action: Some(scanner.whole()?) });
        write_event(&event, forms).ok()?;
        return scanner.literal("}").then_some(event);
    }
    let mut number = |name| if scanner.literal(name) { scanner.whole::<u32>() } else { None };
    let seat = number("{\"kind\":\"move\",\"seat\":")?;
    let turn = number(",\"turn\":")?;
    let action = Some(number(",\"action\":")?);
    let ms = if scanner.literal(",\"ms\":") { scanner.whole()? } else { return None };
    let at = if scanner.literal(",\"notes\":") {
        spare.clear();
        Some(scanner.value(spare)?)
    } else {
        None
    };
    let forced = scanner.literal(",\"forced\":true");
    let more = scanner.literal(",\"more\":true");
    if !scanner.literal("}") {
        return None;
    }
    let mut event = MoveRecord { seat, turn, action, ms, forced, more, ..MoveRecord::default() };
    write_move(&event, at.is_some().then_some(spare), forms);
    if let Some(at) = at {
        event.notes = notes(scanner.between(at), keep)?;
    }
    Some(RecordEvent::Move(event))
}

/// Parses notes that are an object, to the extent that `keep` requires. Members that [`Notes`] does not define may have
/// any value.
fn notes(text: &str, keep: Keep) -> Option<Option<Notes>> {
    const NAMES: [&str; 4] = ["\"analysis\"", "\"emotion\"", "\"say\"", "\"tokens\""];
    if !text.starts_with('{') {
        return None;
    }
    let notes = match keep {
        _ if NAMES.iter().any(|name| text.contains(name)) => serde_json::from_str(text).ok()?,
        Keep::All => Notes { more: serde_json::from_str(text).ok()?, ..Notes::default() },
        Keep::WithoutNotes => return Some(None),
    };
    Some((keep == Keep::All).then_some(notes))
}

/// Reads a record from its line, with the parts selected by `keep`. If the result is `None`, the caller must use the
/// slow path, [`RecordParts`](ludex_protocol::record::RecordParts).
pub fn read_line(line: &str, keep: Keep) -> Option<ParsedLine> {
    let mut scanner = Scanner::new(line);
    let (mut header, mut footer) = (Part::default(), Part::default());
    let mut events: Option<Vec<RecordEvent>> = None;
    // Canonical forms of the events, and the end offset of each form.
    let (mut forms, mut ends) = (Vec::with_capacity(line.len()), Vec::with_capacity(line.len() / 55));
    let mut spare = Vec::new();
    scanner.object(|scanner, key| match key.name() {
        "events" if events.is_some() => None,
        "events" => {
            // Nearly every event takes at least 55 bytes.
            let list = events.insert(Vec::with_capacity(line.len() / 55));
            scanner.list(|scanner| {
                let from = forms.len();
                if let Some(plain) = scanner.attempt(|scanner| plain(scanner, keep, &mut forms, &mut spare)) {
                    list.push(plain);
                } else {
                    forms.truncate(from);
                    let at = scanner.value(&mut forms)?;
                    list.push(event(scanner.between(at))?);
                }
                ends.push(forms.len());
                Some(())
            })
        }
        name if FOOTER.contains(&name) => footer.take(scanner, key),
        _ => header.take(scanner, key),
    })?;
    if !scanner.is_at_end() {
        return None;
    }
    let mut chain = Chain::of_canonical(&header.canonical(&[])?);
    let mut from = 0;
    for end in ends {
        chain.push_canonical(&forms[from..end]);
        from = end;
    }
    chain.push_canonical(&footer.canonical(&OUTSIDE)?);
    let record = Record { header: header.typed()?, events: events?, footer: footer.typed()? };
    // `at_fault: null` gets the slow path: the typed form cannot distinguish it from an absent `at_fault`.
    let unclear = record.footer.at_fault.is_none() && footer.members.iter().any(|m| m.key == "at_fault");
    ((1..=VERSION).contains(&record.header.ludex) && !unclear).then(|| ParsedLine { record, digest: chain.hex() })
}
