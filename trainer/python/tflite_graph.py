"""A TFLite file of one subgraph, put together tensor by tensor."""

import flatbuffers
from ai_edge_litert import schema_py_generated as schema


class Graph:
    def __init__(self):
        self.model, self.subgraph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs = 3, [self.subgraph]
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.subgraph.tensors, self.subgraph.operators = [], []
        self.subgraph.inputs, self.subgraph.outputs = [], []

    def add_tensor(self, shape, kind, contents=None, scales=None, zero_point=0, axis=0, is_variable=False):
        """`kind` is a number of `TensorType`, `contents` are the bytes of a constant."""
        tensor, index = schema.TensorT(), len(self.subgraph.tensors)
        tensor.shape, tensor.type, tensor.name = [int(length) for length in shape], kind, "t%d" % index
        tensor.buffer, tensor.isVariable = 0, is_variable
        if contents is not None:
            tensor.buffer = self.add_buffer(contents)
        if scales is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = [float(scale) for scale in scales]
            tensor.quantization.zeroPoint = [zero_point] * len(scales)
            tensor.quantization.quantizedDimension = axis
        self.subgraph.tensors.append(tensor)
        return index

    def add_buffer(self, contents):
        buffer = schema.BufferT()
        buffer.data = list(contents)
        self.model.buffers.append(buffer)
        return len(self.model.buffers) - 1

    def add_code(self, name, version=1):
        """A name that the schema does not have is that of a custom operator."""
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name, schema.BuiltinOperator.CUSTOM)
        if not hasattr(schema.BuiltinOperator, name):
            code.customCode = name
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
        self.model.operatorCodes.append(code)
        return len(self.model.operatorCodes) - 1

    def add_operator(self, code, inputs, outputs, options=None):
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = code, inputs, outputs
        if options is not None:
            kind = type(options).__name__[:-1]
            if hasattr(schema.BuiltinOptions, kind):
                operator.builtinOptionsType, operator.builtinOptions = getattr(schema.BuiltinOptions, kind), options
            else:
                operator.builtinOptions2Type, operator.builtinOptions2 = getattr(schema.BuiltinOptions2, kind), options
        self.subgraph.operators.append(operator)
        return operator


def options(kind, **fields):
    """A table of options by its name in the schema."""
    made = getattr(schema, kind + "T")()
    for field, value in fields.items():
        assert hasattr(made, field), (kind, field)
        setattr(made, field, value)
    return made


def to_bytes(model):
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())
