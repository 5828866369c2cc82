//! Configuration that the host passes to the helper of a sandboxed program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Remedy at the end of every refusal.
pub(super) const UNSANDBOXED_HINT: &str = "sandbox=false runs a program that you trust unprotected";

/// Configuration of the helper. The program's command line follows it.
#[derive(Serialize, Deserialize)]
pub(super) struct HelperConfig {
    /// Control group to enter, if any.
    #[serde(default)]
    pub group: Option<PathBuf>,
    /// Process id of the host.
    pub host: u32,
    /// Scratch directory; `write` lists other writable paths.
    pub folder: PathBuf,
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// Readable paths beyond the system's.
    pub read: Vec<PathBuf>,
    /// Maximum bytes of writable memory, used or not.
    pub data: u64,
    /// Maximum bytes of a file.
    pub file: u64,
    /// Maximum Landlock version; absent: the newest known one. Tests use it to simulate older kernels.
    #[serde(default)]
    pub landlock: Option<i32>,
    /// True if the program may start other programs, as compilers do. Then only file access is restricted.
    #[serde(default)]
    pub children: bool,
}
