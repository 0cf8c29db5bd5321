/** An environment without held-out items: `evaluate` says what to add, for each way to define one. */
import { assert, layer } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem } from "effect"
import { fileURLToPath } from "node:url"
import * as InProcess from "../InProcess.ts"

const modules = fileURLToPath(new URL("../../../../node_modules", import.meta.url))

const agent = `
import { defineAgent } from "@atropos/envs"
export default defineAgent({ name: "trip", items: () => [1, 2, 3], run: async () => "x", score: () => 1 })
`
const environment = `
import { Environment } from "@atropos/core"
import { Effect, Stream } from "effect"
export default Environment.layer("bare", Environment.settings({}), () =>
  Effect.succeed({
    items: (cursor: number) => Stream.range(cursor, 3),
    collectTrajectories: () => Effect.succeed([]),
    score: () => Effect.succeed([])
  })
)
`

layer(NodeServices.layer, { excludeTestServices: true })("atropos evaluate", (it) => {
  it.effect.each([
    [
      "agent.ts",
      agent,
      /the environment trip has no evaluation: give it held-out items: heldOut in its file, or --env\.test_items/
    ],
    [
      "bare.ts",
      environment,
      /the environment bare has no evaluation: add evaluation: \{ items, collectTrajectories \} to its definition/
    ]
  ] as const)("says what %s has to add where it has no evaluation", ([file, text, says]) =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink(modules, "node_modules")
      yield* fs.writeFileString(file, text)
      const words = [
        "evaluate",
        "--env",
        `./${file}`,
        "--env.tokenizer_name",
        "bytes",
        "--openai.base_url",
        "http://127.0.0.1:9/v1"
      ]
      const { code, stderr } = yield* InProcess.run([...words, "--openai.health_check", "false"])
      assert.notStrictEqual(code, 0)
      assert.match(stderr, says)
    })
  )
})
