//! Configuration that the host passes to the helper process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Remedy at the end of every error about a missing sandbox.
pub(super) const UNSANDBOXED_HINT: &str = "sandbox=false runs a trusted program without protection";

/// Configuration of the helper, passed as an argument before the command line of the program.
#[derive(Serialize, Deserialize)]
pub(super) struct HelperConfig {
    /// Path of the control group to enter, if there is one.
    #[serde(default)]
    pub group: Option<PathBuf>,
    /// Process id of the host.
    pub host: u32,
    /// Scratch directory of the program; `write` lists additional writable paths.
    pub folder: PathBuf,
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// Readable paths in addition to the system paths.
    pub read: Vec<PathBuf>,
    /// Maximum size of the data segment in bytes, including memory that is reserved but not used.
    pub data: u64,
    /// Maximum size of a file in bytes.
    pub file: u64,
    /// Maximum Landlock version, with which tests simulate older kernels; `None` for the newest supported version.
    #[serde(default)]
    pub landlock: Option<i32>,
    /// True if the program may start other programs, as compilers do. In that case only file access is restricted.
    #[serde(default)]
    pub children: bool,
}
