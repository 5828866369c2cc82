//! Bundles: a run as one gzipped tar with its files, report, card and checksums. `ludex verify` needs no other files.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Component, Path};

use anyhow::Context as _;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ludex_referee::read::{RejectedRecord, Source};

use super::describe::{LICENCE, about_run, program, sha256};
use super::run_files::{CALLS, EPISODES, FILES, LOG, ONCE, RUN, SUITE, whole_lines};
use super::settings::RunSettings;

/// SHA-256 of all other files, in the format of `sha256sum`.
pub const SUMS: &str = "SHA256SUMS";
/// Files of a run or a bundle, by name.
pub type Files = BTreeMap<String, Vec<u8>>;
/// Description of the bundle.
pub const CARD: &str = "CARD.md";
/// Report as JSON, for programs.
pub const REPORT: &str = "report.json";
/// Report as HTML, for people.
pub const PAGE: &str = "report.html";
/// Maximum size of an unpacked bundle in bytes, larger than any run.
const MOST: u64 = 16 << 30;

/// Returns the files of a bundle: the run's files, the pages of its report, a card and checksums.
pub fn contents(about: &RunSettings, run: &Files, pages: Files) -> Files {
    let mut files = pages;
    for name in FILES {
        let Some(bytes) = run.get(name) else { continue };
        // An incomplete last line is omitted.
        let end = if name.ends_with(".jsonl") { whole_lines(bytes) } else { bytes.len() };
        files.insert(name.to_owned(), bytes[..end].to_vec());
    }
    files.insert(CARD.to_owned(), card(about, &files).into_bytes());
    files.insert(SUMS.to_owned(), sums(&files).into_bytes());
    files
}

/// Packs the [`contents`] of a bundle. Equal files give equal bytes.
///
/// # Errors
/// Returns an error if the name of the run cannot be the name of a folder.
pub fn pack(about: &RunSettings, files: &Files) -> anyhow::Result<Vec<u8>> {
    let folder = about.folder();
    let folder = Path::new(&folder);
    let plain = folder.components().count() == 1 && folder.components().all(|c| matches!(c, Component::Normal(_)));
    anyhow::ensure!(plain, "{:?} cannot be the name of a folder in a bundle", about.run);
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        tar.append_data(&mut header, folder.join(name), bytes.as_slice())?;
    }
    let mut gzip = tar.into_inner()?;
    gzip.flush()?;
    Ok(gzip.finish()?)
}

/// Returns true if the file `path` starts with the magic number of gzip.
pub fn is_bundle(path: &Path) -> bool {
    let mut head = [0; 2];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == [0x1f, 0x8b]
}

/// Reads all files of a folder into which a bundle was unpacked. Returns no files if the folder has no checksums.
///
/// # Errors
/// Returns an error for a file that cannot be read.
pub fn unpacked(folder: &Path) -> anyhow::Result<Files> {
    let mut files = BTreeMap::new();
    if !folder.join(SUMS).is_file() {
        return Ok(files);
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_file()) {
            let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            files.insert(name.to_owned(), bytes);
        }
    }
    Ok(files)
}

/// Reads the files of a bundle.
///
/// # Errors
/// Returns an error if the bundle is incomplete, or if it contains anything except files in a single folder.
pub fn read(file: &Path) -> anyhow::Result<Files> {
    let name = file.display();
    let open = std::fs::File::open(file).with_context(|| format!("{name} cannot be opened"))?;
    let mut tar = tar::Archive::new(GzDecoder::new(open).take(MOST));
    let mut files = BTreeMap::new();
    let damaged = || format!("{name} is not a complete bundle; `ludex export RUN --bundle FILE` creates one");
    for entry in tar.entries().with_context(damaged)? {
        let mut entry = entry.with_context(damaged)?;
        let path = entry.path().with_context(damaged)?.into_owned();
        if entry.header().entry_type().is_dir() {
            continue;
        }
        let parts: Vec<Component> = path.components().collect();
        let inner = match parts.as_slice() {
            [Component::Normal(_), Component::Normal(inner)] if entry.header().entry_type().is_file() => inner.to_str(),
            _ => None,
        };
        let inner =
            inner.with_context(|| format!("{name}: expected files in a single folder only, got {}", path.display()))?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).with_context(damaged)?;
        let twice = files.insert(inner.to_owned(), bytes).is_some();
        anyhow::ensure!(!twice, "{name}: duplicate file {inner}");
    }
    anyhow::ensure!(files.contains_key(RUN), "{name} is not a bundle of a run: it has no {RUN}");
    Ok(files)
}

