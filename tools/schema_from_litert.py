"""Writes src/formats/tflite/schema.fbs from the schema module of the PyPI package ai-edge-litert.

The package ships the newest public TFLite schema as generated Python
(`ai_edge_litert/schema_py_generated.py`). Slot numbers, scalar types, vectors, unions, enum
numbers and defaults are all in that code; only the enum type of a field is lost (Python shows
the enum's integer type), so ENUM_OF_FIELD below names it.

    python tools/schema_from_litert.py src/formats/tflite/schema.fbs     # writes the file
    flatc --rust -o src/formats/tflite src/formats/tflite/schema.fbs             # flatc of the crate's version
"""

import ast
import importlib.util
import pathlib
import re
import sys

SCALARS = {
    "Bool": "bool", "Int8": "byte", "Uint8": "ubyte", "Uint16": "ushort", "Int32": "int",
    "Uint32": "uint", "Int64": "long", "Uint64": "ulong", "Float32": "float",
}

# Enum of a field, by field name or by table and field name where the name alone is ambiguous.
ENUM_OF_FIELD = {
    "fused_activation_function": "ActivationFunctionType",
    "padding": "Padding",
    "quantized_bias_type": "TensorType",
    "output_type": "TensorType",
    "out_type": "TensorType",
    "idx_out_type": "TensorType",
    "in_data_type": "TensorType",
    "out_data_type": "TensorType",
    "key_dtype": "TensorType",
    "value_dtype": "TensorType",
    "precision_config": "StablehloPrecisionConfig",
    "comparison_direction": "StablehloComparisonDirection",
    "compare_type": "StablehloComparisonType",
    "custom_options_format": "CustomOptionsFormat",
    "composite_attributes_format": "CustomOptionsFormat",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
    "kernel_type": "LSTMKernelType",
    "combiner": "CombinerType",
    "algorithm": "RngAlgorithm",
    "reduce_function": "ReduceWindowFunction",
    "Tensor.type": "TensorType",
    "VariantSubType.type": "TensorType",
    "LSHProjectionOptions.type": "LSHProjectionType",
    "DimensionMetadata.format": "DimensionType",
    "MirrorPadOptions.mode": "MirrorPadMode",
    "OperatorCode.builtin_code": "BuiltinOperator",
}

# `padding` is a vector of numbers in these tables, not the enum.
NOT_ENUM = {"StablehloConvolutionOptions.padding", "StablehloReduceWindowOptions.padding"}

# Names that camel case does not give back.
SNAKE = {"BuiltinOptions2": "builtin_options_2", "BuiltinOptions2Type": "builtin_options_2_type"}

HEADER = """\
// TensorFlow Lite's file format, schema version 3.
// Written by tools/schema_from_litert.py from the package ai-edge-litert; not edited by hand.
// Fields named `deprecated_slot_N` only keep the place of fields that no reader uses any more.

namespace tflite;

file_identifier "TFL3";
file_extension "tflite";
"""


def litert_source():
    spec = importlib.util.find_spec("ai_edge_litert")
    if spec is None:
        sys.exit("expected the package ai-edge-litert to be installed (pip install ai-edge-litert)")
    return (pathlib.Path(spec.submodule_search_locations[0]) / "schema_py_generated.py").read_text()


def snake(name):
    return SNAKE.get(name) or re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def read_enums(module):
    """Enum name to {member: number}; an enum is a class of integer constants alone."""
    enums = {}
    for node in module.body:
        if isinstance(node, ast.ClassDef) and all(isinstance(s, ast.Assign) for s in node.body):
            members = {s.targets[0].id: ast.literal_eval(s.value) for s in node.body
                       if s.targets[0].id != "__slots__"}
            if members:
                enums[node.name] = members
    return enums


def read_tables(module):
    """Table name to {slot: (camel name, kind, default)} and the number of slots."""
    tables, n_slots = {}, {}
    functions = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef)}
    classes = [n.name for n in module.body if isinstance(n, ast.ClassDef)]
    for name in classes:
        start = functions.get(f"{name}Start")
        if start is None:
            continue
        n_slots[name] = start.body[0].value.args[0].value
        tables[name] = {}
        for function in functions.values():
            add = re.fullmatch(rf"{name}Add([A-Z]\w*)", function.name)
            if add:
                call = function.body[0].value
                kind = re.fullmatch(r"Prepend(\w+)Slot", call.func.attr)[1]
                slot, default = ast.literal_eval(call.args[0]), ast.literal_eval(call.args[2])
                tables[name][slot] = (add[1], kind, default)
    return tables, n_slots


