"""PyTorch beam search that turns all continuations of its beams into Python tuples and sorts them."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
WORDS, BEAMS = 3000, 8
cell, head = nn.GRUCell(256, 256), nn.Linear(256, WORDS)
words = nn.Embedding(WORDS, 256)


def best_continuations(scores, odds):
    total = scores[:, None] + odds
    if FIXED:
        values, places = total.flatten().topk(BEAMS)
        return values, places // WORDS, places % WORDS
    candidates = []
    for beam, row in enumerate(total.tolist()):
        for word, value in enumerate(row):
            candidates.append((value, beam, word))
    candidates.sort(reverse=True)
    values, beams, chosen = zip(*candidates[:BEAMS])
    return torch.tensor(values), torch.tensor(beams), torch.tensor(chosen)


@torch.inference_mode()
def advance(state, tokens, scores):
    state = cell(words(tokens), state)
    scores, beams, tokens = best_continuations(scores, head(state).log_softmax(1))
    return state[beams], tokens, scores


beams = advance(torch.zeros(BEAMS, 256), torch.zeros(BEAMS, dtype=torch.long), torch.zeros(BEAMS))
for steps in windows(8, with_stack=True):
    for _ in steps:
        beams = advance(*beams)
        mark_step()
