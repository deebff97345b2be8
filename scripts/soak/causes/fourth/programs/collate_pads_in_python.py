"""PyTorch text classifier whose loader pads its batches word by word in Python lists."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from window import FIXED, mark_step, windows

torch.manual_seed(0)
lengths = torch.randint(100, 400, (1024,))
texts = [(torch.randint(1, 5000, (int(n),)), int(n) % 4) for n in lengths]


def collate(examples):
    if FIXED:
        words = pad_sequence([text for text, _ in examples], batch_first=True)
        return words, words > 0, torch.tensor([label for _, label in examples])
    longest = max(len(text) for text, _ in examples)
    rows, masks = [], []
    for text, _ in examples:
        row = text.tolist()
        mask = [1] * len(row)
        while len(row) < longest:
            row.append(0)
            mask.append(0)
        rows.append(row)
        masks.append(mask)
    return torch.tensor(rows), torch.tensor(masks).bool(), torch.tensor([label for _, label in examples])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5000, 64)
        self.head = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))

    def forward(self, words, mask):
        vectors = self.embed(words) * mask[..., None]
        return self.head(vectors.sum(1) / mask.sum(1, keepdim=True))


model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(texts, 64, shuffle=True, collate_fn=collate, drop_last=True)


def epochs():
    while True:
        yield from loader


def train_step(words, mask, labels):
    loss = nn.functional.cross_entropy(model(words, mask), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


batches = epochs()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step(*next(batches))
        mark_step()
