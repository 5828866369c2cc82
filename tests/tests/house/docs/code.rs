//! Rust code of the pages: every fence is a doctest, and the guide for new games names existing methods.

use super::{files, read, root};

/// The crate root whose doctests compile the pages.
const DOCTESTS: &str = "tests/src/lib.rs";

/// The guide for new games.
const GUIDE: &str = "docs/adding-a-game.md";

#[test]
fn every_rust_fence_is_a_doctest() {
    let doctests = read(&root().join(DOCTESTS));
    let mut faults = Vec::new();
    for page in files(&root().join("docs")).into_iter().filter(|file| file.ends_with(".md")) {
        let text = read(&root().join("docs").join(&page));
        let fences = || text.lines().filter_map(|line| line.trim_start().strip_prefix("```rust"));
        if fences().next().is_some() && !doctests.contains(&format!("include_str!(\"../../docs/{page}\")")) {
            faults.push(format!("docs/{page}: expected its fences among the doctests of {DOCTESTS}"));
        }
        let skipped = fences().filter(|attributes| !attributes.is_empty());
        faults.extend(skipped.map(|attributes| format!("docs/{page}: expected ```rust, got ```rust{attributes}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn guide_names_methods_of_games() {
    let guide = read(&root().join(GUIDE));
    let (_, methods) = guide.split_once("**The required methods:**").unwrap();
    let (methods, _) = methods.split_once("### Documents").unwrap();
    let kernel = root().join("env/src");
    let is_trait = |file: &&String| *file == "game.rs" || file.starts_with("game/");
    let source: String = files(&kernel).iter().filter(is_trait).map(|file| read(&kernel.join(file))).collect();
    let rows = methods.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let names: Vec<&str> = rows.flat_map(|cell| cell.split("`, `")).map(|name| name.trim_end_matches('`')).collect();
    assert!(names.len() > 40, "{names:?}");
    let missing: Vec<&&str> = names.iter().filter(|name| !source.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{GUIDE}: not a method of a game: {missing:?}");
}
