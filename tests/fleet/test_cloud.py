"""Logs in object stores: a local S3 server, and the store in memory."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import deltadyn as dd
from deltadyn.commands.fleet import fleet as command
from deltadyn.errors import FileError, InputError, MissingExtraError
from deltadyn.fleet import find_logs, identify_fleet
from deltadyn.fleet.remote import SCRATCH, Store
from deltadyn.fleet.sources import StoredLog

BAND = 40.0
#: Where the store's library looks for credentials in a container.
CONTAINER = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")


@pytest.fixture(scope="module")
def server(plant: Path) -> Iterator[str]:
    """The address of an S3 server on this machine with the logs in a bucket."""
    server = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    threaded = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    threaded.start()
    try:
        host, port = threaded.get_host_and_port()
        address = f"http://{host}:{port}"
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
        client = boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys)
        client.create_bucket(Bucket="plant")
        for path in sorted(plant.rglob("*.csv")):
            name = path.relative_to(plant).as_posix()
            client.put_object(Bucket="plant", Key=f"logs/{name}", Body=path.read_bytes())
        yield address
    finally:
        threaded.stop()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")


def leftovers() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"))


@pytest.mark.full
@pytest.mark.usefixtures("keys")
def test_a_bucket_gives_what_its_files_give(
    server: str, robot: dd.Robot, plant: Path, tmp_path: Path
) -> None:
    local = identify_fleet(robot, plant, band=BAND)
    robot.save(tmp_path / "robot.yaml")
    storage = ["--storage", f"endpoint_url={server}"]
    call = ["identify", str(tmp_path / "robot.yaml"), "s3://plant/logs", "--band", str(BAND)]
    call += [*storage, "--work", str(tmp_path / "work"), "--json"]
    run = CliRunner().invoke(command, call)
    assert run.exit_code == 0, run.output
    found, known = json.loads(run.stdout), json.loads(json.dumps(local.as_dict()))
    for fit in (*found["fits"], *known["fits"]):
        del fit["fingerprint"]  # of the objects' tags, and of the files' content
    assert found == known
    again = CliRunner().invoke(command, call)  # by the objects' tags: nothing is brought
    assert again.stdout == run.stdout
    assert leftovers() == []
    days = find_logs("s3://plant/logs/*/2026-05-03.csv", storage={"endpoint_url": server})
    assert [log.serial for log in days.logs] == ["D3-007", "D3-008"]


@pytest.mark.full
@pytest.mark.usefixtures("keys")
def test_a_bucket_that_is_not_there(server: str, robot: dd.Robot) -> None:
    for url in ("s3://nobody/logs", "s3://plant/none"):
        with pytest.raises(FileError, match=f"{url}: source.*a bucket and prefix that exist"):
            identify_fleet(robot, url, storage={"endpoint_url": server})
    with pytest.raises(FileError, match="a bucket and prefix that exist"):
        identify_fleet(robot, "nowhere://plant/logs")


@pytest.mark.full
def test_without_credentials(
    server: str, robot: dd.Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", *CONTAINER):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    storage = {"endpoint_url": server, "skip_instance_cache": True}
    with pytest.raises(FileError, match=r"with credentials in the environment.*redentials"):
        identify_fleet(robot, "s3://plant/logs", storage=storage)


def test_without_the_extra(robot: dd.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"s3:// needs.*pip install 'deltadyn\[cloud\]'"):
        identify_fleet(robot, "s3://plant/logs")


@pytest.mark.full
def test_the_store_in_memory(robot: dd.Robot, plant: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for path in (plant / "D3-007").iterdir():
        system.pipe_file(f"/plant/D3-007/{path.name}", path.read_bytes())
    try:
        found = identify_fleet(robot, "memory://plant", band=BAND, period="day")
        assert [fit.period for fit in found.fits] == ["2026-05-03", "2026-05-04"]
        with pytest.raises(InputError, match="workers is 2; allowed: 1 for memory://plant"):
            identify_fleet(robot, "memory://plant", workers=2)
        # an object that changes while it is brought, and a disk that is too small for it
        store = Store.of("memory://plant", {})
        place = "/plant/D3-007/2026-05-03.csv"
        with (
            pytest.raises(FileError, match="bytes here and 7 in the store"),
            store.brought(place, 7),
        ):
            pass
        usage: Any = type("Usage", (), {"free": 1000})
        monkeypatch.setattr("deltadyn.fleet.remote.shutil.disk_usage", lambda _: usage)
        full = identify_fleet(robot, "memory://plant", band=BAND)
        assert all("size of the log" in item.reason for item in full.left_out)
        assert len(full.left_out) == 2
        assert leftovers() == []
    finally:
        system.rm("/plant", recursive=True)


@pytest.fixture
def object_store() -> Iterator[Store]:
    """A store with one object of seven bytes."""
    system = pytest.importorskip("fsspec").filesystem("memory")
    system.pipe_file("/left/a.csv", b"content")
    yield Store.of("memory://left", {})
    system.rm("/left", recursive=True)


def _bring(store: Store, send: Connection) -> None:
    with store.brought("/left/a.csv", 7) as path:
        send.send(path)
        send.poll(None)


def bringing_process(store: Store) -> tuple[Any, Path, Connection]:
    """A process that has an object on its disk, and where."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_bring, args=(store, there))
    process.start()
    assert here.poll(60)
    return process, Path(here.recv()), here


@pytest.mark.full
def test_what_a_killed_worker_left_is_removed(object_store: Store) -> None:
    process, dead, _ = bringing_process(object_store)
    process.kill()
    process.join()
    assert dead.read_bytes() == b"content"
    with object_store.brought("/left/a.csv", 7) as path:
        assert Path(path).read_bytes() == b"content"
        assert not dead.parent.exists()
    assert leftovers() == []


def test_containers_with_one_temporary_folder_keep_each_others_objects(
    object_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes of another container have numbers that mean nothing here."""
    process, living, pipe = bringing_process(object_store)

    def no_process(*_: object) -> None:
        raise ProcessLookupError

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", no_process)
        with object_store.brought("/left/a.csv", 7):
            assert living.read_bytes() == b"content"
    pipe.send("end")
    process.join()
    assert process.exitcode == 0
    assert leftovers() == []


def test_an_object_without_a_tag_is_known_by_its_content(object_store: Store) -> None:
    """A store that tells only times says nothing of the content."""
    _, ((name, path, mark, size),) = object_store.listed()
    assert mark == ""
    log = StoredLog(name, "a", None, path, object_store, mark, size)
    first = log.fingerprint()
    system = object_store._system()[0]
    made = system.store["/left/a.csv"].created
    system.pipe_file("/left/a.csv", b"another")
    system.store["/left/a.csv"].created = made
    assert log.fingerprint() != first
