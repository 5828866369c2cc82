//! Running a program that talks in lines, within limits: questions go to its standard input, answers come from its standard
//! output.
//!
//! The limit that counts is CPU time, which does not depend on what else the machine does; the wall limit is there for programs
//! that never answer. Nothing here waits without a limit, however the program behaves.

mod fault;
mod system;

use std::io::{ErrorKind, Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ludex_protocol::Refusal;

pub use fault::ProcessFault;

use crate::refusal::bad_value;
use crate::sandbox::{self, Room, SandboxRole};

/// How much of standard error is kept.
const ERRORS: usize = 16 << 10;
/// How often the limits of a program are checked while it is waited for.
const LOOK: Duration = Duration::from_millis(10);
/// How often what is in its folder is counted, which takes longer.
const COUNT: Duration = Duration::from_millis(100);
/// How long a program that closed its output may take to end, and the last errors of an ended program to arrive.
const FAREWELL: Duration = Duration::from_millis(500);

/// What a program may use as long as it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of one answer.
    pub output: usize,
    /// Threads at a time.
    pub threads: u32,
    /// Bytes of one file that it writes (in its own folder; sandboxed programs only).
    pub file: u64,
    /// How many files and folders it may keep in its own folder (sandboxed programs only).
    pub files: u64,
    /// Bytes of all of them.
    pub folder: u64,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        ProcessLimits { memory: 1 << 30, output: 1 << 20, threads: 256, file: 16 << 20, files: 1000, folder: 128 << 20 }
    }
}

/// What a program may use for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// CPU time of all its threads since its last answer, or since it began; `None`: as much as it gets.
    pub cpu: Option<Duration>,
    /// Time by the clock on the wall, from the question on.
    pub wall: Duration,
}

impl Allowance {
    /// This much CPU time, and enough time by the clock that a busy machine never costs a game.
    pub fn cpu(cpu: Duration) -> Self {
        Allowance { cpu: Some(cpu), wall: cpu * 20 + Duration::from_secs(10) }
    }

    /// This much time by the clock, with any amount of CPU time.
    pub fn wall(wall: Duration) -> Self {
        Allowance { cpu: None, wall }
    }
}

/// A program to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments, as it gets them. No shell reads them.
    pub argv: Vec<String>,
    /// Whether it runs in the sandbox. If not, it may do whatever the host may.
    pub sandboxed: bool,
    /// What it may use.
    pub limits: ProcessLimits,
}

impl Program {
    /// The program that a command line names, sandboxed. The line is split into words as a shell would split it: blanks
    /// between them, quotes and backslashes around what belongs together. Nothing else of a shell is understood.
    ///
    /// # Errors
    /// A line without words, or with a quotation mark that is not closed.
    pub fn new(line: &str) -> Result<Self, Refusal> {
        let argv = shlex::split(line).unwrap_or_default();
        if argv.is_empty() {
            let allowed = "a program and its arguments, quoted as in a shell";
            return Err(bad_value("cmd", line, allowed));
        }
        Ok(Program { argv, sandboxed: true, limits: ProcessLimits::default() })
    }

    /// Starts it.
    ///
    /// # Errors
    /// [`Fault::NotStarted`]: the program, or a sandbox for it, is missing.
    pub fn start(&self) -> Result<Process, ProcessFault> {
        self.start_as(&SandboxRole::Player)
    }

