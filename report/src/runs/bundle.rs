//! Bundles: a run as one gzipped tar with its files, report, card and checksums. `ludex verify` needs no other files.
//!
//! The bundle of a season has the description of the season, its table, and its records or the bundles of its runs.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::{Component, Path};
use std::rc::Rc;

use anyhow::Context as _;
use flate2::bufread::GzDecoder;
use ludex_referee::read::{RejectedRecord, Source};

use super::describe::{LICENSE, about_run, program, sha256};
use super::run_files::{ANSWERS, CALLS, CONSENT, EPISODES, FORMER_ANSWERS, LABELS, LOG, RUN, SUITE};
use super::settings::RunSettings;

/// SHA-256 of all other files, in the format of `sha256sum`.
pub const SUMS: &str = "SHA256SUMS";
/// Files of a run or a bundle, by name.
pub type Files = BTreeMap<String, Vec<u8>>;
/// Description of the bundle.
pub const CARD: &str = "CARD.md";
/// Description of a season.
pub const SEASON: &str = "season.json";
/// Table of a season.
pub const TABLE: &str = "table.json";
/// End of the name of a run's bundle.
pub const PACKED: &str = ".tar.gz";
/// Report as JSON, for programs.
pub const REPORT: &str = "report.json";
/// Report as HTML, for people.
pub const PAGE: &str = "report.html";
/// Maximum size in bytes of the headers between two files of a bundle.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Maximum ratio of unpacked to packed size. Zeros reach a ratio of about 1,000, the lines of runs stay below 100.
const MAX_RATIO: u64 = 512;
/// Unpacked size in bytes up to which a bundle may exceed [`MAX_RATIO`].
const SMALL_BYTES: u64 = 64 << 20;

/// Returns the maximum size in bytes of a file of a bundle; `None` for a name that no bundle has.
fn max_bytes(name: &str) -> Option<u64> {
    match name {
        SUMS | CARD | RUN | SUITE | CONSENT => Some(16 << 20),
        REPORT | PAGE | LOG | SEASON | TABLE => Some(256 << 20),
        EPISODES | CALLS | ANSWERS | FORMER_ANSWERS | LABELS => Some(4 << 30),
        run if run.ends_with(PACKED) => Some(4 << 30),
        _ => None,
    }
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

/// Reads the files of a bundle. A file with an unknown name or above its size limit is refused before it is read.
///
/// # Errors
/// Returns an error if the bundle is incomplete, if it contains anything except the files of a bundle in a single
/// folder, or if a file or the bundle is too large.
pub fn read(file: &Path) -> anyhow::Result<Files> {
    let name = file.display();
    let open = std::fs::File::open(file).with_context(|| format!("{name} cannot be opened"))?;
    let packed = open.metadata().with_context(|| format!("{name} cannot be read"))?.len();
    read_from(open, packed, &name.to_string())
}

/// Reads the files of a bundle in memory; `name` is the bundle's name in messages.
///
/// # Errors
/// Those of [`read`].
pub fn read_bytes(bundle: &[u8], name: &str) -> anyhow::Result<Files> {
    read_from(bundle, bundle.len() as u64, name)
}

/// Reads the files of a bundle of `packed` bytes; `name` is the bundle's name in messages.
fn read_from(bundle: impl Read, packed: u64, name: &str) -> anyhow::Result<Files> {
    let allowance = Rc::new(Cell::new(MAX_HEADER_BYTES));
    let mut tar =
        tar::Archive::new(Metered { from: GzDecoder::new(BufReader::new(bundle)), allowance: allowance.clone() });
    let mut room = packed.saturating_mul(MAX_RATIO).max(SMALL_BYTES);
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
        let most = max_bytes(inner).with_context(|| format!("{name}: unexpected file {inner:?} in a bundle"))?;
        let size = entry.size();
        anyhow::ensure!(size <= most, "{name}: {inner}: expected at most {most} bytes, got {size}");
        anyhow::ensure!(!files.contains_key(inner), "{name}: duplicate file {inner}");
        room = room.checked_sub(size).with_context(|| {
            format!(
                "{name}: {inner}: expected an unpacked size of at most {MAX_RATIO} times the bundle's {packed} bytes"
            )
        })?;
        allowance.set(size.saturating_add(MAX_HEADER_BYTES));
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).with_context(damaged)?;
        allowance.set(MAX_HEADER_BYTES);
        files.insert(inner.to_owned(), bytes);
    }
    // The end of the archive has the checksum of the compression, which is checked when it is read.
    let mut rest = tar.into_inner();
    io::copy(&mut rest, &mut io::sink()).with_context(damaged)?;
    let trailing = rest.from.into_inner().bytes().next().is_some();
    anyhow::ensure!(!trailing, "{name}: expected the end of the bundle, got further bytes");
    let whole = files.contains_key(RUN) || files.contains_key(SEASON);
    anyhow::ensure!(whole, "{name} is not a bundle of a run or a season: it has neither {RUN} nor {SEASON}");
    Ok(files)
}

