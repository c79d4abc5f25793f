"""A site's repository, its developer, and workers that edit it: all real, in one folder."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.world import ManualClock
from webordinary.core.claim import Claim, Delivery, WorkerId
from webordinary.core.job import Intent, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.site import Project
from webordinary.ports.workspaces import Behind, Reverted, Signed, Workspace
from webordinary.sites.git.workspaces import GitWorkspaces

EDIT = "refs/heads/webordinary/edit"
SCOTT = Lane("amelia", "scott")
MAYA = Lane("amelia", "maya")
PAGE = "<h1>Amelia</h1>\n<p>one</p>\n<p>two</p>\n<p>three</p>\n<p>four</p>\n<p>five</p>\n"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Dev",
    "GIT_AUTHOR_EMAIL": "dev@example.com",
    "GIT_COMMITTER_NAME": "Dev",
    "GIT_COMMITTER_EMAIL": "dev@example.com",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git as the site's developer would."""
    command = ("git", "-c", "init.defaultBranch=main", *arguments)
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True, errors="replace"
    )
    return done.stdout.strip()


def delivery(
    job: str, *, lane: Lane = SCOTT, fence: int = 1, session: str = "talk", intent: Intent = Intent.EDIT
) -> Delivery:
    """A job in the hands of a worker."""
    work = Job(JobId(job), lane, f"do {job}", f"<{job}@example.com>", session=session, intent=intent)
    return Delivery(Claim(lane, WorkerId(f"w{fence}"), fence), work, 1)


def signed(gist: str = "Change the page", body: str = "", sender: str = "scott@example.com") -> Signed:
    return Signed(gist, body, sender)


@dataclass(frozen=True)
class Site:
    """A repository with one page, at `repository`."""

    folder: Path
    clock: ManualClock
    name: str = "amelia"

    @property
    def repository(self) -> Path:
        return self.folder / f"{self.name}.git"

    @property
    def project(self) -> Project:
        return Project(self.name, repository=str(self.repository))

    @property
    def developer(self) -> Path:
        return self.folder / f"{self.name}-developer"

    def create(self, files: Mapping[str, str | bytes]) -> None:
        git(self.folder, "init", "-q", "--bare", str(self.repository))
        git(self.folder, "init", "-q", str(self.developer))
        git(self.developer, "remote", "add", "origin", str(self.repository))
        self.develop(files)

    def develop(self, files: Mapping[str, str | bytes | None], message: str = "by hand") -> str:
        """Change files on the main branch, as the owner's developers do."""
        for name, content in files.items():
            path = self.developer / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content)
        git(self.developer, "add", "-A")
        git(self.developer, "commit", "-q", "-m", message)
        git(self.developer, "push", "-q", "origin", "HEAD:main")
        return git(self.developer, "rev-parse", "HEAD")

    def pull(self) -> None:
        git(self.developer, "pull", "-q", "origin", "main")

    def tip(self, ref: str = EDIT) -> str:
        return git(self.repository, "for-each-ref", "--format=%(objectname)", ref)

    def refs(self) -> str:
        return git(self.repository, "for-each-ref")

    def read(self, name: str, ref: str = EDIT) -> bytes:
        command = ("git", "show", f"{ref}:{name}")
        return subprocess.run(
            command, cwd=self.repository, env=ENVIRONMENT, check=True, capture_output=True
        ).stdout

    def message(self, ref: str = EDIT) -> str:
        return git(self.repository, "log", "-1", "--format=%B", ref)


async def edit(workspaces: GitWorkspaces, site: Site, work: Delivery, **files: str) -> tuple[Workspace, str]:
    """Do a whole job: open, write files (`index_html="..."`), commit, push."""
    workspace = await workspaces.open(work, site.project)
    for name, content in files.items():
        (workspace.room.tree / name.replace("_", ".")).write_text(content)
    commit = await workspaces.commit(workspace, signed(f"Gist of {work.job.id}"))
    assert isinstance(commit, str)
    return workspace, await pushed(workspaces, workspace, commit)


async def pushed(workspaces: GitWorkspaces, workspace: Workspace, commit: str) -> str:
    """Push a commit, as a merge where others were first; give what was pushed."""
    while behind := await workspaces.push(workspace, commit):
        assert isinstance(behind, Behind)
        commit = behind.commit
    return commit


async def turn(workspaces: GitWorkspaces, site: Site, work: Delivery) -> object:
    """Do a whole undo or redo; give what `turn` gave."""
    workspace = await workspaces.open(work, site.project)
    turned = await workspaces.revert(workspace, work.job.intent, signed(str(work.job.intent)))
    if isinstance(turned, Reverted):
        assert await workspaces.push(workspace, turned.tip) is None
    return turned


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
