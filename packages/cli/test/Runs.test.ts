/** `atropos runs` against a service in this process. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as InProcess from "./InProcess.ts"

const register = (url: string, name: string, more: object = {}) =>
  Effect.promise(async () => {
    const rest = { checkpoint_dir: "", save_checkpoint_interval: 1, wandb_group: "", wandb_project: "" }
    const spec = { name, batch_size: 8, max_token_length: 64, starting_step: 0, num_steps: 40, ...rest, ...more }
    const answer = await fetch(`${url}/v1/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(spec)
    })
    assert.strictEqual(answer.status, 200)
  })

const metrics = (url: string, run: string) =>
  Effect.promise(() =>
    fetch(`${url}/v1/runs/${run}/metrics`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ source: "trainer", step: 1, values: { loss: 1 } })
    })
  )

describe("atropos runs", () => {
  it.live("lists the runs of a service, and deletes one that nobody is at work on, if that is confirmed", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const service = yield* InProcess.start(["api", "--port", "0"])
      const [, url] = yield* service.says(/trajectory service at (http:\S+)/)
      const runs = (...words: ReadonlyArray<string>) => InProcess.run(["runs", ...words, "--api-url", url!])
      assert.strictEqual((yield* runs()).stdout, "no run\n")
      yield* register(url!, "old")
      yield* register(url!, "busy")
      yield* metrics(url!, "busy")
      assert.match((yield* runs()).stdout, /^old +waiting for its trainer +0\/40 +8$/m)
      const asked = yield* runs("delete", "old")
      assert.strictEqual(asked.code, 2)
      assert.include(asked.stderr, "this would delete run old with its 0 groups")
      assert.include(asked.stderr, "add --yes")
      const refused = yield* runs("delete", "busy", "--yes")
      assert.strictEqual(refused.code, 1)
      assert.match(refused.stderr, /run busy is in use \(trainer recorded metrics \d+ s ago\): stop its processes/)
      const deleted = yield* runs("delete", "old", "--yes")
      assert.deepStrictEqual([deleted.code, deleted.stderr], [0, ""])
      assert.match(deleted.stdout, /^deleted run old /)
      const twice = yield* runs("delete", "old", "--yes")
      assert.strictEqual(twice.code, 1)
      assert.include(twice.stderr, "no run named old")
      const left = JSON.parse((yield* runs("--json")).stdout) as ReadonlyArray<{ readonly name: string }>
      assert.deepStrictEqual(
        left.map(({ name }) => name),
        ["busy"]
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