    pub(crate) fn start_as(&self, role: &SandboxRole<'_>) -> Result<Process, ProcessFault> {
        let not_started = |why: String| ProcessFault::NotStarted { program: self.argv.join(" "), why };
        let (mut command, room) = if self.sandboxed {
            let (command, room) =
                sandbox::command(&self.argv, role, self.limits.memory, self.limits.file).map_err(not_started)?;
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
        Ok(Process::new(child, self.clone(), room))
    }
}

/// Spawns from one thread that lives as long as the host: the system ends a sandboxed program when the *thread* that
/// started it ends, not the process.
fn spawn(command: Command) -> std::io::Result<Child> {
    type Order = (Command, Sender<std::io::Result<Child>>);
    static SPAWNER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let gone = || std::io::Error::other("the thread that starts programs is gone");
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        let serve = move || inbox.into_iter().for_each(|(mut command, reply)| drop(reply.send(command.spawn())));
        // If the thread cannot be started the inbox is dropped, and every order fails with that reason.
        let _ = thread::Builder::new().name("spawner".into()).spawn(serve);
        Mutex::new(orders)
    });
    let (reply, answer) = mpsc::channel();
    lock(spawner).send((command, reply)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

/// A running program. It is ended, with all of its process group, when this is dropped.
pub struct Process {
    program: Program,
    child: Child,
    /// `None` once the input is closed. A thread writes, so that a program that does not read does not block the host.
    input: Option<Sender<String>>,
    output: Arc<Pipe>,
    errors: Arc<Pipe>,
    /// CPU time that earlier answers used.
    charged: Duration,
    stopped: bool,
    /// Why it was ended. Every later question gets the same fault.
    fault: Option<ProcessFault>,
    /// Where it runs, if it is sandboxed.
    room: Option<Room>,
    /// When the folder's files were counted.
    counted: Instant,
}

impl Process {
    fn new(mut child: Child, program: Program, room: Option<Room>) -> Self {
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
        Process { program, child, input, output, errors, charged, stopped: false, fault: None, room, counted }
    }

    /// Sends text as it is; a line needs its `\n`. A program that was [stopped](Process::stop) continues. If it is gone,
    /// the next answer says so.
    pub fn send(&mut self, text: &str) {
        if std::mem::take(&mut self.stopped) {
            system::stop(&self.child, false);
        }
        if let Some(input) = &self.input {
            let _ = input.send(text.to_owned());
        }
    }

    /// Closes the program's input: there will be no more.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// The next line of its output, without its end.
    ///
    /// # Errors
    /// Why the line is missing. The program is ended, and every later question gets the same fault.
    pub fn line(&mut self, allowance: &Allowance) -> Result<String, ProcessFault> {
        self.read(allowance, |bytes, ended| match bytes.iter().position(|&b| b == b'\n') {
            Some(end) => Some(end + 1),
            // The last line may lack its end.
            None => (ended && !bytes.is_empty()).then_some(bytes.len()),
        })
    }

    /// Everything up to the end of its output, without the end of the last line, from a program that answers once and
    /// ends. One that fails (an exit code other than 0, a signal) has not answered, whatever it wrote.
    ///
    /// # Errors
    /// As [`line`](Process::line).
    pub fn rest(&mut self, allowance: &Allowance) -> Result<String, ProcessFault> {
        let text = self.read(allowance, |bytes, ended| ended.then_some(bytes.len()))?;
        match self.farewell() {
            ProcessFault::Exited { code: Some(0), .. } | ProcessFault::Closed => Ok(text),
            fault => Err(self.end(fault)),
        }
    }

    /// Everything up to a line that is `mark`, which is not part of it, or up to the end of its output as in
    /// [`rest`](Process::rest); and whether the mark came.
    ///
    /// # Errors
    /// As [`line`](Process::line).
    pub fn until(&mut self, mark: &str, allowance: &Allowance) -> Result<(String, bool), ProcessFault> {
        let marks = |line: &[u8]| line.trim_ascii() == mark.as_bytes();
        let text = self.read(allowance, |bytes, ended| {
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

    /// What it wrote on standard error: the end of it, for the program's owner only.
    pub fn errors(&mut self) -> String {
        if self.fault.is_some() || system::ended(&mut self.child).is_some() {
            let inner = lock(&self.errors.inner);
            // The last of it may still be on its way.
            drop(self.errors.news.wait_timeout_while(inner, FAREWELL, |inner| !inner.ended));
        }
        String::from_utf8_lossy(&lock(&self.errors.inner).bytes).into_owned()
    }

    /// Lets it do nothing until it is [sent](Process::send) something: programs that keep running between their turns
    /// must not think in the time of others.
    pub fn stop(&mut self) {
        system::stop(&self.child, true);
        self.stopped = true;
    }

    /// Waits until `complete` says how many bytes of the output are an answer; it is told whether the output has ended.
    fn read(
        &mut self,
        allowance: &Allowance,
        complete: impl Fn(&[u8], bool) -> Option<usize>,
    ) -> Result<String, ProcessFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let begun = Instant::now();
        let limit = self.program.limits.output;
        let output = self.output.clone();
        loop {
            let mut inner = lock(&output.inner);
            if complete(&inner.bytes, inner.ended).is_none() {
                let there = inner.bytes.len();
                let nothing_new = |inner: &mut Inner| inner.bytes.len() == there && !inner.ended;
                let waited = output.news.wait_timeout_while(inner, LOOK, nothing_new);
                inner = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let answer = match complete(&inner.bytes, inner.ended) {
                Some(n) => Some(Ok(inner.bytes.drain(..n).collect())),
                // Nothing more can come; how it ended is asked below.
                None if inner.ended => Some(Err(None)),
                None if inner.bytes.len() > limit => Some(Err(Some(ProcessFault::Flood { limit }))),
                None => None,
            };
            drop(inner);
            output.news.notify_all();
            // A limit that was passed counts even if the answer has come.
            if let Some(fault) = self.over(allowance, begun, answer.is_some()) {
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

    /// The limit that the program has passed, if any. A program that has answered is charged and can no longer be late.
    fn over(&mut self, allowance: &Allowance, begun: Instant, answered: bool) -> Option<ProcessFault> {
        let limits = self.program.limits;
        if let Some(usage) = system::usage(&self.child) {
            let used = usage.cpu.saturating_sub(self.charged);
            if let Some(limit) = allowance.cpu.filter(|limit| used > *limit) {
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
        if let Some(Room { folder, .. }) = &self.room
            && (answered || self.counted.elapsed() > COUNT)
        {
            let held = folder.usage(self.child.id(), limits.files, limits.file);
            self.counted = Instant::now();
            if held.files > limits.files || held.bytes > limits.folder {
                return Some(ProcessFault::Disk { files: limits.files, bytes: limits.folder });
            }
        }
        (!answered && begun.elapsed() > allowance.wall).then_some(ProcessFault::Wall { limit: allowance.wall })
    }

    /// How a program ended after its output ended, or that it still runs in silence.
    fn farewell(&mut self) -> ProcessFault {
        let begun = Instant::now();
        loop {
            if let Some(end) = system::ended(&mut self.child) {
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

    /// Ends the program for good.
    fn end(&mut self, fault: ProcessFault) -> ProcessFault {
        // The kernel may have been faster than the host.
        let over = self.room.as_ref().and_then(|room| room.group.as_ref()).is_some_and(|group| group.is_over());
        let fault = if over { ProcessFault::Memory { limit: self.program.limits.memory } } else { fault };
        system::end(&mut self.child);
        self.input = None;
        self.fault.insert(fault).clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After a fault it is gone, and its number may be another's.
        if self.fault.is_none() {
            system::end(&mut self.child);
        }
        self.output.close();
        self.errors.close();
    }
}

/// A thread that writes what it is sent, until the sender is dropped or the program reads no more.
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

/// Bytes on their way from the thread that reads them to the one that waits for them.
#[derive(Default)]
struct Pipe {
    inner: Mutex<Inner>,
    /// Something came, was taken, or has ended.
    news: Condvar,
}

#[derive(Default)]
struct Inner {
    bytes: Vec<u8>,
    /// Nothing more will come.
    ended: bool,
    /// The reader is gone.
    closed: bool,
}

impl Pipe {
    /// Reads until more than `limit` bytes wait, then continues when some were taken.
    fn fill(&self, mut from: impl Read, limit: usize) {
        self.each(&mut from, |mut inner, new| {
            inner.bytes.extend_from_slice(new);
            self.news.notify_all();
            let full = |inner: &mut Inner| inner.bytes.len() > limit && !inner.closed;
            self.news.wait_while(inner, full).unwrap_or_else(PoisonError::into_inner)
        });
    }

    /// Reads everything and keeps the last `limit` bytes.
    fn fill_with_tail(&self, mut from: impl Read, limit: usize) {
        self.each(&mut from, |mut inner, new| {
            inner.bytes.extend_from_slice(new);
            let excess = inner.bytes.len().saturating_sub(limit);
            inner.bytes.drain(..excess);
            inner
        });
    }

    fn each<'a>(&'a self, from: &mut impl Read, take: impl Fn(MutexGuard<'a, Inner>, &[u8]) -> MutexGuard<'a, Inner>) {
        let mut chunk = [0; 8 << 10];
        loop {
            match from.read(&mut chunk) {
                Ok(n) if n > 0 => {
                    if take(lock(&self.inner), &chunk[..n]).closed {
                        break;
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        lock(&self.inner).ended = true;
        self.news.notify_all();
    }

    fn close(&self) {
        lock(&self.inner).closed = true;
        self.news.notify_all();
    }
}

/// A thread that panicked leaves nothing half done behind this lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// An allowance for tests in which lateness must not decide.
    const AMPLE: Allowance = Allowance { cpu: None, wall: Duration::from_secs(60) };

    fn shell(script: &str) -> Process {
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        Program { argv, sandboxed: false, limits: ProcessLimits::default() }.start().unwrap()
    }

    #[test]
    fn lines_go_to_and_fro() {
        let mut program = shell("while read line; do echo \"got $line\"; echo; done");
        program.send("one\ntwo\n");
        assert_eq!(program.line(&AMPLE).unwrap(), "got one");
        assert_eq!(program.line(&AMPLE).unwrap(), "");
        assert_eq!(program.line(&AMPLE).unwrap(), "got two");
        program.stop();
        program.send("three\n");
        program.close_input();
        assert_eq!(program.rest(&AMPLE).unwrap(), "\ngot three\n");
    }

    #[test]
    fn an_answer_may_lack_its_last_end() {
        let mut program = shell("printf 'a\\r\\nb'");
        assert_eq!(program.line(&AMPLE).unwrap(), "a");
        assert_eq!(program.line(&AMPLE).unwrap(), "b");
        assert_eq!(program.line(&AMPLE), Err(ProcessFault::Exited { code: Some(0), signal: None }));
    }

    #[test]
    fn a_failure_is_no_answer() {
        let mut program = shell("echo 5; echo why >&2; exit 3");
        assert_eq!(program.rest(&AMPLE), Err(ProcessFault::Exited { code: Some(3), signal: None }));
        assert_eq!(program.errors(), "why\n");
        assert_eq!(program.line(&AMPLE), Err(ProcessFault::Exited { code: Some(3), signal: None }));
        let mut program = shell("kill -SEGV $$");
        let fault = program.line(&AMPLE).unwrap_err();
        assert_eq!(fault.to_string(), "the program was ended by signal 11 (segmentation fault)");
    }

    #[test]
    fn what_is_not_read_holds_up_nobody() {
        let mut program = shell("sleep 60");
        program.send(&"x".repeat(1 << 20));
        let late = Allowance::wall(Duration::from_millis(50));
        assert_eq!(program.line(&late), Err(ProcessFault::Wall { limit: late.wall }));
    }

    #[test]
    fn command_lines_are_split_without_a_shell() {
        let program = Program::new(r#"gnugo --mode gtp "a b" 'c $HOME' d\ e"#).unwrap();
        assert_eq!(program.argv, ["gnugo", "--mode", "gtp", "a b", "c $HOME", "d e"]);
        assert!(Program::new("").is_err() && Program::new("a 'b").is_err());
        let missing = Program { sandboxed: false, ..Program::new("no-such-engine -x").unwrap() };
        let fault = missing.start().err().unwrap().to_string();
        assert!(fault.contains("no-such-engine -x was not started: there is no program no-such-engine"), "{fault}");
    }
}