def accessors(module):
    """(table, camel field) to the source of its accessor."""
    return {(c.name, f.name): ast.unparse(f) for c in module.body if isinstance(c, ast.ClassDef)
            for f in c.body if isinstance(f, ast.FunctionDef)}


def union_of(source_of_hints, enums):
    """Field hint `Union[None, 'AT', 'BT']` to the union with exactly these members."""
    members = re.findall(r"'(\w+)T'", source_of_hints)
    for name, numbers in enums.items():
        if list(numbers)[1:] == members and list(numbers)[0] == "NONE":
            return name
    raise ValueError(f"expected a union of {members}")


def hints(text):
    """(table, camelCase field) to the comment that types it in the object API."""
    found = {}
    for block in re.split(r"^class ", text, flags=re.M)[1:]:
        name = re.match(r"(\w+)T\(object\)", block)
        if name:
            for field, hint in re.findall(r"self\.(\w+) = \w+  # type: (.*)", block):
                found[name[1], field[0].upper() + field[1:]] = hint
    return found


def offset_type(table, field, accessor, hint, enums):
    """Schema type of a field stored as an offset: string, table, vector or union."""
    if "Optional[str]" in hint:
        return "string"
    if hint.startswith("Union"):
        return union_of(hint, enums)
    target = re.search(r"obj = (\w+)\(\)", accessor)
    scalar = re.search(r"Get\(flatbuffers\.number_types\.(\w+)Flags, a \+", accessor)
    if "self._tab.Vector(" not in accessor:
        return target[1]
    return f"[{target[1] if target else enum_or(table, field, SCALARS[scalar[1]])}]"


def enum_or(table, field, scalar):
    key = f"{table}.{field}"
    if key in NOT_ENUM:
        return scalar
    return ENUM_OF_FIELD.get(key) or ENUM_OF_FIELD.get(field) or scalar


def default_text(type_name, default, enums):
    if type_name in enums:
        name = next(k for k, v in enums[type_name].items() if v == default)
        return f" = {name}" if default else ""
    if type_name == "bool":
        return " = true" if default else ""
    return f" = {default}" if default else ""


def table_lines(name, slots, count, source, enums, bases):
    lines = [f"table {name} {{"]
    for slot in range(count):
        if slot not in slots:
            lines.append(f"  deprecated_slot_{slot}:int (deprecated);")
            continue
        camel, kind, default = slots[slot]
        field = snake(camel)
        is_union_tag = slots.get(slot + 1, ("",))[0] + "Type" == camel and kind == "Uint8"
        if is_union_tag:
            continue
        if kind == "UOffsetTRelative":
            type_name = offset_type(name, field, source[0][name, camel], source[1][name, camel], enums)
            element = type_name.strip("[]")
            if element in enums and type_name != element:
                bases.setdefault(element, "uint")
            lines.append(f"  {field}:{type_name};")
        else:
            type_name = enum_or(name, field, SCALARS[kind])
            if type_name in enums:
                bases[type_name] = SCALARS[kind]
            lines.append(f"  {field}:{type_name}{default_text(type_name, default, enums)};")
    return lines + ["}", ""]


def enum_lines(name, members, tables, bases):
    if set(members) - {"NONE"} <= set(tables):
        names = sorted((m for m in members if m != "NONE"), key=members.get)
        return [f"union {name} {{"] + [f"  {m} = {members[m]}," for m in names] + ["}", ""]
    ordered = sorted(members, key=members.get)
    return [f"enum {name} : {bases[name]} {{"] + [f"  {m} = {members[m]}," for m in ordered] + ["}", ""]


def schema(text):
    module = ast.parse(text)
    enums, (tables, n_slots) = read_enums(module), read_tables(module)
    source, bases, table_text = (accessors(module), hints(text)), {}, []
    for name, slots in tables.items():
        table_text += table_lines(name, slots, n_slots[name], source, enums, bases)
    enum_text = []
    for name, members in enums.items():
        enum_text += enum_lines(name, members, tables, bases)
    return "\n".join([HEADER] + enum_text + table_text + ["root_type Model;", ""])


if __name__ == "__main__":
    text = schema(litert_source())
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text)
    else:
        sys.stdout.write(text)
