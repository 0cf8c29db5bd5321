/**
 * Stress-tests a cluster: services that share one Postgres, many environment workers and a trainer; every ten seconds
 * one random service is killed (-9) and restarted, unless fewer than two respond.
 *
 * `DATABASE_URL=postgres://user:password@127.0.0.1:5432/postgres node --conditions=atropos-src bench/cluster.ts
 * [minutes=10] [workers=200] [services=3]`. It creates its own database there, and drops it.
 *
 * Workers and trainer continue at the next service if one does not respond, the workers with the same key. At the end
 * the queue is emptied, and the ledger must balance: every acknowledged submission is in exactly one acked batch. Exits
 * with 1 otherwise. Prints the quantiles of answered requests, the time of a group until it was answered including all
 * attempts, and sizes and dead rows of the tables.
 */
import { PgClient } from "@effect/sql-pg"
import { PackedGroup } from "@atropos/core"
import { ManagedRuntime, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { loadavg } from "node:os"
import { performance } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import * as Bodies from "./internal/Bodies.ts"
import { Ledger } from "./internal/Ledger.ts"
import * as Load from "./internal/Load.ts"
import * as Servers from "./internal/Servers.ts"
import { post } from "./internal/Session.ts"

const minutes = Number(process.argv[2] ?? 10)
const workers = Number(process.argv[3] ?? 200)
const services = Number(process.argv[4] ?? 3)
const killEveryMillis = 10_000
/** An environment pauses when this many groups ahead of the trainer. */
const ahead = 2048
const shape = { sequences: 4, tokens: 64 }
const batchSize = 64
const perBatch = batchSize / shape.sequences
const rolloutMillis = { least: 100, max: 500 }

const databaseUrl = process.env.DATABASE_URL
if (databaseUrl === undefined)
  throw new Error("DATABASE_URL must name a Postgres server on which a database may be made")
const database = await Servers.freshDatabase(databaseUrl)
/** One connection for the whole run: on a machine this busy, opening a new one can be slow. */
const looking = ManagedRuntime.make(
  PgClient.layer({ url: Redacted.make(database.url), maxConnections: 1, connectTimeout: "2 minutes" })
)
const query = <Row>(statement: string): Promise<ReadonlyArray<Row>> =>
  looking.runPromise(SqlClient.SqlClient.use((sql) => sql.unsafe<Row & object>(statement)))

const environment = { DATABASE_URL: database.url, ATROPOS_TOKENS: undefined }
const servers = new Map<number, Servers.RunningServer>()
const ports: Array<number> = []

const pool = new Load.Pool()
const ledger = new Ledger()
const times = { submission: [] as Array<number>, group: [] as Array<number>, claim: [] as Array<number> }
const counts = { kills: 0, retries: 0, refused: 0, restarts: [] as Array<number> }
/** When the workers end; the time begins once all services respond. */
let end = Number.POSITIVE_INFINITY
const isOver = () => performance.now() >= end
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => (end = performance.now()))

/**
 * Retries until a service responds with a status below 500 that is not 429, with another service each time; returns the
 * time of the answered request.
 */
const persistently = async (first: number, request: () => Load.Request) => {
  for (let attempt = 0; ; attempt++) {
    const port = ports[(first + attempt) % ports.length]!
    const before = performance.now()
    const answer = await Load.send(port, request(), pool).catch(() => undefined)
    if (answer !== undefined && answer.status < 500 && answer.status !== 429) {
      if (answer.status >= 300) throw new Error(`${request().path}: ${answer.status} ${answer.body.toString()}`)
      return { answer, millis: performance.now() - before }
    }
    counts.retries++
    if (answer !== undefined) counts.refused++
    await sleep(Math.min(50 * 2 ** attempt, 1000))
  }
}

const submit = async (index: number, envId: number) => {
  const number = ledger.next()
  const made = Bodies.group(shape, number)
  const tokens = made.tokens.map((sequence) => Int32Array.from(sequence, (id, at) => (at === 0 ? number : id)))
  const key = randomUUID()
  const body = PackedGroup.encodeList([{ key, bytes: PackedGroup.encode({ ...made, tokens, envId }) }])
  const before = performance.now()
  const { millis } = await persistently(index, () => ({
    method: "POST",
    path: "/v1/runs/default/groups",
    headers: { "content-type": "application/vnd.atropos.group" },
    body
  }))
  ledger.stored(number)
  times.submission.push(millis)
  times.group.push(performance.now() - before)
}

const work = async (index: number, envId: number) => {
  const { least, max: most } = rolloutMillis
  while (!isOver()) {
    await sleep(least + Math.random() * (most - least))
    if (ledger.sent - ledger.trained < ahead) await submit(index, envId)
  }
}

const right = <A>(result: Result.Result<A, Error>): A => Result.getOrThrow(result)

/** Takes a batch and acks it; false if there was none. */
const train = async (): Promise<boolean> => {
  const first = Math.floor(Math.random() * ports.length)
  const claim = { owner: "trainer", wait_seconds: 0, lease_seconds: 5 }
  const { answer, millis } = await persistently(first, () => {
    const request = post("/v1/runs/default/batches/claim", claim)
    return { ...request, headers: { ...request.headers, accept: "application/vnd.atropos.group" } }
  })
  times.claim.push(millis)
  if (answer.status === 204) return false
  const batch = answer.headers["atropos-batch-id"]!
  const groups = right(PackedGroup.decodeList(answer.body)).map(
    ({ bytes }) => right(PackedGroup.decode(bytes)).tokens[0]![0]!
  )
  ledger.handedOut(batch, groups)
  const token = { lease_token: answer.headers["atropos-lease-token"]! }
  await persistently(first, () => post(`/v1/runs/default/batches/${batch}/ack`, token))
  ledger.ackedBatch(batch, groups)
  return true
}