/// Reader that fails after a number of bytes. The limit bounds data that the archive reader reads on its own, such as
/// long names and skipped entries.
struct Metered<R> {
    from: R,
    /// Number of bytes that may still be read.
    allowance: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.allowance.get();
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        if most == 0 && !into.is_empty() {
            return Err(io::Error::other(format!("expected at most {MAX_HEADER_BYTES} bytes between two files")));
        }
        let count = self.from.read(&mut into[..most])?;
        self.allowance.set(left - count as u64);
        Ok(count)
    }
}

/// Compares files with the checksums in the bundle at `place`. Returns nothing if the bundle has no checksums.
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
pub fn sums(files: &Files) -> String {
    files.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect()
}

/// Returns the card of a bundle.
pub fn card(run: &RunSettings, files: &Files) -> String {
    let lines = |name: &str| files.get(name).map_or(0, |bytes| bytes.iter().filter(|&&b| b == b'\n').count());
    let about = |name: &str| match name {
        RUN => "settings, fixed at the start of the run".to_owned(),
        SUITE => "copy of the suite file".to_owned(),
        EPISODES => format!("{} match records, one per line", lines(EPISODES)),
        CALLS => format!("{} model calls, one per line", lines(CALLS)),
        ANSWERS | FORMER_ANSWERS => format!("{} cached replies, one per line", lines(name)),
        LABELS => format!("labels of decisions in {} lines", lines(LABELS)),
        CONSENT => format!("{} acceptances of the operator's consent text, by agent", lines(CONSENT)),
        LOG => "log of the run: starts, stops and failures".to_owned(),
        "report.html" | "report.json" => "ratings and results".to_owned(),
        _ => String::new(),
    };
    let rows: String =
        files.iter().map(|(name, bytes)| format!("| `{name}` | {} | {} |\n", bytes.len(), about(name))).collect();
    format!(
        "# {}\n\nA complete run of {}. `ludex verify FILE` checks its checksums, replays every match, and compares seeds, rules and \
         calls with the settings.\n\n{}\n## Files\n\n| file | bytes | |\n|---|---|---|\n{rows}| `{SUMS}` | | SHA-256 of each file |\n{LICENSE}",
        run.run,
        program(run),
        about_run(run),
    )
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

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

    /// Packs a small file, and then an entry of type `kind` that holds zeros.
    fn with_zeros(name: &str, kind: tar::EntryType, zeros: u64) -> Vec<u8> {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
        let mut append = |name: &str, kind, data: &mut dyn Read, size| {
            let mut header = tar::Header::new_gnu();
            header.set_size(size);
            header.set_entry_type(kind);
            tar.append_data(&mut header, Path::new("r").join(name), data).unwrap();
        };
        append(RUN, tar::EntryType::Regular, &mut b"{}".as_slice(), 2);
        append(name, kind, &mut io::repeat(0).take(zeros), zeros);
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn oversized_file_is_refused_before_it_is_read() {
        let (regular, long_name) = (tar::EntryType::Regular, tar::EntryType::GNULongName);
        for (name, kind, expected) in [
            ("more.bin", regular, "unexpected file \"more.bin\" in a bundle"),
            (SUITE, regular, "suite.toml: expected at most 16777216 bytes, got 134217728"),
            (EPISODES, regular, "episodes.jsonl: expected an unpacked size of at most 512 times the bundle's"),
            (EPISODES, long_name, "expected at most 1048576 bytes between two files"),
            (EPISODES, tar::EntryType::Directory, "expected at most 1048576 bytes between two files"),
        ] {
            let packed = with_zeros(name, kind, 128 << 20);
            let mut unread = packed.as_slice();
            let said = format!("{:#}", read_from(&mut unread, packed.len() as u64, "b").unwrap_err());
            assert!(said.contains(expected), "{said}");
            assert!(unread.len() > packed.len() / 2, "{name}: {} of {} bytes are unread", unread.len(), packed.len());
        }
    }

    #[test]
    fn damaged_end_of_bundle_is_refused() {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        tar.append_data(&mut header, Path::new("r").join(RUN), b"{}".as_slice()).unwrap();
        let packed = tar.into_inner().unwrap().finish().unwrap();
        assert_eq!(read_bytes(&packed, "b").unwrap().len(), 1);
        for damaged in [packed[..packed.len() - 8].to_vec(), [&packed[..], b"more"].concat()] {
            assert!(read_bytes(&damaged, "b").is_err());
        }
        let mut flipped = packed.clone();
        *flipped.last_mut().unwrap() ^= 1;
        assert!(read_bytes(&flipped, "b").is_err());
    }
}
