//! Bundles of runs. The input is a bundle without its compression, whose checksum would refuse nearly all mutations.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle;

use crate::corpus;

fn check(input: &[u8]) {
    let _ = bundle::read_bytes(input, "fuzz");
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(input).unwrap();
    let Ok(files) = bundle::read_bytes(&packed.finish().unwrap(), "fuzz") else { return };
    let place = Path::new("fuzz");
    let refused = bundle::check(place, &files);
    assert_eq!(refused, bundle::check(place, &files));
    if let Ok(archive) = Archive::of_files(place, files) {
        for found in &archive.found {
            let _ = archive.calls_of(found.parts.header.get("episode").and_then(|name| name.as_str()).unwrap_or(""));
        }
        let _ = (archive.unfinished(), archive.is_done());
    }
}

#[test]
fn damaged_bundles_never_panic() {
    corpus::replay("bundles", 4_000, check);
    bolero::check!().with_iterations(1_000).for_each(|input: &[u8]| check(input));
}
