/**
 * Lists the suites that test the product against Python's own packages, by their environment. Several environments,
 * since packages conflict (verifiers rejects inspect_ai's `openai` and OpenEnv's `mcp`).
 */
import { fileURLToPath } from "node:url"

export interface Environment {
  readonly name: string
  /** Python 3.x or newer. */
  readonly python: number
  /** Hashes of every file: generated from the `.in` of the same name. */
  readonly lock: string
  /** Packages whose versions are printed. */
  readonly clients: ReadonlyArray<string>
  readonly suites: ReadonlyArray<string>
  /** Suites outside of the build (`--nightly`). */
  readonly nightly: ReadonlyArray<string>
}

const lock = (name: string): string => fileURLToPath(new URL(`${name}.txt`, import.meta.url))

/** Files with a test for each package, each of which runs in the package's environment. */
const ofSeveral = ["packages/cli/test/long/python/Killed.test.ts"]
const nightlyOfSeveral = ["packages/cli/test/nightly/PythonGroupFigures.test.ts"]

export const environments: ReadonlyArray<Environment> = [
  {
    name: "training",
    python: 11,
    lock: lock("requirements"),
    clients: ["trl", "transformers", "peft", "torch", "openenv", "tinker", "openai", "anthropic"],
    suites: [
      "packages/cli/test/trl/Trl.test.ts",
      "packages/cli/test/long/OpenEnv.test.ts",
      "packages/cli/test/tinker/Sdk.test.ts",
      "packages/envs/test/long/python/OpenEnv.test.ts",
      "packages/core/test/long/TrlTemplates.test.ts",
      "packages/core/test/service/TrainingTrace.test.ts",
      "packages/core/test/gateway/OpenAiPython.test.ts",
      "packages/core/test/gateway/AnthropicPython.test.ts",
      "packages/trainer/test/torch/TorchContract.test.ts",
      "packages/trainer/test/torch/TorchNumbers.test.ts"
    ],
    nightly: [
      "packages/cli/test/nightly/Trl.test.ts",
      "packages/cli/test/nightly/OpenEnv.test.ts",
      "packages/trainer/test/nightly/TorchArchitectures.test.ts",
      "packages/trainer/test/nightly/TorchNodes.test.ts",
      "packages/trainer/test/nightly/TorchQuantized.test.ts",
      "packages/trainer/test/nightly/TorchRanks.test.ts",
      "packages/trainer/test/nightly/TorchTruncated.test.ts",
      "packages/trainer/test/nightly/TorchLost.test.ts"
    ]
  },
  {
    name: "environments",
    python: 11,
    lock: lock("requirements-environments"),
    clients: ["inspect_ai", "reasoning-gym", "gymnasium", "textarena", "openai"],
    suites: [
      ...ofSeveral,
      "packages/cli/test/long/python/InspectLog.test.ts",
      "packages/envs/test/long/python/Inspect.test.ts",
      "packages/envs/test/long/python/ReasoningGym.test.ts",
      "packages/envs/test/long/python/Gymnasium.test.ts",
      "packages/envs/test/long/python/TextArena.test.ts"
    ],
    nightly: [...nightlyOfSeveral, "packages/cli/test/nightly/ReasoningGym.test.ts"]
  },
  {
    name: "verifiers",
    python: 11,
    lock: lock("requirements-verifiers"),
    clients: ["verifiers", "openai"],
    suites: [
      "packages/envs/test/long/python/Verifiers.test.ts",
      ...ofSeveral,
      "packages/core/test/gateway/OpenAiPython.test.ts"
    ],
    nightly: nightlyOfSeveral
  },
  {
    name: "harbor",
    python: 12,
    lock: lock("requirements-harbor"),
    clients: ["harbor"],
    suites: ["packages/envs/test/long/python/Harbor.test.ts"],
    nightly: []
  },
  {
    name: "tinker-0.25",
    python: 11,
    lock: lock("requirements-tinker-0.25"),
    clients: ["tinker"],
    suites: ["packages/cli/test/tinker/Sdk.test.ts"],
    nightly: []
  }
]
