import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { ConfigProvider, Effect, FileSystem, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { fileURLToPath } from "node:url"
import { serve } from "../../../trainer/test/server/TestPolicyServer.ts"
import * as Publisher from "../../src/train/Publisher.ts"

const folder = fileURLToPath(new URL("../../../trainer/test/fixtures/models/qwen2", import.meta.url))
const token = "secret-of-the-policy"

/** How many versions the server has after one was published to it. */
const publishedWith = (environment: Record<string, string>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const server = yield* serve(() => "x", {
      tokens: [Redacted.make(token)],
      readAdapter: () => Effect.succeed(Float32Array.of(1))
    })
    const lora = TrainerSettings.lora.complete({})
    const model = yield* PretrainedModel.load(folder, { trains: lora, seed: 1 })
    const published = yield* Publisher.make(model, {
      trainer: TrainerSettings.trainer.complete({
        savePath: yield* fs.makeTempDirectoryScoped(),
        weightSync: [`policy+${server.url}`]
      }),
      lora,
      loss: TrainerSettings.loss.complete({})
    })
    yield* published!.publish({ version: 3, parameters: model.initial })
    return server.loaded.length
  }).pipe(
    Effect.scoped,
    Effect.provide([NodeServices.layer, FetchHttpClient.layer]),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment)))
  )

describe("--weight-sync", () => {
  it.live("sends the token of its setting with new weights, and none where there is none", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* publishedWith({ ATROPOS_WEIGHT_SYNC_TOKEN: token }), 1)
      assert.strictEqual(yield* publishedWith({ ATROPOS_WEIGHT_SYNC_TOKEN: "another-secret" }), 0)
      assert.strictEqual(yield* publishedWith({}), 0)
    })
  )
})
