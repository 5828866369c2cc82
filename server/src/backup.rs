//! Backups: the store and the folders of the runs of a data directory as one gzipped tar with checksums.
//!
//! A backup has the state that a crash at one moment would have left, which every start of a server repairs. While the
//! store cannot change, the lengths of the files of the runs are noted, which only grow. Records, whose matches are in
//! the store, are thus never newer than the store. Everything is copied afterwards.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path};

use anyhow::{Context as _, bail, ensure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ludex_report::runs::run_files::{EPISODES, LOG};
use ludex_store::{
    LOCK_FILE, STORE_FILE, StoreLocation,
    snapshot::{StoreSnapshot, install, make_independent, reserve},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// First file of a backup, which describes it.
const MANIFEST: &str = "manifest.json";
/// Last file of a backup: SHA-256 of all other files, in the format of `sha256sum`.
const SUMS: &str = "SHA256SUMS";
/// Version of the backup format.
const VERSION: u32 = 2;
/// Subdirectory of the data directory that is backed up.
const RUNS: &str = "runs";
/// Maximum size of the manifest, and of the file of checksums, in bytes.
const MAX_INDEX_BYTES: u64 = 256 << 20;

/// Description of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// Version of the backup format.
    pub ludex_backup: u32,
    /// Program that wrote the backup.
    pub program: String,
    /// Time of the backup, in RFC 3339.
    pub created: String,
}

/// Size of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupSize {
    /// Number of files, without manifest and checksums.
    pub files: usize,
    /// Total size of these files in bytes.
    pub bytes: u64,
}

/// Writes a backup of the data directory `data` and its store, which a server may be using, to the new file `file`.
///
/// # Errors
///
/// Fails if there is no store, if `file` exists, or if a file cannot be read or written.
///
/// # Panics
///
/// For PostgreSQL in an asynchronous context.
pub fn write(data: &Path, store: &StoreLocation, file: &Path) -> anyhow::Result<BackupSize> {
    ensure!(!file.exists(), "expected the name of a new file, got {}, which exists", file.display());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("{} cannot be written", file.display());
    // Both are readable only by their owner.
    let draft = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    let aside = tempfile::tempdir_in(folder).with_context(cannot)?;
    let mut archive = BackupWriter::new(draft.as_file())?;

    let mut snapshot = StoreSnapshot::take(store)?;
    let files = files(data)?;
    let lengths: Vec<u64> = files.iter().map(|name| length(&data.join(name))).collect::<anyhow::Result<_>>()?;
    snapshot.release()?;

    for (name, length) in files.iter().zip(lengths) {
        archive.add_file(name, &data.join(name), Some(length))?;
    }
    let copy = aside.path().join(STORE_FILE);
    snapshot.copy(&copy)?;
    archive.add_file(STORE_FILE, &copy, None)?;
    let size = archive.finish().with_context(cannot)?;
    draft.as_file().sync_all().with_context(cannot)?;
    draft.persist_noclobber(file).with_context(cannot)?;
    Ok(size)
}

/// Restores a backup into the data directory `data`, which must not have runs, and a store that must not exist. The engine
/// of the store need not be that of the original. Nothing is restored if the backup is incomplete or damaged.
///
/// # Errors
///
/// Fails if there is a store or a run, if the backup is incomplete or damaged, or if a file cannot be read or written.
///
/// # Panics
///
/// For PostgreSQL in an asynchronous context.
pub fn restore(file: &Path, data: &Path, store: &StoreLocation) -> anyhow::Result<(BackupManifest, BackupSize)> {
    for path in [store.path(), Some(&*data.join(RUNS))].into_iter().flatten() {
        ensure!(!path.exists(), "expected a folder without a store, got {}, which exists", path.display());
    }
    let _lock = reserve(data)?;
    set_private(data)?;
    let draft = tempfile::Builder::new().prefix(".restore-").tempdir_in(data);
    let draft = draft.with_context(|| format!("{} cannot be written", data.display()))?;
    let restored = unpack(file, draft.path())?;
    let copy = draft.path().join(STORE_FILE);
    make_independent(&copy)?;
    let runs = draft.path().join(RUNS);
    if runs.exists() {
        fs::rename(&runs, data.join(RUNS)).with_context(|| format!("{} cannot be written", data.display()))?;
    }
    // The store comes last, since its presence makes the directory a store.
    if let Err(error) = install(&copy, store) {
        let _ = fs::remove_dir_all(data.join(RUNS));
        return Err(error.into());
    }
    Ok(restored)
}

