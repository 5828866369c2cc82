//! `ludex admin backup` and `ludex admin restore`.

use std::path::PathBuf;

use indicatif::HumanBytes;
use ludex_server::backup::{self, BackupSize};

use crate::commands::print;

#[derive(clap::Args)]
pub(super) struct BackupArgs {
    /// Write the backup to this new file
    file: PathBuf,
    /// Back up the store, runs and ladders in this folder, even while a server uses it
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
}

#[derive(clap::Args)]
pub(super) struct RestoreArgs {
    /// Restore the backup in this file
    file: PathBuf,
    /// Restore into this folder, which must not have a store
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
}

pub(super) fn backup(args: BackupArgs) -> anyhow::Result<()> {
    let size = backup::write(&args.data, &args.file)?;
    eprintln!("ludex: {} in {}", describe(size), args.file.display());
    Ok(())
}

pub(super) fn restore(args: RestoreArgs) -> anyhow::Result<()> {
    let (manifest, size) = backup::restore(&args.file, &args.data)?;
    eprintln!("ludex: {} of {} restored in {}", describe(size), manifest.created, args.data.display());
    Ok(())
}

fn describe(size: BackupSize) -> String {
    format!("{} ({})", print::count(size.files, "file", "files"), HumanBytes(size.bytes))
}
