"""The tables of objectives and optimisers: complete, light, and no kernel runs for what they don't list."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest

from kernel_world import DIM, WHOLE, corpus, keys, matrices, objective_of, rule, shape_of
from siamese_cbow.kernels import tables
from siamese_cbow.kernels.objectives import reference
from siamese_cbow.kernels.tables import OBJECTIVES, OPTIMIZERS, ObjectiveName, OptimizerName
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.training.engine import Engine
from siamese_cbow.training.siamese_cbow import SiameseCBOW

UNKNOWN = 99


def test_every_name_has_an_entry_and_every_entry_a_number_of_its_own() -> None:
    assert get_args(ObjectiveName) == tuple(OBJECTIVES)
    assert get_args(OptimizerName) == tuple(OPTIMIZERS)
    for table in (OBJECTIVES, OPTIMIZERS):
        assert len({kind.number for kind in table.values()}) == len(table)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_is_defined_by_a_function_with_its_setting(name: ObjectiveName) -> None:
    kind = OBJECTIVES[name]
    parameters = inspect.signature(getattr(reference, kind.reference)).parameters
    assert [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY] == [kind.setting] * bool(kind.setting)
    assert not kind.setting or hasattr(SiameseCBOW(), kind.setting)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_that_keeps_one_number_of_a_row_is_not_elementwise(name: OptimizerName) -> None:
    kind = OPTIMIZERS[name]
    assert set(kind.state) <= {"", "one", "row"}
    assert "one" not in kind.state or not kind.elementwise
    assert all(hasattr(SiameseCBOW(), setting) for setting in kind.settings)


def test_names_in_words() -> None:
    assert tables.sampled_objectives().startswith("softmax, sigmoid")
    assert " and " in tables.sampled_objectives(False)
    assert "adam" in tables.users_of("second_momentum")
    assert "logistic" in tables.users_of("gamma")
    assert tables.users_of("beauty") == ""


def test_the_tables_load_nothing() -> None:
    script = "import sys, siamese_cbow.kernels.tables\nprint(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert not {"numba", "numpy"} & set(modules.split())


def run(objective, how, threads: int) -> None:
    text = corpus()
    shape = shape_of(text, 12, 3, negatives=2 if objective.sampled else 0)
    side = matrices(np.random.default_rng(0), rule())
    with ThreadTeam(threads) as team:
        engine = Engine(text, shape, objective, how, WHOLE, team)
        engine.run(keys(shape), 0, np.ones(2, np.float32), 1, side, side)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("objective", "kind"),
    [
        pytest.param("softmax", UNKNOWN, id="a new sampled objective without a loss"),
        pytest.param("softmax", OBJECTIVES["contrastive"].number, id="sampled, though it is not"),
        pytest.param("contrastive", UNKNOWN, id="a new in-batch objective without a loss"),
        pytest.param("contrastive", OBJECTIVES["softmax"].number, id="in-batch, though it is not"),
    ],
)
def test_an_objective_without_a_loss_is_an_error_and_runs_no_other(objective, kind, threads) -> None:
    with pytest.raises(ValueError, match="has no loss among the"):
        run(objective_of(objective)._replace(kind=kind), rule(), threads)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("objective", ["softmax", "contrastive"])
def test_an_optimizer_without_a_rule_is_an_error(objective, threads) -> None:
    with pytest.raises(ValueError, match="this optimiser has no rule"):
        run(objective_of(objective), rule()._replace(kind=UNKNOWN), threads)


def test_rows_of_other_optimizers_are_cut_only_where_the_table_says_so(monkeypatch) -> None:
    from siamese_cbow.training import strips

    recipe = SiameseCBOW.paper(optimizer="adam")
    assert strips.layout_of(recipe).n_strips == 2
    monkeypatch.setattr(strips, "OPTIMIZERS", OPTIMIZERS | {"adam": OPTIMIZERS["adam"]._replace(elementwise=False)})
    assert strips.layout_of(recipe).n_strips == 1
    assert strips.layout_of(recipe).width > DIM
