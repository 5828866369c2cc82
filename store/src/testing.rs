//! Databases for tests: PostgreSQL servers, each in a temporary folder and started from the programs of the system, and
//! databases in memory that fail on request.

mod memory;
mod proxy;

use std::ffi::OsStr;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use memory::{CommitFate, DiskFault, MemoryDatabase};
pub use proxy::DatabaseProxy;

pub use crate::random::seeded::seed as seed_random_bytes;

use crate::StoreLocation;

/// Folder of Debian's versions of PostgreSQL.
const DEBIAN: &str = "/usr/lib/postgresql";

/// User that runs the server if the test runs as root, which PostgreSQL refuses.
const USER: &str = "postgres";

/// Maximum time to wait until a server accepts connections.
const START: Duration = Duration::from_secs(60);

/// Shell script that ends the server together with its test, even after `kill -9`.
const GUARD: &str = r#""$@" & server=$!; cat > /dev/null; kill -QUIT $server; wait $server"#;

/// PostgreSQL server in a temporary folder. It ends on drop.
pub struct PostgresServer {
    folder: TempDir,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    port: u16,
    guard: Option<Child>,
}

impl PostgresServer {
    /// Starts a server. Without PostgreSQL on this machine, prints the reason and returns `None`.
    ///
    /// # Panics
    ///
    /// If an installed server does not start.
    pub fn start() -> Option<Self> {
        Self::start_in(&std::env::temp_dir())
    }

    /// Starts a server like [`start`](Self::start), with its data below `parent`, such as a folder on a disk.
    ///
    /// # Panics
    ///
    /// If an installed server does not start.
    pub fn start_in(parent: &Path) -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("SKIPPED: PostgreSQL is not installed (Debian: postgresql)");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("ludex-postgres-").tempdir_in(parent).expect("a temporary folder");
        let user = rustix::process::geteuid().is_root().then(|| ids_of(USER).expect("a user that is not root"));
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(folder.path(), Some(uid), Some(gid)).expect("the folder of another user");
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let mut server = PostgresServer { folder, programs, user, port, guard: None };
        let options = ["--auth=trust", "--username=ludex", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"];
        let made = server.command("initdb").args(options).arg(server.data()).output().expect("initdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.run();
        Some(server)
    }

    /// Returns the location of a new database.
    ///
    /// # Panics
    ///
    /// If the database cannot be created.
    pub fn database(&self, name: &str) -> StoreLocation {
        self.execute("postgres", &format!("CREATE DATABASE {name}"));
        self.location(name, self.port)
    }

    /// Returns the location of a database behind another port, such as that of a proxy.
    pub fn location(&self, name: &str, port: u16) -> StoreLocation {
        StoreLocation::Postgres(format!("postgres://ludex@127.0.0.1:{port}/{name}"))
    }

    /// Returns the port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Executes a script of SQL, and returns the rows of its last query as text.
    ///
    /// # Panics
    ///
    /// If the script fails.
    pub fn execute(&self, database: &str, script: &str) -> String {
        let port = self.port.to_string();
        let options =
            ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "ludex", "-p", &port, "-d"];
        let done = self.command("psql").args(options).args([database, "-c", script]).output().expect("psql");
        assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// Restarts the server as after a crash: without a checkpoint, and with all connections closed.
    ///
    /// # Panics
    ///
    /// If the server does not start again.
    pub fn crash(&mut self) {
        self.stop();
        self.run();
    }

    /// Stops the server as a crash would.
    ///
    /// # Panics
    ///
    /// If the process cannot be waited for.
    pub fn stop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            guard.wait().expect("the server ends");
        }
    }

    /// Starts the server and waits until it accepts connections.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn run(&mut self) {
        let mut command = self.command("sh");
        command.args(["-c", GUARD, "sh"]).arg(self.programs.join("postgres")).arg("-D").arg(self.data());
        for setting in ["listen_addresses=127.0.0.1", "max_connections=200", "shared_buffers=32MB"] {
            command.args(["-c", setting]);
        }
        command.arg("-c").arg(format!("unix_socket_directories={}", self.folder.path().display()));
        command.args(["-p", &self.port.to_string()]);
        let log = std::fs::File::create(self.folder.path().join("log")).expect("a log");
        let guard = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).process_group(0).spawn();
        self.guard = Some(guard.expect("a server"));
        let until = Instant::now() + START;
        while !self.is_ready() {
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "the server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_ready(&self) -> bool {
        let port = self.port.to_string();
        let asked = self.command("pg_isready").args(["-q", "-h", "127.0.0.1", "-p", &port]).status();
        asked.is_ok_and(|status| status.success())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns a command of the system or of PostgreSQL, which runs as the server's user.
    fn command(&self, program: &str) -> Command {
        let path = self.programs.join(program);
        let mut command = Command::new(if path.exists() { path.as_os_str() } else { OsStr::new(program) });
        command.current_dir("/");
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the folder with the newest version of PostgreSQL's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut known: Vec<(u32, PathBuf)> = versions
        .filter_map(|path| Some((path.file_name()?.to_str()?.parse().ok()?, path.join("bin"))))
        .filter(|(_, path)| path.join("postgres").exists())
        .collect();
    known.sort();
    known.pop().map(|(_, path)| path).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder: &PathBuf| Path::join(folder, "initdb").exists())
    })
}

/// Returns the ids of a user and its group.
fn ids_of(user: &str) -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(user))?;
    let mut ids = line.split(':').skip(2).map(str::parse);
    Some((ids.next()?.ok()?, ids.next()?.ok()?))
}
