import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Bin from "./Bin.ts"
import * as InProcess from "./InProcess.ts"

/** A file as somebody has it who runs everything by it. */
const whole = `env:
  largest: 5
  total_steps: 2
  ensure_scores_are_not_same: false
openai:
  model_name: mine
testing: true
trainer:
  model: ./nowhere
  batch_size: 8
lora:
  r: 4
loss:
  preset: grpo
metrics:
  file: false
`

layer(NodeServices.layer, { excludeTestServices: true })("the file of --config", (it) => {
  it.effect("serves all verbs: each lets the sections of others be", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      yield* fs.writeFileString(`${cwd}/run.yaml`, whole)
      const env = ["--env", Bin.myEnvironment, "--config", "run.yaml"]
      const processed = yield* InProcess.run(["process", ...env])
      assert.strictEqual(processed.code, 0, processed.stderr)
      const evaluated = yield* InProcess.run(["evaluate", ...env])
      assert.strictEqual(evaluated.code, 0, evaluated.stderr)
      // These get as far as the model that the file names.
      for (const words of [
        ["up", ...env, "--port", "0", "--policy_port", "0"],
        ["train", "--config", "run.yaml"]
      ]) {
        const { stderr } = yield* InProcess.run(words)
        assert.match(stderr, /folder not found: .*nowhere/)
      }
    })
  )

  it.effect("has no section or key that nobody knows, whatever the verb", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const cwd = yield* InProcess.folder
      const cases = [
        [whole.replace("trainer:", "trianer:"), 'run.yaml:8: unknown setting "trianer"; did you mean "trainer"?'],
        [whole.replace("batch_size", "batchsize"), 'unknown setting "trainer.batchsize"; did you mean "batch_size"?']
      ] as const
      for (const [text, says] of cases) {
        yield* fs.writeFileString(`${cwd}/run.yaml`, text)
        for (const words of [
          ["process", "--env", Bin.myEnvironment],
          ["validate", "--env", Bin.myEnvironment],
          ["train"]
        ]) {
          const { code, stderr } = yield* InProcess.run([...words, "--config", "run.yaml"])
          assert.strictEqual(code, 2)
          assert.include(stderr, says)
        }
      }
    })
  )
})
