/**
 * Pushes new adapters to a vLLM server while training: every update becomes a PEFT folder that the server loads under a
 * new name.
 *
 * Start vLLM with `--enable-lora --max-lora-rank 8` and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, then run: `npx node
 * --conditions=atropos-src examples/08-push-to-vllm.ts http://localhost:9001`. The model is a stand-in with random
 * weights: replace it with `PretrainedModel.load(<the folder or id that vLLM serves>, …)`.
 */
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { MemoryTrajectoryClient } from "@atropos/core"
import {
  ClosedLoop,
  LocalLearner,
  OrtWorker,
  PolicyLayers,
  TinyModel,
  TrainerSettings,
  WeightSync
} from "@atropos/trainer"
import { Console, Effect, FileSystem, Layer, References, Stream } from "effect"
import * as NextLetter from "./06-train-your-own.ts"

const adapter = { r: 8, alpha: 16, targetModules: ["q_proj", "v_proj"], rslora: false }

/** The base is frozen; only the adapter's matrices are trained and sent. */
export const model = TinyModel.withAdapter(NextLetter.model, NextLetter.model.initial, adapter, 1)

const settings = (savePath: string) =>
  TrainerSettings.complete({
    trainer: { savePath, trainingSteps: 3, batchSize: 64, seqLen: 16, lr: 1e-2, checkpointInterval: 0 },
    loss: { preset: "grpo" }
  })

/** Three updates, sampled in this process and also served at `url`. */
export const program = (url: string) =>
  Effect.gen(function* () {
    const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
    const sync = yield* WeightSync.make({
      targets: [yield* WeightSync.vllm({ url })],
      folder: `${folder}/adapters`,
      writeAdapter: model.write,
      run: "demo",
      grace: 1
    })
    const { steps } = yield* ClosedLoop.make({ settings: settings(`${folder}/checkpoints`) }).pipe(
      Effect.provide(LocalLearner.layerInProcess({ model, publish: sync.publish }))
    )
    yield* Stream.runDrain(steps)
    const [status] = yield* sync.status
    yield* Console.log(`${status!.target} serves ${status!.servedName}`)
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(NextLetter.environment, MemoryTrajectoryClient.layer(), OrtWorker.layer({ threads: 1 })).pipe(
        Layer.provideMerge(PolicyLayers.layerInProcess(model, { device: "cpu" })),
        Layer.provideMerge(Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici))
      )
    ),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )

if (import.meta.main) await Effect.runPromise(program(process.argv[2] ?? "http://localhost:9001"))
