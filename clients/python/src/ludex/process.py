"""Local servers: ``ludex.serve()``."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from types import TracebackType

from .errors import LudexError

START_SECONDS = 30.0
STOP_SECONDS = 5.0

# Prefix of temporary data folders. mkdtemp appends eight characters.
TEMPORARY = "ludex-serve-"

# The latest server of this process at each URL.
_servers: dict[str, Server] = {}


def has_exited(url: str) -> bool:
    """Return True if the server that this process started at ``url`` has exited."""
    server = _servers.get(url.rstrip("/"))
    return server is not None and not server.running


def find_program() -> str:
    """Return the path of the ``ludex`` program.

    The search order is ``LUDEX_BIN``, the scripts of this Python environment (where ``pip install
    ludex`` puts the program), ``PATH``, and in a checkout of the repository its ``target/release``
    and ``target/debug``.

    Raises:
        LudexError: ``not_installed``; the message names the remedy.
    """
    named = os.environ.get("LUDEX_BIN")
    if named:
        if os.access(named, os.X_OK) and os.path.isfile(named):
            return named
        raise LudexError("not_installed", f"LUDEX_BIN={named} is not an executable file", got=named)
    found = shutil.which("ludex", path=sysconfig.get_path("scripts")) or shutil.which("ludex")
    if found:
        return found
    program = "ludex.exe" if sys.platform == "win32" else "ludex"
    for folder in Path(__file__).resolve().parents:
        if (folder / "Cargo.toml").is_file() and (folder / "server").is_dir():
            for profile in ("release", "debug"):
                built = folder / "target" / profile / program
                if built.is_file():
                    return str(built)
    raise LudexError(
        "not_installed",
        "the ludex program was not found: install a wheel, which contains it (`pip install "
        "ludex`), or build it in the Ludex repository (`cargo build --release`) and put "
        "target/release on PATH or set LUDEX_BIN to the program",
    )


def _is_abandoned(folder: Path) -> bool:
    """Return True if a server used this data folder and no longer runs."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        # A server that starts has not locked its folder yet.
        if time.time() - folder.stat().st_mtime < START_SECONDS:
            return False
        with (folder / "ludex.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # No lock yet, a lock that a server holds, or a folder of another user.
        return False
    return True


def remove_abandoned() -> None:
    """Remove the temporary folders of killed servers. On Windows, they remain."""
    for folder in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"):
        named = re.fullmatch(rf"{TEMPORARY}[a-z0-9_]{{8}}", folder.name)
        if named and not folder.is_symlink() and _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


class Server:
    """A running server, started by :func:`serve`. Use it as a context manager, or close it.

    Attributes:
        url: WebSocket URL.
        pid: process id.
        data: data folder.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None,
        args: Sequence[str],
        listen: str = "127.0.0.1:0",
    ) -> None:
        program = find_program()
        self._own = None
        if data is None:
            remove_abandoned()
            self._own = tempfile.mkdtemp(prefix=TEMPORARY)
        self.data = Path(self._own or os.fspath(data or ""))
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the server
        command = [program, "serve", "--listen", listen, "--data", str(self.data), "--json"]
        # The pipe closes when this process exits, even after a crash.
        command += ["--until-stdin-closes"] + ([] if self._own is None else ["--temporary"])
        try:
            self._process = subprocess.Popen(
                [*command, *args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except OSError as error:
            self._clean()
            raise LudexError("not_installed", f"{program} does not start: {error}") from error
        self.pid = self._process.pid
        # Finalize, because workers of multiprocessing run no atexit functions. The priority closes
        # the server after this process's own workers, which may use it. A forked child that exits
        # does not close it.
        self._at_exit = Finalize(None, self.close, exitpriority=-1)
        self._owner = os.getpid()
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._reader.start()
        try:
            self.url = self._ready(lines)
            _servers[self.url] = self
        except BaseException:
            self.close()
            raise

    def _read(self, lines: queue.SimpleQueue[bytes]) -> None:
        """Forward the first line of output, and discard the rest to keep the server unblocked."""
        stream = self._process.stdout
        if stream is not None:
            lines.put(stream.readline())
            while stream.read(65536):
                pass

    def _ready(self, lines: queue.SimpleQueue[bytes]) -> str:
        try:
            line = lines.get(timeout=START_SECONDS)
            return str(json.loads(line)["url"])
        except queue.Empty:
            reason = f"printed nothing within {START_SECONDS:.0f} s"
        except (ValueError, KeyError, TypeError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            reason = f"printed {line!r} instead of its URL"
        self._errors.seek(0)
        output = self._errors.read()[-2000:].decode(errors="replace").strip()
        raise LudexError("internal", f"the server {reason}: {output}", fault="server")

    @property
    def running(self) -> bool:
        """True if the server is running; always True in a process that did not start it."""
        return self._owner != os.getpid() or self._process.poll() is None

    def kill(self) -> None:
        """Kill the server, as in a crash. Call :meth:`close` to remove the temporary folder."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Stop the server and remove its temporary folder, if any. Safe to call twice."""
        self._at_exit.cancel()
        if self.running:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        self._reader.join(STOP_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._clean()

    def _clean(self) -> None:
        self._errors.close()
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def serve(
    data: str | os.PathLike[str] | None = None,
    *,
    args: Sequence[str] = (),
    listen: str = "127.0.0.1:0",
) -> Server:
    """Start a server, by default on a free loopback port, and wait until it is ready.

    Args:
        data: data folder; by default a temporary one that :meth:`Server.close` removes, or the
            next call if the server is killed.
        args: further arguments of ``ludex serve``, e.g. ``["--agent", "mine=mcts sims=200"]``.
        listen: address and port; port 0 selects a free one. Beyond loopback, clients need a token
            (``ludex admin token add``).

    Raises:
        LudexError: ``not_installed`` if the program is missing (the message names the remedy);
            ``internal`` with the server's output if the server does not start.
    """
    return Server(data, args, listen)
