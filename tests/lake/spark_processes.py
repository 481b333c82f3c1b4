"""Real Spark on loopback: a standalone cluster and a Connect server, and how to kill them."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pyspark

from rookery.lake.engine import java
from tests.ports import free_port

HERE = "127.0.0.1"

_HOME = Path(pyspark.__file__).parent
_START_S = 180.0  # a JVM on a busy machine takes its time
_REGISTERED = "Successfully registered with master"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


class SparkProcess:
    """One JVM; its children are its executors."""

    def __init__(
        self, program: str, arguments: Sequence[str], log: Path, memory: str = "256m"
    ) -> None:
        environment = {
            **os.environ,
            "JAVA_HOME": str(java.find().home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": HERE,
            "SPARK_DAEMON_MEMORY": memory,
        }
        self.log = log
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                [_HOME / "bin" / program, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                cwd=log.parent,
            )

    def kill(self) -> None:
        """Without a word, and with all that it started."""
        try:
            family = [psutil.Process(self._process.pid)]
            family += family[0].children(recursive=True)
        except psutil.NoSuchProcess:
            family = []
        for each in family:
            try:
                each.kill()
            except psutil.NoSuchProcess:
                continue
        self._process.wait()

    def has_said(self, text: str) -> bool:
        return text in self.log.read_text()

    def wait(self, ready: Callable[[], bool]) -> None:
        until(lambda: ready() or self._process.poll() is not None, _START_S)
        assert self._process.poll() is None, self.log.read_text()[-2000:]


class Cluster:
    """One master and its workers, of a core and a gigabyte each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"spark://{HERE}:{self._port}"
        self._workers: list[SparkProcess] = []
        self._started = 0
        arguments = ["--host", HERE, "--port", str(self._port), "--webui-port", "0"]
        self._master = self._daemon("master.Master", arguments, "master.log")
        self._master.wait(lambda: is_open(self._port))

    def add_workers(self, number: int) -> None:
        started = [self._worker() for _ in range(number)]
        self._workers += started
        for worker in started:
            worker.wait(partial(worker.has_said, _REGISTERED))

    def _worker(self) -> SparkProcess:
        self._started += 1
        name = f"worker-{self._started}"
        arguments = ["--host", HERE, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        arguments += ["--work-dir", str(self._folder / name), self.url]
        return self._daemon("worker.Worker", arguments, f"{name}.log")

    def replace_worker(self, number: int) -> None:
        """Kill one in the middle of its work; its peers carry on, and another one comes."""
        self._workers.pop(number).kill()
        self.add_workers(1)

    def close(self) -> None:
        for each in (*self._workers, self._master):
            each.kill()

    def _daemon(self, name: str, arguments: Sequence[str], log: str) -> SparkProcess:
        whole = [f"org.apache.spark.deploy.{name}", *arguments]
        return SparkProcess("spark-class", whole, self._folder / log)


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    started = Cluster(folder)
    try:
        started.add_workers(workers)
        yield started
    finally:
        started.close()


@contextmanager
def connect_server(folder: Path, master: str) -> Iterator[str]:
    """The address of a Connect server whose work is done by a master."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": HERE,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": HERE,
        "spark.driver.bindAddress": HERE,
        "spark.executor.memory": "700m",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
    }
    arguments = ["--class", _CONNECT, "--master", master]
    for key, value in settings.items():
        arguments += ["--conf", f"{key}={value}"]
    arguments.append("spark-internal")
    server = SparkProcess("spark-submit", arguments, folder / "connect.log", memory="1g")
    try:
        server.wait(lambda: is_open(port))
        yield f"sc://{HERE}:{port}"
    finally:
        server.kill()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HERE, port)) == 0


def until(condition: Callable[[], bool], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"nothing within {within_s} s"
        time.sleep(0.1)
