import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { EnvironmentSettings, ServerSettings, Settings } from "@atropos/core"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Effect, Exit, Layer } from "effect"
import { TestConsole } from "effect/testing"
import * as Commands from "../../src/Commands.ts"
import * as HelpFlags from "../../src/help/HelpFlags.ts"
import * as EngineFlags from "../../src/config/EngineFlags.ts"
import * as Presentation from "../../src/help/Presentation.ts"
import * as Root from "../../src/Root.ts"

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer)

const printed = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const before = (yield* TestConsole.logLines).length
  assert.isTrue(Exit.isSuccess(yield* Effect.exit(Root.run(words))), words.join(" "))
  return (yield* TestConsole.logLines).slice(before).map(String).join("\n")
})

/** The flags that a part of a page lists. */
const flagsIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(/^ {2}--([\w.-]+)/gm), ([, name = ""]) => name)

/** The whole page of help of some words: common flags with the environment's own, and advanced ones. */
const help = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const text = yield* printed(...words, "--help-all")
  const [, common = "", advanced = ""] =
    /\nFLAGS\n([^]*?)\n(?:ADVANCED FLAGS\n([^]*?)\n)?GLOBAL FLAGS\n/.exec(text) ?? []
  return { common, advanced }
})

const wire = (fields: object) => Object.keys(fields).map(Settings.wireName)

/** All commands, nested ones, and those whose flags depend on their arguments. */
const commands: ReadonlyArray<ReadonlyArray<string>> = [
  [],
  ...Object.keys(Commands.commands).map((name) => [name]),
  ["evaluate", "diff"],
  ["evaluate", "suites"],
  ["evaluate", "--suite", "mmlu"],
  ["runs", "delete"],
  ["validate", "--loss", "grpo"],
  ...["up", "serve", "process", "evaluate", "validate", "sft-gen", "dpo-gen", "openenv"].flatMap((verb) =>
    ["gsm8k", "service-desk", "distill", "preference", "./examples/01-letters.ts"].map((name) => [verb, "--env", name])
  )
]

describe("help", () => {
  it.effect("of every command fits 40 lines, and says how many flags --help-all adds", () =>
    Effect.gen(function* () {
      for (const words of commands) {
        const text = yield* printed(...words, "--help")
        const lines = text.split("\n")
        assert.isAtMost(lines.length, 40, words.join(" "))
        const [, count, command] = /^(\d+) more flags: (.*)$/.exec(lines.at(-1) ?? "") ?? []
        const verb = words.filter((word) => !word.includes("-") || word.endsWith("-gen")).slice(0, 2)
        assert.match(command ?? "", new RegExp(`${verb[0] ?? ""}.* --help-all$`))
        const all = flagsIn(yield* printed(...words, "--help-all"))
        const few = flagsIn(text)
        assert.strictEqual(Number(count), all.length - few.length, words.join(" "))
        assert.includeMembers([...all], [...few])
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("has every flag without which a command does nothing", () =>
    Effect.gen(function* () {
      const needed: ReadonlyArray<readonly [words: ReadonlyArray<string>, flags: ReadonlyArray<string>]> = [
        [["up"], ["env", "model", "config", "training_steps", "lr"]],
        [["serve"], ["env", "openai.base_url", "openai.model_name", "env.rollout_server_url", "run"]],
        [["serve", "--env", "preference"], ["judge.base_url"]],
        [["process", "--env", "distill"], ["teacher.base_url"]],
        [["train"], ["model", "atropos_url", "run", "weight_sync", "save_path"]],
        [["evaluate"], ["env", "suite", "openai.base_url", "openai.model_name", "env.data_dir_to_save_evals"]],
        [["policy"], ["model", "port", "host"]],
        [["sft-gen"], ["env", "from", "api-url", "tokenizer", "format"]]
      ]
      for (const [words, flags] of needed) {
        assert.includeMembers([...flagsIn(yield* printed(...words, "--help"))], [...flags], words.join(" "))
      }
    }).pipe(Effect.provide(layer))
  )

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
    const engine = (["kvMemoryMegabytes", "prefixCacheMegabytes", "speculativeTokens", "weightUpdates"] as const).map(
      (name) => EngineFlags.nameOf(name, "_")
    )
    const known = new Set([
      ...wire(TrainerSettings.trainerFields),
      ...wire(ServerSettings.managerFields),
      ...engine,
      "policy_port"
    ])
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
