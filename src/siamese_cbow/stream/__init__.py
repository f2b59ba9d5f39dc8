"""Streams: ids on disk, made by `prepare`."""
