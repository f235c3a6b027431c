"""Bytes -> text, whatever the mail says they are. Pure.

Labels in mails are wrong in known ways: GBK is called gb2312, Windows-1252 is called iso-8859-1, UTF-8 is
called us-ascii, and some labels are nobody's. Each label is widened to what its writers mean (as the
WHATWG Encoding Standard does); the codecs are a list, since Python's registry also holds `punycode`,
`unicode_escape` and others that are no charsets.
"""

from __future__ import annotations

import re
from typing import Final

_CODECS: Final = {
    "utf-8": "utf-8 utf8 utf8mb4 utf-8-sig unicode-1-1-utf-8 us-ascii ascii ansi_x3.4-1968 646",
    "cp1252": "windows-1252 cp1252 cp-1252 x-cp1252 iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1",
    "cp1250": "windows-1250 cp1250",
    "cp1251": "windows-1251 cp1251",
    "cp1253": "windows-1253 cp1253",
    "cp1254": "windows-1254 cp1254 iso-8859-9 latin5",
    "cp1255": "windows-1255 cp1255",
    "cp1256": "windows-1256 cp1256",
    "cp1257": "windows-1257 cp1257",
    "cp1258": "windows-1258 cp1258",
    "cp874": "windows-874 cp874 tis-620 iso-8859-11",
    "cp437": "cp437 ibm437",
    "cp850": "cp850 cp-850 ibm850",
    "cp852": "cp852 ibm852",
    "cp866": "cp866 ibm866",
    "iso8859-2": "iso-8859-2 latin2",
    "iso8859-3": "iso-8859-3",
    "iso8859-4": "iso-8859-4",
    "iso8859-5": "iso-8859-5",
    "iso8859-6": "iso-8859-6",
    "iso8859-7": "iso-8859-7",
    "iso8859-8": "iso-8859-8 iso-8859-8-i iso-8859-8-e",
    "iso8859-10": "iso-8859-10",
    "iso8859-13": "iso-8859-13",
    "iso8859-14": "iso-8859-14",
    "iso8859-15": "iso-8859-15 latin9 latin-9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
    "mac-roman": "macintosh mac x-mac-roman",
    "gb18030": "gb2312 gbk gb18030 cp936 x-gbk gb_2312-80 euc-cn",
    "hz": "hz-gb-2312",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j cp932",
    "euc_jp": "euc-jp x-euc-jp",
    "iso2022_jp_ext": "iso-2022-jp iso-2022-jp-1 iso-2022-jp-2 iso-2022-jp-ms",
    "cp949": "euc-kr ks_c_5601-1987 ks_c_5601 ksc5601 windows-949 cp949 uhc",
    "iso2022_kr": "iso-2022-kr",
    "utf-16": "utf-16 unicode ucs-2",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    "utf-32": "utf-32",
}
_BY_LABEL: Final = {label: codec for codec, labels in _CODECS.items() for label in labels.split()}
_BOM: Final = "\ufeff"


def decode(data: bytes, label: str) -> str:
    """The text. Never raises: what is no text in the named charset is read as UTF-8, else as cp1252.

    NUL and byte order marks are left out, line ends are `\\n`.
    """
    codec = _BY_LABEL.get(label.strip().strip("\"'").lower(), "utf-8")
    text = _strict(data, codec)
    if text is None and codec != "utf-8":
        text = data.decode(codec, "replace")
    if text is None:
        text = data.decode("cp1252", "replace")
    text = text.replace(_BOM, "").replace("\0", "")
    return re.sub(r"\r\n?", "\n", text)


def _strict(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeError, ValueError):
        return None
