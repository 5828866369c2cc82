//! Paths that a sandboxed program may read: the files on its command line, and the files that it needs to run.

use std::env;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories that every program may read, and files from which runtimes read machine information.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(super) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/java-25-openjdk",
    "/etc/ssl/openssl.cnf",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/vm",
    "/proc/version",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
];

/// Files of `/proc/self` that every program may read. `net` and `task` list the connections of the machine.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(super) const PROC_SELF: &str =
    "auxv cgroup cmdline comm environ exe fd fdinfo io limits maps mountinfo mounts smaps stat statm status";

/// Returns the command line with absolute paths, and the paths beyond [`SYSTEM`] that the program must be able to read.
pub(super) fn of(argv: &[String]) -> Result<(Vec<String>, Vec<PathBuf>), String> {
    let [name, args @ ..] = argv else { return Err("the command line is empty".to_owned()) };
    let program = behind_shim(name, find(name)?);
    let mut read = own(&program);
    let mut full = vec![program.to_string_lossy().into_owned()];
    for arg in args {
        let path = Path::new(arg);
        // A directory needs a slash: `gtp` may be an argument and a directory's name.
        let named = !arg.starts_with('-') && (path.is_file() || arg.contains('/') && path.is_dir());
        match std::path::absolute(path) {
            Ok(path) if named => {
                full.push(path.to_string_lossy().into_owned());
                if path.is_file() || !holds_much(&path) {
                    read.push(path);
                }
            }
            _ => full.push(arg.clone()),
        }
    }
    Ok((full, read))
}

/// Returns the absolute path of the directory that a spec opens to its program (`folder=`).
pub(super) fn opened(folder: &Path) -> Result<PathBuf, String> {
    if !folder.is_dir() {
        return Err(format!("folder: expected a folder, got {}", folder.display()));
    }
    if holds_much(folder) {
        let what = "expected a folder that holds neither the home directory nor the temporary files";
        return Err(format!("folder: {what}, got {}", folder.display()));
    }
    std::path::absolute(folder).map_err(|e| e.to_string())
}

/// Finds a program: a name with a slash is a path; any other name is looked up on `PATH`.
pub(crate) fn find(name: &str) -> Result<PathBuf, String> {
    let runs = |path: &Path| path.metadata().is_ok_and(|m| m.is_file() && executable(&m));
    if name.contains('/') {
        let path = Path::new(name);
        return match (path.is_file(), runs(path)) {
            (_, true) => std::path::absolute(path).map_err(|e| e.to_string()),
            (true, false) => Err(format!("{name} is not executable; run `chmod +x {name}`")),
            (false, _) => Err(format!("the file {name} is missing")),
        };
    }
    // Debian installs engines in a directory that is not on every PATH.
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/local/games", "/usr/games"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(name)).find(|path| runs(path));
    found.ok_or_else(|| format!("expected a program on PATH, got {name}; install it, or name it by its path"))
}

#[cfg(unix)]
fn executable(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn executable(_: &std::fs::Metadata) -> bool {
    true
}

/// Resolves the script of a version manager to the real interpreter by running it. In the sandbox the script would
/// fail, since it starts the interpreter as a second process.
fn behind_shim(name: &str, found: PathBuf) -> PathBuf {
    let question: &[&str] = match name {
        _ if name.starts_with("python") && !name.contains('/') => &["-c", "import sys; print(sys.executable)"],
        "node" => &["-p", "process.execPath"],
        _ => return found,
    };
    let mut start = [0; 2];
    if !File::open(&found).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && &start == b"#!") {
        return found;
    }
    let answer = Command::new(&found).args(question).output().ok().filter(|out| out.status.success());
    let path = answer.and_then(|out| String::from_utf8(out.stdout).ok()).map(|text| PathBuf::from(text.trim_end()));
    path.filter(|path| path.is_file()).unwrap_or(found)
}

/// Returns the program, and the library directories of its installation. Considers both the path of the program and the
/// target of its symbolic link.
fn own(program: &Path) -> Vec<PathBuf> {
    let mut read = vec![program.to_owned()];
    for file in [Some(program.to_owned()), program.canonicalize().ok()].into_iter().flatten() {
        let Some(folder) = file.parent() else { continue };
        if let Some(installation) = folder.parent().filter(|_| folder.ends_with("bin")) {
            let parts = ["lib", "lib64", "conf", "pyvenv.cfg"].map(|part| installation.join(part));
            read.extend(parts.into_iter().filter(|part| part.exists()));
        }
    }
    read.dedup();
    read
}

/// Returns the additional paths that a compiler reads: its installation and the source.
pub(super) fn compiler(argv: &[String], source: Option<&Path>) -> Vec<PathBuf> {
    let mut read: Vec<PathBuf> = source.map(Path::to_owned).into_iter().collect();
    for program in argv.first().map(PathBuf::from).into_iter().flat_map(|path| [path.canonicalize().ok(), Some(path)]) {
        let installation = program.as_deref().and_then(Path::parent).and_then(Path::parent);
        read.extend(installation.filter(|folder| !holds_much(folder)).map(Path::to_owned));
    }
    read
}

/// Returns true if a directory is or contains the home directory or the directory for temporary files.
fn holds_much(folder: &Path) -> bool {
    let whole = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let folder = whole(folder.to_owned());
    let homes = env::home_dir().into_iter().chain([env::temp_dir()]);
    homes.map(whole).any(|home| home.starts_with(&folder))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_on_command_line_are_readable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bot.py").to_string_lossy().into_owned();
        std::fs::write(&file, "").unwrap();
        let argv = ["sh", "--mode", "gtp", &file, "src/lib.rs"].map(str::to_owned);
        let (full, read) = of(&argv).unwrap();
        let here = env::current_dir().unwrap().join("src/lib.rs");
        assert!(full[0].ends_with("/sh") && full[0].starts_with('/'));
        assert_eq!(full[1..3], ["--mode", "gtp"]);
        assert_eq!(full[3], file);
        assert_eq!(Path::new(&full[4]), here);
        assert!(read.contains(&PathBuf::from(file)) && read.contains(&here));
        assert!(!read.contains(&folder.path().to_owned()), "siblings of a file on the command line are not readable");
    }

    #[test]
    fn home_directory_is_never_readable() {
        let home = env::home_dir().unwrap();
        assert!(holds_much(&home) && holds_much(Path::new("/")) && holds_much(&env::temp_dir()));
        assert!(opened(&home).unwrap_err().starts_with("folder: expected a folder that holds neither"));
    }

    #[test]
    fn directory_of_program_is_not_readable() {
        let folder = tempfile::tempdir().unwrap();
        let bot = folder.path().join("bot");
        std::fs::write(&bot, "").unwrap();
        assert_eq!(own(&bot), std::slice::from_ref(&bot));
        assert_eq!(opened(folder.path()).unwrap(), folder.path());
        assert_eq!(opened(&bot).unwrap_err(), format!("folder: expected a folder, got {}", bot.display()));
    }

    #[test]
    fn missing_or_nonexecutable_program_is_reported() {
        let why = find("./no/such/bot").unwrap_err();
        assert!(why.contains("the file ./no/such/bot is missing"), "{why}");
        let why = find("./Cargo.toml").unwrap_err();
        assert!(why.contains("chmod +x"), "{why}");
    }
}
