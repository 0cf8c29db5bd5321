/**
 * Traces of a run: sampling, and propagation between processes.
 *
 * A trace begins at an item (`Rollout.item`), an evaluation (`Rollout.evaluation`) or a trainer's step
 * (`Trainer.step`), and nowhere else, so that polls and heartbeats leave no traces. A group carries the context of its
 * item as a W3C traceparent (https://www.w3.org/TR/trace-context/): the trainer's span of the group (`Trainer.group`)
 * is in the item's trace, and is linked with the step.
 *
 * Without a tracer nothing is recorded or propagated.
 */
import { Context, Effect, Option, References, Tracer } from "effect"

/** Spans that begin a trace. */
export const roots = {
  item: "Rollout.item",
  evaluation: "Rollout.evaluation",
  step: "Trainer.step"
} as const

/**
 * A tracer that records this share of the items (evenly spaced, not random), all evaluations and steps, and their
 * descendants, including those of other processes.
 */
export const sampled = (tracer: Tracer.Tracer, shareOfItems: number): Tracer.Tracer => {
  let items = 0
  const begins = (name: string): boolean => {
    if (name === roots.evaluation || name === roots.step) return true
    if (name !== roots.item) return false
    items++
    return Math.floor(items * shareOfItems) > Math.floor((items - 1) * shareOfItems)
  }
  const recorded = new WeakSet<Tracer.AnySpan>()
  // Spans of another tracer (from before this one was installed) begin nothing here.
  const goesOn = (parent: Tracer.AnySpan): boolean => parent._tag === "ExternalSpan" || recorded.has(parent)
  return Tracer.make({
    ...(tracer.context && { context: tracer.context }),
    span: (options) => {
      const isWanted = Option.exists(options.parent, goesOn) || begins(options.name)
      const span = tracer.span({ ...options, sampled: options.sampled && isWanted })
      if (span.sampled) recorded.add(span)
      return span
    }
  })
}

/** The current span, if it is recorded. */
export const current: Effect.Effect<Tracer.Span | undefined> = Effect.gen(function* () {
  if ((yield* Effect.tracer) === Tracer.nativeTracer) return undefined
  const span = Option.getOrUndefined(yield* Effect.option(Effect.currentSpan))
  return span?.sampled === true ? span : undefined
})

/** The traceparent of a span: `00-<trace>-<span>-01`. */
export const traceparentOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): string =>
  `00-${traceId.padStart(32, "0")}-${spanId}-${sampled ? "01" : "00"}`

/** The format of `traceparentOf`. */
export const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The external span of a traceparent; undefined if invalid, or not recorded. */
export const parse = (traceparent: string | undefined): Tracer.ExternalSpan | undefined => {
  if (traceparent === undefined || !traceparentPattern.test(traceparent)) return undefined
  const [, traceId, spanId, flags] = traceparent.split("-")
  if ((Number.parseInt(flags!, 16) & 1) === 0) return undefined
  return Tracer.externalSpan({ traceId: traceId!, spanId: spanId!, sampled: true })
}

export interface Begun {
  readonly name: string
  /** Start time in nanoseconds since the epoch, possibly in the past. */
  readonly startTime: bigint
  /** Undefined: the span begins a trace. */
  readonly parent?: Tracer.AnySpan | undefined
  readonly kind?: Tracer.SpanKind
  readonly links?: ReadonlyArray<Tracer.AnySpan>
  readonly attributes?: { readonly [name: string]: unknown }
}

/** A span with an explicit start time; the caller ends it. Undefined if it is not recorded. */
export const begin = ({
  attributes = {},
  kind = "internal",
  links = [],
  name,
  parent,
  startTime
}: Begun): Effect.Effect<Tracer.Span | undefined> =>
  Effect.gen(function* () {
    const tracer = yield* Effect.tracer
    if (tracer === Tracer.nativeTracer || !(yield* References.TracerEnabled)) return undefined
    const span = tracer.span({
      name,
      parent: Option.fromUndefinedOr(parent),
      annotations: Context.empty(),
      links: links.map((span) => ({ span, attributes: {} })),
      startTime,
      kind,
      root: parent === undefined,
      sampled: parent?.sampled ?? true
    })
    if (!span.sampled) return undefined
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    return span
  })
