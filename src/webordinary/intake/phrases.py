# ruff: noqa: RUF001 - letters that look like others are how other languages are written
"""What mail programs of the world write around the words of a person. Data for `text.py` and `signature.py`.

They only choose a mark; nothing is dropped by them. All of it is compared with one short line, or a few
joined, so no pattern can be slow.
"""

from __future__ import annotations

import re


def _listed(text: str) -> frozenset[str]:
    return frozenset(phrase.strip() for phrase in text.split(","))


# --- "On Sunday somebody wrote:" --------------------------------------------------------------------------

DATE = re.compile(r"\b20\d\d|\d{1,2}[./-]\s?\d{1,2}[./-]\s?(?:\d{4}|\d{2})\b")
CLOCK_TIME = re.compile(r"(?<![\d.])\d{1,2}[:.h]\d{2}(?!\.?\d)|\d{1,2}時|\d{1,2}시")
# An address in angle brackets, at most three words, a colon. So writes Gmail in most languages.
ADDRESS_AT_THE_END = re.compile(r"<[^<>\s]{1,80}@[^<>\s]{1,120}>(?:\s?[^\s<>:：]{1,20}){0,3}\s?[:：]$")
ADDRESS_IN_BRACKETS = re.compile(r"<[^<>\s]{1,80}@[^<>\s]{1,120}>")
WROTE = re.compile(
    r"\b(?:wrote|writes|schrieb|a écrit|escribió|escribio|ha scritto|schreef|escreveu"
    r"|heeft .{1,200} geschreven|skrev|kirjoitti|napisał|napsala?|napísal|написала?|пишет|написав|έγραψε"
    r"|yazdı|yazmış|írta|a scris)\b"
    r"|写道|寫道|書きました|のメール|작성|wrote ----",
    re.IGNORECASE,
)
GAP_BEHIND_COLON = re.compile(r"[:：]\s{2,3}(?=\S)")
# Where an attribution may begin behind words of a person's own on the same line.
SENTENCE_ENDS = re.compile(
    r"(?<=[^\W\d_][^\W\d_][.!?…])\s+(?=[^\W\d_a-zà-öø-ÿ])|(?<=[!?…])\s+(?=\d)|(?<=[。！？])\s*(?=\S)"
    r"|\s+(?=(?:On|Am|Le|El|Il|Op|Em|Den|På|Dne|Dnia|W dniu|Στις) .{0,24}\d)"
)
QUOTE_MARKS = (">", "＞")
QUOTE_MARKS_AND_SPACE = "> ＞\n"
COLONS = (":", "：")

# --- "From: / Sent: / To: / Subject:" ---------------------------------------------------------------------

LABELS: dict[str, frozenset[str]] = {
    "from": _listed(
        "from, von, de, da, van, från, fra, od, от, expéditeur, lähettäjä, kimden, gönderen, από,"
        "feladó, від, 差出人, 送信者, 发件人, 寄件者, 보낸사람, 보낸 사람"
    ),
    "date": _listed(
        "sent, date, date sent, gesendet, gesendet am, datum, envoyé, envoyé le, enviado, enviado el,"
        "enviada em, fecha, inviato, data, verzonden, skickat, sendt, dato, wysłano, дата, отправлено,"
        "lähetetty, päivämäärä, odesláno, gönderildi, tarih, gönderme tarihi, ημερομηνία, στάλθηκε, дата,"
        "送信日時, 日時, 日付, 发送时间, 日期, 寄件日期, 날짜, 보낸 날짜"
    ),
    "to": _listed(
        "to, an, à, para, a, aan, till, til, do, кому, destinataire, cc, kopie, vastaanottaja, komu, kime,"
        "προς, 宛先, 收件人, 받는사람, 받는 사람"
    ),
    "subject": _listed(
        "subject, betreff, objet, asunto, oggetto, onderwerp, ämne, emne, aihe, temat, тема, assunto,"
        "předmět, konu, θέμα, 件名, 主题, 主旨, 제목"
    ),
}
LABEL = re.compile(r"[\s*_]{0,3}([^\W\d_][^:：*<>@]{0,20}?)[\s*_]{0,3}[:：](?!//)")

# --- "-----Original Message-----", "---------- Forwarded message ----------" ------------------------------