/// Returns the files of the runs, as paths relative to `data`. Logs and episodes come before the files that
/// they refer to, so that the latter are at least as new.
fn files(data: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    list(data, RUNS, &mut names)?;
    let order = |name: &String| [LOG, EPISODES].iter().position(|last| name.ends_with(last)).unwrap_or(2);
    names.sort_by_cached_key(|name| (order(name), name.clone()));
    Ok(names)
}

fn list(data: &Path, folder: &str, names: &mut Vec<String>) -> anyhow::Result<()> {
    let path = data.join(folder);
    let cannot = || format!("{} cannot be read", path.display());
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e).with_context(cannot),
    };
    for entry in entries {
        let entry = entry.with_context(cannot)?;
        let kind = entry.file_type().with_context(cannot)?;
        let Ok(name) = entry.file_name().into_string() else {
            bail!("expected names in UTF-8, got {}", entry.path().display());
        };
        let inner = format!("{folder}/{name}");
        if kind.is_dir() {
            list(data, &inner, names)?;
        } else if kind.is_file() && name != "lock" && name != LOCK_FILE && !name.ends_with(".draft") {
            names.push(inner);
        }
    }
    Ok(())
}

fn length(path: &Path) -> anyhow::Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?.len())
}

/// Writer of a backup.
struct BackupWriter<'f> {
    tar: tar::Builder<GzEncoder<BufWriter<&'f File>>>,
    sums: String,
    size: BackupSize,
}

impl<'f> BackupWriter<'f> {
    fn new(file: &'f File) -> anyhow::Result<Self> {
        let tar = tar::Builder::new(GzEncoder::new(BufWriter::new(file), Compression::fast()));
        let mut archive = BackupWriter { tar, sums: String::new(), size: BackupSize::default() };
        let manifest = BackupManifest {
            ludex_backup: VERSION,
            program: ludex_play::PROGRAM.to_owned(),
            created: ludex_play::time::now_text(),
        };
        let text = serde_json::to_vec_pretty(&manifest)?;
        archive.add(MANIFEST, text.len() as u64, text.as_slice())?;
        archive.size = BackupSize::default();
        Ok(archive)
    }

    /// Adds the first `length` bytes of a file; `None` for the whole file.
    fn add_file(&mut self, name: &str, path: &Path, length: Option<u64>) -> anyhow::Result<()> {
        let cannot = || format!("{} cannot be read", path.display());
        let file = File::open(path).with_context(cannot)?;
        let length = length.map_or_else(|| Ok(file.metadata()?.len()), Ok::<_, io::Error>).with_context(cannot)?;
        self.add(name, length, file).with_context(|| format!("{} cannot be added to the backup", path.display()))
    }

    fn add(&mut self, name: &str, length: u64, from: impl Read) -> anyhow::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(length);
        header.set_mode(0o600);
        header.set_mtime(0);
        let mut from = Summed::new(from.take(length));
        self.tar.append_data(&mut header, name, &mut from)?;
        ensure!(from.count == length, "expected {length} bytes, got {}; repeat the backup", from.count);
        self.sums.push_str(&format!("{}  {name}\n", from.sum()));
        self.size.files += 1;
        self.size.bytes += length;
        Ok(())
    }

    /// Adds the checksums and returns the size of the backup.
    fn finish(mut self) -> anyhow::Result<BackupSize> {
        let (sums, size) = (std::mem::take(&mut self.sums), self.size);
        self.add(SUMS, sums.len() as u64, sums.as_bytes())?;
        self.tar.into_inner()?.finish()?.flush()?;
        Ok(size)
    }
}

