"""More replies to the mail of `mail_replies`: other programs and languages, and people as they are."""

from __future__ import annotations

from tests.unit.mail_replies import OURS, Reply, gmail_html, quoted

MORE = (
    Reply("17 one word and nothing else", "yes", "yes", "accept"),
    Reply("18 loud", "YES!!!", "YES!!!", "accept"),
    Reply("19 a thumb", "👍", "👍"),
    Reply("20 a word and a thumb that contradict", "Yes 👎", "Yes 👎"),
    Reply("21 not approved", "Not approved", "Not approved"),
    Reply("22 a question", "ok?", "ok?"),
    Reply("23 yes, but", "Yes but only half of it", "Yes but only half of it"),
    Reply("24 no problem", "No problem", "No problem"),
    Reply("25 both", "Yes\nNo", "Yes\nNo"),
    Reply(
        "26 the word inside another",
        "I disallow this, so no approve",
        "I disallow this, so no approve",
    ),
    Reply(
        "27 a greeting first",
        "Hi Sayso,\n\nApproved.\n\nBest,\nAda",
        "Hi Sayso,\n\nApproved.\n\nBest,\nAda",
        "accept",
    ),
    Reply(
        "28 with a reason below",
        "Reject\n\nThe goods never came.",
        "Reject\n\nThe goods never came.",
        "reject",
    ),
    Reply("29 the short code", "a47\n\n" + quoted(), "a47", "accept"),
    Reply("30 a short code of another mail", "A99", "A99"),
    Reply("31 both short codes, quoted by hand", "A47 or R47", "A47 or R47"),
    Reply(
        "32 Gmail, HTML only",
        "",
        "Yes",
        "accept",
        html=gmail_html(
            "Yes", "On Mon, Nov 30, 2026 Sayso Desk &lt;sayso@mail.example.com&gt; wrote:"
        ),
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
        "Datum: 30.11.26 09:14 (GMT+01:00)\nAn: ada@example.com\nBetreff: Refund [A1B2C3D4]\n\n"
        + OURS,
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
        "« D’accord »\n\nLe 30 nov. 2026, Sayso Desk <sayso@mail.example.com> a écrit :\n"
        + quoted(),
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
        "OK\n\npon., 30 lis 2026 o 09:14 Sayso Desk <sayso@mail.example.com> napisał(a):\n\n"
        + quoted(),
        "OK",
        "accept",
    ),
    Reply("50 quoted by hand, choices repeated", "Your choices: Approve, Reject", ""),
)
