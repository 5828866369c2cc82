//! Links of Markdown pages: `[text](target)` outside code.

use std::path::Path;

/// Returns the lines of `text` that are not inside a code fence.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Returns the targets of all links.
pub fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Every second part of a line is code between backticks.
        for part in line.split('`').step_by(2) {
            let after = part.split("](").skip(1);
            found.extend(after.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
        }
        // If the text of a link is code, the split above divided the link.
        for (at, _) in line.match_indices("`](") {
            found.extend(line[at + 3..].split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the anchors of a page's headings, as mdBook generates them.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let id = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    headings.map(id).collect()
}

/// Checks that `target`, a link on `page` (relative to `root`), refers to an existing file and heading. Links to other
/// hosts are not checked.
pub fn resolve(root: &Path, page: &Path, target: &str) -> Result<(), String> {
    if target.starts_with("https://") {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let here = root.join(page);
    let path = if file.is_empty() { here } else { here.with_file_name(file) };
    if !path.exists() {
        return Err("the file does not exist".into());
    }
    // The book must not link to files outside its folder.
    let book = root.join("docs").canonicalize().unwrap();
    if page.starts_with("docs") && !path.canonicalize().unwrap().starts_with(book) {
        return Err("a page of the book cannot link to a file outside of docs/".into());
    }
    if path.extension().is_some_and(|kind| kind == "html") && super::read(&path).contains(&format!("id=\"{anchor}\"")) {
        return Ok(());
    }
    if anchor.is_empty() || anchors(&super::read(&path)).iter().any(|a| a == anchor) {
        return Ok(());
    }
    Err("the heading does not exist".into())
}

#[test]
fn links_are_found() {
    let text = "# A b-c: `d`\n[x](y.md) and `[no](no.md)` and [`z`](z.md#a)\n```\n[no](no.md)\n```\n[w](#e)";
    assert_eq!(targets(text), ["#e", "y.md", "z.md#a"]);
    assert_eq!(anchors(text), ["a-b-c-d"]);
    let root = super::root();
    assert!(resolve(&root, Path::new("docs/protocol.md"), "#7-resume").is_ok());
    assert!(resolve(&root, Path::new("docs/protocol.md"), "#8-resume").is_err());
    assert!(resolve(&root, Path::new("docs/protocol.md"), "nothing.md").is_err());
    assert!(resolve(&root, Path::new("docs/protocol.md"), "../README.md").is_err());
}
