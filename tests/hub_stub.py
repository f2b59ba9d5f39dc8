"""A loopback server with as much of the Hugging Face Hub as uploading and downloading a model needs."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "c" * 40


class Hub(ThreadingHTTPServer):
    """Keeps the files of each repository, and a log of requests, in memory."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.requests: list[str] = []
        self.tokens: set[str | None] = set()
        self.fails_with = 0
        self.large: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.refused():
            return
        path = self.path.partition("?")[0]
        if path == "/api/repos/create":
            wanted = json.loads(body)
            name = f"{wanted['organization']}/{wanted['name']}" if wanted.get("organization") else wanted["name"]
            self.server.repositories.setdefault(name, {})
            self.server.private[name] = wanted.get("private") or wanted.get("visibility") == "private"
            self.answer({"url": f"{self.server.url}/{name}", "name": name, "id": name})
        elif path == "/api/validate-yaml":
            assert json.loads(body)["content"].startswith("---")
            self.answer({"warnings": [], "errors": []})
        elif "/preupload/" in path:
            files = [
                {"path": one["path"], "uploadMode": "lfs" if one["path"].endswith(".safetensors") else "regular",
                 "shouldIgnore": False, "oid": None}
                for one in json.loads(body)["files"]
            ]  # fmt: skip
            self.answer({"files": files})
        elif path.endswith("/info/lfs/objects/batch"):
            objects = [
                {**one, "actions": {"upload": {"href": f"{self.server.url}/lfs/{one['oid']}", "header": {}}}}
                for one in json.loads(body)["objects"]
            ]
            self.answer({"transfer": "basic", "objects": objects})
        elif "/commit/" in path:
            self.commit(self.repository(path), [json.loads(line) for line in body.splitlines()])
        else:
            self.answer({"error": f"no {path}"}, 404)

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(f"PUT {self.path}")
        assert hashlib.sha256(content).hexdigest() == self.path.rpartition("/")[2]
        self.server.large[self.path.rpartition("/")[2]] = content
        self.answer({})

    def commit(self, name: str, lines: list[dict[str, Any]]) -> None:
        assert lines[0]["key"] == "header"
        for line in lines[1:]:
            value = line["value"]
            content = base64.b64decode(value["content"]) if line["key"] == "file" else self.server.large[value["oid"]]
            self.server.repositories[name][value["path"]] = content
        url = f"{self.server.url}/{name}/commit/{COMMIT}"
        self.answer({"success": True, "commitOid": COMMIT, "commitUrl": url, "hookOutput": ""})

    def do_HEAD(self) -> None:
        self.do_GET(with_body=False)

    def do_GET(self, *, with_body: bool = True) -> None:
        if self.refused():
            return
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/"):
            name = self.repository(path)
            if name not in self.server.repositories:
                self.answer({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
            elif "/tree/" in path:
                files = self.server.repositories[name]
                self.answer(
                    [{"type": "file", "path": path, "size": len(files[path]), "oid": "0" * 40} for path in files]
                )
            else:
                files = [{"rfilename": path} for path in self.server.repositories[name]]
                self.answer({"id": name, "sha": COMMIT, "siblings": files, "private": False, "tags": []})
        elif "/resolve/" in path:
            name, _, file = path[1:].partition("/resolve/")
            content = self.server.repositories.get(name, {}).get(file.partition("/")[2])
            if content is None:
                self.answer({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if with_body:
                self.wfile.write(content)
        else:
            self.answer({"error": f"no {path}"}, 404)

    def refused(self) -> bool:
        self.server.requests.append(f"{self.command} {self.path}")
        self.server.tokens.add(self.headers.get("Authorization"))
        if self.server.fails_with:
            self.answer({"error": "not today"}, self.server.fails_with)
        return bool(self.server.fails_with)

    def repository(self, path: str) -> str:
        return "/".join(path.removeprefix("/api/models/").split("/")[:2])

    def answer(self, content: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        for key, value in {**(headers or {}), "Content-Type": "application/json"}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def hub() -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
