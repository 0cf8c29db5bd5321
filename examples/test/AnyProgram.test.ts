/** The programs of docs/agents.md, section "Any program": they stand there word for word, and are rolled out. */
import { NodeServices } from "@effect/platform-node"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Command } from "@atropos/envs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const file = (name: string) => fileURLToPath(new URL(`../agents/any-program/${name}`, import.meta.url))
const page = readFileSync(new URL("../../docs/agents.md", import.meta.url), "utf8")
const hasPython = spawnSync("python3", ["--version"]).status === 0

/** Doubles, whatever it is asked for. */
const doubling: ServerManager.Script = () => "def double(x):\n    return 2 * x\n\nhalf = double\n"

describe("any program", () => {
  it("stands in the page as it is run", () => {
    for (const name of ["agent.py", "check.py"])
      assert.include(page, `\`\`\`python\n${readFileSync(file(name), "utf8")}\`\`\``)
  })

  it.live.skipIf(!hasPython)(`is judged by what it left${hasPython ? "" : " (skipped: no python3)"}`, () =>
    Effect.gen(function* () {
      const environment = yield* Environment.Environment
      const groups = yield* environment.work(0).pipe(
        Stream.take(2),
        Stream.mapEffect(({ rollOut }) => rollOut),
        Stream.runCollect
      )
      const judged = groups.map(({ groups: [group] }) => ({
        scores: Array.from(group!.scores),
        rewards: group!.rewards?.[0]
      }))
      assert.deepStrictEqual(
        judged.toSorted((one, other) => one.scores[0]! - other.scores[0]!),
        [
          { scores: [0.1, 0.1], rewards: { passes: 0, short: 1 } },
          { scores: [1.1, 1.1], rewards: { passes: 1, short: 1 } }
        ]
      )
    }).pipe(
      Effect.provide(
        Command.layer({
          command: `python3 ${file("agent.py")}`,
          scorer: `python3 ${file("check.py")}`,
          items: file("tasks.jsonl"),
          groupSize: 2,
          rewardWeights: { short: 0.1 }
        }).pipe(Layer.provide([ServerManager.layerScripted(doubling), Dataset.layer, Tokenizer.layerBytes]))
      ),
      Effect.provide(NodeServices.layer)
    )
  )
})
