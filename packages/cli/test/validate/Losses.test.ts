/** `atropos validate --loss`, on presets and on files: what is found, what is said, and how the command ends. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, FileSystem, Layer } from "effect"
import { TestConsole } from "effect/testing"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Report from "../../src/base/Report.ts"
import * as LossFile from "../../src/config/LossFile.ts"
import * as Presentation from "../../src/help/Presentation.ts"
import * as Root from "../../src/Root.ts"

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer)

/** Runs the command in this process: exit code and what it printed. */
const validate = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const exit = yield* Effect.exit(Root.run(["validate", ...words]))
  let code = -1
  Report.teardown(exit, (given) => {
    code = given
  })
  const printed = [...(yield* TestConsole.logLines), ...(yield* TestConsole.errorLines)].map(String).join("\n")
  return { code, printed, succeeded: Exit.isSuccess(exit) }
})

/** A file in this package, where the packages are found. */
const write = Effect.fnUntraced(function* (name: string, source: string) {
  const fs = yield* FileSystem.FileSystem
  const here = fileURLToPath(new URL(".", import.meta.url))
  const folder = yield* fs.makeTempDirectoryScoped({ directory: here, prefix: ".loss-" })
  const file = `${folder}/${name}`
  yield* fs.writeFileString(file, source)
  return file
})

const page = readFileSync(new URL("../../../../docs/losses.md", import.meta.url), "utf8")

const own = (loss: string) => `import { Objective } from "@atropos/trainer"
export default Objective.make({ name: "own", ${loss} })
`

describe("validate --loss", () => {
  it.effect("runs the loss of docs/losses.md, and finds it sound", () =>
    Effect.gen(function* () {
      const source = /```ts\n(\/\/ my-loss\.ts\n[\s\S]*?)```/.exec(page)?.[1]
      const { code, printed } = yield* validate("--loss", yield* write("my-loss.ts", source ?? ""))
      assert.strictEqual(code, 0, printed)
      assert.match(printed, /ok +micro-batches add up to the batch +177 +\S+ +1\.0e-9/)
      assert.include(printed, "loss my-loss. Not checkable: that it is the loss you intend")
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("checks a preset with its settings", () =>
    Effect.gen(function* () {
      const { code, printed } = yield* validate("--loss", "sapo", "--loss.sapo_tau_negative", "2")
      assert.strictEqual(code, 0, printed)
      assert.include(printed, "the loss is 0 if the advantage is 0")
      const idle = yield* validate("--loss", "sapo", "--loss.clip_low", "2")
      assert.strictEqual(idle.code, 2)
      assert.include(idle.printed, "clipLow would have no effect")
    }).pipe(Effect.provide(layer))
  )

  const broken: ReadonlyArray<readonly [what: string, source: string, code: number, says: string]> = [
    [
      "exp that overflows",
      own("tokenLoss: (graph, { logprobs, oldLogprobs }) => graph.exp(graph.sub(logprobs, oldLogprobs))"),
      1,
      "with an old logprob of -10000, so that the ratio is huge the loss is"
    ],
    [
      "a mean over the micro-batch",
      own("tokenLoss: (graph, { logprobs }) => graph.sub(logprobs, graph.mean(logprobs, [0], true))"),
      1,
      "Something is summed or averaged over axis 0"
    ],
    [
      "a value that was not asked for",
      own("tokenLoss: (graph, { logprobs, refLogprobs }) => graph.sub(logprobs, refLogprobs)"),
      1,
      "refLogprobs by needsReference"
    ],
    [
      "sequences that were not asked for",
      own("tokenLoss: (graph, { logprobs, sequenceMean }) => sequenceMean(logprobs)"),
      1,
      "it must declare so by needsSequences: true"
    ],
    [
      "one number instead of one per token",
      own("tokenLoss: (graph, { logprobs }) => graph.mean(logprobs, [0, 1])"),
      1,
      "one per token"
    ],
    ["a function", "export default () => 1\n", 2, "it is a function: an objective is a value"],
    ["no default export", "export const loss = 1\n", 2, "must export an objective as its default"],
    ["a mistake of syntax", "export default {\n", 2, "the file could not be loaded"],
    ["a package that is not installed", 'import "some-loss/of-mine"\n', 2, "install it there, npm install some-loss"]
  ]
  for (const [what, source, code, says] of broken) {
    it.effect(`says what is wrong with ${what}`, () =>
      Effect.gen(function* () {
        const file = yield* write("loss.ts", source)
        const found = yield* validate("--loss", file)
        assert.strictEqual(found.code, code, found.printed)
        assert.include(found.printed, says)
      }).pipe(Effect.scoped, Effect.provide(layer))
    )
  }

  it.effect("says that a file is not there, and that one thing is checked at a time", () =>
    Effect.gen(function* () {
      const absent = yield* validate("--loss", "./absent.ts")
      assert.strictEqual(absent.code, 2)
      assert.include(absent.printed, "--loss ./absent.ts: file not found")
      const both = yield* validate("--loss", "grpo", "--env", "gsm8k")
      assert.strictEqual(both.code, 2)
      assert.include(both.printed, "cannot be combined: check one at a time")
    }).pipe(Effect.provide(layer))
  )
})

describe("LossFile", () => {
  it("takes a path after --loss as that of a file", () => {
    const words = [
      "train",
      "--loss",
      "./a.ts",
      "--loss=./b.ts",
      "--loss.preset",
      "dapo",
      "--loss",
      "dapo",
      "--model",
      "./m"
    ]
    assert.deepStrictEqual(LossFile.normalizeArgs(words), [
      "train",
      "--loss.file",
      "./a.ts",
      "--loss.file=./b.ts",
      "--loss.preset",
      "dapo",
      "--loss",
      "dapo",
      "--model",
      "./m"
    ])
  })
})
