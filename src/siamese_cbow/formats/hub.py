"""Models on the Hugging Face Hub, or any server with its interface: up as a folder, and down again.

The folder is the one that `model.save` writes, so that sentence-transformers and model2vec load what was pushed, and
its README.md is the model's page. Nothing that is downloaded can run code: only these few files are fetched.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError, MissingExtra
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import load, save

FILES = ["*.safetensors", "*.json", "*.jsonl", "vocabulary.txt", "README.md"]


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
    """Saves a model and uploads the folder in one commit; returns the address of its page.

    repo_id   "user/name"; made if it is not there
    token     of your account; left out, the one that `hf auth login` has kept
    endpoint  another server than huggingface.co
    """
    hub = _library()
    api = hub.HfApi(endpoint=endpoint, token=token)
    with tempfile.TemporaryDirectory(prefix="siamese-cbow-") as folder, _Explained(repo_id, "upload to"):
        saved = Path(folder) / repo_id.rpartition("/")[2]
        save(model, saved)
        api.create_repo(repo_id, private=private, exist_ok=True, repo_type="model")
        api.upload_folder(
            repo_id=repo_id, folder_path=saved, revision=revision, commit_message=commit_message, repo_type="model"
        )
    return f"{api.endpoint}/{repo_id}"


def from_pretrained(
    name_or_path: str | os.PathLike[str],
    *,
    revision: str | None = None,
    token: str | None = None,
    endpoint: str | None = None,
) -> Model:
    """The model in a folder or, if there is none of this name, on the Hub: `from_pretrained("user/name")`."""
    if Path(name_or_path).exists():
        return load(name_or_path)
    return load(download(str(name_or_path), revision=revision, token=token, endpoint=endpoint))


def download(
    repo_id: str, *, revision: str | None = None, token: str | None = None, endpoint: str | None = None
) -> Path:
    """The folder of a model of the Hub, fetched now or before: `download("minishlab/potion-base-8M")`."""
    hub = _library()
    with _Explained(repo_id, "fetch"):
        return Path(
            hub.snapshot_download(repo_id, revision=revision, token=token, endpoint=endpoint, allow_patterns=FILES)
        )


def _library() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "hub") from None
    return huggingface_hub


class _Explained:
    """Errors of the library and of the connection, with the repository and a next step."""

    def __init__(self, repo_id: str, doing: str) -> None:
        from huggingface_hub import errors

        self._errors = (errors.HfHubHTTPError, errors.HFValidationError, errors.LocalEntryNotFoundError)
        self._what = f"can't {doing} {repo_id}"

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (*self._errors, OSError)):
            said = " ".join(str(error).split())[:300]
            raise InputError(
                f"{self._what}: {said}; check the name (user/name), the token (`hf auth login`) and the connection"
            ) from error
