/** All that was tried against the sandboxes for Python. */
import { describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"
import * as AttackTest from "../sandbox/AttackTest.ts"

const limits = { workers: 2, timeMillis: 30_000 }
const options = { excludeTestServices: true } as const

layer(Sandbox.layerWasi({ ...limits, memoryBytes: 64 * 2 ** 20 }), options)("attacks under WASI", (it) =>
  AttackTest.suite(it)
)

const bubblewrap = Sandbox.layerBubblewrap({ ...limits, memoryBytes: 256 * 2 ** 20 })
const missing = await Effect.runPromise(Effect.result(Effect.provide(Sandbox.trial, bubblewrap)))
describe.runIf(missing._tag === "Success")("on Linux with bubblewrap", () => {
  layer(bubblewrap, options)("attacks under bubblewrap", (it) => AttackTest.suite(it))
})
