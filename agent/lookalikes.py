"""Letters of other alphabets that look like Latin ones, read as those."""

import unicodedata

# Upper case apart from lower case, because the same letter may look like two different ones.
_LATIN = {
    # Cyrillic
    "А": "A", "В": "B", "Е": "E", "Ѕ": "S", "І": "I", "Ј": "J", "К": "K", "М": "M", "Н": "H",
    "О": "O", "Р": "P", "С": "C", "Т": "T", "У": "Y", "Ү": "Y", "Х": "X", "Ѵ": "V", "Ӏ": "I",
    "Ԍ": "G", "Һ": "H", "Ԛ": "Q", "Ԝ": "W", "Ԁ": "D",
    "а": "a", "в": "b", "е": "e", "ѕ": "s", "і": "i", "ј": "j", "к": "k", "м": "m", "н": "h",
    "о": "o", "р": "p", "с": "c", "т": "t", "у": "y", "ү": "y", "х": "x", "ѵ": "v", "ӏ": "l",
    "ԍ": "g", "һ": "h", "ԛ": "q", "ԝ": "w", "ԁ": "d", "г": "r", "п": "n", "ц": "u", "ъ": "b",
    "ь": "b", "ё": "e",
    # Greek
    "Α": "A", "Β": "B", "Ε": "E", "Ζ": "Z", "Η": "H", "Ι": "I", "Κ": "K", "Μ": "M", "Ν": "N",
    "Ο": "O", "Ρ": "P", "Τ": "T", "Υ": "Y", "Χ": "X",
    "α": "a", "β": "b", "γ": "y", "ε": "e", "η": "n", "ι": "i", "κ": "k", "ν": "v", "ο": "o",
    "ρ": "p", "σ": "o", "τ": "t", "υ": "u", "χ": "x", "ω": "w", "ϳ": "j",
    # Armenian
    "Ս": "U", "Տ": "S", "Օ": "O", "Լ": "L",
    "ա": "w", "գ": "q", "զ": "q", "հ": "h", "ո": "n", "ս": "u", "ց": "g", "ք": "p", "օ": "o",
    "յ": "j", "ռ": "n",
    # Latin that is not ASCII: no dot, a bar, small capitals, the letters of phonetics
    "ı": "i", "ȷ": "j", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ɑ": "a", "ɡ": "g", "ɩ": "i",
    "ʋ": "v", "ɯ": "w", "ɾ": "r", "ᴀ": "a", "ʙ": "b", "ᴄ": "c", "ᴅ": "d", "ᴇ": "e", "ꜰ": "f",
    "ɢ": "g", "ʜ": "h", "ɪ": "i", "ᴊ": "j", "ᴋ": "k", "ʟ": "l", "ᴍ": "m", "ɴ": "n", "ᴏ": "o",
    "ᴘ": "p", "ʀ": "r", "ꜱ": "s", "ᴛ": "t", "ᴜ": "u", "ᴠ": "v", "ᴡ": "w", "ʏ": "y", "ᴢ": "z",
}  # fmt: skip
_TABLE = str.maketrans(_LATIN)
# Accents, strokes through letters, variation selectors.
_MARKS = ("Mn", "Me")


def as_latin(text: str) -> str:
    """The text in lower case, in plain Latin letters where it looks so; only for comparing."""
    plain = unicodedata.normalize("NFKD", text)
    bare = "".join(it for it in plain if unicodedata.category(it) not in _MARKS)
    return bare.translate(_TABLE).casefold()
