"""Secrets that a name precedes: `password: …`, `X_TOKEN=…`, `<apiKey>…</apiKey>`, `pass: …`.

What follows a name is as often prose as a secret (`password: see the wiki`), so the value decides.
"""

import re

from language.words import words

# A value that this module or another one has already replaced.
REDACTED = re.compile(r"\[REDACTED:[A-Z_]{1,20}\]")

_NAMES = {
    "PASSWORD": r"pass[ _-]?words?|passwort|passwd|pass[ _-]?phrase|passcode|pwd|(?<=_)pass"
    r"|(?-i:(?<![A-Za-z])[Pp]ass|(?<=[a-z])Pass|(?<![A-Za-z])PASS(?=[ \t]{0,4}=))",
    "TOKEN": r"token",
    "API_KEY": r"(?:(?<=api[ _-])|(?<=api)|(?<=access[_-])|(?<=access)|(?<=secret[_-])|(?<=secret)"
    r"|(?<=account[_-])|(?<=encryption[_-])|(?<=signing[_-])|(?<=private[_-]))keys?"
    r"|(?<![a-z])secret|(?-i:(?<=[a-z])Secret)",
}
# Every name starts with one of these, which is fast to search for.
_HINT = re.compile("pass|pwd|token|secret|key")
_NAME = "|".join(f"(?P<{label}>{names})" for label, names in _NAMES.items())
_BARE_RUN = r"[^\s\"'`,;<>&|(){}\[\]\\]{0,500}"
_ASSIGNED = re.compile(
    rf"(?i)(?:{_NAME})"
    r"(?P<set>\\?[\"'`*]{0,2}[ \t]{0,4}"
    r"(?:(?:=>|:=|==?|＝)\*{0,2}[ \t]{0,4}"
    r"|[:：]\*{0,2}[ \t]{0,4}(?:(?:[|>][+-]?[ \t]{0,4})?(?:\r?\n[ \t]{0,8}){1,3})?)"
    r"|[\"'`]?[ \t]{1,4}(?:is|was|were|will[ \t]be|used[ \t]to[ \t]be)(?:[ \t]now)?"
    r"(?:[ \t](?:set|reset|changed|updated)[ \t]to)?:?"
    r"(?:[ \t]{1,4}|[ \t]{0,4}\r?\n[ \t]{0,8})"
    r"|(?<=--password)[ \t]|(?<=--passwd)[ \t]|(?<=--token)[ \t]|(?<=--api-key)[ \t])"
    # In quotes, in quotes with backslashes, in curly quotes, or in none that are closed.
    r"(?:(?P<mark>\"\"\"|'''|```|[\"'`])"
    r"(?P<quoted>(?:\\.|(?!(?P=mark))[^\n\\]){1,500})(?=(?P=mark))"
    r"|\\(?P<slashed>[\"'`])(?P<escaped>[^\"'`\n\\]{1,500})(?=\\(?P=slashed))"
    r"|[“„‘«](?P<curly>[^\n“”’»]{1,500})(?=[“”’»])"
    r"|\\?[\"'`“„‘«]?(?P<bare>\([^\s()]{3,100}\)(?=[ \t]*(?:[\r\n]|\Z))"
    rf"|(?=[^\s\"'`,;<>|(){{}}\[\]\\]){_BARE_RUN}(?:&(?!\w{{1,64}}=){_BARE_RUN}){{0,8}}))"
)
_TAGGED = re.compile(
    rf"(?i)(?:{_NAME})(?P<set>(?:[ \t][^<>\n]{{0,200}})?>\s{{0,16}})"
    r"(?P<quoted>[^<>\s](?:[^<>\n]{0,498}[^<>\s])?)(?=\s{0,16}</)"
)
_TAG_BEGIN = re.compile(r"<[\w:.-]{0,60}\Z")

