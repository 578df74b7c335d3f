"""Files are whole or as they were before."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltadyn.files import replacing, write_whole


def test_a_file_and_its_folder_are_written(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "new" / "page.html", "text ü")
    assert path.read_text("utf-8") == "text ü"
    assert write_whole(path, b"bytes").read_bytes() == b"bytes"
    assert [item.name for item in path.parent.iterdir()] == ["page.html"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_was_there_stays_when_the_writing_breaks_off(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = write_whole(tmp_path / "log.csv", "before")

    def break_off() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        break_off()
    assert path.read_text() == "before"
    assert [item.name for item in tmp_path.iterdir()] == ["log.csv"]


def test_a_link_and_permissions_are_kept(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "robot.yaml", "before")
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    write_whole(link, "after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640
