"""An environment of verifiers as it was before v1."""

import verifiers as vf


def load_environment():
    return vf.SingleTurnEnv(rubric=vf.Rubric(funcs=[lambda completion: 1.0]))
