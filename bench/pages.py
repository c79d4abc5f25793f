from pathlib import Path
from bench.report import Row


def measure(folder: Path) -> list[Row]:
    return []
