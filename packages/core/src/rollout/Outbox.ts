/**
 * Sends groups to the service with the data that viewers show, in the traces of their items, and counts them once the
 * service has answered. A rejected group becomes a dead letter; the item is notified either way.
 */
import { Effect, Option } from "effect"
import type { QueueView } from "./QueueView.ts"
import type { Session } from "./Session.ts"
import type { Delivery } from "./submit/Delivery.ts"
import * as Submitter from "./submit/Submitter.ts"
import * as SubmitSpans from "./submit/SubmitSpans.ts"
import * as Viewers from "./submit/Viewers.ts"

export interface Outbox {
  readonly submitter: Submitter.Submitter
  readonly spans: SubmitSpans.SubmitSpans
  readonly viewers: Viewers.Viewers
  /** Warns if the service keeps answering that it already has the groups. */
  readonly checkDuplicates: Effect.Effect<void>
}

/** More consecutive duplicates than a crash leaves behind. */
const manyDuplicates = 32

/** `onChange`: the service has answered, or groups have left memory. */
export const make = Effect.fnUntraced(function* (
  session: Session,
  queue: Pick<QueueView, "answered">,
  onChange: () => void
): Effect.fn.Return<Outbox> {
  const { client, connection, deadLetters, metrics, name, options, progress, servers, telemetry, tokenizer } = session
  const spans = yield* SubmitSpans.make
  const viewers = yield* Viewers.make({
    client: telemetry,
    connection,
    servers,
    tokenizer: servers.tokenizer ?? Option.getOrUndefined(tokenizer)
  })
  let duplicatesInARow = 0

  const onRejected = Effect.fnUntraced(function* (delivery: Delivery, reason: string) {
    spans.end(delivery.key, "rejected")
    metrics.dropped("rejected_by_service")
    yield* Effect.logError("group rejected by the service", { index: delivery.index, key: delivery.key, reason })
    yield* viewers.failed(`group rejected by the service: ${reason}`)
    yield* deadLetters.group(delivery, reason)
    progress.answered(delivery)
  })

  const submitter = Submitter.make({
    spool: progress.spool,
    maxGroupsInMemory: options.maxGroupsInMemory,
    submit: (groups) =>
      Effect.andThen(
        viewers.prepare(groups),
        spans.around(
          groups,
          Effect.suspend(() => client.submit(connection.registration().envId, groups))
        )
      ),
    reconnect: Effect.suspend(() => connection.reconnect(connection.registration().envId)),
    onProgress: onChange,
    isOnlyUnsent: (index, unsent) => progress.holds(index) <= unsent,
    onDelivered: ({ index, key }, outcome) => {
      spans.end(key, outcome.status)
      queue.answered()
      duplicatesInARow = outcome.status === "duplicate" ? duplicatesInARow + 1 : 0
      metrics.delivered(outcome.status === "duplicate")
      progress.answered({ index, key })
    },
    onRejected
  })

  const checkDuplicates = Effect.suspend(() => {
    if (duplicatesInARow < manyDuplicates) return Effect.void
    duplicatesInARow = 0
    return Effect.logWarning(
      "the service already has these groups; does another process use the same name? Give each its own wandb_name",
      { name }
    )
  })
  return { submitter, spans, viewers, checkDuplicates }
})
