//! Programs as processes: the commands of `ludex`, servers that are killed, engines, sandboxed programs.

mod archive;
mod commands;
mod crash;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(unix)]
mod thinking;
