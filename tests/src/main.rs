//! The `ludex` program again, so that plain `cargo test` has it to start and to kill.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ludex_cli::main()
}
