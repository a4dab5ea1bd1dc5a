"""Replaces secrets in a text with `[REDACTED:LABEL]`.

Labels: PRIVATE_KEY, API_KEY, TOKEN, PASSWORD. A secret is recognised by its form (a PEM block, the
prefix of a service's keys, a JWT) or by what precedes it (`password:`, `X_TOKEN=`, `Bearer`,
`scheme://user:`). Randomness is not a criterion, so hashes, digests, UUIDs and long words stay.
Every pattern is bounded, so the time is linear in the length of the text.
"""

import re

from language.assignments import is_prose, is_word, redact_assigned
from language.words import words

# --- by its form ---------------------------------------------------------------------------

_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# The lines of a block whose end is missing, also with line breaks written as \n.
_PEM_LINES = re.compile(r"(?:[A-Za-z0-9+/=]{4,}|[A-Za-z-]{1,20}: [^\r\n]{0,200}|\\[nr]|\s)*")

# A JWT, or a known prefix followed by enough characters that such keys have. A key may be glued to
# other characters on both sides (`_uk_…_`). Those after it go with it: they may be its own, or
# another key's. What stands before it matters only to prefixes that are also ends of words, such as
# `disk-` and `TASK-`. All are in one pattern, since a long one may contain another one by chance.
_SHAPES = re.compile(
    r"(?P<TOKEN>"
    r"(?:(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}|eyJ[A-Za-z0-9_-]{5,300})"  # JWT
    r"\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]{4,}){0,2}"
    r"|ya29\.[A-Za-z0-9_-]{20,}"
    r"|(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{32,}"  # Telegram
    r"|(?<![A-Za-z0-9])(?:hvs\.[A-Za-z0-9_-]{20,}|dp\.[a-z]{2}\.[A-Za-z0-9_.-]{30,}"
    r"|[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})"  # Discord
    r")|(?P<API_KEY>(?:"
    r"uk_[A-Za-z0-9_-]{43}|mr_[A-Za-z0-9_-]{40}"  # ours
    # Cut off, or of another make; databases give shorter names in lower case to their constraints.
    r"|(?:uk|mr)_(?=[A-Za-z]{0,29}\d)(?:[A-Za-z0-9]{30}"
    r"|(?=[A-Z0-9]{0,23}[a-z])(?=[a-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24})"
    r"|gh[pousr]_[A-Za-z0-9]{30}|github_pat_[A-Za-z0-9_]{16}|glpat-[A-Za-z0-9_-]{16}"
    r"|sk-ant-api[A-Za-z0-9_-]{16}|tskey-[a-z]{2,12}-[A-Za-z0-9_-]{10}"
    r"|xox[a-z]-[A-Za-z0-9-]{8}"  # Slack
    r"|(?:AKIA|ASIA|ABIA|ACCA)(?=[A-Z]{0,15}\d)[A-Z0-9]{16}"  # AWS
    r"|AIza[A-Za-z0-9_-]{30}|GOCSPX-[A-Za-z0-9_-]{20}"  # Google
    r"|AGE-SECRET-KEY-1[A-Z0-9]{40}"
    r"|(?<![a-z])(?:"
    r"(?<!A)sk-[A-Za-z0-9_-]{10}"  # OpenAI, Anthropic, OpenRouter and kin
    r"|(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10}|whsec_[A-Za-z0-9+/=]{16,}"  # Stripe
    r"|sk_[A-Za-z0-9]{24}"
    r"|gh[a-z]_[A-Za-z0-9]{16}|gl[a-z]{2,8}-[A-Za-z0-9_-]{16}|glsa_[A-Za-z0-9_]{20}"
    r"|xapp-[A-Za-z0-9-]{12}"
    r"|(?:hf|npm|gsk|r8|ntn|secret|figd|rubygems|lin_api|lin_oauth|phx|fo1|pscale_tkn|pscale_pw)"
    r"_[A-Za-z0-9_]{24}"
    r"|(?:dop|doo|dor)_v1_[A-Za-z0-9]{32}|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20}"
    r"|shp(?:at|ss|ca|pa)_[A-Fa-f0-9]{24}|sq0[a-z]{3}-[A-Za-z0-9_-]{20}"
    r"|sntry[su]_[A-Za-z0-9_=+/-]{20,})"
    r"|(?<![A-Za-z0-9])(?:"
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|(?:xai|pplx|nvapi|tvly|pul|PMAK|pypi|rdme|dapi|NRAK|SK|csk|fc)-[A-Za-z0-9_-]{20}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16}|SK[a-f0-9]{32}(?![A-Za-z0-9])"
    r"|dapi[a-f0-9]{32}|ATATT3[A-Za-z0-9_=-]{20,})"
    r")[A-Za-z0-9_-]*)"
)
_OURS = re.compile(r"uk_[A-Za-z0-9_-]{43}|mr_[A-Za-z0-9_-]{40}")
# `uk_weather_forecast_for_the_week_after_the_next`, as no random key is.
_SLUG = re.compile(r"[A-Z]?[a-z]{1,19}(?:[_-]+(?:[A-Z]?[a-z]{1,19}|\d{1,8}))*[_-]*")
# `sk-learn-contrib-examples` has the prefix, but consists of words.
_RANDOM = re.compile(r"\d|[A-Za-z]{20}|(?:sk-(?:live|test|prod)|tskey-[a-z]{2,12})-[A-Za-z]{16}")
_SLACK_HOOK = re.compile(r"(hooks\.slack\.com/(?:services|workflows)/)([A-Za-z0-9/_-]{16,})")

