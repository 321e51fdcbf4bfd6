"""What shuts a job's process in."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from houses import make_house
from privet.service import sandbox

LOOK = """
import json, os, socket, sys
def tried(what):
    try:
        return what()
    except OSError:
        return None
print(json.dumps({
    "seen": [tried(lambda path=path: sorted(os.listdir(path))) for path in sys.argv[2:]],
    "network": tried(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2) and "reached"),
    "secret": os.environ.get("PRIVET_OPENID_SECRET"),
    "others": tried(lambda: sorted(os.listdir(".."))),
    "signalled": tried(lambda: os.kill(int(os.environ["LANG"]), 0) or "reached"),
    "written": tried(lambda: open("note", "w").write("x")),
}))
"""


@pytest.mark.skipif(sandbox.walls() == "nothing", reason="this system lets nothing be shut in")
def test_a_process_sees_its_own_folder_and_no_network(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVET_OPENID_SECRET", "hush")
    house = make_house(tmp_path / "house")
    own = house.work / "own"
    own.mkdir()
    (house.work / "another job").mkdir()
    folders = [house.private, house.jobs, house.uploads]
    with socket.create_server(("127.0.0.1", 0)) as server:
        walled = sandbox.command([], own, folders)
        program = [sys.executable, "-c", LOOK, str(server.getsockname()[1]), *map(str, folders)]
        environment = {**sandbox.environment(own), "LANG": str(os.getpid())}
        done = subprocess.run(
            [*walled, *program], cwd=own, env=environment, capture_output=True, text=True, check=True
        )
    told = json.loads(done.stdout)
    assert told.pop("seen") in ([[], [], []], [None, None, None])
    assert told == {"network": None, "secret": None, "others": ["own"], "signalled": None, "written": 1}
    assert (house.private / "copies").is_dir()
    house.close()


def test_a_process_is_bounded():
    program = "from privet.service.sandbox import limit; limit(1 << 31, 60); b = bytearray(1 << 32)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "MemoryError" in done.stderr
