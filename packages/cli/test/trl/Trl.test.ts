/**
 * The Python package `integrations/trl`, by its own tests: they start the service, the sampler and an environment of
 * this repository. `ATROPOS_TEST_PYTHON` names an interpreter with the package's dependencies and pytest (`python3`
 * otherwise).
 */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const interpreter = process.env["ATROPOS_TEST_PYTHON"] ?? "python3"
const folder = fileURLToPath(new URL("../../../../integrations/trl", import.meta.url))
const env = { ...process.env, PYTHONPATH: `${folder}/src`, ATROPOS_TEST_NODE: process.execPath }

const needed = "pytest, peft, trl.trainer.grpo_trainer, atropos_trl"
const isPresent = spawnSync(interpreter, ["-c", `import ${needed}`], { cwd: folder, env, stdio: "ignore" }).status === 0
const absence = isPresent ? "" : ` (skipped: ${interpreter} cannot import ${needed}; see integrations/trl/README.md)`

/** Runs a file of tests to its end; fails with what pytest wrote. */
const pytest = (file: string) =>
  Effect.promise(
    (signal) =>
      new Promise<void>((resolve, reject) => {
        const words = ["-m", "pytest", "-q", "-x", `tests/${file}`]
        execFile(interpreter, words, { cwd: folder, env, signal, maxBuffer: 2 ** 26 }, (error, output, complaint) => {
          if (error === null) resolve()
          else reject(new Error(`${output}\n${complaint}`))
        })
      })
  )

describe.skipIf(!isPresent)(`TRL's GRPOTrainer on our service${absence}`, () => {
  for (const [file, says] of [
    ["test_groups.py", "is given groups as they were sent"],
    ["test_training.py", "takes each batch once, with the sampler's log-probabilities in the loss"],
    ["test_processes.py", "gets the batch of a killed trainer again, and loses and repeats none"],
    ["test_learning.py", "learns from an environment that its own policy answers"]
  ] as const) {
    it.live(says, () => pytest(file))
  }
})
