"""The only place that opens models by name; also uploads them to the Hugging Face Hub.

    open_model()                     the model that comes with the package; "pretrained" is its name
    open_model("models/books")       a folder: ours, or a static model of model2vec or sentence-transformers
    open_model("glove.6B.300d.txt")  a file: every format that `known_formats` reads
    open_model("user/name")          a model on the Hub, if huggingface_hub is installed; "hf://user/name" forces this
    open_model(model)                returns the model, so that code that takes a name also takes a model

Local paths come first: a folder called `pretrained` in the working directory takes precedence over the model in the
package. A name like a/b is looked up on the Hub only if there is no folder a, so that a mistyped path sends no request.
Nothing downloaded can run code: only the few files of a model are fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError, SettingsError, did_you_mean, needs
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import PRETRAINED as PACKAGED
from siamese_cbow.model.storage import VOCABULARY, save
from siamese_cbow.model.storage import load as load_folder
from siamese_cbow.progress import SILENT, Progress, shown

PRETRAINED = "pretrained"  # the name of the model that comes with the package
FILES = ["*.safetensors", "*.json", "*.jsonl", "vocabulary.txt", "README.md"]  # fetched from a repository
# Compiled on use: a quick query to the model in the package needs neither.
REPOSITORY = r"[\w-][\w.-]*/[\w-][\w.-]*"
EXPLICIT = "hf:/{1,2}(.+)"  # a Path drops one of the slashes


def load(
    name: Model | str | os.PathLike[str] | None = None,
    *,
    verify: bool = False,
    kind: str | None = None,
    keep: Container[str] | None = None,
    progress: Progress | bool = SILENT,
    revision: str | None = None,
    token: str | None = None,
    endpoint: str | None = None,
) -> Model:
    """Opens a model by name; without a name, the model in the package.

    name      a folder, a file, user/name on the Hugging Face Hub, or "pretrained"; local paths come first
    verify    also check all vectors against their hash; only for folders of siamese-cbow
    kind      the format, instead of detecting it: "glove", "word2vec-binary", ...
    keep      read only these words of a word vector file, to save memory
    progress  shows the progress of reading a word vector file, and remarks; True shows a bar
    revision  a branch or commit on the Hub
    token     an access token for the Hub
    endpoint  a Hub other than huggingface.co
    """
    if isinstance(name, Model):
        return name
    if keep is not None and (isinstance(keep, str | bytes) or not isinstance(keep, Container)):
        raise SettingsError(f"keep is {keep!r:.60}; expected several words: {{'cat', 'dog'}}")
    with shown(progress, "reading", None, unit="words") as reporter:
        return _opened(name, verify, kind, keep, reporter, revision=revision, token=token, endpoint=endpoint)


open_model = load  # its name inside the package


def _opened(
    name: str | os.PathLike[str] | None,
    verify: bool,
    kind: str | None,
    keep: Container[str] | None,
    progress: Progress,
    **hub_options: str | None,
) -> Model:
    """The model with this name."""
    path = local_path(name, progress=progress, **hub_options)
    # Ours: no other readers need to be imported. A stream, which also has a vocabulary, is refused below.
    if kind is None and (path / VOCABULARY).is_file() and not (path / "stream.json").is_file():
        return load_folder(path, verify=verify)
    from siamese_cbow.formats.known_formats import ACCEPTED, OURS, format_to_read
    from siamese_cbow.formats.vector_files import read_vector_file

    form = format_to_read(path, kind)
    if form.name == OURS:
        return load_folder(path, verify=verify)
    if form.read is None:
        raise InputError(f"{path} is {form.name}, a format that siamese-cbow only writes; expected {ACCEPTED}")
    if verify:
        raise SettingsError(f"{path} is {form.name}, a format without hashes; drop verify (--verify)")
    if form.is_vector_file:
        return read_vector_file(path, progress, keep=keep)
    return form.read(path, progress)


def is_vector_file(name: str | os.PathLike[str]) -> bool:
    """Whether a name refers to a file with only words and vectors: word2vec, GloVe or fastText."""
    from siamese_cbow.formats.known_formats import format_to_read

    path = local_path(name)
    return path.is_file() and format_to_read(path).is_vector_file


def local_path(name: str | os.PathLike[str] | None, *, progress: Progress = SILENT, **hub_options: str | None) -> Path:
    """The local path of a model, downloaded from the Hub if needed: `local_path("models/books")`."""
    if name is None:
        return PACKAGED
    text = os.fspath(name) if isinstance(name, str | os.PathLike) else repr(name)
    path = Path(text).expanduser() if text.startswith("~/") else Path(text)
    if text and os.path.exists(path):  # noqa: PTH110 (Path.exists raises an error where a name is too long)
        if text == PRETRAINED:
            progress.say(f"using {path.absolute()}, not the model in the package; for that one, give no name")
        return path
    if text == PRETRAINED:
        return PACKAGED
    if (explicit := re.fullmatch(EXPLICIT, text)) or any(hub_options.values()):
        return download(explicit[1] if explicit else text, **hub_options)
    if re.fullmatch(REPOSITORY, text) and not path.parent.exists() and _has_hub():
        try:
            return download(text)
        except InputError as error:
            raise InputError(f"{error}; no file or folder {text} exists either") from error
    from siamese_cbow.formats.known_formats import ACCEPTED

    meant = did_you_mean(text, [PRETRAINED], "-")
    raise InputError(f"no model {text or repr(text)}; {f'expected {ACCEPTED}' if meant == '-' else meant}")


# the Hugging Face Hub, or any server with its interface


def push_to_hub(
    model: Model,
    repo_id: str,
    *,
    private: bool = False,
    token: str | None = None,
    revision: str | None = None,
    commit_message: str = "Add a siamese-cbow model",
    endpoint: str | None = None,
) -> str:
    """Saves a model and uploads the folder in one commit: `push_to_hub(model, "user/books")` -> address of its page.

    repo_id   "user/name"; created if it does not exist
    token     access token; by default the one stored by `hf auth login`
    endpoint  a server other than huggingface.co
    """
    import tempfile

    api = _hub().HfApi(endpoint=endpoint, token=token)
    with tempfile.TemporaryDirectory(prefix="siamese-cbow-") as folder, _explained(f"upload to {repo_id}"):
        saved = Path(folder) / repo_id.rpartition("/")[2]
        save(model, saved)
        api.create_repo(repo_id, private=private, exist_ok=True, repo_type="model")
        api.upload_folder(
            repo_id=repo_id, folder_path=saved, revision=revision, commit_message=commit_message, repo_type="model"
        )
    return f"{api.endpoint}/{repo_id}"


def download(repo_id: str, **options: str | None) -> Path:
    """The local folder of a model on the Hub, downloaded now or earlier: `download("minishlab/potion-base-8M")`.

    The options are `revision`, `token` and `endpoint`, as for `open_model`.
    """
    hub = _hub()
    with _explained(f"fetch {repo_id}"):
        return Path(hub.snapshot_download(repo_id, allow_patterns=FILES, **options))


def _has_hub() -> bool:
    from importlib.util import find_spec

    return find_spec("huggingface_hub") is not None


def _hub() -> Any:
    with needs("huggingface_hub", "hub"):
        import huggingface_hub
    return huggingface_hub


@contextmanager
def _explained(doing: str) -> Iterator[None]:
    """Explains errors of the library and the connection: what was tried, and the next step."""
    from huggingface_hub import errors

    theirs = (errors.HfHubHTTPError, errors.HFValidationError, errors.LocalEntryNotFoundError)
    try:
        yield
    except Exception as error:
        # The library talks through httpx and, in an upload, lets errors of httpx through.
        if not isinstance(error, (*theirs, OSError)) and not type(error).__module__.startswith("httpx"):
            raise
        reason = " ".join(str(error).split()).removeprefix("Got: ")
        reason = reason.partition(" An error happened while")[0][:300].rstrip(".")  # their advice repeats ours
        advice = "check the name (user/name), the token (`hf auth login`) and the connection"
        raise InputError(f"can't {doing}: {reason}; {advice}") from error
