/**
 * Groups into durable storage per second, against the original's rate into memory. Thirty-two connections: enough to
 * keep either server busy.
 */
import { PackedGroup } from "@atropos/core"
import { gzipSync } from "node:zlib"
import * as Bodies from "./internal/Bodies.ts"
import * as Load from "./internal/Load.ts"
import type { Row } from "./internal/Report.ts"
import type { RunningServer } from "./internal/Servers.ts"
import * as Session from "./internal/Session.ts"

const connections = 32
const placeholder = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`

const rate = async (server: RunningServer, requests: number, next: () => Load.Request): Promise<number> => {
  const bounds = { connections, next, seconds: 30 }
  await Load.run(server.port, { ...bounds, requests: Math.min(100, requests) })
  const { perSecond } = await Load.run(server.port, { ...bounds, requests })
  return perSecond
}

export const measure = async (
  ours: RunningServer,
  original: RunningServer | undefined,
  { goals, tokens }: { readonly tokens: number; readonly goals: { readonly json: number; readonly packed: number } }
): Promise<ReadonlyArray<Row>> => {
  const group = Bodies.group({ sequences: 8, tokens }, 1)
  const measured = async (server: RunningServer, requests: number) => {
    const envId = await Session.open(server.port, 1_000_000, 8)
    const json = Bodies.json(group, envId)
    const gzip = gzipSync(json)
    const headers = { "content-type": "application/json" }
    const path = "/scored_data"
    return {
      plain: await rate(server, requests, () => ({ method: "POST", path, headers, body: json })),
      gzip: await rate(server, requests, () => ({
        method: "POST",
        path,
        headers: { ...headers, "content-encoding": "gzip" },
        body: gzip
      })),
      envId
    }
  }
  const reference = original && (await measured(original, Math.round(800_000 / tokens)))
  if (original) await Session.call(original.port, { method: "GET", path: "/reset_data" })
  const own = await measured(ours, Math.round(3_000_000 / tokens))
  const bytes = PackedGroup.encode({ ...group, envId: own.envId })
  const packed = (keys: ReadonlyArray<string>) =>
    Session.packedSubmissions(PackedGroup.encodeList(keys.map((key) => ({ key, bytes }))), keys)
  const single = await rate(ours, Math.round(4_000_000 / tokens), packed([placeholder(0)]))
  const perList = 8
  const keys = Array.from({ length: perList }, (_, index) => placeholder(index))
  const lists = perList * (await rate(ours, Math.round(1_000_000 / tokens), packed(keys)))
  const row = (what: string, value: number, against: number | undefined, goal: number): Row => ({
    what: `ingest 8 x ${tokens}, ${what}`,
    ours: value,
    reference: against,
    unit: "groups/s",
    better: "larger",
    goal
  })
  return [
    row("JSON", own.plain, reference?.plain, goals.json),
    row("JSON, gzip", own.gzip, reference?.gzip, goals.json),
    row("packed (against JSON)", single, reference?.plain, goals.packed),
    row("packed, 8 groups a request (against JSON)", lists, reference?.plain, goals.packed)
  ]
}
