/**
 * All weights pushed to a stand-in of vLLM, and rollouts of it meanwhile: no answer is of another version than it says.
 */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Fiber, FileSystem, Layer, References, Result } from "effect"
import { FetchHttpClient } from "effect/http"
import * as WeightSync from "../../src/sync/WeightSync.ts"
import { until } from "../server/TestPolicyServer.ts"
import * as VllmStandIn from "./VllmStandIn.ts"

const platform = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer)
const silently = Effect.provideService(References.MinimumLogLevel, "None")

const writeAdapter: NonNullable<WeightSync.Options["writeAdapter"]> = (folder, [value]) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.writeFileString(`${folder}/weights.json`, JSON.stringify(value)))

/** Version v has the weights 10 v. */
const weights = (version: number, tokens = [1, 2, 3]): WeightSync.Weights => ({
  version,
  parameters: Float32Array.of(10 * version),
  probe: { tokens, logprobs: tokens.slice(1).map(() => -10 * version) }
})

const synced = (more: Partial<WeightSync.Options> = {}, drainTime?: "1 millis", given: VllmStandIn.Options = {}) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const server = yield* VllmStandIn.serve(given)
    const folder = yield* fs.makeTempDirectoryScoped()
    const target = yield* WeightSync.vllmWeights({ url: `${server.url}/v1`, ...(drainTime && { drainTime }) })
    const quick = { firstDelay: "1 millis", maxDelay: "2 millis", attempts: 2, grace: 0, run: "r" } as const
    const sync = yield* WeightSync.make({ targets: [target], folder, writeAdapter, ...quick, ...more })
    return { server, target, sync, folder, fs }
  })

const sampling = { inputIds: [1, 2], maxTokens: 4 }

/** Samples of the stand-in: the version and the logprob of each, which is minus the weights. */
const sampler = (url: string, maxAttempts = 8) =>
  Effect.gen(function* () {
    const layer = ServerManager.layer({
      maxAttempts,
      servers: [{ baseUrl: `${url}/v1`, logprobsMode: "processed" }]
    }).pipe(Layer.provide(Tokenizer.layerBytes))
    const { tokens } = yield* Effect.provide(ServerManager.ServerManager, yield* Layer.build(layer))
    return Effect.map(tokens(sampling), ([one]) => [one!.policyVersion, one!.logprobs[0]])
  })

/** What vLLM is told to do for a push, in order. */
const steps = (before: string, name: string) => [
  `/update_weight_version ${before}>${name}`,
  "/pause?mode=wait",
  "/collective_rpc",
  `/update_weight_version >${name}`,
  "/reset_prefix_cache",
  "/resume",
  "/v1/completions",
  `/update_weight_version ${name}`
]

