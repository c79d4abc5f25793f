"""How the cloud is chosen and told where things are, how a worker is named, and the executor."""

from __future__ import annotations

import http.server
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.cloud.conftest import ROOT, Account
from tests.cloud.working import working
from webordinary.core.errors import BadInput, NotFound, SchemaMismatch
from webordinary.core.lane import Lane
from webordinary.core.release import Place
from webordinary.dispatch.submit import Request
from webordinary.entrypoints.executor import Progress, execute
from webordinary.operations.cloud_setup import DEFINITION, shipped_definition
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock
from webordinary.wiring.cloud import AwsPlatform, aws_settings
from webordinary.wiring.platform import platform_of
from webordinary.wiring.settings import load
from webordinary.wiring.worker import METADATA_VARIABLE, task_name

AMELIA = Lane("amelia", "scott")


def test_one_machine_is_the_default_and_the_file_or_the_environment_chooses(tmp_path: Path) -> None:
    assert platform_of(load(tmp_path, {})).traits.is_local
    assert not platform_of(load(tmp_path, {"WEBORDINARY_BACKEND": "aws"})).traits.is_local
    (tmp_path / "webordinary.toml").write_text('backend = "aws"\n[cloud]\nblobs_bucket = "b"\n')
    assert not platform_of(load(tmp_path, {})).traits.is_local
    assert load(tmp_path, {}).cloud.blobs_bucket == "b"
    assert load(tmp_path, {"WEBORDINARY_CLOUD_BLOBS_BUCKET": "c"}).cloud.blobs_bucket == "c"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('backend = "gcp"', "must be one of embedded, aws"),
        ('[cloud]\nbucket = "b"', "unknown setting, bucket"),
        ("[cloud]\nprefix = 1", "must be a text"),
        ('[cloud]\npreview_bucket = "edit"', "must hold {project}"),
        ('[cloud]\nlive_address = "https://{site}/{project}"', "must hold {project}"),
        ('[cloud]\nlive_bucket = "edit.{project}"', "must differ"),
        ('[cloud]\ntoken_key = "short"', "at least 32 characters"),
    ],
)
def test_senseless_settings_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "webordinary.toml").write_text(text)
    with pytest.raises(BadInput) as told:
        load(tmp_path, {})
    assert words in str(told.value)
    assert "short" not in str(told.value), "a key is never shown"


def test_what_is_missing_is_said_when_it_is_needed(tmp_path: Path) -> None:
    settings = load(tmp_path, {"WEBORDINARY_BACKEND": "aws"})
    with pytest.raises(BadInput, match="AWS_REGION"):
        aws_settings(settings)
    with pytest.raises(BadInput, match="WEBORDINARY_CLOUD_BLOBS_BUCKET"):
        settings.cloud.bucket("blobs_bucket")
    with pytest.raises(BadInput, match="WEBORDINARY_CLOUD_TOKEN_KEY"):
        settings.cloud.signing_key()


def test_names_that_operators_have_are_honoured(tmp_path: Path) -> None:
    environment = {
        "WEBORDINARY_BACKEND": "aws",
        "WEBORDINARY_CLOUD_PREFIX": "acme",
        "AWS_REGION": "eu-west-1",
        "AWS_ACCOUNT_ID": "123",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "OWNERSHIP_TABLE_NAME": "who",
        "ACTIVE_JOBS_TABLE": "now",
        "UNCLAIMED_QUEUE_URL": "https://sqs.example/1/asks",
    }
    names = aws_settings(load(tmp_path, environment))
    assert (names.region, names.lanes, names.active) == ("eu-west-1", "who", "now")
    assert (names.account, names.endpoint) == ("123", "http://127.0.0.1:1")
    assert (names.jobs, names.unclaimed_queue_url) == ("acme-jobs", "https://sqs.example/1/asks")
    settings = load(tmp_path, {"WORKSPACE_PATH": "/mnt/sites"})
    assert settings.work.workspace == "/mnt/sites"


def test_each_project_has_places_of_its_own(environment: dict[str, str], tmp_path: Path) -> None:
    publisher, _ = AwsPlatform(load(tmp_path)).sites()
    assert publisher.address("amelia", Place.PREVIEW).endswith("/edit.amelia/")
    assert publisher.address("amelia", Place.LIVE) == "https://amelia/"


async def test_a_start_without_tables_is_refused_in_a_sentence(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBORDINARY_CLOUD_PREFIX", "nothing-there")
    with pytest.raises(SchemaMismatch, match="nothing-there-jobs"):
        await platform_of(load(tmp_path)).check()


async def test_no_repository_is_made_where_it_would_be_lost(
    environment: dict[str, str], tmp_path: Path
) -> None:
    _, repositories = platform_of(load(tmp_path)).sites()
    with pytest.raises(NotFound, match="--repo URL"):
        await repositories.create("amelia", tmp_path)


def test_without_a_state_machine_nobody_follows(environment: dict[str, str], tmp_path: Path) -> None:
    assert platform_of(load(tmp_path)).workflow() is None


# --- who we are -----------------------------------------------------------------------------------


@pytest.fixture
def metadata() -> Iterator[tuple[str, list[object]]]:
    """The container service's word about the task, as it answers on loopback."""
    said: list[object] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/v4/abc/task"
            body = json.dumps(said[0]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v4/abc", said
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ({"TaskARN": "arn:aws:ecs:us-east-1:1:task/pool/158d1c8083dd49d6b527399fd6414f5c"}, "158d1c80"),
        ({"TaskARN": 'arn/<script>"x'}, "scriptx"),
        ({}, None),
        ([], None),
    ],
)
def test_a_worker_is_named_by_its_task(
    metadata: tuple[str, list[object]], answer: object, name: str | None
) -> None:
    address, said = metadata
    said.append(answer)
    found = task_name({METADATA_VARIABLE: address})
    assert (found or "")[:8] == (name or "")[:8]


@pytest.mark.parametrize("address", ["", "file:///etc/passwd", "http://127.0.0.1:1"])
def test_without_a_container_service_a_name_is_made_up(address: str) -> None:
    assert task_name({METADATA_VARIABLE: address}) is None


# --- the executor ---------------------------------------------------------------------------------


async def test_an_instruction_and_its_result_from_python(account: Account, backend: Backend) -> None:
    """Told apart: no worker yet, running, done, failed, preempted."""
    clock = SystemClock()

    async def executed(text: str, wait: float, key: str | None = None) -> Progress:
        return (await execute(Request(AMELIA, text, key), backend, clock, wait=wait)).progress

    assert await executed("do it", 0.1, "<one>") is Progress.NO_WORKER_YET
    async with working(backend):
        assert await executed("do it", 60, "<one>") is Progress.DONE
        assert await executed("fail please", 60) is Progress.FAILED
        assert await executed("wait for ever", 5, "<two>") is Progress.RUNNING
        assert await executed("do it", 60) is Progress.DONE
        assert await executed("wait for ever", 60, "<two>") is Progress.PREEMPTED


# --- what is shipped ------------------------------------------------------------------------------


def test_the_state_machine_comes_with_the_package(tmp_path: Path) -> None:
    """After an install there is no infra/ in the current folder, or anywhere."""
    source = (ROOT / "infra" / "email-processor.asl.json").read_bytes()
    assert shipped_definition().read_bytes() == source
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"webordinary/operations/{DEFINITION}") == source
