"""The embedded backend: everything in a home folder of this machine."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from webordinary.backends.folder_blobs import FolderBlobs
from webordinary.backends.sqlite.open import STORE_NAME, open_sqlite
from webordinary.core.errors import BadInput
from webordinary.core.release import Place
from webordinary.mail.folder_mailer import FolderMailer
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.publisher import Publisher
from webordinary.ports.workspaces import Repositories
from webordinary.sites.folder_publisher import FolderPublisher
from webordinary.sites.git.repositories import GitRepositories
from webordinary.system.durable_folder import make_durable, translated
from webordinary.wiring.platform import Traits, store_id
from webordinary.wiring.settings import Settings, WorkSettings

DASHBOARD_TOKEN = "dashboard.token"  # noqa: S105 - the name of a file
ADDRESS_KEY = "token.key"
STORE_ID = "store.id"
BYTES = 32
CHARACTERS_MIN = 16


@dataclass(frozen=True, slots=True)
class EmbeddedPlatform:
    """See `Platform`."""

    settings: Settings

    @property
    def traits(self) -> Traits:
        """See `Platform.traits`."""
        return Traits(str(store_path(self.settings.home)), is_local=True)

    def backend(self, clock: Clock) -> Backend:
        """Open the store of the home folder, creating it if need be."""
        home = self.settings.home
        large = FolderBlobs(home / "blobs")  # raw mail, files of mails, agents' sessions, patches
        return open_sqlite(home, clock, self.settings.limits, large=large)

    async def check(self) -> None:
        """Nothing can be missing: what is not there is made."""

    def letters(self) -> FolderMailer:
        """See `Platform.letters`."""
        return FolderMailer(outbox_folder(self.settings.home))

    def mailer(self) -> None:
        """Replies stay in the outbox folder."""

    def sites(self) -> tuple[Publisher, Repositories]:
        """See `Platform.sites`."""
        home, base = self.settings.home, self.settings.work.site_address.rstrip("/")

        def address(project: str, place: Place) -> str:
            return f"{base}/live/{project}/" if place is Place.LIVE else f"{base}/{project}/"

        publisher = FolderPublisher(sites_folder(home), address=address)
        return publisher, GitRepositories(repositories_folder(home))

    def workflow(self) -> None:
        """On one machine nobody follows jobs from outside the store."""

    def signing_key(self) -> bytes:
        """See `Platform.signing_key`."""
        return _secret(self.settings.home / ADDRESS_KEY).encode()

    def store_id(self) -> str:
        """See `Platform.store_id`. Not the key that signs addresses: that may change while workers run."""
        return store_id(_secret(self.settings.home / STORE_ID))


# --- what is where in a home folder ---------------------------------------------------------------


def store_path(home: Path) -> Path:
    """The store."""
    return home / STORE_NAME


def outbox_folder(home: Path) -> Path:
    """Replies: where they go when no relay is set, else copies of them."""
    return home / "outbox"


def sites_folder(home: Path) -> Path:
    """Published sites."""
    return home / "sites"


def repositories_folder(home: Path) -> Path:
    """Repositories of projects that have none elsewhere."""
    return home / "repositories"


def workspace_folder(home: Path, work: WorkSettings) -> Path:
    """Where sites are checked out: can be thrown away at any time."""
    return Path(work.workspace).expanduser().absolute() if work.workspace else home / "workspace"


# --- secrets: made on first use, there as a whole or not at all, and read by their owner only -----


def dashboard_token(home: Path) -> str:
    """Give the token that lets somebody change things on the dashboard."""
    return _secret(home / DASHBOARD_TOKEN)


def _secret(path: Path) -> str:
    home = path.parent
    with translated(home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
        found = path.read_text("utf-8").strip()
    if len(found) < CHARACTERS_MIN:
        raise BadInput(f"{path} holds no secret; remove it and a new one is made")
    return found


def _make(path: Path) -> None:
    """Two processes may do this at once: the first one's is everybody's."""
    spare = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(BYTES))
            file.flush()
            os.fsync(file.fileno())
        _name_once(spare, path)
        make_durable(path.parent)
    finally:
        spare.unlink(missing_ok=True)


def _name_once(spare: Path, path: Path) -> None:
    try:
        path.hardlink_to(spare)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links: the last of those who come at once wins
        spare.rename(path)
