"""What Prometheus can ask for: requests, how long they took, what was in them, and the process itself."""

from __future__ import annotations

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

# A sentence takes half a millisecond, a large batch a tenth of a second.
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """Counters of one application; each has its own, so that two in one process don't add up."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._requests = Counter(
            "siamese_cbow_requests", "Requests answered.", ["path", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "siamese_cbow_request_seconds",
            "From the head of a request to the end of its answer.",
            ["path"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.under_way = Gauge("siamese_cbow_requests_under_way", "Requests not answered yet.", registry=self.registry)
        self._texts = Counter("siamese_cbow_texts", "Texts turned into vectors.", ["model"], registry=self.registry)
        self._tokens = Counter(
            "siamese_cbow_tokens", "Words with a vector in these texts.", ["model"], registry=self.registry
        )

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Counts a request; `path` is one of the application's own, so that there are only so many."""
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def embedded(self, model: str, n_texts: int, n_tokens: int) -> None:
        """Counts texts."""
        self._texts.labels(model).inc(n_texts)
        self._tokens.labels(model).inc(n_tokens)

    def page(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self.registry)
