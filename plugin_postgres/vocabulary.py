"""Words with special treatment: function words and irregular English forms.

They are folded like queries: without accents, in lower case.
"""

# Words that say how something is asked, not what. English ones that PostgreSQL's configuration
# `english` drops are not among them.
_LISTS = {
    "E": "would could might must shall may also many much us let ll ve re isn didn doesn",
    "D": "der die das den dem des ein eine einen einem einer eines und oder aber denn wenn als ob"
    " dass weil ich du er sie es wir ihr mich dich sich mir dir ihm ihn uns euch ihnen mein dein"
    " sein unser euer ist sind war waren bin bist seid sei wird werden wurde wurden hat habe haben"
    " hast hatte hatten kann konnte muss soll sollte will wollte darf mag mochte wer was wann wo"
    " wohin woher wie warum wieso weshalb welche welcher welches welchen wessen wem wen wieviel"
    " nicht kein keine mit von vom zu zum zur in im an am auf aus bei beim nach vor fur uber unter"
    " durch gegen ohne um seit bis auch nur noch schon doch so da hier dort man",
    "F": "le la les l un une des du de d et ou mais donc or ni car que qu qui quoi dont quand"
    " comment pourquoi combien quel quelle quels quelles lequel je j tu il elle on nous vous ils"
    " elles me m te t se s moi toi lui leur leurs mon ma mes ton ta tes son sa ses notre nos votre"
    " vos ce c cet cette ces ca est es suis sont sommes etes etait etaient sera ete etre ai as a"
    " avons avez ont avait avoir fait fais peut ne n pas plus dans en sur sous avec sans pour par"
    " chez vers entre au aux y si",
    "S": "el la los las un una unos unas y e o u pero sino que quien quienes cual cuales cuando"
    " donde adonde como cuanto cuanta cuantos cuantas porque por yo tu usted ustedes nosotros"
    " vosotros ellos ellas ella me te se nos os lo le les mi mis tus su sus nuestro nuestra es soy"
    " eres somos son era eran fue fueron sera ser esta estan estoy estaba estar ha han he hemos"
    " habia haber hay tiene tengo tienen puede puedo no si de del al a en con sin para sobre entre"
    " hasta desde muy mas ya este ese esto eso estos estas",
    "P": "o a os as um uma uns umas e ou mas que quem qual quais quando onde aonde como quanto"
    " quanta quantos quantas porque por eu tu voce voces nos eles elas ele ela me te se lhe lhes"
    " meu minha meus minhas teu tua seu sua seus suas nosso nossa sou es somos sao era eram foi"
    " foram sera ser esta estao estou estava estar ha tem tenho tinha ter pode posso nao sim de do"
    " da dos das ao aos em no na nas com sem para pelo pela sobre entre ate desde muito mais ja"
    " este esse isso isto aquele",
    "I": "il lo la i gli le l un uno una e ed o ma che chi cui quale quali quando dove come quanto"
    " quanta quanti quante perche io tu lui lei noi voi loro mi ti si ci vi me te se mio mia miei"
    " tuo tua suo sua nostro vostro sono sei siamo siete era erano fu furono sara essere sta"
    " stanno stare ha ho hai hanno abbiamo aveva avere puo posso non di del della dei delle a al"
    " alla da dal dalla in nel nella con su sul sulla per tra fra senza piu gia questo questa"
    " quello quella cosa cos",
    "N": "de het een en of maar want dus dat die dit deze wie wat wanneer waar waarheen waarom hoe"
    " hoeveel welk welke wiens ik jij je u hij zij ze wij we jullie hen hun mij me jou hem haar"
    " ons mijn jouw zijn onze is ben bent was waren wordt worden werd heeft heb hebt hebben had"
    " hadden kan kon kunnen moet zal zou wil mag niet geen er te in op aan van voor met bij naar"
    " uit over door om tot als ook nog al hier daar",
}
ENGLISH = "E"
OTHER_LANGUAGES = "DFSPIN"

# English words that change their stem: each finds the others.
_FAMILIES = (
    "go goes going went gone;see sees seeing saw seen;get got gotten;make made;take took taken;"
    "come came;know knew known;think thought;give gave given;find found;tell told;become became;"
    "leave leaving left;feel felt;bring brought;begin began begun;keep kept;hold held;"
    "write writing wrote written;stand stood;hear heard;mean meant;meet met;run ran;pay paid;"
    "sit sat;speak spoke spoken;lie lay lain;lead led;grow grew grown;lose lost;fall fell fallen;"
    "send sent;build built;understand understood;draw drew drawn;break broke broken;spend spent;"
    "rise rose risen;drive drove driven;buy bought;wear wore worn;choose chose chosen;"
    "seek sought;throw threw thrown;catch caught;deal dealt;win won;forget forgot forgotten;"
    "sell sold;fight fought;teach taught;eat ate eaten;sing sang sung;fly flew flown;"
    "swim swam swum;ride rode ridden;drink drank drunk;sleep slept;dream dreamt;ring rang rung;"
    "hide hid hidden;bite bit bitten;blow blew blown;wake woke woken;steal stole stolen;"
    "shake shook shaken;freeze froze frozen;swear swore sworn;tear tore torn;stick stuck;"
    "strike struck;shoot shot;hang hung;dig dug;feed fed;bend bent;lend lent;light lit;"
    "slide slid;spin spun;sweep swept;weep wept;bind bound;bleed bled;breed bred;shine shone;"
    "sink sank sunk;shrink shrank shrunk;spring sprang sprung;say said;child children;man men;"
    "woman women;person people;foot feet;tooth teeth;mouse mice;goose geese;life lives;"
    "wife wives;knife knives;leaf leaves;half halves;shelf shelves;wolf wolves;thief thieves;"
    "good better best;bad worse worst"
)


def _by_word() -> dict[str, str]:
    languages: dict[str, str] = {}
    for language, words in _LISTS.items():
        for word in words.split():
            languages[word] = languages.get(word, "") + language
    return languages


# The languages in which a word is a function word, one letter each.
FUNCTION_WORDS = _by_word()
# The forms of a word, including itself. A word of two families has the forms of both.
IRREGULAR_FORMS: dict[str, tuple[str, ...]] = {}
for _family in _FAMILIES.split(";"):
    _forms = tuple(_family.split())
    for _form in _forms:
        IRREGULAR_FORMS[_form] = tuple(dict.fromkeys(IRREGULAR_FORMS.get(_form, ()) + _forms))
