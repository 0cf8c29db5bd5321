/** `examples/09-dataset.yaml` is run as a user would run it, on rows of a file in place of the hub's. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Schema } from "effect"
import { TestConsole } from "effect/testing"
import { fileURLToPath } from "node:url"
import * as Presentation from "../src/help/Presentation.ts"
import * as Progress from "../src/base/Progress.ts"
import * as Root from "../src/Root.ts"

const layer = Layer.mergeAll(
  NodeServices.layer,
  Presentation.layer,
  Layer.succeed(Progress.Presenter, "lines"),
  TestConsole.layer
)

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const rows = path("fixtures/rows/questions.jsonl")
const words = ["--env", "dataset", "--config", path("../../../examples/09-dataset.yaml"), "--env.test_source", rows]

const Group = Schema.fromJsonString(
  Schema.Struct({
    scores: Schema.Array(Schema.Finite),
    messages: Schema.Array(Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.String })))
  })
)

describe("the data set of the example", () => {
  it.live("is rolled out with its prompts and rewards", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/groups.jsonl`
      yield* Root.run([
        "process",
        ...words,
        "--env.source",
        rows,
        "--testing",
        "--env.total_steps",
        "2",
        "--env.data_path_to_save_groups",
        file
      ])
      const [first = ""] = (yield* fs.readFileString(file)).split("\n")
      const { messages, scores } = yield* Schema.decodeUnknownEffect(Group)(first)
      assert.strictEqual(scores.length, 8)
      const [system, user, assistant] = messages[0]!
      assert.match(system!.content, /^Think between <think> and <\/think>/)
      assert.match(user!.content, /^Question: .* has \d+ .*\?\n\nGive a number\.$/)
      // The scripted policy says the question back: not right, and with no word twice in a sentence not penalised for
      // it.
      assert.strictEqual(assistant!.content, user!.content)
      assert.isTrue(scores.every((score) => score <= 0))
    }).pipe(Effect.provide(layer))
  )

  it.live("names the column that is not there, and those that are", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const other = `${yield* fs.makeTempDirectoryScoped()}/other.csv`
      yield* fs.writeFileString(other, "problem,solution\nWhat is 1+1?,2\n")
      const error = yield* Effect.flip(Root.run(["process", ...words, "--env.source", other, "--testing"]))
      assert.include(
        String((error as { readonly message?: string }).message),
        'row 1: unknown column "question" (prompt_template); the columns are problem, solution'
      )
    }).pipe(Effect.provide(layer))
  )
})
