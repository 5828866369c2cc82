//! Locations of stores.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::StoreError;

/// Name of the database file in the data directory.
pub const STORE_FILE: &str = "ludex.db";

/// Schemes of the addresses of PostgreSQL databases.
const POSTGRES: [&str; 2] = ["postgres://", "postgresql://"];

/// Location of a store: an SQLite file, or a PostgreSQL database.
///
/// The text form is `sqlite:PATH`, or a URL of PostgreSQL such as `postgres://user:password@host/database`. [`Display`]
/// omits the password.
///
/// [`Display`]: fmt::Display
#[derive(Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// Path of a database file. A lock file in its directory excludes other owners.
    Sqlite(PathBuf),
    /// Address of a PostgreSQL database, with its password.
    Postgres(String),
}

impl StoreLocation {
    /// Returns the location of the store in a data directory.
    pub fn in_folder(folder: &Path) -> Self {
        StoreLocation::Sqlite(folder.join(STORE_FILE))
    }

    /// Returns true if the store is a file in `folder`.
    pub fn is_in(&self, folder: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let of_store = self.path().and_then(Path::parent);
        of_store.is_some_and(|of_store| of_store == folder || real(of_store) == real(folder))
    }

    /// Returns the path of an SQLite store.
    pub fn path(&self) -> Option<&Path> {
        match self {
            StoreLocation::Sqlite(path) => Some(path),
            StoreLocation::Postgres(_) => None,
        }
    }
}

impl From<&Path> for StoreLocation {
    /// Returns the location of the store in a data directory.
    fn from(folder: &Path) -> Self {
        StoreLocation::in_folder(folder)
    }
}

impl From<&PathBuf> for StoreLocation {
    fn from(folder: &PathBuf) -> Self {
        StoreLocation::in_folder(folder)
    }
}

impl From<&StoreLocation> for StoreLocation {
    fn from(location: &StoreLocation) -> Self {
        location.clone()
    }
}

impl FromStr for StoreLocation {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if let Some(path) = text.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            return Ok(StoreLocation::Sqlite(path.into()));
        }
        match POSTGRES.iter().any(|scheme| text.starts_with(scheme)) {
            true => Ok(StoreLocation::Postgres(text.to_owned())),
            false => Err(StoreError::Location { got: without_password(text) }),
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreLocation::Sqlite(path) => path.display().fmt(f),
            StoreLocation::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Removes the password and the query, which may contain one, from a URL. Without the usual form, more is removed.
fn without_password(url: &str) -> String {
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, rest)), Some((_, host))) => {
            let user = rest.split([':', '@']).next().unwrap_or_default();
            format!("{scheme}://{user}@{host}")
        }
        (None, Some((_, host))) => format!("...@{host}"),
        // The password may contain the question mark.
        (Some((scheme, _)), None) if query.contains('@') => format!("{scheme}://..."),
        (None, None) if query.contains('@') => "...".to_owned(),
        (_, None) => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_parsed_and_printed_without_passwords() {
        let parsed = |text: &str| text.parse::<StoreLocation>().unwrap();
        assert_eq!(parsed("sqlite:/var/lib/ludex.db"), StoreLocation::Sqlite("/var/lib/ludex.db".into()));
        for (text, shown) in [
            ("postgres://ana:se:cret@db/ludex", "postgres://ana@db/ludex"),
            ("postgresql://db:5433/ludex?password=secret", "postgresql://db:5433/ludex"),
            ("postgres://ana:p@ss@db", "postgres://ana@db"),
        ] {
            assert_eq!((parsed(text).to_string(), format!("{:?}", parsed(text))), (shown.to_owned(), shown.to_owned()));
        }
        for text in
            ["", "sqlite:", "mysql://u:secret@db/x", "postgres//u:secret@db/x", "postgre://u:se?secret@db", "ludex.db"]
        {
            let error = text.parse::<StoreLocation>().unwrap_err().to_string();
            assert!(error.contains("sqlite:PATH") && !error.contains("secret"), "{error}");
        }
    }
}
