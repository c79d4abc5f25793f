"""Stage 7, outcome -> mail: compose the letters that are owed, and send each once."""
