"""The words that intents are made of, in seven languages: en de fr es it nl pt.

All are written as `intent.folded` leaves them: lower case, no accents, no apostrophes, a space for a hyphen.
A set here is a promise: a mail made of nothing but these words is understood without a model, so no word may
be here that tells what to change. Leaving one out costs a model's run or a question, never somebody's wish.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


THANKS = _words(
    """
    thanks thank thx thankyou tnx tysm ty cheers appreciate appreciated grateful danke dank dankeschon
    bedankt dankjewel dankuwel merci gracias grazie obrigado obrigada
    """
)
PRAISE = _words(
    """
    great good nice perfect perfectly wonderful excellent awesome amazing fantastic lovely love loves
    beautiful brilliant superb super cool fine neat gorgeous wow fabulous terrific splendid happy pleased
    delighted impressed impressive fab yay bravo ok okay okey alright kk nicely well better lgtm congrats
    emoji toll klasse prima perfekt wunderbar ausgezeichnet hervorragend genial gut schon schone schones
    spitze fantastisch hubsch begeistert zufrieden gelungen passt gefallt freue einverstanden mega geil
    parfait parfaite geniale excellente magnifique bien bon bonne beau belle joli jolie formidable adore
    aime daccord top nickel chouette impeccable perfecto perfecta excelente estupendo estupenda fantastico
    fantastica maravilloso maravillosa bueno buena bonito bonita hermoso hermosa encanta gusta vale guay
    fenomenal increible perfetto perfetta ottimo ottima bello bella bellissimo bellissima bene meraviglioso
    eccellente piace bravissimi splendido benissimo mooi prachtig geweldig goed leuk fijn uitstekend akkoord
    tof perfeito perfeita otimo otima lindo linda maravilhoso bom boa adorei gostei beleza
    """
)
GREETINGS = _words(
    """
    hi hello hey dear morning afternoon evening hallo guten tag morgen abend moin servus gruss gott liebe
    lieber bonjour bonsoir salut hola buenos buenas dias tardes ciao buongiorno buonasera hoi dag
    goedemorgen ola
    """
)
# What may stand around the others without telling anything of its own.
SMALL = _words(
    """
    a an the this that these it its thats i im ive we were you your yours so very much many really lot lots
    again all everything for of to and is are looks look looking indeed just absolutely totally quite now
    like team stuff youre rock rocks hero star legend there everyone everybody guys folks work job done help
    effort quick speedy fast super best regards kind warm wishes sincerely have day weekend week with my our
    me us both here as exactly be am xx xo xoxo one ever oh ah oops ups wonderfully das ist es sieht aus
    sehr vielen vielmals fur die der den dem und ich wir mir uns bin sind alles schnelle schnell hilfe
    arbeit mit freundlichen grussen herzlichen lieben lg mfg vg beste viele grusse dir euch ihnen ihr ihre
    deine eure ein eine einen genau wie jetzt auch schonen wunsche euer dein aussieht cest est le la les un
    une tout tous tres beaucoup pour vous toi votre ton ta mille infiniment fois je jadore jaime plait ca ce
    cela cordialement bien bonne journee salutations rapide travail et esta el lo los las muy mucho mucha
    muchas muchisimas mil todo por para usted ustedes tu su ha quedado ayuda trabajo saludo saludos cordiales
    abrazo rapido y queda ve asi que e il molto tanto tante tutto per lei voi lavoro cordiali saluti va cosi
    mi aiuto heel erg veel het ziet er uit wel u jullie voor groetjes groeten groet vriendelijke met
    hartelijk hartelijke ik ben mij dit zo muito muita tudo pela pelo ajuda trabalho abraco abracos ficou de
    o os gostei mesmo cumprimentos
    """
)
# What praise may be about, in a clause that says "is", "looks", "love" or "thanks for".
SUBJECTS = _words(
    """
    new site website page pages homepage photo photos picture pictures image images title headline heading
    text texts logo colour colours color colors design layout change changes update updates result version
    preview menu banner gallery on mobile phone neue neuen neues neuer seite seiten webseite bild bilder
    foto fotos titel uberschrift texte farbe farben anderung anderungen ergebnis vorschau startseite nouveau
    nouvelle nouvelles titre couleurs resultat accueil dans du au des nuevo nueva nuevas pagina paginas
    imagen titulo colores resultado cambio cambios en
    """
)
LINKING = _words(
    """
    is are looks look love loves ist sind sieht gefallt est sont adore jadore aime jaime plait esta es
    encanta gusta queda quedado e sono piace ziet vind ficou adorei gostei
    """
)
# What thanks are for.
FOR = _words("for fur pour por per voor pela pelo")
# What may stand around "stop", "status" and "help": little, for these words have other uses.
AROUND = _words(
    """
    it this that now all everything me us the whats what is immediately right away es das jetzt sofort alles
    mir le ca tout moi maintenant lo todo ya ahora ora tutto mi nu dit mij agora tudo o a wait oh no
    """
)

YES = _words(
    """
    yes yep yeah yup sure y ja jawohl jo klar gerne oui ouais claro certo zeker sim correct confirm
    confirmed confirmo confirme bestatigt bestatige ok okay certainly definitely absolutely natuurlijk
    """
)
# Kind as a whole, though not word by word.
KIND_PHRASES = (
    *("what a", "how nice", "how lovely", "how great", "what i wanted", "what i had in mind", "made my day"),
    *(
        "spot on",
        "no problem",
        "no worries",
        "not bad",
        "that was fast",
        "that was quick",
        "you rock",
        "will do",
    ),
    *(
        "got it",
        "noted",
        "understood",
        "see you",
        "kind regards",
        "best regards",
        "from my side",
        "on my end",
    ),
    *("for letting me know", "for the quick reply", "thanks a million", "sounds good", "received", "se ve"),
    *("genau so gewunscht", "wie gewunscht", "kein problem", "alles bestens", "besten dank", "gut gemacht"),
    *("schone grusse", "pas mal", "pas de probleme", "super boulot", "beau boulot", "de nada", "de rien"),
    *("super gemacht", "toll gemacht", "schon gemacht", "un grand merci"),
    *("hartstikke bedankt", "tudo bem"),
)
APPROVAL = _words(
    """
    approve approved approval freigegeben genehmigt approuve valide aprobado adelante approvato procedi
    goedgekeurd aprovado proceed
    """
)
GO_AHEAD = (
    *("go ahead", "go for it", "do it", "good to go", "thumbs up", "leg los", "mach das", "freigabe erteilt"),
    *("allez y", "vas y"),
)
THAT_WAS_ME = (
    *("that was me", "this was me", "it was me", "i wrote it", "i wrote that", "i sent it", "i sent that"),
    *("das war ich", "ich war das", "ich war es", "cetait moi", "cest moi", "fui yo", "era yo", "soy yo"),
    *("sono stato io", "sono stata io", "sono io", "dat was ik", "ik was het", "fui eu", "sou eu"),
    *("its me", "i confirm", "ich bestatige", "je confirme", "confermo", "confirmo", "ik bevestig"),
)

# What a request is wrapped in.
ASKING = _words(
    """
    please pls plz kindly can could would will you u we lets let may now asap right away immediately then
    and so ready listo lista para pronto pret prete fertig bereit klaar go ahead feel free just want like to
    be for me us as is it its this that them these all everything the my your our site website changes
    change preview update updates online fully with both i one bitte kannst konntest konnen konnten sie du
    ihr wir jetzt gleich sofort mal einfach es das die den alles seite webseite anderungen anderung vorschau
    nun gern gerne uns mir machen mach zu darf kann sil vous te plait svp stp peux tu pouvez pourriez
    pourrais maintenant le la les ca cela tout page changements modifications et on peut por favor porfa
    puedes puede podrias podria ya ahora lo los las todo el sitio web pagina cambios ahi y per favore puoi
    puo potresti potete adesso ora tutto il sito modifiche pure e alsjeblieft alstublieft aub kun kunt kan
    je jij mag nu het hem dit dat de wijzigingen maar graag wil pode podes poderia agora o os tudo alteracoes
    pra
    """
)
LAST = _words(
    """
    last latest previous most recent very edit one take taken letzte letzten letzter das derniere dernier
    modification changement ultimo ultima lultima cambio modifica laatste wijziging alteracao a
    """
)
# More than the last change, which is all that an undo takes back.
WHOLE = _words(
    """
    everything all both changes anderungen alles tout modifications changements todo cambios tutto modifiche
    wijzigingen tudo alteracoes
    """
)
# What is not a change, though it may be made again.
SITE = _words("site website page preview seite webseite vorschau sitio web pagina sito")
# Words of commands that say how things stand: "is it live?", "not published yet".
MENTIONS = _words(
    """
    live online published publishing unpublish unpublished veroffentlicht publiziert freigegeben publie
    publies publicado publicada pubblicato pubblicata gepubliceerd undone
    """
)
REQUEST = _words(
    """
    please pls plz kindly can could would will bitte kannst konntest konnen konnten sil svp stp peux pouvez
    pourriez pourrais por favor porfa puedes puede podrias podria favore puoi puo potresti kun kunt kan
    alsjeblieft alstublieft aub pode podes poderia
    """
)
MINE = (  # who asks whether they may or should do it themselves, or says that they will
    r"\b(?:(?:can|may|should|shall|could|do|must|did) i|(?:soll|kann|darf|muss) ich|puis je|dois je|puedo"
    r"|debo|posso|devo|(?:kan|mag|moet) ik|should we|shall we|sollen wir"
    r"|i (?:will|can|could|may)|ich (?:werde|kann|darf)|je (?:vais|peux)|(?<!guten )morgen)\b"
)
# Who asks whether it will happen or may. "Morgen" is also when.
WONDERS = (
    r"\b(?:can|could|will|would) (?:it|this|that|these|the|we|my|our|everything|all)\b"
    r"|^(?:konnen|konnten) wir\b|^(?:kan|mag) (?:het|dit|dat)\b|^peut on\b"
)
# Who asks us to do it.
ASKS_US = (
    r"\b(?:(?:can|could|would) (?:you|u)|please|pls|plz|kindly|bitte|kannst|konntest|(?:konnen|konnten) sie"
    r"|sil (?:te|vous)|svp|stp|(?:peux|pourrais) tu|tu (?:peux|pourrais)|(?:pouvez|pourriez) vous"
    r"|vous (?:pouvez|pourriez)|pouvez|pourriez|por favor|porfa|puedes|podrias?|puede|per favore|puoi|puo"
    r"|potresti|potete|alsjeblieft|alstublieft|aub|kun je|kunt u|kun jij|pode|podes|poderia)\b"
)
# What makes a command something else than a command: not, if, when, later, a question, a part of it.
DOUBT = _words(
    """
    not dont doesnt didnt isnt wasnt havent hasnt never no nope nah wait hold yet still before until till
    unless if when once after later tomorrow tonight soon today maybe perhaps possibly probably should shall
    must cant cannot wont at by around um uhr oclock pm almost but only without instead first already does
    do did has have been was were is published live online why how what which who where whether i need needs
    think guess sure unsure next week month monday tuesday wednesday thursday friday saturday sunday new
    page pages post article yourself myself automatically undone nein nicht noch kein keine keinen warte
    warten erst bevor wenn falls sobald morgen spater vielleicht soll sollen sollte ob aber ausser nur ohne
    wann wird wurde ist schon bereits veroffentlicht warum wie montag dienstag mittwoch donnerstag freitag
    samstag sonntag ich neue ne nest pas non jamais attends attendez avant quand apres demain peut etre dois
    doit faut mais sauf seulement sans deja encore publie pourquoi comment est ce que lundi mardi mercredi
    jeudi vendredi samedi dimanche todavia aun nunca espera espere antes cuando despues manana quizas quiza
    debo debe pero salvo solo sin publicado publicada lunes martes miercoles jueves viernes sabado domingo
    es esta ancora mai aspetta prima quando dopo domani forse devo ma senza pubblicato niet nog nooit wacht
    eerst voordat als misschien moet maar alleen zonder gepubliceerd wanneer nao ainda depois amanha talvez
    mas sem si se nor or oder ou o of
    """
)

# A bare no, or not now: an answer to something that we did not ask.
NEGATIVE = _words(
    """
    no nope nah not yet wait later maybe nein nicht noch warte spater vielleicht non pas encore attends plus
    tard nunca todavia aun espera quizas ancora aspetta forse nee niet nog wacht misschien nao ainda
    """
)

# Each command as whole words; _IT is what may stand between a verb and its particle.
_THINGS = """
    it this that them everything all the my our site website changes es das die sie alles seite webseite
    anderungen mal bitte jetzt gleich doch le la les ca tout svp lo los las todo el sitio il sito tutto pure
    het hem dit de maar graag o os as tudo now please then por favor
    """
_IT = rf"(?: (?:{'|'.join(_THINGS.split())}))*"
_LAST_ONE = (
    r"(?:it|this|that|(?:the |my |your )?(?:(?:very )?(?:last|latest|previous|most recent) )?"
    r"(?:change|edit|update|one))"
)
PUBLISH = (
    r"publish(?: away)?",
    rf"(?:go|make|put|push|set|take|get|bring|send|move|turn){_IT} live",
    rf"(?:put|push|bring|get){_IT} online",
    r"ship it|release it|launch it|deploy it|deploy",
    r"vero?e?ffentliche?n?|publiziere?n?|freigeben|freischalten|gib{0}frei|schalte?{0}frei".replace(
        "{0}", _IT
    ),
    rf"(?:stelle?n?|setze?n?|schalte?n?|nimm|bringe?)(?:{_IT}) (?:live|online)",
    r"(?:live|online) (?:schalten|stellen|setzen|gehen|nehmen|bringen)|geh(?:e|t)? (?:live|online)",
    r"(?:kann|darf) (?:so |jetzt )?(?:veroffentlicht werden|online gehen|live gehen|online|live)",
    r"publie[rz]?|publions|mise en ligne",
    rf"(?:mettre|mets|mettez|met){_IT} en ligne",
    r"publi(?:car|ca|ques?|quen|cad|quem|came)(?:lo|la|los|las)?",
    rf"(?:pon|poner|ponga|ponlo|ponla|subir){_IT} (?:en linea|en vivo|online)",
    r"pubblic(?:a|are|ate|hi|hiamo)(?:lo|la|li|le)?",
    rf"(?:metti|mettere|mettilo|mettila|mandalo|manda|vai|andare){_IT} online",
    rf"publiceer|publiceren|(?:zet|ga|gaan|breng){_IT} (?:live|online)|(?:live|online) (?:zetten|gaan)",
    rf"(?:colocar?|coloque|por|poe|ponha){_IT} (?:no ar|online)",
)
UNDO = (
    r"undo|revert|roll back|rollback|take back|put back",
    rf"take {_LAST_ONE} back",
    r"ruckgangig(?: machen)?|rueckgaengig(?: machen)?|zurucknehmen|zurucksetzen|ruckgangigmachen",
    rf"mach(?:e|en|t)?{_IT} (?:wieder )?ruckgangig|nimm{_IT} zuruck",
    r"annule[rz]?|defaire|defais|defaites|revenir en arriere|reviens en arriere",
    r"deshacer|deshazlo|deshaz|deshaga|deshagalo|revertir|revierte|reviertelo",
    r"annulla|annullare|annullalo|ripristinare|ripristina",
    rf"ongedaan maken|maak{_IT}(?: laatste wijziging)? ongedaan|terugdraaien|draai{_IT} terug",
    r"desfazer|desfaz|desfaca|reverter|reverta",
)
REDO = (
    rf"redo|bring back|bring {_LAST_ONE} back",
    r"wiederherstellen|wieder herstellen|retablir|retablis|retablissez|rehacer|rehazlo|refazer|opnieuw doen",
)
STOP = (
    r"stop|cancel|halt|abort|stopp|stoppen|abbrechen|brich ab|anhalten|aufhoren|hor auf",
    r"arrete[rz]?|stoppe|detente|detener|deten|para|pare|cancela|cancelar|fermati|ferma|basta|interrompi|parar",
)
STATUS = (
    r"status|stand|zwischenstand|etat|statut|estado|stato|whats up|what is the status|wat is de status",
    r"wie ist der stand(?: der dinge)?|quel est (?:le statut|letat)|cual es el estado",
    r"qual e (?:lo stato|o estado)",
)
HELP = (r"help|hilfe|aide|ayuda|aiuto|hulp|ajuda|aidez moi|how does this work|what can i do|what can you do",)

# What turns a yes into something else.
REFUSALS = _words(
    """
    not no nope never wasnt isnt didnt dont havent somebody someone else but however nein nicht kein keine
    niemals aber jemand non pas jamais mais quelquun nunca alguien pero mai ma qualcun niet geen maar nao
    mas alguem wrong spam fake stop what hacked gehackt hackeado scam hoax phishing betrug
    """
)
