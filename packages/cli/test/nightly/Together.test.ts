/**
 * Service, policy server, environment and trainer together, each as a user starts it: what they learn and what they
 * tell.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as OtlpServer from "../../../core/test/metrics/OtlpServer.ts"
import * as WandbServer from "../../../core/test/metrics/WandbServer.ts"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"
import * as MetricsFile from "../MetricsFile.ts"
import * as Telemetry from "../Telemetry.ts"

const model = fileURLToPath(new URL("../../../trainer/test/fixtures/models/qwen2", import.meta.url))

const longAnswers = fileURLToPath(new URL("../fixtures/long-answers.ts", import.meta.url))

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

describe("atropos train", () => {
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
        assert.strictEqual((yield* MetricsFile.read(folder)).length, 2)
        const models = yield* Effect.promise(() => fetch(`${server}/v1/models`).then((answer) => answer.text()))
        assert.match(models, /policy-[0-9a-f]+-v2/)
        const served = yield* serving.ended
        assert.strictEqual(served.code, 0)
        assert.notInclude(stdout + stderr + served.stdout + served.stderr, WandbServer.apiKey)
        // The others tell the rest as they end.
        yield* Effect.all([api.interrupt, policy.kill()], { concurrency: "unbounded" })
        Telemetry.checkTraces(collector, WandbServer.apiKey)
        Telemetry.checkWandb(wandb, 2)
      }).pipe(Effect.provide(NodeServices.layer))
  )
})
