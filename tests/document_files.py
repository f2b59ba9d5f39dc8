"""Documents written by the tests themselves."""

from __future__ import annotations

import io

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(pages: list[list[str]]) -> bytes:
    """A PDF with these lines on each page, in a font that every reader has."""
    writer = PdfWriter()
    for lines in pages:
        page = writer.add_blank_page(595, 842)
        names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        font = DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        shown = "".join(f"({line}) Tj T* " for line in lines)
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 14 TL 50 780 Td {shown}ET".encode("latin-1") if lines else b"")
        page[NameObject("/Contents")] = writer._add_object(content)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()
