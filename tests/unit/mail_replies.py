"""Replies to one mail of ours as mail programs write them: what they say, and what they decide.

These are 16 common programs' styles; `mail_replies_more` has other programs, languages, and people who
write as people do. `text` is what has to be left when everything quoted is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP

OURS = """\
— Reply above this line — [k7w2a4cd]

Refund 120 EUR to Acme

Subject:
  refund r-1

  The customer returned the goods; the warehouse confirmed it on Monday morning.

Your choices: Approve, Reject

Answer on this page:
https://sayso.example.com/a/9kd8s7d6f5g4h3j2k1

-- 
Reference A1B2C3D4. Sent by Sayso (https://sayso.example.com).
"""
ADDRESS = "sayso@mail.example.com"
NAMES = (ADDRESS, "Sayso Desk")
CODES = {"A47": "accept", "R47": "reject"}


@dataclass(frozen=True)
class Reply:
    """One reply. `decides` is what it has to count as."""

    name: str
    plain: str
    text: str
    decides: str | None = None
    html: str = ""
    locale: str = "en"
    params: tuple[tuple[str, str], ...] = ()

    def raw(self) -> bytes:
        """The mail as bytes."""
        mail = EmailMessage(policy=SMTP)
        mail["From"] = "Ada <ada@example.com>"
        mail["To"] = "r@r.example.com"
        mail["Subject"] = "Re: Refund 120 EUR to Acme [A1B2C3D4]"
        mail["Message-ID"] = f"<{abs(hash(self.name))}@example.com>"
        if self.plain or not self.html:
            mail.set_content(self.plain)
            for key, value in self.params:
                mail.set_param(key, value)
            if self.html:
                mail.add_alternative(self.html, subtype="html")
        else:
            mail.set_content(self.html, subtype="html")
        return mail.as_bytes()


def quoted(text: str = OURS, mark: str = "> ") -> str:
    """Our mail with a quote mark before each line."""
    return "\n".join((mark + line).rstrip() for line in text.split("\n"))


def gmail_html(said: str, attribution: str) -> str:
    """A reply as Gmail writes its HTML."""
    body = "<br>".join(OURS.split("\n"))
    return (
        f'<div dir="ltr">{said}</div><br><div class="gmail_quote gmail_quote_container">'
        f'<div dir="ltr" class="gmail_attr">{attribution}<br></div>'
        f'<blockquote class="gmail_quote" style="margin:0 0 0 .8ex">{body}</blockquote></div>'
    )


OUTLOOK = """\
From: Sayso Desk <sayso@mail.example.com>
Sent: Monday, November 30, 2026 9:14 AM
To: Ada Lovelace <ada@example.com>
Subject: Refund 120 EUR to Acme [A1B2C3D4]

"""
RULE = "________________________________"

REPLIES = (
    Reply(
        "01 Gmail, wrapped attribution",
        "Yes\n\nOn Mon, Nov 30, 2026 at 9:14 AM Sayso Desk <sayso@mail.example.com>\nwrote:\n\n"
        + quoted(),
        "Yes",
        "accept",
        html=gmail_html(
            "Yes",
            "On Mon, Nov 30, 2026 at 9:14 AM Sayso Desk &lt;sayso@mail.example.com&gt; wrote:",
        ),
    ),
    Reply(
        "02 Outlook for Windows",
        "Approved\n\nAda Lovelace\nHead of Finance\n\n" + OUTLOOK + OURS,
        "Approved\n\nAda Lovelace\nHead of Finance",
        "accept",
    ),
    Reply(
        "03 Outlook on the web, with its rule",
        f"Reject\n\n{RULE}\n{OUTLOOK}{OURS}",
        "Reject",
        "reject",
    ),
    Reply(
        "04 Apple Mail",
        "No\n\n> On 30 Nov 2026, at 09:14, Sayso Desk <sayso@mail.example.com> wrote:\n> \n"
        + quoted(),
        "No",
        "reject",
    ),
    Reply(
        "05 Thunderbird, answer below, signature",
        "On 30/11/2026 09:14, Sayso Desk wrote:\n"
        + quoted()
        + "\n\nApprove\n\n-- \nAda Lovelace\n",
        "Approve",
        "accept",
        params=(("format", "flowed"),),
    ),
    Reply(
        "06 iPhone",
        "Yes\n\nSent from my iPhone\n\n> On 30 Nov 2026, at 09:14, Sayso Desk "
        "<sayso@mail.example.com> wrote:\n> \n" + quoted(),
        "Yes",
        "accept",
    ),
    Reply(
        "07 Outlook for Android",
        f"No\n\nGet Outlook for Android<https://aka.ms/AAb9ysg>\n{RULE}\n{OUTLOOK}{OURS}",
        "No",
        "reject",
    ),
    Reply(
        "08 Gmail, German, wrapped",
        "Ja\n\nAm Mo., 30. Nov. 2026 um 09:14 Uhr schrieb Sayso Desk <\nsayso@mail.example.com>:\n\n"
        + quoted(),
        "Ja",
        "accept",
        locale="de",
    ),
    Reply(
        "09 Outlook, German",
        "Abgelehnt.\n\nMit freundlichen Grüßen\nAda\n\nVon: Sayso Desk <sayso@mail.example.com>\n"
        "Gesendet: Montag, 30. November 2026 09:14\nAn: Ada <ada@example.com>\n"
        "Betreff: Refund 120 EUR to Acme [A1B2C3D4]\n\n" + OURS,
        "Abgelehnt.\n\nMit freundlichen Grüßen\nAda",
        "reject",
        locale="de",
    ),
    Reply(
        "10 Gmail, French, no-break spaces, wrapped",
        "Oui\n\nLe lun. 30 nov. 2026 à 09:14, Sayso Desk <sayso@mail.example.com> a\nécrit\xa0:\n\n"
        + quoted(),
        "Oui",
        "accept",
        locale="fr",
    ),
    Reply(
        "11 Gmail, Japanese",
        "承認します\n\n2026年11月30日(月) 9:14 Sayso Desk <sayso@mail.example.com>:\n\n" + quoted(),
        "承認します",
        "accept",
        locale="ja",
    ),
    Reply(
        "12 Gmail, Spanish, wrapped",
        "Sí\n\nEl lun, 30 nov 2026 a las 9:14, Sayso Desk (<sayso@mail.example.com>)\nescribió:\n\n"
        + quoted(),
        "Sí",
        "accept",
        locale="es",
    ),
    Reply(
        "13 answers between the quoted lines",
        "On 30/11/2026 09:14, Sayso Desk wrote:\n> Refund 120 EUR to Acme\nWhy so much?\n"
        "> Your choices: Approve, Reject\nI can't say yet.\n",
        "Why so much?\nI can't say yet.",
    ),
    Reply(
        "14 fresh text that looks like a quote",
        "I need more time.\n\nFrom: the bank we got a letter.\nOn Friday the warehouse wrote:\n"
        "it is all there\n\nOn Mon, Nov 30, 2026 at 9:14 AM Sayso Desk <sayso@mail.example.com> wrote:\n"
        + quoted(),
        "I need more time.\n\nFrom: the bank we got a letter.\nOn Friday the warehouse wrote:\n"
        "it is all there",
    ),
    Reply(
        "15 Outlook, French",
        "Refusé\n\nDe : Sayso Desk <sayso@mail.example.com>\nEnvoyé : lundi 30 novembre 2026 09:14\n"
        "À : Ada <ada@example.com>\nObjet : Refund 120 EUR to Acme [A1B2C3D4]\n\n" + OURS,
        "Refusé",
        "reject",
        locale="fr",
    ),
    Reply(
        "16 Original message",
        "OK\n\n-------- Original message --------\nFrom: Sayso Desk <sayso@mail.example.com>\n"
        "Date: 30/11/2026 09:14 (GMT+00:00)\nTo: ada@example.com\n"
        "Subject: Refund 120 EUR to Acme [A1B2C3D4]\n\n" + OURS,
        "OK",
        "accept",
    ),
)
