"""Compiled kernels: where they are kept, and that kernels older than a source are deleted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching

from siamese_cbow.machine import compiling as kernel_cache
from siamese_cbow.machine.compiling import forget_stale_kernels
from siamese_cbow.machine.products import highest


def test_an_inner_function_can_still_be_called_from_python() -> None:
    assert highest(np.array([-1, 2, -np.inf], np.float32)) == 2
    assert highest(np.array([-3], np.float32)) == -3


def test_all_kernels_are_in_rooms_whose_sources_are_compared() -> None:
    sources = [path for path in kernel_cache.PACKAGE.rglob("*.py") if "\n@njit(" in path.read_text("utf-8")]
    assert {path.relative_to(kernel_cache.PACKAGE).parts[0] for path in sources} <= {*kernel_cache.ROOMS}


def test_only_what_is_older_than_a_source_goes(tmp_path: Path) -> None:
    cache = tmp_path / "kernels" / "batch" / "__pycache__"
    (tmp_path / "machine").mkdir()
    cache.mkdir(parents=True)
    for name, age in (("machine/a.py", 100), ("kernels/b.py", 50), ("old.nbi", 70), ("new.nbi", 10)):
        path = cache / name if name.endswith("nbi") else tmp_path / name
        path.touch()
        os.utime(path, (1e9 - age, 1e9 - age))
    assert forget_stale_kernels(tmp_path) == 1
    assert [path.name for path in cache.iterdir()] == ["new.nbi"]
    os.utime(tmp_path / "machine" / "a.py", (1e9, 1e9))
    assert forget_stale_kernels(tmp_path) == 1, "what all kernels share is newer"
    assert forget_stale_kernels(tmp_path / "nowhere") == 0


@pytest.mark.skipif(kernel_cache.PLAIN, reason="plain kernels are never cached")
def test_code_that_could_not_be_written_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is small and fits on a disk where the code doesn't: older code must not be loaded instead."""
    entries = {"(int64,)": "code of integers", "(float64,)": "code of floats"}
    cache = caching.IndexDataCacheFile(str(tmp_path), "kernel", "today")
    for key, code in entries.items():
        cache.save(key, code)
    assert {key: cache.load(key) for key in entries} == entries
    (tmp_path / "kernel.nbi").unlink()  # as after a change of the source; the code it refers to is still there

    def full(name: str, data: object) -> None:
        raise OSError("File too large")

    monkeypatch.setattr(cache, "_save_data", full)
    for key in reversed(entries):
        with pytest.raises(OSError, match="too large"):
            cache.save(key, "new code")
        assert cache.load(key) is None


def test_stale_kernels_in_the_cache_of_the_user_go_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    source = tmp_path / "package" / "words" / "a.py"
    kept = tmp_path / "home" / "numba" / caching._CacheLocator.get_suitable_cache_subpath(str(source)) / "a.nbi"
    for path in (source, kept):
        path.parent.mkdir(parents=True)
        path.touch()
    os.utime(kept, (1e9, 1e9))
    assert forget_stale_kernels(tmp_path / "package") == 1
    assert not kept.exists()


# where only temporary files can be written

NOWHERE = """
import sys
from numba.core import caching
for locator in (caching.InTreeCacheLocator, caching.UserWideCacheLocator):
    locator.from_function = classmethod(lambda *_: None)  # as where the folder is read-only
import numpy as np
from siamese_cbow.machine.compiling import LEAN
from siamese_cbow.machine.utf8 import is_utf8
print(is_utf8(np.array([65, 66], np.uint8)), LEAN["cache"], sum(is_utf8.stats.cache_hits.values()))
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | environment
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=settings)


def test_without_any_folder_of_their_own_kernels_are_kept_among_temporary_files(tmp_path: Path) -> None:
    first = run(NOWHERE, TMPDIR=str(tmp_path))
    assert first.stdout.split() == ["True", "True", "0"]
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert first.stderr.count("\n") == 1
    assert f"compiling kernels into {folder}" in first.stderr
    again = run(NOWHERE, TMPDIR=str(tmp_path))
    assert again.stdout.split() == ["True", "True", "1"], "the second time they are there"
    assert again.stderr == "", "said once"


def test_without_any_folder_at_all_kernels_are_compiled_each_time() -> None:
    script = f"import tempfile\nfrom pathlib import Path\ntempfile.tempdir = '/proc/none'\n{NOWHERE}"
    done = run(script)
    assert done.stdout.split() == ["True", "False", "0"]
    assert (
        done.stderr
        == "siamese-cbow: found no writable cache folder, so kernels are compiled on every run; set NUMBA_CACHE_DIR\n"
    )


def test_the_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = kernel_cache.temporary_folder.__wrapped__
    own = Path(folder() or "")
    assert folder() == str(own)
    own.chmod(0o777)
    assert folder() != str(own), "anybody may have written to it"
    own.rmdir()
    (tmp_path / "theirs").mkdir()
    own.symlink_to(tmp_path / "theirs")
    assert folder() != str(own)


@pytest.mark.slow
def test_commands_work_where_package_and_home_are_read_only(tmp_path: Path) -> None:
    package = kernel_cache.PACKAGE
    mount = f"mount --bind {package} {package} && mount -o remount,ro,bind {package}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount folders read-only")
    (tmp_path / "text.txt").write_text("the cat sat on the mat\nthe dog sat on the cat\n" * 50)
    (tmp_path / "temporary").mkdir()
    command = f"{sys.executable} -m siamese_cbow"
    script = [mount, f"! touch {package}/x", f"{command} prepare text.txt -o stream"]
    script += [
        f"{command} train stream -o model --epochs 1 --dim 8",
        f"{command} encode text.txt --model model -o v.npy",
    ]
    unset = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"TMPDIR": str(tmp_path / "temporary"), "HOME": "/proc/none"}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", " && ".join(script)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("compiling kernels into") == 1
    assert (tmp_path / "v.npy").exists()
