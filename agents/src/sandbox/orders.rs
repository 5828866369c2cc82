//! What the host tells the helper that becomes a sandboxed program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How every refusal ends.
pub(super) const WAY_OUT: &str = "sandbox=false runs a program that you trust unprotected";

/// What the helper needs to know; the program's command line follows it.
#[derive(Serialize, Deserialize)]
pub(super) struct Orders {
    /// The host's process.
    pub host: u32,
    /// The fresh folder.
    pub folder: PathBuf,
    /// What else may be read.
    pub read: Vec<PathBuf>,
    /// Bytes of memory that it may allocate for writing, used or not.
    pub data: u64,
    /// Bytes of a file.
    pub file: u64,
}
