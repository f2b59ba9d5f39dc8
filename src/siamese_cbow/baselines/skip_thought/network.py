"""The network that learns: GRU encoders, and two GRU decoders that see the encoder's state.

    encoders   one that reads forward, or two of half the size, forward and backward
    decoders   of the previous and of the next sentence; C_r, C_z and C bring in the encoder's last state at every word

Around them are two tables, which `training` looks after: vectors of the words that are read, shared by encoders and
decoders, and weights of the words that are guessed, shared by the decoders.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from siamese_cbow.baselines.skip_thought.examples import Batch
from siamese_cbow.baselines.skip_thought.gru import gru
from siamese_cbow.baselines.skip_thought.packing import Packed


class Encoder(nn.Module):
    """Reads sentences. The columns of its matrices belong to r, z and g, in this order."""

    def __init__(self, dim_word: int, dim: int) -> None:
        super().__init__()
        self.inputs = nn.Parameter(torch.empty(dim_word, 3 * dim))  # W_r, W_z, W
        self.gates = nn.Parameter(torch.empty(dim, 2 * dim))  # U_r, U_z
        self.candidate = nn.Parameter(torch.empty(dim, dim))  # U

    def forward(self, vectors: Tensor, sentences: Packed) -> Tensor:
        """The last states, (n_sentences, dim), in packed order, from vectors (n_tokens, dim_word) of the words."""
        start = vectors.new_zeros(sentences.sizes[0], len(self.candidate))
        states = gru(vectors @ self.inputs, sentences.sizes, start, self.gates, self.candidate)
        return states.index_select(0, torch.from_numpy(sentences.last))


class Decoder(nn.Module):
    """Writes sentences, knowing the encoder's state for the sentence beside each."""

    def __init__(self, dim_word: int, dim: int) -> None:
        super().__init__()
        self.inputs = nn.Parameter(torch.empty(dim_word, 3 * dim))
        self.gates = nn.Parameter(torch.empty(dim, 2 * dim))
        self.candidate = nn.Parameter(torch.empty(dim, dim))
        self.context = nn.Parameter(torch.empty(dim, 3 * dim))  # C_r, C_z, C

    def forward(self, vectors: Tensor, sentences: Packed, context: Tensor) -> Tensor:
        """The states each word is guessed from, (n_tokens, dim): the first word's from the context alone.

        vectors  of the words before each word but the first ones
        context  (n_sentences, dim), in packed order
        """
        nothing = vectors.new_zeros(sentences.sizes[0], self.inputs.shape[1])
        inputs = torch.cat([nothing, vectors @ self.inputs])
        start = context.new_zeros(context.shape)
        return gru(inputs, sentences.sizes, start, self.gates, self.candidate, context=context @ self.context)


class Network(nn.Module):
    """Encoders and decoders. `directions` is 1 for uni-skip and 2 for bi-skip."""

    def __init__(self, dim_word: int, dim: int, directions: int) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(Encoder(dim_word, dim // directions) for _ in range(directions))
        self.decoders = nn.ModuleList(Decoder(dim_word, dim) for _ in range(2))  # of the previous, of the next

    def initialise(self, generator: torch.Generator) -> None:
        """Orthogonal recurrent matrices and uniform numbers in +-0.1 for the rest, as in the original."""
        for name, parameter in self.named_parameters():
            if name.endswith(("gates", "candidate")):
                for block in parameter.data.split(len(parameter), dim=1):
                    block.copy_(nn.init.orthogonal_(torch.empty(block.shape), generator=generator))
            else:
                nn.init.uniform_(parameter, -0.1, 0.1, generator=generator)

    def forward(self, batch: Batch, vectors: Tensor) -> Tensor:
        """The states that `batch.targets` are guessed from, (n_targets, dim), given vectors of `batch.read`."""
        sides = [(decoder, side) for decoder, side in zip(self.decoders, batch.sides, strict=True) if side]
        lengths = [len(batch.sentences.ids), *(len(side.sentences.before) for _, side in sides)]
        read, *written = vectors.split(lengths)
        context = self.encoded(read, batch.sentences)
        states = [
            decoder(before, side.sentences, context.index_select(0, torch.from_numpy(side.of)))
            for (decoder, side), before in zip(sides, written, strict=True)
        ]
        return torch.cat(states)

    def encoded(self, vectors: Tensor, sentences: Packed) -> Tensor:
        """The sentences' vectors, (n_sentences, dim), in packed order."""
        forward = self.encoders[0](vectors, sentences)
        if len(self.encoders) == 1:
            return forward
        reversed_ = vectors.index_select(0, torch.from_numpy(sentences.backward))
        return torch.cat([forward, self.encoders[1](reversed_, sentences)], dim=1)