/// Unpacks a backup into an empty directory and compares all files with the checksums.
fn unpack(file: &Path, folder: &Path) -> anyhow::Result<(BackupManifest, BackupSize)> {
    let name = file.display();
    let open = File::open(file).with_context(|| format!("{name} cannot be opened"))?;
    let mut tar = tar::Archive::new(GzDecoder::new(BufReader::new(open)));
    let damaged = || format!("{name} is not a complete backup; `ludex admin backup FILE` creates one");
    let (mut manifest, mut sums, mut size) = (None, BTreeMap::new(), BackupSize::default());
    for entry in tar.entries().with_context(damaged)? {
        let mut entry = entry.with_context(damaged)?;
        let path = entry.path().with_context(damaged)?.into_owned();
        let inner = path.to_str().filter(|_| entry.header().entry_type().is_file() && is_plain(&path));
        let inner =
            inner.with_context(|| format!("{name}: expected only files of a backup, got {}", path.display()))?;
        let mut from = Summed::new(&mut entry);
        match inner {
            MANIFEST if manifest.is_none() => manifest = Some(parse_manifest(&text(&mut from).with_context(damaged)?)?),
            _ if manifest.is_none() => bail!("{name} is not a backup: expected {MANIFEST} first, got {inner}"),
            SUMS => {
                let listed = text(&mut from).with_context(damaged)?;
                check(&listed, &sums).with_context(damaged)?;
                let manifest = manifest.with_context(damaged)?;
                return Ok((manifest, size));
            }
            _ => {
                let cannot = || format!("{} cannot be written", folder.join(inner).display());
                let mut out = create_private(&folder.join(inner)).with_context(cannot)?;
                // Reading and writing fail alike here; the error names which.
                io::copy(&mut from, &mut out).with_context(damaged)?;
                out.sync_all().with_context(cannot)?;
                size.files += 1;
                size.bytes += from.count;
            }
        }
        let twice = sums.insert(inner.to_owned(), from.sum()).is_some();
        ensure!(!twice, "{name}: duplicate file {inner}");
    }
    bail!("{}: {SUMS} is missing", damaged());
}

/// Returns true if a backup may contain a file with this path.
fn is_plain(path: &Path) -> bool {
    let parts: Vec<_> = path.components().collect();
    let normal = parts.iter().all(|part| matches!(part, Component::Normal(_)));
    let first = path.iter().next().and_then(|first| first.to_str()).unwrap_or_default();
    let known = match parts.len() {
        1 => [MANIFEST, SUMS, STORE_FILE].contains(&first),
        _ => first == RUNS,
    };
    normal && known
}

fn parse_manifest(text: &str) -> anyhow::Result<BackupManifest> {
    let manifest: BackupManifest = serde_json::from_str(text).with_context(|| format!("{MANIFEST} is damaged"))?;
    let found = manifest.ludex_backup;
    ensure!(found == VERSION, "expected backup version {VERSION}, got {found}; use the ludex that wrote the backup");
    Ok(manifest)
}

fn text(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(MAX_INDEX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Checks that `listed` contains exactly the files and checksums in `sums`.
fn check(listed: &str, sums: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let listed: BTreeMap<&str, &str> =
        listed.lines().filter_map(|line| line.split_once("  ")).map(|(sum, name)| (name, sum)).collect();
    for name in listed.keys().copied().chain(sums.keys().map(String::as_str)) {
        let (expected, got) = (listed.get(name).copied(), sums.get(name).map(String::as_str));
        ensure!(got.is_some(), "{name} is missing");
        ensure!(got == expected, "{name} was changed: its checksum differs from {SUMS}");
    }
    Ok(())
}

/// Creates a file and its directories, all private to their owner.
fn create_private(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes an existing directory private to its owner.
fn set_private(folder: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(folder, mode).with_context(|| format!("{} cannot be made private", folder.display()))?;
    }
    Ok(())
}

/// Reader that computes the SHA-256 of the bytes that it has read.
struct Summed<R> {
    from: R,
    hash: Sha256,
    count: u64,
}

impl<R: Read> Summed<R> {
    fn new(from: R) -> Self {
        Summed { from, hash: Sha256::new(), count: 0 }
    }

    fn sum(self) -> String {
        hex::encode(self.hash.finalize())
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.hash.update(&into[..count]);
        self.count += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