FORWARD_BEGINS = _listed(  # these stand alone, without dashes
    "begin forwarded message, anfang der weitergeleiteten nachricht, anfang der weitergeleiteten e-mail,"
    "début du message réexpédié, début du message transféré, inicio del mensaje reenviado,"
    "inizio messaggio inoltrato, begin doorgestuurd bericht, início da mensagem reencaminhada,"
    "vidarebefordrat brev, 転送されたメッセージ, 以下は転送メッセージです, 开始转发的邮件"
)
MARK_IN_RULES = re.compile(r"[\s*]*[_=-]{3,}[\s*]*([^\s_=*-](?:.{0,80}?[^\s_=*-])?)[\s*]*[_=-]{3,}[\s*]*")
RULE = re.compile(r"\s*(?:[_=*-]{5,}|-{3,}|_{3,})\s*")

FORWARD_SUBJECT = re.compile(
    r"(?:fwd?|wg|tr|rv|doorst|enc|vs|vb|i|pd|i̇lt|ilt|пересл|전달|转发|轉寄|転送)\s*(?:\[\d+\])?\s*[:：]",
    re.IGNORECASE,
)
REPLY_SUBJECT = re.compile(
    r"(?:re|aw|antw|sv|res|rif|odp|ynt|απ|отв|r|답장|回复|回覆|答复|返信)\s*(?:\[\d+\]|\(\d+\))?\s*[:：]",
    re.IGNORECASE,
)

# --- signatures -------------------------------------------------------------------------------------------

CONTACT = re.compile(r"@|https?:|www\.|\+?\d[\d\s()/.-]{6,}\d")
# Such a line begins so. "Send me a mail" and "the form should be sent by mail" are somebody's words.
SENT_FROM = re.compile(
    r"sent (?:from|via|with|by|using|on)\b|gesendet|geschickt|envoyée?\b|enviad[oa]\b|inviat[oa]\b|verstuurd"
    r"|verzonden|skickat|sendt\b|wysłan|отправлен|надіслан|lähetetty|odeslán|odoslan|poslán|στάλθηκε|elküldve"
    r"|trimis\b|发自|發自"
    r"|(?:von mein|diese nachricht|this (?:message|e-?mail)|나의|내 |從我|从我"
    r"|i-?pho|i-?pad|android|galaxy|samsung).{0,60}(?:gesendet|sent from|보냄|傳送|发送|送信|gönderildi)"
    r"|.{0,25}outlook \S{2,5} (?:ios|android|mac|windows)",
    re.IGNORECASE,
)
DEVICE = re.compile(
    r"i-?phon|i-?pad|i-?pod|apple watch|phone|handy|cell|mobil|tablet|android|samsung|galaxy|pixel|huawei"
    r"|xiaomi|redmi|oneplus|motorola|nokia|sony|htc|blackberry|windows|mail|почт|outlook|yahoo|gmx|web\.de"
    r"|proton|spark|thunderbird|\bmac\b|k-9|t-online|1&1|\baol\b|icloud|téléphone|telefon|teléfono|puhelim"
    r"|κινητό|휴대|메일|手机|手機",
    re.IGNORECASE,
)

# --- small print ------------------------------------------------------------------------------------------

SMALL_PRINT = re.compile(
    r"confidentiality (?:notice|note)|disclaimer\b|legal notice|important notice\b"
    r"|(?:this|the information (?:contained )?in this) (?:e-?mail|message|communication)[^.]{0,80}"
    r"(?:confidential|privileged|intended|solely)|the contents? of this (?:e-?mail|message)"
    r"|if you (?:are not|have received) th(?:e intended|is (?:e-?mail|message))"
    r"|this e-?mail (?:has been|was) (?:scanned|checked)|please consider the environment"
    r"|virus-free\b|virenfrei\b|sans virus\b"
    r"|diese (?:e-?mail|nachricht)[^.]{0,80}(?:vertraulich|rechtlich gesch|ausschlie)|vertraulichkeitshinweis"
    r"|der inhalt dieser (?:e-?mail|nachricht)|bitte (?:denken|prüfen) sie .{0,40}(?:umwelt|drucken)"
    r"|ce (?:message|courriel|mail)[^.]{0,80}(?:confidentiel|exclusif|destin)|avis de confidentialité"
    r"|este (?:mensaje|correo)[^.]{0,80}confidencial|questo messaggio[^.]{0,80}(?:confidenzial|riservat)"
    r"|このメール(?:は|には|の内容).{0,60}(?:機密|秘密)",
    re.IGNORECASE,
)
# A page of a site may be called "Legal notice" too; what is not about a mail is not a mail's small print.
ABOUT_A_MAIL = re.compile(
    r"e-?mail|message|communication|recipient|addressee|nachricht|courriel|correo|mensaje|messaggio|printing"
    r"|virus|viren|umwelt|drucken|メール",
    re.IGNORECASE,
)
