"""What hides text: the few rules of style sheets by which a person sees less than a program reads.

Not a browser: inline styles, and rules of a style sheet for a tag, a class or an id. Where it is not sure
that text is hidden by its colour, the text is shown; everything else that hides text hides all inside it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from webordinary.intake.limits import STYLE_RULES

Colour = tuple[int, int, int]
Style = dict[str, str]

OFF_SCREEN_PIXELS = 400
TINY_PIXELS = 2
FAINT = 0.1  # opacity, or size in parts of the usual
SAME_COLOUR = 16  # of 255, in each of red, green and blue

_BRACE = re.compile(r"([{}])")
_SELECTOR = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][a-z_][\w-]*)?)", re.IGNORECASE)
_ALWAYS = re.compile(r"@media\s+(?:only\s+)?(?:screen|all)\s*", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))\s*([a-z%]*)", re.IGNORECASE)
_RGB = re.compile(r"rgba?\(([^)]{1,60})\)")
_HEX = re.compile(r"#([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b")
_NAMED: dict[str, Colour] = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "silver": (192, 192, 192),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "red": (255, 0, 0),
    "maroon": (128, 0, 0),
    "yellow": (255, 255, 0),
    "green": (0, 128, 0),
    "lime": (0, 255, 0),
    "blue": (0, 0, 255),
    "navy": (0, 0, 128),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245),
    "ghostwhite": (248, 248, 255),
}
WHITE, BLACK = _NAMED["white"], _NAMED["black"]
CLEAR: Colour = _NAMED.setdefault("transparent", (-1, -1, -1))
_WORD = re.compile(r"[a-z]+")
_NO_COLOUR = re.compile(
    r"none|inherit|initial|unset|currentcolor|repeat|no|x|y|px|scroll|fixed|top|left|right|bottom|center"
)
_PIXELS_EACH = {"": 1.0, "px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "ex": 8.0, "vw": 10.0, "vh": 8.0}
_EDGES = ("left", "top", "right", "bottom")


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How text looks inside an element. None is a colour that nobody knows: a picture, a gradient."""

    is_gone: bool = False  # for good: nothing inside can be seen
    is_unseen: bool = False  # until something inside says `visibility: visible`
    is_tiny: bool = False  # until something inside has a size of its own
    colour: Colour | None = BLACK
    ground: Colour | None = WHITE

    @property
    def is_visible(self) -> bool:
        """Say whether a person sees text here."""
        return not (self.is_gone or self.is_unseen or self.is_tiny or self._blends_in)

    @property
    def _blends_in(self) -> bool:
        if self.colour == CLEAR:
            return True
        if self.colour is None or self.ground is None:
            return False
        return all(abs(a - b) <= SAME_COLOUR for a, b in zip(self.colour, self.ground, strict=True))

    def inside(self, style: Style, attributes: Style) -> TextStyle:
        """How text looks inside a child with this style."""
        if self.is_gone or "hidden" in attributes or _is_gone(style):
            return TextStyle(is_gone=True)
        is_unseen, is_tiny = self.is_unseen, self.is_tiny
        if "visibility" in style:
            is_unseen = style["visibility"] in {"hidden", "collapse"} or (
                is_unseen and style["visibility"] != "visible"
            )
        if "font-size" in style:
            is_tiny = _is_tiny(style["font-size"], inherited=is_tiny)
        colour = _colour(style.get("color", attributes.get("color", "")), self.colour)
        ground = self.ground
        for value in (
            attributes.get("bgcolor", ""),
            style.get("background", ""),
            style.get("background-color", ""),
        ):
            ground = _ground(value, ground)
        if "background" in attributes or "background-image" in style:
            ground = None
        return TextStyle(is_unseen=is_unseen, is_tiny=is_tiny, colour=colour, ground=ground)


class StyleSheet:
    """The rules of a mail's style sheets, as far as they can hide text."""

    def __init__(self) -> None:
        """Start without rules."""
        self._rules: dict[str, Style] = {}

    def add(self, sheet: str) -> None:
        """Read the rules that apply always; what is only for a small screen or for print does not."""
        depth, skipped_from, selector = 0, 0, ""
        pieces = _BRACE.split(_without_comments(sheet))
        for text, brace in zip(pieces[::2], pieces[1::2], strict=False):
            if brace == "{":
                depth, selector = depth + 1, text.strip()
                if not skipped_from and selector.startswith("@") and not _ALWAYS.fullmatch(selector):
                    skipped_from = depth
                continue
            if selector and not skipped_from and not selector.startswith("@"):
                self._keep(selector, declarations(text))
            depth, selector = max(0, depth - 1), ""
            if depth < skipped_from:
                skipped_from = 0

    def _keep(self, selectors: str, style: Style) -> None:
        for selector in selectors.lower().split(","):
            if _SELECTOR.fullmatch(selector.strip()) and len(self._rules) < STYLE_RULES and style:
                self._rules[selector.strip()] = {**self._rules.get(selector.strip(), {}), **style}

    def style(self, tag: str, attributes: Style) -> Style:
        """What all rules and its own `style` attribute say of an element."""
        style: Style = {}
        if self._rules:
            names = [f".{name}" for name in attributes.get("class", "").lower().split()[:20]]
            names += [f"#{attributes['id'].lower()}"] if "id" in attributes else []
            for key in (tag, *names, *(f"{tag}{name}" for name in names)):
                style |= self._rules.get(key, {})
        return {**style, **declarations(attributes["style"])} if "style" in attributes else style


