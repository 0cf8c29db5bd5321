/**
 * TRL's own GRPOTrainer on the trajectory service, by the Python package in integrations/trl: its tests, which start the
 * command of this repository.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { having, interpreter } from "../../../core/test/Python.ts"

const folder = fileURLToPath(new URL("../../../../integrations/trl", import.meta.url))
const env = { ...process.env, PYTHONPATH: `${folder}/src`, ATROPOS_TEST_NODE: process.execPath }
const { absence, isPresent } = having("pytest", "peft", "trl", "torch")

/** All of its files in one interpreter, which takes its time to load TRL; what pytest wrote, a line for each test. */
const pytest = () =>
  new Promise<string>((resolve) => {
    const words = ["-m", "pytest", "-v", "--color=no", "-o", "console_output_style=classic"]
    execFile(interpreter, words, { cwd: folder, env, maxBuffer: 2 ** 26 }, (_, output, complaint) =>
      resolve(`${output}\n${complaint}`)
    )
  })
let running: Promise<string> | undefined

describe.skipIf(!isPresent)(`TRL's GRPOTrainer on our service${absence}`, () => {
  for (const [file, says] of [
    ["test_groups.py", "is given groups as they were sent"],
    ["test_training.py", "takes each batch once, with the sampler's log-probabilities in the loss"],
    ["test_processes.py", "gets the batch of a killed trainer again, and loses and repeats none"],
    ["test_learning.py", "learns from an environment that its own policy answers"]
  ] as const) {
    it.live(says, () =>
      Effect.gen(function* () {
        const output = yield* Effect.promise(() => (running ??= pytest()))
        const states = output
          .split("\n")
          .filter((line) => line.startsWith(`tests/${file}::`))
          .map((line) => line.trim().split(" ").at(-1))
        assert.isNotEmpty(states, output)
        assert.deepStrictEqual(new Set(states), new Set(["PASSED"]), output)
      })
    )
  }
})
