/**
 * Weights pushed to stand-ins of vLLM and SGLang that check every request, to our policy server, and to an engine in
 * this process.
 */
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Deferred, Effect, Fiber, FileSystem, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as WeightSync from "../../src/sync/WeightSync.ts"
import * as ScriptedEngine from "../server/ScriptedEngine.ts"
import { serve, until } from "../server/TestPolicyServer.ts"

const platform = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer)

/** An adapter as a file of numbers: what the servers' side of the folder can check. */
const writeAdapter: NonNullable<WeightSync.Options["writeAdapter"]> = (folder, parameters) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) =>
    fs.writeFileString(`${folder}/adapter.json`, JSON.stringify([...parameters]))
  )

const readAdapter = (folder: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    return Float32Array.from(JSON.parse(yield* fs.readFileString(`${folder}/adapter.json`)) as Array<number>)
  }).pipe(Effect.provide(NodeServices.layer))

const writing = (value: number) => (folder: string) =>
  Effect.provide(writeAdapter(folder, Float32Array.of(value)), NodeServices.layer)

const weights = (version: number): WeightSync.Weights => ({ version, parameters: Float32Array.of(version, 0.5) })

const error = (status: number, message: string): TestServer.Reply => ({ status, json: { error: { message } } })

/** A server with vLLM's adapter endpoints: it fails where an adapter is unreadable, loaded twice, or not there. */
const vllm = (override: (asked: TestServer.Asked, count: number) => TestServer.Reply | undefined = () => undefined) =>
  Effect.gen(function* () {
    const loaded = new Set<string>()
    const fs = yield* FileSystem.FileSystem
    const run = Effect.runPromiseWith(yield* Effect.context())
    const server = yield* TestServer.make(async (asked, count) => {
      const given = override(asked, count)
      if (given !== undefined) return given
      const { lora_name: name, lora_path: path } = asked.body as { lora_name: string; lora_path: string }
      if (asked.path === "/v1/load_lora_adapter") {
        if (loaded.has(name)) return error(400, `The lora adapter '${name}' has already been loaded.`)
        const files = await run(Effect.orElseSucceed(fs.readDirectory(path), (): Array<string> => []))
        if (!files.includes("adapter.json")) return error(404, `No adapter found for '${name}'`)
        loaded.add(name)
        return { text: `Success: LoRA adapter '${name}' added successfully.` }
      }
      if (asked.path === "/v1/unload_lora_adapter") {
        return loaded.delete(name) ? { text: "Success" } : error(404, `The lora adapter '${name}' cannot be found.`)
      }
      return error(404, "Not Found")
    })
    return { ...server, loaded }
  })

/** A server with SGLang's adapter endpoints; older ones list the model alone. */
const sglang = Effect.fnUntraced(function* (isListing = true) {
  const loaded = new Set<string>()
  const answer = ({ body, path }: TestServer.Asked): TestServer.Reply => {
    if (path === "/v1/models") {
      return { json: { data: ["model", ...(isListing ? loaded : [])].map((id) => ({ id })) } }
    }
    const name = String(body["lora_name"])
    const isLoad = path === "/load_lora_adapter"
    if (!isLoad && path !== "/unload_lora_adapter") return { status: 404, text: "" }
    if (isLoad === loaded.has(name)) {
      const message = isLoad ? `LoRA adapter ${name} already loaded` : `LoRA adapter ${name} is not loaded`
      return { status: 400, json: { success: false, error_message: message } }
    }
    if (isLoad) loaded.add(name)
    else loaded.delete(name)
    return { json: { success: true, loaded_adapters: {} } }
  }
  const server = yield* TestServer.make(answer, { isProbed: true })
  return { ...server, loaded }
})

/** Fast attempts: what is tested is their order and number. */
const quick = { firstDelay: "1 millis", maxDelay: "4 millis", run: "r", writeAdapter } as const

const make = (targets: ReadonlyArray<WeightSync.Target>, more: Partial<WeightSync.Options> = {}) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    return { folder, fs, sync: yield* WeightSync.make({ targets, folder, ...quick, ...more }) }
  })

const names = (asked: ReadonlyArray<TestServer.Asked>) =>
  asked.map(({ body, method, path }) => `${method} ${path} ${String(body["lora_name"])}`)

