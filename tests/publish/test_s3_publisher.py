"""Publishing into buckets of an emulated cloud."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import pytest

from tests.emulators import ministack
from tests.publish.s3 import s3_client
from tests.publish.site_files import PROJECT, claim, put, released, site
from webordinary.core.errors import BackendUnavailable, BadInput, ClaimLost, StoreBusy
from webordinary.core.release import Place
from webordinary.sites.s3_pointer import POINTER_KEY, Pointer, PointerStore
from webordinary.sites.s3_publisher import S3Publisher
from webordinary.system.s3_client import S3Client

PREVIEW, LIVE = "edit.amelia", "amelia"


class Store(S3Client, Protocol):
    """What tests call besides."""

    meta: Any

    async def create_bucket(self, **wanted: object) -> object: ...
    async def delete_bucket(self, **wanted: object) -> object: ...
    async def delete_object(self, **wanted: object) -> object: ...
    async def head_object(self, **wanted: object) -> dict[str, Any]: ...


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ministack(tmp_path_factory.mktemp("ministack")) as address:
        yield address


class Calls(list[tuple[str, str]]):
    """The calls that were made, in their order: what was done, to which object."""

    def listen(self, client: Store) -> None:
        client.meta.events.register("before-parameter-build.s3", self._heard)

    def _heard(self, params: dict[str, Any], **about: object) -> None:
        name = str(getattr(about["model"], "name"))  # noqa: B009 - botocore has no types
        self.append((name, f"{params['Bucket']}/{params.get('Key', '')}"))

    def written(self) -> list[str]:
        """Objects that were sent, without the pointer."""
        return [key for name, key in self if name in ("PutObject", "CopyObject") and POINTER_KEY not in key]


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
async def client(endpoint: str, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    async with s3_client(region="us-east-1", endpoint=endpoint) as opened:
        real = cast("Store", opened)
        for bucket in (PREVIEW, LIVE):
            await real.create_bucket(Bucket=bucket)
        calls.listen(real)
        yield real
        for bucket in (PREVIEW, LIVE):
            for key in await keys(real, bucket):
                await real.delete_object(Bucket=bucket, Key=key)
            await real.delete_bucket(Bucket=bucket)


@pytest.fixture
def s3(client: Store) -> S3Publisher:
    return S3Publisher(client, address=lambda project, place: f"http://{place}.{project}.example/")


async def keys(client: Store, bucket: str) -> list[str]:
    answer = await client.list_objects_v2(Bucket=bucket)
    return [one["Key"] for one in answer.get("Contents", ())]


async def content(client: Store, bucket: str) -> dict[str, bytes]:
    """What visitors can see."""
    found = {}
    for key in await keys(client, bucket):
        if key != POINTER_KEY:
            answer = await client.get_object(Bucket=bucket, Key=key)
            async with answer["Body"] as body:
                found[key] = await body.read()
    return found


def on_disk(folder: Path) -> dict[str, bytes]:
    return {file.path: (folder / file.path).read_bytes() for file in released(folder).files}


async def test_a_site_is_sent_with_its_types_and_how_long_it_may_be_kept(
    s3: S3Publisher, client: Store, tmp_path: Path
) -> None:
    folder = put(
        tmp_path,
        {
            "index.html": "x",
            "app-3f2a9c1b.js": "x",
            "photo-20240131.jpg": "x",
            "ä b+c.txt": "x",
            "unknown": "x",
        },
    )
    release = released(folder)
    assert await s3.current(PROJECT, Place.PREVIEW) is None
    await s3.publish(claim(1), release, folder, "c1")
    assert await s3.current(PROJECT, Place.PREVIEW) == (release, "c1")
    assert await s3.current(PROJECT, Place.LIVE) is None
    assert await content(client, PREVIEW) == on_disk(folder)
    seen = {}
    for key in on_disk(folder):
        head = await client.head_object(Bucket=PREVIEW, Key=key)
        seen[key] = (head["ContentType"], head["CacheControl"])
        assert head["Metadata"]["sha256"] in {file.sha256 for file in release.files}
    assert seen == {
        "index.html": ("text/html; charset=utf-8", "no-cache"),
        "app-3f2a9c1b.js": ("text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
        "photo-20240131.jpg": ("image/jpeg", "public, max-age=60"),
        "ä b+c.txt": ("text/plain; charset=utf-8", "public, max-age=60"),
        "unknown": ("application/octet-stream", "public, max-age=60"),
    }
    assert await s3.read(PROJECT, Place.PREVIEW, ["index.html", "gone.html"]) == {"index.html": b"x"}
    assert await s3.read(PROJECT, Place.LIVE, ["index.html"]) == {}
    assert s3.address(PROJECT, Place.LIVE) == "http://live.amelia.example/"


async def test_what_pages_load_comes_first_then_pages_then_the_pointer_and_deletions_last(
    s3: S3Publisher, client: Store, calls: Calls, tmp_path: Path
) -> None:
    """A visitor's new page must not miss its picture, nor an old one before its successor is there."""
    await s3.publish(claim(1), *site(tmp_path / "a", "one", **{"old.html": "x", "old.css": "x"}), "c1")
    calls.clear()
    await s3.publish(claim(1), *site(tmp_path / "b", "two", **{"new.png": "x"}), "c2")
    changes = [call for call in calls if call[0] in ("PutObject", "DeleteObjects")]
    pointer = ("PutObject", f"{PREVIEW}/{POINTER_KEY}")
    assert changes[0] == pointer
    assert {key for _, key in changes[1:3]} == {f"{PREVIEW}/css/site.css", f"{PREVIEW}/new.png"}
    assert {key for _, key in changes[3:5]} == {f"{PREVIEW}/index.html", f"{PREVIEW}/about/index.html"}
    assert changes[5:] == [pointer, ("DeleteObjects", f"{PREVIEW}/"), pointer]
    assert set(await content(client, PREVIEW)) == {
        "about/index.html", "css/site.css", "index.html", "logo.svg", "new.png",
    }  # fmt: skip


