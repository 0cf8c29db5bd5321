/** A trajectory service in this process, open to all, for pages of what it is sent. */
import { Auth, Database, PgTrajectoryStore, TrajectoryService } from "@atropos/api"
import { Layer } from "effect"

export const layer = TrajectoryService.serve({ host: "127.0.0.1", port: 0 }).pipe(
  Layer.provide(PgTrajectoryStore.layer.pipe(Layer.provide(Database.layerPglite()))),
  Layer.provide(Auth.layerOpen)
)

/** To a path under `/v1/runs`. Throws what the service refuses. */
export const post = async (url: string, path: string, body?: object): Promise<void> => {
  const response = await fetch(`${url}/v1/runs${path}`, {
    method: "POST",
    ...(body !== undefined && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
  })
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
}
