//! What a program may not do.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::Program;

pub(crate) fn command(program: &Program) -> Result<(Command, TempDir), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut command = Command::new(find(&program.argv[0])?);
    command.args(&program.argv[1..]);
    Ok((command, folder))
}

/// The file that a program's name means: a path if it has a slash, else the first on PATH.
pub(crate) fn find(name: &str) -> Result<PathBuf, String> {
    let runs = |path: &Path| path.metadata().is_ok_and(|m| m.is_file() && executable(&m));
    if name.contains('/') {
        let path = Path::new(name);
        return match (path.is_file(), runs(path)) {
            (_, true) => std::path::absolute(path).map_err(|e| e.to_string()),
            (true, false) => Err(format!("{name} is not executable; `chmod +x {name}`")),
            (false, _) => Err(format!("there is no file {name} here")),
        };
    }
    // Debian keeps engines where not every PATH leads.
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/local/games", "/usr/games"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(name)).find(|path| runs(path));
    found.ok_or_else(|| format!("there is no program {name} on PATH; install it, or name it by its path"))
}

#[cfg(unix)]
fn executable(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn executable(_: &std::fs::Metadata) -> bool {
    true
}

pub(crate) fn refusal(_code: Option<i32>, _errors: impl FnOnce() -> String) -> Option<String> {
    None
}