describe("WeightSync", () => {
  it.live("vLLM: a new name for every version, old ones unloaded after the grace, their folders removed", () =>
    Effect.gen(function* () {
      const server = yield* vllm()
      const { folder, fs, sync } = yield* make([yield* WeightSync.vllm({ url: `${server.url}/v1/` })], { grace: 1 })
      for (const version of [1, 2, 3]) yield* sync.push(weights(version))
      yield* until(() => server.asked.length === 4)
      assert.deepStrictEqual(names(server.asked), [
        "POST /v1/load_lora_adapter policy-r-v1",
        "POST /v1/load_lora_adapter policy-r-v2",
        "POST /v1/load_lora_adapter policy-r-v3",
        "POST /v1/unload_lora_adapter policy-r-v1"
      ])
      assert.deepStrictEqual(server.asked[0]!.body, {
        lora_name: "policy-r-v1",
        lora_path: `${folder}/policy-r-v1`
      })
      assert.deepStrictEqual([...server.loaded], ["policy-r-v2", "policy-r-v3"])
      let left: ReadonlyArray<string> = []
      while (left.length !== 2) left = yield* fs.readDirectory(folder)
      assert.deepStrictEqual(left.toSorted(), ["policy-r-v2", "policy-r-v3"])
      assert.deepStrictEqual([...(yield* readAdapter(`${folder}/policy-r-v3`))], [3, 0.5])
    }).pipe(Effect.provide(platform))
  )

  it.live("SGLang: its own paths, and a refusal that comes with success: false", () =>
    Effect.gen(function* () {
      const server = yield* sglang()
      const { folder, sync } = yield* make([yield* WeightSync.sglang({ url: server.url })], {
        grace: 0,
        remoteFolder: "/mnt/shared/"
      })
      yield* sync.push(weights(1))
      yield* sync.push(weights(2))
      yield* until(() => server.asked.length === 3)
      assert.deepStrictEqual(names(server.asked), [
        "POST /load_lora_adapter policy-r-v1",
        "POST /load_lora_adapter policy-r-v2",
        "POST /unload_lora_adapter policy-r-v1"
      ])
      // What this machine calls the folder is no concern of that one.
      assert.strictEqual(server.asked[0]!.body["lora_path"], "/mnt/shared/policy-r-v1")
      assert.notInclude(JSON.stringify(server.asked[0]!.body), folder)
      server.loaded.add("policy-r-v3")
      const error = yield* Effect.flip(sync.push(weights(3)))
      assert.include(error.message, "already loaded")
    }).pipe(Effect.provide(platform))
  )

  it.live("tries again what failed, and takes an attempt whose answer was lost for what it was", () =>
    Effect.gen(function* () {
      const server = yield* vllm((_, count) => (count === 1 ? { status: 503, text: "loading" } : undefined))
      const { sync } = yield* make([yield* WeightSync.vllm({ url: server.url })])
      yield* sync.push(weights(1))
      assert.strictEqual(server.asked.length, 2)
      const [status] = yield* sync.status
      assert.deepStrictEqual(status, {
        target: `vllm ${server.url}`,
        servedVersion: 1,
        servedName: "policy-r-v1",
        pendingVersion: undefined,
        failures: 0,
        lastError: undefined,
        refusal: undefined
      })
      const lossy = yield* vllm()
      let isLost = true
      const flaky = yield* TestServer.make(async ({ body, path }) => {
        const reply = await fetch(`${lossy.url}${path}`, { method: "POST", body: JSON.stringify(body) })
        const text = await reply.text()
        if (!isLost) return { text, status: reply.status }
        isLost = false
        return "break"
      })
      const other = yield* make([yield* WeightSync.vllm({ url: flaky.url })])
      yield* other.sync.push(weights(1))
      assert.deepStrictEqual([...lossy.loaded], ["policy-r-v1"])
      assert.strictEqual((yield* other.sync.status)[0]!.servedVersion, 1)
    }).pipe(Effect.provide(platform))
  )

  it.live("gives up after so many attempts, serves the old version, and does better with the next", () =>
    Effect.gen(function* () {
      let isDown = false
      const server = yield* vllm(() =>
        isDown ? { status: 500, json: { error: { message: "out of memory" } } } : undefined
      )
      const { sync } = yield* make([yield* WeightSync.vllm({ url: server.url })], { attempts: 3 })
      yield* sync.push(weights(1))
      isDown = true
      const error = yield* Effect.flip(sync.push(weights(2)))
      assert.deepStrictEqual([error.version, error.failures.length], [2, 1])
      assert.include(error.message, "out of memory")
      assert.strictEqual(server.asked.length, 4)
      const [failed] = yield* sync.status
      assert.deepStrictEqual([failed!.servedVersion, failed!.failures], [1, 3])
      isDown = false
      yield* sync.push(weights(3))
      assert.strictEqual((yield* sync.status)[0]!.servedVersion, 3)
    }).pipe(Effect.provide(platform))
  )

  it.live("does not repeat what cannot work, and says what the server needs", () =>
    Effect.gen(function* () {
      const server = yield* vllm(() => ({ status: 404, json: { detail: "Not Found" } }))
      const { sync } = yield* make([yield* WeightSync.vllm({ url: server.url })])
      const error = yield* Effect.flip(sync.push(weights(1)))
      assert.include(error.message, "VLLM_ALLOW_RUNTIME_LORA_UPDATING")
      assert.strictEqual(server.asked.length, 1)
    }).pipe(Effect.provide(platform))
  )

  it.live("a newer version supersedes one that waits for its next attempt", () =>
    Effect.gen(function* () {
      let isDown = true
      const server = yield* vllm(() => (isDown ? { status: 500, text: "" } : undefined))
      const { sync } = yield* make([yield* WeightSync.vllm({ url: server.url })], {
        firstDelay: "1 hour",
        maxDelay: "1 hour"
      })
      const older = yield* Effect.forkChild(sync.push(weights(1)))
      yield* until(() => server.asked.length === 1)
      isDown = false
      yield* sync.push(weights(2))
      // Nothing more is asked for version 1, and its push has not failed: better weights are there.
      yield* Fiber.join(older)
      assert.deepStrictEqual(names(server.asked), [
        "POST /v1/load_lora_adapter policy-r-v1",
        "POST /v1/load_lora_adapter policy-r-v2"
      ])
    }).pipe(Effect.provide(platform))
  )

  it.live("one target that fails holds up no other; publish waits for one attempt and never fails", () =>
    Effect.gen(function* () {
      const good = yield* vllm()
      const other = yield* sglang()
      const bad = yield* TestServer.make(() => ({ status: 500, text: "" }))
      const scripted = yield* ScriptedEngine.make(() => "x")
      const { sync } = yield* make(
        [
          yield* WeightSync.vllm({ url: bad.url }),
          yield* WeightSync.vllm({ url: good.url }),
          yield* WeightSync.sglang({ url: other.url }),
          WeightSync.inProcess(scripted.engine, "policy")
        ],
        { firstDelay: "1 hour", maxDelay: "1 hour" }
      )
      for (const version of [1, 2]) yield* sync.publish(weights(version))
      assert.deepStrictEqual([good.loaded.size, other.loaded.size, bad.asked.length], [2, 2, 2])
      assert.deepStrictEqual(
        scripted.loaded.map(({ parameters, policyVersion }) => [policyVersion, ...parameters]),
        [
          [1, 1, 0.5],
          [2, 2, 0.5]
        ]
      )
      const status = yield* sync.status
      assert.deepStrictEqual(
        status.map(({ pendingVersion, servedVersion }) => [servedVersion, pendingVersion]),
        [
          [undefined, 2],
          [2, undefined],
          [2, undefined],
          [2, undefined]
        ]
      )
    }).pipe(Effect.provide(platform))
  )

  it.live("our policy server over HTTP: samples with the pushed weights, of a folder or of parameters", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        (_request, _index, { parameters, policyVersion }) => `v${policyVersion} ${parameters[0]}`,
        {
          readAdapter
        }
      )
      const target = yield* WeightSync.targetOf(`policy+${server.url}`)
      const { sync } = yield* make([target], { grace: 0 })
      const sampled = Effect.promise(async () => {
        const reply = await fetch(`${server.url}/v1/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ prompt: "x" })
        })
        const { choices } = (await reply.json()) as { choices: ReadonlyArray<{ text: string }> }
        return choices[0]!.text
      })
      yield* sync.push(weights(4))
      assert.strictEqual(yield* sampled, "v4 4")
      yield* sync.push({ version: 5, write: writing(25) })
      assert.strictEqual(yield* sampled, "v5 25")
      // The same version once more, other weights: never mixed up with the first.
      yield* sync.push({ version: 5, parameters: Float32Array.of(7) })
      assert.strictEqual(yield* sampled, "v5 7")
    }).pipe(Effect.provide(platform))
  )

  it.live("our policy server gets the weights again that it lost", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => "x", { readAdapter })
      const { sync } = yield* make([yield* WeightSync.targetOf(`policy+${server.url}`)], { watch: "2 millis" })
      yield* sync.push(weights(1))
      yield* Effect.promise(() =>
        fetch(`${server.url}/v1/unload_lora_adapter`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ lora_name: "policy-r-v1" })
        })
      )
      yield* until(() => server.loaded.length === 2)
    }).pipe(Effect.provide(platform))
  )

  it.live("SGLang gets lost weights again, unless its version lists no adapters", () =>
    Effect.gen(function* () {
      const [server, old] = [yield* sglang(), yield* sglang(false)]
      const targets = [yield* WeightSync.sglang({ url: server.url }), yield* WeightSync.sglang({ url: old.url })]
      const { sync } = yield* make(targets, { watch: "2 millis" })
      yield* sync.push(weights(1))
      const asks = () => [server, old].map(({ asked }) => asked.filter(({ path }) => path === "/v1/models").length)
      yield* until(() => asks().every((count) => count > 1))
      server.loaded.clear()
      yield* until(() => server.loaded.size === 1)
      assert.deepStrictEqual(names(old.asked.filter(({ method }) => method === "POST")), [
        "POST /load_lora_adapter policy-r-v1"
      ])
    }).pipe(Effect.provide(platform))
  )

  it.live("weights that something writes are those of their version, also for a target that reads them later", () =>
    Effect.gen(function* () {
      let value = 1
      const seen = yield* Deferred.make<ReadonlyArray<number>>()
      const late: WeightSync.Target = {
        name: "late",
        load: ({ folder }, isRepeated) =>
          isRepeated
            ? Effect.flatMap(folder, (path) =>
                Effect.flatMap(Effect.orDie(readAdapter(path)), (read) => Deferred.succeed(seen, Array.from(read)))
              )
            : Effect.fail(new WeightSync.TargetError({ target: "late", message: "away", isPermanent: false })),
        unload: () => Effect.void
      }
      const { sync } = yield* make([late])
      yield* sync.publish({ version: 1, write: (folder) => writing(value)(folder) })
      value = 2
      assert.deepStrictEqual(yield* Deferred.await(seen), [1])
    }).pipe(Effect.provide(platform))
  )

  it.live("an engine in this process is tried again too, and takes folders where they can be read", () =>
    Effect.gen(function* () {
      const scripted = yield* ScriptedEngine.make(() => "x")
      const { folder, fs, sync } = yield* make([WeightSync.inProcess(scripted.engine, "policy")], { readAdapter })
      scripted.failLoads(2)
      yield* sync.push(weights(1))
      assert.strictEqual(scripted.loaded.length, 1)
      // No server reads a folder here, so none is written of parameters.
      assert.deepStrictEqual(yield* fs.readDirectory(folder), [])
      yield* sync.push({ version: 2, write: writing(3) })
      assert.deepStrictEqual([...scripted.loaded[1]!.parameters], [3])
    }).pipe(Effect.provide(platform))
  )

  it.live("a target that does not answer is given up in time", () =>
    Effect.gen(function* () {
      const silent = yield* TestServer.make(() => "hang")
      const { sync } = yield* make([yield* WeightSync.vllm({ url: silent.url })], {
        attempts: 1,
        attemptTime: "30 millis"
      })
      const error = yield* Effect.flip(sync.push(weights(1)))
      assert.include(error.message, "no answer within")
    }).pipe(Effect.provide(platform))
  )

  it.effect("targets by name", () =>
    Effect.gen(function* () {
      const target = yield* WeightSync.targetOf("sglang+http://localhost:30000/v1")
      assert.strictEqual(target.name, "sglang http://localhost:30000")
      assert.include((yield* Effect.flip(WeightSync.targetOf("http://localhost"))).message, "vllm+http://host:port")
    }).pipe(Effect.provide(platform))
  )
})
