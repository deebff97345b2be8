"""PyTorch tagger with a line tracer of a debugging session still set, which is called for each line of Python."""

import sys

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
table = nn.EmbeddingBag(5000, 64)
head = nn.Linear(64, 12)
optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.01)
letters = "abcdefghijklmnopqrstuvwxyz"
texts = [[letters[i * 7 % 26] * (i % 5 + 1) + letters[i % 26] for i in range(row, row + 20)] for row in range(48)]
visited = {}


def count_line(frame, event, _):
    if event == "line":
        place = (frame.f_code.co_filename, frame.f_lineno)
        visited[place] = visited.get(place, 0) + 1
    return count_line


if not FIXED:
    sys.settrace(count_line)


def hash_word(word):
    value = 5381
    for letter in word:
        value = (value * 33 + ord(letter)) % 1_000_003
    return value % 5000


def tokens_of(text):
    numbers = []
    for word in text:
        numbers.append(hash_word(word))
    return numbers


def train_step():
    tokens = torch.tensor([tokens_of(text) for text in texts])
    loss = head(table(tokens)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    train_step()
    for steps in windows(8, with_stack=True):
        for _ in steps:
            train_step()
            mark_step()


main()
