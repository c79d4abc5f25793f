"""The one place that picks where everything is kept: on this machine, or in the cloud.

What the cloud needs is loaded only there.
"""

from __future__ import annotations

from webordinary.backends.folder_blobs import FolderBlobs
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.release import Place
from webordinary.mail.folder_mailer import FolderMailer
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.ports.mailer import Letters
from webordinary.ports.publisher import Publisher
from webordinary.ports.workflow import Workflow
from webordinary.ports.workspaces import Repositories
from webordinary.sites.folder_publisher import FolderPublisher
from webordinary.sites.git.repositories import GitRepositories
from webordinary.system.clock import SystemClock
from webordinary.wiring.folders import blobs_folder, outbox_folder, repositories_folder, sites_folder
from webordinary.wiring.settings import Settings


def open_backend(settings: Settings, clock: Clock | None = None) -> Backend:
    """Open the store of a home folder, creating it if need be; or that of the cloud."""
    clock = clock or SystemClock()
    if settings.in_cloud:
        from webordinary.wiring.cloud import cloud_backend  # noqa: PLC0415 - see the module

        return cloud_backend(settings, clock)
    large = FolderBlobs(blobs_folder(settings.home))
    return open_sqlite(settings.home, clock, settings.limits, large=large)


def open_letters(settings: Settings) -> Letters:
    """Where a copy of every reply is."""
    if settings.in_cloud:
        from webordinary.wiring.cloud import cloud_letters  # noqa: PLC0415 - see the module

        return cloud_letters(settings)
    return FolderMailer(outbox_folder(settings.home))


def open_publisher(settings: Settings) -> Publisher:
    """Where sites are published, and under which addresses people see them."""
    if settings.in_cloud:
        from webordinary.wiring.cloud import cloud_publisher  # noqa: PLC0415 - see the module

        return cloud_publisher(settings)
    base = settings.work.site_address.rstrip("/")

    def address(project: str, place: Place) -> str:
        return f"{base}/live/{project}/" if place is Place.LIVE else f"{base}/{project}/"

    return FolderPublisher(sites_folder(settings.home), address=address)


def open_repositories(settings: Settings) -> Repositories:
    """Repositories of projects that have none elsewhere."""
    if settings.in_cloud:
        from webordinary.wiring.cloud import NoRepositories  # noqa: PLC0415 - see the module

        return NoRepositories()
    return GitRepositories(repositories_folder(settings.home))


def open_workflow(settings: Settings) -> Workflow | None:
    """Who follows jobs from outside the store; on one machine nobody does."""
    if not settings.in_cloud:
        return None
    from webordinary.wiring.cloud import cloud_workflow  # noqa: PLC0415 - see the module

    return cloud_workflow(settings)
