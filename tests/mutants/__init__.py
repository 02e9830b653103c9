"""Do tests/unit and tests/properties notice when the code is wrong?

``make mutants`` draws changes of a constant or an operator in the modules that decide (ranking, supervision,
sessions), makes each in a copy of the package, and runs the tests that execute the changed line. What no test
notices has survived: a test is missing, or nothing depends on what was changed.

    make mutants ARGS="--seed 7 --count 60"
    make mutants ARGS="--modules core/runs/digest.py core/language/rules.py"

``changes`` finds what can be changed, ``lines`` records which test executes which line, ``__main__`` draws,
runs and tells; ``equivalent`` lists changes after which the code does the same, with the reason.
"""
