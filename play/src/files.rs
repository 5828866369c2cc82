//! Atomic file writes.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Replaces a file atomically: a reader sees either the complete old file or the complete new file.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let draft = folder.join(format!("{name}.draft"));
    let mut file = File::create(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, folder.join(name))
}
