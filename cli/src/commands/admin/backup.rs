//! `ludex admin backup` and `ludex admin restore`.

use std::path::PathBuf;

use indicatif::HumanBytes;
use ludex_server::backup::{self, BackupSize};

use crate::commands::print;
use crate::commands::store_args::StoreArgs;

#[derive(clap::Args)]
pub(super) struct BackupArgs {
    /// Write the backup to this new file
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Args)]
pub(super) struct RestoreArgs {
    /// Restore the backup in this file
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn backup(args: BackupArgs) -> anyhow::Result<()> {
    let size = backup::write(&args.store.data, &args.store.location(), &args.file)?;
    eprintln!("ludex: {} in {}", describe(size), args.file.display());
    Ok(())
}

pub(super) fn restore(args: RestoreArgs) -> anyhow::Result<()> {
    let (manifest, size) = backup::restore(&args.file, &args.store.data, &args.store.location())?;
    eprintln!("ludex: {} of {} restored in {}", describe(size), manifest.created, args.store.location());
    Ok(())
}

fn describe(size: BackupSize) -> String {
    format!("{} ({})", print::count(size.files, "file", "files"), HumanBytes(size.bytes))
}
