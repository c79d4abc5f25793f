"""Every interleaving of the real rules of the claim protocol, on a small store, right and wrong.

rows      the store's rows as values: frozen, thawed, aged, renamed
calls     what can be asked of the store, and the answers as values
checks    what must hold in every state and of every step
world     everything that can happen next: calls, time, crashes, lost and late messages
graph     every reachable state visited, and what was broken on the way
faults    wrong rules, stores and callers, each in a small world in which the search has to find it
"""
