"""Models over HTTP: an API that OpenAI's clients speak, and a page to look at models.

    limits      what a server puts up with
    embedder    texts and token ids -> vectors, without ever waiting for a compiler
    shelf       the models by name
    bodies      bytes of a request -> a checked record (`requests`), or a `problems.Problem`
    texts       the endpoints for programs
    explorer    the endpoints of the page, whose files are in page/; desk does for it what takes long
    guard       key, limits, metrics and headers around every request
    app         all of it as an ASGI application; server runs it and lets it finish its work when told to stop

Needs the extra `serve`; nothing here is imported by the rest of the package, except by the command.
"""
