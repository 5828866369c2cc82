//! `ludex admin`.

mod backup;
mod doctor;
mod invite;
mod matches;
mod owner;
mod prune;
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
    /// Invite people to play a suite in the browser, and print a link for each; links are printed only once
    Invite(invite::Args),
    /// Suspend and resume owners of tokens
    Owner(owner::Args),
    /// End a running match
    Match(matches::Args),
    /// Write the store, runs and ladders to one file, even while a server uses them
    Backup(backup::BackupArgs),
    /// Check a data folder and the machine, and print problems with their remedies, even while a server uses the folder
    Doctor(doctor::Args),
    /// Remove old matches, logs and runs once, even while a server uses them
    Prune(prune::Args),
    /// Restore a backup into a folder without a store
    Restore(backup::RestoreArgs),
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        AdminCommand::Token(args) => token::run(args),
        AdminCommand::Invite(args) => invite::run(&args),
        AdminCommand::Owner(args) => owner::run(args),
        AdminCommand::Match(args) => matches::run(args),
        AdminCommand::Backup(args) => backup::backup(args),
        AdminCommand::Doctor(args) => doctor::run(&args),
        AdminCommand::Prune(args) => prune::run(args),
        AdminCommand::Restore(args) => backup::restore(args),
    }
}
