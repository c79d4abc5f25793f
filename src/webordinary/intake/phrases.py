"""What mail programs of the world write around the words of a person. Data for `text.py`.

All of it is compared with one short line, or a few joined, in lower case; so no pattern can be slow.
"""

from __future__ import annotations

import re

# --- "On Sunday somebody wrote:" -------------------------------------------------------------------------

# How such a line begins, and the verb in it, by language.
ATTRIBUTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("on ", "at ", "in message"), (" wrote:", " writes:", " wrote :", " wrote：")),
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
    (("",), ("写道:", "写道：", "寫道:", "寫道：", "のメール:", "のメール：", "書きました:", "書きました：", "wrote on ")),
)
# Without a verb, as Gmail writes it in Japanese: "2026年5月12日(火) 10:12 Scott <scott@example.com>:"
DATED_ATTRIBUTION = re.compile(r"(?:\d{4}[年/.-]\s?\d{1,2}[月/.-]).{0,200}@.{0,200}[:：]")
CLOCK_TIME = re.compile(r"\d{1,2}[:.h]\d{2}|\d{1,2}時")

# --- "From: / Sent: / To: / Subject:" --------------------------------------------------------------------

LABELS: dict[str, frozenset[str]] = {
    "from": frozenset(
        (
            "from",
            "von",
            "de",
            "da",
            "van",
            "från",
            "fra",
            "od",
            "от",
            "差出人",
            "送信者",
            "发件人",
            "寄件者",
            "보낸사람",
            "expéditeur",
            "lähettäjä",
        )
    ),
    "date": frozenset(
        (
            "sent",
            "date",
            "gesendet",
            "datum",
            "envoyé",
            "envoyé le",
            "enviado",
            "enviado el",
            "enviada em",
            "fecha",
            "inviato",
            "data",
            "verzonden",
            "skickat",
            "sendt",
            "dato",
            "wysłano",
            "дата",
            "отправлено",
            "送信日時",
            "日時",
            "日付",
            "发送时间",
            "日期",
            "寄件日期",
            "date sent",
            "gesendet am",
        )
    ),
    "to": frozenset(
        (
            "to",
            "an",
            "à",
            "para",
            "a",
            "aan",
            "till",
            "til",
            "do",
            "кому",
            "宛先",
            "收件人",
            "받는사람",
            "destinataire",
            "cc",
            "kopie",
        )
    ),
    "subject": frozenset(
        (
            "subject",
            "betreff",
            "objet",
            "asunto",
            "oggetto",
            "onderwerp",
            "ämne",
            "emne",
            "temat",
            "тема",
            "件名",
            "主题",
            "主旨",
            "assunto",
            "제목",
        )
    ),
}
LABEL = re.compile(r"[\s*_]{0,3}([^\W\d_][^:：*<>@]{0,20}?)[\s*_]{0,3}[:：]")

# --- "-----Original Message-----" and "---------- Forwarded message ----------" ---------------------------

ORIGINAL = frozenset(
    (
        "original message", "original-nachricht", "originalnachricht", "ursprüngliche nachricht", "ursprüngliche mail",
        "message d'origine", "message original", "message d’origine", "mensaje original", "messaggio originale",
        "oorspronkelijk bericht", "mensagem original", "originalmeddelande", "oprindelig meddelelse", "opprinnelig melding",
        "исходное сообщение", "元のメッセージ", "元のメール", "原始邮件", "original email", "original appointment",
        "reply message", "antwort", "wiadomość oryginalna", "ursprungligt meddelande",
    )
)  # fmt: skip
FORWARD_BEGINS = frozenset(  # these stand alone, without dashes
    (
        "begin forwarded message", "anfang der weitergeleiteten nachricht", "anfang der weitergeleiteten e-mail",
        "début du message réexpédié", "début du message transféré", "inicio del mensaje reenviado",
        "inizio messaggio inoltrato", "begin doorgestuurd bericht", "início da mensagem reencaminhada",
        "vidarebefordrat brev", "転送されたメッセージ", "以下は転送メッセージです", "开始转发的邮件",
    )
)  # fmt: skip
FORWARDED = (
    "forwarded message", "forwarded mail", "forwarded by", "weitergeleitete nachricht", "weitergeleitete e-mail",
    "message transféré", "message réexpédié", "mensaje reenviado", "messaggio inoltrato", "doorgestuurd bericht",
    "mensagem encaminhada", "mensagem reencaminhada", "vidarebefordrat meddelande", "videresendt besked",
    "videresendt melding", "przekazana wiadomość", "пересылаемое сообщение", "転送メッセージ", "転送されたメッセージ",
    "転送メール", "转发邮件",
)  # fmt: skip
RULE_AROUND = re.compile(r"[\s>*_=-]*([^\s>*_=-](?:.{0,80}?[^\s*_=-])?)[\s*_=:：-]*")
RULE = re.compile(r"\s*(?:[_=*-]{5,}|-{3,}|_{3,})\s*")

