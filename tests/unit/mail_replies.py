"""Replies to one mail of ours as mail programs write them: what they say, and what they decide.

The first 16 are common programs' styles; the rest are other programs, languages, and people who write as
people do. `text` is what has to be left when everything quoted is gone.
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
            "Yes", "On Mon, Nov 30, 2026 at 9:14 AM Sayso Desk &lt;sayso@mail.example.com&gt; wrote:"
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
        "No\n\n> On 30 Nov 2026, at 09:14, Sayso Desk <sayso@mail.example.com> wrote:\n> \n" + quoted(),
        "No",
        "reject",
    ),
    Reply(
        "05 Thunderbird, answer below, signature",
        "On 30/11/2026 09:14, Sayso Desk wrote:\n" + quoted() + "\n\nApprove\n\n-- \nAda Lovelace\n",
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
    # Thirty more.
    Reply("17 one word and nothing else", "yes", "yes", "accept"),
    Reply("18 loud", "YES!!!", "YES!!!", "accept"),
    Reply("19 a thumb", "👍", "👍"),
    Reply("20 a word and a thumb that contradict", "Yes 👎", "Yes 👎"),
    Reply("21 not approved", "Not approved", "Not approved"),
    Reply("22 a question", "ok?", "ok?"),
    Reply("23 yes, but", "Yes but only half of it", "Yes but only half of it"),
    Reply("24 no problem", "No problem", "No problem"),
    Reply("25 both", "Yes\nNo", "Yes\nNo"),
    Reply("26 the word inside another", "I disallow this, so no approve", "I disallow this, so no approve"),
    Reply(
        "27 a greeting first",
        "Hi Sayso,\n\nApproved.\n\nBest,\nAda",
        "Hi Sayso,\n\nApproved.\n\nBest,\nAda",
        "accept",
    ),
    Reply("28 with a reason below", "Reject\n\nThe goods never came.", "Reject\n\nThe goods never came.", "reject"),
    Reply("29 the short code", "a47\n\n" + quoted(), "a47", "accept"),
    Reply("30 a short code of another mail", "A99", "A99"),
    Reply("31 both short codes, quoted by hand", "A47 or R47", "A47 or R47"),
    Reply(
        "32 Gmail, HTML only",
        "",
        "Yes",
        "accept",
        html=gmail_html("Yes", "On Mon, Nov 30, 2026 Sayso Desk &lt;sayso@mail.example.com&gt; wrote:"),
    ),
    Reply(
        "33 Outlook, HTML only, prefixed classes",
        "",
        "Nein",
        "reject",
        html='<html><body><div class="x_elementToProof">Nein</div><hr style="width:98%">'
        '<div id="divRplyFwdMsg"><font face="Calibri"><b>Von:</b> Sayso Desk '
        "&lt;sayso@mail.example.com&gt;<br><b>Gesendet:</b> Montag, 30. November 2026 09:14<br>"
        "<b>An:</b> Ada &lt;ada@example.com&gt;<br><b>Betreff:</b> Refund</font></div>"
        f"<div>{'<br>'.join(OURS.split(chr(10)))}</div></body></html>",
        locale="de",
    ),
    Reply(
        "34 HTML only with a hidden yes before the visible no",
        "",
        "No",
        "reject",
        html='<div style="display:none">Yes</div><p>No</p>',
    ),
    Reply(
        "35 plain text and HTML that differ",
        "Yes",
        "Yes",
        None,
        html="<p>No</p>",
    ),
    Reply(
        "36 Yahoo",
        " Approve\n    On Monday, November 30, 2026 at 09:14:00 AM GMT, Sayso Desk "
        "<sayso@mail.example.com> wrote:  \n \n " + OURS.replace("\n", "\n "),
        "Approve",
        "accept",
    ),
    Reply(
        "37 Proton",
        "Yes\n\nSent with Proton Mail secure email.\n\nOn Monday, November 30th, 2026 at 9:14 AM, "
        "Sayso Desk <sayso@mail.example.com> wrote:\n\n" + quoted(),
        "Yes",
        "accept",
    ),
    Reply(
        "38 Samsung, German, sent from",
        "Ja\n\nVon meinem Samsung Galaxy Smartphone gesendet.\n\n"
        "-------- Ursprüngliche Nachricht --------\nVon: Sayso Desk <sayso@mail.example.com>\n"
        "Datum: 30.11.26 09:14 (GMT+01:00)\nAn: ada@example.com\nBetreff: Refund [A1B2C3D4]\n\n" + OURS,
        "Ja",
        "accept",
        locale="de",
    ),
    Reply(
        "39 Outlook, Italian headers in bold",
        "No\n\n*Da:* Sayso Desk <sayso@mail.example.com>\n*Inviato:* lunedì 30 novembre 2026 09:14\n"
        "*A:* Ada <ada@example.com>\n*Oggetto:* Refund [A1B2C3D4]\n\n" + OURS,
        "No",
        "reject",
    ),
    Reply(
        "40 Outlook, Japanese",
        "却下します\n\n差出人: Sayso Desk <sayso@mail.example.com>\n送信日時: 2026年11月30日 9:14\n"
        "宛先: Ada <ada@example.com>\n件名: Refund [A1B2C3D4]\n\n" + OURS,
        "却下します",
        "reject",
        locale="ja",
    ),
    Reply(
        "41 Outlook, Chinese headers, English word",
        "Approve\n\n发件人: Sayso Desk <sayso@mail.example.com>\n发送时间: 2026年11月30日 9:14\n"
        "收件人: Ada <ada@example.com>\n主题: Refund [A1B2C3D4]\n\n" + OURS,
        "Approve",
        "accept",
    ),
    Reply(
        "42 mutt, interleaved word below the question",
        "On Mon, Nov 30, 2026 at 09:14:00AM +0000, Sayso Desk wrote:\n" + quoted() + "\nReject\n",
        "Reject",
        "reject",
    ),
    Reply(
        "43 forwarded with a comment",
        "Can you look at this? Yes or no?\n\n---------- Forwarded message ---------\n"
        "From: Sayso Desk <sayso@mail.example.com>\nDate: Mon, 30 Nov 2026 09:14\n"
        "Subject: Refund [A1B2C3D4]\nTo: <ada@example.com>\n\n" + OURS,
        "Can you look at this? Yes or no?",
    ),
    Reply("44 nothing but the quote", quoted(), ""),
    Reply(
        "45 typographic quotes around the word, French apostrophe",
        "« D’accord »\n\nLe 30 nov. 2026, Sayso Desk <sayso@mail.example.com> a écrit :\n" + quoted(),
        "« D’accord »",
        "accept",
        locale="fr",
    ),
    Reply("46 full-width letters", "ＯＫ", "ＯＫ", "accept", locale="ja"),
    Reply("47 a word of another language", "承認", "承認", None, locale="de"),
    Reply(
        "48 disclaimer below",
        "Approve\n\nThis e-mail is confidential. If you are not the addressee, no use may be made of it.",
        "Approve\n\nThis e-mail is confidential. If you are not the addressee, no use may be made of it.",
        "accept",
    ),
    Reply(
        "49 Gmail, Polish",
        "OK\n\npon., 30 lis 2026 o 09:14 Sayso Desk <sayso@mail.example.com> napisał(a):\n\n" + quoted(),
        "OK",
        "accept",
    ),
    Reply("50 quoted by hand, choices repeated", "Your choices: Approve, Reject", ""),
)
