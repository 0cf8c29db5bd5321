/** The verbs that train, as processes of their own. */
import { TrajectoryApi } from "@atropos/core"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Option, Schema, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as OtlpServer from "../../core/test/metrics/OtlpServer.ts"
import * as WandbServer from "../../core/test/metrics/WandbServer.ts"
import * as Bin from "./Bin.ts"
import * as InProcess from "./InProcess.ts"
import * as Telemetry from "./Telemetry.ts"

const model = fileURLToPath(new URL("../../trainer/test/fixtures/models/qwen2", import.meta.url))

/** Milliseconds; for machines under load. */
const limit = 240_000

const longAnswers = fileURLToPath(new URL("fixtures/long-answers.ts", import.meta.url))

const Line = Schema.fromJsonString(
  Schema.Struct({
    step: Schema.Int,
    "reward/mean": Schema.Finite,
    "train/loss": Schema.Finite,
    "staleness/max": Schema.Finite
  })
)

const decodeRows = Schema.decodeUnknownEffect(Schema.toCodecJson(TrajectoryApi.MetricsPage))
const decodeLine = Schema.decodeUnknownEffect(Line)

const metricsOf = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(`${folder}/metrics.jsonl`)
  return yield* Effect.forEach(text.trim().split("\n"), (line) => decodeLine(line))
})

const firstLine = <E>(output: Stream.Stream<Uint8Array, E>, wanted: (line: string) => boolean) =>
  output.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter(wanted),
    Stream.runHead,
    Effect.map(Option.getOrElse(() => assert.fail("the line did not come")))
  )

/** The address a line tells. */
const address = (line: string): string => line.replace(/.*?(http:\/\/127\.0\.0\.1:\d+).*/, "$1")

/** What `up` says at its end of the whole run. */
const summed = (text: string): ReadonlyArray<string> =>
  text.split("\n").filter((line) => /^(mean reward|held-out|trained on|  +[▁-█])/.test(line))

