/** The verbs that train, as processes of their own. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as Bin from "./Bin.ts"
import * as InProcess from "./InProcess.ts"
import * as MetricsFile from "./MetricsFile.ts"

const model = fileURLToPath(new URL("../../trainer/test/fixtures/models/qwen2", import.meta.url))

describe("atropos up", () => {
  // Longer runs, also such that are stopped or killed: `long/`, `crash/` and the tests of `up` beside this one.
  it.live("takes its steps on policy, writes them down and saves them", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const words = ["up", "--env", "letter-counting", "--steps", "2", "--batch-size", "16", "--seed", "3"].concat([
        "--env.evaluation_items",
        "4",
        "--port",
        "0",
        "--policy_port",
        "0"
      ])
      const { code, stdout } = yield* InProcess.run(words)
      assert.strictEqual(code, 0)
      assert.match(stdout, /held-out items solved +\d+\.\d% .* before, \d+\.\d% .* after/)
      assert.match(stdout, /letter-counting-1, 2 steps in/)
      const folder = `${cwd}/.atropos/up/letter-counting-1`
      const lines = yield* MetricsFile.read(folder)
      assert.deepStrictEqual(
        lines.map((line) => [line.step, line["staleness/max"]]),
        [
          [1, 0],
          [2, 0]
        ]
      )
      const fs = yield* FileSystem.FileSystem
      assert.isTrue(yield* fs.exists(`${folder}/step_2/model.safetensors`))
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("says what is wrong with a setting, and where it came from", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const fs = yield* FileSystem.FileSystem
      yield* fs.writeFileString(`${cwd}/run.yaml`, "trainer:\n  lr: 1e-4\n  batchsize: 3\n")
      const typo = yield* InProcess.run(["up", "--config", "run.yaml"])
      assert.strictEqual(typo.code, 2)
      assert.match(typo.stderr, /run\.yaml:3: unknown setting "trainer\.batchsize"; did you mean "batch_size"/)
      const range = yield* InProcess.run(["up", "--batch-size", "0"])
      assert.strictEqual(range.code, 2)
      assert.match(range.stderr, /--batch_size: expected .*0/)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("atropos train", () => {
  it.live("says on Ctrl-C what is saved", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const api = yield* InProcess.start(["api", "--port", "0"])
      const [, service = ""] = yield* api.says(/trajectory service at (http:\S+)/)
      const words = ["train", "--model", model, "--atropos-url", service, "--steps", "2", "--seq-len", "64"]
      const child = yield* Bin.start([...words, "--device", "cpu"], { cwd })
      const pull = yield* Stream.toPull(child.stdout.pipe(Stream.decodeText, Stream.splitLines))
      const until = Effect.fnUntraced(function* (word: string) {
        for (;;) {
          const line = (yield* pull).find((one) => one.includes(word))
          if (line !== undefined) return line
        }
      })
      yield* until("service: ")
      yield* child.kill({ killSignal: "SIGINT" })
      assert.include(yield* until("stopped"), "before the first checkpoint: the same command starts over")
      assert.strictEqual(Number(yield* child.exitCode), 130)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
