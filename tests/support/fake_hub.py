"""A hub of datasets on loopback: the routes, headers and errors of the real one, and its faults."""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

LARGE = 200  # bytes; from here on a file is in LFS, and served by another path


@dataclass
class Fault:
    """What happens to the next requests whose path holds ``on``.

    Attributes:
        on: Part of the path.
        status: The error to answer; 0 means none.
        headers: Of that answer.
        cut: Send so many bytes of the body, then close the connection.
        instead: Send this content.
        times: How often.
    """

    on: str
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    instead: bytes | None = None
    times: int = 1


@dataclass
class Dataset:
    """A repository: commits with their files, and branches."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    gated: bool = False
    private: bool = False
    licence: str | None = None


@dataclass(frozen=True)
class Seen:
    """A request."""

    method: str
    path: str
    headers: Mapping[str, str]


def git_hash(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class FakeHub:
    """Serves while it is entered; ``members`` maps a token to the gated datasets it may read."""

    def __init__(self) -> None:
        self.datasets: dict[str, Dataset] = {}
        self.members: dict[str, set[str]] = {}
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.blobs: dict[str, bytes] = {}
        self.names_only = False  # as a mirror that lists neither sizes nor hashes
        self.hung_up = 0  # clients that did not read to the end
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.cdn = f"http://localhost:{self._server.server_port}"  # another host, as in earnest

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(
        self, name: str, files: Mapping[str, bytes | str], *, branch: str = "main", **facts: Any
    ) -> str:
        """Commit files to a branch; the commit."""
        dataset = self.datasets.setdefault(name, Dataset())
        for fact, value in facts.items():
            setattr(dataset, fact, value)
        data = {
            path: text.encode() if isinstance(text, str) else text for path, text in files.items()
        }
        mark = json.dumps([name, {path: git_hash(blob) for path, blob in data.items()}])
        commit = hashlib.sha1(mark.encode(), usedforsecurity=False).hexdigest()
        dataset.commits[commit] = data
        dataset.branches[branch] = commit
        self.blobs |= {hashlib.sha256(blob).hexdigest(): blob for blob in data.values()}
        return commit

    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [f"{one.method} {one.path}" for one in self.seen]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                Answer(hub, self).give()

            do_HEAD = do_GET  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Write nothing."""

        return Handler


