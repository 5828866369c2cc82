//! `ludex show`.

mod boards;
mod transcripts;

use std::path::PathBuf;

use ludex_env::Seat;
use ludex_report::runs::archive::Archive;

use super::store_args::StoreArgs;

pub(super) use transcripts::write_folder;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Run (name in DATA/runs, folder or bundle), file of records, record in a file (FILE:LINE), or episode of the
    /// store
    #[arg(value_name = "RUN|FILE|EPISODE")]
    subject: String,
    /// Show positions as seen by this seat, or decisions of this seat in a run [default: spectator view; decisions of
    /// language models]
    #[arg(long, value_name = "N")]
    seat: Option<Seat>,
    /// Write an HTML page instead, to this file [default: RUN.html or EPISODE.html]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    html: Option<Option<PathBuf>>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten, next_help_heading = "Options for episodes")]
    boards: boards::BoardArgs,
    #[command(flatten, next_help_heading = "Options for runs")]
    matches: transcripts::MatchFilterArgs,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let subject = &args.subject;
    if !Archive::is_run(subject, &args.store.data) {
        anyhow::ensure!(
            !args.matches.is_set(),
            "--lost, --won, --agent, --game and --episode require a run, got {subject}"
        );
        return boards::run(&args);
    }
    anyhow::ensure!(!args.boards.is_set(), "--ply, --delay and --marks require an episode, got the run {subject}");
    transcripts::run(&args)
}
