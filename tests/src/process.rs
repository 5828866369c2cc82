//! Server in a separate process that tests may kill.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Time limit for the start of a server.
const PATIENCE: Duration = Duration::from_secs(120);

/// Server process on a data folder that outlives the process. Dropping this value kills the process.
pub struct Process {
    /// Listening address of the server.
    pub address: SocketAddr,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `program` (the test's own `ludex`) with the store in `data`, at `address`, or at a free port if `address`
    /// is absent. The log of the process is appended to the file `log`.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub fn start(program: &str, data: &Path, log: &Path, address: Option<SocketAddr>, more: &[&str]) -> Self {
        Self::start_logged(program, data, log, address, more, "info")
    }

    /// Starts a server like [`start`](Self::start), with a log of this level.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub fn start_logged(
        program: &str,
        data: &Path,
        log: &Path,
        address: Option<SocketAddr>,
        more: &[&str],
        level: &str,
    ) -> Self {
        Self::start_with(program, data, log, address, more, &[("LUDEX_LOG", level.as_ref())])
    }

    /// Starts a server like [`start`](Self::start), with these environment variables.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub fn start_with(
        program: &str,
        data: &Path,
        log: &Path,
        address: Option<SocketAddr>,
        more: &[&str],
        variables: &[(&str, &OsStr)],
    ) -> Self {
        let mut child = spawn(program, data, log, address, more, variables);
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (say, said) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = out.read_line(&mut line).map(|_| say.send(line));
            // The pipe stays open until the server ends.
            let _ = out.read_to_end(&mut Vec::new());
        });
        let line = said.recv_timeout(PATIENCE).unwrap_or_default();
        let ready: Value = serde_json::from_str(&line).unwrap_or_default();
        let address = ready["url"].as_str().and_then(|url| url.strip_prefix("ws://")?.parse().ok());
        match address {
            Some(address) => Process { address, child, log: log.to_owned() },
            None => {
                let _ = child.kill();
                let log = std::fs::read_to_string(log).unwrap_or_default();
                panic!("the server does not start: {line:?}\n{log}")
            }
        }
    }

    /// Starts a server that waits for its store at `address`, like [`start`](Self::start), but does not wait for it.
    ///
    /// # Panics
    /// Panics if the program cannot be started.
    pub fn start_standby(program: &str, data: &Path, log: &Path, address: SocketAddr, more: &[&str]) -> Self {
        let more = [more, &["--standby"]].concat();
        let mut child = spawn(program, data, log, Some(address), &more, &[("LUDEX_LOG", "info".as_ref())]);
        let mut out = child.stdout.take().expect("a pipe");
        std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
        Process { address, child, log: log.to_owned() }
    }

    /// Sends a signal, such as `STOP`.
    ///
    /// # Panics
    /// Panics if the signal cannot be sent.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(sent.expect("the command kill").success());
    }

    /// Waits until the process has ended, and returns true if it succeeded.
    ///
    /// # Panics
    /// Panics if the process is still running after `patience`.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait().expect("a child") {
                Some(status) => return status.success(),
                None => assert!(Instant::now() < until, "the server is still running"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the lines of the log that contain a text, once there are at least `count`.
    ///
    /// # Panics
    /// Panics if the log cannot be read.
    pub fn logged(&self, text: &str, count: usize) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let log = std::fs::read_to_string(&self.log).expect("the log");
            // The last line may be incomplete.
            let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let lines: Vec<String> = whole.lines().filter(|line| line.contains(text)).map(str::to_owned).collect();
            if lines.len() >= count {
                return lines;
            }
            assert!(Instant::now() < until, "expected {count} lines with {text:?}, got {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the process as a crash would (`kill -9`) and waits until it has ended.
    ///
    /// # Panics
    /// Panics if the process cannot be killed.
    pub fn kill(mut self) {
        self.child.kill().expect("a running server");
        self.child.wait().expect("its end");
    }

    /// Sends SIGTERM to the process and waits until it has exited.
    ///
    /// # Panics
    /// Panics if the process fails, or is still running after `patience`.
    pub fn terminate(mut self, patience: Duration) {
        self.signal("TERM");
        assert!(self.wait(patience), "the server failed");
    }

    /// Checks that the log reports no panic.
    ///
    /// # Panics
    /// Panics if the log reports a panic.
    pub fn has_not_panicked(&self) {
        let log = std::fs::read_to_string(&self.log).expect("the log");
        assert!(!log.contains("panicked"), "{log}");
    }
}

fn spawn(
    program: &str,
    data: &Path,
    log: &Path,
    address: Option<SocketAddr>,
    more: &[&str],
    variables: &[(&str, &OsStr)],
) -> Child {
    let listen = address.map_or_else(|| "127.0.0.1:0".to_owned(), |a| a.to_string());
    let file = std::fs::OpenOptions::new().create(true).append(true).open(log).expect("a log file");
    Command::new(program)
        .args(["serve", "--json", "--workers", "1", "--listen", &listen, "--data"])
        .arg(data)
        .args(more)
        .env("RUST_BACKTRACE", "0")
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(file)
        .spawn()
        .expect("the program")
}

impl Drop for Process {
    fn drop(&mut self) {
        // After `kill`, the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
