//! Log of submitted batches in a run directory, from which a restarted process finds its batches.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{CollectorSettings, QueuedItem};

const FILE: &str = "batches.jsonl";

/// Log entry for one submitted batch.
#[derive(Serialize, Deserialize)]
struct Line {
    base_url: String,
    model: String,
    batch: String,
    questions: Vec<String>,
}

/// Returns the id of the latest batch at this endpoint for each logged request.
pub(super) fn read(folder: &Path, settings: &CollectorSettings) -> HashMap<String, String> {
    // Without a file, nothing was submitted. Requests of unreadable lines are submitted again.
    let text = fs::read(folder.join(FILE)).unwrap_or_default();
    let lines = text.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    let own = lines.filter(|line| line.base_url == settings.base_url && line.model == settings.model);
    own.flat_map(|line| line.questions.into_iter().map(move |question| (question, line.batch.clone()))).collect()
}

/// Adds a batch to the logs in the directories of its requests.
pub(super) fn append(settings: &CollectorSettings, batch: &str, questions: &[QueuedItem]) -> io::Result<()> {
    let mut folders: BTreeMap<&PathBuf, Vec<String>> = BTreeMap::new();
    for queued in questions {
        if let Some(folder) = &queued.item.folder {
            folders.entry(folder).or_default().push(queued.item.id.clone());
        }
    }
    for (folder, questions) in folders {
        let (base_url, model) = (settings.base_url.clone(), settings.model.clone());
        let line = serde_json::to_string(&Line { base_url, model, batch: batch.to_owned(), questions })?;
        let path = folder.join(FILE);
        // A killed process may have left an incomplete line.
        let cut = File::open(&path).is_ok_and(|mut file| {
            let mut last = [0];
            file.seek(SeekFrom::End(-1)).is_ok() && file.read_exact(&mut last).is_ok() && last != *b"\n"
        });
        let before = if cut { "\n" } else { "" };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{before}{line}\n").as_bytes())?;
        file.sync_data()?;
    }
    Ok(())
}
