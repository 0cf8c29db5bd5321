/**
 * Soak test: the highest load one service accepts, for minutes; prints memory and event-loop delay every ten seconds.
 *
 * `node --conditions=atropos-src bench/soak.ts [seconds=600] [connections=32]`. Half of the connections send JSON, half
 * packed groups of 8 x 1000 tokens, to a service with a bounded queue, while a trainer takes batches of 64 as fast as
 * it can; refusals for a full queue (503, 429) are expected. Delays in the ten-second lines come from `/metrics` and
 * include its own resolution of 10 ms; the last lines attribute long turns of the loop to their cause (`StallWatch`).
 */
import { PackedGroup } from "@atropos/core"
import { readFileSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import * as Bodies from "./internal/Bodies.ts"
import * as Load from "./internal/Load.ts"
import * as Servers from "./internal/Servers.ts"
import * as Session from "./internal/Session.ts"
import * as StallWatch from "./internal/StallWatch.ts"

const seconds = Number(process.argv[2] ?? 600)
const connections = Number(process.argv[3] ?? 32)
const everyMillis = 10_000
const mebibyte = 2 ** 20

const stallLog = join(await mkdtemp(join(tmpdir(), "atropos-soak-")), "stalls")
const service = await Servers.ours(process.env.DATABASE_URL, {
  ATROPOS_STALL_LOG: stallLog,
  NODE_OPTIONS: `--import=${new URL("./internal/StallWatch.ts", import.meta.url).href}`
})
const envId = await Session.open(service.port, 64, 8)
const group = Bodies.group({ sequences: 8, tokens: 1000 }, 5)
const json = Bodies.json(group, envId)
const key = "00000000-0000-4000-8000-000000000000"
const packed = Session.packedSubmissions(
  PackedGroup.encodeList([{ key, bytes: PackedGroup.encode({ ...group, envId }) }]),
  [key]
)
const plain = { method: "POST", path: "/scored_data", headers: { "content-type": "application/json" }, body: json }
const isOver = (() => {
  const end = performance.now() + seconds * 1000
  return () => performance.now() >= end
})()

const pool = new Load.Pool()
const counts = { groups: 0, refused: 0, batches: 0 }

/** Producers stay a bounded number of batches ahead of the trainer, as environments do. */
const ahead = 512
const produce = async (index: number) => {
  while (!isOver()) {
    if (counts.groups - counts.batches * 8 > ahead) {
      await sleep(5)
      continue
    }
    const { status } = await Load.send(service.port, index % 2 === 0 ? plain : packed(), pool)
    if (status === 200) counts.groups++
    else if (status === 503 || status === 429) counts.refused++
    else throw new Error(`a submission was answered ${status}`)
  }
}

const consume = async () => {
  while (!isOver()) {
    const { bytes } = await Load.send(service.port, { method: "GET", path: "/batch" }, pool)
    if (bytes > 1000) counts.batches++
    else await sleep(5)
  }
}

const value = (metrics: string, line: string): number => {
  const found = metrics.split("\n").find((one) => one.startsWith(line))
  return found === undefined ? Number.NaN : Number(found.slice(line.length))
}

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, one) => sum + one, 0) / values.length

const watch = async () => {
  const start = performance.now()
  let before = { ...counts }
  let worst = 0
  const resident: Array<number> = []
  await Session.call(service.port, { method: "GET", path: "/metrics" })
  while (!isOver()) {
    await sleep(everyMillis)
    const metrics = (await Session.call(service.port, { method: "GET", path: "/metrics" })).body.toString()
    const delay = (quantile: string) =>
      1000 * value(metrics, `atropos_event_loop_delay_seconds{quantile="${quantile}"} `)
    const memory = value(metrics, "process_resident_memory_bytes ") / mebibyte
    worst = Math.max(worst, delay("1"))
    resident.push(memory)
    const rate = (now: number, then: number) => (((now - then) * 1000) / everyMillis).toFixed(0)
    console.log(
      `${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s  ${rate(counts.groups, before.groups)} groups/s in, ` +
        `${rate(counts.batches, before.batches)} batches/s out, ${counts.refused} refused; event loop p99 ` +
        `${delay("0.99").toFixed(1)} ms, max ${delay("1").toFixed(1)} ms; memory ${memory.toFixed(0)} MiB`
    )
    before = { ...counts }
  }
  const half = resident.length >> 1
  console.log(
    `memory, mean of the first and of the second half: ${mean(resident.slice(0, half)).toFixed(0)} and ` +
      `${mean(resident.slice(half)).toFixed(0)} MiB; longest stall ${worst.toFixed(1)} ms`
  )
}

const isTurn = (line: StallLine): line is StallWatch.Turn => "wall" in line
type StallLine = StallWatch.Turn | StallWatch.Span | StallWatch.Opening

/**
 * The causes of long turns of the event loop: quantiles without the first ten seconds, and every long turn since the
 * port was opened.
 */
const reportStalls = () => {
  const lines = readFileSync(stallLog, "utf8").trim().split("\n")
  const parsed = lines.map((line) => JSON.parse(line) as StallLine)
  const spans = parsed.filter((line) => "turns" in line).slice(1)
  for (const kind of StallWatch.kinds) {
    console.log(
      `${StallWatch.meaning[kind].padEnd(44)} p99 ${mean(spans.map(({ p99 }) => p99[kind])).toFixed(1)} ms, ` +
        `worst ${Math.max(...spans.map(({ worst }) => worst[kind])).toFixed(1)} ms, ` +
        `${(100 * mean(spans.map(({ share }) => share[kind]))).toFixed(0)} % of the time`
    )
  }
  const opened = parsed.findLast((line) => "listeningAt" in line)?.listeningAt ?? 0
  const turns = parsed.filter(isTurn)
  const starting = turns.filter(({ at }) => at <= opened).map(({ wall }) => wall)
  console.log(
    `the port was open after ${(opened / 1000).toFixed(1)} s; longest turn before, while modules are loaded: ` +
      `${Math.max(0, ...starting).toFixed(0)} ms`
  )
  const long = turns.filter(({ at, wall }) => at > opened && wall > 50)
  for (const { at, collector, own, pause, waiting, wall } of long) {
    console.log(
      `longer than 50 ms: at ${(at / 1000).toFixed(1)} s ${wall.toFixed(1)} ms: own work ${own.toFixed(1)}, ` +
        `pauses ${pause.toFixed(1)} ${collector}, without a core ${waiting.toFixed(1)}`
    )
  }
  const ours = long.filter(({ own, pause }) => own + pause > 50)
  console.log(`${long.length} turns longer than 50 ms, ${ours.length} of them by own work and pauses alone`)
}

try {
  await Promise.all([watch(), consume(), ...Array.from({ length: connections }, (_, index) => produce(index))])
} finally {
  pool.destroy()
  await service.stop()
}
reportStalls()
