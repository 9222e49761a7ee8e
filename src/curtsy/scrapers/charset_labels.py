"""The labels of charsets that browsers know (the encoding standard), each with Python's codec.

Browsers read some charsets as their supersets, and pages rely on that: ISO-8859-1 is windows-1252.
Python's own aliases would not do: some of Python's codecs are not charsets, and browsers know other
labels. Beyond the standard, the labels of UTF-32, ISO-2022-KR and HZ are read, which browsers
refuse.
"""

USER_DEFINED = "x-user-defined"
"""Not a codec of Python: bytes from 0x80 on become private characters, U+F780 to U+F7FF."""

_LABELS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16-le": "utf-16le unicodefeff",
    "utf-16-be": "utf-16be unicodefffe",
    "utf-16": "utf-16 csunicode iso-10646-ucs-2 ucs-2 unicode",
    "utf-32": "utf-32",
    "utf-32-le": "utf-32le",
    "utf-32-be": "utf-32be",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-ir-101 l2 latin2 iso_8859-2:1987",
    "iso8859-3": "csisolatin3 iso-ir-109 l3 latin3 iso_8859-3:1988",
    "iso8859-4": "csisolatin4 iso-ir-110 l4 latin4 iso_8859-4:1988",
    "iso8859-5": "csisolatincyrillic cyrillic iso-ir-144 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e "
    "iso-8859-6-i iso-ir-127 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 sun_eu_greek "
    "iso_8859-7:1987",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 visual csiso88598i "
    "iso-8859-8-i logical iso_8859-8:1988",
    "iso8859-10": "csisolatin6 iso-ir-157 l6 latin6",
    "iso8859-13": "",
    "iso8859-14": "",
    "iso8859-15": "csisolatin9 l9",
    "iso8859-16": "",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1252": "ansi_x3.4-1968 ascii cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 "
    "iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii",
    "cp1254": "csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 "
    "l5 latin5",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk "
    "gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp_ext": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 "
    "ksc5601 ksc_5601 windows-949",
    "iso2022_kr": "iso-2022-kr csiso2022kr",
    "hz": "hz-gb-2312",
    USER_DEFINED: "x-user-defined",
}  # fmt: skip
_BY_DETECTOR = {
    "uhc": "cp949", "mac-cyrillic": "mac-cyrillic", "ibm852": "cp852", "ibm855": "cp855",
    "utf-16": "utf-16", "iso-8859-11": "cp874",
}  # fmt: skip
"""Names that only the detector uses."""


def _codecs() -> dict[str, str]:
    known = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}
    for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16):
        codec = f"iso8859-{number}"
        known[f"iso-8859-{number}"] = codec
        if number != 16:  # of which the standard has one label only
            known[f"iso8859-{number}"] = known[f"iso8859{number}"] = codec
        if number <= 8 or number == 15:
            known[f"iso_8859-{number}"] = codec
    for number in range(1250, 1259):
        for form in ("cp", "windows-", "x-cp"):
            known[f"{form}{number}"] = f"cp{number}"
    return known


CODECS = _codecs()


def codec_of(label: str | None) -> str | None:
    """Returns the codec of a label as browsers read it; None: they do not know the label."""
    return CODECS.get(label.strip("\t\n\f\r ").lower()) if label else None


def codec_of_detected(name: str | None) -> str | None:
    lower = (name or "").lower()
    return CODECS.get(lower) or _BY_DETECTOR.get(lower)
