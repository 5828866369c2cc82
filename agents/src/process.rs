//! Line-based subprocesses with resource limits. Requests are written to standard input; replies are read from standard
//! output.
//!
//! CPU time is the effective limit, since it does not depend on the load of the machine. The wall-clock limit stops
//! programs that never reply. No function here blocks indefinitely.

mod fault;
mod system;

use std::io::{ErrorKind, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use ludex_protocol::Refusal;
use parking_lot::{Condvar, Mutex, MutexGuard};

pub use fault::ProcessFault;

use crate::refusal::bad_value;
use crate::sandbox::{self, SandboxDirs, SandboxRole};

/// Maximum number of retained bytes of standard error.
const ERRORS: usize = 16 << 10;
/// Interval between checks of a program's limits.
const LOOK: Duration = Duration::from_millis(10);
/// Interval between scans of a program's directory. Scans are slower than checks of the other limits.
const COUNT: Duration = Duration::from_millis(100);
/// Time limit for a program to exit after its output is closed, and for its last standard error output to arrive.
const FAREWELL: Duration = Duration::from_millis(500);

/// Resource limits of a running program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Maximum memory in bytes.
    pub memory: u64,
    /// Maximum size of one reply in bytes.
    pub output: usize,
    /// Maximum number of concurrent threads.
    pub threads: u32,
    /// Maximum size in bytes of one file in the program's directory (sandboxed programs only).
    pub file: u64,
    /// Maximum number of files and directories in the program's directory (sandboxed programs only).
    pub files: u64,
    /// Maximum total size in bytes of the files in the program's directory (sandboxed programs only).
    pub folder: u64,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        ProcessLimits { memory: 1 << 30, output: 1 << 20, threads: 256, file: 16 << 20, files: 1000, folder: 128 << 20 }
    }
}

/// Minimum wall-clock limit of a program's move without a deadline.
pub const WALL: Duration = Duration::from_secs(60);

/// Time limits of one reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBudget {
    /// CPU time of all threads since the previous reply or the start; `None` for unlimited.
    pub cpu: Option<Duration>,
    /// Wall-clock time since the request.
    pub wall: Duration,
}

impl TimeBudget {
    /// Limits CPU time, and wall-clock time to four times as much, but at least to [`WALL`], for a busy machine.
    pub fn cpu(cpu: Duration) -> Self {
        TimeBudget { cpu: Some(cpu), wall: (cpu * 4).max(WALL) }
    }

