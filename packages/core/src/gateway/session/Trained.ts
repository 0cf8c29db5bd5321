/** The settings by which a session selects the requests whose answers are trained. */
import { Schema } from "effect"
import type { SelectedRequest } from "./Session.ts"

/**
 * All requests, or those that offer tools and name the model that the first of these did: not titles, summaries and
 * suggestions on the side.
 */
export const Trained = Schema.Literals(["all", "tools"])
export type Trained = typeof Trained.Type

export const by: {
  readonly [name in Trained]: (request: Pick<SelectedRequest, "tools" | "isForOtherModel">) => boolean
} = {
  all: () => true,
  tools: ({ isForOtherModel, tools = [] }) => tools.length > 0 && !isForOtherModel
}
