import { assert, describe, it } from "@effect/vitest"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Effect } from "effect"
import * as RemoteEngine from "../../src/train/RemoteEngine.ts"

const settings = (trainer: Partial<TrainerSettings.TrainerFields>, lora: Partial<TrainerSettings.LoraFields> = {}) => ({
  trainer: TrainerSettings.trainer.complete(trainer),
  lora: TrainerSettings.lora.complete(lora),
  loss: TrainerSettings.loss.complete({})
})

const server = "tinker+http://localhost:8000"

describe("--engine", () => {
  it("is this machine unless it says otherwise", () => {
    assert.isFalse(RemoteEngine.isRemote(settings({})))
    assert.isTrue(RemoteEngine.isRemote(settings({ engine: server })))
    assert.isFalse(RemoteEngine.isRemote(settings({ engine: "torch" })))
  })

  it.effect("takes a Tinker server", () => RemoteEngine.check(settings({ engine: server })))

  it.effect.each([
    [settings({ engine: "skyrl" }), /--engine skyrl is not a valid engine: expected local, torch, tinker\+http/],
    [settings({ engine: server, trains: "all" }), /trains adapters only/],
    [settings({ engine: server, weightSync: ["vllm+http://localhost:9001"] }), /--weight_sync vllm/],
    [settings({ engine: server }, { rslora: true }), /--lora.rslora/],
    [settings({ engine: server }, { dora: true }), /remove --lora.dora/]
  ] as const)("refuses what would have no effect: %#", ([given, expected]) =>
    Effect.gen(function* () {
      assert.match((yield* Effect.flip(RemoteEngine.check(given))).message, expected)
    })
  )
})
