/** Commands with a model that cannot fit into memory: said before its weights are read, with what would fit. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as InProcess from "../InProcess.ts"
import * as HalfModel from "./HalfModel.ts"

/** A folder of the shape of Qwen2.5-0.5B without any weights: who read them would say that they are missing. */
const folder = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const cwd = yield* InProcess.folder
  yield* fs.makeDirectory(`${cwd}/half`)
  yield* fs.writeFileString(`${cwd}/half/config.json`, JSON.stringify(HalfModel.file))
})

const refused = Effect.fnUntraced(function* (verb: string, ...words: ReadonlyArray<string>) {
  const port = verb === "train" ? [] : ["--port", "0"]
  const { code, stderr, stdout } = yield* InProcess.run([
    verb,
    "--model",
    "./half",
    "--device",
    "cpu",
    ...port,
    ...words
  ])
  assert.strictEqual(code, 1, stderr)
  return { stderr, stdout }
})

describe("a model that cannot fit", () => {
  it.live("is refused by train without a word about sampling, by policy and by tinker", () =>
    Effect.gen(function* () {
      yield* folder
      const trained = yield* refused("train", "--memory", "8", "--seq-len", "32768")
      assert.match(
        trained.stderr,
        /rows of 32,768 tokens .* takes \d+\.\d GB, and memory allows 8\.6 GB: weights 2\.0 GB/
      )
      assert.include(trained.stderr, "--seq_len 16384 (")
      assert.notInclude(trained.stderr, "sampling")
      assert.notInclude(trained.stdout, "measuring")
      // However much this machine has.
      const whatever = yield* refused("train", "--token-budget", "100000000", "--seq-len", "32768", "--remat", "none")
      assert.include(whatever.stderr, "and this machine has ")
      const policy = yield* refused("policy", "--memory", "3.5")
      assert.include(policy.stderr, "; --kv-memory-megabytes 64 --prefix-cache-megabytes 0 (")
      assert.include((yield* refused("policy", "--memory", "1")).stderr, "a smaller model would fit")
      const tinker = yield* refused("tinker", "--memory", "6.5")
      assert.match(tinker.stderr, /training of one adapter \d\.\d GB.*--token_budget \d+/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live("is not one where caches are told to take less, in either spelling", () =>
    Effect.gen(function* () {
      yield* folder
      for (const [verb, memory] of [
        ["policy", "3.5"],
        ["tinker", "8.5"]
      ] as const) {
        for (const flag of ["--kv-memory-megabytes", "--kv_memory_megabytes"]) {
          const much = yield* refused(verb, "--memory", memory, flag, "4000")
          assert.include(much.stderr, "KV cache up to 4.")
          const little = yield* refused(verb, "--memory", memory, flag, "64", "--prefix-cache-megabytes", "0")
          assert.notInclude(little.stderr, "memory allows")
          assert.include(little.stderr, "safetensors")
        }
      }
      const wrong = yield* InProcess.run(["policy", "--model", "./half", "--kv-memory-megabytes", "0", "--port", "0"])
      assert.strictEqual(wrong.code, 2)
      assert.include(wrong.stderr, '--kv-memory-megabytes: expected at least 1, got "0"')
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