describe("atropos up", () => {
  it.live(
    "stopped by Ctrl-C and started again it takes the very same steps",
    () =>
      Effect.gen(function* () {
        const words = ["up", "--env", "letter-counting", "--steps", "8", "--batch-size", "64", "--seed", "3"].concat([
          "--env.evaluation_items",
          "16",
          "--port",
          "0",
          "--policy_port",
          "0"
        ])
        const figures = (cwd: string) =>
          Effect.map(metricsOf(`${cwd}/.atropos/up/letter-counting-1`), (lines) =>
            lines.map((line) => [line.step, line["reward/mean"], line["train/loss"], line["staleness/max"]] as const)
          )
        const whole = yield* InProcess.folder
        const { code, stdout } = yield* InProcess.run(words)
        assert.strictEqual(code, 0)
        const solved = /held-out items solved +(\d+\.\d)% .* before, (\d+\.\d)% .* after/.exec(stdout)
        const expected = yield* figures(whole)
        assert.strictEqual(expected.length, 8)
        assert.isTrue(expected.every(([, , , staleness]) => staleness === 0))
        // What was asked before and after is with the service, for its viewer.
        const evaluations = yield* Effect.scoped(
          Effect.gen(function* () {
            const { says } = yield* InProcess.start(["api", "--port", "0"])
            const [, service] = yield* says(/trajectory service at (http:\S+)/)
            const rows = yield* Effect.promise(() =>
              fetch(`${service}/v1/runs/letter-counting-1/metrics?source=letter-counting`).then((answer) =>
                answer.json()
              )
            )
            return (yield* decodeRows(rows)).metrics
          })
        )
        assert.deepStrictEqual(
          evaluations.map(({ step, values }) => [step, (100 * values["eval/percent_correct"]!).toFixed(1)]),
          [
            [0, solved?.[1]],
            [8, solved?.[2]]
          ]
        )
        assert.isTrue(evaluations.every(({ values }) => values["eval/percent_correct_ci_low"]! < 1))

        const stopped = yield* InProcess.folder
        yield* Effect.scoped(
          Effect.gen(function* () {
            const child = yield* Bin.start(words, { cwd: stopped })
            const said = yield* Effect.forkChild(
              firstLine(child.stdout, (line) => line.startsWith("stopped after step")),
              { startImmediately: true }
            )
            yield* firstLine(child.stderr, (line) => line.includes("/8 steps"))
            yield* child.kill({ killSignal: "SIGINT" })
            const line = yield* Fiber.join(said)
            assert.match(line, /^stopped after step (\d+) of 8, saved in \.atropos\/up\/letter-counting-1\/step_\1: /)
            assert.strictEqual(Number(yield* child.exitCode), 130)
          })
        )
        const fs = yield* FileSystem.FileSystem
        // The database has no holder any more; the file of its lock stays.
        assert.deepStrictEqual((yield* fs.readDirectory(`${stopped}/.atropos`)).sort(), ["lock.sqlite", "pgdata", "up"])
        const resumed = yield* InProcess.run(words)
        assert.strictEqual(resumed.code, 0)
        assert.match(resumed.stdout, /resuming letter-counting-1 after \d+ of 8 steps/)
        // Nor does it learn again what it was shown before its first step.
        assert.notInclude(resumed.stderr, "warm-up steps")
        assert.deepStrictEqual(yield* figures(stopped), expected)
        // The whole run is summed up, not what this process did of it.
        assert.match(resumed.stdout, /8 steps, \d+ of them in this session, in /)
        assert.isAtLeast(summed(stdout).length, 2)
        assert.deepStrictEqual(summed(resumed.stdout), summed(stdout))
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    limit
  )

  it.live("says what is wrong with a setting, and where it came from", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const fs = yield* FileSystem.FileSystem
      yield* fs.writeFileString(`${cwd}/run.yaml`, "trainer:\n  lr: 1e-4\n  batchsize: 3\n")
      const typo = yield* InProcess.run(["up", "--config", "run.yaml"])
      assert.strictEqual(typo.code, 2)
      assert.match(typo.stderr, /run\.yaml:3: there is no setting "trainer\.batchsize"; did you mean "batch_size"/)
      const range = yield* InProcess.run(["up", "--batch-size", "0"])
      assert.strictEqual(range.code, 2)
      assert.match(range.stderr, /--batch_size: expected .*0/)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("atropos train", () => {
  it.live(
    "says on Ctrl-C what is saved",
    () =>
      Effect.gen(function* () {
        const cwd = yield* InProcess.folder
        const api = yield* InProcess.start(["api", "--port", "0"])
        const [, service = ""] = yield* api.says(/trajectory service at (http:\S+)/)
        const words = ["train", "--model", model, "--atropos-url", service, "--steps", "2", "--seq-len", "64"]
        const child = yield* Bin.start([...words, "--device", "cpu"], { cwd })
        const pull = yield* Stream.toPull(child.stdout.pipe(Stream.decodeText, Stream.splitLines))
        const until = Effect.fnUntraced(function* (word: string) {
          for (;;) {
            const line = (yield* pull).find((one) => one.includes(word))
            if (line !== undefined) return line
          }
        })
        yield* until("service: ")
        yield* child.kill({ killSignal: "SIGINT" })
        assert.include(yield* until("stopped"), "before the first checkpoint: the same command starts over")
        assert.strictEqual(Number(yield* child.exitCode), 130)
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    limit
  )

  it.live(
    "learns from an environment in another process, hands its adapters to the policy server, and is traced through all",
    () =>
      Effect.gen(function* () {
        const cwd = yield* InProcess.folder
        const collector = yield* OtlpServer.make
        const wandb = yield* WandbServer.make
        const traced = ["--metrics.otlp_endpoint", collector.url]
        const env = { WANDB_API_KEY: WandbServer.apiKey, WANDB_BASE_URL: wandb.url }
        const api = yield* InProcess.start(["api", "--port", "0", ...traced])
        const [, service = ""] = yield* api.says(/trajectory service at (http:\S+)/)
        const policy = yield* Bin.start(["policy", "--model", model, "--port", "0", ...traced], { cwd })
        const server = address(yield* firstLine(policy.stdout, (line) => line.startsWith("policy ")))
        const serving = yield* InProcess.start(
          ["serve", "--env", longAnswers, "--env.rollout_server_url", service]
            .concat(["--env.tokenizer_name", model, "--env.max_token_length", "8", "--env.total_steps", "2"])
            .concat(["--env.ensure_scores_are_not_same", "False"])
            .concat(["--openai.server_type", "vllm", "--openai.base_url", `${server}/v1`, ...traced]),
          env
        )
        const words = ["train", "--model", model, "--atropos-url", service, "--batch-size", "8", "--steps", "2"]
          .concat(["--seq-len", "64", "--checkpoint-interval", "1", "--threads", "1", "--device", "cpu"])
          .concat(["--loss", "grpo", "--lr", "1e-3", "--weight-sync", JSON.stringify([`policy+${server}`])])
          .concat(["--use_wandb", "true", "--wandb_project", "toys", ...traced])
        const { code, stderr, stdout } = yield* Bin.run(words, { cwd, env })
        assert.strictEqual(code, 0, stderr)
        assert.match(stdout, /steps +2\n/)
        const fs = yield* FileSystem.FileSystem
        const folder = `${cwd}/trained_model_checkpoints`
        assert.isTrue(yield* fs.exists(`${folder}/step_2/adapter_model.safetensors`))
        assert.strictEqual((yield* metricsOf(folder)).length, 2)
        const models = yield* Effect.promise(() => fetch(`${server}/v1/models`).then((answer) => answer.text()))
        assert.match(models, /policy-[0-9a-f]+-v2/)
        const served = yield* serving.ended
        assert.strictEqual(served.code, 0)
        assert.notInclude(stdout + stderr + served.stdout + served.stderr, WandbServer.apiKey)
        // The others tell the rest as they end.
        yield* Effect.all([api.interrupt, policy.kill()], { concurrency: "unbounded" })
        Telemetry.checkTraces(collector, WandbServer.apiKey)
        Telemetry.checkWandb(wandb, 2)
      }).pipe(Effect.provide(NodeServices.layer)),
    limit
  )
})