# Values that say where a secret is, what it must look like, or that there is none.
_NO_SECRET = re.compile(
    r"(?ix)(?: \$.* | %.*% | <.* | \{.* | \[.* | \*+ | x{3,} | \.{2,}.* | -+ | _+ | \?+ | [•●]+"
    r"| (?:your|my|the|new|old|some|example|sample|dummy|fake)[_-]?"
    r"  (?:password|passwd|pwd|token|secret|api[_-]?key|key|passphrase)(?:[_-]?here)?[.!]?"
    r"| your[_-].* "
    r"| (?:app|args|body|cfg|config|context|creds|credentials|ctx|data|env|event|form|headers"
    r"   |import\.meta|input|kwargs|options|opts|os|params|process|props|req|request|res|response"
    r"   |secrets|self|session|settings|st|state|system|this|user|vault)"
    r"   (?:[.].* | ) "
    r")"
)
_PROSE = words(
    """
    a about above after again all allow also always an and any anything are as ask at auth
    authentication authorization back bad based be bearer because been before below
    between bool boolean both but by bytes can cannot case change changed char check
    choose code column const containing contains correct could default denied did disabled
    does done each either email empty enabled encrypted enter error expiration expired
    expires f failed failure false field for forget forgot forgotten format found from
    generated get given gone good got green has hash hashed have he her here hidden how i
    if in incorrect int invalid is issued it its just keep last least leave length less
    let letters like limit login lost made make max maximum may maybe me min minimum
    mismatch missing more most must my n need needed needs never new nil no nobody none
    not nothing null number object obtained of off ok okay on one only optional or other
    our out pending please private prompt protected provided public rate read refresh
    refreshed regex rejected requested require required requires reset resets revoked
    rotate rotated rotation same saved secretstr secure see sensitive sent set shall she
    should show shown so some something sometimes soon stolen store stored str string
    strong such supported t tbd text than that the their them then there these they this
    those three to todo too true two type types undefined unique unknown unlimited unset
    until unused up update updated upon us use used user username uses using valid value
    values verify very via void was we weak well were what when where which while who why
    will with without word words wrong yes yet you your
    """
)
# After `=`, anything is a value except for these.
_NO_VALUE = words(
    "none null nil true false undefined empty str string secretstr bytes optional required"
)
_CONNECTIVE = re.compile(r"(?:and|or|for|but|on|in|at|with|please|if|so|to|as|when|while)\b")
_LETTERS = re.compile(r"[A-Za-z]?[a-z]+|[A-Z]+")
_WORD_PARTS = re.compile(r"[-'’/]")

