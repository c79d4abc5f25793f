"""A home's secrets: made once, whole, for their owner only; and a name for its store that tells none."""

import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from webordinary.core.errors import BadInput
from webordinary.wiring.embedded import EmbeddedPlatform, dashboard_token
from webordinary.wiring.settings import Settings

AT_ONCE = 6


def test_processes_that_start_at_once_have_the_same_secret(tmp_path: Path) -> None:
    with ProcessPoolExecutor(AT_ONCE) as pool:
        for number in range(20):
            home = tmp_path / str(number)
            assert len(set(pool.map(dashboard_token, [home] * AT_ONCE))) == 1
            (file,) = home.iterdir()
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_secret_stays(tmp_path: Path) -> None:
    home = EmbeddedPlatform(Settings(tmp_path))
    assert home.signing_key() == home.signing_key() != dashboard_token(tmp_path).encode()


def test_an_empty_file_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "dashboard.token").touch()
    with pytest.raises(BadInput, match="remove it"):
        dashboard_token(tmp_path)


def test_every_home_is_another_store(tmp_path: Path) -> None:
    one, other = (EmbeddedPlatform(Settings(tmp_path / name)) for name in ("one", "other"))
    assert one.store_id() == one.store_id() != other.store_id()
    before = one.store_id()
    one.signing_key()
    (tmp_path / "one" / "token.key").unlink()
    one.signing_key()
    assert one.store_id() == before, "a key may be changed while workers run"
