//! Arguments of commands that use a store.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use ludex_store::StoreLocation;

/// Data folder, and the location of its store.
#[derive(clap::Args)]
pub(super) struct StoreArgs {
    /// Use the data in this folder, even while a server uses it
    #[arg(long, value_name = "DIR", default_value = "./ludex-data", global = true)]
    pub(super) data: PathBuf,
    /// Use the store at this location: sqlite:PATH or postgres://USER@HOST/DATABASE [default: ludex.db in the folder]
    #[arg(long, value_name = "URL", env = "LUDEX_STORE", hide_env_values = true, global = true, value_parser = LocationParser)]
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

/// Parser of locations whose errors omit the password. The errors of clap's own parsers show the whole value.
#[derive(Clone)]
struct LocationParser;

impl TypedValueParser for LocationParser {
    type Value = StoreLocation;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<StoreLocation, clap::Error> {
        let parsed = value.to_str().ok_or_else(|| "expected UTF-8".to_owned());
        let parsed = parsed.and_then(|text| text.parse().map_err(|error: ludex_store::StoreError| error.to_string()));
        parsed.map_err(|why| {
            clap::Error::raw(ErrorKind::ValueValidation, format!("--store <URL> (or LUDEX_STORE): {why}\n"))
                .with_cmd(command)
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Program {
        #[arg(long, value_parser = LocationParser)]
        store: StoreLocation,
    }

    #[test]
    fn refused_location_is_shown_without_its_password() {
        for text in ["postgre://ana:se:cret@db/ludex", "postgres//ana:secret@db", "postgres:/ana:secret@db/x?y=secret"]
        {
            let error = Program::try_parse_from(["ludex", "--store", text]).unwrap_err().to_string();
            assert!(error.contains("--store") && error.contains("postgres://USER@HOST/DATABASE"), "{error}");
            assert!(!error.contains("secret") && !error.contains("cret"), "{error}");
        }
        assert!(Program::try_parse_from(["ludex", "--store", "sqlite:x.db"]).is_ok());
    }
}
