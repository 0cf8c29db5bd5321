/**
 * Service, policy server, environment and trainer as a user starts them, with weights that change in the middle of
 * answers and guessed tokens: the trainer is killed, and its successor goes on where its checkpoint is.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as Atropos from "../crash/Atropos.ts"
import * as InProcess from "../InProcess.ts"
import * as MetricsFile from "../MetricsFile.ts"

const model = fileURLToPath(new URL("../../../trainer/test/fixtures/models/qwen2", import.meta.url))
const longAnswers = fileURLToPath(new URL("../fixtures/long-answers.ts", import.meta.url))

const steps = 6

describe("atropos train on a policy server that updates weights in flight", () => {
  it.live("killed and started again goes on from its checkpoint, and the server ends with its weights", () =>
    Effect.gen(function* () {
      const cwd = yield* InProcess.folder
      const api = yield* InProcess.start(["api", "--port", "0"])
      const [, service = ""] = yield* api.says(/trajectory service at (http:\S+)/)
      const flags = ["--weight-updates", "in-flight", "--speculative-tokens", "3"]
      const policy = yield* InProcess.start(["policy", "--model", model, "--port", "0", ...flags])
      const [, server = ""] = yield* policy.says(/policy .*?(http:\/\/127\.0\.0\.1:\d+)/)
      const serving = yield* InProcess.start(
        ["serve", "--env", longAnswers, "--env.rollout_server_url", service]
          .concat(["--env.tokenizer_name", model, "--env.max_token_length", "32", "--env.total_steps", String(steps)])
          .concat(["--env.ensure_scores_are_not_same", "False"])
          .concat(["--openai.server_type", "vllm", "--openai.base_url", `${server}/v1`])
      )
      const words = ["train", "--model", model, "--atropos-url", service, "--batch-size", "8"]
        .concat(["--steps", String(steps), "--seq-len", "64", "--checkpoint-interval", "2", "--lease-seconds", "30"])
        .concat(["--threads", "1", "--device", "cpu", "--loss", "grpo", "--lr", "1e-3"])
        .concat(["--weight-sync", JSON.stringify([`policy+${server}`])])
      const folder = `${cwd}/trained_model_checkpoints`
      // The server has the weights of step 3, and no checkpoint has them.
      const killAt = { of: "asked", when: "before", what: /\/batches\/claim$/, nth: 4 } as const
      yield* (yield* Atropos.start(words, { cwd, killAt })).killed
      const { code, stderr } = yield* InProcess.run(words)
      assert.strictEqual(code, 0, stderr)
      // What was done after the last checkpoint is done again.
      const done = (yield* MetricsFile.read(folder)).map(({ step }) => step)
      assert.deepStrictEqual(
        [...new Set(done)],
        Array.from({ length: steps }, (_, i) => i + 1)
      )
      assert.isAtMost(done.length, steps + 2)
      const models = yield* Effect.promise(() => fetch(`${server}/v1/models`).then((answer) => answer.text()))
      assert.match(models, new RegExp(`policy-[0-9a-f]+-v${steps}`))
      const figures = yield* Effect.promise(() => fetch(`${server}/metrics`).then((answer) => answer.text()))
      assert.isAbove(Number(/^atropos_policy_guessed_tokens_total (\d+)$/m.exec(figures)?.[1]), 0)
      assert.strictEqual((yield* serving.ended).code, 0)
      yield* Effect.all([api.interrupt, policy.interrupt], { concurrency: "unbounded" })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
