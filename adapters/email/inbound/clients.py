"""How mail programs quote, in many languages: a second opinion on where a reply ends. Pure.

`quotes.cut` goes by what we sent. This goes by what programs write, and knows nothing of us. Where the two
lead to different commands, nothing is decided. All patterns are tried on one bounded line and hold no
nested repetition, so no text of a stranger makes them slow.
"""

from __future__ import annotations

import re
from typing import Final

_LABELS: Final = frozenset(
    (
        "from", "sent", "to", "cc", "bcc", "subject", "date", "reply-to", "importance",
        "von", "gesendet", "an", "betreff", "datum", "kopie", "antwort an", "wichtigkeit",
        "de", "envoyé", "envoye", "à", "a", "objet", "répondre à",
        "enviado", "enviado el", "para", "asunto", "fecha",
        "da", "inviato", "data", "oggetto", "per conto di",
        "assunto", "enviada em", "enviado em",
        "van", "verzonden", "aan", "onderwerp",
        "från", "skickat", "till", "ämne", "fra", "sendt", "til", "emne",
        "od", "wysłano", "do", "temat", "wysłane",
        "от", "отправлено", "кому", "тема", "дата",
        "差出人", "送信日時", "宛先", "件名", "日付", "送信者", "日時",
        "发件人", "发送时间", "收件人", "主题", "寄件者", "收件者", "主旨", "日期",
        "보낸 사람", "보낸 날짜", "받는 사람", "제목",
    )
)  # fmt: skip
_LABEL: Final = re.compile(
    r"^\s{0,4}[*_]{0,2}([^\W\d_][^:：*_]{0,24}?)[*_]{0,2}\s?[:：][*_]{0,2}(?:\s|$|\S)"
)
IS_RULE: Final = re.compile(r"^\s*(?:_{10,}|-{10,}|={10,}|-{2,}[^-]{4,60}-{2,})\s*$")
"""A line of underscores or dashes, or `-----Original Message-----` in any language."""
_TALKS: Final = re.compile(
    r"\b(?:wrote|writes|schrieb|a écrit|écrit|escribió|escribio|ha scritto|escreveu|schreef|skrev|"
    r"napisał|napisał\(a\)|написал|пишет|yazdı|kirjoitti|írta|έγραψε)\b|"
    r"(?:のメール|さんは書きました|が書きました|写道|寫道|작성)",
    re.IGNORECASE,
)
_PROMOTION: Final = re.compile(
    r"^\s*[<\[(]?\s*(?:"
    r"sent (?:from|via|with|using)\b|get outlook for\b|sent from outlook|"
    r"(?:von meine[mr]|gesendet (?:von|mit|über))\b|.{0,40}\bgesendet\.?$|outlook für (?:android|ios)\b|"
    r"envoyé (?:de(?:puis)?|à partir)\b|télécharger outlook|obtenir outlook|"
    r"enviado (?:desde|do|a partir)\b|obtener outlook|inviato da\b|"
    r"verzonden vanaf\b|skickat från\b|sendt fra\b|wysłane z\b|отправлено (?:с|из)\b|"
    r".{0,20}から送信|发自我的|從我的|나의 .{0,20}에서 보냄"
    r")",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 300  # characters of a line


def is_header_line(line: str) -> bool:
    """`From: …`, `Gesendet: …`, `件名: …`: a header as programs quote it."""
    match = _LABEL.match(line[:_LOOKED_AT])
    return match is not None and match[1].strip().casefold() in _LABELS


def is_signature_mark(line: str) -> bool:
    """The line that begins a signature (RFC 3676 4.3), also without its space."""
    return line.strip() == "--"


def is_client_promotion(line: str) -> bool:
    """`Sent from my iPhone` and its like: what a program adds about itself."""
    return len(line) < 160 and _PROMOTION.match(line[:_LOOKED_AT]) is not None


def own_lines(text: str, most: int = 3) -> list[str]:
    """The first lines that a person wrote, going by programs' habits alone."""
    lines = [line.replace("\xa0", " ").strip()[:_LOOKED_AT] for line in text.split("\n")]
    found: list[str] = []
    for at, line in enumerate(lines):
        if not line or line.startswith(">"):
            continue
        if IS_RULE.match(line) or is_signature_mark(line) or is_client_promotion(line):
            continue
        if is_header_line(line) and any(is_header_line(each) for each in lines[at + 1 : at + 4]):
            break  # from here on it is a quoted mail
        if not _is_attribution(lines, at):
            found.append(line)
        if len(found) == most:
            break
    return found


def _is_attribution(lines: list[str], at: int) -> bool:
    """This line, or up to two before or after it, says `… wrote:` before a quote."""
    for start in range(max(0, at - 2), at + 1):
        for end in range(at, min(len(lines), at + 3)):
            span = lines[start : end + 1]
            if not all(span) or not any(char.isdigit() for char in span[0]):
                continue  # it begins with a date; a word right above it is the person's
            joined = " ".join(span)[: 2 * _LOOKED_AT]
            if joined.endswith((":", "：")) and _TALKS.search(joined):
                return True
    return False
