//! Serialization of a record to its line of JSON.
//!
//! The line equals serde's output for the whole record. Serializing each part separately is faster, because serde
//! copies flattened parts field by field.

use serde_json::Value;

use super::{ChanceRecord, MoveRecord, Record, RecordEvent};

/// Returns the record as one line, without the line break.
pub(super) fn write(record: &Record) -> serde_json::Result<String> {
    let mut line = Vec::with_capacity(1024 + 64 * record.events.len());
    serde_json::to_writer(&mut line, &record.header)?;
    line.pop();
    line.extend_from_slice(b",\"events\":[");
    for (k, event) in record.events.iter().enumerate() {
        if k > 0 {
            line.push(b',');
        }
        match record.header.ludex {
            1 => serde_json::to_writer(&mut line, &format_1(event)?)?,
            _ => write_event(event, &mut line)?,
        }
    }
    line.push(b']');
    let from = line.len();
    serde_json::to_writer(&mut line, &record.footer)?;
    match line[from..] {
        // The footer of a running match has no members.
        [b'{', b'}'] => drop(line.remove(from)),
        _ => line[from] = b',',
    }
    String::from_utf8(line).map_err(serde::de::Error::custom)
}

/// Returns an event with the field names of format 1, on which the digest of a record of that format depends.
fn format_1(event: &RecordEvent) -> serde_json::Result<Value> {
    let mut event = serde_json::to_value(event)?;
    let rename = |of: &mut Value, name: &str| {
        if let Some(of) = of.as_object_mut()
            && let Some(document) = of.remove("document")
        {
            of.insert(name.to_owned(), document);
        }
    };
    rename(&mut event, "said");
    let tries = event.get_mut("tries").and_then(Value::as_array_mut);
    tries.into_iter().flatten().for_each(|tried| rename(tried, "proposal"));
    Ok(event)
}

/// Writes an event. Events without tries, notes or documents (nearly all events) are formatted directly.
fn write_event(event: &RecordEvent, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let mut number = |name: &str, number: u64| {
        line.extend_from_slice(name.as_bytes());
        line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    };
    match event {
        RecordEvent::Chance(ChanceRecord { action: Some(action) }) => {
            number("{\"kind\":\"chance\",\"action\":", (*action).into());
        }
        RecordEvent::Move(MoveRecord { seat, turn, action, document: None, ms, tries, notes: None, forced, more })
            if tries.is_empty() =>
        {
            number("{\"kind\":\"move\",\"seat\":", (*seat).into());
            number(",\"turn\":", (*turn).into());
            if let Some(action) = action {
                number(",\"action\":", (*action).into());
            }
            number(",\"ms\":", *ms);
            line.extend_from_slice(if *forced { b",\"forced\":true" } else { b"" });
            line.extend_from_slice(if *more { b",\"more\":true" } else { b"" });
        }
        other => return serde_json::to_writer(line, other),
    }
    line.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Footer, Header, Notes, RecordSeat};
    use super::*;

    #[track_caller]
    fn same(record: &Record) {
        assert_eq!(write(record).unwrap(), serde_json::to_string(record).unwrap());
    }

    #[test]
    fn line_equals_serde_output() {
        let plain = MoveRecord { seat: 1, turn: 20, action: Some(4095), ms: 7, ..MoveRecord::default() };
        let moves = [
            plain.clone(),
            MoveRecord::default(),
            MoveRecord { forced: true, ..plain.clone() },
            MoveRecord { more: true, ms: u64::MAX, ..plain.clone() },
            MoveRecord { forced: true, more: true, action: Some(u32::MAX), ..plain.clone() },
            MoveRecord { document: Some(json!({"b": 1.5, "a": "x\n"})), ..plain.clone() },
            MoveRecord { notes: Some(Notes::default()), ..plain },
        ];
        let chance = [None, Some(0), Some(12)].map(|action| RecordEvent::Chance(ChanceRecord { action }));
        let seats = vec![RecordSeat { name: "\"é\"".into(), ..RecordSeat::default() }];
        let mut record = Record { header: Header { seats, ..Header::default() }, ..Record::default() };
        same(&record);
        record.footer = Footer { returns: vec![0.5, -1.0], seed: Some("7".into()), ..Footer::default() };
        same(&record);
        record.events = moves.into_iter().map(RecordEvent::Move).chain(chance).collect();
        same(&record);
        record.footer = Footer::default();
        same(&record);
    }
}
