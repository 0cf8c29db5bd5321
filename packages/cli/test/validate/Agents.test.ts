/** `atropos validate` on agents, whose scores need what a run returned. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as InProcess from "../InProcess.ts"

const agent = fileURLToPath(new URL("../fixtures/object-agent.ts", import.meta.url))

const validate = Effect.fnUntraced(function* (mistake: string) {
  yield* InProcess.folder
  const words = ["validate", "--env", agent, "--items", "4", "--texts", "20", "--env.mistake", mistake]
  return yield* InProcess.run(words)
})

layer(NodeServices.layer, { excludeTestServices: true })("validate of an agent without gold results", (it) => {
  it.effect("checks its score on results of scripted runs, and says what is missing", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* validate("")
      assert.strictEqual(code, 0, stderr + stdout)
      assert.notInclude(stdout, "BROKEN")
      for (const law of ["permuting a group permutes its scores", "the same group gets the same scores"])
        assert.match(stdout, new RegExp(`ok +${law} +4 checks`))
      assert.include(stdout, "it names no gold results: give it gold: (item) => [")
    })
  )

  it.effect("finds a score that throws or varies on such results", () =>
    Effect.gen(function* () {
      const thrown = yield* validate("score")
      assert.strictEqual(thrown.code, 1)
      assert.match(thrown.stdout, /BROKEN +scoring never fails/)
      assert.match(thrown.stdout, /score threw TypeError: the score broke \(.*object-agent\.ts/)
      const random = yield* validate("random")
      assert.strictEqual(random.code, 1)
      assert.match(random.stdout, /BROKEN +the same group gets the same scores/)
    })
  )

  it.effect("says why nothing could be checked where the runs fail, and calls no score with what no run returned", () =>
    Effect.gen(function* () {
      const { stdout } = yield* validate("run")
      assert.match(stdout, /checks unscorable; the first: .*the run broke/)
      assert.include(stdout, "gold: (item) => [")
      assert.notInclude(stdout, "BROKEN")
    })
  )
})
