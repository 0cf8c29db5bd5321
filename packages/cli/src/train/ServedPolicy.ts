/** The policy of `up` over HTTP: what is being trained can be talked to. */
import type { Description } from "@atropos/trainer/model/PretrainedModel"
import * as PolicyAuth from "@atropos/trainer/server/PolicyAuth"
import * as PolicyServer from "@atropos/trainer/server/PolicyServer"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import { Console, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"

/** Serves the model of the engine in the context, on another port where the wanted one is taken, and says where. */
export const layer = (model: Description, { host, port }: { readonly host: string; readonly port: number }) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const options = { ...PolicyLayers.served(model), host, tokens: yield* PolicyAuth.configured }
      const server = PolicyServer.layer({ ...options, port }).pipe(
        Layer.catchTag("ListenError", () => PolicyServer.layer({ ...options, port: 0 }))
      )
      return Layer.effectDiscard(
        Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
          Console.log(`policy at ${HttpServer.formatAddress(address)}/v1 (OpenAI API)\n`)
        )
      ).pipe(Layer.provide(server))
    })
  )
