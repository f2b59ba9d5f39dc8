"""Downloads from a local server that drops connections, lies, ignores ranges and refuses."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from siamese_cbow.cli import group
from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.download import ARCHIVES, Archive, download_sts, fetch, file_sha256, unpack
from siamese_cbow.evaluation.sts import sts
from siamese_cbow.progress import Silent

CONTENT = bytes(range(256)) * 2000
Answer = Callable[["Handler", bytes], None]


class Handler(BaseHTTPRequestHandler):
    """Serves `server.content`; `server.script` says how each request is handled, its last entry applies to the rest."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(dict(self.headers))
        script = self.server.script
        answer = script.pop(0) if len(script) > 1 else script[0]
        answer(self, self.server.content[self.path])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def head(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def start_of_range(self) -> int:
        return int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content: dict[str, bytes] = {"/file": CONTENT}
        self.script: list[Answer] = [with_ranges]
        self.requests: list[dict[str, str]] = []

    def url(self, path: str = "/file") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


def with_ranges(handler: Handler, content: bytes) -> None:
    start = handler.start_of_range()
    if start and start >= len(content):
        handler.head(416, 0, Content_Range=f"bytes */{len(content)}")
        return
    version = f'"{hashlib.sha256(content).hexdigest()[:8]}"'
    if start and handler.headers.get("If-Range", version) == version:
        rest = content[start:]
        handler.head(206, len(rest), Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}", ETag=version)
        handler.wfile.write(rest)
    else:
        handler.head(200, len(content), ETag=version)
        handler.wfile.write(content)


def without_ranges(handler: Handler, content: bytes) -> None:
    handler.head(200, len(content))
    handler.wfile.write(content)


def breaks_after(n: int) -> Answer:
    def answer(handler: Handler, content: bytes) -> None:
        start = handler.start_of_range()
        version = f'"{hashlib.sha256(content).hexdigest()[:8]}"'
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        more = {"Content_Range": span} if start else {}
        handler.head(206 if start else 200, len(content) - start, ETag=version, **more)
        handler.wfile.write(content[start : start + n])
        handler.close_connection = True

    return answer


def says(status: int) -> Answer:
    return lambda handler, _: handler.head(status, 0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Waits:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


class Counting(Silent):
    def __init__(self) -> None:
        self.bytes = 0.0
        self.messages: list[str] = []

    def advance(self, amount: float, note: str = "") -> None:
        self.bytes += amount

    def say(self, message: str) -> None:
        self.messages.append(message)


def left(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_arrives_whole_and_checked(server: Server, tmp_path: Path) -> None:
    counting = Counting()
    expected = hashlib.sha256(CONTENT).hexdigest()
    found = fetch(server.url(), tmp_path / "new" / "file", sha256=expected, progress=counting)
    assert found == expected == file_sha256(tmp_path / "new" / "file")
    assert counting.bytes == len(CONTENT)
    assert left(tmp_path / "new") == ["file"]


def test_a_broken_transfer_resumes_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.script = [breaks_after(100_000), breaks_after(200_000), with_ranges]
    waits, counting = Waits(), Counting()
    fetch(server.url(), tmp_path / "file", wait=waits, progress=counting)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [one.get("Range") for one in server.requests] == [None, "bytes=100000-", "bytes=300000-"]
    assert all("If-Range" in one for one in server.requests[1:])
    assert waits.seconds == [1, 2]
    assert any("interrupted after 100,000 bytes" in message for message in counting.messages)


def test_a_second_call_resumes_what_the_first_left(server: Server, tmp_path: Path) -> None:
    server.script = [breaks_after(50_000), says(503)]
    with pytest.raises(InputError, match="503"):
        fetch(server.url(), tmp_path / "file", tries=2, wait=Waits())
    assert left(tmp_path) == ["file.part", "file.part.version"]
    server.script = [with_ranges]
    fetch(server.url(), tmp_path / "file")
    assert server.requests[-1]["Range"] == "bytes=50000-"
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert left(tmp_path) == ["file"]


def test_a_transfer_that_never_ends_keeps_what_came_and_says_so(server: Server, tmp_path: Path) -> None:
    server.script = [breaks_after(1000)]
    with pytest.raises(InputError, match=r"3 tries; 3,000 bytes are saved in .*file\.part.*run the same command again"):
        fetch(server.url(), tmp_path / "file", tries=3, wait=Waits())


def test_a_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    server.script = [breaks_after(100_000), without_ranges]
    fetch(server.url(), tmp_path / "file", wait=Waits())
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_not_pieced_together(server: Server, tmp_path: Path) -> None:
    server.script = [breaks_after(100_000), says(500)]
    with pytest.raises(InputError):
        fetch(server.url(), tmp_path / "file", tries=2, wait=Waits())
    server.content["/file"] = CONTENT[::-1]
    server.script = [with_ranges]
    fetch(server.url(), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT[::-1]


def test_a_part_that_is_whole_already(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT)
    fetch(server.url(), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    (tmp_path / "other.part").write_bytes(CONTENT + b"more")  # longer than the file, so it belongs to something else
    fetch(server.url(), tmp_path / "other", wait=Waits())
    assert (tmp_path / "other").read_bytes() == CONTENT


def test_a_wrong_checksum_deletes_the_file(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"SHA-256 is [0-9a-f]{64}, expected 0000"):
        fetch(server.url(), tmp_path / "file", sha256="0000")
    assert left(tmp_path) == []


@pytest.mark.parametrize("status", [404, 403])
def test_a_server_that_says_no_is_not_asked_again(server: Server, tmp_path: Path, status: int) -> None:
    server.script = [says(status)]
    with pytest.raises(InputError, match=f"the server answered {status}"):
        fetch(server.url(), tmp_path / "file", wait=Waits())
    assert len(server.requests) == 1


def test_no_server_and_no_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(InputError, match="refused"):
        fetch("http://127.0.0.1:9/file", tmp_path / "file", tries=2, wait=Waits())
    with pytest.raises(InputError, match="expected an address that starts with http"):
        fetch("file:///etc/passwd", tmp_path / "file")


# archives


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def tarred(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


PAIRS, GOLD = "a\tb\nc\td\ne\tf\n", "1\n2\n3\n"
YEAR = {"x/STS.input.images.txt": PAIRS, "x/STS.gs.images.txt": GOLD, "x/readme.txt": "no", "x/correlation.pl": "no"}


def test_archives_become_sets_and_a_second_call_fetches_nothing(server: Server, tmp_path: Path) -> None:
    row = "g\tf\ty\t1\t{}\tone\ttwo\n"
    server.content = {
        "/STS2014-en-test.zip": zipped(YEAR),
        "/Stsbenchmark.tar.gz": tarred({"stsbenchmark/sts-test.csv": "".join(row.format(i) for i in (1, 2, 3))}),
    }
    archives = (
        Archive("STS 2014", server.url("/STS2014-en-test.zip"), "2014"),
        Archive("STS-Benchmark", server.url("/Stsbenchmark.tar.gz"), "stsbenchmark"),
    )
    new = download_sts(tmp_path, archives=archives)
    assert [file.name for file in new] == ["STS.input.images.txt", "STS.gs.images.txt", "sts-test.csv"]
    assert [one.name for one in sts(tmp_path)] == ["2014 images", "STS-Benchmark test"]
    assert left(tmp_path / "2014") == ["STS.gs.images.txt", "STS.input.images.txt"]
    sums = (tmp_path / "archives" / "SHA256SUMS").read_text()
    assert f"{hashlib.sha256(server.content['/STS2014-en-test.zip']).hexdigest()}  STS2014-en-test.zip\n" in sums

    assert download_sts(tmp_path, archives=archives) == []
    assert len(server.requests) == 2
    # damage on disk is detected by the recorded checksum and repaired
    (tmp_path / "archives" / "STS2014-en-test.zip").write_bytes(b"damaged")
    (tmp_path / "2014" / "STS.gs.images.txt").unlink()
    assert len(download_sts(tmp_path, archives=archives)) == 1
    assert len(server.requests) == 3
    # so is an archive that has changed on the server
    (tmp_path / "archives" / "STS2014-en-test.zip").unlink()
    server.content["/STS2014-en-test.zip"] = zipped({**YEAR, "x/more.txt": ""})
    with pytest.raises(InputError, match="SHA-256 is"):
        download_sts(tmp_path, archives=archives)


def test_your_own_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(YEAR))
    folder = tmp_path / "2014"
    folder.mkdir()
    (folder / "STS.gs.images.txt").write_text("mine")
    assert [file.name for file in unpack(tmp_path / "a.zip", folder)] == ["STS.input.images.txt"]
    assert (folder / "STS.gs.images.txt").read_text() == "mine"


def test_what_cant_be_had_does_not_stop_the_rest(server: Server, tmp_path: Path) -> None:
    server.content = {"/a.zip": b"", "/b.zip": zipped(YEAR)}
    server.script = [says(404), with_ranges]
    archives = (Archive("A", server.url("/a.zip"), "2013"), Archive("B", server.url("/b.zip"), "2014"))
    with pytest.raises(InputError, match=r"1 archives are missing in .*\nA: .*404"):
        download_sts(tmp_path, archives=archives)
    assert [one.name for one in sts(tmp_path)] == ["2014 images"]


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize(
    "path", ["../STS.gs.images.txt", "/tmp/STS.gs.images.txt", "a/../../STS.gs.images.txt", "C:\\STS.gs.images.txt"]
)
def test_a_path_that_leads_elsewhere_is_refused(
    tmp_path: Path, pack: Callable[[dict[str, str]], bytes], path: str
) -> None:
    (tmp_path / "bad").write_bytes(pack({**YEAR, path: "evil"}))
    with pytest.raises(InputError, match="leads out of its folder; nothing was unpacked"):
        unpack(tmp_path / "bad", tmp_path / "out")
    assert left(tmp_path) == ["bad"]


def test_a_page_in_place_of_an_archive_is_not_kept(server: Server, tmp_path: Path) -> None:
    server.content = {"/b.zip": b"<html>moved</html>"}
    archives = (Archive("B", server.url("/b.zip"), "2014"),)
    with pytest.raises(InputError, match="is not a complete zip or tar archive"):
        download_sts(tmp_path, archives=archives)
    assert left(tmp_path / "archives") == []
    server.content = {"/b.zip": zipped(YEAR)}
    assert len(download_sts(tmp_path, archives=archives)) == 2


def test_links_are_never_unpacked(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bad.tar.gz", "w:gz") as archive:
        link = tarfile.TarInfo("STS.gs.images.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(InputError, match="contains none of the expected files"):
        unpack(tmp_path / "bad.tar.gz", tmp_path / "out")
    info = zipfile.ZipInfo("STS.gs.images.txt")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as packed:
        packed.writestr(info, "/etc/passwd")
    with pytest.raises(InputError, match="contains none of the expected files"):
        unpack(tmp_path / "bad.zip", tmp_path / "out")


def test_archives_that_are_damaged_twofold_or_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = zipped(YEAR)
    for content in (b"", b"<html>not found</html>", whole[:50], tarred(YEAR)[:60]):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(InputError, match=r"is not a complete zip or tar archive .*download it again"):
            unpack(tmp_path / "bad", tmp_path / "out")
    (tmp_path / "twice.zip").write_bytes(zipped({**YEAR, "y/STS.gs.images.txt": ""}))
    with pytest.raises(InputError, match=r"contains STS\.gs\.images\.txt twice"):
        unpack(tmp_path / "twice.zip", tmp_path / "other")
    monkeypatch.setattr("siamese_cbow.evaluation.download.LARGEST", 5)
    (tmp_path / "large.zip").write_bytes(whole)
    with pytest.raises(InputError, match="of more than 5 bytes"):
        unpack(tmp_path / "large.zip", tmp_path / "large")
    assert left(tmp_path / "large") == []


def test_the_list_of_archives_is_sound() -> None:
    assert len({one.url for one in ARCHIVES}) == len({one.folder for one in ARCHIVES}) == len(ARCHIVES)
    assert {one.folder for one in ARCHIVES} >= {"2012", "2013", "2014", "2015", "2016"}
    assert all(one.sha256 is None or len(one.sha256) == 64 for one in ARCHIVES)


def test_the_command(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.content = {"/b.zip": zipped(YEAR)}
    archive = Archive("B", server.url("/b.zip"), "2014")
    monkeypatch.setattr(download_sts, "__kwdefaults__", {**download_sts.__kwdefaults__, "archives": (archive,)})
    result = CliRunner().invoke(group, ["download", "sts", "--to", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout == f"1 set in {tmp_path}; try: siamese-cbow evaluate random --sts {tmp_path}\n"
    assert "B: 2 new files" in result.stderr


def test_without_a_network_there_is_one_try(tmp_path: Path) -> None:
    def wait(seconds: float) -> None:
        raise AssertionError("waiting does not help")

    with pytest.raises(InputError, match=r"can't reach no-such-host\.invalid .*check the connection and run the same"):
        fetch("http://no-such-host.invalid/file.zip", tmp_path / "file.zip", wait=wait)
