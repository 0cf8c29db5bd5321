/** A command whose environment is Python's, killed by -9: neither interpreters nor what they started are left. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { fileURLToPath } from "node:url"
import * as TestServer from "../../../../core/test/inference/TestServer.ts"
import * as Processes from "../../../../envs/test/long/python/Processes.ts"
import { having, interpreter } from "../../../../core/test/Python.ts"
import * as Atropos from "../../crash/Atropos.ts"

const packages = fileURLToPath(new URL("../../../../envs/test/long/python/packages", import.meta.url))

/** Each with the fewest processes that there are while an answer is waited for: the interpreter, and programs of it. */
const environments = [
  { name: "reasoning-gym", module: "reasoning_gym", settings: ["--env.dataset", "chain_sum"], fewest: 1 },
  {
    name: "verifiers",
    module: "verifiers.v1",
    settings: ["--env.taskset", "reversal", "--env.harness", "bash"],
    fewest: 2
  },
  {
    name: "inspect",
    module: "inspect_ai",
    settings: ["--env.task", `${packages}/capitals.py@capitals`],
    fewest: 1
  }
] as const

for (const { fewest, module, name, settings } of environments) {
  const { absence, isPresent } = having(module)
  describe.runIf(isPresent && Processes.canLook)(`${name}, killed by -9${absence}`, () => {
    it.live("leaves no process behind", () =>
      Effect.gen(function* () {
        const mark = `ATROPOS_TEST_MARK=${name}-${process.pid}`
        const isAsked = yield* Latch.make()
        // Killed while it waits for an answer.
        const policy = yield* TestServer.make(({ path }) => {
          if (!path.endsWith("/chat/completions")) return { json: { data: [] } }
          isAsked.openUnsafe()
          return "hang"
        })
        const victim = yield* Atropos.start(
          [
            ["process", "--env", name],
            settings,
            ["--env.python", `env ${mark} 'PYTHONPATH=${packages}' ${interpreter}`],
            ["--env.group_size", "2", "--env.total_steps", "1", "--env.tokenizer_name", "bytes"],
            ["--env.data_path_to_save_groups", "out.jsonl", "--openai.base_url", `${policy.url}/v1`]
          ].flat(),
          { cwd: yield* Atropos.folder }
        )
        yield* Effect.raceFirst(
          isAsked.await,
          Effect.flatMap(victim.ended, () => Effect.die(new Error(`it asked nothing: ${victim.said()}`)))
        )
        assert.isAtLeast(Processes.marked(mark).length, fewest)
        yield* victim.kill
        assert.deepStrictEqual(yield* Processes.gone(mark), [])
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )
  })
}