# --- by what precedes it -------------------------------------------------------------------

_HEADER = re.compile(
    r"(?i)(\b(?:proxy-)?authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?:(bearer|basic|token|digest|apikey|bot)[ \t]{1,4})?)([A-Za-z0-9._~+/=:-]{1,})"
)
_BEARER = re.compile(r"(?i)(\bbearer[ \t]{1,4}[\"']?)([A-Za-z0-9._~+/=-]{6,})")
_BEARER_OF = words(
    """
    authentication authorization certificate certificates challenge credential credentials
    documents instrument instruments securities security standard
    """
)
_AFTER_BEARER = re.compile(r"[ \t]*(?:[\r\n\"'`,;)}]|\Z)")
# The second form is for passwords with a slash, where `host:8080/@user` has a port.
_URL = re.compile(
    r"(?<=://)([^\s/:@\"'<>\[]*:)"
    r"([^\s/\"'<>]+(?=@)|(?!\d{1,5}[/?#,])[^\s\"'<>]{1,128}(?<!/)(?=@[^\s@/]))"
)
_CURL_USER = re.compile(r"(\s(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,128}:)([^\s'\"]{1,256})")

# No secret that is recognised by its form is shorter or contains a space.
# With the space before the word, which takes half the time: the search goes from space to space.
_LONG_WORD = re.compile(r" [^ ]{13}")
# Nor is it one plain word, or shorter ones with other characters than letters and digits between.
_PLAIN = re.compile(
    r"(?:[A-Z]?[a-z]+[^A-Za-z0-9]?|(?:[A-Z]?[a-z]{1,15}[^A-Za-z0-9]+)*(?:[A-Z]?[a-z]{1,15})?)\Z"
)
_LONG_WORDS = re.compile(r"[!-~]{13,}")


def redact(text: str) -> tuple[str, int]:
    """The text with secrets replaced, and their number."""
    may_have_secrets = _has_sign(text.lower()) or _LONG_WORD.search(" " + text)
    return _redact(text) if may_have_secrets else (text, 0)


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
        """Replace the last group of the pattern."""
        nonlocal text, count

        def replacement(found: re.Match[str]) -> str:
            nonlocal count
            secret = found.group(pattern.groups)
            if not _is_secret(found, secret):
                return found.group()
            count += 1
            return f"{found.group()[: -len(secret)]}[REDACTED:{label}]"

        text = pattern.sub(replacement, text)

    def replace_shape(found: re.Match[str]) -> str:
        nonlocal count
        if found.lastgroup == "API_KEY" and not _is_key(found.group()):
            return found.group()
        count += 1
        return f"[REDACTED:{found.lastgroup}]"

    # From long word to long word, which is much faster than trying all shapes at every character.
    def replace_shapes(found: re.Match[str]) -> str:
        word = found.group()
        return word if _PLAIN.match(word) else _SHAPES.sub(replace_shape, word)

    text = _LONG_WORDS.sub(replace_shapes, text)
    if "hooks.slack" in lower:
        replace(_SLACK_HOOK, "API_KEY")
    if "authorization" in lower:
        replace(_HEADER, "TOKEN")
    if "bearer" in lower:
        replace(_BEARER, "TOKEN")
    if "://" in text:
        replace(_URL, "PASSWORD")
    if "-u" in text:
        replace(_CURL_USER, "PASSWORD")

    text, assigned = redact_assigned(text)
    return text, count + assigned


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


def _is_key(value: str) -> bool:
    if _OURS.search(value):
        return not _SLUG.fullmatch(value)
    return bool(_RANDOM.search(value))


def _is_secret(found: re.Match[str], value: str) -> bool:
    if found.re is _BEARER:
        return _is_bearer_token(found, value)
    if found.re is _URL or found.re is _CURL_USER:
        return not re.fullmatch(r"\$.*|<.*|\{.*|\*+|\.+|%\w+%|\[REDACTED.*", value)
    if found.re is _HEADER:
        is_named = value.lower() in ("bearer", "basic", "token", "tokens", "required")
        return not is_named and not is_prose(value) and (bool(found[2]) or len(value) >= 4)
    return True


def _is_bearer_token(found: re.Match[str], value: str) -> bool:
    if is_word(value):
        # `Bearer abcdefghijkl` as in a header; `the bearer presented it` is prose.
        is_last = _AFTER_BEARER.match(found.string, found.end())
        is_prose_word = value.lower() in _BEARER_OF or is_prose(value)
        return bool(is_last) and found[1][0] == "B" and len(value) >= 8 and not is_prose_word
    has_digit = bool(re.search(r"\d", value))
    if len(value) < 8:
        return has_digit and bool(re.search(r"[A-Za-z]", value))
    return has_digit or bool(re.search(r"[a-z][A-Z]|[A-Za-z]{24}", value))