/// Compares files with the checksums in the bundle, if it has any. `place` is the location of the bundle in messages.
pub fn check(place: &Path, files: &Files) -> Vec<RejectedRecord> {
    let Some(sums) = files.get(SUMS) else { return Vec::new() };
    let mut wrong = Vec::new();
    let mut refuse = |name: &str, line: usize, message: String| {
        let source = Source { file: place.join(name).display().to_string(), line };
        wrong.push(RejectedRecord { source, episode: None, message });
    };
    let mut listed = Vec::new();
    for (k, line) in String::from_utf8_lossy(sums).lines().enumerate() {
        // `sha256sum` writes two blanks, or a blank and a star for binary files.
        let Some((sum, name)) = line.split_once(' ').map(|(sum, name)| (sum, name.trim_start_matches([' ', '*'])))
        else {
            refuse(SUMS, k + 1, format!("expected a checksum and a file name, got {line:?}"));
            continue;
        };
        listed.push(name.to_owned());
        match files.get(name) {
            None => refuse(name, 0, format!("is missing, but {SUMS} lists it")),
            Some(bytes) if sha256(bytes) != sum => {
                refuse(name, 0, format!("was changed: its checksum differs from {SUMS}"))
            }
            Some(_) => {}
        }
    }
    for name in files.keys().filter(|name| *name != SUMS && !listed.contains(name)) {
        refuse(name, 0, format!("is not listed in {SUMS}"));
    }
    wrong
}

/// Returns the checksums, one line per file.
fn sums(files: &Files) -> String {
    files.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect()
}

/// Returns the card of a bundle.
pub fn card(run: &RunSettings, files: &Files) -> String {
    let lines = |name: &str| files.get(name).map_or(0, |bytes| bytes.iter().filter(|&&b| b == b'\n').count());
    let about = |name: &str| match name {
        RUN => "settings, fixed when the run began".to_owned(),
        SUITE => "the suite as it was".to_owned(),
        EPISODES => format!("{} match records, one per line", lines(EPISODES)),
        CALLS => format!("{} model calls, one per line", lines(CALLS)),
        ONCE => format!("{} cached replies, one per line", lines(ONCE)),
        LOG => "what happened to the run".to_owned(),
        "report.html" | "report.json" => "ratings and results".to_owned(),
        _ => String::new(),
    };
    let rows: String =
        files.iter().map(|(name, bytes)| format!("| `{name}` | {} | {} |\n", bytes.len(), about(name))).collect();
    format!(
        "# {}\n\nA run of {}, whole: `ludex verify FILE` checks its sums, plays every match again, and compares seeds, rules and \
         calls with the settings.\n\n{}\n## Files\n\n| file | bytes | |\n|---|---|---|\n{rows}| `{SUMS}` | | SHA-256 of each |\n{LICENCE}",
        run.run,
        program(run),
        about_run(run),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_reveal_changed_files() {
        let mut files = BTreeMap::from([("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())]);
        files.insert(SUMS.to_owned(), sums(&files).into_bytes());
        assert_eq!(check(Path::new("x"), &files), []);
        files.insert("a".to_owned(), b"3".to_vec());
        files.remove("b");
        files.insert("c".to_owned(), Vec::new());
        let said: Vec<String> = check(Path::new("x"), &files).iter().map(ToString::to_string).collect();
        assert!(said.len() == 3 && said[0].starts_with("x/a: was changed"), "{said:?}");
        assert!(said[1].starts_with("x/b: is missing") && said[2].starts_with("x/c: is not listed"), "{said:?}");
    }
}
