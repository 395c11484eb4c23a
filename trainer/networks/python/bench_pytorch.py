"""Times training steps of PerfSAGE in PyTorch on the CPU, on graphs like those of `litecast-networks bench`.

    python bench_pytorch.py [--hidden 256] [--graphs 64] [--nodes-per-graph 63] [--steps 10]

Needs `torch`, which nothing else here does. The network is that of src/gnn/perfsage.rs, layer for layer, with
the same loss of logarithms, gradients scaled down to a norm of 1, and Adam. Sums of neighbours are
`index_add`, the readout is a padded maximum, whichever of PyTorch's ways proved faster.
"""

import argparse
import time

import torch
from torch import nn

N_COLUMNS = 60
N_CATEGORIES = 25  # 24 that occur, and all others
N_OUTPUTS = 12
EMBEDDING = 16
HEAD = 1024
N_LAYERS = 8
N_HEAD_LAYERS = 4


class PerfSage(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(N_CATEGORIES, EMBEDDING))
        self.encoders = nn.ModuleList(
            nn.Linear(N_COLUMNS + EMBEDDING, hidden) for _ in range(N_CATEGORIES)
        )
        self.layers = nn.ModuleList(nn.Linear(2 * hidden, hidden) for _ in range(N_LAYERS))
        widths = [hidden] + [HEAD] * N_HEAD_LAYERS
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.output = nn.Linear(HEAD, N_OUTPUTS)

    def forward(self, batch):
        encoded = [
            encoder(torch.cat([rows, self.embedding[k].expand(len(rows), -1)], 1))
            for k, (encoder, rows) in enumerate(zip(self.encoders, batch["rows"]))
        ]
        hidden = torch.relu(torch.cat(encoded).index_select(0, batch["row_of_node"]))
        for layer in self.layers:
            sums = torch.zeros_like(hidden).index_add(0, batch["to"], hidden.index_select(0, batch["from"]))
            hidden = torch.relu(layer(torch.cat([hidden, sums], 1)))
        graphs = hidden.view(batch["n_graphs"], -1, hidden.shape[1]).amax(1)
        for layer in self.head:
            graphs = torch.relu(layer(graphs))
        return self.output(graphs)


def make_batch(n_graphs, n_nodes):
    """A chain of operators with a skip edge every few of them, as gnn/synthetic.rs has it."""
    edges = [(i - 1, i) for i in range(1, n_nodes)] + [(i - 3, i) for i in range(4, n_nodes, 4)]
    src, dst = (torch.tensor(ends) for ends in zip(*edges))
    first = (torch.arange(n_graphs) * n_nodes)[:, None]
    src, dst = (first + src).flatten(), (first + dst).flatten()
    categories = torch.randint(1, N_CATEGORIES, (n_graphs * n_nodes,))
    features = torch.randn(n_graphs * n_nodes, N_COLUMNS)
    by_category = [torch.nonzero(categories == k)[:, 0] for k in range(N_CATEGORIES)]
    row_of_node = torch.empty_like(categories)
    row_of_node[torch.cat(by_category)] = torch.arange(len(categories))
    return {
        "n_graphs": n_graphs,
        "rows": [features[nodes] for nodes in by_category],
        "row_of_node": row_of_node,
        "from": torch.cat([src, dst]),
        "to": torch.cat([dst, src]),
        "labels": torch.randn(n_graphs, N_OUTPUTS),
    }


def step(model, optimiser, batch):
    optimiser.zero_grad()
    loss = (model(batch) - batch["labels"]).abs().mean()
    loss.backward()
    for weights in model.parameters():
        nn.utils.clip_grad_norm_([weights], 1.0)
    optimiser.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--graphs", type=int, default=64)
    parser.add_argument("--nodes-per-graph", type=int, default=63)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = PerfSage(args.hidden)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    batch = make_batch(args.graphs, args.nodes_per_graph)
    step(model, optimiser, batch)
    started = time.perf_counter()
    for _ in range(args.steps):
        step(model, optimiser, batch)
    elapsed_ms = (time.perf_counter() - started) * 1e3 / args.steps
    n_parameters = sum(weights.numel() for weights in model.parameters())
    print(f"{n_parameters} parameters\n{elapsed_ms:.1f} ms per step (PyTorch {torch.__version__})")


if __name__ == "__main__":
    main()
