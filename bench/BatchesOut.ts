/** Milliseconds per batch of 64 sequences (8 groups of 8 x 1000 tokens), one trainer, from durable storage. */
import { PackedGroup } from "@atropos/core"
import { randomUUID } from "node:crypto"
import { performance } from "node:perf_hooks"
import * as Bodies from "./internal/Bodies.ts"
import * as Batches from "./internal/Batches.ts"
import * as Load from "./internal/Load.ts"
import type { Row } from "./internal/Report.ts"
import type { RunningServer } from "./internal/Servers.ts"
import * as Session from "./internal/Session.ts"

const groupsPerBatch = 8
const group = Bodies.group({ sequences: 8, tokens: 1000 }, 2)

const fillJson = async ({ port }: RunningServer, batches: number) => {
  const envId = await Session.open(port, 64, 8)
  const body = Bodies.json(group, envId)
  const next = () => ({ method: "POST", path: "/scored_data", headers: { "content-type": "application/json" }, body })
  await Load.run(port, { connections: 4, requests: batches * groupsPerBatch, seconds: 120, next })
}

const fillPacked = async ({ port }: RunningServer, batches: number) => {
  const envId = await Session.open(port, 64, 8)
  const key = randomUUID()
  const encoded = PackedGroup.encodeList([{ key, bytes: PackedGroup.encode({ ...group, envId }) }])
  const next = Session.packedSubmissions(encoded, [key])
  await Load.run(port, { connections: 4, requests: batches * groupsPerBatch, seconds: 120, next })
}

/** Takes all queued batches: the first round warms up, the second is timed. */
const millisPerBatch = async (
  batches: number,
  fill: (batches: number) => Promise<void>,
  take: (pool: Load.Pool) => Promise<boolean>
): Promise<number> => {
  const pool = new Load.Pool()
  const takeAll = async () => {
    await fill(batches)
    const start = performance.now()
    for (let index = 0; index < batches; index++) {
      if (!(await take(pool))) throw new Error(`batch ${index} of ${batches} is missing`)
    }
    return (performance.now() - start) / batches
  }
  await takeAll()
  const millis = await takeAll()
  pool.destroy()
  return millis
}

export const measure = async (
  ours: RunningServer,
  original: RunningServer | undefined
): Promise<ReadonlyArray<Row>> => {
  let reference: number | undefined
  if (original) {
    reference = await millisPerBatch(20, (batches) => fillJson(original, batches), Batches.takeJson(original))
    await Session.call(original.port, { method: "GET", path: "/reset_data" })
  }
  const json = await millisPerBatch(150, (batches) => fillJson(ours, batches), Batches.takeJson(ours))
  const packed = await millisPerBatch(150, (batches) => fillPacked(ours, batches), Batches.takePacked(ours))
  await Session.call(ours.port, { method: "GET", path: "/reset_data" })
  const row = (what: string, value: number, goal: number): Row => ({
    what: `batch of 64 sequences out, ${what}`,
    ours: value,
    reference,
    unit: "ms",
    better: "smaller",
    goal
  })
  return [row("JSON", json, 30), row("packed, claim and ack (against JSON)", packed, 50)]
}
