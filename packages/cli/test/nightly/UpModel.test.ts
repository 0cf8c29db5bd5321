/** `up` with a model folder of the user's and a recipe, whose settings fit another model. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Bin from "../Bin.ts"
import * as ModelFolders from "../ModelFolders.ts"
import { up } from "../UpRun.ts"

const few = ["--batch_size", "4", "--env.group_size", "2"]

/** Settings of the run as they were written down. */
const saved = Effect.fnUntraced(function* (cwd: string, run: string) {
  const fs = yield* FileSystem.FileSystem
  return JSON.parse(yield* fs.readFileString(`${cwd}/.atropos/up/${run}/run.json`)) as {
    readonly trainer: { readonly [name: string]: unknown }
    readonly env: { readonly [name: string]: unknown }
  }
})

describe("atropos up --model", () => {
  it.live("leaves a recipe to its own model, named in a file, and keeps to the model's positions", () =>
    Effect.gen(function* () {
      const cwd = yield* Bin.folder
      const fs = yield* FileSystem.FileSystem
      const model = yield* ModelFolders.write(`${cwd}/small`, "qwen3", { positions: 1500 })
      yield* fs.writeFileString(`${cwd}/run.yaml`, `trainer:\n  model: ${model}\n`)
      const words = ["--config", "run.yaml", "--env", "letter-counting", "--steps", "1", "--env.evaluation_items", "2"]
      const letters = yield* up(cwd, ...words, ...few)
      assert.strictEqual(letters.code, 0, letters.stdout + letters.stderr)
      // What it chose is kept for the resumed run.
      const chosen = yield* fs.readFileString(`${cwd}/.atropos/up/letter-counting-1/answer-length.json`)
      const { tokens } = JSON.parse(chosen) as { readonly tokens: number }
      assert.isAtMost(tokens, 2048)
      if (tokens < 2048) assert.include(letters.stdout, `of up to ${tokens.toLocaleString("en-US")} tokens: `)
      assert.include(letters.stdout, "seq_len reduced to 1500")
      const told = yield* saved(cwd, "letter-counting-1")
      assert.deepInclude(told.trainer, {
        trains: "adapter",
        lr: null,
        schedule: "constant",
        warmupSteps: 0,
        seqLen: 2048
      })
      assert.isUndefined(told.env["prompt_style"])

      const tooLong = yield* up(cwd, "--env", "mcqa", "--model", model, "--seq_len", "2048", ...few)
      assert.notStrictEqual(tooLong.code, 0)
      assert.match(tooLong.stderr, /seq_len 2048 exceeds the 1500 positions of .*small: set seq_len to 1500 or less/)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
