"""Replaces secrets in a text with `[REDACTED:LABEL]`.

Labels: PRIVATE_KEY, API_KEY, TOKEN, PASSWORD. A secret is recognised by its form (a PEM block, the
prefix of a service's keys, a JWT) or by what precedes it (`password:`, `X_TOKEN=`, `Bearer`,
`scheme://user:`). Randomness is not a criterion, so hashes, digests, UUIDs and long words stay.
Every pattern is bounded, so the time is linear in the length of the text.
"""

import re
from typing import Final

from language.words import words

REDACTED: Final = re.compile(r"\[REDACTED:[A-Z_]{1,20}\]")

# --- by its form ---------------------------------------------------------------------------

_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# The lines of a block whose end is missing, also with line breaks written as \n.
_PEM_LINES = re.compile(r"(?:[A-Za-z0-9+/=]{4,}|[A-Za-z-]{1,20}: [^\r\n]{0,200}|\\[nr]|\s)*")

# A known prefix, followed by enough characters that such keys have.
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{10,}"  # OpenAI, Anthropic, OpenRouter and kin
    r"|(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}"  # Stripe
    r"|sk_[A-Za-z0-9]{24,}"
    r"|gh[a-z]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}"
    r"|gl[a-z]{2,8}-[A-Za-z0-9_-]{16,}|glsa_[A-Za-z0-9_]{20,}"
    r"|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{12,}"  # Slack
    r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # AWS
    r"|AIza[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{20,}"  # Google
    r"|uk_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])|mr_[A-Za-z0-9_-]{40}(?![A-Za-z0-9_-])"  # ours
    r"|(?:hf|npm|gsk|r8|ntn|secret|figd|rubygems|lin_api|lin_oauth|phx|fo1|pscale_tkn|pscale_pw)"
    r"_[A-Za-z0-9_]{24,}"
    r"|(?:dop|doo|dor)_v1_[A-Za-z0-9]{32,}|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"
    r"|shp(?:at|ss|ca|pa)_[A-Fa-f0-9]{24,}|sq0[a-z]{3}-[A-Za-z0-9_-]{20,}"
    r"|(?:xai|pplx|nvapi|tvly|pul|PMAK|pypi|rdme|dapi|NRAK|SK|csk|fc)-[A-Za-z0-9_-]{20,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|SK[a-f0-9]{32}(?![A-Za-z0-9])"
    r"|dapi[a-f0-9]{32}|sntry[su]_[A-Za-z0-9_=+/-]{20,}|ATATT3[A-Za-z0-9_=-]{20,}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{40,}"
    r")"
)
_SLACK_HOOK = re.compile(r"(hooks\.slack\.com/(?:services|workflows)/)([A-Za-z0-9/_-]{16,})")

_TOKEN_SHAPES = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]{4,}){0,2}"  # JWT
    r"|ya29\.[A-Za-z0-9_-]{20,}|hvs\.[A-Za-z0-9_-]{20,}|dp\.[a-z]{2}\.[A-Za-z0-9_.-]{30,}"
    r"|\d{8,10}:AA[A-Za-z0-9_-]{32,}"  # Telegram
    r"|[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"  # Discord
    r")"
)

# --- by what precedes it -------------------------------------------------------------------

_HEADER = re.compile(
    r"(?i)(\b(?:proxy-)?authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?:(?:bearer|basic|token|digest|apikey|bot)[ \t]{1,4})?)([A-Za-z0-9._~+/=:-]{4,})"
)
_BEARER = re.compile(r"(?i)(\bbearer[ \t]{1,4}[\"']?)([A-Za-z0-9._~+/=-]{8,})")
_URL = re.compile(r"(?<=://)([^\s/:@\"'<>\[]*:)([^\s/\"'<>]+)(?=@[^\s@/])")
_CURL_USER = re.compile(r"(\s(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,128}:)([^\s'\"]{1,256})")

_NAMES = {
    "PASSWORD": r"pass[ _-]?word|passwort|passwd|pass[ _-]?phrase|passcode|pwd|(?<=_)pass",
    "TOKEN": r"token",
    "API_KEY": r"(?:(?<=api[ _-])|(?<=api)|(?<=access[_-])|(?<=access)|(?<=secret[_-])|(?<=secret)"
    r"|(?<=account[_-])|(?<=encryption[_-])|(?<=signing[_-])|(?<=private[_-]))key"
    r"|(?<![a-z])secret|(?-i:(?<=[a-z])Secret)",
}
# Every name starts with one of these, which is fast to search for.
_HINT = re.compile("pass|pwd|token|secret|key")
_NAME = "|".join(f"(?P<{label}>{names})" for label, names in _NAMES.items())
_ASSIGNED = re.compile(
    rf"(?i)(?:{_NAME})"
    r"(?P<set>\\?[\"'`*]{0,2}[ \t]{0,4}(?:=>|:=|==?|:)\*{0,2}[ \t]{0,4}"
    r"|[\"'`]?[ \t]{1,4}is(?:[ \t]set[ \t]to)?:?[ \t]{1,4}"
    r"|(?<=--password)[ \t]|(?<=--passwd)[ \t]|(?<=--token)[ \t]|(?<=--api-key)[ \t])"
    r"(?:\\?[\"'`]{1,3}(?P<quoted>[^\"'`\n\\]{1,500})(?=\\?[\"'`])"
    r"|(?P<bare>(?:[^\s\"'`,;<>&|(){}\[\]\\]|&(?!\w{1,64}=)){1,500}))"
)

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


# No secret that is recognised by its form is shorter or contains a space.
_LONG_WORD = re.compile(r"[^ ]{13}")


def redact(text: str) -> tuple[str, int]:
    """The text with secrets replaced, and their number."""
    return _redact(text) if _has_sign(text.lower()) or _LONG_WORD.search(text) else (text, 0)