class CutOff(Exception):
    """The worker dies."""


class Cut:
    """A store whose writer dies before one of its writes, or just after it."""

    def __init__(self, store: Store, writes: int) -> None:
        self._store, self._left = store, writes
        self.get_object, self.list_objects_v2 = store.get_object, store.list_objects_v2
        self.copy_object = partial(self._write, store.copy_object)
        self.put_object = partial(self._write, store.put_object)
        self.delete_objects = partial(self._write, store.delete_objects)

    async def _write(self, call: Callable[..., Awaitable[Any]], **wanted: object) -> Any:  # noqa: ANN401 - botocore's
        if self._left <= 0:
            raise CutOff
        self._left -= 1
        return await call(**wanted)


@pytest.mark.parametrize("promoting", [False, True], ids=["published", "promoted"])
async def test_a_worker_that_dies_at_any_write_leaves_a_pointer_that_is_true(
    s3: S3Publisher, client: Store, tmp_path: Path, promoting: bool
) -> None:
    """A pointer that is early names files that are not there; one that is late forgets whose they are."""
    bucket, place = (LIVE, Place.LIVE) if promoting else (PREVIEW, Place.PREVIEW)
    sites = [
        site(tmp_path / "a", "one", **{"old.html": "x", "old.css": "x"}),
        site(tmp_path / "b", "two", **{"new.png": "x"}),
    ]

    async def change(publisher: S3Publisher, number: int) -> None:
        await publisher.publish(claim(1), *sites[number], f"c{number}")
        if promoting:
            await publisher.promote(claim(1))

    ended = writes = 0
    while not ended:
        await change(s3, 0)
        if promoting:
            await s3.publish(claim(1), *sites[1], "c1")
        dying = S3Publisher(cast("S3Client", Cut(client, writes)), address=lambda *_: "")
        try:
            await (dying.promote(claim(1)) if promoting else change(dying, 1))
            ended = True
        except CutOff:
            writes += 1
        pointer, found = await PointerStore(client, bucket).read(), await content(client, bucket)
        release, folder = next(one for one in sites if one[0].id == pointer.release)
        ours = {file.path for file in pointer.files}.union(pointer.strays)
        assert set(found) <= ours, "what is there is known to be ours, so that a successor can delete it"
        assert {file.path for file in pointer.files} <= set(found), (
            "nothing that the pointer names is missing"
        )
        if release is sites[1][0]:
            assert on_disk(folder).items() <= found.items(), "complete, as the pointer says"
        if not pointer.underway:
            assert found == on_disk(folder), "exactly that, if nobody is changing it"
        assert await s3.current(PROJECT, place) == (release, pointer.commit)
    assert ended
    assert writes >= 7


async def test_unchanged_files_are_not_sent_again_unless_somebody_tampered_with_them(
    s3: S3Publisher, client: Store, calls: Calls, tmp_path: Path
) -> None:
    release, folder = site(tmp_path, "one")
    await s3.publish(claim(1), release, folder, "c1")
    calls.clear()
    await s3.publish(claim(1), release, folder, "c2")
    assert calls.written() == []
    assert await s3.current(PROJECT, Place.PREVIEW) == (release, "c2")
    await client.put_object(Bucket=PREVIEW, Key="logo.svg", Body=b"defaced")
    await client.delete_object(Bucket=PREVIEW, Key="index.html")
    await client.put_object(Bucket=PREVIEW, Key="google-verification.html", Body=b"put here by hand")
    calls.clear()
    await s3.publish(claim(1), release, folder, "c3")
    assert calls.written() == [f"{PREVIEW}/logo.svg", f"{PREVIEW}/index.html"]
    by_hand = {"google-verification.html": b"put here by hand"}  # not ours, so it stays
    assert await content(client, PREVIEW) == on_disk(folder) | by_hand


