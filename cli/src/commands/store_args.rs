//! Arguments of commands that use a store.

use std::path::PathBuf;

use ludex_store::StoreLocation;

/// Data folder, and the location of its store.
#[derive(clap::Args)]
pub(super) struct StoreArgs {
    /// Use the data in this folder, even while a server uses it
    #[arg(long, value_name = "DIR", default_value = "./ludex-data", global = true)]
    pub(super) data: PathBuf,
    /// Use the store at this location: sqlite:PATH or postgres://USER@HOST/DATABASE [default: ludex.db in the folder]
    #[arg(long, value_name = "URL", env = "LUDEX_STORE", hide_env_values = true, global = true)]
    store: Option<StoreLocation>,
}

impl StoreArgs {
    /// Returns the location of the store.
    pub(super) fn location(&self) -> StoreLocation {
        self.store.clone().unwrap_or_else(|| StoreLocation::in_folder(&self.data))
    }

    /// Returns the same arguments for another command, if they are not the defaults; without a password.
    pub(super) fn to_args(&self) -> Vec<String> {
        let mut args = vec!["--data".to_owned(), self.data.display().to_string()];
        if let Some(store) = &self.store {
            let text = match store {
                StoreLocation::Sqlite(path) => format!("sqlite:{}", path.display()),
                StoreLocation::Postgres(_) => store.to_string(),
            };
            args.extend(["--store".to_owned(), text]);
        }
        args
    }
}
