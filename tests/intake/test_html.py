"""HTML as a person sees it. The corpus has whole mails; here is each way to hide text, and honest twins."""

from __future__ import annotations

import pytest

from webordinary.core.mail import StretchKind
from webordinary.intake.html import html_to_stretches

HIDDEN_STYLES = [
    "display:none",
    "DISPLAY: None",
    "display:none!important",
    "visibility:hidden",
    "visibility:collapse",
    "font-size:0",
    "font-size:0px;",
    "font-size:1px",
    "font-size:0.01em",
    "font-size:2%",
    "opacity:0",
    "opacity:0.01",
    "color:white",
    "color:#fff",
    "color:#FFFFFF",
    "color:#fefefe",
    "color:rgb(255, 255, 255)",
    "color:rgba(0,0,0,0)",
    "color:#00000000",
    "color:transparent",
    "color:#123456;background-color:#123456",
    "color:red;background:red",
    "position:absolute;left:-9999px",
    "position:fixed; top:-1000px",
    "position:absolute;left:-100em",
    "text-indent:-9999px",
    "margin-left:-5000px",
    "max-height:0;overflow:hidden",
    "height:0px;overflow:hidden",
    "width:1px;height:1px;overflow:hidden",
    "clip:rect(0,0,0,0)",
    "clip:rect(1px, 1px, 1px, 1px)",
    "clip-path:inset(100%)",
    "transform:scale(0)",
    "transform:translateX(-9999px)",
    "/* x */display:none",
    "dis\\70lay:none",
]
VISIBLE_STYLES = [
    "",
    "display:block",
    "visibility:visible",
    "font-size:12px",
    "font-size:small",
    "font-size:90%",
    "opacity:0.9",
    "opacity:inherit",
    "color:black",
    "color:#777",
    "color:blue",
    "color:papayawhip",
    "color:var(--text)",
    "color:inherit",
    "color:white;background:#036",
    "color:white;background-color:navy",
    "color:#fff;background:url(x.png) no-repeat",
    "color:#fff;background:linear-gradient(red, blue)",
    "color:#fff;background-image:url(x.png)",
    "position:absolute;left:10px",
    "position:relative;left:-5px",
    "text-indent:-20px",
    "margin-left:-10px",
    "max-height:0",
    "max-height:none;overflow:hidden",
    "height:auto;overflow:hidden",
    "width:100%;overflow:hidden",
    "clip:auto",
    "clip:rect(0,100px,100px,0)",
    "transform:scale(1.5)",
    "transform:rotate(-900deg)",
    "content:'display:none'",
]


def html_to_text(html: str) -> str:
    return "\n".join(stretch.text for stretch in html_to_stretches(html)).strip("\n")


@pytest.mark.parametrize("style", HIDDEN_STYLES)
def test_text_that_nobody_sees_is_not_read(style: str) -> None:
    """Hidden text is how a newsletter gives orders to the machine that its reader forwards it to."""
    assert html_to_text(f'<p>a</p><div style="{style}">secret</div><p>b</p>') == "a\n\nb"
    assert html_to_text(f'<p>a</p><div style="{style}"><p>x<b>secret</b></p></div><p>b</p>') == "a\n\nb"
    sheet = f"<style>.x{{{style}}} td{{color:red}}</style>"
    assert html_to_text(f'{sheet}<p>a</p><div class="y x">secret</div><p>b</p>') == "a\n\nb"


@pytest.mark.parametrize("style", VISIBLE_STYLES)
def test_text_that_is_seen_is_read(style: str) -> None:
    """Every rule against hiding is also a way to lose somebody's words."""
    assert html_to_text(f'<div style="{style}">words</div>') == "words"


@pytest.mark.parametrize(
    "html",
    [
        "<div hidden>secret</div>",
        "<!-- secret -->",
        "<!-- > secret -->",
        "<!--[if mso]>secret<![endif]-->",
        "<script>secret</script>",
        "<script>if (a</b) secret</script >",
        "<style>secret</style>",
        "<title>secret</title>",
        "<template>secret</template>",
        "<textarea>secret</textarea>",
        "<select><option>secret</select>",
        "<head>secret</head>",
        "<font color=#ffffff>secret</font>",
        "<table bgcolor=black><tr><td><font color=black>secret</table>",
        "<style>#x{display:none}</style><p id=x>secret",
        "<style>p.x, b{display:none}</style><p class=x>secret",
        "<style>@media all{.x{display:none}}</style><p class=x>secret",
        "<style>@media print{.y{}} .x{display:none}</style><p class=x>secret",
        "<div style='display:none'><p>secret</span></b></p>secret</div>",
        "<div style='display:none'><table><tr><td></div>secret",
        "<span style='display:none'><div></span>secret",
        "<p style=display:none>secret",
        "<p style='display:none' style='display:block'>secret",
    ],
)
def test_hidden_is_hidden_however_it_is_written(html: str) -> None:
    assert "secret" not in html_to_text(f"words {html}")
    assert "words" in html_to_text(f"words {html}")


