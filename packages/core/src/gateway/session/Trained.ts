/** The settings by which a session selects the requests whose answers are trained. */
import { Schema } from "effect"
import type { ChatRequest } from "../../inference/wire/Inference.ts"

/** All requests, or those that offer tools: not titles, summaries and suggestions on the side. */
export const Trained = Schema.Literals(["all", "tools"])
export type Trained = typeof Trained.Type

export const by: {
  readonly [name in Trained]: (request: Pick<ChatRequest, "tools">) => boolean
} = {
  all: () => true,
  tools: ({ tools = [] }) => tools.length > 0
}