const working = { isOver: false }
/**
 * Runs until the workers are done and nothing has arrived for ten seconds, twice the lease of a claim whose answer was
 * lost.
 */
const trainer = async () => {
  let emptySince: number | undefined
  while (true) {
    if (await train()) emptySince = undefined
    else {
      emptySince ??= performance.now()
      await sleep(20)
    }
    if (!working.isOver) continue
    if (ledger.trained === ledger.stores) return
    if (emptySince !== undefined && performance.now() - emptySince > 10_000) return
  }
}

const starting: Array<Promise<void>> = []
const restart = async (port: number) => {
  const before = performance.now()
  servers.set(port, await Servers.on(port, environment))
  counts.restarts.push(performance.now() - before)
}

const kill = async () => {
  while (!isOver()) {
    await sleep(Math.min(killEveryMillis, Math.max(0, end - performance.now())))
    if (isOver()) return
    const alive = Array.from(servers.keys())
    // If a start takes longer than the pause, all services would soon be down, and nothing would be tested.
    if (alive.length < 2) continue
    const port = alive[Math.floor(Math.random() * alive.length)]!
    process.kill(servers.get(port)!.pid, "SIGKILL")
    servers.delete(port)
    counts.kills++
    starting.push(restart(port))
  }
}

interface Table {
  readonly name: string
  readonly bytes: number
  readonly live: number
  readonly dead: number
}
const tables = () =>
  query<Table>(
    `select relname as name, pg_total_relation_size(relid)::float8 as bytes, n_live_tup::float8 as live,
       n_dead_tup::float8 as dead from pg_stat_user_tables order by 2 desc`
  )

const quantile = (values: ReadonlyArray<number>, q: number): string => {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN).toFixed(0)
}
const quantiles = (values: ReadonlyArray<number>) =>
  `p50 ${quantile(values, 0.5)} ms, p99 ${quantile(values, 0.99)} ms, longest ${quantile(values, 1)} ms`

const describe = (all: ReadonlyArray<Table>) =>
  all
    .filter(({ bytes }) => bytes > 2 ** 20)
    .map(({ bytes, dead, live, name }) => `${name} ${(bytes / 2 ** 20).toFixed(1)} MiB (${live} rows, ${dead} dead)`)
    .join(", ")

const watch = async () => {
  const start = performance.now()
  while (!isOver()) {
    await sleep(Math.min(15_000, Math.max(0, end - performance.now())))
    const seconds = ((performance.now() - start) / 1000).toFixed(0).padStart(4)
    const { stores, trained } = ledger
    console.log(
      `${seconds} s  ${stores} stored, ${trained} trained on, ${counts.kills} kills; ${describe(await tables())}`
    )
  }
}

try {
  for (let index = 0; index < services; index++) {
    const port = await Servers.freePort()
    ports.push(port)
    servers.set(port, await Servers.on(port, environment))
  }
  const registration = {
    name: "default",
    batch_size: batchSize,
    max_token_length: 4096,
    starting_step: 0,
    num_steps: 1_000_000_000,
    checkpoint_dir: "",
    save_checkpoint_interval: 0,
    wandb_group: "",
    wandb_project: ""
  }
  await persistently(0, () => post("/v1/runs", registration))
  await train()
  const environments = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const said = { desired_name: `env-${index}`, weight: 1, group_size: shape.sequences, max_token_length: 4096 }
      const { answer } = await persistently(index, () =>
        post("/v1/runs/default/environments", { ...said, min_batch_allocation: null })
      )
      return (JSON.parse(answer.body.toString()) as { readonly env_id: number }).env_id
    })
  )
  const allWork = async () => {
    await Promise.all(
      Array.from({ length: workers }, (_, index) => work(index, environments[index % environments.length]!))
    )
    await Promise.all(starting)
    // Fills up the last batch.
    while (ledger.sent % perBatch !== 0) await submit(0, environments[0]!)
    working.isOver = true
  }
  end = performance.now() + minutes * 60_000
  await Promise.all([allWork(), trainer(), kill(), watch()])
  const last = await tables()
  const seconds = minutes * 60
  const problems = ledger.problems()
  console.log(
    [
      `${services} services, ${workers} workers, ${seconds} s, ${counts.kills} kills; load ${loadavg()[0]!.toFixed(1)}`,
      `groups: ${ledger.sent} sent, ${ledger.stores} answered, ${ledger.trained} trained on (${(ledger.trained / seconds).toFixed(0)}/s)`,
      `batches handed out again: ${ledger.handedOutAgain}; attempts that failed: ${counts.retries}, ${counts.refused} of them refused`,
      `a submission that was answered: ${quantiles(times.submission)}`,
      `a group until it was answered, with all attempts: ${quantiles(times.group)}`,
      `a claim that was answered: ${quantiles(times.claim)}`,
      `a killed service until it answers again: ${quantiles(counts.restarts)}`,
      `tables at the end: ${describe(last)}`,
      problems.length === 0 ? "every answered group was trained on exactly once" : problems.slice(0, 20).join("\n")
    ].join("\n")
  )
  if (problems.length > 0) process.exitCode = 1
} finally {
  pool.destroy()
  await Promise.allSettled(starting)
  for (const server of servers.values()) await server.stop()
  await looking.dispose()
  await database.drop()
}
