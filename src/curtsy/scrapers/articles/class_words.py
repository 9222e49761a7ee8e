"""What the names in `class` and `id` say of an element. They are English in most of the world."""

import re
from functools import lru_cache

NOISE = 1
"""Not part of the article: advertising, sharing, related pages, forms."""
COMMENTS = 2
"""What readers wrote."""
STORY_BODY = 4
"""The text of an article, by name."""
STORY = 8
"""An article, by name."""
MAIN_CONTENT = 16
BYLINE = 32
DATE = 64
HEADLINE = 128
TAGS = 256
HIDDEN = 512
"""Not shown, or for screen readers only."""

LONGEST_NAMES = 300
"""Characters of `class` and `id` that are looked at."""


def _any_of(*words: str) -> re.Pattern[str]:
    """Matches a word at the start of a name or of a part of it, however the parts are joined."""
    return re.compile(rf"(?:^|[^a-z])(?:{'|'.join(words)})")


_END = r"(?![a-z])"
_PIECE = r"(?:article|post|entry|story|news|blog|blogpost)"
_WIDGET = "(?<!elementor-)(?<!siteorigin-)(?<!so-)widget"
"""But not the parts of which page builders make the article itself."""
_NOISE = _any_of(
    r"shar(?:e|ing|ed)", "social", "relat(?:ed|ion)", "recommend", "recirc",
    rf"promo(?:s|tion)?{_END}",
    "sidebar", "side-bar", rf"rails?{_END}", _WIDGET, "newsletter", "subscri", "sign-?up",
    "mailing-?list",
    rf"ads?{_END}", "advert", "adslot", "adunit", "adbox", "adsense", "banner", "sponsor", "dfp",
    "breadcrumb", "cookie", "consent", "gdpr", "privacy", rf"foot(?:er|notes-?nav)?{_END}", "navi?",
    rf"menu{_END}", "paginat", rf"pager{_END}", "popup", "pop-up", "modal", "overlay", "lightbox",
    "skip-?(?:link|to|nav)", rf"tags?{_END}", "taglist", "tagcloud", "tag-cloud", "toolbar",
    "toolbox",
    "byline", "dateline", "timestamp", "author", "biograph", rf"bio{_END}", "contributor",
    rf"meta{_END}", "metadata", "postmeta", "captions?", rf"credits?{_END}", "teaser",
    "most-?(?:read|popular|viewed|recent)", "popular", "trending", "read-?(?:more|next|also)",
    "more-(?:on|from|stories|news|articles)", "also-?(?:read|like)", "see-?also", "up-?next",
    "next-(?:post|article|story)", "prev(?:ious)?-(?:post|article|story)", "rating", "log-?in",
    "feedback", "disclaimer", "copyright", rf"print{_END}", "donat", "call-?to-?action",
    rf"cta{_END}", "follow", "poll", "quiz", "carousel", "slider", "outbrain", "taboola", "zergnet",
    "jp-", "addthis", "likes?-", "actions?", "category", "categories", "kicker",
    "edit-?(?:link|section)",
    "no-?print", "toc", "infobox", "navbox", "hatnote", "reflist", "placeholder", "skeleton",
)  # fmt: skip
_READERS = (
    r"(?<!no-)(?<!has-)(?<!with-)comments?(?!s|ary|ator|-(?:open|closed|on|off|enabled|disabled))"
)
"""But not where the name says whether an article has comments."""
_HIDDEN = _any_of(
    # Not what is cut off at its edge, nor what is left out of small screens or of print.
    r"(?<!overflow-)(?<!overflow-[xy]-)(?<!:)hidden(?![a-z]|-(?:xs|sm|print|phone|mobile))",
    rf"hide{_END}", "sr-only", "screen-?reader", "visually-?hidden",
)  # fmt: skip
_COMMENTS = _any_of(_READERS, "commentlist", "disqus", "respond", "repl(?:y|ies)",
                    "discussion-?(?:thread|list)", "livefyre", "responses")  # fmt: skip
_STORY_BODY = re.compile(
    rf"(?:^|[^a-z]){_PIECE}s?(?:[-_]?(?:detail|full|inner|main|single|view))?s?[-_]*"
    rf"(?:body|content|contents|text|copy){_END}|(?:^|[^a-z])body-?(?:copy|text|content)"
    rf"|rich-?text|(?:^|[^a-z])e-content|(?:^|[^a-z])prose{_END}"
)
_STORY = re.compile(rf"(?:^|[^a-z])(?:h-entry|hentry|{_PIECE}s?){_END}")
_MAIN_CONTENT = re.compile(
    r"(?:^|[^a-z])(?:main[-_]?(?:content|body|text|column|col)|content[-_]?(?:main|body|area|text)"
    rf"|page[-_]?(?:content|body)|content|main|primary|contenttext|mw-parser-output){_END}"
)
_BYLINE = re.compile(r"author|by-?line|writer|redakt|auteur|verfasser|autor|journalist|reporter")
_NO_BYLINE = re.compile(
    r"bio|avatar|image|photo|pic|social|follow|comment|related|desc|about|job|twitter|mail|articles|"
    r"posts|date|time"
)
_DATE = re.compile(r"date|time|publi(?:sh|c)|posted|fecha|datum|dato|created")
_HEADLINE = re.compile(rf"(?:^|[^a-z])(?:headline|{_PIECE}[-_]*(?:title|headline|heading)){_END}")
_TAGS = re.compile(rf"(?:^|[^a-z])(?:tags?|topics?|keywords){_END}|taglist")
_WHOLE_POST = re.compile(rf"(?:^|[^a-z])(?:hentry|type-post|type-page){_END}")
"""Names that WordPress gives to an article, beside those of its categories and tags."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RULES = (
    (_NOISE, NOISE, ("",)),
    (_HIDDEN, HIDDEN | NOISE, ("hid", "sr-only", "screen")),
    (_COMMENTS, COMMENTS, ("comment", "disqus", "respon", "repl", "discussion", "livefyre")),
    (_STORY_BODY, STORY_BODY, ("body", "content", "text", "copy", "prose")),
    (_STORY, STORY, ("article", "post", "entry", "story", "news", "blog")),
    (_MAIN_CONTENT, MAIN_CONTENT, ("main", "content", "body", "primary", "mw-parser")),
    (_DATE, DATE, ("",)),
    (_HEADLINE, HEADLINE, ("headline", "title", "heading")),
    (_TAGS, TAGS, ("tag", "topic", "keyword")),
)
"""Each with fragments of which one stands in every match: to look for those is far cheaper than
the pattern, and new names are met on every page."""


@lru_cache(maxsize=20_000)
def meaning_of(names: str) -> int:
    """Returns the flags of the names; at most `LONGEST_NAMES` characters are to be given."""
    words = _HUMP.sub("-", names).lower()
    flags = 0
    for pattern, flag, fragments in _RULES:
        for fragment in fragments:
            if fragment in words:
                if pattern.search(words):
                    flags |= flag
                break
    if flags & NOISE and _WHOLE_POST.search(words):
        flags &= ~NOISE
    if _BYLINE.search(words) and not _NO_BYLINE.search(words):
        flags |= BYLINE
    return flags
