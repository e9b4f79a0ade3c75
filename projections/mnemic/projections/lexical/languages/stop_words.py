"""Function words of the languages in Latin script, and of some other scripts.

They carry syntax rather than content. A text in Latin script is recognised by them, and they are
left out of a question in their language. Frozen with the analyser that uses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH: Final = "en"

ENGLISH_ALSO: Final = _words(
    """
    ah april aren't august bye ca can't care come couldn't december didn't dig doesn't don't em er
    far february fin fit get go going gon gonna good got gotta great ha hadn't hasn't haven't hay
    he'd he'll he's here's hey hi hmm how's i'd i'll i'm i've isn't it'll it's january july june
    let's like long man march may men met na november october oh ok okay one sea see september she'd
    she'll she's shouldn't sin sure ta take tan thank thanks that's there's they'd they'll they're
    they've till ton um wanna want wasn't way we'd we'll we're we've well weren't what's where's
    who's won't wouldn't ya yeah you'd you'll you're you've
    """
)
"""Words that are no stop words, by which English is recognised too."""

LATIN: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "de": _words(
            """
            aber alle allem allen aller alles als also am an ander andere anderen anderer auch auf
            aus bei beim bin bis bist da dabei dafür damit dann das dass dein deine deinem deinen
            deiner dem den denn der des dessen dich die dies diese diesem diesen dieser dieses dir
            doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure für gegen
            hab habe haben hat hatte hatten hattest hier hin ich ihm ihn ihnen ihr ihre ihrem ihren
            ihrer im immer in ins ist ja jede jedem jeden jeder jedes jetzt kann kannst kein keine
            keinem keinen keiner können könnte machen man mein meine meinem meinen meiner mich mir
            mit muss nach nicht nichts nie niemals niemand noch nun nur ob oder ohne schon sehr sein
            seine seinem seinen seiner seit selbst sich sie sind so soll sollte um und uns unser
            unsere unserem unseren unter vom von vor wann war waren warum was weil welche welchem
            welchen welcher welches wem wen wenn wer werde werden weshalb wessen wie wieder wieso
            will wir wird wo woher wohin wurde wurden während zu zum zur zwischen über
            """
        ),
        "fr": _words(
            """
            a afin ai alors après as au aucun aucune aujourd aussi autre autres aux avait avant avec
            avez avons c ce ceci cela celle celui ces cet cette ceux chez combien comme comment d
            dans de depuis des donc dont du elle elles en encore entre es est et eu eux fait faut
            hui ici il ils j jamais je jusqu l la laquelle le lequel les lesquels leur leurs lui là
            m ma mais me mes moi mon même n ne ni nos notre nous on ont ou où par parce pas pendant
            peu peut plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi rien s
            sa sans se sera ses si son sont sous suis sur t ta te tes toi ton toujours tous tout
            toute toutes très tu un une va vers vos votre vous y à ça étaient était été êtes être
            """
        ),
        "es": _words(
            """
            a al algo alguna alguno algunos ante antes aquel aquella así aún bajo cada casi como con
            contra cual cuales cuando cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo de del
            desde después donde durante dónde e el ella ellas ellos en entre era eran eres es esa
            esas ese eso esos esta estaba estado estar estas este esto estos estoy está están fue
            fueron ha había han has hasta hay he la las le les lo los me mi mis mucha mucho muy más
            nada nadie ni no nos nosotros nuestra nuestro nunca o os otra otras otro otros para pero
            poco por porque pues que quien quienes quién qué se ser si sido siempre sin sobre sois
            somos son soy su sus sí también tan te tengo ti tiene tienen todo todos tu tus tú un una
            unas uno unos vosotros y ya yo él
            """
        ),
        "pt": _words(
            """
            a ainda ao aos aquela aquele aquilo as até cada com como da das de dela dele deles
            depois do dos e ela elas ele eles em entre era eram essa essas esse esses esta estas
            estava este estes estou está estão eu foi foram há isso isto já la lhe lhes mais mas me
            mesmo meu meus minha minhas muita muito na nada nas nem nenhum nenhuma ninguém no nos
            nossa nosso num numa nunca não nós o onde os ou para pela pelas pelo pelos por porque
            porquê quais qual quando quanta quantas quanto quantos que quem se sem sempre ser seu
            seus sobre sou sua suas são só também te tem tenho teu teus tinha tu tua tuas tudo têm
            um uma umas uns você vocês à às é
            """
        ),
        "it": _words(
            """
            a ad agli ai al alla alle allo anche ancora avere aveva c che chi ci ciò come con contro
            cosa cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di
            dopo dove e ed era erano essere fra gli ha hai hanno ho i il in io l la le lei li lo
            loro lui m ma mai me mi mia mie miei mio molto ne negli nei nel nell nella nelle nello
            nessuna nessuno niente no noi non nostra nostre nostri nostro o ogni per perché però più
            poi prima qual quale quali quando quanta quante quanti quanto quella quelle quelli
            quello questa queste questi questo qui s se sei sempre senza si sia siamo sono sta stata
            stato su sua sue sugli sui sul sulla sulle suo suoi sì t te ti tra tu tua tue tuo tuoi
            tutti tutto un una uno v vi voi è
            """
        ),
        "nl": _words(
            """
            aan al alle als altijd andere ben bij daar dan dat de der deze die dit doch doen door
            dus een eens en er ge geen haar had hadden heb hebben hebt heeft heel hem het hier hij
            hoe hoeveel hun iemand iets ik in is ja je jij jou jouw jullie kan kon kunnen maar me
            meer men met mij mijn moet na naar niemand niet niets nog nooit nu of om omdat onder ons
            onze ook op over reeds te tegen toch toen tot u uit uw van veel voor waar waarheen
            waarin waarmee waarom waarover wanneer want waren was wat we wel welk welke werd wie wij
            wil worden wordt zal ze zelf zich zij zijn zo zonder zou
            """
        ),
        "sv": _words(
            """
            alla allt att av blev bli blir de dem den denna deras dess det detta dig din dina ditt
            du där då efter ej eller en er ett från för ha hade han hans har hennes hon honom hos
            hur i icke ingen inom inte jag ju kan kunde man med mellan men mig min mina mitt mot
            mycket måste ni nu när någon något några och om oss på samma sedan sig sin sina sitt ska
            skulle som så till under upp ut utan vad var vara varför varifrån varit varje vars vart
            vem vi vid vilka vilken vilket än är åt över
            """
        ),
        "da": _words(
            """
            ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig
            din dine disse dit du efter eller en end er et for fordi fra ham han hans har havde
            hende hendes her hos hun hvad hvem hver hvilke hvilken hvilket hvis hvor hvordan hvorfor
            hvornår i ikke ind ingen jeg jer kan kunne man mange med meget men mig min mine mit mod
            nogen noget nogle nu når og også om op os over på sig sin sine sit skal skulle som til
            ud under var ved vi vil ville være været
            """
        ),
        "no": _words(
            """
            alle at av begge ble bli blir da de deg dem den denne der dere deres det dette di din
            disse ditt du eller en er et etter for fordi fra før ha hadde han hans har henne hennes
            her hos hun hva hvem hver hvilke hvilken hvilket hvis hvor hvordan hvorfor i ikke ingen
            inn jeg kan kunne man mange med meg mellom men mer min mine mitt mot mye noe noen nå når
            og også om opp oss over på seg selv si sin sine sitt skal skulle som så til under ut var
            ved vi vil ville vår være vært å
            """
        ),
        "fi": _words(
            """
            ei eikä eivät en et että he heidän hän hänelle hänellä hänen hänet häntä ja jo joka
            jolla jonka jos jossa jotka kaikki kanssa kenellä kenen ketä koska kuin kuinka kuka kun
            kuten me mihin miksi mikä mikäli millainen milloin millä minkä minne minua minulla minun
            minut minä missä mistä mitkä mitä moni mukaan mutta myös ne niin niitä noin nyt ole
            olemme olen olet oli olivat olla ollut on onko ovat paljonko se sekä sen siellä siinä
            sillä sinulla sinun sinä sitten sitä tai te tämä tämän tässä tätä vai vaikka vain voi
            yli
            """
        ),
        "hu": _words(
            """
            a abban ahol aki akik amely ami amikor az azok azon azt ben de e egy ehhez el ez ezek
            ezt fel ha hanem hogy hogyan hol honnan hová hány igen is itt jó ki kinek kit le lesz
            lett ma meg mely melyik mert mi mikor milyen minden mint mit mivel miért most már még
            nagyon ne nem nincs olyan ott pedig s sem szerint són te ti után vagy vagyok vajon van
            vannak volt voltak én és ön össze ő ők
            """
        ),
        "ro": _words(
            """
            a acea aceasta această acel acest acesta acolo ai al ale am ar are as asta au avea aș ca
            care ce cea cel cele cine cu cui cum când cât câte câți către da dacă dar de deci despre
            din după e ea ei el ele era eram erau este eu fi fost fără ii il la le lor lui mea mei
            mele mereu meu mi mă ne nici nimic noi nostru nu o ori pe pentru peste poate prin sa
            sale sau se spre sub sunt să ta te toate tot toți tu tău un una unde unei unor unu unui
            va voi vom vă îi îl în înainte între și
            """
        ),
        "tr": _words(
            """
            acaba ama ancak bana bazı ben beni benim bile bir biri biz bizim bu buna bunu bunun da
            daha de değil diye en fakat gibi hangi hangisi hem henüz hep her hiç ile ise için kadar
            kaç kendi ki kim kime kimi kimin mi mu mü mı nasıl ne neden nerede nereden nereye niye
            niçin o olan olarak oldu olduğu on ona onlar onu onun oysa sana sen senin siz sizin
            sonra tüm var ve veya ya yani yok zaman çok önce şey şu
            """
        ),
        "ca": _words(
            """
            a així això al als amb aquell aquella aquest aquesta aquests bé com d da de del dels des
            dins el ella ells els em en encara ens entre era eren es estan està et fa fins ha han
            havia hi ho i jo l la les li lo meu meva mi molt més na ni no nosaltres nostre o on pel
            pels per perquè però pot qual quan quant quants que qui quin quina què s sa se ser seu
            seva si sobre sóc són també te tenia teu teva tot tots té un una unes uns va vaig vam
            van és
            """
        ),
        "pl": _words(
            """
            a aby albo ale bardzo bez bo być był była było były ci co coś czy dla do gdy gdzie go i
            ich ile im inny ja jak jaka jaki jakie jako je jego jej jest jestem jeszcze jeśli już ją
            kiedy kim kogo komu kto która które którego której który których lub ma mają mam mi mnie
            mną moja moje może my mój na nad nam nas nasz nasza nic nie niego niej nią o od on ona
            one oni oraz po pod przed przez przy się są ta tak także tam te tego tej ten też to tu
            ty tych tylko tym w we wszystko z za ze że
            """
        ),
        "cs": _words(
            """
            a aby aj ale ani asi až bude budou by byl byla byli bylo být co což do jak jako jaká
            jaké jaký je jeho jej jejich její jen jenž ještě již jsem jsi jsme jsou jí k kam kde kdo
            kdy když ke kolik která které který kteří ma mají mi mnou mně moje má mám mít mě můj na
            nad ne nebo nebyl není než nic nám nás náš o od on ona oni pak po pod podle pro proto
            proč před přes při s se si sice své svůj ta tak také takže tam te ten tento to toho tom
            tu tuto ty tím těch těm u už v ve vám vás však z za ze či že
            """
        ),
        "id": _words(
            """
            ada adalah agar akan aku anda apa apakah atau bagaimana bagi bahwa banyak beberapa belum
            berapa bisa boleh bukan dalam dan dapat dari dengan di dia hanya harus ini itu jadi jika
            juga kami kamu kapan karena ke kepada kita lagi lalu lebih maka mana masih mengapa
            mereka namun oleh pada paling para pernah saat saja sampai sangat saya sebagai sebelum
            sebuah sedang sekarang seorang seperti setelah siapa sini sudah supaya tapi telah
            tentang tetapi tidak untuk yaitu yang
            """
        ),
    }
)
"""By code, in the order in which equals are taken, after English."""

OTHER_SCRIPTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "ru": _words(
            """
            а без более бы был была были было быть в вам вас весь во вот все всё вы где да для до
            его ее ей если есть еще ещё её же за и из или им их к как какая какие какой каком когда
            кого кому которая которые который кто куда ли мне можно мои мой моя мы на над надо наш
            не него нее нет неё ни них но ну о об он она они оно от откуда очень по под почему при
            про с сам свои свой своя себя сколько со так также там твой тебе тебя то тобой того тоже
            только том тот ты у уже чего чей чем что чтобы чья эта эти это этого этом этот я
            """
        ),
        "el": _words(
            """
            ένα ένας έχει έχω ή ήταν αν απο από αυτή αυτό αυτός για γιατί δε δεν είμαι είναι είχε
            εγώ εκεί εμείς επειδή εσύ η θα κάθε και κατά μία μας με μετά μη μια μου μπορεί να ο οι
            πιο ποια ποιο ποιος πολύ που πού πριν πως πόσα πόσο πότε πώς σας σε σου στα στη στην
            στις στο στον στους τα τη την της τι τις το τον του τους των ως όμως όπου όταν ότι
            """
        ),
        "ar": _words(
            """
            أن أنا أنت أو أي أين إذا إلى إن التي الذي الذين الى ان انا انت او اي اين ب بعد بين تلك
            ثم حتى ذلك على عن عند في قبل قد كان كانت كل كم كيف ل لا لكن لم لماذا لن ما ماذا متى مع
            من منذ نحن هذا هذه هل هم هن هو هي و يكون
            """
        ),
        "hi": _words(
            """
            अपना अपनी अपने आप आपका इन इस उन उनका उस उसका उसकी उसके उसे एक और कब करता करती करते कहाँ
            कहां का कि कितना कितनी कितने किस किसका किसकी किसके किसने की के कैसे को कौन कौनसा कौनसी
            क्या क्यों गई गए गया जो तक तुम तो था थी थे न नहीं ने पर भी मुझे में मेरा मेरी मेरे मैं
            यह या ये रहा रही रहे लिए वह वे साथ से हम हमारा ही हूँ हूं है हैं हो
            """
        ),
    }
)
"""By code; languages of other scripts are recognised by the script."""

NUMBER_WORDS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        language: MappingProxyType(
            {word: number for entry in table.split() for word, number in [entry.split(":")]}
        )
        for language, table in {
            "en": """two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 eleven:11
                twelve:12 twenty:20 thirty:30 forty:40 fifty:50 hundred:100 thousand:1000""",
            "de": """zwei:2 drei:3 vier:4 fünf:5 sechs:6 sieben:7 acht:8 neun:9 zehn:10 elf:11
                zwölf:12 zwanzig:20 dreißig:30 vierzig:40 fünfzig:50 hundert:100 tausend:1000""",
            "fr": """deux:2 trois:3 quatre:4 cinq:5 six:6 sept:7 huit:8 neuf:9 dix:10 onze:11
                douze:12 vingt:20 trente:30 quarante:40 cinquante:50 cent:100 mille:1000""",
            "es": """dos:2 tres:3 cuatro:4 cinco:5 seis:6 siete:7 ocho:8 nueve:9 diez:10 once:11
                doce:12 veinte:20 treinta:30 cuarenta:40 cincuenta:50 cien:100 mil:1000""",
            "pt": """dois:2 duas:2 três:3 quatro:4 cinco:5 seis:6 sete:7 oito:8 nove:9 dez:10
                onze:11 doze:12 vinte:20 trinta:30 quarenta:40 cinquenta:50 cem:100 mil:1000""",
            "it": """due:2 tre:3 quattro:4 cinque:5 sei:6 sette:7 otto:8 nove:9 dieci:10 undici:11
                dodici:12 venti:20 trenta:30 quaranta:40 cinquanta:50 cento:100 mille:1000""",
            "nl": """twee:2 drie:3 vier:4 vijf:5 zes:6 zeven:7 acht:8 negen:9 tien:10 elf:11
                twaalf:12 twintig:20 dertig:30 veertig:40 vijftig:50 honderd:100 duizend:1000""",
        }.items()
    }
)
"""Numbers in words, by language. *One* is missing: it is an article or a pronoun too."""
