"""Stage 2, mail -> lane and session: session id, then thread, then sender; and what the mail wants."""
