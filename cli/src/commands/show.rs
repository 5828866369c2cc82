//! `ludex show`.

mod boards;
mod transcripts;

use std::path::PathBuf;

use ludex_env::Seat;
use ludex_play::runs::archive::Archive;

pub(super) use transcripts::page_of_all;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Show a run (its name below DATA/runs, its folder or a bundle), a file of records, one line of it (FILE:LINE), or an
    /// episode of the store
    #[arg(value_name = "RUN|FILE|EPISODE")]
    subject: String,
    /// Show positions, or decisions of a run, as seen from this seat [default: a spectator; the seats of language models]
    #[arg(long, value_name = "N")]
    seat: Option<Seat>,
    /// Write one HTML page [default file: RUN.html or EPISODE.html]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    html: Option<Option<PathBuf>>,
    /// Read the store and the runs from this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    #[command(flatten, next_help_heading = "Options for episodes")]
    boards: boards::BoardArgs,
    #[command(flatten, next_help_heading = "Options for runs")]
    matches: transcripts::MatchFilterArgs,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if !Archive::is_run(&args.subject, &args.data) {
        anyhow::ensure!(
            !args.matches.is_set(),
            "{}: expected a run with --lost, --won, --agent, --game or --episode",
            args.subject
        );
        return boards::run(&args);
    }
    anyhow::ensure!(
        !args.boards.is_set(),
        "{}: expected an episode with --ply, --delay or --marks, got a run",
        args.subject
    );
    transcripts::run(&args)
}
