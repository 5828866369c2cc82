//! Attacks by untrusted programs, each in the sandbox as hosts configure it, and their outcomes.

mod folder;
mod kernel;
mod memory;
mod neighbours;
mod user;

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use ludex_agents::process::{ChildProcess, ProcessFault, ProcessLimits, ProgramConfig, TimeBudget};
use ludex_agents::sandbox;

/// Budget for tests that are not about time.
const AMPLE: TimeBudget = TimeBudget { cpu: None, wall: Duration::from_secs(120) };

/// Environment variable that names a different helper program.
const HELPER: &str = "LUDEX_TEST_HELPER";

/// Returns the helper program, which sets up the sandbox and then becomes the sandboxed program.
fn helper() -> &'static str {
    static PATH: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| std::env::var(HELPER).unwrap_or(env!("CARGO_BIN_EXE_ludex-tests").to_owned()));
    &PATH
}

fn use_helper() {
    sandbox::set_helper(helper());
}

fn start(argv: &[&str], limits: ProcessLimits) -> ChildProcess {
    use_helper();
    let argv = argv.iter().map(|&arg| arg.to_owned()).collect();
    ProgramConfig { argv, sandboxed: true, folder: None, limits }.start().unwrap()
}

fn python(script: &str) -> ChildProcess {
    start(&["python3", "-c", script], ProcessLimits::default())
}

/// Python prelude of the scripts: each attempt prints `done` or the name of its error.
const PRELUDE: &str = "
import os, sys
def attempt(what):
    try:
        what()
        print('done', flush=True)
    except OSError as e:
        print(type(e).__name__, flush=True)
";

/// Runs a script in the sandbox and returns its output.
fn attempts(script: &str) -> String {
    let mut program = python(&format!("{PRELUDE}{script}"));
    printed_text(&mut program)
}

/// Returns all lines that a program prints until it exits, which it must do.
fn printed_text(program: &mut ChildProcess) -> String {
    let text = program.read_to_end(&AMPLE).unwrap_or_else(|fault| panic!("{fault}\n{}", program.errors()));
    text + "\n"
}

/// Returns the processes in the process group of `leader`, except zombies.
fn group(leader: u32) -> Vec<String> {
    let folders = std::fs::read_dir("/proc").unwrap();
    let stats = folders.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("stat")).ok());
    stats
        .filter(|stat| {
            let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().collect();
            fields[0] != "Z" && fields[2] == leader.to_string()
        })
        .collect()
}

#[test]
fn program_plays_in_sandbox() {
    let mut program = python(
        "for line in sys.stdin: print(line.upper(), end='', flush=True)".replace("for", "import sys\nfor").as_str(),
    );
    program.send("hello\n");
    assert_eq!(program.read_line(&AMPLE).unwrap(), "HELLO");
    program.suspend();
    program.send("again\n");
    assert_eq!(program.read_line(&AMPLE).unwrap(), "AGAIN");
    program.close_input();
    assert_eq!(program.read_to_end(&AMPLE).unwrap(), "");
}

#[test]
fn threads_are_allowed_up_to_limit() {
    let script = "import threading, time
threads = [threading.Thread(target=time.sleep, args=(SECONDS,)) for _ in range(20)]
[t.start() for t in threads]
[t.join() for t in threads]
print('all')";
    assert_eq!(python(&script.replace("SECONDS", "0.01")).read_line(&AMPLE).unwrap(), "all");
    let few = ProcessLimits { threads: 10, ..ProcessLimits::default() };
    let mut program = start(&["python3", "-c", &script.replace("SECONDS", "600")], few);
    assert_eq!(program.read_line(&AMPLE), Err(ProcessFault::Threads { limit: 10 }));
}

#[test]
fn fork_bomb_starts_no_process() {
    assert_eq!(
        attempts("attempt(os.fork)\nattempt(lambda: os.posix_spawn('/bin/true', ['true'], {}))"),
        "PermissionError\nPermissionError\n"
    );
    let mut program = python("import os\nwhile True: os.fork()");
    assert_eq!(program.read_to_end(&AMPLE), Err(ProcessFault::Exited { code: Some(1), signal: None }));
    assert!(program.errors().contains("PermissionError"), "{}", program.errors());
    // The shell is the only process.
    let mut program = start(&["sh", "-c", "bomb() { bomb | bomb & }; bomb; echo survived"], ProcessLimits::default());
    assert!(matches!(program.read_line(&AMPLE), Err(ProcessFault::Exited { code: Some(_), .. })));
}

