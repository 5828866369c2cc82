//! Line limits of the crates, which keep each crate small enough to read.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Workspace, files, root};

/// Maximum lines of Rust per crate, including tests, benches and examples. A crate that reaches its limit is split, or a
/// feature that needs the lines raises it with the reason in the commit. The tests grow with what they test.
const CEILINGS: &[(&str, usize)] = &[
    ("ludex-protocol", 9_000),
    ("ludex-env", 14_000),
    ("ludex-games", 48_500),
    ("ludex-agents", 28_300),
    ("ludex-referee", 15_150),
    ("ludex-report", 14_900),
    ("ludex-play", 12_900),
    ("ludex-store", 7_300),
    ("ludex-gym", 3_450),
    ("ludex-pages", 1_850),
    ("ludex-arena", 13_480),
    ("ludex-server", 11_680),
    ("ludex-doors", 3_500),
    ("ludex-cli", 9_550),
    ("ludex-client", 2_540),
    ("own-game", 700),
    ("ludex-tests", 27_700),
    ("ludex-conformance", 9_140),
    ("ludex-fuzz", 400),
];

/// Returns the number of lines per workspace member. A file belongs to the member with the nearest manifest.
fn lines_by_member() -> BTreeMap<String, usize> {
    let house = Workspace::read();
    let members: Vec<(&Path, &str)> = house.members().map(|(_, p)| (p.folder(), p.name.as_str())).collect();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for path in files().iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        let path = root().join(path);
        let nearest = path.ancestors().find_map(|folder| members.iter().find(|(member, _)| *member == folder));
        let (_, name) = nearest.unwrap_or_else(|| panic!("{} belongs to no member", path.display()));
        *lines.entry((*name).to_owned()).or_default() += std::fs::read_to_string(&path).unwrap().lines().count();
    }
    lines
}

#[test]
fn crates_stay_under_line_limits() {
    let ceilings: BTreeMap<&str, usize> = CEILINGS.iter().copied().collect();
    let mut excess = Vec::new();
    for (member, lines) in lines_by_member() {
        let ceiling = *ceilings.get(member.as_str()).unwrap_or_else(|| panic!("{member} has no ceiling"));
        if lines > ceiling {
            excess.push(format!("{member}: expected at most {ceiling} lines, got {lines}"));
        }
    }
    assert!(excess.is_empty(), "{}", excess.join("\n"));
}
