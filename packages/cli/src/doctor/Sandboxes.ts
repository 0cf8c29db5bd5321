/** Checks the sandboxes for model-written code: each runs a program and checks its result. */
import { Docs } from "@atropos/core"
import { Sandbox } from "@atropos/envs"
import { Effect, type Layer } from "effect"
import { broken, type Finding, note, ok } from "./Finding.ts"

const check = (kind: Sandbox.Kind) => `sandbox ${kind}`

const tried = (layer: Layer.Layer<Sandbox.Sandbox>) => Effect.result(Effect.provide(Sandbox.trial, layer))

/** Python on WASI works everywhere; bubblewrap is for native packages. */
export const sandboxes: Effect.Effect<ReadonlyArray<Finding>> = Effect.gen(function* () {
  const wasi = yield* tried(Sandbox.layerWasi())
  const bubblewrap = yield* tried(Sandbox.layerBubblewrap())
  return [
    wasi._tag === "Success"
      ? ok(check("wasi"), `works; running and checking a program takes ${wasi.success.toFixed(0)} ms`)
      : broken(check("wasi"), wasi.failure.message, 'run "npm ci" in the project\'s folder'),
    bubblewrap._tag === "Success"
      ? ok(check("bubblewrap"), `works; running and checking a program takes ${bubblewrap.success.toFixed(0)} ms`)
      : note(
          check("bubblewrap"),
          bubblewrap.failure.message,
          `needed only for programs that use native packages: install bubblewrap, see ${Docs.path("sandbox.md")}`
        )
  ]
})
