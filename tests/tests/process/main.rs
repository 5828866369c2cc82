//! Programs as separate processes: the `ludex` commands, killed servers, engines, sandboxed programs.

mod archive;
mod backup;
#[cfg(unix)]
mod cells;
mod commands;
mod crash;
#[cfg(unix)]
mod database;
#[cfg(unix)]
mod operation;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(unix)]
mod thinking;