    /// Limits wall-clock time only.
    pub fn wall(wall: Duration) -> Self {
        TimeBudget { cpu: None, wall }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramConfig {
    /// Program and its arguments, passed without a shell.
    pub argv: Vec<String>,
    /// True if the program runs in the sandbox; otherwise it has the same rights as the host.
    pub sandboxed: bool,
    /// Directory that the sandboxed program may read in addition to its own file.
    pub folder: Option<PathBuf>,
    pub limits: ProcessLimits,
}

impl ProgramConfig {
    /// Parses a command line into a sandboxed program. Words are split as in a shell, with quotes and backslashes; no
    /// other shell syntax applies.
    ///
    /// # Errors
    /// A line without words, or an unclosed quotation mark.
    pub fn new(line: &str) -> Result<Self, Refusal> {
        let argv = shlex::split(line).unwrap_or_default();
        if argv.is_empty() {
            let allowed = "a program and its arguments, quoted as in a shell";
            return Err(bad_value("cmd", line, allowed));
        }
        Ok(ProgramConfig { argv, sandboxed: true, folder: None, limits: ProcessLimits::default() })
    }

    /// Starts the program.
    ///
    /// # Errors
    /// [`ProcessFault::NotStarted`] if the program, or a sandbox for it, is missing.
    pub fn start(&self) -> Result<ChildProcess, ProcessFault> {
        self.start_as(&SandboxRole::Player)
    }

    pub(crate) fn start_as(&self, role: &SandboxRole<'_>) -> Result<ChildProcess, ProcessFault> {
        let not_started = |why: String| ProcessFault::NotStarted { program: self.argv.join(" "), why };
        let (mut command, room) = if self.sandboxed {
            let (folder, limits) = (self.folder.as_deref(), &self.limits);
            let made = sandbox::command(&self.argv, role, folder, limits.memory, limits.file);
            let (command, room) = made.map_err(not_started)?;
            (command, Some(room))
        } else {
            let path = sandbox::find(&self.argv[0]).map_err(not_started)?;
            let mut command = Command::new(path);
            command.args(&self.argv[1..]);
            (command, None)
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = spawn(command).map_err(|e| not_started(e.to_string()))?;
        Ok(ChildProcess::new(child, self.clone(), room))
    }
}

/// Spawns all programs from one thread that lives as long as the host. The kernel kills a sandboxed program when the
/// *thread* that started it ends, not the process.
fn spawn(command: Command) -> std::io::Result<Child> {
    type Order = (Command, Sender<std::io::Result<Child>>);
    static SPAWNER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let gone = || std::io::Error::other("the thread that starts programs has ended");
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        let serve = move || inbox.into_iter().for_each(|(mut command, reply)| drop(reply.send(command.spawn())));
        // If the thread cannot start, the receiver is dropped and every order fails with that reason.
        let _ = thread::Builder::new().name("spawner".into()).spawn(serve);
        Mutex::new(orders)
    });
    let (reply, answer) = mpsc::channel();
    spawner.lock().send((command, reply)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

/// Running program. Its process group is killed on drop.
pub struct ChildProcess {
    program: ProgramConfig,
    child: Child,
    /// Sender to the thread that writes the program's input; `None` once the input is closed. Because a thread writes,
    /// a program that does not read its input cannot block the host.
    input: Option<Sender<String>>,
    output: Arc<Pipe>,
    errors: Arc<Pipe>,
    /// CPU time already charged to earlier replies.
    charged: Duration,
    stopped: bool,
    /// Fault that ended the program. All later requests return this fault.
    fault: Option<ProcessFault>,
    /// Directory and memory group of a sandboxed program.
    room: Option<SandboxDirs>,
    /// Time of the last scan of the program's directory.
    counted: Instant,
}

impl ChildProcess {
    fn new(mut child: Child, program: ProgramConfig, room: Option<SandboxDirs>) -> Self {
        let output = Arc::new(Pipe::default());
        let errors = Arc::new(Pipe::default());
        let limit = program.limits.output;
        if let Some(pipe) = child.stdout.take() {
            let output = output.clone();
            thread::spawn(move || output.fill(pipe, limit));
        }
        if let Some(pipe) = child.stderr.take() {
            let errors = errors.clone();
            thread::spawn(move || errors.fill_with_tail(pipe, ERRORS));
        }
        let input = child.stdin.take().map(writer);
        let charged = Duration::ZERO;
        let counted = Instant::now();
        ChildProcess { program, child, input, output, errors, charged, stopped: false, fault: None, room, counted }
    }

    /// Sends text verbatim to the program; a line must end with `\n`. Resumes a [suspended](ChildProcess::suspend)
    /// program. If the program has exited, the next read returns the fault.
    pub fn send(&mut self, text: &str) {
        if std::mem::take(&mut self.stopped) {
            system::stop(&self.child, false);
        }
        if let Some(input) = &self.input {
            let _ = input.send(text.to_owned());
        }
    }

    /// Closes the program's input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Reads the next line of output, without the line ending.
    ///
    /// # Errors
    /// The fault that ended the program. All later requests return the same fault.
    pub fn read_line(&mut self, budget: &TimeBudget) -> Result<String, ProcessFault> {
        self.read(budget, |bytes, ended| match bytes.iter().position(|&b| b == b'\n') {
            Some(end) => Some(end + 1),
            // The last line may lack its line ending.
            None => (ended && !bytes.is_empty()).then_some(bytes.len()),
        })
    }

    /// Reads all remaining output, without the last line ending. Use this method for programs that reply once and exit.
    /// A nonzero exit code or a signal is a fault, even if there is output.
    ///
    /// # Errors
    /// Returns the errors of [`read_line`](ChildProcess::read_line).
    pub fn read_to_end(&mut self, budget: &TimeBudget) -> Result<String, ProcessFault> {
        let text = self.read(budget, |bytes, ended| ended.then_some(bytes.len()))?;
        match self.farewell() {
            ProcessFault::Exited { code: Some(0), .. } | ProcessFault::Closed => Ok(text),
            fault => Err(self.end(fault)),
        }
    }

    /// Reads up to a line equal to `mark`, or to the end of output as in [`read_to_end`](ChildProcess::read_to_end).
    /// Returns the text without the mark, and true if the mark was read.
    ///
    /// # Errors
    /// Returns the errors of [`read_line`](ChildProcess::read_line).
    pub fn read_until(&mut self, mark: &str, budget: &TimeBudget) -> Result<(String, bool), ProcessFault> {
        let marks = |line: &[u8]| line.trim_ascii() == mark.as_bytes();
        let text = self.read(budget, |bytes, ended| {
            let mut lines = bytes.split_inclusive(|&b| b == b'\n');
            let whole = |line: &&[u8]| ended || line.ends_with(b"\n");
            let marked = lines
                .by_ref()
                .take_while(whole)
                .try_fold(0, |end, line| if marks(line) { Err(end + line.len()) } else { Ok(end + line.len()) });
            marked.err().or(ended.then_some(bytes.len()))
        })?;
        let end = text.trim_end().rfind('\n').map_or(0, |newline| newline + 1);
        if marks(&text.as_bytes()[end..]) {
            return Ok((text[..end].to_owned(), true));
        }
        match self.farewell() {
            ProcessFault::Exited { code: Some(0), .. } | ProcessFault::Closed => Ok((text, false)),
            fault => Err(self.end(fault)),
        }
    }

    /// Returns the last bytes of the program's standard error. Only the program's owner may read them.
    pub fn errors(&mut self) -> String {
        if self.fault.is_some() || system::try_wait(&mut self.child).is_some() {
            let mut inner = self.errors.inner.lock();
            // The last bytes may still be in flight.
            self.errors.news.wait_while_for(&mut inner, |inner| !inner.ended, FAREWELL);
        }
        String::from_utf8_lossy(&self.errors.inner.lock().bytes).into_owned()
    }

    /// Suspends the program until the next [`send`](ChildProcess::send), so that the program cannot compute during
    /// other players' turns.
    pub fn suspend(&mut self) {
        system::stop(&self.child, true);
        self.stopped = true;
    }

    /// Reads output until `complete` returns the length of a reply. The arguments of `complete` are the buffered bytes,
    /// and true if the output has ended.
    fn read(
        &mut self,
        budget: &TimeBudget,
        complete: impl Fn(&[u8], bool) -> Option<usize>,
    ) -> Result<String, ProcessFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let begun = Instant::now();
        let limit = self.program.limits.output;
        let output = self.output.clone();
        loop {
            let mut inner = output.inner.lock();
            if complete(&inner.bytes, inner.ended).is_none() {
                let there = inner.bytes.len();
                let nothing_new = |inner: &mut Inner| inner.bytes.len() == there && !inner.ended;
                output.news.wait_while_for(&mut inner, nothing_new, LOOK);
            }
            let answer = match complete(&inner.bytes, inner.ended) {
                Some(n) => Some(Ok(inner.bytes.drain(..n).collect())),
                // No more output will come; the exit status is checked below.
                None if inner.ended => Some(Err(None)),
                None if inner.bytes.len() > limit => Some(Err(Some(ProcessFault::Flood { limit }))),
                None => None,
            };
            drop(inner);
            output.news.notify_all();
            // An exceeded limit counts even if the reply has arrived.
            if let Some(fault) = self.over(budget, begun, answer.is_some()) {
                return Err(self.end(fault));
            }
            match answer {
                None => {}
                Some(Ok(bytes)) => return self.text(bytes),
                Some(Err(fault)) => {
                    let fault = fault.unwrap_or_else(|| self.farewell());
                    return Err(self.end(fault));
                }
            }
        }
    }

    /// Returns the fault for an exceeded limit, if any. If the program has replied, charges its CPU time to the reply
    /// and ignores the wall-clock limit.
    fn over(&mut self, budget: &TimeBudget, begun: Instant, answered: bool) -> Option<ProcessFault> {
        let limits = self.program.limits;
        if let Some(usage) = system::usage(&self.child) {
            let used = usage.cpu.saturating_sub(self.charged);
            if let Some(limit) = budget.cpu.filter(|limit| used > *limit) {
                return Some(ProcessFault::Cpu { limit });
            }
            if usage.memory > limits.memory {
                return Some(ProcessFault::Memory { limit: limits.memory });
            }
            if usage.threads > limits.threads {
                return Some(ProcessFault::Threads { limit: limits.threads });
            }
            if answered {
                self.charged = usage.cpu;
            }
        }
        if let Some(SandboxDirs { folder, .. }) = &self.room
            && (answered || self.counted.elapsed() > COUNT)
        {
            let held = folder.usage(self.child.id(), limits.files, limits.file);
            self.counted = Instant::now();
            if held.files > limits.files || held.bytes > limits.folder {
                return Some(ProcessFault::Disk { files: limits.files, bytes: limits.folder });
            }
        }
        (!answered && begun.elapsed() > budget.wall).then_some(ProcessFault::Wall { limit: budget.wall })
    }

    /// Returns the fault of a program whose output has ended: its exit status, or [`ProcessFault::Closed`] if it is
    /// still running.
    fn farewell(&mut self) -> ProcessFault {
        let begun = Instant::now();
        loop {
            if let Some(end) = system::try_wait(&mut self.child) {
                let said = sandbox::refusal(end.code, || self.errors());
                let (code, signal) = (end.code, end.signal);
                return match said {
                    Some(why) => ProcessFault::NotStarted { program: self.program.argv.join(" "), why },
                    None => ProcessFault::Exited { code, signal },
                };
            }
            if begun.elapsed() > FAREWELL {
                return ProcessFault::Closed;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn text(&mut self, mut bytes: Vec<u8>) -> Result<String, ProcessFault> {
        if bytes.ends_with(b"\n") {
            bytes.pop();
        }
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
        String::from_utf8(bytes).map_err(|_| self.end(ProcessFault::NotText))
    }

    /// Kills the program and stores the fault.
    fn end(&mut self, fault: ProcessFault) -> ProcessFault {
        // The kernel may have enforced the memory limit first.
        let over =
            self.room.as_ref().and_then(|room| room.group.as_ref()).is_some_and(|group| group.is_out_of_memory());
        let fault = if over { ProcessFault::Memory { limit: self.program.limits.memory } } else { fault };
        system::end(&mut self.child);
        self.input = None;
        self.fault.insert(fault).clone()
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // After a fault the process is reaped, and its id may belong to another process.
        if self.fault.is_none() {
            system::end(&mut self.child);
        }
        self.output.close();
        self.errors.close();
    }
}

/// Starts a thread that writes texts to the program until the sender is dropped or writing fails.
fn writer(mut pipe: ChildStdin) -> Sender<String> {
    let (sender, inbox) = mpsc::channel::<String>();
    thread::spawn(move || {
        for text in inbox {
            if pipe.write_all(text.as_bytes()).and_then(|()| pipe.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

/// Buffer between the thread that reads a program's output and the thread that waits for a reply.
#[derive(Default)]
struct Pipe {
    inner: Mutex<Inner>,
    /// Condition variable, notified when bytes have arrived, bytes have been taken, or the output has ended.
    news: Condvar,
}

#[derive(Default)]
struct Inner {
    bytes: Vec<u8>,
    /// True if the output has ended.
    ended: bool,
    /// True if the receiving [`ChildProcess`] was dropped.
    closed: bool,
}

impl Pipe {
    /// Reads into the buffer. Pauses while the buffer contains more than `limit` bytes.
    fn fill(&self, mut from: impl Read, limit: usize) {
        self.each(&mut from, |inner, new| {
            inner.bytes.extend_from_slice(new);
            self.news.notify_all();
            self.news.wait_while(inner, |inner| inner.bytes.len() > limit && !inner.closed);
        });
    }

    /// Reads to the end, and retains only the last `limit` bytes.
    fn fill_with_tail(&self, mut from: impl Read, limit: usize) {
        self.each(&mut from, |inner, new| {
            inner.bytes.extend_from_slice(new);
            let excess = inner.bytes.len().saturating_sub(limit);
            inner.bytes.drain(..excess);
        });
    }

    fn each(&self, from: &mut impl Read, take: impl Fn(&mut MutexGuard<'_, Inner>, &[u8])) {
        let mut chunk = [0; 8 << 10];
        loop {
            match from.read(&mut chunk) {
                Ok(n) if n > 0 => {
                    let mut inner = self.inner.lock();
                    take(&mut inner, &chunk[..n]);
                    if inner.closed {
                        break;
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        self.inner.lock().ended = true;
        self.news.notify_all();
    }

    fn close(&self) {
        self.inner.lock().closed = true;
        self.news.notify_all();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Generous limits for tests that must not time out.
    const AMPLE: TimeBudget = TimeBudget { cpu: None, wall: WALL };

    fn shell(script: &str) -> ChildProcess {
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        ProgramConfig { argv, sandboxed: false, folder: None, limits: ProcessLimits::default() }.start().unwrap()
    }

    #[test]
    fn program_replies_line_by_line() {
        let mut program = shell("while read line; do echo \"got $line\"; echo; done");
        program.send("one\ntwo\n");
        assert_eq!(program.read_line(&AMPLE).unwrap(), "got one");
        assert_eq!(program.read_line(&AMPLE).unwrap(), "");
        assert_eq!(program.read_line(&AMPLE).unwrap(), "got two");
        program.suspend();
        program.send("three\n");
        program.close_input();
        assert_eq!(program.read_to_end(&AMPLE).unwrap(), "\ngot three\n");
    }

    #[test]
    fn last_line_without_newline_is_read() {
        let mut program = shell("printf 'a\\r\\nb'");
        assert_eq!(program.read_line(&AMPLE).unwrap(), "a");
        assert_eq!(program.read_line(&AMPLE).unwrap(), "b");
        assert_eq!(program.read_line(&AMPLE), Err(ProcessFault::Exited { code: Some(0), signal: None }));
    }

    #[test]
    fn nonzero_exit_discards_output() {
        let mut program = shell("echo 5; echo why >&2; exit 3");
        assert_eq!(program.read_to_end(&AMPLE), Err(ProcessFault::Exited { code: Some(3), signal: None }));
        assert_eq!(program.errors(), "why\n");
        assert_eq!(program.read_line(&AMPLE), Err(ProcessFault::Exited { code: Some(3), signal: None }));
        let mut program = shell("kill -SEGV $$");
        let fault = program.read_line(&AMPLE).unwrap_err();
        assert_eq!(fault.to_string(), "the program was killed by signal 11 (segmentation fault)");
    }

    #[test]
    fn unread_input_does_not_block_the_host() {
        let mut program = shell("sleep 60");
        program.send(&"x".repeat(1 << 20));
        let late = TimeBudget::wall(Duration::from_millis(50));
        assert_eq!(program.read_line(&late), Err(ProcessFault::Wall { limit: late.wall }));
    }

    #[test]
    fn command_line_is_split_without_a_shell() {
        let program = ProgramConfig::new(r#"gnugo --mode gtp "a b" 'c $HOME' d\ e"#).unwrap();
        assert_eq!(program.argv, ["gnugo", "--mode", "gtp", "a b", "c $HOME", "d e"]);
        assert!(ProgramConfig::new("").is_err() && ProgramConfig::new("a 'b").is_err());
        let missing = ProgramConfig { sandboxed: false, ..ProgramConfig::new("no-such-engine -x").unwrap() };
        let fault = missing.start().err().unwrap().to_string();
        assert!(fault.contains("no-such-engine -x was not started: expected a program on PATH, got "), "{fault}");
    }
}
