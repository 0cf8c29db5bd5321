import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { EnvironmentSettings, ServerSettings, Settings } from "@atropos/core"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Effect, Exit, Layer } from "effect"
import { TestConsole } from "effect/testing"
import * as HelpFlags from "../../src/help/HelpFlags.ts"
import * as Presentation from "../../src/help/Presentation.ts"
import * as Root from "../../src/Root.ts"

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer)

/** The page of help of some words: its flags that most runs need, and the others. */
const help = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const before = (yield* TestConsole.logLines).length
  assert.isTrue(Exit.isSuccess(yield* Effect.exit(Root.run([...words, "--help"]))))
  const text = (yield* TestConsole.logLines).slice(before).map(String).join("\n")
  const [, common = "", advanced = ""] =
    /\nFLAGS\n([^]*?)\n(?:ADVANCED FLAGS\n([^]*?)\n)?GLOBAL FLAGS\n/.exec(text) ?? []
  return { common, advanced }
})

const wire = (fields: object) => Object.keys(fields).map(Settings.wireName)

describe("help", () => {
  it.effect("of up shows what the recipe sets, and the short words of flags", () =>
    Effect.gen(function* () {
      const { advanced, common } = yield* help("up")
      assert.match(common, /--training_steps, --steps integer .*\[default: 400\]/)
      assert.match(common, /--loss\.preset, --loss choice .*\[default: "dapo"\]/)
      assert.match(common, /--trains choice .*\[default: "all"\]/)
      assert.match(common, /--model string .*\[default: "scratch"\]/)
      assert.match(common, /--lr number\|None .*\[default: 0\.001\]/)
      assert.match(common, /--env\.group_size integer .*\[default: 8\]/)
      assert.match(common, /--env\.letters integer /)
      assert.match(advanced, /--adam_beta2 number .*\[default: 0\.95\]/)
      assert.match(advanced, /--env\.worker_timeout number /)
      assert.isBelow(common.trim().split("\n").length, 45)
      const addition = yield* help("up", "--env", "addition", "--env", "sort-letters")
      assert.match(addition.common, /--training_steps, --steps integer .*\[default: 2900\]/)
      // A recipe is its own model's.
      const other = yield* help("up", "--model", "./mine")
      assert.match(other.common, /--training_steps, --steps integer .*\[default: 40\]/)
      assert.match(other.common, /--trains choice .*\[default: "adapter"\]/)
    }).pipe(Effect.provide(layer))
  )

  it.effect("shows no flag that the verb does not look at", () =>
    Effect.gen(function* () {
      const absent: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
        ["up", ["env.total_steps", "env.rollout_server_url", "atropos_url", "save_path"]],
        ["process", ["env.rollout_server_url", "env.inference_weight", "env.steps_per_eval"]],
        ["evaluate", ["env.total_steps", "env.data_path_to_save_groups", "env.min_batch_allocation"]],
        ["validate", ["openai.base_url", "testing", "metrics.file", "env.total_steps"]]
      ]
      for (const [verb, flags] of absent) {
        const { advanced, common } = yield* help(verb, "--env", "sort-letters")
        for (const flag of flags) assert.notInclude(common + advanced, `--${flag} `, verb)
      }
      const { common } = yield* help("process", "--env", "sort-letters", "--testing")
      assert.match(common, /--env\.total_steps integer .*\[default: 20\]/)
    }).pipe(Effect.provide(layer))
  )

  it("calls nothing rare or usual that there is not", () => {
    const known = new Set([...wire(TrainerSettings.trainerFields), ...wire(ServerSettings.managerFields)])
    assert.deepStrictEqual(
      Array.from(HelpFlags.rare).filter((name) => !known.has(name)),
      []
    )
    const settings = new Set(wire(EnvironmentSettings.commonFields).map((name) => `env.${name}`))
    assert.deepStrictEqual(
      Array.from(HelpFlags.usualSettings).filter((name) => !settings.has(name)),
      []
    )
  })
})
