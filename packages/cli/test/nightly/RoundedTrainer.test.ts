/**
 * A trainer on frozen weights in 8 or 4 bits, on rows that go in blocks and pieces, killed with a step in no
 * checkpoint: its successor ends with the parameters and moments of one that was not killed, to the bit.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, FileSystem, Layer, Option, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import * as LongRows from "../../../trainer/test/run/LongRows.ts"
import * as InProcess from "../InProcess.ts"
import * as MetricsFile from "../MetricsFile.ts"
import * as ModelFolders from "../ModelFolders.ts"
import * as Atropos from "../crash/Atropos.ts"

const steps = 6
/** Steps before the kill: the last of them is in no checkpoint. */
const before = 5
const interval = 2

/** Sends the groups of these steps, once a trainer has begun the run. */
const sender = Effect.fnUntraced(function* (url: string, run: string) {
  const client = yield* Effect.flatMap(Layer.build(TrajectoryClientHttp.layer({ url, run })), (context) =>
    Effect.provide(TrajectoryClient.all, context)
  )
  const register = client.registerEnvironment({
    desiredName: "toy",
    weight: 1,
    groupSize: 4,
    maxTokenLength: LongRows.longest,
    minBatchAllocation: null
  })
  const envId = yield* Effect.cached(
    Effect.map(
      Effect.repeat(register, { until: Option.isSome, schedule: Schedule.spaced("20 millis") }),
      (answer) => Option.getOrThrow(answer).envId
    )
  )
  return Effect.fnUntraced(function* (from: number, until: number) {
    const groups = Array.from({ length: until - from }, (_, i) => LongRows.batch(from + i).groups).flat()
    yield* client.submit(
      yield* envId,
      groups.map((group) => ({ key: randomUUID(), group }))
    )
  })
})

it.live.each(["int8", "int4"])("a killed trainer's successor makes the same bits: --quantize %s", (quantize) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const cwd = yield* InProcess.folder
    const model = yield* ModelFolders.write(`${cwd}/model`, "qwen2")
    const api = yield* InProcess.start(["api", "--port", "0"])
    const [, url = ""] = yield* api.says(/trajectory service at (http:\S+)/)
    const env = { ATROPOS_CACHE_DIR: `${cwd}/cache` }
    const wordsOf = (run: string) =>
      ["train", "--model", model, "--quantize", quantize, "--atropos-url", url, "--run", run]
        .concat(["--save-path", `${cwd}/${run}`, "--steps", String(steps), "--checkpoint-interval", String(interval)])
        .concat(["--seq-len", String(LongRows.longest), "--token-budget", String(LongRows.settings.tokenBudget)])
        .concat(["--remat", LongRows.settings.remat, "--batch-size", "8", "--lr", "1e-3", "--lease-seconds", "3"])
        .concat(["--max-mismatch", "100", "--device", "cpu", "--threads", "1", "--seed", "5"])

    const fillWhole = yield* sender(url, "whole")
    const [whole] = yield* Effect.all([InProcess.run(wordsOf("whole"), env), fillWhole(0, steps)], {
      concurrency: "unbounded"
    })
    assert.strictEqual(whole.code, 0, whole.stderr)

    const fill = yield* sender(url, "killed")
    const victim = yield* Atropos.start(wordsOf("killed"), { cwd, env })
    yield* fill(0, before)
    yield* MetricsFile.read(`${cwd}/killed`).pipe(
      Effect.orElseSucceed(() => []),
      Effect.repeat({ until: (lines) => lines.length >= before, schedule: Schedule.spaced("20 millis") })
    )
    yield* victim.kill
    yield* fill(before, steps)
    const successor = yield* InProcess.run(wordsOf("killed"), env)
    assert.strictEqual(successor.code, 0, successor.stderr)
    assert.deepStrictEqual(
      (yield* MetricsFile.read(`${cwd}/killed`)).map(({ step }) => step),
      [1, 2, 3, 4, 5, 5, 6]
    )
    const written = (run: string, step: number) =>
      Effect.forEach(["trainer_state.safetensors", "adapter_model.safetensors"], (file) =>
        fs.readFile(`${cwd}/${run}/step_${step}/${file}`)
      )
    const expected = yield* written("whole", steps)
    assert.deepStrictEqual(yield* written("killed", steps), expected)
    assert.notDeepEqual(yield* written("killed", before - 1), expected)
    yield* api.interrupt
  }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici)))
)
