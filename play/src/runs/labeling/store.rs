//! File with the labels of a run.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use ludex_report::runs::run_files::{LABELS, LabelLine, whole_lines};
use parking_lot::Mutex;

/// Labels file opened for appending. It is locked against other labelers until this value is dropped.
pub struct LabelStore {
    file: Mutex<File>,
}

impl LabelStore {
    /// Opens or creates the labels file of a run folder, and removes an incomplete last line, which a killed process may
    /// leave.
    ///
    /// # Errors
    /// Returns an error if another process labels the run, or if the file cannot be used.
    pub fn open(folder: &Path) -> anyhow::Result<LabelStore> {
        let path = folder.join(LABELS);
        let failed = || format!("{} cannot be used", path.display());
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(&path).with_context(failed)?;
        if file.try_lock().is_err() {
            bail!("the run in {} is being labeled by another process", folder.display());
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(failed)?;
        file.set_len(whole_lines(&bytes) as u64).with_context(failed)?;
        Ok(LabelStore { file: Mutex::new(file) })
    }

    /// Appends a line, which is on disk when this function returns.
    ///
    /// # Errors
    /// Returns an error if the line cannot be written.
    pub fn append(&self, line: &LabelLine) -> anyhow::Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        let mut file = self.file.lock();
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        written.with_context(|| format!("{LABELS} cannot be written"))
    }
}
