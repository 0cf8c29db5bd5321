/** Implements the original's endpoints that submit groups and fetch batches. */
import { type Duration, Effect, Option, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Delivery from "../claim/Delivery.ts"
import * as Reply from "../http/Reply.ts"
import { type Payload, type StoredGroup, TrajectoryStore } from "../store/TrajectoryStore.ts"
import * as GroupReader from "../submission/GroupReader.ts"
import { jsonBytes } from "./Reading.ts"
import type { Refusal } from "./Refusal.ts"
import * as Payloads from "../store/Payloads.ts"

/** Builds the JSON body of a batch from stored payloads; payloads stored as JSON are not parsed. */
const encoder = new TextEncoder()
const opening = encoder.encode('{"batch":[')
const comma = encoder.encode(",")
const closing = encoder.encode("]}")

const groupJson = (payload: Payload): Effect.Effect<Uint8Array> =>
  Effect.map(Payloads.toJson(payload), (pieces) => (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))

/** `{"batch":[…]}`. */
const makeBatchBody = Effect.fnUntraced(function* (groups: ReadonlyArray<StoredGroup>) {
  const parts: Array<Uint8Array> = [opening]
  for (const [index, { payload }] of groups.entries()) {
    if (index > 0) parts.push(comma)
    parts.push(...(yield* Payloads.toJson(payload)))
  }
  parts.push(closing)
  return Buffer.concat(parts)
})

type Request = HttpServerRequest.HttpServerRequest
type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, Scope.Scope>

export interface Queue {
  readonly submitOne: (request: Request) => Answer
  readonly submitList: (request: Request) => Answer
  readonly batch: (request: Request) => Answer
  readonly latestExample: Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal>
  readonly reset: Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal>
}

const nothingYet = Reply.json({ batch: null })
const notRegistered = Reply.json({
  status: "error",
  message: "Trainer not registered. Call /register first.",
  batch: []
})
const noExample = Reply.json({
  tokens: [],
  masks: [],
  scores: [],
  advantages: [],
  ref_logprobs: [],
  generation_params: [],
  inference_logprobs: [],
  messages: [],
  images: []
})
const received = Reply.json({ status: "received" })

/** Batches are leased for `lease`. */
export const make = Effect.fnUntraced(function* (
  run: string,
  lease: Duration.Input
): Effect.fn.Return<Queue, never, TrajectoryStore | Scope.Scope> {
  const store = yield* TrajectoryStore
  const reader = yield* GroupReader.make
  const scope = yield* Effect.scope

  const submitOne = (request: Request) =>
    jsonBytes(request).pipe(
      Effect.flatMap((body) => reader.read("one", body)),
      Effect.flatMap((groups) => store.submit(run, groups)),
      Effect.map(([outcome]) =>
        outcome?.status === "buffered" ? Reply.json({ status: "buffered", buffer_size: outcome.bufferSize }) : received
      )
    )

  const submitList = (request: Request) =>
    jsonBytes(request).pipe(
      Effect.flatMap((body) => reader.read("list", body)),
      Effect.flatMap((groups) => (groups.length === 0 ? Effect.succeed([]) : store.submit(run, groups))),
      Effect.map((outcomes) => {
        const buffered = outcomes.filter((outcome) => outcome.status === "buffered")
        const last = buffered.at(-1)
        return Reply.json({
          status: "received",
          groups_processed: outcomes.length,
          ...(last && { buffered: buffered.length, last_buffer_size: last.bufferSize })
        })
      })
    )

  const claim = (request: Request) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        store.claim(run, { owner: "trainer (v0 API)", lease }),
        Option.match({
          onNone: () => Effect.succeed(nothingYet),
          onSome: (claimed) =>
            restore(makeBatchBody(claimed.groups)).pipe(
              Effect.map((bytes) => Reply.jsonBytes(bytes)),
              Effect.onError(() => Delivery.giveBack(store, claimed)),
              Effect.tap(() => Effect.forkIn(Delivery.settle(store, request, claimed), scope))
            )
        })
      )
    )

  /** The first poll starts the run, which admits environments. */
  const batch = (request: Request) =>
    store.start(run).pipe(
      Effect.andThen(claim(request)),
      Effect.catchTag("UnknownRun", () => Effect.succeed(notRegistered))
    )

  const latestExample = Effect.flatMap(
    store.latest(run),
    Option.match({
      onNone: () => Effect.succeed(noExample),
      onSome: ({ payload }) => Effect.map(groupJson(payload), (bytes) => Reply.jsonBytes(bytes))
    })
  )

  const reset = Effect.as(store.reset(run), Reply.text("Reset successful"))

  return { submitOne, submitList, batch, latestExample, reset }
})
