/** Milliseconds per `/status-env` at 30,000 queued groups, with one environment requesting. */
import * as Bodies from "./internal/Bodies.ts"
import * as Load from "./internal/Load.ts"
import type { Row } from "./internal/Report.ts"
import type { RunningServer } from "./internal/Servers.ts"
import * as Session from "./internal/Session.ts"

const queued = 30_000
const perRequest = 100

const measureOne = async ({ port }: RunningServer, requests: number): Promise<number> => {
  const envId = await Session.open(port, 1_000_000, 8)
  const one = Bodies.json(Bodies.group({ sequences: 8, tokens: 8 }, 3), envId).toString()
  const body = Buffer.from(`[${Array.from({ length: perRequest }, () => one).join(",")}]`)
  const headers = { "content-type": "application/json" }
  const next = () => ({ method: "POST", path: "/scored_data_list", headers, body })
  await Load.run(port, { connections: 2, requests: queued / perRequest, seconds: 120, next })
  const ask = Buffer.from(JSON.stringify({ env_id: envId }))
  const status = () => ({ method: "GET", path: "/status-env", headers, body: ask })
  await Load.run(port, { connections: 1, requests: 20, seconds: 30, next: status })
  const { perSecond } = await Load.run(port, { connections: 1, requests, seconds: 30, next: status })
  await Session.call(port, { method: "GET", path: "/reset_data" })
  return 1000 / perSecond
}

export const measure = async (
  ours: RunningServer,
  original: RunningServer | undefined
): Promise<ReadonlyArray<Row>> => {
  const reference = original && (await measureOne(original, 60))
  const own = await measureOne(ours, 2000)
  return [
    { what: "/status-env at 30,000 queued groups", ours: own, reference, unit: "ms", better: "smaller", goal: 50 }
  ]
}
