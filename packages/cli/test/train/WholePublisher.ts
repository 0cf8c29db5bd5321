/** What hands all weights of a model to a vLLM server, as `train --trains all --weight_sync vllm+URL` makes it. */
import type { Model } from "@atropos/trainer/model/Model"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { Effect, FileSystem } from "effect"
import * as Publisher from "../../src/train/Publisher.ts"

export const make = Effect.fnUntraced(function* (model: Model, url: string) {
  const fs = yield* FileSystem.FileSystem
  const made = yield* Publisher.make(model, {
    trainer: TrainerSettings.trainer.complete({
      savePath: yield* fs.makeTempDirectoryScoped(),
      trains: "all",
      weightSync: [`vllm+${url}`]
    }),
    lora: TrainerSettings.lora.complete({}),
    loss: TrainerSettings.loss.complete({})
  })
  // A target is named.
  return made!
})
