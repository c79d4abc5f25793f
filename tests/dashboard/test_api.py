"""The JSON API: what it promises, it keeps; whatever it is asked, it answers."""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.dashboard.conftest import TOKEN, House
from tests.dashboard.served import Served, served
from webordinary.core.job import JobState

Case = schemathesis.Case[Any]
BEARER = {"authorization": f"Bearer {TOKEN}"}


async def got(client: httpx.AsyncClient, path: str) -> dict[str, object]:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert isinstance(found, dict)
    return found


# --- what it tells ----------------------------------------------------------------------------------


async def test_status_tells_the_pool_in_a_few_numbers(client: httpx.AsyncClient) -> None:
    status = await got(client, "/api/status")
    assert (status["workers"], status["slots"], status["slots_taken"]) == (3, 10, 2)
    assert (status["lanes_running"], status["lanes_waiting"]) == (2, 1)


async def test_lists_go_on_where_the_page_before_ended(client: httpx.AsyncClient) -> None:
    for path, cursor, name in (
        ("/api/jobs", "before", "id"),
        ("/api/lanes", "after", "lane"),
        ("/api/mails", "before", "id"),
        ("/api/letters", "before", "about"),
    ):
        whole = await got(client, f"{path}?limit=200")
        paged: list[object] = []
        params: dict[str, str] = {"limit": "3"}
        while True:
            page = (await client.get(path, params=params)).json()
            paged += [item[name] for item in page["items"]]
            if page["next"] is None:
                break
            params[cursor] = page["next"]
        assert paged == [item[name] for item in whole["items"]]  # type: ignore[attr-defined]
        assert len(paged) > 3
        assert whole["next"] is None


async def test_a_job_is_told_with_all_that_belongs_to_it(house: House, client: httpx.AsyncClient) -> None:
    (job,) = await house.backend.ledger.jobs(limit=1, state=JobState.PREEMPTED)
    told = await got(client, f"/api/jobs/{job.id}")
    assert told["job"]["note"] == "Changes to style.css."  # type: ignore[index]
    assert {letter["kind"] for letter in told["letters"]} == {"accepted", "preempted"}  # type: ignore[attr-defined]
    events = await got(client, f"/api/jobs/{job.id}/events?after=1&limit=1")
    assert [event["number"] for event in events["items"]] == [2]  # type: ignore[attr-defined]


async def test_a_job_can_be_submitted_and_waited_for(client: httpx.AsyncClient) -> None:
    body = {"lane": "bakery/john", "instruction": "Bake more.", "arrival": "queue"}
    answer = await client.post("/api/jobs", json=body, headers=BEARER)
    assert answer.status_code == 200
    job = answer.json()["job"]
    assert (await got(client, f"/api/jobs/{job}"))["job"]["instruction"] == "Bake more."  # type: ignore[index]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"lane": 3}', b'{"lane": "x"}', b'{"lane": "bakery/john"}', b"\xff", b"[" * 100_000,
     b'{"lane": "bakery/john", "instruction": "\\ud800"}',
     b'{"lane": "bakery/john", "instruction": "x", "more": "y"}',
     b'{"lane": "bakery/john", "instruction": "x", "intent": "dance"}'],
)  # fmt: skip
async def test_a_body_that_breaks_a_rule_is_refused_in_words(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/api/jobs", content=body, headers=BEARER)
    assert answer.status_code == 400
    assert answer.json()["error"]


async def test_the_page_about_the_api_names_every_operation(client: httpx.AsyncClient) -> None:
    page = (await client.get("/api")).text
    described = (await client.get("/api/openapi.json")).json()
    for path, methods in described["paths"].items():
        for method in methods:
            assert re.search(rf"m-{method}\".*{re.escape(path)}", page)


# --- whatever it is asked -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A full store for the whole module: every example asks the same one."""
    with served(tmp_path_factory.mktemp("api")) as one:
        yield one


def ask(full: Served, question: Callable[[Case], None], method: str = "") -> int:
    """Ask every operation a few questions; say how many operations there were."""
    schema = schemathesis.openapi.from_url(f"{full.address}/api/openapi.json")
    asked = 0
    for found in schema.get_all_operations():
        operation: APIOperation[Any, Any, Any, Any] = found.ok()  # type: ignore[union-attr] # ours has no errors
        if method and operation.method.upper() != method:
            continue
        for mode in GenerationMode:  # as described, and not
            with contextlib.suppress(Unsatisfiable):  # an operation that nothing can be wrong about
                few(given(case=operation.as_strategy(generation_mode=mode))(question))()
        asked += 1
    return asked


few = settings(
    max_examples=15,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def test_no_question_breaks_it(full: Served) -> None:
    """Never a 5xx, and every answer is as described."""

    def question(case: Case) -> None:
        if case.query and "wait" in case.query:
            case.query["wait"] = "0"
        case.call_and_validate(headers=BEARER, checks=CHECKS)

    assert ask(full, question) == 16


def test_no_write_without_the_token(full: Served) -> None:
    def question(case: Case) -> None:
        assert case.call().status_code == 401

    assert ask(full, question, "POST") == 5
