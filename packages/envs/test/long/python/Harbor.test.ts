/** Harbor's own package takes our tasks as we read them, and its rewards are ours. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { fileURLToPath } from "node:url"
import * as SessionGroup from "../../../src/agent/SessionGroup.ts"
import * as RewardFile from "../../../src/harbor/RewardFile.ts"
import * as Tasks from "../../../src/harbor/Tasks.ts"
import * as Rolling from "../../harbor/Rolling.ts"
import { having } from "../../../../core/test/Python.ts"
import * as Python from "./Python.ts"

const harbor = having("harbor")
const script = fileURLToPath(new URL("harbor_tasks.py", import.meta.url))

const texts: ReadonlyArray<readonly ["json" | "text", string]> = [
  ...["1", "0.5\n", " -1e-3 ", "", "one", "nan", "inf", "1e999", "1 2", "0x1"].map((text) => ["text", text] as const),
  ...['{"reward": 1}', '{"reward": 0.5, "b": 1}', '{"a": 1, "b": 0}', '{"a": true, "b": false}'].map(
    (text) => ["json", text] as const
  ),
  ...["1", "[1]", "", "{", '{"a": "1"}', '{"a": null}', '{"a": 1e999}', '{"a": NaN}'].map(
    (text) => ["json", text] as const
  )
]

const Answer = Schema.Struct({
  tasks: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)),
  rewards: Schema.Array(Schema.NullOr(Schema.Record(Schema.String, Schema.Finite)))
})

describe.skipIf(!harbor.isPresent)(`Harbor's own package${harbor.absence}`, () => {
  it.live("reads the same of the same task directories, and of the same reward files", () =>
    Effect.gen(function* () {
      const folder = Rolling.folder(".")
      const { rewards, tasks } = Schema.decodeUnknownSync(Answer)(Python.run(script, folder, JSON.stringify(texts)))
      const found = yield* Tasks.find([folder])
      const ours = yield* Tasks.runnable(found, false)
      assert.deepStrictEqual(
        ours.map(({ agent, artifacts, instruction, machine, name, verifier }) => ({
          name,
          isValid: true,
          instruction,
          agentSeconds: agent.seconds ?? null,
          verifierSeconds: verifier.seconds,
          hasNetwork: machine.hasNetwork,
          verifierEnv: verifier.env,
          artifacts
        })),
        tasks
      )
      const read: typeof rewards = texts.map(([kind, text]) => {
        const judged = (kind === "json" ? RewardFile.ofJson : RewardFile.ofText)(text)
        if (Result.isFailure(judged)) return null
        const score = SessionGroup.score(judged.success)
        return typeof score === "object" && score.rewards !== undefined
          ? score.rewards
          : { reward: typeof score === "number" ? score : score.score! }
      })
      assert.deepStrictEqual(read, rewards)
    }).pipe(Effect.provide(Rolling.platform))
  )
})
