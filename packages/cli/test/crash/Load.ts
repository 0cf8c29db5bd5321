/**
 * Concurrent submitters of every kind there is, and the bookkeeping of what was answered.
 *
 * Numbers are drawn from a counter. A submission counts as answered when its 200 has arrived whole; one that met the
 * death of the service counts as open: the service may have it or not. With a key it is sent again, without one it is
 * left.
 */
import type { EnvironmentClient, TrajectoryClient } from "@atropos/core"
import { WireGroup } from "@atropos/core"
import { Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as Groups from "./Groups.ts"

export interface Ledger {
  next: number
  readonly answered: Set<number>
  /** Without a key, not answered: requests, whole. */
  readonly lost: Array<ReadonlyArray<number>>
  /** With keys, not answered yet. */
  open: Array<ReadonlyArray<EnvironmentClient.KeyedGroup>>
  /** With keys, answered last. */
  lastKeyed: ReadonlyArray<EnvironmentClient.KeyedGroup>
}

export const ledger = (): Ledger => ({ next: 1, answered: new Set(), lost: [], open: [], lastKeyed: [] })

export interface Target {
  readonly url: string
  readonly client: TrajectoryClient.TrajectoryClient
  readonly envId: number
}

const draw = (into: Ledger, count: number): ReadonlyArray<number> => Array.from({ length: count }, () => into.next++)

const postJson = Effect.fnUntraced(function* (url: string, body: string) {
  const request = HttpClientRequest.post(url).pipe(HttpClientRequest.bodyText(body, "application/json"))
  const response = yield* HttpClient.execute(request)
  const text = yield* response.text
  if (response.status !== 200) return yield* Effect.die(new Error(`${url} answered ${response.status}: ${text}`))
})

/** Once by one of the original's endpoints. */
const sendPlain = Effect.fnUntraced(function* ({ envId, url }: Target, into: Ledger, count: number) {
  const numbers = draw(into, count)
  const json = numbers.map((id) => WireGroup.encode({ ...Groups.numbered(id), envId }))
  const sending =
    count === 1 ? postJson(`${url}/scored_data`, json[0]!) : postJson(`${url}/scored_data_list`, `[${json.join(",")}]`)
  yield* Effect.onError(sending, () => Effect.sync(() => into.lost.push(numbers)))
  for (const id of numbers) into.answered.add(id)
})

/** Packed, with keys; what was not answered is sent again with the same keys by whoever calls next. */
export const sendKeyed = Effect.fnUntraced(function* (
  { client, envId }: Pick<Target, "client" | "envId">,
  into: Ledger,
  groups: ReadonlyArray<EnvironmentClient.KeyedGroup>
) {
  const outcomes = yield* client
    .submit(envId, groups)
    .pipe(Effect.onError(() => Effect.sync(() => into.open.push(groups))))
  for (const { group } of groups) into.answered.add(Groups.numberOf(group))
  into.lastKeyed = groups
  return outcomes
})

export const drawKeyed = (into: Ledger, count: number): ReadonlyArray<EnvironmentClient.KeyedGroup> =>
  draw(into, count).map(Groups.keyed)

const until = <A, E, R>(once: Effect.Effect<A, E, R>) => Effect.ignore(Effect.forever(once))

/** Six submitters, each until its first failure. */
export const submitAll = (target: Target, into: Ledger) => {
  const single = until(Effect.suspend(() => sendPlain(target, into, 1)))
  const list = until(Effect.suspend(() => sendPlain(target, into, 3)))
  const keyed = until(Effect.suspend(() => sendKeyed(target, into, drawKeyed(into, 2))))
  return Effect.all([single, single, list, list, keyed, keyed], { concurrency: "unbounded", discard: true })
}
