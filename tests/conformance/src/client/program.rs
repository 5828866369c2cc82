//! Process of the client under test.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

/// Token in the client's environment.
pub(super) const TOKEN: &str = "check-client-token";
pub(super) const AGENT: &str = "check-client";
pub(super) const GAME: &str = "tic_tac_toe";
pub(super) const SUITE: &str = "quick";
pub(super) const RUN: &str = "check";

/// Running client. Dropping this value kills the client and all processes that it started.
pub(super) struct Program {
    child: Child,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
    /// Last line of the client's standard error.
    complaint: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Program {
    /// Starts the command with the server's address and the game in its environment, and with the names of suite and
    /// run if `run` is true.
    pub fn start(command: &[String], url: &str, game: &str, run: bool) -> anyhow::Result<Self> {
        let mut words = command.iter().map(|word| word.replace("{url}", url));
        let program = words.next().context("expected the command of the client to check")?;
        let mut command = Command::new(&program);
        // A wrapper, such as `npm start` or a script, starts child processes.
        #[cfg(unix)]
        command.process_group(0);
        let child = command
            .args(words)
            .envs([("LUDEX_URL", url), ("LUDEX_TOKEN", TOKEN), ("LUDEX_AGENT", AGENT), ("LUDEX_GAME", game)])
            .envs([("LUDEX_SUITE", SUITE), ("LUDEX_RUN", RUN)].into_iter().filter(|_| run))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = child.with_context(|| format!("{program:?} cannot be started"))?;
        #[cfg(unix)]
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32));
        let complaint = Arc::new(Mutex::new(String::new()));
        let stderr = child.stderr.take();
        let last = complaint.clone();
        let reader = tokio::spawn(async move {
            let Some(stderr) = stderr else { return };
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if !line.trim().is_empty() {
                    *last.lock() = line;
                }
            }
        });
        Ok(Program {
            child,
            #[cfg(unix)]
            group,
            complaint,
            reader,
        })
    }

    /// Waits for the process to exit. Cancel safe.
    pub async fn ended(&mut self) -> Option<ExitStatus> {
        self.child.wait().await.ok()
    }

    /// Describes the exit of the process, with its last lines of output.
    pub async fn last_words(&mut self, status: Option<ExitStatus>) -> String {
        // The last lines may still be in the pipe.
        let _ = tokio::time::timeout(Duration::from_millis(500), &mut self.reader).await;
        let complaint = self.complaint.lock().clone();
        let status = status.map_or_else(|| "unknown exit".to_owned(), |status| status.to_string());
        if complaint.is_empty() { format!("({status})") } else { format!("({status}: {})", complaint.trim()) }
    }
}

#[cfg(unix)]
impl Drop for Program {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Kills all processes of the group.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
