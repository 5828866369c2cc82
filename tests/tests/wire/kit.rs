//! Conformance checks run on correct clients and servers, and on clients and servers with one fault each.

mod clients;
mod meddler;
mod servers;

use std::process::Stdio;

use tokio::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");

/// Runs `ludex` with these arguments; returns exit code, standard output and standard error.
async fn ludex(words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    command.args(words).env_remove("LUDEX_TOKEN").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.expect("the program");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}
