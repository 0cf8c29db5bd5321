/**
 * Service, policy server, two environments and trainer as a user starts them, with `--on_stale wait`: at 0 every
 * sequence is on-policy and none is dropped.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as InProcess from "../InProcess.ts"
import * as MetricsFile from "../MetricsFile.ts"

const model = fileURLToPath(new URL("../../../trainer/test/fixtures/models/qwen2", import.meta.url))
const longAnswers = fileURLToPath(new URL("../fixtures/long-answers.ts", import.meta.url))

const steps = 5

describe("atropos train --on_stale wait", () => {
  it.live("lets environments in programs of their own wait for its weights", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const api = yield* InProcess.start(["api", "--port", "0"])
      const [, service = ""] = yield* api.says(/trajectory service at (http:\S+)/)
      const policy = yield* InProcess.start(["policy", "--model", model, "--port", "0"])
      const [, server = ""] = yield* policy.says(/policy .*?(http:\/\/127\.0\.0\.1:\d+)/)
      const serving = yield* Effect.forEach(["first", "second"], (name) =>
        InProcess.start(
          ["serve", "--env", longAnswers, "--env.rollout_server_url", service, "--env.wandb_name", name]
            .concat(["--env.tokenizer_name", model, "--env.max_token_length", "32", "--env.total_steps", String(steps)])
            .concat(["--env.ensure_scores_are_not_same", "False"])
            .concat(["--openai.server_type", "vllm", "--openai.base_url", `${server}/v1`])
        )
      )
      const { code, stderr } = yield* InProcess.run(
        ["train", "--model", model, "--atropos-url", service, "--batch-size", "16", "--steps", String(steps)]
          .concat(["--seq-len", "64", "--threads", "1", "--device", "cpu", "--loss", "grpo", "--lr", "1e-3"])
          .concat(["--checkpoint-interval", "2", "--on_stale", "wait", "--max_staleness", "0"])
          .concat(["--weight-sync", JSON.stringify([`policy+${server}`])])
      )
      assert.strictEqual(code, 0, stderr)
      const metrics = yield* MetricsFile.read(`${cwd}/trained_model_checkpoints`)
      assert.strictEqual(metrics.length, steps)
      for (const one of metrics) {
        assert.deepInclude(one, { "staleness/max": 0, "staleness/dropped": 0, "train/skipped": 0 })
      }
      for (const { ended } of serving) assert.strictEqual((yield* ended).code, 0)
      yield* Effect.all([api.interrupt, policy.interrupt], { concurrency: "unbounded" })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
