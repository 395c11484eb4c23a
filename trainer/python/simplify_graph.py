"""Takes out of a graph what PyTorch's dispatcher adds and an export does not have: reshapes around matrix products, reshapes of
reshapes, and operators that change nothing."""

SAME_IF_SHAPE = {"RESHAPE", "STRIDED_SLICE", "BROADCAST_TO", "SPLIT"}


def simplified(graph):
    """The same network with fewer operators. Linear in operators and operands."""
    shapes = {tensor["name"]: tensor["shape"] for tensor in graph["tensors"]}
    operators = [{**operator, "inputs": list(operator["inputs"])} for operator in graph["operators"]]
    operators, outputs = without_same(operators, graph["outputs"], shapes)
    # A reshape whose result nothing reads any more would be a second reader of a product.
    operators = live(operators, outputs)
    products_of_more_dimensions(operators, outputs, shapes)
    operators = live(operators, outputs)
    operators, outputs = without_same(operators, outputs, shapes)
    operators = live(operators, outputs)
    used = {*graph["inputs"], *outputs}.union(*(operator["inputs"] + operator["outputs"] for operator in operators))
    tensors = [tensor for tensor in graph["tensors"] if tensor["name"] in used]
    return {**graph, "outputs": outputs, "tensors": tensors, "operators": operators}


def without_same(operators, outputs, shapes):
    """Reshapes read what the reshape before them reads; operators whose only result has their input's shape are left out, and so
    are concatenations with nothing but empty tensors."""
    source, renamed, kept = {}, {}, []
    for operator in operators:
        operator["inputs"] = [renamed.get(name, name) for name in operator["inputs"]]
        if operator["kind"] in SAME_IF_SHAPE and len(operator["outputs"]) == 1:
            (output,) = operator["outputs"]
            if operator["kind"] == "RESHAPE":
                operator["inputs"][0] = source.get(operator["inputs"][0], operator["inputs"][0])
                source[output] = operator["inputs"][0]
            if shapes[operator["inputs"][0]] == shapes[output]:
                renamed[output] = operator["inputs"][0]
                continue
        if operator["kind"] == "CONCATENATION":
            filled = [name for name in operator["inputs"] if 0 not in shapes[name]]
            if len(filled) == 1:
                renamed[operator["outputs"][0]] = filled[0]
                continue
        kept.append(operator)
    return kept, [renamed.get(name, name) for name in outputs]


def products_of_more_dimensions(operators, outputs, shapes):
    """Matrix products of tensors that were reshaped for them alone take these as they were."""
    readers, writers = {}, {}
    for operator in operators:
        for name in operator["inputs"]:
            readers.setdefault(name, []).append(operator)
        for name in operator["outputs"]:
            writers[name] = operator

    def before(name):
        writer = writers.get(name)
        return writer["inputs"][0] if writer is not None and writer["kind"] == "RESHAPE" else name

    for operator in operators:
        n_factors = {"FULLY_CONNECTED": 1, "BATCH_MATMUL": 2}.get(operator["kind"])
        if n_factors is None:
            continue
        (output,) = operator["outputs"]
        reading = readers.get(output, [])
        if output in outputs or len(reading) != 1 or reading[0]["kind"] != "RESHAPE":
            continue
        factors = [before(name) for name in operator["inputs"][:n_factors]]
        (wanted,) = reading[0]["outputs"]
        width = shapes[operator["outputs"][0]][-1]
        is_same = shapes[wanted] == [*shapes[factors[0]][:-1], width]
        if n_factors == 2:
            first, second = (shapes[factor] for factor in factors)
            is_same = is_same and first[:-2] == second[:-2] and first[-1] == second[-2] and width == second[-1]
        else:
            is_same = is_same and shapes[factors[0]][-1] == shapes[operator["inputs"][1]][-1]
        if is_same:
            operator["inputs"][:n_factors] = factors
            operator["outputs"] = [wanted]
            # Nothing reads what the reshape makes now.
            reading[0]["outputs"] = [output]
            reading[0]["inputs"] = [factors[0]]
            writers[wanted] = operator


def live(operators, outputs):
    """Without operators whose results nothing reads."""
    needed, kept = set(outputs), []
    for operator in reversed(operators):
        if any(name in needed for name in operator["outputs"]):
            needed.update(operator["inputs"])
            kept.append(operator)
    return kept[::-1]