class Answer:
    """One request and its answer."""

    def __init__(self, hub: FakeHub, request: BaseHTTPRequestHandler) -> None:
        self.hub = hub
        self.request = request
        hub.seen.append(Seen(request.command, request.path, dict(request.headers.items())))
        said = request.headers.get("Authorization", "")
        self.token = said.removeprefix("Bearer ") or None
        self.fault = next((one for one in hub.faults if one.times and one.on in request.path), None)
        if self.fault:
            self.fault.times -= 1

    def give(self) -> None:
        parts = urlsplit(self.request.path)
        words = parts.path.strip("/").split("/")
        if self.fault and self.fault.status:
            self.send(self.fault.status, b"{}", self.fault.headers)
        elif self.token is not None and self.token not in self.hub.members:
            self.error(401, "", "Invalid credentials in Authorization header")
        elif words[0] == "cdn":
            self.file(self.hub.blobs[words[1]], {"ETag": '"not-a-hash"'})
        elif words[:2] == ["api", "datasets"]:
            query = dict(parse_qsl(parts.query))
            self.of(
                "/".join(words[2:4]),
                words[4:],
                lambda at, commit, more: self.api(at, commit, more, query),
            )
        elif words[0] == "datasets":
            self.of("/".join(words[1:3]), words[3:], self.resolve)
        else:
            self.send(404, b"no such page", {})

    def of(self, name: str, rest: list[str], answer: Callable[..., None]) -> None:
        dataset = self.hub.datasets.get(name)
        may = self.hub.members.get(self.token or "", set())
        if dataset is None or (dataset.private and name not in may):
            code = 401 if self.token is None else 404
            self.error(code, "RepoNotFound", "Repository not found")
            return
        revision = unquote(rest[1]) if len(rest) > 1 else "main"
        commit = dataset.branches.get(revision, revision)
        if commit not in dataset.commits:
            self.error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif dataset.gated and rest[0] == "resolve" and name not in may:
            code = 401 if self.token is None else 403
            self.error(code, "GatedRepo", f"Access to dataset {name} is restricted.")
        else:
            answer(dataset, commit, rest)

    def api(self, dataset: Dataset, commit: str, rest: list[str], query: dict[str, str]) -> None:
        files = dataset.commits[commit]
        entries = [described(path, data) for path, data in files.items()]
        if rest[0] == "tree":
            body: Any = [tree_entry(entry) for entry in entries]
        elif rest[0] == "parquet":
            body = {}
            for path in dataset.commits.get(dataset.branches.get("refs/convert/parquet", ""), {}):
                config, split, _ = path.split("/")
                url = f"{self.hub.url}/datasets/x/resolve/refs%2Fconvert%2Fparquet/{path}"
                body.setdefault(config, {}).setdefault(split, []).append(url)
        else:
            with_hashes = query.get("blobs") == "true" and not self.hub.names_only
            names = [{"rfilename": entry["rfilename"]} for entry in entries]
            body = {
                "sha": commit,
                "gated": "auto" if dataset.gated else False,
                "private": dataset.private,
                "cardData": {"license": dataset.licence} if dataset.licence else {},
                "siblings": entries if with_hashes else names,
            }
        self.send(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def resolve(self, dataset: Dataset, commit: str, rest: list[str]) -> None:
        path = unquote("/".join(rest[2:]))
        data = dataset.commits[commit].get(path)
        if data is None:
            self.error(404, "EntryNotFound", "Entry not found")
            return
        sha = hashlib.sha256(data).hexdigest()
        headers = {"X-Repo-Commit": commit}
        if len(data) < LARGE:
            self.file(data, {**headers, "ETag": f'"{git_hash(data)}"'})
            return
        headers |= {"X-Linked-Etag": f'"{sha}"', "X-Linked-Size": str(len(data))}
        self.send(302, b"", {**headers, "Location": f"{self.hub.cdn}/cdn/{sha}"})

    def file(self, data: bytes, headers: Mapping[str, str]) -> None:
        """Content, or the part of it that was asked for, or what a fault makes of it."""
        data = data if self.fault is None or self.fault.instead is None else self.fault.instead
        asked = self.request.headers.get("Range")
        status, more = 200, {"Accept-Ranges": "bytes"}
        if asked is not None:
            begin = int(asked.removeprefix("bytes=").partition("-")[0])
            if begin >= len(data):
                self.send(416, b"", {"Content-Range": f"bytes */{len(data)}"})
                return
            more["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
            status, data = 206, data[begin:]
        self.send(status, data, {**headers, **more}, None if self.fault is None else self.fault.cut)

    def error(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
        self.send(status, json.dumps({"error": message}).encode(), headers)

    def send(
        self, status: int, body: bytes, headers: Mapping[str, str], cut: int | None = None
    ) -> None:
        request = self.request
        request.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command != "HEAD":
            try:
                request.wfile.write(body if cut is None else body[:cut])
            except ConnectionError:
                self.hub.hung_up += 1
                request.close_connection = True
                return
        if cut is not None:
            request.wfile.flush()
            request.close_connection = True


def described(path: str, data: bytes) -> dict[str, Any]:
    """A file as ``?blobs=true`` shows it."""
    entry: dict[str, Any] = {"rfilename": path, "size": len(data), "blobId": git_hash(data)}
    if len(data) >= LARGE:
        sha = hashlib.sha256(data).hexdigest()
        entry["lfs"] = {"sha256": sha, "size": len(data), "pointerSize": 134}
        entry["blobId"] = git_hash(sha.encode())  # that of the pointer
    return entry


def tree_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """The same as ``/tree`` shows it."""
    made = {
        "type": "file",
        "path": entry["rfilename"],
        "size": entry["size"],
        "oid": entry["blobId"],
    }
    if "lfs" in entry:
        made["lfs"] = {"oid": entry["lfs"]["sha256"], "size": entry["size"]}
    return made
