# ruff: noqa: RUF001 - letters that look like others are how other languages are written
"""What mail programs of the world write around the words of a person. Data for `text.py` and `signature.py`.

All of it is compared with one short line, or a few joined, in lower case; so no pattern can be slow.
"""

from __future__ import annotations

import re


def _listed(text: str) -> frozenset[str]:
    return frozenset(phrase.strip() for phrase in text.split(","))


# --- "On Sunday somebody wrote:" --------------------------------------------------------------------------

# How such a line begins, and the verb in it, by language.
ATTRIBUTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("on ", "at ", "in message"), (" wrote", " writes:")),
    (("am ", "vom "), (" schrieb",)),
    (("le ",), (" a écrit",)),
    (("el ",), (" escribió", " escribio")),
    (("il ", "in data "), (" ha scritto",)),
    (("op ",), (" schreef", " heeft ", " geschreven")),
    (("em ", "a ", "no dia "), (" escreveu",)),
    (("den ", "på ", "fra "), (" skrev",)),
    (("w dniu", "dnia", "pon", "wt", "śr", "czw", "pt", "sob", "niedz"), (" napisał", " pisze")),
    (("dne ",), (" napsal",)),
    (("",), (" пишет:", " написал:", " написала:", " написал(а):")),
    (("",), ("写道:", "写道：", "寫道:", "寫道：", "のメール:", "のメール：")),
    (("",), ("書きました:", "書きました：")),
)
# In any language: a year or a time, an address in angle brackets, at most three words, a colon. So writes
# Gmail in Japanese, Russian, Finnish or Hungarian; a person hardly ever does.
ATTRIBUTION_OF_ANY_LANGUAGE = re.compile(
    r"(?=.{0,400}(?:\b20\d\d|\d{1,2}[:.]\d\d))"
    r".{0,400}<[^<>\s]+@[^<>\s]+>(?:\s?[^\s<>:：]{1,20}){0,3}\s?[:：]"
)
ATTRIBUTION_ENDS = (":", "：", " wrote ----")
CLOCK_TIME = re.compile(r"\d{1,2}[:.h]\d{2}|\d{1,2}時")
QUOTE_MARKS = (">", "＞")

# --- "From: / Sent: / To: / Subject:" ---------------------------------------------------------------------

LABELS: dict[str, frozenset[str]] = {
    "from": _listed(
        "from, von, de, da, van, från, fra, od, от, expéditeur, lähettäjä,"
        "差出人, 送信者, 发件人, 寄件者, 보낸사람"
    ),
    "date": _listed(
        "sent, date, date sent, gesendet, gesendet am, datum, envoyé, envoyé le, enviado, enviado el,"
        "enviada em, fecha, inviato, data, verzonden, skickat, sendt, dato, wysłano, дата, отправлено,"
        "lähetetty, 送信日時, 日時, 日付, 发送时间, 日期, 寄件日期"
    ),
    "to": _listed(
        "to, an, à, para, a, aan, till, til, do, кому, destinataire, cc, kopie,宛先, 收件人, 받는사람"
    ),
    "subject": _listed(
        "subject, betreff, objet, asunto, oggetto, onderwerp, ämne, emne, aihe, temat, тема, assunto,"
        "件名, 主题, 主旨, 제목"
    ),
}
LABEL = re.compile(r"[\s*_]{0,3}([^\W\d_][^:：*<>@]{0,20}?)[\s*_]{0,3}[:：]")

# --- "-----Original Message-----", "---------- Forwarded message ----------" ------------------------------