async def test_promoting_copies_exactly_the_previewed_objects_inside_the_store(
    s3: S3Publisher, client: Store, calls: Calls, tmp_path: Path
) -> None:
    assert await s3.promote(claim(1)) is None
    release, folder = site(tmp_path / "a", "one")
    await s3.publish(claim(1), release, folder, "c1")
    put(folder, {"index.html": "changed since"})
    calls.clear()
    assert await s3.promote(claim(1)) == "c1"
    assert {name for name, key in calls if POINTER_KEY not in key} <= {"CopyObject", "ListObjectsV2"}
    assert await s3.current(PROJECT, Place.LIVE) == (release, "c1")
    assert await content(client, LIVE) == await content(client, PREVIEW)
    head = await client.head_object(Bucket=LIVE, Key="index.html")
    assert head["ContentType"] == "text/html; charset=utf-8"
    await s3.publish(claim(1), *site(tmp_path / "b", "two"), "c2")
    calls.clear()
    assert await s3.promote(claim(1)) == "c2"
    assert f"{LIVE}/logo.svg" not in calls.written()  # it was live already


async def test_an_object_that_is_not_the_previewed_one_any_more_is_never_made_live(
    s3: S3Publisher, client: Store, tmp_path: Path
) -> None:
    await s3.publish(claim(1), *site(tmp_path, "one"), "c1")
    await client.put_object(Bucket=PREVIEW, Key="index.html", Body=b"another change, half-way")
    with pytest.raises(BackendUnavailable, match="preview was changed"):
        await s3.promote(claim(1))
    assert "index.html" not in await content(client, LIVE)
    assert await s3.current(PROJECT, Place.LIVE) is None
    await s3.publish(claim(1), *site(tmp_path, "one"), "c1")
    assert await s3.promote(claim(1)) == "c1"
    assert await content(client, LIVE) == on_disk(tmp_path)


async def test_a_stale_fence_writes_nothing_at_all(
    s3: S3Publisher, client: Store, calls: Calls, tmp_path: Path
) -> None:
    await s3.publish(claim(4), *site(tmp_path / "a", "one"), "c1")
    await s3.enter(claim(5))
    calls.clear()
    for late in (
        s3.publish(claim(4), *site(tmp_path / "b", "two"), "c2"),
        s3.promote(claim(4)),
        s3.enter(claim(4)),
    ):
        with pytest.raises(ClaimLost):
            await late
    assert {name for name, _ in calls} == {"GetObject"}
    await s3.enter(claim(5))
    assert {name for name, _ in calls} == {"GetObject"}  # the same fence again writes nothing either
    await s3.publish(claim(1, user="anna"), *site(tmp_path / "b", "two"), "c2")


async def test_entering_guards_the_live_bucket_too(s3: S3Publisher, client: Store, tmp_path: Path) -> None:
    """A stale owner that read the preview's pointer before must fail at the live one."""
    await s3.enter(claim(5))
    assert (await PointerStore(client, LIVE).read()).fences == {"scott": 5}


async def test_an_owner_that_is_overtaken_stops_within_a_batch_and_its_successor_mends_the_site(
    s3: S3Publisher, client: Store, calls: Calls, tmp_path: Path
) -> None:
    folder = put(tmp_path / "a", {f"{number}.txt": f"old {number}" for number in range(150)})
    newer = put(tmp_path / "b", {f"{number}.txt": f"new {number}" for number in range(100)})
    late = asyncio.create_task(s3.publish(claim(1), released(folder), folder, "c1"))
    while not calls.written():
        await asyncio.sleep(0)
    await s3.enter(claim(2))
    with pytest.raises(ClaimLost):
        await late
    sent = len(calls.written())
    assert sent < 150
    assert await s3.current(PROJECT, Place.PREVIEW) is None
    await s3.publish(claim(2), released(newer), newer, "c2")
    assert await content(client, PREVIEW) == on_disk(newer)  # what the late one had sent is gone, too


