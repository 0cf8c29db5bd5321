/** PyTorch's engine under the contract of engines. */
import { Effect, Layer, Result } from "effect"
import { LearnerEngine } from "../../src/learn/LearnerEngine.ts"
import * as Preset from "../../src/loss/Preset.ts"
import * as TorchEngine from "../../src/torch/TorchEngine.ts"
import type * as TorchLearner from "../../src/torch/TorchLearner.ts"
import * as SharedOrt from "../exec/SharedOrt.ts"
import * as LearnerContract from "../learn/LearnerContract.ts"
import * as Torch from "./Torch.ts"

export const suite = (name: string, ranks: number, parallel: "ddp" | "fsdp") => {
  const process = Torch.processOf({ ranks })
  const child = Torch.sharedChild(process)
  let published: Array<number> = []
  const publish = ({ version }: TorchLearner.Weights) => Effect.sync(() => void published.push(version))
  LearnerContract.suite(name, {
    layer: Layer.effect(
      LearnerEngine,
      Effect.suspend(() => {
        published = []
        return TorchEngine.make(Torch.optionsOf(process, "qwen3", { parallel, publish }), child)
      })
    ).pipe(Layer.provide(SharedOrt.layer)),
    tolerance: 0,
    learningRate: 0.01,
    published: Effect.sync(() => published),
    refused: Result.getOrThrow(Preset.resolve({ preset: "distill" })),
    lose: Effect.flatMap(child, ({ kill }) => kill)
  })
}
