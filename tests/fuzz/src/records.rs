//! Lines of records: both parsers of the kernel and the verifier of the referee.

use std::sync::LazyLock;

use ludex_env::recording::{Keep, digest, read_line};
use ludex_protocol::record::{Record, RecordParts};
use ludex_referee::Verifier;
use ludex_referee::read::{Source, read_lines};

use crate::corpus;

static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| Verifier::new(ludex_games::builtin()));

fn check(input: &[u8]) {
    let lines = read_lines("fuzz", input);
    assert!(lines.found.len() + lines.refused.len() <= input.split(|byte| *byte == b'\n').count());
    let Ok(line) = std::str::from_utf8(input) else { return };
    let parts = RecordParts::parse(line);
    let typed = parts.clone().and_then(RecordParts::record);
    for keep in [Keep::All, Keep::WithoutNotes] {
        if let Some(read) = read_line(line, keep) {
            let parts = parts.as_ref().expect("a line that the slow parser accepts");
            assert_eq!(Ok(read.digest), digest(parts));
            if keep == Keep::All {
                assert_eq!(Ok(&read.record), typed.as_ref());
            }
        }
    }
    if let Ok(record) = &typed {
        let again = record.to_line().expect("a record of finite numbers");
        assert_eq!(Record::parse(&again).as_ref(), Ok(record));
    }
    let fast = VERIFIER.verify_line(line, Source::default());
    if let Ok(parts) = &parts {
        let slow = VERIFIER.verify(parts, Source::default());
        assert_eq!(fast.map(|record| record.digest().to_owned()), slow.map(|record| record.digest().to_owned()));
    } else {
        assert!(fast.is_err());
    }
}

#[test]
fn damaged_records_never_panic() {
    corpus::replay("records", 4_000, check);
    bolero::check!().with_iterations(1_000).for_each(|input: &[u8]| check(input));
}
