"""A model as an ONNX graph: ids of words in, sentence vectors out, on any runtime and in any language.

    ids      (n_tokens,) int64         the words of all sentences, concatenated; unknown words are skipped
    offsets  (n_sentences,) int64      where each sentence starts, as in PyTorch's EmbeddingBag
    vectors  (n_sentences, dim) float32      zeros for a sentence without words

The file carries `tokenizer.json` in its metadata, so it is self-contained: `tokens_of` shows how to use it. Text itself
does not pass through the graph: the tokenising operators of onnxruntime-extensions can't express our rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Offsets
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import InputError, needs
from siamese_cbow.model.model import Model

OPSET = 18  # ScatterND with a sum came with 16; every recent runtime supports 18
IR_VERSION = 9
LARGEST = 2_000_000_000  # bytes; protobuf messages are limited to 2 GiB
TOKENIZER = "tokenizer.json"
PRODUCER = "siamese-cbow"


def write_onnx(model: Model, path: Path, *, normalize: bool = False) -> None:
    """Writes the graph to a file; with `normalize` its vectors have length 1."""
    if model.vectors.nbytes > LARGEST:
        raise InputError(
            f"the vectors take {model.vectors.nbytes / 1000000000.0:.1f} GB, but an ONNX file holds 2; drop "
            "rare words or dimensions with `siamese-cbow compress`"
        )
    graph = onnx_graph(model, normalize=normalize)
    with atomic_file(Path(path)) as target:
        target.write_bytes(graph.SerializeToString())


def is_our_graph(path: Path) -> bool:
    """Whether siamese-cbow wrote an ONNX file, judged by its first bytes."""
    with path.open("rb") as file:
        return PRODUCER.encode() in file.read(64)


def onnx_graph(model: Model, *, normalize: bool = False) -> Any:
    """The graph as an `onnx.ModelProto`, checked by the library."""
    with needs("onnx", "onnx"):
        import onnx
        from onnx import TensorProto, helper, numpy_helper

    node = helper.make_node
    nodes = [
        # The sentence of each token: the cumulative sum of marks at sentence starts. Empty sentences put several marks
        # on one position; those at the end fall behind the last token and are cut off.
        node("Shape", ["ids"], ["n_tokens"]),
        node("Shape", ["offsets"], ["n_sentences"]),
        node("Add", ["n_tokens", "one"], ["n_marks"]),
        node("ConstantOfShape", ["n_marks"], ["no_marks"], value=helper.make_tensor("z", TensorProto.INT64, [1], [0])),
        node("ConstantOfShape", ["n_sentences"], ["ones"], value=helper.make_tensor("o", TensorProto.INT64, [1], [1])),
        node("ScatterElements", ["no_marks", "offsets", "ones"], ["marks"], axis=0, reduction="add"),
        node("CumSum", ["marks", "zero"], ["sentences_begun"]),
        node("Slice", ["sentences_begun", "start", "n_tokens"], ["begun"]),
        node("Sub", ["begun", "one"], ["sentence_of"]),
        node("Unsqueeze", ["sentence_of", "last"], ["places"]),
        # The sum of each sentence's rows, and how many there are.
        node("Gather", ["embeddings", "ids"], ["rows"], axis=0),
        node("Concat", ["n_sentences", "dim"], ["shape"], axis=0),
        node("ConstantOfShape", ["shape"], ["no_sums"]),
        node("ScatterND", ["no_sums", "places", "rows"], ["sums"], reduction="add"),
        node("ConstantOfShape", ["n_sentences"], ["no_counts"]),
        node("ConstantOfShape", ["n_tokens"], ["each"], value=helper.make_tensor("e", TensorProto.FLOAT, [1], [1.0])),
        node("ScatterND", ["no_counts", "places", "each"], ["counts"], reduction="add"),
        node("Max", ["counts", "one_float"], ["divisors"]),
        node("Unsqueeze", ["divisors", "last"], ["column"]),
        node("Div", ["sums", "column"], ["means"]),
    ]
    if normalize:
        nodes += [
            node("ReduceL2", ["means", "last"], ["lengths"], keepdims=1),
            node("Max", ["lengths", "tiny"], ["divisor"]),
            node("Div", ["means", "divisor"], ["vectors"]),
        ]
    else:
        nodes.append(node("Identity", ["means"], ["vectors"]))
    info, whole, real = helper.make_tensor_value_info, TensorProto.INT64, TensorProto.FLOAT
    inputs = [info("ids", whole, ["n_tokens"]), info("offsets", whole, ["n_sentences"])]
    outputs = [info("vectors", real, ["n_sentences", model.dim])]
    numbers = {"one": [1], "zero": 0, "start": [0], "last": [1], "dim": [model.dim]}
    constants = {"embeddings": model.vectors} | {name: np.array(n, np.int64) for name, n in numbers.items()}
    constants |= {"one_float": np.array(1, np.float32)} | ({"tiny": np.array(1e-30, np.float32)} if normalize else {})
    arrays = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "siamese-cbow", inputs, outputs, arrays)
    opsets = [helper.make_opsetid("", OPSET)]
    made = helper.make_model(graph, opset_imports=opsets, producer_name=PRODUCER, ir_version=IR_VERSION)
    sizes = {"unknown_id": str(len(model.vocabulary)), "dim": str(model.dim)}
    helper.set_model_props(made, {TOKENIZER: model.tokenizer.to_json(model.vocabulary.words), **sizes})
    onnx.checker.check_model(made)
    return made


def tokens_of(encodings: Sequence[Sequence[int]], unknown_id: int) -> tuple[Offsets, Offsets]:
    """The graph's inputs for sentences given as ids; unknown words are left out.

    `tokens_of([[4, 7], [], [9]], unknown_id=7)` -> [4, 9], [0, 1, 1]
    """
    known = [[i for i in ids if i != unknown_id] for ids in encodings]
    offsets = np.cumsum([0, *map(len, known)])[:-1]
    return np.array([i for ids in known for i in ids], np.int64), offsets.astype(np.int64)