def _has_sign(lower: str) -> bool:
    """Whether the text has one of the words that precede every secret not recognised by its form.

    Unrolled, because every message passes through here and a loop takes twice as long.
    """
    return (
        "pass" in lower
        or "pwd" in lower
        or "token" in lower
        or "secret" in lower
        or "key" in lower
        or "bearer" in lower
        or "authorization" in lower
        or "://" in lower
        or ("-" in lower and ("-u" in lower or "-----begin" in lower))
    )


def _redact(text: str) -> tuple[str, int]:
    text, count = _redact_private_keys(text)
    lower = text.lower()

    def replace(pattern: re.Pattern[str], label: str) -> None:
        """Replace the last group if the pattern has groups, or else the whole match."""
        nonlocal text, count

        def replacement(found: re.Match[str]) -> str:
            nonlocal count
            secret = found.group(pattern.groups)
            if not _is_secret(pattern, secret):
                return found.group()
            count += 1
            return f"{found.group()[: -len(secret)]}[REDACTED:{label}]"

        text = pattern.sub(replacement, text)

    replace(_PREFIXED, "API_KEY")
    if "hooks.slack" in lower:
        replace(_SLACK_HOOK, "API_KEY")
    replace(_TOKEN_SHAPES, "TOKEN")
    if "authorization" in lower:
        replace(_HEADER, "TOKEN")
    if "bearer" in lower:
        replace(_BEARER, "TOKEN")
    if "://" in text:
        replace(_URL, "PASSWORD")
    if "-u" in text:
        replace(_CURL_USER, "PASSWORD")

    text, assigned = _redact_assigned(text)
    return text, count + assigned


def _redact_assigned(text: str) -> tuple[str, int]:
    lower = text.lower()
    if len(lower) != len(text):  # lower() makes a few characters longer
        lower = "".join(it if len(it.lower()) > 1 else it.lower() for it in text)
    pieces, position, count = [], 0, 0
    for hint in _HINT.finditer(lower):
        if hint.start() < position:
            continue
        found = _ASSIGNED.match(text, hint.start())
        if found is None or not _is_assigned_secret(text, found):
            continue
        start, end = found.span("bare" if found["bare"] is not None else "quoted")
        end = start + len(text[start:end].rstrip(".!?:"))
        label = next(it for it in _NAMES if found[it] is not None)
        pieces += [text[position:start], f"[REDACTED:{label}]"]
        position = end
        count += 1
    return "".join([*pieces, text[position:]]), count


def _redact_private_keys(text: str) -> tuple[str, int]:
    pieces, position, count = [], 0, 0
    while begin := _PEM_BEGIN.search(text, position):
        end = _PEM_END.search(text, begin.end())
        if end is None:
            lines = _PEM_LINES.match(text, begin.end())
            stop = begin.end() + len((lines.group() if lines else "").rstrip())
        else:
            stop = end.end()
        pieces += [text[position : begin.start()], "[REDACTED:PRIVATE_KEY]"]
        position = stop
        count += 1
        if end is None:
            break
    return "".join([*pieces, text[position:]]), count


def _is_secret(pattern: re.Pattern[str], value: str) -> bool:
    if pattern is _PREFIXED:
        # `sk-learn-contrib-examples` has the prefix, but consists of words.
        return bool(re.search(r"\d|[A-Za-z]{20}", value))
    if pattern is _BEARER:
        return not _is_word(value) and bool(re.search(r"\d|[a-z][A-Z]|[A-Za-z]{24}", value))
    if pattern is _URL or pattern is _CURL_USER:
        return not re.fullmatch(r"\$.*|<.*|\{.*|\*+|\.+|%\w+%|\[REDACTED.*", value)
    if pattern is _HEADER:
        return value.lower() not in ("bearer", "basic", "token", "none", "null", "required")
    return True


def _is_assigned_secret(text: str, found: re.Match[str]) -> bool:
    how = found["set"].strip()
    quoted = found["quoted"]
    value = (quoted if quoted is not None else found["bare"]).strip()
    bare = value.rstrip(".!?:")
    name = found.group()[: found.start("set") - found.start()]
    if (
        len(bare) < 3
        or bare.lower() == name.lower()
        or REDACTED.match(text, found.start("quoted" if quoted else "bare"))
    ):
        return False
    if _NO_SECRET.fullmatch(value) or bare.lower() in _NO_VALUE:
        return False
    if quoted is None and text[found.end() : found.end() + 1] in ("(", "[", "{"):
        return False  # a call, a lookup, a template
    is_password = found["PASSWORD"] is not None
    if bare.isdecimal():
        return len(bare) >= (4 if is_password else 6)
    if how.startswith("is"):
        if bare.lower() in _PROSE:
            return False
        if not is_password:
            return len(bare) >= 8 and any(map(str.isdecimal, bare))
        return (quoted is not None and " " not in value) or not _is_word(bare)
    if "=" in how or not how:
        return True
    if bare.lower() in _PROSE:
        return False
    if quoted is not None:  # "password": "must be long"
        return " " not in value or any(map(str.isdecimal, value))
    if not _is_word(bare):
        return True
    if not is_password:
        return text[found.start() - 1 : found.start()] in ("_", "-")
    # `password: swordfish`, but not `password: between eight and twenty letters`.
    rest = text[found.end() : found.end() + 16].lstrip(" \t")
    return value != bare or rest[:1] in ("", *"\r\n,;.)&|") or bool(_CONNECTIVE.match(rest))


def _is_word(value: str) -> bool:
    """Whether it looks like prose: letters, possibly with hyphens or an apostrophe."""
    return all(_LETTERS.fullmatch(it) for it in re.split(r"[-'’/]", value))
