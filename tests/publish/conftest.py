"""A folder to publish into."""

from pathlib import Path

import pytest

from webordinary.sites.folder_publisher import FolderPublisher


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sites"


@pytest.fixture
def publisher(root: Path) -> FolderPublisher:
    return FolderPublisher(
        root, address=lambda project, place: f"http://sites.example/{place}/{project}/", keep=2
    )
