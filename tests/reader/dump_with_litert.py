"""Prints what LiteRT's own schema module reads in TFLite files, one JSON document a line.

    python dump_with_litert.py FILE...              # what the files hold
    python dump_with_litert.py --write-options FILE # writes a file with one operator for each kind
                                                    # of builtin options, then prints what it holds
"""

import json
import pathlib
import sys

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
from schema_from_litert import ENUM_OF_FIELD, NOT_ENUM, snake  # noqa: E402


def names_of(enum):
    numbers = {number: name for name, number in vars(getattr(schema, enum)).items()
               if isinstance(number, int)}
    return numbers


OPERATORS = names_of("BuiltinOperator")


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def numbers(vector):
    return None if vector is None else [x.item() if hasattr(x, "item") else x for x in vector]


def enum_of(table, field):
    key = f"{table}.{field}"
    return None if key in NOT_ENUM else ENUM_OF_FIELD.get(key) or ENUM_OF_FIELD.get(field)


def option_value(table, field, value):
    enum = enum_of(table, field)
    if enum and isinstance(value, int):
        return names_of(enum).get(value, str(value))
    if isinstance(value, (bytes, str)):
        return text(value)
    return numbers(value) if hasattr(value, "__len__") else value


def options(value):
    """Kind and fields of a builtin options object, or None."""
    if value is None:
        return None
    table = type(value).__name__.removesuffix("T")
    fields = {snake(name[0].upper() + name[1:]): field for name, field in vars(value).items()}
    return {"kind": table, "fields": {f: option_value(table, f, v) for f, v in fields.items()}}


def quantization(q):
    if q is None or q.scale is None or len(q.scale) == 0:
        return None
    return {"scale": numbers(q.scale), "zero_point": numbers(q.zeroPoint),
            "quantized_dimension": q.quantizedDimension}


def sparsity(s):
    if s is None:
        return None
    return {"traversal_order": numbers(s.traversalOrder) or [], "block_map": numbers(s.blockMap) or []}


def tensor(t):
    return {"name": text(t.name) or "", "type": names_of("TensorType")[t.type], "buffer": t.buffer,
            "shape": numbers(t.shape) or [], "shape_signature": numbers(t.shapeSignature) or None,
            "is_variable": t.isVariable, "quantization": quantization(t.quantization),
            "sparsity": sparsity(t.sparsity)}


def operator(o, codes):
    code = codes[o.opcodeIndex]
    builtin = max(code.builtinCode, code.deprecatedBuiltinCode)
    name = text(code.customCode) if builtin == schema.BuiltinOperator.CUSTOM else OPERATORS[builtin]
    return {"name": name, "version": code.version, "inputs": numbers(o.inputs) or [],
            "outputs": numbers(o.outputs) or [], "intermediates": numbers(o.intermediates) or [],
            "options": options(o.builtinOptions) or options(o.builtinOptions2),
            "custom_options": numbers(o.customOptions) or []}


def subgraph(s, codes):
    return {"name": text(s.name) or "", "inputs": numbers(s.inputs) or [],
            "outputs": numbers(s.outputs) or [], "tensors": [tensor(t) for t in s.tensors or []],
            "operators": [operator(o, codes) for o in s.operators or []]}


def buffer_bytes(b, buffer_idx):
    if buffer_idx == 0:
        return 0
    if b.data is not None:
        return len(b.data)
    return b.size if b.offset > 1 else 0


def dump(path):
    model = schema.ModelT.InitFromPackedBuf(pathlib.Path(path).read_bytes())
    return {"file": str(path), "version": model.version, "description": text(model.description) or "",
            "subgraphs": [subgraph(s, model.operatorCodes) for s in model.subgraphs],
            "buffers": [buffer_bytes(b, i) for i, b in enumerate(model.buffers or [])],
            "metadata": [[text(m.name), m.buffer] for m in model.metadata or []],
            "signatures": [[text(s.signatureKey), s.subgraphIndex] for s in model.signatureDefs or []]}


def distinct(table, name, default, position):
    """A valid value that no other field of the table has, where its type has enough values."""
    field = snake(name[0].upper() + name[1:])
    enum = enum_of(table, field)
    if enum and default is not None:
        return sorted(names_of(enum))[-1]
    if isinstance(default, bool):
        return not default
    if field.endswith("subgraph") or "subgraph_ind" in field:
        return [1, 0] if field.endswith("indices") else position % 2
    if isinstance(default, int):
        return position + 2
    if isinstance(default, float):
        return position + 0.5
    return default


def filled(member):
    value = getattr(schema, member + "T")()
    for position, (name, default) in enumerate(vars(value).items()):
        setattr(value, name, distinct(member, name, default, position))
    for name, vector in (("newShape", [2, -1]), ("squeezeDims", [1, 3]), ("branchSubgraphIndices", [1, 0])):
        if hasattr(value, name):
            setattr(value, name, vector)
    for name in ("name", "container", "sharedName"):
        if hasattr(value, name):
            setattr(value, name, f"{name} of {member}")
    return value


def members(union):
    return [member for number, member in sorted(names_of(union).items()) if number > 0]


def write_options(path):
    """One operator for each member of both unions, and a second, empty subgraph to call."""
    model, code, main = schema.ModelT(), schema.OperatorCodeT(), schema.SubGraphT()
    code.builtinCode = schema.BuiltinOperator.ADD
    main.operators, main.name = [], "main"
    for union, field in (("BuiltinOptions", "builtinOptions"), ("BuiltinOptions2", "builtinOptions2")):
        for member in members(union):
            operator = schema.OperatorT()
            setattr(operator, field, filled(member))
            setattr(operator, field + "Type", getattr(getattr(schema, union), member))
            main.operators.append(operator)
    body = schema.SubGraphT()
    body.name = "body"
    model.version, model.operatorCodes, model.subgraphs = 3, [code], [main, body]
    model.buffers = [schema.BufferT()]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    pathlib.Path(path).write_bytes(builder.Output())


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[0] == "--write-options":
        arguments = arguments[1:]
        write_options(arguments[0])
    for argument in arguments:
        print(json.dumps(dump(argument)))
