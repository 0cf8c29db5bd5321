/** Serves the policy of `up` over HTTP while it is being trained. */
import * as BearerTokens from "@atropos/core/http/BearerTokens"
import type { Description } from "@atropos/trainer/model/PretrainedModel"
import * as PolicyServer from "@atropos/trainer/server/PolicyServer"
import * as PolicyLayers from "@atropos/trainer/server/PolicyLayers"
import { Console, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"

/**
 * Serves the model of the engine in the context and prints the address; uses another port if the given one is taken.
 */
export const layer = (model: Description, { host, port }: { readonly host: string; readonly port: number }) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const options = {
        ...PolicyLayers.served(model),
        host,
        tokens: yield* BearerTokens.configured(PolicyServer.tokensSetting)
      }
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