ORIGINAL = _listed(
    "original message, original email, original appointment, original-nachricht, originalnachricht,"
    "ursprüngliche nachricht, ursprüngliche mail, message d'origine, message d’origine, message original,"
    "mensaje original, messaggio originale, oorspronkelijk bericht, mensagem original, originalmeddelande,"
    "ursprungligt meddelande, oprindelig meddelelse, oprindelig besked, opprinnelig melding,"
    "wiadomość oryginalna, исходное сообщение, 元のメッセージ, 元のメール, 原始邮件"
)
FORWARD_BEGINS = _listed(  # these stand alone, without dashes
    "begin forwarded message, anfang der weitergeleiteten nachricht, anfang der weitergeleiteten e-mail,"
    "début du message réexpédié, début du message transféré, inicio del mensaje reenviado,"
    "inizio messaggio inoltrato, begin doorgestuurd bericht, início da mensagem reencaminhada,"
    "vidarebefordrat brev, 転送されたメッセージ, 以下は転送メッセージです, 开始转发的邮件"
)
FORWARDED = tuple(
    _listed(
        "forwarded message, forwarded mail, forwarded by, weitergeleitete nachricht, weitergeleitete e-mail,"
        "message transféré, message réexpédié, mensaje reenviado, messaggio inoltrato, doorgestuurd bericht,"
        "mensagem encaminhada, mensagem reencaminhada, vidarebefordrat meddelande, videresendt besked,"
        "videresendt melding, przekazana wiadomość, пересылаемое сообщение, 転送メッセージ,"
        "転送されたメッセージ, 転送メール, 转发邮件"
    )
)
RULE_AROUND = re.compile(r"[\s>*_=-]*([^\s>*_=-](?:.{0,80}?[^\s*_=-])?)[\s*_=:：-]*")
RULE = re.compile(r"\s*(?:[_=*-]{5,}|-{3,}|_{3,})\s*")

FORWARD_SUBJECT = re.compile(
    r"(?:fwd?|wg|tr|rv|doorst|enc|vs|vb|i|pd|пересл|转发|轉寄|転送)\s*(?:\[\d+\])?\s*[:：]", re.IGNORECASE
)
REPLY_SUBJECT = re.compile(
    r"(?:re|aw|antw|sv|res|rif|odp|r|回复|回覆|答复|返信)\s*(?:\[\d+\]|\(\d+\))?\s*[:：]", re.IGNORECASE
)

# --- signatures -------------------------------------------------------------------------------------------

SENT_FROM = re.compile(
    r"sent (?:from|via|with|using)|gesendet (?:von|mit)|von mein(?:em|er) .{0,40}(?:gesendet|geschickt)"
    r"|von .{0,30} gesendet|diese nachricht wurde von mein|envoyé (?:de|depuis|à partir)"
    r"|enviado (?:desde|do|de)|inviato da|verstuurd van(?:af|uit)|verzonden van(?:af|uit)|skickat från"
    r"|sendt fra|wysłan[eo] z|отправлено с|get (?:the )?outlook|holen sie sich outlook|laden sie outlook"
    r"|télécharge[rz] outlook|obt(?:ener|enez) outlook|scarica outlook|outlook (?:for|für|pour|para) ",
    re.IGNORECASE,
)
DEVICE = re.compile(
    r"i-?phone|i-?pad|i-?pod|apple watch|phone|handy|cell|mobil|tablet|android|samsung|galaxy|pixel|huawei"
    r"|xiaomi|redmi|oneplus|motorola|nokia|sony|htc|blackberry|windows|mail|outlook|yahoo|gmx|web\.de|proton"
    r"|spark|thunderbird|\bmac\b|k-9|t-online|1&1|\baol\b|icloud|téléphone|telefon|teléfono|telefono",
    re.IGNORECASE,
)
SENT_FROM_EAST = re.compile(
    r".{0,30}(?:から送信|で送信|より送信|を入手)|发自.{0,30}|從我的.{0,30}傳送", re.IGNORECASE
)
CLOSING_LINES = 4  # such a line stands among the last ones

SMALL_PRINT = re.compile(
    r"confidentiality (?:notice|note)|disclaimer\b|legal notice|important notice[:.]"
    r"|(?:this|the information (?:contained )?in this) (?:e-?mail|message|communication)[^.]{0,80}"
    r"(?:confidential|privileged|intended|solely)|the contents? of this (?:e-?mail|message)"
    r"|if you (?:are not|have received) th(?:e intended|is (?:e-?mail|message))"
    r"|please consider the environment|virus-free\b|virenfrei\b|sans virus\b"
    r"|diese (?:e-?mail|nachricht)[^.]{0,80}(?:vertraulich|rechtlich gesch|ausschlie)|vertraulichkeitshinweis"
    r"|der inhalt dieser (?:e-?mail|nachricht)|bitte (?:denken|prüfen) sie .{0,40}(?:umwelt|drucken)"
    r"|ce (?:message|courriel|mail)[^.]{0,80}(?:confidentiel|exclusif|destin)|avis de confidentialité"
    r"|este (?:mensaje|correo)[^.]{0,80}confidencial|questo messaggio[^.]{0,80}(?:confidenzial|riservat)"
    r"|このメール(?:は|には|の内容).{0,60}(?:機密|秘密)",
    re.IGNORECASE,
)
