//! Import cycles between the modules of a crate.
//!
//! A module imports a sibling (a module with the same parent) if its code, or that of its descendants, names an item of
//! the sibling or of the sibling's descendants, by `use` or by a path. Siblings that import each other, directly or
//! through other siblings, form a cycle.
//!
//! References between a module and its own descendants do not count. Re-exported names are followed to the file that
//! defines them. Code under `#[cfg(test)]` is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Workspace;
use super::imports::{Floor, floors};

/// Import cycle between sibling modules.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Circle {
    /// Parent module of the cycle; empty for the crate's root.
    floor: String,
    /// Modules of the cycle, in alphabetical order.
    rooms: Vec<String>,
    /// Imports that form the cycle.
    imports: Vec<String>,
}

/// Returns the import cycles of the crate with this source folder.
fn circles(src: &Path) -> Vec<Circle> {
    floors(src).iter().flat_map(|(floor, rooms)| circles_of(&floor.join("::"), rooms)).collect()
}

fn circles_of(floor: &str, rooms: &Floor) -> Vec<Circle> {
    let all: BTreeMap<&str, BTreeSet<&str>> =
        rooms.keys().map(|room| (room.as_str(), reachable_from(rooms, room))).collect();
    let together = |a: &str, b: &str| all[a].contains(b) && all.get(b).is_some_and(|from| from.contains(a));
    let mut found = BTreeSet::new();
    for room in all.keys().filter(|room| together(room, room)) {
        let circle: Vec<String> = all.keys().filter(|b| together(room, b)).map(|b| (*b).to_owned()).collect();
        let imports = rooms.iter().filter(|(from, _)| circle.contains(from)).flat_map(|(_, to)| to);
        let imports = imports.filter(|(to, _)| circle.contains(to)).map(|(_, reason)| reason.clone()).collect();
        found.insert(Circle { floor: floor.to_owned(), rooms: circle, imports });
    }
    found.into_iter().collect()
}

/// Returns the sibling modules that a module imports, directly or through other siblings.
fn reachable_from<'a>(rooms: &'a Floor, from: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut todo = vec![from];
    while let Some(room) = todo.pop() {
        let next = rooms.get(room).into_iter().flat_map(BTreeMap::keys);
        todo.extend(next.map(String::as_str).filter(|other| found.insert(*other)));
    }
    found
}

#[test]
fn modules_have_no_import_cycles() {
    let house = Workspace::read();
    let mut faults = Vec::new();
    for (_, member) in house.members() {
        for circle in circles(&member.folder().join("src")) {
            let (name, rooms, imports) = (&member.name, circle.rooms.join(" "), circle.imports.join("\n  "));
            faults.push(format!("{name} [{}]: {rooms} form a cycle:\n  {imports}", circle.floor));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the import cycles of a crate with these files, formatted as `parent: modules`.
fn circles_in(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    circles(folder.path()).iter().map(|c| format!("{}: {}", c.floor, c.rooms.join(" "))).collect()
}

#[test]
fn import_cycles_of_sibling_modules_are_found() {
    let lib = ("lib.rs", "mod a; mod b; mod c; pub use b::B;");
    let two = [lib, ("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B; fn f() { super::a::g() }")];
    assert_eq!(circles_in(&two), [": a b"]);
    // Imports through a third module, a name re-exported by the root, a child's file, a macro, and a serde attribute.
    let three = [
        lib,
        ("a.rs", "mod x;"),
        ("a/x.rs", "use crate::{B, c};"),
        ("b.rs", "pub struct B { #[serde(with = \"crate::c::text\")] x: u8 }"),
        ("c.rs", "fn f() { println!(\"{}\", crate::a::g()) }"),
    ];
    assert_eq!(circles_in(&three), [": a b c"]);
    let below =
        [("lib.rs", "mod a;"), ("a.rs", "mod x; mod y;"), ("a/x.rs", "use super::y;"), ("a/y.rs", "use super::x;")];
    assert_eq!(circles_in(&below), ["a: x y"]);
}

#[test]
fn imports_of_parents_tests_and_strings_form_no_cycles() {
    let one_way = ("a.rs", "use crate::b::B;");
    for back in [
        "// use crate::a;",
        "/// See [`crate::a`].\npub struct B;",
        "fn f() { g(\"see crate::a\") }",
        "#[cfg(test)]\nmod tests { use crate::a; }",
        "pub(crate) struct B; use std::a;",
    ] {
        assert_eq!(circles_in(&[("lib.rs", "mod a; mod b;"), one_way, ("b.rs", back)]), Vec::<String>::new(), "{back}");
    }
    let parent =
        [("lib.rs", "mod a; struct L;"), ("a.rs", "mod x; use x::X; use crate::L;"), ("a/x.rs", "use super::*;")];
    assert_eq!(circles_in(&parent), Vec::<String>::new());
}
