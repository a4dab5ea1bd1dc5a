"""pgbench from the embedded server: how fast PostgreSQL itself runs a statement."""

import os
import re
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from bench.measure import Sample
from postgres.programs import program

# As the plugin sets its own connections.
_SESSION = "-c jit=off -c plan_cache_mode=force_generic_plan -c search_path=memory_plugin"
_PROGRESS = re.compile(r"^latency average = ([\d.]+) ms$", re.MULTILINE)


def run(database_url: str, script: str, *, connections: int, seconds: float) -> Sample:
    """Run a script over `connections` connections; transactions per second, mean latency in ms.

    A colon before a letter is a pgbench variable, even inside quotes: write chr(58).
    """
    address = urlsplit(database_url)
    environment = {
        **os.environ,
        "PGHOST": parse_qs(address.query)["host"][0],
        "PGUSER": address.username or "postgres",
        "PGDATABASE": address.path.lstrip("/"),
        "PGOPTIONS": _SESSION,
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "script.sql"
        file.write_text(script, "utf-8")
        command = [str(program("pgbench")), "--no-vacuum", "--protocol=prepared", "--random-seed=1"]
        command += [f"--client={connections}", "--jobs=1", f"--file={file}"]
        while True:
            duration = f"--time={max(1, round(seconds))}"
            done = subprocess.run(
                [*command, duration], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode or "actually processed: 0\n" not in done.stdout or seconds > 60:
                break
            seconds *= 4  # a busy machine may need longer than that to connect
    rate = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
    latency = _PROGRESS.search(done.stdout)
    if done.returncode or rate is None or latency is None:
        raise RuntimeError(f"pgbench failed: {done.stderr[:2000]}")
    return Sample(float(rate[1]), {"mean": float(latency[1])})