FORWARD_SUBJECT = re.compile(
    r"(?:fwd?|wg|tr|rv|doorst|enc|vs|vb|i|pd|пересл|转发|轉寄|転送)\s*(?:\[\d+\])?\s*[:：]", re.IGNORECASE
)
REPLY_SUBJECT = re.compile(
    r"(?:re|aw|antw|sv|res|rif|odp|r|回复|回覆|答复|返信)\s*(?:\[\d+\]|\(\d+\))?\s*[:：]", re.IGNORECASE
)

# --- signatures -------------------------------------------------------------------------------------------

_DEVICES = (
    "(?:i-?phone|i-?pad|i-?pod|apple watch|phone|handy|smartphone|mobile|mobil|tablet|android|samsung|galaxy|pixel|huawei"
    "|xiaomi|redmi|oneplus|motorola|nokia|sony|htc|lg|blackberry|windows|mail|outlook|yahoo|gmail|gmx|web\\.de|proton"
    "|spark|thunderbird|mac|k-9|fairmail|t-online|1&1|aol|icloud|mailbox|téléphone|telefon|teléfono|telefono)"
)
SENT_FROM = re.compile(
    rf"(?:sent (?:from|via|with|using)|gesendet (?:von|mit)|von mein(?:em|er) .{{0,40}}(?:gesendet|geschickt)"
    rf"|von .{{0,30}} gesendet|diese nachricht wurde von mein|envoyé (?:de|depuis|à partir)|enviado (?:desde|do|de)"
    rf"|inviato da|verstuurd van(?:af|uit)|verzonden van(?:af|uit)|skickat från|sendt fra|wysłan[eo] z"
    rf"|отправлено с|get (?:the )?outlook|holen sie sich outlook|laden sie outlook|télécharge[rz] outlook"
    rf"|obt(?:ener|enez) outlook|scarica outlook|outlook (?:for|für|pour|para) ).{{0,60}}",
    re.IGNORECASE,
)
DEVICE = re.compile(_DEVICES, re.IGNORECASE)
SENT_FROM_JAPANESE = re.compile(r".{0,30}(?:から送信|で送信|より送信|を入手)")
CLOSING_LINES = 4  # such a line stands among the last ones

SMALL_PRINT = re.compile(
    r"(?:confidentiality (?:notice|note)|disclaimer\b|legal notice|important notice[:.]|notice of confidentiality"
    r"|(?:this|the information (?:contained )?in this) (?:e-?mail|message|communication)[^.]{0,80}"
    r"(?:confidential|privileged|intended|solely)"
    r"|the contents? of this (?:e-?mail|message)|if you (?:are not|have received) th(?:e intended|is (?:e-?mail|message))"
    r"|please consider the environment|virus-free\b|virenfrei\b|sans virus\b"
    r"|diese (?:e-?mail|nachricht)[^.]{0,80}(?:vertraulich|rechtlich gesch|ausschlie)|vertraulichkeitshinweis"
    r"|der inhalt dieser (?:e-?mail|nachricht)|bitte (?:denken|prüfen) sie .{0,40}(?:umwelt|drucken)"
    r"|ce (?:message|courriel|mail)[^.]{0,80}(?:confidentiel|exclusif|destin)|avis de confidentialité"
    r"|este (?:mensaje|correo)[^.]{0,80}confidencial|questo messaggio[^.]{0,80}(?:confidenzial|riservat)"
    r"|このメール(?:は|には|の内容).{0,60}(?:機密|秘密))",
    re.IGNORECASE,
)
