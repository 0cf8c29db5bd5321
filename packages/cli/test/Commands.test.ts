import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer } from "effect"
import { TestConsole } from "effect/testing"
import * as Presentation from "../src/help/Presentation.ts"
import * as Progress from "../src/base/Progress.ts"
import * as Report from "../src/base/Report.ts"
import * as Root from "../src/Root.ts"
import * as Bin from "./Bin.ts"

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer, Layer.succeed(Progress.Presenter, "lines"))

const text = (lines: ReadonlyArray<unknown>) => lines.map(String).join("\n")

/** Runs the command in this process: exit code and what it printed. */
const atropos = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const exit = yield* Effect.exit(Root.run(words))
  let code = -1
  Report.teardown(exit, (given) => {
    code = given
  })
  return {
    code,
    succeeded: Exit.isSuccess(exit),
    stdout: text(yield* TestConsole.logLines),
    stderr: text(yield* TestConsole.errorLines)
  }
})

const env = ["--env", Bin.myEnvironment, "--testing"] as const

describe("commands", () => {
  it.effect("lists every setting of the chosen environment with description, default and choices", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* atropos("serve", "--env", Bin.myEnvironment, "--help-all")
      assert.strictEqual(code, 0)
      assert.match(stdout, /--env\.largest integer +largest number asked for \[default: 9\]/)
      assert.match(stdout, /--env\.tags json +tags to be put into the prompt \[default: \[\]\]/)
      assert.match(stdout, /--env\.eval_handling choice .*choices: STOP_TRAIN, LIMIT_TRAIN, NONE/)
      assert.match(stdout, /--env\.min_batch_allocation number\|None .*\[default: unset\]/)
      assert.match(stdout, /--openai\.base_url string\|None /)
      assert.match(stdout, /--slurm /)
    }).pipe(Effect.provide(layer))
  )

  it.effect("makes twenty groups where answers come from a script and nobody says how many", () =>
    Effect.gen(function* () {
      const folder = yield* Bin.folder
      const words = ["--env.data_path_to_save_groups", `${folder}/out.jsonl`, "--env.largest", "100"]
      const { code, stderr, stdout } = yield* atropos("process", ...env, ...words)
      assert.strictEqual(code, 0, stderr)
      assert.match(stdout, /groups +20 kept/)
    }).pipe(Effect.provide(layer))
  )

  it.effect("lets flags win over the file, the file over the mode, the mode over the environment", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      const out = `${folder}/out.jsonl`
      const yaml = `${folder}/run.yaml`
      yield* fs.writeFileString(
        yaml,
        `env:\n  group_size: 3\n  total_steps: 50\n  ensure_scores_are_not_same: true\n  data_path_to_save_groups: ${out}\n`
      )
      const { code, stderr, stdout } = yield* atropos("process", ...env, "--config", yaml, "--env.total_steps", "6")
      assert.strictEqual(code, 1)
      // The echoing policy is always right, and the file asks for groups that differ: all six are dropped.
      assert.match(stdout, /groups +0 kept/)
      assert.match(stdout, /dropped +6 \(identical_scores 6\)/)
      assert.match(stdout, /pass@3/)
      // Nothing to write is no success, and leaves nothing that the next run would have to avoid.
      assert.include(stderr, "dropped (identical_scores 6). The first was item 0: all scores are equal")
      assert.isFalse(yield* fs.exists(out))
    }).pipe(Effect.provide(layer))
  )

  it.effect("writes groups in the wire's form with their chats", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const out = `${yield* Bin.folder}/out.jsonl`
      const { code } = yield* atropos(
        "process",
        ...env,
        "--env.total_steps=2",
        "--env.group_size=2",
        "--env.use_wandb",
        "False",
        "--env.inference_weight",
        "-1",
        "--env.min_batch_allocation",
        "None",
        "--env.tags",
        '["a", "b"]',
        `--env.data_path_to_save_groups=${out}`
      )
      assert.strictEqual(code, 0)
      const groups = (yield* fs.readFileString(out))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.strictEqual(groups.length, 2)
      assert.deepStrictEqual(Object.keys(groups[0]), [
        "tokens",
        "masks",
        "scores",
        "advantages",
        "ref_logprobs",
        "messages",
        "generation_params",
        "inference_logprobs",
        "overrides",
        "group_overrides",
        "images",
        "env_id",
        "distill_token_ids",
        "distill_logprobs",
        "item_id",
        "timings"
      ])
      assert.deepStrictEqual(groups[0].scores, [1, 1])
      assert.deepStrictEqual(groups[0].messages[0][1].content, "0")
    }).pipe(Effect.provide(layer))
  )

  it.effect("evaluates with a line per sample, metrics in the original's shape and intervals", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      const words = ["evaluate", ...env, "--env.data_dir_to_save_evals", folder]
      const { code, stdout } = yield* atropos(...words)
      assert.strictEqual(code, 0)
      assert.match(stdout, /percent correct +↑ +1/)
      const samples = (yield* fs.readFileString(`${folder}/samples.jsonl`))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.strictEqual(samples.length, 24)
      assert.deepInclude(samples[0], { score: 1, correct: true, finish_reason: "stop" })
      const metrics = JSON.parse(yield* fs.readFileString(`${folder}/metrics.json`))
      assert.deepStrictEqual(Object.keys(metrics.results), ["atropos|repeat_eval|0", "all"])
      assert.strictEqual(metrics.results.all["eval/percent_correct"], 1)
      assert.strictEqual(metrics.config_general.generation_parameters.max_new_tokens, 2048)
      assert.isBelow(metrics.intervals_95["eval/percent_correct"][0], 1)
      // A second evaluation is a new one: the model may have learnt since.
      const second = yield* atropos(...words)
      assert.include(second.stdout, "(samples_1.jsonl, metrics_1.json, evaluate_config_1.yaml)")
      assert.isTrue(yield* fs.exists(`${folder}/metrics_1.json`))
    }).pipe(Effect.provide(layer))
  )

  it.effect("validates: a sound environment passes, a broken one is told apart with the case", () =>
    Effect.gen(function* () {
      const sound = yield* atropos("validate", ...env, "--items", "3")
      assert.strictEqual(sound.code, 0)
      const broken = yield* atropos("validate", ...env, "--items", "3", "--env.broken", "True")
      assert.strictEqual(broken.code, 1)
      assert.include(broken.stdout, 'the wrong answer "1" got 1; it must get less than 1')
    }).pipe(Effect.provide(layer))
  )

  it.effect("names what is wrong with an environment file", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      yield* fs.writeFileString(`${folder}/none.ts`, "export const something = 1\n")
      yield* fs.writeFileString(`${folder}/wrong.ts`, "export const layer = (\n")
      for (const [file, says] of [
        [`${folder}/none.ts`, "must export what defineAgent(…), defineEnvironment(…) or Environment.layer(…) returns"],
        [`${folder}/wrong.ts`, "could not be loaded"],
        [`${folder}/absent.ts`, "file not found"],
        ["gms8k", 'did you mean "gsm8k"?']
      ] as const) {
        const { code, stderr } = yield* atropos("validate", "--env", file)
        assert.strictEqual(code, 2)
        assert.include(stderr, says)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("names the flag whose value is out of range, and the value", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* atropos("process", ...env, "--env.group_size", "0")
      assert.strictEqual(code, 2)
      assert.include(stderr, "--env.group_size: expected a value greater than 0, got 0")
      for (const [setting, value, problem] of [
        ["total_steps", "0", "--env.total_steps: expected -1 or a value greater than 0, got 0"],
        ["total_steps", "-5", "--env.total_steps: expected -1 or a value greater than 0, got -5"],
        // Without a run that has a number of steps it would not end.
        ["total_steps", "-1", "env.total_steps: process needs a number of groups greater than 0, got -1"],
        ["max_num_workers", "0", "--env.max_num_workers: expected -1 or a value greater than 0, got 0"],
        ["batch_size", "-2", "--env.batch_size: expected -1 or a value greater than 0, got -2"],
        ["max_batches_offpolicy", "-1", "--env.max_batches_offpolicy: expected a value"]
      ] as const) {
        const refused = yield* atropos("process", ...env, `--env.${setting}=${value}`)
        assert.notStrictEqual(refused.code, 0, setting)
        assert.include(refused.stderr, problem)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("refuses a flag that is given twice, instead of taking the last", () =>
    Effect.gen(function* () {
      const two = ["--env", "addition", "--env", "sort-letters"]
      for (const verb of ["process", "serve", "evaluate", "validate", "openenv"]) {
        const { code, stderr } = yield* atropos(verb, ...two)
        assert.strictEqual(code, 2, verb)
        assert.include(stderr, "--env is given 2 times: give one (up trains on several)")
      }
      for (const [flag, ...words] of [
        ["--env.group_size", "process", ...env, "--env.group_size=2", "--env.group_size", "4"],
        ["--resume", "process", ...env, "--resume", "--no-resume"],
        ["--model", "train", "--model", "a", "--model", "b"],
        ["--port", "api", "--port", "0", "--port", "1"]
      ] as const) {
        const { code, stderr } = yield* atropos(...words)
        assert.strictEqual(code, 2, flag)
        assert.include(stderr, `${flag} is given 2 times: give it once`)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists environments as a table and as JSON", () =>
    Effect.gen(function* () {
      assert.match((yield* atropos("envs")).stdout, /gsm8k +data sets +download +MIT +grade-school/)
      const { stdout } = yield* atropos("envs", Bin.myEnvironment, "--json")
      const described = JSON.parse(stdout.slice(stdout.indexOf("{")))
      assert.strictEqual(described.name, "repeat")
      assert.deepInclude(described.settings, {
        name: "largest",
        default: 9,
        description: "largest number asked for",
        isCommon: false
      })
    }).pipe(Effect.provide(layer))
  )

  it.effect("prints completions that know the verbs", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* atropos("--completions", "bash")
      assert.strictEqual(code, 0)
      for (const word of ["serve", "validate", "env.group_size"]) assert.include(stdout, word)
    }).pipe(Effect.provide(layer))
  )
})