# Words of sentences about secrets which may well be a secret when they stand alone.
_ABOUT = words(
    """
    admin administrator already another blank cancel character characters chosen company
    confidential confirm confirmation contact contain daily date day days desk do during eight
    every everyone exactly exceed expire expiry follows guidelines help later length letter link
    long lowercase manager manually masked match matches month monthly months omitted once page
    password passwords passphrase passcode period plaintext policies policy protection re
    recovery redacted register remember reminder removed repeat retype rotates rules security
    share short sign signup since submit support symbols team today together tomorrow twelve
    twenty twice unchanged under uppercase vault visible week weekly wiki year years yesterday
    """
)
# A phrase of plain words may be a password although it has one of these.
_OF_PHRASES = words("bad correct good green hash letters lost my one private stolen three two us")
_TELLING = (_PROSE | _ABOUT) - _OF_PHRASES
# With one of these as its first word, a phrase in quotes is about the password.
_OPENING = words(
    """
    ask at cannot check choose contact enter forgot in incorrect invalid is keep maximum minimum
    missing must needs never no not please required same see set should stored too type unchanged
    unknown use wrong
    """
)
_PHRASE = re.compile(r"[a-z]{3,12}(?:[ \t][a-z]{3,12}){2,9}(?=[ \t]*(?:[\r\n]|\Z))")
# Names in a program: what is compared with, a type, and what an operator is applied to.
_COMPARED = re.compile(r"[A-Za-z_]+")
_TYPE = re.compile(r"_?(?:[a-z]{2,15}|[A-Z][a-z]{1,15})(?:[A-Z][a-z]{2,15}){1,6}")
_PATH = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){1,8}[A-Za-z_]\w{0,60}")
_BEFORE_NAME = re.compile(r"[A-Za-z_-]{0,40}\Z")
_OPERATORS = words("await lambda new typeof yield")
_OPERAND = re.compile(r"[ \t]{1,4}[A-Za-z_$][\w$.]{0,80}[ \t]{0,4}(?=[(<\[:,;\r\n]|\Z)")
_SYMBOLS = re.compile(r"[ \t]&[^\s\"'`=&>]{1,30}(?=\s|\Z)")
_MORE_WORDS = re.compile(r"(?:[ \t][a-z]{3,12}){1,5}(?=[ \t]*(?:[\r\n]|\Z))")
# The rest of a value that has commas or brackets, if the line ends with it.
_GLUED = re.compile(
    r"[,;|(\[{](?![\"']?[\w.-]{1,64}[\"']?[ \t]?[=:])"
    r"[^\s\"'`<>.]{0,200}[^\s\"'`<>.,;)\]}](?=[ \t]*(?:[\r\n]|\Z))"
)
_LINE_END = re.compile(r"[ \t]*(?:[\r\n]|\Z)")
_PARAGRAPH_END = re.compile(r"[ \t]*(?:\r?\n[ \t]*(?:[\r\n]|\Z)|\Z)")
_AMOUNT = re.compile(
    r"(?i)(?:max|min|num|n|per|total|input|output|prompt|completion|eos|bos|pad|unk|sep|cls|mask)"
    r"[ _-]?\Z"
)
_STRIPPED = ".!?:"
_AROUND = "\\\"'`* \t\r\n"
_BEGIN_OF_SAYING = frozenset("iIwWuU")  # is, was, used to be
_CAPITALS = frozenset("_ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_BRACKETS = frozenset("([{")
_SEPARATORS = frozenset(",;|") | _BRACKETS


def redact_assigned(text: str) -> tuple[str, int]:
    """The text with these secrets replaced, and their number."""
    lower = text.lower()
    if len(lower) != len(text):  # lower() makes a few characters longer
        lower = "".join(it if len(it.lower()) > 1 else it.lower() for it in text)
    has_tags = "</" in text
    pieces, position, count = [], 0, 0
    for hint in _HINT.finditer(lower):
        if hint.start() < position:
            continue
        found = _ASSIGNED.match(text, hint.start())
        end = 0
        if found is not None:
            end = _Assignment(text, found).end_of_secret()
        elif has_tags:
            found = _TAGGED.match(text, hint.start())
            end = found.end() if found is not None and _is_tagged_secret(text, found) else 0
        if found is None or not end:
            continue
        start = found.start(found.lastgroup or 0)
        label = next(it for it in _NAMES if found[it] is not None)
        pieces += [text[position:start], f"[REDACTED:{label}]"]
        position = end
        count += 1
    return "".join([*pieces, text[position:]]), count


def is_word(value: str) -> bool:
    """Whether it looks like prose: letters, possibly with hyphens or an apostrophe."""
    return all(_LETTERS.fullmatch(it) for it in _WORD_PARTS.split(value))


def is_prose(word: str) -> bool:
    """Whether a word is common where people write about secrets."""
    return word.lower() in _PROSE


class _Assignment:
    """A name and what follows it."""

    def __init__(self, text: str, found: re.Match[str]) -> None:
        group = found.lastgroup or "bare"
        self._text = text
        self._start, self._end = found.span(group)
        self._is_quoted = group != "bare"
        self._value = found[group].strip()
        self._bare = self._value.rstrip(_STRIPPED)
        self._name_start = found.start()
        self._name = text[self._name_start : found.start("set")].lower()
        self._how = found["set"].strip(_AROUND)
        self._says = self._how[:1] in _BEGIN_OF_SAYING
        self._is_below = "\n" in found["set"]
        self._is_password = found["PASSWORD"] is not None

    def end_of_secret(self) -> int:
        """Where the secret ends; 0 if the value is none."""
        if not self._can_be_secret():
            return 0
        if self._is_quoted:
            return self._end if self._is_secret() else 0
        if self._can_be_phrase():
            phrase = _PHRASE.match(self._text, self._start)
            if phrase and _TELLING.isdisjoint(phrase.group().split()):
                return phrase.end()
        following = self._text[self._end : self._end + 1]
        glued = None
        if following in _SEPARATORS and self._is_password and _has_digit(self._bare):
            glued = _GLUED.match(self._text, self._end)
        if glued is None and following in _BRACKETS:
            return 0  # a call, a lookup, a template
        if not self._is_secret():
            return 0
        if glued is not None:
            return glued.end()
        return self._end_with_symbols() or self._start + len(self._value.rstrip(_STRIPPED))

    def _can_be_phrase(self) -> bool:
        """Whether a password of several words may follow, up to the end of the line."""
        is_set = bool(self._how) and not self._says and not self._is_below
        return is_set and self._is_password and not self._is_pass

    def _end_with_symbols(self) -> int:
        """The end of `Tr0ub4dor &3`, and of plain words that the line ends with; 0 for others."""
        if not self._is_password or is_word(self._bare):
            return 0
        symbols = _SYMBOLS.match(self._text, self._end)
        if symbols is None:
            return 0
        more = _MORE_WORDS.match(self._text, symbols.end())
        is_phrase = more is not None and _TELLING.isdisjoint(more.group().split())
        return more.end() if more is not None and is_phrase else symbols.end()

    def _can_be_secret(self) -> bool:
        bare = self._bare.lower()
        return not (
            len(bare) < 3
            or bare in _NO_VALUE
            or bare in (self._name, self._name.removesuffix("s"))
            or self._is_named_after()
            or REDACTED.match(self._text, self._start)
            or _NO_SECRET.fullmatch(self._value)
            or (self._is_below and not self._is_quoted and not self._stands_alone_below())
        )

    @property
    def _is_pass(self) -> bool:
        """Whether the name is `pass` alone, which has other meanings."""
        return self._name == "pass" and self._before != "_"

    @property
    def _before(self) -> str:
        return self._text[self._name_start - 1 : self._name_start]

    def _is_secret(self) -> bool:
        return self._is_said_secret() if self._says else self._is_set_secret()

    def _stands_alone_below(self) -> bool:
        """Whether the line below the name is a value, and not the beginning of a text."""
        value = self._value
        if value[-1] == ":" or "://" in value or not _LINE_END.match(self._text, self._end):
            return False
        if value.isdecimal():
            return True
        if not self._is_password:
            return len(value) >= 8 and _has_digit(value) and any(map(str.isalpha, value))
        if is_word(value):
            is_last = _PARAGRAPH_END.match(self._text, self._end) is not None
            return value.islower() and is_last and value not in _PROSE | _ABOUT
        return any(map(str.isalpha, value)) and not re.fullmatch(
            r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[A-Za-z.,:_/’'-]+", value
        )

    def _is_said_secret(self) -> bool:
        """For `password is …`."""
        if self._is_pass or is_prose(self._bare):
            return False
        if self._bare.isdecimal():
            return self._is_number_secret()
        if not self._is_password:
            return len(self._bare) >= 8 and _has_digit(self._bare)
        if self._is_quoted:
            return " " not in self._value or not _is_prose_phrase(self._value)
        return not is_word(self._bare)

    def _is_set_secret(self) -> bool:
        """For `password: …` and `password=…`."""
        bare = self._bare
        if self._is_pass:
            return _is_mixed(bare)
        if bare.isdecimal():
            return self._is_number_secret()
        if bare[0] == "(":
            inner = bare[1:-1]
            return (
                self._how in (":", "：")
                and self._is_password
                and inner.lower() not in _PROSE | _ABOUT
                and not _NO_SECRET.fullmatch(inner)
            )
        if not self._is_quoted and self._is_code():
            return False
        if "=" in self._how or "＝" in self._how or not self._how:
            return True
        if is_prose(bare.lstrip("&")):  # `token: &str`
            return False
        if self._is_quoted:  # "password": "must be long"
            if " " not in self._value or _has_digit(self._value):
                return True
            return self._is_password and not _is_prose_phrase(self._value)
        if self._is_below or not is_word(bare):
            return True
        if not self._is_password:
            return self._before in ("_", "-")
        # `password: swordfish`, but not `password: between eight and twenty letters`.
        rest = self._text[self._end : self._end + 16].lstrip(" \t")
        if self._value != bare or rest[:1] in ("", *"\r\n,;.)&|"):
            return True
        return bool(_CONNECTIVE.match(rest))

    def _is_named_after(self) -> bool:
        """Whether the value is the whole name again: `auth_token=auth_token`."""
        begin = _BEFORE_NAME.search(self._text, max(0, self._name_start - 40), self._name_start)
        name = f"{begin.group() if begin else ''}{self._name}".lower().replace("-", "_")
        value = self._bare.lower().replace("-", "_").strip("_")
        return len(value) >= 3 and f"_{name.strip('_')}".endswith(f"_{value}")

    def _is_code(self) -> bool:
        """For `if token == expected:`, `token: AccessToken` and `token = await get_token()`."""
        bare = self._bare
        if _PATH.fullmatch(bare) and bare.lower().endswith(self._name):
            return True
        if self._how == "==":
            return _COMPARED.fullmatch(bare) is not None
        if self._how == ":":
            if not _TYPE.fullmatch(bare) or (
                self._is_password and not re.search("(?i)pass|secret", bare)
            ):
                return False
            is_variable = self._text[self._name_start].islower() and bare[0] in _CAPITALS
            return is_variable or self._before not in ("_", "-")
        is_applied = self._value in _OPERATORS and "=" in self._how
        return is_applied and _OPERAND.match(self._text, self._end) is not None

    def _is_number_secret(self) -> bool:
        if self._name.endswith(("keys", "words")):
            return False  # how many there are
        if self._is_password:
            return len(self._bare) >= 4
        before = self._text[max(0, self._name_start - 12) : self._name_start]
        is_given = self._is_quoted or "=" in self._how or not self._how
        return len(self._bare) >= (5 if is_given else 6) and not _AMOUNT.search(before)


def _is_tagged_secret(text: str, found: re.Match[str]) -> bool:
    """For `<password>…</password>`."""
    if not _TAG_BEGIN.search(text[max(0, found.start() - 62) : found.start()]):
        return False
    value = found["quoted"]
    if len(value) < 3 or _NO_SECRET.fullmatch(value) or REDACTED.match(value):
        return False
    if found["PASSWORD"] is None:
        return len(value) >= 6 and " " not in value and _has_digit(value)
    return not _is_prose_phrase(value)


def _is_prose_phrase(value: str) -> bool:
    """Whether a value in quotes is a remark: `must be long`, `see the wiki`, `wrong password`."""
    said = [it.strip(".,;:!?()") for it in value.lower().split()]
    if len(said) == 1:
        return said[0] in _PROSE or said[0] in _NO_VALUE
    if said[0] in _OPENING or any(it.startswith(("password", "passphrase")) for it in said):
        return True
    return 2 * sum(it in _PROSE or it in _ABOUT for it in said) > len(said)


def _is_mixed(value: str) -> bool:
    """Whether it has letters among digits, other than `python-3` and `120seconds` have."""
    parts = re.split(r"[-_./]", value[:64])  # enough to tell, and quick for long ones
    return len(value) >= 6 and any(
        _has_digit(it) and any(map(str.isalpha, it)) and not re.fullmatch(r"\d+[a-z]+", it)
        for it in parts
    )


def _has_digit(value: str) -> bool:
    return any(map(str.isdecimal, value))
