/** A policy server on a free port of the loopback, over an engine that follows a script. */
import { Context, Effect, Layer, type Scope } from "effect"
import { HttpServer } from "effect/http"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as PolicyServer from "../../src/server/PolicyServer.ts"
import * as ScriptedEngine from "./ScriptedEngine.ts"

export interface Served extends ScriptedEngine.Scripted {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
}

export const serve = (
  script: ScriptedEngine.Script,
  options: Partial<PolicyServer.Options> & ScriptedEngine.Options = {}
): Effect.Effect<Served, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const scripted = yield* ScriptedEngine.make(script, options)
    const context = yield* Layer.build(
      PolicyServer.layer({
        modelName: "test-policy",
        maxSequenceTokens: options.maxSequenceTokens ?? 4096,
        host: "127.0.0.1",
        port: 0,
        ...options
      }).pipe(Layer.provide(scripted.layer))
    )
    const { address } = Context.get(context, HttpServer.HttpServer)
    return { ...scripted, url: HttpServer.formatAddress(address) }
  })

/** Waits for what another thread or connection does. */
export const until = (isSo: () => boolean): Effect.Effect<void> => Waits.untilTrue(String(isSo), isSo)