@lru_cache(maxsize=512)
def _declared(text: str) -> tuple[tuple[str, str], ...]:
    plain = _without_comments(_ESCAPE.sub(_unescaped, text) if "\\" in text else text).lower()
    pairs = (piece.partition(":") for piece in plain.replace("!important", "").split(";"))
    return tuple((name.strip(), value.strip()) for name, _, value in pairs if value.strip())


def declarations(text: str) -> Style:
    """Read `name: value; name: value`."""
    return dict(_declared(text))


def _unescaped(escape: re.Match[str]) -> str:
    number = int(escape[1], 16)
    return chr(number) if 0 < number < 0xD800 else ""  # noqa: PLR2004 - where half characters begin


def _without_comments(text: str) -> str:
    if "/*" not in text:
        return text
    before, *comments = text.split("/*")
    return before + "".join(comment.partition("*/")[2] for comment in comments)


# --- what hides -------------------------------------------------------------------------------------------


def _is_gone(style: Style) -> bool:
    return bool(style) and (
        style.get("display", "").startswith("none")
        or _size(style.get("opacity", "")) < FAINT
        or _has_no_room(style)
        or _is_off_screen(style)
        or _is_cut_away(style)
    )


def _has_no_room(style: Style) -> bool:
    sides = (style.get(name, "") for name in ("max-height", "height", "max-width", "width"))
    return "hidden" in style.get("overflow", "") and any(0 <= _size(side) <= 1 for side in sides)


def _is_off_screen(style: Style) -> bool:
    names = ["text-indent", "margin-left", "margin-top", "margin"]
    if style.get("position") in {"absolute", "fixed", "relative"}:
        names += _EDGES
    if any(_size(style[name]) <= -OFF_SCREEN_PIXELS for name in names if name in style):
        return True
    moves = style.get("transform", "")
    is_moved = "translate" in moves and any(
        _size(n[0]) <= -OFF_SCREEN_PIXELS for n in _NUMBER.finditer(moves)
    )
    return is_moved or "scale(0)" in moves.replace(" ", "")


def _is_cut_away(style: Style) -> bool:
    clip, path = style.get("clip", ""), style.get("clip-path", "")
    sizes = [_size(number[0]) for number in _NUMBER.finditer(clip)]
    is_clipped = clip.startswith("rect") and bool(sizes) and all(abs(size) <= 1 for size in sizes)
    return is_clipped or path.startswith(("inset(50%", "inset(100%", "circle(0"))


def _is_tiny(value: str, *, inherited: bool) -> bool:
    number = _NUMBER.match(value)
    if number is None:
        return False
    if number[2] in {"em", "%"}:
        return inherited or float(number[1]) < (FAINT if number[2] == "em" else 100 * FAINT)
    return _size(value) <= TINY_PIXELS


def _size(value: str) -> float:
    """A length in pixels, roughly. What is none compares with nothing."""
    number = _NUMBER.match(value)
    return float(number[1][:12]) * _PIXELS_EACH.get(number[2], 1.0) if number else math.nan


# --- colours ----------------------------------------------------------------------------------------------


def _ground(value: str, behind: Colour | None) -> Colour | None:
    if "url(" in value or "gradient" in value:
        return None
    colour = _colour(value, behind)
    return behind if colour == CLEAR else colour


def _colour(value: str, inherited: Colour | None) -> Colour | None:
    """Read a colour; None for one that is not known here."""
    value = value.lower()
    if written := _HEX.search(value):
        return _from_hex(written[1])
    if written := _RGB.search(value):
        return _from_numbers([float(number[1][:12]) for number in _NUMBER.finditer(written[1])])
    words = [word for word in _WORD.findall(value) if not _NO_COLOUR.fullmatch(word)]
    if not words:
        return inherited
    return next((_NAMED[word] for word in words if word in _NAMED), None)


def _from_hex(digits: str) -> Colour:
    if len(digits) <= len("rgba"):
        digits = "".join(digit * 2 for digit in digits)
    red, green, blue, alpha = (int(digits[i : i + 2] or "ff", 16) for i in (0, 2, 4, 6))
    return (red, green, blue) if alpha > FAINT * 255 else CLEAR


def _from_numbers(numbers: list[float]) -> Colour | None:
    if len(numbers) < len("rgb"):
        return None
    if len(numbers) > len("rgb") and numbers[3] < FAINT:
        return CLEAR
    red, green, blue = (int(number) for number in numbers[:3])
    return red, green, blue
