"""Files that people upload, and malicious ones."""

import io
import zipfile
import zlib

import docx
from pypdf import PdfWriter
from pypdf.generic import (
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
)

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF with a line of text on each page."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password is not None:
        writer.encrypt(password)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def word(*paragraphs: str, table: tuple[tuple[str, ...], ...] = ()) -> bytes:
    """A Word document."""
    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if table:
        made = document.add_table(len(table), len(table[0]))
        for row, cells in zip(made.rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def zip_bomb() -> bytes:
    """A Word document with a part that unpacks to 64 MiB."""
    file = io.BytesIO(word("small"))
    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/media/bomb.xml", "w", force_zip64=True) as part,
    ):
        for _ in range(64):
            part.write(b" " * 2**20)
    return file.getvalue()


def pdf_bomb() -> bytes:
    """A PDF whose page unpacks to more than 100 MiB."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"(x) Tj " * 2**17) for _ in range(128)) + packer.flush()
    plain = pdf("small")
    content = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (
        len(packed),
        packed,
    )
    begin = plain.index(b"stream\n")
    start = plain.rindex(b"<<", 0, begin)
    end = plain.index(b"endstream") + len(b"endstream")
    return plain[:start] + content + plain[end:]


def long_pdf(pages: int) -> bytes:
    """A PDF of very many pages, written by hand: pypdf would take long to make it."""
    kids = " ".join(f"{number} 0 R" for number in range(4, 4 + 2 * pages, 2))
    objects = [
        "<</Type /Catalog /Pages 2 0 R>>",
        f"<</Type /Pages /Count {pages} /Kids [{kids}]>>",
        "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>",
    ]
    for page in range(pages):
        text = f"BT /F1 12 Tf 20 200 Td (This is page {page}.) Tj ET"
        resources = f"/Resources <</Font <</F1 3 0 R>>>> /Contents {5 + 2 * page} 0 R"
        objects += [
            f"<</Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] {resources}>>",
            f"<</Length {len(text)}>>\nstream\n{text}\nendstream",
        ]
    file = io.BytesIO()
    file.write(b"%PDF-1.4\n")
    places = []
    for number, made in enumerate(objects, 1):
        places.append(file.tell())
        file.write(f"{number} 0 obj\n{made}\nendobj\n".encode())
    began = file.tell()
    file.write(f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n".encode())
    file.write("".join(f"{place:010} 00000 n \n" for place in places).encode())
    file.write(f"trailer\n<</Size {len(places) + 1} /Root 1 0 R>>\n".encode())
    file.write(f"startxref\n{began}\n%%EOF\n".encode())
    return file.getvalue()
