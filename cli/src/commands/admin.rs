//! `ludex admin`.

mod token;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(clap::Subcommand)]
enum AdminCommand {
    /// Create, list and revoke tokens
    Token(token::Args),
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let AdminCommand::Token(args) = args.command;
    token::run(args)
}