async def test_of_two_lanes_that_publish_at_once_one_is_told_to_come_again(
    s3: S3Publisher, client: Store, tmp_path: Path
) -> None:
    folders = {
        user: put(tmp_path / user, {f"{number}.txt": f"{user} {number}" for number in range(150)})
        for user in ("scott", "anna")
    }
    ended = await asyncio.gather(
        *(s3.publish(claim(1, user), released(folder), folder, user) for user, folder in folders.items()),
        return_exceptions=True,
    )
    told_to_come_again = [one for one in ended if one is not None]
    assert len(told_to_come_again) <= 1
    assert all(isinstance(one, StoreBusy) for one in told_to_come_again)
    current = await s3.current(PROJECT, Place.PREVIEW)
    assert current is not None
    assert await content(client, PREVIEW) == on_disk(folders[current[1]])


async def test_of_many_that_change_the_pointer_at_once_every_word_is_kept(client: Store) -> None:
    claims = [claim(number, f"user{number}") for number in range(1, 6)]
    changes = (PointerStore(client, PREVIEW).change(partial(Pointer.entered, claim=one)) for one in claims)
    await asyncio.gather(*changes)
    assert (await PointerStore(client, PREVIEW).read()).fences == {f"user{n}": n for n in range(1, 6)}


async def test_an_answer_that_got_lost_is_not_taken_for_a_conflict(
    s3: S3Publisher, client: Store, tmp_path: Path
) -> None:
    """The library repeats a call whose answer did not come; that fails on the first one's success."""
    repeated = RepeatsPointerWrites(client)
    release, folder = site(tmp_path, "one")
    await S3Publisher(repeated, address=lambda *_: "").publish(claim(1), release, folder, "c1")
    assert repeated.repetitions == 3
    assert await s3.current(PROJECT, Place.PREVIEW) == (release, "c1")


class RepeatsPointerWrites:
    """The real client, on a line that loses the first answer to each write of the pointer."""

    def __init__(self, client: Store) -> None:
        self.get_object, self.copy_object = client.get_object, client.copy_object
        self.delete_objects, self.list_objects_v2 = client.delete_objects, client.list_objects_v2
        self._put, self.repetitions = client.put_object, 0

    async def put_object(self, **wanted: object) -> Mapping[str, Any]:
        if wanted["Key"] == POINTER_KEY:
            await self._put(**wanted)
            self.repetitions += 1
        return await self._put(**wanted)


async def test_bytes_that_are_not_those_of_the_manifest_are_refused_before_anything_is_sent(
    s3: S3Publisher, client: Store, calls: Calls, tmp_path: Path
) -> None:
    await s3.publish(claim(1), *site(tmp_path / "a", "one"), "c1")
    release, folder = site(tmp_path / "b", "two")
    put(folder, {"index.html": "<p>too</p>"})
    calls.clear()
    with pytest.raises(BadInput, match=r"index\.html was changed"):
        await s3.publish(claim(1), release, folder, "c2")
    assert calls.written() == []
    assert await content(client, PREVIEW) == on_disk(tmp_path / "a")


async def test_more_objects_than_one_page_of_a_listing_are_all_looked_at(
    s3: S3Publisher, client: Store, calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("LISTED_AT_ONCE", "DELETED_AT_ONCE"):
        monkeypatch.setattr(f"webordinary.sites.s3_publisher.{limit}", 10)
    folder = put(tmp_path, {f"{number}.txt": "x" for number in range(35)})
    await s3.publish(claim(1), released(folder), folder, "c1")
    calls.clear()
    await s3.publish(claim(1), released(folder), folder, "c2")
    assert calls.written() == []
    less = put(tmp_path / "less", {"0.txt": "x"})
    await s3.publish(claim(1), released(less), less, "c3")
    assert await keys(client, PREVIEW) == [POINTER_KEY, "0.txt"]


async def test_a_store_that_refuses_or_does_not_answer_is_told_in_our_words(
    s3: S3Publisher, client: Store, tmp_path: Path
) -> None:
    elsewhere = S3Publisher(client, address=lambda *_: "", preview_bucket="nowhere-{}".format)
    with pytest.raises(BackendUnavailable, match="NoSuchBucket"):
        await elsewhere.publish(claim(1), *site(tmp_path, "one"), "c1")
    await client.put_object(Bucket=PREVIEW, Key=POINTER_KEY, Body=b"{")
    with pytest.raises(BackendUnavailable, match="is damaged"):
        await s3.current(PROJECT, Place.PREVIEW)
    async with s3_client(region="us-east-1", endpoint="http://127.0.0.1:9", attempts=1) as nobody:
        with pytest.raises(BackendUnavailable, match="did not answer"):
            await S3Publisher(nobody, address=lambda *_: "").current(PROJECT, Place.PREVIEW)
