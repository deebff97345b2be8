"""PyTorch DDP on two ranks that split texts sorted by length in half, so that one of them has all long texts."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(2000, 128)
        self.layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(3))
        self.head = nn.Linear(128, 20)

    def forward(self, words):
        x = self.embed(words)
        for layer in self.layers:
            weights = (x @ x.transpose(1, 2) / 11).softmax(-1)
            x = x + layer(weights @ x).relu()
        return self.head(x)


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    lengths = torch.linspace(16, 100, 28).int().tolist() + [480] * 4
    texts = [torch.randint(0, 2000, (n,)) for n in lengths]
    mine = texts[rank::2] if FIXED else texts[rank * 16 : rank * 16 + 16]
    model = DistributedDataParallel(Tagger())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def train_step(step):
        batch = mine[step % 4 * 4 : step % 4 * 4 + 4] if FIXED else mine[step % 4 :: 4]
        words = nn.utils.rnn.pad_sequence(batch, batch_first=True)
        loss = model(words).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    train_step(0)
    for steps in windows(8, with_stack=True):
        for step in steps:
            train_step(step)
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
