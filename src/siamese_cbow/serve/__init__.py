"""Models over HTTP: an OpenAI-compatible API, and an explorer page.

    bodies      the bytes of a request -> a validated record, or a `Problem`; a response -> bytes
    middleware  host names, key, limits, metrics and headers around every request [Hosts, Limits]
    schemas     the fields of requests and responses; an endpoint, and the OpenAPI description of all of them
    registry    the models by name; texts and token ids -> vectors, without waiting for a compiler
    api         the endpoints for programs; work runs off the event loop: short in a pool, long in the background
    explorer    the endpoints of the page, whose files are in page/
    app         the ASGI application, made of all of these [build]
    server      runs the application, with graceful shutdown [listen, run]

Needs the extra `serve`; only the command imports this room.

A new endpoint touches two files: its request and response in `schemas`, its handler in the `endpoints` of `api` or
`explorer`. Route, validation, metrics and OpenAPI follow from these.
"""
