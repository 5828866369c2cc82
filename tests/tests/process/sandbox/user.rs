//! Sandbox tests repeated as an unprivileged user, if the tests run as root.

use std::path::Path;
use std::process::Command;

/// Id of the unprivileged user on most systems.
const USER: &str = "65534";

#[test]
fn sandbox_tests_pass_as_unprivileged_user() {
    if std::fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) != 0) {
        eprintln!("these tests already run as a plain user");
        return;
    }
    let as_nobody = |program: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(program).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    };
    // Root's folders are closed to other users, so the programs are copied.
    let folder = tempfile::tempdir().unwrap();
    let [tests, helper, home] = ["tests", "helper", "home"].map(|name| folder.path().join(name));
    std::fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    std::fs::copy(super::helper(), &helper).unwrap();
    std::fs::create_dir(&home).unwrap();
    for path in [&home, &folder.path().to_owned()] {
        let user = Some(USER.parse().unwrap());
        std::os::unix::fs::chown(path, user, user).unwrap();
    }
    if !as_nobody(Path::new("true")).status().is_ok_and(|status| status.success()) {
        eprintln!("setpriv cannot make a plain user here: skipped");
        return;
    }
    let mut all = as_nobody(&tests);
    all.env("HOME", &home).env("TMPDIR", &home).env(super::HELPER, &helper).current_dir(&home);
    let out = all.args(["sandbox::", "--skip", "as_unprivileged_user"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "as a plain user:\n{said}\n{}", String::from_utf8_lossy(&out.stderr));
    assert!(said.contains("test result: ok") && !said.contains(" 0 passed"), "{said}");
}
