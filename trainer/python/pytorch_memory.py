"""Counts the bytes that PyTorch holds for activations, on its meta device, where no memory is needed.

usage: pytorch_memory.py MODEL:SIZE... > TABLE.csv

One row a timm model, for one image in float32: model, image_size, peak_bytes (most bytes of activations
alive at a time in inference), kept_bytes (what a forward pass in training mode keeps for the backward
pass; parameters and buffers are not counted). Storages count once, however many tensors view them.

Needs torch and timm, as export_timm.py does.
"""

import sys
import warnings
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Alive(TorchDispatchMode):
    """Bytes of the storages that operators make, until nothing refers to them."""

    def __init__(self, known):
        super().__init__()
        self.known = set(known)
        self.bytes = self.peak = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(tensor, torch.Tensor):
                self.count(tensor.untyped_storage())
        return out

    def count(self, storage):
        key = storage._cdata
        if key in self.known:
            return
        self.known.add(key)
        n_bytes = storage.nbytes()
        self.bytes += n_bytes
        self.peak = max(self.peak, self.bytes)
        weakref.finalize(storage, self.free, key, n_bytes)

    def free(self, key, n_bytes):
        self.known.discard(key)
        self.bytes -= n_bytes


def storages(network):
    tensors = [*network.parameters(), *network.buffers()]
    return {tensor.untyped_storage()._cdata for tensor in tensors}


def measured(network, side):
    own = storages(network)
    with torch.device("meta"):
        image = torch.empty(1, 3, side, side)
    own.add(image.untyped_storage()._cdata)
    alive = Alive(own)
    with alive, torch.no_grad():
        network.eval()(image)
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            # Held, so that no other storage gets its address.
            kept[storage._cdata] = (storage, storage.nbytes())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        out = network.train()(image)
    del out
    return alive.peak, sum(n_bytes for _, n_bytes in kept.values())


def main():
    warnings.filterwarnings("ignore")
    import timm

    print("model,image_size,peak_bytes,kept_bytes")
    for argument in sys.argv[1:]:
        model, side = argument.split(":")
        try:
            with torch.device("meta"):
                network = timm.create_model(model, pretrained=False)
            peak, kept = measured(network, int(side))
            print(model, side, peak, kept, sep=",", flush=True)
        except Exception as error:
            print(model, str(error)[:100], file=sys.stderr)


if __name__ == "__main__":
    main()
