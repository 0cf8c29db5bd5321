import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TrainerSettings from "../../src/run/TrainerSettings.ts"
import * as TrainerValues from "../../src/run/TrainerValues.ts"

const rateOf = (trainer: Partial<TrainerSettings.TrainerFields>) =>
  TrainerSettings.learningRate(TrainerSettings.complete({ trainer }).trainer)

const shown = (given: Parameters<typeof TrainerSettings.complete>[0]) =>
  TrainerValues.inForce(TrainerSettings.complete(given))

describe("TrainerSettings", () => {
  it("has the original's names and defaults where the original has the setting", () => {
    const encoded = TrainerSettings.encode(TrainerSettings.complete({}))
    assert.deepInclude(encoded, {
      training_steps: 10,
      seq_len: 2048,
      warmup_steps: 0,
      save_path: "trained_model_checkpoints",
      checkpoint_interval: 3,
      use_wandb: false,
      atropos_url: "http://localhost:8000",
      // 2 times 32 steps of accumulation.
      batch_size: 64
    })
    assert.deepInclude(encoded["lora"], { r: 16, alpha: 32 })
  })

  it("learn at a rate that suits what is trained, the original's for all weights, unless another is given", () => {
    assert.deepStrictEqual(
      [rateOf({}), rateOf({ trains: "all" }), rateOf({ trains: "all", lr: 3e-4 })],
      [1e-4, 1e-5, 3e-4]
    )
  })

  it.effect("are read back from what is written beside a checkpoint", () =>
    Effect.gen(function* () {
      const settings = TrainerSettings.complete({
        trainer: { maxStaleness: 4, onStale: "mask", weightSync: ["vllm+http://localhost:9001"], maxGradNorm: null },
        lora: { rslora: true, targetModules: ["q_proj"] },
        loss: { preset: "dapo", clipHigh: 0.3 }
      })
      const { loss, lora, ...trainer } = TrainerSettings.encode(settings)
      assert.deepStrictEqual(
        {
          trainer: yield* TrainerSettings.trainer.decode(trainer),
          lora: yield* TrainerSettings.lora.decode(lora),
          loss: yield* TrainerSettings.loss.decode(loss)
        },
        settings
      )
    })
  )

  it.effect("refuse a name that is no setting and a value out of range, by name", () =>
    Effect.gen(function* () {
      const misspelt = yield* Effect.flip(TrainerSettings.trainer.decode({ learning_rate: 1 }))
      assert.include(misspelt.message, "learning_rate")
      const negative = yield* Effect.flip(TrainerSettings.trainer.decode({ lr: -1 }))
      assert.include(negative.message, "lr")
      const certain = yield* Effect.flip(TrainerSettings.trainer.decode({ adam_beta1: 1 }))
      assert.include(certain.message, "adam_beta1")
    })
  )

  it("are shown as they are in force: with the values of defaults, and without what the run does not look at", () => {
    const whole = shown({ trainer: { trains: "all" } })
    assert.strictEqual(whole["lr"], 1e-5)
    assert.notProperty(whole, "lora")
    assert.deepInclude(whole["loss"], { preset: "grpo", baseline: "group", clip_high: 0.2, kl_coef: 0 })
    assert.notProperty(whole["loss"], "kl")
    const adapter = shown({ trainer: { trains: "adapter", lr: 3e-4 }, loss: { klCoef: 0.1, kl: "k3" } })
    assert.strictEqual(adapter["lr"], 3e-4)
    assert.deepInclude(adapter["lora"], { r: 16 })
    assert.deepInclude(adapter["loss"], { kl: "k3", kl_coef: 0.1 })
    assert.deepStrictEqual(shown({ loss: { preset: "sft" } })["loss"], { preset: "sft" })
  })
})
