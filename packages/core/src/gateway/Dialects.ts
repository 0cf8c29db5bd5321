/** The gateway's dialects. */
import * as ChatCompletions from "./dialect/chat/ChatCompletions.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Messages from "./dialect/messages/Messages.ts"
import * as Responses from "./dialect/responses/Responses.ts"

export const endpoints: ReadonlyArray<Endpoint.Endpoint> = [
  ...Endpoint.make("/v1/chat/completions", ChatCompletions.dialect),
  ...Endpoint.make("/v1/messages", Messages.dialect),
  ...Endpoint.make("/v1/responses", Responses.dialect)
]
