"""What goes wrong with a request, in the shape that OpenAI's clients expect.

{"error": {"message": "...", "type": "invalid_request_error", "param": "input", "code": null}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.responses import Response


class Problem(Exception):  # noqa: N818 (not ours to repair: it is the answer to a request)
    """An answer with a status of 400 or above.

    `Problem(404, "no model 'x'; expected 'books'", param="model", code="model_not_found")`
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code, self.headers = status, message, param, code, headers

    def content(self) -> dict[str, Any]:
        """What the answer says."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> Response:
        """The answer itself."""
        return json_response(self.content(), self.status, headers=self.headers)


def json_response(content: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """Anything of plain values and NumPy arrays as JSON; float32 in as few digits as tell it from its neighbours.

    Python's own `json` takes sixty times as long for 256 vectors.
    """
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, headers=headers, media_type="application/json")
