"""Models over HTTP: an API that OpenAI's clients speak, and a page to look at models.

    bodies      bytes of a request -> a checked record, or a `Problem`; an answer -> bytes
    middleware  names, key, limits, metrics and headers around every request [Hosts, Limits]
    schemas     what may stand in requests and answers; an endpoint, and the description of all of them
    registry    the models by name; texts and token ids -> vectors, without ever waiting for a compiler
    api         the endpoints for programs; work off the event loop: short in a pool, long in the background
    explorer    the endpoints of the page, whose files are in page/
    app         all of it as an ASGI application [build]
    server      runs it, and lets it finish its work when told to stop [listen, run]

Needs the extra `serve`; nothing here is imported by the rest of the package, except by the command.

A new endpoint takes two files: its request and its answer in `schemas`, its handler in the `endpoints` of `api` or
`explorer`. Route, checks, metrics and OpenAPI follow from these.
"""
