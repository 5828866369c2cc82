//! Headers of records.

use ludex_protocol::record::{Header, RecordSeat, VERSION};
use ludex_protocol::spec::Spec;

use crate::PROGRAM;
use crate::time::now_text;

/// Returns the header of an unrated episode that starts now. The header contains the `flags` whose value is true. All
/// other fields have their default values.
pub fn header(spec: &Spec, episode: String, flags: &[(&str, bool)], seats: Vec<RecordSeat>) -> Header {
    Header {
        ludex: VERSION,
        episode,
        flags: flags.iter().filter(|(_, is)| *is).map(|(flag, _)| (*flag).to_owned()).collect(),
        game: spec.game.clone(),
        params: spec.params.clone(),
        rules: spec.rules,
        hash: spec.hash.clone(),
        server: PROGRAM.to_owned(),
        seats,
        started: now_text(),
        ..Header::default()
    }
}
