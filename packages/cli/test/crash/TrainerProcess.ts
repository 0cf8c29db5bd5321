/**
 * A trainer as a process of its own, to be killed: takes and acks batches, then holds one for good.
 *
 *     node TrainerProcess.ts <service URL> <batches to ack first>
 *
 * Says `claimed <batch> <step> <lease's end> <groups>` of each batch, `acked <batch>` of each but the last.
 */
import { TrajectoryClient, TrajectoryClientHttp } from "@atropos/core"
import { Effect, Option } from "effect"
import * as Say from "../../../core/test/base/Say.ts"
import { flushCompileCache } from "node:module"
import * as Groups from "./Groups.ts"

// Usually written at a process's end, which this one does not live to see.
flushCompileCache()

const [, , url = "", count = "0"] = process.argv

const say = (line: string) => Effect.sync(() => Say.line(line))

const trainer = Effect.gen(function* () {
  const client = yield* TrajectoryClient.all
  for (let acked = 0; ;) {
    // What is acked must not run out before, on a busy machine; what is held is waited for.
    const lease = acked === Number(count) ? "2 seconds" : "1 hour"
    const batch = Option.getOrUndefined(yield* client.claim({ owner: "victim", wait: "10 seconds", lease }))
    if (batch === undefined) continue
    yield* say(`claimed ${batch.id} ${batch.step} ${batch.leaseUntil} ${batch.groups.map(Groups.numberOf).join(",")}`)
    if (acked === Number(count)) return yield* Effect.never
    yield* client.ack(batch)
    yield* say(`acked ${batch.id}`)
    acked++
  }
})

await Effect.runPromise(Effect.provide(trainer, TrajectoryClientHttp.layer({ url })))
