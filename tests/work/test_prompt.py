"""What an agent is told about the files of a mail."""

from webordinary.core.work import MailedFile
from webordinary.work.prompt import Material, compose


def test_the_agent_knows_what_the_sender_calls_a_file() -> None:
    """An instruction speaks of small.jpg; without this nobody could tell which one that is."""
    files = (MailedFile("image-1.png", "image/png", "small.jpg"), MailedFile("image-2.jpg", "image/jpeg"))
    prompt = compose("j1", "Put small.jpg on top", Material(files=files))
    assert "- image-1.png (image/png), called 'small.jpg' by the sender\n" in prompt
    assert "- image-2.jpg (image/jpeg)\n" in prompt
