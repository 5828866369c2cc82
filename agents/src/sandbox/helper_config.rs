//! What the host tells the helper that becomes a sandboxed program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How every refusal ends.
pub(super) const WAY_OUT: &str = "sandbox=false runs a program that you trust unprotected";

/// What the helper needs to know; the program's command line follows it.
#[derive(Serialize, Deserialize)]
pub(super) struct Orders {
    /// The control group to enter, where there is one.
    #[serde(default)]
    pub group: Option<PathBuf>,
    /// The host's process.
    pub host: u32,
    /// The fresh folder, and what else may be written.
    pub folder: PathBuf,
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// What else may be read.
    pub read: Vec<PathBuf>,
    /// Bytes of memory that it may allocate for writing, used or not.
    pub data: u64,
    /// Bytes of a file.
    pub file: u64,
    /// The newest version of Landlock that is used; absent, the newest that is known. Tests see older kernels by it.
    #[serde(default)]
    pub landlock: Option<i32>,
    /// Whether it may start other programs, as compilers do. Then only files are kept from it.
    #[serde(default)]
    pub children: bool,
}
