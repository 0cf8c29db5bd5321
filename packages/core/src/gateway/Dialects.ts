/** The dialects of the gateway: one line each. */
import * as ChatCompletions from "./dialect/ChatCompletions.ts"
import * as Endpoint from "./Endpoint.ts"

export const endpoints: ReadonlyArray<Endpoint.Endpoint> = [
  ...Endpoint.make("/v1/chat/completions", ChatCompletions.dialect)
]
