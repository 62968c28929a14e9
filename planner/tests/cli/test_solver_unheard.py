import os

from planner.cli.procurement_output import solver_unheard


def test_what_native_code_prints_is_not_in_the_answer(capfd):
    with solver_unheard():
        os.write(1, b"HighsMipSolverData: noise")
    os.write(1, b"answer")
    assert capfd.readouterr().out == "answer"