#[test]
fn memory_hog_is_killed() {
    let limits = ProcessLimits { memory: 64 << 20, ..ProcessLimits::default() };
    let mut program = start(&["python3", "-c", "hoard = []\nwhile True: hoard.append(b'x' * (1 << 20))"], limits);
    assert_eq!(program.read_line(&AMPLE), Err(ProcessFault::Memory { limit: 64 << 20 }));
    // The kernel refuses the allocation as a whole.
    let mut program = python("hoard = bytes(1 << 40)");
    assert_eq!(program.read_line(&AMPLE), Err(ProcessFault::Exited { code: Some(1), signal: None }));
    assert!(program.errors().contains("MemoryError"), "{}", program.errors());
}

#[test]
fn stdout_flood_is_killed_and_stderr_flood_is_discarded() {
    let limits = ProcessLimits { output: 100_000, ..ProcessLimits::default() };
    let mut program = start(&["python3", "-c", "while True: print('x' * 1000, end='')"], limits);
    assert_eq!(program.read_line(&AMPLE), Err(ProcessFault::Flood { limit: 100_000 }));
    let mut program = start(&["python3", "-c", "while True: print('x' * 1000)"], limits);
    assert_eq!(program.read_to_end(&AMPLE), Err(ProcessFault::Flood { limit: 100_000 }));
    // Output on standard error is discarded except for its end, without cost to the program.
    let mut program = python("import sys\nfor _ in range(10000): print('e' * 1000, file=sys.stderr)\nprint('fine')");
    assert_eq!(program.read_to_end(&AMPLE).unwrap(), "fine");
    let errors = program.errors();
    assert!(errors.ends_with("eee\n") && errors.len() < 100_000, "{}", errors.len());
}

#[test]
fn files_outside_are_unreadable() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.txt");
    std::fs::write(&secret, "the seed").unwrap();
    let bot = folder.path().join("bot.py");
    let homes = std::env::home_dir().unwrap();
    let script = "
import os, sys
for path in sys.argv[1:]:
    try:
        print(os.listdir(path) if os.path.isdir(path) else open(path).read())
    except OSError as e:
        print(type(e).__name__)
print(os.path.isdir(os.environ['HOME']) and os.listdir(os.environ['HOME']), os.getcwd() == os.environ['HOME'])
";
    std::fs::write(&bot, script).unwrap();
    let host = format!("/proc/{}/environ", std::process::id());
    // The script tries files next to the bot, the host's home, the list of accounts, the host's memory, and the parent
    // of all scratch folders. Their names are not command-line arguments, because other processes can read those.
    let outside = [secret.to_str().unwrap(), homes.to_str().unwrap(), "/etc/passwd", &host, "/tmp", "/proc"];
    let script =
        format!("import sys; sys.argv += {outside:?}; exec(open(sys.argv[1]).read().replace('argv[1:]', 'argv[2:]'))");
    let mut program = start(&["python3", "-c", &script, bot.to_str().unwrap()], ProcessLimits::default());
    assert_eq!(printed_text(&mut program), "PermissionError\n".repeat(outside.len()) + "[] True\n");
}

