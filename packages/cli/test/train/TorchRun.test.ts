import { assert, describe, it } from "@effect/vitest"
import * as Lora from "@atropos/trainer/model/Lora"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Effect } from "effect"
import { Tokenizer } from "@atropos/core"
import * as TorchRun from "../../src/train/TorchRun.ts"

const settings = (trainer: Partial<TrainerSettings.TrainerFields>, lora: Partial<TrainerSettings.LoraFields> = {}) => ({
  trainer: TrainerSettings.trainer.complete({ engine: "torch", ...trainer }),
  lora: TrainerSettings.lora.complete(lora),
  loss: TrainerSettings.loss.complete({})
})

const outline = {
  name: "model",
  folder: "/model",
  tokenizer: Tokenizer.bytes,
  config: { vocabSize: 100, hiddenSize: 8, maxPositions: 64, layers: 2, intermediateSize: 32, parameters: undefined }
}

describe("--engine torch", () => {
  it.effect.each([
    [settings({ quantize: "int8", trains: "all" }), /--quantize int8 --trains all: remove it, or use --engine local/],
    [settings({ quantize: "int4", parallel: "fsdp" }), /--quantize int4 --parallel fsdp/],
    [settings({ memory: 8, routerReplay: true }), /--memory \(use --token_budget\), --router_replay:/],
    [settings({ nodes: 2 }), /--nodes 2 needs --rendezvous host:port/],
    [settings({ nodes: 2, rendezvous: "gpu-1" }), /--nodes 2 needs --rendezvous host:port/],
    [settings({ rendezvous: "gpu-1:29500" }), /--rendezvous needs --nodes/],
    [settings({}, { modulesToSave: ["lm_head"] }), /--lora.modules_to_save/],
    [settings({}, { targetModules: ["q_proj", "lm_head"] }), /an adapter on lm_head/]
  ] as const)("refuses what it cannot do: %#", ([given, expected]) =>
    Effect.gen(function* () {
      assert.match((yield* Effect.flip(TorchRun.check(given))).message, expected)
    })
  )

  it.effect("takes the defaults", () => TorchRun.check(settings({})))

  it("has a process for each GPU, and one without a list", () => {
    const of = (gpus: string | null) => TorchRun.optionsOf(settings({ gpus }), outline, "python3")
    assert.deepInclude(of("0-2,5"), { ranks: 4, gpus: "0,1,2,5" })
    assert.deepInclude(of("3"), { ranks: 1, gpus: "3" })
    assert.deepInclude(of(null), { ranks: 1 })
    assert.notProperty(of(null), "gpus")
    assert.throws(() => settings({ gpus: "all" }), /gpus/)
  })

  it("names the command for other machines", () => {
    const of = (trainer: Partial<TrainerSettings.TrainerFields>) =>
      TorchRun.joining(settings({ rendezvous: "gpu-1:29500", ...trainer }), 1)
    assert.match(of({ nodes: 2, gpus: "0-3" }), /torch join gpu-1:29500 --node 1 --gpus 0-3$/)
    assert.match(of({ nodes: 3 }), /torch join gpu-1:29500 --node 1 --nodes 3$/)
    const { machines } = TorchRun.optionsOf(settings({ nodes: 2, rendezvous: "gpu-1:29500" }), outline, "python3")
    assert.deepStrictEqual(machines, { count: 2, rendezvous: "gpu-1:29500" })
  })

  it("adapts all linear layers of any architecture by default", () => {
    const targets = (lora: Partial<TrainerSettings.LoraFields>) => {
      const { trains } = TorchRun.optionsOf(settings({}, lora), outline, "python3")
      return trains === "all" ? trains : trains.targetModules
    }
    assert.deepStrictEqual(targets({}), [Lora.allLinear])
    assert.deepStrictEqual(targets({ targetModules: ["q_proj"] }), ["q_proj"])
  })
})
