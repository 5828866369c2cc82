//! The program `ludex` for the tests, which start and kill it.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ludex_cli::main()
}
