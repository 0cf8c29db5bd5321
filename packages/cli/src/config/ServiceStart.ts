/** Announces the start of the trajectory service in this process, with what makes a first start take longer. */
import { Database } from "@atropos/api"
import { Effect } from "effect"

export const announcement = Effect.map(Database.isNew, (isNew) =>
  isNew ? "starting the service (first run: setting up its database, a few seconds)" : "starting the service"
)
