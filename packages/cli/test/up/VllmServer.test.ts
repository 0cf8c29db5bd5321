import * as TrainerSettings from "@atropos/trainer/run/TrainerSettings"
import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Path } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as VllmServer from "../../src/up/VllmServer.ts"

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const settingsOf = (trainer: Partial<TrainerSettings.TrainerFields>, lora: Partial<TrainerSettings.LoraFields> = {}) =>
  TrainerSettings.complete({ trainer: { engine: "torch", seqLen: 2048, ...trainer }, lora })
const options = {
  program: "vllm",
  more: ["--enforce-eager"],
  gpus: undefined,
  share: undefined,
  folder: "/models/qwen",
  name: "Qwen/Qwen3-4B",
  settings: settingsOf({}, { r: 24 })
}

/** About Qwen3-4B and 32B. */
const sizes = { parameters: 4e9, hiddenSize: 2560, layers: 36, intermediateSize: 9728, vocabSize: 151_936 }
const adapter = { trained: 33e6, isHalf: true, recomputes: true, hasReference: false, shards: 1 }

describe("a vLLM that up starts", () => {
  it("serves the model on this machine alone, with adapters of the run's rank", () => {
    const words = VllmServer.words(options, 9100).join(" ")
    assert.include(words, "serve /models/qwen --served-model-name Qwen/Qwen3-4B --host 127.0.0.1 --port 9100")
    assert.include(words, "--logprobs-mode processed_logprobs --max-model-len 2048")
    // vLLM knows ranks that are powers of two.
    assert.include(words, "--enable-lora --max-loras 2 --max-lora-rank 32")
    assert.notMatch(words, /gpu-memory|--dtype/)
    const whole = { ...options, share: 0.4, settings: settingsOf({ trains: "all", dtype: "bfloat16" }) }
    const all = VllmServer.words(whole, 9100).join(" ")
    assert.notInclude(all, "lora")
    assert.match(all, /--gpu-memory-utilization 0\.4 --dtype bfloat16 --enforce-eager$/)
  })

  it("takes what training leaves of a GPU, and is refused where that is too little", () => {
    const gpu = { memory: 80e9, positions: 16_384 }
    const found = VllmServer.shareOf(sizes, adapter, gpu)
    assert.isTrue("share" in found && found.share > 0.5 && found.share < 0.94)
    const large = VllmServer.shareOf({ ...sizes, parameters: 32e9 }, adapter, gpu)
    assert.match(
      "problem" in large ? large.problem : "",
      /the GPU has 80\.0 GB: give vLLM another GPU with --sampler_gpus/
    )
  })

  it.live("is healthy before the run continues, and ends with it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { join } = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped()
      const file = join(folder, "vllm")
      /** Answers as a server does that is healthy, and writes its process id. */
      const program = `#!${process.execPath}
const port = process.argv[process.argv.indexOf("--port") + 1]
require("node:http").createServer((_, answer) => answer.end()).listen(port, "127.0.0.1", () => {
  require("node:fs").writeFileSync(${JSON.stringify(join(folder, "pid"))}, String(process.pid))
})`
      yield* fs.writeFileString(file, program, { mode: 0o755 })
      const served = yield* VllmServer.start({ ...options, program: file }).pipe(
        Effect.flatMap(({ url }) => Effect.promise(() => fetch(url))),
        Effect.scoped
      )
      assert.strictEqual(served.status, 200)
      const pid = Number(yield* fs.readFileString(join(folder, "pid")))
      yield* Waits.untilTrue("the server's end", () => !isAlive(pid))
    }).pipe(Effect.scoped, Effect.provide([FetchHttpClient.layer, NodeServices.layer]))
  )

  it.live("is lost when it is killed, though its engines live on with its output", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { join } = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped()
      const file = join(folder, "vllm")
      const program = `#!${process.execPath}
const port = process.argv[process.argv.indexOf("--port") + 1]
const engine = require("node:child_process").spawn("sleep", ["1000"], { stdio: "inherit" })
require("node:http").createServer((_, answer) => answer.end()).listen(port, "127.0.0.1", () => {
  require("node:fs").writeFileSync(${JSON.stringify(join(folder, "pids"))}, process.pid + " " + engine.pid)
})`
      yield* fs.writeFileString(file, program, { mode: 0o755 })
      const { lost } = yield* VllmServer.start({ ...options, program: file })
      const [server = 0, engine = 0] = (yield* fs.readFileString(join(folder, "pids"))).split(" ").map(Number)
      process.kill(server, "SIGKILL")
      assert.match((yield* Effect.flip(lost)).message, /--sampler vllm: vllm ended \(code 137\)/)
      yield* Waits.untilTrue("the engine's end", () => !isAlive(engine))
    }).pipe(Effect.scoped, Effect.provide([FetchHttpClient.layer, NodeServices.layer]))
  )

  it.live("names the executable that is missing, and reports the last output of one that ends", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(VllmServer.start({ ...options, program: "/no/vllm" }))
      assert.match(missing.message, /\/no\/vllm cannot be started: .*name its executable with --vllm/)
      const ended = yield* Effect.flip(VllmServer.start({ ...options, program: "false" }))
      assert.match(ended.message, /--sampler vllm: vllm ended \(code 1\)/)
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )
})
