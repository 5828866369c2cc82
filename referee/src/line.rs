//! A record read from its line: typed, with its digest, and without a tree of JSON values.
//!
//! This is the fast way for usual records. [`read`] gives `None` for everything else: a damaged line, a key that is
//! there twice, a key that is not plain ASCII, a field of a wrong type. Then [`Parts`](ludex_protocol::record::Parts)
//! decides, and its verdict is the same for every line that this way accepts.

use ludex_protocol::record::{ChanceRecord, FOOTER, MoveRecord, Notes, Record, RecordEvent, Try, VERSION};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::canonical::{Member, Scanner, Token, sort, write_object};
use crate::digest::{Chain, OUTSIDE};

/// A record and the digest that its text has.
pub(crate) struct Line {
    pub record: Record,
    pub digest: String,
}

/// Header or footer while it is read.
#[derive(Default)]
struct Part<'a> {
    /// The members as they stand in the text, as an object.
    text: String,
    /// The members in canonical form.
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

    /// The canonical object without the members in `except`.
    fn canonical(&mut self, except: &[&str]) -> Option<Vec<u8>> {
        sort(&mut self.members)?;
        let kept = self.members.iter().filter(|m| !except.contains(&m.key));
        let mut out = Vec::with_capacity(self.forms.len() + self.members.len() + 2);
        write_object(&mut out, kept.map(|m| &self.forms[m.form.clone()]));
        Some(out)
    }
}

/// An event with the members of both kinds, which is read several times faster than the tagged [`RecordEvent`].
#[derive(Deserialize)]
struct AnyEvent<'a> {
    kind: &'a str,
    seat: Option<u32>,
    turn: Option<u32>,
    action: Option<u32>,
    said: Option<Value>,
    ms: Option<u64>,
    tries: Option<Vec<Try>>,
    notes: Option<Notes>,
    forced: Option<bool>,
    more: Option<bool>,
}

fn event(text: &str) -> Option<RecordEvent> {
    // serde would read a list as a struct too.
    let any: AnyEvent = serde_json::from_str(text).ok().filter(|_| text.starts_with('{'))?;
    match any.kind {
        "chance" => Some(RecordEvent::Chance(ChanceRecord { action: any.action })),
        "move" => Some(RecordEvent::Move(MoveRecord {
            seat: any.seat?,
            turn: any.turn?,
            action: any.action,
            said: any.said,
            ms: any.ms.unwrap_or_default(),
            tries: any.tries.unwrap_or_default(),
            notes: any.notes,
            forced: any.forced.unwrap_or_default(),
            more: any.more.unwrap_or_default(),
        })),
        _ => None,
    }
}

/// Reads a line. `None` says nothing about the record, only that the slow way must be taken.
pub(crate) fn read(line: &str) -> Option<Line> {
    let mut scanner = Scanner::new(line);
    let (mut header, mut footer) = (Part::default(), Part::default());
    let mut events: Option<Vec<RecordEvent>> = None;
    // The canonical forms of the events, and where each ends.
    let (mut forms, mut ends) = (Vec::new(), Vec::new());
    scanner.object(|scanner, key| match key.name() {
        "events" if events.is_some() => None,
        "events" => {
            let list = events.insert(Vec::new());
            scanner.list(|scanner| {
                let at = scanner.value(&mut forms)?;
                ends.push(forms.len());
                list.push(event(scanner.between(at))?);
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
    // `null` is not the same as absent here, but the typed form cannot tell them apart.
    let unclear = record.footer.at_fault.is_none() && footer.members.iter().any(|m| m.key == "at_fault");
    (record.header.ludex == VERSION && !unclear).then(|| Line { record, digest: chain.hex() })
}

#[cfg(test)]
mod tests;
