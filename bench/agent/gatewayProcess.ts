/**
 * A gateway in a separate process, over a policy with a fixed latency: measured by `Memory.ts`. Reports its address to
 * its parent, and its memory on every message.
 */
import { ServerManager, Tokenizer } from "@atropos/core"
import * as Gateway from "@atropos/core/gateway/Gateway"
import { Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"

const [answer = "", latency = "0"] = process.argv.slice(2)
const folder = fileURLToPath(new URL("../../packages/core/test/fixtures/tiny-tokenizer", import.meta.url))

/** Reachable memory after a collection, and the peak so far. */
const memory = () => {
  globalThis.gc?.()
  globalThis.gc?.()
  const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
  return { heapUsed, external, arrayBuffers, rss, peak: process.resourceUsage().maxRSS * 1024 }
}

const program = Effect.gen(function* () {
  const { url } = yield* Gateway.Gateway
  process.send!({ url })
  process.on("message", () => process.send!(memory()))
  return yield* Effect.never
})

const servers = ServerManager.layerScripted([answer], { latency: `${Number(latency)} millis` }).pipe(
  Layer.provide(Tokenizer.layerHuggingFace(folder))
)
process.on("disconnect", () => process.exit(0))
await Effect.runPromise(Effect.provide(program, Layer.provide(Gateway.layer({ isControlled: true }), servers)))