#[test]
fn files_outside_are_unwritable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.txt");
    std::fs::write(&file, "as it was").unwrap();
    let before = std::fs::metadata(&file).unwrap();
    let script = format!(
        "file = {file:?}
attempt(lambda: open(file, 'w'))
attempt(lambda: open(file + '.new', 'w'))
attempt(lambda: os.truncate(file, 0))
attempt(lambda: os.remove(file))
attempt(lambda: os.chmod(file, 0o777))
attempt(lambda: os.utime(file, (0, 0)))
attempt(lambda: os.symlink(file, file + '.link'))
attempt(lambda: os.mkdir(file + '.folder'))
attempt(lambda: open('own.txt', 'w').write('x' * 1000))
"
    );
    assert_eq!(attempts(&script), "PermissionError\n".repeat(8) + "done\n");
    let after = std::fs::metadata(&file).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "as it was");
    assert_eq!((before.permissions(), before.modified().unwrap()), (after.permissions(), after.modified().unwrap()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn scratch_folder_is_bounded_and_removed() {
    let limits = ProcessLimits { file: 10_000, ..ProcessLimits::default() };
    let script = "import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open('big', 'wb', buffering=0) as f:
        while True: f.write(bytes(1000))
except OSError: pass
print(os.path.getsize('big'))
print(os.getcwd())";
    let mut program = start(&["python3", "-c", script], limits);
    assert_eq!(program.read_line(&AMPLE).unwrap(), "10000");
    let folder = program.read_line(&AMPLE).unwrap();
    assert!(Path::new(&folder).join("big").exists());
    drop(program);
    assert!(!Path::new(&folder).exists());
}

#[test]
fn network_is_unreachable() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let unix = tempfile::tempdir().unwrap();
    let at = unix.path().join("socket");
    let local = std::os::unix::net::UnixListener::bind(&at).unwrap();
    let script = format!(
        "import socket
def datagram(): socket.socket(type=socket.SOCK_DGRAM).sendto(b'hello', ('127.0.0.1', {}))
def local(): socket.socket(socket.AF_UNIX).connect({at:?})
def turned():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b'hello', {at:?})
attempt(lambda: socket.create_connection(('127.0.0.1', {})))
attempt(datagram)
attempt(local)
attempt(turned)
",
        udp.local_addr().unwrap().port(),
        tcp.local_addr().unwrap().port()
    );
    assert_eq!(attempts(&script), "PermissionError\n".repeat(4));
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    local.set_nonblocking(true).unwrap();
    assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(udp.recv(&mut [0; 9]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(local.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn connections_of_the_machine_are_not_listed() {
    let script = "
for file in ['/proc/self/net/tcp', '/proc/net/tcp', '/proc/self/task/%d/net/tcp' % os.getpid(), '/proc/self/maps']:
    attempt(lambda: open(file).read())
";
    assert_eq!(attempts(script), "PermissionError\nPermissionError\nPermissionError\ndone\n");
}

#[test]
fn host_processes_are_unreachable() {
    let me = std::process::id();
    let script = format!(
        "import resource, signal
attempt(lambda: os.kill({me}, 0))
attempt(lambda: os.kill(0, 0))
attempt(lambda: os.kill(os.getpid(), 0))
attempt(os.setsid)
attempt(lambda: os.setpgid(0, 0))
attempt(lambda: resource.prlimit({me}, resource.RLIMIT_NOFILE))
attempt(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
print([line for line in open('/proc/self/status') if line.startswith(('CapPrm', 'NoNewPrivs'))])
print(sorted(os.environ))
"
    );
    let denied = "PermissionError\n";
    let wanted = [
        &denied.repeat(2),
        "done\n",
        &denied.repeat(4),
        "['CapPrm:\\t0000000000000000\\n', 'NoNewPrivs:\\t1\\n']\n",
        "['HOME', 'LANG', 'LC_ALL', 'PATH', 'TMPDIR']\n",
    ];
    assert_eq!(attempts(&script), wanted.concat());
}

#[test]
fn silent_program_is_killed_at_wall_time_limit() {
    let mut program = python("import time; time.sleep(3600)");
    let short = TimeBudget::wall(Duration::from_millis(500));
    assert_eq!(program.read_line(&short), Err(ProcessFault::Wall { limit: short.wall }));
}

#[test]
fn cpu_time_is_charged_per_reply() {
    let limit = Duration::from_millis(300);
    let allowance = TimeBudget { cpu: Some(limit), ..AMPLE };
    let mut program = python("while True: pass");
    let begun = Instant::now();
    assert_eq!(program.read_line(&allowance), Err(ProcessFault::Cpu { limit }));
    assert!(begun.elapsed() >= limit);
    // A sleeping program uses no CPU time; several replies together may use more than the limit per reply.
    let script = "import time
for _ in range(4):
    time.sleep(0.4)
    end = time.process_time() + 0.15
    while time.process_time() < end: pass
    print('x', flush=True)";
    let mut program = python(script);
    let allowance = TimeBudget { cpu: Some(Duration::from_millis(500)), ..AMPLE };
    for _ in 0..4 {
        assert_eq!(program.read_line(&allowance).unwrap(), "x");
    }
}

#[test]
fn cpu_time_of_all_threads_is_charged() {
    // The main thread sleeps while a second thread computes hashes.
    let script = "import hashlib, threading
def work():
    while True: hashlib.sha256(bytes(1 << 20)).digest()
threading.Thread(target=work).start()
threading.Thread(target=work).start()
import time
time.sleep(3600)";
    let limit = Duration::from_millis(400);
    assert_eq!(python(script).read_line(&TimeBudget { cpu: Some(limit), ..AMPLE }), Err(ProcessFault::Cpu { limit }));
}

#[test]
fn exit_causes_are_distinguished() {
    assert_eq!(
        python("raise SystemExit(7)").read_line(&AMPLE),
        Err(ProcessFault::Exited { code: Some(7), signal: None })
    );
    assert_eq!(
        python("import os; os.abort()").read_line(&AMPLE),
        Err(ProcessFault::Exited { code: None, signal: Some(6) })
    );
    assert_eq!(
        python("import sys; sys.stdout.buffer.write(b'\\xff\\n')").read_line(&AMPLE),
        Err(ProcessFault::NotText)
    );
    let silent = "import os, time; os.close(1); time.sleep(3600)";
    assert_eq!(python(silent).read_line(&AMPLE), Err(ProcessFault::Closed));
    let missing = ProgramConfig::new("./no-such-bot").unwrap().start().err().unwrap();
    assert!(
        matches!(&missing, ProcessFault::NotStarted { why, .. } if why.contains("the file ./no-such-bot is missing")),
        "{missing}"
    );
}

#[test]
fn program_with_missing_interpreter_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bot");
    std::fs::write(&path, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut program = start(&[path.to_str().unwrap()], ProcessLimits::default());
    let fault = program.read_line(&AMPLE).unwrap_err();
    assert!(matches!(&fault, ProcessFault::NotStarted { why, .. } if why.contains("cannot execute")), "{fault}");
}

#[test]
fn orphaned_child_processes_are_killed() {
    let mut program = python("import os, time; print(os.getpid(), flush=True); time.sleep(3600)");
    let leader: u32 = program.read_line(&AMPLE).unwrap().parse().unwrap();
    assert_eq!(group(leader).len(), 1);
    drop(program);
    assert_eq!(group(leader), [""; 0]);
    // Without a sandbox, a program may start children in its process group.
    let argv = ["sh", "-c", "sleep 3600 & sleep 3600 & echo $$; wait"].map(str::to_owned).to_vec();
    let mut program =
        ProgramConfig { argv, sandboxed: false, folder: None, limits: ProcessLimits::default() }.start().unwrap();
    let leader: u32 = program.read_line(&AMPLE).unwrap().parse().unwrap();
    assert_eq!(group(leader).len(), 3);
    drop(program);
    // Killed processes disappear after a short delay.
    let patience = Instant::now() + Duration::from_secs(20);
    while !group(leader).is_empty() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(group(leader), [""; 0]);
}

#[test]
fn program_ends_with_its_host() {
    let mut host = std::process::Command::new("sleep").arg("3600").spawn().unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    // A helper exits if its host is not its parent.
    let orders = format!(r#"{{"host":{},"folder":"/tmp","read":[],"data":1000000000,"file":1000}}"#, host.id());
    let out = std::process::Command::new(helper()).args(["__sandboxed", &orders, "echo", "alive"]).output().unwrap();
    assert_eq!(out.status.code(), Some(125));
    assert!(out.stdout.is_empty() && String::from_utf8_lossy(&out.stderr).contains("the host has exited"));
}

/// Checks runtimes that reserve much memory and start many threads.
#[test]
fn node_and_java_programs_run_in_sandbox() {
    let has = |tool: &str| std::process::Command::new(tool).arg("--version").output().is_ok();
    if has("node") {
        let script = "process.stdin.on('data', d => { console.log(String(d).trim().length); process.exit(0) })";
        let mut program = start(&["node", "-e", script], ProcessLimits::default());
        program.send("twelve chars\n");
        let said = program.read_line(&AMPLE);
        assert_eq!(said.as_deref(), Ok("12"), "{}", program.errors());
    } else {
        eprintln!("node is missing: skipped");
    }
    if has("java") {
        let mut program = start(&["java", "-Xmx256m", "-version"], ProcessLimits::default());
        let said = program.read_to_end(&AMPLE);
        assert_eq!(said.as_deref(), Ok(""), "{}", program.errors());
        assert!(program.errors().contains("Server VM"), "{}", program.errors());
    } else {
        eprintln!("java is missing: skipped");
    }
}
