import os
import subprocess
import sys

from planner.cli.procurement_output import solver_unheard

PROGRAMME = """
import ctypes
from planner.cli.native import silence_native_output
print("before")
silence_native_output()
libc = ctypes.CDLL(None)
libc.printf(b"HighsMipSolverData: noise\\n")
libc.fflush(None)
import subprocess
subprocess.run(["echo", "noise of a child"], check=True)
print("after")
"""


def test_what_native_code_prints_is_not_in_the_answer(capfd):
    with solver_unheard():
        os.write(1, b"HighsMipSolverData: noise")
    os.write(1, b"answer")
    assert capfd.readouterr().out == "answer"


def test_a_service_is_silent_but_for_python():
    done = subprocess.run([sys.executable, "-c", PROGRAMME], capture_output=True, check=True, text=True)
    assert done.stdout == "before\nafter\n"
    assert done.stderr == ""