@pytest.mark.parametrize(
    "html",
    [
        "<p style='display:none'>x<p>words",
        "<li style='display:none'>x<li>words",
        "<table><tr style='display:none'><td>x<tr><td>words</table>",
        "<table><tr><td style='display:none'>x<td>words</table>",
        "<div style='display:none'>x</div>words",
        "<div style='display:none'><div>x</div></div>words",
        "<img style='display:none'>words",
        "<br style='display:none'>words",
        "<style>@media print{.x{display:none}}</style><p class=x>words",
        "<style>@media (max-width:9px){.x{display:none}}</style><p class=x>words",
        "<style>.a .x{display:none}</style><p class=x>words",
        "<style>.x{display:none</style><p class=y>words",
        "<!-->words",
        "<!---->words",
        "<![if !mso]>words<![endif]>",
        "<!>words",
        "<!doctype html>words",
        "<?xml version='1.0'?>words",
        "<p =x y= 'z'>words",
        '<p x="a\'b>c" y>words',
        "words<p x='never ended>",
        "</div></div>words",
        "<noscript>words</noscript>",
    ],
)
def test_what_ends_a_hidden_piece_ends_it(html: str) -> None:
    assert html_to_text(html).strip("- ") == "words"


@pytest.mark.parametrize(
    ("html", "seen"),
    [
        ("a  b\n c", "a b c"),
        ("<b>a</b><i>b</i> <u>c</u>", "ab c"),
        ("a<br>b<br/>c<br><br>d", "a\nb\nc\n\nd"),
        ("<div>a</div><div><br></div><div>b</div>", "a\n\nb"),
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ("<ul><li>a</li><li>b</li></ul>c", "- a\n- b\n\nc"),
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ("<ol start=5><li>a<li value=9>b<li>c</ol>", "5. a\n9. b\n10. c"),
        ("<ol start=3 reversed><li>a<li>b</ol>", "3. a\n2. b"),
        ("<ol start='x'><li>a</ol><ol><li>b</ol>", "1. a\n\n1. b"),
        ("<ol><li>a<ul><li>b</ul><li>c</ol>", "1. a\n\n  - b\n\n2. c"),
        ("<ol><li><p>a</p></li><li></li><li>c</li></ol>", "1. a\n\n3. c"),
        ("was <s>10</s> <del>11</del> 12", "was ~~10~~ ~~11~~ 12"),
        ("<p style='text-decoration: line-through'>old <b>price</b></p>new", "~~old~~ ~~price~~\n\nnew"),
        ("<style>.x{text-decoration-line:line-through}</style><i class=x>gone</i>", "~~gone~~"),
        ("<table><tr><td>a</td><td></td><td>b</td></tr></table>", "a | | b"),
        ("<table><tr><td><p>a</p></td><td><p>b</p></td></tr><tr><td>c<td>d</table>", "a | b\nc | d"),
        (
            "<table><tr><th></th><th>Mon</th></tr><tr><td>am</td><td>9-12</td></tr></table>",
            " | Mon\nam | 9-12",
        ),
        ("<table border=1><tr><td></td><td></td><td>x</td></tr></table>", " | | x"),
        ("<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr></table>", "a\n\nb\n\nc"),
        ("<table><tr><td><table><tr><td>a<td>b</table><td>c</table>", "a | b\n\nc"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("&lt;a&gt; &amp; &uuml; &#252; &nosuch;", "<a> & ü ü &nosuch;"),
        ("<a href='https://x.example.org/y'>here</a>", "here <https://x.example.org/y>"),
        ("<a href='https://x.example.org/'>x.example.org</a>", "x.example.org"),
        ("<a href='mailto:a@example.org'>a@example.org</a>", "a@example.org"),
        ("<a href='javascript:x()'>here</a>", "here"),
        ("<img src='cid:a1' alt=x> <img src='https://example.org/x.png' alt=y>", "[cid:a1]"),
        ("<blockquote type=cite>a<blockquote>b</blockquote></blockquote>c", "> a\n> >\n> > b\n\nc"),
        ("<blockquote style='border:none'>a</blockquote>", "a"),
        ("5 < 6 and 7 > 6", "5 < 6 and 7 > 6"),
        ("a<", "a<"),
        ("a<b", "a"),
        ("", ""),
    ],
)
def test_the_text_looks_as_it_does_in_a_mail_program(html: str, seen: str) -> None:
    assert html_to_text(html) == seen


def test_what_programs_name_as_theirs_is_marked_and_kept() -> None:
    """A signature is read with the rest: people write below it, and some even in it."""
    html = "<p>Hi</p><div class=gmail_signature>Scott<br>Bakery</div><p>PS: no cake</p>"
    assert [(one.kind, one.text.strip()) for one in html_to_stretches(html)] == [
        (StretchKind.OWN, "Hi"),
        (StretchKind.SIGNATURE, "Scott\nBakery"),
        (StretchKind.OWN, "PS: no cake"),
    ]
