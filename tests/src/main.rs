//! `ludex` as a separate binary, which tests start and kill.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ludex_cli::main()
}