describe("all weights to vLLM", () => {
  it.live("are labelled with their version once the server has shown that it has them", () =>
    Effect.gen(function* () {
      const { folder, fs, server, sync } = yield* synced()
      yield* sync.push(weights(1))
      yield* sync.push(weights(2))
      assert.deepStrictEqual(server.told(), [
        ...steps("default", "policy-r-v1"),
        ...steps("policy-r-v1", "policy-r-v2")
      ])
      let left: ReadonlyArray<string> = []
      while (left.length !== 1) left = yield* fs.readDirectory(folder)
      assert.deepStrictEqual(left, ["policy-r-v2"])
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("leave what has begun to the old weights, and let what comes meanwhile wait for the new ones", () =>
    Effect.gen(function* () {
      const { server, sync } = yield* synced()
      const sample = yield* sampler(server.url)
      yield* sync.push(weights(1))
      assert.deepStrictEqual(yield* sample, [1, -10])
      server.hold()
      const begun = yield* Effect.forkChild(sample)
      yield* until(() => server.running() === 1)
      const push = yield* Effect.forkChild(sync.push(weights(2)))
      yield* until(() => server.isPaused())
      const later = yield* Effect.forkChild(sample)
      server.finish()
      assert.deepStrictEqual(yield* Fiber.join(begun), [1, -10])
      yield* Fiber.join(push)
      assert.deepStrictEqual(yield* Fiber.join(later), [2, -20])
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("let a request that vLLM 0.33 refuses while it is paused come again once it has resumed", () =>
    Effect.gen(function* () {
      const { server, sync } = yield* synced({}, undefined, { isRefusing: true })
      // One attempt: a 503 is no failed one.
      const sample = yield* sampler(server.url, 1)
      yield* sync.push(weights(1))
      server.pause()
      const refused = yield* Effect.forkChild(sample)
      yield* until(() => server.refused() >= 2)
      server.resume()
      assert.deepStrictEqual(yield* Fiber.join(refused), [1, -10])
      server.hold()
      const begun = yield* Effect.forkChild(sample)
      yield* until(() => server.running() === 1)
      const push = yield* Effect.forkChild(sync.push(weights(2)))
      yield* until(() => server.isPaused())
      const later = yield* Effect.forkChild(sample)
      server.finish()
      assert.deepStrictEqual(yield* Fiber.join(begun), [1, -10])
      yield* Fiber.join(push)
      assert.deepStrictEqual(yield* Fiber.join(later), [2, -20])
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("abort what takes too long, which is asked for again", () =>
    Effect.gen(function* () {
      const { server, sync } = yield* synced({}, "1 millis")
      const sample = yield* sampler(server.url)
      yield* sync.push(weights(1))
      server.hold()
      const begun = yield* Effect.forkChild(sample)
      yield* until(() => server.running() === 1)
      yield* sync.push(weights(2))
      server.finish()
      yield* until(() => server.running() === 0)
      const [version, logprob] = yield* Effect.race(
        Fiber.join(begun),
        Effect.forever(Effect.andThen(Effect.sync(server.finish), Effect.yieldNow))
      )
      assert.deepStrictEqual([version, logprob], [2, -20])
      assert.include(server.told(), "/pause?mode=abort")
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("that did not arrive are no version: nobody is answered by them, until the right ones are there", () =>
    Effect.gen(function* () {
      const { server, sync } = yield* synced()
      const sample = yield* sampler(server.url)
      yield* sync.push(weights(1))
      server.ignoreFolders(true)
      const error = yield* Effect.flip(sync.push(weights(2)))
      assert.match(error.message, /weights differ from those pushed.*differ by 10\.0 nats/)
      assert.match((yield* sync.status)[0]!.refusal ?? "", /weights differ/)
      assert.strictEqual(server.label(), ">policy-r-v2")
      const waiting = yield* Effect.forkChild(sample)
      server.ignoreFolders(false)
      yield* sync.push(weights(3))
      assert.deepStrictEqual(yield* Fiber.join(waiting), [3, -30])
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("in a folder that the server cannot read leave it paused and alive, for the next ones", () =>
    Effect.gen(function* () {
      const { server, sync, target } = yield* synced()
      yield* sync.push(weights(1))
      const unseen = { name: "policy-r-v2", version: 2, folder: Effect.succeed("/nowhere"), parameters: Effect.never }
      const error = yield* Effect.flip(target.load(unseen, false))
      assert.match(error.message, /could not read \/nowhere, has lost its weights and is paused/)
      assert.isTrue(server.isPaused())
      const sample = yield* sampler(server.url)
      const waiting = yield* Effect.forkChild(sample)
      yield* sync.push(weights(3))
      assert.deepStrictEqual(yield* Fiber.join(waiting), [3, -30])
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("given up while answers are finished leave the server as it was", () =>
    Effect.gen(function* () {
      const { server, sync } = yield* synced()
      const sample = yield* sampler(server.url)
      yield* sync.push(weights(1))
      const { server: other, target } = yield* synced()
      other.hold()
      const begun = yield* Effect.forkChild(
        Effect.promise(() =>
          fetch(`${other.url}/v1/completions`, { method: "POST", body: JSON.stringify({ prompt: [1] }) })
        )
      )
      yield* until(() => other.running() === 1)
      const load = yield* Effect.forkChild(
        target.load(
          { name: "policy-r-v2", version: 2, folder: Effect.succeed("/nowhere"), parameters: Effect.never },
          false
        )
      )
      yield* until(() => other.isPaused())
      yield* Fiber.interrupt(load)
      assert.deepStrictEqual([other.isPaused(), other.label()], [false, "default"])
      other.finish()
      yield* Fiber.join(begun)
      assert.deepStrictEqual(yield* sample, [1, -10])
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("are given again to a server that was started anew", () =>
    Effect.gen(function* () {
      const { server, sync } = yield* synced({ watch: "2 millis" })
      yield* sync.push(weights(1))
      server.restart()
      yield* until(() => server.label() === "policy-r-v1")
      assert.deepStrictEqual(yield* yield* sampler(server.url), [1, -10])
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("may differ by what half precision costs, where the server computes in that", () =>
    Effect.gen(function* () {
      const { sync } = yield* synced({}, undefined, { dtype: "torch.bfloat16" })
      const { probe, ...rest } = weights(1)
      const off = (by: number) => ({ ...rest, probe: { ...probe!, logprobs: probe!.logprobs.map((one) => one + by) } })
      yield* sync.push(off(0.05))
      assert.isTrue(Result.isFailure(yield* Effect.result(sync.push(off(0.2)))))
      const exact = yield* synced()
      assert.isTrue(Result.isFailure(yield* Effect.result(exact.sync.push(off(0.05)))))
    }).pipe(Effect.provide(platform), silently)
  )

  it.live("are refused by a server without these endpoints, with what it has to be started with", () =>
    Effect.gen(function* () {
      const { server, sync, target } = yield* synced({}, undefined, { isStock: true })
      const error = yield* Effect.flip(target.check)
      assert.include(error.message, "GET /weight_info answered 404")
      assert.include(error.message, "VLLM_SERVER_DEV_MODE=1")
      assert.isTrue(error.isPermanent)
      yield* Effect.flip(sync.push(weights(1)))
      assert.deepStrictEqual(server.told(), [])
    }).pipe(Effect.provide(platform), silently)
  )

  it.effect("go to vLLM alone", () =>
    Effect.gen(function* () {
      const target = yield* WeightSync.targetOf("vllm+http://localhost:8000", undefined, "all")
      assert.strictEqual(target.name, "vllm http://localhost:8000")
      for (const kind of ["sglang", "policy"]) {
        const error = yield* Effect.flip(WeightSync.targetOf(`${kind}+http://localhost:8000`, undefined, "all"))
        assert.include(error.message, "adapters only")
      }
    }).pipe(Effect.provide(platform))
  )
})
