/** Where a command's metrics go, by its flags, its file and the variables of its process. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer } from "effect"
import { TestConsole } from "effect/testing"
import * as WandbServer from "../../../core/test/metrics/WandbServer.ts"
import * as Metrics from "../../src/config/Metrics.ts"
import * as Presentation from "../../src/help/Presentation.ts"
import * as Progress from "../../src/base/Progress.ts"
import * as Report from "../../src/base/Report.ts"
import * as Root from "../../src/Root.ts"
import * as Bin from "../Bin.ts"

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer, Layer.succeed(Progress.Presenter, "lines"))

const text = (lines: ReadonlyArray<unknown>): string => lines.map(String).join("\n")

type Variables = { readonly [name: string]: string }

/** Runs the command in this process, with these variables alone: exit code and what it has printed so far. */
const atropos = Effect.fnUntraced(function* (words: ReadonlyArray<string>, variables: Variables = {}) {
  const exit = yield* Root.run(words).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables))),
    Effect.exit
  )
  let code = -1
  Report.teardown(exit, (given) => {
    code = given
  })
  return { code, stdout: text(yield* TestConsole.logLines), stderr: text(yield* TestConsole.errorLines) }
})

/** Two groups of rollouts to a file in a folder, without a service and without a model. */
const processIn = (folder: string, ...words: ReadonlyArray<string>): ReadonlyArray<string> =>
  ["process", "--env", Bin.myEnvironment, "--testing", "--env.total_steps", "2"].concat(
    ["--env.data_path_to_save_groups", `${folder}/out.jsonl`],
    words
  )

const filesBelow = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  return (yield* fs.exists(folder)) ? yield* fs.readDirectory(folder, { recursive: true }) : []
})

describe("metrics of a command", () => {
  it.effect("go nowhere unless somebody asked, and to every sink that was asked for", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      const plain = yield* atropos(processIn(folder))
      assert.strictEqual(plain.code, 0, plain.stderr)
      assert.deepStrictEqual(yield* filesBelow(`${folder}/out-metrics`), [])

      yield* fs.writeFileString(`${folder}/run.yaml`, `metrics:\n  tensorboard: true\n  folder: ${folder}/figures\n`)
      const flags = ["--no-resume", "--config", `${folder}/run.yaml`, "--metrics.file", "True", "--metrics_port", "0"]
      const asked = yield* atropos(processIn(folder, ...flags))
      assert.strictEqual(asked.code, 0, asked.stderr)
      const files = yield* filesBelow(`${folder}/figures`)
      const lines = files.find((file) => file.endsWith(".metrics.jsonl"))
      assert.isTrue(files.some((file) => /^tensorboard\/[\w-]+\/events\.out\.tfevents\./.test(file)))
      const figures = (yield* fs.readFileString(`${folder}/figures/${lines}`)).trim().split("\n")
      const last: unknown = JSON.parse(figures.at(-1)!)
      assert.deepInclude(last, { step: 2 })
      assert.property(last, "train/scores_mean")
      assert.notProperty(last, "train/items_sent_to_api")
    }).pipe(Effect.provide(layer))
  )

  it.effect("are kept for Weights & Biases where there is no key, and uploaded by wandb-sync where there is one", () =>
    Effect.gen(function* () {
      const folder = yield* Bin.folder
      const server = yield* WandbServer.make
      const offline = yield* atropos(processIn(folder, "--env.use_wandb", "true"))
      assert.strictEqual(offline.code, 0, offline.stderr)
      const sync = ["wandb-sync", folder]
      const withoutKey = yield* atropos(sync)
      assert.strictEqual(withoutKey.code, 2)
      assert.match(withoutKey.stderr, /needs an API key in WANDB_API_KEY/)
      const variables = { WANDB_API_KEY: WandbServer.apiKey, WANDB_BASE_URL: server.url }
      const { code, stderr, stdout } = yield* atropos(sync, variables)
      assert.strictEqual(code, 0, stderr)
      assert.match(stdout, /-\d{4}-\d\d-\d\d-[a-z]{6}: \d+ rows at http.*\/team\/atropos\/runs\/\w{8}$/)
      const run = WandbServer.onlyRun(server)
      const last = WandbServer.rowsOf(run).at(-1)
      assert.strictEqual(last?.["_step"], 2)
      assert.property(last, "train/scores_mean")
      assert.strictEqual(run.exitcode, 0)
      assert.deepStrictEqual(server.mistakes, [])
      const none = yield* atropos(["wandb-sync", yield* Bin.folder], variables)
      assert.strictEqual(none.code, 2)
      assert.match(none.stderr, /no Weights & Biases runs in /)
    }).pipe(Effect.provide(layer))
  )

  it.effect("go to Weights & Biases by a key alone, as the original's do, and not where that is refused", () =>
    Effect.gen(function* () {
      const folder = yield* Bin.folder
      const server = yield* WandbServer.make
      const variables = { WANDB_API_KEY: WandbServer.apiKey, WANDB_BASE_URL: server.url }
      for (const refusal of [
        ["--metrics.wandb", "false"],
        ["--env.use_wandb", "False"],
        ["--metrics.wandb_mode", "disabled"]
      ]) {
        const { code, stderr } = yield* atropos(processIn(folder, "--no-resume", ...refusal), variables)
        assert.strictEqual(code, 0, stderr)
      }
      assert.strictEqual(server.requests.length, 0)
      const words = processIn(folder, "--no-resume", "--metrics.wandb_entity", "us", "--metrics.wandb_group", "g")
      const { code, stderr, stdout } = yield* atropos(words, variables)
      assert.strictEqual(code, 0, stderr)
      const run = WandbServer.onlyRun(server)
      assert.deepInclude(run.variables, { entity: "us", group: "g", project: "atropos" })
      assert.strictEqual(run.exitcode, 0)
      assert.deepStrictEqual(server.mistakes, [])
      assert.notInclude(stdout + stderr, WandbServer.apiKey)
    }).pipe(Effect.provide(layer))
  )

  it.effect("say what is wrong with a setting, and where it came from", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      yield* fs.writeFileString(`${folder}/run.yaml`, "metrics:\n  tensorbord: true\n")
      const typo = yield* atropos(processIn(folder, "--config", `${folder}/run.yaml`))
      assert.strictEqual(typo.code, 2)
      assert.match(typo.stderr, /run\.yaml:2: unknown setting "metrics\.tensorbord"; did you mean "tensorboard"/)
      const range = yield* atropos(processIn(folder, "--metrics.trace_sample", "2"))
      assert.strictEqual(range.code, 2)
      assert.match(range.stderr, /--metrics\.trace_sample: expected .*, got 2/)
      const online = yield* atropos(processIn(folder, "--metrics.wandb", "true", "--metrics.wandb_mode", "online"))
      assert.strictEqual(online.code, 2)
      assert.match(online.stderr, /wandb_mode online needs an API key in WANDB_API_KEY/)
    }).pipe(Effect.provide(layer))
  )

  it("may be written with dashes, and the port under its short name", () => {
    assert.deepStrictEqual(
      Metrics.normalizeArgs(["--metrics_port", "1", "--metrics-port=2", "--metrics.wandb-group", "g", "--port", "3"]),
      ["--metrics.port", "1", "--metrics.port=2", "--metrics.wandb_group", "g", "--port", "3"]
    )
  })
})
