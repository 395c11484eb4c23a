"""Puts graphs without weights together (docs/guide/graph-json.md): what the two builders beside this file share."""

FUSED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD")


class Tensor:
    """A tensor of a graph that is being built; images are NHWC."""

    def __init__(self, graph, name, shape):
        self.graph, self.name, self.shape = graph, name, tuple(shape)


class Graph:
    """An int8 network."""

    def __init__(self):
        self.tensors, self.operators, self.inputs = [], [], []

    def input(self, shape):
        tensor = self._tensor(shape)
        self.inputs.append(tensor.name)
        return tensor

    def apply(self, kind, inputs, shape, /, **attributes):
        """The output, of a shape, of an operator."""
        output = self._tensor(shape)
        names = [tensor.name for tensor in inputs]
        self.operators.append({"kind": kind, "inputs": names, "outputs": [output.name], "attributes": attributes})
        return output

    def weighted(self, kind, x, weights, n_outputs, shape, /, **attributes):
        """The same with weights of a shape and a bias."""
        constants = [self._tensor(weights, constant=True), self._tensor([n_outputs], "int32", constant=True)]
        return self.apply(kind, [x, *constants], shape, **attributes)

    def activate(self, x, activation):
        """An activation, which TFLite keeps in the operator before it where that has none."""
        last = self.operators[-1] if self.operators else None
        is_before = last and last["outputs"] == [x.name] and last["kind"] in FUSED
        if not is_before or "activation" in last["attributes"]:
            return self.apply(activation, [x], x.shape)
        last["attributes"]["activation"] = activation
        return x

    def document(self, output, name=""):
        return {
            "format": "litecast-graph",
            "version": 1,
            "name": name,
            "inputs": self.inputs,
            "outputs": [output.name],
            "tensors": self.tensors,
            "operators": self.operators,
        }

    def _tensor(self, shape, dtype="int8", constant=False):
        name = f"t{len(self.tensors)}"
        self.tensors.append({"name": name, "shape": list(shape), "type": dtype, "constant": constant})
        return Tensor(self, name, shape)
