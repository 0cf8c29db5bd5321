/** Defines the registry entries of environments from Python packages (`Registry`). */
import * as Gymnasium from "../connected/Gymnasium.ts"
import * as Inspect from "../connected/Inspect.ts"
import * as Names from "../python/Names.ts"
import * as ReasoningGym from "../connected/ReasoningGym.ts"
import * as TextArena from "../connected/TextArena.ts"
import * as Verifiers from "../connected/Verifiers.ts"

export const entries = {
  "reasoning-gym": {
    layer: ReasoningGym.layer,
    names: Names.of("reasoning-gym", "reasoning-gym"),
    description: "over 100 generated tasks of reasoning, scored by the Python package of that name",
    family: "python",
    needs: ["python"],
    dataLicence: "generated"
  },
  gymnasium: {
    layer: Gymnasium.layer,
    names: Names.of("gymnasium", "gymnasium[toy-text]"),
    description: "worlds of the Python package Gymnasium with discrete or text actions, played in words",
    family: "python",
    needs: ["python"],
    dataLicence: "generated"
  },
  textarena: {
    layer: TextArena.layer,
    names: Names.of("textarena", "textarena"),
    description: "over 700 text games of the Python package TextArena: self-play, or against another model",
    family: "python",
    needs: ["python"],
    dataLicence: "generated"
  },
  verifiers: {
    layer: Verifiers.layer,
    names: Names.of("verifiers", "verifiers"),
    description: "environments of the Python package verifiers and its hub, with their own tools, seats and rewards",
    family: "python",
    needs: ["python"],
    dataLicence: "yours"
  },
  inspect: {
    layer: Inspect.layer,
    names: Names.of("inspect", "inspect_ai"),
    description: "evaluations of the Python package inspect_ai, of packages and files, with their own scorers",
    family: "python",
    needs: ["python"],
    dataLicence: "yours"
  }
} as const
