/**
 * Creates the spans of groups on their way to the service (`Rollout.submit`): from the end of the rollout to the
 * service's answer, in the item's trace. A request with several groups is in the trace of the first recorded one, and
 * linked to the others.
 */
import { Clock, Effect, Exit, type Tracer } from "effect"
import type { ScoredGroup } from "../../trajectory/ScoredGroup.ts"
import * as Trace from "../../base/Trace.ts"
import type { SubmitOutcome } from "../../service/TrajectoryApi.ts"
import type { Delivery } from "./Delivery.ts"

export interface SubmitSpans {
  /** The group with its span's context, if the item is recorded; call it in the item's span. */
  readonly begin: (key: string, group: ScoredGroup) => Effect.Effect<ScoredGroup>
  /** Runs the request for these groups in their traces. */
  readonly around: <A, E, R>(groups: ReadonlyArray<Delivery>, request: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly end: (key: string, outcome: SubmitOutcome["status"] | "rejected") => void
  readonly endAll: Effect.Effect<void>
}

/** Bounds memory during an outage; spans beyond this are not tracked. */
const maxOpen = 10_000

export const make: Effect.Effect<SubmitSpans> = Effect.map(Clock.Clock, (clock) => {
  const open = new Map<string, Tracer.Span>()
  const end = (key: string, outcome: string): void => {
    const span = open.get(key)
    if (span === undefined) return
    open.delete(key)
    span.attribute("submit.outcome", outcome)
    span.end(clock.currentTimeNanosUnsafe(), Exit.void)
  }
  return {
    begin: (key, group) =>
      Effect.gen(function* () {
        const item = yield* Trace.current
        if (item === undefined || open.size >= maxOpen) return group
        const span = yield* Effect.makeSpan("Rollout.submit", {
          kind: "producer",
          attributes: { "group.key": key, "group.size": group.tokens.length }
        })
        open.set(key, span)
        return { ...group, traceparent: Trace.traceparentOf(span) }
      }),
    around: (groups, request) =>
      Effect.suspend(() => {
        const [parent, ...others] = open.size === 0 ? [] : groups.flatMap(({ key }) => open.get(key) ?? [])
        if (parent === undefined) return request
        return Effect.withSpan(request, "Rollout.request", {
          parent,
          kind: "client",
          links: others.map((span) => ({ span, attributes: {} })),
          attributes: { "request.groups": groups.length }
        })
      }),
    end,
    endAll: Effect.sync(() => {
      for (const key of open.keys()) end(key, "kept")
    })
  }
})
